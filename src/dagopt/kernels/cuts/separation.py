"""What an LP point of the restricted master says: clusters that it violates, and an order of the nodes near it.

A set of nodes is a row of 64-bit words, so any number of nodes will do. Families are given as ``node[k]``,
``words[k]`` (the parent set J) and ``mass[k]`` (the LP value x_{i ← J}), only those with mass > 0. When every node
has mass 1, a cluster C is violated by

    Σ_{i ∈ C} Σ_{J ∩ C ≠ ∅} x_{i←J} - (|C| - 1)  =  1 - escape(C),   escape(C) = Σ_{i ∈ C} Σ_{J ∩ C = ∅} x_{i←J},

so the kernels look for nonempty sets with little escape.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _has(row, j):  # type: ignore[no-untyped-def]
    """Say whether node ``j`` is in a set."""
    return (row[j >> 6] >> np.uint64(j & 63)) & ONE != 0


@njit(cache=True, nogil=True)
def _flip(row, j):  # type: ignore[no-untyped-def]
    """Put node ``j`` into a set, or take it out."""
    row[j >> 6] ^= ONE << np.uint64(j & 63)


@njit(cache=True, nogil=True)
def _meets(row, other):  # type: ignore[no-untyped-def]
    """Say whether two sets have a node in common."""
    for w in range(row.shape[0]):  # noqa: SIM110
        if row[w] & other[w]:
            return True
    return False


@njit(cache=True, nogil=True)
def _inside(row, other):  # type: ignore[no-untyped-def]
    """Say whether the first set is a subset of the second."""
    for w in range(row.shape[0]):  # noqa: SIM110
        if row[w] & ~other[w]:
            return False
    return True


@njit(cache=True, nogil=True)
def escape(node, words, mass, cluster):  # type: ignore[no-untyped-def]
    """Return the mass of the families of a cluster's nodes that have no parent in it."""
    total = 0.0
    for k in range(node.shape[0]):
        if _has(cluster, node[k]) and not _meets(words[k], cluster):
            total += mass[k]
    return total


@njit(cache=True, nogil=True)
def _changes(node, words, mass, n_nodes, cluster, change, linked):  # type: ignore[no-untyped-def]
    """Fill ``change`` with what each node's joining does to the escape, ``linked`` with what it takes away."""
    for j in range(n_nodes):
        change[j] = 0.0
        linked[j] = 0.0
    for k in range(node.shape[0]):
        if _meets(words[k], cluster):
            continue
        if not _has(cluster, node[k]):
            change[node[k]] += mass[k]
            continue
        for w in range(words.shape[1]):
            word = words[k, w]
            while word:
                low = word & (~word + ONE)
                j = w * 64
                while low > ONE:
                    low >>= ONE
                    j += 1
                change[j] -= mass[k]
                linked[j] += mass[k]
                word &= word - ONE


@njit(cache=True, nogil=True)
def _shrink(node, words, mass, n_nodes, cluster, value):  # type: ignore[no-untyped-def]
    """Take nodes out of a cluster while the escape does not rise; return the escape."""
    trial = cluster.copy()
    again = True
    while again:
        again = False
        for j in range(n_nodes):
            if not _has(cluster, j):
                continue
            _flip(trial, j)
            other = escape(node, words, mass, trial)
            if _meets(trial, trial) and other <= value:  # not empty
                _flip(cluster, j)
                value = other
                again = True
            else:
                _flip(trial, j)
    return value


@njit(cache=True, nogil=True)
def grow_clusters(node, words, mass, n_nodes, seeds, most_escape, clusters, escapes):  # type: ignore[no-untyped-def]
    """Grow a cluster from each seed by the node that lowers the escape most, and keep its best sets.

    Each seed leaves up to two clusters with escape < ``most_escape``: the first such set on its way, and the set
    of least escape; both are then rid of nodes that do not help. Returns how many were written to ``clusters``
    and ``escapes``; there must be room for two a seed.
    """
    n_words = words.shape[1]
    change = np.empty(n_nodes)
    linked = np.empty(n_nodes)
    best = np.zeros(n_words, dtype=np.uint64)
    found = 0
    for s in range(seeds.shape[0]):
        cluster = seeds[s].copy()
        value = escape(node, words, mass, cluster)
        least = most_escape
        first = -1
        while True:
            if value < least:
                if first < 0:
                    first = found
                    clusters[found] = cluster
                    escapes[found] = value
                    found += 1
                least = value
                best[:] = cluster
            _changes(node, words, mass, n_nodes, cluster, change, linked)
            chosen = -1
            for j in range(n_nodes):
                if linked[j] > 0 and not _has(cluster, j) and (chosen < 0 or change[j] < change[chosen]):
                    chosen = j
            if chosen < 0:
                break
            _flip(cluster, chosen)
            value += change[chosen]
        if first >= 0 and least < escapes[first]:
            clusters[found] = best
            escapes[found] = least
            found += 1
        if first >= 0:
            for k in range(first, found):
                escapes[k] = _shrink(node, words, mass, n_nodes, clusters[k], escape(node, words, mass, clusters[k]))
    return found


@njit(cache=True, nogil=True)
def _weigh(node, words, mass, inside, open_, weight):  # type: ignore[no-untyped-def]
    """Return the escape that is certain and the one still undecided; ``weight`` gets the latter's part a node."""
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
def least_escape(node, words, mass, n_nodes, smallest, start, most_steps, best):  # type: ignore[no-untyped-def]
    """Search all clusters with a given smallest node for the least escape below ``start``, into ``best``.

    Depth-first over nodes that are in, out or open, those first that decide most. The mass of families whose node is
    in and whose parents are all out can only grow, which is the bound. Returns the least escape, ``start`` if there
    is none below, and the steps taken, more than ``most_steps`` if the search was given up.
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
            best[:] = inside[depth]
        chosen = np.argmax(weight)
        if certain >= least or weight[chosen] == 0.0:
            depth -= 1
            continue
        inside[depth + 1] = inside[depth]
        open_[depth + 1] = open_[depth]
        _flip(open_[depth], chosen)  # out, when the search comes back
        _flip(inside[depth + 1], chosen)
        _flip(open_[depth + 1], chosen)
        depth += 1
    return least, steps


@njit(cache=True, nogil=True)
def every_escape(node, words, mass, n_nodes):  # type: ignore[no-untyped-def]
    """Return the least escape over all nonempty sets and the set, by looking at each (few nodes only)."""
    least = np.inf
    best = 0
    for cluster in range(1, 1 << n_nodes):
        total = 0.0
        for k in range(node.shape[0]):
            if (cluster >> node[k]) & 1 and words[k, 0] & np.uint64(cluster) == 0:
                total += mass[k]
                if total >= least:
                    break
        if total < least:
            least = total
            best = cluster
    return least, best


@njit(cache=True, nogil=True)
def sink_order(node, words, mass, n_nodes, order):  # type: ignore[no-untyped-def]
    """Fill ``order`` from its end: the last node is the one of whose choice the mass of the others suffers least."""
    left = np.ones(n_nodes, dtype=np.bool_)
    for place in range(n_nodes - 1, -1, -1):
        chosen = -1
        lowest = np.inf
        for j in range(n_nodes):
            if not left[j]:
                continue
            wanted = 0.0
            for k in range(node.shape[0]):
                if left[node[k]] and _has(words[k], j):
                    wanted += mass[k]
            if wanted < lowest:
                lowest = wanted
                chosen = j
        order[place] = chosen
        left[chosen] = False


@njit(cache=True, nogil=True)
def _best(words, scores, first, last, before, nothing):  # type: ignore[no-untyped-def]
    """Return the best score of a node's families (from the best down) whose parents all come before it."""
    for k in range(first, last):
        if _inside(words[k], before):
            return scores[k]
    return nothing


@njit(cache=True, nogil=True)
def _values(words, scores, offsets, nothing, order, value):  # type: ignore[no-untyped-def]
    """Fill ``value`` with each node's best score along an order."""
    before = np.zeros(words.shape[1], dtype=np.uint64)
    for i in order:
        value[i] = _best(words, scores, offsets[i], offsets[i + 1], before, nothing)
        _flip(before, i)


@njit(cache=True, nogil=True)
def _best_move(words, scores, offsets, nothing, order, value, at):  # type: ignore[no-untyped-def]
    """Return the best place for the node at place ``at``, which stays unless the gain is above 1e-9."""
    v = order[at]
    before_v = np.zeros(words.shape[1], dtype=np.uint64)
    before_u = np.zeros(words.shape[1], dtype=np.uint64)
    gain, target = 1e-9, at
    for step in (1, -1):
        before_v[:] = 0
        for p in range(at):
            _flip(before_v, order[p])
        change = 0.0
        p = at + step
        while 0 <= p < order.shape[0]:
            u = order[p]
            before_u[:] = before_v
            if step == -1:  # v comes before u, and u no longer before v
                _flip(before_u, u)
                _flip(before_u, v)
            change += _best(words, scores, offsets[u], offsets[u + 1], before_u, nothing) - value[u]
            _flip(before_v, u)
            here = change + _best(words, scores, offsets[v], offsets[v + 1], before_v, nothing) - value[v]
            if here > gain:
                gain, target = here, p
            p += step
    return target


@njit(cache=True, nogil=True)
def improve_order(words, scores, offsets, nothing, order):  # type: ignore[no-untyped-def]
    """Move one node at a time to its best place in the order until nothing moves.

    Families ``offsets[i]`` to ``offsets[i + 1]`` are those of node ``i``, from the best score down; ``nothing`` counts
    for a node none of whose families fits.
    """
    value = np.empty(order.shape[0])
    _values(words, scores, offsets, nothing, order, value)
    moved = True
    while moved:
        moved = False
        for v in range(order.shape[0]):
            at = 0
            while order[at] != v:
                at += 1
            target = _best_move(words, scores, offsets, nothing, order, value, at)
            if target == at:
                continue
            step = 1 if target > at else -1
            for p in range(at, target, step):
                order[p] = order[p + step]
            order[target] = v
            _values(words, scores, offsets, nothing, order, value)
            moved = True


@njit(cache=True, nogil=True)
def families_of_order(words, offsets, order, chosen):  # type: ignore[no-untyped-def]
    """Fill ``chosen`` with each node's best family along an order, -1 where none fits."""
    before = np.zeros(words.shape[1], dtype=np.uint64)
    for i in order:
        chosen[i] = -1
        for k in range(offsets[i], offsets[i + 1]):
            if _inside(words[k], before):
                chosen[i] = k
                break
        _flip(before, i)


@njit(cache=True, nogil=True)
def impossible(words, offsets, alive, drop):  # type: ignore[no-untyped-def]
    """Mark families that would close a cycle, given the families still alive; return False if a cycle is certain.

    The parents that all families of a node share are certain; with their closure, a family of i with a certain
    descendant of i as parent is impossible. A node without families makes everything impossible.
    """
    n = offsets.shape[0] - 1
    n_words = words.shape[1]
    certain = np.empty((n, n_words), dtype=np.uint64)  # ancestors
    for i in range(n):
        certain[i] = ~np.uint64(0)
        any_alive = False
        for k in range(offsets[i], offsets[i + 1]):
            if alive[k]:
                any_alive = True
                certain[i] &= words[k]
        if not any_alive:
            return False
    for j in range(n):
        for i in range(n):
            if _has(certain[i], j):
                certain[i] |= certain[j]
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
def dominated(words, offsets, out):  # type: ignore[no-untyped-def]
    """Mark the families that have a subset among the families before them of the same node."""
    for i in range(offsets.shape[0] - 1):
        for k in range(offsets[i], offsets[i + 1]):
            out[k] = False
            for other in range(offsets[i], k):
                if not out[other] and _inside(words[other], words[k]):
                    out[k] = True
                    break
