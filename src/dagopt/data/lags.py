"""A table of moments becomes a table of lagged columns: the one place where this happens.

A row of the lagged table is a moment t of one unit, with the present of all series first, then their values one moment
before, and so on: x, y, x(t-1), y(t-1), x(t-2), ... Only the present columns have parents, so the best DAG over these
columns is the best dynamic network of that order. Rows whose past is not known are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.data.row_times import RowTimes
from dagopt.errors import InputError

__all__ = ["Lags", "lagged_columns", "lagged_name", "lagged_values"]

ANY_LAG = re.compile(r"(.+)\(t-\*\)")  # x(t-*) in constraints: x at every lag


def lagged_name(series: str, lag: int) -> str:
    """Return the name of the column of a series at a lag."""
    return series if lag == 0 else f"{series}(t-{lag})"


@dataclass(frozen=True, eq=False)
class Lags:
    """How the columns of a table are laid out in time.

    Attributes
    ----------
    series : tuple of str
        The series, the first columns of the table.
    count : int
        The number of lags p: columns j + k n are series j at lag k.
    within : bool
        Whether edges within a moment are allowed.
    unit : int array or None
        The unit of each row; None if rows were drawn at random, so that their order means nothing.
    run : int array or None
        Rows with the same number follow each other without a gap.
    units : tuple of str
        The names of the units.
    """

    series: tuple[str, ...]
    count: int
    within: bool = True
    unit: Ints | None = None
    run: Ints | None = None
    units: tuple[str, ...] = ("",)

    @classmethod
    def of(cls, series: Sequence[str], count: int, within: bool, times: RowTimes, rows: Ints) -> Lags:
        """Return the layout of the rows at these places in the order of times."""
        layout = cls(tuple(series), count, within, times.unit[rows], times.run[rows], times.units)
        twice = set(layout.names[len(series) :]) & set(series)
        if twice:
            raise InputError(f"the column name {min(twice)!r} is that of a lagged column; rename the column")
        return layout

    @property
    def n_series(self) -> int:
        """The number of series."""
        return len(self.series)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(lagged_name(name, lag) for lag in range(self.count + 1) for name in self.series)

    @cached_property
    def lag(self) -> Ints:
        """The lag of each column."""
        return np.repeat(np.arange(self.count + 1), self.n_series).astype(np.int64)

    def series_and_lag(self, column: int) -> tuple[str, int]:
        """Return the series and the lag of a column, by position."""
        return self.series[column % self.n_series], column // self.n_series

    def allowed(self) -> Bools:
        """Return which edges time allows, ``[j, i]`` from j to i: into the present alone."""
        n, size = self.n_series, len(self.names)
        may = np.zeros((size, size), dtype=bool)
        may[n:, :n] = True
        if self.within:
            may[:n, :n] = ~np.eye(n, dtype=bool)
        return may

    def spelled(self, name: str) -> list[str]:
        """Return the columns that a name in constraints means: x(t-*) is x at every lag."""
        found = ANY_LAG.fullmatch(name)
        if found is None or name in self.series:
            return [name]
        return [lagged_name(found[1], lag) for lag in range(1, self.count + 1)]

    def without_rows(self) -> Lags:
        """Return the layout of rows that were drawn at random."""
        return replace(self, unit=None, run=None)

    def take(self, rows: Ints | Bools) -> Lags:
        """Return the layout of some rows."""
        if self.unit is None or self.run is None:
            return self
        return replace(self, unit=self.unit[rows], run=self.run[rows])


def lagged_columns(
    columns: Sequence[Column], times: RowTimes, count: int, within: bool = True
) -> tuple[list[Column], Lags, list[Finding]]:
    """Return the lagged columns, their layout, and a finding if the moments have gaps.

    Parameters
    ----------
    columns : sequence of Column
        The series, one row per moment.
    times : RowTimes
        The order of the rows.
    count : int
        The number of lags p, at least 1.
    within : bool
        Whether edges within a moment are allowed.
    """
    rows = _known_past(times, count)
    if len(rows) < 2:
        raise InputError(
            f"expected at least 2 rows with the {count} moments before them but got {len(rows)} of "
            f"{len(times.order)}; lower lags= or give longer series"
        )
    layout = Lags.of([column.name for column in columns], count, within, times, rows)
    found = [
        replace(column, name=lagged_name(column.name, lag), values=column.values[times.order[rows - lag]])
        for lag in range(count + 1)
        for column in columns
    ]
    return found, layout, times.finding(count, _lost_to_gaps(times, count))


def _known_past(times: RowTimes, count: int) -> Ints:
    """Return the places in the order of rows with this many rows of their run before them."""
    starts = np.flatnonzero(np.diff(times.run, prepend=-1))
    age = np.arange(len(times.run)) - np.repeat(starts, np.diff(np.append(starts, len(times.run))))
    return np.flatnonzero(age >= count).astype(np.int64)


def _lost_to_gaps(times: RowTimes, count: int) -> int:
    """Return how many rows have no complete past because of gaps, not because they are the first of their unit."""
    whole = replace(times, run=times.unit)
    return len(_known_past(whole, count)) - len(_known_past(times, count))


def lagged_values(values: Floats, count: int) -> Floats:
    """Return the lagged columns of rows in order as a view: the data are not copied, however many lags there are.

    Parameters
    ----------
    values : array of shape (moments, n)
        The series, from the first moment to the last, without gaps.
    count : int
        The number of lags p.

    Returns
    -------
    ndarray of shape (moments - p, n (p + 1))
        The present first, then the moment before, and so on.
    """
    n = values.shape[1]
    backwards = np.ascontiguousarray(values[::-1], dtype=np.float64).ravel()
    return np.lib.stride_tricks.sliding_window_view(backwards, n * (count + 1))[::n][::-1]
