"""Orthogonal polynomials of a column, with a bound on their rounding errors that is computed beside them.

Whatever numbers a recurrence subtracts with, its exact values are polynomials of the column. So only the roundings of
its own steps count, and not those of means and products over the rows (docs/reliability.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagopt.arrays import Floats
from dagopt.data.gram import column_sums

__all__ = ["Polynomials", "polynomials"]

SMALLEST_SPREAD = 1e-300  # a standard deviation below this counts as this
ROUNDING = 2.0**-53
SECOND_ORDER = 1.01  # products of errors


class Polynomials(NamedTuple):
    """Polynomials of degree 1, 2, ..., one per column, and a bound on their errors in roundings of their length."""

    values: Floats
    roundings: float


def polynomials(values: Floats, degree: int, weights: Floats | None = None) -> Polynomials:
    """Return polynomials of a column up to a degree, orthogonal to each other and to 1 over these (weighted) rows.

    There are fewer if the column has no more distinct values than that.

    Parameters
    ----------
    values : array
        The column, complete and not constant.
    degree : int
        The highest degree, at least 1.
    weights : array, optional
        How much each row counts; once unless given.
    """
    counts = np.ones(len(values)) if weights is None else weights * (len(values) / weights.sum())
    standard, error = _standard(values, counts)
    found, errors = [np.ones(len(values))], [np.zeros(len(values))]
    for _ in range(min(degree, len(np.unique(values)) - 1)):
        last = found[-1]
        grown = standard * last
        off = np.abs(standard) * errors[-1] + np.abs(last) * error + ROUNDING * np.abs(grown)
        for one, its_error in zip(found, errors, strict=True):
            share = float((counts * grown) @ one) / len(values)
            taken = share * one
            grown = grown - taken
            off += abs(share) * its_error + ROUNDING * (2 * np.abs(taken) + np.abs(grown))
        length = max(float(np.sqrt((counts * grown) @ grown / len(values))), SMALLEST_SPREAD)
        found.append(grown / length)
        errors.append(SECOND_ORDER * off / length + ROUNDING * np.abs(found[-1]))
    largest = max(float(np.sqrt((counts * off) @ off / len(values))) for off in errors)
    return Polynomials(np.column_stack(found[1:]), largest / ROUNDING)


def _standard(values: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return a column less a number near its mean, with length 1 per row, and the error of every number.

    A difference of numbers within a factor of two is exact (Sterbenz). That a mean has an error does not matter.
    """
    mean = float(column_sums((counts * values)[:, None])[0]) / len(values)
    near = values - mean
    is_exact = (
        (np.sign(values) == np.sign(mean)) & (np.abs(values) <= 2 * abs(mean)) & (abs(mean) <= 2 * np.abs(values))
    )
    error = np.where(is_exact, 0.0, ROUNDING * np.abs(near))
    near = near - float(column_sums((counts * near)[:, None])[0]) / len(values)
    scale = max(float(np.sqrt(column_sums((counts * near**2)[:, None])[0] / len(values))), SMALLEST_SPREAD)
    return near / scale, SECOND_ORDER * (error / scale + 2 * ROUNDING * np.abs(near / scale))
