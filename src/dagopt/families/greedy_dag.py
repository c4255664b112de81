"""A quick DAG from the families of the pool: each node in turn takes its best parents among the nodes placed so far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.families.family_pool import FamilyPool

__all__ = ["greedy_dag"]


def greedy_dag(pool: FamilyPool) -> NDArray[np.int8]:
    """Return a DAG over the pool: the node that loses least against its best family comes next.

    Every node needs a family that fits the nodes placed at some point, as the empty set always does; nodes with
    required parents wait for them.
    """
    best = [max(pool.families[k].score for k in pool.places(i)) for i in range(pool.n_nodes)]
    placed, chosen = 0, list[int]()
    left = set(range(pool.n_nodes))
    while left:
        options = []
        for i in sorted(left):
            fitting = [k for k in pool.places(i) if not pool.families[k].mask & ~placed]
            if fitting:
                k = max(fitting, key=lambda place: (pool.families[place].score, -place))
                options.append((best[i] - pool.families[k].score, i, k))
        _, node, place = min(options)
        chosen.append(place)
        placed |= 1 << node
        left.remove(node)
    return pool.adjacency(chosen)
