"""Growing a parent set one parent at a time, for scores made of log-determinants; all candidates are scored at once.

The score with s parents is ``form[0, s] - form[1, s] * logres - form[2, s] * logdet`` (see
``kernels/gaussian/logdet.py``).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.gaussian import logdet as gaussian
from dagopt.kernels.gaussian.entries import Columns, entry
from dagopt.kernels.gaussian.logdet import PIVOT_FLOOR
from dagopt.kernels.store import njit

NODE, SIZE = 0, 1  # positions in ``head``


class Work(NamedTuple):
    """The Cholesky factor of the parent set being grown, and the residuals of v and of the candidates.

    The values for the first a parents are kept, so that another set that begins with them can continue from there.

    Attributes
    ----------
    rows : array
        The part of the factor that belongs to the candidates, one row per parent.
    left, cross : arrays
        The variance of each candidate, and its covariance with v, given the first a parents; one row for each a.
    factor, of_v : arrays
        The rows of the factor for the parents (with the diagonal inverted) and the row for v.
    path : int array
        The parents in the order in which they were added.
    head : int array
        NODE: v, or -1 before the first set; SIZE: the number of parents.
    residual, logdet : arrays
        The variance of v given the first a parents, and their log-determinant.
    """

    rows: NDArray[np.float64]
    left: NDArray[np.float64]
    cross: NDArray[np.float64]
    factor: NDArray[np.float64]
    of_v: NDArray[np.float64]
    path: NDArray[np.int64]
    head: NDArray[np.int64]
    residual: NDArray[np.float64]
    logdet: NDArray[np.float64]


class LogDets(NamedTuple):
    """A score made of log-determinants, and work arrays; the module docstring explains ``form``.

    The matrix may be given by columns (``kernels/gaussian/entries.py``).
    """

    matrix: NDArray[np.float64] | Columns
    log_scale: NDArray[np.float64]
    form: NDArray[np.float64]
    work: Work


def make_work(most_parents: int, most_candidates: int) -> Work:
    """Return work arrays for at most this many parents and candidates."""
    return Work(
        rows=np.empty((most_parents, most_candidates)),
        left=np.empty((most_parents + 1, most_candidates)),
        cross=np.empty((most_parents + 1, most_candidates)),
        factor=np.empty((most_parents, most_parents)),
        of_v=np.empty(most_parents),
        path=np.empty(most_parents, dtype=np.int64),
        head=np.array([-1, 0]),
        residual=np.empty(most_parents + 1),
        logdet=np.empty(most_parents + 1),
    )


@njit(cache=True, nogil=True)
def local_score(logdet, v, parents):
    """Return the score of v with these parents."""
    size = parents.shape[0]
    matrix, log_scale = _gathered(logdet, v, parents)
    log_of_parents, logres = gaussian.logs(matrix, log_scale, size, np.arange(size))
    return _value(logdet.form, size, log_of_parents, logres)


@njit(cache=True, nogil=True)
def _gathered(logdet, v, parents):
    """Return the matrix of the parents and, as the last, of v, and their scales."""
    size = parents.shape[0]
    matrix = np.empty((size + 1, size + 1))
    log_scale = np.empty(size + 1)
    for a in range(size + 1):
        x = v if a == size else parents[a]
        matrix[a, a] = 1.0
        log_scale[a] = logdet.log_scale[x]
        for b in range(a):
            matrix[a, b] = entry(logdet.matrix, x, parents[b])
            matrix[b, a] = matrix[a, b]
    return matrix, log_scale


@njit(cache=True, nogil=True)
def removals(logdet, v, parents, values):
    """Fill ``values[k]`` with the score of v with all parents but the k-th."""
    form = logdet.form
    size = parents.shape[0]
    logres = np.empty(size)
    matrix, log_scale = _gathered(logdet, v, parents)
    gaussian.removals(matrix, log_scale, size, np.arange(size), values, logres)
    for k in range(size):
        values[k] = _value(form, size - 1, values[k], logres[k])


@njit(cache=True, nogil=True)
def additions(logdet, v, parents, candidates, enough, keys):
    """Fill ``keys`` with numbers that sort the candidates by score; return the score with the current parents.

    The key is -inf for v itself, for a parent, and for a candidate that does not raise the score by ``enough``. If the
    score depends on the residual alone, the key is the reduction of the residual, which avoids the logarithms.
    """
    log_scale, form, work = logdet.log_scale, logdet.form, logdet.work
    _bring_to(logdet, v, candidates, parents)
    size = parents.shape[0]
    left, cross, residual = work.left[size], work.cross[size], work.residual[size]
    own = _value(form, size, work.logdet[size], math.log(max(residual, PIVOT_FLOOR)) + log_scale[v])
    keys[:] = -np.inf
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
        more = work.logdet[size] + math.log(left[k]) + log_scale[candidates[k]]
        after = math.log(max(residual - told, PIVOT_FLOOR)) + log_scale[v]
        value = _value(form, size + 1, more, after)
        if value > own + enough:
            keys[k] = value
    return own


@njit(cache=True, nogil=True)
def _bring_to(logdet, v, candidates, parents):
    """Bring ``work`` to v with these parents, reusing what it holds for the first of them."""
    matrix, work = logdet.matrix, logdet.work
    head = work.head
    size = parents.shape[0]
    if head[NODE] == v:
        same = 0
        while same < min(size, head[SIZE]) and work.path[same] == parents[same]:
            same += 1
        head[SIZE] = same
    else:
        left, cross = work.left[0], work.cross[0]
        for k in range(left.shape[0]):
            left[k] = 1.0
        for k in range(candidates.shape[0]):
            cross[k] = entry(matrix, v, candidates[k])
        if candidates.shape[0] == logdet.log_scale.shape[0]:
            left[v] = -1.0
        work.residual[0] = 1.0
        work.logdet[0] = 0.0
        head[NODE] = v
        head[SIZE] = 0
    for a in range(head[SIZE], size):
        _push(logdet, v, candidates, parents[a])


@njit(cache=True, nogil=True)
def _push(logdet, v, candidates, y):
    """Add y to the parents of v."""
    matrix, log_scale, work = logdet.matrix, logdet.log_scale, logdet.work
    factor, of_v, path = work.factor, work.of_v, work.path
    m = candidates.shape[0]
    a = work.head[SIZE]
    row = work.rows[a]
    where = y
    # The covariances of y with the candidates.
    if m == log_scale.shape[0]:
        for k in range(m):
            row[k] = entry(matrix, y, k)
    else:
        for k in range(m):
            row[k] = entry(matrix, y, candidates[k])
        where = _place_of(candidates, y)
    # The new row of the Cholesky factor, F_ab = (r_ab - Σ_c F_ac F_bc) / F_bb; candidates lose the same part.
    pivot = 1.0
    step = entry(matrix, v, y)
    for b in range(a):
        value = entry(matrix, y, path[b])
        for c in range(b):
            value -= factor[a, c] * factor[b, c]
        value *= factor[b, b]
        factor[a, b] = value
        pivot -= value * value
        step -= value * of_v[b]
        before = work.rows[b]
        for k in range(m):
            row[k] -= value * before[k]
    inverse = 1.0 / math.sqrt(pivot) if pivot > PIVOT_FLOOR else 0.0  # a determined variable predicts nothing
    # What is left of each candidate, and of its covariance with v, given y too.
    factor[a, a] = inverse
    step *= inverse
    of_v[a] = step
    left, cross, new_left, new_cross = work.left[a], work.cross[a], work.left[a + 1], work.cross[a + 1]
    for k in range(m):
        value = row[k] * inverse
        row[k] = value
        new_left[k] = left[k] - value * value
        new_cross[k] = cross[k] - value * step
    new_left[where] = -1.0
    # y is a parent now: the residual of v and the log-determinant follow.
    path[a] = y
    work.head[SIZE] = a + 1
    work.residual[a + 1] = work.residual[a] - step * step
    work.logdet[a + 1] = work.logdet[a] + math.log(max(pivot, PIVOT_FLOOR)) + log_scale[y]


@njit(cache=True, nogil=True)
def _place_of(candidates, y):
    """Return the place of y among the candidates, which increase; the place after it if y is not among them."""
    low = 0
    high = candidates.shape[0]
    while low < high:
        middle = (low + high) // 2
        if candidates[middle] < y:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _value(form, size, logdet, logres):
    return form[0, size] - form[1, size] * logres - form[2, size] * logdet
