"""Effects estimated by adjustment: regression for numbers, standardised probabilities for levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from dagopt.data.mixed import MixedTable
from dagopt.data.summarised import SummarisedMixedTable
from dagopt.data.table import ContinuousTable, DiscreteTable, Table
from dagopt.errors import InputError, quoted
from dagopt.networks.effects.logit_effect import probability_changes

__all__ = ["Rows", "estimate"]

Rows = list[dict[str, Any]]  # of a table of effects; plain, because tables are slow to make one by one

PRIOR_ROWS = 0.5  # rows that Jeffreys' prior adds to every cell
DEPENDENT = 1e-12  # smallest eigenvalue of the correlations of the regressors, relative to the largest


def estimate(table: Table | MixedTable, cause: int, outcome: int, adjustment: Sequence[int], level: float) -> Rows:
    """Return the total effect of one column on another, adjusted for further columns.

    Parameters
    ----------
    table : Table
        The data.
    cause, outcome : int
        The columns.
    adjustment : sequence of int
        The columns that are held fixed.
    level : float
        The level of the interval.

    Returns
    -------
    list of dict
        Rows with ``effect``, ``standard_error``, ``lower``, ``upper``. Continuous columns: one row, the change of the
        outcome's mean for one unit of the cause. A discrete cause: one row per level of the cause except the first, the
        change when the cause is set to that level instead of the first. A discrete outcome: one row per level of the
        outcome, the change of its probability; for a continuous cause the average rate of change per unit.
    """
    if isinstance(table, ContinuousTable):
        return _slope(table, cause, outcome, list(adjustment), level)
    if isinstance(table, DiscreteTable):
        return _differences(table, cause, outcome, list(adjustment), level)
    sample = table.sample if isinstance(table, SummarisedMixedTable) else table
    return _mixed(sample, cause, outcome, list(adjustment), level)


def _slope(table: ContinuousTable, cause: int, outcome: int, adjustment: list[int], level: float) -> Rows:
    """Return the coefficient of the cause in the regression of the outcome, computed in standard units."""
    used = [cause, *adjustment]
    correlation = table.correlation[np.ix_(used, used)]
    sizes = np.linalg.eigvalsh(correlation)
    freedom = table.n_samples - len(used) - 1
    if sizes[0] <= DEPENDENT * sizes[-1] or freedom <= 0:
        raise _not_estimable(table.names, cause, adjustment, table.n_samples)
    inverse = np.linalg.inv(correlation)
    slopes = inverse @ table.correlation[used, outcome]
    left = max(1 - float(slopes @ table.correlation[used, outcome]), 0.0)
    unit = float(table.scale[outcome] / table.scale[cause])
    error = math.sqrt(left / freedom * inverse[0, 0]) * unit
    return [_interval(float(slopes[0]) * unit, error, float(stdtrit(freedom, (1 + level) / 2)))]


def _interval(effect: float, error: float, reach: float) -> dict[str, float]:
    return {
        "effect": effect,
        "standard_error": error,
        "lower": effect - reach * error,
        "upper": effect + reach * error,
    }


def _not_estimable(names: Sequence[str], cause: int, adjustment: Sequence[int], rows: int) -> InputError:
    return InputError(
        f"the effect of {names[cause]!r} cannot be estimated from {rows} rows: it is a linear function of the columns"
        f" to adjust for, {quoted(names[i] for i in adjustment)}; give more rows, or leave one of them out"
    )


def _mixed(table: MixedTable, cause: int, outcome: int, adjustment: list[int], level: float) -> Rows:
    """Return the effect in a table with continuous and discrete columns."""
    if table.about.survey:
        raise InputError(
            "effects in a mixed table are estimated from whole rows but these have survey weights; leave weights= out, "
            "or make all columns continuous with kind="
        )
    table = table.repeated()
    if table.columns[outcome].kind == "continuous":
        return _mixed_slopes(table, cause, outcome, adjustment, level)
    used = [cause, *adjustment]
    rows = _complete(table, [outcome, *used])
    if all(table.columns[i].kind == "discrete" for i in used):
        chosen = [outcome, *used]
        codes = np.array([table.columns[i].values[rows] for i in chosen]).astype(np.int64)
        names, levels = (tuple(getattr(table.columns[i], part) for i in chosen) for part in ("name", "levels"))
        own = _differences(DiscreteTable.from_codes(names, levels, codes), 1, 0, list(range(2, len(chosen))), level)
        left_out = ("probability", "unsupported")
        return [{name: value for name, value in row.items() if name not in left_out} for row in own]
    parts = [_design_of(table, i, rows)[0] for i in used]
    changes = probability_changes(
        parts[0],
        np.concatenate([np.ones((int(rows.sum()), 1)), *parts[1:]], axis=1),
        table.columns[outcome].values[rows].astype(np.int64),
        len(table.columns[outcome].levels),
        table.columns[cause].kind == "discrete",
    )
    if changes is None:
        raise _not_estimable(table.names, cause, adjustment, int(rows.sum()))
    unit = 1.0 if table.columns[cause].kind == "discrete" else _design_of(table, cause, rows)[1]
    reach = float(ndtri((1 + level) / 2))
    levels = table.columns[cause].levels
    found: Rows = []
    for k, (effects, errors) in enumerate(zip(*changes, strict=True)):
        pair = {"from": levels[0], "to": levels[k + 1]} if levels else {}
        for name, effect, error in zip(table.columns[outcome].levels, effects / unit, errors / unit, strict=True):
            found.append({"level": name, **pair, **_interval(float(effect), float(error), reach)})
    return found


def _complete(table: MixedTable, columns: list[int]) -> NDArray[np.bool_]:
    """Return which rows have no missing cell in these columns."""
    return np.asarray(~table.missing[:, columns].any(axis=1))


def _design_of(table: MixedTable, column: int, rows: NDArray[np.bool_]) -> tuple[NDArray[np.float64], float]:
    """Return a column as regressors: indicators of all levels but the first, or standard units; and the unit."""
    values = table.columns[column].values[rows]
    if table.columns[column].kind == "discrete":
        return (values[:, None] == np.arange(1, len(table.columns[column].levels))).astype(np.float64), 1.0
    unit = float(values.std() or 1.0)
    return (values - values.mean())[:, None] / unit, unit


def _mixed_slopes(table: MixedTable, cause: int, outcome: int, adjustment: list[int], level: float) -> Rows:
    """Return the coefficients of the cause in the regression of a continuous outcome with main effects only."""
    columns = table.columns
    used = [cause, *adjustment]
    rows = _complete(table, [outcome, *used])
    design = np.concatenate([np.ones((int(rows.sum()), 1)), *(_design_of(table, i, rows)[0] for i in used)], axis=1)
    target = columns[outcome].values[rows]
    freedom = len(target) - design.shape[1]
    gram = design.T @ design
    sizes = np.linalg.eigvalsh(gram)
    if sizes[0] <= DEPENDENT * sizes[-1] or freedom <= 0:
        raise _not_estimable(table.names, cause, adjustment, len(target))
    inverse = np.linalg.inv(gram)
    slopes = inverse @ (design.T @ target)
    spread = float(np.sum((target - design @ slopes) ** 2)) / freedom
    reach = float(stdtrit(freedom, (1 + level) / 2))
    errors = np.sqrt(spread * np.diagonal(inverse))
    if columns[cause].kind == "continuous":
        unit = _design_of(table, cause, rows)[1]
        return [_interval(float(slopes[1]) / unit, float(errors[1]) / unit, reach)]
    levels = columns[cause].levels
    return [
        {"from": levels[0], "to": levels[k], **_interval(float(slopes[k]), float(errors[k]), reach)}
        for k in range(1, len(levels))
    ]


def _differences(table: DiscreteTable, cause: int, outcome: int, adjustment: list[int], level: float) -> Rows:
    r"""Return differences of standardised probabilities, with intervals from their posterior.

    :math:`P(y | do(x)) = \sum_o P(o) P(y | x, o)`. The effect is that of the shares in the data. Its interval is the
    mean of the posterior and some standard deviations, with Jeffreys' prior (half a row in every cell) for each
    :math:`P(y | x, o)`: shares of 0 and 1 in small cells are not taken for certain. It reaches at least to the effect.
    """
    weights = table.weights / table.copies
    _, stratum = np.unique(table.codes[adjustment].T, axis=0, return_inverse=True)
    stratum = stratum.ravel() if adjustment else np.zeros(len(weights), dtype=np.int64)
    causes, outcomes = table.codes[cause].astype(np.int64), table.codes[outcome].astype(np.int64)
    n_causes, n_outcomes = len(table.levels[cause]), len(table.levels[outcome])
    counts = np.zeros((int(stratum.max()) + 1, n_causes, n_outcomes))
    np.add.at(counts, (stratum, causes, outcomes), weights)
    totals = counts.sum(axis=2)
    pooled = counts.sum(axis=0) / _or_one(counts.sum(axis=(0, 2)))[:, None]
    shares = np.where(totals[..., None] > 0, counts / _or_one(totals)[..., None], pooled)
    size = weights.sum()
    strata = totals.sum(axis=1) / size
    means = np.einsum("s,scy->cy", strata, shares)
    centres, errors = _posterior_changes(counts, strata, size)
    reach = float(ndtri((1 + level) / 2))
    rows: Rows = []
    for x in range(1, n_causes):
        lacking = (totals[:, [0, x]] == 0).any(axis=1) @ strata
        for y in range(n_outcomes):
            effect = float(means[x, y] - means[0, y])
            rows.append(
                {
                    "level": table.levels[outcome][y],
                    "from": table.levels[cause][0],
                    "to": table.levels[cause][x],
                    "probability": float(means[x, y]),
                    "effect": effect,
                    "standard_error": float(errors[x, y]),
                    "lower": min(float(centres[x, y] - reach * errors[x, y]), effect),
                    "upper": max(float(centres[x, y] + reach * errors[x, y]), effect),
                    "unsupported": float(lacking),
                }
            )
    return rows


def _posterior_changes(
    counts: NDArray[np.float64], strata: NDArray[np.float64], size: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of ``P(y | do(x)) - P(y | do(first))``, ``[x, y]``.

    Parameters
    ----------
    counts : array of shape (strata, levels of the cause, levels of the outcome)
        The number of rows in each cell.
    strata : array
        The share of each stratum.
    size : float
        The number of rows.

    Notes
    -----
    With independent weights W of the strata and differences D inside them, the variance of sum W D is
    sum E[W^2] Var[D] + Var[sum W E[D]]; weights of observed strata have a Dirichlet posterior.
    """
    cells = counts + PRIOR_ROWS
    totals = cells.sum(axis=2, keepdims=True)
    shares = cells / totals
    variances = shares * (1 - shares) / (totals + 1)
    changes, both = shares - shares[:, :1], variances + variances[:, :1]
    centres = np.einsum("s,scy->cy", strata, changes)
    squares = strata**2 + strata * (1 - strata) / (size + 1)
    between = np.einsum("s,scy->cy", strata, (changes - centres) ** 2) / (size + 1)
    return centres, np.sqrt(np.einsum("s,scy->cy", squares, both) + between)


def _or_one(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums to divide by, 1 where there is nothing."""
    return np.where(sums > 0, sums, 1.0)
