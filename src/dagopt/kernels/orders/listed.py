"""Best insertion over orders scored by a pool: each variable takes its best listed parent set among those before.

The rule is that of ``kernels/orders/insertion.py``; here a set is the bits of an integer, and the parents of a variable
are the first of its listed sets, from the best down, that lies inside the set of those before.
"""

from __future__ import annotations

import numpy as np
from numba import njit

ENOUGH = 1e-7  # a gain below this is no gain


@njit(cache=True, nogil=True)
def _best_listed(masks, first, last, inside):  # type: ignore[no-untyped-def]
    """Return the place of the first listed set inside a set of variables, or -1; lists go from the best down."""
    for k in range(first, last):
        if (masks[k] & ~inside) == 0:
            return k
    return -1


@njit(cache=True, nogil=True)
def insert_best_listed(masks, values, offsets, order, variables):  # type: ignore[no-untyped-def]
    """Do what ``insert_best`` does over a pool: set k of node i is ``masks[offsets[i] + k]``, best first.

    Variables without a listed set among those before them are counted apart: fewer of them goes before the score.
    """
    n = order.shape[0]
    others = np.empty(n, dtype=np.int64)
    change = np.empty(n)  # of the k-th other's score, when v goes behind it instead of before it
    missing = np.empty(n, dtype=np.int64)  # the same for having no set
    gained = 0.0
    idle = 0
    for v in variables:
        old = 0
        k = 0
        for p in range(n):
            if order[p] == v:
                old = p
            else:
                others[k] = order[p]
                k += 1
        bit = np.int64(1) << v
        inside = np.int64(0)
        for p in range(n - 1):
            u = others[p]
            b = _best_listed(masks, offsets[u], offsets[u + 1], inside | bit)
            a = b
            if b >= 0 and masks[b] & bit:
                a = _best_listed(masks, b + 1, offsets[u + 1], inside)
            change[p] = (values[a] if a >= 0 else 0.0) - (values[b] if b >= 0 else 0.0)
            missing[p] = (1 if a < 0 else 0) - (1 if b < 0 else 0)
            inside |= np.int64(1) << u
        score = 0.0  # all relative to v before all others
        lack = 0
        top = -np.inf
        fewest = n + 1
        present = 0.0
        lacking = 0
        place = old
        inside = np.int64(0)
        for p in range(n):
            c = _best_listed(masks, offsets[v], offsets[v + 1], inside)
            value = score + (values[c] if c >= 0 else 0.0)
            without = lack + (1 if c < 0 else 0)
            if p == old:
                present = value
                lacking = without
            if without < fewest or (without == fewest and value > top + ENOUGH):
                top = value
                fewest = without
                place = p
            if p < n - 1:
                score += change[p]
                lack += missing[p]
                inside |= np.int64(1) << others[p]
        if not (fewest < lacking or top > present + ENOUGH):
            idle += 1
            continue
        idle = 0
        gained += top - present
        for p in range(n - 1):
            order[p if p < place else p + 1] = others[p]
        order[place] = v
    return gained, idle


@njit(cache=True, nogil=True)
def listed_parents(masks, values, offsets, order, chosen):  # type: ignore[no-untyped-def]
    """Fill ``chosen`` with the place of each variable's best listed set under an order; return the score."""
    inside = np.int64(0)
    total = 0.0
    for p in range(order.shape[0]):
        v = order[p]
        chosen[v] = _best_listed(masks, offsets[v], offsets[v + 1], inside)
        total += values[chosen[v]] if chosen[v] >= 0 else -np.inf
        inside |= np.int64(1) << v
    return total
