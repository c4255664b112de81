"""Branching on which of two nodes comes first in the order of the DAG.

In one child i comes before j: j is not a parent of i, and families of j that i would improve are excluded (a best DAG
has i after them). Both facts, transitivity, and what all remaining families of a node imply are propagated until
nothing more follows. The pair is chosen by strong branching: the LPs of both children are solved for the pairs that the
LP point decides least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.cuts import tree as kernels
from dagopt.master.families import FamilyArrays
from dagopt.master.rows.base import Point

__all__ = ["Part", "propagate", "strongest_pair", "undecided_pairs"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


@dataclass(eq=False)
class Part:
    """A part of the problem: the families that may be used, and which nodes come after which.

    Attributes
    ----------
    alive : bool array
        One per family.
    later : uint64 array of shape (n_nodes, n_words)
        For each node the set of nodes that come after it.
    """

    alive: Bools
    later: Words

    @classmethod
    def whole(cls, families: FamilyArrays) -> Part:
        """Return the whole problem."""
        later = np.zeros((families.n_nodes, families.words.shape[1]), dtype=np.uint64)
        return cls(np.ones(len(families.node), dtype=np.bool_), later)

    def with_order(self, first: int, second: int) -> Part:
        """Return the part of this one in which one node comes before another."""
        later = self.later.copy()
        later[first, second >> 6] |= np.uint64(1) << np.uint64(second & 63)
        return Part(self.alive.copy(), later)


def propagate(families: FamilyArrays, after: Words, part: Part) -> bool:
    """Draw all conclusions, in place; False if no DAG is left."""
    return bool(kernels.propagate(families.words, after, families.offsets, part.later, part.alive))


def undecided_pairs(point: Point, after: Words, part: Part, most: int) -> list[tuple[int, int]]:
    """Return the pairs of nodes whose order the LP point decides least, the least decided first."""
    n = point.families.n_nodes
    support = point.support
    before = np.zeros((n, n))  # how much of the point has the first node before the second
    sizes = np.diff(support.starts)
    np.add.at(before, (support.flat, np.repeat(support.node, sizes)), np.repeat(support.mass, sizes))
    claims = _bits(after[support.places], n)
    for i, mass, own in zip(support.node, support.mass, claims, strict=True):
        before[i] += mass * own
    decided = _bits(part.later, n)
    decided |= decided.T
    np.fill_diagonal(decided, val=True)
    doubt = np.where(decided, -1.0, np.minimum(before, before.T))
    weight = np.where(decided, -1.0, np.maximum(before, before.T))
    chosen: dict[tuple[int, int], None] = {}
    for matrix, count in ((doubt, most), (weight, 2)):
        upper = np.triu(matrix, k=1)
        for place in np.argsort(-upper, axis=None, kind="stable")[:count]:
            i, j = divmod(int(place), n)
            if upper[i, j] > 1e-9 and len(chosen) <= most:
                chosen[i, j] = None
    return list(chosen)


def strongest_pair(
    pairs: list[tuple[int, int]], part: Part, bound: float, score: float, try_part: Callable[[Part], float]
) -> tuple[tuple[int, int], list[tuple[Part, float]]]:
    """Return the pair whose two children lower the bound most, and the children with their bounds.

    ``try_part`` returns the bound of a part, minus infinity if nothing is left in it.
    """
    best, chosen, children = -1.0, pairs[0], list[tuple[Part, float]]()
    for pair in pairs:
        found = []
        for first, second in (pair, pair[::-1]):
            child = part.with_order(first, second)
            found.append((child, min(try_part(child), bound)))
        drops = [min(max(bound - one, 1e-6), bound - score) for _, one in found]
        value = drops[0] * drops[1]
        if value > best:
            best, chosen, children = value, pair, found
        if min(drops) >= bound - score:
            break
    return chosen, children


def _bits(words: Words, n: int) -> Bools:
    """Return sets given as words as rows of booleans."""
    raw = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    return raw[:, :n].astype(np.bool_)
