"""Violated clusters of an LP point by greedy growth, inside the strongly connected parts of its support.

Every violated cluster contains a part that has no parents in the rest of it; this part is violated at least as much
and is strongly connected in the graph of the arcs with mass. So each strongly connected component is searched
separately, with its nodes renumbered, and the work depends on the sizes of the components, not on the number of nodes.
``separation.py`` defines the escape.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dagopt.kernels.cuts.separation import EQUAL_MASS
from dagopt.kernels.store import njit


@njit(cache=True, nogil=True)
def strong_components(heads, tails, n_nodes):
    """Return the number of each node's strongly connected component in the graph of the arcs tail → head (Tarjan)."""
    # List the heads of the arcs of each tail one after the other.
    starts = np.zeros(n_nodes + 1, dtype=np.int64)
    for t in tails:
        starts[t + 1] += 1
    starts = np.cumsum(starts)
    targets = np.empty(heads.shape[0], dtype=np.int64)
    fill = starts[:-1].copy()
    for k in range(heads.shape[0]):
        targets[fill[tails[k]]] = heads[k]
        fill[tails[k]] += 1
    # A node gets a number when it is reached; low is the smallest number reached from it that still waits.
    component = np.full(n_nodes, -1, dtype=np.int64)
    number = np.full(n_nodes, -1, dtype=np.int64)
    low = np.zeros(n_nodes, dtype=np.int64)
    at = starts[:-1].copy()
    path = np.empty(n_nodes, dtype=np.int64)  # of the depth-first walk
    waiting = np.empty(n_nodes, dtype=np.int64)
    n_waiting = counter = found = 0
    for root in range(n_nodes):
        if number[root] >= 0:
            continue
        depth = 0
        path[0] = root
        number[root] = low[root] = counter
        counter += 1
        waiting[n_waiting] = root
        n_waiting += 1
        while depth >= 0:
            v = path[depth]
            # Follow the next arc: down to a new node, or note a node that waits for its component.
            if at[v] < starts[v + 1]:
                w = targets[at[v]]
                at[v] += 1
                if number[w] < 0:
                    number[w] = low[w] = counter
                    counter += 1
                    waiting[n_waiting] = w
                    n_waiting += 1
                    depth += 1
                    path[depth] = w
                elif component[w] < 0:
                    low[v] = min(low[v], number[w])
                continue
            # All arcs of v are done; its parent on the path inherits what v reached.
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[v])
            # v is the first of its component: all that wait since v belong to it.
            if low[v] == number[v]:
                while True:
                    n_waiting -= 1
                    w = waiting[n_waiting]
                    component[w] = found
                    if w == v:
                        break
                found += 1
    return component


class Support(NamedTuple):
    """The families of some nodes with mass > 0, node by node; parents outside these nodes are left out.

    Families ``offsets[i]`` to ``offsets[i + 1]`` are those of node i, the parents of family k are
    ``parents[starts[k] : starts[k + 1]]``, and ``uses[use_starts[j] : use_starts[j + 1]]`` are the families with
    parent j.
    """

    node: Any
    mass: Any
    offsets: Any
    parents: Any
    starts: Any
    uses: Any
    use_starts: Any


@njit(cache=True, nogil=True)
def support_of(nodes, local, offsets, mass, parents, starts):
    """Return the support over ``nodes``; ``local`` is each node's index among them, -1 for other nodes."""
    n = nodes.shape[0]
    count = size = 0
    for i in nodes:
        count += offsets[i + 1] - offsets[i]
        size += starts[offsets[i + 1]] - starts[offsets[i]]
    own_node = np.empty(count, dtype=np.int64)
    own_mass = np.empty(count)
    own_offsets = np.zeros(n + 1, dtype=np.int64)
    own_parents = np.empty(size, dtype=np.int64)
    own_starts = np.zeros(count + 1, dtype=np.int64)
    use_starts = np.zeros(n + 1, dtype=np.int64)
    at = k = 0
    for a in range(n):
        for family in range(offsets[nodes[a]], offsets[nodes[a] + 1]):
            own_node[k] = a
            own_mass[k] = mass[family]
            for t in range(starts[family], starts[family + 1]):
                j = local[parents[t]]
                if j >= 0:
                    own_parents[at] = j
                    use_starts[j + 1] += 1
                    at += 1
            k += 1
            own_starts[k] = at
        own_offsets[a + 1] = k
    use_starts = np.cumsum(use_starts)
    uses = np.empty(at, dtype=np.int64)
    fill = use_starts[:-1].copy()
    for family in range(count):
        for t in range(own_starts[family], own_starts[family + 1]):
            uses[fill[own_parents[t]]] = family
            fill[own_parents[t]] += 1
    return Support(own_node, own_mass, own_offsets, own_parents[:at], own_starts, uses, use_starts)


@njit(cache=True, nogil=True)
def _join(c, support, inside, met, change, linked):
    """Add node c to a cluster; update which families meet it and how adding each other node would change the escape."""
    inside[c] = True
    for q in range(support.use_starts[c], support.use_starts[c + 1]):
        k = support.uses[q]
        if met[k]:
            continue
        met[k] = True
        if inside[support.node[k]]:
            for t in range(support.starts[k], support.starts[k + 1]):
                change[support.parents[t]] += support.mass[k]
                linked[support.parents[t]] -= support.mass[k]
        else:
            change[support.node[k]] -= support.mass[k]
    for k in range(support.offsets[c], support.offsets[c + 1]):
        if not met[k]:
            for t in range(support.starts[k], support.starts[k + 1]):
                change[support.parents[t]] -= support.mass[k]
                linked[support.parents[t]] += support.mass[k]


@njit(cache=True, nogil=True)
def _shrink(support, inside):
    """Remove nodes from a cluster while the escape does not rise; return the escape."""
    members = np.flatnonzero(inside)
    hits = np.zeros(support.node.shape[0], dtype=np.int64)  # parents in the cluster
    value = 0.0
    size = members.shape[0]
    for c in members:
        for k in range(support.offsets[c], support.offsets[c + 1]):
            for t in range(support.starts[k], support.starts[k + 1]):
                if inside[support.parents[t]]:
                    hits[k] += 1
            if hits[k] == 0:
                value += support.mass[k]
    again = True
    while again:
        again = False
        for j in members:
            if not inside[j] or size == 1:
                continue
            other = value
            for k in range(support.offsets[j], support.offsets[j + 1]):
                if hits[k] == 0:
                    other -= support.mass[k]
            for q in range(support.use_starts[j], support.use_starts[j + 1]):
                k = support.uses[q]
                if inside[support.node[k]] and hits[k] == 1:
                    other += support.mass[k]
            if other <= value:
                inside[j] = False
                size -= 1
                value = other
                again = True
                for q in range(support.use_starts[j], support.use_starts[j + 1]):
                    hits[support.uses[q]] -= 1
    return value


@njit(cache=True, nogil=True)
def grow_clusters(support, seeds, most_escape, clusters, escapes):
    """Grow a cluster from each seed (one or two nodes), always by the node that lowers the escape most.

    Each seed gives up to two clusters with escape < ``most_escape``: the first such set met, and the set
    of least escape; nodes that do not help are then removed from both. Returns how many were written to the rows of
    ``clusters`` (one truth value per node) and to ``escapes``; there must be room for two per seed.
    """
    n = support.offsets.shape[0] - 1
    change = np.empty(n)
    linked = np.empty(n)
    total = np.zeros(n)
    met = np.empty(support.node.shape[0], dtype=np.bool_)
    inside = np.empty(n, dtype=np.bool_)
    best = np.zeros(n, dtype=np.bool_)
    # A node that joins alone adds the mass of all of its families to the escape.
    for k in range(support.node.shape[0]):
        total[support.node[k]] += support.mass[k]
    found = 0
    for s in range(seeds.shape[0]):
        # Begin with the one or two nodes of the seed.
        for j in range(n):  # loops, since assignments of whole arrays take seconds to compile
            change[j] = total[j]
            linked[j] = 0.0
            inside[j] = False
        met[:] = False
        value = 0.0
        for e in range(2):
            if not inside[seeds[s, e]]:
                value += change[seeds[s, e]]
                _join(seeds[s, e], support, inside, met, change, linked)
        least = most_escape
        first = -1
        while True:
            # Note the first set that is violated, and the best one.
            if value < least:
                if first < 0:
                    first = found
                    for j in range(n):
                        clusters[found, j] = inside[j]
                    escapes[found] = value
                    found += 1
                least = value
                for j in range(n):
                    best[j] = inside[j]
            # Join the linked node that lowers the escape most, until none is linked.
            chosen = -1
            for j in range(n):
                if linked[j] > EQUAL_MASS and not inside[j] and (chosen < 0 or change[j] < change[chosen]):
                    chosen = j
            if chosen < 0:
                break
            value += change[chosen]
            _join(np.int64(chosen), support, inside, met, change, linked)
        # Write the best set if it is another one, and remove from both what does not help.
        if first >= 0 and least < escapes[first]:
            for j in range(n):
                clusters[found, j] = best[j]
            escapes[found] = least
            found += 1
        if first >= 0:
            for k in range(first, found):
                escapes[k] = _shrink(support, clusters[k])
    return found
