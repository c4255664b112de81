"""Best insertion over orders: take a variable out, try all its places at once, put it where it is best.

``rank[v]`` is the place of v in the order. The total score of an order is the sum over its variables of the best
parents found among those before. With v taken out, let a_k be the score of the k-th other variable when v is
behind it, b_k when v is before it, and c_p the score of v behind p others; then v at place p scores
``Σ_{k<p} a_k + Σ_{k>=p} b_k + c_p``, all places by two prefix sums, here of differences to the present place.

Parents are found by walks in growth trees (``trees.py``, which explains ``Growth``), and
parents that a variable has are kept while they are before it and nothing better is found. ``state``: order, rank, for
each variable its parents, sizes and scores, and the marks of its last walk: ``marks[x, u]`` is ``stamps[u]`` if it
took x, ``-stamps[u]`` if it would have, anything else if x makes no difference to u.

Numbers that are passed on are np.int64: for a literal 0 numba would compile another version.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dagopt.kernels.orders.scores import local_score
from dagopt.kernels.orders.trees import BUDGET, ENOUGH, members, walk

NOWHERE = 1 << 40  # the rank of a variable that is taken out
NO_LIMIT = 1 << 60  # on the lists that are made


class State(NamedTuple):
    """A search under way; the head of this module says what each array holds."""

    order: NDArray[np.int64]
    rank: NDArray[np.int64]
    parents: NDArray[np.int64]
    sizes: NDArray[np.int64]
    scores: NDArray[np.float64]
    marks: NDArray[np.int32]
    stamps: NDArray[np.int64]


class Places(NamedTuple):
    """What moving one variable v to each of its places would give.

    Attributes
    ----------
    others : int array
        All variables but v, in their order.
    change : array
        How the score of the k-th other changes when v comes before it or goes behind it.
    here : array
        c_p, less the present score of v.
    source : int array
        The place at which the parents of c_p were found; -1 for the present parents.
    own, marks : arrays
        The parents of v at the place that was looked at last, and the marks of the walk that found them.
    """

    others: NDArray[np.int64]
    change: NDArray[np.float64]
    here: NDArray[np.float64]
    source: NDArray[np.int64]
    own: NDArray[np.int64]
    marks: NDArray[np.int32]


@njit(cache=True, nogil=True)
def score_order(growth, state, first):  # type: ignore[no-untyped-def]
    """Find the parents of the variables from place ``first`` on; return the place at which the budget was spent."""
    order, rank, parents, sizes, scores, marks, stamps = state
    for p in range(order.shape[0]):
        rank[order[p]] = p
    for p in range(first, order.shape[0]):
        v = order[p]
        stamps[v] += 1
        k = walk(growth, v, rank, p, marks, v, stamps[v])
        if k < 0:
            return p
        sizes[v] = members(growth.trees, k, parents[v])
        scores[v] = growth.trees.values[k]
    return order.shape[0]


@njit(cache=True, nogil=True)
def give_required(growth, state, first):  # type: ignore[no-untyped-def]
    """Give the variables from place ``first`` on their required parents alone."""
    order, _, parents, sizes, scores, _, _ = state
    for p in range(first, order.shape[0]):
        v = order[p]
        required = np.flatnonzero(growth.given.must[v])
        sizes[v] = required.shape[0]
        parents[v, : sizes[v]] = required
        scores[v] = local_score(growth.score, v, required)


@njit(cache=True, nogil=True)
def use_parents(growth, state, v, chosen):  # type: ignore[no-untyped-def]
    """Give v these parents, all before it, if they score better than those it has."""
    _, _, parents, sizes, scores, _, _ = state
    value = local_score(growth.score, v, chosen)
    if value > scores[v] + ENOUGH:
        sizes[v] = chosen.shape[0]
        scores[v] = value
        parents[v, : sizes[v]] = chosen


@njit(cache=True, nogil=True)
def insert_best(growth, state, variables):  # type: ignore[no-untyped-def]
    """Put each variable in turn at its best place; return how many were tried, and how many in a row at the end stayed.

    Fewer than all are tried when the budget of the trees is spent. No variable's score falls unless it loses a parent.
    """
    must = growth.given.must
    order, rank, parents, _, _, _, _ = state
    n = order.shape[0]
    places = Places(
        np.empty(n, dtype=np.int64),
        np.zeros(n),
        np.empty(n),
        np.empty(n, dtype=np.int64),
        np.empty(parents.shape[1], dtype=np.int64),
        np.zeros((n, 1), dtype=np.int32),
    )
    others = places.others
    idle = 0
    for tried in range(variables.shape[0]):
        v = variables[tried]
        old = rank[v]
        lowest = np.int64(0)
        highest = np.int64(n - 1)
        for p in range(n - 1):
            u = order[p if p < old else p + 1]
            others[p] = u
            rank[u] = p
            if must[v, u]:
                lowest = np.int64(p + 1)
            if must[u, v] and p < highest:
                highest = np.int64(p)
        whole = _other_scores(growth, state, places, v, old, lowest, highest)
        if not (whole and _own_scores(growth, state, places, v, old, lowest, highest)):
            for p in range(n):
                rank[order[p]] = p
            return tried, idle
        place = _best_place(places, old, lowest, highest)
        if place != old:
            _put(growth, state, places, v, old, place)
        for p in range(min(place, old), n):
            rank[order[p]] = p
        idle = idle + 1 if place == old else 0
    return variables.shape[0], idle


@njit(cache=True, nogil=True)
def _other_scores(growth, state, places, v, old, lowest, highest):  # type: ignore[no-untyped-def]
    """Fill ``change`` for the others that v can pass; return False where the budget was spent."""
    others, change = places.others, places.change
    _, rank, parents, sizes, scores, marks, stamps = state
    values = growth.trees.values
    rank[v] = -1
    for p in range(lowest, old):
        u = others[p]
        change[p] = 0.0
        if marks[v, u] == -stamps[u]:
            k = walk(growth, u, rank, p, marks, np.int64(0), np.int64(0))
            if k < 0:
                return False
            change[p] = max(values[k] - scores[u], 0.0)
    rank[v] = NOWHERE
    for p in range(old, highest):
        u = others[p]
        change[p] = 0.0
        held = _has(parents[u], sizes[u], v)
        if held or marks[v, u] == stamps[u]:
            k = walk(growth, u, rank, p, marks, np.int64(0), np.int64(0))
            if k < 0:
                return False
            change[p] = values[k] - scores[u]
            if not held and change[p] < 0.0:
                change[p] = 0.0
    return True


@njit(cache=True, nogil=True)
def _own_scores(growth, state, places, v, old, lowest, highest):  # type: ignore[no-untyped-def]
    """Fill ``here`` with what v gains at every place by its own parents, and ``source``."""
    others, _, here, source, own, own_marks = places
    _, rank, parents, sizes, scores, marks, stamps = state
    values = growth.trees.values
    rank[v] = NOWHERE
    here[old] = 0.0
    source[old] = -1
    stamp = np.int64(0)
    own_marks[:] = 0
    for step in (-1, 1):
        size = sizes[v]
        best = scores[v]
        own[:size] = parents[v, :size]
        walked = False  # whether own_marks are those of the last place, or else those of the present one
        p = old + step
        while lowest <= p <= highest:
            here[p] = here[p - step]
            source[p] = source[p - step]
            x = others[p if step < 0 else p - 1]
            mark = own_marks[x, 0] == -step * stamp if walked else marks[x, v] == -step * stamps[v]
            held = step < 0 and _has(own, size, x)
            if mark or held:
                stamp += 1
                k = walk(growth, v, rank, p, own_marks, np.int64(0), stamp)
                if k < 0:
                    return False
                walked = True
                if held or values[k] > best:
                    size = members(growth.trees, k, own)
                    best = values[k]
                    here[p] = best - scores[v]
                    source[p] = p
            p += step
    return True


@njit(cache=True, nogil=True)
def _best_place(places, old, lowest, highest):  # type: ignore[no-untyped-def]
    """Return the place that gains most, the nearest of equal ones, or the old one."""
    change, here = places.change, places.here
    place = old
    top = ENOUGH
    total = 0.0
    for p in range(old - 1, lowest - 1, -1):
        total += change[p]
        if total + here[p] > top + ENOUGH:
            top = total + here[p]
            place = p
    total = 0.0
    for p in range(old + 1, highest + 1):
        total += change[p - 1]
        if total + here[p] > top + ENOUGH:
            top = total + here[p]
            place = p
    return place


@njit(cache=True, nogil=True)
def _put(growth, state, places, v, old, place):  # type: ignore[no-untyped-def]
    """Move v, and bring its parents and those of all that it passes up to date."""
    order, rank, parents, sizes, _, marks, stamps = state
    others, source = places.others, places.source[place]
    left = growth.trees.used[BUDGET]
    growth.trees.used[BUDGET] = NO_LIMIT
    if source >= 0:
        _renew(growth, state, v, source, source >= 0)
    if source != place:
        _renew(growth, state, v, place, source == place)
    for p in range(min(place, old), max(place, old)):
        u = others[p]
        rank[v] = -1 if p >= place else NOWHERE
        held = _has(parents[u], sizes[u], v)  # only where v goes behind u
        if held or marks[v, u] == (-stamps[u] if p >= place else stamps[u]):
            _renew(growth, state, u, p, held)
    growth.trees.used[BUDGET] = left
    for p in range(order.shape[0] - 1):
        order[p if p < place else p + 1] = others[p]
    order[place] = v


@njit(cache=True, nogil=True)
def _renew(growth, state, u, limit, must_change):  # type: ignore[no-untyped-def]
    """Walk for u, and take the parents found if they are better, or if they must change."""
    _, rank, parents, sizes, scores, marks, stamps = state
    stamps[u] += 1
    k = walk(growth, u, rank, limit, marks, u, stamps[u])
    if must_change or growth.trees.values[k] > scores[u]:
        sizes[u] = members(growth.trees, k, parents[u])
        scores[u] = growth.trees.values[k]


@njit(cache=True, nogil=True)
def _has(chosen, size, x):  # type: ignore[no-untyped-def]
    """Say whether x is among the first members."""
    for k in range(size):  # noqa: SIM110
        if chosen[k] == x:
            return True
    return False
