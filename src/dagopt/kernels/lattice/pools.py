"""The subset recursion over given candidate parent sets, with memory for one number per set.

A block is all sets with the same high bits T. Its tables of best parents are recomputed from the candidates
whose high bits lie in T, so only ``opt`` is kept; and since a node is never its own parent, the table of
a high node b in T also serves the sets without b. Blocks with the same number of high bits do not depend on
each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.lattice.best_orders import sinks
from dagopt.kernels.lattice.subsets import _close_bits, _raise_by_sums, _without
from dagopt.kernels.store import njit


class PoolForm(NamedTuple):
    """The candidates of all nodes: the k-th of node i is at ``offsets[i] + k``; a block has 2^low_bits sets."""

    masks: NDArray[np.int64]
    scores: NDArray[np.float64]
    offsets: NDArray[np.int64]
    low_bits: int


@njit(cache=True, nogil=True)
def _table(masks, scores, low_bits, block, node, out):
    """Fill ``out`` with the best candidate inside each set of the block; a low node's own bit is left out."""
    low_node = node < low_bits
    bits = low_bits - 1 if low_node else low_bits
    places = (1 << low_bits) - 1
    for x in range(1 << bits):
        out[x] = -np.inf
    for k in range(masks.shape[0]):
        if (masks[k] >> low_bits) & ~block:
            continue
        x = masks[k] & places
        if low_node:
            x = _without(x, node)
        if scores[k] > out[x]:
            out[x] = scores[k]
    _close_bits(out, 0, bits)


@njit(cache=True, nogil=True)
def blocks(form, opt, chosen):
    """Finish ``opt`` for the chosen blocks; all blocks inside them must be finished."""
    masks, scores, offsets, low_bits = form
    n = offsets.shape[0] - 1
    size = 1 << low_bits
    tables = np.empty((low_bits, max(size >> 1, 1)))
    table = np.empty(size)
    for block in chosen:
        base = block << low_bits
        here = opt[base : base + size]
        for b in range(low_bits, n):
            if not (block >> (b - low_bits)) & 1:
                continue
            _table(masks[offsets[b] : offsets[b + 1]], scores[offsets[b] : offsets[b + 1]], low_bits, block, b, table)
            _raise_by_sums(here, opt[base - (1 << b) : base - (1 << b) + size], table)
        for i in range(low_bits):
            own = slice(offsets[i], offsets[i + 1])
            _table(masks[own], scores[own], low_bits, block, i, tables[i])
        sinks(tables, here)


@njit(cache=True, nogil=True)
def best_candidate(masks, scores, inside):
    """Return the index of the best candidate inside a set, the first of ties, or -1."""
    best = -np.inf
    chosen = -1
    for k in range(masks.shape[0]):
        if (masks[k] & ~inside) == 0 and scores[k] > best:
            best = scores[k]
            chosen = k
    return chosen
