"""By how much the pair weights of a node exceed what its likelihood and penalties cost, over all small parent sets.

For a node i, weights w_j ≥ 0 of the other columns, parent sets J and sets T ⊇ J, the *excess* is

    w(T) - cost(|J|) - I(i; T - J | J),    I(i; A | J) = N/2 log (var(i | J) / var(i | J + A)).

A search takes every J with at most ``most`` members, whose conditional covariances are found by one elimination per
member. Columns j of T - J need I(i; j | J) to be small, and for almost all J too little weight is left. For the others,
a second search finds the best T: it takes or leaves one column at a time, those with the largest weights first. A set
J is skipped if its last member z has I(i; z | J - z) ≤ cost(|J|) - cost(|J| - 1): then J - z has at least its excess.

How long that takes is known only when it is done, so a search stops where it is after so much work, counted in entries
of matrices, and goes on from there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dagopt.kernels.boxes import Box
from dagopt.kernels.store import njit

TINY = 1e-14  # a squared covariance up to this counts as zero
CHUNK = 8  # columns between two looks at the weight that is lost
WORK_PER_LOOK = 40_000_000  # entries between two looks at the clock: a tenth of a second, about
MEMBERS, NEXT, FILLED, OVER, WORK = range(5)  # of ``state``


class Search(NamedTuple):
    """What a search knows, and its work arrays; kernels receive it in a box.

    Attributes
    ----------
    weights : array
        The weight of each column of the matrix; the first column is the node, then come those with weights, the
        largest first.
    n_weights, total : int, float
        The number of columns with weights, and the sum of the weights.
    costs : array
        What 0, 1, ... parents cost more than none; longer than the largest set.
    half : float
        N / 2.
    most_work : int
        The most entries that the search for one T changes. If there would be more, an upper bound is used.
    depth : int
        The largest number of members of J.
    covariances, diagonals, members : arrays
        The covariances and variances given the first 0, 1, ... members of J, and these members.
    matrices, places, sums, rest, taken, best, columns : arrays
        Of the search for T: the columns, with a matrix, a place and a sum for each one taken, and the answer.
    kept, values : arrays
        The sets with large excess, and their excess.
    state, largest : arrays
        Where the search is: the members of J, the column after them, whether the last matrix has all columns with
        weights, whether it is over, and the work so far; and the upper bound on the excess of what it has seen.
    """

    weights: Any
    n_weights: int
    total: float
    costs: Any
    half: float
    most_work: int
    depth: int
    covariances: Any
    diagonals: Any
    members: Any
    matrices: Any
    places: Any
    sums: Any
    rest: Any
    taken: Any
    best: Any
    columns: Any
    kept: Any
    values: Any
    state: Any
    largest: Any


class Excess(NamedTuple):
    """An upper bound on the excess of J over all T, and the excess of the best T found; -inf if there is none."""

    bound: float
    value: float


class Violations(NamedTuple):
    """What a search found.

    Attributes
    ----------
    largest : float
        An upper bound on the excess of all sets, at least ``least``; infinity if the search was stopped.
    members : int8 array of shape (sets, columns)
        Sets with large excess: 1 for members of T - J, 2 for members of J.
    values : array
        Their excess; -inf where there is no set.
    """

    largest: float
    members: Any
    values: Any


@njit(cache=True, nogil=True)
def _open(s, c, last):
    """Return an upper bound on the sets that the search for T has not reached when it is stopped."""
    bound = -np.inf
    for e in range(last + 1):
        spent = s.half * math.log(s.matrices[0, c, c] / s.matrices[e, c, c])
        bound = max(bound, s.sums[e] + s.rest[s.places[e]] - spent)
    return bound


@njit(cache=True, nogil=True)
def _best_addition(s, c, base, floor):
    """Return the largest base + w(A) - I(i; A | J) over the columns A; the bound is ``floor`` if none is above it.

    ``s.columns`` has the ``c`` columns, and ``s.matrices[0]`` their covariances given J, with the node last. The
    members of the best A are in ``s.best``, and their number in its last place.
    """
    half, matrices, places, sums, rest, taken = s.half, s.matrices, s.places, s.sums, s.rest, s.taken
    weights, columns = s.weights, s.columns
    best = floor
    value = -np.inf
    # The empty addition.
    if base > best:
        best = value = base
        s.best[s.best.shape[0] - 1] = 0
    # The weight of the columns from t on bounds what they can add.
    rest[c] = 0.0
    for t in range(c - 1, -1, -1):
        rest[t] = rest[t + 1] + weights[columns[t]]
    start = matrices[0, c, c]
    most_work = s.state[WORK] + s.most_work
    e = places[0] = 0
    sums[0] = base
    while e >= 0:
        # Of the A with e columns: what is spent so far, I(i; A | J) = N/2 log (start / variance).
        variance = matrices[e, c, c]
        spent = half * math.log(start / variance)
        # The next column that may pay: its own cost -N/2 log(1 - share) is below the most that is left to win.
        t = places[e]
        gain = np.inf
        while t < c:
            left = sums[e] + rest[t] - spent - best
            if left <= 0.0:
                t = c
                break
            share = matrices[e, t, c] * matrices[e, t, c] / (variance * matrices[e, t, t])
            if half * share < left:
                gain = -half * math.log(max(1.0 - share, TINY))
                if gain < left:
                    break
            t += 1
        if t == c:
            e -= 1
            continue
        # Too much work: what is open counts with its bound.
        places[e] = t
        s.state[WORK] += CHUNK + (c + 1 - t) * (c + 1 - t) // 2
        if s.state[WORK] > most_work:
            return Excess(max(best, _open(s, c, e)), value)
        places[e] = t + 1
        # Take column t: one step of elimination in the columns behind it and the node.
        for a in range(t + 1, c + 1):
            ratio = matrices[e, t, a] / matrices[e, t, t]
            for b in range(a, c + 1):
                matrices[e + 1, a, b] = matrices[e, a, b] - ratio * matrices[e, t, b]
        taken[e] = t
        sums[e + 1] = sums[e] + weights[columns[t]]
        e += 1
        places[e] = t + 1
        # Note the set if it is the best.
        if sums[e] - spent - gain > best:
            best = value = sums[e] - spent - gain
            for q in range(e):
                s.best[q] = columns[taken[q]]
            s.best[s.best.shape[0] - 1] = e
    return Excess(best, value)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _next_hopeful(s, m, first, last, floor, n_columns):
    """Return the first z in a range whose J, with ``m`` members before z (none if z is 0), may exceed the floor.

    Only the first columns are looked at, a few at a time, until too much weight is lost. I(i; j | J) is at least N/2
    times the squared correlation of i and j given J, so a column j with a larger one cannot be in T.
    """
    weights, matrix, diagonal = s.weights, s.covariances, s.diagonals
    size = m + 1 if first > 0 else 0
    left = s.total - s.costs[size] - floor
    if left <= 0.0:
        return last
    step = (s.costs[size] - s.costs[size - 1]) / s.half if size > 0 else 0.0
    share = step - 0.5 * step * step  # at most 1 - exp(-step)
    for z in range(first, last):
        ratio = inverse = 0.0
        variance = diagonal[m, 0]
        if z > 0:
            inverse = 1.0 / diagonal[m, z]
            ratio = matrix[m, z, 0] * inverse
            if matrix[m, z, 0] * ratio <= share * variance:
                continue
            variance -= matrix[m, z, 0] * ratio
        limit = left / s.half * variance
        lost = 0.0
        j = 1
        while j <= n_columns and lost < left:
            stop = min(j + CHUNK, n_columns + 1)
            for q in range(j, stop):
                covariance = matrix[m, 0, q] - ratio * matrix[m, z, q]
                rest = diagonal[m, q] - matrix[m, z, q] * matrix[m, z, q] * inverse
                lost += weights[q] if covariance * covariance > limit * rest + TINY else 0.0
            j = stop
        if lost < left:
            s.state[WORK] += CHUNK * (z + 1 - first)
            return z
    s.state[WORK] += CHUNK * (last - first)
    return last


@njit(cache=True, nogil=True)
def _examine(s, m, z, floor):
    """Return the excess of J, which is the first ``m`` members and ``z`` (0: J is empty), if it is above the floor."""
    if _next_hopeful(s, m, z, z + 1, floor, s.n_weights) > z:
        return Excess(floor, -np.inf)
    matrix, diagonal, columns, start = s.covariances, s.diagonals, s.columns, s.matrices
    cost = s.costs[m + 1 if z > 0 else 0]
    inverse = 1.0 / diagonal[m, z] if z > 0 else 0.0
    ratio = matrix[m, z, 0] * inverse
    variance = diagonal[m, 0] - matrix[m, z, 0] * ratio
    limit = (s.total - cost - floor) / s.half * variance
    base = 0.0
    c = 0
    for j in range(1, s.n_weights + 1):
        inside = z == j
        for a in range(m):
            inside = inside or s.members[a] == j
        if inside:
            base += s.weights[j]
            continue
        covariance = matrix[m, 0, j] - ratio * matrix[m, z, j]
        if covariance * covariance <= limit * (diagonal[m, j] - matrix[m, z, j] * matrix[m, z, j] * inverse) + TINY:
            columns[c] = j
            c += 1
    for a in range(c):
        j = columns[a]
        for b in range(a, c):
            start[0, a, b] = matrix[m, j, columns[b]] - matrix[m, z, j] * matrix[m, z, columns[b]] * inverse
        start[0, a, c] = matrix[m, 0, j] - ratio * matrix[m, z, j]
    start[0, c, c] = variance
    found = _best_addition(s, c, base, floor + cost)
    return Excess(found.bound - cost, found.value - cost)


@njit(cache=True, nogil=True)
def _eliminate(s, m, z, n_columns):
    """Write the covariances given ``m`` members and ``z``: the first columns, of their own rows and those after z."""
    matrix, diagonal = s.covariances, s.diagonals
    size = matrix.shape[1]
    inverse = 1.0 / diagonal[m, z]
    s.state[WORK] += size * n_columns
    for y in range(size):
        if y >= n_columns and y <= z:
            continue
        ratio = matrix[m, y, z] * inverse
        for b in range(n_columns):
            matrix[m + 1, y, b] = matrix[m, y, b] - ratio * matrix[m, z, b]
        diagonal[m + 1, y] = diagonal[m, y] - ratio * matrix[m, y, z]
    for y in range(size):
        matrix[m + 1, y, z] = matrix[m + 1, z, y] = 0.0
    diagonal[m + 1, z] = 0.0


@njit(cache=True, nogil=True)
def note(s, m, z, value):
    """Keep a set with large excess in place of the smallest one that was kept."""
    q = 0
    for k in range(s.values.shape[0]):
        if s.values[k] < s.values[q]:
            q = k
    if value <= s.values[q]:
        return
    s.values[q] = value
    for j in range(s.kept.shape[1]):
        s.kept[q, j] = 0
    for a in range(s.best[s.best.shape[0] - 1]):
        s.kept[q, s.best[a]] = 1
    for a in range(m):
        s.kept[q, s.members[a]] = 2
    if z > 0:
        s.kept[q, z] = 2


@njit(cache=True, nogil=True)
def _walk(s, least, last, most_work):
    """Go on through the J whose first member is before ``last``, until this work is done."""
    size, n_weights, depth, state = s.covariances.shape[1], s.n_weights, s.depth, s.state
    few = min(CHUNK, n_weights)
    best = s.largest[0]
    m, z = state[MEMBERS], state[NEXT]
    filled = state[FILLED] == 1  # whether the last matrix has all columns with weights; it begins with a few
    until = state[WORK] + most_work
    while state[WORK] < until:
        floor = max(least, 0.5 * best)
        end = size if m > 0 else min(last, size) if depth > 0 else 1
        if z > 0 and m + 1 == depth:
            z = _next_hopeful(s, m, z, end, floor, n_weights if filled else few)
            if z < end and not filled:
                _eliminate(s, m - 1, s.members[m - 1], n_weights + 1)
                filled = True
                continue
        if z < end:
            excess = _examine(s, m, z, floor)
            best = max(best, excess.bound)
            note(s, m, z, excess.value)
            if z > 0 and m + 1 < depth and z + 1 < size:
                filled = m + 2 < depth
                _eliminate(s, m, z, size if filled else few + 1)
                s.members[m] = z
                m += 1
            z += 1
            continue
        if m == 0:
            state[OVER] = 1
            break
        m -= 1
        filled = True
        z = s.members[m] + 1
    state[MEMBERS], state[NEXT], state[FILLED] = m, z, 1 if filled else 0
    s.largest[0] = best


def go_through(walk: Any, search: Any, least: float, last: int, is_stopped: Callable[[], bool]) -> Violations:
    """Return what a search finds; it looks at the clock every now and then."""
    box = Box(search)
    while not search.state[OVER]:
        walk(box, least, last, WORK_PER_LOOK)
        if not search.state[OVER] and is_stopped():
            return Violations(math.inf, search.kept, search.values)
    return Violations(float(search.largest[0]), search.kept, search.values)


def never() -> bool:
    """Do not stop."""
    return False


def largest_excess(
    matrix: Any, weights: Any, costs: Any, n_samples: float, most: int, least: float, span: tuple[int, int],
    most_work: int, n_kept: int, is_stopped: Callable[[], bool] = never,
) -> Violations:  # fmt: skip
    """Return an upper bound on the excess over the sets J with at most ``most`` members, and sets where it is large.

    Parameters
    ----------
    matrix, weights : arrays
        The correlations, and the weights: the node first, then the columns with weights, the largest first.
    costs : array
        What 0, 1, ... parents cost more than none; longer than the largest set.
    n_samples, most : float, int
        N, and the largest number of members of J.
    least : float
        An excess up to this need not be found.
    span : (first, last)
        The first member of J is in this range of columns; the empty set is looked at if ``first`` is 1.
    most_work, n_kept : int
        The most entries that the search for one T changes, and the number of sets that are returned.
    is_stopped : callable
        Says whether to stop; called about ten times a second.
    """
    size, n_weights, total = len(matrix), int((weights > 0.0).sum()), float(weights.sum())
    depth = 0  # larger sets cost more than all weights
    while depth < min(most, size - 1) and costs[depth + 1] + least < total:
        depth += 1
    side = n_weights + 2
    covariances = np.empty((max(depth, 1), size, size))
    diagonals = np.empty((max(depth, 1), size))
    covariances[0], diagonals[0] = matrix, np.diag(matrix)
    places, taken, best, columns = np.empty((4, side), dtype=np.int64)
    sums, rest = np.empty((2, side))
    search = Search(
        weights, n_weights, total, costs, n_samples / 2.0, most_work, depth, covariances, diagonals,
        np.zeros(max(depth, 1), dtype=np.int64), np.empty((side, side, side)), places, sums, rest, taken, best, columns,
        np.zeros((n_kept, size), dtype=np.int8), np.full(n_kept, -np.inf),
        np.array([0, 0 if span[0] == 1 else span[0], 1, 0, 0]), np.array([least]),
    )  # fmt: skip
    return go_through(_walk, search, least, span[1], is_stopped)
