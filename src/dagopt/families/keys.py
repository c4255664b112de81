"""Sets of a few items as single integers, so that sorting, adding and removing members is arithmetic.

With at most 62 items a set has one bit per item. With more, it is a number with one digit per member: the members in
increasing order are digits 1, 2, ... in the base "number of items plus one", so that sets of different sizes differ
too. The number of members that fit then depends on the number of items: 10 of 63, 6 of 1,000.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from dagopt.arrays import Ints

__all__ = ["BitKeys", "DigitKeys", "SetKeys", "set_keys"]


MOST_BITS = 62  # int64 with a bit to spare


class SetKeys(Protocol):
    """Sets of items 0, 1, ..., as integers."""

    most: int
    """The largest number of members of a set."""

    def of(self, rows: Ints) -> Ints:
        """Return the keys of sets given as rows of members in increasing order."""

    def members(self, keys: Ints, size: int) -> Ints:
        """Return the members of sets of one size as rows, in increasing order."""

    def sizes(self, keys: Ints) -> Ints:
        """Return the number of members of each set."""

    def without(self, keys: Ints, rows: Ints, t: int) -> Ints:
        """Return the keys of sets without their t-th member; ``rows`` has their members."""

    def grown(self, keys: Ints, size: int, item: int) -> Ints:
        """Return those of these sets (sorted, of one size) whose members are all below an item, with the item added.

        The results are sorted, and those of a larger item come after them.
        """

    def last(self, keys: Ints, size: int) -> tuple[Ints, Ints]:
        """Return the largest members of sets of one size, and the keys of the sets without them."""


class BitKeys:
    """One bit per item."""

    def __init__(self, n_items: int) -> None:
        self.most = n_items

    def of(self, rows: Ints) -> Ints:
        """Return the keys of sets given as rows of members."""
        keys = np.zeros(len(rows), dtype=np.int64)
        for member in rows.T:
            keys |= np.int64(1) << member
        return keys

    def members(self, keys: Ints, size: int) -> Ints:
        """Return the members of sets of one size as rows, in increasing order."""
        found = np.empty((size, len(keys)), dtype=np.int64)
        rest = keys.copy()
        for k in range(size):
            lowest = rest & -rest
            found[k] = np.bitwise_count(lowest - 1)
            rest ^= lowest
        return found.T

    def sizes(self, keys: Ints) -> Ints:
        """Return the number of members of each set."""
        return np.bitwise_count(keys).astype(np.int64)

    def without(self, keys: Ints, rows: Ints, t: int) -> Ints:
        """Return the keys of sets without their t-th member."""
        return keys ^ (np.int64(1) << rows[:, t])

    def grown(self, keys: Ints, size: int, item: int) -> Ints:
        """Return those of these sets whose members are all below an item, with the item added."""
        return keys[: np.searchsorted(keys, np.int64(1) << item)] | np.int64(1) << item

    def last(self, keys: Ints, size: int) -> tuple[Ints, Ints]:
        """Return the largest members of sets of one size, and the keys of the sets without them."""
        items = np.searchsorted(np.int64(1) << np.arange(MOST_BITS, dtype=np.int64), keys, side="right") - 1
        return items, keys ^ np.int64(1) << items


class DigitKeys:
    """One digit per member."""

    def __init__(self, n_items: int) -> None:
        self._base = n_items + 1
        self.most = next(k for k in range(1, 63) if self._base ** (k + 1) >= 2**63)
        self._powers = np.array([self._base**k for k in range(self.most + 1)], dtype=np.int64)

    def of(self, rows: Ints) -> Ints:
        """Return the keys of sets given as rows of members in increasing order."""
        return (rows + 1) @ self._powers[: rows.shape[1]]

    def members(self, keys: Ints, size: int) -> Ints:
        """Return the members of sets of one size as rows, in increasing order."""
        digits: Ints = keys[:, np.newaxis] // self._powers[:size] % self._base - 1
        return digits

    def sizes(self, keys: Ints) -> Ints:
        """Return the number of members of each set."""
        return np.searchsorted(self._powers, keys, side="right").astype(np.int64)

    def without(self, keys: Ints, rows: Ints, t: int) -> Ints:
        """Return the keys of sets without their t-th member: the digits above it move down by one."""
        below: Ints = keys % self._powers[t]
        if t + 1 < rows.shape[1]:
            below += keys // self._powers[t + 1] * self._powers[t]
        return below

    def grown(self, keys: Ints, size: int, item: int) -> Ints:
        """Return those of these sets whose members are all below an item, with the item added."""
        most = (item + 1) * self._powers[size - 1] if size else 1  # keys of sets whose last digit is smaller are below
        grown: Ints = keys[: np.searchsorted(keys, most)] + (item + 1) * self._powers[size]
        return grown

    def last(self, keys: Ints, size: int) -> tuple[Ints, Ints]:
        """Return the largest members of sets of one size, and the keys of the sets without them."""
        return keys // self._powers[size - 1] - 1, keys % self._powers[size - 1]


def set_keys(n_items: int) -> SetKeys:
    """Return the keys for sets of this many items."""
    return BitKeys(n_items) if n_items <= MOST_BITS else DigitKeys(n_items)
