"""The restricted master of Algorithm 2: families, clusters, and the LP over them, which grows by both.

    max Σ score_i(J) x_{i←J}   s.t.   Σ_J x_{i←J} = 1 for each node i             (dual λ_i)
                                       Σ_{i in C} Σ_{J meets C} x_{i←J} <= |C| - 1  (dual λ_C >= 0)

The reduced cost of a family is z_i(J) = -score_i(J) + λ_i + Σ λ_C over the clusters with i in C that J meets, as in (3)
of the paper: never negative for families in the LP, zero for those that the solution uses.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dagopt.deadline import Deadline
from dagopt.families.families import Families, Family
from dagopt.lp.relaxation import Relaxation
from dagopt.lp.rows.clusters import cluster_row
from dagopt.lp.rows.rewriting import Renumbering, rewritten
from dagopt.lp.rows.row import Point

__all__ = ["RestrictedMaster", "reduced_cost"]

Cluster = frozenset[int]


class RestrictedMaster:
    """Families and clusters; what is new enters the LP, in one piece, at the next solve.

    Parameters
    ----------
    n_nodes : int
        Number of nodes n.
    """

    def __init__(self, n_nodes: int) -> None:
        self.n_nodes = n_nodes
        self.clusters: list[Cluster] = []
        self._families = Families.from_list(n_nodes, [])
        self._known: set[tuple[int, int]] = set()
        self._waiting: list[Family] = []
        self._place = np.zeros(0, dtype=np.int64)  # where the families of the LP are among all
        self._relaxation: Relaxation | None = None
        self._n_written = 0  # clusters in the LP

    @property
    def n_families(self) -> int:
        """The number of families."""
        return len(self._known)

    @property
    def families(self) -> Families:
        """All families."""
        if self._waiting:
            before = self._families
            self._families = before.joined(Families.from_list(self.n_nodes, self._waiting))
            self._place = self._families.where(len(before))[self._place]
            self._waiting = []
        return self._families

    def add_families(self, families: Iterable[Family]) -> int:
        """Add the families that are new; return how many."""
        before = len(self._known)
        for family in families:
            if family[:2] not in self._known:
                self._known.add(family[:2])
                self._waiting.append(family)
        return len(self._known) - before

    def add_clusters(self, clusters: Iterable[Cluster]) -> int:
        """Add the clusters that are new; return how many."""
        known = set(self.clusters)
        fresh = [cluster for cluster in dict.fromkeys(clusters) if cluster not in known]
        self.clusters += fresh
        return len(fresh)

    def solve(self) -> Point:
        """Return an optimal point of the LP and its duals; its ``bound`` is the LP's value, rounded up."""
        families = self.families
        if self._relaxation is None:
            self._relaxation = Relaxation(families, (), np.arange(len(families)), idle_rounds=0)
        elif families is not self._relaxation.families:
            self._relaxation.change(Renumbering(families, self._place), join=True)
        self._place = np.arange(len(families))
        self._relaxation.add([cluster_row(families, cluster) for cluster in self.clusters[self._n_written :]])
        self._n_written = len(self.clusters)
        point = self._relaxation.solve(np.ones(len(families), dtype=np.bool_), Deadline(), drop=False)
        assert point is not None  # there is no time limit, and the LP is always feasible
        return point

    def rebuild(self) -> None:
        """Make the LP again, so that later solves depend on families and clusters alone."""
        self._relaxation, self._n_written = None, 0


def reduced_cost(lp: Point, family: Family) -> float:
    """Return z_i(J) of any family, in the LP or not."""
    own = Families.from_list(lp.families.n_nodes, [family])
    rows = zip(lp.duals.rows, lp.duals.weights, strict=True)
    taken = sum(weight * rewritten(row, own).values.sum() for row, weight in rows)
    return float(lp.node_duals[family.node] + taken - family.score)
