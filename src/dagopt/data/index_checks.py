"""Findings about columns that are no measurements: identifiers, indices of time, and times with their events."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from dagopt.arrays import Bools, Floats
from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.data.misreadings import FEWEST_FOR_ID

__all__ = ["indices", "survival_pairs", "time_like"]

FEWEST_TIMES = 5  # distinct values of an index of time
DENSE = 1.5  # numbers up to this many times the rows, each once: as a list of rows is numbered
ALL_DIFFERENT = 0.9  # share of the rows
FEWEST_UNITS = 20  # values of a column called id that name units with several rows each
SAME_STEP = 1e-9  # steps of a column that differ by no more than this share of the first are even

ID_NAME = re.compile(r"(?i:(^|.*[_\s.-])(id|ids|identifier|uuid|guid|key|idx|rowid|uid))$|.*[a-z]I[Dd]$")
TIME_NAME = re.compile(
    r"(^|.*[_\s.-])(year|yr|date|time|month|week|day|quarter|period|timestamp|hour|minute|second|t)([_\s.-]?\d*)$",
    re.IGNORECASE,
)
EVENT_NAME = re.compile(
    r"(^|.*[_\s.-])(event|status|dead|death|died|deceased|cens|censors?|censored|delta|failed|failure|churn|churned|"
    r"relapse|relapsed|arrest|observed)$",
    re.IGNORECASE,
)
DURATION_NAME = re.compile(
    r"(^|.*[_\s.-])(time|times|duration|tenure|survival|surv|futime|followup|follow[_\s.-]up|stop|t|os|pfs|"
    r"(survival|event|death)?[_\s.-]?(days|weeks|months|years))$|^(week|days|weeks|months)$|.*time$",
    re.IGNORECASE,
)


def time_like(columns: Sequence[Column]) -> Bools:
    """Return which columns only grow, or only fall, from row to row: in even steps, or under a name of time."""
    return np.array([_is_time(column) for column in columns], dtype=bool)


def _is_time(column: Column) -> bool:
    values = _numbers(column)
    if values is None or len(values) < FEWEST_FOR_ID:
        return False
    steps = np.diff(values)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        return False
    moves = steps[steps != 0]
    if len(moves) + 1 < FEWEST_TIMES:
        return False
    if TIME_NAME.match(column.name):
        return True
    inner = np.diff(np.flatnonzero(steps != 0))  # how often each value occurs, but for the first and the last
    even = bool((np.abs(moves - moves[0]) <= SAME_STEP * abs(moves[0])).all())
    return even and bool((inner == inner[0]).all())


def indices(columns: Sequence[Column]) -> list[Finding]:
    """Find indices of time, and numbers that only name the rows."""
    found = []
    times = time_like(columns)
    for column, is_time in zip(columns, times, strict=True):
        if is_time:
            if TIME_NAME.match(column.name) or len(np.unique(column.values)) < len(column.values):
                found.append(_time_index(column))  # others are found as row numbers
        elif column.kind == "continuous" and (why := _why_id(column)):
            found.append(
                Finding(
                    "warning",
                    "identifier",
                    (column.name,),
                    f"column {column.name!r} looks like an identifier: it {why}",
                    "it is treated as a quantity and may get meaningless edges",
                    f"leave it out with exclude={[column.name]!r}",
                )
            )
    return found


def _time_index(column: Column) -> Finding:
    values = _numbers(column)
    assert values is not None
    return Finding(
        "warning",
        "time-index",
        (column.name,),
        f"column {column.name!r} goes from {values[0]:g} to {values[-1]:g} in the order of the rows, as an index of "
        "time, of rows or of units does",
        "everything that has a trend is joined to it",
        f"leave it out with exclude={[column.name]!r}",
    )


def _why_id(column: Column) -> str:
    """Return why whole numbers look like names of rows or units; empty if they do not."""
    values = _numbers(column)
    if values is None or len(values) < FEWEST_FOR_ID or not (values == np.round(values)).all():
        return ""
    distinct = len(np.unique(values))
    if distinct == len(values) and np.ptp(values) <= DENSE * len(values):
        return "has each whole number of its range at most once"
    if not ID_NAME.match(column.name):
        return ""
    if distinct > ALL_DIFFERENT * len(values):
        return "is called so and hardly any value occurs twice"
    if distinct < FEWEST_UNITS:
        return ""
    return f"is called so; its {distinct} values in {len(values)} rows name units, not quantities"


def survival_pairs(columns: Sequence[Column]) -> list[Finding]:
    """Find a time until an event beside the column that says whether the event happened."""
    events = [column for column in columns if EVENT_NAME.match(column.name) and _is_binary(column)]
    times = [
        column
        for column in columns
        if DURATION_NAME.match(column.name)
        and (values := _numbers(column)) is not None
        and _is_duration(values, column.transform is not None)
    ]
    if not events or not times:
        return []
    time, event = times[0].name, events[0].name
    finding = Finding(
        "warning",
        "survival",
        (time, event),
        f"column {time!r} looks like the time until an event, and {event!r} says whether it happened",
        "times that were cut off before the event count as if the event had happened then, so edges of both are biased",
        f"leave both out with exclude={[time, event]!r} and model them with a survival model given the other columns, "
        "or replace them with one column, whether the event happened by a fixed time",
    )
    return [finding]


def _is_binary(column: Column) -> bool:
    values = column.values[~column.missing]
    return len(values) > 0 and len(np.unique(values[: 10 * FEWEST_FOR_ID])) <= 2 and len(np.unique(values)) == 2


def _is_duration(values: Floats, is_transformed: bool) -> bool:
    if len(values) < FEWEST_FOR_ID or len(np.unique(values)) <= FEWEST_TIMES:
        return False
    return is_transformed or bool(values.min() >= 0)


def _numbers(column: Column) -> Floats | None:
    """Return the known values of a column as numbers; None for words."""
    if column.kind == "discrete" and column.numbers is None:
        return None
    values = column.as_continuous().values
    return np.asarray(values[~np.isnan(values)], dtype=np.float64)
