"""The Gaussian scores against regressions and one-step-ahead predictions of the raw rows."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from dagopt.data.table import ContinuousTable
from dagopt.errors import InputError
from dagopt.scores import BGeScore, GaussianScore
from dagopt.scores.digits import MOST_INVERTED, UNIT, Digits

NODES = 5


def _table(X):
    return ContinuousTable(tuple(f"X{j}" for j in range(X.shape[1])), X)


def _data(seed=0, n_samples=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, NODES)) @ rng.normal(size=(NODES, NODES))
    return X * [1.0, 100.0, 0.01, 1.0, 3.0] + [0.0, 500.0, 0.0, -7.0, 2.0]


def _families(n=NODES):
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for size in range(n):
            for J in itertools.combinations(others, size):
                yield i, J


@pytest.mark.parametrize("convention", ["paper", "bnlearn"])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 0.5 * math.log(40), 17.3])
def test_local_is_the_penalised_likelihood_of_a_regression(penalty, convention):
    """Every local score is the sum of normal log-densities of OLS residuals less the penalty of appendix A.1."""
    X = _data()
    score = GaussianScore(_table(X), penalty, convention)
    for i, J in _families():
        assert score.local(i, J) == pytest.approx(naive.gaussian_local(X, i, J, penalty, convention), rel=1e-10)


def test_bnlearn_convention_refuses_sets_without_an_unbiased_variance():
    """With N - |J| - 1 = 0 degrees of freedom the bnlearn score is minus infinity, so it is never chosen."""
    score = GaussianScore(_table(_data(n_samples=4)), 1.0, "bnlearn")
    assert math.isfinite(score.local(0, [1, 2]))
    assert score.local(0, [1, 2, 3]) == -math.inf
    assert score.subsets(0, [1, 2, 3])[-1] == -math.inf


def test_unknown_convention():
    """A convention that does not exist is refused with those that do."""
    with pytest.raises(InputError, match="'paper' or 'bnlearn' but got 'gobnilp'"):
        GaussianScore(_table(_data()), 1.0, "gobnilp")


@pytest.mark.parametrize("mean_weight, degrees", [(1.0, None), (0.3, 9.5), (12.0, 7.0)])
def test_bge_joint_is_the_product_of_predictions(mean_weight, degrees):
    """The joint of every set is the product of the multivariate t predictions of its rows, one after the other."""
    X = _data(3, n_samples=12) / [1, 100, 1, 1, 1]
    score = BGeScore(_table(X), mean_weight, degrees, standardize=False)
    joint = score.all_joints(range(NODES))
    for mask in range(1 << NODES):
        expected = naive.bge_joint(X, naive.members(mask, range(NODES)), mean_weight, degrees)
        assert joint[mask] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_bge_joint_is_the_published_formula():
    """At a size where predictions are slow, the joint is the closed formula of Kuipers et al."""
    X = _data(4, n_samples=500)
    score = BGeScore(_table(X), standardize=False)
    joint = score.all_joints(range(NODES))
    for mask in range(1 << NODES):
        assert joint[mask] == pytest.approx(naive.bge_joint_closed(X, naive.members(mask, range(NODES))), rel=1e-10)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"mean_weight": 0.0}, "mean_weight > 0"),
        ({"mean_weight": -1.0}, "mean_weight > 0"),
        ({"mean_weight": math.nan}, "mean_weight > 0"),
        ({"mean_weight": math.inf}, "mean_weight > 0"),
        ({"degrees": 6.0}, r"degrees > n \+ 1 = 6"),
        ({"degrees": math.nan}, r"degrees > n \+ 1 = 6"),
    ],
)
def test_bge_refuses_improper_priors(options, message):
    """A prior that is no distribution is refused with the bound it violates."""
    with pytest.raises(InputError, match=message):
        BGeScore(_table(_data()), **options)


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.lists(st.floats(-6, 6), min_size=NODES, max_size=NODES), st.data())
def test_units_do_not_matter(seed, exponents, data):
    """Scaling and shifting columns leaves all differences between parent sets of a node as they were."""
    X = _data(seed)
    shift = data.draw(st.lists(st.floats(-1e3, 1e3), min_size=NODES, max_size=NODES))
    sign = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=NODES, max_size=NODES))
    moved = (X - X.mean(axis=0)) * np.array(sign) * 10.0 ** np.array(exponents)
    moved = moved + np.array(shift) * moved.std(axis=0)
    node = data.draw(st.integers(0, NODES - 1))
    others = [j for j in range(NODES) if j != node]
    before, after = (GaussianScore(_table(Y), 2.0).subsets(node, others) for Y in (X, moved))
    np.testing.assert_allclose(after - after[0], before - before[0], rtol=1e-7, atol=1e-6)


@pytest.mark.parametrize("noise", [1.0, 1e-3])
def test_large_offsets_keep_accuracy(noise, rng):
    """Columns near 1e9 have the score of the same columns near zero, though only their last digits differ."""
    X = 1e9 + noise * (rng.normal(size=(500, NODES)) @ rng.normal(size=(NODES, NODES)))
    near, far = GaussianScore(_table(X - 1e9), 2.0), GaussianScore(_table(X), 2.0)
    for i, J in _families():
        assert far.local(i, J) == pytest.approx(near.local(i, J), rel=1e-9)


def test_collinear_parents_stay_finite():
    """A parent that copies another adds nothing to the fit and costs its penalty."""
    X = _data()
    X[:, 1] = X[:, 0]
    score = GaussianScore(_table(X), 2.0)
    assert score.local(2, [0, 1]) == pytest.approx(score.local(2, [0]) - 2.0, rel=1e-9)
    assert math.isfinite(score.local(0, [1]))


def test_many_columns_use_correlations_of_unknown_error():
    """With thousands of columns nothing is inverted or factorised, even with fewer rows than columns."""
    n = MOST_INVERTED + 1
    digits = Digits.of(np.eye(n), 10, 10.0, lambda: pytest.fail("coordinates of thousands of columns"), 4.0)
    assert digits.vectors is None
    assert digits.rounding == np.inf


@pytest.mark.parametrize(
    ("n", "share", "vectors"), [(64, 0.9, False), (64, 1.1, True), (200, 150, False), (200, 250, True)]
)
def test_coordinates_are_used_where_the_error_is_not_negligible(n, share, vectors):
    """Up to 64 columns the error of a score may be 1e-4, beyond that as much per column."""
    rounding = UNIT * (16 + math.sqrt(100) / 4) * n  # of the identity
    power = share * 1e-4 / (n * rounding)
    digits = Digits.of(np.eye(n), 100, power, lambda: np.eye(n), 4.0)
    assert (digits.vectors is not None) == vectors
