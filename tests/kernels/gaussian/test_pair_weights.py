"""Tests of the search for violated pair weights against all sets."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from dagopt.kernels.gaussian import pair_weights as kernels
from dagopt.kernels.gaussian.block_pair_weights import BlockCosts, largest_block_excess
from made_problems import gaussian_table

LEAST = 0.01


def made(seed, n):
    """Return the correlations, the number of rows, weights from the largest down, and costs."""
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([30, 300, 3000]))
    matrix = np.corrcoef(gaussian_table(seed, n, rows=rows, density=0.5).values.T)
    cost = 0.5 * np.log(rows)
    weights = np.sort(rng.uniform(0, 1.2 * cost, n))[::-1].copy()
    weights[rng.integers(2, n) :] = 0.0
    weights[0] = 0.0
    return np.ascontiguousarray(matrix), rows, weights, cost * np.arange(n + 1)


def searched(matrix, rows, weights, costs, most, span, work=10**8):
    """Run the search."""
    return kernels.largest_excess(matrix, weights, costs, rows, most, LEAST, span, work, 4)


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(30))
def test_the_largest_excess_is_that_of_all_sets(seed):
    """For every limit on the members of J, also if the first members are split into ranges, also if it is stopped."""
    n = 3 + seed % 5
    matrix, rows, weights, costs = made(seed, n)
    for most in range(n):
        best = max(naive.pair_excess(matrix, rows, weights, costs, most), LEAST)
        found = searched(matrix, rows, weights, costs, most, (1, n))
        assert found.largest == pytest.approx(best, abs=1e-7)
        middle = 1 + n // 2
        pieces = [searched(matrix, rows, weights, costs, most, span) for span in ((1, middle), (middle, n))]
        assert max(one.largest for one in pieces) == pytest.approx(best, abs=1e-7)
        assert searched(matrix, rows, weights, costs, most, (1, n), 1).largest >= best - 1e-7


@pytest.mark.parametrize("work", [1, 300, 10**8])
@pytest.mark.parametrize("seed", range(10))
def test_the_sets_returned_have_the_excess_they_claim(seed, work):
    """Each set of columns, computed from determinants, also if the search for T is stopped."""
    matrix, rows, weights, costs = made(seed, 7)
    found = searched(matrix, rows, weights, costs, 6, (1, 7), work)

    def logdet(members):
        return np.linalg.slogdet(matrix[np.ix_(members, members)])[1]

    for members, value in zip(found.members, found.values, strict=True):
        if np.isfinite(value):
            inside, parents = np.flatnonzero(members).tolist(), np.flatnonzero(members == 2).tolist()
            ratio = logdet([0, *inside]) - logdet(inside) - logdet([0, *parents]) + logdet(parents)
            assert value == pytest.approx(weights[inside].sum() - costs[len(parents)] + rows / 2 * ratio, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_columns_without_weights_are_members_up_to_the_last(seed):
    """Only the last two columns together explain what the node shares with those that have weights."""
    rng = np.random.default_rng(seed)
    n, rows = 7 + seed % 2, 3000
    hidden = rng.normal(size=(rows, 2))
    others = hidden @ rng.normal(size=(2, n - 2)) + rng.normal(size=(rows, n - 2))
    matrix = np.ascontiguousarray(np.corrcoef(np.column_stack([others, hidden]).T))
    costs = 0.5 * np.log(rows) * np.arange(n + 1)
    weights = np.where((np.arange(n) > 0) & (np.arange(n) < n - 2), 3 * costs[1], 0.0)
    best = naive.pair_excess(matrix, rows, weights, costs, 2)
    assert best > naive.pair_excess(matrix[:-1, :-1], rows, weights[:-1], costs, 2) + LEAST
    assert searched(matrix, rows, weights, costs, 2, (1, n)).largest == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("share", [0.5, 0.75, 0.9, 0.98])
def test_columns_that_cost_most_of_what_they_bring_pay_together(share):
    """Near copies of one column: all of them in T cost hardly more than the first, which takes a share of the gain."""
    n, rows, correlation = 6, 20_000, 0.1
    matrix = np.full((n, n), 1 - 1e-6)
    matrix[0, 1:] = matrix[1:, 0] = correlation
    np.fill_diagonal(matrix, 1.0)
    total = -rows / 2 * np.log1p(-(correlation**2)) / share
    weights = np.full(n, total / (n - 1))
    weights[0] = 0.0
    costs = total * np.arange(n + 1)
    best = naive.pair_excess(matrix, rows, weights, costs, 1)
    assert best == pytest.approx((1 - share) * total, rel=1e-2)
    assert searched(matrix, rows, weights, costs, 1, (1, n)).largest == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_blocks_of_one_column_have_the_excess_of_columns(seed):
    """The general search and the fast one."""
    n = 4 + seed % 4
    matrix, rows, weights, costs = made(seed, n)
    own = BlockCosts(rows / 2, 0.0, costs, np.zeros(n), np.full(n, costs[1]))
    for most in (0, 2, n - 1):
        found = largest_block_excess(matrix, np.arange(n + 1), weights, own, most, LEAST, (1, n), 10**8, 4)
        assert found.largest == pytest.approx(searched(matrix, rows, weights, costs, most, (1, n)).largest, abs=1e-7)


def made_blocks(seed):
    """Return correlations of blocks of one to three columns, their starts, weights, and costs, with volume or not."""
    rng = np.random.default_rng(seed)
    volume = float(seed % 2)
    sizes = np.ones(6, dtype=np.int64) if volume else rng.integers(1, 4, 6)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = int(rng.choice([60, 600]))
    matrix = np.ascontiguousarray(np.corrcoef(gaussian_table(seed, starts[-1], rows=rows, density=0.4).values.T))
    cost = 0.5 * np.log(rows)
    edges = cost * sizes[0] * sizes if not volume else rng.uniform(0.3, 1.0, 6) * cost
    costs = np.cumsum(np.concatenate([[0.0], np.sort(rng.uniform(0.0, 1.0, 6))]))
    told = 0.5 * volume * np.log(np.diag(np.linalg.inv(matrix))) if volume else np.zeros(6)
    weights = np.sort(rng.uniform(0, 1.5 * cost * sizes[0], 6))[::-1].copy()
    weights[rng.integers(3, 7) :] = 0.0
    weights[0] = 0.0
    return (
        matrix,
        starts,
        weights,
        BlockCosts(rows / 2, volume, costs, edges, np.diff(costs).min() + edges - told - told[0]),
    )


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(20))
def test_the_largest_excess_of_blocks_is_that_of_all_sets(seed):
    """With the largest_excess of every limit, split into ranges, and if the search for T is stopped."""
    case = made_blocks(seed)
    for most in range(6):
        best = max(naive.block_pair_excess(*case, most), LEAST)
        spans = [(1, 6)], [(1, 3), (3, 6)]
        for parts in spans:
            found = [largest_block_excess(*case, most, LEAST, span, 10**8, 4) for span in parts]
            assert max(one.largest for one in found) == pytest.approx(best, abs=1e-7)
        assert max(one.values.max() for one in found) <= best + 1e-7
        assert largest_block_excess(*case, most, LEAST, (1, 6), 1, 4).largest >= best - 1e-7


@pytest.mark.parametrize("is_wide", [False, True], ids=["columns", "blocks"])
@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_a_search_that_stops_after_every_set_finds_the_same(seed, is_wide, monkeypatch):
    """It goes on where it was; once it is told to stop it does nothing more, and has proven nothing."""
    if is_wide:
        case = (*made_blocks(seed), 5, LEAST, (1, 6), 10**8, 4)
        search = largest_block_excess
    else:
        matrix, rows, weights, costs = made(seed, 6)
        case = (matrix, weights, costs, rows, 5, LEAST, (1, 6), 10**8, 4)
        search = kernels.largest_excess
    whole = search(*case)
    monkeypatch.setattr(kernels, "WORK_PER_LOOK", 1)
    looks = []
    pieces = search(*case, lambda: bool(looks.append(len(looks))))
    assert len(looks) > 2
    assert pieces.largest == whole.largest
    assert np.array_equal(pieces.members, whole.members)
    assert np.array_equal(pieces.values, whole.values)
    asked = []
    stopped = search(*case, lambda: asked.append(None) is None and len(asked) == 2)
    assert len(asked) == 2
    assert stopped.largest == np.inf
