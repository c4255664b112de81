"""All parent sets of one node that no subset beats, where a column of the table is a block of columns of the matrix.

The score of node i with k parents T is, up to a constant,

    s_i(T) = -half(k) log det var(i | T) - volume/2 log det M_TT - cost(k) - the sum of edge_j over T,

where var(i | T) is the covariance of block i given the blocks of T, the matrix M has an identity within each block, and
half(k) grows by volume/2 with each parent. A Gaussian likelihood has blocks of one column, and volume and edges are 0;
with k - 1 indicators per discrete column edge_j is the cost of m_i m_j parameters; BGe has volume 1. In an undominated
T every j earns its cost given the others: with l_i(T) = -log det var(i | T), and half the largest half(k),

    half (l_i(T) - l_i(T - j))  >  cost(|T|) - cost(|T| - 1) + edge_j - volume/2 (l_i(T - j) + l_j(T - j)).

The search is that of ``undominated.py``, with the same three bounds on l_i(T) - l_i(T - j): from the end of i, from the
end of j, and from both. The third adds up over the columns of both blocks by the chain rule: what column b of i and
column a of j tell about each other, given the columns before them, is a ratio as in ``useful.py``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian.subset_walk import (
    DEPTH,
    FOUND,
    NEW_SET,
    OVER,
    SEEN,
    STEPS,
    TAKEN,
    UNOPENED,
    descend,
    drop,
    inverse_of,
    new_walk,
    sweep_block,
)
from dagopt.kernels.gaussian.useful import MOST_FAILURES, ratio_between
from dagopt.kernels.store import njit

TINY = 1e-300  # stands for a pivot that rounding made zero or negative


class Terms(NamedTuple):
    """What the members of a parent set cost a node; see above.

    Attributes
    ----------
    half, volume : float
        The largest half(k), and the weight of the parents' own log-determinant.
    costs : array
        The cost of 0, 1, 2, ... parents.
    steps : array
        ``steps[k]`` is the least cost of one more parent, beside k or more others.
    edges : array
        What each variable costs in addition.
    is_exact : bool
        Whether volume is 0 and the costs are convex: then scores of subsets can be compared within the search.
    """

    half: float
    volume: float
    costs: Floats
    steps: Floats
    edges: Floats
    is_exact: bool


class BlockRooms(NamedTuple):
    """The state of a search.

    Attributes
    ----------
    walk : Walk, in a box
        The levels, with J, the candidates R and the matrices of both ends.
    scores : array of shape (2, levels)
        For each number of parents taken: the score of J, and the best score met of a subset of J.
    spent : array
        For each number of parents taken: the sum of their edges.
    done : array of one
        The share of the search that is done.
    work : array of shape (6, w, w)
        Room for the matrices of two blocks.
    """

    walk: Box
    scores: Floats
    spent: Floats
    done: Floats
    work: Floats


def begin(matrix: Floats, starts: Ints, edges: Floats, n_must: int) -> BlockRooms:
    """Set up the search: the node is the last variable, required parents are the first ones."""
    count = len(starts) - 1
    walk = new_walk(inverse_of(matrix), matrix, starts)
    for k in range(n_must):
        sweep_block(walk.lower[k], walk.lower[k + 1], starts[k], starts[k + 1])
    walk.free[0] = False
    walk.free[0, n_must : count - 1] = True
    walk.taken[0] = n_must
    spent = np.zeros(count + 2)
    spent[n_must] = edges[:n_must].sum()
    return BlockRooms(Box(walk), np.full((2, count + 2), -np.inf), spent, np.zeros(1), room_for(starts))


def room_for(starts: Ints) -> Floats:
    """Return room for the matrices of any two blocks."""
    widest = 2 * int(np.diff(starts).max())
    return np.empty((6, widest, widest))


@njit(cache=True, nogil=True)
def logdet_of(matrix, first, last, sign, room):
    """Return log det of ``sign`` times a diagonal block of a matrix, by a Cholesky factorisation in ``room``."""
    if last - first == 1:
        return math.log(max(sign * matrix[first, first], TINY))
    total = 0.0
    for a in range(last - first):
        for b in range(a + 1):
            value = sign * matrix[first + a, first + b]
            for c in range(b):
                value -= room[a, c] * room[b, c]
            if a == b:
                pivot = max(value, TINY)
                total += math.log(pivot)
                room[a, a] = math.sqrt(pivot)
            else:
                room[a, b] = value / room[b, b]
    return total


@njit(cache=True, nogil=True)
def _invert(matrix, size):
    """Replace the first ``size`` rows and columns of a positive definite matrix by their inverse."""
    for p in range(size):
        inverse = 1.0 / max(matrix[p, p], TINY) if matrix[p, p] > 0.0 else 1.0 / TINY
        for a in range(size):
            if a != p:
                factor = matrix[a, p] * inverse
                for b in range(size):
                    if b != p:
                        matrix[a, b] -= factor * matrix[p, b]
        for b in range(size):
            if b != p:
                matrix[p, b] *= inverse
                matrix[b, p] = matrix[p, b]
        matrix[p, p] = -inverse
    for a in range(size):
        for b in range(size):
            matrix[a, b] = -matrix[a, b]


@njit(cache=True, nogil=True)
def _two_blocks(source, starts, i, j, target):
    """Copy the rows and columns of block i and then of block j; return how many there are."""
    mi = starts[i + 1] - starts[i]
    size = mi + starts[j + 1] - starts[j]
    for a in range(size):
        va = starts[i] + a if a < mi else starts[j] + a - mi
        for b in range(size):
            target[a, b] = source[va, starts[i] + b if b < mi else starts[j] + b - mi]
    return size


@njit(cache=True, nogil=True)
def _given_fewer(lower, starts, i, j, target, room):
    """Fill ``target`` with the covariances of i and a member j of J given J - j, from the matrix swept by J."""
    size = _two_blocks(lower, starts, i, j, target)
    mi = starts[i + 1] - starts[i]
    mj = size - mi
    for a in range(mj):
        for b in range(mj):
            room[a, b] = -target[mi + a, mi + b]
    _invert(room, mj)  # var(j | J - j)
    # cov(i, j | J - j) = B var(j | J - j), var(i | J - j) = var(i | J) + B var(j | J - j) Bᵀ, B the coefficients of j
    for a in range(mi):
        for b in range(mj):
            value = 0.0
            for c in range(mj):
                value += target[a, mi + c] * room[c, b]
            target[mi + b, a] = value
    for a in range(mi):
        for b in range(mi):
            for c in range(mj):
                target[a, b] += target[mi + c, a] * target[b, mi + c]
    for a in range(mj):
        for b in range(mi):
            target[b, mi + a] = target[mi + a, b]
        for b in range(mj):
            target[mi + a, mi + b] = room[a, b]


@njit(cache=True, nogil=True)
def _given(matrix, p, size):
    """Take what variable ``p`` explains out of the other covariances."""
    inverse = 1.0 / max(matrix[p, p], TINY) if matrix[p, p] > 0.0 else 1.0 / TINY
    for a in range(size):
        if a != p:
            factor = matrix[a, p] * inverse
            for b in range(size):
                if b != p:
                    matrix[a, b] -= factor * matrix[p, b]


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
                _given(work[0], b, size)
                _given(work[1], b, size)
        if a + 1 < size:
            _given(least, a, size)
            _given(most, a, size)
    return total


@njit(cache=True, nogil=True)
def _is_useless(terms, walk, k, level, i, j, is_member, need, margin, most_i, work):
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
        _given_fewer(lower, starts, i, j, work[2], work[0])
    else:
        _two_blocks(lower, starts, i, j, work[2])
    mi = starts[i + 1] - starts[i]
    by_i = most_i + logdet_of(work[2], 0, mi, 1.0, work[0])
    if half * by_i <= need:
        return True
    size = _two_blocks(upper, starts, i, j, work[3])
    _invert(work[3], size)
    terms_added = mi * (size - mi)
    return half * both_ends(work[2], work[3], mi, size, margin / half, work[4:]) <= need - margin * (terms_added - 1)


@njit(cache=True, nogil=True)
def resume(terms, n_must, most, margin, rooms, most_steps, found):
    """Continue for up to ``most_steps`` steps or until ``found`` is full; ``counters[OVER]`` says when it is over.

    Parameters
    ----------
    terms : Terms, in a box
        What members cost.
    n_must, most : int
        The first variables are required; sets have at most ``most`` members.
    margin : float
        Sets and candidates are dropped only if they lose by more than this.
    rooms : BlockRooms, in a box
        The state of the search.
    most_steps : int
        The number of levels to look at.
    found : bool array of shape (room, variables)
        The sets found; the caller must still remove those that a subset beats.
    """
    walk, done = rooms.walk, rooms.done
    counters = walk.counters
    depth = counters[DEPTH]
    last = counters[STEPS] + most_steps
    while depth >= 0:
        if counters[STEPS] >= last or counters[FOUND] + 1 >= found.shape[0]:
            counters[DEPTH] = depth
            return
        k = walk.taken[depth]
        if walk.fresh[depth] != SEEN:
            counters[STEPS] += 1
            if walk.fresh[depth] == NEW_SET:
                _note(terms, n_must, margin, rooms, k, found)
            walk.stage[depth] = UNOPENED
            walk.branch[depth] = -1
            if k < most:
                walk.branch[depth] = _choose(terms, n_must, margin, rooms, depth)
            walk.fresh[depth] = SEEN
            if walk.branch[depth] < 0:
                done[0] += 0.5**depth
                depth -= 1
                continue
        if not descend(walk, depth):
            depth -= 1
            continue
        if walk.stage[depth] == TAKEN:
            rooms.spent[k + 1] = rooms.spent[k] + terms.edges[walk.branch[depth]]
        depth += 1
    counters[OVER] = 1
    counters[DEPTH] = -1


@njit(cache=True, nogil=True)
def _note(terms, n_must, margin, rooms, k, found):
    """Add J, a new set with ``k`` members, to ``found`` unless a subset beats it."""
    walk, scores, work = rooms.walk, rooms.scores, rooms.work
    starts, lower, half = walk.starts, walk.lower[k], terms.half
    i = starts.shape[0] - 2
    mi = starts[i + 1] - starts[i]
    own = -logdet_of(lower, starts[i], starts[i + 1], 1.0, work[0])  # l_i(J)
    scores[0, k] = half * own - terms.costs[k] - rooms.spent[k]
    scores[1, k] = -np.inf
    if k > n_must:
        scores[1, k] = max(scores[1, k - 1], scores[0, k - 1])
    is_beaten = terms.is_exact and scores[0, k] <= scores[1, k] - margin
    for a in range(n_must, k):
        # J without any one member: j does not earn its cost if l_i(J) - l_i(J - j) is too small.
        j = walk.members[a]
        _given_fewer(lower, starts, i, j, work[2], work[0])
        without = -logdet_of(work[2], 0, mi, 1.0, work[0])
        size = mi + starts[j + 1] - starts[j]
        others = -logdet_of(work[2], mi, size, 1.0, work[0])  # l_j(J - j)
        need = terms.costs[k] - terms.costs[k - 1] + terms.edges[j] - 0.5 * terms.volume * (without + others)
        is_beaten = is_beaten or half * (own - without) <= need - margin
        scores[1, k] = max(scores[1, k], half * without - terms.costs[k - 1] - rooms.spent[k] + terms.edges[j])
    if not is_beaten:
        for a in range(k):
            found[walk.counters[FOUND], walk.members[a]] = True
        walk.counters[FOUND] += 1


@njit(cache=True, nogil=True)
def _choose(terms, n_must, margin, rooms, depth):
    """Drop candidates that cannot be useful and return the one to branch on, -1 if no larger set is of interest."""
    walk, scores, work = rooms.walk, rooms.scores, rooms.work
    free, starts = walk.free[depth], walk.starts
    count = starts.shape[0] - 1
    i = count - 1
    k = walk.taken[depth]
    step = terms.steps[k]
    most_i = 0.0
    dropping = True
    while dropping:
        # Candidates that earn their cost in no set of the range; each that goes narrows the range for the others.
        dropping = False
        least_edge = np.inf
        most_i = logdet_of(walk.upper[walk.up[depth]], starts[i], starts[i + 1], 1.0, work[0])
        for b in range(count):
            if free[b]:
                need = step + terms.edges[b]
                if _is_useless(terms, walk, k, walk.up[depth], i, b, False, need, margin, most_i, work):
                    drop(walk, depth, b)
                    dropping = True
                    most_i = logdet_of(walk.upper[walk.up[depth]], starts[i], starts[i + 1], 1.0, work[0])
                else:
                    least_edge = min(least_edge, terms.edges[b])
        if least_edge == np.inf:
            return -1
        # No larger set can beat J or a subset.
        if terms.is_exact:
            largest = terms.half * most_i - terms.costs[k + 1] - rooms.spent[k] - least_edge
            if largest <= max(scores[0, k], scores[1, k]) - margin:
                return -1
        # Every larger set is dominated, because a member of J never earns its cost.
        for a in range(n_must, k):
            j = walk.members[a]
            need = step + terms.edges[j]
            if _is_useless(terms, walk, k, walk.up[depth], i, j, True, need, margin, most_i, work):
                return -1
    return _strongest(walk, k, walk.up[depth], i, free, most_i, work)


@njit(cache=True, nogil=True)
def _strongest(walk, k, level, i, free, most_i, work):
    """Return the candidate that tells most about i given all others, and a little given J."""
    starts = walk.starts
    lower, upper = walk.lower[k], walk.upper[level]
    least_i = logdet_of(lower, starts[i], starts[i + 1], 1.0, work[0])
    best = -np.inf
    chosen = -1
    for b in range(free.shape[0]):
        if free[b]:
            size = _two_blocks(upper, starts, i, b, work[2])
            first = most_i + logdet_of(upper, starts[b], starts[b + 1], 1.0, work[0])
            first -= logdet_of(work[2], 0, size, 1.0, work[0])
            size = _two_blocks(lower, starts, i, b, work[2])
            second = least_i + logdet_of(lower, starts[b], starts[b + 1], 1.0, work[0])
            second -= logdet_of(work[2], 0, size, 1.0, work[0])
            if first + 0.1 * second > best:
                best = first + 0.1 * second
                chosen = b
    return chosen


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
            if _is_useless(terms, walk, k, level, i, u, False, need, margin, most_i, work):
                depth -= 1
                continue
            # What u earns beside the smallest and the largest Z: if that is enough, no bound can help.
            enough = (need - margin) / terms.half
            if _information(lower, starts, i, u, work) > enough or _information(upper, starts, i, u, work) > enough:
                return False
            walk.branch[depth] = _strongest_for_two(walk, k, level, i, u, walk.free[depth], work)
            if walk.branch[depth] < 0:
                return False
            walk.stage[depth] = UNOPENED
        depth += 1 if descend(walk, depth) else -1
    return True


@njit(cache=True, nogil=True)
def _information(matrix, starts, i, j, work):
    """Return log det of block i plus that of block j, less that of both: what they tell about each other."""
    size = _two_blocks(matrix, starts, i, j, work[2])
    own = logdet_of(matrix, starts[i], starts[i + 1], 1.0, work[0])
    other = logdet_of(matrix, starts[j], starts[j + 1], 1.0, work[0])
    return own + other - logdet_of(work[2], 0, size, 1.0, work[0])


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
                leaving = _information(upper, starts, end, z, work)
                taking = _information(lower, starts, end, z, work)
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
def useful_parents(matrix, starts, terms, least, most_steps, margin, i, must, useful, work):
    """Set ``useful[u]`` to False for candidates u that are in no undominated set of node i.

    ``least[u]`` is what u must earn. As in ``useful.py``: each candidate that goes may let others go, and nodes in
    ``must`` stay. Gives up after ``MOST_FAILURES`` candidates in a row that stay.
    """
    n = starts.shape[0] - 1
    width = matrix.shape[0]
    ids = np.empty(width, dtype=np.int64)
    own_starts = np.empty(n + 1, dtype=np.int64)
    dropping = True
    while dropping:
        dropping = False
        failures = 0
        for u in range(n):
            if not useful[u] or must[u] or failures >= MOST_FAILURES:
                continue
            failures += 1
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
                dropping = True
                failures = 0
