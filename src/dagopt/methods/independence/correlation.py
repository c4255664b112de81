"""Tests of zero partial correlation, for continuous data; they use only the correlation matrix."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from scipy import special

from dagopt.arrays import Bools, Floats, Ints
from dagopt.kernels import independence as kernels
from dagopt.methods.independence.independence_test import IndependenceTest, Separation

__all__ = ["CorrelationTest", "FisherZTest", "StudentTest"]

BUDGET = 100_000  # tests between two checks of the clock
SMALLEST_P = 1e-280  # below this the logarithm of the p-value comes from an expansion


class CorrelationTest(IndependenceTest):
    """A test of zero partial correlation of Gaussian variables.

    Parameters
    ----------
    correlation : array of shape (n, n)
        The correlation matrix of the data.
    n_samples : int
        Number of rows N.
    """

    def __init__(self, correlation: Floats, n_samples: int) -> None:
        self.correlation = np.ascontiguousarray(correlation)
        self.n_samples = n_samples
        self.n_nodes = len(correlation)

    @abstractmethod
    def log_p_of(self, partial: Floats, size: int) -> Floats:
        """Return log p of partial correlations given sets of one size."""

    @abstractmethod
    def critical(self, size: int, alpha: float) -> float:
        """Return the absolute partial correlation up to which the p-value is above ``alpha``."""

    def take(self, order: Ints) -> CorrelationTest:
        """Return the test over the variables ``order``, renumbered in this order."""
        return type(self)(self.correlation[np.ix_(order, order)], self.n_samples)

    def partial(self, x: int, y: int, sets: Ints) -> Floats:
        """Return the partial correlations of x and y given each row of ``sets``."""
        out = np.empty(len(sets))
        kernels.partial_correlations(self.correlation, x, y, np.ascontiguousarray(sets), out)
        return out

    def log_p_values(self, x: int, y: int, sets: Ints) -> Floats:
        """Return log p of x and y given each row of ``sets``."""
        return self.log_p_of(self.partial(x, y, sets), sets.shape[1])

    def log_p_values_with(self, x: int, others: Ints, given: Ints) -> Floats:
        """Return log p of x and each of ``others`` given one set."""
        out = np.empty(len(others))
        kernels.partial_correlations_with(self.correlation, x, others, given, out)
        return self.log_p_of(out, len(given))

    def separate(
        self,
        pairs: Ints,
        adjacent: Bools,
        size: int,
        alpha: float,
        stop: Callable[[], object],
        best: bool = False,
    ) -> Separation:
        """Do what ``IndependenceTest.separate`` does, in one kernel that compares with a critical value."""
        found = np.full(len(pairs), np.nan)
        sets = np.zeros((len(pairs), size), dtype=np.int64)
        state = np.zeros(3 + size, dtype=np.int64)
        aim = kernels.Aim(self.critical(size, alpha), best, BUDGET)
        made = 0
        while state[0] < len(pairs) and not stop():
            made += kernels.separate_pairs(self.correlation, pairs, adjacent, aim, state, sets, found)
        return Separation(self.log_p_of(found, size), sets, made, complete=bool(state[0] == len(pairs)))


class StudentTest(CorrelationTest):
    r"""The exact t test: :math:`t = r \sqrt{f / (1 - r^2)}` with :math:`f = N - |S| - 2` degrees of freedom.

    The test ``cor`` of the R package bnlearn. Without degrees of freedom the p-value is 1.
    """

    label = "exact t test of partial correlation"

    def log_p_of(self, partial: Floats, size: int) -> Floats:
        """Return log p: the two tails of t are the incomplete beta function at 1 - r²."""
        freedom = self.n_samples - size - 2
        if freedom < 1:
            return np.where(np.isnan(partial), np.nan, 0.0)
        a = 0.5 * freedom
        rest = 1.0 - partial * partial
        p = special.betainc(a, 0.5, rest)
        tiny = p < SMALLEST_P
        log_p = np.log(np.where(tiny, 1.0, p))
        with np.errstate(divide="ignore"):
            log_p[tiny] = _log_beta_tail(a, rest[tiny])
        return log_p

    def critical(self, size: int, alpha: float) -> float:
        """Return the critical absolute correlation; 1 without degrees of freedom."""
        freedom = self.n_samples - size - 2
        if freedom < 1:
            return 1.0
        t = special.stdtrit(freedom, 1 - alpha / 2)
        return float(t / np.sqrt(freedom + t * t))


def _log_beta_tail(a: float, x: Floats) -> Floats:
    """Return the log of the incomplete beta function I_x(a, 1/2) for large a, by its first term and their ratio."""
    tail: Floats = (
        a * np.log(x) + 0.5 * np.log1p(-x) - np.log(a) - special.betaln(a, 0.5) - np.log1p(-x * (a + 0.5) / (a + 1.0))
    )
    return tail


class FisherZTest(CorrelationTest):
    r"""Fisher's z: :math:`\sqrt{N - |S| - 3}\, \operatorname{artanh} r` is standard normal.

    The test ``zf`` of the R package bnlearn. With N ≤ |S| + 3 the p-value is 1.
    """

    label = "Fisher's z test of partial correlation"

    def log_p_of(self, partial: Floats, size: int) -> Floats:
        """Return log p: the two tails of the normal distribution."""
        weight = self.n_samples - size - 3
        if weight < 1:
            return np.where(np.isnan(partial), np.nan, 0.0)
        with np.errstate(divide="ignore"):
            z = np.sqrt(weight) * np.abs(np.arctanh(partial))
        log_p: Floats = np.log(2.0) + special.log_ndtr(-z)
        return log_p

    def critical(self, size: int, alpha: float) -> float:
        """Return the critical absolute correlation; 1 if the test cannot be made."""
        weight = self.n_samples - size - 3
        return 1.0 if weight < 1 else float(np.tanh(special.ndtri(1 - alpha / 2) / np.sqrt(weight)))
