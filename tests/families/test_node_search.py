"""Tests of the search of one node with prices, against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dagopt.families.node_search import NodeSearch
from dagopt.scores.build import make_score
from made_prices import NODE, N, made_prices, remainder
from made_problems import gaussian_table


def made_case(seed, most, whole):
    """Return a score, prices, and the undominated sets of up to ``most`` parents with their remainders."""
    score = make_score(gaussian_table(seed, N, rows=[60, 400, 3000][seed % 3]), "aic" if seed % 2 else "bic")
    prices = made_prices(seed, score.correlation, score.n_samples, whole)
    others = [j for j in range(N) if j != NODE]
    local = {own: score.local(NODE, own) for size in range(most + 1) for own in combinations(others, size)}
    kept = [own for own in local if not any(local[o] >= local[own] for o in local if set(o) < set(own))]
    return score, prices, {own: remainder(score, prices, own) for own in kept}


def search_of(score, prices, most, limit):
    """Return the search of the node."""
    free = np.array([j for j in range(N) if j != NODE])
    must = np.zeros(0, dtype=np.int64)
    return NodeSearch(score.correlation, score.n_samples, score.costs, NODE, must, free, most, 1e-6, prices, limit)


@pytest.mark.few(12)
@pytest.mark.parametrize("whole", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("most", [2, 6])
@pytest.mark.parametrize("seed", range(6))
def test_all_sets_with_a_large_remainder_are_found(seed, most, whole):
    """Whatever the limit: the undominated sets at or above it, with their remainders."""
    score, prices, wanted = made_case(seed, most, whole)
    for rank in (0, len(wanted) // 3, len(wanted) - 1):
        limit = sorted(wanted.values(), reverse=True)[rank] - 1e-3
        search = search_of(score, prices, most, limit)
        while not search.over:
            search.run(7)
        rows = search.members(N)
        found = {tuple(np.flatnonzero(row).tolist()): value for row, value in zip(rows, search.values, strict=True)}
        for own, value in wanted.items():
            if value >= limit:
                assert found[own] == pytest.approx(value, abs=1e-6)
        assert all(found[own] == pytest.approx(wanted[own], abs=1e-6) for own in found if own in wanted)


@pytest.mark.parametrize("seed", range(6))
def test_a_search_that_is_stopped_knows_what_no_set_exceeds(seed):
    """After every piece the best remainder of all sets is below the ceiling, the limit, or found."""
    score, prices, wanted = made_case(seed, 6, 0.2)
    best = max(wanted.values())
    search = search_of(score, prices, 6, min(wanted.values()))
    while not search.over:
        search.run(3)
        search.keep_best(2)
        assert max(search.ceiling, search.limit, search.values.max(initial=-np.inf)) >= best - 1e-6
    assert search.values.max() == pytest.approx(best, abs=1e-6)
    assert len(search.values) <= 2
