"""The k best Markov equivalence classes over every subset of n variables; a set is the bits of an integer.

A DAG over S is a DAG over S - i with a sink i that has parents J ⊆ S - i. Its skeleton and v-structures are
those of the smaller DAG plus the edges of i, plus the v-structures a → i ← b for a, b in J not joined there.
So its class is a function of the smaller class and of (i, J). A class is identified by a code of two 64-bit numbers:
the exclusive or of random numbers, one for each edge of its skeleton and one for each of its v-structures. Where an
edge has its direction told, by interventions for instance, it has a number for each direction.
``local(i, J) = F[J + i] - F[J]`` as in ``kernels/lattice/best_parents.py``.

A class of rank r over S is kept as ``values[S, r]``, ``codes[S, r]`` and the step that made it: ``sinks[S, r]``
with ``parents[S, r]`` on top of the class of rank ``ranks[S, r]`` over the rest. Unused ranks have value -inf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.lattice.subsets import _ones, _with_gap, _without
from dagopt.kernels.store import njit


class Classes(NamedTuple):
    """The best classes of DAGs over each set, from the best down: entry ``[S, rank]``.

    Attributes
    ----------
    values : array
        The score, minus infinity where there is no such class.
    codes : int array
        Two numbers that tell classes apart.
    sinks, parents, ranks : int arrays
        A sink of a member, its parents, and the rank of the class that remains without it.
    """

    values: NDArray[np.float64]
    codes: NDArray[np.int64]
    sinks: NDArray[np.int8]
    parents: NDArray[np.int32]
    ranks: NDArray[np.int32]


class RandomCodes(NamedTuple):
    """Random numbers whose exclusive or is the code of a class: one pair per edge and one per v-structure."""

    edges: NDArray[np.int64]
    colliders: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _lowest(mask):
    """Return the index of the lowest bit."""
    return _ones((mask & -mask) - 1)


@njit(cache=True, nogil=True)
def _merge(masks, values, small, large, new_masks, new_values):
    """Merge row ``small`` into row ``large``: the best of both, from the best down; ties go to ``small``."""
    width = masks.shape[1]
    p = q = 0
    for k in range(width):
        if values[small, p] >= values[large, q]:
            new_masks[k], new_values[k] = masks[small, p], values[small, p]
            p += 1
        else:
            new_masks[k], new_values[k] = masks[large, q], values[large, q]
            q += 1
    for k in range(width):
        masks[large, k], values[large, k] = new_masks[k], new_values[k]


@njit(cache=True, nogil=True)
def best_sets(table, node, must, may, at_most, masks, values):
    """Fill ``masks[x]`` with the best allowed parent sets of a node inside x, from the best down.

    Rows leave the node's own bit out. ``values`` are their local scores, -inf where there are no more sets.
    One bit at a time, the lists of x with and without the bit have no set in common, so merging keeps them exact.
    """
    rows, width = masks.shape
    bit = 1 << node
    for x in range(rows):
        mask = _with_gap(x, node)
        masks[x, :] = -1
        values[x, :] = -np.inf
        if (mask & must) == must and (mask & ~may) == 0 and _ones(mask) <= at_most:
            masks[x, 0] = mask
            values[x, 0] = table[mask + bit] - table[mask]
    new_masks = np.empty(width, dtype=masks.dtype)
    new_values = np.empty(width)
    step = 1
    while step < rows:
        for x in range(rows):
            if x & step and values[x - step, 0] > values[x, width - 1]:
                _merge(masks, values, x - step, x, new_masks, new_values)
        step *= 2


@njit(cache=True, nogil=True)
def _code(classes, random, rest, rank, node, chosen):
    """Return the code of the class that results when a sink with the chosen parents joins a class over ``rest``."""
    _, codes, sinks, parents, ranks = classes
    edges, colliders = random
    one, two = codes[rest, rank, 0], codes[rest, rank, 1]
    left = chosen
    while left:  # all edges, and v-structures of all pairs of parents
        j = _lowest(left)
        left &= left - 1
        one ^= edges[node, j, 0]
        two ^= edges[node, j, 1]
        others = left
        while others:
            k = _lowest(others)
            others &= others - 1
            one ^= colliders[node, j, k, 0]
            two ^= colliders[node, j, k, 1]
    left = chosen
    while left & (left - 1):  # cancel those of pairs that are joined, sink by sink
        j = np.int64(sinks[rest, rank])
        if (left >> j) & 1:
            left ^= 1 << j
            joined = left & parents[rest, rank]
            while joined:
                k = _lowest(joined)
                joined &= joined - 1
                one ^= colliders[node, j, k, 0]
                two ^= colliders[node, j, k, 1]
        rank = np.int64(ranks[rest, rank])
        rest ^= 1 << j
    return one, two


@njit(cache=True, nogil=True)
def _seen(codes, count, one, two, slots, stamp):
    """Say whether the code is among the first ``count``; if not, add it as the next one.

    ``slots`` is a table of (stamp, place); entries with another stamp are empty.
    """
    last = slots.shape[0] - 1
    slot = one & last
    while slots[slot, 0] == stamp:
        place = slots[slot, 1]
        if codes[place, 0] == one and codes[place, 1] == two:
            return True
        slot = (slot + 1) & last
    slots[slot, 0] = stamp
    slots[slot, 1] = count
    return False


@njit(cache=True, nogil=True)
def _rise(keys, pairs, value, node, rank, place, count):
    """Add an entry to a heap of ``count`` entries, with the largest value on top."""
    at = count
    while at > 0 and keys[(at - 1) >> 1] < value:
        above = (at - 1) >> 1
        keys[at] = keys[above]
        pairs[at] = pairs[above]
        at = above
    keys[at] = value
    pairs[at, 0], pairs[at, 1], pairs[at, 2] = node, rank, place


@njit(cache=True, nogil=True)
def _drop_top(keys, pairs, count):
    """Remove the top of a heap of ``count`` entries."""
    last = count - 1
    at = 0
    while 2 * at + 1 < last:
        below = 2 * at + 1
        if below + 1 < last and keys[below + 1] > keys[below]:
            below += 1
        if keys[below] <= keys[last]:
            break
        keys[at] = keys[below]
        pairs[at] = pairs[below]
        at = below
    keys[at] = keys[last]
    pairs[at] = pairs[last]


@njit(cache=True, nogil=True)
def extend(chosen, tables, best, classes, random):
    """Find the best classes of the chosen sets; all their subsets must be done.

    ``tables`` has one table of potentials, or one per node.

    For one sink i the pairs (class of S - i, parents) give different classes, so of the pairs with ranks (a, b),
    counted from 1, those with a b > k have k others before them and are never needed. The rest are taken from
    the best down, over all sinks, and classes already found are skipped.
    """
    values, codes, sinks, parents, ranks = classes
    n = best.shape[0]
    most_sets = best.shape[2]
    k = values.shape[1]
    room = n * (k + 1)
    keys = np.empty(room)
    pairs = np.empty((room, 3), dtype=np.int64)
    # A hash table with room for the codes of k classes.
    size = 4
    while size < 2 * k:
        size *= 2
    slots = np.full((size, 2), -1, dtype=np.int64)
    for whole in chosen:
        # For each sink its best pair: the best class of the rest and the best parents within the rest.
        waiting = 0
        for i in range(n):
            rest = whole ^ (1 << i)
            if not (whole >> i) & 1 or values[rest, 0] == -np.inf:
                continue
            mask = np.int64(best[i, _without(rest, i), 0])
            if mask >= 0:
                table = tables[i % tables.shape[0]]
                value = values[rest, 0] + (table[mask + (1 << i)] - table[mask])
                _rise(keys, pairs, value, i, 0, 0, waiting)
                waiting += 1
        # Take pairs from the best down, and put those in the queue that follow them.
        count = 0
        while waiting > 0 and count < k:
            value = keys[0]
            i, a, b = pairs[0]
            _drop_top(keys, pairs, waiting)
            waiting -= 1
            rest = whole ^ (1 << i)
            own = best[i, _without(rest, i)]
            table = tables[i % tables.shape[0]]
            mask = np.int64(own[b])
            if b + 1 < most_sets and (a + 1) * (b + 2) <= k and own[b + 1] >= 0:
                after = np.int64(own[b + 1])
                _rise(keys, pairs, values[rest, a] + (table[after + (1 << i)] - table[after]), i, a, b + 1, waiting)
                waiting += 1
            if b == 0 and a + 1 < k and values[rest, a + 1] > -np.inf:
                next_value = values[rest, a + 1] + (table[mask + (1 << i)] - table[mask])
                _rise(keys, pairs, next_value, i, a + 1, 0, waiting)
                waiting += 1
            # Keep the class if it is new.
            one, two = _code(classes, random, rest, a, i, mask)
            if _seen(codes[whole], count, one, two, slots, whole):
                continue
            values[whole, count] = value
            codes[whole, count, 0], codes[whole, count, 1] = one, two
            sinks[whole, count], parents[whole, count], ranks[whole, count] = i, mask, a
            count += 1
        values[whole, count:] = -np.inf
