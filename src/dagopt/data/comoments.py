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
from dataclasses import dataclass, replace

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.data.gram import BLOCK, Correlations, column_sums, product_roundings, products
from dagopt.deadline import FOREVER, Deadline

__all__ = ["CoMoments"]

CELLS_PER_PIECE = 1 << 21  # cells that are centred and multiplied at once: 16 MB


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
        rows, n = values.shape
        piece = max(CELLS_PER_PIECE // max(n, 1), BLOCK)
        if rows > piece:
            half = rows // 2
            first, last = (None, None) if weights is None else (weights[:half], weights[half:])
            return cls.of(values[:half], first, deadline) + cls.of(values[half:], last, deadline)
        count = rows if weights is None else int(weights.sum())
        if not count:
            return cls.nothing(n)
        root = None if weights is None else np.sqrt(weights)[:, None]
        near, mean = _centred(values, weights, count)
        left = column_sums(near if weights is None else near * weights[:, None]) / count
        gram = products(near if root is None else near * root, deadline)
        gram -= count * np.outer(left, left)
        low = mean[1] + left
        return cls(count, mean[0], low, gram, np.zeros_like(gram), rows)

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
        sums = BLOCK + math.log2(max(self.longest, 2)) + 4
        merges = 4 * math.sqrt(2 * math.log2(max(self.n_rows, 2))) * sums
        return self.growth * (product_roundings(self.longest, self.n_columns) + merges + 16)

    def correlations(self) -> Correlations:
        """Return the correlations and the standard deviations (dividing by N); a constant column has none."""
        variances = np.maximum(np.diag(self.products), 0.0)
        length = np.sqrt(variances)
        inverse = 1 / np.where(length > 0, length, 1.0)
        matrix = self.products * inverse[:, None] * inverse
        matrix = np.clip((matrix + matrix.T) / 2, -1.0, 1.0)
        np.fill_diagonal(matrix, 1.0)
        return Correlations(matrix, length / math.sqrt(max(self.n_rows, 1)), self.roundings)


def _centred(values: Floats, weights: Ints | None, count: int) -> tuple[Floats, tuple[Floats, Floats]]:
    """Return columns less their means, and the numbers that were subtracted: two per column, one after the other."""
    times = 1 if weights is None else weights[:, None]
    first = column_sums(values * times if weights is not None else values) / count
    near = values - first
    second = column_sums(near * times if weights is not None else near) / count
    near -= second
    return near, (np.asarray(first), np.asarray(second))


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return a + b rounded, and the error (Knuth)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)
