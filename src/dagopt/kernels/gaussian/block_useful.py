"""Which candidates can be part of an undominated set, where a column of the table is a block of columns of the matrix.

The search is that of ``useful.py``, with the score of ``block_undominated.py``.
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.kernels.gaussian.block_matrices import given, given_fewer, information, invert, logdet_of, two_blocks
from dagopt.kernels.gaussian.subset_walk import SEEN, UNOPENED, descend, inverse_of, new_walk
from dagopt.kernels.gaussian.useful import DROPPING, FAILURES, MOST_FAILURES, NEXT, OVER, ratio_between
from dagopt.kernels.store import njit


@njit(cache=True, nogil=True)
def both_ends(least, most, mi, size, error, work):
    """Return a bound on l_i(J + Z + j) - l_i(J + Z) for all Z ⊆ W, by the chain rule over the columns of i and j.

    ``least`` and ``most`` are the covariances of the columns of i, ``mi`` of them, and of j given J and given J + W.
    Both are overwritten.
    """
    total = 0.0
    for a in range(mi, size):
        for q in range(size):
            for r in range(size):
                work[0, q, r] = least[q, r]
                work[1, q, r] = most[q, r]
        for b in range(mi):
            vi, vj, c = work[0, b, b], work[0, a, a], work[0, b, a]
            wi, wj, d = work[1, b, b], work[1, a, a], work[1, b, a]
            if not (wi > 0.0 and wj > 0.0 and d * d < wi * wj):
                return np.inf
            ratio = ratio_between(vi, vj, c, wi, wj, d, error)
            left = 1.0 - d * d / (wi * wj)  # the share of either variance that stays given the other
            ratio = min(ratio, vi / (wi * left), vj / (wj * left))
            total += math.log(max(ratio, 1.0))
            if b + 1 < mi:
                given(work[0], b, size)
                given(work[1], b, size)
        if a + 1 < size:
            given(least, a, size)
            given(most, a, size)
    return total


@njit(cache=True, nogil=True)
def is_useless(terms, walk, k, level, i, j, is_member, need, margin, most_i, work):
    """Say whether variable j earns its cost in no set between J and J + R.

    ``level`` is the place of the inverse, ``need`` what j must earn, and ``most_i`` is log det of the inverse at i.
    """
    starts, half = walk.starts, terms.half
    lower, upper = walk.lower[k], walk.upper[level]
    most_j = logdet_of(upper, starts[j], starts[j + 1], 1.0, work[0])
    # What the parents' own log-determinant may add: l_i(T - j) and l_j(T - j) are largest given all others.
    need -= 0.5 * terms.volume * (most_i + most_j) + margin
    sign = -1.0 if is_member else 1.0
    by_j = most_j + sign * logdet_of(lower, starts[j], starts[j + 1], sign, work[0])
    if half * by_j <= need:
        return True
    if is_member:
        given_fewer(lower, starts, i, j, work[2], work[0])
    else:
        two_blocks(lower, starts, i, j, work[2])
    mi = starts[i + 1] - starts[i]
    by_i = most_i + logdet_of(work[2], 0, mi, 1.0, work[0])
    if half * by_i <= need:
        return True
    size = two_blocks(upper, starts, i, j, work[3])
    invert(work[3], size)
    terms_added = mi * (size - mi)
    return half * both_ends(work[2], work[3], mi, size, margin / half, work[4:]) <= need - margin * (terms_added - 1)


@njit(cache=True, nogil=True)
def never_useful(inverse, matrix, starts, i, u, terms, need, most_steps, margin, work):
    """Say whether u earns ``need`` as a parent of i beside no set Z of the other variables.

    Branch and bound over the Z between the variables taken and those not left out, with bounds from both ends. Also
    False if ``most_steps`` are not enough.
    """
    walk = new_walk(inverse, matrix, starts)
    walk.free[0, i] = False
    walk.free[0, u] = False
    depth = 0
    steps = 0
    while depth >= 0:
        if walk.fresh[depth] != SEEN:
            walk.fresh[depth] = SEEN
            steps += 1
            if steps > most_steps:
                return False
            k, level = walk.taken[depth], walk.up[depth]
            lower, upper = walk.lower[k], walk.upper[level]
            most_i = logdet_of(upper, starts[i], starts[i + 1], 1.0, work[0])
            if is_useless(terms, walk, k, level, i, u, False, need, margin, most_i, work):
                depth -= 1
                continue
            # What u earns beside the smallest and the largest Z: if that is enough, no bound can help.
            enough = (need - margin) / terms.half
            if information(lower, starts, i, u, work) > enough or information(upper, starts, i, u, work) > enough:
                return False
            walk.branch[depth] = _strongest_for_two(walk, k, level, i, u, walk.free[depth], work)
            if walk.branch[depth] < 0:
                return False
            walk.stage[depth] = UNOPENED
        depth += 1 if descend(walk, depth) else -1
    return True


@njit(cache=True, nogil=True)
def _strongest_for_two(walk, k, level, i, u, free, work):
    """Return the candidate that tells most about i or u, given the others or given J; -1 if there is none."""
    lower, upper, starts = walk.lower[k], walk.upper[level], walk.starts
    best = -1.0
    chosen = -1
    for z in range(free.shape[0]):
        if free[z]:
            value = 0.0
            for end in (i, u):
                leaving = information(upper, starts, end, z, work)
                taking = information(lower, starts, end, z, work)
                value = max(value, min(leaving, taking) + 0.2 * max(leaving, taking))
            if value > best:
                best = value
                chosen = z
    return chosen


@njit(cache=True, nogil=True)
def useful_pairs(inverse, matrix, starts, terms, needs, most_steps, margin, pairs, useful, work):
    """Set ``useful[i, u]`` and ``useful[u, i]`` to False for those of the pairs that are in no undominated family.

    ``needs[i, u]`` is what either must earn as a parent of the other.
    """
    for i, u in pairs:
        if never_useful(inverse, matrix, starts, i, u, terms, needs[i, u], most_steps, margin, work):
            useful[i, u] = False
            useful[u, i] = False


@njit(cache=True, nogil=True)
def useful_parents(matrix, starts, terms, least, most_steps, margin, i, must, useful, state, tries, work):
    """Set ``useful[u]`` to False for candidates u that are in no undominated set of node i.

    ``least[u]`` is what u must earn. As in ``useful.py``: each candidate that goes may let others go, and nodes in
    ``must`` stay. Gives up after ``MOST_FAILURES`` candidates in a row that stay, stops after so many ``tries``, and
    goes on from ``state``.
    """
    n = starts.shape[0] - 1
    width = matrix.shape[0]
    ids = np.empty(width, dtype=np.int64)
    own_starts = np.empty(n + 1, dtype=np.int64)
    while state[OVER] == 0:
        for u in range(state[NEXT], n):
            if not useful[u] or must[u] or state[FAILURES] >= MOST_FAILURES:
                continue
            if tries == 0:
                state[NEXT] = u
                return
            tries -= 1
            state[FAILURES] += 1
            # The matrix of the candidates left, then u, then i.
            count = np.int64(0)
            size = np.int64(0)
            own_starts[0] = 0
            for z in range(n + 2):
                block = z if z < n else (u if z == n else i)
                if z >= n or (useful[z] and z != u and z != i):
                    for column in range(starts[block], starts[block + 1]):
                        ids[size] = column
                        size += 1
                    count += 1
                    own_starts[count] = size
            own = np.empty((size, size))
            for a in range(size):
                for b in range(size):
                    own[a, b] = matrix[ids[a], ids[b]]
            cut = own_starts[: count + 1].copy()
            if never_useful(inverse_of(own), own, cut, count - 1, count - 2, terms, least[u], most_steps, margin, work):
                useful[u] = False
                state[DROPPING], state[FAILURES] = 1, 0
        state[OVER] = 1 - state[DROPPING]
        state[NEXT] = state[FAILURES] = state[DROPPING] = 0
