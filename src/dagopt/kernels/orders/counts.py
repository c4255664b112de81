"""Local scores of a node with one more or one fewer parent, for scores made of counts.

A score is a difference of two joints of ``kernels/counts/counting.py``, less ``rate * (a_i - 1)`` times the product of
the arities of the parents, less ``edge`` for each parent. ``information[j]`` is N times the entropy of column j: an
upper limit on what a parent can add. ``bits[starts[j] + l]`` has one bit per row of the data, set where column j has
level l: a small table is counted by the bits that two levels share, a large one row by row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dagopt.kernels.boxes import UNCOMPILED
from dagopt.kernels.counts import counting
from dagopt.kernels.store import njit

FEW_CELLS = 1 << 10  # a contingency table of this size is stored whole even if there are fewer rows
WORDS_PER_ROW = 3  # words of bits counted in the time that one row takes


class CountScore(NamedTuple):
    """A score made of counts; the module docstring explains ``information``, ``bits`` and ``starts``."""

    counts: counting.Counts
    rate: float
    edge: float
    information: NDArray[np.float64]
    bits: NDArray[np.uint64]
    starts: NDArray[np.int64]


def _intrinsic_ones(context, word):
    """Return the number of ones of a word."""

    def code(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code


_ones: Any = np.bitwise_count if UNCOMPILED else intrinsic(_intrinsic_ones)


@njit(cache=True, nogil=True)
def local_score(score, v, parents):
    """Return the score of v with these parents."""
    counts = score.counts
    cells = np.empty(counts.codes.shape[1], dtype=np.int64)
    without, together, product = counting.joints(counts, v, parents, cells)
    return together - without - _cost(counts.arity, score.rate, v, product) - score.edge * parents.shape[0]


@njit(cache=True, nogil=True)
def removals(score, v, parents, values):
    """Fill ``values[k]`` with the score of v with all parents but the k-th."""
    rest = parents[1:].copy()
    for k in range(parents.shape[0]):
        values[k] = local_score(score, v, rest)
        if k < rest.shape[0]:
            rest[k] = parents[k]


@njit(cache=True, nogil=True)
def additions(score, v, parents, candidates, enough, values):
    """Fill ``values[k]`` with the score of v with the extra parent ``candidates[k]``; return the score without it.

    A candidate that is a parent, or that does not raise the score by ``enough``, gets -inf.
    """
    codes, arity, weights, clogc, ess = score.counts
    rate, edge, information, bits, starts = score.rate, score.edge, score.information, score.bits, score.starts
    rows = codes.shape[1]
    # Split the rows by the parents and by v, and find the score without another parent.
    cells = np.zeros(rows, dtype=np.int64)
    span = 1
    product = 1.0
    for y in parents:
        span = counting.refine(cells, span, codes[y], arity[y])
        product *= arity[y]
    occurring = counting.renumber(cells, span)
    span = counting.refine(cells, occurring, codes[v], arity[v])
    product = min(product, counting.LARGEST_PRODUCT)
    without, together = counting.two_sums(cells, span, arity[v], weights, clogc, ess, product * arity[v])
    own = together - without - _cost(arity, rate, v, product) - edge * parents.shape[0]
    values[:] = -np.inf
    # BDeu with more parents is at most -(configurations of the parents that occur) log(arity of v).
    if ess > 0.0 and -occurring * math.log(arity[v]) <= own + enough:
        return own
    # Count by bits where that takes fewer words than there are rows.
    words = bits.shape[1]
    by_bits = 0 < span * words <= WORDS_PER_ROW * rows
    masks = _masks(bits, starts, arity, parents, v) if by_bits else np.empty((0, 0), dtype=np.uint64)
    totals = np.array([_shared(mask, mask) for mask in masks])
    split = np.empty(rows, dtype=np.int64)
    for k in range(candidates.shape[0]):
        x = candidates[k]
        # Skip a candidate whose gain in likelihood, N H(x) at most, does not pay for its parameters.
        larger = min(product * arity[x], counting.LARGEST_PRODUCT)
        cost = _cost(arity, rate, v, larger) + edge * (parents.shape[0] + 1)
        if ess == 0.0 and min(together - without + information[x], 0.0) - cost <= own + enough:
            continue
        if _has(parents, x):
            continue
        # The sums over the cells of (parents, x) and (parents, x, v), in the cheapest of three ways.
        if by_bits and masks.shape[0] * (arity[x] - 1) * words <= WORDS_PER_ROW * rows:
            table = _table_by_bits(masks, totals, bits[starts[x] : starts[x] + arity[x]])
            coarse, fine = _sums(table, arity[v], clogc, ess, larger)
        elif span * arity[x] <= max(2 * rows, FEW_CELLS):
            table = _table_by_rows(cells, span, codes[x], arity[x], weights)
            coarse, fine = _sums(table, arity[v], clogc, ess, larger)
        else:
            for r in range(rows):
                split[r] = cells[r] // arity[v]
            finer = counting.refine(split, span // arity[v], codes[x], arity[x])
            finer = counting.refine(split, finer, codes[v], arity[v])
            coarse, fine = counting.two_sums(split, finer, arity[v], weights, clogc, ess, larger * arity[v])
        if fine - coarse - cost > own + enough:
            values[k] = fine - coarse - cost
    return own


@njit(cache=True, nogil=True)
def _has(parents, x):
    for y in parents:  # noqa: SIM110
        if y == x:
            return True
    return False


@njit(cache=True, nogil=True)
def _cost(arity, rate, v, product):
    return rate * (arity[v] - 1) * min(product, counting.LARGEST_PRODUCT)


@njit(cache=True, nogil=True)
def _shared(one, other):
    """Return how many bits are set in both of two bit vectors."""
    total = np.uint64(0)
    for w in range(one.shape[0]):
        total += _ones(one[w] & other[w])
    return np.int64(total)


@njit(cache=True, nogil=True)
def _masks(bits, starts, arity, parents, v):
    """Return the rows of every configuration of the parents that occurs, split by the level of v, as bits."""
    words = bits.shape[1]
    found = np.full((1, words), ~np.uint64(0), dtype=np.uint64)
    for y in parents:
        finer = np.empty((found.shape[0] * arity[y], words), dtype=np.uint64)
        kept = 0
        for i in range(found.shape[0]):
            for level in range(starts[y], starts[y] + arity[y]):
                occurs = np.uint64(0)
                for w in range(words):
                    finer[kept, w] = found[i, w] & bits[level, w]
                    occurs |= finer[kept, w]
                if occurs:
                    kept += 1
        found = finer[:kept]
    masks = np.empty((found.shape[0] * arity[v], words), dtype=np.uint64)
    for i in range(found.shape[0]):
        for level in range(arity[v]):
            for w in range(words):
                masks[i * arity[v] + level, w] = found[i, w] & bits[starts[v] + level, w]
    return masks


@njit(cache=True, nogil=True)
def _table_by_bits(masks, totals, levels):
    """Return how many rows of each mask have each level; the last level gets the remaining rows."""
    table = np.zeros((masks.shape[0], levels.shape[0]), dtype=np.int64)
    last = levels.shape[0] - 1
    for i in range(masks.shape[0]):
        left = totals[i]
        for level in range(last):
            if left == 0:
                break
            table[i, level] = _shared(masks[i], levels[level])
            left -= table[i, level]
        table[i, last] = left
    return table


@njit(cache=True, nogil=True)
def _table_by_rows(cells, span, code, arity, weights):
    """Return the weight of every cell and level; two tables alternate, so that no addition waits for the last one."""
    rows = cells.shape[0]
    table = np.zeros((2, span, arity), dtype=np.int64)
    for r in range(0, rows - 1, 2):
        table[0, cells[r], code[r]] += weights[r]
        table[1, cells[r + 1], code[r + 1]] += weights[r + 1]
    if rows % 2:
        table[0, cells[rows - 1], code[rows - 1]] += weights[rows - 1]
    return table[0] + table[1]


@njit(cache=True, nogil=True)
def _sums(table, own_arity, clogc, ess, product):
    """Return the joints of J + x and of J + x + v from the counts of (J + v, x), v the lowest digit of the first."""
    prior = ess / min(product * own_arity, counting.LARGEST_PRODUCT)
    coarse_prior = ess / product
    coarse = 0.0
    fine = 0.0
    for first in range(0, table.shape[0], own_arity):
        for x in range(table.shape[1]):
            total = 0
            for row in range(first, first + own_arity):
                total += table[row, x]
                fine += counting.term(table[row, x], clogc, ess, prior)
            coarse += counting.term(total, clogc, ess, coarse_prior)
    return coarse, fine
