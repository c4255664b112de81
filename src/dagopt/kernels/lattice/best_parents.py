"""The best parents of a node inside every set of a block, for the recursion of ``best_orders.py``.

The bits of a set of n variables are cut into four parts, from the highest down:

    block | upper place | row | lower place

The lower place has ``LOWER_BITS`` bits, and the two places together are the set's place. The tables of one block
are filled at a time, from the table ``F`` of all 2^n potentials:

    best_i[row, place] = max of F[J + i] - F[J] over the J with this place, a row inside this one and a block inside
    the present one.

They are closed under subsets of the rows here: a *tile* is all sets with one upper place, which are neighbours in
``F``. The orders close them under subsets of the places when they come to a row. So a table goes through memory once
each way. A table of a node leaves its own bit out.

A block that contains the first high node starts from the tables of the block without it, which was the one before: only
sets with that node are new.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagopt.kernels.lattice.subsets import _close_from, _copy, _larger, _ones, _with_gap
from dagopt.kernels.store import njit

LOWER_BITS = 6  # 64 places of 8 bytes, eight lines of the cache, are raised at a time


class Shape(NamedTuple):
    """How many bits of a set are its place, and how many its row (none unless the place has ``LOWER_BITS``)."""

    place_bits: int
    row_bits: int


class Block(NamedTuple):
    """A block: its high bits, in place, and those that all new sets contain (0 for tables filled from nothing)."""

    bits: int
    new: int


@njit(cache=True, nogil=True)
def _raise_run(run, table, at, bit):
    """Raise a run to the local scores of the sets ``at``, ``at + 1``, ..."""
    without = table[at : at + run.shape[0]]  # views from zero, so that the loop becomes vector instructions
    together = table[at + bit : at + bit + run.shape[0]]
    for k in range(run.shape[0]):
        value = together[k] - without[k]
        run[k] = value if value > run[k] else run[k]


@njit(cache=True, nogil=True)
def _fold(wide, bit, tile):
    """Raise a tile to the entries of ``wide`` whose sets lack a low bit."""
    if bit == 1:
        for k in range(tile.shape[0]):
            tile[k] = _larger(wide[2 * k], tile[k])
        return
    for first in range(0, tile.shape[0], bit):
        for k in range(first, first + bit):
            tile[k] = _larger(wide[first + k], tile[k])


@njit(cache=True, nogil=True)
def _raise_tile(tile, wide, table, at, bit):
    """Raise a tile to the local scores of the sets from ``at`` on that lack the node's bit.

    Where this bit is so low that such sets come in short runs, ``wide`` is raised to the scores of all sets instead,
    for ``_fold`` to choose from.
    """
    if wide.shape[0]:
        _raise_run(wide, table, at, bit)
        return
    run = min(bit, tile.shape[0])
    for k in range(0, tile.shape[0], run):
        _raise_run(tile[k : k + run], table, at + (2 * k if bit < tile.shape[0] else k), bit)


@njit(cache=True, nogil=True)
def _raise_allowed(tile, table, at, node, allowed):
    """Do what ``_raise_tile`` does for the allowed sets alone."""
    bit = 1 << node
    must = allowed.must & ~at
    left = allowed.at_most - _ones(at)
    if (at & ~allowed.may) != 0 or left < 0 or must >= 2 * tile.shape[0]:
        return
    for k in range(tile.shape[0]):
        more = _with_gap(k, node)
        if (more & must) == must and (more & ~allowed.may) == 0 and _ones(more) <= left:
            tile[k] = _larger(table[at + more + bit] - table[at + more], tile[k])


@njit(cache=True, nogil=True)
def _raise_subsets(tile, wide, table, upper, node, block, allowed):
    """Raise a tile by its sets in all blocks inside the present one that are new; ``upper`` is the upper place."""
    others = block.bits ^ block.new
    inside = others
    while True:  # all subsets, from the whole down
        at = inside | block.new | upper
        if allowed.free:
            _raise_tile(tile, wide, table, at, 1 << node)
        else:
            _raise_allowed(tile, table, at, node, allowed)
        if inside == 0:
            break
        inside = (inside - 1) & others


@njit(cache=True, nogil=True)
def fill(table, node, shape, block, allowed, out, first, last):
    """Fill the tiles ``first`` to ``last`` of a node's table in a block, closed under subsets of rows.

    ``out[row, place]`` leaves the node's own bit out. A tile has all rows, and the lower places of one upper place.
    """
    lower = min(LOWER_BITS, shape.place_bits)
    low_node = node < lower
    length = 1 << (lower - 1 if low_node else lower)
    tile = np.empty(out.shape[0] * length)
    wide = np.empty(2 * tile.shape[0] - (1 << node) if low_node and allowed.free else 0)
    shift = lower + shape.row_bits
    for place in range(first, last):
        upper = _with_gap(place << shift, node) if node >= shift else place << shift
        for row in range(out.shape[0]):
            run = tile[row * length : (row + 1) * length]
            if block.new:
                _copy(out[row, place * length : (place + 1) * length], run)
            else:
                run[:] = -np.inf
        wide[:] = -np.inf
        _raise_subsets(tile, wide, table, upper, node, block, allowed)
        if wide.shape[0]:
            _fold(wide, 1 << node, tile)
        _close_from(tile, length)
        for row in range(out.shape[0]):
            _copy(tile[row * length : (row + 1) * length], out[row, place * length : (place + 1) * length])
