"""The restricted master LP: one model that stays in memory and grows by families and by rows.

    max Σ score_i(J) x_{i←J}   s.t.   Σ_J x_{i←J} = 1 for each node i             (dual λ_i)
                                       Σ_{i in C} Σ_{J meets C} x_{i←J} <= |C| - 1  (dual λ_C >= 0)
                                       Σ a_r(i, J) x_{i←J} <= b_r                   (dual λ_r >= 0)

The last are other submodular rows (``rows/``), none in the paper. The reduced cost of a family is
z_i(J) = -score_i(J) + λ_i + Σ λ_C over the clusters with i in C that J meets + Σ λ_r a_r(i, J), as in (3) of the paper:
never negative for families in the model, zero for those that the solution uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import mask_of
from dagopt.families.family_pool import Family, FamilyPool
from dagopt.lp.highs import LinearProgram
from dagopt.lp.rows.matrices import coefficients
from dagopt.lp.rows.row import Row

__all__ = ["MasterSolution", "RestrictedMaster"]

Cluster = frozenset[int]

IDLE = 1e-9  # a dual up to this counts as none


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
    rows : tuple of Row
        The other rows of the LP.
    row_duals : array
        λ_r, in their order.
    """

    value: float
    values: NDArray[np.float64]
    node_duals: NDArray[np.float64]
    cluster_duals: NDArray[np.float64]
    rows: tuple[Row, ...] = ()
    row_duals: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


class RestrictedMaster:
    """Pool, clusters, other rows and the LP over them.

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
        self._cluster_at: list[int] = []  # where the rows are in the LP
        self.rows: list[Row] = []
        self._row_at: list[int] = []
        self._idle: list[int] = []  # solves since a row had a dual
        self._offsets = np.zeros(n_nodes)  # the first score of each node, subtracted to keep numbers small
        self._program = self._empty_program()

    def _empty_program(self) -> LinearProgram:
        program = LinearProgram(maximise=True)
        for _ in range(self.n_nodes):
            program.add_row(1.0, 1.0, [], [])
        return program

    @property
    def n_rows(self) -> int:
        """The number of rows besides those of the nodes."""
        return len(self.clusters) + len(self.rows)

    def add_families(self, families: list[Family]) -> int:
        """Add the families that are new; return how many."""
        new = []
        for family in families:
            if not self.pool.count(family.node):
                self._offsets[family.node] = family.score
            if self.pool.add(family):
                new.append(family)
        for family, own in zip(new, self._row_values(new), strict=True):
            self._add_to_program(family, own)
        return len(new)

    def _add_to_program(self, family: Family, row_values: NDArray[np.float64]) -> None:
        bit = 1 << family.node
        met = [at for at, mask in zip(self._cluster_at, self._masks, strict=True) if mask & bit and mask & family.mask]
        inside = np.flatnonzero(row_values)
        rows = [family.node, *met, *(self._row_at[r] for r in inside)]
        cost = family.score - self._offsets[family.node]
        self._program.add_column(cost, 0.0, np.inf, rows, [*[1.0] * (1 + len(met)), *row_values[inside]])

    def _row_values(self, families: list[Family]) -> NDArray[np.float64]:
        """Return the coefficients of families in the rows other than clusters, one line per family."""
        return coefficients(self.rows, families, self.n_nodes)

    def add_clusters(self, clusters: list[Cluster]) -> int:
        """Add the cluster rows that are new; return how many."""
        fresh = [cluster for cluster in dict.fromkeys(clusters) if cluster not in self._known]
        for cluster in fresh:
            self._known.add(cluster)
            self.clusters.append(cluster)
            mask = mask_of(cluster)
            self._masks.append(mask)
            met = [k for k, family in enumerate(self.pool) if (mask >> family.node) & 1 and mask & family.mask]
            self._cluster_at.append(self._program.add_row(-np.inf, len(cluster) - 1.0, met, [1.0] * len(met)))
        return len(fresh)

    def add_rows(self, rows: Sequence[Row]) -> int:
        """Add rows of log-determinants, whose families are places in the pool; return how many."""
        for row in rows:
            self._row_at.append(self._program.add_row(-np.inf, row.upper, row.families.tolist(), row.values))
            self.rows.append(row)
            self._idle.append(0)
        return len(rows)

    def drop_idle_rows(self, rounds: int) -> None:
        """Remove the rows that had no dual in the last solves."""
        old = [k for k, idle in enumerate(self._idle) if idle >= rounds]
        if not old:
            return
        gone = np.sort([self._row_at[k] for k in old])
        self._program.delete_rows(gone)
        kept = [k for k, idle in enumerate(self._idle) if idle < rounds]
        self.rows, self._idle = [self.rows[k] for k in kept], [self._idle[k] for k in kept]
        for places in (self._cluster_at, self._row_at):
            places[:] = (np.array(places, dtype=np.int64) - np.searchsorted(gone, places)).tolist()
        self._row_at = [self._row_at[k] for k in kept]

    def solve(self) -> MasterSolution:
        """Return an optimal point and its duals."""
        solution = self._program.solve()
        duals = solution.multipliers
        row_duals = np.maximum(duals[self._row_at], 0.0)
        self._idle = [0 if dual > IDLE else idle + 1 for dual, idle in zip(row_duals, self._idle, strict=True)]
        return MasterSolution(
            solution.value + float(self._offsets.sum()),
            solution.point,
            duals[: self.n_nodes] + self._offsets,
            np.maximum(duals[self._cluster_at], 0.0),
            tuple(self.rows),
            row_duals,
        )

    def rebuild(self) -> None:
        """Rebuild the model from pool and clusters, so that later solves depend on nothing else; other rows go."""
        pool, clusters = self.pool, self.clusters
        self.pool, self.clusters, self._masks, self._known = FamilyPool(self.n_nodes), [], [], set()
        self._cluster_at, self.rows, self._row_at, self._idle = [], [], [], []
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
        rows = float(coefficients(solution.rows, [family], self.n_nodes)[0] @ solution.row_duals)
        return float(-family.score + solution.node_duals[family.node] + met + rows)
