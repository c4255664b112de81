"""Edges combined one by one, without those that would close a cycle."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import members

__all__ = ["acyclic_union"]


def acyclic_union(
    edges: Iterable[tuple[int, int]], n_nodes: int, at_most: NDArray[np.int64] | None = None
) -> NDArray[np.int8]:
    """Return the DAG of the edges, taken in the order given.

    Parameters
    ----------
    edges : iterable of (int, int)
        Pairs (from, to). A pair is left out if its nodes are already joined in either direction, if it would close a
        cycle, or if its head would have too many parents.
    n_nodes : int
        Number of nodes.
    at_most : int array, optional
        The largest number of parents of each node.

    Returns
    -------
    ndarray of int8
        A DAG.
    """
    adjacency = np.zeros((n_nodes, n_nodes), dtype=np.int8)
    below = [1 << node for node in range(n_nodes)]  # each node and its descendants, as bits
    above = [1 << node for node in range(n_nodes)]
    for tail, head in edges:
        full = at_most is not None and adjacency[:, head].sum() >= at_most[head]
        if full or adjacency[tail, head] or below[head] >> tail & 1:
            continue
        adjacency[tail, head] = 1
        for node in members(above[tail]):
            below[node] |= below[head]
        for node in members(below[head]):
            above[node] |= above[tail]
    return adjacency
