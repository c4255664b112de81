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
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.bits import listed_members
from dagopt.families.family_arrays import SUPPORT_TOLERANCE, FamilyArrays

__all__ = ["Origin", "Point", "Row", "RowFinder", "Support"]


@dataclass(frozen=True, eq=False)
class Origin:
    """What a row says about every DAG, from which it can be written over any families.

    Attributes
    ----------
    inside : bool array
        The set C.
    matrix : array or None
        M of h(S) = ½ log det M on S ∩ C.
    table : array or None
        The coefficients of a local cut: ``table[T * |C| + a]`` is that of the a-th node of C with J ∩ C = T. Without a
        matrix and a table, the row is the cluster C.
    scale : float
        What the coefficients are multiplied by.
    """

    inside: Bools
    matrix: Floats | None = None
    table: Floats | None = None
    scale: float = 1.0


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
    def of(cls, families: FamilyArrays, values: Floats) -> Support:
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
    families : FamilyArrays
        The families.
    values : array
        The LP value of each.
    bound : float
        A score that no DAG over the remaining families exceeds.
    excess : array
        For each family, how much lower the bound is if it is used; minus infinity if it may not be used.
    """

    families: FamilyArrays
    values: Floats
    bound: float
    excess: Floats

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
