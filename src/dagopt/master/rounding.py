"""A DAG from the columns of the pool, quickly: each node in turn takes its best parents among those placed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.master.pool import ColumnPool

__all__ = ["greedy_dag"]


def greedy_dag(pool: ColumnPool) -> NDArray[np.int8]:
    """Return a DAG over the pool: the node that loses least against its best column comes next.

    Every node needs a column that fits what is placed at some point, as the empty set always does; nodes that
    must have parents wait for them.
    """
    best = [max(pool.columns[k].score for k in pool.places(i)) for i in range(pool.n_nodes)]
    placed, chosen = 0, list[int]()
    left = set(range(pool.n_nodes))
    while left:
        options = []
        for i in sorted(left):
            fitting = [k for k in pool.places(i) if not pool.columns[k].mask & ~placed]
            if fitting:
                k = max(fitting, key=lambda place: (pool.columns[place].score, -place))
                options.append((best[i] - pool.columns[k].score, i, k))
        _, node, place = min(options)
        chosen.append(place)
        placed |= 1 << node
        left.remove(node)
    return pool.adjacency(chosen)
