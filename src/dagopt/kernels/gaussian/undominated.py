"""All parent sets of one node that no subset beats, for a Gaussian likelihood with a cost per parent.

A set T is dominated if a subset scores at least as well. In an undominated T every j earns its cost given the others,

    I(i; j | T - j) = l_i(T) - l_i(T - j) = l_j(T - j + i) - l_j(T - j)  >  cost(|T|) - cost(|T| - 1),

where l_i(J) = -N/2 log var(i | J). In a search that has taken J and has the candidates R left, J ⊆ T ⊆ J + R, both
forms have bounds: the first is at most l_i(J + R) - l_i(J - j), the second l_j(J + R + i) - l_j(J - j). The largest
likelihoods are read off the diagonal of the inverse of the matrix of J + R + i, the smallest off the matrix swept by J
(the regression on J). Leaving a candidate out is one step of elimination in the inverse, taking it is one sweep.

A third bound uses both ends at once (``useful.py``).

With prices (``prices.py``) only sets with a large remainder are of interest, and a step is pruned if none of its sets
has one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.gaussian.price_ceiling import most_above
from dagopt.kernels.gaussian.prices import extend_all, most_gain, most_with, require, take, weigh_all
from dagopt.kernels.gaussian.useful import inverse_of, largest_ratio, leave_out, sweep
from dagopt.kernels.store import njit

# Places of the numbers in ``counters``: depth, sets found, steps done, and whether the search is over.
DEPTH, FOUND, STEPS, OVER = 0, 1, 2, 3


class Rooms(NamedTuple):
    """The state of a search, one entry or row of each array per level.

    Attributes
    ----------
    upper, lower : arrays of matrices
        The inverses of the matrices of J + R + i, and the matrices swept by J; ``lower`` has one per number of parents.
    free, active : bool arrays
        The candidates to choose from, and the variables of J + R + i.
    branch, stage, up, taken, fresh : int arrays
        The candidate branched on, how many of its branches were begun, the inverse used, the number of parents taken,
        and whether the level is a new set (1), or new (2).
    counters : int array
        See above.
    scores : array of shape (2, levels)
        For each number of parents taken: the score of J, and the best score met of a subset of J.
    done : array of one
        The share of the search that is done, counting each branch as half of its parent: an estimate of the rest.
    members : int array
        The members of J in the order in which they were taken.
    """

    upper: NDArray[np.float64]
    lower: NDArray[np.float64]
    free: NDArray[np.bool_]
    active: NDArray[np.bool_]
    branch: NDArray[np.int64]
    stage: NDArray[np.int64]
    up: NDArray[np.int64]
    taken: NDArray[np.int64]
    fresh: NDArray[np.int64]
    counters: NDArray[np.int64]
    scores: NDArray[np.float64]
    done: NDArray[np.float64]
    members: NDArray[np.int64]


def begin(matrix: NDArray[np.float64], n_must: int) -> Rooms:
    """Set up the search: the node is the last variable of ``matrix``, required parents are the first ones."""
    size = len(matrix)
    levels = size + 2

    def integers() -> NDArray[np.int64]:
        return np.zeros(levels + 1, dtype=np.int64)

    rooms = Rooms(
        upper=np.empty((levels, size, size)),
        lower=np.empty((levels, size, size)),
        free=np.zeros((levels, size), dtype=np.bool_),
        active=np.ones((levels, size), dtype=np.bool_),
        branch=integers(),
        stage=integers(),
        up=integers(),
        taken=integers(),
        fresh=integers(),
        counters=np.zeros(4, dtype=np.int64),
        scores=np.full((2, levels), -np.inf),
        done=np.zeros(1),
        members=np.arange(levels, dtype=np.int64),
    )
    rooms.upper[0] = inverse_of(matrix)
    rooms.lower[0] = matrix
    for k in range(n_must):
        sweep(rooms.lower[k], rooms.lower[k + 1], k)
    rooms.free[0, n_must : size - 1] = True
    rooms.taken[0] = n_must
    rooms.fresh[0] = 1
    return rooms


@njit(cache=True, nogil=True)
def resume(n_samples, cost, n_must, most, margin, rooms, prices, most_steps, found, values):
    """Continue for up to ``most_steps`` steps or until ``found`` is full; ``counters[OVER]`` says when it is over.

    Parameters
    ----------
    n_samples : int
        N.
    cost : array
        The cost of 0, 1, 2, ... parents, whose differences do not fall.
    n_must, most : int
        The first variables are required; sets have at most ``most`` members.
    margin : float
        Sets and candidates are dropped only if they lose by more than this.
    rooms : Rooms, in a box
        The state of the search.
    prices : Prices, in a box
        Rows with multipliers; a set with a remainder below ``prices.limit`` by more than ``margin`` is not wanted.
    found : bool array of shape (room, size)
        The sets found; the caller must still remove those that a subset beats.
    values : array
        Their remainders, which are their scores if there are no prices.
    """
    upper, lower, free, active = rooms.upper, rooms.lower, rooms.free, rooms.active
    branch, stage, up, taken, fresh = rooms.branch, rooms.stage, rooms.up, rooms.taken, rooms.fresh
    counters, scores, done, members = rooms.counters, rooms.scores, rooms.done, rooms.members
    size = upper.shape[1]
    i = size - 1
    half = 0.5 * n_samples
    depth = counters[0]
    last = counters[2] + most_steps
    while depth >= 0:
        if counters[2] >= last or counters[1] + 1 >= found.shape[0]:
            counters[0] = depth
            return
        k = taken[depth]
        if fresh[depth]:
            counters[2] += 1
            least = lower[k]
            if fresh[depth] == 1:  # a new set
                if depth == 0:
                    require(prices, members, n_must)
                own = -half * math.log(least[i, i]) - cost[k]
                best = -np.inf
                if k > n_must:
                    best = max(scores[1, k - 1], scores[0, k - 1])
                for a in range(n_must, k):
                    j = members[a]
                    without = least[i, i] + least[i, j] * least[i, j] / -least[j, j]
                    best = max(best, -half * math.log(without) - cost[k - 1])
                scores[0, k] = own
                scores[1, k] = best
                prices.taken_away[k] = prices.by_rows[k] - prices.whole * half * math.log(least[i, i])
                if own > best - margin and own - prices.taken_away[k] > prices.limit[0] - margin:
                    for a in range(k):
                        found[counters[1], members[a]] = True
                    values[counters[1]] = own - prices.taken_away[k]
                    counters[1] += 1
            stage[depth] = 0
            branch[depth] = -1
            if k < most:
                branch[depth] = _choose(half, cost, n_must, most, margin, rooms, prices, depth)
            fresh[depth] = 0
            if branch[depth] < 0:
                done[0] += 0.5**depth
                depth -= 1
                continue
        b = branch[depth]
        stage[depth] += 1
        if stage[depth] > 2:
            depth -= 1
            continue
        for z in range(size):
            free[depth + 1, z] = free[depth, z]
            active[depth + 1, z] = active[depth, z]
        free[depth + 1, b] = False
        up[depth + 1] = up[depth]
        if stage[depth] == 1:
            sweep(lower[k], lower[k + 1], b)
            members[k] = b
            prices.by_rows[k + 1] = prices.by_rows[k] + take(prices, k, b)
            taken[depth + 1] = k + 1
            fresh[depth + 1] = 1
        else:
            active[depth + 1, b] = False
            up[depth + 1] = up[depth] + 1
            leave_out(upper[up[depth]], upper[up[depth] + 1], active[depth], b)
            taken[depth + 1] = k
            fresh[depth + 1] = 2
        depth += 1
    counters[3] = 1
    counters[0] = -1


@njit(cache=True, nogil=True)
def _choose(half, cost, n_must, most, margin, rooms, prices, depth):
    """Drop candidates that cannot be useful and return the one to branch on, -1 if no larger set is of interest."""
    upper, up, scores, members = rooms.upper, rooms.up, rooms.scores, rooms.members
    free = rooms.free[depth]
    size = upper.shape[1]
    i = size - 1
    k = rooms.taken[depth]
    least = rooms.lower[k]
    step = cost[k + 1] - cost[k]
    threshold = math.exp((step - margin) / half)
    error = margin / half
    priced = prices.limit[0] > -np.inf or prices.weights.shape[0] > 0
    extended = weighed = rooms.fresh[depth] == 2  # the candidates of the same set J were weighed a level above
    if priced and depth > 0:
        for b in range(size):
            prices.diagonals[depth, b] = prices.diagonals[depth - 1, b]
    dropping = True
    while dropping:
        dropping = False
        for b in range(size):
            if free[b] and _never_adds(least, upper[up[depth]], i, b, threshold, error):
                _drop(rooms, depth, b)
                dropping = True
        if dropping:
            continue
        inverse = upper[up[depth]]
        largest = half * math.log(inverse[i, i])
        if largest - cost[k + 1] <= max(scores[0, k], scores[1, k]) - margin:
            return -1
        if _has_useless_member(least, inverse, members[n_must:k], threshold, error):
            return -1
        if priced:
            own = scores[0, k] - prices.taken_away[k] + margin
            prices.ceilings[depth] = own + most_gain(half, cost, k, most, inverse, least, free, error, prices)
            if prices.ceilings[depth] < prices.limit[0]:
                return -1
            if not extended:
                extended = True
                extend_all(prices, members, k, free)
            wanted, diagonal = prices.limit[0] - own + step, prices.diagonals[depth]
            above = most_above(2.0 * half, members, k, inverse, least, free, wanted, diagonal, prices)
            prices.ceilings[depth] = min(prices.ceilings[depth], own - step + above)
            if above < wanted:
                return -1
            if not weighed:
                weighed = True
                weigh_all(prices, k, free)
            full = largest + half * math.log(least[i, i])
            for b in range(size):
                if free[b]:
                    first = -half * math.log1p(-least[i, b] * least[i, b] / (least[i, i] * least[b, b]))
                    if own + most_with(cost, k, most, b, full, first, prices) < prices.limit[0]:
                        _drop(rooms, depth, b)
                        dropping = True
    inverse = upper[up[depth]]
    best = -1.0
    chosen = -1
    for b in range(size):
        if free[b]:
            first = inverse[i, b] * inverse[i, b] / (inverse[i, i] * inverse[b, b])
            second = least[i, b] * least[i, b] / (least[i, i] * least[b, b])
            value = first + 0.1 * second
            if value > best:
                best = value
                chosen = b
    return chosen


@njit(cache=True, nogil=True)
def _never_adds(least, inverse, i, b, threshold, error):
    """Say whether candidate b earns its cost in no set between J and J + R."""
    ratio = inverse[b, b] * least[b, b]
    if ratio > threshold:
        ratio = largest_ratio(least[i, i], least[b, b], least[i, b], inverse, i, b, error)
    return ratio <= threshold


@njit(cache=True, nogil=True)
def _has_useless_member(least, inverse, members, threshold, error):
    """Say whether some member of J earns its cost in no set between J and J + R."""
    i = least.shape[0] - 1
    for j in members:
        if inverse[j, j] / -least[j, j] <= threshold:
            return True
        without = least[i, i] + least[i, j] * least[i, j] / -least[j, j]
        if inverse[i, i] * without <= threshold:
            return True
        vj = -1.0 / least[j, j]
        if largest_ratio(without, vj, least[i, j] * vj, inverse, i, j, error) <= threshold:
            return True
    return False


@njit(cache=True, nogil=True)
def _drop(rooms, depth, b):
    """Leave out candidate b for good below this level."""
    up, active = rooms.up, rooms.active[depth]
    level = up[depth]
    target = level
    if depth > 0 and level == up[depth - 1]:  # the level above still needs its own copy
        target = level + 1
    leave_out(rooms.upper[level], rooms.upper[target], active, b)
    up[depth] = target
    rooms.free[depth, b] = False
    active[b] = False
