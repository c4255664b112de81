"""A bound on the remainders of all parent sets between J and J + R, which weighs the likelihood against the rows.

Let S and M_r be the matrices given J, s₁ = var_S(i | J), s₀ = var_S(i | J + R), and x the coefficients of the
regression of i on T - J under S. The rows use the same x, which need not be their best one: with z = (1, -x),

    var_r(i | T) ≤ z'M_r z,    log var_r(i | T) ≤ log c_r + z'M_r z / c_r - 1    for any c_r > 0;

members outside C_r count as zeros in M_r. With c_r = κ v_r, A = Σ_r w_r M_r / v_r, a its column of i, and the constant
e = ½ Σ_r w_r (log (c_r / var_r(i | J)) + var_r(i | J) / c_r - 1), the rows subtract from T, compared with J, at least

    -e - ½ (x'A x - 2 a'x) / κ.

The likelihood gains at most ½ β p, where p = s₁ - var_S(i | T) and β is the slope of the chord of -N log between s₁ and
s₀. With b = S_Ri, p = b'x, and x_j ((S x)_j - b_j) = 0 for every candidate j: it is not in T, or x is a regression. So
for every diagonal matrix D the gain minus what the rows subtract is at most e plus half the maximum over x of

    β b'x - 2 a'x / κ + x'A x / κ - x'D (S x - b),

which is ¼ h'H⁻¹h with h = (β + D) b - 2 a / κ and H = ½ (D S + S D) - A / κ if H is positive definite. If the rows
resemble the likelihood, with Σ w_r = (1 - ε) N, this is about ε times what the likelihood can gain, where the bounds in
``prices.py`` have all of it.

The bound is convex in D, which a few steps along its slope improve; the next step of the search begins with the same D.
When a member is taken, A changes by a sum of products of what ``prices.py`` keeps for each row. The v_r are those of
some J above, until they differ too much from var_r(i | J).
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.kernels.cuts.logdet_rows import dot
from dagopt.kernels.store import njit

LEAST_PIVOT = 1e-5  # of H, relative to the diagonal of D S
ROUNDING = 1e-6  # of the bound: far more than such pivots and variances can cause
LEAST_VARIANCE = 1e-6  # no attempt is made if a row has a smaller one
MOST_LOST = 0.5  # by v_r that are not var_r(i | J)
LEAST_SHARE = 0.1  # no attempt is made if this share of the likelihood's gain is too much already
TRIALS, LARGER = 4, 1.07  # of D, and the factor by which it grows until H is positive definite
TARGET, LONGEST, SHORTER = 0.9, 0.2, 0.4  # of steps: in terms of the bound wanted, of the bound, and after a failure
FAR = 5.0  # no steps are made if the bound is this many times the one wanted
LEAST_MULTIPLIER = 0.1  # of D


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
def _maximum(unit, slope, kappa, least, total, count, diagonal, prices):
    """Return h'H⁻¹h, with D = ``unit`` times ``diagonal``; infinity if H is not positive definite."""
    ids, factors = prices.ids, prices.factors
    i = least.shape[0] - 1
    found = 0.0
    for p in range(count):
        b = ids[p]
        own = factors[p]
        rest = unit * diagonal[b] * least[b, b] - total[b, b] / kappa
        along = (slope + unit * diagonal[b]) * least[i, b] - 2.0 * total[i, b] / kappa
        for q in range(p):
            c = ids[q]
            other = factors[q]
            entry = 0.5 * unit * (diagonal[b] + diagonal[c]) * least[b, c] - total[b, c] / kappa
            entry = (entry - dot(own, other, q)) * other[count]
            own[q] = entry
            rest -= entry * entry
            along -= entry * other[count + 1]
        if not rest >= LEAST_PIVOT * unit * diagonal[b] * least[b, b]:
            return np.inf
        own[count] = 1.0 / math.sqrt(rest)
        own[count + 1] = along * own[count]
        found += own[count + 1] * own[count + 1]
    return found


@njit(cache=True, nogil=True)
def _step(excess, unit, least, count, diagonal, prices):
    """Change D by a step that lowers the bound by ``excess`` if it is linear."""
    ids, factors, y, slopes = prices.ids, prices.factors, prices.work[0], prices.work[1]
    i = least.shape[0] - 1
    for p in range(count):
        y[p] = factors[p, count + 1]
    for p in range(count - 1, -1, -1):
        y[p] *= factors[p, count]
        for q in range(p):
            y[q] -= factors[p, q] * y[p]
    square = 0.0
    for p in range(count):
        along = 0.0
        for q in range(count):
            along += least[ids[p], ids[q]] * y[q]
        slopes[p] = y[p] * (2.0 * least[i, ids[p]] - along)
        square += slopes[p] * slopes[p]
    if square > 0.0:
        step = 8.0 * excess / (square * unit)
        for p in range(count):
            diagonal[ids[p]] = max(diagonal[ids[p]] - step * slopes[p], LEAST_MULTIPLIER)


@njit(cache=True, nogil=True)
def most_above(n_samples, members, k, upper, least, free, wanted, diagonal, prices):
    """Return the bound on the remainder of T minus that of J, without the penalty; infinity if none is found.

    It is not improved any more once it is below ``wanted``. ``diagonal`` holds the multipliers to begin with, and then
    the best ones found.
    """
    ids, before = prices.ids, prices.work[2]
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
    if max(1.0 - weight / n_left, LEAST_SHARE) * gain > wanted:
        return np.inf
    # The candidates, and the matrix A of the rows for them.
    count = 0
    for b in range(i):
        if free[b]:
            ids[count] = b
            count += 1
    if prices.origin[k] < 0 and not _sum_rows(prices, members, k, count):
        return np.inf
    # The constants of the quadratic bound: kappa, the slope of the likelihood's chord, and the unit of D.
    total, logs, _ = _compared(prices, k, prices.origin[k])
    kappa = total / weight * math.sqrt(small / large)
    constant = 0.5 * (weight * (math.log(kappa) - 1.0) - logs + total / kappa)
    slope = 2.0 * gain / (large - small)
    unit = total / (kappa * large)
    best = np.inf
    # Try multipliers D: grow them until H is positive definite, then go down the slope of the bound.
    for _ in range(TRIALS):
        bound = 0.125 * _maximum(unit, slope, kappa, least, prices.sums_of_rows[k], count, diagonal, prices)
        bound += constant + ROUNDING * (1.0 + bound)
        if bound < best:
            best = bound
            if best < wanted or best > FAR * wanted:
                return best
            for p in range(count):
                before[p] = diagonal[ids[p]]
            _step(min(best - TARGET * wanted, LONGEST * best), unit, least, count, diagonal, prices)
        elif best < np.inf:
            for p in range(count):
                diagonal[ids[p]] = SHORTER * diagonal[ids[p]] + (1.0 - SHORTER) * before[p]
        else:
            for p in range(count):
                diagonal[ids[p]] *= LARGER
    if best < np.inf:
        for p in range(count):
            diagonal[ids[p]] = before[p]
    return best
