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
COLLINEAR = 1e-7  # what is left of the level, of length one, given the change before it, if that is nothing
EXACT = 1e-12  # what is left of the change, of length one, if the regression leaves nothing


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
    if len(change) < FEWEST_MOMENTS:
        return -np.inf
    change, before, level = (_centred(one) for one in (change, before, level))
    if not change.any() or not level.any():
        return -np.inf
    directions, triangle = np.linalg.qr(np.column_stack([before, level]))
    if abs(triangle[1, 1]) <= COLLINEAR:  # a series that grows by the same factor each time: the level says it all
        directions, triangle = np.linalg.qr(level[:, None])
    slope = float(directions[:, -1] @ change) * float(np.sign(triangle[-1, -1]))
    left = change - directions @ (directions.T @ change)
    error = float(np.linalg.norm(left)) / np.sqrt(len(change) - 3)
    return slope / error if error > EXACT else float(np.sign(slope)) * np.inf


def _centred(values: Floats) -> Floats:
    """Return the values less their mean, with length one unless all are equal; their scale does not matter."""
    if values.max() == values.min():
        return np.zeros_like(values)
    left = values - values.mean()
    left /= np.abs(left).max()
    left -= left.mean()
    found: Floats = left / np.linalg.norm(left)
    return found


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
