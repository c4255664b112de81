"""What tests of conditional independence are made of: partial correlations, and sums over contingency tables.

Partial correlations come from the correlation matrix R alone, by the Cholesky factor of R over the conditioning
set S, so their cost does not depend on the number of rows: with l_x and l_y the rows of x and y beside the factor,
the partial correlation is (R_xy - l_x·l_y) / √((1 - |l_x|²)(1 - |l_y|²)). A variable that S determines has
partial correlation 0 with every other.

For discrete variables the rows are split into cells by the conditioning set (``kernels/counts``), and
each cell is a table of x against y, with counts c, margins c_x, c_y and total c_z:

* G² = 2 Σ c log(c c_z / (c_x c_y)), the likelihood ratio, 2N times the conditional mutual information;
* χ² = Σ (c - e)² / e with e = c_x c_y / c_z, Pearson's statistic.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dagopt.kernels.counts.counting import refine, renumber
from dagopt.kernels.store import njit

DETERMINED = 1e-12  # a variable with this residual variance (of 1) or less is a function of those before it


@njit(cache=True, nogil=True)
def _grow(correlation, factor, given, k, row, variable):
    """Write a ``row`` of the factor: a variable given the first ``k`` of ``given``; return its residual variance.

    The diagonal of a variable that those before it determine is 0: it explains nothing further.
    """
    left = 1.0
    for a in range(k):
        value = correlation[variable, given[a]]
        for b in range(a):
            value -= factor[row, b] * factor[a, b]
        value = value / factor[a, a] if factor[a, a] > 0.0 else 0.0
        factor[row, a] = value
        left -= value * value
    if left <= DETERMINED:
        left = 0.0
    factor[row, k] = math.sqrt(left)
    return left


@njit(cache=True, nogil=True)
def _residual_correlation(correlation, factor, given, x, y):
    """Return the partial correlation of x and y, with the factor of ``given`` in the first rows of ``factor``."""
    size = given.shape[0]
    left_x = _grow(correlation, factor, given, size, size, x)
    left_y = _grow(correlation, factor, given, size, size + 1, y)
    if left_x == 0.0 or left_y == 0.0:
        return 0.0
    shared = correlation[x, y]
    for a in range(size):
        shared -= factor[size, a] * factor[size + 1, a]
    return min(1.0, max(-1.0, shared / math.sqrt(left_x * left_y)))


@njit(cache=True, nogil=True)
def partial_correlations(correlation, x, y, sets, out):
    """Fill ``out[k]`` with the partial correlation of x and y given the variables ``sets[k]``."""
    size = sets.shape[1]
    factor = np.empty((size + 2, size + 2))
    for k in range(sets.shape[0]):
        for a in range(size):
            _grow(correlation, factor, sets[k], a, a, sets[k, a])
        out[k] = _residual_correlation(correlation, factor, sets[k], x, y)


@njit(cache=True, nogil=True)
def partial_correlations_with(correlation, x, others, given, out):
    """Fill ``out[k]`` with the partial correlation of x and ``others[k]`` given one set."""
    size = given.shape[0]
    factor = np.empty((size + 2, size + 2))
    for a in range(size):
        _grow(correlation, factor, given, a, a, given[a])
    for k in range(others.shape[0]):
        out[k] = _residual_correlation(correlation, factor, given, x, others[k])


@njit(cache=True, nogil=True)
def next_combination(chosen, n):
    """Step to the next k numbers of ``range(n)`` in lexicographic order; return the first index changed, or -1."""
    k = chosen.shape[0]
    a = k - 1
    while a >= 0 and chosen[a] == n - k + a:
        a -= 1
    if a < 0:
        return -1
    chosen[a] += 1
    for b in range(a + 1, k):
        chosen[b] = chosen[b - 1] + 1
    return a


class Aim(NamedTuple):
    """What ``separate_pairs`` looks for.

    Attributes
    ----------
    critical : float
        The largest absolute partial correlation that is not significant.
    best : bool
        Whether to take the set with the smallest partial correlation, rather than the first one.
    budget : int
        The number of tests after which the kernel returns, to be called again.
    """

    critical: float
    best: bool
    budget: int


@njit(cache=True, nogil=True)
def separate_pairs(correlation, pairs, adjacent, aim, state, sets, found):
    """Find, for each pair, a set of neighbours given which its correlation is not significant.

    The sets come from the neighbours of the pair's first node, then from those of its second, in lexicographic order.
    Of the sets with an absolute partial correlation of at most ``aim.critical``, the first or the best is taken.

    Parameters
    ----------
    correlation : array of shape (n, n)
    pairs : int array of shape (m, 2)
    adjacent : bool array of shape (n, n)
    aim : Aim
    state : int array of shape (3 + size,)
        The state of the search: pair, side, whether a set is in progress, and the indices of its members. Initially 0.
    sets : int array of shape (m, size)
        The sets found; the width is the size of the sets that are tried.
    found : array of shape (m,)
        The partial correlation given the set found; NaN if there is none, as on entry.

    Returns
    -------
    int
        How many tests were made; the work is done when ``state[0]`` is m.
    """
    n = correlation.shape[0]
    size = sets.shape[1]
    factor = np.empty((size + 2, size + 2))
    given = np.empty(size, dtype=np.int64)
    candidates = np.empty(n, dtype=np.int64)
    chosen = state[3:]
    made = 0
    while state[0] < pairs.shape[0]:
        # The candidates are the neighbours of one end, without the other.
        k = state[0]
        x = pairs[k, state[1]]
        y = pairs[k, 1 - state[1]]
        count = 0
        for j in range(n):
            if adjacent[x, j] and j != y:
                candidates[count] = j
                count += 1
        # Begin with the first set, or where the last call stopped; there is none if the neighbours are too few.
        if state[2] == 0:
            for a in range(size):
                chosen[a] = a
        changed = 0 if count >= size else -1
        while changed >= 0:
            if made >= aim.budget:
                state[2] = 1
                return made
            # Rows of the Cholesky factor change only from the first member that is another one.
            for a in range(changed, size):
                given[a] = candidates[chosen[a]]
                _grow(correlation, factor, given, a, a, given[a])
            value = _residual_correlation(correlation, factor, given, x, y)
            made += 1
            # Note a set that separates; the first one ends the search unless the best is wanted.
            if abs(value) <= aim.critical and not abs(value) >= abs(found[k]):
                sets[k] = given
                found[k] = value
                if not aim.best:
                    break
            changed = next_combination(chosen, count)
        # Go on with the other end, or with the next pair.
        state[2] = 0
        if (aim.best or math.isnan(found[k])) and state[1] == 0 and size > 0:
            state[1] = 1
        else:
            state[0] += 1
            state[1] = 0
    return made


@njit(cache=True, nogil=True)
def _table_statistic(cells, span, codes, arity, weights, x, y, pearson):
    """Return G² or χ² of x against y, summed over the tables of the different ``cells``."""
    rows, columns = arity[x], arity[y]
    counts = np.zeros((span, rows, columns), dtype=np.int64)
    for r in range(cells.shape[0]):
        counts[cells[r], codes[x, r], codes[y, r]] += weights[r]
    of_column = np.empty(columns, dtype=np.int64)
    total = 0.0
    for z in range(span):
        of_column[:] = 0
        size = 0
        for a in range(rows):
            for b in range(columns):
                of_column[b] += counts[z, a, b]
                size += counts[z, a, b]
        if size == 0:
            continue
        for a in range(rows):
            of_row = 0
            for b in range(columns):
                of_row += counts[z, a, b]
            for b in range(columns):
                count = counts[z, a, b]
                if count > 0:
                    expected = of_row * (of_column[b] / size)
                    total += count * (count / expected - 1.0) if pearson else 2.0 * count * math.log(count / expected)
    return max(total, 0.0)


@njit(cache=True, nogil=True)
def _split(codes, arity, given, cells):
    """Label the rows by the configuration of ``given``; return the range of labels."""
    cells[:] = 0
    span = 1
    for j in given:
        span = refine(cells, span, codes[j], arity[j])
    return span


@njit(cache=True, nogil=True)
def table_statistics(codes, arity, weights, x, y, sets, pearson, out):
    """Fill ``out[k]`` with G² or χ² of x against y given the variables ``sets[k]``.

    Sets that differ only in their last member, as neighbours in lexicographic order do, share a split.
    """
    size = sets.shape[1]
    base = np.empty(codes.shape[1], dtype=np.int64)
    cells = np.empty(codes.shape[1], dtype=np.int64)
    base_span = 1
    for k in range(sets.shape[0]):
        last = max(size - 1, 0)
        if k == 0 or not np.array_equal(sets[k, :last], sets[k - 1, :last]):
            base_span = renumber(base, _split(codes, arity, sets[k, :last], base))
        cells[:] = base
        span = base_span
        if size > 0:
            j = sets[k, size - 1]
            span = refine(cells, span, codes[j], arity[j])
        if span * arity[x] * arity[y] > 4 * cells.shape[0]:
            span = renumber(cells, span)
        out[k] = _table_statistic(cells, span, codes, arity, weights, x, y, pearson)


@njit(cache=True, nogil=True)
def table_statistics_with(codes, arity, weights, x, others, given, pearson, out):
    """Fill ``out[k]`` with G² or χ² of x against ``others[k]`` given one set."""
    cells = np.empty(codes.shape[1], dtype=np.int64)
    span = renumber(cells, _split(codes, arity, given, cells))
    for k in range(others.shape[0]):
        out[k] = _table_statistic(cells, span, codes, arity, weights, x, others[k], pearson)
