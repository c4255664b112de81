"""Best insertion over orders: take a variable out, try all its places at once, put it where it is best.

``rank[v]`` is the place of v in the order. The total score of an order is the sum over its variables of the best
parents found among those before. With v taken out, let a_k be the score of the k-th other variable when v is
behind it, b_k when v is before it, and c_p the score of v behind p others; then v at place p scores
``Σ_{k<p} a_k + Σ_{k>=p} b_k + c_p``, all places by two prefix sums. Only variables that have v as a candidate can
have a_k != b_k.

Two ways to find parents: ``grow_shrink`` for scores made of log-determinants (greedy, then polished), and a pool of
listed parent sets (the best listed one), where a set is the bits of an integer.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dagopt.kernels.gaussian import PIVOT_FLOOR, removals

ENOUGH = 1e-7  # a gain below this is no gain
NOWHERE = 1 << 40  # the rank of a variable that is taken out


@njit(cache=True, nogil=True)
def _value(form, size, logdet, logres):  # type: ignore[no-untyped-def]
    """Return the local score of a set of this size: ``form`` has gain, power and power's step by size."""
    return form[0, size] - form[1, size] * logres - form[2, size] * logdet


@njit(cache=True, nogil=True)
def grow_shrink(matrix, log_scale, form, v, own, rank, limit, must, most, parents):  # type: ignore[no-untyped-def]
    """Fill ``parents`` with a good parent set of v among candidates of rank below ``limit``; return size and score.

    Parents that v must have come first. Then the best addition is made while one helps, the best removal while
    one helps, and so on until neither does.
    """
    m = own.shape[0]
    reach = min(m, most)
    w = np.empty((reach + 1, m))
    left = np.empty(m)  # variance of each candidate that the parents leave
    cross = np.empty(m)  # covariance with v that they leave
    taken = np.zeros(m, dtype=np.bool_)
    chosen = np.empty(reach + 1, dtype=np.int64)  # positions in own
    size = 0
    for k in range(m):
        if must[own[k]]:
            chosen[size] = k
            size += 1
    fixed = size
    logdet_removed = np.empty(reach + 1)
    logres_removed = np.empty(reach + 1)
    score = -np.inf
    for _ in range(6):
        # rebuild what the present parents leave, then grow
        residual = 1.0
        logdet = 0.0
        for k in range(m):
            left[k] = 1.0
            cross[k] = matrix[v, own[k]]
            taken[k] = False
        count = size
        size = 0
        grown = False
        while True:
            if size < count:
                best = chosen[size]
            else:
                score = _value(form, size, logdet, math.log(max(residual, PIVOT_FLOOR)) + log_scale[v])
                if size >= reach:
                    break
                best = -1
                top = score + ENOUGH
                for k in range(m):
                    if taken[k] or rank[own[k]] >= limit or left[k] <= PIVOT_FLOOR:
                        continue
                    after = max(residual - cross[k] * cross[k] / left[k], PIVOT_FLOOR)
                    value = _value(
                        form,
                        size + 1,
                        logdet + math.log(left[k]) + log_scale[own[k]],
                        math.log(after) + log_scale[v],
                    )
                    if value > top:
                        top = value
                        best = k
                if best < 0:
                    break
                grown = True
                chosen[size] = best
            pivot = max(left[best], PIVOT_FLOOR)
            root = math.sqrt(pivot)
            step = cross[best] / root
            row = w[size]
            at = own[best]
            for k in range(m):
                value = matrix[at, own[k]]
                for b in range(size):
                    value -= w[b, best] * w[b, k]
                row[k] = value / root
            for k in range(m):
                left[k] -= row[k] * row[k]
                cross[k] -= row[k] * step
            residual -= step * step
            logdet += math.log(pivot) + log_scale[at]
            taken[best] = True
            size += 1
        for k in range(size):
            parents[k] = own[chosen[k]]
        shrunk = False
        while size > fixed:
            removals(matrix, log_scale, v, parents[:size], logdet_removed, logres_removed)
            best = -1
            top = score + ENOUGH
            for k in range(fixed, size):
                value = _value(form, size - 1, logdet_removed[k], logres_removed[k])
                if value > top:
                    top = value
                    best = k
            if best < 0:
                break
            for k in range(best, size - 1):
                chosen[k] = chosen[k + 1]
                parents[k] = parents[k + 1]
            size -= 1
            score = top
            shrunk = True
        if not shrunk or not grown:
            break
    return size, score


@njit(cache=True, nogil=True)
def score_order(matrix, log_scale, form, own, counts, order, rank, must, most, parents, sizes, scores):  # type: ignore[no-untyped-def]
    """Find the parents of every variable under an order."""
    for p in range(order.shape[0]):
        rank[order[p]] = p
    for p in range(order.shape[0]):
        v = order[p]
        sizes[v], scores[v] = grow_shrink(
            matrix, log_scale, form, v, own[v, : counts[v]], rank, p, must[v], most[v], parents[v]
        )


@njit(cache=True, nogil=True)
def insert_best(  # type: ignore[no-untyped-def]
    matrix, log_scale, form, own, counts, is_own, order, rank, must, most, parents, sizes, scores, variables
):
    """Put each variable in turn at its best place; return the gain in all. Everything is kept up to date."""
    n = order.shape[0]
    others = np.empty(n - 1, dtype=np.int64)
    before = np.empty(n - 1)  # a_k: v behind the k-th other
    behind = np.empty(n - 1)  # b_k: v before it
    here = np.empty(n)  # c_p
    room = np.empty(parents.shape[1], dtype=np.int64)
    gained = 0.0
    for v in variables:
        old = rank[v]
        k = 0
        for p in range(n):
            if order[p] != v:
                others[k] = order[p]
                k += 1
        for p in range(n - 1):
            rank[others[p]] = p
        lowest = 0
        highest = n - 1
        for p in range(n - 1):
            u = others[p]
            if must[v, u]:
                lowest = p + 1
            if must[u, v] and p < highest:
                highest = p
            before[p] = scores[u]
            behind[p] = scores[u]
            if p < old:
                if is_own[u, v]:
                    rank[v] = -1
                    _, behind[p] = grow_shrink(
                        matrix, log_scale, form, u, own[u, : counts[u]], rank, p, must[u], most[u], room
                    )
            elif is_own[u, v]:
                held = False
                for b in range(sizes[u]):
                    if parents[u, b] == v:
                        held = True
                if held:
                    rank[v] = NOWHERE
                    _, before[p] = grow_shrink(
                        matrix, log_scale, form, u, own[u, : counts[u]], rank, p, must[u], most[u], room
                    )
        rank[v] = NOWHERE
        for p in range(n):
            if p == old:
                here[p] = scores[v]
            elif p > 0 and not is_own[v, others[p - 1]]:
                here[p] = here[p - 1]
            else:
                _, here[p] = grow_shrink(
                    matrix, log_scale, form, v, own[v, : counts[v]], rank, p, must[v], most[v], room
                )
        total = 0.0
        for p in range(n - 1):
            total += behind[p]
        place = -1
        top = -np.inf
        present = 0.0
        for p in range(n):
            if p == old:
                present = total + here[p]
            if lowest <= p <= highest and total + here[p] > top + ENOUGH:
                top = total + here[p]
                place = p
            if p < n - 1:
                total += before[p] - behind[p]
        if place >= 0 and place != old and top > present + ENOUGH:
            gained += top - present
        else:
            place = old
        for p in range(n - 1):
            order[p if p < place else p + 1] = others[p]
        order[place] = v
        for p in range(n):
            rank[order[p]] = p
        if place == old:
            continue
        sizes[v], scores[v] = grow_shrink(
            matrix, log_scale, form, v, own[v, : counts[v]], rank, place, must[v], most[v], parents[v]
        )
        for p in range(min(place, old), max(place, old) + 1):
            u = order[p]
            if u == v or not is_own[u, v]:
                continue
            size, score = grow_shrink(
                matrix, log_scale, form, u, own[u, : counts[u]], rank, p, must[u], most[u], room
            )
            stands = True  # the parents found before, if all of them are still before u
            for b in range(sizes[u]):
                if rank[parents[u, b]] >= p:
                    stands = False
            if not stands or score > scores[u]:
                sizes[u] = size
                scores[u] = score
                parents[u, :size] = room[:size]
    return gained


@njit(cache=True, nogil=True)
def _best_listed(masks, values, first, last, inside):  # type: ignore[no-untyped-def]
    """Return the place of the first listed set inside a set of variables, or -1; lists go from the best down."""
    for k in range(first, last):
        if (masks[k] & ~inside) == 0:
            return k
    return -1


@njit(cache=True, nogil=True)
def insert_best_listed(masks, values, offsets, order, variables):  # type: ignore[no-untyped-def]
    """Do what ``insert_best`` does over a pool: set k of node i is ``masks[offsets[i] + k]``, best first."""
    n = order.shape[0]
    others = np.empty(n - 1, dtype=np.int64)
    without = np.empty(n)  # score of the k-th other when v is behind it, and when it is before it
    with_v = np.empty(n)
    gained = 0.0
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
        total = 0.0
        for p in range(n - 1):
            u = others[p]
            a = _best_listed(masks, values, offsets[u], offsets[u + 1], inside)
            b = _best_listed(masks, values, offsets[u], offsets[u + 1], inside | bit)
            without[p] = values[a] if a >= 0 else -np.inf
            with_v[p] = values[b] if b >= 0 else -np.inf
            total += with_v[p]
            inside |= np.int64(1) << u
        inside = np.int64(0)
        top = -np.inf
        present = -np.inf
        place = old
        for p in range(n):
            c = _best_listed(masks, values, offsets[v], offsets[v + 1], inside)
            value = total + values[c] if c >= 0 else -np.inf
            if p == old:
                present = value
            if value > top + ENOUGH:
                top = value
                place = p
            if p < n - 1:
                if without[p] == -np.inf:
                    break  # that variable needs v before it
                total += without[p] - with_v[p]
                inside |= np.int64(1) << others[p]
        if not top > present + ENOUGH:
            continue
        gained += top - present if present > -np.inf else 0.0
        for p in range(n - 1):
            order[p if p < place else p + 1] = others[p]
        order[place] = v
    return gained


@njit(cache=True, nogil=True)
def listed_parents(masks, values, offsets, order, chosen):  # type: ignore[no-untyped-def]
    """Fill ``chosen`` with the place of each variable's best listed set under an order; return the score."""
    inside = np.int64(0)
    total = 0.0
    for p in range(order.shape[0]):
        v = order[p]
        chosen[v] = _best_listed(masks, values, offsets[v], offsets[v + 1], inside)
        total += values[chosen[v]] if chosen[v] >= 0 else -np.inf
        inside |= np.int64(1) << v
    return total
