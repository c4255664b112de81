"""Tests of the kernels from the full set down, and of the best scores with and without a parent, by loops over sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.kernels.lattice import edge_regret as kernels
from dagopt.kernels.lattice import pools
from dagopt.kernels.lattice.subsets import Allowed, _without


def taken_out(mask, node):
    """Return a set with the place of a node taken out."""
    return int(_without(mask, node))


def after(best, n):
    """Return the best that can follow each set, ``best[i][S]`` being what node i adds after S."""
    rest = np.full(1 << n, -np.inf)
    rest[-1] = 0.0
    for mask in range((1 << n) - 2, -1, -1):
        rest[mask] = max(best[i][mask] + rest[mask | 1 << i] for i in range(n) if not mask >> i & 1)
    return rest


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 7), seed=st.integers(0, 1000))
def test_sources_give_the_best_that_can_follow(n, seed):
    """From the largest down, every set gets the best over all next nodes."""
    rng = np.random.default_rng(seed)
    tables = rng.normal(size=(n, 1 << (n - 1)))
    tables[rng.random(tables.shape) < 0.1] = -np.inf
    best = [[-np.inf if mask >> i & 1 else tables[i, taken_out(mask, i)] for mask in range(1 << n)] for i in range(n)]
    rest = np.full(1 << n, -np.inf)
    rest[-1] = 0.0
    kernels.sources(tables, rest)
    np.testing.assert_allclose(rest, after(best, n), rtol=1e-12)


def test_what_other_nodes_gave_is_kept():
    """Sources raise what is there, and never lower it."""
    rest = np.full(8, 50.0)
    kernels.sources(np.random.default_rng(0).normal(size=(3, 4)), rest)
    assert (rest >= 50.0).all()
    assert (rest > 50.0).any()


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 7), low_bits=st.integers(1, 7), seed=st.integers(0, 1000))
def test_a_pool_is_gone_through_backwards(n, low_bits, seed):
    """Blocks of a pool, from the largest down, give the best that can follow each set; forwards it ends the same."""
    rng = np.random.default_rng(seed)
    low_bits = min(low_bits, n)
    masks = [np.unique(np.append(rng.integers(0, 1 << n, 6) & ~(1 << i), 0)) for i in range(n)]
    scores = [rng.normal(size=len(own)) for own in masks]
    best = [
        [max(score for J, score in zip(masks[i], scores[i], strict=True) if J & ~mask == 0) for mask in range(1 << n)]
        for i in range(n)
    ]
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in masks])]).astype(np.int64)
    candidates = (np.concatenate(masks), np.concatenate(scores), offsets, low_bits)
    opt, rest = np.full((2, 1 << n), -np.inf)
    opt[0] = rest[-1] = 0.0
    blocks = np.arange(1 << (n - low_bits))
    pools.blocks(pools.PoolForm(*candidates), opt, blocks)
    kernels.blocks_back(pools.PoolForm(*candidates), rest, blocks[::-1].copy())
    np.testing.assert_allclose(rest, after(best, n), rtol=1e-12)
    assert rest[0] == pytest.approx(opt[-1], rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(data=st.data(), n=st.integers(1, 7), chunk_bits=st.integers(0, 6), seed=st.integers(0, 1000))
def test_best_scores_with_and_without_each_parent(data, n, chunk_bits, seed):
    """For each parent the best of all allowed sets with it and without it, the sets listed or not."""
    rng = np.random.default_rng(seed)
    node = data.draw(st.integers(0, n - 1))
    table, opt, rest = rng.normal(size=(3, 1 << n))
    must, may, at_most = int(rng.integers(0, 1 << n)), int(rng.integers(0, 1 << n)), int(rng.integers(0, n + 1))
    must, may = (must & ~(1 << node), may | must) if seed % 2 else (0, (1 << n) - 1)
    others = [mask for mask in range(1 << n) if not mask >> node & 1]
    above = {
        mask: max(opt[whole] + rest[whole | 1 << node] for whole in others if mask & ~whole == 0) for mask in others
    }
    allowed = [mask for mask in others if mask & must == must and not mask & ~may and mask.bit_count() <= at_most]
    local = {mask: table[mask | 1 << node] - table[mask] for mask in allowed}
    expected = np.full((3, n - 1), -np.inf)
    for mask in allowed:
        for b, j in enumerate(j for j in range(n) if j != node):
            row = 0 if mask >> j & 1 else 1
            expected[row, b] = max(expected[row, b], local[mask] + above[mask])
            if row:  # j comes before the node, and is no parent of it
                expected[2, b] = max(expected[2, b], local[mask] + above[mask | 1 << j])
    chunk_bits = min(chunk_bits, n - 1)
    chunks = 1 << (n - 1 - chunk_bits)
    closed = np.empty(1 << (n - 1))
    kernels.around(opt, rest, node, closed, n - 1, 0, 1)
    found = np.full((3, n - 1), -np.inf)
    kernels.with_and_without(table, node, Allowed(False, must, may, at_most), closed, chunk_bits, 0, chunks, found)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    listed = np.full((3, n - 1), -np.inf)
    masks = np.array(allowed, dtype=np.int64)
    kernels.listed_with_and_without(masks, np.array([local[mask] for mask in allowed]), node, closed, listed)
    np.testing.assert_allclose(listed, expected, rtol=1e-12)
