"""Search over orders of very many columns: each step costs what the neighbourhood of a column costs, not their number.

The search is that of ``insertion.py`` and ``kicks.py``, which have an array entry for every pair of columns. Here only
pairs of candidates have one, and the order is a linked list.

``own[begins[v] : ends[v]]`` are the candidates of v (``Given`` in ``trees.py``). The relation is symmetric, and
``mirror`` says where an entry is found the other way round: if ``own[e]`` is u in the list of v, then
``own[mirror[e]]`` is v in the list of u. ``marks[e]``, in the list of v, is 1 if the last walk of v took u or u is a
parent, -1 if it would have taken u, else 0.

Every variable has a label, and labels increase along the order, so they serve as the ranks of walks. A variable that
moves gets a label between its new neighbours; where there is none left, all are labelled anew. The list has one
further member, number n, before the first and after the last variable. A place is given by the variable before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.orders.insertion import NO_LIMIT, has
from dagopt.kernels.orders.scores import local_score
from dagopt.kernels.orders.trees import BUDGET, ENOUGH, call_walk, members
from dagopt.kernels.store import njit

__all__ = ["DRAWS", "Linked", "end", "follow", "give_parents", "kick", "local_scores", "make_linked", "queue_all",
           "score_order", "settle"]  # fmt: skip

SPACING = 40  # bits between the labels of neighbours
NOWHERE = 1 << 62  # the label of a variable that is removed
SPENT = -2  # instead of a place: the budget of the trees ran out
MOST_MOVED = 6  # the most variables that one kick moves
DRAWS = 2 + 3 * MOST_MOVED  # the random numbers that one kick uses
MOVES_PER_KICK = 4096  # that can be undone; a kick that moves more ends there
HEAD, LENGTH, JOURNAL, UNDER_WAY, STAMP, MOVES = range(6)  # places in ``counts``


class Linked(NamedTuple):
    """A search in progress.

    Attributes
    ----------
    label, before, after : int arrays of length n + 1
        The order.
    parents, sizes, scores : arrays
        The parents of each variable, their number, and its score with them.
    mirror, marks : arrays
        For each entry of the lists of candidates; the module docstring explains them.
    seen, passing : int arrays of shape (n, 1)
        Marks of a walk that is recorded, and of the variable that moves; the STAMP of ``counts`` is the last one used.
    near, kin : int arrays
        The candidates of a variable in the order, as entries; its parents, children and their parents.
    own : int array
        Parents found on the way.
    counts, queue, waiting, entry, changed, old_parents, old_sizes, old_scores : arrays
        The queue and the journal of a kick, as in ``insertion.Room``.
    moved, left : int arrays
        The variables that moved since the kick began, and those that were before them.
    """

    label: NDArray[np.int64]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    parents: NDArray[np.int32]
    sizes: NDArray[np.int64]
    scores: NDArray[np.float64]
    mirror: NDArray[np.int64]
    marks: NDArray[np.int8]
    seen: NDArray[np.int32]
    passing: NDArray[np.int32]
    near: NDArray[np.int64]
    kin: NDArray[np.int64]
    own: NDArray[np.int64]
    counts: NDArray[np.int64]
    queue: NDArray[np.int64]
    waiting: NDArray[np.bool_]
    entry: NDArray[np.int64]
    changed: NDArray[np.int64]
    old_parents: NDArray[np.int32]
    old_sizes: NDArray[np.int64]
    old_scores: NDArray[np.float64]
    moved: NDArray[np.int64]
    left: NDArray[np.int64]


class Place(NamedTuple):
    """A place for a variable: the gain there, the variable before it, and the limit at which its parents were found.

    The limit is -1 if the variable keeps its parents.
    """

    gain: float
    at: np.int64
    source: np.int64


def make_linked(n: int, most_parents: int, mirror: NDArray[np.int64], most_candidates: int) -> Linked:
    """Return a search over n variables without an order."""

    def ints(size: int = n) -> NDArray[np.int64]:
        return np.zeros(size, dtype=np.int64)

    def lists() -> NDArray[np.int32]:
        return np.zeros((n, most_parents), dtype=np.int32)

    return Linked(
        ints(n + 1), ints(n + 1), ints(n + 1), lists(), ints(), np.zeros(n),
        mirror, np.zeros(len(mirror), dtype=np.int8),
        np.zeros((n, 1), dtype=np.int32), np.zeros((n, 1), dtype=np.int32),
        ints(most_candidates + 1), ints(), ints(most_parents),
        ints(6), ints(), np.zeros(n, dtype=np.bool_), ints(), ints(), lists(), ints(), np.zeros(n),
        ints(MOVES_PER_KICK + MOST_MOVED), ints(MOVES_PER_KICK + MOST_MOVED),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def follow(state, order):
    """Take the variables in this order."""
    n = order.shape[0]
    last = n
    for v in order:
        state.after[last] = v
        state.before[v] = last
        last = v
    state.after[last] = n
    state.before[n] = last
    _relabel(state)


@njit(cache=True, nogil=True)
def _relabel(state):
    """Label all variables with even spaces."""
    n = state.sizes.shape[0]
    label, after = state.label, state.after
    label[n] = 0
    v = after[n]
    place = np.int64(1)
    while v != n:
        label[v] = place << SPACING
        place += 1
        v = after[v]


@njit(cache=True, nogil=True)
def _link(state, v, at):
    """Put v, which is in the list, directly after another variable."""
    label, before, after = state.label, state.before, state.after
    n = state.sizes.shape[0]
    after[before[v]] = after[v]
    before[after[v]] = before[v]
    following = after[at]
    after[at] = v
    before[v] = at
    after[v] = following
    before[following] = v
    low = label[at]
    high = low + (np.int64(2) << SPACING) if following == n else label[following]
    label[v] = (low + high) >> 1
    if label[v] == low:
        _relabel(state)


@njit(cache=True, nogil=True)
def score_order(growth, state, first):
    """Find the parents of the variables from ``first`` on; return the one where the budget ran out, n at the end."""
    n = state.sizes.shape[0]
    v = first
    while v != n:
        k = _recorded_walk(growth, state, v, state.label[v])
        if k < 0:
            return v
        _take(growth, state, v, k)
        _mark_parents(growth, state, v)
        v = state.after[v]
    return n


@njit(cache=True, nogil=True)
def give_parents(growth, state, v, chosen):
    """Give v these parents, which come before it, if they score better than its current ones."""
    value = local_score(growth.score, v, chosen)
    if value > state.scores[v] + ENOUGH:
        state.sizes[v] = chosen.shape[0]
        for k in range(chosen.shape[0]):
            state.parents[v, k] = chosen[k]
        state.scores[v] = value
        _mark_parents(growth, state, v)


@njit(cache=True, nogil=True)
def local_scores(growth, nodes, flat, offsets, values):
    """Fill ``values[k]`` with the score of a node; its parents are ``flat[offsets[k] : offsets[k + 1]]``."""
    for k in range(nodes.shape[0]):
        values[k] = local_score(growth.score, nodes[k], flat[offsets[k] : offsets[k + 1]])


@njit(cache=True, nogil=True)
def _recorded_walk(growth, state, v, limit):
    """Walk for v among the variables with lower labels and keep its marks; return the set, -1 if the budget ran out."""
    given, seen, marks = growth.given, state.seen, state.marks
    state.counts[STAMP] += 1
    stamp = state.counts[STAMP]
    k = call_walk(growth, v, state.label, limit, seen, np.int64(0), stamp)
    if k < 0:
        return k
    for e in range(given.begins[v], given.ends[v]):
        mark = seen[given.own[e], 0]
        marks[e] = 1 if mark == stamp else -1 if mark == -stamp else 0
    return k


@njit(cache=True, nogil=True)
def _take(growth, state, v, k):
    """Give v the parents of a set."""
    size = members(growth.trees, k, state.own)
    state.sizes[v] = size
    for j in range(size):
        state.parents[v, j] = state.own[j]
    state.scores[v] = growth.trees.values[k]


@njit(cache=True, nogil=True)
def _mark_parents(growth, state, v):
    """Mark the parents of v, of which its last walk may have taken only some."""
    given = growth.given
    for e in range(given.begins[v], given.ends[v]):
        if has(state.parents[v], state.sizes[v], given.own[e]):
            state.marks[e] = 1


@njit(cache=True, nogil=True)
def _in_order(given, state, v):
    """Fill ``near`` with the entries of the candidates of v, from the first in the order; return how many."""
    near, label, own = state.near, state.label, given.own
    size = np.int64(0)
    for e in range(given.begins[v], given.ends[v]):
        rank = label[own[e]]
        j = size
        while j > 0 and label[own[near[j - 1]]] > rank:
            near[j] = near[j - 1]
            j -= 1
        near[j] = e
        size += 1
    return size


@njit(cache=True, nogil=True)
def _best_place(growth, state, v, depth):
    """Return the place at which the gain from moving v is largest; of equally good ones the nearest."""
    size = _in_order(growth.given, state, v)
    old = state.label[v]
    best = Place(ENOUGH, state.before[v], np.int64(-1))
    for step in (-1, 1):
        found = _best_along(growth, state, v, size, step, depth)
        state.label[v] = old
        if found.at == SPENT:
            return found
        if found.gain > best.gain + ENOUGH:
            best = found
    return best


@njit(cache=True, nogil=True)
def _best_along(growth, state, v, size, step, depth):
    """Return the best place for v in one direction."""
    given, trees, label, marks, passing = growth.given, growth.trees, state.label, state.marks, state.passing
    near, own, parents, sizes, scores = state.near, state.own, state.parents, state.sizes, state.scores
    old = label[v]
    spent = Place(0.0, np.int64(SPENT), np.int64(-1))
    label[v] = NOWHERE
    state.counts[STAMP] += 1
    stamp = state.counts[STAMP]
    if call_walk(growth, v, label, old, passing, np.int64(0), stamp) < 0:
        return spent
    count = sizes[v]
    for k in range(count):
        own[k] = parents[v, k]
        passing[own[k], 0] = stamp
    top = Place(0.0, state.before[v], np.int64(-1))
    best = scores[v]
    from_others = 0.0
    found = np.int64(-1)
    i = np.int64(0)
    while i < size and label[given.own[near[i]]] < old:
        i += 1
    if step < 0:
        i -= 1
    while 0 <= i < size:
        e = near[i]
        i += step
        x = given.own[e]  # the variable that v passes
        own_event = passing[x, 0] == -step * stamp
        other_event = marks[state.mirror[e]] == step
        if not own_event and not other_event:
            continue
        # What x gains or loses when v passes it.
        if other_event:
            label[v] = -1 if step < 0 else NOWHERE
            k = call_walk(growth, x, label, label[x], passing, np.int64(0), np.int64(0))
            if k < 0:
                return spent
            gain = trees.values[k] - scores[x]
            from_others += gain if step > 0 and has(parents[x], sizes[x], v) else max(gain, 0.0)
        # What v gains: its walk among the variables that now come before it.
        at = state.before[x] if step < 0 else x
        if own_event:
            label[v] = NOWHERE
            state.counts[STAMP] += 1
            stamp = state.counts[STAMP]
            k = call_walk(growth, v, label, label[at] + 1, passing, np.int64(0), stamp)
            if k < 0:
                return spent
            if (step < 0 and has(own, count, x)) or trees.values[k] > best:
                count = members(trees, k, own)
                best = trees.values[k]
                found = label[at] + 1
            for j in range(count):
                passing[own[j], 0] = stamp
        # Note the place if it is the best; stop when too much is lost.
        gain = from_others + best - scores[v]
        if gain > top.gain + ENOUGH:
            top = Place(gain, np.int64(at), found)
        if gain < -depth:
            break
    return top


@njit(cache=True, nogil=True)
def _put(growth, state, v, place):
    """Move v, update its parents and those of the variables that it passes, and queue the variables affected."""
    given, label, parents, sizes, used = growth.given, state.label, state.parents, state.sizes, growth.trees.used
    size = _in_order(given, state, v)
    old, limit = label[v], label[place.at] + 1
    step = -1 if limit <= old else 1
    left = used[BUDGET]
    used[BUDGET] = NO_LIMIT
    label[v] = NOWHERE
    if place.source >= 0:
        _change(growth, state, v, place.source, np.bool_(True))
    if place.source != limit:
        _change(growth, state, v, limit, np.bool_(False))
    label[v] = -1 if step < 0 else NOWHERE
    first = np.int64(0) if step > 0 else size - 1
    while 0 <= first < size:
        e = state.near[first]
        first += step
        u = given.own[e]
        is_passed = limit <= label[u] < old if step < 0 else old < label[u] < limit
        if is_passed and state.marks[state.mirror[e]] == step:
            held = step > 0 and has(parents[u], sizes[u], v)
            _change(growth, state, u, label[u], held)
    used[BUDGET] = left
    label[v] = old
    counts = state.counts
    if counts[UNDER_WAY]:
        state.moved[counts[MOVES]] = v
        state.left[counts[MOVES]] = state.before[v]
        counts[MOVES] += 1
    _link(state, v, place.at)


@njit(cache=True, nogil=True)
def _change(growth, state, u, limit, must_change):
    """Walk for u; take the parents found if they are better or must change, and queue the variables affected."""
    counts, parents, sizes, scores = state.counts, state.parents, state.sizes, state.scores
    if counts[UNDER_WAY] and not state.entry[u]:
        k = counts[JOURNAL]
        state.changed[k] = u
        state.old_sizes[k] = sizes[u]
        for j in range(sizes[u]):
            state.old_parents[k, j] = parents[u, j]
        state.old_scores[k] = scores[u]
        counts[JOURNAL] += 1
        state.entry[u] = k + 1
    found = _recorded_walk(growth, state, u, limit)
    if must_change or growth.trees.values[found] > scores[u]:
        _queue(state, u)
        for j in range(sizes[u]):
            _queue(state, parents[u, j])
        _take(growth, state, u, found)
        for j in range(sizes[u]):
            _queue(state, parents[u, j])
    _mark_parents(growth, state, u)


@njit(cache=True, nogil=True)
def _queue(state, v):
    """Append v to the queue unless it is already there."""
    if state.waiting[v]:
        return
    counts = state.counts
    state.waiting[v] = True
    state.queue[(counts[HEAD] + counts[LENGTH]) % state.queue.shape[0]] = v
    counts[LENGTH] += 1


@njit(cache=True, nogil=True)
def queue_all(state, variables):
    """Queue these variables, in this order."""
    for v in variables:
        _queue(state, v)


@njit(cache=True, nogil=True)
def settle(growth, state, depth, most):
    """Move at most this many variables of the queue to their best places nearby; return whether it is empty.

    It also ends, with False, if the budget of the trees runs out.
    """
    counts = state.counts
    while counts[LENGTH] > 0 and most > 0:
        if growth.trees.used[BUDGET] <= 0:
            return False
        v = state.queue[counts[HEAD]]
        place = _best_place(growth, state, v, depth)
        if place.at == SPENT:
            return False
        counts[HEAD] = (counts[HEAD] + 1) % state.queue.shape[0]
        counts[LENGTH] -= 1
        most -= 1
        state.waiting[v] = False
        if place.at != state.before[v]:
            _put(growth, state, v, place)
            if counts[MOVES] >= MOVES_PER_KICK:
                _forget_queue(state)
    return counts[LENGTH] == 0


@njit(cache=True, nogil=True)
def kick(growth, state, draws, depth, equal):
    """Make one kick for each row of ``draws``, numbers in [0, 1); return how many were made.

    Fewer than all are made if the budget of the trees runs out; the next call then continues the unfinished kick. An
    order that is worse by more than ``equal`` is undone.
    """
    for done in range(draws.shape[0]):
        if not state.counts[UNDER_WAY]:
            _begin_kick(growth, state, draws[done])
        if not settle(growth, state, depth, NO_LIMIT):
            return done
        _end_kick(growth, state, equal)
    return draws.shape[0]


@njit(cache=True, nogil=True)
def end(growth, state, equal):
    """Empty the queue without a search, and keep or undo the unfinished kick."""
    _forget_queue(state)
    if state.counts[UNDER_WAY]:
        _end_kick(growth, state, equal)


@njit(cache=True, nogil=True)
def _forget_queue(state):
    counts = state.counts
    while counts[LENGTH] > 0:
        state.waiting[state.queue[counts[HEAD]]] = False
        counts[HEAD] = (counts[HEAD] + 1) % state.queue.shape[0]
        counts[LENGTH] -= 1


@njit(cache=True, nogil=True)
def _begin_kick(growth, state, draw):
    """Move a variable and some of its neighbours."""
    counts = state.counts
    counts[JOURNAL] = 0
    counts[MOVES] = 0
    counts[UNDER_WAY] = 1
    first = np.int64(draw[0] * state.sizes.shape[0])
    size = _kin(growth, state, first)
    kin = state.kin[:size].copy()
    for m in range(1 + int(draw[1] * min(size + 1, MOST_MOVED))):
        v = first if m == 0 or size == 0 else kin[int(draw[2 + 3 * m] * size)]
        at = _target(growth, state, v, draw[3 + 3 * m], draw[4 + 3 * m])
        _queue(state, v)
        if at != v and at != state.before[v]:
            _put(growth, state, v, Place(0.0, np.int64(at), state.label[at] + 1))


@njit(cache=True, nogil=True)
def _end_kick(growth, state, equal):
    """Keep the order if it is not worse, else restore the one before."""
    counts, used = state.counts, growth.trees.used
    count = counts[JOURNAL]
    rise = 0.0
    for k in range(count):
        rise += state.scores[state.changed[k]] - state.old_scores[k]
    if rise < -equal:
        for m in range(counts[MOVES] - 1, -1, -1):
            _link(state, state.moved[m], state.left[m])
        left = used[BUDGET]
        used[BUDGET] = NO_LIMIT
        for k in range(count):
            u = state.changed[k]
            _recorded_walk(growth, state, u, state.label[u])
            state.sizes[u] = state.old_sizes[k]
            for j in range(state.sizes[u]):
                state.parents[u, j] = state.old_parents[k, j]
            state.scores[u] = state.old_scores[k]
            _mark_parents(growth, state, u)
        used[BUDGET] = left
    for k in range(count):
        state.entry[state.changed[k]] = 0
    counts[JOURNAL] = 0
    counts[MOVES] = 0
    counts[UNDER_WAY] = 0


@njit(cache=True, nogil=True)
def _kin(growth, state, v):
    """Fill ``kin`` with the parents and children of v and the parents of its children; return how many."""
    given, parents, sizes, kin = growth.given, state.parents, state.sizes, state.kin
    size = np.int64(0)
    for k in range(sizes[v]):
        kin[size] = parents[v, k]
        size += 1
    for e in range(given.begins[v], given.ends[v]):
        u = given.own[e]
        if state.marks[state.mirror[e]] != 1 or not has(parents[u], sizes[u], v):
            continue
        if not has(kin, size, u):
            kin[size] = u
            size += 1
        for k in range(sizes[u]):
            x = parents[u, k]
            if x != v and not has(kin, size, x):
                kin[size] = x
                size += 1
    return size


@njit(cache=True, nogil=True)
def _target(growth, state, v, a, b):
    """Return the variable after which v is put: beside one of its neighbours, or where it is if it has none."""
    size = _kin(growth, state, v)
    if size == 0:
        return state.before[v]
    x = state.kin[int(a * size)]
    at = x if b < 0.5 else state.before[x]
    return state.before[v] if at == v else at
