"""All parent sets of one node that no subset beats, where a column of the table is a block of columns of the matrix.

The score of node i with k parents T is, up to a constant,

    s_i(T) = -half(k) log det var(i | T) - volume/2 log det M_TT - cost(k) - the sum of edge_j over T,

where var(i | T) is the covariance of block i given the blocks of T, the matrix M has an identity within each block, and
half(k) grows by volume/2 with each parent. A Gaussian likelihood has blocks of one column, and volume and edges are 0;
with k - 1 indicators per discrete column edge_j is the cost of m_i m_j parameters; BGe has volume 1. In an undominated
T every j earns its cost given the others: with l_i(T) = -log det var(i | T), and half the largest half(k),

    half (l_i(T) - l_i(T - j))  >  cost(|T|) - cost(|T| - 1) + edge_j - volume/2 (l_i(T - j) + l_j(T - j)).

The search is that of ``undominated.py``, with the same three bounds on l_i(T) - l_i(T - j): from the end of i, from the
end of j, and from both. The third adds up over the columns of both blocks by the chain rule: what column b of i and
column a of j tell about each other, given the columns before them, is a ratio as in ``useful.py``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian.block_matrices import given_fewer, logdet_of, room_for, two_blocks
from dagopt.kernels.gaussian.block_useful import is_useless
from dagopt.kernels.gaussian.subset_walk import (
    DEPTH,
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
    sweep_block,
)
from dagopt.kernels.store import njit


class Terms(NamedTuple):
    """What the members of a parent set cost a node; see above.

    Attributes
    ----------
    half, volume : float
        The largest half(k), and the weight of the parents' own log-determinant.
    costs : array
        The cost of 0, 1, 2, ... parents.
    steps : array
        ``steps[k]`` is the least cost of one more parent, beside k or more others.
    edges : array
        What each variable costs in addition.
    is_exact : bool
        Whether volume is 0 and the costs are convex: then scores of subsets can be compared within the search.
    """

    half: float
    volume: float
    costs: Floats
    steps: Floats
    edges: Floats
    is_exact: bool


class BlockRooms(NamedTuple):
    """The state of a search.

    Attributes
    ----------
    walk : Walk, in a box
        The levels, with J, the candidates R and the matrices of both ends.
    scores : array of shape (2, levels)
        For each number of parents taken: the score of J, and the best score met of a subset of J.
    spent : array
        For each number of parents taken: the sum of their edges.
    done : array of one
        The share of the search that is done.
    work : array of shape (6, w, w)
        Room for the matrices of two blocks.
    """

    walk: Box
    scores: Floats
    spent: Floats
    done: Floats
    work: Floats


def begin(matrix: Floats, starts: Ints, edges: Floats, n_must: int) -> BlockRooms:
    """Set up the search: the node is the last variable, required parents are the first ones."""
    count = len(starts) - 1
    walk = new_walk(inverse_of(matrix), matrix, starts)
    for k in range(n_must):
        sweep_block(walk.lower[k], walk.lower[k + 1], starts[k], starts[k + 1])
    walk.free[0] = False
    walk.free[0, n_must : count - 1] = True
    walk.taken[0] = n_must
    spent = np.zeros(count + 2)
    spent[n_must] = edges[:n_must].sum()
    return BlockRooms(Box(walk), np.full((2, count + 2), -np.inf), spent, np.zeros(1), room_for(starts))


@njit(cache=True, nogil=True)
def resume(terms, n_must, most, margin, rooms, most_steps, found):
    """Continue for up to ``most_steps`` steps or until ``found`` is full; ``counters[OVER]`` says when it is over.

    Parameters
    ----------
    terms : Terms, in a box
        What members cost.
    n_must, most : int
        The first variables are required; sets have at most ``most`` members.
    margin : float
        Sets and candidates are dropped only if they lose by more than this.
    rooms : BlockRooms, in a box
        The state of the search.
    most_steps : int
        The number of levels to look at.
    found : bool array of shape (room, variables)
        The sets found; the caller must still remove those that a subset beats.
    """
    walk, done = rooms.walk, rooms.done
    counters = walk.counters
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
                _note(terms, n_must, margin, rooms, k, found)
            walk.stage[depth] = UNOPENED
            walk.branch[depth] = -1
            if k < most:
                walk.branch[depth] = _choose(terms, n_must, margin, rooms, depth)
            walk.fresh[depth] = SEEN
            if walk.branch[depth] < 0:
                done[0] += 0.5**depth
                depth -= 1
                continue
        if not descend(walk, depth):
            depth -= 1
            continue
        if walk.stage[depth] == TAKEN:
            rooms.spent[k + 1] = rooms.spent[k] + terms.edges[walk.branch[depth]]
        depth += 1
    counters[OVER] = 1
    counters[DEPTH] = -1


@njit(cache=True, nogil=True)
def _note(terms, n_must, margin, rooms, k, found):
    """Add J, a new set with ``k`` members, to ``found`` unless a subset beats it."""
    walk, scores, work = rooms.walk, rooms.scores, rooms.work
    starts, lower, half = walk.starts, walk.lower[k], terms.half
    i = starts.shape[0] - 2
    mi = starts[i + 1] - starts[i]
    own = -logdet_of(lower, starts[i], starts[i + 1], 1.0, work[0])  # l_i(J)
    scores[0, k] = half * own - terms.costs[k] - rooms.spent[k]
    scores[1, k] = -np.inf
    if k > n_must:
        scores[1, k] = max(scores[1, k - 1], scores[0, k - 1])
    is_beaten = terms.is_exact and scores[0, k] <= scores[1, k] - margin
    for a in range(n_must, k):
        # J without any one member: j does not earn its cost if l_i(J) - l_i(J - j) is too small.
        j = walk.members[a]
        given_fewer(lower, starts, i, j, work[2], work[0])
        without = -logdet_of(work[2], 0, mi, 1.0, work[0])
        size = mi + starts[j + 1] - starts[j]
        others = -logdet_of(work[2], mi, size, 1.0, work[0])  # l_j(J - j)
        need = terms.costs[k] - terms.costs[k - 1] + terms.edges[j] - 0.5 * terms.volume * (without + others)
        is_beaten = is_beaten or half * (own - without) <= need - margin
        scores[1, k] = max(scores[1, k], half * without - terms.costs[k - 1] - rooms.spent[k] + terms.edges[j])
    if not is_beaten:
        for a in range(k):
            found[walk.counters[FOUND], walk.members[a]] = True
        walk.counters[FOUND] += 1


@njit(cache=True, nogil=True)
def _choose(terms, n_must, margin, rooms, depth):
    """Drop candidates that cannot be useful and return the one to branch on, -1 if no larger set is of interest."""
    walk, scores, work = rooms.walk, rooms.scores, rooms.work
    free, starts = walk.free[depth], walk.starts
    count = starts.shape[0] - 1
    i = count - 1
    k = walk.taken[depth]
    step = terms.steps[k]
    most_i = 0.0
    dropping = True
    while dropping:
        # Candidates that earn their cost in no set of the range; each that goes narrows the range for the others.
        dropping = False
        least_edge = np.inf
        most_i = logdet_of(walk.upper[walk.up[depth]], starts[i], starts[i + 1], 1.0, work[0])
        for b in range(count):
            if free[b]:
                need = step + terms.edges[b]
                if is_useless(terms, walk, k, walk.up[depth], i, b, False, need, margin, most_i, work):
                    drop(walk, depth, b)
                    dropping = True
                    most_i = logdet_of(walk.upper[walk.up[depth]], starts[i], starts[i + 1], 1.0, work[0])
                else:
                    least_edge = min(least_edge, terms.edges[b])
        if least_edge == np.inf:
            return -1
        # No larger set can beat J or a subset.
        if terms.is_exact:
            largest = terms.half * most_i - terms.costs[k + 1] - rooms.spent[k] - least_edge
            if largest <= max(scores[0, k], scores[1, k]) - margin:
                return -1
        # Every larger set is dominated, because a member of J never earns its cost.
        for a in range(n_must, k):
            j = walk.members[a]
            need = step + terms.edges[j]
            if is_useless(terms, walk, k, walk.up[depth], i, j, True, need, margin, most_i, work):
                return -1
    return _strongest(walk, k, walk.up[depth], i, free, most_i, work)


@njit(cache=True, nogil=True)
def _strongest(walk, k, level, i, free, most_i, work):
    """Return the candidate that tells most about i given all others, and a little given J."""
    starts = walk.starts
    lower, upper = walk.lower[k], walk.upper[level]
    least_i = logdet_of(lower, starts[i], starts[i + 1], 1.0, work[0])
    best = -np.inf
    chosen = -1
    for b in range(free.shape[0]):
        if free[b]:
            size = two_blocks(upper, starts, i, b, work[2])
            first = most_i + logdet_of(upper, starts[b], starts[b + 1], 1.0, work[0])
            first -= logdet_of(work[2], 0, size, 1.0, work[0])
            size = two_blocks(lower, starts, i, b, work[2])
            second = least_i + logdet_of(lower, starts[b], starts[b + 1], 1.0, work[0])
            second -= logdet_of(work[2], 0, size, 1.0, work[0])
            if first + 0.1 * second > best:
                best = first + 0.1 * second
                chosen = b
    return chosen
