"""Order search: local search over orders of the columns by best insertion, from many starts.

The kernels are in ``kernels/order_search.py``. An order is scored by the best parents found for each column among
those before it: by growing and shrinking for scores made of log-determinants, or over a pool of listed parent
sets for discrete data. A round ends when no column moves; then some columns are put at random places and the
search goes on from there, keeping the better order.
"""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.graph.dag import as_graph, require_dag
from dagopt.graph.order import topological_order
from dagopt.kernels import order_search as kernels
from dagopt.problem import Problem
from dagopt.scores.gaussian import LogDetScore
from dagopt.search.hill_names import name_order
from dagopt.stop import Deadline

__all__ = ["ListedOrders", "LogDetOrders", "Orders", "search_orders"]

Ints = NDArray[np.int64]
Dag = NDArray[np.int8]

VARIABLES_A_CALL = 16  # between two looks at the clock
ENOUGH = 1e-7


class Orders(Protocol):
    """A way to score orders and to improve them."""

    n_nodes: int

    def start(self, order: Ints) -> Any:
        """Return the state of a search that begins at an order."""

    def improve(self, state: Any, variables: Ints) -> float:
        """Put each of these variables at its best place; return the gain."""

    def score(self, state: Any) -> float:
        """Return the score of the present order."""

    def order(self, state: Any) -> Ints:
        """Return the present order."""

    def dag(self, state: Any) -> Dag:
        """Return the present DAG."""


class LogDetOrders:
    """Orders of the columns of a score made of log-determinants, parents by growing and shrinking.

    Parameters
    ----------
    problem : Problem
        A Gaussian or BGe score, and knowledge.
    candidates : int, optional
        Keep for each column only so many candidate parents (see ``screened``); all unless given. Faster for many columns, and possibly worse.
    """

    def __init__(self, problem: Problem, candidates: int | None = None) -> None:
        score = problem.score
        if not isinstance(score, LogDetScore):
            raise InputError(f"expected a Gaussian score for growing and shrinking but got {score.label}")
        if candidates is not None and candidates < 1:
            raise InputError(f"expected candidates >= 1 but got {candidates}")
        self.n_nodes = problem.n_nodes
        matrix, log_scale, constant, power = score.logdet_form()
        self._matrix = np.ascontiguousarray(matrix)
        self._log_scale = log_scale
        self._form = np.stack([np.diff(constant), 0.5 * power[1:], 0.5 * np.diff(power)])
        self._must = np.ascontiguousarray(problem.knowledge.must.T)
        self._most = np.ascontiguousarray(problem.knowledge.at_most)
        may = problem.knowledge.may.T
        if candidates is not None and candidates < self.n_nodes - 1:
            may = may & (screened(self._matrix, candidates) | self._must)
        self._is_own = np.ascontiguousarray(may)
        self._counts = may.sum(axis=1).astype(np.int64)
        self._own = np.zeros((self.n_nodes, max(int(self._counts.max()), 1)), dtype=np.int64)
        for v in range(self.n_nodes):
            self._own[v, : self._counts[v]] = np.flatnonzero(may[v])
        self._room = int(min(self._counts.max(), self._most.max())) + 1

    def start(self, order: Ints) -> tuple[NDArray[Any], ...]:
        """Return (order, rank, parents, sizes, scores)."""
        order = np.array(order, dtype=np.int64)
        rank = np.zeros(self.n_nodes, dtype=np.int64)
        parents = np.zeros((self.n_nodes, self._room), dtype=np.int64)
        sizes = np.zeros(self.n_nodes, dtype=np.int64)
        scores = np.zeros(self.n_nodes)
        kernels.score_order(
            self._matrix, self._log_scale, self._form, self._own, self._counts, order, rank, self._must, self._most,
            parents, sizes, scores,
        )  # fmt: skip
        return order, rank, parents, sizes, scores

    def improve(self, state: Any, variables: Ints) -> float:
        """Put each of these variables at its best place; return the gain."""
        order, rank, parents, sizes, scores = state
        gain: float = kernels.insert_best(
            self._matrix, self._log_scale, self._form, self._own, self._counts, self._is_own, order, rank, self._must,
            self._most, parents, sizes, scores, variables,
        )  # fmt: skip
        return gain

    def score(self, state: Any) -> float:
        """Return the score of the present order."""
        return float(state[4].sum())

    def order(self, state: Any) -> Ints:
        """Return the present order."""
        return np.array(state[0], dtype=np.int64)

    def dag(self, state: Any) -> Dag:
        """Return the present DAG."""
        adjacency = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int8)
        for v in range(self.n_nodes):
            adjacency[state[2][v, : state[3][v]], v] = 1
        return adjacency


class ListedOrders:
    """Orders scored over a pool of parent sets, each column taking its best listed set.

    Parameters
    ----------
    masks, scores : sequences of arrays
        For each column its sets as bits of integers, and their scores, from the best down.
    """

    def __init__(self, masks: tuple[NDArray[np.int64], ...], scores: tuple[NDArray[np.float64], ...]) -> None:
        self.n_nodes = len(masks)
        self._offsets = np.concatenate([[0], np.cumsum([len(own) for own in masks])]).astype(np.int64)
        self._masks = np.concatenate(masks)
        self._scores = np.concatenate(scores)

    def start(self, order: Ints) -> tuple[Ints]:
        """Return the order, which is all there is to know."""
        return (np.array(order, dtype=np.int64),)

    def improve(self, state: Any, variables: Ints) -> float:
        """Put each of these variables at its best place; return the gain."""
        gain: float = kernels.insert_best_listed(self._masks, self._scores, self._offsets, state[0], variables)
        return gain

    def score(self, state: Any) -> float:
        """Return the score of the present order."""
        chosen = np.empty(self.n_nodes, dtype=np.int64)
        return float(kernels.listed_parents(self._masks, self._scores, self._offsets, state[0], chosen))

    def order(self, state: Any) -> Ints:
        """Return the present order."""
        return np.array(state[0], dtype=np.int64)

    def dag(self, state: Any) -> Dag:
        """Return the present DAG."""
        chosen = np.empty(self.n_nodes, dtype=np.int64)
        kernels.listed_parents(self._masks, self._scores, self._offsets, state[0], chosen)
        adjacency = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int8)
        for v in range(self.n_nodes):
            mask = int(self._masks[chosen[v]])
            adjacency[[b for b in range(self.n_nodes) if (mask >> b) & 1], v] = 1
        return adjacency


def search_orders(
    orders: Orders,
    problem: Problem,
    deadline: Deadline,
    *,
    restarts: int = 10,
    kicks: int = 5,
    random_state: int = 0,
    n_jobs: int | None = None,
    start: object = None,
) -> tuple[Dag, float]:
    """Return the best DAG over independent searches, and its score.

    Parameters
    ----------
    orders : Orders
        How orders are scored.
    problem : Problem
        Its knowledge says which columns must come before which.
    deadline : Deadline
        When to stop.
    restarts : int
        Number of independent searches; the first begins at ``start`` if there is one.
    kicks : int
        How often each search is disturbed and continued.
    random_state : int
        Seed; the answer does not depend on ``n_jobs``.
    n_jobs : int, optional
        Threads (or workers of the joblib backend in force); all cores unless given.
    start : anything that ``as_graph`` takes, optional
        A DAG whose order the first search begins at.
    """
    begins: list[Ints | None] = [None] * max(restarts, 1)
    if start is not None:
        graph = as_graph(start, problem.names)
        require_dag(graph)
        begins[0] = np.asarray(topological_order(graph.adjacency | problem.knowledge.must), dtype=np.int64)
    by_name = name_order(problem.names)
    seeds = np.random.SeedSequence(random_state).spawn(len(begins))
    jobs = min((os.cpu_count() or 1) if n_jobs in (None, -1) else int(n_jobs or 1), len(begins))
    if jobs == 1:
        found = [
            _chain(orders, problem, deadline, seed, begin, by_name, kicks)
            for seed, begin in zip(seeds, begins, strict=True)
        ]
    else:
        found = Parallel(n_jobs=jobs, prefer="threads")(
            delayed(_chain)(orders, problem, deadline, seed, begin, by_name, kicks)
            for seed, begin in zip(seeds, begins, strict=True)
        )
    best = max(range(len(found)), key=lambda k: (found[k][1], -k))
    return found[best]


def _chain(
    orders: Orders,
    problem: Problem,
    deadline: Deadline,
    seed: np.random.SeedSequence,
    begin: Ints | None,
    by_name: Ints,
    kicks: int,
) -> tuple[Dag, float]:
    """Run one search: to a local optimum, then disturbed again and again."""
    rng = np.random.default_rng(seed)
    order = by_name[rng.permutation(orders.n_nodes)] if begin is None else begin
    state = orders.start(_feasible(order, problem.knowledge.must))
    _climb(orders, state, deadline, rng, by_name)
    best_dag, best_score, best_order = orders.dag(state), orders.score(state), orders.order(state)
    for _ in range(kicks):
        if deadline.reason is not None:
            break
        state = orders.start(_feasible(_disturbed(best_order, rng), problem.knowledge.must))
        _climb(orders, state, deadline, rng, by_name)
        score = orders.score(state)
        if score > best_score + ENOUGH:
            best_dag, best_score, best_order = orders.dag(state), score, orders.order(state)
    return best_dag, best_score


def _climb(orders: Orders, state: Any, deadline: Deadline, rng: np.random.Generator, by_name: Ints) -> None:
    """Insert every variable at its best place, in a random sequence, until none moves."""
    gain = np.inf
    while gain > ENOUGH:
        gain = 0.0
        sequence = by_name[rng.permutation(orders.n_nodes)]
        for first in range(0, orders.n_nodes, VARIABLES_A_CALL):
            gain += orders.improve(state, sequence[first : first + VARIABLES_A_CALL])
            if deadline.reason is not None:
                return


def _disturbed(order: Ints, rng: np.random.Generator) -> Ints:
    """Return the order with a tenth of the variables, and at least three, at random places."""
    n = len(order)
    moved = rng.choice(n, size=min(max(3, n // 10), n), replace=False)
    rest = np.delete(order, moved)
    for v in order[moved]:
        rest = np.insert(rest, int(rng.integers(0, len(rest) + 1)), v)
    return rest


def _feasible(order: Ints, must: NDArray[np.bool_]) -> Ints:
    """Return the order changed as little as needed for required parents to come first."""
    if not must.any():
        return order
    placed: list[int] = []
    done = np.zeros(len(order), dtype=bool)

    def place(v: int) -> None:
        if done[v]:
            return
        done[v] = True
        for u in np.flatnonzero(must[:, v]):
            place(int(u))
        placed.append(v)

    for v in order:
        place(int(v))
    return np.array(placed, dtype=np.int64)


def screened(matrix: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Return for each column (a row) the ``count`` others that tell most about it.

    The nearest by correlation and the nearest by partial correlation given all others are both kept, and the
    relation is made symmetric, so that an edge can be found either way round.
    """
    n = len(matrix)
    strength = matrix**2
    try:
        precision = np.linalg.inv(matrix + 1e-8 * np.eye(n))
        scale = np.sqrt(np.diag(precision))
        partial = (precision / np.outer(scale, scale)) ** 2
    except np.linalg.LinAlgError:
        partial = strength
    keep = np.zeros((n, n), dtype=bool)
    for measure in (strength, partial):
        measure = measure.copy()
        np.fill_diagonal(measure, -1.0)
        nearest = np.argsort(-measure, axis=1, kind="stable")[:, :count]
        np.put_along_axis(keep, nearest, True, axis=1)
    np.fill_diagonal(keep, False)
    return keep | keep.T
