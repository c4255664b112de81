"""A quick search over orders for the best DAG of listed parent sets: random orders, then those near the best one.

Each order is improved until no column gains by moving (``kernels/orders/listed.py``), which takes about a millisecond.
A random order often ends far below the best DAG; moving a few columns of a good one keeps what is good in it. Such
rounds begin anew until they find nothing better.
"""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Ints
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.graph.order import topological_order
from dagopt.methods.names import name_order
from dagopt.methods.orders.search import disturbed

__all__ = ["best_of_orders"]

TIME_SHARE = 0.25  # of the time left, at most
RANDOM_SHARE = 0.2  # of ``tries``: the random orders that a round begins with
MOST_VAIN = 4  # rounds that find nothing better, one after the other, before the search ends
EQUAL = 1e-7  # a smaller gain does not count


def best_of_orders(
    pool: Families, known: Ints | None, tries: int, rng: np.random.Generator, deadline: Deadline
) -> Ints | None:
    """Return the families of the best DAG found, None if there is none.

    Parameters
    ----------
    pool : Families
        The listed parent sets.
    known : int array or None
        The families of a DAG that is known; the answer is never worse.
    tries : int
        How many orders near the best one must be in vain, one after the other, before a round ends.
    rng : Generator
        Draws the orders, of the names of the columns.
    deadline : Deadline
        When to stop.
    """
    clock = deadline.within(TIME_SHARE * deadline.remaining())
    best, vain = known, 0
    while tries > 0 and vain < MOST_VAIN and clock.reason is None:
        found = _round(pool, known, tries, rng, clock)
        vain = 0 if pool.total(found) > pool.total(best) + EQUAL else vain + 1
        best, known = pool.better(best, found), None
    return best


def _round(pool: Families, known: Ints | None, tries: int, rng: np.random.Generator, clock: Deadline) -> Ints | None:
    """Improve random orders, then orders near the best DAG of them and the known one."""
    named, best, idle = name_order(pool.names), known, 0
    for _ in range(max(round(RANDOM_SHARE * tries), 1)):
        if clock.reason is not None:
            return best
        best = pool.better(best, pool.along(named[rng.permutation(pool.n_nodes)]))
    while best is not None and idle < tries and clock.reason is None:
        order = named[topological_order(pool.adjacency(best)[np.ix_(named, named)])]
        found = pool.better(best, pool.along(disturbed(order, rng)))
        idle = idle + 1 if pool.total(found) <= pool.total(best) + EQUAL else 0
        best = found
    return best
