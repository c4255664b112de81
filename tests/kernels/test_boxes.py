"""Boxes: kernels and plain Python read the same fields, write the same arrays, and a copy is a box again."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from dagopt.kernels.boxes import Box


class Pair(NamedTuple):
    """Two arrays that follow each other in the table."""

    grid: np.ndarray
    flags: np.ndarray


class Many(NamedTuple):
    """One field of every kind."""

    counts: np.ndarray
    rate: float
    pair: Pair
    size: int
    inner: Box
    cube: np.ndarray


@njit
def read_and_write(box, k):
    """Read every field; write to some."""
    grid = box.pair.grid
    box.counts[k] += box.size
    box.inner.grid[1, k] = grid[1, 2] * box.rate
    box.cube[1, 0, 1] = 7
    total = 0.0
    for row in grid:
        total += row.sum()
    return total + box.inner.flags[k] + box.cube.shape[2]


def many():
    """Return new arrays in a box."""
    inner = Box(Pair(np.zeros((2, 5)), np.ones(5, dtype=np.bool_)))
    pair = Pair(np.arange(6.0).reshape(2, 3), np.zeros(2, dtype=np.bool_))
    return Box(Many(np.arange(4), 0.5, pair, -3, inner, np.zeros((2, 3, 4), dtype=np.int32)))


@pytest.mark.compiled
@pytest.mark.parametrize("make", [many, lambda: pickle.loads(pickle.dumps(many()))], ids=["made", "copied"])
def test_compiled_and_plain_agree(make):
    """The same numbers come back, and the same places are written."""
    boxes = [make(), make()]
    results = [read_and_write(boxes[0], 3), read_and_write.py_func(boxes[1], 3)]
    assert results == [20.0, 20.0]
    for box in boxes:
        assert box.counts.tolist() == [0, 1, 2, 0]
        assert box.inner.grid[1, 3] == 2.5
        assert box.cube[1, 0, 1] == 7
        assert box.cube.sum() == 7


@pytest.mark.compiled
def test_read_only_arrays_need_no_other_version():
    """A kernel is compiled once, whichever arrays may be written to."""

    @njit
    def first(box):
        return box.grid[0, 0]

    grid = np.full((1, 1), 4.0)
    assert first(Box(Pair(grid, np.zeros(1, dtype=np.bool_)))) == 4.0
    grid.flags.writeable = False
    assert first(Box(Pair(grid, np.zeros(1, dtype=np.bool_)))) == 4.0
    assert len(first.signatures) == 1


def test_arrays_with_gaps_are_refused():
    """A box holds addresses, and every array has to be whole there."""
    with pytest.raises(ValueError, match="C-contiguous"):
        Box(Pair(np.zeros((4, 4))[:, ::2], np.zeros(2, dtype=np.bool_)))
