"""Computations at a node of the tree: precedence and its consequences, and what rows subtract from the scores.

Sets of nodes are rows of 64-bit words. A family (i, J) puts J before i. If ``after[k]`` holds the nodes whose
addition to J would improve family k, a best DAG that uses the family has these nodes after i.
"""

from __future__ import annotations

import numpy as np

from dagopt.kernels.store import njit

ONE = np.uint64(1)  # a bit; with a plain 1 numba would compute in floats


@njit(cache=True, nogil=True)
def _has(row, j):
    return (row[j >> 6] >> np.uint64(j & 63)) & ONE != 0


@njit(cache=True, nogil=True)
def _put(row, j):
    row[j >> 6] |= ONE << np.uint64(j & 63)


@njit(cache=True, nogil=True)
def propagate(words, after, offsets, later, alive):
    """Close ``later`` under transitivity and under what all remaining families of a node imply; False if none remain.

    ``later[i]`` is the set of nodes that come after i. Families that contradict it are no longer ``alive``. Both are
    changed in place until nothing more follows.
    """
    n, width = later.shape
    earlier = np.empty((n, width), dtype=np.uint64)
    common = np.empty((2, width), dtype=np.uint64)
    while True:
        # Transitivity (Warshall): what comes after k comes after all that k comes after.
        for k in range(n):
            for i in range(n):
                if _has(later[i], k):
                    for w in range(width):
                        later[i, w] |= later[k, w]
        # The same relation the other way round; a node after itself is a contradiction.
        earlier[:] = 0
        for i in range(n):
            if _has(later[i], i):
                return False
            for j in range(n):
                if _has(later[i], j):
                    _put(earlier[j], i)
        changed = False
        for i in range(n):
            # Families that contradict the order are dropped; the others have these parents and these later nodes in
            # common.
            common[:] = ~np.uint64(0)
            left = False
            for k in range(offsets[i], offsets[i + 1]):
                if not alive[k]:
                    continue
                fits = True
                for w in range(width):
                    if words[k, w] & later[i, w] or after[k, w] & earlier[i, w]:
                        fits = False
                        break
                if not fits:
                    alive[k] = False
                    continue
                left = True
                for w in range(width):
                    common[0, w] &= words[k, w]
                    common[1, w] &= after[k, w]
            # What all have in common follows: common parents come earlier, common later nodes later.
            if not left:
                return False
            for j in range(n):
                if _has(common[0], j) and not _has(later[j], i):
                    _put(later[j], i)
                    changed = True
                if _has(common[1], j) and not _has(later[i], j):
                    _put(later[i], j)
                    changed = True
        if not changed:
            return True


@njit(cache=True, nogil=True)
def improvable(words, score, offsets, least, first, last, after):
    """Fill ``after[k]`` with the nodes b for which some family inside J + b scores more than family k by ``least``.

    This is done for the families of the nodes from ``first`` to ``last``, each sorted from the best score down. A
    better family with exactly one member outside J names that member.
    """
    width = words.shape[1]
    for i in range(first, last):
        for k in range(offsets[i], offsets[i + 1]):
            for other in range(offsets[i], k):
                if score[other] <= score[k] + least:
                    break
                place = -1
                extra = np.uint64(0)
                for w in range(width):
                    more = words[other, w] & ~words[k, w]
                    if more:
                        if place >= 0 or more & (more - ONE):
                            place = -2
                            break
                        place = w
                        extra = more
                if place >= 0:
                    after[k, place] |= extra


@njit(cache=True, nogil=True)
def take_row(index, value, weight, remainder):
    """Subtract a row, ``value`` at ``index``, times its weight from ``remainder``."""
    for q in range(index.shape[0]):
        remainder[index[q]] -= weight * value[q]


@njit(cache=True, nogil=True)
def best_remainders(remainder, alive, offsets, best):
    """Fill ``best`` with each node's largest remainder over the families alive."""
    for i in range(offsets.shape[0] - 1):
        best[i] = -np.inf
        for k in range(offsets[i], offsets[i + 1]):
            if alive[k] and remainder[k] > best[i]:
                best[i] = remainder[k]


@njit(cache=True, nogil=True)
def covered_pairs(node, words, offsets, rank, pairs):
    """Write pairs of families (p, J), (r, J + p) with r of higher priority, ``rank[r] < rank[p]``; return how many.

    They are the two ends of a covered arc p → r. At most ``len(pairs)`` pairs are written.
    """
    count = 0
    width = words.shape[1]
    target = np.empty(width, dtype=np.uint64)
    for k in range(node.shape[0]):
        r = node[k]
        for p in range(offsets.shape[0] - 1):
            if not _has(words[k], p) or rank[r] >= rank[p]:
                continue
            for w in range(width):
                target[w] = words[k, w]
            target[p >> 6] ^= ONE << np.uint64(p & 63)
            for other in range(offsets[p], offsets[p + 1]):
                same = True
                for w in range(width):
                    if words[other, w] != target[w]:
                        same = False
                        break
                if same:
                    if count == pairs.shape[0]:
                        return count
                    pairs[count, 0] = other
                    pairs[count, 1] = k
                    count += 1
                    break
    return count


@njit(cache=True, nogil=True)
def _at_or_behind(index, low, high, family):
    """Return the first place from ``low`` to ``high`` whose family is not before ``family``."""
    step = 1
    while low + step < high and index[low + step] < family:
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high) // 2
        if index[middle] < family:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def entries(index, value, places, out):
    """Fill ``out`` with a row's values at ``places``, which are in increasing order, as is ``index``."""
    at, last = 0, index.shape[0]
    for k in range(places.shape[0]):
        at = _at_or_behind(index, at, last, places[k])
        if at == last:
            break
        if index[at] == places[k]:
            out[k] = value[at]
