"""Growth trees: the parents that growing and shrinking finds for a node among any set of allowed columns.

Growing makes the best addition while one helps, shrinking the best removal while one helps, and so on until neither
does. The best next step depends only on the parents so far and on which columns are allowed, so every node of the graph
has a tree of parent sets: each set has the list of all additions that help, from the best down, and the walk takes the
first that is allowed. A set that no allowed addition improves is shrunk; if that changes it, the walk continues from
the smaller set. A list is made when a walk first reaches its set, and then serves all walks.

``score`` is the tuple of ``logdets.py``, ``counts.py`` or ``blocks.py``. All are passed to kernels as boxes
(``kernels/boxes.py``).

A walk leaves marks: which columns it took, and which it would have taken had they been allowed (those listed before
the one taken, and all of the last list). As long as no such column becomes allowed, and none that was taken
is lost, the walk ends at the same set.

``Trees``: roots (the tree of each node, or -1), one row of ``nodes`` per set (its entries are below), its
``values`` (the local score), ``lists`` and ``children`` (the additions, and the set each leads to), and ``used``: sets
and list entries in use, lists that may still be made, and how often all was cleared because memory ran out.
Columns of ``nodes``: the last addition VAR (-1: the set begins a tree), the set before UP, the list FIRST and COUNT
(-1: not made), the smaller set JUMP, the number of parents SIZE, and where a tree begins its members BASE and BASE_SIZE
in ``lists``.

``Given`` is what is allowed: own, begins, ends, must, most, where ``own[begins[v] : ends[v]]`` are the candidates of v
in increasing order, ``must[v, u]`` says that u is a required parent of v (no columns if none is), and ``most[v]`` is
the largest number of parents.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dagopt.kernels.boxes import UNCOMPILED, Box, address_of, call_by_address
from dagopt.kernels.orders import scores
from dagopt.kernels.store import njit

ENOUGH = 1e-7  # a smaller gain does not count
MOST_SHRINKINGS = 16  # the most shrinkings on the path to a set
SORTED_BY_INSERTION = 16  # the length of the runs that are sorted by insertion before they are merged
VAR, UP, FIRST, COUNT, JUMP, SIZE, BASE, BASE_SIZE = range(8)
COLUMNS = 8
SETS, ENTRIES, BUDGET, FORGOTTEN = range(4)
UNKNOWN, NONE = -2, -1


class Trees(NamedTuple):
    """The growth trees of all nodes; the module docstring says what each array holds."""

    roots: NDArray[np.int64]
    nodes: NDArray[np.int64]
    values: NDArray[np.float64]
    lists: NDArray[np.int32]
    children: NDArray[np.int32]
    used: NDArray[np.int64]


class Given(NamedTuple):
    """What is allowed; the module docstring says what each array holds."""

    own: NDArray[np.int64]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    must: NDArray[np.bool_]
    most: NDArray[np.int64]


class Growth(NamedTuple):
    """What growing and shrinking needs: ``Given``, the score (such as ``LogDets``) and ``Trees``, each in a box.

    ``walk`` is the address of ``walk``, compiled for these.
    """

    given: Box
    score: Box
    trees: Box
    walk: int = 0

    def __reduce__(self) -> tuple[Any, tuple[Box, Box, Box]]:
        """Leave out the address, which means nothing in another process."""
        return _with_address, (self.given, self.score, self.trees)


def make_growth(given: Given, score: Any, trees: Trees) -> Box:
    """Return a ``Growth`` in a box."""
    return Box(_with_address(Box(given), Box(score), Box(trees)))


def _with_address(given: Box, score: Box, trees: Box) -> Growth:
    growth = Growth(given, score, trees)
    number, numbers, marks = types.int64, types.Array(types.int64, 1, "C"), types.Array(types.int32, 2, "C")
    kinds = (Box(growth).kind, number, numbers, number, marks, number, number)
    return growth._replace(walk=address_of(walk, kinds))


def _call_walk(context, growth, v, rank, limit, marks, column, stamp):
    """Call ``walk``; its code is not compiled again in each kernel that does."""
    signature = types.int64(growth, types.int64, rank, types.int64, marks, types.int64, types.int64)
    return signature, partial(call_by_address, "walk", types.int64)


@njit(cache=True, nogil=True)
def walk(growth, v, rank, limit, marks, column, stamp):
    """Return the set at which growing and shrinking ends among the candidates of rank below ``limit``.

    ``marks[x, column]`` becomes ``stamp`` for every x that was taken and ``-stamp`` for those that would have been;
    a stamp of 0 leaves no marks. Returns -1 if a list had to be made and ``used[BUDGET]`` is spent; the lists already
    made are kept, so the next walk gets further.
    """
    trees = growth.trees
    nodes, lists, children, used = trees.nodes, trees.lists, trees.children, trees.used
    k = trees.roots[v]
    while True:
        # The set has no list of additions yet: make it, if the budget allows.
        if k < 0 or nodes[k, COUNT] < 0:
            if used[BUDGET] <= 0:
                return -1
            if _makes_room(growth) or k < 0:
                k = _plant(growth, v)
            _list_additions(growth, v, k)
        # Take the best addition whose rank is low enough; those before it would have been taken.
        taken = -1
        for e in range(nodes[k, FIRST], nodes[k, FIRST] + nodes[k, COUNT]):
            x = lists[e]
            if rank[x] < limit:
                taken = e
                break
            if stamp > 0 and marks[x, column] != stamp:
                marks[x, column] = -stamp
        # Go on with the larger set, which is a new one if nobody came here before.
        if taken >= 0:
            if stamp > 0:
                marks[lists[taken], column] = stamp
            if children[taken] < 0:
                if used[SETS] == nodes.shape[0]:
                    _forget(growth)
                    k = -1
                    continue
                children[taken] = _add_set(nodes, used, np.int64(lists[taken]), k, nodes[k, SIZE] + 1)
            k = children[taken]
            continue
        # Nothing can be added: shrink, and go on from there; without a gain the walk is over.
        if nodes[k, JUMP] == UNKNOWN:
            if used[BUDGET] <= 0:
                return -1
            if _makes_room(growth):
                k = -1
                continue
            nodes[k, JUMP] = _shrunk(growth, v, k)
        if nodes[k, JUMP] == NONE:
            return k
        k = nodes[k, JUMP]


call_walk: Any = walk if UNCOMPILED else intrinsic(_call_walk)


@njit(cache=True, nogil=True)
def _makes_room(growth):
    """Use one unit of the budget; clear all lists if there is no room for another one, and return whether it did."""
    trees = growth.trees
    used = trees.used
    used[BUDGET] -= 1
    if used[SETS] + 2 <= trees.nodes.shape[0] and used[ENTRIES] + 2 * trees.roots.shape[0] <= trees.lists.shape[0]:
        return False
    _forget(growth)
    return True


@njit(cache=True, nogil=True)
def members(trees, k, out):
    """Fill ``out`` with the parents of a set in increasing order; return how many there are."""
    nodes, lists = trees.nodes, trees.lists
    size = 0
    while nodes[k, VAR] >= 0:
        out[size] = nodes[k, VAR]
        size += 1
        k = nodes[k, UP]
    for e in range(nodes[k, BASE], nodes[k, BASE] + nodes[k, BASE_SIZE]):
        out[size] = lists[e]
        size += 1
    for i in range(1, size):
        x = out[i]
        j = i
        while j > 0 and out[j - 1] > x:
            out[j] = out[j - 1]
            j -= 1
        out[j] = x
    return size


@njit(cache=True, nogil=True)
def _in_turn(trees, k, out):
    """Fill ``out`` with the parents of a set in the order they were added, so its value does not depend on the walk."""
    nodes, lists = trees.nodes, trees.lists
    size = nodes[k, SIZE]
    while nodes[k, VAR] >= 0:
        size -= 1
        out[size] = nodes[k, VAR]
        k = nodes[k, UP]
    for e in range(nodes[k, BASE_SIZE]):
        out[e] = lists[nodes[k, BASE] + e]


@njit(cache=True, nogil=True)
def _add_set(nodes, used, var, up, size):
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
def _begin(trees, parents, up):
    """Add a set that starts a tree."""
    nodes, lists, used = trees.nodes, trees.lists, trees.used
    size = parents.shape[0]
    k = _add_set(nodes, used, np.int64(-1), up, np.int64(size))
    nodes[k, BASE] = used[ENTRIES]
    nodes[k, BASE_SIZE] = size
    for j in range(size):
        lists[used[ENTRIES] + j] = parents[j]
    used[ENTRIES] += size
    return k


@njit(cache=True, nogil=True)
def _plant(growth, v):
    """Start the tree of v at its required parents."""
    roots = growth.trees.roots
    if roots[v] < 0:
        roots[v] = _begin(growth.trees, required_parents(growth, v), np.int64(-1))
    return roots[v]


@njit(cache=True, nogil=True)
def required_parents(growth, v):
    """Return the required parents of v."""
    required = growth.given.must[v]
    found = np.empty(required.shape[0], dtype=np.int64)
    size = 0
    for u in range(required.shape[0]):
        if required[u]:
            found[size] = u
            size += 1
    return found[:size]


@njit(cache=True, nogil=True)
def is_required(must, v, u):
    """Say whether u is a required parent of v."""
    return must.shape[1] > 0 and must[v, u]


@njit(cache=True, nogil=True)
def _forget(growth):
    roots, used = growth.trees.roots, growth.trees.used
    roots[:] = -1
    used[SETS] = 0
    used[ENTRIES] = 0
    used[FORGOTTEN] += 1


@njit(cache=True, nogil=True)
def _list_additions(growth, v, k):
    """Score a set and list the additions that help, from the best down; ties are in the order of the candidates."""
    given, trees = growth.given, growth.trees
    nodes, lists, children, used = trees.nodes, trees.lists, trees.children, trees.used
    candidates = given.own[given.begins[v] : given.ends[v]]
    m = candidates.shape[0]
    keys = np.empty(m)
    parents = np.empty(nodes[k, SIZE], dtype=np.int64)
    _in_turn(trees, k, parents)
    trees.values[k] = scores.additions(growth.score, v, parents, candidates, ENOUGH, keys)
    first = used[ENTRIES]
    found = 0
    if nodes[k, SIZE] < given.most[v]:
        for c in range(m):
            if keys[c] > -np.inf:
                keys[found] = keys[c]
                lists[first + found] = candidates[c]
                children[first + found] = -1
                found += 1
    _sort_down(keys[:found], lists[first : first + found])
    nodes[k, FIRST] = first
    nodes[k, COUNT] = found
    used[ENTRIES] += found


@njit(cache=True, nogil=True)
def _sort_down(keys, entries):
    """Sort entries stably by decreasing keys: short runs by insertion, then merging."""
    size = keys.shape[0]
    # Sort short runs by insertion.
    for first in range(0, size, SORTED_BY_INSERTION):
        for i in range(first + 1, min(first + SORTED_BY_INSERTION, size)):
            key = keys[i]
            entry = entries[i]
            j = i
            while j > first and keys[j - 1] < key:
                keys[j] = keys[j - 1]
                entries[j] = entries[j - 1]
                j -= 1
            keys[j] = key
            entries[j] = entry
    if size <= SORTED_BY_INSERTION:
        return
    # Merge neighbouring runs; of equal keys those of the left run come first.
    other_keys = np.empty_like(keys)
    other_entries = np.empty_like(entries)
    width = SORTED_BY_INSERTION
    while width < size:
        for first in range(0, size, 2 * width):
            i = first
            j = min(first + width, size)
            middle = j
            last = min(first + 2 * width, size)
            for at in range(first, last):
                if i < middle and (j == last or keys[i] >= keys[j]):
                    other_keys[at] = keys[i]
                    other_entries[at] = entries[i]
                    i += 1
                else:
                    other_keys[at] = keys[j]
                    other_entries[at] = entries[j]
                    j += 1
        for at in range(size):
            keys[at] = other_keys[at]
            entries[at] = other_entries[at]
        width *= 2


@njit(cache=True, nogil=True)
def _shrinkings(nodes, k):
    """Return how many shrinkings led to a set."""
    count = 0
    while nodes[k, UP] >= 0:
        if nodes[k, VAR] < 0:
            count += 1
        k = nodes[k, UP]
    return count


@njit(cache=True, nogil=True)
def _shrunk(growth, v, k):
    """Make the best removal while one helps; return the smaller set, or NONE if none helps.

    A set already reached by many shrinkings is left as it is: where columns are nearly dependent, the gains of growing
    and shrinking can differ by rounding, and without a limit the walk could go round in circles.
    """
    must, trees = growth.given.must, growth.trees
    nodes, values = trees.nodes, trees.values
    if _shrinkings(nodes, k) >= MOST_SHRINKINGS:
        return NONE
    size = nodes[k, SIZE]
    parents = np.empty(size, dtype=np.int64)
    members(trees, k, parents)
    best = values[k]
    without = np.empty(size)
    while size > 0:
        scores.removals(growth.score, v, parents[:size], without)
        place = -1
        for b in range(size):
            if without[b] > best + ENOUGH and not is_required(must, v, parents[b]):
                best = without[b]
                place = b
        if place < 0:
            break
        for b in range(place, size - 1):
            parents[b] = parents[b + 1]
        size -= 1
    return _begin(trees, parents[:size], k) if size < nodes[k, SIZE] else NONE
