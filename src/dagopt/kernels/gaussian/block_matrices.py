"""Covariances of blocks of columns: log-determinants, inverses, and what blocks tell about each other.

A block is a run of columns; ``starts`` has the first column of each, and the number of columns at the end.
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.kernels.store import njit

TINY = 1e-300  # stands for a pivot that rounding made zero or negative


def room_for(starts: Ints) -> Floats:
    """Return room for the matrices of any two blocks."""
    widest = 2 * int(np.diff(starts).max())
    return np.empty((6, widest, widest))


@njit(cache=True, nogil=True)
def logdet_of(matrix, first, last, sign, room):
    """Return log det of ``sign`` times a diagonal block of a matrix, by a Cholesky factorisation in ``room``."""
    if last - first == 1:
        return math.log(max(sign * matrix[first, first], TINY))
    total = 0.0
    for a in range(last - first):
        for b in range(a + 1):
            value = sign * matrix[first + a, first + b]
            for c in range(b):
                value -= room[a, c] * room[b, c]
            if a == b:
                pivot = max(value, TINY)
                total += math.log(pivot)
                room[a, a] = math.sqrt(pivot)
            else:
                room[a, b] = value / room[b, b]
    return total


@njit(cache=True, nogil=True)
def given(matrix, p, size):
    """Take what variable ``p`` explains out of the other covariances; return one over its variance."""
    inverse = 1.0 / max(matrix[p, p], TINY) if matrix[p, p] > 0.0 else 1.0 / TINY
    for a in range(size):
        if a != p:
            factor = matrix[a, p] * inverse
            for b in range(size):
                if b != p:
                    matrix[a, b] -= factor * matrix[p, b]
    return inverse


@njit(cache=True, nogil=True)
def invert(matrix, size):
    """Replace the first ``size`` rows and columns of a positive definite matrix by their inverse."""
    for p in range(size):
        inverse = given(matrix, p, size)
        for b in range(size):
            if b != p:
                matrix[p, b] *= inverse
                matrix[b, p] = matrix[p, b]
        matrix[p, p] = -inverse
    for a in range(size):
        for b in range(size):
            matrix[a, b] = -matrix[a, b]


@njit(cache=True, nogil=True)
def two_blocks(source, starts, i, j, target):
    """Copy the rows and columns of block i and then of block j; return how many there are."""
    mi = starts[i + 1] - starts[i]
    size = mi + starts[j + 1] - starts[j]
    for a in range(size):
        va = starts[i] + a if a < mi else starts[j] + a - mi
        for b in range(size):
            target[a, b] = source[va, starts[i] + b if b < mi else starts[j] + b - mi]
    return size


@njit(cache=True, nogil=True)
def given_fewer(lower, starts, i, j, target, room):
    """Fill ``target`` with the covariances of i and a member j of J given J - j, from the matrix swept by J."""
    size = two_blocks(lower, starts, i, j, target)
    mi = starts[i + 1] - starts[i]
    mj = size - mi
    for a in range(mj):
        for b in range(mj):
            room[a, b] = -target[mi + a, mi + b]
    invert(room, mj)  # var(j | J - j)
    # cov(i, j | J - j) = B var(j | J - j), var(i | J - j) = var(i | J) + B var(j | J - j) Bᵀ, B the coefficients of j
    for a in range(mi):
        for b in range(mj):
            value = 0.0
            for c in range(mj):
                value += target[a, mi + c] * room[c, b]
            target[mi + b, a] = value
    for a in range(mi):
        for b in range(mi):
            for c in range(mj):
                target[a, b] += target[mi + c, a] * target[b, mi + c]
    for a in range(mj):
        for b in range(mi):
            target[b, mi + a] = target[mi + a, b]
        for b in range(mj):
            target[mi + a, mi + b] = room[a, b]


@njit(cache=True, nogil=True)
def information(matrix, starts, i, j, work):
    """Return log det of block i plus that of block j, less that of both: what they tell about each other."""
    size = two_blocks(matrix, starts, i, j, work[2])
    own = logdet_of(matrix, starts[i], starts[i + 1], 1.0, work[0])
    other = logdet_of(matrix, starts[j], starts[j + 1], 1.0, work[0])
    return own + other - logdet_of(work[2], 0, size, 1.0, work[0])
