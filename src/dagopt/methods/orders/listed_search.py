"""A quick search over orders for the best DAG of listed parent sets: random orders, then those near the best one.

Each order is improved until no column gains by moving (``kernels/orders/listed.py``), which takes about a millisecond.
A random order often ends far below the best DAG; moving a few columns of a good one keeps what is good in it.
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

NEAR_SHARE = 0.2  # of the time left, at most, for orders near the best one
EQUAL = 1e-7  # a smaller gain does not count


def best_of_orders(
    pool: Families, best: Ints | None, restarts: int, rng: np.random.Generator, deadline: Deadline
) -> Ints | None:
    """Return the families of the best DAG found, None if there is none.

    Parameters
    ----------
    pool : Families
        The listed parent sets.
    best : int array or None
        The families of a DAG that is known.
    restarts : int
        The number of random orders, and of those near the best one that must be in vain, one after the other.
    rng : Generator
        Draws the orders, of the names of the columns.
    deadline : Deadline
        When to stop.
    """
    named = name_order(pool.names)
    for _ in range(restarts):
        if deadline.reason is not None:
            return best
        best = pool.better(best, pool.along(named[rng.permutation(pool.n_nodes)]))
    clock, idle = deadline.within(NEAR_SHARE * deadline.remaining()), 0
    while best is not None and idle < restarts and clock.reason is None:
        order = named[topological_order(pool.adjacency(best)[np.ix_(named, named)])]
        found = pool.better(best, pool.along(disturbed(order, rng)))
        idle = idle + 1 if pool.total(found) <= pool.total(best) + EQUAL else 0
        best = found
    return best
