"""Findings about columns that may be misread: commas, spellings of missing, dates, row numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.data.kinds import MOST_WHOLE_LEVELS
from dagopt.data.spellings import LIKELY_MISSING, looks_like_dates
from dagopt.errors import quoted

__all__ = ["FEWEST_FOR_ID", "misreadings"]

FEWEST_FOR_ID = 20  # the fewest rows for which all-different values look like an identifier
NEARLY_UNIQUE = 0.5  # share of the rows: with more distinct words than this, words are not levels
STORED = ("text", "Decimal")  # how frames may store numbers
IDENTIFIER = 0.9  # share of the rows: with more levels than this, levels name the rows
ROW_NAMES = (
    "",
    "X",
    "Unnamed: 0",
    "rownames",
    "index",
    "column 1",
)  # the names that R and pandas give to row numbers


def misreadings(columns: Sequence[Column], given: Sequence[Column]) -> list[Finding]:
    """Return what looks wrong in the way columns are read.

    Parameters
    ----------
    columns : sequence of Column
        With the kinds that they are used with.
    given : sequence of Column
        The same as they were read.
    """
    found = _stored(columns, given)
    for place, (column, read) in enumerate(zip(columns, given, strict=True)):
        found += _commas(column, read) + _row_numbers(column, read, place)
        if column.kind == "discrete" and column.numbers is None:
            found += _spelled_missing(column) + _words(column)
    return found


def _commas(column: Column, read: Column) -> list[Finding]:
    if read.way in ("", *STORED):
        return []
    shown = f"{np.nanmin(read.as_continuous().values):g} to {np.nanmax(read.as_continuous().values):g}"
    finding = Finding(
        "warning",
        "commas",
        (column.name,),
        f"column {column.name!r} writes numbers with {read.way}",
        f"they are read as numbers, from {shown}",
        f"check the range; if it is wrong, write the numbers with points, or leave the column out with "
        f"exclude={column.name!r}",
    )
    return [finding]


def _stored(columns: Sequence[Column], given: Sequence[Column]) -> list[Finding]:
    """Find numbers that a frame stores in another form."""
    found = []
    for way in STORED:
        names = [column.name for column, read in zip(columns, given, strict=True) if read.way == way]
        if names:
            found.append(
                Finding(
                    "warning",
                    "numbers-as-text",
                    tuple(names),
                    f"column{'s' * (len(names) > 1)} {quoted(names)} store{'s' * (len(names) == 1)} numbers as {way}",
                    "they are read as numbers",
                    f"none, if that is intended; to keep them as levels use kind={{{names[0]!r}: 'discrete'}}",
                )
            )
    return found


def _row_numbers(column: Column, read: Column, place: int) -> list[Finding]:
    """Find row numbers: 1, 2, 3, ... under a name that R or pandas gives them, or in the first column."""
    if not (read.whole or read.kind == "continuous") or read.missing.any() or len(read.values) < FEWEST_FOR_ID:
        return []
    values = read.as_continuous().values
    if (place > 0 and column.name not in ROW_NAMES) or not np.array_equal(np.diff(values), np.ones(len(values) - 1)):
        return []
    finding = Finding(
        "warning",
        "row-numbers",
        (column.name,),
        f"column {column.name!r} counts the rows from {values[0]:g} to {values[-1]:g}, as R and pandas write row names",
        "it is treated as data and may get meaningless edges",
        f"leave it out with exclude={column.name!r} (R: write.csv(..., row.names = FALSE))",
    )
    return [finding]


def _spelled_missing(column: Column) -> list[Finding]:
    levels = [level for level in column.levels if level in LIKELY_MISSING]
    if not levels:
        return []
    rows = int(np.isin(column.values, [column.levels.index(level) for level in levels]).sum())
    finding = Finding(
        "warning",
        "missing-spelled",
        (column.name,),
        f"column {column.name!r} has the level {quoted(levels)} in {rows} rows, which often means missing",
        "it is treated as a level like the others",
        f"list it in na_values={levels!r}, and use missing= to say how to treat such cells",
    )
    return [finding]


def _words(column: Column) -> list[Finding]:
    """Find dates, and words that hardly ever repeat."""
    size = int((~column.missing).sum())
    if looks_like_dates(column.levels) and len(column.levels) > 2:
        finding = Finding(
            "warning",
            "dates",
            (column.name,),
            f"column {column.name!r} looks like dates ({column.levels[0]!r})",
            f"each of its {len(column.levels)} dates is a separate level, without an order",
            f"turn it into a number (such as days since a date), or leave it out with exclude={column.name!r}",
        )
        return [finding]
    if size < FEWEST_FOR_ID or not NEARLY_UNIQUE * size < len(column.levels) <= IDENTIFIER * size:
        return []
    finding = Finding(
        "warning",
        "nearly-unique",
        (column.name,),
        f"column {column.name!r} has {len(column.levels)} different texts in {size} rows",
        "hardly any level occurs twice, so edges from or to it are meaningless",
        f"leave it out with exclude={column.name!r}, or group its levels",
    )
    return [finding]


def kinds_in_words(columns: Sequence[Column], given: Sequence[Column]) -> str:
    """Return in one line how the columns were read."""
    numbers = [column.name for column in columns if column.kind == "continuous"]
    whole = [
        c.name for c, read in zip(columns, given, strict=True) if c.kind == "continuous" and read.kind == "discrete"
    ]
    levels = [f"{column.name} ({len(column.levels)} levels)" for column in columns if column.kind == "discrete"]
    few = [c.name for c in columns if c.kind == "discrete" and c.whole and len(c.levels) > 2]
    changed = [f"{c.name} ({c.transform.how})" for c in columns if c.transform is not None]
    parts = []
    if numbers:
        parts.append(f"continuous: {', '.join(numbers)}")
    if levels:
        parts.append(f"discrete: {', '.join(levels)}")
    if whole:
        parts.append(f"whole numbers with more than {MOST_WHOLE_LEVELS} values, read as continuous: {', '.join(whole)}")
    if few:
        parts.append(
            f"whole numbers with 3 to {MOST_WHOLE_LEVELS} values, read as levels without an order (kind='ordinal' "
            f"keeps it, kind='count' is for counts): {', '.join(few)}"
        )
    if changed:
        parts.append(f"transformed: {', '.join(changed)}")
    return "; ".join(parts)
