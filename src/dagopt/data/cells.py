"""Findings about single cells: missing, infinite or too large numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.errors import InputError, quoted

__all__ = [
    "LARGEST_VALUE",
    "SMALLEST_SPREAD",
    "empty_columns",
    "missing_cells",
    "troubles",
    "unusable_numbers",
    "with_missing_level",
    "without_incomplete_rows",
]

MISSING_LEVEL = "missing"
LARGEST_VALUE = 1e150  # squares and their sums must stay finite
SMALLEST_SPREAD = 1e-150  # squares must stay above zero


def troubles(columns: list[Column]) -> list[Finding]:
    """Find columns that cannot be used, such as dates."""
    return [
        Finding("error", "unusable", (column.name,), *_split(column.trouble)) for column in columns if column.trouble
    ]


def _split(trouble: str) -> tuple[str, str, str]:
    """Return the message, the consequence and the remedy of a trouble."""
    message, _, remedy = trouble.partition("; ")
    return message, "the column has no score, so learning stops", remedy


def missing_cells(columns: list[Column]) -> list[Finding]:
    """Find missing values."""
    counts = {column.name: int(column.missing.sum()) for column in columns}
    holes = {name: count for name, count in counts.items() if count}
    if not holes:
        return []
    broken = np.logical_or.reduce([column.missing for column in columns])
    worst = max(holes, key=lambda name: holes[name])
    finding = Finding(
        "error",
        "missing",
        tuple(holes),
        f"missing values in column {quoted(holes)} (most in {worst!r}: {holes[worst]}; "
        f"{int(broken.sum())} of {len(broken)} rows)",
        "no score is defined for incomplete rows, so learning stops",
        "use missing='em' to treat them as missing at random and use all other cells, missing='level' for discrete "
        "columns in which missing means something, missing='drop' to leave these rows out, or leave the columns out "
        "with exclude=",
    )
    return [finding]


def empty_columns(columns: list[Column]) -> list[Finding]:
    """Find columns without any value."""
    return [
        Finding(
            "error",
            "empty",
            (column.name,),
            f"column {column.name!r} has no value at all",
            "nothing can be learned about it, so learning stops",
            f"leave it out with exclude={column.name!r}",
        )
        for column in columns
        if column.missing.all()
    ]


def with_missing_level(column: Column) -> Column:
    """Return a discrete column with an extra level for missing cells."""
    if not column.missing.any():
        return column
    if column.kind == "continuous":
        raise InputError(
            f"column {column.name!r} is continuous and has no level for missing cells; use missing='em', or cut it "
            f"with discretize="
        )
    name = MISSING_LEVEL
    while name in column.levels:
        name += "_"
    values = np.where(column.missing, len(column.levels), column.values)
    return replace(column, values=values, levels=(*column.levels, name), numbers=None, whole=False)


def without_incomplete_rows(columns: list[Column]) -> tuple[list[Column], list[Finding]]:
    """Return the columns without the rows that have a missing cell, and a warning with the number of rows lost."""
    found = missing_cells(columns)
    if not found:
        return columns, []
    broken = np.logical_or.reduce([column.missing for column in columns])
    if broken.all():
        worst = max(columns, key=lambda column: int(column.missing.sum()))
        raise InputError(
            f"every row has a missing value (most in column {worst.name!r}), so missing='drop' would leave no rows; "
            f"use missing='em', or leave the emptiest columns out with exclude="
        )
    dropped = replace(
        found[0],
        severity="warning",
        consequence=f"these {int(broken.sum())} rows are left out; if cells are not missing at random, the answer is "
        f"biased",
        remedy="fill the cells in, use missing='em', or leave the columns out with exclude=, if that is too many rows",
    )
    return [column.take(~broken) for column in columns], [dropped]


def unusable_numbers(columns: list[Column]) -> list[Finding]:
    """Find infinite numbers, and numbers too large or too close together for their squares to be represented."""
    findings = []
    for column in columns:
        if column.kind != "continuous":
            continue
        infinite = np.flatnonzero(np.isinf(column.values))
        if len(infinite):
            findings.append(
                Finding(
                    "error",
                    "infinite",
                    (column.name,),
                    f"column {column.name!r} has {len(infinite)} infinite values, "
                    f"the first in data row {infinite[0] + 1}",
                    "means and variances are infinite, so learning stops",
                    "replace them with finite numbers, remove those rows, or leave the column out with exclude=",
                )
            )
            continue
        largest = float(np.nanmax(np.abs(column.values), initial=0.0))
        if largest > LARGEST_VALUE:
            findings.append(
                Finding(
                    "error",
                    "too-large",
                    (column.name,),
                    f"column {column.name!r} has the value {largest:.3g}, whose square cannot be represented",
                    "its variance overflows, so learning stops",
                    f"rescale the column (divide by {largest:.0e}) or correct the value",
                )
            )
            continue
        spread = np.ptp(column.values[~column.missing]) if not column.missing.all() else 0.0
        if 0 < spread < SMALLEST_SPREAD:
            findings.append(
                Finding(
                    "error",
                    "too-small",
                    (column.name,),
                    f"the values of column {column.name!r} differ by at most {spread:.3g}, whose square cannot be "
                    f"represented",
                    "its variance underflows, so learning stops",
                    "rescale the column, or leave it out with exclude=",
                )
            )
    return findings
