"""Joints of all sets of a few discrete variables with few levels, from one table of counts and without compilation.

The counts of the cells of all variables are one array with an axis per variable. A further entry on an axis, the sum
of the others, says "this variable is not in the set": with it on all axes, the array has the cells of all sets, as the
data cubes of databases do. Then what the cells add is summed over each axis in turn. This is done in blocks of the
lowest variables, so that the arrays stay in the cache.
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
MOST_IN_BLOCK = 60_000  # cells that are expanded at once: half a megabyte stays in the cache
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
    whole = arity[:low_bits]
    # The lowest axes are as many as fit into a block; the others are gone through set by set.
    low, size = 0, 1
    while low < low_bits and size * (whole[low] + 1) <= MOST_IN_BLOCK:
        size *= whole[low] + 1
        low += 1
    above = whole[low:]
    width = math.prod(whole[:low])
    cells = np.bincount(cell, counts.weights, minlength=outer * math.prod(whole)).astype(np.int64)
    cells = cells.reshape(outer, *reversed(above), width)
    for mask in range(1 << len(above)):
        dropped = tuple(len(above) - b for b in range(len(above)) if not mask >> b & 1)
        blocks = cells.sum(axis=dropped).reshape(-1, width) if dropped else cells.reshape(-1, width)
        terms = np.zeros(size)
        for block in blocks:
            if block.any():
                terms += counts.clogc.take(_with_sums(block, whole[:low]), mode="clip")
        out[mask << low : (mask + 1) << low] = _over_sets(terms, whole[:low])
    out[outer * low_products(counts.arity, low_bits) > largest] = 0.0


def _with_sums(cells: NDArray[np.int64], arity: list[int]) -> NDArray[np.int64]:
    """Return cells, the first variable as the lowest digit, with the sum of the others before each axis."""
    inner = 1
    for a in arity:
        before = cells.reshape(-1, a, inner)
        cells = np.empty((len(before), a + 1, inner), dtype=np.int64)
        _add_levels(before, cells[:, 0])
        cells[:, 1:] = before
        inner *= a + 1
    return cells.reshape(-1)


def _over_sets(terms: NDArray[np.float64], arity: list[int]) -> NDArray[np.float64]:
    """Return the sums of what cells add for every set: each axis becomes without the variable, and all its levels."""
    sets, inner = 1, len(terms)
    for a in reversed(arity):
        inner //= a + 1
        added = terms.reshape(sets, a + 1, inner)
        terms = np.empty((sets, 2, inner))
        terms[:, 0] = added[:, 0]
        _add_levels(added[:, 1:], terms[:, 1])
        sets *= 2
    return terms.reshape(-1)


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
