"""Slow and obvious twins of compiled kernels, on Python sets, numpy's linear algebra and itertools."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np

# --- Gaussian -------------------------------------------------------------------------------------------------


def variance(matrix, i, J):
    """Return the variance of variable i given the variables J."""
    J = list(J)
    return matrix[i, i] - matrix[i, J] @ np.linalg.solve(matrix[np.ix_(J, J)], matrix[J, i])


def regression(matrix, J):
    """Return the covariances given J and the coefficients of the regression on J of all other variables."""
    J, others = list(J), [j for j in range(len(matrix)) if j not in set(J)]
    beta = np.linalg.solve(matrix[np.ix_(J, J)], matrix[np.ix_(J, others)])
    return others, matrix[np.ix_(others, others)] - matrix[np.ix_(others, J)] @ beta, beta


def coefficient(matrix, i, J, C):
    """Return -½ log var(i | J ∩ C), the coefficient of a family in a row of log-determinants; 0 if i is not in C."""
    return -0.5 * math.log(variance(matrix, i, J & C)) if i in C else 0.0


def row_violation(matrix, families, C):
    """Return the violation of the row of M and C: Σ x · coefficient + ½ log det M_CC."""
    own = sorted(C)
    logdet = np.linalg.slogdet(matrix[np.ix_(own, own)])[1] if own else 0.0
    return sum(x * coefficient(matrix, i, J, C) for i, J, x in families) + 0.5 * logdet


# --- sets of nodes ----------------------------------------------------------------------------------------------


def subsets(members):
    """Yield all subsets of a set, as frozensets."""
    members = sorted(members)
    for size in range(len(members) + 1):
        yield from map(frozenset, itertools.combinations(members, size))


def escape(families, C):
    """Return the mass of the families (i, J, x) with i in C and no parent in C."""
    return sum(x for i, J, x in families if i in C and not J & C)


def reachable(arcs, n):
    """Return which nodes lead to which along arcs, each to itself included, as powers of the adjacency matrix."""
    step = np.eye(n, dtype=int)
    for a, b in arcs:
        step[a, b] = 1
    return np.linalg.matrix_power(step, n) > 0


def implied(families, later, n):
    """Return the families that remain and what comes later than each node, one consequence at a time; None if none.

    ``families[i]`` has pairs (J, after): if J are the parents of i, the nodes ``after`` come after i.
    """
    alive = [list(own) for own in families]
    later = [set(own) for own in later]
    while True:
        before = [len(own) for own in later], [len(own) for own in alive]
        for i, j, k in itertools.product(range(n), repeat=3):
            if j in later[i] and k in later[j]:
                later[i].add(k)
        for i in range(n):
            earlier = {j for j in range(n) if i in later[j]}
            alive[i] = [(J, after) for J, after in alive[i] if not J & later[i] and not after & earlier]
            if i in later[i] or not alive[i]:
                return None
            for j in range(n):
                if all(j in J for J, _ in alive[i]):
                    later[j].add(i)
                if all(j in after for _, after in alive[i]):
                    later[i].add(j)
        if before == ([len(own) for own in later], [len(own) for own in alive]):
            return alive, later


# --- orders and listed sets -----------------------------------------------------------------------------------


def best_listed(sets, before):
    """Return the place of the first listed set inside ``before``, -1 if there is none."""
    return next((k for k, J in enumerate(sets) if before >= J), -1)


def order_value(lists, order):
    """Return how many nodes of an order have no listed set before them, and the total value of the others' best."""
    lack, total = 0, 0.0
    for p, v in enumerate(order):
        k = best_listed([J for J, _ in lists[v]], set(order[:p]))
        lack, total = (lack + 1, total) if k < 0 else (lack, total + lists[v][k][1])
    return lack, total


def kicked(lists, order, moves, enough):
    """Return the order after kicks: the moved nodes, and all that get another set, go to their best places in turn."""
    for kick in moves:
        before, queue, left = list(order), [], list(kick)
        while left or queue:
            if left:
                v, target = left.pop(0)
                queue += [v] * (v not in queue)
            else:
                v, target = queue.pop(0), None
            rest = [u for u in order if u != v]
            ways = [[*rest[:p], v, *rest[p:]] for p in range(len(order))]
            if target is None:
                target = order.index(v)
                values = [order_value(lists, way) for way in ways]
                for p, (lack, total) in enumerate(values):
                    if lack < values[target][0] or (lack == values[target][0] and total > values[target][1] + enough):
                        target = p
            old, order = order, ways[target]
            for u in [v, *(u for u in range(len(lists)) if u != v)]:
                sets = [J for J, _ in lists[u]]
                was, now = (best_listed(sets, set(way[: way.index(u)])) for way in (old, order))
                queue += [u] * (was != now and u not in queue)
        (lack, total), (lack_before, total_before) = order_value(lists, order), order_value(lists, before)
        if lack > lack_before or (lack == lack_before and total < total_before - enough):
            order = before
    return order


def order_sums(weight, S):
    """Return the sum over all orders of S and all parent sets that agree with them; ``weight(i, J)`` of each."""
    total = 0.0
    for order in itertools.permutations(sorted(S)):
        total += math.prod(sum(weight(i, J) for J in subsets(order[:p])) for p, i in enumerate(order))
    return total


def grow_and_shrink(problem, v, allowed):
    """Return the parents that growing and shrinking among the allowed columns ends with, and their score."""
    known, local = problem.knowledge, problem.score.local
    here = set(np.flatnonzero(known.must[:, v]).tolist())
    must, score = set(here), local(v, here)
    while True:
        begin = set(here)
        while len(here) < known.at_most[v]:
            more = {x: local(v, here | {x}) for x in allowed - here if known.may[x, v]}
            best = max(more, key=more.get, default=None)
            if best is None or more[best] <= score + 1e-7:
                break
            here, score = here | {best}, more[best]
        while here - must:
            less = {x: local(v, here - {x}) for x in here - must}
            best = max(less, key=less.get)
            if less[best] <= score + 1e-7:
                break
            here, score = here - {best}, less[best]
        if here == begin:
            return here, score


# --- counts -----------------------------------------------------------------------------------------------------


def cell_term(count, ess, prior):
    """Return what one cell adds: c log c, or with a prior the logarithm of prior (prior + 1) ... (prior + c - 1)."""
    if ess == 0.0:
        return count * math.log(count) if count else 0.0
    return sum(math.log(prior + k) for k in range(count))


def label_sum(labels, weights, ess, prior):
    """Return the sum of the terms over the labels that occur."""
    counts = Counter()
    for label, weight in zip(labels, weights, strict=True):
        counts[label] += weight
    return sum(cell_term(count, ess, prior) for count in counts.values())
