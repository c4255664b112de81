"""Joints of all sets of discrete variables whose possible cells are few, by counting the rows of each set.

A set with p possible cells has one counter for each. Variables are decided one by one, from the highest down; the label
of a row's cell is ``label + code * p``, p being the number of cells before. Sets with more than ``largest`` possible
cells are left out together with all sets that contain them. Where these are most sets, this takes less time than
going through all sets as ``slices.py`` does.

Rows with the same label and the same codes of all undecided variables stay together, whatever is decided. At a few
*stations* on the way down they are merged into one row with the sum of the weights, so that the many sets below are
counted over few rows. Variables with few levels are best at the bottom.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Ints
from dagopt.kernels.counts.counting import Counts
from dagopt.kernels.plain import compiled_or_python
from dagopt.kernels.store import njit

__all__ = ["MOST_CELLS", "few_cells_slice", "fits_words"]

MOST_CELLS = 1 << 13  # so that the counters stay in cache
STEPS_PER_SET = 50  # what ``walk_by_arrays`` takes for a set, in steps of plain Python
BITS_BETWEEN = 4  # variables from one station to the next: 2^4 sets are counted after rows are merged
WORD_BITS = 62  # of the codes of the undecided variables of a row, in one number


class Stations(NamedTuple):
    """The merged rows of each station: station 0 is above all variables, the next ones ``BITS_BETWEEN`` below.

    Attributes
    ----------
    labels, packed, weights : arrays of shape (stations, rows)
        The cell of each row, the codes of the variables below the station in one number, and the weight.
    sizes : int array of shape (stations,)
        The number of rows.
    slots : int array
        Room for hashing: at least two slots per row, a power of two.
    """

    labels: NDArray[np.int32]
    packed: Ints
    weights: Ints
    sizes: Ints
    slots: NDArray[np.int32]


def _widths(arity: Ints) -> Ints:
    """Return how many bits the codes of each variable take."""
    return np.array([int(a - 1).bit_length() for a in arity], dtype=np.int64)


def fits_words(arity: Ints, low_bits: int) -> bool:
    """Say whether the codes of the lowest variables fit into one number."""
    return int(_widths(arity[:low_bits]).sum()) <= WORD_BITS


def few_cells_slice(counts: Counts, high: int, low_bits: int, out: NDArray[np.floating[Any]], largest: float) -> None:
    """Fill ``out`` with the joints (without a prior) of the 2^low_bits sets whose higher bits are those of ``high``.

    Sets whose arities have a product above ``largest``, which is at most ``MOST_CELLS``, get 0. The lowest variables
    must fit into one number: see ``fits_words``.
    """
    codes, arity = counts.codes, counts.arity
    kept = [b for b in range(low_bits, len(arity)) if (high >> (b - low_bits)) & 1]
    cells = float(np.prod(arity[kept], dtype=np.float64))
    if cells > largest:
        out[:] = 0.0
        return
    label = np.zeros(codes.shape[1], dtype=np.int32)
    step = 1
    for b in kept:
        label += codes[b] * np.int32(step)
        step *= int(arity[b])
    run = compiled_or_python(walk_few_cells, len(out) * (STEPS_PER_SET + codes.shape[1] // 10), arrays=walk_by_arrays)
    run(codes[:low_bits], arity[:low_bits], counts.weights, counts.clogc, label, step, int(largest), out)


def walk_by_arrays(
    codes: NDArray[np.uint16],
    arity: NDArray[np.int64],
    weights: NDArray[np.int64],
    clogc: NDArray[np.float64],
    label: NDArray[np.int32],
    cells: int,
    largest: int,
    out: NDArray[np.floating[Any]],
) -> None:
    """Do what ``walk_few_cells`` does, with the same sums in the same order, one set at a time."""
    out[:] = 0.0

    def count(mask: int, size: int, label: NDArray[np.int32], below: int) -> None:
        """Count a set, then all sets with it and variables below the given one."""
        _, first, cell = np.unique(label, return_index=True, return_inverse=True)
        counted = np.bincount(cell, weights).astype(np.int64)[np.argsort(first)]
        out[mask] = np.cumsum(clogc[counted])[-1]
        for b in range(below):
            if size * arity[b] <= largest:
                count(mask | 1 << b, size * int(arity[b]), label + codes[b] * np.int32(size), b)

    count(0, cells, label, len(codes))


@njit(cache=True, nogil=True)
def _joint(label, weights, clogc, counters):
    """Return the sum of c log c over the cells that occur, in the order of their first rows; counters stay 0."""
    total = 0.0
    for r in range(label.shape[0]):
        counters[label[r]] += weights[r]
    for r in range(label.shape[0]):
        total += clogc[counters[label[r]]]  # 0 for a cell that was added before
        counters[label[r]] = 0
    return total


@njit(cache=True, nogil=True)
def _merge(label, packed, weights, rows, mask, stations, k):
    """Make station ``k``: rows with the same label and the same codes under ``mask`` become one."""
    labels, words, sums, slots = stations.labels[k], stations.packed[k], stations.weights[k], stations.slots
    size = 16
    while size < 2 * rows:
        size *= 2
    for h in range(size):
        slots[h] = -1
    found = np.int32(0)
    for r in range(rows):
        word, own = packed[r] & mask, label[r]
        h = ((word ^ word >> 31) & 0x7FFFFFFF) * 0x9E3779B1 + np.int64(own) * 0x85EBCA6B  # below 2^63
        h = (h ^ h >> 29) & (size - 1)
        while True:
            at = slots[h]
            if at < 0:
                slots[h] = found
                labels[found], words[found], sums[found] = own, word, weights[r]
                found += np.int32(1)
                break
            if words[at] == word and labels[at] == own:
                sums[at] += weights[r]
                break
            h = (h + 1) & (size - 1)
    stations.sizes[k] = found


@njit(cache=True, nogil=True)
def walk_few_cells(codes, arity, weights, clogc, label, cells, largest, out):
    """Fill ``out[mask]``, counting ``mask`` upwards.

    ``label`` has the cell of each row by the variables above the slice, of which there are ``cells``.
    """
    m, rows = codes.shape
    shifts = np.zeros(m + 1, dtype=np.int64)  # where the code of each variable is in a packed row
    fewest = np.full(m + 1, np.int64(1) << 40)  # the smallest arity of the variables below
    for b in range(m):
        width = 0
        while (np.int64(1) << width) < arity[b]:
            width += 1
        shifts[b + 1] = shifts[b] + width
        fewest[b + 1] = min(fewest[b], arity[b])
    packed = np.zeros(rows, dtype=np.int64)
    slots = 16
    while slots < 2 * rows:
        slots *= 2
    n_stations = max(m - 1, 0) // BITS_BETWEEN + 1
    room = (n_stations, rows)
    stations = Stations(
        np.empty(room, np.int32), np.empty(room, np.int64), np.empty(room, np.int64), np.zeros(n_stations, np.int64),
        np.empty(slots, np.int32),
    )  # fmt: skip
    labels = np.empty((m + 1, rows), dtype=np.int32)  # of the latest set whose lowest variable is b
    counters = np.zeros(max(largest, cells), dtype=np.int64)
    sizes = np.empty(m + 1, dtype=np.int64)  # the possible cells of those sets
    sizes[m] = cells
    mask, b, at = 0, m, 0
    own = label
    if cells * fewest[m] <= largest:
        for b in range(m):
            for r in range(rows):
                packed[r] |= np.int64(codes[b, r]) << shifts[b]
        _merge(label, packed, weights, rows, (np.int64(1) << shifts[m]) - 1, stations, 0)
        b, own = m, stations.labels[0]
    while True:
        # The set's lowest variable is b, and ``own`` has the cells of the rows of station ``at``.
        if sizes[b] * fewest[b] > largest:  # so has every set with more variables below b
            if mask:
                out[mask] = _joint(own[: stations.sizes[at]], stations.weights[at], clogc, counters)
            else:
                out[0] = _joint(own, weights, clogc, counters)
            for k in range(mask + 1, mask + (1 << b)):
                out[k] = 0.0
            mask += 1 << b
        else:
            while at + 1 < n_stations:  # the stations at b and below it, for this set and those that follow
                left = (np.int64(1) << shifts[m - (at + 1) * BITS_BETWEEN]) - 1
                _merge(own, stations.packed[at], stations.weights[at], stations.sizes[at], left, stations, at + 1)
                at += 1
                own = stations.labels[at]
            out[mask] = _joint(own[: stations.sizes[at]], stations.weights[at], clogc, counters)
            mask += 1
        # Go on to the next set that is not too large.
        while mask < out.shape[0]:
            b = 0
            while not (mask >> b) & 1:
                b += 1
            above = b + 1
            while above < m and not (mask >> above) & 1:
                above += 1
            sizes[b] = sizes[above] * arity[b]
            if sizes[b] <= largest:
                break
            for k in range(mask, mask + (1 << b)):
                out[k] = 0.0
            mask += 1 << b
        if mask >= out.shape[0]:
            return
        at = (m - b - 1) // BITS_BETWEEN
        source = labels[above] if above < m - at * BITS_BETWEEN else stations.labels[at]
        own, words = labels[b], stations.packed[at]
        only = (np.int64(1) << (shifts[b + 1] - shifts[b])) - 1
        before = np.int32(sizes[above])
        for r in range(stations.sizes[at]):
            own[r] = source[r] + np.int32((words[r] >> shifts[b]) & only) * before
