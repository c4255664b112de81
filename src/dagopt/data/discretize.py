"""Cutting continuous columns into levels."""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Floats
from dagopt.data.columns import Column
from dagopt.errors import InputError

__all__ = ["discretized"]

ROUNDING = 1e-12  # of a sum of weights, relative


def discretized(column: Column, method: str, bins: int, weights: Floats | None = None) -> Column:
    """Return a continuous column cut into at most ``bins`` levels; a discrete one unchanged.

    Parameters
    ----------
    column : Column
        A column; missing cells stay missing.
    method : {"quantile", "interval"}
        ``quantile`` puts about the same number of rows into each level, ``interval`` cuts the range into equal parts.
        Equal values always share a level, so a column with many ties may get fewer levels.
    bins : int
        Number of levels, at least 2.
    weights : array, optional
        How much each row counts; once unless given.

    Returns
    -------
    Column
        Its levels read ``[low, high]`` or ``(low, high]`` and follow the order of the values.
    """
    if column.kind == "discrete":
        return column
    if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 2:
        raise InputError(f"expected bins= to be a whole number >= 2 but got {bins!r}; change the option")
    there = ~column.missing
    values = column.values[there]
    if not len(values):
        raise InputError(f"column {column.name!r} has no value at all to cut; leave it out with exclude=")
    if method == "quantile":
        inner = _quantiles(values, np.arange(1, bins) / bins, None if weights is None else weights[there])
    else:
        inner = np.linspace(values.min(), values.max(), bins + 1)[1:-1]
    inner = np.unique(inner)
    codes = np.searchsorted(inner, values, side="left")
    used, own = np.unique(codes, return_inverse=True)
    codes = np.full(len(there), -1, dtype=np.int64)
    codes[there] = own
    edges = np.concatenate([[values.min()], inner, [values.max()]])
    levels = tuple(f"{'[' if k == 0 else '('}{edges[k]:.6g}, {edges[k + 1]:.6g}]" for k in used)
    if len(set(levels)) < len(levels):  # edges that agree to six digits
        levels = tuple(f"{'[' if k == 0 else '('}{edges[k]!r}, {edges[k + 1]!r}]" for k in used)
    return Column(column.name, "discrete", codes, levels, trouble=column.trouble)


def _quantiles(values: Floats, shares: Floats, weights: Floats | None) -> Floats:
    """Return the least values that at least such shares of the (weighted) rows do not exceed."""
    if weights is None:
        return np.asarray(np.quantile(values, shares, method="inverted_cdf"))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    wanted = shares * reached[-1]
    return np.asarray(values[order][np.searchsorted(reached, wanted * (1 - ROUNDING), side="left")])
