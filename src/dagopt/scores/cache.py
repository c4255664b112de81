"""A memory of local scores, keyed by node and set, with a cap."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from dagopt.scores.base import Score

__all__ = ["RememberedScore"]

BYTES_PER_ENTRY = 170  # of a dict entry with a key of up to four parents, and a float
BYTES_PER_PARENT = 8


class RememberedScore:
    """Local scores that are computed once.

    Parameters
    ----------
    score : Score
        Where values come from.
    memory_limit : int
        Bytes that the memory may take; when it is full, the older half is forgotten.

    Attributes
    ----------
    hits, misses : int
        How often a value was at hand, and how often it was computed.
    """

    def __init__(self, score: Score, memory_limit: int = 256 * 2**20) -> None:
        self.score = score
        self.memory_limit = memory_limit
        self.hits = 0
        self.misses = 0
        self._known: dict[tuple[int, ...], float] = {}
        self._bytes = 0

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score of ``node`` with the given set of parents."""
        key = (node, *sorted(parents))
        value = self._known.get(key)
        if value is not None:
            self.hits += 1
            return value
        self.misses += 1
        value = self.score.local(node, key[1:])
        self._known[key] = value
        self._bytes += BYTES_PER_ENTRY + BYTES_PER_PARENT * len(key)
        if self._bytes > self.memory_limit:
            self._forget_older_half()
        return value

    def __len__(self) -> int:
        return len(self._known)

    @property
    def n_bytes(self) -> int:
        """An estimate of the memory taken."""
        return self._bytes + sys.getsizeof(self)

    def _forget_older_half(self) -> None:
        entries = list(self._known.items())
        self._known = dict(entries[(len(entries) + 1) // 2 :])
        self._bytes = sum(BYTES_PER_ENTRY + BYTES_PER_PARENT * len(key) for key in self._known)
