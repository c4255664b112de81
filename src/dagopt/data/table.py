"""Tables ready to be scored: sufficient statistics taken once, from any source of data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.cells import drop_incomplete_rows, missing_cells, mixed_kinds, troubles, unusable_numbers
from dagopt.data.columns import Column
from dagopt.data.discretize import discretized
from dagopt.data.findings import Finding
from dagopt.data.reading import read_columns
from dagopt.errors import InputError, quoted
from dagopt.kernels.counts import counting

__all__ = ["ContinuousTable", "DiscreteTable", "Table", "as_frame", "as_table", "prepare_columns"]

Discretize = Literal["quantile", "interval"]
Missing = Literal["error", "drop"]

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


def as_table(
    data: object,
    *,
    columns: Sequence[str | int] | None = None,
    kind: Literal["auto", "continuous", "discrete"] = "auto",
    discretize: Discretize | None = None,
    bins: int = 3,
    missing: Missing = "error",
    na_values: Iterable[str] = (),
) -> Table:
    """Return a table from any source of data.

    Parameters
    ----------
    data : path, pandas or polars frame, array, Table
        See ``read_columns``; a Table is returned as it is.
    columns : sequence of str or int, optional
        The columns to use.
    kind : {"auto", "continuous", "discrete"}
        ``auto`` goes by dtype: floats are continuous; integers, booleans, categories and text discrete; a
        table with both is refused. ``continuous`` reads integers as numbers, ``discrete`` takes each
        distinct number as a level.
    discretize : {"quantile", "interval"}, optional
        Cut continuous columns into ``bins`` levels, of equally many rows or of equal width.
    bins : int
        Number of levels of a column that is cut.
    missing : {"error", "drop"}
        What to do with rows that have missing cells.
    na_values : iterable of str
        Further spellings of "missing" in text files.

    Returns
    -------
    ContinuousTable or DiscreteTable
    """
    if isinstance(data, (ContinuousTable, DiscreteTable)):
        return data
    found = read_columns(data, columns, na_values)
    found = prepare_columns(found, kind=kind, discretize=discretize, bins=bins, missing=missing)
    return table_of(found)


def as_frame(data: object, **options: Any) -> pd.DataFrame:
    """Return complete columns of one kind as a frame: floats, or the levels as text. Takes ``as_table``'s options."""
    reading = {key: options.pop(key) for key in ("columns", "na_values") if key in options}
    columns = prepare_columns(read_columns(data, **reading), **options)
    return pd.DataFrame(
        {
            column.name: column.values
            if column.kind == "continuous"
            else np.array(column.levels, dtype=object)[column.values]
            for column in columns
        }
    )


def prepare_columns(
    columns: list[Column],
    *,
    kind: str = "auto",
    discretize: str | None = None,
    bins: int = 3,
    missing: str = "error",
) -> list[Column]:
    """Return complete columns of one kind, or raise an error that names the columns and the remedies."""
    check_options(kind, discretize, missing)
    _stop_at(troubles(columns))
    if missing == "drop":
        columns = drop_incomplete_rows(columns)
    _stop_at(missing_cells(columns))
    _stop_at(unusable_numbers(columns))
    if discretize is not None:
        columns = [discretized(column, discretize, bins) for column in columns]
    if kind == "continuous":
        columns = [column.as_continuous() for column in columns]
    elif kind == "discrete":
        columns = [column.as_discrete() for column in columns]
    _stop_at(mixed_kinds(columns))
    return columns


def check_options(kind: str, discretize: str | None, missing: str) -> None:
    """Raise an error where an option has a value that it cannot have."""
    for option, value, allowed in (
        ("kind", kind, ("auto", "continuous", "discrete")),
        ("missing", missing, ("error", "drop")),
        ("discretize", discretize, (None, "quantile", "interval")),
    ):
        if value not in allowed:
            listed = ", ".join(repr(choice) for choice in allowed)
            raise InputError(f"expected {option}= one of {listed} but got {value!r}")


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
