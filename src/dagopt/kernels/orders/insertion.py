"""Best insertion over orders: take a variable out, try all places for it, and put it where the score is best.

``rank[v]`` is the place of v in the order. The total score of an order is the sum over its variables of the score with
the best parents found among the variables before it. A variable v that moves along the order passes the others one by
one; what each of them gains or loses by that, and what v itself gains at its new place, are added up. Only a few of the
others make a difference, and the marks say which. A move stops early where the score has fallen by more than ``depth``.

Parents are found by walks in growth trees (``trees.py``, which explains ``Growth``). A variable keeps the parents it
has while they come before it and nothing better is found. ``State`` holds the order, the ranks, for each variable its
parents, their number and its score, and the marks of its last walk: ``marks[x, u]`` is ``stamps[u]`` if the walk of u
took x or x is a parent of u, ``-stamps[u]`` if it would have taken x, and anything else if x makes no difference to u.
Row v of the marks says which variables have v in their walk. What the walk of v itself takes is found by walking again,
which is cheaper than reading a column.

Kernels receive growth, state and room as boxes (``kernels/boxes.py``). Numbers passed between kernels are np.int64: for
a literal 0 numba would compile another version. Arrays are copied in loops, because assigning slices takes seconds to
compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.orders.scores import local_score
from dagopt.kernels.orders.trees import BUDGET, ENOUGH, call_walk, members, required_parents
from dagopt.kernels.store import njit

__all__ = ["Place", "Room", "State", "best_place", "give_required", "has", "insert_best", "make_room", "make_state",
           "mark_parents", "put", "queue", "score_order", "use_parents"]  # fmt: skip

NOWHERE = 1 << 40  # the rank of a variable that is removed
NO_LIMIT = 1 << 60  # no limit on the number of lists made
SPENT = -1  # instead of a place: the budget of the trees ran out
HEAD, LENGTH, JOURNAL, UNDER_WAY, REQUIRED = range(5)  # places in ``Room.counts``


class State(NamedTuple):
    """A search in progress; the module docstring says what each array holds."""

    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    parents: NDArray[np.int64]
    sizes: NDArray[np.int64]
    scores: NDArray[np.float64]
    marks: NDArray[np.int32]
    stamps: NDArray[np.int32]


class Room(NamedTuple):
    """Work arrays for one search.

    Attributes
    ----------
    counts : int array
        The HEAD and LENGTH of the queue, the length of the JOURNAL, whether a kick is UNDER_WAY, and whether any edges
        are REQUIRED.
    queue, waiting : arrays of length n
        The queue of variables, as a ring, and which variables are in it.
    order : int array
        The order before the kick.
    entry : int array
        For each variable its index in the journal plus one, or 0.
    changed, parents, sizes, scores : arrays
        The journal: the variables that changed since the kick began, and what they had before.
    events : array of bytes
        For each place, whether the variable there has the moving variable in its walk.
    near, own, marks : arrays
        Lists that are filled and read within one step; ``marks`` belongs to the moving variable.
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
    events: NDArray[np.uint8]
    near: NDArray[np.int64]
    own: NDArray[np.int64]
    marks: NDArray[np.int32]


class Place(NamedTuple):
    """A place for a variable: the gain there, the place itself, and the place at which the new parents were found.

    The source is -1 if the variable keeps its parents. If ``at`` is SPENT, the budget of the trees ran out.
    """

    gain: float
    at: np.int64
    source: np.int64


def make_state(n: int, most_parents: int) -> State:
    """Return a state of n variables without an order."""
    return State(
        order=np.empty(n, dtype=np.int64),
        rank=np.empty(n, dtype=np.int64),
        parents=np.empty((n, most_parents), dtype=np.int64),
        sizes=np.empty(n, dtype=np.int64),
        scores=np.empty(n),
        marks=np.zeros((n, n), dtype=np.int32),
        stamps=np.zeros(n, dtype=np.int32),
    )


def make_room(n: int, most_parents: int, required: bool) -> Room:
    """Return empty work arrays for n variables; ``required`` says whether some edge is required."""

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
        events=np.zeros(n, dtype=np.uint8),
        near=ints(),
        own=np.empty(most_parents, dtype=np.int64),
        marks=np.zeros((n, 1), dtype=np.int32),
    )


@njit(cache=True, nogil=True)
def score_order(growth, state, first):
    """Find the parents of the variables from position ``first`` on; return the position where the budget ran out."""
    order, rank, parents, sizes, stamps = state.order, state.rank, state.parents, state.sizes, state.stamps
    trees = growth.trees
    for p in range(order.shape[0]):
        rank[order[p]] = p
    for p in range(first, order.shape[0]):
        v = order[p]
        stamps[v] += 1
        k = call_walk(growth, v, rank, p, state.marks, v, np.int64(stamps[v]))
        if k < 0:
            return p
        sizes[v] = members(trees, k, parents[v])
        state.scores[v] = trees.values[k]
    return order.shape[0]


@njit(cache=True, nogil=True)
def give_required(growth, state, first):
    """Give the variables from position ``first`` on only their required parents."""
    for p in range(first, state.order.shape[0]):
        v = state.order[p]
        _give(growth, state, v, required_parents(growth, v), -np.inf)


@njit(cache=True, nogil=True)
def use_parents(growth, state, v, chosen):
    """Give v these parents, which all come before it, if they score better than its current ones."""
    _give(growth, state, v, chosen, state.scores[v] + ENOUGH)


@njit(cache=True, nogil=True)
def _give(growth, state, v, chosen, bar):
    """Give v these parents if they score above the bar."""
    value = local_score(growth.score, v, chosen)
    if value > bar:
        state.sizes[v] = chosen.shape[0]
        state.scores[v] = value
        for k in range(chosen.shape[0]):
            state.parents[v, k] = chosen[k]
        mark_parents(state, v)


@njit(cache=True, nogil=True)
def mark_parents(state, v):
    """Mark the parents of v, of which its last walk may have taken only some."""
    marks, parents, stamp = state.marks, state.parents, state.stamps[v]
    for k in range(state.sizes[v]):
        marks[parents[v, k], v] = stamp


@njit(cache=True, nogil=True)
def insert_best(growth, state, room, variables):
    """Put each variable in turn at its best place; return how many were tried and how many of the last ones stayed.

    Not all are tried if the budget of the trees runs out. A variable's score falls only if it loses a parent.
    """
    idle = 0
    tried = 0
    while tried < variables.shape[0]:
        v = variables[tried]
        place = best_place(growth, state, room, v, np.inf)
        if place.at == SPENT:
            break
        moves = place.at != state.rank[v]
        if moves:
            put(growth, state, room, v, place)
        idle = 0 if moves else idle + 1
        tried += 1
    room.counts[LENGTH] = 0
    room.waiting[:] = False
    return tried, idle


@njit(cache=True, nogil=True)
def best_place(growth, state, room, v, depth):
    """Return the place at which the gain from moving v is largest; this may be its current place.

    Of equally good places the nearest one is returned.
    """
    rank, marks, stamps = state.rank, state.marks, state.stamps
    old = rank[v]
    events = room.events
    events[:] = 0
    for u in range(rank.shape[0]):
        mark = marks[v, u]
        if mark == stamps[u]:
            events[rank[u]] = 1
        elif mark == -stamps[u]:
            events[rank[u]] = 2
    best = Place(ENOUGH, old, np.int64(-1))
    for step in (-1, 1):
        found = _best_along(growth, state, room, v, step, depth)
        rank[v] = old
        if found.at == SPENT:
            return found
        if found.gain > best.gain + ENOUGH:
            best = found
    return best


@njit(cache=True, nogil=True)
def _best_along(growth, state, room, v, step, depth):
    """Return the best place for v in one direction."""
    order, rank, parents, sizes, scores = state.order, state.rank, state.parents, state.sizes, state.scores
    must, trees, own = growth.given.must, growth.trees, room.own
    required = room.counts[REQUIRED] != 0
    events, marks = room.events, room.marks
    old = rank[v]
    event = 2 if step < 0 else 1
    # Walk once for v where it stands: the marks say which variables matter to v.
    rank[v] = NOWHERE
    marks[:] = 0
    stamp = np.int64(1)
    if call_walk(growth, v, rank, old, marks, np.int64(0), stamp) < 0:
        return Place(0.0, np.int64(SPENT), np.int64(-1))
    for k in range(sizes[v]):
        marks[parents[v, k], 0] = stamp
    # The best place so far is where v stands, with the parents that it has.
    top = Place(0.0, old, np.int64(-1))
    size = sizes[v]
    for k in range(size):
        own[k] = parents[v, k]
    best = scores[v]
    from_others = 0.0
    found = np.int64(-1)
    p = old + step
    while 0 <= p < order.shape[0]:
        # v cannot pass a required parent, or a child that requires it.
        x = order[p]  # the variable that v passes
        if required and (must[v, x] if step < 0 else must[x, v]):
            break
        # Nothing changes if neither matters to the other.
        own_event = marks[x, 0] == -step * stamp
        if not own_event and events[p] != event:
            p += step
            continue
        # What x gains or loses when v passes it.
        if events[p] == event:
            gain = _passed(growth, state, v, x, step)
            if gain == -np.inf:
                return Place(0.0, np.int64(SPENT), np.int64(-1))
            from_others += gain
        # What v gains: its walk among the variables that now come before it.
        if own_event:
            stamp += 1
            rank[v] = NOWHERE
            k = call_walk(growth, v, rank, p if step < 0 else p + 1, marks, np.int64(0), stamp)
            if k < 0:
                return Place(0.0, np.int64(SPENT), np.int64(-1))
            if (step < 0 and has(own, size, x)) or trees.values[k] > best:
                size = members(trees, k, own)
                best = trees.values[k]
                found = np.int64(p)
            for j in range(size):
                marks[own[j], 0] = stamp
        # Note the place if it is the best; stop when too much is lost.
        gain = from_others + best - scores[v]
        if gain > top.gain + ENOUGH:
            top = Place(gain, np.int64(p), found)
        if gain < -depth:
            break
        p += step
    return top


@njit(cache=True, nogil=True)
def _passed(growth, state, v, x, step):
    """Return what x gains when v passes it; minus infinity if the budget ran out."""
    rank, parents, sizes, scores = state.rank, state.parents, state.sizes, state.scores
    rank[v] = -1 if step < 0 else NOWHERE
    k = call_walk(growth, x, rank, rank[x], state.marks, np.int64(0), np.int64(0))
    if k < 0:
        return -np.inf
    gain = growth.trees.values[k] - scores[x]
    return gain if step > 0 and has(parents[x], sizes[x], v) else max(gain, 0.0)


@njit(cache=True, nogil=True)
def put(growth, state, room, v, place):
    """Move v, update its parents and those of all variables that it passes, and queue the variables affected."""
    order, rank, parents, sizes, marks, stamps = (
        state.order, state.rank, state.parents, state.sizes, state.marks, state.stamps,
    )  # fmt: skip
    used = growth.trees.used
    old, at, source = rank[v], place.at, place.source
    left = used[BUDGET]
    used[BUDGET] = NO_LIMIT
    rank[v] = NOWHERE
    if source >= 0:
        _change(growth, state, room, v, source if source < old else source + 1, np.bool_(True))
    if source != at:
        _change(growth, state, room, v, at if at < old else at + 1, np.bool_(False))
    step = -1 if at < old else 1
    rank[v] = -1 if step < 0 else NOWHERE
    for p in range(old + step, at + step, step):
        u = order[p]
        if marks[v, u] == step * stamps[u]:
            held = step > 0 and has(parents[u], sizes[u], v)
            _change(growth, state, room, u, rank[u], held)
    used[BUDGET] = left
    for p in range(old, at, step):
        order[p] = order[p + step]
        rank[order[p]] = p
    order[at] = v
    rank[v] = at


@njit(cache=True, nogil=True)
def _change(growth, state, room, u, limit, must_change):
    """Walk for u; take the parents found if they are better or must change, and queue the variables affected."""
    parents, sizes, scores, stamps, trees = state.parents, state.sizes, state.scores, state.stamps, growth.trees
    if room.counts[UNDER_WAY] and not room.entry[u]:
        k = room.counts[JOURNAL]
        room.changed[k] = u
        room.sizes[k] = sizes[u]
        for j in range(sizes[u]):
            room.parents[k, j] = parents[u, j]
        room.scores[k] = scores[u]
        room.counts[JOURNAL] += 1
        room.entry[u] = k + 1
    stamps[u] += 1
    k = call_walk(growth, u, state.rank, limit, state.marks, u, np.int64(stamps[u]))
    if must_change or trees.values[k] > scores[u]:
        queue(room, u)
        for j in range(sizes[u]):
            queue(room, parents[u, j])
        sizes[u] = members(trees, k, parents[u])
        scores[u] = trees.values[k]
        for j in range(sizes[u]):
            queue(room, parents[u, j])
    mark_parents(state, u)


@njit(cache=True, nogil=True)
def queue(room, v):
    """Append v to the queue unless it is already there."""
    if room.waiting[v]:
        return
    room.waiting[v] = True
    room.queue[(room.counts[HEAD] + room.counts[LENGTH]) % room.queue.shape[0]] = v
    room.counts[LENGTH] += 1


@njit(cache=True, nogil=True)
def has(chosen, size, x):
    """Say whether x is among the first ``size`` members of ``chosen``."""
    for k in range(size):  # noqa: SIM110
        if chosen[k] == x:
            return True
    return False
