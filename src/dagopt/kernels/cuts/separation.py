"""What an LP point of the restricted master gives: clusters that it violates, and an order of the nodes near it.

A set of nodes is a row of 64-bit words, so any number of nodes will do. Families are given as ``node[k]``,
``words[k]`` (the parent set J) and ``mass[k]`` (the LP value x_{i ← J}), only those with mass > 0. When every node
has mass 1, a cluster C is violated by

    Σ_{i ∈ C} Σ_{J ∩ C ≠ ∅} x_{i←J} - (|C| - 1)  =  1 - escape(C),   escape(C) = Σ_{i ∈ C} Σ_{J ∩ C = ∅} x_{i←J},

so the kernels look for nonempty sets with little escape.
"""

from __future__ import annotations

import numpy as np

from dagopt.kernels.store import njit

ONE = np.uint64(1)  # a bit; with a plain 1 numba would compute in floats
EQUAL_MASS = 1e-12  # sums of the same masses in another order differ by less


@njit(cache=True, nogil=True)
def _has(row, j):
    """Say whether node ``j`` is in a set."""
    return (row[j >> 6] >> np.uint64(j & 63)) & ONE != 0


@njit(cache=True, nogil=True)
def _flip(row, j):
    """Add node ``j`` to a set, or remove it if it is there."""
    row[j >> 6] ^= ONE << np.uint64(j & 63)


@njit(cache=True, nogil=True)
def _meets(row, other):
    """Say whether two sets have a node in common."""
    for w in range(row.shape[0]):  # noqa: SIM110
        if row[w] & other[w]:
            return True
    return False


@njit(cache=True, nogil=True)
def _inside(row, other):
    """Say whether the first set is a subset of the second."""
    for w in range(row.shape[0]):  # noqa: SIM110
        if row[w] & ~other[w]:
            return False
    return True


@njit(cache=True, nogil=True)
def escape(node, words, mass, cluster):
    """Return the mass of the families of a cluster's nodes that have no parent in it."""
    total = 0.0
    for k in range(node.shape[0]):
        if _has(cluster, node[k]) and not _meets(words[k], cluster):
            total += mass[k]
    return total


@njit(cache=True, nogil=True)
def _weigh(node, words, mass, inside, open_, weight):
    """Return the certain and the undecided escape; ``weight`` is filled with each node's part of the latter."""
    certain = 0.0
    undecided = 0.0
    weight[:] = 0.0
    for k in range(node.shape[0]):
        if not _has(inside, node[k]) or _meets(words[k], inside):
            continue
        if not _meets(words[k], open_):
            certain += mass[k]
            continue
        undecided += mass[k]
        for j in range(weight.shape[0]):
            if _has(words[k], j) and _has(open_, j):
                weight[j] += mass[k]
    return certain, undecided


@njit(cache=True, nogil=True)
def least_escape(node, words, mass, n_nodes, smallest, start, most_steps, best):
    """Search all clusters with a given smallest node for the least escape below ``start``, into ``best``.

    A depth-first search over nodes that are in, out or open; nodes that decide most come first. The bound is the mass
    of the families whose node is in and whose parents are all out, which can only grow. Returns the least escape
    (``start`` if none is lower) and the number of steps, more than ``most_steps`` if the search was given up.
    """
    inside = np.zeros((n_nodes + 1, words.shape[1]), dtype=np.uint64)
    open_ = np.zeros((n_nodes + 1, words.shape[1]), dtype=np.uint64)
    weight = np.empty(n_nodes)
    _flip(inside[0], smallest)
    for j in range(smallest + 1, n_nodes):
        _flip(open_[0], j)
    least = start
    steps = 0
    depth = 0
    while depth >= 0 and steps <= most_steps:
        steps += 1
        certain, undecided = _weigh(node, words, mass, inside[depth], open_[depth], weight)
        if certain + undecided < least:
            least = certain + undecided
            for w in range(best.shape[0]):
                best[w] = inside[depth, w]
        chosen = np.argmax(weight)
        if certain >= least or weight[chosen] == 0.0:
            depth -= 1
            continue
        for w in range(best.shape[0]):
            inside[depth + 1, w] = inside[depth, w]
            open_[depth + 1, w] = open_[depth, w]
        _flip(open_[depth], chosen)  # it is out when the search returns here
        _flip(inside[depth + 1], chosen)
        _flip(open_[depth + 1], chosen)
        depth += 1
    return least, steps


@njit(cache=True, nogil=True)
def sink_order(node, mass, parents, starts, n_nodes, order):
    """Fill ``order`` from its end: the next last node is the one that costs the other nodes least mass.

    Families are those of node 0, 1, ...; the parents of family k are ``parents[starts[k] : starts[k + 1]]``.
    """
    wanted = np.zeros(n_nodes)
    offsets = np.zeros(n_nodes + 1, dtype=np.int64)
    for k in range(node.shape[0]):
        offsets[node[k] + 1] = k + 1
        for t in range(starts[k], starts[k + 1]):
            wanted[parents[t]] += mass[k]
    for i in range(n_nodes):
        offsets[i + 1] = max(offsets[i + 1], offsets[i])
    left = np.ones(n_nodes, dtype=np.bool_)
    for place in range(n_nodes - 1, -1, -1):
        chosen = -1
        lowest = np.inf
        for j in range(n_nodes):
            if left[j] and wanted[j] < lowest - EQUAL_MASS:
                lowest = wanted[j]
                chosen = j
        order[place] = chosen
        left[chosen] = False
        for k in range(offsets[chosen], offsets[chosen + 1]):
            for t in range(starts[k], starts[k + 1]):
                wanted[parents[t]] -= mass[k]


@njit(cache=True, nogil=True)
def impossible(words, offsets, alive, drop):
    """Mark families that would close a cycle, given the families still alive; return False if a cycle is certain.

    The parents that all families of a node share are certain; with their closure, a family of i with a certain
    descendant of i as parent is impossible. A node without families makes everything impossible.
    """
    n = offsets.shape[0] - 1
    n_words = words.shape[1]
    certain = np.empty((n, n_words), dtype=np.uint64)  # ancestors
    for i in range(n):
        for w in range(n_words):
            certain[i, w] = ~np.uint64(0)
        any_alive = False
        for k in range(offsets[i], offsets[i + 1]):
            if alive[k]:
                any_alive = True
                for w in range(n_words):
                    certain[i, w] &= words[k, w]
        if not any_alive:
            return False
    for j in range(n):
        for i in range(n):
            if _has(certain[i], j):
                for w in range(n_words):
                    certain[i, w] |= certain[j, w]
    for i in range(n):
        if _has(certain[i], i):
            return False
    descendants = np.zeros((n, n_words), dtype=np.uint64)
    for i in range(n):
        for j in range(n):
            if _has(certain[i], j):
                _flip(descendants[j], i)
    for i in range(n):
        for k in range(offsets[i], offsets[i + 1]):
            drop[k] = alive[k] and _meets(words[k], descendants[i])
    return True


@njit(cache=True, nogil=True)
def dominated(words, begin, first, last, out):
    """Mark the families from the first to the last of which an earlier one, from ``begin`` on, is a subset."""
    for k in range(first, last):
        out[k] = False
        for other in range(begin, k):
            if _inside(words[other], words[k]):
                out[k] = True
                break
