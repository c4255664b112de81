"""The score of every set of columns, in extended precision: local scores are differences of two of them.

``joints[S]`` has one entry per set S, bit b of the index for column b. It is written anew here, with numpy alone, so
that a mistake in ``dagopt.scores`` is not repeated. Each function also returns how far rounding can move the score of
a DAG.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WIDE", "Wide", "count_joints", "gaussian_joints"]

WIDE = np.longdouble  # 64 bits of mantissa on x86; elsewhere it may have 53 or 113
Wide = NDArray[np.longdouble]
UNIT = float(np.finfo(WIDE).eps)
TABLES = 128  # tables of logarithms that are kept, one per number of possible cells


def gaussian_joints(values: NDArray[np.float64]) -> tuple[Wide, float]:
    """Return the largest Gaussian log-likelihood of every set of columns, and the rounding in the score of a DAG.

    It is ``-N/2 (log det of the covariance + size (1 + log 2 pi))``. Columns are taken or dropped from the last to the
    first; to take one is to subtract what it explains from the others, and its variance left is a factor of the
    determinant.

    Raises
    ------
    ArithmeticError
        If a column is constant or a combination of others.
    """
    n_rows, n = values.shape
    centred = values.astype(WIDE)
    largest = np.abs(centred).max(axis=0)
    for _ in range(2):  # the second time for the rounding of the first mean
        centred = centred - centred.mean(axis=0)
    variance = (centred**2).mean(axis=0)
    if not (variance > 0).all():
        raise ArithmeticError("a column is constant")
    centred = centred / np.sqrt(variance * n_rows)
    left = (centred.T @ centred)[None]
    sums = np.zeros(1, dtype=WIDE)
    correlation = left[0].astype(np.float64)
    for column in reversed(range(n)):
        pivot, row, rest = left[:, column, column], left[:, column, :column], left[:, :column, :column]
        if not (pivot > 16 * n * UNIT).all():
            raise ArithmeticError("a column is a combination of others")
        taken = rest - row[:, :, None] * row[:, None, :] / pivot[:, None, None]
        left = np.stack([rest, taken], axis=1).reshape(2 * len(rest), column, column)
        own = np.log(pivot) + np.log(variance[column]) + 1 + np.log(8 * np.arctan(WIDE(1)))
        sums = np.stack([sums, sums + own], axis=1).ravel()
    # If every entry of a matrix M moves by d, log det M moves by at most about d (sum of sqrt((M^-1)_ii))^2.
    # The first mean is off by N roundings of the largest number, which the second takes away to within N of the rest.
    entry = UNIT * (4 * n_rows + 4 * n + 32) * (1 + n_rows * UNIT * float((largest / np.sqrt(variance)).max()))
    spread = float(np.sqrt(np.maximum(np.diag(np.linalg.inv(correlation)), 0.0)).sum()) ** 2
    rounding = n * n_rows * (entry * spread + 16 * n * UNIT * (1 + float(np.abs(sums).max())))
    return -0.5 * n_rows * sums, rounding


def count_joints(
    codes: NDArray[Any], weights: NDArray[np.int64], arity: list[int], prior: float = 0.0
) -> tuple[Wide, float]:
    """Return what the counts of every set of columns add to a score, and the rounding in the score of a DAG.

    Parameters
    ----------
    codes : array of shape (n, distinct rows)
        The levels of each column.
    weights : array
        How often each distinct row occurs.
    arity : list of int
        The number of levels of each column.
    prior : float
        0 for the likelihood, the sum of c log c over the counts c; else the equivalent sample size of BDeu, where a
        cell with c rows adds log p (p + 1) ... (p + c - 1), p being the prior divided by the number of possible cells.
    """
    n, n_rows, total = len(codes), codes.shape[1], int(weights.sum())
    joints = np.zeros(1 << n, dtype=WIDE)

    @lru_cache(maxsize=TABLES)
    def terms(cells: int) -> Wide:
        """Return what a cell with 0, 1, ..., N rows adds."""
        counts = np.arange(total + 1, dtype=WIDE)
        if prior == 0.0:
            return np.asarray(counts * np.log(np.maximum(counts, 1)), dtype=WIDE)
        steps = np.log(WIDE(prior) / WIDE(cells) + counts[:-1])
        return np.concatenate([np.zeros(1, dtype=WIDE), np.cumsum(steps)])

    def fill(chosen: int, first: int, labels: NDArray[np.int64], cells: int) -> None:
        """Fill in the set ``chosen`` with each later column and all that follow; ``labels`` has the cell of a row."""
        for column in range(first, n):
            both, more = labels * arity[column] + codes[column], cells * arity[column]
            _, inverse = np.unique(both, return_inverse=True)
            counts = np.bincount(inverse, weights).astype(np.int64)
            joints[chosen | 1 << column] = terms(more if prior else 0)[counts].sum()
            fill(chosen | 1 << column, column + 1, inverse, more)

    joints[0] = terms(1 if prior else 0)[total]
    fill(0, 0, np.zeros(n_rows, dtype=np.int64), 1)
    size = total * (math.log(total + 1) + sum(map(math.log, arity)) + 1 + (abs(math.log(prior)) if prior else 0.0))
    return joints, 2 * n * UNIT * (n_rows + (total if prior else 0) + 4 * n + 16) * size
