"""Findings about the shapes of continuous columns: outliers that make or hide an edge, skew, heavy tails, counts.

A Gaussian score compares residual variances. A few huge values dominate these, and where columns are skewed, edges that
only correct the shape can raise the score: a lognormal chain a → b → c gets an edge a → c.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dagopt.arrays import Bools, Floats
from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.data.row_checks import ALARM
from dagopt.errors import quoted

__all__ = ["Shape", "outliers", "shape_of", "shapes"]

FEWEST_ROWS = 30  # fewer rows say nothing about a shape
MOST_ROWS = 20_000  # that are looked at, evenly spread over the table
SKEWED = 1.0  # skewness from which the shape matters
HEAVY = 2.0  # excess kurtosis from which the tails matter
SAFETY = 1.3  # times the largest robust distance expected, because the spread of few rows is uncertain
MOST_OUTLYING = 0.02  # share of the rows: with more, the tails are heavy and single rows are not to blame
MOST_TRIMMED = 3  # outlying rows that are left out before skew and tails are measured
MOST_COMPARED = 300  # columns in which single rows may carry an edge
MANY_ZEROS = 0.2  # share of the rows
FEW_VALUES = 10  # distinct numbers up to which a column has no shape to speak of
FEW_NAMED = 3  # columns up to which a remedy names each


class Shape(NamedTuple):
    """Skewness and excess kurtosis, each with its distance from that of a normal sample in standard deviations."""

    skew: float
    skew_distance: float
    tails: float
    tails_distance: float

    def is_skewed(self, critical: float) -> bool:
        """Say whether the skewness matters and is not by chance."""
        return abs(self.skew) > SKEWED and abs(self.skew_distance) > critical

    def is_heavy(self, critical: float) -> bool:
        """Say whether the tails are so heavy that it matters, and not by chance."""
        return self.tails > HEAVY and self.tails_distance > critical


def shape_of(values: Floats) -> Shape:
    """Return the shape of complete values, with the tests of D'Agostino (1970) and of Anscombe and Glynn (1983)."""
    n = len(values)
    near = values - values.mean()
    scale = math.sqrt(float((near**2).mean()))
    if scale == 0 or n < FEWEST_ROWS:
        return Shape(0.0, 0.0, 0.0, 0.0)
    near = near / scale
    skew, kurtosis = float((near**3).mean()), float((near**4).mean())
    # skewness is, after a transformation, nearly normal
    y = skew * math.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    beta = 3 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9))
    w2 = -1 + math.sqrt(2 * (beta - 1))
    skew_distance = math.asinh(y / math.sqrt(2 / (w2 - 1))) / math.sqrt(0.5 * math.log(w2))
    # so is the cube root of kurtosis
    mean = 3.0 * (n - 1) / (n + 1)
    variance = 24.0 * n * (n - 2) * (n - 3) / ((n + 1.0) ** 2 * (n + 3) * (n + 5))
    x = (kurtosis - mean) / math.sqrt(variance)
    b = 6 * (n * n - 5 * n + 2) / ((n + 7.0) * (n + 9)) * math.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2.0) * (n - 3)))
    a = 6 + 8 / b * (2 / b + math.sqrt(1 + 4 / b**2))
    below = 1 + x * math.sqrt(2 / (a - 4))
    root = math.copysign(abs((1 - 2 / a) / below) ** (1 / 3), below) if below else math.inf
    tails_distance = (1 - 2 / (9 * a) - root) / math.sqrt(2 / (9 * a))
    return Shape(skew, skew_distance, kurtosis - 3, tails_distance)


def shapes(columns: Sequence[Column]) -> list[Finding]:
    """Find skewed columns, heavy tails, and counts with many zeros."""
    numbers = [column for column in columns if column.kind == "continuous" and column.transform is None]
    critical = -NormalDist().inv_cdf(ALARM / max(len(numbers), 1) / 2)
    skewed, heavy, counts = [], [], []
    for column in numbers:
        values = _spread_rows(column)
        if len(values) < FEWEST_ROWS or len(np.unique(values)) <= FEW_VALUES:
            continue
        zeros = float((values == 0).mean())
        shape = shape_of(values[_is_near(values, len(numbers))])
        if is_count(values) and (zeros > MANY_ZEROS or shape.is_skewed(critical)):
            counts.append((column.name, zeros))
        elif shape.is_skewed(critical):
            skewed.append((column.name, _remedy(values, shape, critical)))
        elif shape.is_heavy(critical):
            heavy.append(column.name)
    return [*_skewed(skewed), *_heavy(heavy), *_counts(counts)]


def _skewed(found: list[tuple[str, str]]) -> list[Finding]:
    if not found:
        return []
    names = tuple(name for name, _ in found)
    finding = Finding(
        "warning",
        "skewed",
        names,
        f"{_columns(names)} {'is' if len(names) == 1 else 'are'} skewed",
        "the score assumes Gaussian columns with linear effects; edges that only correct the shape can raise it",
        f"use transform={dict(found)!r}" if len(found) <= FEW_NAMED else "use transform='auto'",
    )
    return [finding]


def _columns(names: Sequence[str]) -> str:
    return f"column{'' if len(names) == 1 else 's'} {quoted(names)}"


def _remedy(values: Floats, shape: Shape, critical: float) -> str:
    """Return the transformation that helps: the logarithm if it removes the skew, otherwise ranks."""
    if values.min() > 0 and not shape_of(np.log(values)).is_skewed(critical) and shape.skew > 0:
        return "log"
    return "rank"


def _heavy(names: list[str]) -> list[Finding]:
    if not names:
        return []
    finding = Finding(
        "warning",
        "heavy-tails",
        tuple(names),
        f"{_columns(names)} {'has' if len(names) == 1 else 'have'} heavy tails: far more extreme values than a "
        "Gaussian",
        "a few rows decide which edges raise the score",
        f"use transform={dict.fromkeys(names, 'rank')!r}" if len(names) <= FEW_NAMED else "use transform='auto'",
    )
    return [finding]


def _counts(found: list[tuple[str, float]]) -> list[Finding]:
    return [
        Finding(
            "warning",
            "counts",
            (name,),
            f"column {name!r} holds counts" + (f", {zeros:.0%} of them zero" if zeros > MANY_ZEROS else ""),
            "it is modelled as Gaussian, whose variance does not grow with the mean",
            f"use kind={{{name!r}: 'count'}}"
            + (f", or transform={{{name!r}: 'rank'}}, because so many are zero" if zeros > MANY_ZEROS else ""),
        )
        for name, zeros in found
    ]


def is_count(values: Floats) -> bool:
    """Say whether all values are whole numbers from 0 or 1 on."""
    return bool(values.min() in (0.0, 1.0) and (values == np.round(values)).all())


def _spread_rows(column: Column) -> Floats:
    """Return the known values of a column, of very many only some, evenly spread."""
    values = column.values[:: -(-len(column.values) // MOST_ROWS)]
    return np.asarray(values[~np.isnan(values)], dtype=np.float64)


def _is_near(values: Floats, n_columns: int) -> Bools:
    """Return which values are not outlying, if only a few are; otherwise all."""
    near = ~_outlying(values, n_columns)
    return near if 0 < (~near).sum() <= MOST_TRIMMED else np.ones(len(values), dtype=bool)


def _outlying(values: Floats, n_columns: int) -> Bools:
    """Return which values are farther out than any of so many columns of Gaussian rows would be, by robust distance."""
    middle = np.nanmedian(values)
    spread = 1.4826 * np.nanmedian(np.abs(values - middle))
    if not spread > 0:
        return np.zeros(len(values), dtype=bool)
    limit = -SAFETY * NormalDist().inv_cdf(ALARM / max(n_columns * len(values), 1) / 2)
    return np.asarray(np.abs(values - middle) > limit * spread)


def outliers(columns: Sequence[Column]) -> list[Finding]:
    """Find single rows that decide whether two columns are joined: whether an edge gains more than BIC's penalty."""
    numbers = [column for column in columns if column.kind == "continuous" and not column.missing.any()]
    if len(numbers) < 2 or len(numbers[0].values) < FEWEST_ROWS:
        return []
    rows = len(numbers[0].values)
    out = np.array([_outlying(column.values, len(numbers)) for column in numbers])
    out[out.mean(axis=1) > MOST_OUTLYING] = False
    bad = out.any(axis=0)
    if not bad.any() or bad.mean() > MOST_OUTLYING:
        return []
    touched = np.flatnonzero(out.any(axis=1))
    others = np.flatnonzero(~out.any(axis=1))
    compared = np.concatenate([touched, others])[:MOST_COMPARED]
    first = min(len(touched), MOST_COMPARED)
    values = np.array([numbers[j].values for j in compared])
    with_rows, without = _gains(values, first), _gains(values[:, ~bad], first)
    price = math.log(rows)
    flipped = ((with_rows > price) != (without > price)) & (np.abs(with_rows - without) > price)
    pairs = [(int(a), int(b)) for a, b in np.argwhere(flipped) if b >= first or a < b]
    if not pairs:
        return []
    names = [(numbers[compared[a]].name, numbers[compared[b]].name) for a, b in pairs]
    a, b = max(pairs, key=lambda pair: abs(float(with_rows[pair] - without[pair])))
    worst = numbers[compared[a]].name, numbers[compared[b]].name
    listed = np.flatnonzero(bad)
    one = len(listed) == 1
    verb = ("join" if with_rows[a, b] > price else "separate") + ("s" if one else "")
    some = quoted([str(row + 1) for row in listed], 5).replace("'", "")
    finding = Finding(
        "warning",
        "outliers",
        tuple(dict.fromkeys(name for pair in names for name in pair)),
        f"data row{'' if one else 's'} {some} {'lies' if one else 'lie'} far outside the others and alone {verb} "
        f"{worst[0]!r} and {worst[1]!r}" + (f"; {len(pairs) - 1} more pairs depend on them" if len(pairs) > 1 else ""),
        "edges between these columns depend on these rows, and the proof does not notice",
        "correct the rows or leave them out if they are errors; otherwise use transform='rank'",
    )
    return [finding]


def _gains(values: Floats, first: int) -> Floats:
    """Return what an edge gains in likelihood, times two, between the first columns and all others."""
    near = values - values.mean(axis=1, keepdims=True)
    scale = np.sqrt((near**2).mean(axis=1, keepdims=True))
    near = near / np.where(scale > 0, scale, 1.0)
    correlation = np.clip(near[:first] @ near.T / values.shape[1], -1 + 1e-12, 1 - 1e-12)
    gains = -values.shape[1] * np.log1p(-(correlation**2))
    gains[np.arange(first), np.arange(first)] = 0.0
    return np.asarray(gains)
