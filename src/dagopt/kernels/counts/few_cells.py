"""Joints of all sets of discrete variables whose possible cells are few, by counting the rows of each set.

A set with p possible cells has one counter for each. Variables are added one by one, from the highest down; the label
of a row's cell is ``label + code * p``, p being the number of cells before. Sets with more than ``largest`` possible
cells are left out together with all sets that contain them. Where these are most sets, this takes less time than
going through all sets as ``slices.py`` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.counts.counting import Counts
from dagopt.kernels.plain import compiled_or_python
from dagopt.kernels.store import njit

__all__ = ["MOST_CELLS", "few_cells_slice"]

MOST_CELLS = 1 << 13  # so that the counters stay in cache
LANES = 4  # counters of one cell, so that an addition need not wait for the one before
FEW_CELLS = 1 << 10  # with more, there is one counter per cell
STEPS_PER_SET = 50  # what ``walk_by_arrays`` takes for a set, in steps of plain Python


def few_cells_slice(counts: Counts, high: int, low_bits: int, out: NDArray[np.floating[Any]], largest: float) -> None:
    """Fill ``out`` with the joints (without a prior) of the 2^low_bits sets whose higher bits are those of ``high``.

    Sets whose arities have a product above ``largest``, which is at most ``MOST_CELLS``, get 0.
    """
    codes, arity = counts.codes, counts.arity
    kept = [b for b in range(low_bits, len(arity)) if (high >> (b - low_bits)) & 1]
    cells = float(np.prod(arity[kept], dtype=np.float64))
    if cells > largest:
        out[:] = 0.0
        return
    labels = np.zeros((low_bits + 1, codes.shape[1]), dtype=np.int32)
    step = 1
    for b in kept:
        labels[low_bits] += codes[b] * np.int32(step)
        step *= int(arity[b])
    run = compiled_or_python(walk_few_cells, len(out) * (STEPS_PER_SET + codes.shape[1] // 100), arrays=walk_by_arrays)
    run(codes, arity, counts.weights, counts.clogc, labels, step, int(largest), out)


def walk_by_arrays(
    codes: NDArray[np.uint16],
    arity: NDArray[np.int64],
    weights: NDArray[np.int64],
    clogc: NDArray[np.float64],
    labels: NDArray[np.int32],
    cells: int,
    largest: int,
    out: NDArray[np.floating[Any]],
) -> None:
    """Do what ``walk_few_cells`` does, with the same sums in the same order, one set at a time."""
    out[:] = 0.0

    def count(mask: int, size: int, label: NDArray[np.int32], below: int) -> None:
        """Count a set, then all sets with it and variables below the given one."""
        counted = np.bincount(label, weights, minlength=size)
        out[mask] = np.cumsum(clogc[counted.astype(np.int64)])[-1]
        for b in range(below):
            if size * arity[b] <= largest:
                count(mask | 1 << b, size * int(arity[b]), label + codes[b] * np.int32(size), b)

    count(0, cells, labels[-1], labels.shape[0] - 1)


@njit(cache=True, nogil=True)
def _joint(label, weights, cells, clogc, counters):
    """Return the sum of c log c over the cells."""
    rows = label.shape[0]
    total = 0.0
    if cells > FEW_CELLS:
        for c in range(cells):
            counters[c] = 0
        for r in range(rows):
            counters[label[r]] += weights[r]
        for c in range(cells):
            total += clogc[counters[c]]
        return total
    for c in range(LANES * cells):
        counters[c] = 0
    for r in range(0, rows - 3, LANES):
        counters[LANES * label[r]] += weights[r]
        counters[LANES * label[r + 1] + 1] += weights[r + 1]
        counters[LANES * label[r + 2] + 2] += weights[r + 2]
        counters[LANES * label[r + 3] + 3] += weights[r + 3]
    for r in range(rows - rows % LANES, rows):
        counters[LANES * label[r]] += weights[r]
    for c in range(0, LANES * cells, LANES):
        total += clogc[counters[c] + counters[c + 1] + counters[c + 2] + counters[c + 3]]
    return total


@njit(cache=True, nogil=True)
def walk_few_cells(codes, arity, weights, clogc, labels, cells, largest, out):
    """Fill ``out[mask]``, counting ``mask`` upwards.

    ``labels[b]`` has the cells of the latest set whose lowest variable is b. The last one has those of the variables
    above the slice, of which there are ``cells``.
    """
    m = labels.shape[0] - 1
    counters = np.empty(max(LANES * FEW_CELLS, largest), dtype=np.int64)
    sizes = np.empty(m + 1, dtype=np.int64)  # the possible cells of those sets
    sizes[m] = cells
    out[0] = _joint(labels[m], weights, cells, clogc, counters)
    mask = 1
    while mask < out.shape[0]:
        b = 0
        while not (mask >> b) & 1:
            b += 1
        above = b + 1
        while above < m and not (mask >> above) & 1:
            above += 1
        before = sizes[above]
        sizes[b] = before * arity[b]
        if sizes[b] > largest:  # so have all following sets with b
            for k in range(mask, mask + (1 << b)):
                out[k] = 0.0
            mask += 1 << b
            continue
        source, target, code = labels[above], labels[b], codes[b]
        for r in range(target.shape[0]):
            target[r] = source[r] + np.int32(code[r]) * np.int32(before)
        out[mask] = _joint(target, weights, sizes[b], clogc, counters)
        mask += 1
