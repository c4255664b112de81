"""Tests of sums far beyond the range of float64, against fractions of whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.kernels.counts import wide_numbers as kernels

UNIT = Fraction(2) ** 512


def exact(part, level):
    """Return the number as a fraction."""
    return Fraction(float(part)) * UNIT ** int(level) if part else Fraction(0)


def subset_sums(numbers):
    """Return the sums over all subsets of each place."""
    bits = len(numbers).bit_length() - 1
    sums = list(numbers)
    for b in range(bits):
        for x in range(len(sums)):
            if x >> b & 1:
                sums[x] += sums[x ^ (1 << b)]
    return sums


def drawn(bits, seed, spread):
    """Return parts and levels of random numbers, some of them zero."""
    rng = np.random.default_rng(seed)
    parts = np.exp2(rng.uniform(-256, 256, 1 << bits))
    levels = rng.integers(-spread, spread + 1, 1 << bits).astype(float)
    zero = rng.random(1 << bits) < 0.2
    parts[zero], levels[zero] = 0.0, kernels.NEVER
    return parts, levels


def assert_equal(parts, levels, expected):
    """Assert that numbers agree to the rounding of float64."""
    for part, level, number in zip(parts, levels, expected, strict=True):
        assert abs(exact(part, level) - number) <= number * Fraction(1, 10**13)


@settings(max_examples=20, deadline=None)
@given(bits=st.integers(0, 6), seed=st.integers(0, 10_000), spread=st.integers(0, 3))
def test_sums_over_subsets_of_low_bits(bits, seed, spread):
    """Neighbouring numbers become their sums over subsets, whatever their levels."""
    parts, levels = drawn(bits, seed, spread)
    expected = subset_sums([exact(*one) for one in zip(parts, levels, strict=True)])
    kernels.sum_low(parts, levels)
    assert_equal(parts, levels, expected)


@pytest.mark.parametrize("first_bit, n_bits", [(7, 3), (8, 2), (9, 1)])
def test_sums_over_subsets_of_high_bits(first_bit, n_bits):
    """Rows are summed over subsets of their bits alone, in stretches that may be done apart."""
    parts, levels = drawn(10, 5, 2)
    numbers = [exact(*one) for one in zip(parts, levels, strict=True)]
    expected = list(numbers)
    for b in range(first_bit, first_bit + n_bits):
        for x in range(1 << 10):
            if x >> b & 1:
                expected[x] += expected[x ^ (1 << b)]
    stretches = (parts.size >> n_bits) // kernels.ROW
    for stretch in range(stretches):
        kernels.sum_high(parts, levels, first_bit, n_bits, stretch, stretch + 1)
    assert_equal(parts, levels, expected)


@settings(deadline=None)
@given(logarithm=st.floats(-1e6, 1e6))
def test_logarithms_there_and_back(logarithm):
    """A number given by its logarithm has that logarithm, and a part within its range."""
    part, level = kernels._split(logarithm)
    assert 2.0**-257 < part < 2.0**257
    assert kernels._log(part, level) == pytest.approx(logarithm, rel=1e-14, abs=1e-12)


def test_zero_has_no_logarithm():
    """Minus infinity is zero, and zero is minus infinity."""
    assert kernels._split(-math.inf) == (0.0, kernels.NEVER)
    assert kernels._log(*kernels._split(-math.inf)) == -math.inf
