"""The best parent set inside a large set of candidates, for a Gaussian likelihood with a cost per parent.

With K the candidates and P the inverse of the matrix of K + i, var(i | K) = 1 / P_ii, and without one candidate y

    l_i(K) - l_i(K - y) = -N/2 log(1 - P_iy² / (P_ii P_yy)).

Leaving y out is one step of elimination in P. A set T with F ⊆ T ⊆ K scores at most l_i(K) - Λ|F|, so y must be in T if
l_i(K - y) - Λ|F| is not above the best score known. The search branches on the candidate whose loss is largest.

The best sets of one node form a tree. The root is the best set of all; if a node m of the set T of some vertex is not
available, the vertex below it by m has the best set without m and without what was left out above. A walk down from the
root finds the best set inside any set of candidates, and each vertex is computed once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dagopt.kernels.store import njit

ONE = np.uint64(1)  # a bit; with a plain 1 numba would compute in floats
LEAST_SHARE = 1e-300  # of a variance, so that the logarithm is finite


class Trees(NamedTuple):
    """The trees of all nodes; row i belongs to node i, and ``used[i]`` is the number of its vertices.

    ``sets`` are the best sets, ``values`` their scores, ``left_out`` the candidates left out. The vertices below a
    vertex are a list: ``below`` is the first, ``beside`` the next one, ``by`` the node left out; 0 ends a list.
    """

    sets: Any
    values: Any
    left_out: Any
    below: Any
    beside: Any
    by: Any
    used: Any


@njit(cache=True, nogil=True)
def eliminate(matrix, out, y, active, count):
    """Fill the ``count`` active rows and columns of ``out`` with the inverse that is left without variable y."""
    pivot = matrix[y, y]
    for a in range(count):
        r = active[a]
        ratio = matrix[r, y] / pivot
        for b in range(a + 1):
            c = active[b]
            value = matrix[r, c] - ratio * matrix[y, c]
            out[r, c] = value
            out[c, r] = value


@njit(cache=True, nogil=True)
def _list_active(kept, i, active):
    """Fill ``active`` with the nodes of a set and i; return how many there are."""
    count = 0
    for y in range(active.shape[0]):
        if y == i or (kept >> np.uint64(y)) & ONE:
            active[count] = y
            count += 1
    return count


@njit(cache=True, nogil=True)
def _loss(inverse, i, y, half):
    """Return how much the likelihood of i falls when y is left out."""
    share = inverse[i, y] * inverse[i, y] / (inverse[i, i] * inverse[y, y])
    return -half * math.log(max(1.0 - share, LEAST_SHARE))


@njit(cache=True, nogil=True)
def _eliminated_backwards(inverse, i, candidates, half, cost, work):
    """Return a good set, and its score: the candidate with the smallest loss is left out while that is a gain."""
    active = np.empty(inverse.shape[0], dtype=np.int64)
    kept, turn, now = candidates, 0, inverse
    while True:
        count = _list_active(kept, i, active)
        weakest, least = -1, cost
        for a in range(count):
            if active[a] != i:
                loss = _loss(now, i, active[a], half)
                if loss < least:
                    weakest, least = active[a], loss
        if weakest < 0:
            return kept, half * math.log(now[i, i]) - cost * (count - 1)
        kept ^= ONE << np.uint64(weakest)
        count = _list_active(kept, i, active)
        eliminate(now, work[turn], weakest, active, count)
        now = work[turn]
        turn = 1 - turn


@njit(cache=True, nogil=True)
def best_subset(inverse, i, candidates, half, cost, work):
    """Return the best set of parents of i inside the candidates, and its score -N/2 log var(i | T) - Λ|T|.

    Parameters
    ----------
    inverse : array of shape (n, n)
        The inverse of the matrix of the candidates and i; other rows and columns are not read.
    i : int
        The node.
    candidates : uint64
        The candidates as bits.
    half, cost : float
        N/2 and Λ.
    work : array of shape (n + 2, n, n)
        Overwritten.
    """
    n = inverse.shape[0]
    # A good set to begin with, by backward elimination.
    best_set, best = _eliminated_backwards(inverse, i, candidates, half, cost, work[n:])
    kept = np.empty(n + 1, dtype=np.uint64)
    forced = np.empty(n + 1, dtype=np.uint64)
    active = np.empty(n, dtype=np.int64)
    kept[0], forced[0] = candidates, np.uint64(0)
    work[0] = inverse
    depth = 0
    while depth >= 0:
        # The sets below this level lie between the forced members F and the kept candidates K.
        now = work[depth]
        n_kept = _list_active(kept[depth], i, active) - 1
        n_forced = 0
        for a in range(n_kept + 1):
            n_forced += 1 if (forced[depth] >> np.uint64(active[a])) & ONE else 0
        # K itself is one of them: its score is N/2 log P_ii - Λ|K|.
        most = half * math.log(now[i, i])
        if most - cost * n_kept > best:
            best_set, best = kept[depth], most - cost * n_kept
        # Force the candidates without which no set can be better; that raises Λ|F|, which may force others.
        strongest, largest = -1, -1.0
        again = True
        while again and most - cost * n_forced > best:
            again = False
            strongest, largest = -1, -1.0
            for a in range(n_kept + 1):
                y = active[a]
                bit = ONE << np.uint64(y)
                if y != i and not forced[depth] & bit:
                    loss = _loss(now, i, y, half)
                    if most - loss - cost * n_forced <= best:
                        forced[depth] |= bit
                        n_forced += 1
                        again = True
                    elif loss > largest:
                        strongest, largest = y, loss
        # Go back up if nothing is left to choose, or if l_i(K) - Λ|F| is not above the best score.
        if strongest < 0 or most - cost * n_forced <= best:
            depth -= 1
            continue
        # Go down without the candidate of largest loss; coming back, it is forced.
        bit = ONE << np.uint64(strongest)
        kept[depth + 1], forced[depth + 1] = kept[depth] ^ bit, forced[depth]
        forced[depth] |= bit  # the next time that this depth is reached
        count = _list_active(kept[depth + 1], i, active)
        eliminate(now, work[depth + 1], strongest, active, count)
        depth += 1
    return best_set, best


@njit(cache=True, nogil=True)
def _new_vertex(trees, i, left_out, whole, half, cost, work):
    """Add the vertex of a set of nodes that are left out; return its place."""
    n = whole.shape[0]
    turn = 0
    now = whole
    candidates = np.uint64(0)
    for y in range(n):
        if y != i:
            candidates |= ONE << np.uint64(y)
    active = np.empty(n, dtype=np.int64)
    for y in range(n):
        if (left_out >> np.uint64(y)) & ONE:
            candidates ^= ONE << np.uint64(y)
            count = _list_active(candidates, i, active)
            eliminate(now, work[n + 2 + turn], y, active, count)
            now = work[n + 2 + turn]
            turn = 1 - turn
    place = trees.used[i]
    trees.sets[i, place], trees.values[i, place] = best_subset(now, i, candidates, half, cost, work[: n + 2])
    trees.left_out[i, place] = left_out
    trees.below[i, place] = 0
    trees.beside[i, place] = 0
    trees.used[i] = place + 1
    return place


@njit(cache=True, nogil=True)
def plant(trees, i, whole, half, cost):
    """Make the root of the tree of node i; ``whole`` is the inverse of the matrix of all nodes."""
    n = whole.shape[0]
    _new_vertex(trees, i, np.uint64(0), whole, half, cost, np.empty((n + 4, n, n)))


@njit(cache=True, nogil=True)
def walk_down(trees, i, sets, wanted, places, whole, half, cost):
    """Move the ``places`` that are wanted of the tree of node i down to the best sets inside the given sets.

    Returns how many sets were processed: fewer than given if the tree has no more room.
    """
    n = whole.shape[0]
    work = np.empty((n + 4, n, n))
    for k in range(sets.shape[0]):
        if not wanted[k]:
            continue
        at = places[k]
        while trees.sets[i, at] & ~sets[k]:
            missing = trees.sets[i, at] & ~sets[k]
            y = 0
            while not (missing >> np.uint64(y)) & ONE:
                y += 1
            down = trees.below[i, at]
            while down and trees.by[i, down] != y:
                down = trees.beside[i, down]
            if not down:
                if trees.used[i] == trees.sets.shape[1]:
                    places[k] = at
                    return k
                left_out = trees.left_out[i, at] | (ONE << np.uint64(y))
                down = _new_vertex(trees, i, left_out, whole, half, cost, work)
                trees.by[i, down] = y
                trees.beside[i, down] = trees.below[i, at]
                trees.below[i, at] = down
            at = down
        places[k] = at
    return sets.shape[0]
