"""The bounds of the search over blocks against all subsets, with numpy's linear algebra."""

import numpy as np
import pytest

import naive_kernels as naive
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian import block_useful as kernels
from dagopt.kernels.gaussian.block_matrices import room_for
from dagopt.kernels.gaussian.block_undominated import Terms
from dagopt.kernels.gaussian.subset_walk import inverse_of
from dagopt.kernels.gaussian.useful import OVER

MARGIN = 1e-9
HALF = 100.0


def made(seed, n=5):
    """Return random correlations of blocks of one to three columns, some of them strong, and where blocks start."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 4, n))]).astype(np.int64)
    width = int(starts[-1])
    factor = rng.normal(size=(width, 2 * width)) * rng.choice([0.1, 0.5, 2.0], size=(width, 1))
    matrix = factor @ factor.T + np.diag(rng.uniform(0.5, 3.0, width))
    return np.ascontiguousarray(matrix / np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))), starts


def given(matrix, starts, nodes, others):
    """Return the covariances of blocks given others."""
    own, by = ([c for b in some for c in range(starts[b], starts[b + 1])] for some in (nodes, others))
    cross = matrix[np.ix_(own, by)]
    return matrix[np.ix_(own, own)] - cross @ np.linalg.solve(matrix[np.ix_(by, by)], cross.T)


def information(matrix, starts, i, j, others):
    """Return what two blocks tell about each other given others."""
    logs = [np.linalg.slogdet(given(matrix, starts, some, others))[1] for some in ([i], [j], [i, j])]
    return logs[0] + logs[1] - logs[2]


def terms(n, volume=0.0):
    """Return what parents cost, in a box."""
    return Box(Terms(HALF, volume, np.zeros(n + 2), np.zeros(n + 2), np.zeros(n), volume == 0.0))


@pytest.mark.parametrize("seed", range(30))
def test_no_information_exceeds_the_bound_from_both_ends(seed):
    """Whatever has been taken; with nothing left the bound is reached."""
    matrix, starts = made(seed)
    i, j = 4, 3
    mi, size = starts[5] - starts[4], starts[5] - starts[3]
    work = np.empty((2, size, size))
    for k in range(4):
        least = given(matrix, starts, [i, j], range(k))
        most = given(matrix, starts, [i, j], range(3))
        bound = kernels.both_ends(least.copy(), most.copy(), mi, size, 1e-13, work)
        sets = [[*range(k), *Z] for Z in naive.subsets(range(k, 3))]
        best = max(information(matrix, starts, i, j, own) for own in sets)
        assert best <= bound + 1e-9
        if k == 3:
            assert bound == pytest.approx(best, rel=1e-4)


@pytest.mark.few(8)
@pytest.mark.parametrize("seed", range(20))
def test_pairs_and_parents_that_never_earn_what_they_need(seed):
    """Exactly those, with steps enough for every pair, and none that does with few steps."""
    matrix, starts = made(seed)
    best = np.zeros((5, 5))
    pairs = np.array([(i, u) for i in range(5) for u in range(i)])
    for i, u in pairs.tolist():
        others = [z for z in range(5) if z not in (i, u)]
        best[i, u] = best[u, i] = max(information(matrix, starts, i, u, Z) for Z in naive.subsets(others))
    needs = HALF * np.random.default_rng(seed).choice([0.5, 0.98, 1.02, 2.0], size=(5, 5)) * best
    needs = np.minimum(needs, needs.T)
    for steps in (3, 10_000):
        useful = np.ones((5, 5), dtype=bool)
        facts = (terms(5), needs, steps, MARGIN)
        kernels.useful_pairs(inverse_of(matrix), matrix, starts, *facts, pairs, useful, room_for(starts))
        earned = HALF * best > needs - MARGIN
        assert (useful | ~earned | np.eye(5, dtype=bool)).all()
        if steps > 3:
            assert (useful == earned)[~np.eye(5, dtype=bool)].all()
    own = np.array([True] * 4 + [False])
    least = np.ascontiguousarray(needs[4])
    must = np.array([seed % 2 == 0] + [False] * 4)
    state = np.zeros(4, dtype=np.int64)
    while not state[OVER]:
        facts = (4, must, own, state, 1 + seed % 3)
        kernels.useful_parents(matrix, starts, terms(5), least, 10_000, MARGIN, *facts, room_for(starts))
    kept = np.flatnonzero(own).tolist()
    for u in range(4):
        among = [z for z in kept if z != u]
        most = max(HALF * information(matrix, starts, 4, u, Z) for Z in naive.subsets(among))
        assert own[u] == (must[u] or most > least[u] - MARGIN)


@pytest.mark.parametrize("seed", range(6))
def test_what_the_log_determinant_of_the_parents_adds_is_earned_too(seed):
    """As in the score of BGe: a pair stays if it earns what it needs together with that."""
    matrix, starts = made(seed)
    volume, useful = 40.0, np.ones((5, 5), dtype=bool)
    needs, pairs = np.zeros((5, 5)), np.array([(i, u) for i in range(5) for u in range(i)])
    for i, u in pairs.tolist():
        earned = []
        for Z in naive.subsets([z for z in range(5) if z not in (i, u)]):
            logs = [np.linalg.slogdet(given(matrix, starts, [one], Z))[1] for one in (i, u)]
            earned.append(HALF * information(matrix, starts, i, u, Z) - 0.5 * volume * sum(logs))
        needs[i, u] = needs[u, i] = 0.999 * max(earned)
    facts = (terms(5, volume), needs, 10_000, MARGIN)
    kernels.useful_pairs(inverse_of(matrix), matrix, starts, *facts, pairs, useful, room_for(starts))
    assert useful.all()
