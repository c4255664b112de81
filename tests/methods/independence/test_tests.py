"""The independence tests against scipy and against regressions on the rows."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dagopt.errors import InputError
from dagopt.methods.independence.contingency import _log_gamma_tail, log_chi_square_tail
from dagopt.methods.independence.correlation import _log_beta_tail
from dagopt.methods.independence.independence_test import IndependenceTest
from dagopt.methods.independence.tests import TESTS, TestOptions, make_test
from made_problems import discrete_table, gaussian_table
from naive import residuals

GIVEN = [(), (2,), (4, 2), (2, 3, 4)]


@pytest.mark.parametrize("given", GIVEN)
def test_t_is_the_test_of_a_regression_coefficient(given):
    """The exact test gives the p-value of y's coefficient in the regression of x on y and the set."""
    table = gaussian_table(0, 5)
    X = table.values
    left_x, left_y = residuals(X, 0, given), residuals(X, 1, given)
    r = left_x @ left_y / math.sqrt(left_x @ left_x * (left_y @ left_y))
    freedom = len(X) - len(given) - 2
    expected = 2 * stats.t.sf(abs(r) * math.sqrt(freedom / (1 - r * r)), freedom)
    assert make_test(table).p_value(0, 1, given) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("given", GIVEN)
def test_z_is_normal_after_fishers_transform(given):
    """Fisher's test gives the two tails of the normal distribution."""
    table = gaussian_table(0, 5)
    left_x, left_y = residuals(table.values, 0, given), residuals(table.values, 1, given)
    r = left_x @ left_y / math.sqrt(left_x @ left_x * (left_y @ left_y))
    expected = 2 * stats.norm.sf(math.sqrt(table.n_samples - len(given) - 3) * abs(math.atanh(r)))
    assert make_test(table, "z").p_value(0, 1, given) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("test", ["g2", "chi2"])
def test_marginal_tables_are_tested_as_scipy_does(test):
    """Without a set, the discrete tests are those of one contingency table."""
    table = discrete_table(1, 4, rows=300)
    counts = np.zeros((table.arity[0], table.arity[3]))
    np.add.at(counts, (table.codes[0], table.codes[3]), table.weights)
    expected = stats.chi2_contingency(counts, correction=False, lambda_="log-likelihood" if test == "g2" else None)
    assert make_test(table, test).p_value(0, 3) == pytest.approx(expected.pvalue, rel=1e-8)


def test_degrees_of_freedom_count_all_configurations():
    """The product of the arities counts, whether or not all configurations occur."""
    test = make_test(discrete_table(1, 5, rows=20))
    a = test.arity
    assert test.freedom(0, 1, np.array([[2, 3, 4]]))[0] == (a[0] - 1) * (a[1] - 1) * a[2] * a[3] * a[4]


@pytest.mark.parametrize("name", list(TESTS))
def test_bulk_calls_agree_with_single_ones(name):
    """Bulk calls over sets, over partners and over pairs agree with p-values one by one."""
    table = gaussian_table(3, 6, rows=50) if name in ("t", "z") else discrete_table(3, 6, rows=50)
    test = make_test(table, name)
    sets = np.array([[2, 3], [2, 4], [3, 5]])
    single = [test.p_value(0, 1, given) for given in sets]
    assert np.exp(test.log_p_values(0, 1, sets)) == pytest.approx(single)
    partners = np.array([1, 4, 5])
    single = [test.p_value(0, int(y), [2, 3]) for y in partners]
    assert np.exp(test.log_p_values_with(0, partners, np.array([2, 3]))) == pytest.approx(single)
    assert IndependenceTest.log_p_values_with(test, 0, partners, np.array([2, 3])) == pytest.approx(np.log(single))
    adjacent = ~np.eye(6, dtype=bool)
    pairs = np.argwhere(np.triu(adjacent)).astype(np.int64)
    for size, best in product(range(3), (False, True)):
        fast = test.separate(pairs, adjacent, size, 0.3, lambda: False, best)
        slow = IndependenceTest.separate(test, pairs, adjacent, size, 0.3, lambda: False, best)
        assert np.array_equal(fast.sets, slow.sets)
        assert fast.log_p == pytest.approx(slow.log_p, nan_ok=True)
        assert fast.complete
        assert slow.complete
    assert test.take(np.array([3, 0, 1, 5])).p_value(0, 2, [3]) == pytest.approx(test.p_value(3, 1, [5]))


@pytest.mark.parametrize("name", ["t", "z"])
def test_the_critical_correlation_has_the_p_value_alpha(name):
    """At the critical value the p-value is the level, for sets of any size."""
    test = make_test(gaussian_table(0, 4), name)
    for size in (0, 2):
        limit = test.critical(size, 0.05)
        assert np.exp(test.log_p_of(np.array([limit]), size)) == pytest.approx(0.05)


@pytest.mark.parametrize("name", ["t", "z"])
def test_without_degrees_of_freedom_nothing_is_dependent(name):
    """Where rows are too few for a set, the p-value is 1 and the critical correlation too."""
    test = make_test(gaussian_table(0, 6, rows=5), name)
    assert test.p_value(0, 1, [2, 3, 4]) == 1.0
    assert test.critical(3, 0.05) == 1.0


def test_expansions_meet_the_exact_tails():
    """Where both can be computed, the expansions of log p agree with the exact values."""
    rest = np.array([0.9, 0.95, 0.8])
    r = np.sqrt(1 - rest)
    exact = np.log(2) + stats.t.logsf(r * np.sqrt(2000 / rest), 2000)
    assert _log_beta_tail(1000.0, rest) == pytest.approx(exact, abs=1e-2)
    x, freedom = np.array([300.0, 900.0]), np.array([2.0, 60.0])
    exact = np.log(stats.chi2.sf(x, freedom))
    assert _log_gamma_tail(freedom / 2, x / 2) == pytest.approx(exact, rel=1e-9)


def test_strong_dependences_stay_in_order():
    """Where p-values are all 0, their logarithms still rank the statistics."""
    test = make_test(gaussian_table(0, 4, rows=100_000))
    values = test.log_p_of(np.array([0.2, 0.5, 0.9, 1.0]), 1)
    assert (np.diff(values) < 0).all()
    assert np.exp(values[1]) == 0.0
    tails = log_chi_square_tail(np.array([1e3, 1e4, 1e5]), np.array([4.0, 4.0, 4.0]))
    assert (np.diff(tails) < 0).all()


def test_a_constant_column_is_independent_of_all():
    """A column with one level has no degrees of freedom, and so p-value 1."""
    assert log_chi_square_tail(np.array([0.0]), np.array([0.0]))[0] == 0.0


@pytest.mark.parametrize(
    ("table", "test", "message"),
    [
        (gaussian_table(0, 3), "g2", "needs discrete"),
        (discrete_table(0, 3), "t", "needs continuous"),
        (gaussian_table(0, 3), "fisher", "unknown test"),
        (gaussian_table(0, 3), make_test(gaussian_table(0, 4)), "3 columns"),
    ],
)
def test_a_test_that_does_not_fit_is_refused(table, test, message):
    """The error says which data the test needs."""
    with pytest.raises(InputError, match=message):
        make_test(table, test)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, "x", True, float("nan")])
def test_a_level_is_between_zero_and_one(alpha):
    """Anything else is named in an error."""
    with pytest.raises(InputError, match="alpha"):
        TestOptions(alpha=alpha)
