"""What rows subtract from the score of a parent set, in a search that takes or leaves out one candidate at a time.

With multipliers w_r ≥ 0 for rows with matrices M_r and sets C_r, and y_c ≥ 0 for clusters, the *remainder* of a parent
set T of node i is

    score_i(T) - Σ_r w_r a_r(T) - Σ_c y_c [T meets c] - Σ_t z_t(T ∩ C_t),    a_r(T) = -½ log var_{M_r}(i | T ∩ C_r),

where z_t is a table of coefficients times their multiplier. All sums grow with T, so the rows subtract at least as much
from every set that contains J as from J. The rows given here are those whose C, or cluster, contains the node. The row
of the sample correlations with C = V subtracts a share of the likelihood itself, so that only the rest of it counts
in bounds. Each other row with a matrix keeps a Cholesky factor of the members of J, in the order in which they
were taken. It is extended only when the row is needed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dagopt.kernels.gaussian.useful import largest_ratio

FLOOR = 1e-12
BLOCK = 32  # rows that are extended together


class Prices(NamedTuple):
    """Rows with their multipliers, and the work arrays that a search needs for them.

    Attributes
    ----------
    matrices : array of shape (size, size, rows)
        M_r with unit diagonal, and zeros between members of C_r and other nodes. The variables are in the order of the
        search, with the node last.
    weights : array
        w_r, with the largest first, so that a search can often stop after the first rows.
    clusters, cluster_weights : bool array, array
        The clusters, and y_c.
    tables, table_bits : array, int array
        z_t, and for each variable the number that it adds to the index of T ∩ C_t, 0 if it is not in C_t.
    factor, inverse, along, rest, valid : arrays
        The Cholesky factors of J, the inverses of their diagonals, the node's row of each factor, the node's variance
        given the first members, and for each block of rows the number of members that its factors contain.
    taken_away : array
        What the rows subtract from J, for each number of members.
    ceilings : array
        An upper bound on the remainders of all sets below a step of the search.
    whole : float
        The share of the likelihood that the row of the sample correlations with C = V subtracts.
    room : array
        Space for one number per variable.
    limit : array of one
        Only sets with at least this remainder are of interest.
    """

    matrices: Any
    weights: Any
    clusters: Any
    cluster_weights: Any
    tables: Any
    table_bits: Any
    factor: Any
    inverse: Any
    along: Any
    rest: Any
    valid: Any
    taken_away: Any
    ceilings: Any
    whole: float
    room: Any
    limit: Any


@njit(cache=True, nogil=True)
def _extend(prices, first, last, a, members, pivot):  # type: ignore[no-untyped-def]
    """Add member ``a`` of J to the factors of the rows from ``first`` to ``last``; the inner loops run over rows."""
    matrices, factor, inverse, along = prices.matrices, prices.factor, prices.inverse, prices.along
    i = matrices.shape[0] - 1
    b = members[a]
    for r in range(first, last):
        pivot[r - first] = matrices[b, b, r]
    for c in range(a):
        for r in range(first, last):
            factor[a, c, r] = matrices[b, members[c], r]
        for e in range(c):
            for r in range(first, last):
                factor[a, c, r] -= factor[a, e, r] * factor[c, e, r]
        for r in range(first, last):
            factor[a, c, r] *= inverse[c, r]
            pivot[r - first] -= factor[a, c, r] * factor[a, c, r]
    for r in range(first, last):
        inverse[a, r] = 1.0 / math.sqrt(max(pivot[r - first], FLOOR))
        along[a, r] = matrices[i, b, r]
    for e in range(a):
        for r in range(first, last):
            along[a, r] -= along[e, r] * factor[a, e, r]
    for r in range(first, last):
        along[a, r] *= inverse[a, r]
        prices.rest[a + 1, r] = max(prices.rest[a, r] - along[a, r] * along[a, r], FLOOR)


@njit(cache=True, nogil=True)
def took(prices, k):  # type: ignore[no-untyped-def]
    """Note that member ``k`` of J has changed."""
    for q in range(prices.valid.shape[0]):
        if prices.valid[q] > k:
            prices.valid[q] = k


@njit(cache=True, nogil=True)
def taken_away(prices, members, k, top):  # type: ignore[no-untyped-def]
    """Return what the rows subtract from J, which is the first ``k`` members.

    The sum is cut short as soon as ``top`` minus the sum so far is below the limit.
    """
    total = 0.0
    limit = prices.limit[0]
    for c in range(prices.cluster_weights.shape[0]):
        for a in range(k):
            if prices.clusters[c, members[a]]:
                total += prices.cluster_weights[c]
                break
    for t in range(prices.tables.shape[0]):
        place = 0
        for a in range(k):
            place += prices.table_bits[t, members[a]]
        total += prices.tables[t, place]
    pivot = np.empty(BLOCK)
    for q in range(prices.valid.shape[0]):
        if top - total < limit:
            return total
        first = q * BLOCK
        last = min(first + BLOCK, prices.weights.shape[0])
        for a in range(prices.valid[q], k):
            _extend(prices, first, last, a, members, pivot)
        prices.valid[q] = max(prices.valid[q], k)
        for r in range(first, last):
            total -= 0.5 * prices.weights[r] * math.log(prices.rest[k, r])
    return total


@njit(cache=True, nogil=True)
def most_gain(half, cost, k, most, upper, least, free, error, prices):  # type: ignore[no-untyped-def]
    """Return a bound on the remainder of T minus that of J, for J ⊂ T ⊆ J + R with at most ``most`` members.

    The likelihood grows by at most l_i(J + R) - l_i(J), and by at most the sum over T - J of bounds on one term of the
    chain rule each: l_j(J + R + i) - l_j(J), and the bound of ``useful.py``. The rows subtract at least as much from T
    as from J.
    """
    room = prices.room
    share = max(1.0 - prices.whole, 0.0)
    size = upper.shape[0]
    i = size - 1
    full = half * math.log(upper[i, i] * least[i, i])
    count = 0
    for b in range(size):
        if free[b]:
            ratio = largest_ratio(least[i, i], least[b, b], least[i, b], upper, i, b, error)
            room[count] = half * math.log(min(upper[b, b] * least[b, b], ratio))
            count += 1
    best = -np.inf
    reached = 0.0
    for m in range(1, min(count, most - k) + 1):
        place = m - 1
        for q in range(m, count):
            if room[q] > room[place]:
                place = q
        largest = room[place]
        room[place] = room[m - 1]
        reached += largest
        best = max(best, share * min(reached, full) - (cost[k + m] - cost[k]))
        if reached >= full or share * largest <= cost[k + m] - cost[k + m - 1]:
            break
    return best
