"""Log-determinants and residual variances from the columns themselves, for correlations too large for ``logdet.py``.

Every function has the name, the arguments and the results of its twin in ``logdet.py``, except the first argument:
``vectors[j]`` holds the coordinates of column j, of length 1, in some orthonormal basis, so that
``matrix = vectors @ vectors.T``. The residual of column j given other columns is the vector that remains when its
projections are removed (modified Gram-Schmidt); its length has an error of a few times the rounding error of 1. A
Cholesky factor of the matrix has that error in the square of the length, and so only half the digits.

A column with a residual variance below ``DEPENDENT`` counts as a linear combination of the others. It predicts nothing
further, and the logarithm of its residual is ``LOG_OF_NOTHING``: a score that is unbounded in exact arithmetic is
larger here than any other.

References
----------
Björck (1967). Solving linear least squares problems by Gram-Schmidt orthogonalization. BIT 7.
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.kernels.store import njit

DEPENDENT = 1e-11  # of a squared length: below, a column of length 1 is a combination of others, see above
LOG_OF_NOTHING = -1e7  # far below the logarithm of any float, so that such a score exceeds all others
LONG = 64  # coordinates from which four sums are faster than one


@njit(cache=True, nogil=True)
def _dot(a, b):
    """Return the product of two vectors; long ones in four sums, which the processor adds up side by side."""
    length = a.shape[0]
    whole = length - length % 4 if length >= LONG else 0
    first = second = third = fourth = 0.0
    for k in range(0, whole, 4):
        first += a[k] * b[k]
        second += a[k + 1] * b[k + 1]
        third += a[k + 2] * b[k + 2]
        fourth += a[k + 3] * b[k + 3]
    total = (first + third) + (second + fourth)
    for k in range(whole, length):
        total += a[k] * b[k]
    return total


@njit(cache=True, nogil=True)
def _log(pivot):
    return math.log(pivot) if pivot >= DEPENDENT else LOG_OF_NOTHING


@njit(cache=True, nogil=True)
def _take_away(vector, direction):
    """Subtract from a vector its projection on a direction of length 1 or 0."""
    share = _dot(vector, direction)
    for k in range(vector.shape[0]):
        vector[k] -= share * direction[k]


@njit(cache=True, nogil=True)
def _append(vectors, basis, k, variable):
    """Write the residual of a column after the first k directions as direction k; return its squared length."""
    own = basis[k]
    own[:] = vectors[variable]
    for a in range(k):
        _take_away(own, basis[a])
    pivot = _dot(own, own)
    inverse = 1.0 / math.sqrt(pivot) if pivot >= DEPENDENT else 0.0
    for c in range(own.shape[0]):
        own[c] *= inverse
    return pivot


@njit(cache=True, nogil=True)
def logs(vectors, log_scale, node, parents):
    """Return ``logdet(J)`` and ``logres(i, J)`` for one node and one set."""
    size = parents.shape[0]
    basis = np.empty((size + 1, vectors.shape[1]))
    logdet = 0.0
    for k in range(size):
        logdet += _log(_append(vectors, basis, k, parents[k])) + log_scale[parents[k]]
    return logdet, _log(_append(vectors, basis, size, node)) + log_scale[node]


@njit(cache=True, nogil=True)
def logs_many(vectors, log_scale, nodes, flat, offsets, logdet, logres):
    """Fill ``logdet`` and ``logres`` for many sets; set ``k`` is ``flat[offsets[k]:offsets[k + 1]]``."""
    for k in range(nodes.shape[0]):
        logdet[k], logres[k] = logs(vectors, log_scale, nodes[k], flat[offsets[k] : offsets[k + 1]])


@njit(cache=True, nogil=True)
def chain(vectors, log_scale, node, order, logdet, logres):
    """Fill entry ``k`` with the logs of the first ``k`` variables of ``order``, k = 0 .. len(order)."""
    size = order.shape[0]
    basis = np.empty((size, vectors.shape[1]))
    rest = vectors[node].copy()
    logdet[0] = 0.0
    logres[0] = _log(_dot(rest, rest)) + log_scale[node]
    for k in range(size):
        logdet[k + 1] = logdet[k] + _log(_append(vectors, basis, k, order[k])) + log_scale[order[k]]
        _take_away(rest, basis[k])
        logres[k + 1] = _log(_dot(rest, rest)) + log_scale[node]


@njit(cache=True, nogil=True)
def joint_chain(vectors, log_scale, order, logdet):
    """Fill ``logdet[k]`` with the log-determinant of the first ``k`` variables of ``order``."""
    basis = np.empty((order.shape[0], vectors.shape[1]))
    logdet[0] = 0.0
    for k in range(order.shape[0]):
        logdet[k + 1] = logdet[k] + _log(_append(vectors, basis, k, order[k])) + log_scale[order[k]]


@njit(cache=True, nogil=True)
def additions(vectors, log_scale, node, parents, logdet, logres):
    """Fill entry ``j`` with the logs of ``J + j`` for every variable outside ``J + i``, else NaN."""
    n = vectors.shape[0]
    size = parents.shape[0]
    basis = np.empty((size + 1, vectors.shape[1]))
    base = 0.0
    for k in range(size):
        base += _log(_append(vectors, basis, k, parents[k])) + log_scale[parents[k]]
    own = vectors[node].copy()
    for k in range(size):
        _take_away(own, basis[k])
    rest = np.empty(vectors.shape[1])
    outside = np.ones(n, dtype=np.bool_)
    outside[node] = False
    outside[parents] = False
    for j in range(n):
        if not outside[j]:
            logdet[j] = np.nan
            logres[j] = np.nan
            continue
        logdet[j] = base + _log(_append(vectors, basis, size, j)) + log_scale[j]
        rest[:] = own
        _take_away(rest, basis[size])
        logres[j] = _log(_dot(rest, rest)) + log_scale[node]


@njit(cache=True, nogil=True)
def removals(vectors, log_scale, node, parents, logdet, logres):
    """Fill entry ``k`` with the logs of ``J - parents[k]``."""
    size = parents.shape[0]
    others = np.empty(size - 1, dtype=np.int64)
    for k in range(size):
        others[:k] = parents[:k]
        others[k:] = parents[k + 1 :]
        logdet[k], logres[k] = logs(vectors, log_scale, node, others)


@njit(cache=True, nogil=True)
def _logdet_tree(vectors, log_scale, base, out):
    """Fill ``out[mask]`` with ``base`` plus the log-determinant of the set of bits of ``mask``.

    The tree of ``logdet.py``: from the highest variable down, each is kept (projected out of those below) or dropped.
    """
    m = vectors.shape[0]
    work = np.empty((m + 1, m, vectors.shape[1]))  # work[b]: what is left of the variables below b
    source = np.full(m + 1, m, dtype=np.int64)
    value = np.full(m + 1, base)
    work[m] = vectors
    out[0] = base
    for mask in range(1, 1 << m):
        b = 0
        while not (mask >> b) & 1:
            b += 1
        above = work[source[b + 1]]
        total = value[b + 1] + _keep(above, work[b], b) + log_scale[b]
        for level in range(b + 1):
            source[level] = b
            value[level] = total
        out[mask] = total


@njit(cache=True, nogil=True)
def _keep(above, below, b):
    """Write the residuals of the variables below b given b; return the logarithm of the residual of b."""
    pivot = _dot(above[b], above[b])
    inverse = 1.0 / pivot if pivot >= DEPENDENT else 0.0
    for r in range(b):
        ratio = _dot(above[b], above[r]) * inverse
        for c in range(above.shape[1]):
            below[r, c] = above[r, c] - ratio * above[b, c]
    return _log(pivot)


@njit(cache=True, nogil=True)
def all_logdets(vectors, log_scale, out):
    """Fill ``out[mask]`` with the log-determinant of the set of bits of ``mask``, for all 2^m masks."""
    _logdet_tree(vectors, log_scale, 0.0, out)


@njit(cache=True, nogil=True)
def logdet_slice(vectors, log_scale, high, low_bits, out):
    """Fill ``out`` with the log-determinants of the 2^low_bits sets whose bits above are those of ``high``."""
    rest = vectors.copy()
    base = 0.0
    for b in range(vectors.shape[0] - 1, low_bits - 1, -1):
        if (high >> (b - low_bits)) & 1:
            base += _keep(rest, rest, b) + log_scale[b]
    _logdet_tree(rest[:low_bits], log_scale, base, out)
