"""Families: nodes with candidate parent sets and their local scores, and DAGs made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints, Words
from dagopt.bits import from_words, listed_members, mask_of, members, to_bitsets, to_words
from dagopt.errors import InputError
from dagopt.families.jkl import LocalScores
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels.cuts import growing, logdet_rows
from dagopt.kernels.cuts import separation as kernels
from dagopt.kernels.orders import listed as orders
from dagopt.workers import Workers

__all__ = ["COMPARING", "MOST_MASK_NODES", "NO_DAG", "SUPPORT_TOLERANCE", "Families", "Family"]

Cluster = frozenset[int]

COMPARING = "comparing parent sets"
COMPARED = 1_000  # families that are compared with all earlier ones between two looks at the clock
LARGEST_BITS = 17  # scores are searched as numbers below 2^17: sums over a thousand nodes round by less than 1e-7
MOST_MASK_NODES = 62  # the most nodes whose sets fit in the bits of one signed 64-bit integer
SUPPORT_TOLERANCE = 1e-9  # LP values up to this count as zero

NO_DAG = "no DAG can be made of the candidate parent sets; add the empty set of some nodes to the pool"


class Family(NamedTuple):
    """The variable x_{i ← J}: a node, a parent set as the bits of an integer, and its local score."""

    node: int
    mask: int
    score: float


@dataclass(frozen=True, eq=False)
class Families:
    """Families node by node, each once, each node's from the best score down, ties with smaller sets first.

    Attributes
    ----------
    names : tuple of str
        The nodes.
    node : int array
        The node i of each family.
    words : uint64 array of shape (n_families, n_words)
        Its parent set J; node j is bit j % 64 of word j // 64.
    score : array
        Its local score.
    offsets : int array of length n_nodes + 1
        Families ``offsets[i]`` to ``offsets[i + 1]`` are those of node i.
    place : int array
        Where each family is among those of which these were taken.
    """

    names: tuple[str, ...]
    node: Ints
    words: Words
    score: Floats
    offsets: Ints
    place: Ints

    @classmethod
    def of(cls, names: Sequence[str], node: Ints, words: Words, score: Floats) -> Families:
        """Return the given families, sorted; of those given twice, the one with the better score."""
        own = (words[np.arange(len(node)), node >> 6] >> (node & 63).astype(np.uint64)) & np.uint64(1) != 0
        if own.any():
            name = names[node[np.argmax(own)]]
            raise InputError(f"a candidate parent set of {name!r} contains {name!r} itself; remove it from the set")
        order = np.lexsort((-score, *words.T, node))
        node, words, score = node[order], words[order], score[order]
        new = np.ones(len(node), dtype=np.bool_)
        new[1:] = (words[1:] != words[:-1]).any(axis=1) | (node[1:] != node[:-1])
        order, node, words, score = order[new], node[new], words[new], score[new]
        best = np.lexsort((*words.T, np.bitwise_count(words).sum(axis=1), -score, node))
        offsets = np.searchsorted(node, np.arange(len(names) + 1)).astype(np.int64)
        return cls(tuple(names), node[best], words[best], score[best], offsets, order[best].astype(np.int64))

    @classmethod
    def from_words(cls, names: Sequence[str], words: Sequence[Words], scores: Sequence[Floats]) -> Families:
        """Return the families of parent sets given for each node as words."""
        node = np.repeat(np.arange(len(names)), [len(own) for own in words])
        return cls.of(names, node, np.concatenate(words), np.concatenate(scores))

    @classmethod
    def from_masks(
        cls, names: Sequence[str], masks: Sequence[Iterable[int]], scores: Sequence[Iterable[float]]
    ) -> Families:
        """Return the families of parent sets given for each node as integers."""
        words = [to_words([int(mask) for mask in own], len(names)) for own in masks]
        return cls.from_words(names, words, [np.array(list(values), dtype=np.float64) for values in scores])

    @classmethod
    def from_list(cls, n_nodes: int, families: Sequence[Family]) -> Families:
        """Return the given families of nodes that are named by their numbers."""
        node = np.array([family.node for family in families], dtype=np.int64)
        score = np.array([family.score for family in families], dtype=np.float64)
        words = to_words([family.mask for family in families], n_nodes)
        return cls.of([str(i) for i in range(n_nodes)], node, words, score)

    @classmethod
    def from_local_scores(cls, scores: LocalScores) -> Families:
        """Return the families of a ``.jkl`` file."""
        masks = [[mask_of(parents) for parents, _ in own] for own in scores.scores]
        return cls.from_masks(scores.names, masks, [[value for _, value in own] for own in scores.scores])

    def to_local_scores(self) -> LocalScores:
        """Return the families as the content of a ``.jkl`` file."""
        return LocalScores(
            self.names,
            [
                [
                    (tuple(members(from_words(row))), float(value))
                    for row, value in zip(self.words[own], self.score[own], strict=True)
                ]
                for own in map(self.own, range(self.n_nodes))
            ],
        )

    def __len__(self) -> int:
        return len(self.node)

    def __iter__(self) -> Iterator[Family]:
        rows = zip(self.node.tolist(), self.words, self.score.tolist(), strict=True)
        return (Family(node, from_words(row), score) for node, row, score in rows)

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return len(self.names)

    def times(self, factor: float) -> Families:
        """Return the families with their scores times a factor > 0."""
        return replace(self, score=factor * self.score)

    def rounding(self, score: float | None) -> float:
        """Return how far a sum of local scores can be off, for DAGs no worse than one with the given score.

        With P the sum of the nodes' best scores, as far as they are positive, the negative ones of such a DAG add up to
        at most P - score.
        """
        best = sum(float(self.score[self.own(node)].max(initial=0.0)) for node in range(self.n_nodes))
        return (self.n_nodes + 4) * float(np.finfo(np.float64).eps) * (2 * best + abs(score or 0.0))

    def own(self, node: int) -> slice:
        """Return where the families of a node are."""
        return slice(int(self.offsets[node]), int(self.offsets[node + 1]))

    @cached_property
    def masks(self) -> Ints:
        """The parent sets as single integers, for at most `MOST_MASK_NODES` nodes."""
        if self.n_nodes > MOST_MASK_NODES:
            raise InputError(
                f"expected at most {MOST_MASK_NODES} nodes for sets as single integers but got {self.n_nodes}"
            )
        return self.words[:, 0].astype(np.int64)

    def without_dominated(self, workers: Workers | None = None) -> Families:
        """Return the families that no subset equals or beats: some best DAG uses only these.

        With workers, raises ``Stopped`` at their deadline.
        """
        gone, pieces = self.comparisons()
        if workers is None:
            for piece in pieces:
                piece()
        else:
            workers.each(COMPARING, pieces, len(pieces))
        return self.only(~gone)

    def comparisons(self, safe: Bools | None = None) -> tuple[Bools, list[partial[None]]]:
        """Return which families are dominated, known when all pieces of the work have run, and these pieces.

        Parameters
        ----------
        safe : bool array, optional
            ``safe[j, i]`` says which parents lie in no cycle. They do not count in the comparison: a family is
            dominated by one with fewer other parents, whatever the safe ones.
        """
        gone = np.zeros(len(self), dtype=np.bool_)
        words = self.words if safe is None else self.without(safe).words
        pieces = [
            partial(kernels.dominated, words, begin, first, min(first + COMPARED, end), gone)
            for begin, end in pairwise(self.offsets.tolist())
            for first in range(begin, end, COMPARED)
        ]
        return gone, pieces

    def without(self, edges: Bools) -> Families:
        """Return the families in the same order without the parents ``edges[j, i]`` of i, with the scores they have."""
        return replace(self, words=self.words & ~to_words(to_bitsets(edges.T), self.n_nodes)[self.node])

    def allowed_by(self, knowledge: Knowledge) -> Families:
        """Return the families that the knowledge allows."""
        must, may = (
            to_words(to_bitsets(edges.T), self.n_nodes)[self.node] for edges in (knowledge.must, knowledge.may)
        )
        fits = ((self.words & must) == must).all(axis=1) & ~(self.words & ~may).any(axis=1)
        return self.only(fits & (np.bitwise_count(self.words).sum(axis=1) <= knowledge.at_most[self.node]))

    def only(self, keep: NDArray[np.integer] | Bools) -> Families:
        """Return some of the families, given as places in increasing order or as truth values."""
        node = self.node[keep]
        offsets = np.searchsorted(node, np.arange(self.n_nodes + 1)).astype(np.int64)
        return Families(self.names, node, self.words[keep], self.score[keep], offsets, self.place[keep])

    def joined(self, more: Families) -> Families:
        """Return these families and others; ``place`` counts these first."""
        both = (np.concatenate([getattr(one, part) for one in (self, more)]) for part in ("node", "words", "score"))
        return Families.of(self.names, *both)

    def where(self, count: int) -> Ints:
        """Return where the first ``count`` of the families of which these were taken are; -1 for those left out."""
        inside = np.flatnonzero(self.place < count)
        where = np.full(count, -1, dtype=np.int64)
        where[self.place[inside]] = inside
        return where

    @cached_property
    def listed(self) -> tuple[Ints, Ints]:
        """The parents of all families, concatenated, and where those of each family begin (one more entry)."""
        return listed_members(self.words)

    @cached_property
    def walk(self) -> tuple[Ints, Ints]:
        """An order of the families in which neighbours share first parents, and how many each shares with the last."""
        bits = np.unpackbits(self.words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
        keys = np.packbits(bits, axis=1).view(">u8")  # smaller parents are higher digits
        order = np.lexsort((*keys.T[::-1], self.node)).astype(np.int64)
        shared = np.empty_like(order)
        logdet_rows.shared_parents(self.node, *self.listed, order, shared)
        return order, shared

    @cached_property
    def lists(self) -> orders.Lists:
        """The families in the form for the order search; large scores in a unit in which rounding is no gain."""
        size = float(np.abs(self.score[np.isfinite(self.score)]).max(initial=0.0))
        values = np.ldexp(self.score, min(LARGEST_BITS - int(np.frexp(size)[1]), 0))
        lists: orders.Lists = orders.lists_of(*self.listed, values, self.offsets)
        return lists

    def in_row(self, cluster: Cluster) -> Ints:
        """Return the families in the row of a cluster: those with their node and a parent in it."""
        row = to_words([sum(1 << i for i in cluster)], self.n_nodes)[0]
        own = np.concatenate([np.arange(*self.offsets[i : i + 2]) for i in sorted(cluster)])
        found: Ints = own[(self.words[own] & row).any(axis=1)]
        return found

    def components(self, values: Floats) -> Iterator[tuple[Ints, growing.Support]]:
        """Yield the strongly connected components (of two or more nodes) of the arcs with mass, and their families."""
        some = np.flatnonzero(values > SUPPORT_TOLERANCE)
        node, mass = self.node[some], values[some]
        parents, starts = listed_members(self.words[some])
        offsets = np.searchsorted(node, np.arange(self.n_nodes + 1)).astype(np.int64)
        component = growing.strong_components(np.repeat(node, np.diff(starts)), parents, self.n_nodes)
        order = np.argsort(component, kind="stable")
        bounds = np.flatnonzero(np.diff(component[order], prepend=-1, append=self.n_nodes))
        local = np.full(self.n_nodes, -1, dtype=np.int64)
        for first, last in pairwise(bounds):
            nodes = order[first:last]
            if len(nodes) > 1:
                local[nodes] = np.arange(len(nodes))
                yield nodes, growing.support_of(nodes, local, offsets, mass, parents, starts)
                local[nodes] = -1

    def adjacency(self, chosen: NDArray[np.integer]) -> NDArray[np.int8]:
        """Return the graph with these families, one per node."""
        graph = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int8)
        bits = np.unpackbits(self.words[chosen].view(np.uint8), axis=1, bitorder="little")
        graph[:, self.node[chosen]] = bits[:, : self.n_nodes].T
        return graph

    def taken(self, values: Floats) -> Ints:
        """Return for each node the family with the largest value."""
        own = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        return np.array([first + np.argmax(values[first:last]) for first, last in own], dtype=np.int64)

    def inside(self, adjacency: NDArray[np.int8]) -> Ints | None:
        """Return for each node its best family whose parents are among those in a graph; None if a node has none."""
        parents = to_words(to_bitsets(adjacency.T), self.n_nodes)
        places = np.flatnonzero(~(self.words & ~parents[self.node]).any(axis=1))
        nodes, first = np.unique(self.node[places], return_index=True)
        return places[first].astype(np.int64) if len(nodes) == self.n_nodes else None

    def exactly(self, adjacency: NDArray[np.int8]) -> Ints | None:
        """Return the families that are the parent sets of a graph, one per node; None if one is missing."""
        parents = to_words(to_bitsets(adjacency.T), self.n_nodes)
        places = np.flatnonzero((self.words == parents[self.node]).all(axis=1))
        return places.astype(np.int64) if len(places) == self.n_nodes else None

    def near(self, values: Floats) -> Ints | None:
        """Return the families of a good DAG near an LP point, one per node; None if the order found allows none.

        The last node is the one that the other nodes' families need least, and so on; then nodes move in the order
        while that helps.
        """
        some = np.flatnonzero(values > SUPPORT_TOLERANCE)
        order = np.empty(self.n_nodes, dtype=np.int64)
        kernels.sink_order(self.node[some], values[some], *listed_members(self.words[some]), self.n_nodes, order)
        return self.along(order)

    def along(self, order: Ints) -> Ints | None:
        """Improve an order and return the families of its DAG; None if there is none."""
        orders.settle(self.lists, order)
        chosen = np.empty(self.n_nodes, dtype=np.int64)
        orders.listed_parents(self.lists, order, chosen)
        return chosen if (chosen >= 0).all() else None

    def start(self, incumbent: NDArray[np.int8] | None) -> Ints | None:
        """Return the families of a DAG to start from: those of the incumbent or of a first order, whichever is better.

        Parent sets of the incumbent that are not families are replaced by the best family inside them.
        """
        if (np.diff(self.offsets) == 0).any():
            raise InputError(NO_DAG)
        best = self.offsets[:-1]  # each node's best family, as if there were no cycles
        taken = np.zeros(len(self))
        taken[best] = 1.0
        return self.better(self.near(taken), None if incumbent is None else self.inside(incumbent))

    def total(self, chosen: Ints | None) -> float:
        """Return the score of the graph with these families, minus infinity for None."""
        return -np.inf if chosen is None else float(self.score[chosen].sum())

    def better(self, *found: Ints | None) -> Ints | None:
        """Return the families with the best score, the first of ties."""
        return max(found, key=self.total)

    def ceiling(self) -> float:
        """Return the sum of the best scores, which no DAG exceeds."""
        return float(self.score[self.offsets[:-1]].sum())
