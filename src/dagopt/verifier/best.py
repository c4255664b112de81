"""The best DAG over all orders of the columns, by recursion over sets of columns, in blocks that fit into memory.

The columns are split into low ones and high ones. A block has one set H of high columns and all sets of low ones; the
recursion goes from block to block, and only the best scores of two layers of blocks are kept. In a block, the best
parents of column i inside a set come from the local scores of all its subsets: those with the high part H' are looked
at for each H' inside H. A part H' that never beats its own subsets is left out from then on.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Allowed", "Locals", "best_score", "bytes_needed", "is_acyclic", "without"]

Floats = NDArray[np.float64]

LOW = 23  # low columns: 8 bytes for each of n 2^(LOW - 1) best parent sets, 0.8 GB
INNER = 6  # columns of the innermost steps, which are taken one set at a time
CHUNK = 1 << 15  # numbers that stay in the cache


@dataclass(frozen=True)
class Allowed:
    """The parent sets of one column: bits that must be in, bits that may be in, and the largest number of parents."""

    must: int
    may: int
    most: int

    def holds(self, parents: int) -> bool:
        """Say whether the set of parents is allowed."""
        return self.must & ~parents == 0 and parents & ~self.may == 0 and parents.bit_count() <= self.most


class Locals(Protocol):
    """The local scores of every column."""

    def raise_to(self, best: Floats, i: int, high: int, low: int) -> bool:
        """Raise ``best`` to the scores of column i with parents H + L; say whether one of them was larger.

        ``high`` has the high columns H, moved down to the first bits; ``best`` has one entry for each set L of the
        first ``low`` columns, without the bit of i if that is one of them. Sets that are not allowed change nothing.
        """


def bytes_needed(n: int, n_low: int = LOW) -> int:
    """Return how much memory the search takes: the tables of one block, and the best scores of two layers of blocks."""
    low = min(n, n_low)
    layers = max(comb(n - low, size) + comb(n - low, size + 1) for size in range(n - low + 1))
    return 8 * (low << (low - 1)) + 8 * ((layers + 3) << low)


def best_score(scores: Locals, n: int, n_low: int = LOW, threads: int = 1) -> float:
    """Return the best score of all DAGs over n columns."""
    low = min(n, n_low)
    layers = _layers(max(low - min(low, INNER), 0))
    useful = [[0] for _ in range(n)]  # the high parts that count, for each column
    blocks = {0: np.full(1 << low, -np.inf)}
    blocks[0][0] = 0.0
    with ThreadPoolExecutor(threads) as pool:
        for high in sorted(range(1 << (n - low)), key=lambda one: (one.bit_count(), one)):
            total = blocks.pop(high)  # the best of the DAGs whose last column is a high one

            def table(i: int, high: int = high) -> Floats:
                return _best_parents(scores, useful[i], i, high, low)

            _fill(total, list(pool.map(table, range(low))), layers)
            for i in range(low, n):
                if not high >> (i - low) & 1:
                    more = total + table(i)
                    place = high | 1 << (i - low)
                    blocks[place] = np.maximum(blocks[place], more) if place in blocks else more
    return float(total[-1])


def _best_parents(scores: Locals, useful: list[int], i: int, high: int, low: int) -> Floats:
    """Return the best score of column i with parents inside H + L, for each L."""
    best = np.full(1 << (low - (i < low)), -np.inf)
    for part in useful:
        if part & ~high == 0 and part != high:
            scores.raise_to(best, i, part, low)
    if scores.raise_to(best, i, high, low) and high:
        useful.append(high)
    size = min(len(best), CHUNK)
    for piece in best.reshape(-1, size):
        _raise_supersets(piece, 1)
    _raise_supersets(best, size)
    return best


def _raise_supersets(best: Floats, step: int) -> None:
    """Let every set have the largest value of its subsets, for the columns from the bit ``step`` on."""
    while step < len(best):
        halves = best.reshape(-1, 2, step)  # sets without and with this column
        for own in range(step) if step < 32 else [slice(None)]:
            np.maximum(halves[:, 1, own], halves[:, 0, own], out=halves[:, 1, own])
        step *= 2


def _fill(total: Floats, best: list[Floats], layers: list[NDArray[np.int64]]) -> None:
    """Fill in the best score of a DAG over each set of a block: one column is last, and the others are before it."""
    inner = min(len(best), INNER)
    rows = total.reshape(-1, 1 << inner)  # one row for each set of the other columns
    for sets in layers:  # all those of one size
        for i in range(inner, len(best)):
            chosen = sets[sets >> (i - inner) & 1 == 1]
            before = chosen ^ (1 << (i - inner))
            more = rows[before] + best[i].reshape(-1, 1 << inner)[without(before, i - inner)]
            rows[chosen] = np.maximum(rows[chosen], more)
        own = np.ascontiguousarray(rows[sets].T)
        tables = [np.ascontiguousarray(best[i].reshape(len(rows), -1)[sets].T) for i in range(inner)]
        for inside, i in _steps(inner):
            before = inside ^ (1 << i)
            np.maximum(own[inside], own[before] + tables[i][int(without(np.array(before), i))], out=own[inside])
        rows[sets] = own.T


def _steps(inner: int) -> Iterator[tuple[int, int]]:
    """Yield the sets of the innermost columns, smaller numbers first, each with every one of its columns."""
    return ((inside, i) for inside in range(1 << inner) for i in range(inner) if inside >> i & 1)


def _layers(n: int) -> list[NDArray[np.int64]]:
    """Return all sets of n columns, those of each size together."""
    sizes = np.bitwise_count(np.arange(1 << n, dtype=np.int64))
    order = np.argsort(sizes, kind="stable")
    return [order[start:end] for start, end in pairwise([0, *np.cumsum(np.bincount(sizes)).tolist()])]


def without(sets: NDArray[np.int64], i: int) -> NDArray[np.int64]:
    """Return sets that do not contain column i with its bit taken out, so that later bits move down by one."""
    return sets >> (i + 1) << i | sets & ((1 << i) - 1)


def is_acyclic(parents: list[int]) -> bool:
    """Say whether the graph has no cycle: columns whose parents are all gone go, until none is left."""
    left = (1 << len(parents)) - 1
    while left:
        free = [i for i, own in enumerate(parents) if left >> i & 1 and own & left == 0]
        if not free:
            return False
        left &= ~sum(1 << i for i in free)
    return True
