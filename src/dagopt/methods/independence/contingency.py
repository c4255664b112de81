"""Tests of independence in contingency tables, for discrete data."""

from __future__ import annotations

import numpy as np
from scipy import special

from dagopt.arrays import Floats, Ints
from dagopt.data.table import DiscreteTable
from dagopt.kernels import independence as kernels
from dagopt.methods.independence.independence_test import IndependenceTest

__all__ = ["ChiSquareTest", "ContingencyTest", "LikelihoodRatioTest"]

SMALLEST_P = 1e-280  # below this the logarithm of the p-value comes from a continued fraction
FRACTION_TERMS = 80  # terms of the continued fraction


class ContingencyTest(IndependenceTest):
    r"""A test of independence whose statistic is χ² distributed.

    The degrees of freedom are :math:`(a_x - 1)(a_y - 1) \prod_{z \in S} a_z`, where a are the numbers of levels,
    whether or not all combinations occur: the convention of ``mi`` and ``x2`` of the R package bnlearn.

    Parameters
    ----------
    codes : array of shape (n, distinct rows)
        Codes of the levels.
    arity : array of shape (n,)
        Numbers of levels.
    weights : array
        How often each distinct row occurs.
    copies : int
        How many of these stand for one row: statistics grow with the counts, so they are divided by it.
    """

    _pearson: bool

    def __init__(self, codes: np.ndarray, arity: Ints, weights: Ints, copies: int = 1) -> None:
        self.codes = np.ascontiguousarray(codes)
        self.arity = arity
        self.weights = weights
        self.copies = copies
        self.n_nodes = len(arity)

    @classmethod
    def of(cls, table: DiscreteTable) -> ContingencyTest:
        """Return the test for a table."""
        return cls(table.codes, table.arity, table.weights, table.copies)

    def take(self, order: Ints) -> ContingencyTest:
        """Return the test over the variables ``order``, renumbered in this order."""
        return type(self)(self.codes[order], self.arity[order], self.weights, self.copies)

    def statistics(self, x: int, y: int, sets: Ints) -> Floats:
        """Return the statistic of x and y given each row of ``sets``."""
        out = np.empty(len(sets))
        chosen = np.ascontiguousarray(sets)
        kernels.table_statistics(self.codes, self.arity, self.weights, x, y, chosen, self._pearson, out)
        return out / self.copies

    def freedom(self, x: int, y: int | Ints, sets: Ints) -> Floats:
        """Return the degrees of freedom of x and y given each row of ``sets``."""
        freedom: Floats = (
            (self.arity[x] - 1.0) * (self.arity[y] - 1.0) * np.prod(self.arity[sets], axis=-1, dtype=float)
        )
        return freedom

    def log_p_values(self, x: int, y: int, sets: Ints) -> Floats:
        """Return log p of x and y given each row of ``sets``."""
        return log_chi_square_tail(self.statistics(x, y, sets), self.freedom(x, y, sets))

    def log_p_values_with(self, x: int, others: Ints, given: Ints) -> Floats:
        """Return log p of x and each of ``others`` given one set."""
        out = np.empty(len(others))
        kernels.table_statistics_with(self.codes, self.arity, self.weights, x, others, given, self._pearson, out)
        return log_chi_square_tail(out / self.copies, self.freedom(x, others, given))


class LikelihoodRatioTest(ContingencyTest):
    """The G² test of conditional mutual information: ``mi`` of the R package bnlearn."""

    label = "G² test (mutual information)"
    _pearson = False


class ChiSquareTest(ContingencyTest):
    """Pearson's χ² test: ``x2`` of the R package bnlearn."""

    label = "Pearson's χ² test"
    _pearson = True


def log_chi_square_tail(statistic: Floats, freedom: Floats) -> Floats:
    """Return the logarithm of P(χ² > statistic); 0 without degrees of freedom."""
    a, x = 0.5 * freedom, 0.5 * statistic
    p = np.where(a > 0, special.gammaincc(np.maximum(a, 0.5), x), 1.0)
    tiny = p < SMALLEST_P
    log_p = np.log(np.where(tiny, 1.0, p))
    if tiny.any():
        log_p[tiny] = _log_gamma_tail(np.broadcast_to(a, p.shape)[tiny], x[tiny])
    return log_p


def _log_gamma_tail(a: Floats, x: Floats) -> Floats:
    """Return log Γ(a, x) / Γ(a) for x far above a, by Legendre's continued fraction from its end."""
    below = x + 2.0 * FRACTION_TERMS + 1.0 - a
    for k in range(FRACTION_TERMS, 0, -1):
        below = x + 2.0 * k - 1.0 - a + k * (a - k) / below
    tail: Floats = -x + a * np.log(x) - special.gammaln(a) - np.log(below)
    return tail
