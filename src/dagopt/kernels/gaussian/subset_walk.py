"""One walk over the subsets of candidates, for searches with bounds from both ends of a range of sets.

A variable is a block of adjacent columns of the matrix, often of one column. At each level of a depth-first search for
a node i, J are the members taken and R the candidates left; the sets T with J ⊆ T ⊆ J + R lie below it. A matrix for
each end of this range gives the bounds:

- ``lower``, the matrix swept by J (the regression on J): covariances given J between variables outside J, and for a
  member j of J minus the entry of the inverse, so that var(b | J) = lower[b, b] and var(j | J - j) = -1 / lower[j, j];
- ``upper``, the inverse of the matrix of J + R + i, so that var(b | J + R + i - b) = 1 / upper[b, b].

For blocks these are inverses of blocks. A level branches on one candidate b. First b is taken, which is one sweep of
``lower`` per column of b; then it is left out, which is one step of elimination in ``upper`` per column. So each branch
costs one matrix, and the way back costs nothing.

``undominated.py`` and ``useful.py`` walk in this way, and ``block_undominated.py`` and ``block_useful.py`` over blocks
of any size; ``prices.py`` and ``price_ceiling.py`` add bounds to the first.
Two searches do not fit. ``best_subsets.py`` needs one end only, since it leaves out and never takes, and computes only
the part of the inverse that is still in use, one triangle of it. ``pair_weights.py`` has no set R: it goes through all
small J in the order of their members, and computes the few columns that decide before the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from dagopt.arrays import Floats, Ints
from dagopt.kernels.store import njit

# Places in ``Walk.counters``: the level the walk is at, the sets found, the levels looked at, and 1 if it is over.
DEPTH, FOUND, STEPS, OVER = range(4)
# Values of ``Walk.fresh``: a level looked at before, one with a new J, and one with the J of the level above.
SEEN, NEW_SET, FEWER_CANDIDATES = range(3)
# Values of ``Walk.stage``: what the last branch that was opened did with its candidate.
UNOPENED, TAKEN, LEFT_OUT = range(3)


class Walk(NamedTuple):
    """The state of a walk, one entry or row of each array per level unless said otherwise.

    Attributes
    ----------
    upper, lower : arrays of matrices
        See above; ``lower`` has one matrix per number of members, ``upper`` one per inverse in use.
    free, active : bool arrays
        The candidates R, and the columns of J + R + i.
    branch, stage : int arrays
        The candidate branched on, and how many of its branches were opened.
    up, taken : int arrays
        The place of the level's inverse in ``upper``, and the number of members of J.
    fresh : int array
        Whether the level was looked at, see above.
    members : int array
        The members of J in the order in which they were taken.
    counters : int array
        See above.
    starts : int array
        Variable b has the columns ``starts[b]`` to ``starts[b + 1]``, exclusive, at least one.
    """

    upper: Any
    lower: Any
    free: Any
    active: Any
    branch: Any
    stage: Any
    up: Any
    taken: Any
    fresh: Any
    members: Any
    counters: Any
    starts: Any


@register_jitable
def new_walk(inverse: Floats, matrix: Floats, starts: Ints) -> Walk:
    """Return a walk at its first level: J is empty, and every variable is a candidate."""
    size = matrix.shape[0]
    count = starts.shape[0] - 1
    levels = count + 2
    upper = np.empty((levels, size, size))
    lower = np.empty((levels, size, size))
    for a in range(size):
        for b in range(size):
            upper[0, a, b] = inverse[a, b]
            lower[0, a, b] = matrix[a, b]
    free = np.ones((levels, count), dtype=np.bool_)
    active = np.ones((levels, size), dtype=np.bool_)
    branch = np.zeros(levels + 1, dtype=np.int64)
    stage = np.zeros(levels + 1, dtype=np.int64)
    up = np.zeros(levels + 1, dtype=np.int64)
    taken = np.zeros(levels + 1, dtype=np.int64)
    fresh = np.full(levels + 1, NEW_SET, dtype=np.int64)
    members = np.arange(levels)
    counters = np.zeros(4, dtype=np.int64)
    return Walk(upper, lower, free, active, branch, stage, up, taken, fresh, members, counters, starts)


@njit(cache=True, nogil=True)
def descend(walk, depth):
    """Open the next branch of a level as the level below; return False if both were opened before."""
    b = walk.branch[depth]
    k = walk.taken[depth]
    walk.stage[depth] += 1
    if walk.stage[depth] > LEFT_OUT:
        return False
    # The level below begins as a copy of this one, without b among its candidates.
    for z in range(walk.free.shape[1]):
        walk.free[depth + 1, z] = walk.free[depth, z]
    for z in range(walk.active.shape[1]):
        walk.active[depth + 1, z] = walk.active[depth, z]
    walk.free[depth + 1, b] = False
    walk.up[depth + 1] = walk.up[depth]
    if walk.stage[depth] == TAKEN:  # J + b
        sweep_block(walk.lower[k], walk.lower[k + 1], walk.starts[b], walk.starts[b + 1])
        walk.members[k] = b
        walk.taken[depth + 1] = k + 1
        walk.fresh[depth + 1] = NEW_SET
    else:  # R - b
        walk.up[depth + 1] = walk.up[depth] + 1
        source, target = walk.upper[walk.up[depth]], walk.upper[walk.up[depth] + 1]
        leave_out_block(source, target, walk.active[depth + 1], walk.starts[b], walk.starts[b + 1])
        walk.taken[depth + 1] = k
        walk.fresh[depth + 1] = FEWER_CANDIDATES
    return True


@njit(cache=True, nogil=True)
def drop(walk, depth, b):
    """Leave out candidate b for good at this level and below."""
    level = walk.up[depth]
    target = level
    if depth > 0 and level == walk.up[depth - 1]:  # the level above still needs its own copy
        target = level + 1
    leave_out_block(walk.upper[level], walk.upper[target], walk.active[depth], walk.starts[b], walk.starts[b + 1])
    walk.up[depth] = target
    walk.free[depth, b] = False


@njit(cache=True, nogil=True)
def sweep_block(source, target, first, last):
    """Write the matrix swept by the columns ``first`` to ``last``, exclusive."""
    sweep(source, target, first)
    for p in range(first + 1, last):
        sweep(target, target, p)


@njit(cache=True, nogil=True)
def leave_out_block(source, target, active, first, last):
    """Write the inverse without the columns ``first`` to ``last``, exclusive, which are not active any more."""
    leave_out(source, target, active, first)
    active[first] = False
    for r in range(first + 1, last):
        leave_out(target, target, active, r)
        active[r] = False


@njit(cache=True, nogil=True)
def leave_out(source, target, active, r):
    """Write the inverse of the matrix without variable ``r``, given the inverse with it: P_ab - P_ar P_rb / P_rr."""
    size = source.shape[0]
    inverse = 1.0 / source[r, r]
    for a in range(size):
        if active[a] and a != r:
            factor = source[a, r] * inverse
            for b in range(size):
                target[a, b] = source[a, b] - factor * source[r, b]


@njit(cache=True, nogil=True)
def sweep(source, target, p):
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
def inverse_of(matrix):
    """Return the inverse of a positive definite matrix, by sweeping all of its variables."""
    size = matrix.shape[0]
    two = np.empty((2, size, size))  # np.linalg and assignments of whole arrays take seconds to compile
    for a in range(size):
        for b in range(size):
            two[0, a, b] = matrix[a, b]
    for p in range(size):
        sweep(two[p % 2], two[1 - p % 2], p)
    inverse = two[size % 2]
    for a in range(size):
        for b in range(a + 1):
            inverse[a, b] = -inverse[a, b]
            inverse[b, a] = inverse[a, b]
    return inverse
