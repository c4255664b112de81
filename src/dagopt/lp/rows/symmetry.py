"""Rows that keep one DAG of each equivalence class.

An arc p → r is covered if the parents of r are those of p and p itself; reversing it gives an equivalent DAG. Given
priorities of the nodes, the DAG of a class with the smallest topological order has no covered arc p → r with r of
higher priority. So

    x_{p,J} + x_{r,J+p} + Σ over J' that contain r of x_{p,J'}  ≤  1.

The score must be the same for equivalent DAGs, and every such reversal must be allowed: no knowledge except one parent
limit for all nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.graph.knowledge import Knowledge
from dagopt.kernels.cuts import tree as kernels
from dagopt.lp.rows.row import Point, Row, RowFinder

__all__ = ["SymmetryRows", "priorities", "turns_are_free"]

LEAST_VIOLATION = 1e-4  # of a row whose right-hand side is 1
MOST_PAIRS = 2000  # pairs of families examined per round


def turns_are_free(knowledge: Knowledge) -> bool:
    """Say whether every covered arc may be reversed: the only knowledge is one parent limit for all nodes."""
    n = knowledge.n_nodes
    everything = knowledge.may | np.eye(n, dtype=bool)
    limits = np.minimum(knowledge.at_most, n - 1)
    return bool(everything.all() and not knowledge.must.any() and (limits == limits[0]).all())


def priorities(adjacency: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the rank of each node, 0 first: breadth-first from the node with most neighbours."""
    joined = (adjacency | adjacency.T) != 0
    degree = joined.sum(axis=0)
    left = set(range(len(joined)))
    rank = np.empty(len(joined), dtype=np.int64)
    queue: list[int] = []
    for place in range(len(joined)):
        if not queue:
            queue.append(max(left, key=lambda i: (degree[i], -i)))
            left.discard(queue[0])
        node = queue.pop(0)
        rank[node] = place
        near = sorted((int(i) for i in np.flatnonzero(joined[node]) if i in left), key=lambda i: (-degree[i], i))
        queue += near
        left -= set(near)
    return rank


class SymmetryRows(RowFinder):
    """Symmetry rows for given priorities.

    Parameters
    ----------
    rank : int array
        The rank of each node, smaller ones first.
    most : int
        The most rows returned at once.
    """

    def __init__(self, rank: NDArray[np.int64], most: int) -> None:
        self._rank = rank
        self._most = most

    def separate(self, point: Point) -> list[Row]:
        """Return the rows violated most."""
        families, support = point.families, point.support
        words = families.words[support.places]
        offsets = np.searchsorted(support.node, np.arange(families.n_nodes + 1)).astype(np.int64)
        pairs = np.empty((MOST_PAIRS, 2), dtype=np.int64)
        count = kernels.covered_pairs(support.node, words, offsets, self._rank, pairs)
        found = []
        for low, high in pairs[:count]:
            p, r = int(support.node[low]), int(support.node[high])
            own = slice(offsets[p], offsets[p + 1])
            back = _have(words[own], r)
            value = support.mass[low] + support.mass[high] + support.mass[own][back].sum()
            if value > 1.0 + LEAST_VIOLATION:
                found.append((value, support.places[low], support.places[high], p, r))
        found.sort(key=lambda one: -one[0])
        return [self._row(point, *one[1:]) for one in found[: self._most]]

    @staticmethod
    def _row(point: Point, low: int, high: int, p: int, r: int) -> Row:
        families = point.families
        first, last = families.offsets[p], families.offsets[p + 1]
        back = first + np.flatnonzero(_have(families.words[first:last], r))
        places = np.unique(np.concatenate([back, [low, high]])).astype(np.int64)
        return Row(places, np.ones(len(places)), 1.0, "symmetry")


def _have(words: NDArray[np.uint64], node: int) -> NDArray[np.bool_]:
    """Say which sets contain a node."""
    found: NDArray[np.bool_] = (words[:, node >> 6] >> np.uint64(node & 63)) & np.uint64(1) != 0
    return found
