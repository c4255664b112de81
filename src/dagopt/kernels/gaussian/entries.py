"""Entries of a matrix of correlations: looked up, or computed from the columns where the matrix would be too large.

A kernel reads ``entry(source, i, j)``. The source is a matrix, or ``Columns`` of length 1, whose products are the
entries. Which one is decided when the kernel is compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from dagopt.kernels.store import njit

__all__ = ["Columns", "entry", "product"]


class Columns(NamedTuple):
    """Columns with mean 0 and length 1, one in each row of the array."""

    rows: NDArray[np.float64]


@njit(cache=True, nogil=True, fastmath=True)
def product(rows, i, j):
    """Return the product of two columns; the order of the sum is the compiler's."""
    first, second = rows[i], rows[j]
    total = 0.0
    for k in range(first.shape[0]):
        total += first[k] * second[k]
    return total


def entry(source: Any, i: Any, j: Any) -> Any:
    """Return an entry of the matrix."""
    return product(source.rows, i, j) if isinstance(source, Columns) else source[i, j]


@overload(entry)
def _entry(source, i, j):
    if isinstance(source, types.BaseNamedTuple):
        return lambda source, i, j: product(source.rows, i, j)
    return lambda source, i, j: source[i, j]
