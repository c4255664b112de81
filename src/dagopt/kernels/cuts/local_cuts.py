"""Local cuts: inequalities that all DAGs over a few nodes satisfy, and an LP point does not.

For a set S of s nodes the families of its nodes are grouped by their parents inside S: item (i, T) stands for all
families of i with J ∩ S = T, and y_{i,T} is their mass. A DAG gives a point y that takes at most one item per node and
has no cycle. Since parents may always be removed, the inequalities that matter have coefficients a ≥ 0 and can be
scaled to Σ a_{i,T} y_{i,T} ≤ 1. The inequality that a point violates most solves

    max Σ a y   s.t.  Σ_{items of D} a ≤ 1 for every DAG D over S,  a ≥ 0,

whose dual covers y by DAGs of least total weight. A primal simplex method solves the dual over the items with y > 0.
The DAG that enters the basis is the best one for the current prices, found by the recursion over subsets. Lifting then
gives every other item the largest coefficient that it can have.
"""

from __future__ import annotations

import numpy as np

from dagopt.kernels.cuts.separation import _has
from dagopt.kernels.store import njit

PRICE_TOLERANCE = 1e-9  # a price above minus this is not negative
DAG_TOLERANCE = 1e-7  # a DAG worth at most 1 + this does not enter; coefficients are then scaled to 1
PIVOT_TOLERANCE = 1e-9  # a smaller pivot counts as zero
EQUAL_RATIO = 1e-12  # ratios closer than this are tied
PIVOTS_PER_ITEM, MORE_PIVOTS = 40, 100  # the most pivots: far more than a cover takes
LEAST_MASS = 1e-9  # of the arcs that link a node to a subset; less is rounding error
REFRESH = 50  # pivots after which prices are computed anew
NEVER = -1e30  # the value of a path that does not exist


@njit(cache=True, nogil=True)
def _spread(s, best):
    """Replace ``best[P * s + i]`` by its maximum over the subsets of P."""
    for b in range(s):
        width = (1 << b) * s
        for low in range(0, best.shape[0], 2 * width):
            for k in range(low, low + width):
                best[k + width] = max(best[k + width], best[k])


@njit(cache=True, nogil=True)
def _recursion(s, best, opt, sink):
    """Return the value of the best DAG when node i with predecessors P earns ``best[P * s + i]``."""
    opt[0] = 0.0
    for p in range(1, 1 << s):
        top = -np.inf
        for i in range(s):
            if (p >> i) & 1:
                q = p ^ (1 << i)
                value = opt[q] + best[q * s + i]
                if value > top:
                    top = value
                    sink[p] = i
        opt[p] = top
    return opt[(1 << s) - 1]


@njit(cache=True, nogil=True)
def _best_dag(s, item_node, item_set, price, best, opt, sink):
    """Return the value of the best DAG for these prices of the items, where each node earns at least 0."""
    best[:] = 0.0
    for k in range(item_node.shape[0]):
        at = item_set[k] * s + item_node[k]
        best[at] = max(best[at], price[k])
    _spread(s, best)
    return _recursion(s, best, opt, sink)


@njit(cache=True, nogil=True)
def _enter_dag(s, item_node, item_set, price, best, sink, inverse, direction):
    """Fill ``direction`` with the basis inverse times the vector of the DAG that ``sink`` encodes."""
    direction[:] = 0.0
    p = (1 << s) - 1
    while p:
        i = sink[p]
        p ^= 1 << i
        value = best[p * s + i]
        if value <= 0.0:
            continue
        for k in range(item_node.shape[0]):
            if item_node[k] == i and price[k] == value and (item_set[k] & ~p) == 0:
                for r in range(direction.shape[0]):
                    direction[r] += inverse[r, k]
                break


@njit(cache=True, nogil=True)
def cover(s, item_node, item_set, mass, enough, coefficient):
    """Return the weight of the least cover of the items' mass by DAGs, and its prices as coefficients.

    The weight minus 1 is the violation of Σ coefficient * y ≤ 1, which holds for all DAGs. Returns 0, meaning that
    nothing was found, as soon as the weight is at most ``enough``, or if the method does not finish.
    """
    m = item_node.shape[0]
    best = np.empty(s << s)
    opt = np.empty(1 << s)
    sink = np.zeros(1 << s, dtype=np.int64)
    # Begin with the basis that covers each item alone: weights are the masses, prices and costs are 1.
    inverse = np.zeros((m, m))
    weight = np.empty(m)
    for r in range(m):  # loops throughout, since expressions of whole arrays take seconds to compile
        inverse[r, r] = 1.0
        weight[r] = mass[r]
    cost = np.ones(m)
    price = np.ones(m)
    direction = np.empty(m)
    for step in range(1, PIVOTS_PER_ITEM * m + MORE_PIVOTS):
        # The value of the basis; it only falls.
        total = 0.0
        for r in range(m):
            total += cost[r] * weight[r]
        if total <= enough:
            return 0.0
        # Choose what enters: the slack of an item with a negative price, or else the DAG with the largest sum of
        # prices.
        lowest = 0
        for r in range(1, m):
            if price[r] < price[lowest]:
                lowest = r
        if price[lowest] < -PRICE_TOLERANCE:  # cover too much of an item
            for r in range(m):
                direction[r] = -inverse[r, lowest]
            gain = price[lowest]
            entering = 0.0
        else:
            # If no DAG is worth more than 1, the prices are feasible in the dual: they are the coefficients.
            top = _best_dag(s, item_node, item_set, price, best, opt, sink)
            if top <= 1.0 + DAG_TOLERANCE:
                total = 0.0
                for k in range(m):
                    coefficient[k] = max(price[k], 0.0) / max(top, 1.0)
                    total += coefficient[k] * mass[k]
                return total
            _enter_dag(s, item_node, item_set, price, best, sink, inverse, direction)
            gain = 1.0 - top
            entering = 1.0
        # The ratio test: the member of the basis that reaches zero first leaves; of ties the one with the largest
        # pivot.
        leaving = -1
        ratio = np.inf
        for r in range(m):
            if direction[r] > PIVOT_TOLERANCE:
                here = weight[r] / direction[r]
                tied = here < ratio + EQUAL_RATIO
                if here < ratio - EQUAL_RATIO or (tied and direction[r] > direction[leaving]):
                    ratio = here
                    leaving = r
        if leaving < 0:
            return 0.0
        # Update weights, prices and the inverse of the basis by one pivot.
        pivot = direction[leaving]
        for r in range(m):
            weight[r] = max(weight[r] - ratio * direction[r], 0.0)
        weight[leaving] = ratio
        cost[leaving] = entering
        for k in range(m):
            price[k] += (gain / pivot) * inverse[leaving, k]
            inverse[leaving, k] /= pivot
        for r in range(m):
            if r != leaving and direction[r] != 0.0:
                for k in range(m):
                    inverse[r, k] -= direction[r] * inverse[leaving, k]
        # From time to time compute the prices anew, price = cost · inverse, so that errors do not add up.
        if step % REFRESH == 0:
            for k in range(m):
                price[k] = 0.0
            for r in range(m):
                for k in range(m):
                    price[k] += cost[r] * inverse[r, k]
    return 0.0


@njit(cache=True, nogil=True)
def lift(s, table):
    """Raise the coefficients ``table[T * s + i]`` as far as Σ table * y ≤ 1 allows, one node after the other.

    Node i takes one item only, so all its coefficients are raised together: that of T to 1 minus the best value of a
    DAG in which i has the parents T, the maximum over P ⊇ T of the best value of P before i and of the rest after it.
    """
    full = (1 << s) - 1
    before = np.empty(1 << s)
    after = np.empty(1 << s)
    through = np.empty(1 << s)
    _spread(s, table)
    for i in range(s):
        bit = 1 << i
        before[0] = 0.0
        for p in range(1, 1 << s):
            if p & bit:
                continue
            before[p] = NEVER
            for j in range(s):
                if (p >> j) & 1:
                    q = p ^ (1 << j)
                    before[p] = max(before[p], before[q] + table[q * s + j])
        after[full] = 0.0
        for p in range(full - 1, -1, -1):
            if not p & bit:
                continue
            after[p] = NEVER
            for j in range(s):
                if not (p >> j) & 1:
                    after[p] = max(after[p], table[p * s + j] + after[p | (1 << j)])
        for p in range(1 << s):
            through[p] = NEVER if p & bit else before[p] + after[p | bit]
        for b in range(s):
            for p in range(1 << s):
                if not (p >> b) & 1:
                    through[p] = max(through[p], through[p | (1 << b)])
        for t in range(1, 1 << s):
            if not t & bit:
                table[t * s + i] = max(table[t * s + i], 1.0 - through[t])


@njit(cache=True, nogil=True)
def _inside(words, subset):
    """Return a parent set's part inside a subset: bit b is the subset's b-th node."""
    found = 0
    for b in range(subset.shape[0]):
        if _has(words, subset[b]):
            found |= 1 << b
    return found


@njit(cache=True, nogil=True)
def _is_one_component(s, item_node, item_set):
    """Say whether all nodes reach each other by the arcs of the items; if not, a smaller set gives the same cut."""
    into = np.zeros((2, s), dtype=np.int64)
    for k in range(item_node.shape[0]):
        into[0, item_node[k]] |= item_set[k]
        for b in range(s):
            if (item_set[k] >> b) & 1:
                into[1, b] |= 1 << item_node[k]
    for way in range(2):
        seen = 1
        fresh = 1
        while fresh:
            reached = 0
            for b in range(s):
                if (fresh >> b) & 1:
                    reached |= into[way, b]
            fresh = reached & ~seen
            seen |= reached
        if seen != (1 << s) - 1:
            return False
    return True


@njit(cache=True, nogil=True)
def local_cuts(words, mass, offsets, subsets, least, tables):
    """Search each subset of nodes for a cut violated by more than ``least``.

    Families ``offsets[i]`` to ``offsets[i + 1]`` are those of node i. Returns by how much each cut is violated,
    0 for none; ``tables[q, T * s + i]`` are the coefficients of subset q.
    """
    count, s = subsets.shape
    violation = np.zeros(count)
    for q in range(count):
        subset = subsets[q]
        table = tables[q]
        table[:] = 0.0
        for a in range(s):
            for k in range(offsets[subset[a]], offsets[subset[a] + 1]):
                table[_inside(words[k], subset) * s + a] += mass[k]
        items = 0
        for k in range(s, table.shape[0]):
            items += table[k] > PIVOT_TOLERANCE
        item_node = np.empty(items, dtype=np.int64)
        item_set = np.empty(items, dtype=np.int64)
        item_mass = np.empty(items)
        coefficient = np.empty(items)
        at = 0
        for k in range(s, table.shape[0]):
            if table[k] > PIVOT_TOLERANCE:
                item_node[at] = k % s
                item_set[at] = k // s
                item_mass[at] = table[k]
                at += 1
        if not _is_one_component(s, item_node, item_set):
            continue
        weight = cover(s, item_node, item_set, item_mass, 1.0 + least, coefficient)
        if weight > 1.0 + least:
            table[:] = 0.0
            for k in range(items):
                table[item_set[k] * s + item_node[k]] = coefficient[k]
            lift(s, table)
            violation[q] = weight - 1.0
    return violation


@njit(cache=True, nogil=True)
def grow_subsets(arcs, noise, seeds, size, subsets):
    """Grow a subset from the two ends of each seed; fill one row per seed in the order of growth.

    ``arcs[i, j]`` is the mass of families of i with parent j. The next node is the one with most mass to and from the
    subset; arcs in both directions count once more. ``noise[q]`` has one factor per node. Returns how many rows are
    full.
    """
    n = arcs.shape[0]
    into = np.empty(n)
    out = np.empty(n)
    count = 0
    for q in range(seeds.shape[0]):
        into[:] = 0.0
        out[:] = 0.0
        left = np.ones(n, dtype=np.bool_)
        for k in range(size):
            if k < 2:
                chosen = seeds[q, k]
            else:
                chosen = -1
                top = LEAST_MASS
                for j in range(n):
                    value = noise[q, j] * (into[j] + out[j] + min(into[j], out[j]))
                    if left[j] and value > top:
                        top = value
                        chosen = j
                if chosen < 0:
                    break
            subsets[count, k] = chosen
            left[chosen] = False
            for j in range(n):
                into[j] += arcs[chosen, j]
                out[j] += arcs[j, chosen]
            if k == size - 1:
                count += 1
    return count


@njit(cache=True, nogil=True)
def cut_row(words, offsets, subset, table, coefficient):
    """Fill ``coefficient`` with a cut's coefficients for all families of the subset's nodes, node by node."""
    s = subset.shape[0]
    at = 0
    for a in range(s):
        for k in range(offsets[subset[a]], offsets[subset[a] + 1]):
            coefficient[at] = table[_inside(words[k], subset) * s + a]
            at += 1


@njit(cache=True, nogil=True)
def arc_mass(node, parents, starts, mass, arcs):
    """Add the mass of families of i with parent j to ``arcs[i, j]``."""
    for k in range(node.shape[0]):
        for t in range(starts[k], starts[k + 1]):
            arcs[node[k], parents[t]] += mass[k]
