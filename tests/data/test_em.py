"""EM of mean and covariance: closed forms of monotone patterns, the likelihood, units, and what cannot be told."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from dagopt.data.em import em_moments, rows_that_count
from dagopt.errors import InputError


def _rows(seed, rows=300, n=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, n)) @ (np.eye(n) + np.triu(rng.normal(size=(n, n)), 1)) + rng.normal(size=n), rng


def _names(n):
    return [f"x{j}" for j in range(n)]


def _monotone(values):
    """Return mean and covariance by regressions, column after column, each on the rows that have it (Anderson 1957)."""
    n = values.shape[1]
    mean, covariance = np.zeros(n), np.zeros((n, n))
    for j in range(n):
        rows = values[~np.isnan(values[:, j])][:, : j + 1]
        own, left = rows.mean(axis=0), np.cov(rows, rowvar=False, bias=True).reshape(j + 1, j + 1)
        slopes = np.linalg.solve(left[:j, :j], left[:j, j]) if j else np.zeros(0)
        noise = left[j, j] - slopes @ left[:j, j]
        mean[j] = own[j] + slopes @ (mean[:j] - own[:j])
        covariance[j, :j] = covariance[:j, j] = covariance[:j, :j] @ slopes
        covariance[j, j] = noise + slopes @ covariance[:j, :j] @ slopes
    return mean, covariance


@pytest.mark.parametrize("seed", range(3))
def test_monotone_patterns_have_a_closed_form(seed):
    """Where a later column is seen only with all earlier ones, EM ends at the factored likelihood's maximum."""
    values, _ = _rows(seed, n=4)
    values[250:, 1:], values[180:, 2:], values[120:, 3:] = np.nan, np.nan, np.nan
    found, (mean, covariance) = em_moments(values, _names(4)), _monotone(values)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6, atol=1e-6)


def _observed_likelihood(values, mean, covariance):
    total = 0.0
    for row in values:
        seen = np.flatnonzero(~np.isnan(row))
        if len(seen):
            total += multivariate_normal.logpdf(row[seen], mean[seen], covariance[np.ix_(seen, seen)])
    return total


def test_em_ends_at_a_maximum_of_the_likelihood_of_what_was_seen():
    """No small change of mean or covariance is more likely, with cells missing anywhere."""
    values, rng = _rows(5, rows=120)
    values[rng.random(values.shape) < 0.2] = np.nan
    mean, covariance, _ = em_moments(values, _names(3))
    best = _observed_likelihood(values, mean, covariance)
    for _ in range(20):
        shift, stretch = 0.02 * rng.normal(size=3), np.eye(3) + 0.02 * rng.normal(size=(3, 3))
        assert _observed_likelihood(values, mean + shift, stretch @ covariance @ stretch.T) < best


def test_complete_rows_have_the_plain_moments_and_empty_rows_tell_nothing():
    """Without holes there is nothing to do, and a row of holes changes nothing."""
    values, _ = _rows(1)
    with_empty = np.vstack([values, np.full((7, 3), np.nan)])
    for given in (values, with_empty):
        mean, covariance, _ = em_moments(given, _names(3))
        np.testing.assert_allclose(mean, values.mean(axis=0), atol=1e-9)
        np.testing.assert_allclose(covariance, np.cov(values, rowvar=False, bias=True), rtol=1e-9)


def test_units_do_not_matter():
    """A column in other units has its moments in those units."""
    values, rng = _rows(2)
    values[rng.random(values.shape) < 0.1] = np.nan
    scale = np.array([1.0, 1e6, 1e-6])
    plain, scaled = em_moments(values, _names(3)), em_moments(values * scale + 5, _names(3))
    np.testing.assert_allclose(scaled.mean, plain.mean * scale + 5, rtol=1e-6)
    np.testing.assert_allclose(scaled.covariance, plain.covariance * np.outer(scale, scale), rtol=1e-6)


def test_what_em_cannot_do_is_said_in_a_sentence(monkeypatch):
    """A column without any value is named, and so are the columns that fewest rows have together."""
    values, _ = _rows(3)
    values[:150, 0], values[140:, 1] = np.nan, np.nan
    monkeypatch.setattr("dagopt.data.em.MOST_ROUNDS", 3)
    with pytest.raises(InputError, match=r"EM did not converge in 3 rounds .* 'x0' and 'x1' together \(0 of 300\)"):
        em_moments(values, _names(3))
    values[:, 2] = np.nan
    with pytest.raises(InputError, match="column 'x2' has no value at all; leave it out"):
        em_moments(values, _names(3))


def test_rows_that_count_are_those_with_both_ends():
    """Rows with both columns, on average over the pairs."""
    there = np.ones((100, 3), dtype=bool)
    assert rows_that_count(there) == 100
    there[:30, 0] = False
    assert rows_that_count(there) == round((70 + 70 + 100) / 3)
