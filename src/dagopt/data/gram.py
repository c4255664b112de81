"""Means and products of columns with rounding errors that are proven, whatever the number of rows.

``column_sums`` and ``products`` add blocks of rows in a balanced tree: a sum of N terms has an error of at most
``BLOCK`` + log2(N) roundings of the sum of their sizes, whatever order BLAS takes within a block. ``correlations`` is
exact if that is not too much work: the columns are cut into slices of so few bits that all their products and sums are
whole numbers below 2^53. ``docs/reliability.md`` has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.deadline import FOREVER, Deadline

__all__ = [
    "Correlations",
    "Products",
    "centred",
    "column_means",
    "column_sums",
    "correlations",
    "correlations_in_pieces",
    "exact_factor",
    "exact_products",
    "is_cheap",
    "product_roundings",
    "products",
    "tree_sum",
]


BLOCK = 64  # rows that are added without a tree
ROWS_OF_A_PIECE = 4096  # of columns that are views of fewer numbers
BITS = 64  # of a column that are kept, below its largest number
LEAST_EXPONENT = -900  # of two, so that the inverse is a number
DIGITS = 60  # of the factor of exact products
NOTHING = Decimal(10) ** -40  # share of a column's square that counts as zero in it
BLOCKS_AT_ONCE = 512  # blocks of rows that are multiplied in one call; their products take up to 16 MB
WIDE, PIECE = 2_048, 10**10  # most columns, and multiplications, between two looks at the clock
MOST_EXACT_WORK = 4e9  # multiplications of slices: less than a second on one core


class Correlations(NamedTuple):
    """Correlations, standard deviations (dividing by N), and a bound on the error of an entry in roundings of 1."""

    matrix: Floats
    scale: Floats
    roundings: float


def product_roundings(n_samples: int, n_columns: int, *, weighted: bool = False) -> float:
    """Return the error of a correlation of centred columns by ``products``, in roundings of 1.

    Twice that of a sum, because the standard deviations have it too, and those of the centring and the divisions. With
    weights, each factor of a product is also multiplied by a root, which is two roundings more.
    """
    return 2 * (max(BLOCK, n_columns) + math.log2(max(n_samples, 1)) + 2) + (20 if weighted else 12)


def column_sums(values: Floats) -> Floats:
    """Return the sum of each column."""
    whole = len(values) // BLOCK * BLOCK
    sums = values[:whole].reshape(-1, BLOCK, *values.shape[1:]).sum(axis=1)
    if whole == len(values):
        return tree_sum(sums)
    return tree_sum(np.concatenate([sums, values[whole:].sum(axis=0)[None]]))


def tree_sum(terms: Floats) -> Floats:
    """Return the sum over the first axis, in a balanced tree."""
    if not len(terms):
        return np.zeros(terms.shape[1:])
    while len(terms) > 1:
        half = len(terms) // 2
        pairs = terms[:half] + terms[half : 2 * half]
        terms = pairs if len(terms) == 2 * half else np.concatenate([pairs, terms[2 * half :]])
    return np.asarray(terms[0])


def products(values: Floats, deadline: Deadline = FOREVER) -> Floats:
    """Return the products of all pairs of columns."""
    begun = deadline.elapsed()
    return _products(values, lambda share: deadline.check("correlations were computed", share, begun), (0.0, 1.0))


def _products(values: Floats, check: Callable[[float], None], share: tuple[float, float]) -> Floats:
    """Return the products of some rows, which are the given share of the work that the clock is told of."""
    rows, n = values.shape
    block = max(BLOCK, n)  # with many columns, the factorisation that follows has an error of this size
    if rows <= block:
        return _block_products(values, check, share)
    if n <= BLOCK and rows <= BLOCKS_AT_ONCE * BLOCK:
        whole = rows // BLOCK * BLOCK
        blocks = values[:whole].reshape(-1, BLOCK, n)
        check(share[0])
        total = tree_sum(blocks.transpose(0, 2, 1) @ blocks)
        rest = values[whole:]
        return np.asarray(total + rest.T @ rest if len(rest) else total)
    half, middle = rows // 2, sum(share) / 2
    both = _products(values[:half], check, (share[0], middle))
    both += _products(values[half:], check, (middle, share[1]))
    return both


def _block_products(values: Floats, check: Callable[[float], None], share: tuple[float, float]) -> Floats:
    """Return the products of columns that are not added in a tree; of many columns, a few at a time."""
    n = values.shape[1]
    check(share[0])
    if n <= WIDE:
        return np.asarray(values.T @ values)
    whole, width = np.empty((n, n)), min(WIDE, max(32, PIECE // (n * max(len(values), 1))))
    for first in range(0, n, width):
        last = min(first + width, n)
        some = values[:, first:last]
        whole[first:last, first:last] = some.T @ some
        whole[first:last, :first] = some.T @ values[:, :first]
        whole[:first, first:last] = whole[first:last, :first].T
        check(share[0] + (share[1] - share[0]) * (last / n) ** 2)
    return whole


def centred(values: Floats, weights: Floats | None = None) -> Floats:
    """Return columns less their (weighted) means, each with an error of at most 3 roundings of its length.

    Every difference has a relative error of one rounding. The first means may be wrong by many times the spread of a
    column far from zero, but then the differences are exact; the second means are those of numbers near zero.
    """
    near = values - column_means(values, weights)
    near -= column_means(near, weights)
    return np.asarray(near)


def column_means(values: Floats, weights: Floats | None = None) -> Floats:
    """Return the mean of each column, weighted if weights are given."""
    if weights is None:
        return column_sums(values) / len(values)
    return np.asarray(column_sums(values * weights[:, None]) / weights.sum())


def correlations_in_pieces(values: Floats, deadline: Deadline = FOREVER) -> tuple[Floats, Floats]:
    """Return the correlations and the standard deviations (dividing by N) of columns, some rows at a time.

    For columns that are views of fewer numbers, such as lagged ones, of which no copy is made. Sums of pieces are added
    in a balanced tree, as within a piece, so that ``product_roundings`` holds.
    """
    rows, begun = len(values), deadline.elapsed()

    def check(share: float) -> None:
        deadline.check("correlations were computed", share, begun)

    def added(of: Callable[[Floats, tuple[float, float]], Floats], first: int, last: int) -> Floats:
        if last - first <= ROWS_OF_A_PIECE:
            check(first / rows)
            return of(values[first:last], (first / rows, last / rows))
        middle = first + (last - first) // 2
        return added(of, first, middle) + added(of, middle, last)

    one = added(lambda piece, _: column_sums(piece), 0, rows) / rows
    two = added(lambda piece, _: column_sums(piece - one), 0, rows) / rows
    scale = np.sqrt(added(lambda piece, _: column_sums((piece - one - two) ** 2), 0, rows) / rows)
    length = np.where(scale > 0, scale, 1.0)
    matrix = added(lambda piece, share: _products((piece - one - two) / length, check, share), 0, rows) / rows
    np.fill_diagonal(matrix, 1.0)
    return matrix, scale


def correlations(values: Floats, deadline: Deadline = FOREVER, weights: Floats | None = None) -> Correlations:
    """Return the (weighted) correlations of columns, by exact products if that is not too much work.

    A column without variance has the scale 0 and no correlations.
    """
    rows, n = values.shape
    if weights is None and is_cheap(rows, n):
        return _exact(values - column_sums(values) / rows)
    near, mass = centred(values, weights), float(rows) if weights is None else float(weights.sum())
    if weights is not None:
        near *= np.sqrt(weights)[:, None]
    scale = np.sqrt(column_sums(near**2) / mass)
    matrix = products(near / np.where(scale > 0, scale, 1.0), deadline) / mass
    np.fill_diagonal(matrix, 1.0)
    return Correlations(matrix, scale, product_roundings(rows, n, weighted=weights is not None))


class Products(NamedTuple):
    """Exact products and sums of columns: whole numbers, each column in units of 2 to the power of its exponent."""

    gram: NDArray[np.object_]
    sums: NDArray[np.object_]
    exponents: Ints


def exact_products(values: Floats) -> Products:
    """Return the products of all pairs of columns, each cut off 64 bits below its largest number."""
    rows, n = values.shape
    bits, slices = _slices(rows)
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
    total = np.zeros(n, dtype=object)
    gram = np.zeros((n, n), dtype=object)
    for k in range(slices):
        total += shifts[k] * sums[k].astype(object)
        for m in range(slices):
            gram += shifts[k] * shifts[m] * whole[k, :, m, :].astype(object)
    return Products(gram, total, np.asarray(exponents - bits * slices, dtype=np.int64))


def is_cheap(rows: int, columns: int) -> bool:
    """Say whether exact products take less than a second or so."""
    return rows * float(_slices(rows)[1] * columns) ** 2 <= MOST_EXACT_WORK


def _slices(rows: int) -> tuple[int, int]:
    """Return the bits of a slice, so that rows times 4^bits is at most 2^53, and how many slices a column has."""
    bits = (53 - math.ceil(math.log2(max(rows, 2)))) // 2
    return bits, math.ceil(BITS / bits)


def _exact(values: Floats) -> Correlations:
    """Return the correlations by whole numbers; only the results are rounded, and the differences from the means."""
    rows, n = values.shape
    gram, sums, exponents = exact_products(values)
    spread = rows * gram - np.outer(sums, sums)  # N² times the covariances
    matrix, scale = np.eye(n), np.zeros(n)
    for a in range(n):
        if spread[a, a]:
            scale[a] = math.ldexp(math.isqrt(spread[a, a] << 2 * BITS) / (rows << BITS), int(exponents[a]))
        for b in range(a):
            if both := spread[a, a] * spread[b, b]:
                matrix[a, b] = matrix[b, a] = (spread[a, b] << BITS) / math.isqrt(both << 2 * BITS)
    return Correlations(matrix, scale, 8.0)


def exact_factor(gram: NDArray[np.object_], exponents: Ints) -> Floats:
    """Return the triangular R with R'R the given products, by 60 decimal digits: each entry is rounded once.

    A column that the ones before it determine to 40 digits has a row of zeros.
    """
    n = len(gram)
    factor, rounded = np.zeros((n, n), dtype=object), np.zeros((n, n))
    with localcontext() as context:
        context.prec = DIGITS
        units = [Decimal(2) ** int(power) for power in exponents]
        for a in range(n):
            own = [Decimal(x) * units[a] * units[b] for b, x in enumerate(gram[a, a:], start=a)]
            left = np.array(own, dtype=object) - factor[:a, a] @ factor[:a, a:] if a else np.array(own, dtype=object)
            if left[0] > own[0] * NOTHING:
                factor[a, a:] = left / left[0].sqrt()
                rounded[a, a:] = factor[a, a:].astype(np.float64)
    return rounded
