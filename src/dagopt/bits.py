"""Sets of nodes as Python integers: bit ``i`` of the integer says whether node ``i`` is in the set.

Many sets at once are rows of 64-bit words: node ``i`` is bit ``i % 64`` of word ``i // 64``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Ints, Words

__all__ = [
    "Marks",
    "bit_counts",
    "bools_of_words",
    "from_bitsets",
    "from_words",
    "listed_members",
    "mask_of",
    "members",
    "to_bitsets",
    "to_words",
    "words_of_bools",
    "words_of_rows",
]


def to_bitsets(matrix: NDArray[np.generic]) -> list[int]:
    """Return the rows of a 0/1 matrix as integers.

    Parameters
    ----------
    matrix : ndarray of shape (n_rows, n_nodes)
        Anything that is not zero counts as one.

    Returns
    -------
    list of int
        ``sum(2**j for j with matrix[i, j] != 0)`` for every row ``i``.
    """
    packed = np.packbits(np.asarray(matrix) != 0, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def from_bitsets(bitsets: Sequence[int], n_nodes: int) -> NDArray[np.int8]:
    """Return the 0/1 matrix whose rows are the given integers (the inverse of `to_bitsets`)."""
    width = (n_nodes + 7) // 8
    packed = np.frombuffer(b"".join(row.to_bytes(width, "little") for row in bitsets), dtype=np.uint8)
    packed = packed.reshape(len(bitsets), width)
    return np.unpackbits(packed, axis=1, count=n_nodes, bitorder="little").astype(np.int8)


def members(bitset: int) -> list[int]:
    """Return the nodes of a set, smallest first."""
    found = []
    while bitset:
        lowest = bitset & -bitset
        found.append(lowest.bit_length() - 1)
        bitset ^= lowest
    return found


def mask_of(nodes: Iterable[int]) -> int:
    """Return the set of these nodes as an integer."""
    mask = 0
    for j in nodes:
        mask |= 1 << int(j)
    return mask


def bit_counts(size: int) -> Ints:
    """Return the number of ones of 0, 1, ..., 2^size - 1."""
    return np.bitwise_count(np.arange(1 << size)).astype(np.int64)


def n_words(n_nodes: int) -> int:
    """Return how many words a set of nodes has."""
    return max((n_nodes + 63) // 64, 1)


def to_words(bitsets: Sequence[int], n_nodes: int) -> Words:
    """Return sets given as integers as rows of words."""
    width = n_words(n_nodes)
    raw = b"".join(bitset.to_bytes(8 * width, "little") for bitset in bitsets)
    return np.frombuffer(raw, dtype="<u8").reshape(len(bitsets), width).astype(np.uint64)


def from_words(row: Words) -> int:
    """Return one set given as words as an integer."""
    return int.from_bytes(row.astype("<u8").tobytes(), "little")


def words_of_rows(rows: Ints, n_nodes: int) -> Words:
    """Return sets given as rows of members, all of one size, as rows of words."""
    words = np.zeros((len(rows), n_words(n_nodes)), dtype=np.uint64)
    every = np.arange(len(rows))
    for member in rows.T:
        words[every, member >> 6] |= np.uint64(1) << (member & 63).astype(np.uint64)
    return words


def words_of_bools(rows: NDArray[np.bool_]) -> Words:
    """Return sets given as rows of truth values, one per node, as rows of words."""
    padded = np.zeros((len(rows), 64 * n_words(rows.shape[1])), dtype=np.bool_)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def bools_of_words(words: Words, n_nodes: int) -> NDArray[np.bool_]:
    """Return sets given as rows of words as rows of truth values, one per node."""
    raw = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return raw[:, :n_nodes].astype(np.bool_)


def listed_members(words: Words) -> tuple[Ints, Ints]:
    """Return the concatenated members of sets given as words, smallest first, and where each begins (plus the end)."""
    counts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
    flat = np.empty(int(starts[-1]), dtype=np.int64)
    at = starts[:-1].copy()
    for w in range(words.shape[1]):
        left = words[:, w].copy()
        rows = np.flatnonzero(left)
        while len(rows):
            some = left[rows]
            low = some & (~some + np.uint64(1))
            flat[at[rows]] = 64 * w + np.bitwise_count(low - np.uint64(1)).astype(np.int64)
            at[rows] += 1
            left[rows] = some ^ low
            rows = rows[left[rows] != 0]
    return flat, starts


class Marks:
    """The edges of a PDAG, node by node, as sets that an algorithm may change.

    Attributes
    ----------
    parents, children, neighbours : list of int
        For each node the set of nodes joined to it by an arrow in, an arrow out, or no arrow.
    adjacent : list of int
        For each node the union of the three.
    """

    def __init__(self, adjacency: NDArray[np.generic]) -> None:
        forward, backward = to_bitsets(adjacency), to_bitsets(np.asarray(adjacency).T)
        self.n_nodes = len(forward)
        self.neighbours = [out & into for out, into in zip(forward, backward, strict=True)]
        self.children = [out & ~into for out, into in zip(forward, backward, strict=True)]
        self.parents = [into & ~out for out, into in zip(forward, backward, strict=True)]
        self.adjacent = [out | into for out, into in zip(forward, backward, strict=True)]

    def orient(self, tail: int, head: int) -> None:
        """Turn the undirected edge ``tail - head`` into ``tail -> head``."""
        self.neighbours[tail] &= ~(1 << head)
        self.neighbours[head] &= ~(1 << tail)
        self.children[tail] |= 1 << head
        self.parents[head] |= 1 << tail

    def to_adjacency(self) -> NDArray[np.int8]:
        """Return the adjacency array: ``[i, j] = 1`` for ``i -> j``, and both ways for ``i - j``."""
        rows = [out | both for out, both in zip(self.children, self.neighbours, strict=True)]
        return from_bitsets(rows, self.n_nodes)
