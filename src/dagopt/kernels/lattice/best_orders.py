"""The best DAG over every subset of n variables: ``opt[S] = max over i in S of opt[S - i] + best_i[S - i]``.

The tables ``best_i`` come from ``best_parents.py``, one block at a time, closed under subsets of rows. ``extend`` takes
a row of the block, closes its tables under subsets of places, and finishes ``opt`` for its sets: first with the nodes
of the row as sinks, then with those of the place. Last, the high nodes become sinks of sets with one more high bit.
The rows of one size do not depend on each other, and every loop runs in a fixed order, so results do not depend on how
rows are spread over threads.

With all n variables in one block this is the classic recursion, which stores n 2^(n-1) numbers; each further high bit
halves that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.lattice.subsets import _close_bits, _copy, _larger, _raise_by_sums, _without
from dagopt.kernels.store import njit

RUN_BITS = 6  # sets that are finished at a time by sinks above their lowest bits


class Tables(NamedTuple):
    """The tables of a block: ``[node, row, place]``, each without the node's own bit.

    Attributes
    ----------
    places, rows, highs : arrays
        Those of the nodes whose bits are in the place, in the row, and above both. Tables of high nodes inside the
        block are not used.
    """

    places: NDArray[np.float64]
    rows: NDArray[np.float64]
    highs: NDArray[np.float64]


@njit(cache=True, nogil=True)
def _sinks_one_by_one(best, here):
    """Finish the entries in order; each depends only on smaller ones."""
    for s in range(1, here.shape[0]):
        i = 0
        while (1 << i) <= s:
            if (s >> i) & 1:
                less = s - (1 << i)
                here[s] = _larger(here[less] + best[i, _without(less, i)], here[s])
            i += 1


@njit(cache=True, nogil=True)
def _sinks_of_eight(best, begin, v):
    """Finish eight entries by the sinks among their three lowest bits."""
    a = best[0, begin >> 1 : (begin >> 1) + 4]  # node 0 after 0, 2, 4, 6
    b = best[1, begin >> 1 : (begin >> 1) + 4]  # node 1 after 0, 1, 4, 5
    c = best[2, begin >> 1 : (begin >> 1) + 4]  # node 2 after 0, 1, 2, 3
    v[1] = _larger(v[0] + a[0], v[1])
    v[2] = _larger(v[0] + b[0], v[2])
    v[3] = _larger(v[2] + a[1], _larger(v[1] + b[1], v[3]))
    v[4] = _larger(v[0] + c[0], v[4])
    v[5] = _larger(v[4] + a[2], _larger(v[1] + c[1], v[5]))
    v[6] = _larger(v[4] + b[2], _larger(v[2] + c[2], v[6]))
    v[7] = _larger(v[6] + a[3], _larger(v[5] + b[3], _larger(v[3] + c[3], v[7])))


@njit(cache=True, nogil=True)
def _pull(best, here, at, length, first_bit):
    """Raise the entries from ``at`` on by the sinks from ``first_bit`` up."""
    i = first_bit
    while (1 << i) <= at:
        if (at >> i) & 1:
            less = at - (1 << i)
            place = _without(less, i)
            _raise_by_sums(here[at : at + length], here[less : less + length], best[i, place : place + length])
        i += 1


@njit(cache=True, nogil=True)
def sinks(best, here):
    """Finish ``here``, the entries of ``opt`` for all places of one row, by the nodes of the place as sinks.

    ``best[i]`` is the closed table of node i, without its bit. ``here`` already holds what other sinks give.
    """
    size = here.shape[0]
    if size < 8:
        _sinks_one_by_one(best, here)
        return
    length = min(1 << RUN_BITS, size)
    for run in range(0, size, length):
        if run:
            _pull(best, here, run, length, RUN_BITS)
        for at in range(run, run + length, 8):
            for i in range(3, RUN_BITS):
                if (at >> i) & 1:
                    less = at - (1 << i)
                    place = _without(less, i)
                    _raise_by_sums(here[at : at + 8], here[less : less + 8], best[i, place : place + 8])
            _sinks_of_eight(best, at, here[at : at + 8])


@njit(cache=True, nogil=True)
def close_places(table, row, out):
    """Copy one row of the tables of all place nodes, and close it under subsets of places."""
    for i in range(out.shape[0]):
        _copy(table[i, row], out[i])
        _close_bits(out[i], 0, out.shape[0] - 1)


@njit(cache=True, nogil=True)
def extend(tables, shape, block, opt, chosen):
    """Finish ``opt`` for the chosen rows of a block; all rows inside them must be finished.

    ``block`` has the high bits in place. ``opt`` already holds what the blocks inside this one gave it.
    """
    bits = shape.place_bits
    size = 1 << bits
    best = np.empty((bits, max(size >> 1, 1)))
    spare = np.empty(size)
    for row in chosen:
        begin = block + (row << bits)
        here = opt[begin : begin + size]
        for b in range(shape.row_bits):
            if (row >> b) & 1:
                less = row - (1 << b)
                before = opt[block + (less << bits) : block + (less << bits) + size]
                _raise_by_sums(here, before, tables.rows[b, _without(less, b)])
            else:
                _close_bits(tables.rows[b, _without(row, b)], 0, bits)
        close_places(tables.places, row, best)
        sinks(best, here)
        for b in range(tables.highs.shape[0]):
            bit = 1 << (bits + shape.row_bits + b)
            if not block & bit:
                _copy(tables.highs[b, row], spare)
                _close_bits(spare, 0, bits)
                _raise_by_sums(opt[begin + bit : begin + bit + size], here, spare)
