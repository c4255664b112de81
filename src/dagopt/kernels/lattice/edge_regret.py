"""The best DAG with each edge and without it, over the lattice of subsets; a set is the bits of an integer.

``opt[S]`` is the best score of a DAG over S (``kernels/lattice/best_orders.py``) and ``rest[S]`` is the most that the
variables outside S can add when those of S come before them:

    rest[V] = 0,    rest[S] = max over i outside S of best_i[S] + rest[S + i].

So ``local(i, J) + max over S ⊇ J without i of opt[S] + rest[S + i]`` is the best score of a DAG in which i has exactly
the parents J. The maximum over supersets is a maximum over subsets of complements: in that table, the index of an
entry is the complement of its set. Tables of a node leave its own bit out.

In a DAG that does not join i and x one of the two comes first. With x before i the best score is the maximum over J
without x of ``local(i, J)`` plus the same maximum over the S ⊇ J + x; the other order is computed at the other node.
"""

from __future__ import annotations

import numpy as np

from dagopt.kernels.lattice.best_orders import close_places
from dagopt.kernels.lattice.pools import _table
from dagopt.kernels.lattice.subsets import _close_bits, _larger, _raise_by_sums, _with_gap, _without, is_allowed
from dagopt.kernels.store import njit


@njit(cache=True, nogil=True)
def _sources_one_by_one(best, here):
    """Finish the entries in falling order; each depends only on larger ones."""
    for s in range(here.shape[0] - 2, -1, -1):
        i = 0
        while (1 << i) < here.shape[0]:
            if not (s >> i) & 1:
                here[s] = _larger(here[s + (1 << i)] + best[i, _without(s, i)], here[s])
            i += 1


@njit(cache=True, nogil=True)
def _sources_of_eight(best, begin, v):
    """Finish eight entries by letting the nodes among their three lowest bits come next."""
    a = best[0, begin >> 1 : (begin >> 1) + 4]  # node 0 after 0, 2, 4, 6
    b = best[1, begin >> 1 : (begin >> 1) + 4]  # node 1 after 0, 1, 4, 5
    c = best[2, begin >> 1 : (begin >> 1) + 4]  # node 2 after 0, 1, 2, 3
    v[6] = _larger(v[7] + a[3], v[6])
    v[5] = _larger(v[7] + b[3], v[5])
    v[4] = _larger(v[5] + a[2], _larger(v[6] + b[2], v[4]))
    v[3] = _larger(v[7] + c[3], v[3])
    v[2] = _larger(v[3] + a[1], _larger(v[6] + c[2], v[2]))
    v[1] = _larger(v[3] + b[1], _larger(v[5] + c[1], v[1]))
    v[0] = _larger(v[1] + a[0], _larger(v[2] + b[0], _larger(v[4] + c[0], v[0])))


@njit(cache=True, nogil=True)
def sources(best, here):
    """Finish ``here``, the entries of ``rest`` for all places of one row, by letting a node of the place come next.

    The twin of ``best_orders.sinks``: ``best[i]`` is the closed table of node i, without its bit, and ``here`` already
    holds what other nodes give.
    """
    size = here.shape[0]
    if size < 8:
        _sources_one_by_one(best, here)
        return
    for at in range(size - 8, -1, -8):
        i = 3
        while (1 << i) < size:
            if not (at >> i) & 1:
                more = at + (1 << i)
                place = _without(at, i)
                _raise_by_sums(here[at : at + 8], here[more : more + 8], best[i, place : place + 8])
            i += 1
        _sources_of_eight(best, at, here[at : at + 8])


@njit(cache=True, nogil=True)
def extend_back(tables, shape, block, rest, chosen):
    """Finish ``rest`` for the chosen rows of a block; all rows that contain them must be finished.

    The twin of ``best_orders.extend``, for blocks from the one with all high nodes down.
    """
    bits = shape.place_bits
    size = 1 << bits
    best = np.empty((bits, max(size >> 1, 1)))
    for row in chosen:
        begin = block + (row << bits)
        here = rest[begin : begin + size]
        for b in range(shape.row_bits):
            if not (row >> b) & 1:
                own = tables.rows[b, _without(row, b)]
                _close_bits(own, 0, bits)
                _raise_by_sums(here, rest[begin + (size << b) : begin + (size << b) + size], own)
        for b in range(tables.highs.shape[0]):
            bit = 1 << (bits + shape.row_bits + b)
            if not block & bit:
                _close_bits(tables.highs[b, row], 0, bits)
                _raise_by_sums(here, rest[begin + bit : begin + bit + size], tables.highs[b, row])
        close_places(tables.places, row, best)
        sources(best, here)


@njit(cache=True, nogil=True)
def blocks_back(form, rest, chosen):
    """Finish ``rest`` for the chosen blocks of a pool; all blocks that contain them must be finished.

    The twin of ``pools.blocks``.
    """
    masks, scores, offsets, low_bits = form
    n = offsets.shape[0] - 1
    size = 1 << low_bits
    tables = np.empty((low_bits, max(size >> 1, 1)))
    table = np.empty(size)
    for block in chosen:
        base = block << low_bits
        here = rest[base : base + size]
        for b in range(low_bits, n):
            if (block >> (b - low_bits)) & 1:
                continue
            own = slice(offsets[b], offsets[b + 1])
            _table(masks[own], scores[own], low_bits, block, b, table)
            more = base + (1 << b)
            _raise_by_sums(here, rest[more : more + size], table)
        for i in range(low_bits):
            own = slice(offsets[i], offsets[i + 1])
            _table(masks[own], scores[own], low_bits, block, i, tables[i])
        sources(tables, here)


@njit(cache=True, nogil=True)
def around(opt, rest, node, out, chunk_bits, first, last):
    """Fill chunks of a table of complements with ``opt[S] + rest[S + i]``, closed within each chunk."""
    length = 1 << chunk_bits
    final = out.shape[0] - 1
    for chunk in range(first, last):
        for x in range(chunk * length, (chunk + 1) * length):
            place = _with_gap(final - x, node)
            out[x] = opt[place] + rest[place + (1 << node)]
        _close_bits(out, chunk * length, chunk_bits)


@njit(cache=True, nogil=True)
def _raise_parents(found, first_bit, x, value):
    """Raise ``found`` to a score of the sets whose bits from ``first_bit`` on are ``x``."""
    for b in range(first_bit, found.shape[1]):
        without = 1 - ((x >> b) & 1)
        found[without, b] = _larger(value, found[without, b])


@njit(cache=True, nogil=True)
def _raise_apart(found, chunk_bits, chunk, scores, above):
    """Raise ``found[x]`` to the best score in which x comes before the node but is no parent of it.

    ``scores`` are the local scores of the parent sets of a chunk.
    """
    length = 1 << chunk_bits
    start = above.shape[0] - 1 - chunk * length
    for b in range(chunk_bits):
        bit = 1 << b
        best = -np.inf
        for first in range(0, length, 2 * bit):
            for k in range(first, first + bit):
                best = _larger(scores[k] + above[start - bit - k], best)
        found[b] = _larger(best, found[b])
    for b in range(chunk_bits, found.shape[0]):
        if not ((chunk << chunk_bits) >> b) & 1:
            best = -np.inf
            for k in range(length):
                best = _larger(scores[k] + above[start - (1 << b) - k], best)
            found[b] = _larger(best, found[b])


@njit(cache=True, nogil=True)
def with_and_without(table, node, allowed, above, chunk_bits, first, last, found):
    """Raise ``found[0, x]`` and ``found[1, x]`` to the best scores with and without each parent.

    The maximum is over the sets J of the chunks ``first`` to ``last``; ``above`` is the closed table of ``around``.
    Indices leave the node's bit out. ``found[2, x]`` is raised to the best score with x before the node but not as its
    parent.
    """
    length = 1 << chunk_bits
    final = above.shape[0] - 1
    scores = np.empty(length)
    values = np.empty(length)
    for chunk in range(first, last):
        for k in range(length):
            x = chunk * length + k
            mask = _with_gap(x, node)
            scores[k] = -np.inf
            if allowed.free or is_allowed(allowed, mask):
                scores[k] = table[mask + (1 << node)] - table[mask]
            values[k] = scores[k] + above[final - x]
        _raise_apart(found[2], chunk_bits, chunk, scores, above)
        half = length >> 1
        for b in range(chunk_bits - 1, -1, -1):  # fold the chunk over its highest bit, then the next, to one number
            lower, upper = -np.inf, -np.inf
            for k in range(half):
                lower = _larger(values[k], lower)
                upper = _larger(values[half + k], upper)
                values[k] = _larger(values[half + k], values[k])
            found[0, b] = _larger(upper, found[0, b])
            found[1, b] = _larger(lower, found[1, b])
            half >>= 1
        _raise_parents(found, chunk_bits, chunk * length, values[0])


@njit(cache=True, nogil=True)
def listed_with_and_without(masks, scores, node, above, found):
    """Do what ``with_and_without`` does over listed parent sets."""
    final = above.shape[0] - 1
    for k in range(masks.shape[0]):
        x = _without(masks[k], node)
        _raise_parents(found, 0, x, scores[k] + above[final - x])
        for b in range(found.shape[1]):
            if not (x >> b) & 1:
                found[2, b] = _larger(scores[k] + above[final - x - (1 << b)], found[2, b])
