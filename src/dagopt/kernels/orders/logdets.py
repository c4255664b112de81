"""Growing a parent set one by one for scores made of log-determinants, all candidates at once.

``work`` holds a Cholesky factor of the present parents: w, the rows that it gives all candidates; left and cross, the
variance of each candidate and its covariance with v that the parents leave; factor (its diagonal inverted) and of_v,
the rows of the parents and of v; path, the parents in the order in which they came; head, which says of which set (the
caller's number, -1 for none) and how many they are; and sums: the residual variance of v and the log-determinant of the
parents.

``logdet`` is a tuple: matrix, log_scale, form, work. A set of s parents scores
``form[0, s] - form[1, s] * logres - form[2, s] * logdet`` (see ``kernels/gaussian/logdet.py``).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dagopt.kernels.gaussian import logdet as gaussian
from dagopt.kernels.gaussian.logdet import PIVOT_FLOOR

SET, SIZE = 0, 1


@njit(cache=True, nogil=True)
def local_score(logdet, v, parents):  # type: ignore[no-untyped-def]
    """Return the score of v with these parents."""
    matrix, log_scale, form, _ = logdet
    log_of_parents, logres = gaussian.logs(matrix, log_scale, v, parents)
    return _value(form, parents.shape[0], log_of_parents, logres)


@njit(cache=True, nogil=True)
def removals(logdet, v, parents, values):  # type: ignore[no-untyped-def]
    """Fill ``values[k]`` with the score of v with all parents but the k-th."""
    matrix, log_scale, form, _ = logdet
    size = parents.shape[0]
    logres = np.empty(size)
    gaussian.removals(matrix, log_scale, v, parents, values, logres)
    for k in range(size):
        values[k] = _value(form, size - 1, values[k], logres[k])


@njit(cache=True, nogil=True)
def forget(logdet):  # type: ignore[no-untyped-def]
    """Say that ``work`` is of no set: the caller's numbers have changed."""
    logdet[3][6][SET] = -1


@njit(cache=True, nogil=True)
def bring_to(logdet, v, candidates, parents, number, before, last):  # type: ignore[no-untyped-def]
    """Bring ``work`` to the set of this number; if it is at the set ``before``, by the one parent ``last`` more."""
    matrix, _, _, work = logdet
    _, left, cross, _, _, _, head, sums = work
    if before >= 0 and head[SET] == before:
        _push(logdet, v, candidates, last)
    else:
        for k in range(candidates.shape[0]):
            left[k] = 1.0
            cross[k] = matrix[v, candidates[k]]
        head[SIZE] = 0
        sums[0] = 1.0
        sums[1] = 0.0
        for y in parents:
            _push(logdet, v, candidates, y)
    head[SET] = number


@njit(cache=True, nogil=True)
def _push(logdet, v, candidates, y):  # type: ignore[no-untyped-def]
    """Make y one more parent of v."""
    matrix, log_scale, _, work = logdet
    w, left, cross, factor, of_v, path, head, sums = work
    m = candidates.shape[0]
    a = head[SIZE]
    row = w[a]
    for k in range(m):
        row[k] = matrix[y, candidates[k]]
    pivot = 1.0
    step = matrix[v, y]
    for b in range(a):
        value = matrix[y, path[b]]
        for c in range(b):
            value -= factor[a, c] * factor[b, c]
        value *= factor[b, b]
        factor[a, b] = value
        pivot -= value * value
        step -= value * of_v[b]
        before = w[b]
        for k in range(m):
            row[k] -= value * before[k]
    inverse = 1.0 / math.sqrt(pivot) if pivot > PIVOT_FLOOR else 0.0  # what is determined predicts nothing
    factor[a, a] = inverse
    step *= inverse
    of_v[a] = step
    for k in range(m):
        value = row[k] * inverse
        row[k] = value
        left[k] -= value * value
        cross[k] -= value * step
        if candidates[k] == y:
            left[k] = -1.0
    path[a] = y
    head[SIZE] = a + 1
    sums[0] -= step * step
    sums[1] += math.log(max(pivot, PIVOT_FLOOR)) + log_scale[y]


@njit(cache=True, nogil=True)
def additions(logdet, v, candidates, enough, keys):  # type: ignore[no-untyped-def]
    """Fill ``keys`` with numbers that sort the candidates as their scores do; return the score of the present parents.

    A candidate that is a parent, or that does not raise the score by ``enough``, has -inf. Where the score depends on
    the residual alone, the key is what the candidate takes from it, which saves the logarithms.
    """
    _, log_scale, form, work = logdet
    _, left, cross, _, _, _, head, sums = work
    size = head[SIZE]
    residual = sums[0]
    own = _value(form, size, sums[1], math.log(max(residual, PIVOT_FLOOR)) + log_scale[v])
    for k in range(candidates.shape[0]):
        keys[k] = -np.inf
    if residual <= PIVOT_FLOOR:
        return own
    plain = form[2, size + 1] == 0.0
    needed = (own + enough - form[0, size + 1]) / form[1, size + 1] + log_scale[v]
    bar = residual - math.exp(min(-needed, 700.0)) if plain else 0.0
    for k in range(candidates.shape[0]):
        told = cross[k] * cross[k]
        if left[k] <= PIVOT_FLOOR or told <= bar * left[k]:
            continue
        told /= left[k]
        if plain:
            keys[k] = told
            continue
        more = sums[1] + math.log(left[k]) + log_scale[candidates[k]]
        after = math.log(max(residual - told, PIVOT_FLOOR)) + log_scale[v]
        value = _value(form, size + 1, more, after)
        if value > own + enough:
            keys[k] = value
    return own


@njit(cache=True, nogil=True)
def _value(form, size, logdet, logres):  # type: ignore[no-untyped-def]
    return form[0, size] - form[1, size] * logres - form[2, size] * logdet
