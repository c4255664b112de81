"""The matrix whose row of log-determinants an LP point violates most, by L-BFGS over its Cholesky factor.

The row of M with C = V is violated by ½ log det M - ½ Σ x log var(i | J), which is smooth in M (``logdet_rows.py`` has
the rows themselves). Family k has the parents ``flat[starts[k] : starts[k + 1]]``.
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.kernels.cuts.logdet_rows import dot, last_pivot
from dagopt.kernels.store import njit

LEAST_DIAGONAL = 1e-6  # of the factor; a matrix closer to singular is not tried
FIRST_STEP = 0.1  # the length of the first step, in entries of the factor, before any curvature is known
ARMIJO, MOST_HALVINGS = (
    1e-4,
    25,
)  # the share of the promised fall that a step must give, and the trials (2^-25 of a step)
LEAST_CURVATURE = 1e-14  # s·y / y·y; steps with less would turn the direction uphill by rounding
LEAST_GAIN = 1e-7  # of the violation, relative; a smaller gain ends the method


@njit(cache=True, nogil=True)
def violation(matrix, node, flat, starts, mass, gradient):
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
        # var(i | J) is the last pivot of the Cholesky factorisation of the matrix of J + i.
        first = starts[k]
        size = starts[k + 1] - first
        i = node[k]
        for a in range(size):
            chosen[a] = flat[first + a]
        chosen[size] = i
        pivot = last_pivot(matrix, chosen, size, factor)
        total -= 0.5 * mass[k] * math.log(pivot)
        for a in range(size - 1, -1, -1):  # solve the transposed triangular system
            value = factor[size, a]
            for c in range(a + 1, size):
                value -= factor[c, a] * beta[c]
            beta[a] = value / factor[a, a]
        # d/dM of -½ x log var(i | J) is -½ x u uᵀ / var(i | J), with u = (1, -beta).
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
def _together(n, node, flat, starts):
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
def _objective(factor, centre, weight, node, flat, starts, mass, together, slope):
    """Return minus the violation of the row of M = K Kᵀ plus weight |K - centre|², and its gradient in K.

    The gradient of ½ log det M in K is K⁻ᵀ, whose lower triangle is the inverse of the diagonal. M is needed only where
    two nodes are ``together`` in a family.
    """
    n = factor.shape[0]
    matrix = np.empty((n, n))
    for a in range(n):
        for b in range(a + 1):
            if together[a, b]:
                value = dot(factor[a], factor[b], b + 1)
                matrix[a, b] = value
                matrix[b, a] = value
    gradient = np.zeros((n, n))
    value = -violation(matrix, node, flat, starts, mass, gradient)
    for a in range(n):
        if abs(factor[a, a]) < LEAST_DIAGONAL:
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
def _product(one, other):
    """Return Σ one * other; loops over whole arrays compile in a fraction of the time that expressions take."""
    total = 0.0
    for a in range(one.shape[0]):
        for b in range(one.shape[1]):
            total += one[a, b] * other[a, b]
    return total


@njit(cache=True, nogil=True)
def _set(target, factor, source):
    """Set target = factor * source."""
    for a in range(target.shape[0]):
        for b in range(target.shape[1]):
            target[a, b] = factor * source[a, b]


@njit(cache=True, nogil=True)
def _add(target, factor, source):
    """Set target = target + factor * source."""
    for a in range(target.shape[0]):
        for b in range(target.shape[1]):
            target[a, b] += factor * source[a, b]


@njit(cache=True, nogil=True)
def deepest(centre, weight, node, flat, starts, mass, most_steps, memory):
    """Return the Cholesky factor of the matrix whose row over all nodes is violated most, by L-BFGS from ``centre``.

    Steps go along the direction of the two-loop recursion over the last ``memory`` steps, halved until the objective
    falls enough.
    """
    n = centre.shape[0]
    # Begin at the centre, with no steps remembered.
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
        # The two-loop recursion: minus the slope, corrected by the remembered steps s and turns of the slope y,
        _set(direction, -1.0, slope)
        first = max(kept - memory, 0)
        for q in range(kept - 1, first - 1, -1):
            at = q % memory
            alpha[at] = rho[at] * _product(steps[at], direction)
            _add(direction, -alpha[at], turns[at])
        # scaled by s·y / y·y of the last step (a short step at first),
        if kept > 0:
            at = (kept - 1) % memory
            _set(direction, 1.0 / (rho[at] * _product(turns[at], turns[at])), direction)
        else:
            _set(direction, min(1.0, FIRST_STEP / math.sqrt(_product(slope, slope) + 1e-300)), direction)
        # and corrected once more, from the oldest step to the newest.
        for q in range(first, kept):
            at = q % memory
            beta = rho[at] * _product(turns[at], direction)
            _add(direction, alpha[at] - beta, steps[at])
        # Halve the step until the objective falls by a small part of what the slope promises (Armijo).
        fall = _product(direction, slope)
        if fall >= 0.0:
            break
        length = 1.0
        trial_value = np.inf
        for _ in range(MOST_HALVINGS):
            _set(trial, 1.0, point)
            _add(trial, length, direction)
            trial_value = _objective(trial, centre, weight, node, flat, starts, mass, together, trial_slope)
            if trial_value <= value + ARMIJO * length * fall:
                break
            length *= 0.5
        # Go there.
        if not trial_value < value:
            break
        step = direction
        _set(step, length, direction)
        _add(point, 1.0, step)
        # Remember the step if the slope turned along it, which keeps the direction downhill.
        turn = slope
        for a in range(n):
            for b in range(n):
                turn[a, b] = trial_slope[a, b] - slope[a, b]
        curvature = _product(step, turn)
        if curvature > LEAST_CURVATURE * _product(turn, turn):
            at = kept % memory
            _set(steps[at], 1.0, step)
            _set(turns[at], 1.0, turn)
            rho[at] = 1.0 / curvature
            kept += 1
        # Stop when the objective hardly changes.
        gain = value - trial_value
        _set(slope, 1.0, trial_slope)
        value = trial_value
        if gain < LEAST_GAIN * max(abs(value), 1e-6):
            break
    return point


@njit(cache=True, nogil=True)
def correlations(factor):
    """Return the matrix with this Cholesky factor, scaled to a unit diagonal."""
    n = factor.shape[0]
    matrix = np.empty((n, n))
    for a in range(n):
        for b in range(a + 1):
            matrix[a, b] = dot(factor[a], factor[b], b + 1)
            if a != b:
                matrix[a, b] /= math.sqrt(matrix[b, b])
    for a in range(n):
        for b in range(a):
            matrix[a, b] /= math.sqrt(matrix[a, a])
            matrix[b, a] = matrix[a, b]
    for a in range(n):
        matrix[a, a] = 1.0
    return matrix
