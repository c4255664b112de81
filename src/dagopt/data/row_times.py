"""The rows of a table as moments in time: their order, the units they belong to, and gaps between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dagopt.arrays import Floats, Ints
from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.errors import InputError, quoted

__all__ = ["RowTimes", "row_times"]

SAME_STEP = 1e-6  # relative difference of two steps in time that count as equal
MOST_RADIX = 366  # values of a second column of time, such as the quarter or the day of a year


@dataclass(frozen=True, eq=False)
class RowTimes:
    """The order of rows in time.

    Attributes
    ----------
    order : int array
        The rows, unit after unit, each from its first moment to its last.
    unit : int array
        The unit of each row in this order.
    run : int array
        In this order, rows that follow each other without a gap, in one unit, have the same number.
    units : tuple of str
        The names of the units; one without a name if there are no groups.
    n_gaps : int
        How often a moment is missing between two rows of one unit.
    example : str
        Where the first gap is.
    """

    order: Ints
    unit: Ints
    run: Ints
    units: tuple[str, ...]
    n_gaps: int = 0
    example: str = ""

    def finding(self, lags: int, lost: int) -> list[Finding]:
        """Return the finding on gaps, if there are any."""
        if not self.n_gaps:
            return []
        times = f"{self.n_gaps} gap" + ("s" if self.n_gaps > 1 else "")
        return [
            Finding(
                "warning",
                "gaps",
                (),
                f"the moments have {times}, the first {self.example}",
                f"after a gap the {lags} moments before a row are not known, so {lost} rows only serve as the past of "
                "others",
                "none, if that is intended; leave time= out if rows count as successive although time has gaps, such "
                "as weekends",
            )
        ]


def row_times(n_rows: int, time: Sequence[Column], groups: Sequence[Column]) -> RowTimes:
    """Return the moments of rows.

    Parameters
    ----------
    n_rows : int
        The number of rows.
    time : sequence of Column
        What orders them: numbers or dates, the first column the slowest; as they stand if there is none.
    groups : sequence of Column
        What tells their units apart; one unit if there is none.
    """
    unit, units = _units(n_rows, groups)
    if not time:
        order = np.argsort(unit, kind="stable").astype(np.int64)
        own = unit[order]
        return RowTimes(order, own, own, units)
    when, words = _positions(time), _words(time)
    order = np.lexsort((when, unit)).astype(np.int64)
    own, at = unit[order], when[order]
    same = own[1:] == own[:-1]
    steps = np.diff(at)
    twice = np.flatnonzero(same & (steps == 0))
    if len(twice):
        first = int(order[twice[0]])
        whose = f" of {units[own[twice[0]]]!r}" if groups else ""
        raise InputError(
            f"the moment {words(first)}{whose} occurs in more than one row; if rows belong to several units, name "
            f"the column that tells them apart as groups=, otherwise keep one row per moment"
        )
    usual = _usual_step(steps[same])
    gap = same & (np.abs(steps - usual) > SAME_STEP * usual)
    run = np.concatenate([[0], np.cumsum(gap | ~same)]).astype(np.int64)
    example = ""
    if gap.any():
        k = int(np.flatnonzero(gap)[0])
        whose = f" in {units[own[k]]!r}" if groups else ""
        example = f"between {words(int(order[k]))} and {words(int(order[k + 1]))}{whose}"
    return RowTimes(order, own, run, units, int(gap.sum()), example)


def _usual_step(steps: Floats) -> float:
    """Return the most frequent step in time, the smaller of ties."""
    if not len(steps):
        return 1.0
    rounded = np.round(steps / steps.min(), 6)
    values, counts = np.unique(rounded, return_counts=True)
    return float(values[np.argmax(counts)] * steps.min())


def _units(n_rows: int, groups: Sequence[Column]) -> tuple[Ints, tuple[str, ...]]:
    """Return the number of each row's unit, in order of appearance, and the names of the units."""
    if not groups:
        return np.zeros(n_rows, dtype=np.int64), ("",)
    for column in groups:
        if column.missing.any():
            row = int(np.flatnonzero(column.missing)[0]) + 1
            raise InputError(f"column {column.name!r} of groups= is empty in data row {row}; fill it in")
    cells = pd.MultiIndex.from_arrays([_cells(column) for column in groups])
    codes, uniques = pd.factorize(cells)
    return codes.astype(np.int64), tuple(", ".join(map(str, one)) for one in uniques)


def _cells(column: Column) -> list[str]:
    if column.kind == "discrete":
        return [column.levels[code] for code in column.values]
    return [f"{value:g}" for value in column.values]


def _words(time: Sequence[Column]) -> Words:
    return Words(time)


class Words:
    """The moment of a row in words."""

    def __init__(self, time: Sequence[Column]) -> None:
        self._time = time

    def __call__(self, row: int) -> str:
        """Return the cells of the row in the columns of time."""
        return " ".join(_cell(column, row) for column in self._time)


def _cell(column: Column, row: int) -> str:
    value = column.values[row]
    return column.levels[value] if column.kind == "discrete" else f"{value:g}"


def _positions(time: Sequence[Column]) -> Floats:
    """Return one number per row that grows with time, evenly if moments are even."""
    parts = [_numbers(column) for column in time]
    at = parts[0]
    for column, part in zip(time[1:], parts[1:], strict=True):
        values = np.unique(part)
        if len(values) > MOST_RADIX or (values != np.round(values)).any():
            raise InputError(
                f"expected the second column of time= to have few whole numbers, such as the month of a year, but "
                f"{column.name!r} has {len(values)} values; make one column of time"
            )
        at = at * (values[-1] - values[0] + 1) + (part - values[0])
    return at


def _numbers(column: Column) -> Floats:
    """Return a column of time as numbers: numbers as they are, dates and periods as their place in the calendar."""
    if column.missing.any():
        row = int(np.flatnonzero(column.missing)[0]) + 1
        raise InputError(f"column {column.name!r} of time= is empty in data row {row}; fill it in or remove the row")
    if column.kind == "continuous":
        return np.asarray(column.values, dtype=np.float64)
    if column.numbers is not None:
        return np.asarray(column.numbers[column.values], dtype=np.float64)
    return np.asarray(_calendar(column)[column.values], dtype=np.float64)


def _calendar(column: Column) -> Floats:
    """Return the place in the calendar of each level: in months if all levels are on one day of a month."""
    try:
        periods = [pd.Period(level) for level in column.levels]
        if len({period.freqstr for period in periods}) == 1 and periods[0].freqstr[0] in "QMWY":
            return np.array([period.ordinal for period in periods], dtype=np.float64)
        dates = pd.DatetimeIndex(pd.to_datetime(list(column.levels)))
    except (ValueError, TypeError):
        raise InputError(
            f"expected column {column.name!r} of time= to have numbers or dates but got {quoted(column.levels, 3)}; "
            "give numbers, or dates such as 2024-05-31"
        ) from None
    is_day = (dates == dates.normalize()).all()
    if is_day and (len(set(dates.day)) == 1 or dates.is_month_end.all()):
        return np.asarray(dates.year * 12 + dates.month, dtype=np.float64)
    return np.asarray((dates - dates.min()) / pd.Timedelta(seconds=1), dtype=np.float64)
