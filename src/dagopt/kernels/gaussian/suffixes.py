"""Search from the end of the order: which sets of nodes can come first in a DAG that is better than the best so far.

A state is a set S of nodes whose order is open; the others come after them, in the cheapest way known. The cost of node
i after the nodes P is c_i(P) = l_i(P) - best_i(P), what its best parents inside P lack of the likelihood with all of P
as parents. Nodes are blocks of columns of a matrix, often of one. ``methods/branch_and_cut/suffix_bound.py`` has the
bound on the cost of S.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from dagopt.kernels.cuts.prefixes import FULL, slot
from dagopt.kernels.gaussian.block_matrices import logdet_of
from dagopt.kernels.store import njit

ONE = np.uint64(1)  # a bit; with a plain 1 numba would compute in floats


class Patterns(NamedTuple):
    """Tables over the subsets of a few nodes Q_i for each node i.

    ``bits[i, j]`` is the bit of node j in the tables of node i, 0 if j is not in Q_i. ``gains[i, A]`` is an upper bound
    on w_i(P) + Δκ_i(P) - c_i(P) over all P with P ∩ Q_i ⊆ A, and ``sets[i, A]`` is the subset of Q_i where it is
    attained.
    """

    bits: Any
    gains: Any
    sets: Any


class Weights(NamedTuple):
    """The weights of pairs, and those of the subsets of disjoint groups.

    Node i is in group ``group[i]`` with the bit ``bit[i]``, and ``kappa[g, B]`` is the weight of the subset B of group
    g. The others of its group are the first bits of the tables of node i, in the order of the group.
    """

    pairs: Any
    kappa: Any
    group: Any
    bit: Any


class States(NamedTuple):
    """The states of one size: the sets, the cost of what comes after, and each node's place in its tree."""

    keys: Any
    cost: Any
    places: Any


class Found(NamedTuple):
    """A hash table of new states: the set (0 for an empty slot), its cost, the state it came from, the node removed."""

    keys: Any
    cost: Any
    origin: Any
    last: Any


@njit(cache=True, nogil=True)
def close_subsets(values):
    """Replace each value by the largest over the subsets of its index."""
    step = 1
    while step < values.shape[0]:
        for base in range(0, values.shape[0], 2 * step):
            for k in range(base, base + step):
                if values[k] > values[k + step]:
                    values[k + step] = values[k]
        step *= 2


@njit(cache=True, nogil=True)
def least_lack(fit, most, costs, is_lack, out):
    """Fill ``out[A]`` with the least of costs[|T|] + fit(A) - most(T) over T ⊆ A.

    ``costs`` has one number more than the sizes of T that are told apart; the last is that of all larger T. With
    ``is_lack`` a difference fit - most below 0 counts as 0.
    """
    n_sizes = costs.shape[0] - 1
    size = np.empty(fit.shape[0], dtype=np.int64)
    size[0] = 0
    for a in range(1, fit.shape[0]):
        size[a] = size[a >> 1] + (a & 1)
    largest = np.empty(fit.shape[0])
    if is_lack:
        for a in range(fit.shape[0]):
            out[a] = costs[n_sizes]
    else:
        for a in range(fit.shape[0]):
            largest[a] = most[a] if size[a] >= n_sizes else -np.inf
        close_subsets(largest)
        for a in range(fit.shape[0]):
            out[a] = costs[n_sizes] + fit[a] - largest[a]
    for t in range(n_sizes):
        for a in range(fit.shape[0]):
            largest[a] = most[a] if size[a] == t else -np.inf
        close_subsets(largest)
        for a in range(fit.shape[0]):
            lack = fit[a] - largest[a]
            if is_lack:
                lack = max(lack, 0.0)
            if costs[t] + lack < out[a]:
                out[a] = costs[t] + lack


@njit(cache=True, nogil=True)
def with_gap(bits, bit):
    """Return bits with a zero inserted at the position of another bit."""
    return (bits & (bit - 1)) | ((bits & ~(bit - 1)) << 1)


@njit(cache=True, nogil=True)
def fill_totals(weights, i, near, out):
    """Fill ``out[A]`` with w_i(A) + Δκ_i(A), the weights of pairs and of the group, for each A ⊆ Q_i = near."""
    bit, kappa = weights.bit[i], weights.kappa[weights.group[i]]
    low = 0
    while low < near.shape[0] and weights.group[near[low]] == weights.group[i]:
        low += 1
    out[0] = 0.0
    for b in range(near.shape[0]):
        for a in range(1 << b):
            out[a | 1 << b] = out[a] + weights.pairs[i, near[b]]
    for a in range(out.shape[0]):
        others = with_gap(a & ((1 << low) - 1), bit)
        out[a] += kappa[others | bit] - kappa[others]


@njit(cache=True, nogil=True)
def fill_gains(least, total, gains, sets):
    """Fill the tables of one node from the least cost and the weight of each pattern."""
    for a in range(least.shape[0]):
        gains[a] = total[a] - least[a]
        sets[a] = a
        b = 1
        while b <= a:
            if a & b and gains[a ^ b] > gains[a]:
                gains[a] = gains[a ^ b]
                sets[a] = sets[a ^ b]
            b *= 2


@njit(cache=True, nogil=True)
def _members(key, nodes):
    """Fill ``nodes`` with the members of a set; return how many there are."""
    count = 0
    for j in range(nodes.shape[0]):
        if (key >> np.uint64(j)) & ONE:
            nodes[count] = j
            count += 1
    return count


@njit(cache=True, nogil=True)
def _likelihoods(matrix, starts, nodes, count, half, rooms, out):
    """Fill ``out`` with the likelihood of each node given the others: half log det of its block of the inverse.

    The inverse of the Cholesky factor L is filled by rows; the blocks of the inverse are products of its columns.
    """
    factor, lower, room, columns, squares = rooms
    width = 0
    for r in range(count):
        for c in range(starts[nodes[r]], starts[nodes[r] + 1]):
            columns[width] = c
            width += 1
    for r in range(width):
        for c in range(r + 1):
            value = matrix[columns[r], columns[c]]
            for k in range(c):
                value -= factor[r, k] * factor[c, k]
            factor[r, c] = math.sqrt(value) if r == c else value / factor[c, c]
    for c in range(width):
        squares[c] = 0.0
    for r in range(width):
        for c in range(r + 1):
            value = 1.0 if r == c else 0.0
            for k in range(c, r):
                value -= factor[r, k] * lower[k, c]
            value /= factor[r, r]
            lower[r, c] = value
            squares[c] += value * value
    first = 0
    for r in range(count):
        last = first + starts[nodes[r] + 1] - starts[nodes[r]]
        if last - first == 1:
            out[r] = half * math.log(squares[first])
        else:
            for a in range(first, last):
                for b in range(first, a + 1):
                    value = 0.0
                    for k in range(a, width):
                        value += lower[k, a] * lower[k, b]
                    room[a, b] = value
            out[r] = half * logdet_of(room, first, last, 1.0, factor)
        first = last


@njit(cache=True, nogil=True)
def _patterns_of(patterns, nodes, count, out):
    """Fill ``out`` with the patterns of a set in the tables of its members."""
    for r in range(count):
        pattern = 0
        for c in range(count):
            pattern |= patterns.bits[nodes[r], nodes[c]]
        out[r] = pattern


@njit(cache=True, nogil=True)
def _groups_of(weights, nodes, count, out):
    """Fill ``out`` with the subset of each group that is in a set; return the sum of their weights."""
    total = 0.0
    for g in range(out.shape[0]):
        out[g] = 0
    for r in range(count):
        out[weights.group[nodes[r]]] |= weights.bit[nodes[r]]
    for g in range(out.shape[0]):
        total += weights.kappa[g, out[g]]
    return total


@njit(cache=True, nogil=True)
def least_costs_of(keys, weights, patterns, out):
    """Fill ``out`` with the lower bound on the cost of the nodes of each set."""
    n = patterns.bits.shape[0]
    nodes, own = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    parts = np.empty(weights.kappa.shape[0], dtype=np.int64)
    for q in range(keys.shape[0]):
        count = _members(keys[q], nodes)
        _patterns_of(patterns, nodes, count, own)
        total = _groups_of(weights, nodes, count, parts)
        for r in range(count):
            total -= patterns.gains[nodes[r], own[r]]
            for c in range(r):
                total += weights.pairs[nodes[r], nodes[c]]
        out[q] = total


@njit(cache=True, nogil=True)
def slopes(keys, shares, weights, patterns, pairs, kappa):
    """Add the slopes of the bounds of some sets, by each weight and times the share of each set, to two arrays."""
    n = patterns.bits.shape[0]
    nodes, own = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    parts = np.empty(kappa.shape[0], dtype=np.int64)
    low = np.empty(n, dtype=np.int64)
    for i in range(n):
        low[i] = 0
        for j in range(n):
            if j != i and weights.group[j] == weights.group[i]:
                low[i] |= patterns.bits[i, j]
    for q in range(keys.shape[0]):
        count = _members(keys[q], nodes)
        _patterns_of(patterns, nodes, count, own)
        _groups_of(weights, nodes, count, parts)
        for g in range(parts.shape[0]):
            kappa[g, parts[g]] += shares[q]
        for r in range(count):
            i = nodes[r]
            chosen = patterns.sets[i, own[r]]
            others = with_gap(chosen & low[i], weights.bit[i])
            kappa[weights.group[i], others | weights.bit[i]] -= shares[q]
            kappa[weights.group[i], others] += shares[q]
            for c in range(count):
                j = nodes[c]
                if j != i and patterns.bits[i, j]:
                    slope = 0.5 - (1.0 if chosen & patterns.bits[i, j] else 0.0)
                    pairs[i, j] += shares[q] * slope
                    pairs[j, i] += shares[q] * slope


@njit(cache=True, nogil=True)
def _bounds(key, cost, weights, patterns, nodes, own, parts, lack):
    """Replace ``lack``, the cost of each node of a set as the last one, by a bound on the cost of the whole order."""
    count = _members(key, nodes)
    _patterns_of(patterns, nodes, count, own)
    total = cost + _groups_of(weights, nodes, count, parts)
    for r in range(count):
        for c in range(r):
            total += weights.pairs[nodes[r], nodes[c]]
    for r in range(count):
        i = nodes[r]
        kappa, part = weights.kappa[weights.group[i]], parts[weights.group[i]]
        bound = total + kappa[part ^ weights.bit[i]] - kappa[part]
        for c in range(count):
            if c != r:
                j = nodes[c]
                bound -= weights.pairs[i, j] + patterns.gains[j, own[c] & ~patterns.bits[j, i]]
        lack[r] += bound


@njit(cache=True, nogil=True)
def expand(states, trees, matrix, starts, half, is_lack, weights, patterns, limit, first, out):
    """Remove each node of each state in turn; keep what may cost less than ``limit``.

    Where a node's place in its tree has a set that is not inside the state, the cost is only a lower bound.

    Parameters
    ----------
    states : States
        Some states; the first of them is state number ``first`` of its layer.
    trees : Trees
        The best sets.
    matrix, starts, half : array, int array, float
        The matrix of the likelihood with all predecessors, the columns of each node, and the factor of its logarithms.
    is_lack : bool
        Whether best sets are scored by the same matrix: then no cost is below 0.
    weights, patterns : Weights, Patterns
        What the bound needs.
    limit : float
        The cost to beat.
    out : Found
        Lists with room for n states per given state.

    Returns
    -------
    int
        The number of new states, not yet without duplicates.
    """
    n, width = starts.shape[0] - 1, matrix.shape[0]
    nodes, own = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    rooms = (
        np.empty((width, width)), np.empty((width, width)), np.empty((width, width)), np.empty(width, dtype=np.int64),
        np.empty(width),
    )  # fmt: skip
    fit, lack = np.empty(n), np.empty(n)
    parts = np.empty(weights.kappa.shape[0], dtype=np.int64)
    n_out = 0
    for q in range(states.keys.shape[0]):
        count = _members(states.keys[q], nodes)
        _likelihoods(matrix, starts, nodes, count, half, rooms, fit)
        for r in range(count):
            fit[r] -= trees.values[nodes[r], states.places[q, nodes[r]]]
            if is_lack:
                fit[r] = max(fit[r], 0.0)
            lack[r] = fit[r]
        _bounds(states.keys[q], states.cost[q], weights, patterns, nodes, own, parts, lack)
        for r in range(count):
            if lack[r] < limit and (not is_lack or states.cost[q] + fit[r] < limit):
                out.keys[n_out] = states.keys[q] ^ (ONE << np.uint64(nodes[r]))
                out.cost[n_out] = states.cost[q] + fit[r]
                out.origin[n_out] = first + q
                out.last[n_out] = nodes[r]
                n_out += 1
    return n_out


@njit(cache=True, nogil=True)
def note_wanted(out, count, wanted):
    """Set ``wanted[origin, last]`` for the first new states of a list."""
    for k in range(count):
        wanted[out.origin[k], out.last[k]] = True


@njit(cache=True, nogil=True)
def gather(found, used, keys, cost, origin, last):
    """Put states into a table, of equal sets the cheapest; return how many it holds and how many were put."""
    room = FULL * found.keys.shape[0]
    for k in range(keys.shape[0]):
        if used >= room:
            return used, k
        if keys[k] == 0:
            continue
        at = slot(found.keys, keys[k])
        if found.keys[at] == 0:
            used += 1
            found.keys[at] = keys[k]
        elif cost[k] >= found.cost[at]:
            continue
        found.cost[at] = cost[k]
        found.origin[at] = origin[k]
        found.last[at] = last[k]
    return used, keys.shape[0]
