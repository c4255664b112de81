"""The search of ``pair_weights.py`` for columns that are blocks, and for costs of parent sets that are not plain.

The excess of a parent set J and a set T ⊇ J is

    w(T) - (C(J) - C(∅)) - half log (det var(i | J) / det var(i | T)),

with the cost of ``scores/block_likelihood.py`` relative to ``half``, the weight of a node without parents:

    C(J) = volume/2 (log det M_JJ - |J| l_i(J)) + cost(|J|) + the sum of edge_j over J,

where l_i(J) = log (det M_ii / det var(i | J)). C(J) - C(∅) is at least the sum of ``needs[j]`` over J. The first block
is the node. With blocks of one column and plain costs the results are those of ``pair_weights.py``, which is faster: it
conditions on most sets J without a matrix of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.kernels.gaussian.block_matrices import TINY, logdet_of
from dagopt.kernels.gaussian.pair_weights import (
    MEMBERS,
    NEXT,
    OVER,
    WORK,
    Excess,
    Violations,
    go_through,
    never,
    note,
)
from dagopt.kernels.store import njit

CLOSE = 1e-12  # added to squared correlations that are compared


class BlockCosts(NamedTuple):
    """What the parents of a node cost; blocks are in the order of the search, the node first.

    Attributes
    ----------
    half, volume : float
        The weight of a log-determinant of the node, and of the parents' own.
    costs : array
        The cost of 0, 1, 2, ... parents.
    edges, needs : arrays
        What each block costs in addition, and numbers whose sum over J is at most C(J) - C(∅).
    """

    half: float
    volume: float
    costs: Floats
    edges: Floats
    needs: Floats


class BlockSearch(NamedTuple):
    """What a search knows, and its work arrays; kernels receive it in a box.

    Attributes
    ----------
    own : BlockCosts
        What parents cost.
    starts, weights, n_weights, total : arrays and numbers
        The first column of each block, its weight, the number of blocks with weights, and the sum of these.
    most_work, depth : int
        The most entries that the search for one T changes, and the largest number of members of J.
    covariances, members : arrays
        The covariances given the first 0, 1, ... members of J, and these members.
    paid : array of shape (5, depth + 1)
        For 0, 1, ... members of J: the sum of their edges, log det M_JJ, log det var(i | J), C(J) - C(∅), and a lower
        bound on that of all its supersets.
    last, variances, matrices, begins, places, sums, spent, rest, taken, best, columns, work : arrays
        Rows of the last member of J, and the node's variances; of the search for T the columns, with a matrix, a place
        and sums for each one taken, and the answer.
    kept, values, state, largest : arrays
        The sets with large excess, and their excess; where the search is, as in ``pair_weights.py``.
    """

    own: BlockCosts
    starts: Any
    weights: Any
    n_weights: int
    total: float
    most_work: int
    depth: int
    covariances: Any
    members: Any
    paid: Any
    last: Any
    variances: Any
    matrices: Any
    begins: Any
    places: Any
    sums: Any
    spent: Any
    rest: Any
    taken: Any
    best: Any
    columns: Any
    work: Any
    kept: Any
    values: Any
    state: Any
    largest: Any


EDGES, VOLUME, RESIDUAL, COST, LEAST_COST = range(5)  # of ``paid``


@njit(cache=True, nogil=True)
def _open(s, e):
    """Return an upper bound on the sets that the search for T has not reached when it is stopped."""
    bound = -np.inf
    for d in range(e + 1):
        bound = max(bound, s.sums[d] + s.rest[s.places[d]] - s.spent[d])
    return bound


@njit(cache=True, nogil=True)
def _share(matrix, first, last, begin, end):
    """Return the largest squared correlation of a column in one range with one in another, later range."""
    largest = 0.0
    for a in range(begin, end):
        for b in range(first, last):
            square = matrix[a, b] * matrix[a, b]
            largest = max(largest, square / max(matrix[a, a] * matrix[b, b], TINY))
    return largest


@njit(cache=True, nogil=True)
def _take(s, e, t, side):
    """Write the covariances given one more block, of the columns behind it and the node."""
    source, target, begins = s.matrices[e], s.matrices[e + 1], s.begins
    for p in range(begins[t], side):
        for q in range(begins[t], p + 1):
            target[p, q] = source[p, q]
    for c in range(begins[t], begins[t + 1]):
        inverse = 1.0 / max(target[c, c], TINY)
        for p in range(c + 1, side):
            ratio = target[p, c] * inverse
            for q in range(c + 1, p + 1):
                target[p, q] -= ratio * target[q, c]


@njit(cache=True, nogil=True)
def _best_addition(s, c, side, base, floor):
    """Return the largest base + w(A) - I(i; A | J) over sets A of blocks; the bound is ``floor`` if none is above it.

    ``s.columns`` has the ``c`` blocks, ``s.begins`` their first columns in ``s.matrices[0]``, which has covariances
    given J, those of the node last. The members of the best A are in ``s.best``, and their number in its last place.
    """
    half, matrices, places, sums, spent, rest = s.own.half, s.matrices, s.places, s.sums, s.spent, s.rest
    node = s.begins[c]
    best = floor
    value = -np.inf
    if base > best:
        best = value = base
        s.best[s.best.shape[0] - 1] = 0
    rest[c] = 0.0
    for t in range(c - 1, -1, -1):
        rest[t] = rest[t + 1] + s.weights[s.columns[t]]
    start = logdet_of(matrices[0], node, side, 1.0, s.work)
    most_work = s.state[WORK] + s.most_work
    e = places[0] = 0
    sums[0] = base
    spent[0] = 0.0
    while e >= 0:
        # The next block that may pay: what it tells about the node is less than the most that is left to win.
        t = places[e]
        while t < c:
            left = sums[e] + rest[t] - spent[e] - best
            if left <= 0.0:
                t = c
                break
            s.state[WORK] += side - node
            if half * _share(matrices[e], s.begins[t], s.begins[t + 1], node, side) < left:
                break
            t += 1
        if t == c:
            e -= 1
            continue
        places[e] = t
        s.state[WORK] += (s.begins[t + 1] - s.begins[t] + 1) * (side - s.begins[t]) * (side - s.begins[t]) // 2
        if s.state[WORK] > most_work:
            return Excess(max(best, _open(s, e)), value)
        places[e] = t + 1
        _take(s, e, t, side)
        now = half * (start - logdet_of(matrices[e + 1], node, side, 1.0, s.work))
        gained = sums[e] + s.weights[s.columns[t]]
        if gained + rest[t + 1] - now <= best:
            continue
        s.taken[e] = t
        e += 1
        sums[e], spent[e], places[e] = gained, now, t + 1
        if gained - now > best:
            best = value = gained - now
            for q in range(e):
                s.best[q] = s.columns[s.taken[q]]
            s.best[s.best.shape[0] - 1] = e
    return Excess(best, value)


@njit(cache=True, nogil=True)
def _reduce(s, m, z):
    """Fill ``s.last`` with the columns of z given J, made independent, and their covariances; return log det var(z)."""
    covariance, last = s.covariances[m], s.last
    first = s.starts[z]
    s.state[WORK] += (s.starts[z + 1] - first) * last.shape[1]
    logdet = 0.0
    for a in range(s.starts[z + 1] - first):
        for q in range(last.shape[1]):
            last[a, q] = covariance[first + a, q]
        for c in range(a):
            ratio = last[c, first + a]
            for q in range(last.shape[1]):
                last[a, q] -= ratio * last[c, q]
        pivot = max(last[a, first + a], TINY)
        logdet += math.log(pivot)
        scale = 1.0 / math.sqrt(pivot)
        for q in range(last.shape[1]):
            last[a, q] *= scale
    return logdet


@njit(cache=True, nogil=True)
def _left(s, m, size, p, q):
    """Return the covariance of two columns given J and the ``size`` rows of ``s.last``."""
    value = s.covariances[m, p, q]
    for c in range(size):
        value -= s.last[c, p] * s.last[c, q]
    return value


@njit(cache=True, nogil=True)
def _pay(s, m, z):
    """Keep what J costs with z as one more member, after the first ``m``; say whether z earns it.

    If not, J has no larger excess without z.
    """
    own, paid, starts = s.own, s.paid, s.starts
    logdet = _reduce(s, m, z)
    size, node = starts[z + 1] - starts[z], s.matrices[0]
    for a in range(starts[1]):
        for b in range(a + 1):
            node[a, b] = _left(s, m, size, a, b)
    paid[EDGES, m + 1] = paid[EDGES, m] + own.edges[z]
    paid[VOLUME, m + 1] = paid[VOLUME, m] + logdet
    paid[RESIDUAL, m + 1] = logdet_of(node, 0, starts[1], 1.0, s.work)
    paid[LEAST_COST, m + 1] = paid[LEAST_COST, m] + max(own.needs[z], 0.0)
    told = paid[RESIDUAL, 0] - paid[RESIDUAL, m + 1]
    cost = own.costs[m + 1] - own.costs[0] + paid[EDGES, m + 1]
    if own.volume > 0.0:
        cost += 0.5 * own.volume * (paid[VOLUME, m + 1] - (m + 1) * told)
    paid[COST, m + 1] = cost
    return own.half * (paid[RESIDUAL, m] - paid[RESIDUAL, m + 1]) > cost - paid[COST, m]


@njit(cache=True, nogil=True)
def _examine(s, m, z, floor):
    """Return the excess of J, which is the first ``m`` members and ``z`` (0: J is empty), if it is above the floor."""
    starts, half = s.starts, s.own.half
    size, k = (starts[z + 1] - starts[z], m + 1) if z > 0 else (0, 0)
    cost = s.paid[COST, k]
    left = s.total - cost - floor
    if left <= 0.0:
        return Excess(floor, -np.inf)
    # Blocks that tell too much about the node cannot be in T; stop if too much weight is lost.
    base = lost = 0.0
    count = side = 0
    s.state[WORK] += (size + 1) * starts[1] * starts[s.n_weights + 1]
    for a in range(starts[1]):
        s.variances[a] = _left(s, m, size, a, a)
    for q in range(1, s.n_weights + 1):
        inside = q == z
        for a in range(m):
            inside = inside or s.members[a] == q
        if inside:
            base += s.weights[q]
            continue
        share = 0.0
        for b in range(starts[q], starts[q + 1]):
            variance = _left(s, m, size, b, b)
            for a in range(starts[1]):
                cross = _left(s, m, size, a, b)
                share = max(share, cross * cross / max(s.variances[a] * variance, TINY))
        if half * (share - CLOSE) > left:
            lost += s.weights[q]
            if lost >= left:
                return Excess(floor, -np.inf)
        else:
            s.columns[count], s.begins[count] = q, side
            count += 1
            side += starts[q + 1] - starts[q]
    # The covariances of these blocks and the node given J.
    s.state[WORK] += (size + 1) * side * side // 2
    s.columns[count], s.begins[count] = 0, side
    for t in range(count + 1):
        for p in range(starts[s.columns[t]], starts[s.columns[t] + 1]):
            row = s.begins[t] + p - starts[s.columns[t]]
            for u in range(t + 1):
                for q in range(starts[s.columns[u]], starts[s.columns[u] + 1]):
                    s.matrices[0, row, s.begins[u] + q - starts[s.columns[u]]] = _left(s, m, size, p, q)
    found = _best_addition(s, count, side + starts[1], base, floor + cost)
    return Excess(found.bound - cost, found.value - cost)


@njit(cache=True, nogil=True)
def _eliminate(s, m, z):
    """Write the covariances given ``m`` members and ``z``, for which ``s.last`` is filled."""
    source, target, first, end = s.covariances[m], s.covariances[m + 1], s.starts[z], s.starts[z + 1]
    width = target.shape[0]
    s.state[WORK] += (end - first + 1) * width * width
    for p in range(width):
        for q in range(width):
            target[p, q] = source[p, q]
        for c in range(end - first):
            ratio = s.last[c, p]
            for q in range(width):
                target[p, q] -= ratio * s.last[c, q]
    for p in range(width):
        for c in range(first, end):
            target[p, c] = target[c, p] = 0.0


@njit(cache=True, nogil=True)
def _walk(s, least, last, most_work):
    """Go on through the J whose first member is before ``last``, until this work is done."""
    count, depth, state = s.starts.shape[0] - 1, s.depth, s.state
    best = s.largest[0]
    m, z = state[MEMBERS], state[NEXT]
    until = state[WORK] + most_work
    while state[WORK] < until:
        floor = max(least, 0.5 * best)
        if z == 0:
            excess = _examine(s, 0, 0, least)
            best = max(best, excess.bound)
            note(s, 0, 0, excess.value)
            z = 1
            continue
        if depth > 0 and z < (count if m > 0 else min(last, count)):
            earns = _pay(s, m, z)
            if s.paid[LEAST_COST, m + 1] < s.total - floor:
                if earns:
                    excess = _examine(s, m, z, floor)
                    best = max(best, excess.bound)
                    note(s, m, z, excess.value)
                if m + 1 < depth and z + 1 < count:
                    _eliminate(s, m, z)
                    s.members[m] = z
                    m += 1
            z += 1
            continue
        if m == 0:
            state[OVER] = 1
            break
        m -= 1
        z = s.members[m] + 1
    state[MEMBERS], state[NEXT] = m, z
    s.largest[0] = best


def largest_block_excess(
    matrix: Floats, starts: Ints, weights: Floats, own: BlockCosts, most: int, least: float, span: tuple[int, int],
    most_work: int, n_kept: int, is_stopped: Callable[[], bool] = never,
) -> Violations:  # fmt: skip
    """Return an upper bound on the excess over the sets J with at most ``most`` members, and sets where it is large.

    Parameters
    ----------
    matrix, starts, weights : arrays
        The covariances, the first column of each block and the end, and the weight of each block: the node first, then
        those with weights, the largest first.
    own : BlockCosts
        What parents cost.
    most, least, span, most_work, n_kept, is_stopped
        As in ``pair_weights.largest_excess``, with blocks for columns.
    """
    count, n_weights, total = len(starts) - 1, int((weights > 0.0).sum()), float(weights.sum())
    cheapest = np.cumsum(np.sort(own.needs[1:]))
    spare = float(np.minimum(own.needs[1:], 0.0).sum())  # what more members can save
    depth = 0  # larger sets cost more than all weights
    while depth < min(most, count - 1) and cheapest[depth:].min() + least < total:
        depth += 1
    levels, width = max(depth, 1), len(matrix)
    side = int(starts[n_weights + 1])
    covariances = np.empty((levels, width, width))
    covariances[0] = matrix
    paid = np.zeros((5, levels + 1))
    paid[RESIDUAL, 0] = np.linalg.slogdet(matrix[: starts[1], : starts[1]])[1]
    paid[LEAST_COST, 0] = spare
    places, taken, best, columns, begins = np.empty((5, n_weights + 2), dtype=np.int64)
    sums, spent, rest = np.empty((3, n_weights + 2))
    widest = int(np.diff(starts).max())
    search = BlockSearch(
        own, starts, weights, n_weights, total, most_work, depth, covariances, np.zeros(levels, dtype=np.int64), paid,
        np.zeros((widest, width)), np.empty(widest), np.empty((n_weights + 2, side, side)), begins, places, sums, spent,
        rest, taken, best, columns, np.empty((widest, widest)), np.zeros((n_kept, count), dtype=np.int8),
        np.full(n_kept, -np.inf), np.array([0, 0 if span[0] == 1 else span[0], 1, 0, 0]), np.array([least]),
    )  # fmt: skip
    return go_through(_walk, search, least, span[1], is_stopped)
