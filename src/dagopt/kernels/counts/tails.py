"""How far sets of discrete parents are worth extending, by the likelihood with all candidates that may still come.

The candidates of a node have an order. A set J is extended by later candidates only, so all that grows from J and has
candidate b as its next member lies in J and the candidates from b on. The likelihood with all of these bounds those
sets' scores. It falls as b grows: the first b with too low a bound ends the extensions of J.

The order is chosen so that tails say little: from its end, each candidate is the one with which those after it have the
smallest likelihood.

For each b the rows are grouped by the levels of the candidates from b on. A group in which the node has one level only
adds nothing to the likelihood, whatever J is, so that the other groups alone are split by J.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.kernels.counts.counting import DENSE_CELLS, renumber
from dagopt.kernels.store import njit

__all__ = ["Tails", "Wanted", "last_first", "reaches", "tails_of"]

MOST_CELLS = 1 << 20  # of a table of a tail, a candidate and the node, for the order of candidates


class Tails(NamedTuple):
    """The groups of each tail in which the node has several levels.

    ``rows[offsets[b] : offsets[b + 1]]`` are their rows for the candidates from b on, group by group, those that lose
    most likelihood first. ``rest`` is 1 inside a group; at its end it is the likelihood of the groups after it, as far
    as the tail alone explains it.
    """

    rows: NDArray[np.int32]
    rest: Floats
    offsets: Ints


class Wanted(NamedTuple):
    """What decides whether a set is worth extending, one entry per set.

    Its extensions score at most their likelihood minus ``factor`` times the least arity of the candidates that may come
    and minus ``constant``, and at most their lowered likelihood minus ``lowered`` (minus infinity: there is no such
    bound). They are of use if they score more than ``floor``.
    """

    factor: Floats
    constant: Floats
    lowered: Floats
    floor: Floats


@njit(cache=True, nogil=True)
def last_first(codes, arity, weights, clogc, node, candidates):
    """Return the last places of an order of the candidates, from the end on.

    With each of them those after it have the smallest likelihood that one more candidate allows. It ends where all
    would explain the node completely.
    """
    n_rows, count = codes.shape[1], candidates.shape[0]
    own, a_own = codes[node], arity[node]
    labels = np.zeros(n_rows, dtype=np.int64)
    span = np.int64(1)
    table, whole = np.zeros(MOST_CELLS, dtype=np.int64), np.zeros(MOST_CELLS, dtype=np.int64)
    left = np.ones(count, dtype=np.bool_)
    places = np.empty(count, dtype=np.int64)
    for found in range(count):
        least, at = 0.0, -1
        for k in range(count - 1, -1, -1):
            j = candidates[k]
            if not left[k] or span * arity[j] * a_own > MOST_CELLS:
                continue
            likelihood = 0.0
            for r in range(n_rows):
                c = labels[r] * arity[j] + codes[j, r]
                table[c * a_own + own[r]] += weights[r]
                whole[c] += weights[r]
            for r in range(n_rows):
                c = labels[r] * arity[j] + codes[j, r]
                if whole[c] > 0:
                    likelihood -= clogc[whole[c]]
                    whole[c] = 0
                if table[c * a_own + own[r]] > 0:
                    likelihood += clogc[table[c * a_own + own[r]]]
                    table[c * a_own + own[r]] = 0
            if likelihood < least:
                least, at = likelihood, k
        if at < 0:
            return places[:found].copy()
        places[found] = at
        left[at] = False
        for r in range(n_rows):
            labels[r] = labels[r] * arity[candidates[at]] + codes[candidates[at], r]
        span = renumber(labels, span * arity[candidates[at]])
    return places


@njit(cache=True, nogil=True)
def _groups_of(labels, span, own, arity, weights, clogc):
    """Return the rows of the groups with several levels, and what follows each: see ``Tails``."""
    counts = np.zeros((span, arity), dtype=np.int64)
    sizes = np.zeros(span, dtype=np.int64)
    for r in range(labels.shape[0]):
        counts[labels[r], own[r]] += weights[r]
        sizes[labels[r]] += 1
    # the likelihood of each group; 0 if it has one level
    worth = np.zeros(span)
    for c in range(span):
        total = 0
        for x in range(arity):
            worth[c] += clogc[counts[c, x]]
            total += counts[c, x]
            if counts[c, x] == total and counts[c, x] > 0:
                level = x
        worth[c] = 0.0 if counts[c, level] == total else worth[c] - clogc[total]
    order = np.argsort(worth)
    starts = np.full(span, -1, dtype=np.int64)
    at = 0
    for c in order:
        if worth[c] < 0.0:
            starts[c] = at
            at += sizes[c]
    rows, rest = np.empty(at, dtype=np.int32), np.ones(at)
    for r in range(labels.shape[0]):
        if starts[labels[r]] >= 0:
            rows[starts[labels[r]]] = r
            starts[labels[r]] += 1
    left = 0.0
    for k in range(span - 1, -1, -1):
        if starts[order[k]] >= 0:
            rest[starts[order[k]] - 1] = left
            left += worth[order[k]]
    return rows, rest


@njit(cache=True, nogil=True)
def tails_of(codes, arity, weights, clogc, node, candidates):
    """Return the tails of a node."""
    n_rows, count = codes.shape[1], candidates.shape[0]
    rows, rest = np.empty((count + 1) * n_rows, dtype=np.int32), np.empty((count + 1) * n_rows)
    offsets = np.zeros(count + 2, dtype=np.int64)
    labels = np.zeros(n_rows, dtype=np.int64)
    span = np.int64(1)
    ends = (count + 1) * n_rows
    begins = np.zeros(count + 2, dtype=np.int64)
    begins[count + 1] = ends
    for b in range(count, -1, -1):
        if b < count:
            for r in range(n_rows):
                labels[r] = labels[r] * arity[candidates[b]] + codes[candidates[b], r]
            span = renumber(labels, span * arity[candidates[b]])
        found, after = _groups_of(labels, span, codes[node], arity[node], weights, clogc)
        begins[b] = begins[b + 1] - found.shape[0]  # tails are put in place from the last one down
        for p in range(found.shape[0]):
            rows[begins[b] + p] = found[p]
            rest[begins[b] + p] = after[p]
    for b in range(count + 2):
        offsets[b] = begins[b] - begins[0]
    return Tails(rows[begins[0] :].copy(), rest[begins[0] :].copy(), offsets)


@njit(cache=True, nogil=True)
def _bound(tails, b, cells, own, weights, clogc, arity, limits, table, whole, touched):
    """Return the smaller of the two bounds, or an infinity as soon as it is known on which side of the floor it is.

    ``limits`` are what is subtracted from the likelihood and from the lowered one, the floor, and whether to be exact.
    """
    cost, lowered, floor, exact = limits
    likelihood, low = 0.0, 0.0
    n_touched = 0
    for p in range(tails.offsets[b], tails.offsets[b + 1]):
        r = tails.rows[p]
        c = cells[r]
        if whole[c] == 0:
            touched[n_touched] = c
            n_touched += 1
        table[c * arity + own[r]] += weights[r]
        whole[c] += weights[r]
        rest = tails.rest[p]
        if rest > 0.0:
            continue
        # a group is complete: add its cells, and clear them
        for t in range(n_touched):
            c = touched[t]
            kinds = 0
            for x in range(c * arity, (c + 1) * arity):
                if table[x] > 0:
                    kinds += 1
                    likelihood += clogc[table[x]]
                    low += clogc[table[x] - 1]
                    table[x] = 0
            likelihood -= clogc[whole[c]]
            low -= clogc[whole[c] - kinds]
            whole[c] = 0
        n_touched = 0
        if not min(likelihood - cost, low - lowered) > floor:
            return -np.inf
        # what follows loses at most as much as without the set; lowered, it loses less
        if not exact and min(likelihood + rest - cost, low + rest - lowered) > floor:
            return np.inf
    found = min(likelihood - cost, low - lowered)
    return found if found > floor else -np.inf


@njit(cache=True, nogil=True)
def reaches(counts, clogc, node, fixed, candidates, cheapest, members, ends, wanted, exact, reach, ceiling):
    """Fill in where the extensions of sets end, or bounds on the scores of all of them.

    Parameters
    ----------
    counts : Counts
        The rows.
    clogc : float array
        c log c for all counts c.
    node, fixed, candidates : int, int array, int array
        The node, its required parents, and the candidates in their order.
    cheapest : float array
        The least arity of the candidates from each one on.
    members : int array of shape (n_sets, size)
        The sets: places among the candidates, in increasing order. Neighbours should share their last members.
    ends : int array
        For each set a place from which on no candidate is asked about.
    wanted : Wanted
        What is of use.
    exact : bool
        Whether to fill in bounds instead.
    reach : int array
        For each set the first place from which on no candidate is of use as its next member.
    ceiling : float array
        A bound on the scores of all that grows from it, minus infinity if nothing is of use.
    """
    codes, arity, weights = counts.codes, counts.arity, counts.weights
    rows, size, count = codes.shape[1], members.shape[1], candidates.shape[0]
    tails = tails_of(codes, arity, weights, clogc, node, candidates)
    own = codes[node]
    depth = size + fixed.shape[0]
    cells = np.zeros((depth + 1, rows), dtype=np.int32)  # split by the first d members, the last candidates first
    spans = np.ones(depth + 1, dtype=np.int64)
    path = np.full(depth, -1, dtype=np.int64)
    largest = max(rows, DENSE_CELLS)
    table = np.zeros(largest * arity[node], dtype=np.int64)
    whole = np.zeros(largest, dtype=np.int64)
    touched = np.empty(rows, dtype=np.int64)
    guess = count
    for k in range(members.shape[0]):
        first = members[k, size - 1] + 1 if size else 0
        if first >= count:
            reach[k] = first
            ceiling[k] = -np.inf
            continue
        # split the rows, from where the set differs from the last one
        known = True
        for d in range(depth):
            j = fixed[d] if d < fixed.shape[0] else candidates[members[k, size - 1 - (d - fixed.shape[0])]]
            if known and path[d] == j:
                continue
            known = False
            path[d] = j
            source, target = cells[d], cells[d + 1]
            for r in range(rows):
                target[r] = source[r] * arity[j] + codes[j, r]
            spans[d + 1] = spans[d] * arity[j]
            if spans[d + 1] > DENSE_CELLS:
                spans[d + 1] = renumber(target, spans[d + 1])
        # candidates up to ``low`` are of use, those from ``high`` on are not; look first where the last set ended
        low, high = first - 1, max(ends[k], first + 1)
        end = high
        b = first if exact else min(max(guess - 1, first), high - 1)
        while high - low > 1:
            cost = wanted.factor[k] * cheapest[b] + wanted.constant[k]
            limits = (cost, wanted.lowered[k], wanted.floor[k], exact)
            found = _bound(tails, b, cells[depth], own, weights, clogc, arity[node], limits, table, whole, touched)
            if exact:
                ceiling[k] = found
                break
            if found == -np.inf:
                high = b
                b = max(b - 1, first) if b == guess - 1 else (low + high) // 2
            else:
                low = b
                b = b + 1 if b == guess - 1 else (low + high) // 2
            b = max(b, low + 1)
        if not exact:
            guess = high
            reach[k] = high if high < end else count
