"""Tests of the recursion over candidate parent sets against loops over all sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.kernels.lattice import pools as kernels


def best_inside(masks, scores, inside):
    """Return the best score of the candidates inside a set."""
    return max((s for m, s in zip(masks.tolist(), scores.tolist(), strict=True) if m & ~inside == 0), default=-np.inf)


def plain_recursion(candidates, n):
    """Return the best score of every set of nodes by the recursion over its last node."""
    opt = np.full(1 << n, -np.inf)
    opt[0] = 0.0
    for s in range(1, 1 << n):
        for i in range(n):
            if s >> i & 1:
                rest = s & ~(1 << i)
                opt[s] = max(opt[s], opt[rest] + best_inside(*candidates[i], rest))
    return opt


@st.composite
def pools(draw):
    """Draw for each of some nodes candidate sets, not always with the empty one, and scores with ties."""
    n = draw(st.integers(1, 7))
    pool = []
    for i in range(n):
        masks = draw(st.lists(st.integers(0, (1 << n) - 1), max_size=8))
        masks = [m & ~(1 << i) for m in masks] + [0] * draw(st.integers(0, 1))
        scores = draw(st.lists(st.integers(-9, 9), min_size=len(masks), max_size=len(masks)))
        pool.append((np.array(masks, dtype=np.int64), np.array(scores, dtype=np.float64)))
    return pool


@settings(deadline=None)
@given(pool=pools(), data=st.data())
def test_blocks_are_the_plain_recursion(pool, data):
    """Layer by layer of blocks, for any split, every set gets the best score that its members can have."""
    n = len(pool)
    low_bits = data.draw(st.integers(1, n))
    offsets = np.cumsum([0] + [len(masks) for masks, _ in pool])
    opt = np.full(1 << n, -np.inf)
    opt[0] = 0.0
    blocks = np.arange(1 << (n - low_bits))
    for layer in range(n - low_bits + 1):
        members = blocks[np.bitwise_count(blocks) == layer]
        joined = [np.concatenate(part) for part in zip(*pool, strict=True)]
        kernels.blocks(kernels.PoolForm(*joined, offsets, low_bits), opt, members[::-1].copy())
    np.testing.assert_array_equal(opt, plain_recursion(pool, n))


@pytest.mark.parametrize("node, block", [(0, 0), (2, 3), (4, 1), (5, 2)])
def test_table_has_the_best_candidate_of_every_place(node, block, rng):
    """A table has the best candidate inside the block and each place; a low node's own bit is left out."""
    low_bits = 4
    masks = rng.integers(0, 64, 20) & ~(1 << node)
    scores = rng.normal(size=20)
    places = [x for x in range(16) if node >= low_bits or not x >> node & 1]
    out = np.full(len(places), np.nan)
    kernels._table(masks, scores, low_bits, block, node, out)
    assert out.tolist() == [best_inside(masks, scores, x | block << low_bits) for x in places]


def test_best_candidate_is_the_first_of_the_best():
    """Of candidates inside a set the first with the highest score is returned, -1 where none is inside."""
    masks = np.array([0b1100, 0b0100, 0b0010, 0b0110])
    scores = np.array([9.0, 3.0, 5.0, 5.0])
    assert kernels.best_candidate(masks, scores, 0b0110) == 2
    assert kernels.best_candidate(masks, scores, 0b1110) == 0
    assert kernels.best_candidate(masks, scores, 0b0101) == 1
    assert kernels.best_candidate(masks, scores, 0b1001) == -1
