"""Candidate parent sets: all that could matter, and no more.

A set is dropped when one of its subsets scores at least as well (no best DAG needs it), and a set is not even
extended when no superset can beat what its subsets have. The bounds are

* penalised multinomial likelihood: supersets of J score at most the likelihood with all columns as parents minus the
  penalty of J (after de Campos and Ji 2011, whose bound on the likelihood is 0);
* BDeu: the first row of every configuration of the parents that occurs has probability 1 / a_i and the others
  at most 1, so supersets of J score at most -K(J) log a_i, K(J) the number of configurations that occur;
* penalised Gaussian likelihood: supersets of J score at most the likelihood with all columns as parents minus
  the penalty of J.

Sets grow by one member at a time for all nodes together: the local scores of discrete data are differences of joints,
and the joint of one set of columns serves all its members.

References
----------
de Campos, Ji (2011). Efficient structure learning of Bayesian networks using constraints. JMLR 12.
Scanagatta, de Campos, Zaffalon (2018). Efficient learning of bounded-treewidth Bayesian networks. ML 107.
"""

from __future__ import annotations

from functools import partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from dagopt.candidates.pool import MOST_NODES, Pool
from dagopt.errors import InputError
from dagopt.knowledge import Knowledge
from dagopt.scores.base import Floats, Ints, Score
from dagopt.scores.multinomial import CountingScore
from dagopt.workers import Stopped, Workers, spans

__all__ = ["Candidates", "candidate_pool", "count_sets"]

SETS_A_PIECE = 2048
JOINTS_A_PIECE = 512
PHASE = "scores of candidate parents"


def count_sets(knowledge: Knowledge) -> int:
    """Return how many parent sets knowledge allows in all."""
    total = 0
    for i in range(knowledge.n_nodes):
        fixed = int(knowledge.must[:, i].sum())
        free = int(knowledge.may[:, i].sum()) - fixed
        total += sum(comb(free, k) for k in range(int(knowledge.at_most[i]) - fixed + 1))
    return total


def candidate_pool(score: Score, knowledge: Knowledge, workers: Workers, slack: float = 0.0) -> Pool:
    """Return every allowed parent set that could be part of a best DAG, scored, or raise ``Stopped``.

    Parameters
    ----------
    score : Score
        Where local scores and bounds come from.
    knowledge : Knowledge
        What is allowed: must ⊆ J ⊆ may, |J| ≤ at most.
    workers : Workers
        The threads that score.
    slack : float
        Keep what could be part of a DAG that scores up to this much less than the best.

    Returns
    -------
    Pool
        Without dominated sets. Optimising over it is optimising over all allowed sets.
    """
    candidates = Candidates(score, knowledge, slack)
    if not candidates.grow(workers):
        raise Stopped
    return candidates.pool()


class Candidates:
    """The candidates of all nodes while they grow.

    Parameters
    ----------
    score, knowledge, slack
        As for ``candidate_pool``.

    Attributes
    ----------
    n_scored : int
        Sets scored so far.
    """

    def __init__(self, score: Score, knowledge: Knowledge, slack: float = 0.0) -> None:
        if score.n_nodes > MOST_NODES:
            raise InputError(f"expected at most {MOST_NODES} columns for candidate parent sets but got {score.n_nodes}")
        self._score = score
        self._growths = [_Growth(score, knowledge, node, slack) for node in range(score.n_nodes)]
        self._joints = _Joints(score) if isinstance(score, CountingScore) else None
        self._total = count_sets(knowledge)
        self.n_scored = 0

    def grow(self, workers: Workers) -> bool:
        """Score all that is worth it; False if the deadline came first. The smallest sets are scored in any case."""
        try:
            while any(growth.level.size for growth in self._growths):
                self._score_level(workers)
        except Stopped:
            return False
        return True

    def _score_level(self, workers: Workers) -> None:
        """Score the sets of the present size and go on to the next."""
        growths = [growth for growth in self._growths if growth.level.size]
        size = sum(growth.level.size for growth in growths)
        share = (self.n_scored / self._total, (self.n_scored + size) / self._total)
        if self._joints is None:
            pieces = [piece for growth in growths for piece in growth.pieces()]
            self._run(pieces, workers, share)
        else:
            wanted = [growth.sets | bit for growth in growths for bit in (0, 1 << growth.node)]
            self._run(self._joints.find(np.unique(np.concatenate(wanted))), workers, share)
            self._joints.sort()
            for growth in growths:
                growth.evaluate_by(self._joints)
        self.n_scored += size
        for growth in growths:
            growth.next_level()

    def _run(self, pieces: list[partial[None]], workers: Workers, share: tuple[float, float]) -> None:
        """Do this work: on the threads, except for the first sets, which are few and without which nothing is known."""
        if self.n_scored:
            workers.each(PHASE, pieces, len(pieces), share)
        else:
            for piece in pieces:
                piece()

    def pool(self) -> Pool:
        """Return what is kept so far; every node has a set once the smallest are scored."""
        kept = [growth.kept() for growth in self._growths]
        return Pool.of(self._score.names, [masks for masks, _ in kept], [scores for _, scores in kept])

    def ceiling(self) -> float:
        """Return the sum of what each node scores at most, infinity if that is not known."""
        return float(sum(growth.ceiling() for growth in self._growths))


class _Joints:
    """Joints of sets of columns, each computed once."""

    def __init__(self, score: CountingScore) -> None:
        self.score = score
        self._sets = np.zeros(0, dtype=np.int64)
        self._values = np.zeros(0)
        self._occurring = np.zeros(0, dtype=np.int64)

    def find(self, sets: Ints) -> list[partial[None]]:
        """Return the work of computing the joints of these sets where they are not known; others are forgotten."""
        kept = np.isin(self._sets, sets, assume_unique=True)
        new = np.setdiff1d(sets, self._sets, assume_unique=True)
        new = new[self.score.counting_order(new)]
        known = int(kept.sum())
        self._sets = np.concatenate([self._sets[kept], new])
        self._values = np.concatenate([self._values[kept], np.empty(len(new))])
        self._occurring = np.concatenate([self._occurring[kept], np.empty(len(new), dtype=np.int64)])
        return [partial(self._fill, known + first, known + last) for first, last in spans(len(new), JOINTS_A_PIECE)]

    def _fill(self, first: int, last: int) -> None:
        found = self.score.joints_of_sets(self._sets[first:last])
        self._values[first:last], self._occurring[first:last] = found

    def sort(self) -> None:
        """Make the joints ready to be looked up."""
        order = np.argsort(self._sets)
        self._sets, self._values, self._occurring = self._sets[order], self._values[order], self._occurring[order]

    def of(self, sets: Ints) -> tuple[Floats, Ints]:
        """Return joints, and how many configurations occur."""
        at = np.searchsorted(self._sets, sets)
        return self._values[at], self._occurring[at]


class _Growth:
    """The sets of one node, level by level of their size."""

    def __init__(self, score: Score, knowledge: Knowledge, node: int, slack: float) -> None:
        self._score = score
        self.node = node
        self._slack = slack
        self._must = [int(j) for j in np.flatnonzero(knowledge.must[:, node])]
        self._free = knowledge.free(node).tolist()
        self._most = int(knowledge.at_most[node]) - len(self._must)
        self.level: Ints = np.zeros(1, dtype=np.int64)  # masks over the free candidates, sorted
        self._inherited: Floats = np.full(1, -np.inf)  # best score of proper subsets
        self._ceiling: Floats = np.full(1, np.inf)  # bound on supersets, inherited
        self._size = 0
        self._kept: list[tuple[Ints, Floats]] = []
        self._scores: Floats = np.empty(0)
        self._bounds: Floats = np.empty(0)

    @property
    def sets(self) -> Ints:
        """The sets of this level as masks over all columns."""
        return self._full(self.level)

    def pieces(self) -> list[partial[None]]:
        """Return the work of scoring this level."""
        self._scores = np.empty(self.level.size)
        self._bounds = np.empty(self.level.size)
        return [partial(self._evaluate, *span) for span in spans(self.level.size, SETS_A_PIECE)]

    def _evaluate(self, first: int, last: int) -> None:
        size = self._size + len(self._must)
        sets = np.empty((last - first, size), dtype=np.int64)
        sets[:, : len(self._must)] = self._must
        if self._size:
            sets[:, len(self._must) :] = np.array(self._free)[_members(self.level[first:last], self._size)]
        sets.sort(axis=1)
        nodes = np.full(last - first, self.node, dtype=np.int64)
        offsets = np.arange(last - first + 1, dtype=np.int64) * size
        self._scores[first:last], self._bounds[first:last] = self._score.local_and_bounds(nodes, sets.ravel(), offsets)

    def evaluate_by(self, joints: _Joints) -> None:
        """Score this level by joints that are known."""
        score = joints.score
        sets = self.sets
        without, occurring = joints.of(sets)
        together, _ = joints.of(sets | (1 << self.node))
        cost = score.costs_of_sets(self.node, sets)
        self._scores = together - without - cost
        self._bounds = score.superset_bounds(self.node, cost, occurring)

    def next_level(self) -> None:
        """Keep what is not dominated, and go on to the supersets that could still win."""
        better = self._scores > self._inherited - self._slack
        self._kept.append((self.level[better], self._scores[better]))
        best = np.maximum(self._scores, self._inherited)
        ceiling = np.minimum(self._bounds, self._ceiling)
        open_sets = np.flatnonzero(ceiling > best - self._slack)
        self._size += 1
        if self._size > self._most or not open_sets.size:
            self.level = np.zeros(0, dtype=np.int64)
            return
        parents, best, ceiling = self.level[open_sets], best[open_sets], ceiling[open_sets]
        self._extend(parents, best, ceiling)

    def _extend(self, parents: Ints, best: Floats, ceiling: Floats) -> None:
        """Make the next level: every set all of whose subsets with one member less are open."""
        grown = [parents[parents < (1 << j)] | (1 << j) for j in range(len(self._free))]
        level = np.unique(np.concatenate(grown)) if grown else np.zeros(0, dtype=np.int64)
        inherited = np.full(level.size, -np.inf)
        lowest = np.full(level.size, np.inf)
        alive = np.ones(level.size, dtype=bool)
        if level.size:
            for member in _members(level, self._size).T:
                subset = level ^ (np.int64(1) << member)
                at = np.minimum(np.searchsorted(parents, subset), parents.size - 1)
                alive &= parents[at] == subset
                inherited = np.maximum(inherited, best[at])
                lowest = np.minimum(lowest, ceiling[at])
        alive &= lowest > inherited - self._slack
        self.level, self._inherited, self._ceiling = level[alive], inherited[alive], lowest[alive]

    def kept(self) -> tuple[Ints, Floats]:
        """Return the sets that are left as masks over all columns, with their scores."""
        masks = np.concatenate([np.zeros(0, dtype=np.int64), *(masks for masks, _ in self._kept)])
        scores = np.concatenate([np.zeros(0), *(scores for _, scores in self._kept)])
        return self._full(masks), scores

    def ceiling(self) -> float:
        """Return what no allowed set exceeds: the best score so far and the bounds of what is open."""
        scores = [values.max(initial=-np.inf) for _, values in self._kept]
        return float(max(*scores, self._ceiling.max(initial=-np.inf) if self.level.size else -np.inf, -np.inf))

    def _full(self, masks: Ints) -> Ints:
        """Return masks over the free candidates as masks over all columns."""
        full = np.full(masks.size, sum(1 << j for j in self._must), dtype=np.int64)
        for b, j in enumerate(self._free):
            full |= ((masks >> b) & 1) << j
        return full


def _members(masks: Ints, size: int) -> NDArray[np.int64]:
    """Return the members of sets of one size, a row each, in increasing order."""
    members = np.empty((masks.size, size), dtype=np.int64)
    rest = masks.copy()
    for k in range(size):
        lowest = rest & -rest
        members[:, k] = np.bitwise_count(lowest - 1)
        rest ^= lowest
    return members
