"""The best known choice of safe parents, those that lie in no cycle, during a search for undominated sets.

Let W be the members of J that are not safe. Every set T that contains J is dominated if a set with no other members
than W and safe ones scores at least as well. ``improve`` finds a good one when W has a new member: it begins with the
one for W before, adds the member, and then adds and removes single safe parents while that helps. For each W the matrix
swept by its set is kept (``subset_walk.py``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.kernels.gaussian.subset_walk import sweep
from dagopt.kernels.store import njit

MOST_MOVES = 60  # of one climb, of which most have fewer than ten
LEAST_GAIN = 1e-6  # of a move


class SafeParents(NamedTuple):
    """The best sets known, one entry or row of each array per number of members of J unless said otherwise.

    Attributes
    ----------
    is_safe : bool array
        For each variable whether it is a safe candidate.
    swept, inside : arrays
        For each set kept, the matrix swept by it and its members.
    place : int array
        Which of these sets is the one of J.
    best : array
        Its score; minus infinity if there are no safe candidates.
    delta, point, rest, terms : arrays
        Δ, y for each depth of the search, and room, of ``subset_ceiling.py``.
    """

    is_safe: Bools
    swept: Floats
    inside: Bools
    place: Ints
    best: Floats
    delta: Floats
    point: Floats
    rest: Floats
    terms: Floats


def no_sets(is_safe: Bools, delta: Floats, levels: int) -> SafeParents:
    """Return room for the sets of a search with this many levels."""
    size = len(is_safe)
    rooms = levels if is_safe.any() else 0
    return SafeParents(
        is_safe,
        np.empty((rooms, size, size)),
        np.zeros((rooms, size), dtype=np.bool_),
        np.zeros(levels, dtype=np.int64),
        np.full(levels, -np.inf),
        delta,
        np.zeros((rooms, size)),
        np.zeros(size),
        np.zeros(size),
    )


@njit(cache=True, nogil=True)
def improve(half, cost, n_must, most, safe, lower, members, k):
    """Find the best known set of J, which has ``k`` members, and its score.

    Parameters
    ----------
    half : float
        Half the number of rows.
    cost : array
        The cost of 0, 1, 2, ... parents.
    n_must, most : int
        The first variables are required; sets have at most ``most`` members.
    safe : SafeParents, in a box
        The sets of the smaller J, and room for this one.
    lower : array
        The matrix swept by J.
    members : int array
        The members of J, in the order in which they were taken.
    """
    if safe.swept.shape[0] == 0:
        return
    inside, size = safe.inside, lower.shape[0]
    if k == n_must:
        for a in range(size):
            inside[k, a] = a < n_must
            for b in range(size):
                safe.swept[k, a, b] = lower[a, b]
    else:
        new, before = members[k - 1], safe.place[k - 1]
        safe.place[k] = before
        safe.best[k] = safe.best[k - 1]
        if safe.is_safe[new] or _count(inside[before]) >= most:
            return
        sweep(safe.swept[before], safe.swept[k], new)
        for a in range(size):
            inside[k, a] = inside[before, a] or a == new
    safe.place[k] = k
    found = _climb(half, cost, most, safe.is_safe, safe.swept[k], inside[k])
    safe.best[k] = found if k == n_must else max(found, safe.best[k - 1])


@njit(cache=True, nogil=True)
def _count(inside):
    """Return the number of members."""
    count = np.int64(0)
    for a in range(inside.shape[0]):
        if inside[a]:
            count += 1
    return count


@njit(cache=True, nogil=True)
def _climb(half, cost, most, is_safe, swept, inside):
    """Add and remove single safe members while that helps; return the score."""
    size = swept.shape[0]
    i = size - 1
    count = _count(inside)
    for _ in range(MOST_MOVES):
        best = LEAST_GAIN
        chosen = -1
        for b in range(i):
            if not is_safe[b]:
                continue
            if inside[b]:  # var(i | T - b) = var(i | T) + beta_b² var(b | T - b)
                without = swept[i, i] + swept[i, b] * swept[i, b] / -swept[b, b]
                gain = cost[count] - cost[count - 1] - half * math.log(without / swept[i, i])
            elif count < most:
                ratio = swept[i, b] * swept[i, b] / (swept[i, i] * swept[b, b])
                gain = cost[count] - cost[count + 1] - half * math.log1p(-ratio)
            else:
                continue
            if gain > best:
                best = gain
                chosen = b
        if chosen < 0:
            break
        sweep(swept, swept, chosen)
        if inside[chosen]:  # a second sweep takes the variable out again, up to these signs
            for a in range(size):
                if a != chosen:
                    swept[a, chosen] = -swept[a, chosen]
                    swept[chosen, a] = -swept[chosen, a]
        count += -1 if inside[chosen] else 1
        inside[chosen] = not inside[chosen]
    return -half * math.log(swept[i, i]) - cost[count]
