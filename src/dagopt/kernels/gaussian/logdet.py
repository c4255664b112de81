"""Log-determinants and residual variances of sub-matrices of one positive definite matrix.

Every kernel works on ``matrix``, the matrix scaled to unit diagonal, and ``log_scale``, the logarithms of
the diagonal that was divided out, so that results do not depend on the units of the variables. For a node
``i`` and a set ``J`` the two quantities that all Gaussian scores are made of are

* ``logdet(J)`` = log det M_JJ,
* ``logres(i, J)`` = log (M_ii - M_iJ M_JJ^{-1} M_Ji) = logdet(J + i) - logdet(J),

both read off one Cholesky factorisation (Lemma 1 of the paper). A pivot below ``PIVOT_FLOOR`` means that the
variable is a linear combination of those before it: the pivot is raised to the floor, and the variable predicts
nothing further.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.store import njit

PIVOT_FLOOR = 1e-12  # of a variance given others, as a share of its own: a column below is determined by them
_ROOT_OF_FLOOR = 1.0000001e-6  # a factor's diagonal at or below this was raised to the floor


class LogDetForm(NamedTuple):
    """A set function ``constant[|S|] - power[|S|] / 2 * (log det matrix_SS + sum of log_scale over S)``."""

    matrix: NDArray[np.floating[Any]]
    log_scale: NDArray[np.floating[Any]]
    constant: NDArray[np.floating[Any]]
    power: NDArray[np.floating[Any]]


@njit(cache=True, nogil=True)
def _append_row(matrix, factor, order, k, variable):
    """Write row ``k`` of the Cholesky factor of ``matrix[order, order]`` and return its pivot (squared)."""
    pivot = matrix[variable, variable]
    for a in range(k):
        value = matrix[variable, order[a]]
        for b in range(a):
            value -= factor[k, b] * factor[a, b]
        value = value / factor[a, a] if factor[a, a] > _ROOT_OF_FLOOR else 0.0
        factor[k, a] = value
        pivot -= value * value
    if pivot < PIVOT_FLOOR:
        pivot = PIVOT_FLOOR
    factor[k, k] = math.sqrt(pivot)
    return pivot


@njit(cache=True, nogil=True)
def logs(matrix, log_scale, node, parents):
    """Return ``logdet(J)`` and ``logres(i, J)`` for one node and one set."""
    size = parents.shape[0]
    factor = np.empty((size + 1, size + 1))
    logdet = 0.0
    for k in range(size):
        logdet += math.log(_append_row(matrix, factor, parents, k, parents[k])) + log_scale[parents[k]]
    logres = math.log(_append_row(matrix, factor, parents, size, node)) + log_scale[node]
    return logdet, logres


@njit(cache=True, nogil=True)
def logs_many(matrix, log_scale, nodes, flat, offsets, logdet, logres):
    """Fill ``logdet`` and ``logres`` for many sets; set ``k`` is ``flat[offsets[k]:offsets[k + 1]]``."""
    for k in range(nodes.shape[0]):
        logdet[k], logres[k] = logs(matrix, log_scale, nodes[k], flat[offsets[k] : offsets[k + 1]])


@njit(cache=True, nogil=True)
def chain(matrix, log_scale, node, order, logdet, logres):
    """Fill entry ``k`` with the logs of the first ``k`` variables of ``order``, k = 0 .. len(order)."""
    size = order.shape[0]
    factor = np.empty((size + 1, size + 1))
    cross = np.empty(size + 1)  # row of the node, kept beside the factor
    residual = matrix[node, node]
    logdet[0] = 0.0
    logres[0] = math.log(residual) + log_scale[node]
    for k in range(size):
        pivot = _append_row(matrix, factor, order, k, order[k])
        logdet[k + 1] = logdet[k] + math.log(pivot) + log_scale[order[k]]
        value = matrix[node, order[k]]
        for b in range(k):
            value -= cross[b] * factor[k, b]
        cross[k] = value / factor[k, k] if pivot > PIVOT_FLOOR else 0.0
        residual -= cross[k] * cross[k]
        logres[k + 1] = math.log(max(residual, PIVOT_FLOOR)) + log_scale[node]


@njit(cache=True, nogil=True)
def joint_chain(matrix, log_scale, order, logdet):
    """Fill ``logdet[k]`` with the log-determinant of the first ``k`` variables of ``order``."""
    size = order.shape[0]
    factor = np.empty((size, size))
    logdet[0] = 0.0
    for k in range(size):
        pivot = _append_row(matrix, factor, order, k, order[k])
        logdet[k + 1] = logdet[k] + math.log(pivot) + log_scale[order[k]]


@njit(cache=True, nogil=True)
def additions(matrix, log_scale, node, parents, logdet, logres):
    """Fill entry ``j`` with the logs of ``J + j`` for every variable outside ``J + i``, else NaN."""
    n = matrix.shape[0]
    size = parents.shape[0]
    factor = np.empty((size + 1, size + 1))
    base = 0.0
    for k in range(size):
        base += math.log(_append_row(matrix, factor, parents, k, parents[k])) + log_scale[parents[k]]
    own = np.empty(size)
    residual = _append_row(matrix, factor, parents, size, node)
    outside = np.ones(n, dtype=np.bool_)
    outside[node] = False
    for k in range(size):  # loops, since whole-array assignments take seconds to compile
        own[k] = factor[size, k]
        outside[parents[k]] = False
    for j in range(n):
        if not outside[j]:
            logdet[j] = np.nan
            logres[j] = np.nan
            continue
        pivot = _append_row(matrix, factor, parents, size, j)
        covariance = matrix[node, j]
        for b in range(size):
            covariance -= own[b] * factor[size, b]
        left = residual
        if pivot > PIVOT_FLOOR:
            left -= covariance * covariance / pivot
        logdet[j] = base + math.log(pivot) + log_scale[j]
        logres[j] = math.log(max(left, PIVOT_FLOOR)) + log_scale[node]


@njit(cache=True, nogil=True)
def removals(matrix, log_scale, node, parents, logdet, logres):
    """Fill entry ``k`` with the logs of ``J - parents[k]``, by the inverse of the Cholesky factor.

    With K the inverse of M over (J, i), removing j leaves the variance 1 / (K_ii - K_ij^2 / K_jj).
    """
    size = parents.shape[0]
    factor = np.empty((size + 1, size + 1))
    base = 0.0
    for k in range(size):
        base += math.log(_append_row(matrix, factor, parents, k, parents[k])) + log_scale[parents[k]]
    _append_row(matrix, factor, parents, size, node)
    inverse = np.zeros((size + 1, size + 1))
    for a in range(size + 1):
        inverse[a, a] = 1.0 / factor[a, a]
        for b in range(a):
            value = 0.0
            for c in range(b, a):
                value -= factor[a, c] * inverse[c, b]
            inverse[a, b] = value / factor[a, a]
    last = inverse[size, size]
    for k in range(size):
        within = 0.0  # diagonal of the inverse of M over J alone
        for a in range(k, size):
            within += inverse[a, k] * inverse[a, k]
        precision = last * last * within / (within + inverse[size, k] ** 2)
        logdet[k] = base + math.log(within) - log_scale[parents[k]]
        logres[k] = -math.log(precision) + log_scale[node]


@njit(cache=True, nogil=True)
def _logdet_tree(matrix, log_scale, base, out):
    """Fill ``out[mask]`` with ``base`` plus the log-determinant of the set of bits of ``mask``.

    A tree of Schur complements: from the highest variable down each is kept (eliminated from the rest)
    or dropped. Counting ``mask`` upwards walks the tree, and a step that turns bit ``b`` on recomputes only
    the levels below ``b``: about 6 multiply-adds per set in all.
    """
    m = matrix.shape[0]
    work = np.empty((m + 1, m, m))  # work[b]: what is left of the variables below b
    source = np.empty(m + 1, dtype=np.int64)  # which work[] holds the matrix of each level
    value = np.empty(m + 1)
    for level in range(m + 1):
        source[level] = m
        value[level] = base
    for r in range(m):
        for c in range(r + 1):
            work[m, r, c] = matrix[r, c]
    out[0] = base
    for mask in range(1, 1 << m):
        b = 0
        while not (mask >> b) & 1:
            b += 1
        above = work[source[b + 1]]
        pivot = max(above[b, b], PIVOT_FLOOR)
        total = value[b + 1] + math.log(pivot) + log_scale[b]
        below = work[b]
        predicts = 1.0 / pivot if pivot > PIVOT_FLOOR else 0.0
        for r in range(b):
            ratio = above[b, r] * predicts
            for c in range(r + 1):
                below[r, c] = above[r, c] - ratio * above[b, c]
        for level in range(b + 1):
            source[level] = b
            value[level] = total
        out[mask] = total


@njit(cache=True, nogil=True)
def all_logdets(matrix, log_scale, out):
    """Fill ``out[mask]`` with the log-determinant of the set of bits of ``mask``, for all 2^m masks."""
    _logdet_tree(matrix, log_scale, 0.0, out)


@njit(cache=True, nogil=True)
def logdet_slice(matrix, log_scale, high, low_bits, out):
    """Fill ``out`` with the log-determinants of the 2^low_bits sets whose bits above are those of ``high``."""
    rest = matrix.copy()
    base = 0.0
    for b in range(matrix.shape[0] - 1, low_bits - 1, -1):
        if not (high >> (b - low_bits)) & 1:
            continue
        pivot = max(rest[b, b], PIVOT_FLOOR)
        base += math.log(pivot) + log_scale[b]
        predicts = 1.0 / pivot if pivot > PIVOT_FLOOR else 0.0
        for r in range(b):
            ratio = rest[b, r] * predicts
            for c in range(r + 1):
                rest[r, c] -= ratio * rest[b, c]
    _logdet_tree(rest[:low_bits, :low_bits], log_scale, base, out)
