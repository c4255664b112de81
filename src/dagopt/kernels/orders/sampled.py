"""A walk over orders whose long-run shares are those of their weights.

Each node u has a few candidate parents, and a table of the logarithms of sums: entry U is that of the sum of the
weights of all parent sets inside U, a set of candidates as bits. The weight of an order is the product over the nodes
of the entries for the candidates that come before them. A step takes one node out and puts it back at a position drawn
from the weights of all n resulting orders (a Gibbs step), so no step is rejected. When v moves, only the entries of v
and of the nodes that have v as a candidate change.

References
----------
Friedman, Koller (2003). Being Bayesian about network structure. Machine Learning 50.
Kuipers, Moffa (2017). Partition MCMC for inference on acyclic digraphs. JASA 112.
Viinikka, Hyttinen, Pensar, Koivisto (2020). Towards scalable Bayesian learning of causal DAGs. NeurIPS 33.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dagopt.kernels.store import njit

NEGLIGIBLE = -40.0  # logarithm of a share at which a position is never drawn


class Tables(NamedTuple):
    """Logarithmic sums over parent sets: those of node u begin at ``offsets[u]``, one for each set of its candidates.

    ``bit[u, v]`` is the bit of candidate v in the table of u, -1 if v is no candidate. The candidates of u are
    ``candidates[starts[u] : starts[u + 1]]``, and the nodes that have v as a candidate
    ``children[child_starts[v] : child_starts[v + 1]]``.
    """

    sums: Any
    offsets: Any
    bit: Any
    candidates: Any
    starts: Any
    children: Any
    child_starts: Any


class Walk(NamedTuple):
    """Where a walk stands: the order, each node's position, and the candidates before it as bits."""

    order: Any
    position: Any
    before: Any


@njit(cache=True, nogil=True)
def sum_subsets(logs):
    """Turn the logarithms of the weights of all sets into those of sums over their subsets, in place."""
    step = 1
    while step < logs.shape[0]:
        for k in range(logs.shape[0]):
            if k & step:
                a, b = logs[k], logs[k - step]
                if b > a:
                    a, b = b, a
                if b != -np.inf:
                    logs[k] = a + math.log1p(math.exp(b - a))
                else:
                    logs[k] = a
        step <<= 1


@njit(cache=True, nogil=True)
def begin(tables, walk):
    """Fill in all but the order; return the logarithm of its weight."""
    total = 0.0
    for p in range(walk.order.shape[0]):
        walk.position[walk.order[p]] = p
    for u in range(walk.order.shape[0]):
        walk.before[u] = 0
        for t in range(tables.starts[u], tables.starts[u + 1]):
            if walk.position[tables.candidates[t]] < walk.position[u]:
                walk.before[u] |= 1 << (t - tables.starts[u])
        total += tables.sums[tables.offsets[u] + walk.before[u]]
    return total


@njit(cache=True, nogil=True)
def _weigh(tables, walk, v, weight, gain):
    """Fill the logarithmic weight of each position of v, up to a constant."""
    n = walk.order.shape[0]
    old = walk.position[v]
    # What each other node has more if v comes before it, by its position with v removed.
    gain[:] = 0.0
    for t in range(tables.child_starts[v], tables.child_starts[v + 1]):
        u = tables.children[t]
        bit = 1 << tables.bit[u, v]
        at = walk.position[u] - (1 if walk.position[u] > old else 0)
        without = tables.sums[tables.offsets[u] + (walk.before[u] & ~bit)]
        gain[at] = tables.sums[tables.offsets[u] + (walk.before[u] | bit)] - without
    # From the first position to the last: v leaves one node after the other before it.
    mine = 0
    total = 0.0
    for p in range(n):
        weight[p] = total + tables.sums[tables.offsets[v] + mine]
        if p < n - 1:
            u = walk.order[p if p < old else p + 1]
            total -= gain[p]
            if tables.bit[v, u] >= 0:
                mine |= 1 << tables.bit[v, u]


@njit(cache=True, nogil=True)
def _put(tables, walk, v, target):
    """Move v to a position, and note who comes before whom."""
    old = walk.position[v]
    step = 1 if target > old else -1
    for p in range(old, target, step):
        u = walk.order[p + step]
        walk.order[p] = u
        walk.position[u] = p
        mine, other = tables.bit[v, u], tables.bit[u, v]
        if mine >= 0:
            walk.before[v] ^= 1 << mine
        if other >= 0:
            walk.before[u] ^= 1 << other
    walk.order[target] = v
    walk.position[v] = target


@njit(cache=True, nogil=True)
def relocate(tables, walk, nodes, uniforms, power):
    """Take each of the nodes out and put it back at a position drawn by its weight, with the given numbers.

    Weights are raised to a power; with one below 1 the walk passes through orders of little weight more easily.
    """
    n = walk.order.shape[0]
    weight, gain = np.empty(n), np.empty(n)
    for step in range(nodes.shape[0]):
        v = nodes[step]
        _weigh(tables, walk, v, weight, gain)
        top = weight.max()
        for p in range(n):
            log = power * (weight[p] - top)
            weight[p] = (math.exp(log) if log > NEGLIGIBLE else 0.0) + (weight[p - 1] if p else 0.0)
        goal = uniforms[step] * weight[n - 1]
        target = 0
        while target < n - 1 and weight[target] <= goal:
            target += 1
        if target != walk.position[v]:
            _put(tables, walk, v, target)


@njit(cache=True, nogil=True)
def edge_shares(tables, walk, out):
    """Fill ``out[v, u]`` with the probability of the edge v → u given the order."""
    out[:] = 0.0
    for u in range(walk.order.shape[0]):
        first, before = tables.offsets[u], walk.before[u]
        for t in range(tables.starts[u], tables.starts[u + 1]):
            bit = 1 << (t - tables.starts[u])
            if before & bit:
                without = tables.sums[first + (before & ~bit)] - tables.sums[first + before]
                out[tables.candidates[t], u] = -math.expm1(without)


@njit(cache=True, nogil=True)
def collect(tables, walk, nodes, uniforms, edges, squares, node, visits):
    """Take one row of steps after the other; after each add the probabilities of the edges and their squares.

    ``visits[U]`` counts the rows after which the candidates U come before ``node``; a negative node has no visits.
    """
    own = np.empty_like(edges)
    begin(tables, walk)
    for row in range(nodes.shape[0]):
        relocate(tables, walk, nodes[row], uniforms[row], 1.0)
        edge_shares(tables, walk, own)
        edges += own
        squares += own * own
        if node >= 0:
            visits[walk.before[node]] += 1
