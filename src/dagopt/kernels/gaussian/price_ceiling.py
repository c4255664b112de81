"""A bound on the remainders of all parent sets between J and J + R, which weighs the likelihood against the rows.

Let S and M_r be the matrices given J, s₁ = var_S(i | J), s₀ = var_S(i | J + R), and x the coefficients of the
regression of i on T - J under S. The rows use the same x, which need not be their best one: with z = (1, -x),

    var_r(i | T) ≤ z'M_r z,    log var_r(i | T) ≤ log c_r + z'M_r z / c_r - 1    for any c_r > 0;

members outside C_r count as zeros in M_r. With c_r = κ v_r, A = Σ_r w_r M_r / v_r, a its column of i, and the constant
e = ½ Σ_r w_r (log (c_r / var_r(i | J)) + var_r(i | J) / c_r - 1), the rows subtract from T, compared with J, at least

    -e - ½ (x'A x - 2 a'x) / κ.

The range from s₁ to s₀ is cut into pieces of one ratio. If var_S(i | T) is in the piece that begins at u, the
likelihood gains at most ½ N log (s₁ / u) + ½ β (p - s₁ + u), where p = s₁ - var_S(i | T) and β is the slope of the
chord of -N log over the piece. With b = S_Ri, p = b'x, and x_j ((S x)_j - b_j) = 0 for every candidate j: it is not in
T, or x is a regression. So for every d the gain minus what the rows subtract is at most a constant plus half of h'x -
x'H x, with h = (β + d) b - 2 a / κ and H = d S - A / κ, where κ belongs to the middle of the piece. Each member j of T
costs at least c_j: the penalty, and its share of the clusters and tables that J does not meet. So the remainder grows
by at most the constant and half the maximum of

    h'x - x'H x - Σ_j 2 c_j [x_j ≠ 0].

Let Δ be diagonal with Q = H - Δ positive definite, and for any y

    r = h - 2 Q y,    t_j = r_j² / (4 δ_j) - 2 c_j.

As x'Q x ≥ 2 y'Q x - y'Q y, the maximum is at most y'Q y + Σ_j max(0, t_j), and for sets that contain j at most that
with t_j itself: j is left out if that is too little. The best y solves the perspective relaxation of the choice of a
set. If the rows resemble the likelihood, with Σ w_r = (1 - ε) N, H is small, and the bound is far below what the
likelihood can gain, which the bounds in ``prices.py`` have.

Δ gives each candidate in turn a share of the most that leaves H less Δ positive semidefinite, 1 / (H - Δ)⁻¹_jj. When a
member is taken, A changes by a sum of products of what ``prices.py`` keeps for each row. The v_r are those of some J
above, until they differ too much from var_r(i | J).
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.kernels.cuts.logdet_rows import dot
from dagopt.kernels.store import njit

LEAST_PIVOT = 1e-5  # of H and Q, relative to the diagonal of d S
ROUNDING = 1e-6  # of the bound: far more than such pivots and variances can cause
LEAST_VARIANCE = 1e-6  # no attempt is made if a row has a smaller one
MOST_LOST = 0.5  # by v_r that are not var_r(i | J)
LEAST_SHARE = 0.02  # no attempt is made if this share of the likelihood's gain is too much already
TRIALS, LARGER = 2, 1.1  # of d, and the factor by which it changes
MOST_STRETCH = 3.0  # the largest d with which a search goes on where none gave a bound
NEAR, FAR = 2.0, 10.0  # no other d is tried, and no bound is looked for, beyond so many times the one wanted
LOST, MOST_PIECES = 2.0, 12  # points that a chord exceeds -N/2 log by, and pieces of the range of variances at most
SHARE = 0.4  # of what is left to a candidate, which its part of Δ takes
SMALLER, ATTEMPTS = 0.8, 4  # the factor by which Δ shrinks until Q is positive definite for rounding too, and how often
SWEEPS, LEAST_MOVE = 12, 0.05  # over the coordinates of y, and the change, in points, from which another one follows


@njit(cache=True, nogil=True)
def _compared(prices, k, place):
    """Return Σ w_r y_r, Σ w_r log y_r and what is lost, for y_r = var_r(i | J) / v_r, v_r given the first members."""
    total, logs, weight = 0.0, 0.0, 0.0
    for r in range(prices.weights.shape[0]):
        y = prices.rest[k, r] / prices.rest[place, r]
        weight += prices.weights[r]
        total += prices.weights[r] * y
        logs += prices.weights[r] * math.log(y)
    return total, logs, 0.5 * (weight * math.log(total / weight) - logs)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _sum_of_products(a, b, c):
    """Return the sum of the products of the entries of three vectors; the order of the sum is free."""
    total = 0.0
    for r in range(a.shape[0]):
        total += a[r] * b[r] * c[r]
    return total


@njit(cache=True, nogil=True)
def _sum_rows(prices, members, k, count):
    """Keep A for J with ``k`` members and the ``count`` candidates in ``ids``; False if a variance is too small."""
    origin, sums, ids, scaled = prices.origin, prices.sums_of_rows, prices.ids, prices.scaled
    n_rows = prices.weights.shape[0]
    i = prices.matrices.shape[0] - 1
    for r in range(n_rows):
        if prices.rest[k, r] < LEAST_VARIANCE:
            return False
        for a in range(k):
            if prices.spread[a, members[a], r] < LEAST_VARIANCE:
                return False
    # Take A of a smaller J as a start if its variances are not too far off; then only the new members count.
    known = k
    while known >= 0 and origin[known] < 0:
        known -= 1
    place = k
    if known >= 0 and _compared(prices, k, origin[known])[2] < MOST_LOST:
        place = origin[known]
    else:
        known = -1
    for r in range(n_rows):
        scaled[r] = prices.weights[r] / prices.rest[place, r]
    # A_bc = Σ_r w_r / v_r cov_r(b, c | J), one candidate pair at a time; the last row is that of the node.
    total = sums[k]
    for p in range(count):
        b = ids[p]
        total[i, b] = _sum_of_products(scaled, prices.inside[b], prices.cross[k, b])
        total[b, b] = _sum_of_products(scaled, prices.inside[b], prices.spread[k, b])
        for q in range(p):
            c = ids[q]
            if known >= 0:
                entry = sums[known, b, c]
            else:
                entry = _sum_of_products(scaled, prices.inside[b], prices.matrices[b, c])
            for a in range(max(known, 0), k):
                entry -= _sum_of_products(scaled, prices.factor[a, b], prices.factor[a, c])
            total[b, c] = entry
    origin[k] = place
    return True


@njit(cache=True, nogil=True)
def _count_costs(step, k, count, prices):
    """Keep what each of the ``count`` candidates in ``ids`` costs a set at least: a cluster's price is shared."""
    ids, costs = prices.ids, prices.costs
    for p in range(count):
        costs[p] = step
    for c in range(prices.cluster_weights.shape[0]):
        if not prices.met[k, c]:
            shared = 0
            for p in range(count):
                shared += prices.clusters[c, ids[p]]
            for p in range(count):
                if prices.clusters[c, ids[p]]:
                    costs[p] += prices.cluster_weights[c] / shared
    for t in range(prices.tables.shape[0]):
        shared = 0
        for p in range(count):
            shared += prices.table_bits[t, ids[p]] > 0
        place = prices.place[k, t]
        for p in range(count):
            bit = prices.table_bits[t, ids[p]]
            if bit > 0:
                costs[p] += (prices.tables[t, place + bit] - prices.tables[t, place]) / shared


@njit(cache=True, nogil=True)
def _factor(unit, scale, least, total, count, prices):
    """Keep H = ``unit`` S - ``scale`` A and its factor, diagonal inverted; False if H is not positive definite."""
    ids, curved, factors = prices.ids, prices.curved, prices.factors
    for p in range(count):
        b = ids[p]
        own = factors[p]
        for q in range(p):
            c = ids[q]
            entry = unit * least[b, c] - scale * total[b, c]
            curved[p, q] = entry
            curved[q, p] = entry
            own[q] = (entry - dot(own, factors[q], q)) * factors[q, q]
        curved[p, p] = unit * least[b, b] - scale * total[b, b]
        rest = curved[p, p] - dot(own, own, p)
        if not rest >= LEAST_PIVOT * unit * least[b, b]:
            return False
        own[p] = 1.0 / math.sqrt(rest)
    return True


@njit(cache=True, nogil=True)
def _give_shares(count, prices):
    """Keep Δ in ``split``: each candidate in turn takes a share of what H less those before it leaves it."""
    factors, own, inverse, split, taken = prices.factors, prices.own_inverse, prices.inverse, prices.split, prices.work
    # The inverse of the factor, and of H, one row after another.
    for p in range(count):
        row = own[p]
        for q in range(p):
            row[q] = 0.0
        for m in range(p):
            part = factors[p, m] * factors[p, p]
            for q in range(m + 1):
                row[q] -= part * own[m, q]
        row[p] = factors[p, p]
    for p in range(count):
        for q in range(p + 1):
            inverse[p, q] = 0.0
    for m in range(count):
        for p in range(m + 1):
            part = own[m, p]
            for q in range(p + 1):
                inverse[p, q] += part * own[m, q]
    # H less δ_j has the inverse P + P_j P_j' δ_j / (1 - δ_j P_jj).
    for j in range(count):
        split[j] = SHARE / inverse[j, j]
        factor = split[j] / (1.0 - SHARE)
        for p in range(j + 1, count):
            taken[p] = inverse[p, j]
        for p in range(j + 1, count):
            rise = factor * taken[p]
            for q in range(j + 1, p + 1):
                inverse[p, q] += rise * taken[q]


@njit(cache=True, nogil=True)
def _is_definite(unit, least, count, prices):
    """Say whether Q = H - Δ is positive definite."""
    ids, curved, split, factors = prices.ids, prices.curved, prices.split, prices.own_inverse
    for p in range(count):
        own = factors[p]
        for q in range(p):
            own[q] = (curved[p, q] - dot(own, factors[q], q)) * factors[q, q]
        rest = curved[p, p] - split[p] - dot(own, own, p)
        if not rest >= LEAST_PIVOT * unit * least[ids[p], ids[p]]:
            return False
        own[p] = 1.0 / math.sqrt(rest)
    return True


@njit(cache=True, nogil=True)
def _split(unit, scale, least, total, count, prices):
    """Keep H and Δ; False if H or Q is not positive definite."""
    if not _factor(unit, scale, least, total, count, prices):
        return False
    _give_shares(count, prices)
    for _ in range(ATTEMPTS):
        if _is_definite(unit, least, count, prices):
            return True
        for p in range(count):
            prices.split[p] *= SMALLER
    return False


@njit(cache=True, nogil=True)
def _ascend(middle, wanted, count, prices):
    """Return y'Q y + Σ max(0, t_j) + min(0, max t_j) of y, which climbs coordinate by coordinate; keep the t_j.

    Costs count ``middle`` times. It ends when what is returned is below ``wanted``.
    """
    curved, along, split, costs = prices.curved, prices.along, prices.split, prices.costs
    y, left, terms = prices.point, prices.left, prices.terms
    for p in range(count):
        y[p] = 0.0
        left[p] = along[p]
    found = np.inf
    for _ in range(SWEEPS):
        moved = 0.0
        for p in range(count):
            cost = 2.0 * middle * costs[p]
            rest = curved[p, p] - split[p]
            free = left[p] + 2.0 * rest * y[p]
            size = abs(free)
            edge = 2.0 * math.sqrt(cost * split[p])
            new = 0.0
            if size > edge:
                new = (size - edge) / (2.0 * rest)
                if new * new * split[p] > cost:
                    new = size / (2.0 * curved[p, p])
                if free < 0.0:
                    new = -new
            change = new - y[p]
            if change != 0.0:
                y[p] = new
                moved += abs(change * left[p])
                for q in range(count):
                    left[q] -= 2.0 * change * curved[p, q]
                left[p] += 2.0 * change * split[p]
        total, largest = 0.0, -np.inf
        for p in range(count):
            total += 0.5 * y[p] * (along[p] - left[p])
            terms[p] = 0.25 * left[p] * left[p] / split[p] - 2.0 * middle * costs[p]
            largest = max(largest, terms[p])
            total += max(terms[p], 0.0)
        found = total + min(largest, 0.0)
        if found < wanted or moved < LEAST_MOVE * middle:
            break
    return found


@njit(cache=True, nogil=True)
def _largest_bound(n_left, weight, total, logs, large, small, unit, least, rows, count, wanted, prices):
    """Return the largest bound of the pieces of the range of variances; keep those with each candidate in ``reached``.

    The pieces have the same ratio, so that H, with ``middle`` times its entries, and h are the same in all of them.
    """
    ids, reached = prices.ids, prices.with_each
    i = least.shape[0] - 1
    range_ = math.log(large / small)
    pieces = min(int(range_ * math.sqrt(n_left / (16.0 * LOST))) + 1, MOST_PIECES)
    ratio = math.exp(range_ / pieces)
    slope = n_left * math.log(ratio) / (math.sqrt(ratio) - 1.0 / math.sqrt(ratio))
    scale = weight * large / total
    for p in range(count):
        prices.along[p] = (slope + unit) * least[i, ids[p]] - 2.0 * scale * rows[i, ids[p]]
    best = -np.inf
    upper = large
    for piece in range(pieces):
        middle = upper / math.sqrt(ratio)
        kappa = total / weight * middle / large
        constant = 0.5 * (weight * (math.log(kappa) - 1.0) - logs + total / kappa)
        constant += 0.5 * n_left * math.log(large / upper) - 0.5 * slope / middle * (large - upper)
        found = constant + 0.5 * _ascend(middle, 2.0 * middle * (wanted - constant), count, prices) / middle
        found += ROUNDING * (1.0 + abs(found) + abs(constant))
        best = max(best, found)
        largest = -np.inf
        for p in range(count):
            largest = max(largest, prices.terms[p])
        for p in range(count):
            one = found + 0.5 * (min(prices.terms[p], 0.0) - min(largest, 0.0)) / middle
            reached[ids[p]] = one if piece == 0 else max(reached[ids[p]], one)
        if best > FAR * wanted:
            return best if piece == pieces - 1 else np.inf
        upper /= ratio
    return best


@njit(cache=True, nogil=True)
def most_above(n_samples, step, members, k, upper, least, free, wanted, stretch, prices):
    """Return the bound on the remainder of T minus that of J, for J ⊂ T ⊆ J + R; infinity if none is found.

    It is not improved any more once it is below ``wanted``. ``step`` is the penalty of one more parent. ``stretch``
    holds d, in units of what the rows weigh, to begin with, and the factor by which it is changed; then the best ones.
    If one is found, bounds on the sets that contain each candidate are left in ``prices.reached``, and y_j² H_jj, what
    it counts in the relaxed set, in ``prices.part``.
    """
    ids = prices.ids
    i = free.shape[0] - 1
    large, small = least[i, i], 1.0 / upper[i, i]
    # Without rows, without likelihood that is left or without a range of variances, there is no bound.
    weight = 0.0
    for r in range(prices.weights.shape[0]):
        weight += prices.weights[r]
    n_left = (1.0 - prices.whole) * n_samples
    if weight <= 0.0 or n_left <= 0.0 or not small < large:
        return np.inf
    # Do not try if even a small share of the gain is more than wanted.
    gain = 0.5 * n_left * math.log(large / small)
    if max(1.0 - weight / n_left, LEAST_SHARE) * gain > wanted + step:
        return np.inf
    # The candidates, what they cost, and the matrix A of the rows for them.
    count = 0
    for b in range(i):
        if free[b]:
            ids[count] = b
            count += 1
    if prices.origin[k] < 0 and not _sum_rows(prices, members, k, count):
        return np.inf
    _count_costs(step, k, count, prices)
    total, logs, _ = _compared(prices, k, prices.origin[k])
    rows, scale = prices.sums_of_rows[k], weight * large / total
    # Try d: as long as another one is better, in the direction that was better last, and one in the other direction.
    best, kept, failed = np.inf, stretch[0], 0
    for _ in range(TRIALS):
        unit = stretch[0] * weight
        bound = np.inf
        if _split(unit, scale, least, rows, count, prices):
            bound = _largest_bound(n_left, weight, total, logs, large, small, unit, least, rows, count, wanted, prices)
        if bound < best:
            best, kept = bound, stretch[0]
            for p in range(count):
                prices.reached[ids[p]] = prices.with_each[ids[p]]
                prices.part[ids[p]] = prices.point[p] * prices.point[p] * prices.curved[p, p]
        elif best == np.inf:
            stretch[1] = LARGER
        else:
            stretch[1] = 1.0 / stretch[1]
            failed += 1
        if best < wanted or NEAR * wanted < best < np.inf or failed == 2:
            break
        stretch[0] = kept * stretch[1] if best < np.inf else stretch[0] * LARGER
    stretch[0] = kept if best < np.inf else min(stretch[0], MOST_STRETCH)
    return best
