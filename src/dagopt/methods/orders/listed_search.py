"""A quick search over orders for the best DAG of listed parent sets: random orders, then those near the best one.

A random order, improved until no column gains by moving (``kernels/orders/listed.py``), often ends far below the best
DAG; moving a few columns of a good one keeps what is good in it, and only what that changes is searched again
(``kernels/orders/listed_kicks.py``). Such rounds begin anew until they find nothing better.
"""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Ints
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.graph.order import topological_order
from dagopt.kernels.orders.listed_kicks import kick_listed
from dagopt.methods.names import name_order

__all__ = ["best_of_orders"]

TIME_SHARE = 0.25  # of the time left, at most, unless nothing comes after it
RANDOM_SHARE = 0.2  # of ``tries``: the random orders that a round begins with
KICKS_PER_TRY = 3  # a kick takes a fifth of the time of improving an order as a whole
KICKS_PER_CALL = 15  # between two looks at the clock: milliseconds
LEAST_MOVED, MOST_MOVED = 8, 10  # columns that one kick moves to random places: a tenth of all, within these
MOST_VAIN = 4  # rounds that find nothing better, one after the other, before the search ends
EQUAL = 1e-7  # a smaller gain does not count


def best_of_orders(
    pool: Families,
    known: Ints | None,
    tries: int,
    rng: np.random.Generator,
    deadline: Deadline,
    share: float = TIME_SHARE,
    most_vain: float = MOST_VAIN,
) -> Ints | None:
    """Return the families of the best DAG found, None if there is none.

    Parameters
    ----------
    pool : Families
        The listed parent sets.
    known : int array or None
        The families of a DAG that is known; the answer is never worse.
    tries : int
        A third of the orders near the best one that must be in vain, one after the other, before a round ends.
    rng : Generator
        Draws the orders, of the names of the columns.
    deadline : Deadline
        When to stop.
    share : float
        The share of the time left that the search may take.
    most_vain : float
        The rounds in vain, one after the other, after which it ends earlier.
    """
    clock = deadline.within(share * deadline.remaining())
    best, vain = known, 0
    while tries > 0 and vain < most_vain and clock.reason is None:
        found = _round(pool, known, tries, rng, clock)
        vain = 0 if pool.total(found) > pool.total(best) + EQUAL else vain + 1
        best, known = pool.better(best, found), None
    return best


def _round(pool: Families, known: Ints | None, tries: int, rng: np.random.Generator, clock: Deadline) -> Ints | None:
    """Improve random orders, then orders near the best DAG of them and the known one."""
    named, best = name_order(pool.names), known
    for _ in range(max(round(RANDOM_SHARE * tries), 1)):
        if clock.reason is not None:
            return best
        best = pool.better(best, pool.along(named[rng.permutation(pool.n_nodes)]))
    if best is None:
        return None
    order = np.ascontiguousarray(named[topological_order(pool.adjacency(best)[np.ix_(named, named)])])
    idle = 0
    while idle < KICKS_PER_TRY * tries and clock.reason is None:
        idle += KICKS_PER_CALL
        if kick_listed(pool.lists, order, _moves(named, rng)) > EQUAL:
            idle = 0
    return pool.better(best, pool.along(order))


def _moves(named: Ints, rng: np.random.Generator) -> Ints:
    """Return the columns that each kick moves, drawn by their names, and their new places."""
    n = len(named)
    moved = min(max(LEAST_MOVED, min(n // 10, MOST_MOVED)), n)
    moves = np.empty((KICKS_PER_CALL, moved, 2), dtype=np.int64)
    for kick in moves:
        kick[:, 0] = named[rng.choice(n, size=moved, replace=False)]
    moves[..., 1] = rng.integers(n, size=moves.shape[:2])
    return moves
