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

from dagopt.kernels.store import njit

FLOOR = 1e-12  # of a variance given others, as a share of its own: a smaller one is rounding error
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
def _turn(climb, inside, b):
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
def _counted(climb, a, b, sign):
    """Return what clusters and tables subtract once a has left and b has come (sign 1) or left (-1); -1 is no node."""
    total = 0.0
    for c in range(climb.counts.shape[0]):
        count = climb.counts[c]
        if a >= 0 and climb.clusters[c, a]:
            count -= 1
        if b >= 0 and climb.clusters[c, b]:
            count += sign
        if count > 0:
            total += climb.cluster_weights[c]
    for t in range(climb.places.shape[0]):
        place = climb.places[t]
        if a >= 0:
            place -= climb.table_bits[t, a]
        if b >= 0:
            place += sign * climb.table_bits[t, b]
        total += climb.tables[t, place]
    return total


@njit(cache=True, nogil=True)
def _value(climb, k):
    """Return the remainder of T, which has ``k`` members."""
    i = climb.swept.shape[1] - 1
    total = -climb.cost[k] - _counted(climb, -1, -1, 0)
    for r in range(climb.weights.shape[0]):
        total += 0.5 * climb.weights[r] * math.log(max(climb.swept[r, i, i], FLOOR))
    return total


@njit(cache=True, nogil=True)
def _best_change(climb, inside, free, k, most, a):
    """Return the b whose change leaves the largest remainder, which is ``climb.worth`` of it; -1 if there is none.

    T has ``k`` members. If ``a`` is one of them, it leaves and b comes in its place; if it is -1, b comes or leaves.
    """
    swept, worth = climb.swept, climb.worth
    i = swept.shape[1] - 1
    worth[:] = 0.0
    for r in range(climb.weights.shape[0]):
        half = 0.5 * climb.weights[r]
        own = swept[r]
        line = own[max(a, 0)]
        inverse = 1.0 / own[a, a] if a >= 0 else 0.0
        slope = own[i, a] * inverse if a >= 0 else 0.0
        variance = own[i, i] - own[i, max(a, 0)] * slope
        for b in range(i):
            if free[b] and b != a:
                along = own[i, b] - slope * line[b]
                left = own[b, b] - inverse * line[b] * line[b]
                worth[b] += half * math.log(max(variance - along * along / left, FLOOR))
    before = k - 1 if a >= 0 else k
    best = -1
    for b in range(i):
        comes = not inside[b]
        if not free[b] or b == a or (comes and before >= most) or (a >= 0 and not comes):
            worth[b] = -np.inf
            continue
        sign = 1 if comes else -1
        worth[b] -= climb.cost[before + sign] + _counted(climb, a, b, sign)
        if best < 0 or worth[b] > worth[best]:
            best = b
    return best


@njit(cache=True, nogil=True)
def climb_from(climb, inside, free, most, least, found, values, count):
    """Climb from the set ``inside``, and add to ``found`` what is worth more than ``least``; return their number.

    Members that are not ``free`` stay. Besides the sets on the way, those that differ from the last one in one member
    are found.
    """
    swept = climb.swept
    size = swept.shape[1]
    start = inside.copy()
    # Sweep the matrices of all rows by the set to begin with.
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
        # Note the set, and take or leave the one node that raises the remainder most.
        if value > least and count < found.shape[0]:
            for b in range(size):
                found[count, b] = inside[b]
            values[count] = value
            count += 1
        b = _best_change(climb, inside, free, k, most, -1)
        if b >= 0 and climb.worth[b] > value + LEAST_STEP:
            value = climb.worth[b]
            k += -1 if inside[b] else 1
            _turn(climb, inside, b)
            continue
        # No single change helps: note the neighbours that are worth it.
        for c in range(size - 1):
            if climb.worth[c] > least and count < found.shape[0]:
                for x in range(size):
                    found[count, x] = inside[x]
                found[count, c] = not inside[c]
                values[count] = climb.worth[c]
                count += 1
        # Replace one member by another; without a gain the climb is over.
        out, into, top = -1, -1, value + LEAST_STEP
        for a in range(size - 1):
            if inside[a] and free[a]:
                c = _best_change(climb, inside, free, k, most, a)
                if c >= 0 and climb.worth[c] > top:
                    out, into, top = a, c, climb.worth[c]
        if out < 0:
            return count
        value = top
        _turn(climb, inside, out)
        _turn(climb, inside, into)
