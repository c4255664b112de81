"""The best parent set inside a large set of candidates, for a Gaussian likelihood of blocks with a cost per parent.

Node j is a block of columns, often of one. With K the candidates and P the inverse of the matrix of K + i, the
likelihood of i is half log det P_ii, and without one candidate y

    l_i(K) - l_i(K - y) = half (log det P_ii - log det(P_ii - P_iy P_yy^-1 P_yi)),

which for single columns is -half log(1 - P_iy² / (P_ii P_yy)). Leaving y out is one step of elimination in P for each
column of y. A set T with F ⊆ T ⊆ K scores at most l_i(K) less the costs of F, so y must be in T if l_i(K - y) less
these costs is not above the best score known. The search branches on the candidate whose loss is largest.

The best sets of one node form a tree. The root is the best set of all; if a node m of the set T of some vertex is not
available, the vertex below it by m has the best set without m and without what was left out above. A walk down from the
root finds the best set inside any set of candidates, and each vertex is computed once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dagopt.kernels.gaussian.block_matrices import logdet_of
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
def _leave_out(matrix, out, starts, y, active, count):
    """Fill ``out`` with the inverse without block y; ``active`` are the ``count`` columns that stay, and has room."""
    first, last = starts[y], starts[y + 1] - 1
    for column in range(last, first - 1, -1):
        for k in range(column - first):
            active[count + k] = first + k
        if column == last:
            eliminate(matrix, out, column, active, count + column - first)
        else:
            eliminate(out, out, column, active, count + column - first)


@njit(cache=True, nogil=True)
def _list_active(kept, i, starts, active):
    """Fill ``active`` with the columns of the nodes of a set and of i; return how many there are."""
    count = 0
    for y in range(starts.shape[0] - 1):
        if y == i or (kept >> np.uint64(y)) & ONE:
            for column in range(starts[y], starts[y + 1]):
                active[count] = column
                count += 1
    return count


@njit(cache=True, nogil=True)
def _loss(inverse, starts, i, y, half, own, room):
    """Return how much the likelihood of i falls when y is left out; ``own`` is log det of the block of i."""
    a, b = starts[i], starts[y]
    if starts[i + 1] - a == 1 and starts[y + 1] - b == 1:
        share = inverse[a, b] * inverse[a, b] / (inverse[a, a] * inverse[b, b])
        return -half * math.log(max(1.0 - share, LEAST_SHARE))
    # log det of i given y, by a Cholesky factorisation of both blocks, y first
    width, left = starts[y + 1] - b, 0.0
    for r in range(width + starts[i + 1] - a):
        row = b + r if r < width else a + r - width
        for c in range(r + 1):
            value = inverse[row, b + c if c < width else a + c - width]
            for k in range(c):
                value -= room[r, k] * room[c, k]
            if r == c:
                pivot = max(value, LEAST_SHARE)
                room[r, r] = math.sqrt(pivot)
                if r >= width:
                    left += math.log(pivot)
            else:
                room[r, c] = value / room[c, c]
    return max(half * (own - left), 0.0)


@njit(cache=True, nogil=True)
def _eliminated_backwards(inverse, starts, i, candidates, half, costs, work, room):
    """Return a good set, and its score: the candidate whose loss is least worth its cost is left out while one is."""
    active = np.empty(inverse.shape[0], dtype=np.int64)
    kept, turn, now = candidates, 0, inverse
    while True:
        own, paid = logdet_of(now, starts[i], starts[i + 1], 1.0, room), 0.0
        weakest, least = -1, 0.0
        for y in range(starts.shape[0] - 1):
            if (kept >> np.uint64(y)) & ONE:
                paid += costs[y]
                worth = _loss(now, starts, i, y, half, own, room) - costs[y]
                if worth < least:
                    weakest, least = y, worth
        if weakest < 0:
            return kept, half * own - paid
        kept ^= ONE << np.uint64(weakest)
        count = _list_active(kept, i, starts, active)
        _leave_out(now, work[turn], starts, weakest, active, count)
        now = work[turn]
        turn = 1 - turn


@njit(cache=True, nogil=True)
def best_subset(inverse, starts, i, candidates, half, costs, work):
    """Return the best set of parents of i inside the candidates, and its score: likelihood less costs.

    Parameters
    ----------
    inverse : array of shape (w, w)
        The inverse of the matrix of the candidates and i; other rows and columns are not read.
    starts : int array of shape (n + 1,)
        The columns of each node.
    i : int
        The node.
    candidates : uint64
        The candidates as bits.
    half : float
        The factor of log-determinants.
    costs : array of shape (n,)
        What each parent costs.
    work : array of shape (n + 3, w, w)
        Overwritten.
    """
    n = starts.shape[0] - 1
    room = work[n + 2]
    # A good set to begin with, by backward elimination.
    best_set, best = _eliminated_backwards(inverse, starts, i, candidates, half, costs, work[n:], room)
    kept = np.empty(n + 1, dtype=np.uint64)
    forced = np.empty(n + 1, dtype=np.uint64)
    active = np.empty(inverse.shape[0], dtype=np.int64)
    kept[0], forced[0] = candidates, np.uint64(0)
    work[0] = inverse
    depth = 0
    while depth >= 0:
        # The sets below this level lie between the forced members F and the kept candidates K.
        now = work[depth]
        all_paid, paid = 0.0, 0.0
        for y in range(n):
            if (kept[depth] >> np.uint64(y)) & ONE:
                all_paid += costs[y]
                if (forced[depth] >> np.uint64(y)) & ONE:
                    paid += costs[y]
        # K itself is one of them: its score is the likelihood less the costs of K.
        own = logdet_of(now, starts[i], starts[i + 1], 1.0, room)
        most = half * own
        if most - all_paid > best:
            best_set, best = kept[depth], most - all_paid
        # Force the candidates without which no set can be better; that raises the costs of F, which may force others.
        strongest, largest = -1, -1.0
        again = True
        while again and most - paid > best:
            again = False
            strongest, largest = -1, -1.0
            for y in range(n):
                bit = ONE << np.uint64(y)
                if kept[depth] & bit and not forced[depth] & bit:
                    loss = _loss(now, starts, i, y, half, own, room)
                    if most - loss - paid <= best:
                        forced[depth] |= bit
                        paid += costs[y]
                        again = True
                    elif loss > largest:
                        strongest, largest = y, loss
        # Go back up if nothing is left to choose, or if l_i(K) less the costs of F is not above the best score.
        if strongest < 0 or most - paid <= best:
            depth -= 1
            continue
        # Go down without the candidate of largest loss; coming back, it is forced.
        bit = ONE << np.uint64(strongest)
        kept[depth + 1], forced[depth + 1] = kept[depth] ^ bit, forced[depth]
        forced[depth] |= bit  # the next time that this depth is reached
        count = _list_active(kept[depth + 1], i, starts, active)
        _leave_out(now, work[depth + 1], starts, strongest, active, count)
        depth += 1
    return best_set, best


@njit(cache=True, nogil=True)
def _new_vertex(trees, i, left_out, whole, starts, half, costs, work):
    """Add the vertex of a set of nodes that are left out; return its place."""
    n = starts.shape[0] - 1
    turn = 0
    now = whole
    candidates = np.uint64(0)
    for y in range(n):
        if y != i:
            candidates |= ONE << np.uint64(y)
    active = np.empty(whole.shape[0], dtype=np.int64)
    for y in range(n):
        if (left_out >> np.uint64(y)) & ONE:
            candidates ^= ONE << np.uint64(y)
            count = _list_active(candidates, i, starts, active)
            _leave_out(now, work[n + 3 + turn], starts, y, active, count)
            now = work[n + 3 + turn]
            turn = 1 - turn
    place = trees.used[i]
    trees.sets[i, place], trees.values[i, place] = best_subset(now, starts, i, candidates, half, costs, work[: n + 3])
    trees.left_out[i, place] = left_out
    trees.below[i, place] = 0
    trees.beside[i, place] = 0
    trees.used[i] = place + 1
    return place


@njit(cache=True, nogil=True)
def plant(trees, i, whole, starts, half, costs):
    """Make the root of the tree of node i; ``whole`` is the inverse of the matrix of all nodes."""
    width = whole.shape[0]
    work = np.empty((starts.shape[0] + 4, width, width))
    _new_vertex(trees, i, np.uint64(0), whole, starts, half, costs, work)


@njit(cache=True, nogil=True)
def walk_down(trees, i, sets, wanted, places, most, whole, starts, half, costs):
    """Move the ``places`` that are wanted of the tree of node i down to the best sets inside the given sets.

    Returns how many sets were processed: fewer than given if the tree has no room, or would have more than ``most``
    vertices.
    """
    most = min(most, trees.sets.shape[1])
    width = whole.shape[0]
    work = np.empty((starts.shape[0] + 4, width, width))
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
                if trees.used[i] >= most:
                    places[k] = at
                    return k
                left_out = trees.left_out[i, at] | (ONE << np.uint64(y))
                down = _new_vertex(trees, i, left_out, whole, starts, half, costs, work)
                trees.by[i, down] = y
                trees.beside[i, down] = trees.below[i, at]
                trees.below[i, at] = down
            at = down
        places[k] = at
    return sets.shape[0]
