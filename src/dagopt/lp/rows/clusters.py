"""Cluster rows, h(S) = min(1, |S ∩ C|), and their mirror image: last-node rows.

A set C of nodes has a first node in the order of the DAG, none of whose parents is in C. In a *best* DAG it also has a
last node: every node whose addition to J_i would improve the score of i comes after i, or else the arc could be
added. Let A(i, J) be these nodes; then some i of C has A(i, J_i) ∩ C = ∅. Both rows are found in the same way, with J
or A as the sets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dagopt.families.families import Families
from dagopt.graph.order import is_acyclic
from dagopt.lp.fractional_clusters import FractionalSeparator, integer_clusters
from dagopt.lp.rows.row import Origin, Point, Row, RowFinder

__all__ = ["ClusterRows", "LastNodeRows", "cluster_row", "pair_rows"]

INTEGER_TOLERANCE = 1e-6  # of LP values; HiGHS is feasible to 1e-7


def cluster_row(families: Families, cluster: frozenset[int], kind: str = "cluster") -> Row:
    """Return the row of a cluster: at least one of its nodes has no parent in it."""
    places = families.in_row(cluster).astype(np.int64)
    inside = np.zeros(families.n_nodes, dtype=np.bool_)
    inside[sorted(cluster)] = True
    origin = Origin(inside) if kind == "cluster" else None
    return Row(places, np.ones(len(places)), len(cluster) - 1.0, kind, origin)


def pair_rows(families: Families, late: Callable[[], bool] = lambda: False) -> list[Row]:
    """Return the clusters of two nodes that a choice of families can violate, only some of them if it gets late."""
    flat, starts = families.listed
    arcs = np.zeros((families.n_nodes, families.n_nodes), dtype=np.bool_)
    arcs[flat, np.repeat(families.node, np.diff(starts))] = True
    pairs = np.argwhere(np.triu(arcs & arcs.T))
    return [cluster_row(families, frozenset((int(i), int(j)))) for i, j in pairs if not late()]


class ClusterRows(RowFinder):
    """Rows of clusters found by greedy growth, or of the cycles of an integer point.

    Parameters
    ----------
    most : int
        The most rows returned at once.
    """

    def __init__(self, most: int) -> None:
        self._separator = FractionalSeparator(most)

    def separate(self, point: Point) -> list[Row]:
        """Return the rows violated most."""
        families, values = point.families, point.values
        clusters = self._separator.heuristic(families, values)
        if not clusters and bool((np.abs(values - np.round(values)) < INTEGER_TOLERANCE).all()):
            graph = families.adjacency(families.taken(values))
            clusters = [] if is_acyclic(graph) else integer_clusters(graph)
        return [cluster_row(families, cluster) for cluster in clusters]


class LastNodeRows(RowFinder):
    """Last-node rows, which best DAGs satisfy.

    Parameters
    ----------
    after : uint64 array
        A(i, J) of every family of the whole problem, as words.
    most : int
        The most rows returned at once.
    """

    def __init__(self, after: NDArray[np.uint64], most: int) -> None:
        self._after = after
        self._separator = FractionalSeparator(most)
        self._known: tuple[Families, Families] | None = None

    def separate(self, point: Point) -> list[Row]:
        """Return the rows violated most."""
        if self._known is None or self._known[0] is not point.families:
            mirrored = replace(point.families, words=self._after[point.families.place])
            self._known = (point.families, mirrored)
        mirrored = self._known[1]
        return [
            cluster_row(mirrored, found, "last node") for found in self._separator.heuristic(mirrored, point.values)
        ]
