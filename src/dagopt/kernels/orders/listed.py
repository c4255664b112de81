"""Best insertion over orders scored by lists: each variable takes its best listed parent set among those before.

The rule is that of ``kernels/orders/insertion.py``. Only the variables that have v in some listed set change when v
moves, and a listed set fits once all its members come before the variable. So the work for v depends on the lengths of
these lists, not on the number of variables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dagopt.kernels.store import njit

ENOUGH = 1e-7  # a smaller gain does not count


class Lists(NamedTuple):
    """Listed parent sets: those of node i are ``offsets[i]`` to ``offsets[i + 1]``, from the best value down.

    The members of set k are ``parents[starts[k] : starts[k + 1]]``. The nodes that have v in one of their sets are
    ``children[child_starts[v] : child_starts[v + 1]]``.
    """

    parents: Any
    starts: Any
    values: Any
    offsets: Any
    children: Any
    child_starts: Any


@njit(cache=True, nogil=True)
def lists_of(parents, starts, values, offsets):
    """Return the lists with the nodes that each node may be a parent of."""
    n = offsets.shape[0] - 1
    count = np.zeros(n + 1, dtype=np.int64)
    seen = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        for t in range(starts[offsets[i]], starts[offsets[i + 1]]):
            if seen[parents[t]] != i:
                seen[parents[t]] = i
                count[parents[t] + 1] += 1
    child_starts = np.cumsum(count)
    children = np.empty(child_starts[n], dtype=np.int64)
    fill = child_starts[:-1].copy()
    seen[:] = -1
    for i in range(n):
        for t in range(starts[offsets[i]], starts[offsets[i + 1]]):
            j = parents[t]
            if seen[j] != i:
                seen[j] = i
                children[fill[j]] = i
                fill[j] += 1
    return Lists(parents, starts, values, offsets, children, child_starts)


@njit(cache=True, nogil=True)
def first_fitting(lists, first, last, place, limit, v, with_v):
    """Return the first set from ``first`` on with all members before ``limit``, and whether v is in it; or -1.

    The position of v does not count: v may be a member if and only if ``with_v``.
    """
    for k in range(first, last):
        fits = True
        has = False
        for t in range(lists.starts[k], lists.starts[k + 1]):
            j = lists.parents[t]
            if j == v:
                has = True
                fits = with_v
            elif place[j] >= limit:
                fits = False
            if not fits:
                break
        if fits:
            return k, has
    return -1, False


@njit(cache=True, nogil=True)
def _changes(lists, place, v, change, missing):
    """Fill the change at each position (with v removed) when v comes after that variable instead of before it."""
    change[:] = 0.0
    missing[:] = 0
    old = place[v]
    for c in range(lists.child_starts[v], lists.child_starts[v + 1]):
        u = lists.children[c]
        last = lists.offsets[u + 1]
        b, has = first_fitting(lists, lists.offsets[u], last, place, place[u], v, np.bool_(True))
        a = b
        if has:
            a, _ = first_fitting(lists, b + 1, last, place, place[u], v, np.bool_(False))
        at = place[u] - (1 if place[u] > old else 0)
        change[at] = (lists.values[a] if a >= 0 else 0.0) - (lists.values[b] if b >= 0 else 0.0)
        missing[at] = (1 if a < 0 else 0) - (1 if b < 0 else 0)


@njit(cache=True, nogil=True)
def _own(lists, place, v, value):
    """Fill the best value of v at each position; return the first position at which a set fits."""
    old = place[v]
    fits_from = place.shape[0]
    for k in range(lists.offsets[v], lists.offsets[v + 1]):
        after = 0
        for t in range(lists.starts[k], lists.starts[k + 1]):
            at = place[lists.parents[t]]
            at = at if at > old else at + 1  # one more than its position with v removed
            if at > after:
                after = at
                if after >= fits_from:
                    break
        if after < fits_from:
            value[after:fits_from] = lists.values[k]
            fits_from = after
            if after == 0:
                break
    return fits_from


@njit(cache=True, nogil=True)
def every_place(lists, place, v, room):
    """Fill what v at each place makes of the score, and of the number of variables without a set.

    Both are relative to v before all others. ``room`` has five arrays; its last two are filled.
    """
    change, missing, own, value, without = room
    _changes(lists, place, v, change, missing)
    fits_from = _own(lists, place, v, own)
    score = 0.0
    lack = 0
    for p in range(place.shape[0]):
        fits = p >= fits_from
        value[p] = score + (own[p] if fits else 0.0)
        without[p] = lack + (0 if fits else 1)
        score += change[p]
        lack += missing[p]


@njit(cache=True, nogil=True)
def insert_best_listed(lists, order, variables):
    """Do what ``insert_best`` does over lists: move each variable to its best position, the first of ties.

    Variables for which no listed set fits are counted separately: fewer of them matters more than the score.
    Returns the gain, and how many of the last variables stayed where they were.
    """
    n = order.shape[0]
    place = np.empty(n, dtype=np.int64)
    for p in range(n):
        place[order[p]] = p
    room = (np.empty(n), np.empty(n, dtype=np.int64), np.empty(n), np.empty(n), np.empty(n, dtype=np.int64))
    value, without = room[3], room[4]
    gained = 0.0
    idle = 0
    for v in variables:
        old = place[v]
        every_place(lists, place, v, room)
        top = -np.inf
        fewest = n + 1
        target = old
        for p in range(n):
            if without[p] < fewest or (without[p] == fewest and value[p] > top + ENOUGH):
                top = value[p]
                fewest = without[p]
                target = p
        # Move v there if that is better than where it stands.
        if not (fewest < without[old] or top > value[old] + ENOUGH):
            idle += 1
            continue
        idle = 0
        gained += top - value[old]
        step = 1 if target > old else -1
        for p in range(old, target, step):
            order[p] = order[p + step]
            place[order[p]] = p
        order[target] = v
        place[v] = target
    return gained, idle


@njit(cache=True, nogil=True)
def settle(lists, order):
    """Move one variable after the other to its best position until all stay."""
    n = order.shape[0]
    variables = np.arange(n)
    idle = 0
    while idle < n:
        _, idle = insert_best_listed(lists, order, variables)


@njit(cache=True, nogil=True)
def listed_parents(lists, order, chosen):
    """Fill ``chosen`` with each variable's best listed set under an order, -1 for none; return the score."""
    n = order.shape[0]
    place = np.empty(n, dtype=np.int64)
    for p in range(n):
        place[order[p]] = p
    total = 0.0
    nobody, not_with = np.int64(-1), np.bool_(False)  # for literals, numba would compile another version
    for v in order:
        chosen[v], _ = first_fitting(lists, lists.offsets[v], lists.offsets[v + 1], place, place[v], nobody, not_with)
        total += lists.values[chosen[v]] if chosen[v] >= 0 else -np.inf
    return total
