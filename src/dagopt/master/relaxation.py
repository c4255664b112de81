"""The restricted master LP: one model that stays in memory and grows by families and by cluster rows.

    max Σ score_i(J) x_{i←J}   s.t.   Σ_J x_{i←J} = 1 for each node i             (dual λ_i)
                                       Σ_{i in C} Σ_{J meets C} x_{i←J} <= |C| - 1  (dual λ_C >= 0)

The reduced cost of a family is z_i(J) = -score_i(J) + λ_i + Σ λ_C over the clusters with i in C that J meets, as in
(3) of the paper: never negative for families in the model, zero for those that the solution uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import mask_of
from dagopt.master.pool import Family, FamilyPool
from dagopt.solvers.highs import LinearProgram

__all__ = ["MasterSolution", "RestrictedMaster"]

Cluster = frozenset[int]


@dataclass(frozen=True, eq=False)
class MasterSolution:
    """An optimal point of the restricted master LP.

    Attributes
    ----------
    value : float
        The objective. It bounds DAG scores only if no family has a negative reduced cost.
    values : array
        x of the pool's families, in their order.
    node_duals : array
        λ_i.
    cluster_duals : array
        λ_C, in the order of the clusters.
    """

    value: float
    values: NDArray[np.float64]
    node_duals: NDArray[np.float64]
    cluster_duals: NDArray[np.float64]


class RestrictedMaster:
    """Pool, clusters and the LP over them.

    Parameters
    ----------
    n_nodes : int
        Number of nodes n.
    """

    def __init__(self, n_nodes: int) -> None:
        self.n_nodes = n_nodes
        self.pool = FamilyPool(n_nodes)
        self.clusters: list[Cluster] = []
        self._known: set[Cluster] = set()
        self._masks: list[int] = []
        self._offsets = np.zeros(n_nodes)  # the first score of each node, subtracted to keep numbers small
        self._program = self._empty_program()

    def _empty_program(self) -> LinearProgram:
        program = LinearProgram(maximise=True)
        for _ in range(self.n_nodes):
            program.add_row(1.0, 1.0, [], [])
        return program

    def add_families(self, families: list[Family]) -> int:
        """Add the families that are new; return how many."""
        added = 0
        for family in families:
            if not self.pool.count(family.node):
                self._offsets[family.node] = family.score
            if self.pool.add(family):
                self._add_to_program(family)
                added += 1
        return added

    def _add_to_program(self, family: Family) -> None:
        bit = 1 << family.node
        rows = [family.node]
        rows += [self.n_nodes + k for k, cluster in enumerate(self._masks) if cluster & bit and cluster & family.mask]
        cost = family.score - self._offsets[family.node]
        self._program.add_column(cost, 0.0, np.inf, rows, [1.0] * len(rows))

    def add_clusters(self, clusters: list[Cluster]) -> int:
        """Add the cluster rows that are new; return how many."""
        fresh = [cluster for cluster in dict.fromkeys(clusters) if cluster not in self._known]
        for cluster in fresh:
            self._known.add(cluster)
            self.clusters.append(cluster)
            mask = mask_of(cluster)
            self._masks.append(mask)
            met = [k for k, family in enumerate(self.pool) if (mask >> family.node) & 1 and mask & family.mask]
            self._program.add_row(-np.inf, len(cluster) - 1.0, met, [1.0] * len(met))
        return len(fresh)

    def solve(self) -> MasterSolution:
        """Return an optimal point and its duals."""
        solution = self._program.solve()
        duals = solution.multipliers
        return MasterSolution(
            solution.value + float(self._offsets.sum()),
            solution.point,
            duals[: self.n_nodes] + self._offsets,
            np.maximum(duals[self.n_nodes :], 0.0),
        )

    def rebuild(self) -> None:
        """Rebuild the model from pool and clusters, so that later solves depend on nothing else."""
        pool, clusters = self.pool, self.clusters
        self.pool, self.clusters, self._masks, self._known = FamilyPool(self.n_nodes), [], [], set()
        self._program = self._empty_program()
        self.add_families(pool.families)
        self.add_clusters(clusters)

    def reduced_cost(self, family: Family, solution: MasterSolution) -> float:
        """Return z_i(J) of any family, in the model or not."""
        bit = 1 << family.node
        met = sum(
            solution.cluster_duals[k]
            for k, cluster in enumerate(self._masks)
            if cluster & bit and cluster & family.mask
        )
        return float(-family.score + solution.node_duals[family.node] + met)
