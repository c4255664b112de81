"""All parent sets of one node that no subset beats, for a Gaussian likelihood with a cost per parent.

A set T is dominated if a subset scores at least as well. In an undominated T every j earns its cost given the others,

    I(i; j | T - j) = l_i(T) - l_i(T - j) = l_j(T - j + i) - l_j(T - j)  >  cost(|T|) - cost(|T| - 1),

where l_i(J) = -N/2 log var(i | J). In a search that has taken J and has the candidates R left, J ⊆ T ⊆ J + R, both
forms have bounds: the first is at most l_i(J + R) - l_i(J - j), the second l_j(J + R + i) - l_j(J - j). The largest
likelihoods are read off the diagonal of the inverse of the matrix of J + R + i, the smallest off the matrix swept by J
(the regression on J). Leaving a candidate out is one step of elimination in the inverse, taking it is one sweep.

With prices (``prices.py``) only sets with a large remainder are of interest, and a step is pruned if none of its sets
has one.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dagopt.kernels.gaussian.prices import most_gain, taken_away, took

# Places of the numbers in ``counters``: depth, sets found, steps done, and whether the search is over.
DEPTH, FOUND, STEPS, OVER = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def _leave_out(source, target, active, r):  # type: ignore[no-untyped-def]
    """Write the inverse of the matrix without variable ``r``, given the inverse with it."""
    size = source.shape[0]
    inverse = 1.0 / source[r, r]
    for a in range(size):
        if active[a] and a != r:
            factor = source[a, r] * inverse
            for b in range(size):
                target[a, b] = source[a, b] - factor * source[r, b]


@njit(cache=True, nogil=True)
def _sweep(source, target, p):  # type: ignore[no-untyped-def]
    """Write the matrix swept by variable ``p``: residual covariances, coefficients, and minus the inverse."""
    size = source.shape[0]
    inverse = 1.0 / source[p, p]
    for a in range(size):
        if a != p:
            factor = source[a, p] * inverse
            for b in range(size):
                target[a, b] = source[a, b] - factor * source[p, b]
            target[a, p] = factor
    for b in range(size):
        target[p, b] = source[p, b] * inverse
    target[p, p] = -inverse


@njit(cache=True, nogil=True)
def never_useful(inverse, matrix, i, u, threshold, most_steps):  # type: ignore[no-untyped-def]
    """Say whether var(i | Z) / var(i | Z + u) ≤ ``threshold`` for every set Z of the other variables.

    Branch and bound over the Z between the variables taken and those not left out, with bounds from both ends. Also
    False if ``most_steps`` are not enough.
    """
    n = matrix.shape[0]
    levels = n + 2
    upper = np.empty((levels, n, n))
    lower = np.empty((levels, n, n))
    upper[0] = inverse
    lower[0] = matrix
    free = np.ones((levels, n), dtype=np.bool_)
    active = np.ones((levels, n), dtype=np.bool_)
    free[0, i] = False
    free[0, u] = False
    branch = np.zeros(levels, dtype=np.int64)
    stage = np.zeros(levels, dtype=np.int64)
    up = np.zeros(levels, dtype=np.int64)
    low = np.zeros(levels, dtype=np.int64)
    depth = 0
    steps = 0
    fresh = True
    while depth >= 0:
        if fresh:
            fresh = False
            steps += 1
            if steps > most_steps:
                return False
            most = upper[up[depth]]
            least = lower[low[depth]]
            with_least = 1.0 / (1.0 - least[i, u] * least[i, u] / (least[i, i] * least[u, u]))
            with_most = 1.0 / (1.0 - most[i, u] * most[i, u] / (most[i, i] * most[u, u]))
            if with_least > threshold or with_most > threshold:
                return False
            by_u = most[u, u] * least[u, u]
            by_i = most[i, i] * least[i, i]
            best = -1.0
            chosen = -1
            if by_u > threshold and by_i > threshold:
                side = u if by_u <= by_i else i
                for z in range(n):
                    if free[depth, z]:
                        first = most[side, z] * most[side, z] / (most[side, side] * most[z, z])
                        second = least[side, z] * least[side, z] / (least[side, side] * least[z, z])
                        value = min(first, second) + 0.2 * max(first, second)
                        if value > best:
                            best = value
                            chosen = z
            if chosen < 0:
                depth -= 1
                continue
            branch[depth] = chosen
            stage[depth] = 0
        b = branch[depth]
        stage[depth] += 1
        if stage[depth] > 2:
            depth -= 1
            continue
        free[depth + 1] = free[depth]
        active[depth + 1] = active[depth]
        free[depth + 1, b] = False
        up[depth + 1] = up[depth]
        low[depth + 1] = low[depth]
        if stage[depth] == 1:
            low[depth + 1] = low[depth] + 1
            _sweep(lower[low[depth]], lower[low[depth] + 1], b)
        else:
            active[depth + 1, b] = False
            up[depth + 1] = up[depth] + 1
            _leave_out(upper[up[depth]], upper[up[depth] + 1], active[depth], b)
        depth += 1
        fresh = True
    return True


@njit(cache=True, nogil=True)
def useful_pairs(matrix, threshold, most_steps, first, last, useful):  # type: ignore[no-untyped-def]
    """Set ``useful[i, u]`` to False for pairs, first ≤ i < last and u < i, that are in no undominated family."""
    inverse = np.linalg.inv(matrix)
    for i in range(first, last):
        for u in range(i):
            if never_useful(inverse, matrix, i, u, threshold, most_steps):
                useful[i, u] = False
                useful[u, i] = False


@njit(cache=True, nogil=True)
def begin(matrix, n_must, upper, lower, free, active, counters, score):  # type: ignore[no-untyped-def]
    """Set up the search: the node is the last variable of ``matrix``, required parents are the first ones."""
    size = matrix.shape[0]
    upper[0] = np.linalg.inv(matrix)
    lower[0] = matrix
    for k in range(n_must):
        _sweep(lower[k], lower[k + 1], k)
    free[0, :] = True
    free[0, :n_must] = False
    free[0, size - 1] = False
    active[0, :] = True
    counters[:] = 0
    score[:] = -np.inf


@njit(cache=True, nogil=True)
def resume(n_samples, cost, n_must, most, margin, rooms, scores, done, members, prices, most_steps, found, values):  # type: ignore[no-untyped-def]
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
    rooms : tuple of arrays
        (upper, lower, free, active, branch, stage, up, taken, fresh, counters): the state of the search.
    scores : array of shape (2, levels)
        For each number of parents taken: the score of J, and the best score met of a subset of J.
    done : array of one
        The share of the search that is done, counting each branch as half of its parent: an estimate of the rest.
    members : int array
        The members of J in the order in which they were taken.
    prices : Prices
        Rows with multipliers; a set with a remainder below ``prices.limit`` by more than ``margin`` is not wanted.
    found : bool array of shape (room, size)
        The sets found; the caller must still remove those that a subset beats.
    values : array
        Their remainders, which are their scores if there are no prices.
    """
    upper, lower, free, active, branch, stage, up, taken, fresh, counters = rooms
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
                likelihood = -half * math.log(least[i, i])
                largest = max(half * math.log(upper[up[depth], i, i]), likelihood)
                left = max((1.0 - prices.whole) * largest, (1.0 - prices.whole) * likelihood) - cost[k] + margin
                prices.taken_away[k] = taken_away(prices, members, k, left) + prices.whole * likelihood
                if own > best - margin and own - prices.taken_away[k] > prices.limit[0] - margin:
                    for a in range(k):
                        found[counters[1], members[a]] = True
                    values[counters[1]] = own - prices.taken_away[k]
                    counters[1] += 1
            fresh[depth] = 0
            stage[depth] = 0
            branch[depth] = -1
            if k < most:
                branch[depth] = _choose(
                    half, cost, n_must, margin, upper, least, free[depth], active[depth], up, taken, depth, members,
                    scores, most, prices,
                )  # fmt: skip
            if branch[depth] < 0:
                done[0] += 0.5**depth
                depth -= 1
                continue
        b = branch[depth]
        stage[depth] += 1
        if stage[depth] > 2:
            depth -= 1
            continue
        free[depth + 1] = free[depth]
        active[depth + 1] = active[depth]
        free[depth + 1, b] = False
        up[depth + 1] = up[depth]
        if stage[depth] == 1:
            _sweep(lower[k], lower[k + 1], b)
            members[k] = b
            took(prices, k)
            taken[depth + 1] = k + 1
            fresh[depth + 1] = 1
        else:
            active[depth + 1, b] = False
            up[depth + 1] = up[depth] + 1
            _leave_out(upper[up[depth]], upper[up[depth] + 1], active[depth], b)
            taken[depth + 1] = k
            fresh[depth + 1] = 2
        depth += 1
    counters[3] = 1
    counters[0] = -1


@njit(cache=True, nogil=True)
def _choose(half, cost, n_must, margin, upper, least, free, active, up, taken, depth, members, scores, most, prices):  # type: ignore[no-untyped-def]
    """Drop candidates that cannot be useful and return the one to branch on, -1 if no larger set can be undominated."""
    size = upper.shape[1]
    i = size - 1
    k = taken[depth]
    step = cost[k + 1] - cost[k]
    threshold = math.exp((step - margin) / half)
    shared = depth > 0 and up[depth] == up[depth - 1]
    level = up[depth]
    dropping = True
    while dropping:
        dropping = False
        for b in range(size):
            if free[b] and upper[level, b, b] * least[b, b] <= threshold:
                target = level + 1 if shared else level  # the level above still needs its own copy
                shared = False
                _leave_out(upper[level], upper[target], active, b)
                level = target
                up[depth] = level
                free[b] = False
                active[b] = False
                dropping = True
    largest = half * math.log(upper[level, i, i])
    if largest - cost[k + 1] <= max(scores[0, k], scores[1, k]) - margin:
        return -1
    inverse = upper[level]
    for a in range(n_must, k):
        j = members[a]
        if inverse[j, j] / -least[j, j] <= threshold:
            return -1
        without = least[i, i] + least[i, j] * least[i, j] / -least[j, j]
        if inverse[i, i] * without <= threshold:
            return -1
    if prices.limit[0] > -np.inf:
        own = scores[0, k] - prices.taken_away[k] + margin
        prices.ceilings[depth] = own + most_gain(half, cost, k, most, inverse, least, free, prices)
        if prices.ceilings[depth] < prices.limit[0]:
            return -1
    best = -1.0
    chosen = -1
    for b in range(size):
        if free[b]:
            first = inverse[i, b] * inverse[i, b] / (inverse[i, i] * inverse[b, b])
            second = least[i, b] * least[i, b] / (least[i, i] * least[b, b])
            value = min(first, second) + 0.1 * max(first, second)
            if value > best:
                best = value
                chosen = b
    return chosen
