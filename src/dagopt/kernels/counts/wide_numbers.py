"""Sums of positive numbers far beyond the range of float64: a number is ``part * 2^(512 level)``.

Exponentials of log-scores span thousands of orders of magnitude, so sums over subsets of them fit no float64 with one
scale for all. ``part`` starts between 2^-256 and 2^256, and a sum of 2^n numbers stays well within float64; a number
two levels below another is negligible beside it. Zero has part 0 and the level ``NEVER``.
"""

from __future__ import annotations

import math

import numpy as np

from dagopt.kernels.store import njit

LOW_BITS = 11  # 2^11 numbers are 32 KB: summed while they are in the first-level cache
ROW = 128  # numbers of one row that are summed over high bits at a time
SHORT_RUN = 8  # numbers; shorter runs are added in one loop over all of them
STEP = 512 * math.log(2.0)  # the logarithm of one level
DOWN = 2.0**-512  # a part as seen from one level above
NEVER = -1e9  # the level of zero, below that of any number


@njit(cache=True, nogil=True)
def _split(logarithm):
    """Return the part and the level of a number given by its logarithm."""
    if logarithm == -np.inf:
        return 0.0, NEVER
    level = math.floor(logarithm / STEP + 0.5)
    return math.exp(logarithm - level * STEP), level


@njit(cache=True, nogil=True)
def _log(part, level):
    """Return the logarithm of a number."""
    return -np.inf if part == 0.0 else math.log(part) + level * STEP


@njit(cache=True, nogil=True)
def _add_run(parts, levels, more_parts, more_levels):
    """Add the numbers of one run to those of another, element by element."""
    for k in range(parts.shape[0]):
        a, b = levels[k], more_levels[k]
        top = a if a > b else b
        of_a = 1.0 if a == top else (DOWN if a + 1.0 == top else 0.0)
        of_b = 1.0 if b == top else (DOWN if b + 1.0 == top else 0.0)
        parts[k] = parts[k] * of_a + more_parts[k] * of_b
        levels[k] = top


@njit(cache=True, nogil=True)
def _add_short_runs(parts, levels, step):
    """Add to each entry with the bit ``step`` the entry without it, for a bit so low that runs are short."""
    for k in range(parts.shape[0] // 2):
        low = k & (step - 1)
        small = ((k - low) << 1) + low
        large = small + step
        a, b = levels[large], levels[small]
        top = a if a > b else b
        of_a = 1.0 if a == top else (DOWN if a + 1.0 == top else 0.0)
        of_b = 1.0 if b == top else (DOWN if b + 1.0 == top else 0.0)
        parts[large] = parts[large] * of_a + parts[small] * of_b
        levels[large] = top


@njit(cache=True, nogil=True)
def sum_low(parts, levels):
    """Replace 2^k neighbouring numbers by their sums over subsets of the k bits."""
    size = parts.shape[0]
    step = 1
    while step < size:
        if step < SHORT_RUN:
            _add_short_runs(parts, levels, step)
        else:
            for base in range(0, size, 2 * step):
                small, large = slice(base, base + step), slice(base + step, base + 2 * step)
                _add_run(parts[large], levels[large], parts[small], levels[small])
        step *= 2


@njit(cache=True, nogil=True)
def _copy(parts, levels, from_parts, from_levels, at):
    """Fill a run with the numbers from index ``at`` on."""
    length = parts.shape[0]
    some_parts, some_levels = from_parts[at : at + length], from_levels[at : at + length]
    for k in range(length):
        parts[k] = some_parts[k]
        levels[k] = some_levels[k]


@njit(cache=True, nogil=True)
def sum_high(parts, levels, first_bit, n_bits, first, last):
    """Sum a table over subsets of the bits ``first_bit`` to ``first_bit + n_bits``, stretches ``first`` to ``last``.

    A stretch is ROW neighbouring numbers, taken from all 2^n_bits rows into a buffer that stays in cache. There are
    ``table size / 2^n_bits / ROW`` stretches.
    """
    rows = 1 << n_bits
    stride = 1 << first_bit
    per_group = stride // ROW
    kept_parts, kept_levels = np.empty((rows, ROW)), np.empty((rows, ROW))
    for stretch in range(first, last):
        base = (stretch // per_group) * (stride * rows) + (stretch % per_group) * ROW
        for r in range(rows):
            _copy(kept_parts[r], kept_levels[r], parts, levels, base + r * stride)
        step = 1
        while step < rows:
            for group in range(0, rows, 2 * step):
                for r in range(group, group + step):
                    _add_run(kept_parts[r + step], kept_levels[r + step], kept_parts[r], kept_levels[r])
            step *= 2
        for r in range(1, rows):
            own = slice(base + r * stride, base + r * stride + ROW)
            _copy(parts[own], levels[own], kept_parts[r], kept_levels[r], 0)
