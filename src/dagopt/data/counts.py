"""How often each distinct row of levels occurs.

A row is one number, the positions of its levels as digits, as long as such numbers fit: then two sets of rows are
merged by sorting out numbers, and the levels are looked up only in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.arrays import Ints
from dagopt.data.distinct import LARGEST_NUMBER, distinct_rows

__all__ = ["Counts"]


@dataclass(frozen=True, eq=False)
class Counts:
    """The distinct rows, and how often each occurs.

    Attributes
    ----------
    arity : tuple of int
        The number of levels of each column.
    rows : int array of shape (distinct rows,) or (n, distinct rows)
        The number of each row, or its levels if there are too many rows to number.
    weights : int array
        How often each occurs.
    """

    arity: tuple[int, ...]
    rows: NDArray[Any]
    weights: Ints

    @classmethod
    def of_codes(cls, codes: Sequence[NDArray[Any]], arity: Sequence[int], weights: Ints | None = None) -> Counts:
        """Return the counts of rows, given the positions of the levels of each column, below its arity."""
        return cls.of_digits([(own, 0) for own in codes], arity, weights)

    @classmethod
    def of_digits(
        cls, digits: Sequence[tuple[NDArray[Any], int]], arity: Sequence[int], weights: Ints | None = None
    ) -> Counts:
        """Return the counts of rows, given whole numbers and what is to be subtracted from them to get positions."""
        if _is_numbered(arity):
            numbers = np.zeros(len(digits[0][0]) if len(digits) else 0, dtype=np.int64)
            held = np.empty_like(numbers)
            factor, start = 1, 0
            for (own, first), levels in zip(reversed(digits), reversed(arity), strict=True):
                np.multiply(own, factor, out=held, casting="unsafe")
                numbers += held  # whole numbers are counted modulo 2^64, so that what is too large comes back
                start += first * factor
                factor *= max(levels, 1)
            if start:
                numbers -= np.uint64(start % (1 << 64)).astype(np.int64)
            return cls._merged(tuple(arity), numbers, weights)
        return cls._merged(tuple(arity), np.array([own - first for own, first in digits]).astype(np.uint16), weights)

    @classmethod
    def _merged(cls, arity: tuple[int, ...], rows: NDArray[Any], weights: Ints | None) -> Counts:
        """Return the counts of rows of which some may be equal; they come in the order of their first occurrence."""
        if rows.ndim == 1:
            which, found = pd.factorize(rows)
            distinct: NDArray[Any] = np.asarray(found)
        else:
            first, which = distinct_rows(rows, arity)
            distinct = np.ascontiguousarray(rows[:, first])
        n = distinct.shape[-1]
        if weights is None:
            return cls(arity, distinct, np.bincount(which, minlength=n).astype(np.int64))
        added = np.bincount(which, weights, minlength=n)  # exact: below 2^53
        return cls(arity, distinct, added.astype(np.int64))

    @cached_property
    def codes(self) -> NDArray[np.uint16]:
        """The positions of the levels, of shape (n, distinct rows)."""
        if self.rows.ndim == 2:
            return self.rows
        found = np.empty((len(self.arity), len(self.rows)), dtype=np.uint16)
        rest = self.rows
        for j in range(len(self.arity) - 1, -1, -1):
            rest, found[j] = np.divmod(rest, max(self.arity[j], 1))
        return found

    def __add__(self, other: Counts) -> Counts:
        """Return the counts of the rows of both, whose columns must have the same levels."""
        rows = np.concatenate([self.rows, other.rows], axis=-1)
        return self._merged(self.arity, rows, np.concatenate([self.weights, other.weights]))

    def recoded(self, places: Sequence[Ints], arity: Sequence[int]) -> Counts:
        """Return the counts with other positions of the levels."""
        if tuple(arity) == self.arity and all((to == np.arange(len(to))).all() for to in places):
            return self
        codes = [to[own] for to, own in zip(places, self.codes, strict=True)]
        return Counts.of_codes(codes, arity, self.weights)

    def select(self, places: Sequence[int]) -> Counts:
        """Return the counts of some columns, by position, in this order."""
        return Counts.of_codes([self.codes[j] for j in places], [self.arity[j] for j in places], self.weights)


def _is_numbered(arity: Sequence[int]) -> bool:
    """Say whether rows have numbers that fit."""
    span = 1
    for levels in arity:
        span *= max(levels, 1)
    return span < LARGEST_NUMBER
