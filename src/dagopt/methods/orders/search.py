"""Order search: local search over orders of the columns by best insertion, from many starts.

An order is scored by the best parents found for each column among those before it: by growing and shrinking
(``grown.py``), or over a pool of listed parent sets (``listed.py``). A round ends when no column moves;
then some columns move to random positions and the search continues from there, keeping the better order.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from dagopt.arrays import Bools, Dag, Ints
from dagopt.deadline import Deadline
from dagopt.errors import InputError, checked_jobs
from dagopt.graph.order import parent_lists, topological_order
from dagopt.kernels.orders.trees import ENOUGH
from dagopt.methods.names import name_order
from dagopt.methods.orders.generic import GenericOrders
from dagopt.methods.orders.grown import BlockOrders, CountOrders, GrownOrders, LogDetOrders
from dagopt.methods.orders.listed_orders import ListedOrders
from dagopt.methods.orders.merging import merged
from dagopt.methods.orders.protocol import Orders
from dagopt.methods.start import required_dag
from dagopt.problem import Problem
from dagopt.workers import thread_count

__all__ = [
    "BareFamily",
    "BlockOrders",
    "CountOrders",
    "Found",
    "ListedOrders",
    "LogDetOrders",
    "Orders",
    "disturbed",
    "families",
    "orders_of",
    "search_orders",
]

BareFamily = tuple[int, tuple[int, ...]]  # a node and its parents, in increasing order

PLACES_PER_CALL = 20000  # about how many positions are tried between two checks of the clock
EQUAL = 1e-6  # orders of equivalent DAGs differ by rounding
MERGING_SECONDS = 0.3  # after the deadline, in which parts of other searches are still tried
FEW_PASSED = 5  # parent sets kept per column of those visited on the way to local optima


class Found(NamedTuple):
    """What a search over orders found.

    Attributes
    ----------
    dag : int8 array
        The best DAG.
    score : float
        Its score.
    met : tuple of (node, parents, score)
        If asked for: the parent sets of all locally optimal DAGs, then the best few per column that were visited on
        the way to them. Parents are in increasing order, no set appears twice.
    states : list
        States of searches that are over, whose memory other searches over the same orders can use.
    all_agree : bool
        Whether several searches were made and all of them ended at the best score.
    """

    dag: Dag
    score: float
    met: tuple[tuple[int, tuple[int, ...], float], ...] = ()
    states: tuple[Any, ...] = ()
    all_agree: bool = False


def orders_of(problem: Problem, candidates: int | None = None) -> Orders:
    """Return how the orders of a problem are scored: compiled if the score has a form for it, otherwise in Python.

    ``candidates``, if given, is about how many candidate parents are kept per column.
    """
    if problem.score.logdets is not None:
        return LogDetOrders(problem, candidates)
    if problem.score.counts is not None:
        return CountOrders(problem, candidates)
    if problem.score.blocks is not None:
        return BlockOrders(problem, candidates)
    return GenericOrders(problem, candidates)


def search_orders(
    orders: Orders,
    problem: Problem,
    deadline: Deadline,
    *,
    restarts: int = 10,
    kicks: int = 10,
    random_state: int = 0,
    n_jobs: int | None = None,
    start: Dag | None = None,
    all_from_start: bool = False,
    keep_met: bool = False,
    stage: int = 0,
    all_places: bool = True,
    after: tuple[Any, ...] = (),
) -> Found:
    """Return the best DAG over independent searches, improved by better parts of the others, and its score.

    Parameters
    ----------
    orders : Orders
        How orders are scored.
    problem : Problem
        Its knowledge says which columns must come before which.
    deadline : Deadline
        When to stop.
    restarts : int
        Number of independent searches; the first starts from ``start`` if it is given.
    kicks : int
        How often each search is disturbed and continued.
    random_state : int
        Seed; the answer does not depend on ``n_jobs``.
    n_jobs : int, optional
        The number of threads (or of workers of the active joblib backend); all cores unless given.
    start : int array of shape (n, n), optional
        An allowed DAG from which the first search starts, with its order and its parent sets.
    all_from_start : bool
        Whether the other searches also start there, rather than from random orders.
    keep_met : bool
        Whether to return also the good parent sets that were visited.
    stage : int
        How many calls with the same seed came before; each has random numbers of its own.
    all_places : bool
        Whether every column is finally tried at all places, not only near its current one.
    after : tuple
        The states of earlier searches; what they remember saves time and does not change the answer.
    """
    if restarts < 1 or kicks < 0:
        raise InputError(f"expected restarts= >= 1 and kicks= >= 0 but got {restarts} and {kicks}; change the options")
    if start is None:
        required_dag(problem)  # which the score must allow
    others = start if all_from_start else None
    begins = _Begins(random_state, restarts * stage, start, others)
    plan = _Plan(orders, problem.knowledge.must, name_order(problem.names), kicks, keep_met, all_places, begins)
    ends, states = _run(plan, restarts, deadline, n_jobs, after)
    best = ends[0]
    for end in ends:
        if end.score > best.score + EQUAL:  # the first of equal ones
            best = end
    dag, late = best.dag, Deadline(MERGING_SECONDS)
    for end in ends:
        if deadline.reason is not None and late.reason is not None:
            break
        dag = merged(dag, end.dag, problem)
    score = best.score if dag is best.dag else max(best.score, problem.score.total(dag))
    met = _scored(problem, [end.optima for end in ends], [end.passed for end in ends]) if keep_met else ()
    all_agree = len(ends) > 1 and all(end.score >= score - EQUAL for end in ends)
    return Found(dag, score, met, states, all_agree)


class _Begins(NamedTuple):
    """Where each search begins: its random numbers, and the DAG of the first and of all others."""

    random_state: int
    before: int
    first: Dag | None
    others: Dag | None

    def begin(self, k: int) -> tuple[np.random.Generator, Dag | None]:
        """Return the random numbers and the DAG of a search; there may be very many, so each is made when it begins."""
        seed = np.random.SeedSequence(self.random_state, spawn_key=(self.before + k,))
        return np.random.default_rng(seed), self.first if k == 0 else self.others


class _Plan(NamedTuple):
    """What searches share: how orders are scored, required precedence, names, kicks, what to keep and try, begins."""

    orders: Orders
    must: Bools
    by_name: Ints
    kicks: int
    keep_met: bool
    all_places: bool
    begins: _Begins


class _End(NamedTuple):
    """The result of one search: the best DAG, its score, the parent sets of local optima, and others visited."""

    dag: Dag
    score: float
    optima: list[BareFamily]
    passed: list[BareFamily]


def _run(
    plan: _Plan, restarts: int, deadline: Deadline, n_jobs: int | None, states: tuple[Any, ...]
) -> tuple[list[_End], tuple[Any, ...]]:
    """Run all searches, divided among threads or the workers of the active joblib backend."""
    backend, told = get_active_backend(prefer="threads")
    shared = getattr(backend, "supports_sharedmem", False)
    default = told or (1 if shared else effective_n_jobs(-1))  # a cluster has as many as it has workers
    asked = checked_jobs("n_jobs", n_jobs)
    jobs = min(default if asked is None and default > 1 else thread_count(asked), restarts)
    if jobs == 1:
        ends, state = _chains(plan, range(restarts), deadline, states[0] if states else None)
        return ends, (state,)
    parallel = Parallel(n_jobs=jobs, prefer="threads", max_nbytes=None)  # kernels need arrays, not memory-mapped files
    hands = [range(k, restarts, jobs) for k in range(jobs)]
    if shared:
        known = [*states, *[None] * jobs]
        pairs = parallel(delayed(_chains)(plan, hand, deadline, known[k]) for k, hand in enumerate(hands))
        done, states = [ends for ends, _ in pairs], tuple(state for _, state in pairs)
    else:
        seconds = None if math.isinf(deadline.remaining()) else max(deadline.remaining(), 1e-9)
        done = parallel(delayed(_chains_elsewhere)(plan, hand, seconds) for hand in hands)
    rounds = zip_longest(*done)  # in the order of the searches; those that the deadline left out are None
    return [end for ends in rounds for end in ends if end is not None], states


def _chains_elsewhere(plan: _Plan, hand: range, seconds: float | None) -> list[_End]:
    """Run searches in another process, which has its own clock."""
    with Deadline(seconds) as deadline:
        return _chains(plan, hand, deadline, None)[0]


def _chains(plan: _Plan, hand: range, deadline: Deadline, state: Any) -> tuple[list[_End], Any]:
    """Run one search after the other; each reuses the caches of those before, which does not change its result."""
    ends: list[_End] = []
    for k in hand:
        if ends and deadline.reason is not None:
            break
        end, state = _chain(plan, *plan.begins.begin(k), deadline, state)
        ends.append(end)
    return ends, state


def _chain(
    plan: _Plan, rng: np.random.Generator, begin: Dag | None, deadline: Deadline, state: Any
) -> tuple[_End, Any]:
    """Run one search: to a local optimum, then disturbed again and again."""
    orders, must, by_name, kicks, keep_met, all_places, _ = plan
    optima: dict[BareFamily, None] = {}
    passed: dict[BareFamily, None] | None = {} if keep_met else None
    if begin is None:
        order = _feasible(by_name[rng.permutation(orders.n_nodes)], must)
    else:
        order = by_name[topological_order(begin[np.ix_(by_name, by_name)])]
    state = orders.start(order, deadline, begin, after=state)
    if isinstance(orders, GrownOrders):
        sequence = by_name[rng.permutation(orders.n_nodes)]
        orders.settle(state, sequence, deadline)
        for _ in range(kicks):
            if keep_met:
                optima.update(dict.fromkeys(families(orders.dag(state))))
            if deadline.reason is not None:
                break
            orders.kick(state, orders.n_nodes, rng, deadline)
        if all_places:
            _climb(orders, state, deadline, rng, by_name, passed)
        best_dag, best_score = orders.dag(state), orders.score(state)
    else:
        best_dag, best_score = _disturbances(plan, state, rng, deadline, optima, passed)
    if keep_met:
        optima.update(dict.fromkeys(families(orders.dag(state))))
    return _End(best_dag, best_score, list(optima), list(passed or ())), state


def _disturbances(
    plan: _Plan,
    state: Any,
    rng: np.random.Generator,
    deadline: Deadline,
    optima: dict[BareFamily, None],
    passed: dict[BareFamily, None] | None,
) -> tuple[Dag, float]:
    """Search from an order and from disturbed ones; return the best DAG and its score."""
    orders, must, by_name, kicks, keep_met, *_ = plan
    _climb(orders, state, deadline, rng, by_name, passed)
    best_dag, best_score, best_order = orders.dag(state), orders.score(state), orders.order(state)
    for _ in range(kicks):
        if keep_met:
            optima.update(dict.fromkeys(families(orders.dag(state))))
        if deadline.reason is not None:
            break
        state = orders.start(_feasible(disturbed(best_order, rng), must), deadline, after=state)
        _climb(orders, state, deadline, rng, by_name, passed)
        score = orders.score(state)
        if score > best_score - EQUAL:  # also an equal order, so that the search can cross plateaus
            best_order = orders.order(state)
        if score > best_score + ENOUGH:
            best_dag, best_score = orders.dag(state), score
    return best_dag, best_score


def families(dag: Dag) -> list[BareFamily]:
    """Return every node of a DAG with its parents."""
    return [(v, tuple(parents.tolist())) for v, parents in enumerate(parent_lists(dag))]


def _scored(
    problem: Problem, optima: Iterable[list[BareFamily]], passed: Iterable[list[BareFamily]]
) -> tuple[tuple[int, tuple[int, ...], float], ...]:
    """Return the families of local optima, then the best few others per node, with their scores."""
    first = dict.fromkeys(family for families in optima for family in families)
    others = list(dict.fromkeys(family for families in passed for family in families if family not in first))
    families = [*first, *others]
    values = problem.score.local_many([v for v, _ in families], [parents for _, parents in families]).tolist()
    met = [(v, parents, value) for (v, parents), value in zip(families, values, strict=True)]
    by_node: dict[int, list[tuple[int, tuple[int, ...], float]]] = {}
    for entry in met[len(first) :]:
        by_node.setdefault(entry[0], []).append(entry)
    few = [sorted(by_node[v], key=lambda entry: -entry[2])[:FEW_PASSED] for v in sorted(by_node)]
    return (*met[: len(first)], *(entry for own in few for entry in own))


def _climb(
    orders: Orders,
    state: Any,
    deadline: Deadline,
    rng: np.random.Generator,
    by_name: Ints,
    passed: dict[BareFamily, None] | None,
) -> None:
    """Move one variable after the other to its best position, in a random sequence, until all of them stay.

    It also ends when all were tried and the score has not improved: rounding can make equal orders look better than
    each other in a cycle.
    """
    n = orders.n_nodes
    at_once = max(min(PLACES_PER_CALL // n, n), 1)
    sequence = by_name[rng.permutation(n)]
    at = idle = since = 0
    before = -np.inf
    while idle < n and deadline.reason is None:
        if since >= 2 * n:
            score = orders.score(state)
            if not score > before + ENOUGH:
                break
            before, since = score, 0
        variables = sequence[at : at + at_once]
        tried, unmoved = orders.improve(state, variables)
        idle = idle + unmoved if unmoved == tried else unmoved
        at = (at + tried) % n
        since += tried
        if passed is not None:
            passed.update(dict.fromkeys(families(orders.dag(state))))


def disturbed(order: Ints, rng: np.random.Generator) -> Ints:
    """Return the order with eight to ten variables at random positions."""
    n = len(order)
    moved = rng.choice(n, size=min(max(8, min(n // 10, 10)), n), replace=False)
    rest = np.delete(order, moved)
    for v in order[moved]:
        rest = np.insert(rest, int(rng.integers(0, len(rest) + 1)), v)
    return rest


def _feasible(order: Ints, must: Bools) -> Ints:
    """Return the order with each variable moved behind its required parents; otherwise unchanged."""
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
