"""Growth trees: the parents that growing and shrinking finds for a node among any set of allowed columns.

Growing takes the best addition while one helps, shrinking the best removal while one helps, and so on until neither
does. What is best next depends only on the parents so far and on which columns are allowed, so every node of the graph
has a tree of parent sets: each set has the list of all additions that help, from the best down, and the walk takes the
first that is allowed. A set that no allowed addition improves is shrunk; if that changes it, the walk goes on from the
smaller set. Lists are made when a walk first comes to a set, and then serve all walks.

``trees`` is a tuple: roots (the tree of each node, or -1), a row of ``nodes`` for each set (columns below), its
``values`` (the local score), ``lists`` and ``children`` (the additions, and the set each leads to), ``ends`` (where the
last walk of each node ended, kept by the caller) and ``used``: sets and list entries in use, lists that may still be
made, and how often all was forgotten because there was no room. Columns of ``nodes``: the last addition VAR (-1: the
set begins a tree), the set before UP, the list FIRST and COUNT (-1: not made), the smaller set JUMP, the number of
parents SIZE, and where a tree begins its members BASE and BASE_SIZE in ``lists``.

``given`` is what is allowed: own, counts, is_own, must, most, where ``own[v, :counts[v]]`` are the candidates of v,
``must[v, u]`` says that u is a required parent of v, and ``most[v]`` is the largest number of parents.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dagopt.kernels.order_gains import ENOUGH, additions, removals

VAR, UP, FIRST, COUNT, JUMP, SIZE, BASE, BASE_SIZE = range(8)
COLUMNS = 8
SETS, ENTRIES, BUDGET, FORGOTTEN = range(4)
UNKNOWN, NONE = -2, -1


@njit(cache=True, nogil=True)
def walk(given, score, trees, v, rank, limit):  # type: ignore[no-untyped-def]
    """Return the set that growing and shrinking ends with among candidates of rank below ``limit``.

    Returns -1 when a list had to be made and ``used[BUDGET]`` is spent; a walk after that begins where this one ended.
    """
    roots, nodes, _, lists, children, _, used = trees
    k = roots[v]
    while True:
        if k < 0 or nodes[k, COUNT] < 0:
            if used[BUDGET] <= 0:
                return -1
            if _makes_room(trees) or k < 0:
                k = _plant(given, trees, v)
            _list_additions(given, score, trees, v, k)
        taken = -1
        for e in range(nodes[k, FIRST], nodes[k, FIRST] + nodes[k, COUNT]):
            if rank[lists[e]] < limit:
                taken = e
                break
        if taken >= 0:
            if children[taken] < 0:
                if used[SETS] == nodes.shape[0]:
                    _forget(trees)
                    k = -1
                    continue
                children[taken] = _add_set(nodes, used, lists[taken], k, nodes[k, SIZE] + 1)
            k = children[taken]
            continue
        if nodes[k, JUMP] == UNKNOWN:
            if used[BUDGET] <= 0:
                return -1
            if _makes_room(trees):
                k = -1
                continue
            nodes[k, JUMP] = _shrunk(given, score, trees, v, k)
        if nodes[k, JUMP] == NONE:
            return k
        k = nodes[k, JUMP]


@njit(cache=True, nogil=True)
def _makes_room(trees):  # type: ignore[no-untyped-def]
    """Spend one of the budget; forget all if there is no room for one more list, and say so."""
    roots, nodes, _, lists, _, _, used = trees
    used[BUDGET] -= 1
    if used[SETS] + 2 <= nodes.shape[0] and used[ENTRIES] + 2 * roots.shape[0] <= lists.shape[0]:
        return False
    _forget(trees)
    return True


@njit(cache=True, nogil=True)
def members(trees, k, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with the parents of a set in increasing order; return how many there are."""
    nodes, lists = trees[1], trees[3]
    size = 0
    while nodes[k, VAR] >= 0:
        out[size] = nodes[k, VAR]
        size += 1
        k = nodes[k, UP]
    for e in range(nodes[k, BASE], nodes[k, BASE] + nodes[k, BASE_SIZE]):
        out[size] = lists[e]
        size += 1
    out[:size].sort()
    return size


@njit(cache=True, nogil=True)
def was_taken(trees, k, x):  # type: ignore[no-untyped-def]
    """Say whether the walk that ended at a set took x, or may have because the set is forgotten."""
    nodes = trees[1]
    if k < 0:
        return True
    while k >= 0:
        if nodes[k, VAR] == x:
            return True
        k = nodes[k, UP]
    return False


@njit(cache=True, nogil=True)
def _add_set(nodes, used, var, up, size):  # type: ignore[no-untyped-def]
    k = used[SETS]
    used[SETS] += 1
    nodes[k, VAR] = var
    nodes[k, UP] = up
    nodes[k, FIRST] = 0
    nodes[k, COUNT] = -1
    nodes[k, JUMP] = UNKNOWN
    nodes[k, SIZE] = size
    nodes[k, BASE] = 0
    nodes[k, BASE_SIZE] = 0
    return k


@njit(cache=True, nogil=True)
def _begin(trees, parents, up):  # type: ignore[no-untyped-def]
    """Add a set that begins a tree."""
    _, nodes, _, lists, _, _, used = trees
    size = parents.shape[0]
    k = _add_set(nodes, used, -1, up, size)
    nodes[k, BASE] = used[ENTRIES]
    nodes[k, BASE_SIZE] = size
    lists[used[ENTRIES] : used[ENTRIES] + size] = parents
    used[ENTRIES] += size
    return k


@njit(cache=True, nogil=True)
def _plant(given, trees, v):  # type: ignore[no-untyped-def]
    """Begin the tree of v at its required parents."""
    roots = trees[0]
    if roots[v] < 0:
        roots[v] = _begin(trees, np.flatnonzero(given[3][v]), -1)
    return roots[v]


@njit(cache=True, nogil=True)
def _forget(trees):  # type: ignore[no-untyped-def]
    roots, _, _, _, _, ends, used = trees
    roots[:] = -1
    ends[:] = -1
    used[SETS] = 0
    used[ENTRIES] = 0
    used[FORGOTTEN] += 1


@njit(cache=True, nogil=True)
def _list_additions(given, score, trees, v, k):  # type: ignore[no-untyped-def]
    """Score a set, and list the additions that help from the best down, equal ones in the order of the candidates."""
    own, counts, _, _, most = given
    _, nodes, values, lists, children, _, used = trees
    parents = np.empty(nodes[k, SIZE], dtype=np.int64)
    members(trees, k, parents)
    m = counts[v] if nodes[k, SIZE] < most[v] else 0
    gains = np.empty(m)
    values[k] = additions(score, v, parents, own[v, :m], gains)
    helpful = np.flatnonzero(gains > values[k] + ENOUGH)
    order = np.argsort(-gains[helpful], kind="mergesort")
    first = used[ENTRIES]
    for e in range(order.shape[0]):
        lists[first + e] = own[v, helpful[order[e]]]
        children[first + e] = -1
    nodes[k, FIRST] = first
    nodes[k, COUNT] = order.shape[0]
    used[ENTRIES] += order.shape[0]


@njit(cache=True, nogil=True)
def _shrunk(given, score, trees, v, k):  # type: ignore[no-untyped-def]
    """Make the best removal while one helps; return the smaller set, or NONE if none helps."""
    must = given[3]
    nodes, values = trees[1], trees[2]
    size = nodes[k, SIZE]
    parents = np.empty(size, dtype=np.int64)
    members(trees, k, parents)
    best = values[k]
    without = np.empty(size)
    while size > 0:
        removals(score, v, parents[:size], without)
        place = -1
        for b in range(size):
            if not must[v, parents[b]] and without[b] > best + ENOUGH:
                best = without[b]
                place = b
        if place < 0:
            break
        parents[place : size - 1] = parents[place + 1 : size].copy()
        size -= 1
    return _begin(trees, parents[:size], k) if size < nodes[k, SIZE] else NONE
