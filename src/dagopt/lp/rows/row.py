"""The interface of rows and of the objects that find them.

For **any submodular set function** h with h(∅) = 0 and every DAG,

    Σ_i h(i | J_i)  ≥  h(V),    h(i | J) = h(J + i) - h(J),

because J_i lies in the predecessors P_i of i in a topological order: h(i | J_i) ≥ h(i | P_i), and these add up to
h(V). With S ∩ C in place of S the same holds for every set C of nodes. Cluster rows are h(S) = min(1, |S ∩ C|).
Written as Σ a x ≤ b, a = -h(i | J ∩ C) and b = -h(C).

References
----------
Cussens, Haws, Studený (2017). Polyhedral aspects of score equivalence in Bayesian network structure learning.
Mathematical Programming 164.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.bits import listed_members
from dagopt.families.families import SUPPORT_TOLERANCE, Families
from dagopt.families.node_search import Prices, TableRow

__all__ = ["SLACK", "DualPoint", "Origin", "Point", "Row", "RowFinder", "Support"]

SLACK = 1e-12  # relative rounding error of the sums in a bound


@dataclass(frozen=True, eq=False)
class Origin:
    """What a row says about every DAG, from which it can be written over any families.

    Attributes
    ----------
    inside : bool array
        The set C: of nodes, or with a matrix of its columns.
    matrix : array or None
        M of h(S) = ½ log det M on S ∩ C.
    table : array or None
        The coefficients of a local cut: ``table[T * |C| + a]`` is that of the a-th node of C with J ∩ C = T. Without a
        matrix and a table, the row is the cluster C.
    scale : float
        What the coefficients are multiplied by.
    blocks : object or None
        With a matrix: the columns of each node (``blocks.py``).
    """

    inside: Bools
    matrix: Floats | None = None
    table: Floats | None = None
    scale: float = 1.0
    blocks: Any = None

    @property
    def is_cluster(self) -> bool:
        """Whether the row is a cluster."""
        return self.matrix is None and self.table is None


@dataclass(frozen=True, eq=False)
class Row:
    """A valid inequality Σ values x[families] ≤ upper.

    Attributes
    ----------
    families : int array
        The families with a coefficient, in increasing order.
    values : array
        Their coefficients.
    upper : float
        The right-hand side, rounded up.
    kind : str
        The kind of row, by what found it.
    origin : Origin or None
        What it says about every DAG, where it can be written over any families.
    """

    families: NDArray[np.integer]
    values: Floats
    upper: float
    kind: str = ""
    origin: Origin | None = None


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Rows that have an origin, and the multiplier of each."""

    rows: tuple[Row, ...]
    weights: Floats

    def mixed(self, other: DualPoint, share: float) -> DualPoint:
        """Return a point between two: ``share`` times this one plus ``1 - share`` times the other."""
        total: dict[int, tuple[Row, float]] = {}
        for point, part in ((self, share), (other, 1.0 - share)):
            for row, weight in zip(point.rows, point.weights, strict=True):
                if part * weight > 0.0:
                    before = total[id(row)][1] if id(row) in total else 0.0
                    total[id(row)] = (row, before + part * float(weight))
        return DualPoint(tuple(row for row, _ in total.values()), np.array([w for _, w in total.values()]))

    @property
    def constant(self) -> float:
        """Σ λ_r b_r, rounded up."""
        uppers = self.weights * np.array([row.upper for row in self.rows])
        return float(uppers.sum() + SLACK * np.abs(uppers).sum())

    def prices(self, n_nodes: int, correlation: Floats | None, n_samples: int) -> Prices:
        """Return the rows in the form that the search takes.

        The row of the sample correlations over all nodes becomes a share of the likelihood, unless these are None.
        """
        whole = 0.0
        matrices: dict[int, int] = {}
        kept: list[Floats] = []
        which, inside, weights, clusters, cluster_weights = [], [], [], [], []
        tables: list[TableRow] = []
        for row, weight in zip(self.rows, self.weights, strict=True):
            origin = row.origin
            assert origin is not None
            if origin.table is not None:
                tables.append(TableRow(np.flatnonzero(origin.inside), origin.table, float(weight)))
                continue
            if origin.matrix is None:
                clusters.append(origin.inside)
                cluster_weights.append(float(weight))
                continue
            share = float(weight) * origin.scale / n_samples
            if origin.matrix is correlation and origin.inside.all() and whole + share <= 1.0:
                whole += share
                continue
            if id(origin.matrix) not in matrices:
                matrices[id(origin.matrix)] = len(kept)
                kept.append(origin.matrix)
            which.append(matrices[id(origin.matrix)])
            inside.append(origin.inside)
            weights.append(float(weight) * origin.scale)
        return Prices(
            np.array(kept).reshape(len(kept), n_nodes, n_nodes),
            np.array(which, dtype=np.int64),
            np.array(inside, dtype=np.bool_).reshape(-1, n_nodes),
            np.array(weights),
            np.array(clusters, dtype=np.bool_).reshape(-1, n_nodes),
            np.array(cluster_weights),
            whole,
            tuple(tables),
        )


@dataclass(frozen=True, eq=False)
class Support:
    """The families that an LP point uses, in the form for kernels.

    Attributes
    ----------
    places : int array
        Where they are among all families.
    node, flat, starts, mass : arrays
        The node of each, all parents concatenated, where those of each begin, and the LP values.
    """

    places: Ints
    node: Ints
    flat: Ints
    starts: Ints
    mass: Floats

    @classmethod
    def of(cls, families: Families, values: Floats) -> Support:
        """Return the support of an LP point."""
        places = np.flatnonzero(values > SUPPORT_TOLERANCE).astype(np.int64)
        flat, starts = listed_members(families.words[places])
        return cls(places, families.node[places], flat, starts, values[places])

    def users(self, n_nodes: int) -> tuple[Ints, Ints]:
        """Return for each node the families with it as node or parent, concatenated, and where each node's begin."""
        sizes = np.diff(self.starts)
        one = np.concatenate([self.node, self.flat])
        family = np.concatenate([np.arange(len(self.node)), np.repeat(np.arange(len(self.node)), sizes)])
        order = np.argsort(one, kind="stable")
        return family[order].astype(np.int64), np.searchsorted(one[order], np.arange(n_nodes + 1)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Point:
    """An LP point.

    Attributes
    ----------
    families : Families
        The families.
    values : array
        The LP value of each.
    bound : float
        A score that no DAG over the remaining families exceeds.
    excess : array
        For each family, how much lower the bound is if it is used; minus infinity if it may not be used.
    node_duals : array
        λ_i: the largest score of a family of each node, less what the rows take of it.
    duals : DualPoint
        The rows that have multipliers, and these.
    """

    families: Families
    values: Floats
    bound: float
    excess: Floats
    node_duals: Floats = field(default_factory=lambda: np.zeros(0))
    duals: DualPoint = field(default_factory=lambda: DualPoint((), np.zeros(0)))

    def clusters(self, node: int, least: float = 0.0) -> tuple[Bools, Floats]:
        """Return the clusters with a node that have larger multipliers, without the node, and their multipliers."""
        kept = [
            (row.origin.inside, weight)
            for row, weight in zip(self.duals.rows, self.duals.weights.tolist(), strict=True)
            if row.origin is not None and row.origin.is_cluster and row.origin.inside[node] and weight > least
        ]
        inside = np.array([own for own, _ in kept], dtype=np.bool_).reshape(len(kept), self.families.n_nodes)
        inside[:, node] = False
        return inside, np.array([weight for _, weight in kept])

    @cached_property
    def support(self) -> Support:
        """The families that the point uses."""
        return Support.of(self.families, self.values)


class RowFinder(ABC):
    """Finds rows of one kind that an LP point violates."""

    @abstractmethod
    def separate(self, point: Point) -> list[Row]:
        """Return violated rows, perhaps none."""

    def harder(self) -> bool:
        """Search harder from now on, because the root has stalled; False if that is not possible."""
        return False

    def easier(self) -> None:  # noqa: B027
        """Return to the usual effort."""

    def improved(self, dag: NDArray[np.int8]) -> None:  # noqa: B027
        """Take note of a better DAG."""
