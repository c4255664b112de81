"""A bound on the scores of all parent sets between J and J + R, by the perspective relaxation of the choice of a set.

Let S be the matrix given J, s₁ = var(i | J), s₀ = var(i | J + R), b = S_Ri, and c the cost of a parent. The likelihood
of T gains over that of J at most ½ β p, where p is the variance that T - J explains and β is the slope of the chord of
-N log between s₁ and s₀. With the coefficients x of the regression on T - J, p = 2 b'x - x'S x. So the gain of the
score is at most ½ β times the maximum over x of

    2 b'x - x'S x - c' |{j : x_j ≠ 0}|,    c' = 2 c / β.

Let Δ be a diagonal matrix with Q = S - Δ positive semidefinite. As x'Q x ≥ 2 y'Q x - y'Q y for every y, the maximum is
at most

    y'Q y + the sum over j of max(0, t_j),    t_j = r_j² / δ_j - c',    r = b - Q y,

and for sets with j the term of j is t_j also if that is negative. The best y is the x of the relaxation in which
δ x² + c' [x ≠ 0] is replaced by its convex hull; coordinate steps come near it, and every y gives a bound.

If Q is positive semidefinite for J = ∅ and all candidates, it is so for every J and R, because the inverse of the
matrix given J is a part of the inverse of the whole.
"""

from __future__ import annotations

import math

from dagopt.kernels.store import njit

MOST_SWEEPS = 12  # coordinate steps of all candidates
SMALL_CHANGE = 1e-3  # of the bound, relative to the cost of a parent, by which sweeps go on
ROUNDING = 1e-9  # relative


@njit(cache=True, nogil=True)
def most_over(half, cost, least, small, free, delta, wanted, y, rest, terms):
    """Return a bound on the score of T minus that of J for all T between J and J + R.

    Parameters
    ----------
    half, cost : float
        Half the number of rows, and the cost of one more parent.
    least : array of shape (size, size)
        The matrix swept by J; the node is the last variable.
    small : float
        At most var(i | J + R).
    free : bool array
        The candidates R.
    delta : array
        Δ.
    wanted : float
        The bound is not improved any more once it is below this.
    y : array
        What to begin with; in the end the y of the bound.
    rest : array
        Room for one number per variable.
    terms : array
        In the end for each candidate what its term adds to the bound for sets that have it, minus what it adds for all.
    """
    size = least.shape[0]
    i = size - 1
    large = least[i, i]
    for b in range(size):
        terms[b] = -cost
    if not small < large:
        return 0.0
    slope = 2.0 * half * math.log(large / small) / (large - small)
    each = 2.0 * cost / slope
    best = _value(least, free, delta, each, y, rest, terms)
    for sweep in range(MOST_SWEEPS):
        if 0.5 * slope * best < wanted:
            break
        for b in range(i):
            if free[b]:
                own = least[b, b] - delta[b]
                new = _step(rest[b] + own * y[b], own, delta[b], each)
                change = new - y[b]
                if change != 0.0:
                    y[b] = new
                    for c in range(i):
                        if free[c]:
                            rest[c] -= change * least[c, b]
                    rest[b] += change * delta[b]
        found = _value(least, free, delta, each, y, rest, terms)
        if sweep > 2 and found > best - SMALL_CHANGE * each:
            best = min(best, found)
            break
        best = min(best, found)
    # The terms are those of the last y, for which the bound holds.
    found = _value(least, free, delta, each, y, rest, terms)
    for b in range(i):
        if free[b]:
            terms[b] = 0.5 * slope * min(terms[b], 0.0)
    return 0.5 * slope * found * (1.0 + ROUNDING)


@njit(cache=True, nogil=True)
def _step(along, own, delta, each):
    """Return the x that maximises 2 along x - own x² - the convex hull of delta x² + each [x ≠ 0]."""
    corner = math.sqrt(each * delta)
    size = abs(along) - corner
    if size <= 0.0:
        return 0.0
    if own <= 0.0 or size / own > math.sqrt(each / delta):
        return along / (own + delta)
    return math.copysign(size / own, along)


@njit(cache=True, nogil=True)
def _value(least, free, delta, each, y, rest, terms):
    """Return y'Q y + Σ max(0, t_j); write r = b - Q y and the t_j."""
    i = least.shape[0] - 1
    for b in range(i):
        if free[b]:
            rest[b] = least[i, b] + delta[b] * y[b]
    for c in range(i):
        if free[c] and y[c] != 0.0:
            for b in range(i):
                if free[b]:
                    rest[b] -= least[c, b] * y[c]
    total = 0.0
    for b in range(i):
        if free[b]:
            total += y[b] * (least[i, b] - rest[b])
            terms[b] = rest[b] * rest[b] / delta[b] - each
            total += max(terms[b], 0.0)
    return total
