"""Joints of all sets of a few discrete variables with few levels, from one table of counts and without compilation.

The counts of the cells of all variables are one array with an axis per variable. A further entry on an axis, the sum
of the others, says "this variable is not in the set": with it on all axes, the array has the cells of all sets, as the
data cubes of databases do. Then what the cells add is summed over each axis in turn.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.counts.counting import Counts
from dagopt.kernels.counts.slices import low_products

__all__ = ["cube_slice", "is_small_cube"]

PAIRWISE = 8  # from so many numbers on, numpy adds up in another order
MOST_CELLS = 1 << 20  # 8 MB; twelve variables with two levels have half of them


def is_small_cube(counts: Counts) -> bool:
    """Say whether the cube is small, also beside the work of going through the rows of every set; without a prior."""
    cells = float(np.prod(counts.arity + 1.0))
    return counts.ess == 0 and cells <= min(MOST_CELLS, counts.codes.shape[1] * 2.0 ** len(counts.arity))


def cube_slice(
    counts: Counts, high: int, low_bits: int, out: NDArray[np.floating[Any]], largest: float = math.inf
) -> None:
    """Fill ``out`` with the joints of the 2^low_bits sets whose higher bits are those of ``high``.

    Sets whose arities have a product above ``largest`` get 0.
    """
    arity = counts.arity.tolist()
    # The cell of each row over the low variables and those above that are in the sets, variable 0 as the lowest digit.
    cell = np.zeros(counts.codes.shape[1], dtype=np.int64)
    outer = 1
    for b in range(len(arity) - 1, -1, -1):
        if b < low_bits or high >> (b - low_bits) & 1:
            cell = cell * arity[b] + counts.codes[b]
        if b >= low_bits and high >> (b - low_bits) & 1:
            outer *= arity[b]
    width = int(np.prod(counts.arity[:low_bits]))
    cells = np.bincount(cell, counts.weights, minlength=outer * width).astype(np.int64)
    # The first entry of each axis becomes the sum of the others.
    inner = 1
    for a in arity[:low_bits]:
        before = cells.reshape(-1, a, inner)
        cells = np.empty((len(before), a + 1, inner), dtype=np.int64)
        _add_levels(before, cells[:, 0])
        cells[:, 1:] = before
        inner *= a + 1
    # Then each axis becomes one of two entries: without the variable, and with all of its levels.
    terms = counts.clogc.take(cells.reshape(outer, inner))
    terms = terms[0] if outer == 1 else terms.sum(axis=0)
    sets = 1
    for a in reversed(arity[:low_bits]):
        inner //= a + 1
        added = terms.reshape(sets, a + 1, inner)
        terms = np.empty((sets, 2, inner))
        terms[:, 0] = added[:, 0]
        _add_levels(added[:, 1:], terms[:, 1])
        sets *= 2
    out[:] = terms.reshape(-1)
    out[outer * low_products(counts.arity, low_bits) > largest] = 0.0


def _add_levels(values: NDArray[Any], out: NDArray[Any]) -> None:
    """Add up over the second axis, from the first level to the last.

    With few levels, whole arrays are added: numpy's own sums over a short axis take several times as long.
    """
    levels = values.shape[1]
    if levels == 1 or levels >= PAIRWISE:
        np.add.reduce(values, axis=1, out=out)
        return
    np.add(values[:, 0], values[:, 1], out=out)
    for k in range(2, levels):
        np.add(out, values[:, k], out=out)
