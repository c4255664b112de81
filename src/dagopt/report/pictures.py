"""What the pictures of the report are drawn from: for every column and every edge a few numbers, never a row.

Counts are binned. The bins reach from the mean of the five smallest to that of the five largest values, and the outer
ones also count what lies beyond, so that no extreme is written. A cell or group of fewer than ``FEWEST_ROWS`` rows is
left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.continuous import CovarianceTable
from dagopt.data.summarised import sample_of
from dagopt.data.table import ContinuousTable, DiscreteTable, Table
from dagopt.networks.fitted import FittedGaussian, FittedMixed, FittedNetwork
from dagopt.report.labels import label

__all__ = ["FEWEST_ROWS", "ColumnData", "column_data", "column_pictures", "edge_pictures", "row_sample"]

FEWEST_ROWS = 5  # of a cell or a group that is shown
BINS = 24  # most bins of one column
PAIR_BINS = (4, 18)  # fewest and most bins of each column of a pair
MOST_CELLS = 400_000  # of all pictures together; with more edges the bins are wider
SMOOTH_POINTS = 9  # groups of x whose means the smooth line joins
MOST_LEVELS = 8  # of a column in a picture; the others are counted together
MOST_SAMPLED = 400  # rows of a sample
MOST_SAMPLED_CELLS = 300_000  # of a sample, all columns together


class ColumnData:
    """The rows of one column: numbers, or codes of levels; with weights if equal rows were merged."""

    def __init__(self, values: NDArray[Any], levels: tuple[str, ...], transform: str = "") -> None:
        self.values = values
        self.levels = levels
        self.transform = transform

    @property
    def is_discrete(self) -> bool:
        """Whether the values are codes of levels."""
        return bool(self.levels)


def column_data(table: Table) -> tuple[list[ColumnData], Ints] | None:
    """Return the rows of each column and how often each row occurs; None for a table without rows.

    Rows of a table of statistics are its sample. Rows count once each, whatever their ``weights=``.
    """
    table = sample_of(table) or table
    if isinstance(table, CovarianceTable) or not table.n_rows:
        return None
    if isinstance(table, DiscreteTable):
        columns = [
            ColumnData(codes.astype(np.int64), own) for codes, own in zip(table.codes, table.levels, strict=True)
        ]
        return columns, np.asarray(table.weights // table.copies if table.copies > 1 else table.weights)
    how = {name: one.how for name, one in table.transforms.items()}
    if isinstance(table, ContinuousTable):
        columns = [ColumnData(table.values[:, j], (), how.get(name, "")) for j, name in enumerate(table.names)]
    else:
        columns = [
            ColumnData(
                np.where(one.missing, -1 if one.levels else np.nan, one.values), one.levels, how.get(one.name, "")
            )
            for one in table.columns
        ]
    return columns, np.ones(len(columns[0].values), dtype=np.int64)


def column_pictures(columns: Sequence[ColumnData], weights: Ints) -> list[dict[str, Any]]:
    """Return what the distribution of each column is drawn from."""
    return [_levels_of(one, weights) if one.is_discrete else _numbers_of(one) for one in columns]


def _numbers_of(one: ColumnData) -> dict[str, Any]:
    values = one.values[np.isfinite(one.values)]
    edges = _edges(values, min(max(int(len(values) ** 0.5), 5), BINS))
    if edges is None:
        return {}
    counts = np.bincount(_bin(values, edges), minlength=len(edges) - 1)
    quartiles = np.quantile(values, [0.25, 0.5, 0.75])
    return {
        "kind": "numbers",
        "edges": _short([edges[0], edges[-1]]),
        "counts": _safe(counts),
        "mean": _one(values.mean()),
        "sd": _one(values.std()),
        "quartiles": _short(quartiles),
        "transform": one.transform,
    }


def _levels_of(one: ColumnData, weights: Ints) -> dict[str, Any]:
    names, codes = _few_levels(one, weights)
    counts = np.bincount(codes[codes >= 0], weights[codes >= 0], minlength=len(names))
    return {"kind": "levels", "levels": names, "counts": _safe(counts)}


def _few_levels(one: ColumnData, weights: Ints, most: int = MOST_LEVELS) -> tuple[list[str], Ints]:
    """Return the most frequent levels, the others as one, and the codes of the rows among them."""
    codes = one.values.astype(np.int64)
    if len(one.levels) <= most:
        return [label(level) for level in one.levels], codes
    counts = np.bincount(codes[codes >= 0], weights[codes >= 0], minlength=len(one.levels))
    kept = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    place = np.full(len(one.levels), most - 1)
    place[kept] = np.arange(most - 1)
    names = [label(one.levels[k]) for k in kept] + [f"{len(one.levels) - most + 1} others"]
    return names, np.where(codes >= 0, place[np.maximum(codes, 0)], -1)


def edge_pictures(
    columns: Sequence[ColumnData],
    weights: Ints,
    pairs: Sequence[tuple[int, int]],
    fitted: FittedNetwork | None,
) -> list[dict[str, Any]]:
    """Return what each edge (tail, head) is drawn from.

    Two continuous columns: binned counts, the fitted line and means of y by x, where y is freed of its other parents
    (partial residuals, at their means). A continuous column by levels: quartiles. Levels by a continuous column: shares
    by groups of x. Two discrete columns: counts.
    """
    most = int((MOST_CELLS / max(len(pairs), 1)) ** 0.5)
    found = []
    for tail, head in pairs:
        x, y = columns[tail], columns[head]
        if x.is_discrete and y.is_discrete:
            found.append(_mosaic(x, y, weights))
        elif x.is_discrete:
            found.append(_boxes(x, y, weights))
        elif y.is_discrete:
            found.append(_shares(x, y, weights))
        else:
            found.append(_scatter(columns, tail, head, fitted, most))
    return found


def _scatter(
    columns: Sequence[ColumnData], tail: int, head: int, fitted: FittedNetwork | None, most: int
) -> dict[str, Any]:
    x, y = columns[tail].values, columns[head].values
    slope, others = _slope(fitted, tail, head)
    for other, coefficient in others:
        own = columns[other].values
        part = coefficient * own if isinstance(coefficient, float) else coefficient[own.astype(np.int64)]
        y = y - (part - np.nanmean(part))
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known], y[known]
    low, high = PAIR_BINS
    bins = max(min(int((len(x) / 8) ** 0.5), high, most), low)
    across, up = _edges(x, bins), _edges(y, bins)
    if across is None or up is None:
        return {}
    counts = np.bincount(_bin(x, across) * bins + _bin(y, up), minlength=bins * bins)
    groups = _groups(x)
    smooth = [[_one(x[own].mean()), _one(y[own].mean()), _one(y[own].std() / len(own) ** 0.5)] for own in groups]
    mean_x, mean_y = x.mean(), y.mean()
    ends = [across[0], across[-1]]
    return {
        "kind": "scatter",
        "x": _short(ends),
        "y": _short([up[0], up[-1]]),
        "bins": bins,
        "counts": _safe(counts),
        "line": None if slope is None else _short([mean_y + slope * (end - mean_x) for end in ends]),
        "smooth": smooth,
        "partial": bool(others),
    }


def _slope(fitted: FittedNetwork | None, tail: int, head: int) -> tuple[float | None, list[tuple[int, float | Floats]]]:
    """Return the coefficient of a parent in the equation of a continuous node, and those of the other parents."""
    if isinstance(fitted, FittedGaussian) and tail in fitted.parents[head]:
        terms = dict(zip(fitted.parents[head], map(float, fitted.regressions[head].estimates[1:]), strict=True))
        return terms.pop(tail), list(terms.items())
    if isinstance(fitted, FittedMixed) and tail in fitted.parents[head]:
        estimates, place = np.asarray(fitted.effects[head].estimates[0]), 1
        found: dict[int, float | Floats] = {}
        for parent in fitted.parents[head]:
            size = max(len(fitted.network.levels[parent]) - 1, 1)
            own = estimates[place : place + size]
            found[parent] = np.concatenate([[0.0], own]) if fitted.network.levels[parent] else float(own[0])
            place += size
        slope = found.pop(tail)
        return (slope if isinstance(slope, float) else None), list(found.items())
    return None, []


def _boxes(x: ColumnData, y: ColumnData, weights: Ints) -> dict[str, Any]:
    """Return for each level the rows and the 10, 25, 50, 75 and 90 % points of y."""
    names, codes = _few_levels(x, weights)
    rows = []
    for k, name in enumerate(names):
        own = y.values[(codes == k) & np.isfinite(y.values)]
        if len(own) >= FEWEST_ROWS:
            rows.append([name, len(own), _short(np.quantile(own, [0.1, 0.25, 0.5, 0.75, 0.9]))])
    return {"kind": "boxes", "rows": rows} if rows else {}


def _shares(x: ColumnData, y: ColumnData, weights: Ints) -> dict[str, Any]:
    """Return the shares of the levels of y in groups of rows with increasing x."""
    names, codes = _few_levels(y, weights)
    known = np.flatnonzero(np.isfinite(x.values) & (codes >= 0))
    groups = [known[own] for own in _groups(x.values[known])]
    if not groups:
        return {}
    rows = [
        [_one(x.values[own].mean()), _short(np.bincount(codes[own], minlength=len(names)) / len(own))] for own in groups
    ]
    return {"kind": "shares", "levels": names, "rows": rows}


def _mosaic(x: ColumnData, y: ColumnData, weights: Ints) -> dict[str, Any]:
    across, first = _few_levels(x, weights)
    up, second = _few_levels(y, weights)
    counts = np.bincount(first * len(up) + second, weights, minlength=len(across) * len(up))
    return {"kind": "mosaic", "across": across, "up": up, "counts": _safe(counts)}


def row_sample(columns: Sequence[ColumnData], weights: Ints, seed: int = 0) -> list[list[Any]]:
    """Return some rows, drawn without replacement, column by column: numbers, or codes of levels."""
    total = int(weights.sum())
    size = min(MOST_SAMPLED, total, max(MOST_SAMPLED_CELLS // max(len(columns), 1), 20))
    drawn = np.sort(np.random.default_rng(seed).choice(total, size, replace=False))
    rows = np.searchsorted(np.cumsum(weights), drawn, side="right")
    return [
        [int(v) for v in one.values[rows]]
        if one.is_discrete
        else [_one(v) if np.isfinite(v) else None for v in one.values[rows]]
        for one in columns
    ]


def _edges(values: Floats, bins: int) -> Floats | None:
    """Return the borders of bins of equal width, from the mean of the smallest to that of the largest values."""
    if len(values) < 2 * FEWEST_ROWS:
        return None
    placed = np.partition(values, [FEWEST_ROWS - 1, len(values) - FEWEST_ROWS])
    low, high = placed[:FEWEST_ROWS].mean(), placed[-FEWEST_ROWS:].mean()
    if not high > low:
        return None
    return np.linspace(low, high, bins + 1)


def _bin(values: Floats, edges: Floats) -> Ints:
    """Return the bin of each value; what lies beyond is in the outer ones."""
    width = (edges[-1] - edges[0]) / (len(edges) - 1)
    places = np.floor((values - edges[0]) / width).astype(np.int64)
    return np.asarray(np.minimum(np.maximum(places, 0), len(edges) - 2))


def _groups(x: Floats) -> list[Ints]:
    """Return rows in groups of nearly equal size with increasing x; equal values stay together."""
    size = max(len(x) // SMOOTH_POINTS, 2 * FEWEST_ROWS)
    order = np.argsort(x, kind="stable")
    groups, start = [], 0
    while start < len(x):
        end = start + size
        if end + FEWEST_ROWS > len(x):
            end = len(x)
        while end < len(x) and x[order[end]] == x[order[end - 1]]:
            end += 1
        groups.append(order[start:end])
        start = end
    return [own for own in groups if len(own) >= FEWEST_ROWS]


def _safe(counts: NDArray[Any]) -> list[int]:
    """Return counts, zero where there are too few rows to show."""
    return [int(count) if count >= FEWEST_ROWS else 0 for count in counts]


def _short(values: Any) -> list[float]:
    return [_one(value) for value in values]


def _one(value: Any) -> float:
    return float(f"{float(value):.6g}")
