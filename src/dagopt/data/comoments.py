r"""Means and co-moments of columns, added up batch by batch without loss of digits.

The co-moments of a batch are the products of its centred columns (``gram.py``). Two batches a, b are merged by the
formula of Chan, Golub and LeVeque (1983): with :math:`\delta = \bar x_b - \bar x_a`,

.. math::

   \bar x = \bar x_a + \tfrac{n_b}{n} \delta, \qquad
   M = M_a + M_b + \tfrac{n_a n_b}{n} \delta \delta^\top .

Means and co-moments are unevaluated sums of two floats, so that a merge adds no error that counts, however many there
are. ``docs/reliability.md`` has the bound on the whole error, which does not depend on how the rows are divided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.gram import BLOCK, Correlations, column_sums, product_roundings, products, tree_sum
from dagopt.deadline import FOREVER, Deadline

__all__ = ["CoMoments"]

CELLS_PER_PIECE = 1 << 21  # cells of rows with one mean
CELLS_AT_ONCE = 1 << 17  # cells that are copied and multiplied at once: a megabyte, which stays in the cache
MOST_PACKED = 512  # columns up to which blocks of rows are multiplied by themselves
NEAR = 1 / 64  # how far from its mean a column may be centred, as a share of its standard deviation


@dataclass(frozen=True, eq=False)
class CoMoments:
    """The number of rows, the means and the co-moments of columns.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    mean, mean_low : array of shape (n,)
        The means, each the sum of two floats.
    products, products_low : array of shape (n, n)
        Sums of products of centred columns, each the sum of two floats.
    longest : int
        The most rows that were multiplied at once, on which the rounding error depends.
    growth : float
        By how much the columns that were combined from others enlarge the rounding error (``combined``).
    """

    n_rows: int
    mean: Floats
    mean_low: Floats
    products: Floats
    products_low: Floats
    longest: int
    growth: float = 1.0

    @classmethod
    def nothing(cls, n: int) -> CoMoments:
        """Return the co-moments of no rows."""
        return cls(0, np.zeros(n), np.zeros(n), np.zeros((n, n)), np.zeros((n, n)), 0)

    @classmethod
    def of(cls, values: Floats, weights: Ints | None = None, deadline: Deadline = FOREVER) -> CoMoments:
        """Return the co-moments of rows, ``values`` of shape (N, n), each row ``weights`` times."""
        if weights is None:
            return cls.of_columns(list(values.T), deadline)
        rows, n = values.shape
        piece = max(CELLS_PER_PIECE // max(n, 1), BLOCK)
        if rows > piece:
            half = rows // 2
            first, last = weights[:half], weights[half:]
            return cls.of(values[:half], first, deadline) + cls.of(values[half:], last, deadline)
        count = int(weights.sum())
        if not count:
            return cls.nothing(n)
        near, mean = _centred(values, weights, count)
        left = column_sums(near * weights[:, None]) / count
        gram = products(near * np.sqrt(weights)[:, None], deadline)
        gram -= count * np.outer(left, left)
        return cls(count, mean[0], mean[1] + left, gram, np.zeros_like(gram), rows)

    @classmethod
    def of_columns(cls, columns: Sequence[NDArray[Any]], deadline: Deadline = FOREVER) -> CoMoments:
        """Return the co-moments of columns of numbers, each an array of its own.

        Each column is read twice: for its mean, and for the products of the differences from it. Only if such a mean
        was not near enough, because the column is far from zero, differences are taken from a second mean.
        """
        n, rows = len(columns), len(columns[0]) if columns else 0
        piece = max(CELLS_PER_PIECE // max(n, 1), BLOCK)
        if rows > piece:
            half = rows // 2
            first, last = [one[:half] for one in columns], [one[half:] for one in columns]
            return cls.of_columns(first, deadline) + cls.of_columns(last, deadline)
        if not rows:
            return cls.nothing(n)
        mean = np.array([one.sum(dtype=np.float64) for one in columns]) / rows
        gram, sums = _shifted_products(columns, mean, None, deadline)
        left, more = sums / rows, np.zeros(n)
        if (rows * left**2 > NEAR**2 * np.maximum(np.diag(gram) - rows * left**2, 0)).any():
            more = left
            gram, sums = _shifted_products(columns, mean, more, deadline)
            left = sums / rows
        gram -= rows * np.outer(left, left)
        return cls(rows, mean, more + left, gram, np.zeros_like(gram), rows)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.mean)

    def __add__(self, other: CoMoments) -> CoMoments:
        """Return the co-moments of all rows of both."""
        if not self.n_rows or not other.n_rows:
            return self if self.n_rows or not other.n_rows else other
        n = self.n_rows + other.n_rows
        step, step_error = _two_sum(other.mean, -self.mean)
        step_error = step_error + (other.mean_low - self.mean_low)
        step, step_error = _two_sum(step, step_error)
        share = other.n_rows / n
        mean, mean_error = _two_sum(self.mean, share * step)
        between = self.n_rows * share * np.multiply.outer(step, step)
        gram, low = _two_sum(self.products, other.products)
        low += self.products_low + other.products_low
        gram, more = _two_sum(gram, between)
        gram, low = _two_sum(gram, low + more)
        return CoMoments(
            n,
            mean,
            self.mean_low + mean_error + share * step_error,
            gram,
            low,
            max(self.longest, other.longest),
            max(self.growth, other.growth),
        )

    def placed(self, places: Ints, n: int) -> CoMoments:
        """Return the co-moments of n columns: these at the given places, and zeros in all others."""
        grid = np.ix_(places, places)
        wide = replace(CoMoments.nothing(n), n_rows=self.n_rows, longest=self.longest, growth=self.growth)
        wide.mean[places], wide.mean_low[places] = self.mean, self.mean_low
        wide.products[grid], wide.products_low[grid] = self.products, self.products_low
        return wide

    def combined(self, factors: Floats) -> CoMoments:
        """Return the co-moments of linear combinations of the columns: row k of ``factors`` makes column k.

        A row that combines m indicators of levels, with factors whose mean over the rows is zero, multiplies the error
        by at most the square root of m.
        """
        m = float(np.count_nonzero(factors, axis=1).max(initial=1))
        return CoMoments(
            self.n_rows,
            factors @ self.mean,
            factors @ self.mean_low,
            factors @ self.products @ factors.T,
            factors @ self.products_low @ factors.T,
            self.longest,
            self.growth * max(m, 1.0) * 2,
        )

    def select(self, places: Ints) -> CoMoments:
        """Return the co-moments of some columns."""
        grid = np.ix_(places, places)
        return replace(
            self,
            mean=self.mean[places],
            mean_low=self.mean_low[places],
            products=self.products[grid],
            products_low=self.products_low[grid],
        )

    @property
    def roundings(self) -> float:
        """The largest error of a correlation, in roundings of 1."""
        sums = max(BLOCK, self.n_columns) + math.log2(max(self.longest, 2)) + 4
        merges = 4 * math.sqrt(2 * math.log2(max(self.n_rows, 2))) * sums
        near = 1 + 3 * NEAR  # differences are longer than from the mean itself (docs/reliability.md)
        return self.growth * (near * product_roundings(self.longest, self.n_columns) + merges + 16)

    def correlations(self) -> Correlations:
        """Return the correlations and the standard deviations (dividing by N); a constant column has none."""
        variances = np.maximum(np.diag(self.products), 0.0)
        length = np.sqrt(variances)
        inverse = 1 / np.where(length > 0, length, 1.0)
        matrix = self.products * inverse[:, None] * inverse
        matrix = np.clip((matrix + matrix.T) / 2, -1.0, 1.0)
        np.fill_diagonal(matrix, 1.0)
        return Correlations(matrix, length / math.sqrt(max(self.n_rows, 1)), self.roundings)


def _shifted_products(
    columns: Sequence[NDArray[Any]], first: Floats, second: Floats | None, deadline: Deadline
) -> tuple[Floats, Floats]:
    """Return the products and the sums of columns less numbers near their means, one or two after the other.

    Few rows at a time are copied, so that they stay in the cache, as blocks of rows that BLAS multiplies by
    themselves, and the products of the blocks are added in a balanced tree. A column of ones gives the sums.
    """
    n, rows = len(columns), len(columns[0])
    block = max(BLOCK, n)
    if n > MOST_PACKED:
        near = np.column_stack([one - shift for one, shift in zip(columns, first, strict=True)])
        if second is not None:
            near -= second
        return products(near, deadline), column_sums(near)
    at_once = max(CELLS_AT_ONCE // ((n + 1) * block), 1)
    packed = np.empty((at_once, n + 1, block))
    packed[:, n] = 1.0
    found = []
    deadline.check("correlations were computed", 0.0)
    for begin in range(0, rows, at_once * block):
        size = min(at_once * block, rows - begin)
        whole, rest = divmod(size, block)
        for k, (one, shift) in enumerate(zip(columns, first, strict=True)):
            middle = begin + whole * block
            part, to = one[begin:middle], packed[:whole, k]
            np.subtract(part.reshape(whole, block), shift, out=to)
            if second is not None:
                to -= second[k]
            if rest:
                packed[whole, k, :rest] = one[middle : middle + rest] - shift
                if second is not None:
                    packed[whole, k, :rest] -= second[k]
        if whole:
            found.append(tree_sum(packed[:whole] @ packed[:whole].transpose(0, 2, 1)))
        if rest:
            last = packed[whole, :, :rest]
            found.append(last @ last.T)
    total = tree_sum(np.array(found))
    return np.ascontiguousarray(total[:n, :n]), total[n, :n].copy()


def _centred(values: Floats, weights: Ints, count: int) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return columns less their means, and the numbers that were subtracted: two per column, one after the other."""
    first = column_sums(values * weights[:, None]) / count
    near = values - first
    second = column_sums(near * weights[:, None]) / count
    near -= second
    return near, (np.asarray(first), np.asarray(second))


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a + b rounded, and the error (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)
