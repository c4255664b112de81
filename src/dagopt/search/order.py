"""Order search: local search over orders of the columns by best insertion, from many starts.

The kernels are in ``kernels/order_search.py``. An order is scored by the best parents found for each column among
those before it: by growing and shrinking for scores made of log-determinants, or over a pool of listed parent
sets for discrete data. A round ends when no column moves; then some columns are put at random places and the
search goes on from there, keeping the better order.
"""

from __future__ import annotations

import heapq
import os
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.graph.order import topological_order
from dagopt.kernels import order_listed as listed_kernels
from dagopt.kernels import order_search as kernels
from dagopt.problem import Problem
from dagopt.scores.gaussian import LogDetScore
from dagopt.search.hill_climbing import start_dag
from dagopt.search.hill_names import name_order
from dagopt.stop import Deadline

__all__ = ["ListedOrders", "LogDetOrders", "Orders", "search_orders"]

Ints = NDArray[np.int64]
Dag = NDArray[np.int8]

PLACES_A_CALL = 2000  # places tried between two looks at the clock, about
MOST_REMEMBERED = 1 << 17  # scores that one search remembers, 16 bytes each
ENOUGH = kernels.ENOUGH
EQUAL = 1e-6  # orders of equivalent DAGs differ by rounding
NEVER = -1e300


class Orders(Protocol):
    """A way to score orders and to improve them."""

    n_nodes: int

    def start(self, order: Ints, dag: Dag | None = None, after: Any = None) -> Any:
        """Return the state of a search that begins at an order.

        ``dag``, if given, has this order, and its parent sets are used where they are better than those found.
        ``after`` is the state of an earlier search, which is over and whose memory is used again.
        """

    def improve(self, state: Any, variables: Ints) -> int:
        """Put each of these variables at its best place; return how many at the end did not move."""

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
        Keep for each column only so many candidate parents (see ``screened``); all unless given. Faster for many
        columns, and possibly worse.
    """

    def __init__(self, problem: Problem, candidates: int | None = None) -> None:
        score = problem.score
        if not isinstance(score, LogDetScore):
            raise InputError(f"expected a Gaussian score for growing and shrinking but got {score.label}")
        if candidates is not None and candidates < 1:
            raise InputError(f"expected candidates >= 1 but got {candidates}")
        n = self.n_nodes = problem.n_nodes
        matrix, log_scale, constant, power = score.logdet_form()
        form = np.stack([np.diff(constant), 0.5 * power[1:], 0.5 * np.diff(power)])
        form = np.concatenate([form, form[:, -1:]], axis=1)
        form[0, -1] = NEVER  # there is no set of n parents
        must = np.ascontiguousarray(problem.knowledge.must.T)
        most = np.minimum(problem.knowledge.at_most, max(n - 1, 0)).astype(np.int64)
        may = problem.knowledge.may.T
        if candidates is not None and candidates < n - 1:
            may = may & (screened(matrix, candidates) | must)
        counts = may.sum(axis=1).astype(np.int64)
        own = np.zeros((n, max(int(counts.max()), 1)), dtype=np.int64)
        for v in range(n):
            own[v, : counts[v]] = np.flatnonzero(may[v])
        self._given = (
            np.ascontiguousarray(matrix), log_scale, form, own, counts, np.ascontiguousarray(may), must, most
        )  # fmt: skip
        self._room = int(min(counts.max(), most.max())) + 1
        self._hashes = np.random.default_rng(0).integers(1 << 62, size=(n, 2))
        self._remembered = min(1 << (32 * n * n).bit_length(), MOST_REMEMBERED)

    def start(self, order: Ints, dag: Dag | None = None, after: Any = None) -> tuple[NDArray[Any], ...]:
        """Return the ``state`` of the kernels."""
        n, room = self.n_nodes, self._room
        if after is not None:
            state: tuple[NDArray[Any], ...] = after
            state[0][:] = order
        else:
            state = (
                np.array(order, dtype=np.int64), np.zeros(n, dtype=np.int64),
                np.zeros((n, room), dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n),
                np.zeros((n, room), dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros((n, room + 1)),
                np.zeros(n, dtype=bool), self._hashes,
                np.zeros(self._remembered, dtype=np.int64), np.zeros(self._remembered),
            )  # fmt: skip
        kernels.score_order(self._given, state)
        if dag is not None:
            is_own = self._given[5]
            for v in range(n):
                parents = np.flatnonzero(dag[:, v])
                if is_own[v, parents].all():
                    kernels.use_parents(self._given, state, v, parents)
        return state

    def improve(self, state: Any, variables: Ints) -> int:
        """Put each of these variables at its best place; return how many at the end did not move."""
        _, idle = kernels.insert_best(self._given, state, variables)
        return int(idle)

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

    def start(self, order: Ints, dag: Dag | None = None, after: Any = None) -> tuple[Ints]:
        """Return the order, which is all there is to know."""
        return (np.array(order, dtype=np.int64),)

    def improve(self, state: Any, variables: Ints) -> int:
        """Put each of these variables at its best place; return how many at the end did not move."""
        _, idle = listed_kernels.insert_best_listed(self._masks, self._scores, self._offsets, state[0], variables)
        return int(idle)

    def score(self, state: Any) -> float:
        """Return the score of the present order."""
        chosen = np.empty(self.n_nodes, dtype=np.int64)
        return float(listed_kernels.listed_parents(self._masks, self._scores, self._offsets, state[0], chosen))

    def order(self, state: Any) -> Ints:
        """Return the present order."""
        return np.array(state[0], dtype=np.int64)

    def dag(self, state: Any) -> Dag:
        """Return the present DAG."""
        chosen = np.empty(self.n_nodes, dtype=np.int64)
        listed_kernels.listed_parents(self._masks, self._scores, self._offsets, state[0], chosen)
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
    kicks: int = 10,
    random_state: int = 0,
    n_jobs: int | None = None,
    start: object = None,
    all_from_start: bool = False,
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
        An allowed DAG that the first search begins at, with its order and its parent sets.
    all_from_start : bool
        Whether the other searches begin there too, and not at random orders.
    """
    if restarts < 1 or kicks < 0:
        raise InputError(f"expected restarts >= 1 and kicks >= 0 but got {restarts} and {kicks}")
    first = None if start is None else start_dag(problem, start)
    begins = [first, *[first if all_from_start else None] * (restarts - 1)]
    by_name = name_order(problem.names)
    seeds = np.random.SeedSequence(random_state).spawn(restarts)
    jobs = min((os.cpu_count() or 1) if n_jobs in (None, -1) else int(n_jobs or 1), restarts)
    chains = [
        (orders, problem, deadline, seed, begin, by_name, kicks) for seed, begin in zip(seeds, begins, strict=True)
    ]
    if jobs == 1:
        found = [_chain(*chain) for chain in chains]
    else:
        found = Parallel(n_jobs=jobs, prefer="threads")(delayed(_chain)(*chain) for chain in chains)
    best = max(range(len(found)), key=lambda k: (found[k][1], -k))
    return found[best]


def _chain(
    orders: Orders,
    problem: Problem,
    deadline: Deadline,
    seed: np.random.SeedSequence,
    begin: Dag | None,
    by_name: Ints,
    kicks: int,
) -> tuple[Dag, float]:
    """Run one search: to a local optimum, then disturbed again and again."""
    rng = np.random.default_rng(seed)
    must = problem.knowledge.must
    if begin is None:
        order = _feasible(by_name[rng.permutation(orders.n_nodes)], must)
    else:
        order = np.asarray(topological_order(begin), dtype=np.int64)
    state = orders.start(order, begin)
    _climb(orders, state, deadline, rng, by_name)
    best_dag, best_score, best_order = orders.dag(state), orders.score(state), orders.order(state)
    for _ in range(kicks):
        if deadline.reason is not None:
            break
        state = orders.start(_feasible(_disturbed(best_order, rng), must), after=state)
        _climb(orders, state, deadline, rng, by_name)
        score = orders.score(state)
        if score > best_score - EQUAL:  # an equal order too, so that the search walks on over plateaus
            best_order = orders.order(state)
        if score > best_score + ENOUGH:
            best_dag, best_score = orders.dag(state), score
    return best_dag, best_score


def _climb(orders: Orders, state: Any, deadline: Deadline, rng: np.random.Generator, by_name: Ints) -> None:
    """Insert one variable after the other at its best place, in a random sequence, until all in a row stay."""
    n = orders.n_nodes
    at_once = max(min(PLACES_A_CALL // n, n), 1)
    sequence = by_name[rng.permutation(n)]
    at = idle = 0
    while idle < n and deadline.reason is None:
        variables = sequence[at : at + at_once]
        unmoved = orders.improve(state, variables)
        idle = idle + unmoved if unmoved == len(variables) else unmoved
        at = (at + len(variables)) % n


def _disturbed(order: Ints, rng: np.random.Generator) -> Ints:
    """Return the order with eight to ten variables at random places."""
    n = len(order)
    moved = rng.choice(n, size=min(max(8, min(n // 10, 10)), n), replace=False)
    rest = np.delete(order, moved)
    for v in order[moved]:
        rest = np.insert(rest, int(rng.integers(0, len(rest) + 1)), v)
    return rest


def _feasible(order: Ints, must: NDArray[np.bool_]) -> Ints:
    """Return the order with every variable moved back to behind its required parents, else as it was."""
    if not must.any():
        return order
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    missing = must.sum(axis=0)
    ready = [int(place[v]) for v in np.flatnonzero(missing == 0)]
    heapq.heapify(ready)
    placed = []
    while ready:
        v = order[heapq.heappop(ready)]
        placed.append(v)
        for child in np.flatnonzero(must[v]):
            missing[child] -= 1
            if missing[child] == 0:
                heapq.heappush(ready, int(place[child]))
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
