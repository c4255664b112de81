"""The steps of the recursion over subsets with whole arrays: for few variables, without compiling anything.

Each function does what the kernel of its name does, to the last digit: both take only differences, sums of two numbers
and maxima.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.kernels.lattice.best_orders import Tables
from dagopt.kernels.lattice.best_parents import LOWER_BITS, Block, Shape
from dagopt.kernels.lattice.subsets import Allowed

__all__ = [
    "STEPS_PER_OPERATION",
    "around_arrays",
    "best_set_arrays",
    "extend_arrays",
    "extend_back_arrays",
    "fill_arrays",
    "with_and_without_arrays",
]


STEPS_PER_OPERATION = 30  # one operation on a short array takes about ten microseconds


def fill_arrays(
    table: Floats, node: int, shape: Shape, block: Block, allowed: Allowed, out: Floats, first: int, last: int
) -> None:
    """Fill the tiles ``first`` to ``last`` of a node's table in a block, closed under subsets of rows."""
    lower = min(LOWER_BITS, shape.place_bits)
    length = 1 << (lower - 1 if node < lower else lower)
    tile = np.arange(out.shape[0] * length)
    place = np.arange(first, last) << (lower + shape.row_bits)
    if node < lower + shape.row_bits:
        tile = _with_gap(tile, node)
    else:
        place = _with_gap(place, node)
    sets = (place[:, np.newaxis] + tile).reshape(last - first, out.shape[0], length)
    own = out[:, first * length : last * length]
    found = own.copy() if block.new else np.full(own.shape, -np.inf)
    others = block.bits ^ block.new
    inside = others
    while True:
        masks = (sets + (inside | block.new)).swapaxes(0, 1).reshape(own.shape)
        scores = table[masks + (1 << node)] - table[masks]
        _rule_out(scores, masks, allowed)
        np.maximum(found, scores, out=found)
        if inside == 0:
            break
        inside = (inside - 1) & others
    _close(found.reshape(-1), own.shape[1])
    own[:] = found


def extend_arrays(tables: Tables, shape: Shape, block: int, opt: Floats, chosen: Ints) -> None:
    """Finish ``opt`` for the chosen rows of a block; all rows inside them must be finished."""
    bits = shape.place_bits
    size = 1 << bits
    for row in chosen.tolist():
        begin = block + (row << bits)
        here = opt[begin : begin + size]
        for b in range(shape.row_bits):
            less = row & ~(1 << b)
            own = tables.rows[b, int(_without(np.int64(less), b))]
            if less == row:
                _close(own, 1)
            else:
                before = block + (less << bits)
                np.maximum(here, opt[before : before + size] + own, out=here)
        best = tables.places[:, row].copy()
        for own in best:
            _close(own, 1)
        for i, targets, sources, places in _sink_steps(bits):
            here[targets] = np.maximum(here[targets], here[sources] + best[i, places])
        for b in range(len(tables.highs)):
            bit = 1 << (bits + shape.row_bits + b)
            if not block & bit:
                own = tables.highs[b, row].copy()
                _close(own, 1)
                there = opt[begin + bit : begin + bit + size]
                np.maximum(there, here + own, out=there)


def extend_back_arrays(tables: Tables, shape: Shape, block: int, rest: Floats, chosen: Ints) -> None:
    """Finish ``rest`` for the chosen rows of a block; all rows that contain them must be finished."""
    bits = shape.place_bits
    size = 1 << bits
    for row in chosen.tolist():
        begin = block + (row << bits)
        here = rest[begin : begin + size]
        later = [
            (size << b, tables.rows[b, int(_without(np.int64(row), b))])
            for b in range(shape.row_bits)
            if not row >> b & 1
        ]
        for b in range(len(tables.highs)):
            bit = 1 << (bits + shape.row_bits + b)
            if not block & bit:
                later.append((bit, tables.highs[b, row]))
        for more, own in later:
            _close(own, 1)
            np.maximum(here, rest[begin + more : begin + more + size] + own, out=here)
        best = tables.places[:, row].copy()
        for own in best:
            _close(own, 1)
        for i, targets, sources, places in reversed(_sink_steps(bits)):
            here[sources] = np.maximum(here[sources], here[targets] + best[i, places])


def around_arrays(opt: Floats, rest: Floats, node: int, out: Floats, chunk_bits: int, first: int, last: int) -> None:
    """Fill chunks of a table of complements with ``opt[S] + rest[S + i]``, closed within each chunk."""
    own = out[first << chunk_bits : last << chunk_bits]
    place = _with_gap(len(out) - 1 - np.arange(first << chunk_bits, last << chunk_bits), node)
    own[:] = opt[place] + rest[place + (1 << node)]
    for chunk in own.reshape(last - first, -1):
        _close(chunk, 1)


def with_and_without_arrays(
    table: Floats, node: int, allowed: Allowed, above: Floats, chunk_bits: int, first: int, last: int, found: Floats
) -> None:
    """Raise ``found`` to the best scores with and without each parent, and with it before the node but no parent."""
    sets = np.arange(first << chunk_bits, last << chunk_bits)
    masks = _with_gap(sets, node)
    scores = table[masks + (1 << node)] - table[masks]
    _rule_out(scores, masks, allowed)
    beyond = len(above) - 1 - sets
    values = scores + above[beyond]
    for b in range(found.shape[1]):
        inside = sets >> b & 1 == 1
        apart = scores[~inside] + above[beyond[~inside] - (1 << b)]
        best = [part.max(initial=-np.inf) for part in (values[inside], values[~inside], apart)]
        np.maximum(found[:, b], best, out=found[:, b])


def best_set_arrays(
    table: Floats, node: int, candidates: int, must: int, may: int, at_most: int
) -> tuple[np.int64, np.float64]:
    """Return the best allowed parent set inside ``candidates`` and its score; the smallest mask of ties."""
    allowed, masks = int(candidates & may), np.arange(len(table))
    fits = (masks & ~np.int64(allowed) == 0) & (masks & must == must)
    if allowed.bit_count() > at_most:
        fits &= np.bitwise_count(masks) <= at_most
    masks = masks[fits]
    scores = table[masks + (1 << node)] - table[masks]
    place = int(np.argmax(scores)) if len(scores) else -1
    if place < 0 or not scores[place] > -np.inf:
        return np.int64(-1), np.float64(-np.inf)
    return masks[place], scores[place]


def _rule_out(scores: Floats, masks: Ints, allowed: Allowed) -> None:
    """Set the scores of parent sets that are not allowed to minus infinity."""
    if not allowed.free:
        fits = (masks & allowed.must == allowed.must) & (masks & ~np.int64(allowed.may) == 0)
        scores[~fits | (np.bitwise_count(masks) > allowed.at_most)] = -np.inf


def _close(values: Floats, step: int) -> None:
    """Close a run of numbers under the subsets of the bits of its index from ``step`` up."""
    while step < values.size:
        halves = values.reshape(-1, 2, step)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
        step *= 2


@lru_cache(maxsize=8)
def _sink_steps(bits: int) -> list[tuple[int, Ints, Ints, Ints]]:
    """Return, from small sets to large ones: a sink, the sets that it ends, these without it, and their places."""
    sets = np.arange(1 << bits)
    sizes = np.bitwise_count(sets)
    steps = []
    for size in range(1, bits + 1):
        for i in range(bits):
            targets = sets[(sizes == size) & (sets >> i & 1 == 1)]
            sources = targets ^ (1 << i)
            steps.append((i, targets, sources, _without(sources, i)))
    return steps


def _with_gap(masks: Ints, bit: int) -> Ints:
    """Return masks with a zero inserted at the position of a bit."""
    low = (1 << bit) - 1
    gapped: Ints = (masks & low) | ((masks & ~np.int64(low)) << 1)
    return gapped


def _without(masks: Ints | np.int64, bit: int) -> Ints:
    """Return masks with the position of a bit removed."""
    low = (1 << bit) - 1
    removed: Ints = np.asarray((masks & low) | ((masks >> 1) & ~np.int64(low)))
    return removed
