"""Bounds on conditional Gaussian scores: the largest likelihood of a node for each set of discrete parents.

Let G be the discrete parents of node i and C its continuous ones. For fixed G the likelihood of i in each cell of G
grows with C (docs/proofs.md, "Conditional Gaussians"). So with all continuous columns as parents, less the penalty of
G and of the parents that are given, it bounds all sets with these discrete parents. It need not grow with G, but cells
of fewer than ``ROWS_TO_SPARE`` + 1 rows rule a set out. So few G are left, and they are listed.

A cell with too few rows for all columns allows few parents. There a column has at least ``PIVOT_FLOOR`` of its variance
left given each of them, else the set is ruled out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.kernels.counts import counting
from dagopt.kernels.gaussian.cells import cell_logdets
from dagopt.kernels.gaussian.logdet import PIVOT_FLOOR

__all__ = ["ROWS_TO_SPARE", "CellBounds", "CellTable"]

ROWS_TO_SPARE = 5  # rows that a configuration needs beyond the number of continuous columns
MOST_GROUPS = 3000  # sets of discrete columns that are listed; with more there is no bound
MOST_STEPS = 1e9  # products of cells that listing them may take, one or two seconds
SLACK = 16 * float(np.finfo(np.float64).eps)  # of a sum of a few terms, relative to their sizes
FLOOR = -math.log(0.5 * PIVOT_FLOOR)  # with a factor of two for rounding
ALONE = 1.0 + math.log(2.0 * math.pi)

Columns = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CellTable:
    """The columns of a mixed table as the conditional Gaussian score sees them.

    Attributes
    ----------
    discrete : bool array
        Which columns are discrete.
    arity : int array
        The number of levels of each column.
    codes : list of arrays
        The levels of each discrete column.
    values : array of shape (n, N)
        The numbers of each continuous column, in units near its spread.
    log_units : array
        The logarithms of these units.
    """

    discrete: Bools
    arity: Ints
    codes: list[np.ndarray]
    values: Floats
    log_units: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.values.shape[1])

    def cells(self, columns: list[int]) -> tuple[Ints, int]:
        """Return the cell of each row by the discrete ones of some columns, and the number of cells that occur."""
        cells, span = np.zeros(self.n_rows, dtype=np.int64), 1
        for j in columns:
            if self.discrete[j]:
                span = counting.refine(cells, span, self.codes[j], self.arity[j])
        return cells, counting.renumber(cells, span)


@dataclass(frozen=True, eq=False)
class _Group:
    """A set of discrete columns and its cells.

    Attributes
    ----------
    columns : tuple of int
        The columns.
    cells : int array
        The cell of each row.
    count : array
        The rows of each cell.
    configurations : float
        The product of the numbers of levels.
    usable : int array
        The continuous columns that vary in all cells.
    logs : tuple of arrays
        What ``cell_logdets`` finds for the usable columns.
    """

    columns: Columns
    cells: Ints
    count: Ints
    configurations: float
    usable: Ints
    logs: tuple[Floats, Floats, Floats]

    @cached_property
    def rarest(self) -> int:
        """The rows of the smallest cell."""
        return int(self.count.min())


@dataclass(frozen=True, eq=False)
class _Fits:
    """Sets of discrete parents of one node: members, largest likelihood, configurations, least count with the node."""

    has: Bools  # one row per set, one column per column of the table
    fits: Floats
    configurations: Floats
    rarest: Ints


class CellBounds:
    """The largest likelihoods of all nodes by sets of discrete parents.

    Parameters
    ----------
    table : CellTable
        The columns.
    penalty : float
        The cost of one parameter.
    """

    def __init__(self, table: CellTable, penalty: float) -> None:
        self._table = table
        self._penalty = penalty
        self._discrete = np.flatnonzero(table.discrete)
        self._continuous = np.flatnonzero(~table.discrete)
        self._groups = self._list_groups()
        self._fits: dict[int, _Fits] = {}

    @property
    def is_finite(self) -> bool:
        """Whether the sets of discrete columns are listed, so that there are bounds."""
        return self._groups is not None

    def bound(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return a number that no local score of a node with these parents and any of the candidates exceeds.

        Infinite if there are too many sets of discrete columns to list.
        """
        if self._groups is None:
            return math.inf
        discrete, own = self._table.discrete, self._fits_of(node)
        known, more = parents[discrete[parents]], candidates[discrete[candidates]]
        numbers = len(parents) - len(known)
        outside = np.setdiff1d(self._discrete, np.concatenate([known, more]))
        fitting = own.has[:, known].all(axis=1) & ~own.has[:, outside].any(axis=1)
        best = -math.inf
        if discrete[node]:
            size = max(numbers, 1)
            levels = float(self._table.arity[node]) - 1
            each = self._penalty * levels * (1 + size * (size + 3) / 2)
            if not numbers:
                alone = self._penalty * levels * float(self._table.arity[known].prod(dtype=np.float64))
                best = float(_less(self._without_numbers(node, np.concatenate([known, more])), alone))
            if not numbers and len(more) == len(candidates):
                return best
        else:
            size = numbers + 1
            each = self._penalty * (numbers + 2)
        values = _less(own.fits, each * own.configurations)[fitting & (own.rarest >= size + ROWS_TO_SPARE)]
        units = self._table.n_rows * float(self._table.log_units[node])
        return max(best, float(values.max(initial=-math.inf))) - units + SLACK * abs(units)

    # --- sets of discrete columns ---

    def _list_groups(self) -> dict[Columns, _Group] | None:
        """Return the sets of discrete columns whose cells have enough rows; None if there are too many.

        A set is made only if all its subsets are listed: cells of more columns have fewer rows.
        """
        steps = self._table.n_rows * (len(self._continuous) + 1) ** 2
        most = min(MOST_GROUPS, MOST_STEPS / steps)
        found: dict[Columns, _Group] = {}
        level: list[Columns] = [()]
        while level:
            if len(found) + len(level) > most:
                return None
            made = [(columns, self._group(columns)) for columns in level]
            found |= {columns: group for columns, group in made if group is not None}
            level = [
                (*columns, int(j))
                for columns, group in made
                if group is not None
                for j in self._discrete[self._discrete > max(columns, default=-1)]
                if all((*columns[:k], *columns[k + 1 :], int(j)) in found for k in range(len(columns)))
            ]
        return found

    def _group(self, columns: Columns) -> _Group | None:
        """Return a set of discrete columns, None if one of its cells has too few rows."""
        cells, span = self._table.cells(list(columns))
        count = np.bincount(cells, minlength=span)
        if count.min() < ROWS_TO_SPARE + 1:
            return None
        order = np.argsort(cells, kind="stable")
        starts = np.concatenate([[0], np.cumsum(count)[:-1]])
        values = self._table.values[np.ix_(self._continuous, order)]
        varies = np.maximum.reduceat(values, starts, axis=1) > np.minimum.reduceat(values, starts, axis=1)
        usable = self._continuous[varies.all(axis=1)]
        logs = cell_logdets(self._table.values, usable, cells, span)[1:]
        configurations = float(self._table.arity[list(columns)].prod(dtype=np.float64))
        return _Group(columns, cells, count, configurations, usable, logs)

    # --- likelihoods ---

    def _fits_of(self, node: int) -> _Fits:
        """Return what each set of discrete parents allows a node."""
        assert self._groups is not None
        if node not in self._fits:
            found = [(group, self._with_node(group, node)) for group in self._groups.values()]
            pairs = [(group, finer) for group, finer in found if finer is not None]
            has = np.zeros((len(pairs), len(self._table.discrete)), dtype=bool)
            for k, (group, _) in enumerate(pairs):
                has[k, list(group.columns)] = True
            find = self._fit_of_levels if self._table.discrete[node] else self._fit_of_numbers
            self._fits[node] = _Fits(
                has,
                np.array([find(node, group, finer) for group, finer in pairs], dtype=np.float64),
                np.array([group.configurations for group, _ in pairs], dtype=np.float64),
                np.array([finer.rarest for _, finer in pairs], dtype=np.int64),
            )
        return self._fits[node]

    def _with_node(self, group: _Group, node: int) -> _Group | None:
        """Return the cells of a set of discrete parents and the node; None if the node cannot have these parents."""
        assert self._groups is not None
        if not self._table.discrete[node]:
            return group if node in group.usable else None
        return None if node in group.columns else self._groups.get(tuple(sorted([*group.columns, node])))

    def _fit_of_numbers(self, node: int, group: _Group, _: _Group) -> float:
        """Return a bound on the likelihoods of a continuous node with these discrete parents and any continuous ones.

        It is the sum over the cells of -n/2 (1 + log 2π + log of the residual variance).
        """
        place = int(np.searchsorted(group.usable, node))
        variances, logdets, errors = group.logs
        most = min(len(group.usable) - 1, group.rarest - ROWS_TO_SPARE - 1)
        least = variances[:, place] - most * FLOOR
        logs = np.where(np.isnan(logdets[:, -1]), least, logdets[:, -1] - logdets[:, place] - 2 * errors)
        return _sum_of(-0.5 * group.count * (ALONE + logs), group.count * (ALONE + np.abs(logs)))

    def _fit_of_levels(self, node: int, group: _Group, finer: _Group) -> float:
        """Return a bound on the likelihoods of a discrete node with these discrete parents and any continuous ones.

        In a cell of the parents it is the sum over the levels of n log of their share and, for the continuous parents,
        the log-determinant of the cell times n/2 less those of its parts.
        """
        if len(group.usable) != len(finer.usable):  # of the cells without the node they are a part
            logs = cell_logdets(self._table.values, finer.usable, group.cells, len(group.count))[1:]
        else:
            logs = group.logs
        parts = np.zeros(len(finer.count), dtype=np.int64)  # the cell that each finer cell is a part of
        parts[finer.cells] = group.cells
        halves, whole = 0.5 * finer.count, 0.5 * group.count
        shares = finer.count * np.log(finer.count / group.count[parts])
        variances = whole[:, None] * logs[0] - _summed(halves[:, None] * finer.logs[0], parts, len(whole))
        most = min(len(finer.usable), finer.rarest - ROWS_TO_SPARE)
        largest = np.sort(np.maximum(variances, 0.0), axis=1)[:, ::-1][:, :most].sum(axis=1)
        limits = largest + whole * max(most - 1, 0) * FLOOR
        errors = whole * logs[2] + _summed(halves * finer.logs[2], parts, len(whole))
        gains = whole * logs[1][:, -1] - _summed(halves * finer.logs[1][:, -1], parts, len(whole)) + errors
        gains = np.where(np.isnan(gains), limits, gains)
        sizes = np.abs(shares).sum() + np.abs(whole * np.nan_to_num(logs[1][:, -1])).sum()
        return _sum_of(np.concatenate([shares, gains]), np.concatenate([np.abs(gains), [2 * sizes]]))

    def _without_numbers(self, node: int, parents: Ints) -> float:
        """Return the likelihood of a discrete node with all these discrete parents, which no subset exceeds."""
        cells, span = self._table.cells(parents.tolist())
        finer, more = self._table.cells([*parents.tolist(), node])
        counts = [np.bincount(own, minlength=size) for own, size in ((finer, more), (cells, span))]
        terms = [own * np.log(own) for own in counts]
        return _sum_of(np.concatenate([terms[0], -terms[1]]), np.concatenate(terms))


def _summed(values: Floats, parts: Ints, size: int) -> Floats:
    """Return the sums of the rows that belong to each part."""
    sums = np.zeros((size, *values.shape[1:]))
    np.add.at(sums, parts, values)
    return sums


def _sum_of(terms: Floats, sizes: Floats) -> float:
    """Return a sum of terms, and a little more for its rounding."""
    return float(terms.sum() + (len(terms) + 1) * SLACK * np.abs(sizes).sum())


def _less(value: Any, penalty: Any) -> Any:
    """Return likelihoods less penalties, and a little more for rounding."""
    return value - penalty + SLACK * (abs(value) + abs(penalty))
