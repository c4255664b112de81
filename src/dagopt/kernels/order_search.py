"""Best insertion over orders: take a variable out, try all its places at once, put it where it is best.

``rank[v]`` is the place of v in the order. The total score of an order is the sum over its variables of the best
parents found among those before. With v taken out, let a_k be the score of the k-th other variable when v is
behind it, b_k when v is before it, and c_p the score of v behind p others; then v at place p scores
``Σ_{k<p} a_k + Σ_{k>=p} b_k + c_p``, all places by two prefix sums, here of differences to the present place.

Parents are found by ``grow_shrink``, for scores made of log-determinants; ``order_listed.py`` has the same search over
a pool of listed parent sets.

Growing is a path: which candidate was taken at each step, and how good another would have to be to be taken instead
(``bars``). As long as a variable that appears or disappears is neither taken nor on the path, the parents stay what
they are, and ``is_taken`` says so without growing again. Scores of variables grown with one more or one less
candidate are remembered by the set of their candidates (a Zobrist hash) in a table of fixed size.

The kernels share two tuples. ``given``: matrix, log_scale, form, own, counts, is_own, must, most, where
``own[v, :counts[v]]`` are the candidates of v, ``must[v, u]`` says that u is a required parent of v, ``most[v]`` is
the largest number of parents, and the score of a set of s parents is
``form[0, s] - form[1, s] * logres - form[2, s] * logdet``. ``state``: order, rank, and for each variable its parents,
sizes and scores, then path, steps and bars of its growth, and ``whole``, which says that nothing was removed after
growing; then two hashes of each variable (as candidate, as child) and the keys and values of the table.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dagopt.kernels.gaussian import PIVOT_FLOOR, logs, removals

ENOUGH = 1e-7  # a gain below this is no gain
NOWHERE = 1 << 40  # the rank of a variable that is taken out
ROUNDS = 20  # of growing and shrinking; more only where rounding errors undo each other
FEW = 8  # rows of the factor that are allocated at first


@njit(cache=True, nogil=True)
def _value(form, size, logdet, logres):  # type: ignore[no-untyped-def]
    """Return the local score of a set of this size: ``form`` has gain, power and power's step by size."""
    return form[0, size] - form[1, size] * logres - form[2, size] * logdet


@njit(cache=True, nogil=True)
def _bar(form, size, value, log_scale):  # type: ignore[no-untyped-def]
    """Return what a set of this size must beat to score above ``value``: a residual, or the value itself.

    Where the score does not depend on the log-determinant, comparing residuals saves the logarithms.
    """
    if form[2, size] != 0.0:
        return value
    return math.exp(min((form[0, size] - value) / form[1, size] - log_scale, 700.0))


@njit(cache=True, nogil=True)
def grow_shrink(given, v, rank, limit, parents, path, bars):  # type: ignore[no-untyped-def]
    """Fill ``parents`` with a good parent set of v among candidates of rank below ``limit``, in increasing order.

    Parents that v must have come first. Then the best addition is made while one helps, the best removal while
    one helps, and so on until neither does. Fill also the path of the first growth and its bars, and return
    (number of parents, score, steps of the path, whether nothing was removed).
    """
    matrix, log_scale, form, own, counts, _, must, most = given
    candidates = np.empty(counts[v], dtype=np.int64)
    m = 0
    for k in range(counts[v]):
        if must[v, own[v, k]]:
            candidates[m] = own[v, k]
            m += 1
    fixed = m
    for k in range(counts[v]):
        if not must[v, own[v, k]] and rank[own[v, k]] < limit:
            candidates[m] = own[v, k]
            m += 1
    w = np.empty((FEW, m))
    left = np.empty(m)  # variance of each candidate that the parents leave; negative once it is taken
    cross = np.empty(m)  # covariance with v that they leave
    chosen = np.empty(m + 1, dtype=np.int64)  # positions in candidates
    for k in range(fixed):
        chosen[k] = k
    count = fixed
    steps = 0
    whole = True
    size = 0
    score = -np.inf
    for turn in range(ROUNDS):
        # rebuild what the present parents leave, then grow
        residual = 1.0
        logdet = 0.0
        for k in range(m):
            left[k] = 1.0
            cross[k] = matrix[v, candidates[k]]
        size = 0
        grown = False
        while True:
            best = -1
            if size < count:
                best = chosen[size]
                if turn == 0:
                    bars[size] = np.inf if form[2, size + 1] != 0.0 else -np.inf
            else:
                score = _value(form, size, logdet, math.log(max(residual, PIVOT_FLOOR)) + log_scale[v])
                if size >= most[v]:
                    if turn == 0:
                        bars[size] = np.inf if form[2, size + 1] != 0.0 else -np.inf
                    break
                if form[2, size + 1] == 0.0:
                    bar = residual - _bar(form, size + 1, score + ENOUGH, log_scale[v])
                    top = bar
                    for k in range(m):
                        if left[k] > PIVOT_FLOOR and cross[k] * cross[k] > top * left[k]:
                            top = cross[k] * cross[k] / left[k]
                            best = k
                    if turn == 0:
                        bars[size] = residual - top
                else:
                    top = score + ENOUGH
                    for k in range(m):
                        if left[k] > PIVOT_FLOOR:
                            after = max(residual - cross[k] * cross[k] / left[k], PIVOT_FLOOR)
                            more = logdet + math.log(left[k]) + log_scale[candidates[k]]
                            value = _value(form, size + 1, more, math.log(after) + log_scale[v])
                            if value > top:
                                top = value
                                best = k
                    if turn == 0:
                        bars[size] = top
                if best < 0 or residual <= PIVOT_FLOOR:
                    break
                grown = True
                chosen[size] = best
            if size == w.shape[0]:
                wider = np.empty((2 * size, m))
                wider[:size] = w
                w = wider
            at = candidates[best]
            pivot = max(left[best], PIVOT_FLOOR)
            root = math.sqrt(pivot) if left[best] > PIVOT_FLOOR else np.inf  # what is determined predicts nothing
            step = cross[best] / root
            row = w[size]
            for k in range(m):
                row[k] = matrix[at, candidates[k]]
            for b in range(size):
                factor = w[b, best]
                before = w[b]
                for k in range(m):
                    row[k] -= factor * before[k]
            for k in range(m):
                row[k] /= root
                left[k] -= row[k] * row[k]
                cross[k] -= row[k] * step
            left[best] = -1.0
            residual -= step * step
            logdet += math.log(pivot) + log_scale[at]
            if turn == 0:
                path[size] = at
            size += 1
        if turn == 0:
            steps = size
        elif not grown:
            break
        for k in range(size):
            parents[k] = candidates[chosen[k]]
        count = _shrink(given, v, score, parents, chosen, fixed, size)
        if count == size:
            break
        size = count
        whole = False
    parents[:size].sort()
    logdet, logres = logs(matrix, log_scale, v, parents[:size])
    return size, _value(form, size, logdet, logres), steps, whole


@njit(cache=True, nogil=True)
def _shrink(given, v, score, parents, chosen, fixed, size):  # type: ignore[no-untyped-def]
    """Make the best removal while one helps; return how many parents are left.

    One parent more than the fixed ones is never removed: the score has only risen since the fixed ones were alone.
    """
    matrix, log_scale, form, _, _, _, _, _ = given
    logdet = np.empty(size)
    logres = np.empty(size)
    while size > fixed + 1:
        removals(matrix, log_scale, v, parents[:size], logdet, logres)
        best = -1
        top = score + ENOUGH
        for k in range(fixed, size):
            value = _value(form, size - 1, logdet[k], logres[k])
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
    return size


@njit(cache=True, nogil=True)
def is_taken(given, v, x, path, steps, bars, first, factor):  # type: ignore[no-untyped-def]
    """Say whether growing the parents of v would take the candidate x at step ``first`` of the path or later.

    ``factor`` is room for the Cholesky factor of the path, its last two rows for v and x.
    """
    matrix, log_scale, form, _, _, _, _, _ = given
    of_v = factor[factor.shape[0] - 2]
    of_x = factor[factor.shape[0] - 1]
    left = 1.0
    cross = matrix[v, x]
    residual = 1.0
    logdet = 0.0
    for s in range(steps + 1):
        if left <= PIVOT_FLOOR or residual <= PIVOT_FLOOR:
            return False
        if s >= first:
            if form[2, s + 1] == 0.0:
                if cross * cross > (residual - bars[s]) * left:
                    return True
            else:
                after = max(residual - cross * cross / left, PIVOT_FLOOR)
                more = logdet + math.log(left) + log_scale[x]
                if _value(form, s + 1, more, math.log(after) + log_scale[v]) > bars[s]:
                    return True
        if s == steps:
            break
        y = path[s]
        row = factor[s]
        pivot = 1.0
        for a in range(s):
            value = matrix[y, path[a]]
            for b in range(a):
                value -= row[b] * factor[a, b]
            row[a] = value / factor[a, a]
            pivot -= row[a] * row[a]
        root = math.sqrt(pivot) if pivot > PIVOT_FLOOR else np.inf
        row[s] = root
        of_v[s] = matrix[y, v]
        of_x[s] = matrix[y, x]
        for b in range(s):
            of_v[s] -= row[b] * of_v[b]
            of_x[s] -= row[b] * of_x[b]
        of_v[s] /= root
        of_x[s] /= root
        left -= of_x[s] * of_x[s]
        cross -= of_x[s] * of_v[s]
        residual -= of_v[s] * of_v[s]
        if form[2, s + 1] != 0.0:
            logdet += math.log(max(pivot, PIVOT_FLOOR)) + log_scale[y]
    return False


@njit(cache=True, nogil=True)
def _matters(given, v, x, parents, size, score, path, steps, bars, whole, factor, last):  # type: ignore[no-untyped-def]
    """Say whether one more candidate x would change what is found for v: on the path, or added to the parents."""
    if is_taken(given, v, x, path, steps, bars, 0, factor):
        return True
    _, log_scale, form, _, _, _, _, most = given
    if whole or size >= most[v]:
        return False
    last[size] = _bar(form, size + 1, score + ENOUGH, log_scale[v])
    return is_taken(given, v, x, parents, size, last, size, factor)


@njit(cache=True, nogil=True)
def _has(members, size, x):  # type: ignore[no-untyped-def]
    """Say whether x is among the first members."""
    for k in range(size):  # noqa: SIM110
        if members[k] == x:
            return True
    return False


@njit(cache=True, nogil=True)
def _remembered(given, state, v, limit, parents, path, bars):  # type: ignore[no-untyped-def]
    """Return the score of v grown among the candidates of rank below ``limit``, from the table if it is there."""
    _, _, _, own, counts, _, _, _ = given
    _, rank, _, _, _, _, _, _, _, hashes, keys, values = state
    key = hashes[v, 1]
    for k in range(counts[v]):
        if rank[own[v, k]] < limit:
            key ^= hashes[own[v, k], 0]
    slot = (key ^ (key >> 32)) & (keys.shape[0] - 1)
    if keys[slot] != key:
        _, score, _, _ = grow_shrink(given, v, rank, limit, parents, path, bars)
        keys[slot] = key
        values[slot] = score
    return values[slot]


@njit(cache=True, nogil=True)
def score_order(given, state):  # type: ignore[no-untyped-def]
    """Find the parents of every variable under an order."""
    order, rank, parents, sizes, scores, path, steps, bars, whole, _, _, _ = state
    for p in range(order.shape[0]):
        rank[order[p]] = p
    for p in range(order.shape[0]):
        v = order[p]
        sizes[v], scores[v], steps[v], whole[v] = grow_shrink(given, v, rank, p, parents[v], path[v], bars[v])


@njit(cache=True, nogil=True)
def use_parents(given, state, v, chosen):  # type: ignore[no-untyped-def]
    """Give v these parents, all before it, if they score better than those it has."""
    matrix, log_scale, form, _, _, _, _, _ = given
    _, _, parents, sizes, scores, _, _, _, whole, _, _, _ = state
    logdet, logres = logs(matrix, log_scale, v, chosen)
    score = _value(form, chosen.shape[0], logdet, logres)
    if score > scores[v] + ENOUGH:
        sizes[v] = chosen.shape[0]
        scores[v] = score
        parents[v, : sizes[v]] = chosen
        whole[v] = False


@njit(cache=True, nogil=True)
def _regrow(given, state, u, limit, must_change, room):  # type: ignore[no-untyped-def]
    """Grow the parents of u anew and keep them if better, or if they must change; return the gain."""
    _, rank, parents, sizes, scores, path, steps, bars, whole, _, _, _ = state
    size, score, steps[u], whole[u] = grow_shrink(given, u, rank, limit, room, path[u], bars[u])
    if must_change or score > scores[u]:
        gain = score - scores[u]
        sizes[u] = size
        scores[u] = score
        parents[u, :size] = room[:size]
        return gain
    whole[u] = False
    return 0.0


@njit(cache=True, nogil=True)
def insert_best(given, state, variables):  # type: ignore[no-untyped-def]
    """Put each variable in turn at its best place; return the gain, and how many at the end did not gain.

    Everything in ``state`` is kept up to date, and no variable's score falls unless it loses a parent.
    """
    _, _, _, _, _, is_own, must, _ = given
    order, rank, parents, sizes, scores, path, steps, bars, whole, _, _, _ = state
    n = order.shape[0]
    reach = parents.shape[1]
    others = np.empty(n, dtype=np.int64)
    change = np.zeros(n)  # of the k-th other's score, when v comes before it or goes behind it
    here = np.empty(n)  # c_p
    source = np.empty(n, dtype=np.int64)  # the place at which the parents behind c_p were found; -1: the present ones
    factor = np.empty((reach + 2, reach + 1))
    last = np.empty(reach + 1)
    room = np.empty(reach, dtype=np.int64)
    spare = np.empty(reach, dtype=np.int64)
    gained = 0.0
    idle = 0
    for v in variables:
        old = rank[v]
        for p in range(n - 1):
            others[p] = order[p if p < old else p + 1]
            rank[others[p]] = p
        lowest = 0
        highest = n - 1
        for p in range(n - 1):
            if must[v, others[p]]:
                lowest = p + 1
            if must[others[p], v] and p < highest:
                highest = p
        rank[v] = -1
        for p in range(lowest, old):
            u = others[p]
            change[p] = 0.0
            if is_own[u, v] and _matters(
                given, u, v, parents[u], sizes[u], scores[u], path[u], steps[u], bars[u], whole[u], factor, last
            ):
                change[p] = max(_remembered(given, state, u, p, room, spare, last) - scores[u], 0.0)
        rank[v] = NOWHERE
        for p in range(old, highest):
            u = others[p]
            change[p] = 0.0
            held = _has(parents[u], sizes[u], v)
            if held or _has(path[u], steps[u], v):
                change[p] = _remembered(given, state, u, p, room, spare, last) - scores[u]
                if not held and change[p] < 0.0:
                    change[p] = 0.0
        _own_scores(given, state, v, old, lowest, highest, others, here, source, factor, last)
        place = old
        top = ENOUGH
        total = 0.0
        for p in range(old - 1, lowest - 1, -1):
            total += change[p]
            if total + here[p] > top + ENOUGH:
                top = total + here[p]
                place = p
        total = 0.0
        for p in range(old + 1, highest + 1):
            total += change[p - 1]
            if total + here[p] > top + ENOUGH:
                top = total + here[p]
                place = p
        gain = 0.0
        if place != old:
            if source[place] >= 0:
                gain += _regrow(given, state, v, source[place], True, room)
            rank[v] = -1
            for p in range(place, old):
                if change[p] > 0.0:
                    gain += _regrow(given, state, others[p], p, False, room)
            rank[v] = NOWHERE
            for p in range(old, place):
                u = others[p]
                held = _has(parents[u], sizes[u], v)
                if held or _has(path[u], steps[u], v):
                    gain += _regrow(given, state, u, p, held, room)
            for p in range(n - 1):
                order[p if p < place else p + 1] = others[p]
            order[place] = v
        for p in range(min(place, old), n):
            rank[order[p]] = p
        gained += gain
        idle = idle + 1 if place == old else 0
    return gained, idle


@njit(cache=True, nogil=True)
def _own_scores(given, state, v, old, lowest, highest, others, here, source, factor, last):  # type: ignore[no-untyped-def]
    """Fill ``here`` with what v gains at every place by its own parents, and ``source``."""
    _, _, _, _, _, is_own, _, _ = given
    _, rank, parents, sizes, scores, path, steps, bars, whole, _, _, _ = state
    reach = parents.shape[1]
    here[old] = 0.0
    source[old] = -1
    room = np.empty(reach, dtype=np.int64)
    own_parents = np.empty(reach, dtype=np.int64)
    own_path = np.empty(reach, dtype=np.int64)
    own_bars = np.empty(reach + 1)
    for step in (-1, 1):
        size, score, length, nothing_lost = sizes[v], scores[v], steps[v], whole[v]
        own_parents[:size] = parents[v, :size]
        own_path[:length] = path[v, :length]
        own_bars[: length + 1] = bars[v, : length + 1]
        p = old + step
        while lowest <= p <= highest:
            here[p] = here[p - step]
            source[p] = source[p - step]
            x = others[p if step < 0 else p - 1]
            if is_own[v, x]:
                held = step < 0 and _has(own_parents, size, x)
                if step < 0:
                    again = held or _has(own_path, length, x)
                else:
                    again = _matters(
                        given, v, x, own_parents, size, score, own_path, length, own_bars, nothing_lost, factor, last
                    )
                if again:
                    new, value, length, nothing_lost = grow_shrink(given, v, rank, p, room, own_path, own_bars)
                    if held or value > score:
                        own_parents[:new] = room[:new]
                        size, score = new, value
                        here[p] = value - scores[v]
                        source[p] = p
                    else:
                        nothing_lost = False
            p += step
