"""Chains of many columns or of many rows, in pieces between which the clock is looked at.

A compiled chain cannot be stopped. Of a few thousand columns, or of a million rows, it takes seconds. The functions
here give the same values; their twins are the kernels ``joint_chain``.

Log-determinants of a matrix are the exception, as they are not the kernel's loop in pieces: the Cholesky factor is made
a block of columns at a time, so that what the columns before them explain is one product of matrices, ten times as fast
with 3,000 columns. The conventions are those of ``kernels/gaussian/logdet.py``: a pivot below ``PIVOT_FLOOR`` is raised
to it, and such a column explains nothing of later ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.deadline import Deadline
from dagopt.kernels.counts import counting
from dagopt.kernels.counts.counting import Counts
from dagopt.kernels.gaussian import vectors as coordinates
from dagopt.kernels.gaussian.logdet import PIVOT_FLOOR

__all__ = ["LONG", "MANY_CELLS", "joints_of_counts", "log_pivots", "log_pivots_of_vectors"]

LONG = 400  # columns from which the blocks are faster than the compiled loop
MANY_CELLS = 10_000_000  # columns times distinct rows, which a chain of counts takes a tenth of a second for
BLOCK = 32  # columns at a time: with 10,000 columns a block takes about a third of a second


def log_pivots(matrix: Floats, order: Ints, deadline: Deadline) -> Floats:
    """Return the logarithms of the pivots of ``matrix[order, order]``, or raise ``Stopped`` at the deadline.

    Parameters
    ----------
    matrix : array
        With a diagonal near one.
    order : int array
        The columns.
    deadline : Deadline
        Looked at before every block.
    """
    size = len(order)
    factor = np.zeros((size, size))
    pivots = np.empty(size)
    for first in range(0, size, BLOCK):
        deadline.require_time()
        last = min(first + BLOCK, size)
        before = factor[first:, :first]
        rest = matrix[np.ix_(order[first:], order[first:last])]
        if first:
            rest = rest - before @ before[: last - first].T
        for k in range(last - first):
            pivot = max(float(rest[k, k]), PIVOT_FLOOR)
            pivots[first + k] = pivot
            if pivot <= PIVOT_FLOOR:
                continue  # its column of the factor stays zero
            column = rest[k:, k] / np.sqrt(pivot)
            factor[first + k :, first + k] = column
            rest[k + 1 :, k + 1 :] -= np.outer(column[1:], column[1 : last - first - k])
    return np.log(pivots)


def log_pivots_of_vectors(vectors: Floats, order: Ints, deadline: Deadline) -> Floats:
    """Return the same for columns given by coordinates, which are precise if the columns are nearly dependent."""
    append: Any = coordinates._append
    basis = np.empty((len(order), vectors.shape[1]))
    pivots = np.empty(len(order))
    for k, column in enumerate(order):
        deadline.require_time()
        pivots[k] = append(vectors, basis, k, column)
    is_something = pivots >= coordinates.DEPENDENT
    return np.where(is_something, np.log(np.where(is_something, pivots, 1.0)), coordinates.LOG_OF_NOTHING)


def joints_of_counts(counts: Counts, order: Ints, deadline: Deadline) -> Floats:
    """Return the joints of counts along an order, or raise ``Stopped`` at the deadline, looked at for every column."""
    refine: Any = counting.refine
    cell_sum: Any = counting.cell_sum
    codes, arity, weights, clogc, ess = counts
    cells, span, product = np.zeros(codes.shape[1], dtype=np.int64), np.int64(1), 1.0
    joints = np.empty(len(order) + 1)
    joints[0] = cell_sum(cells, span, weights, clogc, ess, product)
    for k, column in enumerate(order):
        deadline.require_time()
        span = np.int64(refine(cells, span, codes[column], arity[column]))
        product *= float(arity[column])
        joints[k + 1] = cell_sum(cells, span, weights, clogc, ess, product)
    return joints
