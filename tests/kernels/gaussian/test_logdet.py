"""The Gaussian kernels against regressions on the raw data."""

import itertools

import numpy as np
import pytest

import naive
from dagopt.data.table import ContinuousTable
from dagopt.kernels.gaussian import log_arrays
from dagopt.kernels.gaussian import logdet as kernels

NODES = 6


def _data(n_samples=60, seed=0):
    """Return correlated columns of very different scales, far from zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, NODES)) @ rng.normal(size=(NODES, NODES))
    return X * 10.0 ** rng.integers(-6, 7, NODES) + 10.0 ** rng.integers(-3, 4, NODES)


def _collinear(seed=1):
    """Return columns of which 3 = 0 + 1, 4 copies 2 in other units, and 5 = 0 - 2."""
    X = _data(seed=seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[:, 3] = X[:, 0] + X[:, 1]
    X[:, 4] = 1000.0 * X[:, 2] - 7.0
    X[:, 5] = X[:, 0] - X[:, 2]
    return X


def _scaled(X):
    """Return what the kernels take: the correlation and the logarithms of the variances."""
    table = ContinuousTable(tuple("abcdefgh"[: X.shape[1]]), X)
    return np.ascontiguousarray(table.correlation), 2 * np.log(table.scale)


def _sets(node, n=NODES):
    others = [j for j in range(n) if j != node]
    return [list(J) for size in range(n) for J in itertools.combinations(others, size)]


def _ints(values):
    return np.array(values, dtype=np.int64)


@pytest.fixture(params=["regular", "collinear"])
def case(request):
    """Return data, what the kernels take, and how far results may differ."""
    X = _data() if request.param == "regular" else _collinear()
    return X, *_scaled(X), 1e-8 if request.param == "regular" else 1e-6


@pytest.mark.parametrize("node", range(NODES))
def test_logs_are_those_of_regressions(node, case):
    """Log-determinant and residual equal those of least squares for every set, empty to all others."""
    X, matrix, log_scale, tolerance = case
    for J in _sets(node):
        logdet, logres = kernels.logs(matrix, log_scale, node, _ints(J))
        assert logdet == pytest.approx(naive.logdet(X, J), abs=tolerance)
        assert logres == pytest.approx(naive.logres(X, node, J), abs=tolerance)


def test_logdet_is_that_of_the_covariance():
    """The log-determinant is numpy's of the covariance matrix, with its units."""
    X = _data()
    matrix, log_scale = _scaled(X)
    for J in _sets(0)[1:]:
        expected = np.linalg.slogdet(np.atleast_2d(np.cov((X[:, J] - X[:, J].mean(0)).T, bias=True)))[1]
        assert kernels.logs(matrix, log_scale, 0, _ints(J))[0] == pytest.approx(expected, abs=1e-8)


def test_logs_many_is_logs_of_each(case):
    """Many sets in one call give what each gives alone."""
    _, matrix, log_scale, _ = case
    pairs = [(i, J) for i in range(NODES) for J in _sets(i)]
    flat = _ints([j for _, J in pairs for j in J])
    offsets = _ints(np.cumsum([0, *(len(J) for _, J in pairs)]))
    logdet, logres = np.empty(len(pairs)), np.empty(len(pairs))
    kernels.logs_many(matrix, log_scale, _ints([i for i, _ in pairs]), flat, offsets, logdet, logres)
    expected = [kernels.logs(matrix, log_scale, i, _ints(J)) for i, J in pairs]
    assert list(zip(logdet, logres, strict=True)) == expected


def test_chains_are_logs_of_prefixes(case):
    """Every prefix of an order has the logs of regressions, and ``joint_chain`` the same log-determinants."""
    X, matrix, log_scale, tolerance = case
    rng = np.random.default_rng(2)
    for _ in range(20):
        node, *order = rng.permutation(NODES)
        logdet, logres, joint = np.empty(NODES), np.empty(NODES), np.empty(NODES)
        kernels.chain(matrix, log_scale, node, _ints(order), logdet, logres)
        kernels.joint_chain(matrix, log_scale, _ints(order), joint)
        np.testing.assert_allclose(joint, logdet, atol=1e-12)
        for k in range(NODES):
            assert logdet[k] == pytest.approx(naive.logdet(X, order[:k]), abs=tolerance)
            assert logres[k] == pytest.approx(naive.logres(X, node, order[:k]), abs=tolerance)


def test_additions_are_logs_of_larger_sets(case):
    """Each column outside is added by the logs of a regression; the node and its parents are NaN."""
    X, matrix, log_scale, tolerance = case
    for node in range(NODES):
        for J in _sets(node)[:-1]:
            logdet, logres = np.empty(NODES), np.empty(NODES)
            kernels.additions(matrix, log_scale, node, _ints(J), logdet, logres)
            found = np.empty((2, NODES))
            log_arrays.additions_arrays(matrix, log_scale, node, _ints(J), *found)
            np.testing.assert_array_equal(found, [logdet, logres])
            for j in range(NODES):
                if j == node or j in J:
                    assert np.isnan(logdet[j])
                    assert np.isnan(logres[j])
                else:
                    assert logdet[j] == pytest.approx(naive.logdet(X, [*J, j]), abs=tolerance)
                    assert logres[j] == pytest.approx(naive.logres(X, node, [*J, j]), abs=tolerance)


def test_removals_are_logs_of_smaller_sets(case):
    """Each parent is removed by the logs of a regression on the others."""
    X, matrix, log_scale, tolerance = case
    for node in range(NODES):
        for J in _sets(node):
            logdet, logres = np.empty(len(J)), np.empty(len(J))
            kernels.removals(matrix, log_scale, node, _ints(J), logdet, logres)
            for k, j in enumerate(J):
                rest = [other for other in J if other != j]
                least = np.log(kernels.PIVOT_FLOOR) + log_scale[node]
                perfect = naive.logres(X, node, rest) < least + 1e-6
                deficient = np.linalg.matrix_rank(matrix[np.ix_(rest, rest)], tol=1e-9) < len(rest)
                # Which columns the floor is put under depends on the order: no more than their scales differ.
                assert logdet[k] == pytest.approx(naive.logdet(X, rest), abs=3.0 if deficient else tolerance)
                if perfect:
                    assert least - 1e-6 <= logres[k] < least + np.log(2 * NODES)
                else:
                    assert logres[k] == pytest.approx(naive.logres(X, node, rest), abs=tolerance)


def test_all_logdets_cover_all_masks(case):
    """The tree of Schur complements, from the last variable down, has every subset's log-determinant at its mask."""
    X, matrix, log_scale, tolerance = case
    out = np.empty(1 << NODES)
    kernels.all_logdets(matrix, log_scale, out)
    for mask in range(1 << NODES):
        downwards = naive.members(mask, range(NODES))[::-1]
        assert out[mask] == pytest.approx(naive.logdet(X, downwards), abs=tolerance)


@pytest.mark.parametrize("low_bits", range(NODES + 1))
def test_slices_are_parts_of_all_logdets(low_bits, case):
    """The log-determinants of the sets with given high bits are those of the whole table."""
    _, matrix, log_scale, _ = case
    whole = np.empty(1 << NODES)
    kernels.all_logdets(matrix, log_scale, whole)
    for high in range(1 << (NODES - low_bits)):
        out = np.empty(1 << low_bits)
        kernels.logdet_slice(matrix, log_scale, high, low_bits, out)
        np.testing.assert_allclose(out, whole[high << low_bits : (high + 1) << low_bits], rtol=1e-12, atol=1e-10)


def test_all_logdets_of_nothing():
    """No variable has one subset, of log-determinant zero."""
    out = np.empty(1)
    kernels.all_logdets(np.empty((0, 0)), np.empty(0), out)
    assert out[0] == 0.0


def test_a_pivot_below_the_floor_predicts_nothing_more():
    """A column that differs from another by less than the floor is ignored alike by every kernel."""
    X = _data(seed=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[:, 1] = X[:, 0] + 3e-7 * X[:, 2]  # leaves about 1e-13 of its variance
    matrix, log_scale = _scaled(X)
    floor = np.log(kernels.PIVOT_FLOOR)
    logdet, logres = kernels.logs(matrix, log_scale, 3, _ints([0, 1]))
    assert logdet == pytest.approx(floor, abs=1e-3)
    assert logres == pytest.approx(naive.logres(X, 3, [0]), abs=1e-3)
    out = np.empty(1 << 4)
    order = _ints([3, 2, 1, 0])  # the tree starts at the highest variable
    kernels.all_logdets(np.ascontiguousarray(matrix[np.ix_(order, order)]), log_scale[order], out)
    assert out[0b1101] == pytest.approx(logdet + logres, abs=1e-3)


def test_a_node_that_its_parents_determine_has_the_floor():
    """A perfect fit gives the floor, in units of the node, and not minus infinity."""
    X = _collinear()
    matrix, log_scale = _scaled(X)
    assert kernels.logs(matrix, log_scale, 3, _ints([0, 1]))[1] == pytest.approx(
        np.log(kernels.PIVOT_FLOOR * X[:, 3].var())
    )
