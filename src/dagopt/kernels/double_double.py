"""Numbers of twice the precision, each the unevaluated sum of two floats: about 32 digits.

Dekker's and Knuth's error-free sums and products; a sum or product of pairs has a relative error below 2^-100.

References
----------
Hida, Li, Bailey (2001). Algorithms for quad-double precision floating point arithmetic. ARITH 15.
"""

from __future__ import annotations

from dagopt.kernels.store import njit

SPLITTER = 134217729.0  # 2^27 + 1


@njit(cache=True, nogil=True)
def two_sum(a, b):
    """Return a + b as a rounded sum and its error."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


@njit(cache=True, nogil=True)
def two_product(a, b):
    """Return a b as a rounded product and its error."""
    product = a * b
    wide = SPLITTER * a
    high = wide - (wide - a)
    low = a - high
    wide = SPLITTER * b
    other_high = wide - (wide - b)
    other_low = b - other_high
    return product, ((high * other_high - product) + high * other_low + low * other_high) + low * other_low


@njit(cache=True, nogil=True)
def add(a, a_low, b, b_low):
    """Return the sum of two pairs."""
    high, low = two_sum(a, b)
    high_low, low_low = two_sum(a_low, b_low)
    high, low = two_sum(high, low + high_low)
    return two_sum(high, low + low_low)


@njit(cache=True, nogil=True)
def multiply(a, a_low, b, b_low):
    """Return the product of two pairs."""
    high, low = two_product(a, b)
    return two_sum(high, low + (a * b_low + a_low * b))


@njit(cache=True, nogil=True)
def divide(a, a_low, b, b_low):
    """Return the quotient of two pairs, by three steps of long division."""
    first = a / b
    high, low = multiply(first, 0.0, b, b_low)
    a, a_low = add(a, a_low, -high, -low)
    second = a / b
    high, low = multiply(second, 0.0, b, b_low)
    a, a_low = add(a, a_low, -high, -low)
    high, low = two_sum(first, second)
    return two_sum(high, low + a / b)
