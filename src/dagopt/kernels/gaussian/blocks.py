"""Log-determinants of unions of groups of columns of one positive definite matrix.

A node is a group of adjacent columns, ``starts[j]`` to ``starts[j + 1]`` exclusive; ``log_scale[j]`` is the
log-determinant that was divided out of group j. For a node ``i`` and a set ``J`` of nodes

* ``logdet(J)`` = log det of the columns of all groups of J,
* ``logres(i, J)`` = logdet(J + i) - logdet(J).

With one column per group these are the quantities of ``logdet.py``, computed by the same Cholesky rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.gaussian.logdet import PIVOT_FLOOR, _append_row
from dagopt.kernels.store import njit


class BlockForm(NamedTuple):
    """A score made of log-determinants of groups of columns.

    ``rates`` has N / 2, what a column of the matrix costs by itself, what a parameter and what an edge cost: a node
    of m columns with k parents of w columns scores ``-rates[1] m - rates[0] logres - rates[2] m w - rates[3] k``.
    """

    matrix: NDArray[np.float64]
    log_scale: NDArray[np.float64]
    starts: NDArray[np.int64]
    rates: NDArray[np.float64]


@njit(cache=True, nogil=True)
def _append_group(matrix, log_scale, starts, factor, order, size, node):
    """Append the columns of a group to ``size`` columns; return what they add to the log-determinant."""
    total = log_scale[node]
    for column in range(starts[node], starts[node + 1]):
        order[size] = column
        total += math.log(_append_row(matrix, factor, order, size, column))
        size += 1
    return total


@njit(cache=True, nogil=True)
def _room(starts, nodes):
    total = 0
    for node in nodes:
        total += starts[node + 1] - starts[node]
    return total


@njit(cache=True, nogil=True)
def logs(matrix, log_scale, starts, node, parents):
    """Return ``logdet(J)``, ``logres(i, J)`` and how many columns J has."""
    room = _room(starts, parents)
    most = room + starts[node + 1] - starts[node]
    factor = np.empty((most, most))
    order = np.empty(most, dtype=np.int64)
    logdet = 0.0
    size = 0
    for parent in parents:
        logdet += _append_group(matrix, log_scale, starts, factor, order, size, parent)
        size += starts[parent + 1] - starts[parent]
    return logdet, _append_group(matrix, log_scale, starts, factor, order, size, node), room


@njit(cache=True, nogil=True)
def logs_many(matrix, log_scale, starts, nodes, flat, offsets, logres, widths):
    """Fill ``logres`` and the width of the parents for many sets; set ``k`` is ``flat[offsets[k]:offsets[k + 1]]``."""
    for k in range(nodes.shape[0]):
        parents = flat[offsets[k] : offsets[k + 1]]
        _, logres[k], widths[k] = logs(matrix, log_scale, starts, nodes[k], parents)


@njit(cache=True, nogil=True)
def joint_chain(matrix, log_scale, starts, order, logdet):
    """Fill ``logdet[k]`` with the log-determinant of the first ``k`` nodes of ``order``."""
    room = _room(starts, order)
    factor = np.empty((room, room))
    columns = np.empty(room, dtype=np.int64)
    logdet[0] = 0.0
    size = 0
    for k in range(order.shape[0]):
        logdet[k + 1] = logdet[k] + _append_group(matrix, log_scale, starts, factor, columns, size, order[k])
        size += starts[order[k] + 1] - starts[order[k]]


@njit(cache=True, nogil=True)
def additions(matrix, log_scale, starts, node, parents, candidates, logres):
    """Fill ``logres[k]`` with ``logres(i, J + candidates[k])``; return ``logres(i, J)`` and how many columns J has."""
    room = _room(starts, parents)
    widest = 0
    for j in candidates:
        widest = max(widest, starts[j + 1] - starts[j])
    most = room + widest + starts[node + 1] - starts[node]
    factor = np.empty((most, most))
    order = np.empty(most, dtype=np.int64)
    size = 0
    for parent in parents:
        _append_group(matrix, log_scale, starts, factor, order, size, parent)
        size += starts[parent + 1] - starts[parent]
    own = _append_group(matrix, log_scale, starts, factor, order, size, node)
    for k in range(candidates.shape[0]):
        j = candidates[k]
        _append_group(matrix, log_scale, starts, factor, order, size, j)
        more = size + starts[j + 1] - starts[j]
        logres[k] = _append_group(matrix, log_scale, starts, factor, order, more, node)
    return own, room


@njit(cache=True, nogil=True)
def _eliminate(work, first, last):
    """Eliminate columns ``last - 1`` down to ``first`` from those before them; return the sum of the log pivots."""
    total = 0.0
    for column in range(last - 1, first - 1, -1):
        pivot = max(work[column, column], PIVOT_FLOOR)
        total += math.log(pivot)
        predicts = 1.0 / pivot if pivot > PIVOT_FLOOR else 0.0
        for r in range(column):
            ratio = work[column, r] * predicts
            for c in range(r + 1):
                work[r, c] -= ratio * work[column, c]
    return total


@njit(cache=True, nogil=True)
def logdet_slice(matrix, log_scale, starts, high, low_bits, out):
    """Fill ``out`` with the log-determinants of the 2^low_bits sets whose bits above are those of ``high``.

    A tree of Schur complements as in ``logdet.py``, with one group at each level.
    """
    n = starts.shape[0] - 1
    rest = matrix.copy()
    base = 0.0
    for b in range(n - 1, low_bits - 1, -1):
        if (high >> (b - low_bits)) & 1:
            base += _eliminate(rest, starts[b], starts[b + 1]) + log_scale[b]
    width = starts[low_bits]
    work = np.empty((low_bits + 1, width, width))
    source = np.full(low_bits + 1, low_bits, dtype=np.int64)
    value = np.full(low_bits + 1, base)
    work[low_bits] = rest[:width, :width]
    out[0] = base
    for mask in range(1, 1 << low_bits):
        b = 0
        while not (mask >> b) & 1:
            b += 1
        last = starts[b + 1]
        above = work[source[b + 1]]
        below = work[b]
        for r in range(last):
            for c in range(r + 1):
                below[r, c] = above[r, c]
        total = value[b + 1] + _eliminate(below, starts[b], last) + log_scale[b]
        for level in range(b + 1):
            source[level] = b
            value[level] = total
        out[mask] = total
