"""The walk over subsets and the bounds of rows with prices, against numpy's linear algebra."""

import numpy as np
import pytest

import naive_kernels as naive
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian import prices as kernels
from dagopt.kernels.gaussian import subset_walk
from dagopt.scores.build import make_score
from made_prices import NODE, N, made_prices, remainder
from made_problems import gaussian_table


def correlations(seed, n=6):
    """Return the correlations of random columns."""
    rng = np.random.default_rng(seed)
    return np.corrcoef(rng.normal(size=(n, 2 * n)) @ rng.normal(size=(2 * n, 2 * n)))


def test_the_inverse(rng):
    for n in range(1, 7):
        matrix = correlations(n, n) if n > 1 else np.array([[2.0]])
        assert subset_walk.inverse_of(matrix) == pytest.approx(np.linalg.inv(matrix))


@pytest.mark.parametrize("p", range(5))
def test_sweeping_one_variable(p):
    """Residual covariances and coefficients are those of the regression on it."""
    matrix, swept = correlations(3, 5), np.empty((5, 5))
    subset_walk.sweep(matrix, swept, p)
    rest = [a for a in range(5) if a != p]
    on_it = matrix[rest, p] / matrix[p, p]
    assert swept[np.ix_(rest, rest)] == pytest.approx(matrix[np.ix_(rest, rest)] - np.outer(on_it, matrix[p, rest]))
    assert swept[rest, p] == pytest.approx(on_it)
    assert swept[p, rest] == pytest.approx(on_it)
    assert swept[p, p] == pytest.approx(-1 / matrix[p, p])


def check_ends(walk, matrix, depth, J, R, i):
    """Compare the matrices of a level with the regression on J and the inverse of the matrix of J + R + i."""
    assert np.flatnonzero(walk.free[depth]).tolist() == sorted(R)
    assert walk.members[: walk.taken[depth]].tolist() == J
    J, R, i = ([c for b in own for c in range(walk.starts[b], walk.starts[b + 1])] for own in (J, R, [i]))
    least = walk.lower[walk.taken[depth]]
    others, covariance, beta = naive.regression(matrix, J)
    assert least[np.ix_(others, others)] == pytest.approx(covariance)
    if J:
        assert least[np.ix_(J, others)] == pytest.approx(beta)
        assert -least[np.ix_(J, J)] == pytest.approx(np.linalg.inv(matrix[np.ix_(J, J)]))
    kept = sorted([*J, *R, *i])
    most = walk.upper[walk.up[depth]]
    assert most[np.ix_(kept, kept)] == pytest.approx(np.linalg.inv(matrix[np.ix_(kept, kept)]))
    assert np.flatnonzero(walk.active[depth]).tolist() == kept


@pytest.mark.few(4)
@pytest.mark.parametrize("seed", range(8))
def test_every_level_of_a_walk_has_the_matrices_of_both_ends(seed):
    """A walk that branches at random visits each subset once; here and there a candidate is dropped for good.

    Over single columns, and over blocks of one to three.
    """
    n, i = 6, 5
    rng = np.random.default_rng(seed)
    starts = np.arange(n + 1) if seed < 4 else np.concatenate([[0], np.cumsum(rng.integers(1, 4, n))])
    matrix = correlations(seed, int(starts[-1]))
    walk = subset_walk.new_walk(subset_walk.inverse_of(matrix), matrix, starts)
    walk.free[0, i] = False
    levels = [([], [j for j in range(n) if j != i])]  # J and R of each level
    found, dropped = [], 0
    while levels:
        depth = len(levels) - 1
        J, R = levels[depth]
        if walk.fresh[depth] != subset_walk.SEEN:
            if walk.fresh[depth] == subset_walk.NEW_SET:
                found.append(frozenset(J))
            if R and dropped < 2 and rng.random() < 0.2:
                b = int(rng.choice(R))
                subset_walk.drop(walk, depth, b)
                R.remove(b)
                dropped += 1
            check_ends(walk, matrix, depth, J, R, i)
            walk.fresh[depth], walk.stage[depth] = subset_walk.SEEN, subset_walk.UNOPENED
            if not R:
                levels.pop()
                continue
            walk.branch[depth] = rng.choice(R)
        if not subset_walk.descend(walk, depth):
            levels.pop()
            continue
        b = int(walk.branch[depth])
        rest = [j for j in R if j != b]
        levels.append(([*J, b], rest) if walk.stage[depth] == subset_walk.TAKEN else (list(J), rest))
    assert len(found) == len(set(found))
    assert dropped or set(found) == set(naive.subsets(range(i)))


@pytest.mark.parametrize("seed", range(6))
def test_what_rows_subtract_and_its_bounds(seed):
    """What rows take away is the score less the remainder; no set exceeds the bounds on sets and on a candidate."""
    score = make_score(gaussian_table(seed, N, rows=200), "bic")
    prices = made_prices(seed, score.correlation, 40.0, [0.0, 0.4][seed % 2])
    ids = np.array([j for j in range(N) if j != NODE] + [NODE])
    matrix = np.ascontiguousarray(score.correlation[np.ix_(ids, ids)])
    own = Box(prices.of(ids, N + 2, -np.inf))
    half, cost, i = 0.5 * score.n_samples, score.costs, N - 1
    must = [0, 1]
    members = np.arange(N + 2)

    def subtracted(J):
        likelihood = -half * np.log(naive.variance(matrix, i, J))
        return (1 - prices.whole) * likelihood - cost[len(J)] - remainder(score, prices, ids[list(J)].tolist())

    kernels.require(own, members, len(must))
    assert own.by_rows[2] == pytest.approx(subtracted(must), abs=1e-8)
    J, least = list(must), matrix
    for k in range(2):
        target = np.empty_like(matrix)
        subset_walk.sweep(least, target, k)
        least = target
    for b in (3, 2):
        k, R = len(J), [j for j in range(i) if j not in J]
        free = np.isin(np.arange(N), R)
        kernels.extend_all(own, members, k, free)
        kernels.weigh_all(own, k, free)
        upper = np.linalg.inv(matrix)
        before = remainder(score, prices, ids[J].tolist())
        larger = {T: remainder(score, prices, ids[[*J, *T]].tolist()) - before for T in naive.subsets(R) if T}
        most = kernels.most_gain(half, cost, k, N - 1, upper, least, free, 1e-9, own)
        assert max(larger.values()) <= most + 1e-8
        full = half * np.log(upper[i, i] * least[i, i])
        for j in R:
            assert own.marginal[k, j] <= subtracted([*J, j]) - subtracted(J) + 1e-8
            first = half * np.log(naive.variance(matrix, i, J) / naive.variance(matrix, i, [*J, j]))
            bound = kernels.most_with(cost, k, N - 1, j, full, first, own)
            assert max(gain for T, gain in larger.items() if j in T) <= bound + 1e-8
        members[k] = b
        assert kernels.take(own, k, b) == pytest.approx(subtracted([*J, b]) - subtracted(J), abs=1e-8)
        target = np.empty_like(matrix)
        subset_walk.sweep(least, target, b)
        least = target
        J.append(b)
