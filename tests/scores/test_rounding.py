"""Tests of the allowance for rounding of every score, against exact arithmetic, near the edge of its formula."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dagopt
import exact_scores
from dagopt.kernels.counts.counting import log_rising
from dagopt.kernels.plain import plain

QUIET = {"progress": False}


def levels(codes):
    """Return a table of levels."""
    return {f"c{j}": [f"L{code}" for code in column] for j, column in enumerate(np.asarray(codes).T)}


def check(truth, result):
    """Hold score, bound and claim of a result against exact arithmetic."""
    best, own, score = truth.best(), truth.total(result.adjacency), exact_scores.decimal(result.score)
    rounding = result.details["rounding"]
    assert abs(float(own - score)) <= rounding
    if result.bound is not None:
        assert best <= exact_scores.decimal(result.bound)
    if result.status == "optimal":
        assert float(best - own) <= 2 * rounding


# --- BDeu -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [log_rising, plain(log_rising)], ids=["compiled", "plain"])
def test_log_of_a_rising_factorial(kernel):
    """A term is within 100 c roundings, for priors from 1e-300 to 1e15 and counts on both sides of the series."""
    rng = np.random.default_rng(0)
    for prior in [*10.0 ** rng.uniform(-15, 15, 60), 1e-300, 1.0, 2.0, 9.999999, 10.0, 10.000001]:
        for count in [*rng.integers(1, 12, 4).tolist(), int(rng.integers(12, 400))]:
            exact = exact_scores.log(math.prod((Fraction(prior) + k for k in range(count)), start=Fraction(1)))
            size = count * (1 + abs(math.log(prior)) + math.log(prior + count))
            error = float(exact_scores.decimal(kernel(count, float(prior))) - exact)
            assert abs(error) <= 100 * 2.0**-53 * size


@pytest.mark.parametrize("ess", [1e-15, 1e-6, 1.0, 1e5, 1e8, 1e12, 1e15])
@pytest.mark.parametrize("method", ["exact", "gobnilp"])
def test_bdeu_with_any_equivalent_sample_size(method, ess):
    """Differences of lgamma lost all digits of scores with an equivalent sample size of 1e12."""
    for seed in (770509, 1):
        codes = np.random.default_rng(seed).integers(0, 2 + seed % 2, (50, 3))
        codes[:, 2] |= codes[:, 0]
        result = dagopt.learn(levels(codes), method, score="bdeu", equivalent_sample_size=ess, **QUIET)
        assert result.status == "optimal"
        assert result.details["rounding"] < 1e-9
        check(exact_scores.bdeu(codes, ess), result)


@pytest.mark.parametrize("ess", [1e5, 1e12, 1e15])
def test_edge_probabilities_with_a_large_equivalent_sample_size(ess):
    """The probability of every edge is that of the sum over all orders, in exact arithmetic."""
    codes = np.random.default_rng(770509).integers(0, 2, (50, 3))
    truth = exact_scores.bdeu(codes, ess)
    right = exact_scores.edge_probabilities(truth)
    found = dagopt.edge_posterior(levels(codes), score="bdeu", equivalent_sample_size=ess, **QUIET)
    np.testing.assert_allclose(found.edges, right, atol=1e-9)


def test_a_sample_size_too_small_for_float64_is_refused():
    """Prior counts below the smallest normal number would lose digits."""
    with pytest.raises(dagopt.InputError, match="1e-15"):
        dagopt.learn(levels(np.eye(3, dtype=int)), "exact", score="bdeu", equivalent_sample_size=1e-300, **QUIET)
