"""The bound that weighs the likelihood against the rows, against all sets between J and J + R."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from dagopt.data.table import ContinuousTable
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian.price_ceiling import most_above
from dagopt.kernels.gaussian.prices import extend_all, take
from dagopt.kernels.gaussian.subset_walk import inverse_of, sweep
from dagopt.kernels.gaussian.undominated import begin
from dagopt.scores.build import make_score
from made_prices import NODE, N, made_prices, remainder
from made_problems import gaussian_table

IDS = np.array([j for j in range(N) if j != NODE] + [NODE])


def made(seed, near):
    """Return a score and rows with nine tenths of the likelihood's weight: near it, or of all kinds."""
    score = make_score(gaussian_table(seed, N, rows=[60, 400, 3000][seed % 3]), "bic")
    prices = made_prices(seed, score.correlation, 1.0, [0.0, 0.4][seed % 2])
    if near:
        matrices = np.array([0.98 * score.correlation + 0.02 * np.eye(N)] * 3)
        prices = replace(prices, matrices=matrices, inside=np.ones_like(prices.inside))
    share = 0.9 * (1.0 - prices.whole) * score.n_samples / prices.weights[prices.inside[:, NODE]].sum()
    return score, replace(prices, weights=share * prices.weights)


def walk(score, prices, taken, left_out):
    """Take members one at a time; yield the facts about every J on the way, with the others as candidates."""
    own = Box(prices.of(IDS, N + 2, -np.inf))
    rooms = begin(
        np.ascontiguousarray(score.correlation[np.ix_(IDS, IDS)]),
        0,
        np.zeros(len(IDS), dtype=np.bool_),
        np.zeros(len(IDS)),
    ).walk
    free = ~np.isin(IDS, [*left_out, NODE])
    for k in range(len(taken) + 1):
        extend_all(own, rooms.members, k, free)
        kept = np.flatnonzero(free | np.isin(IDS, [*taken[:k], NODE]))
        upper = np.ones((N, N))
        upper[np.ix_(kept, kept)] = inverse_of(np.ascontiguousarray(score.correlation[np.ix_(IDS[kept], IDS[kept])]))
        yield k, own, rooms, upper, free
        if k < len(taken):
            b = int(np.flatnonzero(taken[k] == IDS)[0])
            take(own, k, b)
            sweep(rooms.lower[k], rooms.lower[k + 1], b)
            rooms.members[k] = b
            free[b] = False


def gains(score, prices, members, candidates):
    """Return every larger set's remainder minus that of J, and what the likelihood can gain."""
    first = remainder(score, prices, members)
    sets = [other for size in range(1, len(candidates) + 1) for other in combinations(candidates, size)]
    bare = replace(prices, weights=0.0 * prices.weights, cluster_weights=0.0 * prices.cluster_weights, tables=())
    likelihood = remainder(score, bare, members + candidates) + score.costs[len(members) + len(candidates)]
    likelihood -= remainder(score, bare, members) + score.costs[len(members)]
    return {other: remainder(score, prices, members + other) - first for other in sets}, likelihood


@pytest.mark.few(8)
@pytest.mark.parametrize("near", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_no_set_between_gains_more(seed, near):
    """For every J on a walk, multipliers to begin with and bounds wanted: all sets, and those with each candidate."""
    score, prices = made(seed, near)
    rng = np.random.default_rng(seed)
    order = rng.permutation(IDS[:-1]).tolist()
    shares, shown = [], 0
    for k, own, rooms, upper, free in walk(score, prices, order[:4], order[5:]):
        candidates = tuple(IDS[:-1][free[:-1]].tolist())
        all_gains, likelihood = gains(score, prices, tuple(order[:k]), candidates)
        step = score.costs[k + 1] - score.costs[k]
        for first in (1.05, 1.2, 3.0):
            for wanted in (0.11 * likelihood - step, 0.5 * likelihood, 2.0 * likelihood):
                stretch = np.array([first, 1.1])
                facts = (step, rooms.members, k, upper, rooms.lower[k], free, wanted, stretch, own)
                bound = most_above(score.n_samples, *facts)
                assert bound >= max(all_gains.values()) - 1e-7
                shares.append(bound / likelihood)
                for b in candidates if bound < np.inf else ():
                    reached = own.reached[np.flatnonzero(b == IDS)[0]]
                    assert bound >= reached >= max(gain for other, gain in all_gains.items() if b in other) - 1e-7
                    shown += reached < bound - 1e-6
    assert len(shares) == 45
    if near:
        assert min(shares) < 0.8  # it is of use: other bounds have the whole gain
        assert shown > 0 or min(shares) < 0.0  # each candidate has its own bound, where the bound of all is not enough


@pytest.mark.parametrize("seed", range(4))
def test_range_of_variances_in_pieces(seed):
    """Where the likelihood can gain thousands of points, several pieces have one bound, which holds and is close."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20_000, N))
    x[:, NODE] = x[:, [0, 1]] @ [0.5, -0.4] + rng.normal(size=20_000)
    score = make_score(ContinuousTable(tuple(f"V{k}" for k in range(N)), x), "bic")
    prices = made_prices(seed, score.correlation, 1.0, 0.0)
    matrices = np.array([0.999 * score.correlation + 0.001 * np.eye(N)] * 3)
    prices = replace(prices, matrices=matrices, inside=np.ones_like(prices.inside), tables=())
    share = 0.99 * score.n_samples / prices.weights[prices.inside[:, NODE]].sum()
    prices = replace(prices, weights=share * prices.weights)
    k, own, rooms, upper, free = next(walk(score, prices, [], []))
    all_gains, likelihood = gains(score, prices, (), tuple(IDS[:-1][free[:-1]].tolist()))
    assert likelihood > 2000.0
    facts = (score.costs[1], rooms.members, k, upper, rooms.lower[k], free, likelihood, np.array([1.2, 1.1]), own)
    bound = most_above(score.n_samples, *facts)
    assert max(all_gains.values()) - 1e-6 <= bound < 0.5 * likelihood


def test_no_attempt_without_rows_or_when_the_bound_wanted_is_out_of_reach():
    """The answer is infinity, and the multipliers stay."""
    score, prices = made(0, True)
    for own_prices, wanted in ((replace(prices, weights=0.0 * prices.weights), 1e9), (prices, -1.0), (prices, -np.inf)):
        k, own, rooms, upper, free = next(walk(score, own_prices, [], []))
        facts = (1.0, rooms.members, k, upper, rooms.lower[k], free, wanted, stretch := np.array([1.2, 1.1]), own)
        assert most_above(1000, *facts) == np.inf
        assert stretch.tolist() == [1.2, 1.1]


def test_rows_with_tiny_variances_are_left_to_other_bounds():
    """There rounding would matter."""
    score, prices = made(0, True)
    nearly = np.full((N, N), 1.0 - 1e-8)
    np.fill_diagonal(nearly, 1.0)
    singular = replace(prices, matrices=np.array([nearly] * 3), inside=np.ones_like(prices.inside))
    bounds = []
    for k, own, rooms, upper, free in walk(score, singular, [0, 1], []):
        facts = (1.0, rooms.members, k, upper, rooms.lower[k], free, 1e9, np.array([1.2, 1.1]), own)
        bounds.append(most_above(score.n_samples, *facts))
    assert bounds[1:] == [np.inf, np.inf]
