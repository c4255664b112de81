"""Tests of pairs of floats against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dagopt.kernels import double_double


@pytest.mark.parametrize("name", ["add", "multiply", "divide"])
def test_pairs_have_a_hundred_bits(name):
    """Sums, products and quotients agree with fractions to 2^-98; in a sum, relative to the sizes of its terms."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        a, b = rng.normal(size=2) * 10.0 ** rng.integers(-8, 8, 2)
        a_low, b_low = a * 2.0**-54 * rng.random(), b * 2.0**-54 * rng.random()
        one, other = Fraction(a) + Fraction(a_low), Fraction(b) + Fraction(b_low)
        right = {"add": one + other, "multiply": one * other, "divide": one / other}[name]
        size = abs(one) + abs(other) if name == "add" else abs(right)
        high, low = getattr(double_double, name)(a, a_low, b, b_low)
        assert abs(Fraction(float(high)) + Fraction(float(low)) - right) <= size / 2**98
