"""The kernels of the independence tests against textbook formulas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from dagopt.kernels import independence as kernels


def correlation_of(rng, n, rows=60):
    X = rng.normal(size=(rows, n)) @ (np.eye(n) + 0.6 * rng.normal(size=(n, n)))
    return np.corrcoef(X, rowvar=False)


def naive_partial(R, x, y, given):
    """Return the partial correlation from the inverse of the correlation matrix over (x, y, given)."""
    K = np.linalg.inv(R[np.ix_([x, y, *given], [x, y, *given])])
    return -K[0, 1] / np.sqrt(K[0, 0] * K[1, 1])


def naive_separate(R, pairs, adjacent, size, critical, best):
    """Return for each pair its first or best separating set and the correlation given it, or None."""
    found = []
    for x, y in pairs:
        sides = [(x, y), (y, x)]
        sets = (
            s
            for end, other in sides
            for s in itertools.combinations([j for j in np.flatnonzero(adjacent[end]) if j != other], size)
        )
        values = ((s, naive_partial(R, x, y, s)) for s in sets)
        separating = [(s, r) for s, r in values if abs(r) <= critical]
        if best:
            separating.sort(key=lambda pair: abs(pair[1]))
        found.append(separating[0] if separating else None)
    return found


def naive_statistic(codes, weights, x, y, given, pearson):
    """Return G² or χ² summed over the strata, each by scipy on the levels that occur."""
    total = 0.0
    strata = {}
    for row, weight in zip(codes.T, weights, strict=True):
        table = strata.setdefault(tuple(row[list(given)]), np.zeros((codes[x].max() + 1, codes[y].max() + 1)))
        table[row[x], row[y]] += weight
    for table in strata.values():
        table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        if min(table.shape) > 1:
            total += chi2_contingency(table, correction=False, lambda_=None if pearson else "log-likelihood")[0]
    return total


@given(st.integers(0, 10**6), st.integers(2, 7))
@settings(deadline=None)
def test_partial_correlations_are_entries_of_inverses(seed, n):
    """Both forms of the kernel give the entries of the inverse matrix."""
    rng = np.random.default_rng(seed)
    R = correlation_of(rng, n)
    x, y, *rest = rng.permutation(n).tolist()
    given = sorted(rest[: rng.integers(0, len(rest) + 1)])
    out = np.empty(1)
    kernels.partial_correlations(R, x, y, np.array([given], dtype=np.int64).reshape(1, -1), out)
    assert out[0] == pytest.approx(naive_partial(R, x, y, given), abs=1e-9)
    kernels.partial_correlations_with(R, x, np.array([y]), np.array(given, dtype=np.int64), out)
    assert out[0] == pytest.approx(naive_partial(R, x, y, given), abs=1e-9)


def test_what_is_determined_has_no_partial_correlation():
    """A variable that the set determines is independent of all others, and explains nothing twice."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    X[:, 3] = X[:, 0] + X[:, 1]
    R = np.corrcoef(X, rowvar=False)
    out = np.empty(1)
    kernels.partial_correlations(R, 3, 2, np.array([[0, 1]]), out)
    assert out[0] == 0.0
    given_twice, given_once = np.empty(1), np.empty(1)
    X[:, 1] = X[:, 0] * 2
    R = np.corrcoef(X, rowvar=False)
    kernels.partial_correlations(R, 3, 2, np.array([[0, 1]]), given_twice)
    kernels.partial_correlations(R, 3, 2, np.array([[0]]), given_once)
    assert given_twice[0] == pytest.approx(given_once[0])


def test_combinations_come_in_lexicographic_order():
    """The step to the next combination goes through all of them, as itertools does."""
    chosen = np.arange(3)
    found = [tuple(chosen.tolist())]
    while kernels.next_combination(chosen, 6) >= 0:
        found.append(tuple(chosen.tolist()))
    assert found == list(itertools.combinations(range(6), 3))


@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("budget", [1, 7, 10**6])
@pytest.mark.parametrize("best", [False, True])
def test_separation_finds_the_same_set_however_often_it_is_resumed(size, budget, best):
    """The kernel finds what a plain loop finds, in one call or in many."""
    rng = np.random.default_rng(size)
    R = correlation_of(rng, 7, rows=40)
    upper = np.triu(rng.random((7, 7)) < 0.7, k=1)
    adjacent = upper | upper.T
    pairs = np.argwhere(np.triu(np.ones((7, 7), dtype=bool), k=1)).astype(np.int64)
    expected = naive_separate(R, pairs.tolist(), adjacent, size, 0.1, best)
    sets, found = np.zeros((len(pairs), size), dtype=np.int64), np.full(len(pairs), np.nan)
    state = np.zeros(3 + size, dtype=np.int64)
    while state[0] < len(pairs):
        assert kernels.separate_pairs(R, pairs, adjacent, kernels.Aim(0.1, best, budget), state, sets, found) <= budget
    for k, answer in enumerate(expected):
        assert np.isnan(found[k]) == (answer is None)
        if answer is not None:
            assert tuple(sets[k]) == answer[0]
            assert found[k] == pytest.approx(answer[1], abs=1e-9)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=20, deadline=None)
def test_table_statistics_are_sums_over_strata(seed, pearson):
    """Both forms of the kernel give scipy's statistic, summed over the configurations of the set."""
    rng = np.random.default_rng(seed)
    n, rows = 5, 40
    arity = rng.integers(1, 4, n)
    codes = np.stack([rng.integers(0, a, rows) for a in arity]).astype(np.uint16)
    weights = rng.integers(1, 4, rows)
    sets = np.array(list(itertools.combinations([2, 3, 4], int(rng.integers(0, 4)))), dtype=np.int64)
    out = np.empty(len(sets))
    kernels.table_statistics(codes, arity, weights, 0, 1, sets, pearson, out)
    expected = [naive_statistic(codes, weights, 0, 1, s, pearson) for s in sets]
    assert out == pytest.approx(expected, abs=1e-8)
    others = np.array([1])
    one = np.empty(1)
    for s, value in zip(sets, expected, strict=True):
        kernels.table_statistics_with(codes, arity, weights, 0, others, s, pearson, one)
        assert one[0] == pytest.approx(value, abs=1e-8)
