"""Climbs to parent sets with large remainders: one member is taken, left out or replaced at a time.

The remainder of a parent set T of node i (``prices.py``) is, with the likelihood as a row of negative weight,

    Σ_r w_r ½ log var_r(i | T) - cost(|T|) - Σ_c y_c [T meets c] - Σ_t z_t(T ∩ C_t).

Each row keeps its matrix swept by T, so that var_r(i | T ± b) = v_ii - v_ib² / v_bb for every b, in T or not. Nothing
is proven; a search over all sets (``undominated.py``) proves bounds, but takes long to come across such sets.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

FLOOR = 1e-12
LEAST_STEP = 1e-6  # an improvement by less ends the climb


class Climb(NamedTuple):
    """The rows that a climb needs, and its work arrays.

    Attributes
    ----------
    matrices, swept : arrays of shape (rows, size, size)
        M_r with unit diagonal, zero between C_r and other nodes, and space for the swept matrices. The node is last.
    weights : array
        w_r.
    cost : array
        The penalty for 0, 1, 2, ... parents.
    clusters, cluster_weights : bool array, array
        The clusters with the node, and y_c.
    tables, table_bits : array, int array
        As in ``prices.Prices``.
    counts, places : int arrays
        The number of members in each cluster, and the index of T in each table.
    worth : array
        Space for one number per variable.
    """

    matrices: Any
    swept: Any
    weights: Any
    cost: Any
    clusters: Any
    cluster_weights: Any
    tables: Any
    table_bits: Any
    counts: Any
    places: Any
    worth: Any


@njit(cache=True, nogil=True)
def _turn(climb, inside, b):  # type: ignore[no-untyped-def]
    """Take b into T, or out of it."""
    swept = climb.swept
    size = swept.shape[1]
    back = inside[b]
    inside[b] = not back
    for r in range(swept.shape[0]):
        own = swept[r]
        inverse = 1.0 / own[b, b]
        for x in range(size):
            if x != b and own[x, b] != 0.0:
                factor = own[x, b] * inverse
                for y in range(size):
                    if y != b:
                        own[x, y] -= factor * own[b, y]
        if back:
            inverse = -inverse
        for x in range(size):
            if x != b:
                own[x, b] *= inverse
                own[b, x] = own[x, b]
        own[b, b] = -1.0 / own[b, b]
    sign = -1 if back else 1
    for c in range(climb.counts.shape[0]):
        if climb.clusters[c, b]:
            climb.counts[c] += sign
    for t in range(climb.places.shape[0]):
        climb.places[t] += sign * climb.table_bits[t, b]


@njit(cache=True, nogil=True)
def _others(climb, a, b, before, after):  # type: ignore[no-untyped-def]
    """Return what clusters and tables subtract, after the changes of the numbers of members of a and b."""
    total = 0.0
    for c in range(climb.counts.shape[0]):
        count = climb.counts[c]
        if a >= 0 and climb.clusters[c, a]:
            count += before
        if b >= 0 and climb.clusters[c, b]:
            count += after
        if count > 0:
            total += climb.cluster_weights[c]
    for t in range(climb.places.shape[0]):
        place = climb.places[t]
        if a >= 0:
            place += before * climb.table_bits[t, a]
        if b >= 0:
            place += after * climb.table_bits[t, b]
        total += climb.tables[t, place]
    return total


@njit(cache=True, nogil=True)
def _value(climb, k):  # type: ignore[no-untyped-def]
    """Return the remainder of T, which has ``k`` members."""
    i = climb.swept.shape[1] - 1
    total = -climb.cost[k] - _others(climb, -1, -1, 0, 0)
    for r in range(climb.weights.shape[0]):
        total += 0.5 * climb.weights[r] * math.log(max(climb.swept[r, i, i], FLOOR))
    return total


@njit(cache=True, nogil=True)
def _best_turn(climb, inside, free, k, most):  # type: ignore[no-untyped-def]
    """Return the change of one member that leaves the largest remainder, which is ``climb.worth`` of it; -1 if none."""
    swept, worth = climb.swept, climb.worth
    size = swept.shape[1]
    i = size - 1
    for b in range(size):
        worth[b] = 0.0
    for r in range(climb.weights.shape[0]):
        half = 0.5 * climb.weights[r]
        own = swept[r]
        for b in range(i):
            if free[b]:
                worth[b] += half * math.log(max(own[i, i] - own[i, b] * own[i, b] / own[b, b], FLOOR))
    best = -1
    for b in range(i):
        if not free[b] or (not inside[b] and k >= most):
            worth[b] = -np.inf
            continue
        sign = -1 if inside[b] else 1
        worth[b] -= climb.cost[k + sign] + _others(climb, -1, b, 0, sign)
        if best < 0 or worth[b] > worth[best]:
            best = b
    return best


@njit(cache=True, nogil=True)
def _best_swap(climb, inside, free, a):  # type: ignore[no-untyped-def]
    """Return the b that leaves the largest remainder, ``climb.worth`` of it, in place of member a; -1 if none."""
    swept, worth = climb.swept, climb.worth
    size = swept.shape[1]
    i = size - 1
    for b in range(size):
        worth[b] = 0.0
    for r in range(climb.weights.shape[0]):
        half = 0.5 * climb.weights[r]
        own = swept[r]
        slope = own[i, a] / own[a, a]
        variance = own[i, i] - own[i, a] * slope
        for b in range(i):
            if free[b] and not inside[b]:
                along = own[i, b] - slope * own[a, b]
                left = own[b, b] - own[a, b] * own[a, b] / own[a, a]
                worth[b] += half * math.log(max(variance - along * along / left, FLOOR))
    k = 0
    for b in range(i):
        if inside[b]:
            k += 1
    best = -1
    for b in range(i):
        if free[b] and not inside[b]:
            worth[b] -= climb.cost[k] + _others(climb, a, b, -1, 1)
            if best < 0 or worth[b] > worth[best]:
                best = b
    return best


@njit(cache=True, nogil=True)
def climb_from(climb, inside, free, most, least, found, values, count):  # type: ignore[no-untyped-def]
    """Climb from the set ``inside``, and add to ``found`` what is worth more than ``least``; return their number.

    Members that are not ``free`` stay. Besides the sets on the way, those that differ from the last one in one member
    are found.
    """
    swept = climb.swept
    size = swept.shape[1]
    start = inside.copy()
    for r in range(swept.shape[0]):
        for x in range(size):
            for y in range(size):
                swept[r, x, y] = climb.matrices[r, x, y]
    climb.counts[:] = 0
    climb.places[:] = 0
    inside[:] = False
    k = 0
    for b in range(size - 1):
        if start[b]:
            _turn(climb, inside, b)
            k += 1
    value = _value(climb, k)
    while True:
        if value > least and count < found.shape[0]:
            for b in range(size):
                found[count, b] = inside[b]
            values[count] = value
            count += 1
        b = _best_turn(climb, inside, free, k, most)
        if b >= 0 and climb.worth[b] > value + LEAST_STEP:
            value = climb.worth[b]
            k += -1 if inside[b] else 1
            _turn(climb, inside, b)
            continue
        for c in range(size - 1):
            if climb.worth[c] > least and count < found.shape[0]:
                for x in range(size):
                    found[count, x] = inside[x]
                found[count, c] = not inside[c]
                values[count] = climb.worth[c]
                count += 1
        out, into, top = -1, -1, value + LEAST_STEP
        for a in range(size - 1):
            if inside[a] and free[a]:
                c = _best_swap(climb, inside, free, a)
                if c >= 0 and climb.worth[c] > top:
                    out, into, top = a, c, climb.worth[c]
        if out < 0:
            return count
        value = top
        _turn(climb, inside, out)
        _turn(climb, inside, into)
