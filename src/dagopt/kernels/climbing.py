"""Single-edge moves on a DAG: which are legal, which is best, and which nodes reach which.

All arrays are indexed (tail, head). ``adjacency[i, j] = 1`` means i → j, ``reach[i, j] = 1`` means that a
path of at least one edge leads from i to j, and ``gain[i, j]`` is what the score of j gains when the edge
i → j is switched: added where it is absent, removed where it is present. Then a move gains

* ``ADD`` i → j: ``gain[i, j]``, legal when j does not reach i;
* ``DELETE`` i → j: ``gain[i, j]``;
* ``REVERSE`` i → j: ``gain[i, j] + gain[j, i]``, legal when no other path leads from i to j.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.store import njit

ADD, DELETE, REVERSE = 0, 1, 2


class Rules(NamedTuple):
    """The background knowledge: required and allowed edges, and ``room[i]``, how many more parents i may have."""

    must: NDArray[np.bool_]
    may: NDArray[np.bool_]
    room: NDArray[np.int64]


@njit(cache=True, nogil=True)
def closure(adjacency, reach):
    """Fill ``reach`` for a DAG, children before parents; return False if there is a cycle."""
    n = adjacency.shape[0]
    left = np.zeros(n, dtype=np.int64)
    ends = np.zeros(n + 1, dtype=np.int64)  # of the parents of each node, below
    # Count the children of each node that are not done, and clear the answer.
    for i in range(n):
        for j in range(n):
            if adjacency[i, j]:
                left[i] += 1
                ends[j + 1] += 1
            reach[i, j] = 0
    for j in range(n):
        ends[j + 1] += ends[j]
    # List the parents of each node one after the other: those of j end at ends[j + 1].
    parents = np.empty(ends[n], dtype=np.int64)
    place = ends[:n].copy()
    for i in range(n):
        if left[i] > 0:
            for j in range(n):
                if adjacency[i, j]:
                    parents[place[j]] = i
                    place[j] += 1
    # Begin with the nodes without children.
    ready = np.empty(n, dtype=np.int64)
    found = 0
    for i in range(n):
        if left[i] == 0:
            ready[found] = i
            found += 1
    # A node whose children are all done passes what it reaches to its parents: reach(i) ∪= {j} ∪ reach(j).
    done = 0
    while done < found:
        j = ready[done]
        done += 1
        for at in range(ends[j], ends[j + 1]):
            i = parents[at]
            reach[i, j] = 1
            for k in range(n):
                reach[i, k] |= reach[j, k]
            left[i] -= 1
            if left[i] == 0:
                ready[found] = i
                found += 1
    return found == n


@njit(cache=True, nogil=True)
def extend_closure(reach, tail, head):
    """Update ``reach`` for a new edge: nodes that reach the tail now reach the head and all that it reaches."""
    n = reach.shape[0]
    for i in range(n):
        if (i == tail or reach[i, tail]) and not reach[i, head]:
            reach[i, head] = 1
            for k in range(n):
                reach[i, k] |= reach[head, k]


@njit(cache=True, nogil=True)
def has_detour(adjacency, reach, tail, head):
    """Say whether a path other than the edge itself leads from tail to head."""
    k = 0
    while k < adjacency.shape[0] and not (adjacency[tail, k] and k != head and reach[k, head]):
        k += 1
    return k < adjacency.shape[0]


@njit(cache=True, nogil=True)
def is_legal(adjacency, reach, rules, kind, tail, head):
    """Say whether a move leads to a DAG that obeys the knowledge."""
    must, may, room = rules
    if kind == 0:
        if adjacency[tail, head] or not may[tail, head]:
            return False
        return room[head] > 0 and not reach[head, tail]
    if not adjacency[tail, head] or must[tail, head]:
        return False
    if kind == 1:
        return True
    return may[head, tail] and room[tail] > 0 and not has_detour(adjacency, reach, tail, head)


@njit(cache=True, nogil=True)
def _is_banned(banned, kind, tail, head):
    found = False
    for b in range(banned.shape[0]):
        found |= banned[b, 0] == kind and banned[b, 1] == tail and banned[b, 2] == head
    return found


@njit(cache=True, nogil=True)
def best_move(gain, adjacency, reach, rules, banned, least, tolerance):
    """Return (kind, tail, head, gain) of the best legal move that gains more than ``least``; kind -1 if there is none.

    Gains within ``tolerance`` of each other count as equal, and the first of equal moves wins: additions,
    then deletions, then reversals, each by tail and then by head. ``banned`` lists forbidden moves.
    """
    n = gain.shape[0]
    best = least
    found = (-1, -1, -1)
    n_edges = 0
    add = np.int64(ADD)  # for a literal, numba would compile another version of what it is passed to
    # Additions, and on the way the number of edges.
    for i in range(n):
        for j in range(n):
            n_edges += adjacency[i, j]
            if not gain[i, j] > best + tolerance or adjacency[i, j]:  # few pass
                continue
            if is_legal(adjacency, reach, rules, add, i, j) and not _is_banned(banned, add, i, j):
                best = gain[i, j]
                found = (0, i, j)
    # List the edges, of which there are far fewer than pairs.
    edges = np.empty((n_edges, 2), dtype=np.int64)
    k = 0
    for i in range(n):
        for j in range(n):
            if adjacency[i, j]:
                edges[k, 0] = i
                edges[k, 1] = j
                k += 1
    # Deletions, then reversals, which also gain what the new edge gains.
    for kind in (1, 2):
        for k in range(n_edges):
            i, j = edges[k, 0], edges[k, 1]
            value = gain[i, j] if kind == 1 else gain[i, j] + gain[j, i]
            if not value > best + tolerance or not is_legal(adjacency, reach, rules, kind, i, j):
                continue
            if not _is_banned(banned, kind, i, j):
                best = value
                found = (kind, i, j)
    return found[0], found[1], found[2], best
