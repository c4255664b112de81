"""Local kicks: a few neighbours move, only what that changes is searched again, and a worse order is undone.

A kick takes a variable and some of its neighbours (parents, children, parents of children) and moves each directly
before or after one of its own neighbours. Then the queue is emptied: each variable in it moves to its best position
nearby; when a variable gets other parents, it and its old and new parents are queued. If the order is worse
than before the kick, it is restored: parents are copied back from the journal, and the marks of the variables that
changed are made again by walks. So the cost of a kick is that of its neighbourhood, not of all variables, and
independent improvements of a large graph add up. A search over all places (``insertion.insert_best``) comes last.
"""

from __future__ import annotations

import numpy as np

from dagopt.kernels.orders.insertion import (
    HEAD,
    JOURNAL,
    LENGTH,
    NO_LIMIT,
    SPENT,
    UNDER_WAY,
    Place,
    best_place,
    has,
    mark_parents,
    put,
    queue,
)
from dagopt.kernels.orders.trees import BUDGET, call_walk
from dagopt.kernels.store import njit

__all__ = ["DRAWS", "end", "kick", "queue_all", "settle"]

MOST_MOVED = 6  # the most variables that one kick moves
DRAWS = 2 + 3 * MOST_MOVED  # the random numbers that one kick uses


@njit(cache=True, nogil=True)
def queue_all(room, variables):
    """Queue these variables, in this order."""
    for v in variables:
        queue(room, v)


@njit(cache=True, nogil=True)
def settle(growth, state, room, depth):
    """Empty the queue; return False if the budget of the trees ran out first."""
    counts = room.counts
    while counts[LENGTH] > 0:
        if growth.trees.used[BUDGET] <= 0:
            return False
        v = room.queue[counts[HEAD]]
        place = best_place(growth, state, room, v, depth)
        if place.at == SPENT:
            return False
        counts[HEAD] = (counts[HEAD] + 1) % room.queue.shape[0]
        counts[LENGTH] -= 1
        room.waiting[v] = False
        if place.at != state.rank[v]:
            put(growth, state, room, v, place)
    return True


@njit(cache=True, nogil=True)
def kick(growth, state, room, draws, depth, equal):
    """Make one kick for each row of ``draws``, numbers in [0, 1); return how many were made.

    Fewer than all are made if the budget of the trees runs out; the next call then continues the unfinished kick. An
    order that is worse by more than ``equal`` is undone.
    """
    for done in range(draws.shape[0]):
        if not room.counts[UNDER_WAY]:
            _begin_kick(growth, state, room, draws[done])
        if not settle(growth, state, room, depth):
            return done
        _end_kick(growth, state, room, equal)
    return draws.shape[0]


@njit(cache=True, nogil=True)
def end(growth, state, room, equal):
    """Empty the queue without a search, and keep or undo the unfinished kick."""
    room.counts[LENGTH] = 0
    room.waiting[:] = False
    if room.counts[UNDER_WAY]:
        _end_kick(growth, state, room, equal)


@njit(cache=True, nogil=True)
def _begin_kick(growth, state, room, draw):
    """Move a variable and some of its neighbours."""
    for k in range(state.order.shape[0]):
        room.order[k] = state.order[k]
    room.counts[JOURNAL] = 0
    room.counts[UNDER_WAY] = 1
    first = int(draw[0] * state.order.shape[0])
    size = _neighbours(state, first, room.near)
    near = room.near[:size].copy()
    for m in range(1 + int(draw[1] * min(size + 1, MOST_MOVED))):
        v = first if m == 0 or size == 0 else near[int(draw[2 + 3 * m] * size)]
        at = _target(growth.given, state, room, v, draw[3 + 3 * m], draw[4 + 3 * m])
        queue(room, v)
        if at != state.rank[v]:
            put(growth, state, room, v, Place(0.0, np.int64(at), np.int64(at)))


@njit(cache=True, nogil=True)
def _end_kick(growth, state, room, equal):
    """Keep the order if it is not worse, else restore the one before."""
    order, rank, parents, sizes, scores, stamps = (
        state.order, state.rank, state.parents, state.sizes, state.scores, state.stamps,
    )  # fmt: skip
    used = growth.trees.used
    count = room.counts[JOURNAL]
    rise = 0.0
    for k in range(count):
        rise += scores[room.changed[k]] - room.scores[k]
    if rise < -equal:
        for k in range(order.shape[0]):
            order[k] = room.order[k]
        for p in range(order.shape[0]):
            rank[order[p]] = p
        left = used[BUDGET]
        used[BUDGET] = NO_LIMIT
        for k in range(count):
            u = room.changed[k]
            stamps[u] += 1
            call_walk(growth, u, rank, rank[u], state.marks, u, np.int64(stamps[u]))
            sizes[u] = room.sizes[k]
            for j in range(sizes[u]):
                parents[u, j] = room.parents[k, j]
            scores[u] = room.scores[k]
            mark_parents(state, u)
        used[BUDGET] = left
    for k in range(count):
        room.entry[room.changed[k]] = 0
    room.counts[JOURNAL] = 0
    room.counts[UNDER_WAY] = 0


@njit(cache=True, nogil=True)
def _neighbours(state, v, near):
    """Fill ``near`` with the parents and children of v and the parents of its children; return how many."""
    parents, sizes, marks, stamps = state.parents, state.sizes, state.marks, state.stamps
    size = np.int64(0)
    for k in range(sizes[v]):
        near[size] = parents[v, k]
        size += 1
    for u in range(sizes.shape[0]):
        if marks[v, u] != stamps[u] or not has(parents[u], sizes[u], v):
            continue
        if not has(near, size, u):
            near[size] = u
            size += 1
        for k in range(sizes[u]):
            x = parents[u, k]
            if x != v and not has(near, size, x):
                near[size] = x
                size += 1
    return size


@njit(cache=True, nogil=True)
def _target(given, state, room, v, a, b):
    """Return a position for v: next to one of its neighbours, or as near to it as required parents allow."""
    order, rank = state.order, state.rank
    must = given.must
    n = order.shape[0]
    size = _neighbours(state, v, room.near)
    old = rank[v]
    goal = int(a * n)
    if size > 0:
        goal = rank[room.near[int(a * size)]]
        if goal > old:
            goal -= 1
        if b < 0.5:
            goal = min(goal + 1, n - 1)
    place = old
    while place < goal and not must[order[place + 1], v]:
        place += 1
    while place > goal and not must[v, order[place - 1]]:
        place -= 1
    return place
