"""Findings about single cells: missing, infinite or too large numbers, columns of two kinds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.errors import InputError, quoted

__all__ = [
    "LARGEST_VALUE",
    "SMALLEST_SPREAD",
    "missing_cells",
    "mixed_kinds",
    "troubles",
    "unusable_numbers",
    "without_incomplete_rows",
]

LARGEST_VALUE = 1e150  # squares and their sums must stay finite
SMALLEST_SPREAD = 1e-150  # squares must stay above zero


def troubles(columns: list[Column]) -> list[Finding]:
    """Find columns that cannot be used, such as dates."""
    return [
        Finding("error", "unusable", (column.name,), *_split(column.trouble)) for column in columns if column.trouble
    ]


def _split(trouble: str) -> tuple[str, str, str]:
    """Return message, consequence and remedy of a trouble."""
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
        "drop those rows with missing='drop', fill them in, or leave the columns out with columns=",
    )
    return [finding]


def without_incomplete_rows(columns: list[Column]) -> tuple[list[Column], list[Finding]]:
    """Return the columns without the rows that have a missing cell, and a warning with the rows that this costs."""
    found = missing_cells(columns)
    if not found:
        return columns, []
    broken = np.logical_or.reduce([column.missing for column in columns])
    if broken.all():
        worst = max(columns, key=lambda column: int(column.missing.sum()))
        raise InputError(
            f"every row has a missing value (most in column {worst.name!r}), so missing='drop' would leave no rows; "
            f"leave the emptiest columns out with columns="
        )
    dropped = replace(
        found[0],
        severity="warning",
        consequence=f"these {int(broken.sum())} rows are left out; if cells are not missing at random, the answer is "
        f"biased",
        remedy="fill the cells in, or leave the columns out with columns=, if that is too many rows",
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
                    "replace them by numbers, remove those rows, or leave the column out with columns=",
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
                    "rescale the column, or leave it out with columns=",
                )
            )
    return findings


def mixed_kinds(columns: list[Column]) -> list[Finding]:
    """Find that a table has continuous and discrete columns."""
    continuous = [column for column in columns if column.kind == "continuous"]
    discrete = [column for column in columns if column.kind == "discrete"]
    if not continuous or not discrete:
        return []
    remedy = (
        "use discretize='quantile' (or 'interval') to make all columns discrete, "
        "or columns= to choose columns of one kind"
    )
    if all(column.numbers is not None for column in discrete):
        remedy += ", or kind='continuous' to read the integers as numbers"
    finding = Finding(
        "error",
        "mixed",
        tuple(column.name for column in discrete),
        f"the table mixes continuous columns ({quoted([column.name for column in continuous], 4)}) "
        f"and discrete columns ({quoted([column.name for column in discrete], 4)})",
        "no score covers both kinds, so learning stops",
        remedy,
    )
    return [finding]
