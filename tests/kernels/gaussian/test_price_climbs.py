"""Climbs to sets with large remainders: what they say a set is worth, and where they end."""

import numpy as np
import pytest

from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian.price_climbs import climb_from
from dagopt.scores.build import make_score
from made_prices import NODE, N, made_prices, remainder
from made_problems import gaussian_table

IDS = [j for j in range(N) if j != NODE] + [NODE]


def made(seed):
    """Return a score, prices, and what climbs need."""
    score = make_score(gaussian_table(seed, N, rows=[60, 400, 3000][seed % 3]), "aic" if seed % 2 else "bic")
    prices = made_prices(seed, score.correlation, score.n_samples, [0.0, 0.4, 1.0][seed % 3])
    return score, prices, Box(prices.climb(score.correlation, score.n_samples, score.costs, NODE))


def climbed(climb, start, free, most, least):
    """Return the last set of a climb, and all sets that it finds with their values."""
    found, values = np.zeros((500, N), dtype=np.bool_), np.empty(500)
    inside = np.isin(IDS, start)
    count = climb_from(climb, inside, np.isin(IDS, free), most, least, found, values, 0)
    sets = [tuple(sorted(np.array(IDS)[row].tolist())) for row in found[:count]]
    return tuple(sorted(np.array(IDS)[inside].tolist())), dict(zip(sets, values[:count].tolist(), strict=True))


@pytest.mark.parametrize("seed", range(12))
def test_the_value_of_every_set_found_is_its_remainder(seed):
    """From several starts, against the definition."""
    score, prices, climb = made(seed)
    for start in ([], [0, 1], [2, 4, 5, 6]):
        _, found = climbed(climb, start, IDS[:-1], N - 1, -np.inf)
        assert len(found) >= N - 1
        for parents, value in found.items():
            assert value == pytest.approx(remainder(score, prices, parents), abs=1e-6)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("most", [2, N - 1])
def test_no_change_of_the_last_set_is_worth_more(seed, most):
    """Neither one member more or less nor another member in place of one, as far as the limits allow."""
    score, prices, climb = made(seed)
    must, free = [1], [j for j in IDS[:-1] if j not in (1, 6)]
    last, _ = climbed(climb, must, free, most, -np.inf)
    assert 1 in last
    assert 6 not in last
    assert len(last) <= most
    turns = [set(last) ^ {b} for b in free]
    swaps = [set(last) - {a} | {b} for a in last if a != 1 for b in free if b not in last]
    value = remainder(score, prices, last)
    for other in turns + swaps:
        if len(other) <= most:
            assert remainder(score, prices, tuple(sorted(other))) <= value + 1e-5


@pytest.mark.parametrize("seed", range(6))
def test_only_sets_above_the_limit_are_kept(seed):
    """And the sets on the way are among them."""
    climb = made(seed)[2]
    last, every = climbed(climb, [0], IDS[:-1], N - 1, -np.inf)
    limit = float(np.median(list(every.values())))
    _, above = climbed(climb, [0], IDS[:-1], N - 1, limit)
    assert above == {parents: value for parents, value in every.items() if value > limit}
    assert every[last] == pytest.approx(max(every.values()))
