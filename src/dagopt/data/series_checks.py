"""Findings on series: levels that wander without returning to a mean.

A series with a unit root, such as a random walk, has no mean to return to, and regressions on other such series find
relations that are not there. The test of Dickey and Fuller regresses the change on the level before, the change before
and a constant; without a unit root the coefficient of the level is clearly negative.

References
----------
Dickey, Fuller (1979). Distribution of the estimators for autoregressive time series with a unit root. JASA 74.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.data.row_times import RowTimes
from dagopt.errors import quoted

__all__ = ["dickey_fuller", "wandering"]

CRITICAL = -2.57  # of the statistic, at 10 %: above it a unit root is not rejected
FEWEST_MOMENTS = 40  # below this the test says little


def dickey_fuller(values: Floats, run: Ints) -> float:
    """Return the statistic of the level in the regression of the change, over moments with two known before them.

    Parameters
    ----------
    values : array
        The series in order of time.
    run : int array
        Moments with the same number follow each other without a gap.
    """
    known = (run[2:] == run[:-2]) & ~np.isnan(values[2:] + values[1:-1] + values[:-2])
    change, before, level = (np.diff(values)[1:][known], np.diff(values)[:-1][known], values[1:-1][known])
    design = np.column_stack([level - level.mean(), before - before.mean()])
    change = change - change.mean()
    if len(change) < FEWEST_MOMENTS or np.linalg.matrix_rank(design) < 2:
        return -np.inf
    inverse = np.linalg.inv(design.T @ design)
    slopes = inverse @ design.T @ change
    left = change - design @ slopes
    error = np.sqrt(float(left @ left) / (len(change) - 3) * inverse[0, 0])
    return float(slopes[0] / error) if error > 0 else -np.inf


def wandering(columns: Sequence[Column], times: RowTimes) -> list[Finding]:
    """Find continuous series in which a unit root is not rejected."""
    found = [
        column.name
        for column in columns
        if column.kind == "continuous" and dickey_fuller(column.values[times.order], times.run) > CRITICAL
    ]
    if not found:
        return []
    listed = "[" + ", ".join(map(repr, found[:6])) + (", ..." if len(found) > 6 else "") + "]"
    return [
        Finding(
            "warning",
            "unit-root",
            tuple(found),
            f"series {quoted(found, 4)} do not seem to return to a mean (a unit root is not rejected at 10 %)",
            "edges between such series may be spurious, and effects and forecasts grow without limit",
            f"learn from the changes: names = {listed}; data[names] = data[names].diff(); data = data.dropna(); with "
            "a season, take it out first, such as data['x'] -= data.groupby('quarter')['x'].transform('mean')",
        )
    ]
