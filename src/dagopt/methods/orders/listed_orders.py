"""Orders scored over a pool of listed parent sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from dagopt.arrays import Dag, Ints
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.kernels.orders import listed as kernels

__all__ = ["ListedOrders"]


class ListedOrders:
    """Orders scored over a pool of parent sets, each column taking its best listed set.

    Parameters
    ----------
    pool : Families
        The parent sets.
    """

    def __init__(self, pool: Families) -> None:
        self.n_nodes = pool.n_nodes
        self._lists = pool.lists

    def start(self, order: Ints, deadline: Deadline, dag: Dag | None = None, after: Any = None) -> tuple[Ints]:
        """Return the order, which is the whole state."""
        return (np.array(order, dtype=np.int64),)

    def improve(self, state: Any, variables: Ints) -> tuple[int, int]:
        """Move each variable to its best position; return how many were tried and how many of the last ones stayed."""
        _, idle = kernels.insert_best_listed(self._lists, state[0], variables)
        return len(variables), int(idle)

    def score(self, state: Any) -> float:
        """Return the score of the current order."""
        chosen = np.empty(self.n_nodes, dtype=np.int64)
        return float(kernels.listed_parents(self._lists, state[0], chosen))

    def order(self, state: Any) -> Ints:
        """Return the current order."""
        return np.array(state[0], dtype=np.int64)

    def dag(self, state: Any) -> Dag:
        """Return the current DAG."""
        chosen = np.empty(self.n_nodes, dtype=np.int64)
        kernels.listed_parents(self._lists, state[0], chosen)
        adjacency = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int8)
        for v in range(self.n_nodes):
            k = chosen[v]
            adjacency[self._lists.parents[self._lists.starts[k] : self._lists.starts[k + 1]], v] = 1
        return adjacency
