"""Row generation (appendix B): cluster constraints that a point of the restricted master violates.

A cluster C is violated by x when

    Σ_{i ∈ C} Σ_{J ∩ C ≠ ∅} x_{i←J}  >  |C| - 1.

Integer points have cycles; fractional points are searched by growing clusters greedily from many seeds, and the
separation problem, which is NP-hard, is solved exactly only to prove that no violated cluster is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import members, to_bitsets
from dagopt.candidates.pool import Pool
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.kernels.cuts import separation as kernels
from dagopt.master.pool import FamilyPool

__all__ = ["CUT_TOLERANCE", "PROOF_TOLERANCE", "FamilyArrays", "FractionalSeparator", "Separated", "integer_clusters"]

Cluster = frozenset[int]
Floats = NDArray[np.float64]

CUT_TOLERANCE = 1e-4  # a cluster violated by less is not worth a row
PROOF_TOLERANCE = 1e-6  # an LP point that violates no cluster by more satisfies them all
SUPPORT_TOLERANCE = 1e-9  # LP values up to this are zeros
STEPS_A_NODE = 100_000  # of the exact search, for one smallest node; after that the separation IP takes over

NO_DAG = "no DAG can be made of the candidate parent sets; add the empty set of some nodes to the pool"


@dataclass(frozen=True, eq=False)
class FamilyArrays:
    """A pool as arrays: node by node, each node's families from the best score down, equals by smaller sets.

    Attributes
    ----------
    n_nodes : int
        Number of nodes n.
    place : int array
        Where each family is in the pool.
    node : int array
        Its node i.
    words : uint64 array of shape (n_families, n_words)
        Its parent set J, 64 nodes a word.
    score : array
        Its local score.
    offsets : int array of length n_nodes + 1
        Families ``offsets[i]`` to ``offsets[i + 1]`` are those of node i.
    """

    n_nodes: int
    place: NDArray[np.int64]
    node: NDArray[np.int64]
    words: NDArray[np.uint64]
    score: Floats
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, pool: FamilyPool) -> FamilyArrays:
        """Return the families of a pool."""
        node = np.array([family.node for family in pool], dtype=np.int64)
        score = np.array([family.score for family in pool], dtype=np.float64)
        size = np.array([family.mask.bit_count() for family in pool], dtype=np.int64)
        words = _words([family.mask for family in pool], pool.n_nodes)
        place = np.lexsort((size, -score, node)).astype(np.int64)
        offsets = np.searchsorted(node[place], np.arange(pool.n_nodes + 1)).astype(np.int64)
        return cls(pool.n_nodes, place, node[place], words[place], score[place], offsets)

    @classmethod
    def of_sets(cls, pool: Pool) -> FamilyArrays:
        """Return the families of a pool of candidate parent sets; its order is the one wanted."""
        counts = [len(own) for own in pool.masks]
        node = np.repeat(np.arange(pool.n_nodes), counts)
        words = np.concatenate(pool.masks).astype(np.uint64)[:, np.newaxis]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return cls(pool.n_nodes, np.arange(len(node)), node, words, np.concatenate(pool.scores), offsets)

    def without_dominated(self) -> FamilyArrays:
        """Return the families that have no subset with at least their score: some best DAG takes only these."""
        gone = np.empty(len(self.node), dtype=np.bool_)
        kernels.dominated(self.words, self.offsets, gone)
        keep = np.flatnonzero(~gone)
        offsets = np.searchsorted(self.node[keep], np.arange(self.n_nodes + 1)).astype(np.int64)
        return FamilyArrays(
            self.n_nodes, self.place[keep], self.node[keep], self.words[keep], self.score[keep], offsets
        )

    def in_row(self, cluster: Cluster) -> NDArray[np.intp]:
        """Return the families that stand in the row of a cluster: node in it, and a parent in it."""
        row = _words([sum(1 << i for i in cluster)], self.n_nodes)[0]
        inside = np.isin(self.node, list(cluster))
        return np.flatnonzero(inside & (self.words & row).any(axis=1))

    def adjacency(self, chosen: NDArray[np.integer]) -> NDArray[np.int8]:
        """Return the graph that takes these families, one a node."""
        graph = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int8)
        bits = np.unpackbits(self.words[chosen].view(np.uint8), axis=1, bitorder="little")
        graph[:, self.node[chosen]] = bits[:, : self.n_nodes].T
        return graph

    def taken(self, values: Floats) -> NDArray[np.int64]:
        """Return for each node the family with the largest value."""
        own = zip(self.offsets[:-1], self.offsets[1:], strict=True)
        return np.array([first + np.argmax(values[first:last]) for first, last in own], dtype=np.int64)

    def inside(self, adjacency: NDArray[np.int8]) -> NDArray[np.int64] | None:
        """Return for each node its best family whose parents are among those in a graph; None if a node has none."""
        parents = _words(to_bitsets(adjacency.T), self.n_nodes)
        places = np.flatnonzero(~(self.words & ~parents[self.node]).any(axis=1))
        nodes, first = np.unique(self.node[places], return_index=True)
        return places[first].astype(np.int64) if len(nodes) == self.n_nodes else None

    def near(self, values: Floats) -> NDArray[np.int64] | None:
        """Return the families of a good DAG near an LP point, one a node; None if the order found allows none.

        The last node is the one that the families of the others need least, and so on; then nodes move in the order
        while that helps.
        """
        some = np.flatnonzero(values > SUPPORT_TOLERANCE)
        order = np.empty(self.n_nodes, dtype=np.int64)
        kernels.sink_order(self.node[some], self.words[some], values[some], self.n_nodes, order)
        return self.along(order)

    def along(self, order: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the families of the DAG of an order, whose nodes move to better places first; None if none."""
        low, high = self.score.min(), self.score.max()
        nothing = low - 2.0 * self.n_nodes * (high - low) - 1.0
        kernels.improve_order(self.words, self.score, self.offsets, nothing, order)
        chosen = np.empty(self.n_nodes, dtype=np.int64)
        kernels.families_of_order(self.words, self.offsets, order, chosen)
        return chosen if (chosen >= 0).all() else None

    def start(self, incumbent: NDArray[np.int8] | None) -> NDArray[np.int64] | None:
        """Return the families of a DAG to start from: the incumbent's or those of a first order, whichever is better.

        Parents of the incumbent that are no family are replaced by the best family inside them.
        """
        if (np.diff(self.offsets) == 0).any():
            raise InputError(NO_DAG)
        best = self.offsets[:-1]  # each node's best family, as if there were no cycles
        taken = np.zeros(len(self.node))
        taken[best] = 1.0
        return self.better(self.near(taken), None if incumbent is None else self.inside(incumbent))

    def total(self, chosen: NDArray[np.int64] | None) -> float:
        """Return the score of the graph that takes these families, minus infinity for None."""
        return -np.inf if chosen is None else float(self.score[chosen].sum())

    def better(self, *found: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
        """Return the families with the best score, the first of equals."""
        return max(found, key=self.total)

    def ceiling(self) -> float:
        """Return the sum of the best scores, which no DAG exceeds."""
        return float(self.score[self.offsets[:-1]].sum())


class Separated(NamedTuple):
    """The answer of the separation problem.

    Attributes
    ----------
    cluster : frozenset of int or None
        The most violated cluster found; None if none is violated by more than `PROOF_TOLERANCE`.
    violation : float
        By how much it is violated.
    proven : bool
        Whether no cluster is violated by more.
    """

    cluster: Cluster | None
    violation: float
    proven: bool


def integer_clusters(adjacency: NDArray[np.int8]) -> list[Cluster]:
    """Return violated clusters of a graph with cycles: each strongly connected component, and short cycles in it.

    The rows of all of them are violated, since every node of a component or cycle has a parent in it. Through each
    node of a component goes a shortest cycle; each of these is given once, the shorter ones first.
    """
    children = to_bitsets(adjacency)
    found: dict[Cluster, None] = {}
    for component in _components(children):
        inside = sum(1 << i for i in component)
        cycles = {frozenset(_shortest_cycle(children, start, inside)) for start in component}
        found.update(dict.fromkeys(sorted(cycles, key=lambda cycle: (len(cycle), sorted(cycle)))))
        found[frozenset(component)] = None
    return list(found)


class FractionalSeparator:
    """Finds clusters that a fractional LP point violates.

    Parameters
    ----------
    most : int
        How many clusters to return at once, the most violated first.
    most_steps : int
        After how many steps for one node the exact search leaves the work to the separation IP.
    """

    def __init__(self, most: int = 50, most_steps: int = STEPS_A_NODE) -> None:
        self.most = most
        self.most_steps = most_steps
        self._known: tuple[FamilyPool, int, FamilyArrays] | None = None

    def _arrays(self, pool: FamilyPool) -> FamilyArrays:
        """Return the arrays of a pool, made again only when it has grown."""
        if self._known is None or self._known[0] is not pool or self._known[1] != len(pool):
            self._known = (pool, len(pool), FamilyArrays.of(pool))
        return self._known[2]

    def separate(self, pool: FamilyPool, values: Floats, deadline: Deadline) -> list[Cluster]:
        """Return violated clusters, most violated first, by heuristics; by the exact search if they find none."""
        families = self._arrays(pool)
        own = np.asarray(values, dtype=np.float64)[families.place]
        found = self.heuristic(families, own)
        if found or deadline.reason is not None:
            return found
        cluster = self.most_violated(pool, values, deadline).cluster
        return [] if cluster is None else [cluster]

    def heuristic(self, families: FamilyArrays, values: Floats) -> list[Cluster]:
        """Return clusters violated by more than `CUT_TOLERANCE` that greedy growth finds; values as the families."""
        some = np.flatnonzero(values > SUPPORT_TOLERANCE)
        node, words, mass = families.node[some], families.words[some], values[some]
        seeds = _seeds(node, words, families.n_nodes)
        clusters = np.empty((2 * len(seeds), words.shape[1]), dtype=np.uint64)
        escapes = np.empty(2 * len(seeds))
        count = kernels.grow_clusters(
            node, words, mass, families.n_nodes, seeds, 1.0 - CUT_TOLERANCE, clusters, escapes
        )
        if not count:
            return []
        distinct, first = np.unique(clusters[:count], axis=0, return_index=True)
        ranked = np.argsort(escapes[first], kind="stable")[: self.most]
        return [_cluster_of(distinct[k]) for k in ranked]

    def most_violated(self, pool: FamilyPool, values: Floats, deadline: Deadline) -> Separated:
        """Return the solution of the separation problem of appendix B.

        A depth-first search solves it as a rule; where that takes too many steps, the separation IP does.
        """
        families = self._arrays(pool)
        own = np.asarray(values, dtype=np.float64)[families.place]
        some = np.flatnonzero(own > SUPPORT_TOLERANCE)
        node, words, mass = families.node[some], families.words[some], own[some]
        best = np.zeros(words.shape[1], dtype=np.uint64)
        least = 1.0 - PROOF_TOLERANCE
        finished = True
        for smallest in range(families.n_nodes):
            if deadline.reason is not None:
                finished = False
                break
            least, steps = kernels.least_escape(
                node, words, mass, families.n_nodes, smallest, least, self.most_steps, best
            )
            if steps > self.most_steps:
                return _by_ip(node, words, mass, families.n_nodes, deadline)
        if not best.any():
            return Separated(None, PROOF_TOLERANCE, finished)
        return Separated(_cluster_of(best), 1.0 - least, finished)


def _by_ip(
    node: NDArray[np.int64], words: NDArray[np.uint64], mass: Floats, n_nodes: int, deadline: Deadline
) -> Separated:
    """Solve the separation problem as an integer program."""
    from dagopt.solvers.scip import separation_ip

    parents = [sorted(_cluster_of(row)) for row in words]
    cluster, proven = separation_ip(node, parents, mass, n_nodes, deadline)
    if cluster is not None:
        row = _words([sum(1 << i for i in cluster)], n_nodes)[0]
        violation = 1.0 - float(kernels.escape(node, words, mass, row))
        if violation > PROOF_TOLERANCE:
            return Separated(cluster, violation, proven)
    return Separated(None, PROOF_TOLERANCE, proven)


def _words(masks: list[int], n_nodes: int) -> NDArray[np.uint64]:
    """Return sets given as integers as rows of 64-bit words."""
    n_words = max((n_nodes + 63) // 64, 1)
    raw = b"".join(mask.to_bytes(8 * n_words, "little") for mask in masks)
    return np.frombuffer(raw, dtype="<u8").reshape(len(masks), n_words).astype(np.uint64)


def _cluster_of(row: NDArray[np.uint64]) -> Cluster:
    return frozenset(members(int.from_bytes(row.astype("<u8").tobytes(), "little")))


def _seeds(node: NDArray[np.int64], words: NDArray[np.uint64], n_nodes: int) -> NDArray[np.uint64]:
    """Return where clusters grow from: each node, and the two ends of each arc that some family has."""
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, bitorder="little")[:, :n_nodes]
    family, parent = np.nonzero(bits)
    ends = np.sort(np.column_stack([node[family], parent]), axis=1)
    pairs = np.unique(ends, axis=0) if len(ends) else ends
    masks = [1 << i for i in range(n_nodes)] + [(1 << int(a)) | (1 << int(b)) for a, b in pairs]
    return _words(masks, n_nodes)


def _components(children: list[int]) -> list[list[int]]:
    """Return the strongly connected components of two nodes or more."""
    parents = [0] * len(children)
    for i, out in enumerate(children):
        for j in members(out):
            parents[j] |= 1 << i
    found, left = [], (1 << len(children)) - 1
    while left:
        start = (left & -left).bit_length() - 1
        both = _reached(children, start, left) & _reached(parents, start, left)
        left &= ~(both | 1 << start)
        if both.bit_count() > 1:
            found.append(list(members(both)))
    return found


def _reached(children: list[int], start: int, inside: int) -> int:
    """Return the nodes inside a set that a walk from ``start`` reaches, itself if it comes back."""
    seen, new = 0, children[start] & inside
    while new:
        seen |= new
        step = 0
        for node in members(new):
            step |= children[node]
        new = step & inside & ~seen
    return seen


def _shortest_cycle(children: list[int], start: int, inside: int) -> list[int]:
    """Return the nodes of a shortest cycle through a node of a strongly connected set."""
    before: dict[int, int] = {}
    layer = [start]
    while start not in before:
        following = []
        for node in layer:
            for child in members(children[node] & inside):
                if child not in before:
                    before[child] = node
                    following.append(child)
        layer = following
    cycle = [start]
    while (node := before[cycle[-1]]) != start:
        cycle.append(node)
    return cycle
