"""Joints of all sets of discrete variables, by depth-first merging and splitting of sorted rows.

The variables are kept or dropped one by one, starting from the highest. The rows are held in groups, one per
configuration of the kept variables. Within a group they are sorted by the variables that are still undecided, the
highest first. Then

* keeping a variable splits every group where its level changes: rows are copied, nothing is sorted;
* dropping it merges the runs of equal level within a group, and adds up the weights of rows that now agree;
* a row that is alone in its group stays alone whatever is decided later, so it is removed from the tables at once and
  only its weight is remembered, as in the stripped partitions of TANE (Huhtala et al. 1999, Comput. J. 42).

The work for a set is proportional to the number of distinct rows over its variables and the undecided ones, not
counting rows that are alone. The sums are those of ``counting.py``. The lowest variables are left to ``labelled.py``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.kernels.counts.counting import LARGEST_PRODUCT, Counts, log_rising
from dagopt.kernels.counts.labelled import FEW, count_low_sets, labelled_bits, room_for_labels
from dagopt.kernels.plain import compiled_or_python
from dagopt.kernels.store import njit

__all__ = ["fits_numbers", "joint_slice"]

LARGEST_KEY = 2.0**62  # numbers of cells stay below, so that int64 holds them with a bit to spare
TABULATED = 128  # with a prior, what a cell adds is read from a table for counts below this


class Levels(NamedTuple):
    """The rows at each level: level b is reached once the variables b and above are decided.

    Attributes
    ----------
    lows, mass : int arrays of shape (levels, rows)
        The undecided variables of each row as a number in mixed radix, with variable 0 as the lowest digit, and the
        weight of each row.
    starts : int array of shape (levels, rows + 1)
        Where each group begins, and where the last one ends.
    groups : int array of shape (levels,)
        The number of groups.
    alone : float array of shape (levels,)
        Without a prior: what the rows that are alone in their group add to the joint.
    few : int array of shape (levels, FEW)
        With a prior: how many rows of each small weight are alone; larger ones stay in the tables.
    products : float array of shape (levels,)
        The product of the arities of the variables that are kept.
    """

    lows: Ints
    mass: Ints
    starts: Ints
    groups: Ints
    alone: Floats
    few: Ints
    products: Floats


class Terms(NamedTuple):
    """What cells add to a joint: ``values[which[mask], count]`` for a set of low variables.

    With a prior it depends on the set through the product of its arities. Counts beyond the table are computed from the
    priors, one per row of the table.
    """

    values: Floats
    priors: Floats
    which: Ints


def fits_numbers(arity: Ints, rows: int, low_bits: int) -> bool:
    """Say whether the lowest variables of a row and the index of its group fit into one number."""
    return rows * float(np.prod(arity[:low_bits], dtype=np.float64)) < LARGEST_KEY


def joint_slice(
    counts: Counts, high: int, low_bits: int, out: NDArray[np.floating[Any]], largest: float = math.inf
) -> None:
    """Fill ``out`` with the joints of the 2^low_bits sets whose higher bits are those of ``high``.

    The rows must fit into numbers: see ``fits_numbers``. Sets whose arities have a product above ``largest`` are not
    counted and get 0.
    """
    codes, arity = counts.codes, counts.arity
    kept = [b for b in range(low_bits, len(arity)) if (high >> (b - low_bits)) & 1]
    product = float(np.prod(arity[kept], dtype=np.float64))
    if product > largest:
        out[:] = 0.0
        return
    group = np.zeros(codes.shape[1], dtype=np.int64)
    for b in kept:
        group = group * arity[b] + codes[b]
        if b == kept[-1] or float(group.max()) * float(arity.max()) > LARGEST_KEY:
            group = np.unique(group, return_inverse=True)[1]
    widths = np.concatenate([[1], np.cumprod(arity[:low_bits])]).astype(np.int64)
    low = widths[:-1] @ codes[:low_bits].astype(np.int64) if low_bits else np.zeros_like(group)
    keys, which = np.unique(group * widths[-1] + low, return_inverse=True)
    mass = np.bincount(which, counts.weights, minlength=len(keys)).astype(np.int64)
    levels = _room(low_bits, len(keys))
    groups, lows = np.divmod(keys, widths[-1])
    starts = np.flatnonzero(np.diff(groups, prepend=-1, append=-1))
    levels.lows[-1], levels.mass[-1] = lows, mass
    levels.starts[-1, : len(starts)] = starts
    levels.groups[-1] = len(starts) - 1
    levels.products[-1] = product
    heads = np.empty((2, int(arity[:low_bits].max(initial=1))), dtype=np.int64)
    few_bits = labelled_bits(arity[:low_bits])
    room = room_for_labels(arity[:few_bits], len(keys))
    run = compiled_or_python(walk, len(out) * len(keys), log1p=counts.ess > 0)
    run(levels, room, widths, arity, heads, _terms(counts, product, low_bits), largest, out)


def _terms(counts: Counts, product: float, low_bits: int) -> Terms:
    """Return what cells add, for sets of low variables with others whose arities have the given product."""
    if counts.ess == 0:
        return Terms(counts.clogc[np.newaxis], np.zeros(1), np.zeros(1 << low_bits, dtype=np.int64))
    products, which = np.unique(low_products(counts.arity, low_bits), return_inverse=True)
    priors = counts.ess / np.minimum(product * products, LARGEST_PRODUCT)
    values = np.empty((len(priors), min(TABULATED, int(counts.weights.sum()) + 1)))
    tabulate(priors, values)
    return Terms(values, priors, which.reshape(-1).astype(np.int64))


def low_products(arity: Ints, low_bits: int) -> Floats:
    """Return the product of the arities of every set of the lowest variables."""
    products = np.ones(1 << low_bits)
    for b in range(low_bits):
        products[1 << b : 2 << b] = products[: 1 << b] * float(arity[b])
    return products


def _room(m: int, rows: int) -> Levels:
    """Return empty tables for ``m`` variables and this many rows."""
    lows, mass = np.zeros((2, m + 1, rows), dtype=np.int64)
    starts = np.zeros((m + 1, rows + 1), dtype=np.int64)
    few = np.zeros((m + 1, FEW), dtype=np.int64)
    return Levels(lows, mass, starts, np.zeros(m + 1, dtype=np.int64), np.zeros(m + 1), few, np.ones(m + 1))


@njit(cache=True, nogil=True)
def tabulate(priors, values):
    """Fill ``values[k, count]`` with lgamma(count + prior) - lgamma(prior) for each prior."""
    for k in range(priors.shape[0]):
        values[k, 0] = 0.0
        for count in range(1, values.shape[1]):
            values[k, count] = log_rising(count, priors[k])


@njit(cache=True, nogil=True)
def walk(levels, room, widths, arity, heads, terms, largest, out):
    """Fill ``out[mask]`` by walking down from the highest level, counting ``mask`` upwards.

    The sets of the lowest variables, for which there is room, are counted together by ``count_low_sets``.
    """
    m = widths.shape[0] - 1
    last = room.n_rows.shape[0] - 1
    clogc = terms.values[0, : 0 if terms.priors[0] > 0.0 else terms.values.shape[1]]  # empty with a prior
    mask = 0
    b = m
    while mask < out.shape[0]:
        if mask:
            b = last
            while not (mask >> b) & 1:
                b += 1
            if levels.products[b + 1] * arity[b] > largest:  # so all following sets with b are too large as well
                for k in range(mask, mask + (1 << b)):
                    out[k] = 0.0
                mask += 1 << b
                continue
            _keep(levels, b, widths[b], arity[b], clogc)
        for level in range(b - 1, last - 1, -1):
            _drop(levels, level, widths[level], heads, clogc)
        count_low_sets(levels, room, arity, terms, mask, largest, out)
        mask += 1 << last


@njit(cache=True, nogil=True)
def _begin(levels, b, more):
    """Begin level ``b`` as a copy of level ``b + 1`` without its rows."""
    levels.products[b] = levels.products[b + 1] * more
    levels.alone[b] = levels.alone[b + 1]
    levels.starts[b, 0] = 0
    for w in range(FEW):
        levels.few[b, w] = levels.few[b + 1, w]


@njit(cache=True, nogil=True)
def _end_group(levels, b, found, end, clogc):
    """End the group that extends to ``end``; return the number of groups. A group of one row leaves the tables."""
    if end == levels.starts[b, found] + 1:
        weight = levels.mass[b, end - 1]
        if clogc.shape[0]:
            levels.alone[b] += clogc[weight]
            return found
        if weight < FEW:
            levels.few[b, weight] += 1
            return found
    levels.starts[b, found + 1] = end
    return found + 1


@njit(cache=True, nogil=True)
def _keep(levels, b, width, arity, clogc):
    """Make level ``b`` from level ``b + 1`` by splitting the groups where variable ``b`` changes."""
    lows, mass, starts = levels.lows[b + 1], levels.mass[b + 1], levels.starts[b + 1]
    own_lows, own_mass = levels.lows[b], levels.mass[b]
    _begin(levels, b, float(arity))
    found = np.int64(0)
    for g in range(levels.groups[b + 1]):
        r = starts[g]
        end = starts[g + 1]
        base = 0
        while r < end:
            while lows[r] >= base + width:
                base += width
            kept = levels.starts[b, found]
            while r < end and lows[r] < base + width:
                own_lows[kept] = lows[r] - base
                own_mass[kept] = mass[r]
                kept += 1
                r += 1
            found = _end_group(levels, b, found, kept, clogc)
    levels.groups[b] = found


@njit(cache=True, nogil=True)
def _drop(levels, b, width, heads, clogc):
    """Make level ``b`` from level ``b + 1`` by merging the rows of a group that differ only in variable ``b``."""
    lows, mass, starts = levels.lows[b + 1], levels.mass[b + 1], levels.starts[b + 1]
    own_lows, own_mass = levels.lows[b], levels.mass[b]
    _begin(levels, b, 1.0)
    found = np.int64(0)
    for g in range(levels.groups[b + 1]):
        # The rows of a group are sorted by their numbers, so each value of variable b is one run of them.
        runs = 0
        r = starts[g]
        end = starts[g + 1]
        kept = levels.starts[b, found]
        base = 0
        while r < end:  # heads[0]: the first row of each run; heads[1]: what variable b adds to the numbers of the run
            while lows[r] >= base + width:
                base += width
            heads[0, runs] = r
            heads[1, runs] = base
            runs += 1
            while r < end and lows[r] < base + width:
                r += 1
        # Two runs are merged in place of the general case: equal numbers become one row with the sum of the masses.
        if runs == 2:
            middle = heads[0, 1]
            p, q = heads[0, 0], middle
            first, second = heads[1, 0], heads[1, 1]
            while p < middle and q < end:
                x, y = lows[p] - first, lows[q] - second
                one, other = np.int64(x <= y), np.int64(y <= x)  # without a branch, which would be mispredicted
                own_lows[kept] = min(x, y)
                own_mass[kept] = one * mass[p] + other * mass[q]
                kept += 1
                p += one
                q += other
            heads[0, 0], heads[0, 1] = p, q
            ends = (middle, end)
            for run in range(2):  # what is left of either run
                for r in range(heads[0, run], ends[run]):
                    own_lows[kept] = lows[r] - heads[1, run]
                    own_mass[kept] = mass[r]
                    kept += 1
        else:
            kept = _merge(levels, b, heads, runs, width, end, kept)
        # The group ends here, with its sum.
        found = _end_group(levels, b, found, kept, clogc)
    levels.groups[b] = found


@njit(cache=True, nogil=True)
def _merge(levels, b, heads, runs, width, end, kept):
    """Merge any number of runs; return where the merged rows end."""
    lows, mass = levels.lows[b + 1], levels.mass[b + 1]
    while True:
        least = width
        for k in range(runs):
            r = heads[0, k]
            if r < end and lows[r] < heads[1, k] + width:
                least = min(least, lows[r] - heads[1, k])
        if least == width:
            return kept
        weight = np.int64(0)
        for k in range(runs):
            r = heads[0, k]
            if r < end and lows[r] - heads[1, k] == least:
                weight += mass[r]
                heads[0, k] += 1
        levels.lows[b, kept] = least
        levels.mass[b, kept] = weight
        kept += 1
