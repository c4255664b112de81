"""The Gaussian score of every set of columns, in extended precision: local scores are differences of two of them.

It is written anew here, with numpy alone, so that a mistake in ``dagopt.scores`` is not repeated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.verifier.best import Allowed, Floats, without

__all__ = ["WIDE", "GaussianLocals", "Wide", "gaussian_joints"]

WIDE = np.longdouble  # 64 bits of mantissa on x86; elsewhere it may have 53 or 113
Wide = NDArray[np.longdouble]
UNIT = float(np.finfo(WIDE).eps)
TOGETHER = 14  # columns whose sets are worked on at once


def gaussian_joints(values: NDArray[np.float64]) -> tuple[Floats, float]:
    """Return the largest Gaussian log-likelihood of every set of columns, and the rounding in the score of a DAG.

    Bit b of the index is column b. The likelihood is ``-N/2 (log det of the covariance + size (1 + log 2 pi))``.
    Columns are taken or dropped from the last to the first; to take one is to subtract what it explains from the
    others, and its variance left is a factor of the determinant.

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
        raise ArithmeticError("a column is constant, so that scores have no upper limit")
    centred = centred / np.sqrt(variance * n_rows)
    matrix = centred.T @ centred
    joints = np.empty(1 << n)
    constants = np.log(variance) + 1 + np.log(8 * np.arctan(WIDE(1)))
    _fill(joints, matrix[None], np.zeros(1, dtype=WIDE), constants, -WIDE(n_rows) / 2)
    # If every entry of a matrix M moves by d, log det M moves by at most about d (sum of sqrt((M^-1)_ii))^2.
    # The first mean is off by N roundings of the largest number, which the second takes away to within N of the rest.
    entry = UNIT * (4 * n_rows + 4 * n + 32) * (1 + n_rows * UNIT * float((largest / np.sqrt(variance)).max()))
    inverse = np.linalg.inv(matrix.astype(np.float64))
    spread = float(np.sqrt(np.maximum(np.diag(inverse), 0.0)).sum()) ** 2
    size = float(max(joints.max(), -joints.min()))
    rounding = n * n_rows * entry * spread + 16 * n * n * UNIT * (n_rows + size) + 4 * n * np.finfo(float).eps * size
    return joints, float(rounding)


def _fill(out: Floats, left: Wide, sums: Wide, constants: Wide, factor: np.longdouble) -> None:
    """Write the likelihoods of all sets of the columns of ``left``, to which those that are taken added ``sums``."""
    n = left.shape[1]
    if len(left) == 1 and n > TOGETHER:  # without and with the last column
        half = len(out) // 2
        rest, taken, own = _taken(left, constants)
        _fill(out[:half], rest, sums, constants, factor)
        _fill(out[half:], taken, sums + own, constants, factor)
        return
    for _ in range(n):
        rest, taken, own = _taken(left, constants)
        left = np.stack([rest, taken], axis=1).reshape(2 * len(rest), *rest.shape[1:])
        sums = np.stack([sums, sums + own], axis=1).ravel()
    out[:] = factor * sums


def _taken(left: Wide, constants: Wide) -> tuple[Wide, Wide, Wide]:
    """Return the matrices of the other columns without and with the last one, and what that one adds."""
    last = left.shape[1] - 1
    pivot, row, rest = left[:, last, last], left[:, last, :last], left[:, :last, :last]
    if not (pivot > 16 * len(constants) * UNIT).all():
        raise ArithmeticError("a column is a combination of others, so that scores have no upper limit")
    taken = rest - row[:, :, None] * (row / pivot[:, None])[:, None, :]
    return rest, taken, np.log(pivot) + constants[last]


class GaussianLocals:
    """Local scores from the joint likelihoods: ``penalty`` has the cost of 0, 1, 2, ... parents."""

    def __init__(self, joints: Floats, penalty: Floats, allowed: list[Allowed]) -> None:
        self._joints = joints
        self._penalty = penalty
        self._allowed = allowed

    def raise_to(self, best: Floats, i: int, high: int, low: int) -> bool:
        """Raise ``best`` to the scores of column i with parents H + L; see ``Locals``."""
        rule = self._allowed[i]
        if high << low & ~rule.may or rule.must >> low & ~high:
            return False
        block = self._joints[high << low : (high + 1) << low]
        if i < low:
            pairs = block.reshape(-1, 2, 1 << i)  # sets without and with i
            local = (pairs[:, 1] - pairs[:, 0]).ravel()
        else:
            local = self._joints[(high << low) + (1 << i) :][: len(block)] - block
        sets = np.arange(len(local), dtype=np.int32)
        size = np.bitwise_count(sets) + high.bit_count()
        local -= self._penalty[size]
        must, may = (bits & ((1 << low) - 1) for bits in (rule.must, rule.may))
        if i < low:
            must, may = (int(without(np.array(bits), i)) for bits in (must, may))
        if must or may + 1 < len(local) or rule.most + 1 < len(self._penalty):
            local[(sets & must != must) | (sets & ~may != 0) | (size > rule.most)] = -np.inf
        larger = bool((local > best).any())
        np.maximum(best, local, out=best)
        return larger

    def own(self, i: int, parents: int) -> float:
        """Return the score of column i with these parents."""
        return float(self._joints[parents | 1 << i] - self._joints[parents] - self._penalty[parents.bit_count()])
