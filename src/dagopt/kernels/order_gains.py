"""Local scores of a node with one parent more or one less, for both kinds of scores that order search grows.

``score`` is one tuple for both: kind, then matrix, log_scale and form of log-determinants, then codes, arity, weights,
clogc, ess, rate and information of counts; what a kind does not need is empty.

* ``LOGDET``: a set of s parents scores ``form[0, s] - form[1, s] * logres - form[2, s] * logdet`` (see
  ``kernels/gaussian.py``).
* ``COUNTS``: a difference of two joints of ``kernels/counting.py``, less ``rate * (a_i - 1)`` times the product of the
  arities of the parents. ``information[j]`` is N times the entropy of column j: no parent tells more than that.

A candidate that is a parent already, or that cannot raise the score, has the value -inf.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dagopt.kernels import counting, gaussian
from dagopt.kernels.gaussian import PIVOT_FLOOR

LOGDET, COUNTS = 0, 1
ENOUGH = 1e-7  # a gain below this is no gain
FEW_CELLS = 1 << 10  # of a contingency table that is kept whole even for fewer rows


@njit(cache=True, nogil=True)
def local_score(score, v, parents):  # type: ignore[no-untyped-def]
    """Return the score of v with these parents."""
    kind, matrix, log_scale, form, codes, arity, weights, clogc, ess, rate, _ = score
    if kind == LOGDET:
        logdet, logres = gaussian.logs(matrix, log_scale, v, parents)
        return _value(form, parents.shape[0], logdet, logres)
    cells = np.empty(codes.shape[1], dtype=np.int64)
    without, together, product = counting.joints(codes, arity, weights, clogc, ess, v, parents, cells)
    return together - without - _cost(arity, rate, v, product)


@njit(cache=True, nogil=True)
def additions(score, v, parents, candidates, values):  # type: ignore[no-untyped-def]
    """Fill ``values[k]`` with the score of v with the parents and ``candidates[k]``; return it without any."""
    if score[0] == LOGDET:
        own = _logdet_additions(score, v, parents, candidates, values)
    else:
        own = _count_additions(score, v, parents, candidates, values)
    for k in range(candidates.shape[0]):
        for y in parents:
            if candidates[k] == y:
                values[k] = -np.inf
    return own


@njit(cache=True, nogil=True)
def removals(score, v, parents, values):  # type: ignore[no-untyped-def]
    """Fill ``values[k]`` with the score of v with all parents but the k-th."""
    kind, matrix, log_scale, form, codes, arity, weights, clogc, ess, rate, _ = score
    size = parents.shape[0]
    if kind == LOGDET:
        logres = np.empty(size)
        gaussian.removals(matrix, log_scale, v, parents, values, logres)
        for k in range(size):
            values[k] = _value(form, size - 1, values[k], logres[k])
        return
    cells = np.empty(codes.shape[1], dtype=np.int64)
    rest = parents[1:].copy()
    for k in range(size):
        without, together, product = counting.joints(codes, arity, weights, clogc, ess, v, rest, cells)
        values[k] = together - without - _cost(arity, rate, v, product)
        if k < size - 1:
            rest[k] = parents[k]


@njit(cache=True, nogil=True)
def _value(form, size, logdet, logres):  # type: ignore[no-untyped-def]
    return form[0, size] - form[1, size] * logres - form[2, size] * logdet


@njit(cache=True, nogil=True)
def _logdet_additions(score, v, parents, candidates, values):  # type: ignore[no-untyped-def]
    """Do what ``additions`` does by a Cholesky factor of the parents, all candidates at once."""
    matrix, log_scale, form = score[1], score[2], score[3]
    size = parents.shape[0]
    m = candidates.shape[0]
    factor = np.empty((size, size))
    of_v = np.empty(size)
    w = np.empty((size, m))
    left = np.ones(m)  # variance of each candidate that the parents leave
    cross = np.empty(m)  # covariance with v that they leave
    for k in range(m):
        cross[k] = matrix[v, candidates[k]]
    residual = 1.0
    logdet = 0.0
    for a in range(size):
        y = parents[a]
        pivot = 1.0
        step = matrix[v, y]
        row = w[a]
        for k in range(m):
            row[k] = matrix[y, candidates[k]]
        for b in range(a):
            value = matrix[y, parents[b]]
            for c in range(b):
                value -= factor[a, c] * factor[b, c]
            value /= factor[b, b]
            factor[a, b] = value
            pivot -= value * value
            step -= value * of_v[b]
            before = w[b]
            for k in range(m):
                row[k] -= value * before[k]
        root = math.sqrt(pivot) if pivot > PIVOT_FLOOR else np.inf  # what is determined predicts nothing
        factor[a, a] = root
        step /= root
        of_v[a] = step
        for k in range(m):
            row[k] /= root
            left[k] -= row[k] * row[k]
            cross[k] -= row[k] * step
        residual -= step * step
        logdet += math.log(max(pivot, PIVOT_FLOOR)) + log_scale[y]
    own = _value(form, size, logdet, math.log(max(residual, PIVOT_FLOOR)) + log_scale[v])
    values[:] = -np.inf
    if residual <= PIVOT_FLOOR:
        return own
    plain = form[2, size + 1] == 0.0  # comparing residuals then saves the logarithms
    needed = (own + ENOUGH - form[0, size + 1]) / form[1, size + 1] + log_scale[v]
    bar = residual - math.exp(min(-needed, 700.0)) if plain else 0.0
    for k in range(m):
        if left[k] <= PIVOT_FLOOR:
            continue
        told = cross[k] * cross[k]
        if plain and told <= bar * left[k]:
            continue
        after = max(residual - told / left[k], PIVOT_FLOOR)
        more = 0.0 if plain else logdet + math.log(left[k]) + log_scale[candidates[k]]
        values[k] = _value(form, size + 1, more, math.log(after) + log_scale[v])
    return own


@njit(cache=True, nogil=True)
def _cost(arity, rate, v, product):  # type: ignore[no-untyped-def]
    return rate * (arity[v] - 1) * min(product, counting.LARGEST_PRODUCT)


@njit(cache=True, nogil=True)
def _count_additions(score, v, parents, candidates, values):  # type: ignore[no-untyped-def]
    """Do what ``additions`` does by one table of counts for each candidate that could help."""
    _, _, _, _, codes, arity, weights, clogc, ess, rate, information = score
    rows = codes.shape[1]
    cells = np.zeros(rows, dtype=np.int64)
    span = 1
    product = 1.0
    for y in parents:
        span = counting.refine(cells, span, codes[y], arity[y])
        product *= arity[y]
    span = counting.renumber(cells, span)
    occurring = span
    span = counting.refine(cells, span, codes[v], arity[v])
    product = min(product, counting.LARGEST_PRODUCT)
    without, together = counting.two_sums(cells, span, arity[v], weights, clogc, ess, product * arity[v])
    own = together - without - _cost(arity, rate, v, product)
    values[:] = -np.inf
    if ess > 0.0 and -occurring * math.log(arity[v]) <= own + ENOUGH:
        return own
    split = np.empty(rows, dtype=np.int64)
    for k in range(candidates.shape[0]):
        x = candidates[k]
        cost = _cost(arity, rate, v, product * arity[x])
        if ess == 0.0 and min(together - without + information[x], 0.0) - cost <= own + ENOUGH:
            continue
        larger = min(product * arity[x], counting.LARGEST_PRODUCT)
        if span * arity[x] <= max(2 * rows, FEW_CELLS):
            fine, coarse = _table_sums(cells, span, codes[x], arity[x], arity[v], weights, clogc, ess, larger)
        else:
            split[:] = cells // arity[v]
            finer = counting.refine(split, span // arity[v], codes[x], arity[x])
            finer = counting.refine(split, finer, codes[v], arity[v])
            coarse, fine = counting.two_sums(split, finer, arity[v], weights, clogc, ess, larger * arity[v])
        values[k] = fine - coarse - cost
    return own


@njit(cache=True, nogil=True)
def _table_sums(cells, span, code, arity, own_arity, weights, clogc, ess, product):  # type: ignore[no-untyped-def]
    """Return the joints of J + x + v and of J + x, from labels of J + v with v the lowest digit."""
    rows = cells.shape[0]
    table = np.zeros((2, span * arity), dtype=np.int64)
    for r in range(0, rows - 1, 2):
        table[0, cells[r] * arity + code[r]] += weights[r]
        table[1, cells[r + 1] * arity + code[r + 1]] += weights[r + 1]
    if rows % 2:
        table[0, cells[rows - 1] * arity + code[rows - 1]] += weights[rows - 1]
    prior = ess / min(product * own_arity, counting.LARGEST_PRODUCT)
    coarse_prior = ess / product
    fine = 0.0
    coarse = 0.0
    for first in range(0, span * arity, own_arity * arity):
        for x in range(arity):
            total = 0
            for place in range(first + x, first + own_arity * arity, arity):
                count = table[0, place] + table[1, place]
                total += count
                fine += counting.term(count, clogc, ess, prior)
            coarse += counting.term(total, clogc, ess, coarse_prior)
    return fine, coarse
