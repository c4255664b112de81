"""How often each distinct row of levels occurs.

A row is one number, the positions of its levels as digits, as long as such numbers fit. Rows wait until they are many,
and are then counted by sorting their numbers, which takes a fraction of the time of a table of hashes; the levels are
looked up only in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Ints
from dagopt.data.distinct import LARGEST_NUMBER, distinct_rows

__all__ = ["Counts"]

MOST_WAITING = 1 << 20  # rows that are kept before equal ones are counted: 8 MB of numbers
Part = tuple[NDArray[Any], Ints | None]  # rows, and how often each occurs; without that, some may be equal


@dataclass(frozen=True, eq=False)
class Counts:
    """The distinct rows, and how often each occurs.

    Attributes
    ----------
    arity : tuple of int
        The number of levels of each column.
    parts : tuple of (rows, weights)
        Rows that are still to be merged: int arrays of shape (rows,) with the number of each row, or (n, rows) with its
        levels if there are too many rows to number.
    """

    arity: tuple[int, ...]
    parts: tuple[Part, ...]

    @cached_property
    def _merged(self) -> tuple[NDArray[Any], Ints]:
        """The distinct rows, and how often each occurs."""
        if self.parts[0][0].ndim == 2:
            return _merged_levels(self.parts, self.arity)
        found = [(rows, weights) for rows, weights in self.parts if weights is not None]
        if single := [rows for rows, weights in self.parts if weights is None]:
            found.append(_counted(np.concatenate(single)))
        if len(found) == 1:
            return found[0]
        return _added(*(np.concatenate(both) for both in zip(*found, strict=True)))

    @property
    def rows(self) -> NDArray[Any]:
        """The distinct rows: the number of each, in their order, or its levels, of shape (n, distinct rows)."""
        return self._merged[0]

    @property
    def weights(self) -> Ints:
        """How often each distinct row occurs."""
        return self._merged[1]

    def __getstate__(self) -> dict[str, Any]:
        """Return what travels between machines: distinct rows only."""
        return {"arity": self.arity, "parts": (self._merged,)}

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
            part: Part = (numbers, None) if weights is None else _added(numbers, weights)
        else:
            part = np.array([own - first for own, first in digits]).astype(np.uint16), weights
        return cls(tuple(arity), (part,))

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
        both = Counts(self.arity, (*self.parts, *other.parts))
        if sum(rows.shape[-1] for rows, _ in both.parts) <= MOST_WAITING:
            return both
        return Counts(self.arity, (both._merged,))

    def recoded(self, places: Sequence[Ints], arity: Sequence[int]) -> Counts:
        """Return the counts with other positions of the levels."""
        if tuple(arity) == self.arity and all((to == np.arange(len(to))).all() for to in places):
            return self
        codes = [to[own] for to, own in zip(places, self.codes, strict=True)]
        return Counts.of_codes(codes, arity, self.weights)

    def select(self, places: Sequence[int]) -> Counts:
        """Return the counts of some columns, by position, in this order."""
        return Counts.of_codes([self.codes[j] for j in places], [self.arity[j] for j in places], self.weights)


def _counted(numbers: Ints) -> tuple[Ints, Ints]:
    """Return the distinct numbers, in their order, and how often each occurs."""
    ordered = np.sort(numbers)
    first = _first_of_each(ordered)
    return ordered[first], np.diff(first, append=len(ordered))


def _added(numbers: Ints, weights: Ints) -> tuple[Ints, Ints]:
    """Return the distinct numbers, in their order, and the sums of their weights."""
    sequence = np.argsort(numbers, kind="stable")  # what is sorted in parts is merged in the time of a copy
    ordered = numbers[sequence]
    first = _first_of_each(ordered)
    added = np.add.reduceat(weights[sequence], first) if len(first) else weights[:0]
    return ordered[first], added.astype(np.int64, copy=False)


def _first_of_each(ordered: Ints) -> Ints:
    """Return where each of the numbers, which are sorted, occurs first."""
    return np.flatnonzero(np.concatenate([np.ones(min(len(ordered), 1), dtype=np.bool_), ordered[1:] != ordered[:-1]]))


def _merged_levels(parts: Sequence[Part], arity: Sequence[int]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct rows of levels, in the order of their first occurrence, and how often each occurs."""
    rows = np.concatenate([own for own, _ in parts], axis=-1)
    first, which = distinct_rows(rows, arity)
    times = [np.ones(own.shape[-1], dtype=np.int64) if weights is None else weights for own, weights in parts]
    added = np.bincount(which, np.concatenate(times), minlength=len(first))  # exact: below 2^53
    return np.ascontiguousarray(rows[:, first]), added.astype(np.int64)


def _is_numbered(arity: Sequence[int]) -> bool:
    """Say whether rows have numbers that fit."""
    span = 1
    for levels in arity:
        span *= max(levels, 1)
    return span < LARGEST_NUMBER
