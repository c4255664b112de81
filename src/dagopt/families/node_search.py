"""The search for the undominated parent sets of one node, a piece at a time.

With prices, only the sets with a large remainder are found. The mathematics is in ``kernels/gaussian/undominated.py``;
``kernels/gaussian/prices.py`` computes what the rows subtract from a score, ``price_ceiling.py`` the sharpest bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian import price_climbs
from dagopt.kernels.gaussian import prices as price_kernels
from dagopt.kernels.gaussian import undominated as kernels
from dagopt.kernels.gaussian.subset_walk import DEPTH, FOUND, OVER, STEPS

__all__ = ["NodeSearch", "Prices", "TableRow"]


SETS_PER_PIECE = 20_000  # room for the sets that one call finds
LEAST_DROPPED = 0.8  # the share of candidates left below which the search begins again with them
LEAST_DELTA, DELTA_MARGIN = 1e-4, 1e-5  # in units of variances: far more than the rounding of matrices
FIRST_STRETCH = (1.45, 1.1)  # d of ``kernels/gaussian/price_ceiling.py`` at first, and the factor by which it changes


class TableRow(NamedTuple):
    """A row whose coefficients are in a table, and its multiplier.

    Attributes
    ----------
    nodes : int array
        The set C, in increasing order.
    table : array
        ``table[T * |C| + a]`` is the coefficient of the a-th node of C with parents T in C. It grows with T.
    weight : float
        The multiplier.
    """

    nodes: NDArray[np.intp]
    table: Floats
    weight: float


@dataclass(frozen=True, eq=False)
class Prices:
    """Log-determinant rows, clusters and rows with tables, with their multipliers.

    Attributes
    ----------
    matrices : array of shape (matrices, n_nodes, n_nodes)
        Matrices with unit diagonal.
    which : int array
        The matrix M_r of each row.
    inside : bool array of shape (rows, n_nodes)
        The set C_r of each row.
    weights : array
        The number by which the coefficient -½ log var(i | J ∩ C_r) of each row is multiplied before it is subtracted
        from the score.
    clusters : bool array of shape (clusters, n_nodes)
        The clusters.
    cluster_weights : array
        What is subtracted from the score of a parent set that meets each cluster.
    whole : float
        The share of the likelihood that the row of the sample correlations over all nodes subtracts.
    tables : sequence of TableRow
        The rows with tables.
    """

    matrices: Floats
    which: Ints
    inside: Bools
    weights: Floats
    clusters: Bools
    cluster_weights: Floats
    whole: float = 0.0
    tables: Sequence[TableRow] = ()

    @classmethod
    def none(cls, n_nodes: int) -> Prices:
        """Return an empty set of rows."""
        nothing = np.zeros((0, n_nodes), dtype=np.bool_)
        return cls(np.empty((0, n_nodes, n_nodes)), np.zeros(0, np.int64), nothing, np.zeros(0), nothing, np.zeros(0))

    def _rows_of(self, node: int) -> NDArray[np.intp]:
        """Return the rows of log-determinants that contain a node."""
        return np.flatnonzero(self.inside[:, node] & (self.weights > 0.0))

    def _terms(self, node: int) -> tuple[Floats, Floats]:
        """Return the matrices of the rows that contain a node, the identity outside C, and their weights."""
        rows = self._rows_of(node)
        inside = self.inside[rows]
        matrices = self.matrices[self.which[rows]] * (inside[:, :, np.newaxis] & inside[:, np.newaxis, :])
        diagonal = np.arange(self.inside.shape[1])
        matrices[:, diagonal, diagonal] = 1.0
        return matrices, self.weights[rows]

    def of(self, ids: Ints, levels: int, limit: float) -> price_kernels.Prices:
        """Return the rows that contain the node, which is the last of ``ids``, with their variables in this order."""
        matrices, weights = self._terms(int(ids[-1]))
        own = matrices[:, ids][:, :, ids]
        inside = self.inside[self._rows_of(int(ids[-1]))][:, ids].T
        size, count, counted = len(ids), len(weights), self._counted(ids)
        return price_kernels.Prices(
            matrices=np.ascontiguousarray(own.transpose(1, 2, 0)),
            weights=weights,
            **counted,
            factor=np.empty((levels, size, count)),
            spread=np.ones((levels, size, count)),
            cross=_at_first(own[:, :, -1].T, levels),
            rest=np.ones((levels + 1, count)),
            met=np.zeros((levels + 1, len(counted["clusters"])), dtype=np.bool_),
            place=np.zeros((levels + 1, len(counted["tables"])), dtype=np.int64),
            marginal=np.zeros((levels + 1, size)),
            by_rows=np.zeros(levels + 1),
            taken_away=np.zeros(levels + 1),
            ceilings=np.full(levels + 1, np.inf),
            whole=self.whole,
            room=np.empty(size),
            sums=np.empty(size + 2),
            limit=np.array([limit]),
            inside=np.ascontiguousarray(inside, dtype=np.float64),
            sums_of_rows=np.empty((levels + 1, size, size)),
            origin=np.full(levels + 1, -1, dtype=np.int64),
            stretch=np.array(FIRST_STRETCH),
            reached=np.empty(size),
            part=np.empty(size),
            with_each=np.empty(size),
            scaled=np.empty(count),
            factors=np.empty((size, size)),
            own_inverse=np.empty((size, size)),
            inverse=np.empty((size, size)),
            curved=np.empty((size, size)),
            ids=np.zeros(size, dtype=np.int64),
            along=np.empty(size),
            split=np.empty(size),
            costs=np.empty(size),
            point=np.empty(size),
            left=np.empty(size),
            terms=np.empty(size),
            work=np.empty(size),
        )

    def climb(self, correlation: Floats, n_samples: int, cost: Floats, node: int) -> price_climbs.Climb:
        """Return the rows that contain a node as climbs take them, with the node as the last variable."""
        ids = np.append(np.delete(np.arange(len(correlation)), node), node)
        matrices, weights = self._terms(node)
        own = np.ascontiguousarray(np.concatenate([correlation[np.newaxis], matrices])[:, ids][:, :, ids])
        counted = self._counted(ids)
        return price_climbs.Climb(
            matrices=own,
            swept=np.empty_like(own),
            weights=np.concatenate([[-(1.0 - self.whole) * n_samples], weights]),
            cost=cost,
            **counted,
            counts=np.zeros(len(counted["clusters"]), dtype=np.int64),
            places=np.zeros(len(counted["tables"]), dtype=np.int64),
            worth=np.empty(len(ids)),
        )

    def _counted(self, ids: Ints) -> dict[str, Any]:
        """Return the clusters and tables that contain the node, which is the last of ``ids``, as kernels take them."""
        clusters = np.flatnonzero(self.clusters[:, ids[-1]] & (self.cluster_weights > 0.0))
        rows = [row for row in self.tables if ids[-1] in row.nodes and row.weight > 0.0]
        values = np.zeros((len(rows), 1 << max((len(row.nodes) for row in rows), default=0)))
        bits = np.zeros((len(rows), self.inside.shape[1]), dtype=np.int64)
        for k, row in enumerate(rows):
            size = len(row.nodes)
            own = row.table.reshape(-1, size)[:, np.searchsorted(row.nodes, ids[-1])]
            values[k, : 1 << size] = row.weight * own
            bits[k, row.nodes] = 1 << np.arange(size)
        return {
            "clusters": np.ascontiguousarray(self.clusters[clusters][:, ids]),
            "cluster_weights": self.cluster_weights[clusters],
            "tables": values,
            "table_bits": np.ascontiguousarray(bits[:, ids]),
        }


class NodeSearch:
    """The search for the parent sets of one node, a piece at a time.

    Parameters
    ----------
    matrix : array
        The correlations of all columns.
    n_samples : int
        The number of rows N.
    cost : array
        The penalty for 0, 1, 2, ... parents.
    node : int
        The node i.
    must, free : int array
        The required parents, and the candidates to choose from.
    most : int
        The largest number of members of a set.
    margin : float
        A bound on the rounding error: a set is dropped only if it loses by more than this.
    prices, limit : Prices, float
        Only sets with a remainder of at least ``limit`` are wanted.
    safe : bool array of shape (n_nodes,), optional
        Candidates that lie in no cycle: a set is not wanted if one with fewer other members scores as well.
    """

    def __init__(
        self,
        matrix: Floats,
        n_samples: int,
        cost: Floats,
        node: int,
        must: NDArray[np.intp],
        free: NDArray[np.intp],
        most: int,
        margin: float,
        prices: Prices | None = None,
        limit: float = -np.inf,
        safe: Bools | None = None,
    ) -> None:
        self._facts = (n_samples, cost, len(must), most, margin)
        self._matrix, self._given = matrix, prices or Prices.none(len(matrix))
        self._begin(np.concatenate([must, free, [node]]).astype(np.int64), limit, safe)
        self._found: list[Bools] = []
        self._values: list[Floats] = []

    def _begin(self, ids: Ints, limit: float, safe: Bools | None) -> None:
        """Set up the search among the variables ``ids``, of which the last is the node."""
        self._ids, n_must = ids, self._facts[2]
        own = np.ascontiguousarray(self._matrix[np.ix_(ids, ids)])
        is_safe = np.zeros(len(ids), dtype=np.bool_) if safe is None else safe[ids]
        is_safe[:n_must] = False
        delta = _delta(own[:-1, :-1]) if is_safe.any() else np.zeros(len(ids))
        self._safe = safe if is_safe.any() and delta.all() else None
        if self._safe is None:
            is_safe[:] = False
        self._rooms = Box(kernels.begin(own, n_must, is_safe, delta))
        self._counters = self._rooms.walk.counters
        self._prices = Box(self._given.of(ids, len(self._rooms.walk.lower), limit))

    def _narrow(self) -> None:
        """Begin again without the candidates that the first step drops, while there are many of them."""
        while self._safe is not None and not self.over:
            self._steps(1)
            kept = self._rooms.walk.free[0].copy()
            kept[: self._facts[2]] = kept[-1] = True
            if self.over or kept.sum() > LEAST_DROPPED * len(kept):
                return
            self._found, self._values = [], []
            self._begin(self._ids[kept], self.limit, self._safe)

    @property
    def width(self) -> int:
        """The number of columns in the matrix that each step changes."""
        return len(self._ids)

    @property
    def over(self) -> bool:
        """Whether all sets have been found."""
        return bool(self._counters[OVER])

    @property
    def share(self) -> float:
        """The estimated share of the search that has been done."""
        return 1.0 if self.over else float(self._rooms.done[0])

    @property
    def n_sets(self) -> int:
        """The number of sets found so far."""
        return sum(len(part) for part in self._found)

    @property
    def n_steps(self) -> int:
        """The number of steps done so far."""
        return int(self._counters[STEPS])

    def run(self, steps: int) -> None:
        """Do this many more steps, or fewer if many sets are found."""
        if not self._counters[STEPS]:
            self._narrow()
        if not self.over:
            self._steps(steps)

    def _steps(self, steps: int) -> None:
        room = np.zeros((SETS_PER_PIECE, len(self._ids)), dtype=np.bool_)
        values = np.empty(SETS_PER_PIECE)
        self._counters[FOUND] = 0
        kernels.resume(*self._facts, self._rooms, self._prices, steps, room, values)
        count = self._counters[FOUND]
        self._found.append(room[:count].copy())
        self._values.append(values[:count].copy())

    @property
    def ceiling(self) -> float:
        """An upper bound on the remainders of the sets that are not found yet, apart from those below the limit.

        It allows for rounding.
        """
        if self.over:
            return -np.inf
        depth = int(self._counters[DEPTH])
        stage, fresh, ceilings = self._rooms.walk.stage, self._rooms.walk.fresh, self._prices.ceilings
        left = [d for d in range(depth + 1) if stage[d] < 2 and not (d == depth and fresh[d])]
        if fresh[depth]:  # not examined yet: the ceiling of its parent holds for it
            left.append(depth - 1)
        return max((float(ceilings[d]) if d >= 0 else np.inf for d in left), default=-np.inf)

    @property
    def limit(self) -> float:
        """The smallest remainder of interest."""
        return float(self._prices.limit[0])

    def raise_limit(self, limit: float) -> None:
        """Look only for sets with at least this remainder from now on."""
        self._prices.limit[0] = max(self.limit, limit)

    @property
    def values(self) -> Floats:
        """The remainders of the sets found."""
        return np.concatenate([np.empty(0), *self._values])

    def keep_best(self, count: int) -> None:
        """Keep the ``count`` sets with the largest remainders, and look only for sets at least as good from now on."""
        values = self.values
        if len(values) <= count:
            return
        best = np.argsort(-values, kind="stable")[:count]
        self._found = [np.concatenate(self._found)[best]]
        self._values = [values[best]]
        self.raise_limit(float(values[best[-1]]))

    def members(self, n_nodes: int) -> Bools:
        """Return the sets found, one row per set."""
        found = np.concatenate(self._found) if self._found else np.zeros((0, len(self._ids)), dtype=np.bool_)
        rows = np.zeros((len(found), n_nodes), dtype=np.bool_)
        rows[:, self._ids[:-1]] = found[:, :-1]
        return rows


def _delta(matrix: Floats) -> Floats:
    """Return Δ of ``kernels/gaussian/subset_ceiling.py`` with a zero for the node; zeros if rounding could decide.

    It is the largest multiple of the variances given all others that may be subtracted from the diagonal.
    """
    least = 1.0 / np.diag(np.linalg.inv(matrix)) if len(matrix) else np.zeros(0)
    size = np.sqrt(np.maximum(least, 0.0))
    if not (least > LEAST_DELTA).all():
        return np.zeros(len(matrix) + 1)
    share = float(np.linalg.eigvalsh(matrix / np.outer(size, size))[0]) if len(matrix) else 1.0
    delta = (1.0 - DELTA_MARGIN) * share * least
    return np.append(delta, 1.0) if (delta > LEAST_DELTA).all() else np.zeros(len(matrix) + 1)


def _at_first(first: NDArray[np.floating[Any]], levels: int) -> Floats:
    """Return space for an array per level, of which the first is given."""
    room = np.empty((levels, *first.shape))
    room[0] = first
    return room
