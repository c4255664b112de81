"""Local kicks: a few neighbours move, only what that changes is searched again, and a worse order is undone.

A kick takes a variable and some of its neighbours (parents, children, parents of children) and puts each directly
before or behind one of its own neighbours. Then the queue is emptied: each variable in it goes to its best place near
the present one; when a variable gets other parents, it and its old and new parents are queued. If the order is worse
than before the kick, it is restored: parents are copied back from the journal, and the marks of the variables that
changed are made anew by walks. So a kick costs what its neighbourhood costs, not a search over all variables, and
independent improvements of a large graph add up.

"Near": on its way along the order a variable stops where the score has fallen by more than ``depth``. A search over all
places (``insertion.py``) comes last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dagopt.kernels.orders.insertion import NO_LIMIT, NOWHERE, _has
from dagopt.kernels.orders.trees import BUDGET, ENOUGH, members, walk

__all__ = ["DRAWS", "Room", "end", "kick", "make_room", "queue_all", "settle"]

MOST_MOVED = 6  # variables that one kick moves
DRAWS = 2 + 3 * MOST_MOVED  # random numbers that one kick takes
SPENT = -1
HEAD, LENGTH, JOURNAL, UNDER_WAY, REQUIRED = range(5)


class Room(NamedTuple):
    """Room to work for the kicks of one search.

    Attributes
    ----------
    counts : int array
        HEAD and LENGTH of the queue, entries of the JOURNAL, whether a kick is UNDER_WAY, whether edges are REQUIRED.
    queue, waiting : arrays of length n
        The variables in the queue, as a ring, and which they are.
    order : int array
        The order before the kick.
    entry : int array
        For each variable its place in the journal plus one, or 0.
    changed, parents, sizes, scores : arrays
        The journal: the variables that changed since the kick began, and what they had before.
    others, near, own, marks : arrays
        Lists that are filled and read within one step.
    """

    counts: NDArray[np.int64]
    queue: NDArray[np.int64]
    waiting: NDArray[np.bool_]
    order: NDArray[np.int64]
    entry: NDArray[np.int64]
    changed: NDArray[np.int64]
    parents: NDArray[np.int64]
    sizes: NDArray[np.int64]
    scores: NDArray[np.float64]
    others: NDArray[np.int64]
    near: NDArray[np.int64]
    own: NDArray[np.int64]
    marks: NDArray[np.int32]


def make_room(n: int, most_parents: int, required: bool) -> Room:
    """Return empty room for n variables with at most so many parents; ``required`` if some edge is."""

    def ints() -> NDArray[np.int64]:
        return np.zeros(n, dtype=np.int64)

    return Room(
        counts=np.array([0, 0, 0, 0, required], dtype=np.int64),
        queue=ints(),
        waiting=np.zeros(n, dtype=np.bool_),
        order=ints(),
        entry=ints(),
        changed=ints(),
        parents=np.empty((n, most_parents), dtype=np.int64),
        sizes=ints(),
        scores=np.zeros(n),
        others=ints(),
        near=ints(),
        own=np.empty(most_parents, dtype=np.int64),
        marks=np.zeros((n, 1), dtype=np.int32),
    )


@njit(cache=True, nogil=True)
def queue_all(room, variables):  # type: ignore[no-untyped-def]
    """Queue these variables, in this order."""
    for v in variables:
        _queue(room, v)


@njit(cache=True, nogil=True)
def settle(growth, state, room, depth):  # type: ignore[no-untyped-def]
    """Empty the queue; return False where the budget of the trees was spent first."""
    order, rank, _, _, _, _, _ = state
    n = order.shape[0]
    counts = room.counts
    while counts[LENGTH] > 0:
        if growth.trees.used[BUDGET] <= 0:
            return False
        v = room.queue[counts[HEAD]]
        old = rank[v]
        _take_out(state, room, old)
        place, source = _best_near(growth, state, room, v, old, depth)
        if place == SPENT:
            rank[v] = old
            for p in range(n):
                rank[order[p]] = p
            return False
        counts[HEAD] = (counts[HEAD] + 1) % n
        counts[LENGTH] -= 1
        room.waiting[v] = False
        if place != old:
            _place(growth, state, room, v, old, place, source)
        for p in range(min(place, old), n):
            rank[order[p]] = p
    return True


@njit(cache=True, nogil=True)
def kick(growth, state, room, draws, depth, equal):  # type: ignore[no-untyped-def]
    """Make one kick for each row of ``draws``, numbers in [0, 1); return how many were made.

    Fewer than all are made where the budget of the trees is spent; the next call goes on with the kick under way. An
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
def end(growth, state, room, equal):  # type: ignore[no-untyped-def]
    """Empty the queue without a search, and keep or undo the kick under way."""
    room.counts[LENGTH] = 0
    room.waiting[:] = False
    if room.counts[UNDER_WAY]:
        _end_kick(growth, state, room, equal)


@njit(cache=True, nogil=True)
def _begin_kick(growth, state, room, draw):  # type: ignore[no-untyped-def]
    """Move a variable and some of its neighbours."""
    order, rank = state.order, state.rank
    n = order.shape[0]
    room.order[:] = order
    room.counts[JOURNAL] = 0
    room.counts[UNDER_WAY] = 1
    first = int(draw[0] * n)
    size = _neighbours(state, first, room.near)
    near = room.near[:size].copy()
    for m in range(1 + int(draw[1] * min(size + 1, MOST_MOVED))):
        v = first if m == 0 or size == 0 else near[int(draw[2 + 3 * m] * size)]
        place = _target(growth.given, state, room, v, draw[3 + 3 * m], draw[4 + 3 * m])
        old = rank[v]
        _queue(room, v)
        if place == old:
            continue
        _take_out(state, room, old)
        _place(growth, state, room, v, old, place, place)
        for p in range(n):
            rank[order[p]] = p


@njit(cache=True, nogil=True)
def _end_kick(growth, state, room, equal):  # type: ignore[no-untyped-def]
    """Keep the order if it is not worse, else restore the one before."""
    order, rank, parents, sizes, scores, marks, stamps = state
    count = room.counts[JOURNAL]
    rise = 0.0
    for k in range(count):
        rise += scores[room.changed[k]] - room.scores[k]
    if rise < -equal:
        order[:] = room.order
        for p in range(order.shape[0]):
            rank[order[p]] = p
        left = growth.trees.used[BUDGET]
        growth.trees.used[BUDGET] = NO_LIMIT
        for k in range(count):
            u = room.changed[k]
            stamps[u] += 1
            walk(growth, u, rank, rank[u], marks, u, stamps[u])
            sizes[u] = room.sizes[k]
            parents[u, : sizes[u]] = room.parents[k, : sizes[u]]
            scores[u] = room.scores[k]
        growth.trees.used[BUDGET] = left
    for k in range(count):
        room.entry[room.changed[k]] = 0
    room.counts[JOURNAL] = 0
    room.counts[UNDER_WAY] = 0


@njit(cache=True, nogil=True)
def _neighbours(state, v, near):  # type: ignore[no-untyped-def]
    """Fill ``near`` with the parents and children of v and the parents of its children; return how many."""
    order, _, parents, sizes, _, _, _ = state
    n = order.shape[0]
    size = 0
    for k in range(sizes[v]):
        near[size] = parents[v, k]
        size += 1
    for u in range(n):
        if not _has(parents[u], sizes[u], v):
            continue
        if not _has(near, size, u):
            near[size] = u
            size += 1
        for k in range(sizes[u]):
            x = parents[u, k]
            if x != v and not _has(near, size, x):
                near[size] = x
                size += 1
    return size


@njit(cache=True, nogil=True)
def _target(given, state, room, v, a, b):  # type: ignore[no-untyped-def]
    """Return a place for v: before or behind one of its neighbours, or as near to it as required parents allow."""
    order, rank, _, _, _, _, _ = state
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


@njit(cache=True, nogil=True)
def _take_out(state, room, old):  # type: ignore[no-untyped-def]
    """Fill ``room.others`` with all variables but the one at place ``old``, and rank them without it."""
    order, rank, _, _, _, _, _ = state
    for p in range(order.shape[0] - 1):
        u = order[p if p < old else p + 1]
        room.others[p] = u
        rank[u] = p


@njit(cache=True, nogil=True)
def _best_near(growth, state, room, v, old, depth):  # type: ignore[no-untyped-def]
    """Return the best place of v, and the place at which its parents there were found; SPENT without a budget."""
    top = ENOUGH
    place = old
    source = np.int64(-1)
    for step in (-1, 1):
        gain, there, found = _best_along(growth, state, room, v, old, step, depth)
        if there == SPENT:
            return np.int64(SPENT), source
        if gain > top + ENOUGH:
            top, place, source = gain, there, found
    return place, source


@njit(cache=True, nogil=True)
def _best_along(growth, state, room, v, old, step, depth):  # type: ignore[no-untyped-def]
    """Return what v gains at its best place in one direction, the place, and where its parents there were found."""
    _, rank, parents, sizes, scores, marks, stamps = state
    must = growth.given.must
    required = room.counts[REQUIRED] != 0
    values = growth.trees.values
    n = room.others.shape[0]
    size = sizes[v]
    best = scores[v]
    room.own[:size] = parents[v, :size]
    room.marks[:] = 0
    stamp = np.int64(0)
    top, place, source = 0.0, old, np.int64(-1)  # of the best place
    from_others = from_parents = 0.0
    found = np.int64(-1)
    p = old + step
    while 0 <= p < n:
        x = room.others[p if step < 0 else p - 1]  # whom v passes
        if required and (must[v, x] if step < 0 else must[x, v]):
            break
        gain = _passed(growth, state, v, x, p, step)
        if gain == -np.inf:
            return 0.0, np.int64(SPENT), source
        from_others += gain
        rank[v] = NOWHERE
        marked = room.marks[x, 0] == -step * stamp if stamp > 0 else marks[x, v] == -step * stamps[v]
        held = step < 0 and _has(room.own, size, x)
        if marked or held:
            stamp += 1
            k = walk(growth, v, rank, p, room.marks, np.int64(0), stamp)
            if k < 0:
                return 0.0, np.int64(SPENT), source
            if held or values[k] > best:
                size = members(growth.trees, k, room.own)
                best = values[k]
                from_parents = best - scores[v]
                found = np.int64(p)
        gain = from_others + from_parents
        if gain > top + ENOUGH:
            top, place, source = gain, p, found
        if gain < -depth:
            break
        p += step
    return top, place, source


@njit(cache=True, nogil=True)
def _passed(growth, state, v, x, p, step):  # type: ignore[no-untyped-def]
    """Return what x gains when v, on its way to place p, passes it; minus infinity where the budget was spent."""
    _, rank, parents, sizes, scores, marks, stamps = state
    held = step > 0 and _has(parents[x], sizes[x], v)
    if not held and marks[v, x] != step * stamps[x]:
        return 0.0
    rank[v] = -1 if step < 0 else NOWHERE
    k = walk(growth, x, rank, p if step < 0 else p - 1, marks, np.int64(0), np.int64(0))
    if k < 0:
        return -np.inf
    gain = growth.trees.values[k] - scores[x]
    return gain if held else max(gain, 0.0)


@njit(cache=True, nogil=True)
def _place(growth, state, room, v, old, place, source):  # type: ignore[no-untyped-def]
    """Move v, and bring its parents and those of all that it passes up to date."""
    order, rank, parents, sizes, _, marks, stamps = state
    left = growth.trees.used[BUDGET]
    growth.trees.used[BUDGET] = NO_LIMIT
    rank[v] = NOWHERE
    if source >= 0:
        _change(growth, state, room, v, source, True)
    if source != place:
        _change(growth, state, room, v, place, False)
    for p in range(min(place, old), max(place, old)):
        u = room.others[p]
        rank[v] = -1 if p >= place else NOWHERE
        held = _has(parents[u], sizes[u], v)  # only where v goes behind u
        if held or marks[v, u] == (-stamps[u] if p >= place else stamps[u]):
            _change(growth, state, room, u, p, held)
    growth.trees.used[BUDGET] = left
    for p in range(order.shape[0] - 1):
        order[p if p < place else p + 1] = room.others[p]
    order[place] = v


@njit(cache=True, nogil=True)
def _change(growth, state, room, u, limit, must_change):  # type: ignore[no-untyped-def]
    """Walk for u; take the parents found if they are better, or if they must change, and queue who is concerned."""
    _, rank, parents, sizes, scores, marks, stamps = state
    if room.counts[UNDER_WAY] and not room.entry[u]:
        k = room.counts[JOURNAL]
        room.changed[k] = u
        room.sizes[k] = sizes[u]
        room.parents[k, : sizes[u]] = parents[u, : sizes[u]]
        room.scores[k] = scores[u]
        room.counts[JOURNAL] += 1
        room.entry[u] = k + 1
    stamps[u] += 1
    k = walk(growth, u, rank, limit, marks, u, stamps[u])
    if not must_change and growth.trees.values[k] <= scores[u]:
        return
    _queue(room, u)
    for j in range(sizes[u]):
        _queue(room, parents[u, j])
    sizes[u] = members(growth.trees, k, parents[u])
    scores[u] = growth.trees.values[k]
    for j in range(sizes[u]):
        _queue(room, parents[u, j])


@njit(cache=True, nogil=True)
def _queue(room, v):  # type: ignore[no-untyped-def]
    """Put v at the end of the queue, unless it is in it."""
    if room.waiting[v]:
        return
    room.waiting[v] = True
    room.queue[(room.counts[HEAD] + room.counts[LENGTH]) % room.queue.shape[0]] = v
    room.counts[LENGTH] += 1
