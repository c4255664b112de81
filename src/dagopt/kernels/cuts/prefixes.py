"""Search over prefixes: which sets of nodes can come first in the order of a DAG that is better than the best so far.

The listed parent sets of node i are sorted by value, best first. Bit b of ``bits[first_word[i] + w, j]`` says whether
set 64 w + b of the list contains node j. The sets without any of the nodes after a prefix are those whose bit is zero
in the union over these nodes, so the best one is found by looking at a few words. A set of nodes is one 64-bit word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dagopt.kernels.store import njit

ONE = np.uint64(1)  # a bit; with a plain 1 numba would compute in floats
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio: products spread over all bits (Knuth)
FULL = 0.6  # the share of a table that may be filled: fuller tables are slow


class Lists(NamedTuple):
    """The parent sets of each node, sorted by one value: those of node i are ``starts[i]`` to ``starts[i + 1]``."""

    bits: Any
    first_word: Any
    values: Any
    starts: Any


class Table(NamedTuple):
    """A hash table of prefixes: the set (0 for an empty slot), its score, its loss, and the node that came last."""

    keys: Any
    score: Any
    loss: Any
    last: Any


class Groups(NamedTuple):
    """Disjoint groups of nodes, with a bound on the score of each subset of a group when its nodes come last.

    ``nodes[starts[q] : starts[q + 1]]`` is group q, and ``values[first[q] + R]`` belongs to its subset R.
    """

    nodes: Any
    starts: Any
    values: Any
    first: Any


@njit(cache=True, nogil=True)
def fill_bits(masks, bits):
    """Fill the words of one list from its sets, given as masks; bits after the last set are ones, so they never fit."""
    n = bits.shape[1]
    for k in range(masks.shape[0]):
        for j in range(n):
            if (masks[k] >> np.uint64(j)) & ONE:
                bits[k >> 6, j] |= ONE << np.uint64(k & 63)
    for k in range(masks.shape[0], 64 * bits.shape[0]):
        for j in range(n):
            bits[k >> 6, j] |= ONE << np.uint64(k & 63)


@njit(cache=True, nogil=True)
def _lowest(word):
    """Return the position of the lowest bit that is set."""
    low = word & (~word + ONE)
    place = 0
    if low & np.uint64(0xFFFFFFFF00000000):
        place += 32
    if low & np.uint64(0xFFFF0000FFFF0000):
        place += 16
    if low & np.uint64(0xFF00FF00FF00FF00):
        place += 8
    if low & np.uint64(0xF0F0F0F0F0F0F0F0):
        place += 4
    if low & np.uint64(0xCCCCCCCCCCCCCCCC):
        place += 2
    if low & np.uint64(0xAAAAAAAAAAAAAAAA):
        place += 1
    return place


@njit(cache=True, nogil=True)
def first_fitting(lists, i, out, count):
    """Return the position of the best set of node i without any of the nodes ``out[:count]``; -1 if there is none.

    ``out`` has at least one node.
    """
    first = lists.first_word[i]
    for w in range(first, lists.first_word[i + 1]):
        taken = np.uint64(0)
        for t in range(count):
            taken |= lists.bits[w, out[t]]
        if ~taken:
            return 64 * (w - first) + _lowest(~taken)
    return -1


@njit(cache=True, nogil=True)
def fill_group(lists, group, values):
    """Fill ``values[R]`` with the best total of the nodes R of a group; only cycles among these nodes are forbidden."""
    size = group.shape[0]
    out = np.empty(size, dtype=np.int64)
    values[0] = 0.0
    for part in range(1, 1 << size):
        count = np.int64(0)
        for b in range(size):
            if (part >> b) & 1:
                out[count] = group[b]
                count += 1
        values[part] = -np.inf
        for b in range(size):
            if (part >> b) & 1:
                k = first_fitting(lists, group[b], out, count)
                if k >= 0:
                    own = lists.values[lists.starts[group[b]] + k] + values[part ^ (1 << b)]
                    values[part] = max(values[part], own)


@njit(cache=True, nogil=True)
def _rest(groups, prefix):
    """Return an upper bound on the total score of the nodes outside a prefix."""
    total = 0.0
    for q in range(groups.first.shape[0]):
        part = 0
        for b in range(groups.starts[q], groups.starts[q + 1]):
            if not (prefix >> np.uint64(groups.nodes[b])) & ONE:
                part |= 1 << (b - groups.starts[q])
        total += groups.values[groups.first[q] + part]
    return total


@njit(cache=True, nogil=True)
def slot(keys, key):
    """Return where a key is, or where it belongs."""
    last = np.uint64(keys.shape[0] - 1)
    at = ((key * GOLDEN) >> np.uint64(20)) & last
    while keys[at] != 0 and keys[at] != key:
        at = (at + ONE) & last
    return at


@njit(cache=True, nogil=True)
def _put(table, key, score, loss, node):
    """Keep the best score and the least loss of a prefix; return whether it is new."""
    at = slot(table.keys, key)
    if table.keys[at] == 0:
        table.keys[at] = key
        table.score[at] = score
        table.loss[at] = loss
        table.last[at] = node
        return True
    if score > table.score[at] or (score == table.score[at] and node < table.last[at]):
        table.score[at] = score
        table.last[at] = node
    table.loss[at] = max(table.loss[at], loss)
    return False


@njit(cache=True, nogil=True)
def merge(table, used, keys, score, loss, last):
    """Put prefixes into a table that has room for them; return how many it then holds."""
    for k in range(keys.shape[0]):
        if keys[k] != 0:
            used += _put(table, keys[k], score[k], loss[k], np.int64(last[k]))
    return used


@njit(cache=True, nogil=True)
def expand(prefixes, score, loss, by_score, by_loss, groups, limits, table, used):
    """Add every prefix with one more node to the table, unless no better DAG begins with it.

    ``limits`` are the score to beat and the lowest loss allowed (losses are negative). If some node can take its best
    set of all, only that node needs to come next: it loses nothing, and all others can have it as a parent. Returns how
    many prefixes the table holds and how many were expanded, which is fewer than given if the table has no more room.
    """
    n = by_score.starts.shape[0] - 1
    out = np.empty(n, dtype=np.int64)
    room = FULL * table.keys.shape[0] - n
    for q in range(prefixes.shape[0]):
        if used >= room:
            return used, q
        count = np.int64(0)
        for j in range(n):
            if not (prefixes[q] >> np.uint64(j)) & ONE:
                out[count] = j
                count += 1
        only = -1
        for t in range(count):
            if first_fitting(by_score, out[t], out, count) == 0:
                only = out[t]
                break
        for t in range(count):
            i = out[t]
            if only >= 0 and i != only:
                continue
            least = first_fitting(by_loss, i, out, count)
            if least < 0:
                continue
            own_loss = loss[q] + by_loss.values[by_loss.starts[i] + least]
            if own_loss < limits[1]:
                continue
            best = first_fitting(by_score, i, out, count)
            own_score = score[q] + by_score.values[by_score.starts[i] + best]
            grown = prefixes[q] | (ONE << np.uint64(i))
            if own_score + _rest(groups, grown) >= limits[0]:
                used += _put(table, grown, own_score, own_loss, i)
    return used, prefixes.shape[0]
