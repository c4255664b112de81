"""Branching on which of two nodes comes first in the order of the DAG.

In one child i comes before j: j is not a parent of i, and families of j that i would improve are excluded (a best DAG
has i after them). Both facts, transitivity, and what all remaining families of a node imply are propagated until
nothing more follows. The pair is chosen by strong branching: the LPs of both children are solved for the pairs that the
LP point decides least. What both orders of a pair exclude is excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dagopt.arrays import Bools, Words
from dagopt.bits import bools_of_words
from dagopt.families.families import Families
from dagopt.kernels.cuts import tree as kernels
from dagopt.lp.relaxation import Start
from dagopt.lp.rows.row import Point

__all__ = ["Part", "Probe", "improving", "probe_pairs", "propagate", "undecided_pairs"]

LEAST_IMPROVEMENT = 1e-5  # besides rounding, what an added parent must gain to count as an improvement


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
    def whole(cls, families: Families) -> Part:
        """Return the whole problem."""
        later = np.zeros((families.n_nodes, families.words.shape[1]), dtype=np.uint64)
        return cls(np.ones(len(families.node), dtype=np.bool_), later)

    def copy(self) -> Part:
        """Return a copy, which can be restricted without a change of this one."""
        return Part(self.alive.copy(), self.later.copy())

    def with_order(self, first: int, second: int) -> Part:
        """Return the part of this one in which one node comes before another."""
        later = self.later.copy()
        later[first, second >> 6] |= np.uint64(1) << np.uint64(second & 63)
        return Part(self.alive.copy(), later)

    def restrict_to(self, *parts: Part) -> None:
        """Keep what at least one of these parts allows: the families of any of them, the orders of all of them."""
        self.alive &= np.logical_or.reduce([one.alive for one in parts])
        self.later |= np.bitwise_and.reduce([one.later for one in parts])


@dataclass(frozen=True, eq=False)
class Probe:
    """A part that was tried.

    Attributes
    ----------
    part : Part
        The part, restricted by what the trial excluded.
    bound : float
        A bound on the scores of its DAGs, minus infinity if it has none.
    start : Start or None
        Where its LP stands, None if it was not solved to the end.
    """

    part: Part
    bound: float
    start: Start | None


def improving(families: Families, margin: float = 0.0) -> tuple[Words, list[partial[None]]]:
    """Return for every family the nodes that come after its node in a best DAG, and the work of finding them.

    These are the nodes that would improve it as further parents. Before all of the work is done there are only some.

    Parameters
    ----------
    families : Families
        All families that the DAG may have.
    margin : float
        How far the difference of two scores can be wrong.
    """
    after = np.zeros_like(families.words)
    least = LEAST_IMPROVEMENT + 1e-11 * float(np.abs(families.score).max()) + margin
    facts = (families.words, families.score, families.offsets, least)
    return after, [partial(kernels.improvable, *facts, i, i + 1, after) for i in range(families.n_nodes)]


def propagate(families: Families, after: Words, part: Part) -> bool:
    """Draw all conclusions, in place; False if no DAG is left."""
    return bool(kernels.propagate(families.words, after, families.offsets, part.later, part.alive))


def undecided_pairs(point: Point, after: Words, part: Part, most: int) -> list[tuple[int, int]]:
    """Return the pairs of nodes whose order the LP point decides least, the least decided first."""
    n = point.families.n_nodes
    support = point.support
    before = np.zeros((n, n))  # how much of the point has the first node before the second
    sizes = np.diff(support.starts)
    np.add.at(before, (support.flat, np.repeat(support.node, sizes)), np.repeat(support.mass, sizes))
    claims = bools_of_words(after[support.places], n)
    for i, mass, own in zip(support.node, support.mass, claims, strict=True):
        before[i] += mass * own
    decided = bools_of_words(part.later, n)
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


def probe_pairs(
    pairs: list[tuple[int, int]],
    part: Part,
    bound: float,
    enough: float,
    attempt: Callable[[list[list[Part]]], list[list[Probe]]],
    at_once: int = 1,
) -> list[Probe]:
    """Try both orders of every pair, and return the children of the pair that lowers the bound most.

    ``attempt`` is given both parts of so many pairs ``at_once``.

    Every DAG has one of the two orders. So what neither order of a pair allows is excluded from the children, and if
    the bound of one order is not above ``enough``, the other order holds in them. If that decides all pairs, there is
    one child, and none if both orders of a pair are closed.
    """
    best, chosen = -1.0, list[Probe]()
    implied = Part(part.alive.copy(), part.later.copy())
    for found in _tried(pairs, part, attempt, at_once):
        left = [one for one in found if one.bound > enough]
        if not left:
            return []
        if len(left) == 1:
            implied.restrict_to(left[0].part)
            bound = min(bound, left[0].bound)
            continue
        implied.restrict_to(*(one.part for one in found))
        drops = [min(max(bound - one.bound, 1e-6), bound - enough) for one in found]
        if drops[0] * drops[1] > best:
            best, chosen = drops[0] * drops[1], found
    if not chosen:
        return [Probe(implied, bound, None)]
    for one in chosen:
        one.part.restrict_to(implied)
    return [replace(one, bound=min(one.bound, bound)) for one in chosen]


def _tried(
    pairs: list[tuple[int, int]],
    part: Part,
    attempt: Callable[[list[list[Part]]], list[list[Probe]]],
    at_once: int,
) -> Iterator[list[Probe]]:
    """Yield what both orders of each pair give."""
    for begin in range(0, len(pairs), at_once):
        some = pairs[begin : begin + at_once]
        yield from attempt([[part.with_order(i, j), part.with_order(j, i)] for i, j in some])
