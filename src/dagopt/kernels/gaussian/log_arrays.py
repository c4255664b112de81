"""Kernels of ``logdet.py`` and ``blocks.py`` with whole arrays, before anything is compiled: the same digits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.gaussian.logdet import _ROOT_OF_FLOOR, PIVOT_FLOOR, _append_row
from dagopt.kernels.plain import plain

__all__ = ["additions_arrays", "logdet_slice_arrays"]


def additions_arrays(
    matrix: NDArray[np.float64],
    log_scale: NDArray[np.float64],
    node: int,
    parents: NDArray[np.int64],
    logdet: NDArray[np.float64],
    logres: NDArray[np.float64],
) -> None:
    """Do what ``additions`` does for all variables at once: the same operations in the same order."""
    size = len(parents)
    known, base = np.empty((size, size)), 0.0
    for k, parent in enumerate(parents.tolist()):
        base += math.log(plain(_append_row)(matrix, known, parents, k, parent)) + log_scale[parent]
    rows = np.empty((size, len(matrix)))  # the row of the factor that each variable would have
    pivot = matrix.diagonal().copy()
    for a, parent in enumerate(parents.tolist()):
        value = matrix[:, parent].copy()
        for b in range(a):
            value -= rows[b] * known[a, b]
        rows[a] = value / known[a, a] if known[a, a] > _ROOT_OF_FLOOR else 0.0
        pivot -= rows[a] * rows[a]
    np.maximum(pivot, PIVOT_FLOOR, out=pivot)
    covariance = matrix[node].copy()
    for b in range(size):
        covariance -= rows[b, node] * rows[b]
    left = pivot[node] - np.where(pivot > PIVOT_FLOOR, covariance * covariance / pivot, 0.0)
    logdet[:] = [base + math.log(own) for own in pivot.tolist()]
    logdet += log_scale
    logres[:] = [math.log(own) for own in np.maximum(left, PIVOT_FLOOR).tolist()]
    logres += log_scale[node]
    logdet[[node, *parents]] = logres[[node, *parents]] = np.nan


def logdet_slice_arrays(
    matrix: NDArray[np.float64],
    log_scale: NDArray[np.float64],
    starts: NDArray[np.int64],
    high: int,
    low_bits: int,
    out: NDArray[np.float64],
) -> None:
    """Do what ``logdet_slice`` does for all sets at once: the same operations in the same order.

    From the highest bit down, ``work`` has a matrix for every choice of the bits above: what is left of the columns.
    """
    work, value = matrix[None].copy(), np.zeros(1)
    for b in range(len(starts) - 2, low_bits - 1, -1):
        if (high >> (b - low_bits)) & 1:
            value += _eliminated(work, starts[b], starts[b + 1]) + log_scale[b]
    for b in range(low_bits - 1, -1, -1):
        first, last = starts[b], starts[b + 1]
        kept = work[:, :last, :last].copy()
        more = value + _eliminated(kept, first, last) + log_scale[b]
        work = np.stack([work[:, :first, :first], kept[:, :first, :first]], axis=1).reshape(2 * len(work), first, first)
        value = np.stack([value, more], axis=1).reshape(-1)
    out[:] = value


def _eliminated(work: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
    """Do what ``_eliminate`` does to many matrices."""
    total = np.zeros(len(work))
    for column in range(last - 1, first - 1, -1):
        pivot = np.maximum(work[:, column, column], PIVOT_FLOOR)
        total += [math.log(own) for own in pivot.tolist()]  # the digits of np.log may differ
        row = work[:, column, :column]
        ratio = row * np.where(pivot > PIVOT_FLOOR, 1.0 / pivot, 0.0)[:, None]
        work[:, :column, :column] -= ratio[:, :, None] * row[:, None, :]
    return total
