"""All parent sets of one node that no subset beats, for a Gaussian likelihood with a cost per parent.

A set T is dominated if a subset scores at least as well. In an undominated T every j earns its cost given the others,

    I(i; j | T - j) = l_i(T) - l_i(T - j) = l_j(T - j + i) - l_j(T - j)  >  cost(|T|) - cost(|T| - 1),

where l_i(J) = -N/2 log var(i | J). In a search that has taken J and has the candidates R left, J ⊆ T ⊆ J + R, both
forms have bounds: the first is at most l_i(J + R) - l_i(J - j), the second l_j(J + R + i) - l_j(J - j). The largest
likelihoods are read off the inverse of the matrix of J + R + i, the smallest off the matrix swept by J.

The levels of the search are those of ``subset_walk.py``. A third bound uses both ends at once (``useful.py``).

With prices (``prices.py``) only sets with a large remainder are of interest, and a step is pruned if none of its sets
has one. Without prices but with safe parents, only sets are of interest that score no less than the best known ones
with no other members than J and safe ones (``safe_parents.py``), and ``subset_ceiling.py`` bounds the scores of all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dagopt.arrays import Bools, Floats
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian.price_ceiling import most_above
from dagopt.kernels.gaussian.prices import extend_all, has_rows, most_gain, most_with, require, take, weigh_all
from dagopt.kernels.gaussian.safe_parents import improve, no_sets
from dagopt.kernels.gaussian.subset_ceiling import most_over
from dagopt.kernels.gaussian.subset_walk import (
    DEPTH,
    FEWER_CANDIDATES,
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
    sweep,
)
from dagopt.kernels.gaussian.useful import largest_ratio
from dagopt.kernels.store import njit


class Rooms(NamedTuple):
    """The state of a search.

    Attributes
    ----------
    walk : Walk, in a box
        The levels, with J, the candidates R and the matrices of both ends.
    scores : array of shape (2, levels)
        For each number of parents taken: the score of J, and the best score met of a subset of J.
    done : array of one
        The share of the search that is done, counting each branch as half of its parent: an estimate of the rest.
    safe : SafeParents, in a box
        The best known sets with no other members than J and safe ones.
    """

    walk: Box
    scores: Floats
    done: Floats
    safe: Box


def begin(matrix: Floats, n_must: int, is_safe: Bools, delta: Floats) -> Rooms:
    """Set up the search: the node is the last variable of ``matrix``, required parents are the first ones.

    ``is_safe`` says which of the others lie in no cycle, ``delta`` is Δ of ``subset_ceiling.py`` if there are any.
    """
    size = len(matrix)
    walk = new_walk(inverse_of(matrix), matrix, np.arange(size + 1))
    for k in range(n_must):
        sweep(walk.lower[k], walk.lower[k + 1], k)
    walk.free[0] = False
    walk.free[0, n_must : size - 1] = True
    walk.taken[0] = n_must
    scores = np.full((2, len(walk.lower)), -np.inf)
    return Rooms(Box(walk), scores, np.zeros(1), Box(no_sets(is_safe, delta, len(walk.lower))))


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
    most_steps : int
        The number of levels to look at.
    found : bool array of shape (room, size)
        The sets found; the caller must still remove those that a subset beats.
    values : array
        Their remainders, which are their scores if there are no prices.
    """
    walk, done = rooms.walk, rooms.done
    counters = walk.counters
    half = 0.5 * n_samples
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
                if depth == 0:
                    require(prices, walk.members, n_must)
                improve(half, cost, n_must, most, rooms.safe, walk.lower[k], walk.members, k)
                _note(half, cost, n_must, margin, rooms, prices, k, found, values)
            # Drop candidates, and choose one to branch on unless no larger set is of interest.
            walk.stage[depth] = UNOPENED
            walk.branch[depth] = -1
            if k < most:
                walk.branch[depth] = _choose(half, cost, n_must, most, margin, rooms, prices, depth)
            walk.fresh[depth] = SEEN
            if walk.branch[depth] < 0:
                done[0] += 0.5**depth
                depth -= 1
                continue
        # Go down: first to the sets with the candidate, then to those without it, then back up.
        if not descend(walk, depth):
            depth -= 1
            continue
        if walk.stage[depth] == TAKEN:
            prices.by_rows[k + 1] = prices.by_rows[k] + take(prices, k, walk.branch[depth])
        depth += 1
    counters[OVER] = 1
    counters[DEPTH] = -1


@njit(cache=True, nogil=True)
def _note(half, cost, n_must, margin, rooms, prices, k, found, values):
    """Score J, a new set with ``k`` members, and add it to ``found`` unless a subset beats it or it is not wanted."""
    scores, members, counters = rooms.scores, rooms.walk.members, rooms.walk.counters
    least = rooms.walk.lower[k]
    i = least.shape[0] - 1
    # score(J) = -N/2 log var(i | J) - cost(|J|)
    own = -half * math.log(least[i, i]) - cost[k]
    # The best known subset: those of J without its last member, and J without any one member j, for which
    # var(i | J - j) = var(i | J) + beta_j² var(j | J - j), with the coefficient beta_j of j in the regression on J.
    # A known set with the same or fewer members that are not safe counts too; a margin is for its rounding.
    best = rooms.safe.best[k] - margin
    if k > n_must:
        best = max(best, scores[1, k - 1], scores[0, k - 1])
    for a in range(n_must, k):
        j = members[a]
        without = least[i, i] + least[i, j] * least[i, j] / -least[j, j]
        best = max(best, -half * math.log(without) - cost[k - 1])
    scores[0, k] = own
    scores[1, k] = best
    # The remainder is the score less what the rows subtract, the row that is a share of the likelihood included.
    prices.taken_away[k] = prices.by_rows[k] - prices.whole * half * math.log(least[i, i])
    if own > best - margin and own - prices.taken_away[k] > prices.limit[0] - margin:
        for a in range(k):
            found[counters[FOUND], members[a]] = True
        values[counters[FOUND]] = own - prices.taken_away[k]
        counters[FOUND] += 1


@njit(cache=True, nogil=True)
def _choose(half, cost, n_must, most, margin, rooms, prices, depth):
    """Drop candidates that cannot be useful and return the one to branch on, -1 if no larger set is of interest."""
    walk, scores = rooms.walk, rooms.scores
    upper, up, members = walk.upper, walk.up, walk.members
    free = walk.free[depth]
    size = upper.shape[1]
    i = size - 1
    k = walk.taken[depth]
    least = walk.lower[k]
    step = cost[k + 1] - cost[k]
    threshold = math.exp((step - margin) / half)  # of a ratio of variances: N/2 log of it is what a parent costs
    error = margin / half
    if rooms.safe.swept.shape[0] > 0 and not has_rows(prices):
        return _choose_scoring(half, step, n_must, margin, rooms, prices.limit[0], depth)
    priced = prices.limit[0] > -np.inf or prices.weights.shape[0] > 0
    # With fewer candidates for the same J, they were weighed a level above.
    extended = weighed = walk.fresh[depth] == FEWER_CANDIDATES
    above = np.inf
    dropping = True
    while dropping:
        # Candidates that earn their cost in no set of the range; each that goes narrows the range for the others.
        dropping = False
        for b in range(size):
            if free[b] and _never_adds(least, upper[up[depth]], i, b, threshold, error):
                drop(walk, depth, b)
                dropping = True
        if dropping:
            continue
        # No larger set can beat J or a subset: l_i(J + R) - cost(|J| + 1) is too small.
        inverse = upper[up[depth]]
        largest = half * math.log(inverse[i, i])
        if largest - cost[k + 1] <= max(scores[0, k], scores[1, k]) - margin:
            return -1
        # Every larger set is dominated, because a member of J never earns its cost.
        if _has_useless_member(least, inverse, members[n_must:k], threshold, error):
            return -1
        if priced:
            # No larger set has a remainder of interest, by the sums of gains and then by the quadratic bound.
            own = scores[0, k] - prices.taken_away[k] + margin
            prices.ceilings[depth] = own + most_gain(half, cost, k, most, inverse, least, free, error, prices)
            if prices.ceilings[depth] < prices.limit[0]:
                return -1
            if not extended:
                extended = True
                extend_all(prices, members, k, free)
            wanted = prices.limit[0] - own
            above = most_above(2.0 * half, step, members, k, inverse, least, free, wanted, prices.stretch, prices)
            prices.ceilings[depth] = min(prices.ceilings[depth], own + above)
            if above < wanted:
                return -1
            # Candidates with which no set has a remainder of interest.
            if not weighed:
                weighed = True
                weigh_all(prices, k, free)
            full = largest + half * math.log(least[i, i])
            for b in range(size):
                if free[b]:
                    first = -half * math.log1p(-least[i, b] * least[i, b] / (least[i, i] * least[b, b]))
                    too_few = above < np.inf and prices.reached[b] < wanted
                    if too_few or own + most_with(cost, k, most, b, full, first, prices) < prices.limit[0]:
                        drop(walk, depth, b)
                        dropping = True
    return _largest_part(prices.part, free) if above < np.inf else _strongest(upper[up[depth]], least, i, free)


@njit(cache=True, nogil=True)
def _choose_scoring(half, step, n_must, margin, rooms, limit, depth):
    """Drop candidates with which no set scores enough, and return the one to branch on, -1 if there is none.

    Below the first level, what is dropped stays in the inverse: the range of sets is then larger than it need be.
    """
    walk, scores, safe = rooms.walk, rooms.scores, rooms.safe
    free = walk.free[depth]
    size = free.shape[0]
    i = size - 1
    k = walk.taken[depth]
    least = walk.lower[k]
    wanted = max(limit - margin, scores[1, k], scores[0, k]) - scores[0, k] - 2.0 * margin
    y, terms = safe.point[depth], safe.terms
    for b in range(size):
        y[b] = safe.point[depth - 1, b] if depth > 0 and free[b] else 0.0
    dropping = True
    while dropping:
        dropping = False
        inverse = walk.upper[walk.up[depth]]
        if _has_useless_member(least, inverse, walk.members[n_must:k], math.exp((step - margin) / half), margin / half):
            return -1
        most = most_over(half, step, least, 1.0 / inverse[i, i], free, safe.delta, wanted, y, safe.rest, terms)
        for b in range(size):
            if free[b] and most + terms[b] < wanted:
                y[b] = 0.0
                if depth == 0:
                    drop(walk, depth, b)
                    dropping = True
                else:
                    free[b] = False
    return _strongest(walk.upper[walk.up[depth]], least, i, free)


@njit(cache=True, nogil=True)
def _largest_part(part, free):
    """Return the candidate that counts most in the bound, whose loss therefore lowers it most."""
    best = -1.0
    chosen = -1
    for b in range(free.shape[0]):
        if free[b] and part[b] > best:
            best = part[b]
            chosen = b
    return chosen


@njit(cache=True, nogil=True)
def _strongest(inverse, least, i, free):
    """Return the candidate with the largest squared correlation with i given all others, and a little given J."""
    best = -1.0
    chosen = -1
    for b in range(free.shape[0]):
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
