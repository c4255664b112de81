"""Gaussian log-likelihoods within the cells of a contingency table, for the conditional Gaussian score.

``cell_sum`` uses floats and says how far off it can be; ``precise_cell_sum`` uses pairs of floats. ``subset_cell_sums``
does the same as ``cell_sum`` for all subsets of some columns: products of columns are summed once, and each set takes
one more row of a Cholesky factor than the set without its last column.
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.kernels.double_double import add, divide, multiply, two_sum
from dagopt.kernels.gaussian.logdet import PIVOT_FLOOR
from dagopt.kernels.store import njit

UNIT = 2.0**-53  # one rounding
PRECISE_UNIT = 2.0**-98  # the same of pairs, with a margin
CLOSE = 100.0  # times the floor: a residual variance up to this is decided by pairs


@njit(cache=True, nogil=True)
def _counts_and_means(values, chosen, cells, n_cells):
    """Return the rows of each cell, and its means: those of the numbers, and those of what is left of them."""
    rows = cells.shape[0]
    count = np.zeros(n_cells)
    for r in range(rows):
        count[cells[r]] += 1.0
    mean = np.zeros((2, n_cells, chosen.shape[0]))
    for a in range(chosen.shape[0]):
        column = values[chosen[a]]
        for r in range(rows):
            mean[0, cells[r], a] += column[r]
        for c in range(n_cells):
            mean[0, c, a] /= max(count[c], 1.0)
        for r in range(rows):
            mean[1, cells[r], a] += column[r] - mean[0, cells[r], a]
        for c in range(n_cells):
            mean[1, c, a] /= max(count[c], 1.0)
    return count, mean


@njit(cache=True, nogil=True)
def _too_few(count, size, fewest):
    """Say whether a cell that occurs has too few rows for a covariance."""
    found = False
    for rows in count:
        found |= 0.0 < rows < fewest
    return found and size > 0


@njit(cache=True, nogil=True)
def _scatter(values, chosen, cells, mean):
    """Return the lower triangle of the scatter matrix of each cell."""
    size = chosen.shape[0]
    scatter = np.zeros((mean.shape[1], size, size))
    for a in range(size):
        first = values[chosen[a]]
        for b in range(a + 1):
            second = values[chosen[b]]
            for r in range(cells.shape[0]):
                c = cells[r]
                one = first[r] - mean[0, c, a] - mean[1, c, a]
                scatter[c, a, b] += one * (second[r] - mean[0, c, b] - mean[1, c, b])
    return scatter


@njit(cache=True, nogil=True)
def cell_sum(values, chosen, cells, n_cells, fewest):
    """Return the log-likelihood of the cells and of a Gaussian over the chosen columns in each, and its error.

    ``values`` has one row per column, ``cells`` the cell of each row of data. The result is minus infinity if a cell
    that occurs has fewer than ``fewest`` rows, or columns that determine each other. The error is infinite if pairs of
    floats must decide.
    """
    rows = cells.shape[0]
    size = chosen.shape[0]
    count, mean = _counts_and_means(values, chosen, cells, n_cells)
    if _too_few(count, size, fewest):
        return -np.inf, 0.0
    scatter = _scatter(values, chosen, cells, mean)
    total = 0.0
    error = 0.0
    largest = 0.0  # the sum of the sizes of all terms
    for c in range(n_cells):
        if count[c] == 0.0:
            continue
        logdet, share, least = _log_det(scatter[c], count[c])
        if size and least < CLOSE * PIVOT_FLOOR:
            return 0.0, np.inf
        own, more = count[c] * math.log(count[c] / rows), count[c] * (size * (1.0 + math.log(2.0 * math.pi)) + logdet)
        total += own - 0.5 * more
        largest += abs(own) + count[c] * (3.0 * size + abs(logdet))
        # Each entry is off by these roundings of the two lengths; no d_j exceeds 1 / share.
        change = UNIT * (2.0 * count[c] + 3.0 * size + 20.0) * size * size / share
        error += 0.5 * count[c] * change / (1.0 - change) if change < 0.1 else np.inf
    return total, error + UNIT * (n_cells + 16.0) * largest


@njit(cache=True, nogil=True)
def subset_cell_sums(values, chosen, n_fixed, cells, n_cells, spare, totals, errors):
    """Fill what ``cell_sum`` returns for the first ``n_fixed`` chosen columns with every subset of the others.

    Bit b of a place of ``totals`` and ``errors`` is the column ``chosen[n_fixed + b]``. Every cell must occur. Sets of
    s columns with a cell of fewer than s + ``spare`` rows have minus infinity; where pairs of floats must decide, the
    error is infinite.
    """
    rows = cells.shape[0]
    free = chosen.shape[0] - n_fixed
    totals[:] = -np.inf
    errors[:] = 0.0
    count = _counts_and_means(values, chosen[:0], cells, n_cells)[0]
    shares = np.empty(n_cells)
    for c in range(n_cells):
        shares[c] = count[c] * math.log(count[c] / rows)
    rarest = count.min()
    if n_fixed == 0:
        total = 0.0
        largest = 0.0
        for c in range(n_cells):
            total += shares[c]
            largest += abs(shares[c])
        totals[0] = total
        errors[0] = UNIT * (n_cells + 16.0) * largest
    if chosen.shape[0] == 0 or rarest < max(n_fixed, 1) + spare:
        return
    scatter = _scatter(values, chosen, cells, _counts_and_means(values, chosen, cells, n_cells)[1])
    factor = np.zeros(scatter.shape)
    state = np.zeros((chosen.shape[0] + 1, n_cells, 3))  # log-determinant, its share, least pivot, by size of the set
    state[0, :, 1:] = 1.0
    at = np.zeros(chosen.shape[0], dtype=np.int64)  # the columns of the set
    for k in range(n_fixed):
        at[k] = k
        _append(scatter, count, factor, state, at, k)
    if n_fixed:
        totals[0], errors[0] = _sum_of_cells(count, shares, state[n_fixed], n_fixed)
    # Sets are visited depth first; the columns of a set come in their order.
    following = np.zeros(free + 1, dtype=np.int64)  # the column to add next at each depth
    depth = 0
    mask = 0
    while depth >= 0:
        b = following[depth]
        size = n_fixed + depth + 1
        if b == free or rarest < size + spare:
            depth -= 1
            if depth >= 0:
                mask ^= 1 << (following[depth] - 1)
            continue
        following[depth] += 1
        mask ^= 1 << b
        at[size - 1] = n_fixed + b
        _append(scatter, count, factor, state, at, size - 1)
        totals[mask], errors[mask] = _sum_of_cells(count, shares, state[size], size)
        depth += 1
        following[depth] = b + 1


@njit(cache=True, nogil=True)
def _append(scatter, count, factor, state, at, k):
    """Add row ``k`` of the Cholesky factor of each cell, as ``_log_det`` does."""
    a = at[k]
    for c in range(count.shape[0]):
        own = scatter[c, a, a] / count[c]
        state[k + 1, c] = state[k, c]
        for b in range(k):
            value = scatter[c, a, at[b]] / count[c]
            for d in range(b):
                value -= factor[c, k, d] * factor[c, b, d]
            factor[c, k, b] = value / factor[c, b, b]
        value = own
        for d in range(k):
            value -= factor[c, k, d] * factor[c, k, d]
        if own <= 0.0 or value <= 0.0:
            state[k + 1, c, 2] = 0.0  # of all larger sets, too
            factor[c, k, k] = 1.0
            continue
        state[k + 1, c, 0] += math.log(value)
        state[k + 1, c, 1] *= value / own
        state[k + 1, c, 2] = min(state[k, c, 2], value / own)
        factor[c, k, k] = math.sqrt(value)


@njit(cache=True, nogil=True)
def _sum_of_cells(count, shares, state, size):
    """Return the log-likelihood and its error, as ``cell_sum`` does."""
    total = 0.0
    error = 0.0
    largest = 0.0
    for c in range(count.shape[0]):
        if state[c, 2] < CLOSE * PIVOT_FLOOR:
            return 0.0, np.inf
        logdet, share = state[c, 0], state[c, 1]
        total += shares[c] - 0.5 * count[c] * (size * (1.0 + math.log(2.0 * math.pi)) + logdet)
        largest += abs(shares[c]) + count[c] * (3.0 * size + abs(logdet))
        change = UNIT * (2.0 * count[c] + 3.0 * size + 20.0) * size * size / share
        error += 0.5 * count[c] * change / (1.0 - change) if change < 0.1 else np.inf
    return total, error + UNIT * (count.shape[0] + 16.0) * largest


@njit(cache=True, nogil=True)
def cell_logdets(values, chosen, cells, n_cells):
    """Return per cell: its rows, the logs of variances, log-determinants without each column and of all, their error.

    Log-determinants are NaN where a cell has too few rows for all columns, or floats do not suffice.
    """
    size = chosen.shape[0]
    count, mean = _counts_and_means(values, chosen, cells, n_cells)
    scatter = _scatter(values, chosen, cells, mean)
    variances = np.full((n_cells, size), -np.inf)
    logdets = np.full((n_cells, size + 1), np.nan)
    errors = np.zeros(n_cells)
    part = np.zeros((size, size))
    for c in range(n_cells):
        for a in range(size):
            if scatter[c, a, a] > 0.0:
                variances[c, a] = math.log(scatter[c, a, a] / count[c])
        total, share, least = _log_det(scatter[c], count[c])
        change = UNIT * (2.0 * count[c] + 3.0 * size + 20.0) * size * size / share
        if size and (count[c] < size + 2 or least < CLOSE * PIVOT_FLOOR or change >= 0.1):
            continue
        logdets[c, size] = total
        errors[c] = change / (1.0 - change) + UNIT * (size + 16.0) * (abs(total) + 3.0 * size)
        for left_out in range(size):
            for a in range(size - 1):
                for b in range(a + 1):
                    part[a, b] = scatter[c, a + (a >= left_out), b + (b >= left_out)]
            logdets[c, left_out] = _log_det(part[: size - 1, : size - 1], count[c])[0]
    return count, variances, logdets, errors


@njit(cache=True, nogil=True)
def _log_det(scatter, count):
    """Return the log-determinant of a covariance, the determinant of its correlations, and their least pivot."""
    size = scatter.shape[0]
    factor = np.zeros((size, size))
    total = 0.0
    share = 1.0
    least = 1.0
    for a in range(size):
        own = scatter[a, a] / count
        if own <= 0.0:
            return 0.0, 1.0, 0.0
        for b in range(a + 1):
            value = scatter[a, b] / count
            for c in range(b):
                value -= factor[a, c] * factor[b, c]
            if a == b:
                least = min(least, value / own)
                if value <= 0.0:
                    return 0.0, 1.0, 0.0
                share *= value / own
                factor[a, a] = math.sqrt(value)
                total += math.log(value)
            else:
                factor[a, b] = value / factor[b, b]
    return total, share, least


@njit(cache=True, nogil=True)
def precise_cell_sum(values, chosen, cells, n_cells, fewest):
    """Do what ``cell_sum`` does with pairs of floats: differences from the means are exact."""
    rows = cells.shape[0]
    size = chosen.shape[0]
    count, mean = _counts_and_means(values, chosen, cells, n_cells)
    if _too_few(count, size, fewest):
        return -np.inf, 0.0
    # Sums and products of the differences from the rounded means, exact as pairs (high, low).
    sums = np.zeros((n_cells, size, 2))
    scatter = np.zeros((n_cells, size, size, 2))
    own = np.empty((size, 2))
    for r in range(rows):
        c = cells[r]
        for a in range(size):
            own[a, 0], own[a, 1] = two_sum(values[chosen[a], r], -mean[0, c, a])
            sums[c, a, 0], sums[c, a, 1] = add(sums[c, a, 0], sums[c, a, 1], own[a, 0], own[a, 1])
            for b in range(a + 1):
                high, low = multiply(own[a, 0], own[a, 1], own[b, 0], own[b, 1])
                scatter[c, a, b, 0], scatter[c, a, b, 1] = add(scatter[c, a, b, 0], scatter[c, a, b, 1], high, low)
    total = 0.0
    error = 0.0
    largest = 0.0
    for c in range(n_cells):
        if count[c] == 0.0:
            continue
        for a in range(size):
            high, low = divide(-sums[c, a, 0], -sums[c, a, 1], count[c], 0.0)
            for b in range(a + 1):
                more, rest = multiply(high, low, sums[c, b, 0], sums[c, b, 1])
                scatter[c, a, b, 0], scatter[c, a, b, 1] = add(scatter[c, a, b, 0], scatter[c, a, b, 1], more, rest)
        # The log-likelihood of the cell, and how far off it can be, as in ``cell_sum``.
        logdet, share = _precise_log_det(scatter[c], count[c])
        if share == 0.0:
            return -np.inf, 0.0
        first, second = count[c] * math.log(count[c] / rows), size * (1.0 + math.log(2.0 * math.pi)) + logdet
        total += first - 0.5 * count[c] * second
        largest += abs(first) + count[c] * (3.0 * size + abs(logdet))
        change = PRECISE_UNIT * (2.0 * count[c] + 3.0 * size + 20.0) * size * size / share
        error += 0.5 * count[c] * change / (1.0 - change) if change < 0.1 else np.inf
    return total, error + UNIT * (n_cells + 16.0) * largest


@njit(cache=True, nogil=True)
def _precise_log_det(work, count):
    """Return the log-determinant of a covariance and the determinant of its correlations, 0 if columns are dependent.

    The scatter matrix is replaced by its Schur complements.
    """
    size = work.shape[0]
    total = 0.0
    share = 1.0
    variances = np.empty(size)
    for a in range(size):
        variances[a] = work[a, a, 0]
    for k in range(size):
        pivot, rest = work[k, k, 0], work[k, k, 1]
        if not pivot > PIVOT_FLOOR * variances[k]:
            return 0.0, 0.0
        share *= pivot / variances[k]
        total += math.log(pivot / count)
        for r in range(k + 1, size):
            high, low = divide(-work[r, k, 0], -work[r, k, 1], pivot, rest)
            for c in range(k + 1, r + 1):
                more, less = multiply(high, low, work[c, k, 0], work[c, k, 1])
                work[r, c, 0], work[r, c, 1] = add(work[r, c, 0], work[r, c, 1], more, less)
    return total, share
