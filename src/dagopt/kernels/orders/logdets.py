"""Growing a parent set one by one for scores made of log-determinants, all candidates at once.

A set of s parents scores
``form[0, s] - form[1, s] * logres - form[2, s] * logdet`` (see ``kernels/gaussian/logdet.py``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from dagopt.kernels.gaussian import logdet as gaussian
from dagopt.kernels.gaussian.logdet import PIVOT_FLOOR

SET, SIZE = 0, 1  # of ``head``
RESIDUAL, LOGDET = 0, 1  # of ``sums``


class Work(NamedTuple):
    """The Cholesky factor of the parent set that is being grown, and what it leaves of v and of the candidates.

    Attributes
    ----------
    rows : array
        The rows of the factor that belong to the candidates, one row per parent.
    left, cross : arrays
        The variance of each candidate, and its covariance with v, given the parents.
    factor, of_v : arrays
        The rows of the parents (the diagonal inverted) and the row of v.
    path : int array
        The parents in the order in which they were added.
    head : int array
        SET: the caller's number of this set, -1 for none; SIZE: the number of parents.
    sums : array
        RESIDUAL: the variance of v given the parents; LOGDET: the log-determinant of the parents.
    """

    rows: NDArray[np.float64]
    left: NDArray[np.float64]
    cross: NDArray[np.float64]
    factor: NDArray[np.float64]
    of_v: NDArray[np.float64]
    path: NDArray[np.int64]
    head: NDArray[np.int64]
    sums: NDArray[np.float64]


class LogDets(NamedTuple):
    """A score made of log-determinants, and room to work; ``form`` is explained at the head of this module."""

    matrix: NDArray[np.float64]
    log_scale: NDArray[np.float64]
    form: NDArray[np.float64]
    work: Work


def make_work(most_parents: int, most_candidates: int) -> Work:
    """Return room for sets of so many parents and lists of so many candidates."""
    return Work(
        rows=np.empty((most_parents, most_candidates)),
        left=np.empty(most_candidates),
        cross=np.empty(most_candidates),
        factor=np.empty((most_parents, most_parents)),
        of_v=np.empty(most_parents),
        path=np.empty(most_parents, dtype=np.int64),
        head=np.full(2, -1, dtype=np.int64),
        sums=np.empty(2),
    )


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
    logdet.work.head[SET] = -1


@njit(cache=True, nogil=True)
def bring_to(logdet, v, candidates, grown):  # type: ignore[no-untyped-def]
    """Make ``work`` that of the set ``grown``: by its last parent alone if ``work`` is that of the set before."""
    matrix, work = logdet.matrix, logdet.work
    left, cross, head, sums = work.left, work.cross, work.head, work.sums
    if grown.before >= 0 and head[SET] == grown.before:
        _push(logdet, v, candidates, grown.last)
    else:
        for k in range(candidates.shape[0]):
            left[k] = 1.0
            cross[k] = matrix[v, candidates[k]]
        head[SIZE] = 0
        sums[RESIDUAL] = 1.0
        sums[LOGDET] = 0.0
        for y in grown.parents:
            _push(logdet, v, candidates, y)
    head[SET] = grown.number


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
    sums[RESIDUAL] -= step * step
    sums[LOGDET] += math.log(max(pivot, PIVOT_FLOOR)) + log_scale[y]


@njit(cache=True, nogil=True)
def additions(logdet, v, candidates, enough, keys):  # type: ignore[no-untyped-def]
    """Fill ``keys`` with numbers that sort the candidates as their scores do; return the score of the present parents.

    A candidate that is a parent, or that does not raise the score by ``enough``, has -inf. Where the score depends on
    the residual alone, the key is what the candidate takes from it, which saves the logarithms.
    """
    _, log_scale, form, work = logdet
    left, cross, sums = work.left, work.cross, work.sums
    size = work.head[SIZE]
    residual = sums[RESIDUAL]
    own = _value(form, size, sums[LOGDET], math.log(max(residual, PIVOT_FLOOR)) + log_scale[v])
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
        more = sums[LOGDET] + math.log(left[k]) + log_scale[candidates[k]]
        after = math.log(max(residual - told, PIVOT_FLOOR)) + log_scale[v]
        value = _value(form, size + 1, more, after)
        if value > own + enough:
            keys[k] = value
    return own


@njit(cache=True, nogil=True)
def _value(form, size, logdet, logres):  # type: ignore[no-untyped-def]
    return form[0, size] - form[1, size] * logres - form[2, size] * logdet
