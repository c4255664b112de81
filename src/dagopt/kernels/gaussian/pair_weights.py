"""By how much the pair weights of a node exceed what its likelihood and penalties cost, over all small parent sets.

For a node i, weights w_j ≥ 0 of the other columns, parent sets J and sets T ⊇ J, the *excess* is

    w(T) - cost(|J|) - I(i; T - J | J),    I(i; A | J) = N/2 log (var(i | J) / var(i | J + A)).

A search takes every J with at most ``most`` members, whose conditional covariances are found by one elimination per
member. Columns j of T - J need I(i; j | J) to be small, and for almost all J too little weight is left. For the others,
a second search finds the best T: it takes or leaves one column at a time, those with the largest weights first. A set
J is skipped if its last member z has I(i; z | J - z) ≤ cost(|J|) - cost(|J| - 1): then J - z has at least its excess.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

TINY = 1e-14  # a squared covariance up to this counts as zero
CHUNK = 8  # columns between two looks at the weight that is lost


class Facts(NamedTuple):
    """What a search knows.

    Attributes
    ----------
    weights : array
        The weight of each column of the matrix; the first column is the node, then come those with weights, the
        largest first.
    n_weights : int
        The number of columns with weights.
    total : float
        The sum of the weights.
    costs : array
        What 0, 1, ... parents cost more than none; longer than the largest set.
    half : float
        N / 2.
    most_steps : int
        The largest number of steps of the search for one T. If there are more, an upper bound is used.
    """

    weights: Any
    n_weights: int
    total: float
    costs: Any
    half: float
    most_steps: int


class Given(NamedTuple):
    """What a member z changes: c_iz / c_zz, 1 / c_zz, and the variance of i given it."""

    ratio: float
    inverse: float
    variance: float


class Room(NamedTuple):
    """Work arrays of the search for T: one matrix, one place and one sum per column taken, and the answer."""

    matrices: Any
    places: Any
    sums: Any
    rest: Any
    taken: Any
    best: Any
    columns: Any


class Excess(NamedTuple):
    """An upper bound on the excess of J over all T, and the excess of the best T found; -inf if there is none."""

    bound: float
    value: float


class Violations(NamedTuple):
    """What a search found.

    Attributes
    ----------
    largest : float
        An upper bound on the excess of all sets, at least ``least``.
    members : int8 array of shape (sets, columns)
        Sets with large excess: 1 for members of T - J, 2 for members of J.
    values : array
        Their excess; -inf where there is no set.
    """

    largest: float
    members: Any
    values: Any


@njit(cache=True, nogil=True)
def _open(facts, room, c, last, start):  # type: ignore[no-untyped-def]
    """Return an upper bound on the sets that the search for T has not reached when it is stopped."""
    bound = -np.inf
    for e in range(last + 1):
        reached = room.sums[e] + room.rest[room.places[e]]
        bound = max(bound, reached - facts.half * math.log(start / room.matrices[e, c, c]))
    return bound


@njit(cache=True, nogil=True)
def _best_addition(facts, room, c, base, floor):  # type: ignore[no-untyped-def]
    """Return the largest base + w(A) - I(i; A | J) over the columns A; the bound is ``floor`` if none is above it.

    ``room.columns`` has the ``c`` columns, and ``room.matrices[0]`` their covariances given J, with the node last.
    The members of the best A are in ``room.best``, and their number in its last place.
    """
    half = facts.half
    matrices, places, sums, rest, taken = room.matrices, room.places, room.sums, room.rest, room.taken
    best = floor
    value = -np.inf
    if base > best:
        best = value = base
        room.best[-1] = 0
    rest[c] = 0.0
    for t in range(c - 1, -1, -1):
        rest[t] = rest[t + 1] + facts.weights[room.columns[t]]
    start = matrices[0, c, c]
    e = steps = places[0] = 0
    sums[0] = base
    while e >= 0:
        old = matrices[e]
        variance = old[c, c]
        spent = half * math.log(start / variance)
        t = places[e]
        gain = np.inf
        while t < c:
            left = sums[e] + rest[t] - spent - best
            if left <= 0.0:
                t = c
                break
            share = old[t, c] * old[t, c] / (variance * old[t, t])
            if half * share < left:
                gain = -half * math.log(max(1.0 - share, TINY))
                if gain < left:
                    break
            t += 1
        if t == c:
            e -= 1
            continue
        places[e] = t
        steps += 1
        if steps > facts.most_steps:
            return Excess(max(best, _open(facts, room, c, e, start)), value)
        places[e] = t + 1
        new = matrices[e + 1]
        for a in range(t + 1, c + 1):
            ratio = old[t, a] / old[t, t]
            for b in range(a, c + 1):
                new[a, b] = old[a, b] - ratio * old[t, b]
        taken[e] = t
        sums[e + 1] = sums[e] + facts.weights[room.columns[t]]
        e += 1
        places[e] = t + 1
        if sums[e] - spent - gain > best:
            best = value = sums[e] - spent - gain
            for q in range(e):
                room.best[q] = room.columns[taken[q]]
            room.best[-1] = e
    return Excess(best, value)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _next_hopeful(facts, matrix, diagonal, first, last, m, floor, n_columns):  # type: ignore[no-untyped-def]
    """Return the first z in a range whose J, with ``m`` members before z (none if z is 0), may exceed the floor.

    Only the first columns are looked at, a few at a time, until too much weight is lost. I(i; j | J) is at least N/2
    times the squared correlation of i and j given J, so a column j with a larger one cannot be in T.
    """
    weights = facts.weights
    size = m + 1 if first > 0 else 0
    left = facts.total - facts.costs[size] - floor
    if left <= 0.0:
        return last
    step = (facts.costs[size] - facts.costs[size - 1]) / facts.half if size > 0 else 0.0
    share = step - 0.5 * step * step  # at most 1 - exp(-step)
    for z in range(first, last):
        ratio = inverse = 0.0
        variance = diagonal[0]
        if z > 0:
            inverse = 1.0 / diagonal[z]
            ratio = matrix[z, 0] * inverse
            if matrix[z, 0] * ratio <= share * variance:
                continue
            variance -= matrix[z, 0] * ratio
        limit = left / facts.half * variance
        lost = 0.0
        j = 1
        while j <= n_columns and lost < left:
            stop = min(j + CHUNK, n_columns + 1)
            for q in range(j, stop):
                covariance = matrix[0, q] - ratio * matrix[z, q]
                rest = diagonal[q] - matrix[z, q] * matrix[z, q] * inverse
                lost += weights[q] if covariance * covariance > limit * rest + TINY else 0.0
            j = stop
        if lost < left:
            return z
    return last


@njit(cache=True, nogil=True)
def _given(matrix, diagonal, z):  # type: ignore[no-untyped-def]
    """Return what one more member ``z`` of J changes (0: none)."""
    if z == 0:
        return Given(0.0, 0.0, diagonal[0])
    ratio = matrix[z, 0] / diagonal[z]
    return Given(ratio, 1.0 / diagonal[z], diagonal[0] - matrix[z, 0] * ratio)


@njit(cache=True, nogil=True)
def _examine(facts, room, matrix, diagonal, z, members, m, floor):  # type: ignore[no-untyped-def]
    """Return the excess of J, which is the first ``m`` members and ``z`` (0: J is empty), if it is above the floor."""
    if _next_hopeful(facts, matrix, diagonal, z, z + 1, m, floor, facts.n_weights) > z:
        return Excess(floor, -np.inf)
    cost = facts.costs[m + 1 if z > 0 else 0]
    own, row = matrix[0], matrix[z]
    ratio, inverse, variance = _given(matrix, diagonal, z)
    limit = (facts.total - cost - floor) / facts.half * variance
    base = 0.0
    c = 0
    for j in range(1, facts.n_weights + 1):
        inside = z == j
        for a in range(m):
            inside = inside or members[a] == j
        if inside:
            base += facts.weights[j]
            continue
        covariance = own[j] - ratio * row[j]
        if covariance * covariance <= limit * (diagonal[j] - row[j] * row[j] * inverse) + TINY:
            room.columns[c] = j
            c += 1
    start = room.matrices[0]
    for a in range(c):
        j = room.columns[a]
        for b in range(a, c):
            start[a, b] = matrix[j, room.columns[b]] - row[j] * row[room.columns[b]] * inverse
        start[a, c] = own[j] - ratio * row[j]
    start[c, c] = variance
    found = _best_addition(facts, room, c, base, floor + cost)
    return Excess(found.bound - cost, found.value - cost)


@njit(cache=True, nogil=True)
def _eliminate(old, new, old_diagonal, new_diagonal, z, n_columns):  # type: ignore[no-untyped-def]
    """Write the covariances given column ``z``: the first columns of the rows after ``z`` and of those among them."""
    size = old.shape[0]
    inverse = 1.0 / old_diagonal[z]
    for y in range(size):
        if y >= n_columns and y <= z:
            continue
        ratio = old[y, z] * inverse
        for b in range(n_columns):
            new[y, b] = old[y, b] - ratio * old[z, b]
        new_diagonal[y] = old_diagonal[y] - ratio * old[y, z]
    for y in range(size):
        new[y, z] = new[z, y] = 0.0
    new_diagonal[z] = 0.0


@njit(cache=True, nogil=True)
def _note(found, room, value, members, m, z):  # type: ignore[no-untyped-def]
    """Keep a set with large excess in place of the smallest one that was kept."""
    q = np.argmin(found.values)
    if value <= found.values[q]:
        return
    found.values[q] = value
    found.members[q] = 0
    for a in range(room.best[-1]):
        found.members[q, room.best[a]] = 1
    for a in range(m):
        found.members[q, members[a]] = 2
    if z > 0:
        found.members[q, z] = 2


@njit(cache=True, nogil=True)
def largest_excess(matrix, facts, most, least, first, last, n_kept):  # type: ignore[no-untyped-def]
    """Return an upper bound on the excess over the sets J with at most ``most`` members, and sets where it is large.

    Parameters
    ----------
    matrix : array
        The correlations, in the order of ``facts.weights``.
    facts : Facts
        The weights and costs.
    most : int
        The largest number of members of J.
    least : float
        An excess up to this need not be found.
    first, last : int
        The first member of J is in this range of columns; the empty set is looked at if ``first`` is 1.
    n_kept : int
        The number of sets that are returned.
    """
    size = matrix.shape[0]
    n_weights = facts.n_weights
    depth = 0  # larger sets cost more than all weights
    while depth < min(most, size - 1) and facts.costs[depth + 1] + least < facts.total:
        depth += 1
    side = n_weights + 1
    few = min(CHUNK, n_weights)
    room = Room(
        np.empty((side + 1, side, side)), np.empty(side + 1, np.int64), np.empty(side + 1), np.empty(side + 1),
        np.empty(side + 1, np.int64), np.empty(side + 1, np.int64), np.empty(side + 1, np.int64),
    )  # fmt: skip
    found = Violations(least, np.zeros((n_kept, size), np.int8), np.full(n_kept, -np.inf))
    covariances = np.empty((max(depth, 1), size, size))
    diagonals = np.empty((max(depth, 1), size))
    covariances[0] = matrix
    for a in range(size):
        diagonals[0, a] = matrix[a, a]
    members = np.zeros(max(depth, 1), np.int64)
    best = least
    m = 0
    z = 0 if first == 1 else first
    filled = True  # whether the last matrix has all columns with weights; it begins with a few
    while True:
        floor = max(least, 0.5 * best)
        end = size if m > 0 else min(last, size) if depth > 0 else 1
        if z > 0 and m + 1 == depth:
            n_columns = n_weights if filled else few
            z = _next_hopeful(facts, covariances[m], diagonals[m], z, end, m, floor, n_columns)
            if z < end and not filled:
                y = members[m - 1]
                _eliminate(covariances[m - 1], covariances[m], diagonals[m - 1], diagonals[m], y, n_weights + 1)
                filled = True
                continue
        if z < end:
            excess = _examine(facts, room, covariances[m], diagonals[m], z, members, m, floor)
            best = max(best, excess.bound)
            _note(found, room, excess.value, members, m, z)
            if z > 0 and m + 1 < depth and z + 1 < size:
                filled = m + 2 < depth
                n_columns = size if filled else few + 1
                _eliminate(covariances[m], covariances[m + 1], diagonals[m], diagonals[m + 1], z, n_columns)
                members[m] = z
                m += 1
            z += 1
            continue
        if m == 0:
            break
        m -= 1
        filled = True
        z = members[m] + 1
    return Violations(best, found.members, found.values)
