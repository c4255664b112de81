"""Better parents for the columns of a DAG, where growing one parent at a time stops too early.

Parents whose effects cancel help only together: alone, none of them is worth its penalty, so greedy growth never takes
the first one. Two other ways find such sets among the columns that are not descendants of a node:

1. Backward elimination. All candidates are parents at first, and the one that explains least is left out until none is
   left. For a likelihood of log-determinants this takes one inverse, from which columns are removed one after the
   other (a rank-one update each). The best of these nested sets counts.
2. Exchange. One parent is added, left out, or replaced by another, whichever raises the score most, until nothing does.

Both are exact about scores and heuristic about sets: what is returned never scores less than what was given.
"""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Bools, Dag, Floats, Ints
from dagopt.deadline import Deadline
from dagopt.methods.names import name_order
from dagopt.problem import Problem
from dagopt.scores.base import Score
from dagopt.scores.block_likelihood import NodeLikelihood

__all__ = ["BetterParents", "nested_sets"]

ENOUGH = 1e-7  # what a set must gain to be taken
MOST_CANDIDATES = 80  # of a node; those most correlated with it
ROWS_PER_CANDIDATE = 2.0  # with fewer rows for each candidate, all of them together explain a node by chance
MOST_SWAPS = 200  # sets tried for one exchange
SINGULAR = 1e-10  # a pivot below this belongs to a column that the others determine


class BetterParents:
    """The search for better parents in one DAG after the other.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._form = problem.score.block_likelihood
        self._vain: dict[tuple[int, bytes], Ints] = {}  # candidates among which nothing was found, by node and parents

    def improve(self, dag: Dag, deadline: Deadline) -> Dag:
        """Return a DAG with better parents for some nodes, or the same one.

        Nodes are visited in the order of their names, and each may take any column that is not its descendant. What
        is found until the deadline is kept.

        Parameters
        ----------
        dag : int8 array of shape (n, n)
            A DAG that the knowledge allows.
        deadline : Deadline
            When to stop.
        """
        found = dag.copy()
        for v in name_order(self._problem.names).tolist():
            if deadline.reason is not None:
                break
            node = _Node(self._problem, v, found, None if self._form is None else self._form.nodes[v])
            vain = self._vain.get(node.key)
            if vain is not None and np.isin(node.free, vain).all():
                continue
            if not node.improve(found, deadline) and deadline.reason is None:
                self._vain[node.key] = node.free
        return found


class _Node:
    """One node of a DAG: its required parents, its other parents, and the columns that could be parents."""

    def __init__(self, problem: Problem, node: int, dag: Dag, own: NodeLikelihood | None) -> None:
        knowledge, names = problem.knowledge, name_order(problem.names)
        self._score: Score = problem.score
        self._node = node
        self._own = own
        must = knowledge.must[:, node]
        allowed = knowledge.may[:, node] & ~must & ~_descendants(dag, node)
        self._must = np.flatnonzero(must)
        self._free = names[allowed[names]]  # in the order of names, so that ties do not depend on the table
        self._given = np.flatnonzero((dag[:, node] != 0) & ~must)
        self._most = int(min(knowledge.at_most[node], problem.score.n_samples - 2)) - len(self._must)
        if own is not None:
            self._free = self._free[self._nearest(dag[:, node] != 0)]

    @property
    def key(self) -> tuple[int, bytes]:
        """The node and its parents."""
        return self._node, self._given.tobytes()

    @property
    def free(self) -> Ints:
        """The columns that could be parents."""
        return self._free

    def _nearest(self, is_parent: Bools) -> Bools:
        """Say which candidates to look at: the parents, and those most correlated with the node."""
        most = int(min(MOST_CANDIDATES, self._score.n_samples / ROWS_PER_CANDIDATE))
        if len(self._free) <= most:
            return np.ones(len(self._free), dtype=np.bool_)
        assert self._own is not None
        starts = self._own.starts
        rows = self._own.matrix[starts[self._node] : starts[self._node + 1]]
        per_column = np.append((rows**2).sum(axis=0), 0.0)
        near = np.array([per_column[starts[j] : starts[j + 1]].sum() for j in self._free])
        near[is_parent[self._free]] = np.inf
        chosen = np.zeros(len(near), dtype=np.bool_)
        chosen[np.argsort(-near, kind="stable")[:most]] = True
        return chosen

    def improve(self, dag: Dag, deadline: Deadline) -> bool:
        """Write the best parents found into the DAG, if they are better; say whether they are."""
        before = float(self._values(self._given[None])[0])
        best, score = self._exchanged(self._given, before, deadline)
        if self._own is not None and self._most > 0 and len(self._free) > 1:
            sets = nested_sets(self._own, self._node, self._must, self._free)
            sets = [some for some in sets if len(some) <= self._most]
            if sets:
                whole = [np.sort(np.concatenate([self._must, some])) for some in sets]
                values = self._score.local_many(np.full(len(sets), self._node), whole)
                k = int(np.argmax(values))
                other, value = self._exchanged(sets[k], float(values[k]), deadline)
                if value > score + ENOUGH:
                    best, score = other, value
        if not score > before + ENOUGH:
            return False
        dag[:, self._node] = 0
        dag[best, self._node] = dag[self._must, self._node] = 1
        return True

    def _exchanged(self, parents: Ints, score: float, deadline: Deadline) -> tuple[Ints, float]:
        """Add, leave out or replace one parent at a time while that raises the score."""
        while deadline.reason is None:
            size = len(parents)
            others = self._free[~np.isin(self._free, parents)]
            smaller = np.tile(parents, (size, 1))[~np.eye(size, dtype=np.bool_)].reshape(size, max(size - 1, 0))
            tried = [smaller]
            if size < self._most:
                larger = np.column_stack([np.tile(parents, (len(others), 1)), others])
                tried.append(larger)
                # replace a parent by one of those that are worth most beside all others
                others = others[np.argsort(-self._values(larger), kind="stable")]
            others = others[: MOST_SWAPS // max(size, 1)]
            tried.append(np.column_stack([np.repeat(smaller, len(others), axis=0), np.tile(others, size)]))
            best, value = parents, score + ENOUGH
            for sets in tried:
                values = self._values(sets)
                if len(sets) and values.max() > value:
                    k = int(np.argmax(values))
                    best, value = sets[k], float(values[k])
            if best is parents:
                break
            parents, score = best, value
        return parents, score

    def _values(self, sets: Ints) -> Floats:
        """Return the scores of sets of parents, one per row, to which the required ones are added."""
        count = len(sets)
        whole = np.sort(np.hstack([np.tile(self._must, (count, 1)), sets]).astype(np.int64), axis=1)
        offsets = np.arange(count + 1, dtype=np.int64) * whole.shape[1]
        return self._score.local_packed(np.full(count, self._node, dtype=np.int64), whole.ravel(), offsets)


def nested_sets(own: NodeLikelihood, node: int, must: Ints, free: Ints) -> list[Ints]:
    """Return the sets of backward elimination, the largest first: all of ``free``, and so on down to the empty set.

    With W the inverse of the matrix of the node v, the required parents and the candidates, column c of a candidate
    adds W[v, c]² / (W[c, c] W[v, v]) to what explains v; the candidate whose columns add least is left out, which
    turns W into W - W[:, b] W[b, b]⁻¹ W[b, :] for its block b. If the matrix is singular there are no sets.

    Parameters
    ----------
    own : NodeLikelihood
        The matrix and its blocks.
    node : int
        The node.
    must, free : int arrays
        Parents that are never left out, and the candidates.
    """
    widths = np.diff(own.starts)
    must, free = must[widths[must] > 0], free[widths[free] > 0]  # a column with one level explains nothing
    if widths[node] == 0:
        return []
    chosen = np.concatenate([[node], must, free]).astype(np.int64)
    blocks = [np.arange(own.starts[j], own.starts[j + 1]) for j in chosen]
    columns = np.concatenate(blocks)
    ends = np.cumsum([len(block) for block in blocks])
    begins = ends - [len(block) for block in blocks]
    try:
        inverse = np.linalg.inv(own.matrix[np.ix_(columns, columns)])
    except np.linalg.LinAlgError:
        return []
    if not (np.isfinite(inverse).all() and 0.0 < inverse.diagonal().min() <= inverse.diagonal().max() < 1.0 / SINGULAR):
        return []
    left = np.arange(len(chosen)) > len(must)
    is_single = len(columns) == len(chosen)  # one column each
    sets = [free]
    for _ in free:
        diagonal = inverse.diagonal()
        if not diagonal.min() > 0.0:  # by rounding
            break
        explained = (inverse[: ends[0]] ** 2 / diagonal[: ends[0], None]).sum(axis=0) / diagonal
        least = int(np.argmin(np.where(left, explained if is_single else np.add.reduceat(explained, begins), np.inf)))
        gone = slice(begins[least], ends[least])
        if is_single:
            row = inverse[least]
            inverse -= np.outer(row / row[least], row)
        else:
            inverse -= inverse[:, gone] @ np.linalg.solve(inverse[gone, gone], inverse[gone])
        for k in range(begins[least], ends[least]):
            inverse[k, k] = 1.0  # a column that is gone: nothing is divided by zero
        left[least] = False
        sets.append(chosen[left])
    return sets


def _descendants(dag: Dag, node: int) -> Bools:
    """Say which columns are the node or reached from it."""
    found = np.zeros(len(dag), dtype=np.bool_)
    found[node] = True
    waiting = [node]
    while waiting:
        new = np.flatnonzero((dag[waiting.pop()] != 0) & ~found)
        found[new] = True
        waiting.extend(new.tolist())
    return found
