"""What rows subtract from the score of a parent set, in a search that takes or leaves out one candidate at a time.

With multipliers w_r ≥ 0 for rows with matrices M_r and sets C_r, and y_c ≥ 0 for clusters, the *remainder* of a parent
set T of node i is

    score_i(T) - Σ_r w_r a_r(T) - Σ_c y_c [T meets c] - Σ_t z_t(T ∩ C_t),    a_r(T) = -½ log var_{M_r}(i | T ∩ C_r),

where z_t is a table of coefficients times their multiplier. The rows given here are those whose C, or cluster, contains
the node. The row of the sample correlations with C = V subtracts a share of the likelihood itself, so that only the
rest of it counts in bounds.

All sums grow with T. So from a set T that contains J + b, the rows subtract at least as much as from J + b: the
*marginal* of b, what they subtract from J + b more than from J, counts against every such T. A candidate is left out
if no T with it can have a remainder of interest.

For each row with a matrix the search keeps, for every candidate b, the Cholesky row of b given the members of J, its
variance given J and its covariance with the node given J. They are extended when a member is taken; all inner loops run
over rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dagopt.kernels.gaussian.useful import largest_ratio
from dagopt.kernels.store import njit

FLOOR = 1e-12  # of a variance given others, as a share of its own: a smaller one is rounding error


class Prices(NamedTuple):
    """Rows with their multipliers, and the work arrays that a search needs for them.

    Attributes
    ----------
    matrices : array of shape (size, size, rows)
        M_r with unit diagonal, and zeros between members of C_r and other nodes. The variables are in the order of the
        search, with the node last.
    weights : array
        w_r.
    clusters, cluster_weights : bool array, array
        The clusters, and y_c.
    tables, table_bits : array, int array
        z_t, and for each variable the number that it adds to the index of T ∩ C_t, 0 if it is not in C_t.
    factor, spread, cross : arrays of shape (levels, size, rows)
        For each number of members of J: the entry of b's Cholesky row at the last member, and the variance of b and its
        covariance with the node given J.
    rest : array of shape (levels, rows)
        The node's variance given J.
    met, place : arrays of shape (levels, clusters) and (levels, tables)
        Whether J meets each cluster, and the index of J in each table.
    marginal : array of shape (levels, size)
        A lower bound on the marginal of each candidate.
    by_rows, taken_away : arrays
        What the rows here subtract from J, for each number of members, and the same with the share of the likelihood.
    ceilings : array
        An upper bound on the remainders of all sets below a step of the search.
    whole : float
        The share of the likelihood that the row of the sample correlations with C = V subtracts.
    room, sums : arrays
        Space for one number per variable.
    limit : array of one
        Only sets with at least this remainder are of interest.
    inside : array of shape (size, rows)
        1 if a variable is in C_r, 0 if not.
    sums_of_rows, origin : array of shape (levels, size, size), int array
        The matrix A of ``price_ceiling.py`` for each number of members, of which the last row is that of the node, and
        the number of members whose variances it uses; -1 if it is not known.
    stretch : array of two
        Its multiplier d, which suits most steps of a search or none, and the factor by which the next one differs.
    reached : array
        Its bounds for the sets with each candidate.
    part : array
        What each candidate counts in the sets that have these bounds.
    with_each, scaled, factors, own_inverse, inverse, curved, ids, along, split, costs : arrays
        Its work space.
    point, left, terms, work : arrays
        More of it.
    """

    matrices: Any
    weights: Any
    clusters: Any
    cluster_weights: Any
    tables: Any
    table_bits: Any
    factor: Any
    spread: Any
    cross: Any
    rest: Any
    met: Any
    place: Any
    marginal: Any
    by_rows: Any
    taken_away: Any
    ceilings: Any
    whole: float
    room: Any
    sums: Any
    limit: Any
    inside: Any
    sums_of_rows: Any
    origin: Any
    stretch: Any
    reached: Any
    part: Any
    with_each: Any
    scaled: Any
    factors: Any
    own_inverse: Any
    inverse: Any
    curved: Any
    ids: Any
    along: Any
    split: Any
    costs: Any
    point: Any
    left: Any
    terms: Any
    work: Any


@njit(cache=True, nogil=True)
def has_rows(prices):
    """Say whether rows subtract anything from scores."""
    counted = prices.weights.shape[0] + prices.cluster_weights.shape[0] + prices.tables.shape[0]
    return counted > 0 or prices.whole > 0.0


@njit(cache=True, nogil=True)
def take(prices, k, b):
    """Return what the rows subtract more from J + b than from J, which has ``k`` members; keep what J + b needs."""
    total = 0.0
    prices.origin[k + 1] = -1
    rest, cross, spread = prices.rest, prices.cross, prices.spread
    for r in range(prices.weights.shape[0]):
        rest[k + 1, r] = max(rest[k, r] - cross[k, b, r] * cross[k, b, r] / spread[k, b, r], FLOOR)
        total -= 0.5 * prices.weights[r] * math.log(rest[k + 1, r] / rest[k, r])
    for c in range(prices.cluster_weights.shape[0]):
        new = prices.clusters[c, b] and not prices.met[k, c]
        prices.met[k + 1, c] = prices.met[k, c] or new
        if new:
            total += prices.cluster_weights[c]
    for t in range(prices.tables.shape[0]):
        prices.place[k + 1, t] = prices.place[k, t] + prices.table_bits[t, b]
        total += prices.tables[t, prices.place[k + 1, t]] - prices.tables[t, prices.place[k, t]]
    return total


@njit(cache=True, nogil=True)
def _extend(prices, members, k, b):
    """Bring what is kept of candidate ``b`` to J, whose first ``k - 1`` members it knows."""
    matrices, factor, spread, cross = prices.matrices, prices.factor, prices.spread, prices.cross
    n_rows = prices.weights.shape[0]
    a = members[k - 1]
    for r in range(n_rows):
        factor[k - 1, b, r] = matrices[b, a, r]
    for c in range(k - 1):
        for r in range(n_rows):
            factor[k - 1, b, r] -= factor[c, b, r] * factor[c, a, r]
    for r in range(n_rows):
        inverse = 1.0 / math.sqrt(spread[k - 1, a, r])
        factor[k - 1, b, r] *= inverse
        own = factor[k - 1, b, r]
        spread[k, b, r] = max(spread[k - 1, b, r] - own * own, FLOOR)
        cross[k, b, r] = cross[k - 1, b, r] - own * inverse * cross[k - 1, a, r]


@njit(cache=True, nogil=True)
def _weigh(prices, k, b):
    """Keep a lower bound on the marginal of ``b``: the first terms of the series of the logarithm are enough."""
    total = 0.0
    for r in range(prices.weights.shape[0]):
        x = prices.cross[k, b, r] * prices.cross[k, b, r] / (prices.spread[k, b, r] * prices.rest[k, r])
        total += prices.weights[r] * x * (0.5 + x * (0.25 + x * (1.0 / 6.0 + x * (0.125 + 0.1 * x))))
    for c in range(prices.cluster_weights.shape[0]):
        if prices.clusters[c, b] and not prices.met[k, c]:
            total += prices.cluster_weights[c]
    for t in range(prices.tables.shape[0]):
        place = prices.place[k, t]
        total += prices.tables[t, place + prices.table_bits[t, b]] - prices.tables[t, place]
    prices.marginal[k, b] = total


@njit(cache=True, nogil=True)
def extend_all(prices, members, k, free):
    """Bring what is kept of every candidate to J, after the last of its ``k`` members was taken."""
    if k > 0:
        for b in range(free.shape[0]):
            if free[b]:
                _extend(prices, members, k, b)


@njit(cache=True, nogil=True)
def weigh_all(prices, k, free):
    """Keep a lower bound on the marginal of every candidate, for J with ``k`` members."""
    for b in range(free.shape[0]):
        if free[b]:
            _weigh(prices, k, b)


@njit(cache=True, nogil=True)
def most_gain(half, cost, k, most, upper, least, free, error, prices):
    """Return a bound on the remainder of T minus that of J, for J ⊂ T ⊆ J + R with at most ``most`` members.

    The likelihood grows by at most l_i(J + R) - l_i(J), and by at most the sum over T - J of bounds on one term of the
    chain rule each: l_j(J + R + i) - l_j(J), and the bound of ``useful.py``. The rows subtract at least as much from T
    as from J. The terms are left in ``room``, and the sums of the largest ones in ``sums``.
    """
    room, sums = prices.room, prices.sums
    share = max(1.0 - prices.whole, 0.0)
    size = upper.shape[0]
    i = size - 1
    full = half * math.log(upper[i, i] * least[i, i])
    count = 0
    for b in range(size):
        if free[b]:
            ratio = largest_ratio(least[i, i], least[b, b], least[i, b], upper, i, b, error)
            room[b] = half * math.log(min(upper[b, b] * least[b, b], ratio))
            place = count
            while place > 0 and sums[place - 1] < room[b]:
                sums[place] = sums[place - 1]
                place -= 1
            sums[place] = room[b]
            count += 1
    best = -np.inf
    reached = 0.0
    for m in range(1, min(count, most - k) + 1):
        largest = sums[m - 1]
        reached += largest
        sums[m - 1] = reached
        best = max(best, share * min(reached, full) - (cost[k + m] - cost[k]))
        if reached >= full or share * largest <= cost[k + m] - cost[k + m - 1]:
            sums[m] = -1.0
            return best
    sums[min(count, most - k)] = -1.0
    return best


@njit(cache=True, nogil=True)
def most_with(cost, k, most, b, full, first, prices):
    """Return a bound on the remainder of T minus that of J, for the same T if b is one of them.

    ``first`` is l_i(J + b) - l_i(J), ``full`` is l_i(J + R) - l_i(J). The rows subtract at least the marginal of b.
    """
    share = max(1.0 - prices.whole, 0.0)
    sums, own = prices.sums, prices.room[b]
    best = -np.inf
    m = 0  # members besides J + b
    others = 0.0
    while True:
        less = others
        if sums[m] >= 0.0 and own >= sums[m] - others:  # b is among the m + 1 largest
            less = sums[m] - own
        best = max(best, share * min(first + less, full) - (cost[k + m + 1] - cost[k]))
        if sums[m] < 0.0 or k + m + 1 >= most:
            break
        others = sums[m]
        m += 1
    return best - prices.marginal[k, b]


@njit(cache=True, nogil=True)
def require(prices, members, n_must):
    """Take the required parents, which are the first ``n_must`` members."""
    prices.by_rows[0] = 0.0
    for t in range(prices.tables.shape[0]):
        prices.by_rows[0] += prices.tables[t, 0]
    for a in range(n_must):
        prices.by_rows[a + 1] = prices.by_rows[a] + take(prices, a, members[a])
        for b in range(a + 1, prices.matrices.shape[0] - 1):
            _extend(prices, members, a + 1, b)
