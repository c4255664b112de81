"""Means and products of columns with rounding errors that are proven, whatever the number of rows.

``column_sums`` and ``products`` add blocks of rows in a balanced tree: a sum of N terms has an error of at most
``BLOCK`` + log2(N) roundings of the sum of their sizes, whatever order BLAS takes within a block. ``correlations`` is
exact if that is not too much work: the columns are cut into slices of so few bits that all their products and sums are
whole numbers below 2^53. ``docs/reliability.md`` has the proofs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dagopt.arrays import Floats

__all__ = ["Correlations", "centred", "column_sums", "correlations", "product_roundings", "products"]


BLOCK = 64  # rows that are added without a tree
BITS = 64  # of a column that are kept, below its largest number
LEAST_EXPONENT = -900  # of two, so that the inverse is a number
MOST_EXACT_WORK = 4e9  # multiplications of slices: less than a second on one core


class Correlations(NamedTuple):
    """Correlations, standard deviations (dividing by N), and a bound on the error of an entry in roundings of 1."""

    matrix: Floats
    scale: Floats
    roundings: float


def product_roundings(n_samples: int, n_columns: int) -> float:
    """Return the error of a correlation of centred columns by ``products``, in roundings of 1.

    Twice that of a sum, because the standard deviations have it too, and those of the centring and the divisions.
    """
    return 2 * (max(BLOCK, n_columns) + math.log2(max(n_samples, 1)) + 2) + 12


def column_sums(values: Floats) -> Floats:
    """Return the sum of each column."""
    if len(values) <= BLOCK:
        return np.asarray(values.sum(axis=0))
    half = len(values) // 2
    return column_sums(values[:half]) + column_sums(values[half:])


def products(values: Floats) -> Floats:
    """Return the products of all pairs of columns."""
    block = max(BLOCK, values.shape[1])  # with many columns, the factorisation that follows has an error of this size
    if len(values) <= block:
        return np.asarray(values.T @ values)
    half = len(values) // 2
    whole = products(values[:half])
    whole += products(values[half:])
    return whole


def centred(values: Floats) -> Floats:
    """Return columns less their means, each with an error of at most 3 roundings of its length.

    Every difference has a relative error of one rounding. The first means may be wrong by many times the spread of a
    column far from zero, but then the differences are exact; the second means are those of numbers near zero.
    """
    near = values - column_sums(values) / len(values)
    near -= column_sums(near) / len(values)
    return np.asarray(near)


def correlations(values: Floats) -> Correlations:
    """Return the correlations of columns, by exact products if that is not too much work.

    A column without variance has the scale 0 and no correlations.
    """
    rows, n = values.shape
    bits = (53 - math.ceil(math.log2(max(rows, 2)))) // 2  # of a slice: rows times 4^bits is at most 2^53
    slices = math.ceil(BITS / bits)
    if rows * float(slices * n) ** 2 <= MOST_EXACT_WORK:
        return _exact(values - column_sums(values) / rows, bits, slices)
    near = centred(values)
    scale = np.sqrt(column_sums(near**2) / rows)
    matrix = products(near / np.where(scale > 0, scale, 1.0)) / rows
    np.fill_diagonal(matrix, 1.0)
    return Correlations(matrix, scale, product_roundings(rows, n))


def _exact(values: Floats, bits: int, slices: int) -> Correlations:
    """Return the correlations by whole numbers; only the results are rounded, and the differences from the means."""
    rows, n = values.shape
    _, exponents = np.frexp(np.abs(values).max(axis=0, initial=0.0))
    exponents = np.maximum(exponents, LEAST_EXPONENT)
    rest, stacked = values * np.ldexp(1.0, bits - exponents), np.empty((rows, slices * n))
    for k in range(slices):
        part = stacked[:, k * n : (k + 1) * n]
        np.rint(rest, out=part)
        rest = (rest - part) * 2.0**bits
    whole = (stacked.T @ stacked).astype(np.int64).reshape(slices, n, slices, n)
    sums = stacked.sum(axis=0).astype(np.int64).reshape(slices, n)
    shifts = [1 << bits * (slices - 1 - k) for k in range(slices)]
    total = sum(shift * part.astype(object) for shift, part in zip(shifts, sums, strict=True))
    gram = sum(shifts[k] * shifts[m] * whole[k, :, m, :].astype(object) for k in range(slices) for m in range(slices))
    spread = rows * gram - np.outer(total, total)  # N² times the covariances, in units of the last slice
    matrix, scale = np.eye(n), np.zeros(n)
    for a in range(n):
        if spread[a, a]:
            root = math.isqrt(spread[a, a] << 2 * BITS) / (rows << BITS)
            scale[a] = math.ldexp(root, int(exponents[a]) - bits * slices)
        for b in range(a):
            if both := spread[a, a] * spread[b, b]:
                matrix[a, b] = matrix[b, a] = (spread[a, b] << BITS) / math.isqrt(both << 2 * BITS)
    return Correlations(matrix, scale, 8.0)
