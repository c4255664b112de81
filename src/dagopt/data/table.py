"""Tables ready to be scored: sufficient statistics taken once, from any source of data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.cells import missing_cells, mixed_kinds, troubles, unusable_numbers, without_incomplete_rows
from dagopt.data.columns import Column
from dagopt.data.discretize import discretized
from dagopt.data.findings import Finding
from dagopt.data.options import DataOptions
from dagopt.data.reading import read_columns
from dagopt.errors import InputError, quoted
from dagopt.kernels.counts import counting
from dagopt.options import with_options

__all__ = ["ContinuousTable", "DiscreteTable", "Table", "as_frame", "as_table", "complete_columns", "read_table"]

MOST_LEVELS = 65_535


@dataclass(frozen=True, eq=False)
class ContinuousTable:
    """A table of real numbers.

    Attributes
    ----------
    names : tuple of str
        The columns.
    values : array of shape (N, n)
        The numbers.
    """

    names: tuple[str, ...]
    values: NDArray[np.float64]

    kind = "continuous"

    @property
    def n_samples(self) -> int:
        """Number of rows N."""
        return len(self.values)

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The means of the columns."""
        return np.asarray(self.values.mean(axis=0), dtype=np.float64)

    def _centred(self) -> NDArray[np.float64]:
        """Return the values less their means, twice, as the first mean is off by rounding far from zero."""
        centred = self.values - self.mean
        return np.asarray(centred - centred.mean(axis=0), dtype=np.float64)

    @cached_property
    def scale(self) -> NDArray[np.float64]:
        """The standard deviations of the columns (dividing by N)."""
        return np.asarray(np.sqrt(np.mean(self._centred() ** 2, axis=0)), dtype=np.float64)

    def scaled(self, scale: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return the centred columns over sqrt(N) times these numbers: with the standard deviations, of length 1."""
        return np.asarray(self._centred() / (np.asarray(scale) * np.sqrt(self.n_samples)), dtype=np.float64)

    @cached_property
    def correlation(self) -> NDArray[np.float64]:
        """The correlations of the columns, from standardised data, so that units do not matter."""
        constant = [self.names[j] for j in np.flatnonzero(np.ptp(self.values, axis=0) == 0)]
        if constant:
            raise InputError(
                f"column {quoted(constant)} is constant and has no correlation; leave it out with columns="
            )
        standard = self._centred() / self.scale
        matrix = standard.T @ standard / self.n_samples
        np.fill_diagonal(matrix, 1.0)
        return np.asarray((matrix + matrix.T) / 2, dtype=np.float64)

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        """The covariance matrix Σ̂ of appendix A.1 (centred, dividing by N)."""
        return np.asarray(self.correlation * np.outer(self.scale, self.scale), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class DiscreteTable:
    """A table of levels: the distinct rows and how often each occurs.

    Attributes
    ----------
    names : tuple of str
        The columns.
    levels : tuple of tuple of str
        The levels of each column.
    codes : array of shape (n, distinct rows)
        Codes of the levels, one contiguous row of the array a column.
    weights : array
        How often each distinct row occurs.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    codes: NDArray[np.uint16]
    weights: NDArray[np.int64]

    kind = "discrete"

    @cached_property
    def n_samples(self) -> int:
        """Number of rows N, repetitions included."""
        return int(self.weights.sum())

    @cached_property
    def arity(self) -> NDArray[np.int64]:
        """The number of levels of each column."""
        return np.array([len(levels) for levels in self.levels], dtype=np.int64)

    @classmethod
    def from_codes(
        cls, names: tuple[str, ...], levels: tuple[tuple[str, ...], ...], codes: NDArray[np.integer[Any]]
    ) -> DiscreteTable:
        """Return the table of the given rows, ``codes`` of shape (n, N), with equal rows merged."""
        narrow = np.ascontiguousarray(codes, dtype=np.uint16)
        arity = np.array([len(column) for column in levels], dtype=np.int64)
        cells = np.empty(narrow.shape[1], dtype=np.int64)
        distinct = counting.distinct_rows(narrow, arity, cells)
        _, first = np.unique(cells, return_index=True)
        weights = np.bincount(cells, minlength=distinct).astype(np.int64)
        return cls(names, levels, np.ascontiguousarray(narrow[:, first]), weights)


Table = ContinuousTable | DiscreteTable


@with_options(DataOptions)
def as_table(data: object, **options: Any) -> Table:
    """Return a table from any source of data.

    Parameters
    ----------
    data : path, pandas or polars frame, array, Table
        See ``read_columns``; a Table is returned as it is.
    {options}

    Returns
    -------
    ContinuousTable or DiscreteTable
    """
    return read_table(data, DataOptions(**options))[0]


def read_table(data: object, options: DataOptions) -> tuple[Table, tuple[Finding, ...]]:
    """Return the table of a source of data, and what was done to make it complete."""
    if isinstance(data, (ContinuousTable, DiscreteTable)):
        return data, ()
    columns, findings = complete_columns(read_columns(data, options.columns, options.na_values), options)
    return table_of(columns), findings


def as_frame(data: object, **options: Any) -> pd.DataFrame:
    """Return complete columns of one kind as a frame: floats, or the levels as text. Takes ``as_table``'s options."""
    reading = DataOptions(**options)
    columns, _ = complete_columns(read_columns(data, reading.columns, reading.na_values), reading)
    return pd.DataFrame(
        {
            column.name: column.values
            if column.kind == "continuous"
            else np.array(column.levels, dtype=object)[column.values]
            for column in columns
        }
    )


def complete_columns(columns: list[Column], options: DataOptions) -> tuple[list[Column], tuple[Finding, ...]]:
    """Return complete columns of one kind and what was done for it, or raise an error that names the remedies."""
    findings: list[Finding] = []
    _stop_at(troubles(columns))
    if options.missing == "drop":
        columns, findings = without_incomplete_rows(columns)
    _stop_at(missing_cells(columns))
    _stop_at(unusable_numbers(columns))
    columns = of_kind(columns, options)
    _stop_at(mixed_kinds(columns))
    return columns, tuple(findings)


def of_kind(columns: list[Column], options: DataOptions) -> list[Column]:
    """Return the columns cut into levels, and read as numbers or levels, where the options ask for it."""
    if options.discretize is not None:
        columns = [discretized(column, options.discretize, options.bins) for column in columns]
    if options.kind == "continuous":
        return [column.as_continuous() for column in columns]
    if options.kind == "discrete":
        return [column.as_discrete() for column in columns]
    return columns


def _stop_at(findings: list[Finding]) -> None:
    for finding in findings:
        if finding.severity == "error":
            raise InputError(finding.line)


def table_of(columns: Sequence[Column]) -> Table:
    """Return the table of complete columns of one kind."""
    names = tuple(column.name for column in columns)
    if columns[0].kind == "continuous":
        return ContinuousTable(names, np.column_stack([column.values for column in columns]))
    for column in columns:
        if len(column.levels) > MOST_LEVELS:
            raise InputError(
                f"column {column.name!r} has {len(column.levels)} levels, more than {MOST_LEVELS}; it looks like an "
                f"identifier: leave it out with columns="
            )
    codes = np.stack([column.values for column in columns])
    return DiscreteTable.from_codes(names, tuple(column.levels for column in columns), codes)
