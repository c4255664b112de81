"""Functions of all subsets of n variables; a set is the bits of an integer.

The local score of every node is a difference of one set function, ``local(i, J) = F[J + i] - F[J]``, so the
only input of the recursions is the table ``F`` of 2^n numbers. Here are the steps that several recursions share:
places of bits, which parent sets are allowed, maxima over subsets, and the best parent set of one node.
``best_parents.py`` and ``best_orders.py`` have the recursion for the best DAG.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagopt.kernels.store import njit

LOW_BITS = 12  # 2^12 numbers are 32 KB: closed while they are in the first-level cache
ROW = 64  # numbers of one row that are closed over high bits at a time
SCAN_BITS = 10  # neighbouring sets that the search for a best set compares at a time
NEVER = 127  # larger than any set


class Allowed(NamedTuple):
    """Which parent sets J of a node are allowed: ``must ⊆ J ⊆ may`` and ``|J| <= at_most``; all where ``free``."""

    free: bool
    must: int
    may: int
    at_most: int


@njit(cache=True, nogil=True)
def _without(mask, bit):
    """Return the mask with the position of ``bit`` removed."""
    low = (1 << bit) - 1
    return (mask & low) | ((mask >> 1) & ~low)


@njit(cache=True, nogil=True)
def _with_gap(mask, bit):
    """Return the mask with a zero inserted at the position of ``bit``."""
    low = (1 << bit) - 1
    return (mask & low) | ((mask & ~low) << 1)


@njit(cache=True, nogil=True)
def _ones(mask):
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@njit(cache=True, nogil=True)
def is_allowed(allowed, mask):
    """Say whether a parent set is allowed."""
    must, may = allowed.must, allowed.may
    return (mask & must) == must and (mask & ~may) == 0 and _ones(mask) <= allowed.at_most


@njit(cache=True, nogil=True)
def _larger(a, b):
    return a if a > b else b


@njit(cache=True, nogil=True)
def _copy(source, target):
    """Copy a run."""
    for k in range(source.shape[0]):
        target[k] = source[k]


@njit(cache=True, nogil=True)
def _close_three_bits(values):
    """Close each eight neighbours under subsets of their three bits."""
    for k in range(0, values.shape[0] - 7, 8):
        v = values[k : k + 8]
        a0, a2, a4, a6 = v[0], v[2], v[4], v[6]
        a1, a3, a5, a7 = _larger(a0, v[1]), _larger(a2, v[3]), _larger(a4, v[5]), _larger(a6, v[7])
        b2, b3, b6, b7 = _larger(a0, a2), _larger(a1, a3), _larger(a4, a6), _larger(a5, a7)
        v[1], v[2], v[3] = a1, b2, b3
        v[4], v[5], v[6], v[7] = _larger(a0, a4), _larger(a1, a5), _larger(b2, b6), _larger(b3, b7)


@njit(cache=True, nogil=True)
def _close_one_bit(values, step):
    """Close a run under the subsets of one bit, ``step``."""
    for base in range(0, values.shape[0], 2 * step):
        small = values[base : base + step]
        large = values[base + step : base + 2 * step]
        for k in range(step):
            large[k] = small[k] if small[k] > large[k] else large[k]


@njit(cache=True, nogil=True)
def _close_two_bits(values, step):
    """Close a run under the subsets of the bits ``step`` and ``2 * step``, reading and writing each number once."""
    for base in range(0, values.shape[0], 4 * step):
        none = values[base : base + step]
        one = values[base + step : base + 2 * step]
        two = values[base + 2 * step : base + 3 * step]
        both = values[base + 3 * step : base + 4 * step]
        for k in range(step):
            a, b, c, d = none[k], one[k], two[k], both[k]
            b = a if a > b else b
            d = c if c > d else d
            one[k] = b
            two[k] = a if a > c else c
            both[k] = b if b > d else d


@njit(cache=True, nogil=True)
def _close_from(values, step):
    """Close a run of 2^k numbers under the subsets of the bits from ``step`` up."""
    while 4 * step <= values.shape[0]:
        _close_two_bits(values, step)
        step *= 4
    if 2 * step <= values.shape[0]:
        _close_one_bit(values, step)


@njit(cache=True, nogil=True)
def _close_bits(out, begin, bits):
    """Close 2^bits neighbouring entries under subsets."""
    values = out[begin : begin + (1 << bits)]
    if bits >= 3:
        _close_three_bits(values)
        _close_from(values, 8)
    else:
        _close_from(values, 1)


@njit(cache=True, nogil=True)
def _raise_by_sums(here, before, gain):
    """Raise a run to the sums of two others, entry by entry."""
    for k in range(here.shape[0]):
        value = before[k] + gain[k]
        here[k] = value if value > here[k] else here[k]


@njit(cache=True, nogil=True)
def close_high(out, first_bit, n_bits, first, last):
    """Close a table under the bits ``first_bit`` to ``first_bit + n_bits``, for stretches ``first`` to ``last``.

    A stretch is ROW neighbouring entries, taken from all 2^n_bits rows into a buffer that stays in cache.
    There are ``out.size / 2^n_bits / ROW`` stretches.
    """
    rows = 1 << n_bits
    stride = 1 << first_bit
    per_group = stride // ROW
    buffer = np.empty((rows, ROW))
    for stretch in range(first, last):
        base = (stretch // per_group) * (stride * rows) + (stretch % per_group) * ROW
        for r in range(rows):
            row = out[base + r * stride : base + r * stride + ROW]
            kept = buffer[r]
            for k in range(ROW):
                kept[k] = row[k]
        step = 1
        while step < rows:
            for group in range(0, rows, 2 * step):
                for r in range(group, group + step):
                    small = buffer[r]
                    large = buffer[r + step]
                    for k in range(ROW):
                        large[k] = small[k] if small[k] > large[k] else large[k]
            step *= 2
        for r in range(1, rows):
            row = out[base + r * stride : base + r * stride + ROW]
            kept = buffer[r]
            for k in range(ROW):
                row[k] = kept[k]


@njit(cache=True, nogil=True)
def _raise_scan(table, at, bit, left, sizes, peaks, where):
    """Raise ``peaks`` to the local scores of the sets from ``at`` on that have at most ``left`` low bits."""
    without = table[at : at + peaks.shape[0]]
    together = table[at + bit : at + bit + peaks.shape[0]]
    for k in range(peaks.shape[0]):
        value = together[k] - without[k]
        better = value > peaks[k] and sizes[k] <= left
        peaks[k] = value if better else peaks[k]
        where[k] = at if better else where[k]


@njit(cache=True, nogil=True)
def best_set(table, node, candidates, must, may, at_most):
    """Return the best allowed parent set inside ``candidates`` and its score; the smallest mask of ties.

    The sets with the same bits above the lowest ``SCAN_BITS`` are compared at once, each place with itself. A place
    whose low bits are not allowed has the size ``NEVER``.
    """
    bit = 1 << node
    allowed = candidates & may
    chosen = np.int64(-1)
    best = -np.inf
    if (must & ~allowed) != 0:
        return chosen, best
    # For each value of the low bits: its size if it is allowed, and the best score so far with its high bits.
    length = min(1 << SCAN_BITS, table.shape[0])
    low = length - 1
    count = length - bit if bit < length else length  # sets beyond contain the node
    sizes = np.empty(count, dtype=np.int64)
    peaks = np.empty(count)
    where = np.empty(count, dtype=np.int64)
    for k in range(count):
        fits = (k & ~allowed) == 0 and (must & low & ~k) == 0
        sizes[k] = _ones(k) if fits else NEVER
        peaks[k] = -np.inf
        where[k] = -1
    # Raise the peaks by the sets with each value of the high bits.
    high_must = must & ~low
    free = allowed & ~low & ~high_must
    more = np.int64(0)
    while True:  # all sets of free high bits, counting up
        left = at_most - _ones(more | high_must)
        if left >= 0:
            _raise_scan(table, more | high_must, bit, min(left, NEVER - 1), sizes, peaks, where)
        if more == free:
            break
        more = (more - free) & free
    for k in range(count):
        if peaks[k] > best or (peaks[k] == best and where[k] >= 0 and where[k] + k < chosen):
            best = peaks[k]
            chosen = where[k] + k
    return chosen, best


@njit(cache=True, nogil=True)
def scale_by_size(table, constant, power, more):
    """Turn log-determinants into ``constant[size] - power[size] / 2 * logdet`` in place, size = ones + more."""
    for mask in range(table.shape[0]):
        size = _ones(mask) + more
        table[mask] = constant[size] - 0.5 * power[size] * table[mask]
