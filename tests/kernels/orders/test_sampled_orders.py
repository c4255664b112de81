"""The walk over orders against sums over all orders and parent sets, written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dagopt.kernels.orders import sampled
from naive_orders import edges_given, log_sums, order_weight


def made(seed, n=4, all_candidates=True):
    """Return candidates, logarithmic weights of their subsets, and the tables in the form for kernels."""
    random = np.random.default_rng(seed)
    others = [np.array([v for v in range(n) if v != u]) for u in range(n)]
    candidates = [own if all_candidates else np.sort(random.permutation(own)[: n - 2]) for own in others]
    weights = [random.normal(0, 2, 1 << len(own)) for own in candidates]
    sums = [own.copy() for own in weights]
    for own in sums:
        sampled.sum_subsets(own)
    bit = np.full((n, n), -1, dtype=np.int64)
    for u, own in enumerate(candidates):
        bit[u, own] = np.arange(len(own))
    children = [np.flatnonzero(bit[:, v] >= 0) for v in range(n)]
    starts = [np.concatenate([[0], np.cumsum([len(one) for one in part])]) for part in (sums, candidates, children)]
    tables = sampled.Tables(
        np.concatenate(sums), starts[0], bit, np.concatenate(candidates), starts[1], np.concatenate(children), starts[2]
    )
    return candidates, weights, tables


def walk_at(order):
    """Return a walk that stands at an order."""
    n = len(order)
    return sampled.Walk(np.array(order, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64))


@pytest.mark.parametrize("seed", range(3))
def test_sums_over_subsets(seed):
    """Every entry becomes the logarithm of the sum over its subsets; weights of zero stay out."""
    logs = np.random.default_rng(seed).normal(0, 300, 32)
    logs[[0, 5, 7]] = -np.inf
    expected = log_sums(logs)
    sampled.sum_subsets(logs)
    np.testing.assert_allclose(logs, expected, rtol=1e-12)


@pytest.mark.parametrize("every", [True, False])
def test_weight_and_edges_of_an_order(every):
    """The weight of an order and the probabilities of its edges are sums over parent sets."""
    candidates, weights, tables = made(1, 5, every)
    for order in list(itertools.permutations(range(5)))[::17]:
        walk = walk_at(order)
        assert sampled.begin(tables, walk) == pytest.approx(order_weight(weights, candidates, order))
        edges = np.empty((5, 5))
        sampled.edge_shares(tables, walk, edges)
        np.testing.assert_allclose(edges, edges_given(weights, candidates, order), atol=1e-12)


@pytest.mark.parametrize("power", [1.0, 0.3])
def test_a_step_draws_from_all_positions(power):
    """One step lands at each position with its share of the weights, raised to the power, of all n orders."""
    candidates, weights, tables = made(2, 4, False)
    for v in range(4):
        others = [u for u in (2, 0, 3, 1) if u != v]
        orders = [(*others[:p], v, *others[p:]) for p in range(4)]
        logs = power * np.array([order_weight(weights, candidates, one) for one in orders])
        ends = np.cumsum(np.exp(logs - logs.max())) / np.exp(logs - logs.max()).sum()
        for p, middle in enumerate((np.concatenate([[0.0], ends[:-1]]) + ends) / 2):
            walk = walk_at((2, 0, 3, 1))
            sampled.begin(tables, walk)
            sampled.relocate(tables, walk, np.array([v]), np.array([middle]), power)
            assert tuple(walk.order) == orders[p]
            before = walk.before.copy()
            sampled.begin(tables, walk)
            np.testing.assert_array_equal(walk.before, before)


def test_long_walks_have_the_shares_of_all_orders():
    """Edges and visits along a walk are those of all orders, by their weights, up to chance."""
    candidates, weights, tables = made(3)
    orders = list(itertools.permutations(range(4)))
    logs = np.array([order_weight(weights, candidates, one) for one in orders])
    shares = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    expected = sum(share * edges_given(weights, candidates, one) for share, one in zip(shares, orders, strict=True))
    random, sweeps = np.random.default_rng(0), 20_000
    edges, squares, visits = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros(8)
    drawn = random.integers(0, 4, (sweeps, 4)), random.random((sweeps, 4))
    sampled.collect(tables, walk_at((0, 1, 2, 3)), *drawn, edges, squares, 1, visits)
    np.testing.assert_allclose(edges / sweeps, expected, atol=0.02)
    assert (squares <= edges + 1e-9).all()
    seen = np.zeros(8)
    for share, order in zip(shares, orders, strict=True):
        before = set(order[: order.index(1)])
        seen[sum(1 << b for b, v in enumerate(candidates[1]) if v in before)] += share
    np.testing.assert_allclose(visits / sweeps, seen, atol=0.02)
