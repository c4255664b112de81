"""Tests of the recursion over subsets with whole arrays: the kernels, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

from dagopt.kernels.lattice.best_orders import Tables, extend
from dagopt.kernels.lattice.best_parents import LOWER_BITS, Block, Shape, fill
from dagopt.kernels.lattice.edge_regret import around, extend_back, with_and_without
from dagopt.kernels.lattice.subsets import Allowed
from dagopt.kernels.lattice.whole_arrays import (
    around_arrays,
    extend_arrays,
    extend_back_arrays,
    fill_arrays,
    with_and_without_arrays,
)


def solved(potential, shape, allowed, filling, extending):
    """Return the best scores of all sets by two given steps, block by block."""
    n = potential.size.bit_length() - 1
    places, rows = shape
    low, lower = sum(shape), min(LOWER_BITS, places)
    tables = Tables(
        np.full((places, 1 << rows, max(1 << places >> 1, 1)), np.nan),
        np.full((rows, max(1 << rows >> 1, 1), 1 << places), np.nan),
        np.full((n - low, 1 << rows, 1 << places), np.nan),
    )
    of_rows = range(lower, lower + rows)
    nodes = [*(i for i in range(low) if i not in of_rows), *of_rows, *range(low, n)]
    opt = np.full(1 << n, -np.inf)
    opt[0] = 0.0
    for block in range(1 << (n - low)):
        bits = block << low
        for node, table in zip(nodes, (table for part in tables for table in part), strict=True):
            if not bits >> node & 1:
                tiles = table.shape[1] >> (lower - 1 if node < lower else lower)
                filling(potential, node, shape, Block(bits, bits & 1 << low), allowed, table, 0, tiles // 2)
                filling(potential, node, shape, Block(bits, bits & 1 << low), allowed, table, tiles // 2, tiles)
        for size in range(rows + 1):
            chosen = [row for row in range(1 << rows) if row.bit_count() == size]
            extending(tables, shape, bits, opt, np.array(chosen))
    return opt


@pytest.mark.parametrize("shape, high", [((1, 0), 0), ((2, 0), 1), ((4, 0), 0), ((7, 0), 2), ((6, 2), 0), ((7, 2), 1)])
@pytest.mark.parametrize("free", [True, False])
def test_arrays_and_kernels_give_the_same_numbers(shape, high, free, rng):
    """Whatever is blocked and cut into rows, with knowledge and without."""
    n = sum(shape) + high
    potential = rng.normal(size=1 << n)
    allowed = Allowed(True, 0, 0, 0) if free else Allowed(False, 1 << (n - 1), (1 << n) - 3, max(n - 2, 1))
    ways = [(fill, extend), (fill_arrays, extend_arrays)]
    first, second = (solved(potential, Shape(*shape), allowed, *way) for way in ways)
    np.testing.assert_array_equal(first, second)
    assert np.isfinite(first[-1]) or not free


@pytest.mark.parametrize("shape, high", [((1, 0), 0), ((2, 0), 1), ((7, 0), 2), ((6, 2), 0), ((7, 2), 1)])
def test_the_way_back_is_the_same(shape, high, rng):
    """What can follow each set, from the last rows of the last block down."""
    places, rows = shape
    n, low = sum(shape) + high, sum(shape)
    scores = [
        rng.normal(size=(places, 1 << rows, max(1 << places >> 1, 1))),
        rng.normal(size=(rows, max(1 << rows >> 1, 1), 1 << places)),
        rng.normal(size=(high, 1 << rows, 1 << places)),
    ]
    found = []
    for extending in (extend_back, extend_back_arrays):
        tables = Tables(*(part.copy() for part in scores))
        rest = np.full(1 << n, -np.inf)
        rest[-1] = 0.0
        for block in range((1 << high) - 1, -1, -1):
            for size in range(rows, -1, -1):
                chosen = [row for row in range(1 << rows) if row.bit_count() == size]
                extending(tables, Shape(*shape), block << low, rest, np.array(chosen))
        found.append(rest)
    np.testing.assert_array_equal(*found)
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("n, chunk_bits", [(2, 1), (5, 4), (6, 3)])
@pytest.mark.parametrize("free", [True, False])
def test_edges_are_compared_in_the_same_way(n, chunk_bits, free, rng):
    """The best around each set, and the best with and without each parent, all chunks or some of them."""
    opt, rest, potential = rng.normal(size=(3, 1 << n))
    allowed = Allowed(True, 0, 0, 0) if free else Allowed(False, 1, (1 << n) - 3, max(n - 2, 1))
    chunks = 1 << (n - 1 - chunk_bits)
    for node in range(n):
        first, second = np.full((2, 1 << (n - 1)), np.nan)
        around(opt, rest, node, first, chunk_bits, 0, chunks)
        around_arrays(opt, rest, node, second, chunk_bits, 0, chunks)
        np.testing.assert_array_equal(first, second)
        for begin in {0, chunks - 1}:
            found = np.full((2, 3, n - 1), -np.inf)
            with_and_without(potential, node, allowed, first, chunk_bits, begin, chunks, found[0])
            with_and_without_arrays(potential, node, allowed, first, chunk_bits, begin, chunks, found[1])
            np.testing.assert_array_equal(*found)
