"""Edges by chance: the published figures, a simulation, and EBIC's surcharge."""

import numpy as np
import pytest
import scipy.special

from dagopt.data.chance import chance_edges, chance_finding, chi_squared_tail, ebic_edge_cost


def test_one_parameter_per_edge_is_pairs_times_a_probability():
    """17 edges between 100 columns and 437 between 500, at 5,000 rows under BIC."""
    cost = 0.5 * np.log(5000)
    assert chance_edges(np.ones(100, dtype=np.int64), cost) == pytest.approx(17.4, abs=0.1)
    assert chance_edges(np.ones(500, dtype=np.int64), cost) == pytest.approx(438, abs=1)


def test_independent_columns_gain_as_often_as_said():
    """Between columns of noise, the number of pairs whose gain beats the penalty is the expected one."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 120))
    squared = np.corrcoef(values, rowvar=False)[np.triu_indices(120, 1)] ** 2
    found = int((-0.5 * 400 * np.log(1 - squared) > 2.0).sum())
    expected = chance_edges(np.ones(120, dtype=np.int64), 2.0)
    assert abs(found - expected) < 4 * np.sqrt(expected)


def test_levels_count_by_their_parameters():
    """Pairs of columns of different sizes have their own degrees of freedom; a constant column has no edges."""
    mixed = chance_edges(np.array([1, 1, 2, 0]), 2.0)
    assert mixed == pytest.approx(chance_edges(np.array([1, 1]), 2.0) + 2 * _pair(1, 2, 2.0))


def _pair(a, b, cost):
    return chance_edges(np.array([a, b]), cost)


def test_above_one_the_finding_names_ebic():
    """Ten columns need nothing; five hundred do, and are told how many edges EBIC lets in."""
    cost = 0.5 * np.log(5000)
    assert chance_finding(("a",) * 10, np.ones(10, dtype=np.int64), cost) == []
    (finding,) = chance_finding(("a",) * 500, np.ones(500, dtype=np.int64), cost)
    assert "439" in finding.message
    assert "ebic" in finding.remedy
    (finding,) = chance_finding(("a",) * 500, np.ones(500, dtype=np.int64), cost, is_ebic=True)
    assert "score='ebic'" not in finding.remedy
    assert chance_finding(("a",) * 500, np.ones(500, dtype=np.int64), cost, ebic_edge_cost(500)) == []


@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 9, 400, 2001])
@pytest.mark.parametrize("times", [0.0, 0.01, 0.8, 1.0, 2.0, 8.5])
def test_the_tail_of_chi_squared_is_that_of_scipy(freedom, times):
    """The probability of a larger value, for odd and even degrees of freedom."""
    expected = scipy.special.chdtrc(freedom, times * freedom)
    assert chi_squared_tail(freedom, times * freedom) == pytest.approx(expected, rel=1e-9, abs=1e-300)
