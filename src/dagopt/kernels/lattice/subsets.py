"""Dynamic programming over the lattice of subsets of n variables; a set is the bits of an integer.

The local score of every node is a difference of one set function, ``local(i, J) = F[J + i] - F[J]``, so the
only input is the table ``F`` of 2^n numbers. The variables are split: the highest ``d`` bits of a set are its
block ``T``, the lowest ``m = n - d`` bits its place ``x``. For one block at a time, the kernels

1. fill ``best[x] = max of F[J + i] - F[J]`` over the J with the low bits x whose high bits are inside T;
2. close it under subsets of the low bits, ``best[x] = max over x' ⊆ x`` (``close_low``, ``close_high``);
3. extend orders: ``opt[S] = max over i in S of opt[S - i] + best_i[S - i]`` (``sinks`` within the block,
   ``push`` into the blocks with one more high bit).

With d = 0 this is the classic recursion, which stores n 2^(n-1) numbers; each further high bit halves that and
costs half as many fills again. Tables of a low node ``i`` leave its bit out (``2^(m-1)`` entries).
All loops run in a fixed order, so results do not depend on how blocks are spread over threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

LOW_BITS = 12  # 2^12 numbers are 32 KB: closed while they are in the first-level cache
SHORT_RUN = 16
ROW = 64  # numbers of one row that are closed over high bits at a time


class Allowed(NamedTuple):
    """Which parent sets J of a node are allowed: ``must ⊆ J ⊆ may`` and ``|J| <= at_most``; all where ``free``."""

    free: bool
    must: int
    may: int
    at_most: int


@njit(cache=True, nogil=True)
def _without(mask, bit):  # type: ignore[no-untyped-def]
    """Return the mask with the position of ``bit`` removed."""
    low = (1 << bit) - 1
    return (mask & low) | ((mask >> 1) & ~low)


@njit(cache=True, nogil=True)
def _with_gap(mask, bit):  # type: ignore[no-untyped-def]
    """Return the mask with a zero inserted at the position of ``bit``."""
    low = (1 << bit) - 1
    return (mask & low) | ((mask & ~low) << 1)


@njit(cache=True, nogil=True)
def _ones(mask):  # type: ignore[no-untyped-def]
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@njit(cache=True, nogil=True)
def _raise_run(out, start, table, at, node_bit, length, fresh):  # type: ignore[no-untyped-def]
    """Raise a run of ``out`` to the local scores of the sets ``at``, ``at + 1``, ..."""
    scores = out[start : start + length]  # views from zero, so that the loops become vector instructions
    without = table[at : at + length]
    together = table[at + node_bit : at + node_bit + length]
    if fresh:
        for k in range(length):
            scores[k] = together[k] - without[k]
    else:
        for k in range(length):
            value = together[k] - without[k]
            scores[k] = value if value > scores[k] else scores[k]


@njit(cache=True, nogil=True)
def _raise_short_runs(out, start, table, at, node, length, fresh):  # type: ignore[no-untyped-def]
    """Do what ``_raise_run`` does for a node whose bit is so low that its runs are short."""
    scores = out[start : start + length]
    sets = table[at : at + 2 * length]
    bit = 1 << node
    low = bit - 1
    for k in range(length):
        place = (k & low) + ((k & ~low) << 1)
        value = sets[place + bit] - sets[place]
        scores[k] = value if fresh or value > scores[k] else scores[k]


@njit(cache=True, nogil=True)
def _fill_free(table, node, high, start, out, begin, length, fresh):  # type: ignore[no-untyped-def]
    """Raise ``out[begin:begin + length]`` by the sets with high bits ``high`` and places from ``start``."""
    bit = 1 << node
    if (1 << node) >= length:  # the node's bit is above all places of this stretch
        _raise_run(out, begin, table, high + _with_gap(start, node), bit, length, fresh)
        return
    run = 1 << node
    if run < SHORT_RUN:
        _raise_short_runs(out, begin, table, high + 2 * start, node, length, fresh)
        return
    for k in range(0, length, run):
        _raise_run(out, begin + k, table, high + _with_gap(start + k, node), bit, run, fresh)


@njit(cache=True, nogil=True)
def is_allowed(allowed, mask):  # type: ignore[no-untyped-def]
    """Say whether a parent set is allowed."""
    must, may = allowed.must, allowed.may
    return (mask & must) == must and (mask & ~may) == 0 and _ones(mask) <= allowed.at_most


@njit(cache=True, nogil=True)
def _raise_allowed(table, node, low_node, allowed, high, start, run, fresh):  # type: ignore[no-untyped-def]
    """Raise a run of a node's table by the allowed sets alone."""
    bit = 1 << node
    for k in range(run.shape[0]):
        place = start + k
        mask = high + (_with_gap(place, node) if low_node else place)
        value = table[mask + bit] - table[mask] if is_allowed(allowed, mask) else -np.inf
        if fresh or value > run[k]:
            run[k] = value


@njit(cache=True, nogil=True)
def _larger(a, b):  # type: ignore[no-untyped-def]
    return a if a > b else b


@njit(cache=True, nogil=True)
def _close_three_bits(values):  # type: ignore[no-untyped-def]
    """Close each eight neighbours under subsets of their three bits."""
    for k in range(0, values.shape[0] - 7, 8):
        v = values[k : k + 8]
        a0, a2, a4, a6 = v[0], v[2], v[4], v[6]
        a1, a3, a5, a7 = _larger(a0, v[1]), _larger(a2, v[3]), _larger(a4, v[5]), _larger(a6, v[7])
        b2, b3, b6, b7 = _larger(a0, a2), _larger(a1, a3), _larger(a4, a6), _larger(a5, a7)
        v[1], v[2], v[3] = a1, b2, b3
        v[4], v[5], v[6], v[7] = _larger(a0, a4), _larger(a1, a5), _larger(b2, b6), _larger(b3, b7)


@njit(cache=True, nogil=True)
def _close_bits(out, begin, bits):  # type: ignore[no-untyped-def]
    """Close 2^bits neighbouring entries under subsets."""
    size = 1 << bits
    values = out[begin : begin + size]
    step = 1
    if bits >= 3:
        _close_three_bits(values)
        step = 8
    while step < size:
        for base in range(0, size, 2 * step):
            small = values[base : base + step]
            large = values[base + step : base + 2 * step]
            for k in range(step):
                large[k] = small[k] if small[k] > large[k] else large[k]
        step *= 2


@njit(cache=True, nogil=True)
def fill(table, node, low_bits, block, allowed, out, first, last):  # type: ignore[no-untyped-def]
    """Fill the chunks ``first`` to ``last`` of a node's table in a block, closed within each chunk.

    Chunks have ``2^min(LOW_BITS, bits of the table)`` entries. ``block`` holds the high bits, in place.
    """
    low_node = node < low_bits
    bits = low_bits - 1 if low_node else low_bits
    chunk_bits = min(LOW_BITS, bits)
    length = 1 << chunk_bits
    for chunk in range(first, last):
        begin = chunk * length
        high = block
        fresh = True
        while True:  # all subsets of the block, from itself down to the empty one
            if not allowed.free:
                _raise_allowed(table, node, low_node, allowed, high, begin, out[begin : begin + length], fresh)
            elif low_node:
                _fill_free(table, node, high, begin, out, begin, length, fresh)
            else:
                _raise_run(out, begin, table, high + begin, 1 << node, length, fresh)
            fresh = False
            if high == 0:
                break
            high = (high - 1) & block
        _close_bits(out, begin, chunk_bits)


@njit(cache=True, nogil=True)
def close_high(out, first_bit, n_bits, first, last):  # type: ignore[no-untyped-def]
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
def _sinks_one_by_one(best, begin, here):  # type: ignore[no-untyped-def]
    """Finish the entries from ``begin`` in order; each depends only on smaller ones."""
    for s in range(1, here.shape[0]):
        i = 0
        while (1 << i) <= s:
            if (s >> i) & 1:
                less = s - (1 << i)
                here[s] = _larger(here[less] + best[i, _without(begin + less, i)], here[s])
            i += 1


@njit(cache=True, nogil=True)
def _pull_eight(scores, at, here, source, target):  # type: ignore[no-untyped-def]
    """Raise eight entries by one sink that is none of their three lowest bits."""
    before = here[source : source + 8]
    gain = scores[at : at + 8]
    after = here[target : target + 8]
    for k in range(8):
        value = before[k] + gain[k]
        after[k] = value if value > after[k] else after[k]


@njit(cache=True, nogil=True)
def _sinks_of_eight(best, begin, v):  # type: ignore[no-untyped-def]
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
def sinks(best, low_bits, block, opt, chunk_bits, chunks):  # type: ignore[no-untyped-def]
    """Finish ``opt`` for the given chunks of a block; all chunks below them must be finished.

    ``best[i]`` is the closed table of low node i. ``opt`` already holds what was pushed from other blocks, and
    a chunk is 2^chunk_bits neighbouring entries.
    """
    length = 1 << chunk_bits
    for t in chunks:
        begin = t * length
        here = opt[block + begin : block + begin + length]
        for i in range(chunk_bits, low_bits):
            if not (begin >> i) & 1:
                continue
            less = begin - (1 << i)
            before = opt[block + less : block + less + length]
            at = _without(less, i)
            scores = best[i, at : at + length]
            for s in range(length):
                value = before[s] + scores[s]
                here[s] = value if value > here[s] else here[s]
        if chunk_bits < 3:
            _sinks_one_by_one(best, begin, here)
        else:
            for u in range(0, length, 8):
                for i in range(3, chunk_bits):
                    if (u >> i) & 1:
                        _pull_eight(best[i], _without(begin + u - (1 << i), i), here, u - (1 << i), u)
                _sinks_of_eight(best, begin + u, here[u : u + 8])


@njit(cache=True, nogil=True)
def push(scores, block, bit, opt, first, last):  # type: ignore[no-untyped-def]
    """Raise ``opt`` of the block with one more high bit by making that node the sink of every set here."""
    for x in range(first, last):
        value = opt[block + x] + scores[x]
        target = block + bit + x
        opt[target] = value if value > opt[target] else opt[target]


@njit(cache=True, nogil=True)
def best_set(table, node, candidates, must, may, at_most):  # type: ignore[no-untyped-def]
    """Return the best allowed parent set inside ``candidates`` and its score; the smallest mask of ties."""
    bit = 1 << node
    allowed = candidates & may
    best = -np.inf
    chosen = np.int64(-1)
    if (must & ~allowed) != 0:
        return chosen, best
    mask = np.int64(0)
    while True:  # all subsets of allowed, counting up
        if (mask & must) == must and _ones(mask) <= at_most:
            value = table[mask + bit] - table[mask]
            if value > best:
                best = value
                chosen = mask
        if mask == allowed:
            break
        mask = (mask - allowed) & allowed
    return chosen, best


@njit(cache=True, nogil=True)
def scale_by_size(table, constant, power, more):  # type: ignore[no-untyped-def]
    """Turn log-determinants into ``constant[size] - power[size] / 2 * logdet`` in place, size = ones + more."""
    for mask in range(table.shape[0]):
        size = _ones(mask) + more
        table[mask] = constant[size] - 0.5 * power[size] * table[mask]


@njit(cache=True, nogil=True)
def subtract_products(table, arity, rate, high, low_bits):  # type: ignore[no-untyped-def]
    """Subtract ``rate`` times the product of the arities of each set in place, ``high`` being its bits above."""
    if rate == 0.0:
        return
    for mask in range(table.shape[0]):
        product = rate
        rest = (high << low_bits) + mask
        j = 0
        while rest:
            if rest & 1:
                product *= arity[j]
            rest >>= 1
            j += 1
        table[mask] -= product
