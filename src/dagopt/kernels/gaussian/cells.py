"""Gaussian log-likelihoods within the cells of a contingency table, for the conditional Gaussian score."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dagopt.kernels.gaussian.logdet import PIVOT_FLOOR


@njit(cache=True, nogil=True)
def cell_sum(values, chosen, cells, n_cells, fewest):  # type: ignore[no-untyped-def]
    """Return the log-likelihood of the cells and of a Gaussian over the chosen columns in each; and how many occur.

    ``values`` has one row per column, ``cells`` the cell of each row of data. The result is NaN if a cell that occurs
    has fewer than ``fewest`` rows, or columns that determine each other.
    """
    rows = cells.shape[0]
    size = chosen.shape[0]
    count = np.zeros(n_cells)
    mean = np.zeros((n_cells, size))
    for r in range(rows):
        count[cells[r]] += 1.0
    for a in range(size):
        column = values[chosen[a]]
        for r in range(rows):
            mean[cells[r], a] += column[r]
    scatter = np.zeros((n_cells, size, size))
    for c in range(n_cells):
        if count[c] > 0.0:
            if size and count[c] < fewest:
                return np.nan, 0
            for a in range(size):
                mean[c, a] /= count[c]
    for a in range(size):
        first = values[chosen[a]]
        for b in range(a + 1):
            second = values[chosen[b]]
            for r in range(rows):
                c = cells[r]
                scatter[c, a, b] += (first[r] - mean[c, a]) * (second[r] - mean[c, b])
    total = 0.0
    occurring = 0
    for c in range(n_cells):
        if count[c] == 0.0:
            continue
        occurring += 1
        total += count[c] * math.log(count[c] / rows)
        if size:
            logdet = _logdet(scatter[c], count[c])
            if math.isnan(logdet):
                return np.nan, 0
            total -= 0.5 * count[c] * (size * (1.0 + math.log(2.0 * math.pi)) + logdet)
    return total, occurring


@njit(cache=True, nogil=True)
def _logdet(scatter, count):  # type: ignore[no-untyped-def]
    """Return the log-determinant of a covariance; NaN where a column is constant or determined."""
    size = scatter.shape[0]
    factor = np.zeros((size, size))
    total = 0.0
    for a in range(size):
        own = scatter[a, a] / count
        if own <= 0.0:
            return np.nan
        for b in range(a + 1):
            value = scatter[a, b] / count
            for c in range(b):
                value -= factor[a, c] * factor[b, c]
            if a == b:
                if value < PIVOT_FLOOR * own:
                    return np.nan
                factor[a, a] = math.sqrt(value)
                total += math.log(value)
            else:
                factor[a, b] = value / factor[b, b]
    return total
