"""Rows of log-determinants: h(S) = log det M_SS is submodular for every positive definite matrix M.

For a family (i, J) and a set C that contains i, the row's coefficient is half of -log var(i | J ∩ C) under M, and its
right-hand side is half of -log det M_CC. Family k has the parents ``flat[starts[k] : starts[k + 1]]``. M has a unit
diagonal.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

FLOOR = 1e-12


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _dot(a, b, count):  # type: ignore[no-untyped-def]
    """Return the inner product of the first entries of two vectors; the order of the sum is free."""
    total = 0.0
    for c in range(count):
        total += a[c] * b[c]
    return total


@njit(cache=True, nogil=True)
def _last_pivot(matrix, chosen, size, factor):  # type: ignore[no-untyped-def]
    """Factorise the rows and columns ``chosen[: size + 1]`` (Cholesky) and return the variance left of the last."""
    pivot = 1.0
    for a in range(size + 1):
        pivot = matrix[chosen[a], chosen[a]]
        for b in range(a):
            value = matrix[chosen[a], chosen[b]]
            for c in range(b):
                value -= factor[a, c] * factor[b, c]
            value /= factor[b, b]
            factor[a, b] = value
            pivot -= value * value
        if pivot < FLOOR:
            pivot = FLOOR
        factor[a, a] = math.sqrt(pivot)
    return pivot


@njit(cache=True, nogil=True)
def _gain(matrix, i, flat, first, last, inside, chosen, factor):  # type: ignore[no-untyped-def]
    """Return half of -log var(i | J ∩ C), J the members from ``first`` to ``last``, by a Cholesky factorisation."""
    size = np.int64(0)
    for q in range(first, last):
        if inside[flat[q]]:
            chosen[size] = flat[q]
            size += 1
    if size == 0:
        return 0.0
    chosen[size] = i
    return -0.5 * math.log(_last_pivot(matrix, chosen, size, factor))


@njit(cache=True, nogil=True)
def shared_parents(node, flat, starts, order, shared):  # type: ignore[no-untyped-def]
    """Fill ``shared[q]`` with how many first parents family ``order[q]`` shares with the one before it in ``order``."""
    for q in range(order.shape[0]):
        shared[q] = 0
        if q > 0 and node[order[q]] == node[order[q - 1]]:
            first, before = starts[order[q]], starts[order[q - 1]]
            most = min(starts[order[q] + 1] - first, starts[order[q - 1] + 1] - before)
            while shared[q] < most and flat[first + shared[q]] == flat[before + shared[q]]:
                shared[q] += 1


@njit(cache=True, nogil=True)
def coefficients(matrix, node, flat, starts, order, shared, inside, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with the coefficients of all families in the row of M and C.

    Families are visited in ``order``. The Cholesky factor of the first ``shared`` parents is kept from one to the next.
    """
    n = matrix.shape[0]
    chosen = np.empty(n + 1, dtype=np.int64)
    factor = np.empty((n + 1, n + 1))
    depth = np.zeros(n + 1, dtype=np.int64)  # members of C among the first parents
    slope = np.empty(n + 1)  # the factor's row of the node
    left = np.empty(n + 1)  # the node's variance given the first members of C
    for q in range(order.shape[0]):
        k = order[q]
        i = node[k]
        out[k] = 0.0
        if not inside[i]:
            continue
        left[0] = matrix[i, i]
        first = starts[k]
        size = depth[shared[q]]
        for m in range(shared[q], starts[k + 1] - first):
            j = flat[first + m]
            if inside[j]:
                pivot = matrix[j, j]
                mean = matrix[i, j]
                for b in range(size):
                    value = matrix[j, chosen[b]]
                    for c in range(b):
                        value -= factor[size, c] * factor[b, c]
                    value /= factor[b, b]
                    factor[size, b] = value
                    pivot -= value * value
                    mean -= slope[b] * value
                root = math.sqrt(max(pivot, FLOOR))
                factor[size, size] = root
                chosen[size] = j
                slope[size] = mean / root
                left[size + 1] = left[size] - slope[size] * slope[size]
                size += 1
            depth[m + 1] = size
        if size > 0:
            out[k] = -0.5 * math.log(max(left[size], FLOOR))


@njit(cache=True, nogil=True)
def cholesky(matrix, shift, factor):  # type: ignore[no-untyped-def]
    """Fill ``factor`` with the Cholesky factor of M - shift times the identity; say whether there is one."""
    n = matrix.shape[0]
    for a in range(n):
        for b in range(a + 1, n):
            factor[a, b] = 0.0
        pivot = matrix[a, a] - shift
        for b in range(a):
            value = (matrix[a, b] - _dot(factor[a], factor[b], b)) / factor[b, b]
            factor[a, b] = value
            pivot -= value * value
        if pivot <= 0.0:
            return False
        factor[a, a] = math.sqrt(pivot)
    return True


@njit(cache=True, nogil=True)
def eigenvalue_floor(matrix):  # type: ignore[no-untyped-def]
    """Return the largest power of two, at most a half, that all eigenvalues exceed; 0 if it is below 1e-9."""
    factor = np.empty_like(matrix)
    floor = 0.5
    while floor > 1e-9:
        if cholesky(matrix, floor, factor):
            return floor
        floor *= 0.5
    return 0.0


@njit(cache=True, nogil=True)
def logdet(matrix, inside):  # type: ignore[no-untyped-def]
    """Return log det M_CC."""
    n = matrix.shape[0]
    chosen = np.empty(n, dtype=np.int64)
    factor = np.empty((n, n))
    size = 0
    total = 0.0
    for i in range(n):
        if not inside[i]:
            continue
        chosen[size] = i
        pivot = matrix[i, i]
        for b in range(size):
            value = matrix[i, chosen[b]]
            for c in range(b):
                value -= factor[size, c] * factor[b, c]
            value /= factor[b, b]
            factor[size, b] = value
            pivot -= value * value
        pivot = max(pivot, FLOOR)
        factor[size, size] = math.sqrt(pivot)
        total += math.log(pivot)
        size += 1
    return total


@njit(cache=True, nogil=True)
def _sweep(matrix, p):  # type: ignore[no-untyped-def]
    """Sweep a symmetric matrix by variable ``p`` in place, or undo it; return the pivot."""
    n = matrix.shape[0]
    pivot = matrix[p, p]
    inverse = 1.0 / pivot
    for a in range(n):
        if a != p:
            factor = matrix[a, p] * inverse
            for b in range(n):
                if b != p:
                    matrix[a, b] -= factor * matrix[p, b]
    for b in range(n):
        if b != p:
            matrix[p, b] *= abs(inverse)
            matrix[b, p] = matrix[p, b]
    matrix[p, p] = -inverse
    return pivot


@njit(cache=True, nogil=True)
def sweep_all(matrix):  # type: ignore[no-untyped-def]
    """Return the matrix swept by all nodes, minus its inverse."""
    swept = matrix.copy()
    for b in range(matrix.shape[0]):
        _sweep(swept, b)
    return swept


@njit(cache=True, nogil=True)
def flip(matrix, whole, node, flat, starts, mass, users, user_starts, inside, most_flips):  # type: ignore[no-untyped-def]
    """Change C node by node while the row's violation Σ x l_i(J ∩ C) - L(C) grows; return the violation.

    ``users[user_starts[b]:user_starts[b + 1]]`` are the families that have b as node or parent. C is ``inside``, which
    is changed in place. Each step flips the node that gains most. The matrix swept by C gives L of C with or without
    a node; it comes from the matrix itself or from ``whole``, the matrix swept by all nodes, whichever is nearer.
    """
    n = matrix.shape[0]
    count = node.shape[0]
    chosen = np.empty(n + 1, dtype=np.int64)
    factor = np.empty((n + 1, n + 1))
    size = 0
    for b in range(n):
        if inside[b]:
            size += 1
    many = 2 * size > n
    swept = whole.copy() if many else matrix.copy()
    for b in range(n):
        if inside[b] != many:
            _sweep(swept, b)
    value = np.zeros(count)
    total = 0.0
    for k in range(count):
        if inside[node[k]]:
            value[k] = _gain(matrix, node[k], flat, starts[k], starts[k + 1], inside, chosen, factor)
            total += mass[k] * value[k]
    change = np.empty(n)  # of the families, if a node is flipped
    changed = np.ones(n, dtype=np.bool_)  # whether it is to be computed
    for _ in range(most_flips):
        gain = 1e-9
        best = -1
        for b in range(n):
            if inside[b] and size <= 2:
                continue
            if changed[b]:
                changed[b] = False
                change[b] = 0.0
                inside[b] = not inside[b]
                for q in range(user_starts[b], user_starts[b + 1]):
                    k = users[q]
                    if node[k] == b or inside[node[k]]:
                        new = 0.0
                        if inside[node[k]]:
                            new = _gain(matrix, node[k], flat, starts[k], starts[k + 1], inside, chosen, factor)
                        change[b] += mass[k] * (new - value[k])
                inside[b] = not inside[b]
            own = 0.5 * math.log(max(abs(swept[b, b]), FLOOR))  # of log det
            if change[b] + own > gain:
                gain = change[b] + own
                best = b
        if best < 0:
            break
        _sweep(swept, np.int64(best))  # numba would compile another version for a literal -1
        size += -1 if inside[best] else 1
        inside[best] = not inside[best]
        for q in range(user_starts[best], user_starts[best + 1]):
            k = users[q]
            new = 0.0
            if inside[node[k]]:
                new = _gain(matrix, node[k], flat, starts[k], starts[k + 1], inside, chosen, factor)
            total += mass[k] * (new - value[k])
            value[k] = new
            changed[node[k]] = True
            for p in range(starts[k], starts[k + 1]):
                changed[flat[p]] = True
    return total + 0.5 * logdet(matrix, inside)


@njit(cache=True, nogil=True)
def violation(matrix, node, flat, starts, mass, gradient):  # type: ignore[no-untyped-def]
    """Add the families' part to the violation of the row of M with C = V, and to its gradient in M.

    The violation is ½ log det M - ½ Σ x log var(i | J), and var(i | J) has the gradient u uᵀ, u = 1 at i and minus the
    regression coefficients at J. Only the sum over families is computed here.
    """
    n = matrix.shape[0]
    factor = np.empty((n + 1, n + 1))
    chosen = np.empty(n + 1, dtype=np.int64)
    beta = np.empty(n + 1)
    total = 0.0
    for k in range(node.shape[0]):
        first = starts[k]
        size = starts[k + 1] - first
        i = node[k]
        for a in range(size):
            chosen[a] = flat[first + a]
        chosen[size] = i
        pivot = _last_pivot(matrix, chosen, size, factor)
        total -= 0.5 * mass[k] * math.log(pivot)
        for a in range(size - 1, -1, -1):  # solve the transposed triangular system
            value = factor[size, a]
            for c in range(a + 1, size):
                value -= factor[c, a] * beta[c]
            beta[a] = value / factor[a, a]
        weight = 0.5 * mass[k] / pivot
        gradient[i, i] -= weight
        for a in range(size):
            va = flat[first + a]
            gradient[i, va] += weight * beta[a]
            gradient[va, i] += weight * beta[a]
            for b in range(size):
                gradient[va, flat[first + b]] -= weight * beta[a] * beta[b]
    return total


@njit(cache=True, nogil=True)
def _together(n, node, flat, starts):  # type: ignore[no-untyped-def]
    """Return which two nodes are in one family, each with itself."""
    found = np.zeros((n, n), dtype=np.bool_)
    for k in range(node.shape[0]):
        for p in range(starts[k], starts[k + 1]):
            found[flat[p], node[k]] = found[node[k], flat[p]] = True
            for q in range(starts[k], starts[k + 1]):
                found[flat[p], flat[q]] = True
    for i in range(n):
        found[i, i] = True
    return found


@njit(cache=True, nogil=True)
def _objective(factor, centre, weight, node, flat, starts, mass, together, slope):  # type: ignore[no-untyped-def]
    """Return minus the violation of the row of M = K Kᵀ plus weight |K - centre|², and its gradient in K.

    The gradient of ½ log det M in K is K⁻ᵀ, whose lower triangle is the inverse of the diagonal. M is needed only where
    two nodes are ``together`` in a family.
    """
    n = factor.shape[0]
    matrix = np.empty((n, n))
    for a in range(n):
        for b in range(a + 1):
            if together[a, b]:
                value = _dot(factor[a], factor[b], b + 1)
                matrix[a, b] = value
                matrix[b, a] = value
    gradient = np.zeros((n, n))
    value = -violation(matrix, node, flat, starts, mass, gradient)
    for a in range(n):
        if abs(factor[a, a]) < 1e-6:
            return np.inf
        value -= math.log(abs(factor[a, a]))
    for a in range(n):
        for b in range(n):
            slope[a, b] = 0.0
        for c in range(n):
            if together[a, c]:
                weight_ac = 2.0 * gradient[a, c]
                for b in range(min(a, c) + 1):
                    slope[a, b] -= weight_ac * factor[c, b]
        slope[a, a] -= 1.0 / factor[a, a]
        for b in range(a + 1):
            away = factor[a, b] - centre[a, b]
            value += weight * away * away
            slope[a, b] += 2.0 * weight * away
    return value


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _product(one, other):  # type: ignore[no-untyped-def]
    """Return Σ one * other; loops over whole arrays compile in a fraction of the time that expressions take."""
    total = 0.0
    for a in range(one.shape[0]):
        for b in range(one.shape[1]):
            total += one[a, b] * other[a, b]
    return total


@njit(cache=True, nogil=True)
def _set(target, factor, source):  # type: ignore[no-untyped-def]
    """Set target = factor * source."""
    for a in range(target.shape[0]):
        for b in range(target.shape[1]):
            target[a, b] = factor * source[a, b]


@njit(cache=True, nogil=True)
def _add(target, factor, source):  # type: ignore[no-untyped-def]
    """Set target = target + factor * source."""
    for a in range(target.shape[0]):
        for b in range(target.shape[1]):
            target[a, b] += factor * source[a, b]


@njit(cache=True, nogil=True)
def deepest(centre, weight, node, flat, starts, mass, most_steps, memory):  # type: ignore[no-untyped-def]
    """Return the Cholesky factor of the matrix whose row over all nodes is violated most, by L-BFGS from ``centre``.

    Steps go along the direction of the two-loop recursion over the last ``memory`` steps, halved until the objective
    falls enough.
    """
    n = centre.shape[0]
    together = _together(n, node, flat, starts)
    point = np.empty((n, n))
    _set(point, 1.0, centre)
    slope = np.empty((n, n))
    value = _objective(point, centre, weight, node, flat, starts, mass, together, slope)
    steps = np.zeros((memory, n, n))
    turns = np.zeros((memory, n, n))
    rho = np.zeros(memory)
    alpha = np.zeros(memory)
    kept = 0
    trial_slope = np.empty((n, n))
    direction = np.empty((n, n))
    trial = np.empty((n, n))
    for _ in range(most_steps):
        _set(direction, -1.0, slope)
        first = max(kept - memory, 0)
        for q in range(kept - 1, first - 1, -1):
            at = q % memory
            alpha[at] = rho[at] * _product(steps[at], direction)
            _add(direction, -alpha[at], turns[at])
        if kept > 0:
            at = (kept - 1) % memory
            _set(direction, 1.0 / (rho[at] * _product(turns[at], turns[at])), direction)
        else:
            _set(direction, min(1.0, 0.1 / math.sqrt(_product(slope, slope) + 1e-300)), direction)
        for q in range(first, kept):
            at = q % memory
            beta = rho[at] * _product(turns[at], direction)
            _add(direction, alpha[at] - beta, steps[at])
        fall = _product(direction, slope)
        if fall >= 0.0:
            break
        length = 1.0
        trial_value = np.inf
        for _ in range(25):
            _set(trial, 1.0, point)
            _add(trial, length, direction)
            trial_value = _objective(trial, centre, weight, node, flat, starts, mass, together, trial_slope)
            if trial_value <= value + 1e-4 * length * fall:
                break
            length *= 0.5
        if not trial_value < value:
            break
        step = direction
        _set(step, length, direction)
        _add(point, 1.0, step)
        turn = slope
        for a in range(n):
            for b in range(n):
                turn[a, b] = trial_slope[a, b] - slope[a, b]
        curvature = _product(step, turn)
        if curvature > 1e-14 * _product(turn, turn):
            at = kept % memory
            _set(steps[at], 1.0, step)
            _set(turns[at], 1.0, turn)
            rho[at] = 1.0 / curvature
            kept += 1
        gain = value - trial_value
        _set(slope, 1.0, trial_slope)
        value = trial_value
        if gain < 1e-7 * max(abs(value), 1e-6):
            break
    return point


@njit(cache=True, nogil=True)
def correlations(factor):  # type: ignore[no-untyped-def]
    """Return the matrix with this Cholesky factor, scaled to a unit diagonal."""
    n = factor.shape[0]
    matrix = np.empty((n, n))
    for a in range(n):
        for b in range(a + 1):
            matrix[a, b] = _dot(factor[a], factor[b], b + 1)
            if a != b:
                matrix[a, b] /= math.sqrt(matrix[b, b])
    for a in range(n):
        for b in range(a):
            matrix[a, b] /= math.sqrt(matrix[a, a])
            matrix[b, a] = matrix[a, b]
    for a in range(n):
        matrix[a, a] = 1.0
    return matrix
