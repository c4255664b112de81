"""Joints of the sets that differ in a few low variables only, by labels of cells: the last part of ``slices.py``.

At this point the higher variables are decided, and the rows lie in groups. A set is counted by refining the cells of
the set without its lowest variable: the cell of a row becomes ``cell * arity + digit``, and the row adds its weight to
the counter of that cell. If variables are left to be added, the rows that are alone in their cell are removed, and the
other cells are numbered anew.

This replaces the merging of rows where only few variables are undecided: a merge takes about ten times as long for a
row as a counter does, and pays only while many sets share it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.kernels.counts.counting import log_rising
from dagopt.kernels.store import njit

__all__ = ["FEW", "LabelledRows", "alone_sum", "count_low_sets", "labelled_bits", "room_for_labels", "term"]

FEW = 16  # rows that are alone are counted by weight if their weight is below this
MOST_LABELLED = 9  # variables; with 6, 20 columns of INSURANCE take 15 % longer, and more than 9 gain nothing
MOST_ARITY = 32  # of a labelled variable; beyond this the counters outnumber the rows by far
DIGIT_BITS = 31  # for the levels of all low variables of a row
ONE_ROW = 1 << 40  # what each row adds to the counter of its cell, with its weight in the bits below
STREAMS = 4  # rows of one cell are neighbours: taken from four places, an addition need not wait for the one before


class LabelledRows(NamedTuple):
    """The rows that are not alone in their cell, for the latest set whose lowest variable is b, and room to count.

    Attributes
    ----------
    digits, mass, cells : int arrays of shape (variables + 1, rows)
        The levels of the low variables of each row, those of variable b from bit ``shifts[b]`` on; its weight plus
        ``ONE_ROW``; and the label of its cell.
    n_rows, n_cells : int arrays of shape (variables + 1,)
        How many there are.
    shifts : int array of shape (variables + 1,)
        Where the bits of each variable begin, and where the last ones end.
    found : int array of shape (rows,)
        The cells of the rows in the set that is being counted.
    counters, labels : int arrays
        The sum of ``mass`` in each of these cells, all 0 between two sets; and their new labels, -1 for rows that go.
    few : int array of shape (variables + 1, FEW)
        How many rows of each small weight are alone.
    products : float array of shape (variables + 1,)
        The product of the arities of the variables that are kept.
    """

    digits: NDArray[np.uint32]
    mass: Ints
    cells: NDArray[np.uint32]
    n_rows: Ints
    n_cells: Ints
    shifts: NDArray[np.uint32]
    found: NDArray[np.uint32]
    counters: Ints
    labels: NDArray[np.int32]
    few: Ints
    products: Floats


def labelled_bits(arity: Ints) -> int:
    """Return how many of the lowest variables to label: as many as have few levels, and bits for all of them."""
    most = min(MOST_LABELLED, len(arity))
    while most and (arity[:most].max() > MOST_ARITY or _shifts(arity[:most])[-1] > DIGIT_BITS):
        most -= 1
    return most


def _shifts(arity: Ints) -> NDArray[np.uint32]:
    """Return where the bits of each variable begin, and where the last ones end."""
    widths = [(int(a) - 1).bit_length() for a in arity]
    return np.cumsum([0, *widths]).astype(np.uint32)


def room_for_labels(arity: Ints, rows: int) -> LabelledRows:
    """Return empty tables for the given variables and this many rows."""
    m = len(arity)
    most_cells = rows * int(arity.max(initial=1))
    digits, cells = np.zeros((2, m + 1, rows), dtype=np.uint32)
    mass = np.zeros((m + 1, rows), dtype=np.int64)
    n_rows, n_cells = np.zeros((2, m + 1), dtype=np.int64)
    found, counters = np.zeros(rows, dtype=np.uint32), np.zeros(most_cells, dtype=np.int64)
    labels, few = np.zeros(most_cells, dtype=np.int32), np.zeros((m + 1, FEW), dtype=np.int64)
    return LabelledRows(
        digits, mass, cells, n_rows, n_cells, _shifts(arity), found, counters, labels, few, np.ones(m + 1)
    )


@njit(cache=True, nogil=True)
def term(count, values, prior):
    """Return what one cell adds to the joint."""
    if count < values.shape[0]:
        return values[count]
    return log_rising(count, prior)


@njit(cache=True, nogil=True)
def alone_sum(few, values, prior):
    """Return what rows add that are alone in their cell, ``few[w]`` of weight w."""
    total = 0.0
    for w in range(1, FEW):
        if few[w]:
            total += few[w] * term(w, values, prior)
    return total


@njit(cache=True, nogil=True)
def count_low_sets(levels, room, arity, terms, first, largest, out):
    """Fill ``out`` from ``first`` on with the joints of all sets of the low variables, added to the kept ones.

    ``levels`` has the rows at the level where just these variables are undecided.
    """
    m = room.n_rows.shape[0] - 1
    which = terms.which[first]
    out[first] = _begin(levels, room, arity, terms.values[which], terms.priors[which])
    alone = levels.alone[m]
    mask = 1
    while mask < 1 << m:
        b = 0
        while not (mask >> b) & 1:
            b += 1
        above = b + 1
        while above < m and not (mask >> above) & 1:
            above += 1
        room.products[b] = room.products[above] * arity[b]
        if room.products[b] > largest:  # so are the products of all following sets with b
            for k in range(mask, mask + (1 << b)):
                out[first + k] = 0.0
            mask += 1 << b
            continue
        which = terms.which[first + mask]
        _count(room, above, b, np.uint32(arity[b]))
        if b:
            out[first + mask] = alone + _split(room, above, b, arity[b], terms.values[which], terms.priors[which])
        else:
            out[first + mask] = alone + _add_up(room, above, arity[b], terms.values[which], terms.priors[which])
        mask += 1


@njit(cache=True, nogil=True)
def _begin(levels, room, arity, values, prior):
    """Label the rows by their groups, read their digits, and return the joint of the kept variables."""
    m = room.n_rows.shape[0] - 1
    room.products[m] = levels.products[m]
    for w in range(FEW):
        room.few[m, w] = levels.few[m, w]
    lows, mass, starts = levels.lows[m], levels.mass[m], levels.starts[m]
    room.n_cells[m] = levels.groups[m]
    room.n_rows[m] = starts[levels.groups[m]]
    total = 0.0
    for g in range(levels.groups[m]):
        together = np.int64(0)
        for r in range(starts[g], starts[g + 1]):
            together += mass[r]
            room.mass[m, r] = mass[r] + ONE_ROW
            room.cells[m, r] = g
            low = lows[r]
            digits = np.int64(0)
            for b in range(m):
                rest = low // arity[b]
                digits |= (low - rest * arity[b]) << room.shifts[b]
                low = rest
            room.digits[m, r] = digits
        total += term(together, values, prior)
    return levels.alone[m] + total + alone_sum(room.few[m], values, prior)


@njit(cache=True, nogil=True)
def _count(room, above, b, arity):
    """Count the cells of the set with variable ``b`` in addition to the set at ``above``."""
    digits, mass, cells = room.digits[above], room.mass[above], room.cells[above]
    found, counters = room.found, room.counters
    shift = room.shifts[b]
    bits = np.uint32((1 << (room.shifts[b + 1] - shift)) - 1)
    n = room.n_rows[above]
    for k in range(n):  # a loop of its own, so that many rows are done at once
        found[k] = np.uint32(cells[k] * arity) + np.uint32(np.uint32(digits[k] >> shift) & bits)
    part = n // STREAMS
    for k in range(part):
        counters[found[k]] += mass[k]
        counters[found[k + part]] += mass[k + part]
        counters[found[k + 2 * part]] += mass[k + 2 * part]
        counters[found[k + 3 * part]] += mass[k + 3 * part]
    for k in range(STREAMS * part, n):
        counters[found[k]] += mass[k]


@njit(cache=True, nogil=True)
def _add_up(room, above, arity, values, prior):
    """Return the joint of the set just counted, without the rows removed before ``levels``; empty the counters."""
    counters = room.counters
    n = room.n_cells[above] * arity
    one = other = 0.0  # two sums, so that an addition need not wait for the one before
    for c in range(0, n - 1, 2):
        one += term(counters[c] & (ONE_ROW - 1), values, prior)
        other += term(counters[c + 1] & (ONE_ROW - 1), values, prior)
        counters[c] = counters[c + 1] = 0
    if n % 2:
        one += term(counters[n - 1] & (ONE_ROW - 1), values, prior)
        counters[n - 1] = 0
    return one + other + alone_sum(room.few[above], values, prior)


@njit(cache=True, nogil=True)
def _split(room, above, b, arity, values, prior):
    """Do as ``_add_up``; keep the rows that share a cell, or have a large weight, with new labels."""
    counters, labels, few = room.counters, room.labels, room.few[b]
    for w in range(FEW):
        few[w] = room.few[above, w]
    total = 0.0
    n_cells = ones = np.int64(0)
    for c in range(room.n_cells[above] * arity):
        weight = counters[c] & (ONE_ROW - 1)
        stays = np.int64(counters[c] >= 2 * ONE_ROW) | np.int64(weight >= FEW)
        total += term(weight, values, prior)
        labels[c] = n_cells * stays - (1 - stays)
        n_cells += stays
        ones += np.int64(counters[c] == ONE_ROW + 1)
        if (weight > 1) > stays:
            few[weight] += 1
        counters[c] = 0
    few[1] += ones  # most of those that are alone
    room.n_cells[b] = n_cells
    old_digits, old_mass, found = room.digits[above], room.mass[above], room.found
    digits, mass, cells = room.digits[b], room.mass[b], room.cells[b]
    kept = np.int64(0)
    for k in range(room.n_rows[above]):  # without a branch, which would be mispredicted
        label = labels[found[k]]
        digits[kept] = old_digits[k]
        mass[kept] = old_mass[k]
        cells[kept] = label
        kept += np.int64(label >= 0)
    room.n_rows[b] = kept
    return total + alone_sum(room.few[above], values, prior)
