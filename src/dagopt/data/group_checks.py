r"""Findings about rows that belong to units, such as patients with several visits each.

The intraclass correlation of a column is the share of its variance that lies between units. Between two columns with
the intraclass correlations a and b, N rows of units with m rows each say as much about their correlation as
N / (1 + (m - 1) a b) independent ones (the design effect of Kish), so that differences between units look like effects.

References
----------
Donner, Koval (1980). The estimation of intraclass correlation in the analysis of family data. Biometrics 36.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.data.row_checks import ALARM, ranks_of

__all__ = ["grouped_rows", "intraclass"]

LEAST_CORRELATION = 0.1  # between rows of a unit: smaller ones cost few rows
FEWEST_UNITS = 10  # fewer values are rather levels of a quantity or a class
FEWEST_ROWS = 2.0  # per unit, on average
MOST_COLUMNS = 1000  # that are tested; of more, every k-th
UNIT_NAME = re.compile(
    r"(?i:(^|.*[_\s.-])(id|ids|uid|patient|subject|person|participant|respondent|individual|pupil|student|child|twin|school|"
    r"classroom|teacher|household|family|litter|animal|firm|company|site|cent(er|re)|clinic|hospital|ward|batch|plot|"
    r"country|state|county|district|city|village|user|customer|client|player|team|cluster|unit|group|panel)"
    r"([_\s.-]?(id|no|nr|number|code|name))?)$|.*[a-z]I[Dd]$"
)


def intraclass(values: Floats, groups: Ints | Floats) -> tuple[float, float]:
    """Return the intraclass correlation of complete values by analysis of variance, and its p-value (an F test)."""
    from scipy.special import fdtrc

    _, which, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    n, k = len(values), len(sizes)
    near = values - values.mean()
    sums = np.bincount(which.ravel(), near)
    between = float((sums**2 / sizes).sum())
    within = float(near @ near) - between
    if k < 2 or n <= k or not near.any():
        return 0.0, 1.0
    mean_between, mean_within = between / (k - 1), max(within, 0.0) / (n - k)
    size = (n - float((sizes.astype(np.float64) ** 2).sum()) / n) / (k - 1)  # of a unit, on average
    if mean_within == 0:
        return 1.0, 0.0
    ratio = mean_between / mean_within
    return float((ratio - 1) / (ratio - 1 + size)), float(fdtrc(k - 1, n - k, ratio))


def grouped_rows(columns: Sequence[Column], units: Sequence[Column], groups: Ints | None) -> list[Finding]:
    """Find out whether rows of one unit are alike in at least two columns.

    Parameters
    ----------
    columns : sequence of Column
        The columns that are compared.
    units : sequence of Column
        The columns that may name units; those whose names sound so are tried.
    groups : int array, optional
        The unit of each row, if it is known.
    """
    if groups is not None:
        alike = _alike(columns, groups)
        return [] if alike is None else [_known(alike)]
    found = []
    for column in units:
        if not UNIT_NAME.match(column.name) or column.missing.any():
            continue
        distinct = len(np.unique(column.values))
        if distinct >= FEWEST_UNITS and len(column.values) >= FEWEST_ROWS * distinct:
            alike = _alike([other for other in columns if other is not column], column.values)
            if alike is not None:
                found.append(_unknown(column.name, distinct, alike))
    return found


class _Alike:
    """What was found about rows of one unit: the columns, the strongest first, and how many rows they are worth."""

    def __init__(self, names: tuple[str, ...], tested: int, strongest: Floats, rows: int, units: int) -> None:
        a, b = strongest[:2]
        self.names = names
        self.message = (
            f"are alike in {len(names)} of {tested} columns (intraclass correlation {a:.2f} in {names[0]!r}, "
            f"{b:.2f} in {names[1]!r})"
        )
        left = max(round(rows / (1 + (rows / units - 1) * a * b)), 1)
        self.consequence = (
            f"scores count {rows} independent rows, but for these columns they say as much as about {left}; "
            f"differences between units become edges, and the proof does not notice"
        )


def _alike(columns: Sequence[Column], groups: Ints | Floats) -> _Alike | None:
    """Return the columns in which rows of one unit are alike; None if there are fewer than two."""
    tested, found = [], []
    for column in columns[:: -(-len(columns) // MOST_COLUMNS) or 1]:
        there = ~column.missing
        if len(np.unique(column.values[there][:100])) < 2:
            continue
        tested.append(column.name)
        found.append(intraclass(ranks_of(column.values[there]), groups[there]))
    if not tested:
        return None
    shares, chances = np.array(found).T
    sure = np.flatnonzero((chances < ALARM / len(tested)) & (shares > LEAST_CORRELATION))
    if len(sure) < 2:
        return None
    order = sure[np.argsort(-shares[sure], kind="stable")]
    units = len(np.unique(groups))
    return _Alike(tuple(tested[k] for k in order), len(tested), shares[order], len(groups), units)


def _known(alike: _Alike) -> Finding:
    return Finding(
        "warning",
        "grouped",
        alike.names,
        f"rows of one group {alike.message}",
        alike.consequence,
        "use centre_groups=True to learn from differences within groups; bootstrap and cross-validation keep groups "
        "together",
    )


def _unknown(name: str, units: int, alike: _Alike) -> Finding:
    return Finding(
        "warning",
        "units",
        (name,),
        f"rows with the same {name!r} ({units} units) {alike.message}",
        alike.consequence,
        f"use groups={name!r}, and centre_groups=True to learn from differences within units",
    )
