"""The families of a master as arrays, and DAGs made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints, Words
from dagopt.bits import listed_members, to_bitsets, to_words
from dagopt.errors import InputError
from dagopt.families.family_pool import FamilyPool
from dagopt.families.pool import Pool
from dagopt.kernels.cuts import growing, logdet_rows
from dagopt.kernels.cuts import separation as kernels
from dagopt.kernels.orders import listed as orders

__all__ = ["NO_DAG", "SUPPORT_TOLERANCE", "FamilyArrays"]

Cluster = frozenset[int]

SUPPORT_TOLERANCE = 1e-9  # LP values up to this count as zero

NO_DAG = "no DAG can be made of the candidate parent sets; add the empty set of some nodes to the pool"


@dataclass(frozen=True, eq=False)
class FamilyArrays:
    """A pool as arrays: node by node, each node's families from the best score down, ties with smaller sets first.

    Attributes
    ----------
    n_nodes : int
        Number of nodes n.
    place : int array
        Where each family is in the pool.
    node : int array
        Its node i.
    words : uint64 array of shape (n_families, n_words)
        Its parent set J, 64 nodes per word.
    score : array
        Its local score.
    offsets : int array of length n_nodes + 1
        Families ``offsets[i]`` to ``offsets[i + 1]`` are those of node i.
    """

    n_nodes: int
    place: Ints
    node: Ints
    words: Words
    score: Floats
    offsets: Ints

    @classmethod
    def of(cls, pool: FamilyPool) -> FamilyArrays:
        """Return the families of a pool."""
        node = np.array([family.node for family in pool], dtype=np.int64)
        score = np.array([family.score for family in pool], dtype=np.float64)
        size = np.array([family.mask.bit_count() for family in pool], dtype=np.int64)
        words = to_words([family.mask for family in pool], pool.n_nodes)
        place = np.lexsort((size, -score, node)).astype(np.int64)
        offsets = np.searchsorted(node[place], np.arange(pool.n_nodes + 1)).astype(np.int64)
        return cls(pool.n_nodes, place, node[place], words[place], score[place], offsets)

    @classmethod
    def of_sets(cls, pool: Pool) -> FamilyArrays:
        """Return the families of a pool of candidate parent sets, which is already sorted."""
        counts = [len(own) for own in pool.words]
        node = np.repeat(np.arange(pool.n_nodes), counts)
        words = np.concatenate(pool.words)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(pool.n_nodes, np.arange(len(node)), node, words, np.concatenate(pool.scores), offsets)

    def without_dominated(self) -> FamilyArrays:
        """Return the families that no subset equals or beats: some best DAG uses only these."""
        gone = np.empty(len(self.node), dtype=np.bool_)
        kernels.dominated(self.words, self.offsets, gone)
        return self.only(np.flatnonzero(~gone))

    def only(self, keep: NDArray[np.integer]) -> FamilyArrays:
        """Return some of the families, in the same order."""
        offsets = np.searchsorted(self.node[keep], np.arange(self.n_nodes + 1)).astype(np.int64)
        return FamilyArrays(
            self.n_nodes, self.place[keep], self.node[keep], self.words[keep], self.score[keep], offsets
        )

    def places_in(self, others: FamilyArrays) -> Ints:
        """Return where each family is among others; -1 if it is not."""
        known = {key: place for place, key in enumerate(others._keys())}
        return np.array([known.get(key, -1) for key in self._keys()], dtype=np.int64)

    def _keys(self) -> Iterator[bytes]:
        """Yield the node and the parent set of each family as bytes."""
        both = np.ascontiguousarray(np.column_stack([self.node.astype(np.uint64), self.words]))
        return (row.tobytes() for row in both)

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
        """The families in the form for the order search."""
        lists: orders.Lists = orders.lists_of(*self.listed, self.score, self.offsets)
        return lists

    def in_row(self, cluster: Cluster) -> Ints:
        """Return the families in the row of a cluster: those with their node and a parent in it."""
        row = to_words([sum(1 << i for i in cluster)], self.n_nodes)[0]
        own = np.concatenate([np.arange(self.offsets[i], self.offsets[i + 1]) for i in sorted(cluster)])
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
        taken = np.zeros(len(self.node))
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
