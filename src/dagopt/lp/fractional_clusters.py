"""Row generation (appendix B): cluster constraints that a point of the restricted master violates.

A cluster C is violated by x when

    Σ_{i ∈ C} Σ_{J ∩ C ≠ ∅} x_{i←J}  >  |C| - 1.

In integer points, cycles are violated clusters. In fractional points, clusters are grown greedily from many seeds. The
separation problem, which is NP-hard, is solved exactly only to prove that no violated cluster is left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints, Words
from dagopt.bits import from_words, members, to_bitsets, to_words
from dagopt.deadline import Deadline
from dagopt.families.families import SUPPORT_TOLERANCE, Families
from dagopt.kernels.cuts import growing
from dagopt.kernels.cuts import separation as kernels

__all__ = [
    "CLUSTERS_PER_ROUND",
    "CUT_TOLERANCE",
    "PROOF_TOLERANCE",
    "FractionalSeparator",
    "Separated",
    "integer_clusters",
]

Cluster = frozenset[int]

CUT_TOLERANCE = 1e-4  # a cluster violated by less is not worth a row
PROOF_TOLERANCE = 1e-6  # an LP point that violates no cluster by more counts as satisfying them all
CLUSTERS_PER_ROUND = 50  # rows added between two LPs
STEPS_PER_NODE = 100_000  # steps of the exact search for one smallest node; then the separation IP takes over


class Separated(NamedTuple):
    """The answer of the separation problem.

    Attributes
    ----------
    cluster : frozenset of int or None
        The most violated cluster found; None if none is violated by more than `PROOF_TOLERANCE`.
    violation : float
        How much it is violated.
    proven : bool
        Whether no cluster is violated by more.
    """

    cluster: Cluster | None
    violation: float
    proven: bool


def integer_clusters(adjacency: NDArray[np.int8]) -> list[Cluster]:
    """Return violated clusters of a graph with cycles: each strongly connected component, and short cycles in it.

    The rows of all of them are violated, since every node of a component or cycle has a parent in it. The cycles are
    a shortest one through each node of a component; each is returned once, the shorter ones first.
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
        The steps for one node after which the separation IP takes over from the exact search.
    """

    def __init__(self, most: int = CLUSTERS_PER_ROUND, most_steps: int = STEPS_PER_NODE) -> None:
        self.most = most
        self.most_steps = most_steps

    def separate(self, families: Families, values: Floats, deadline: Deadline) -> list[Cluster]:
        """Return violated clusters, most violated first, by heuristics; by the exact search if they find none.

        With ``most=1`` there is only the exact search: the cluster is the most violated one of all, as in the paper.
        """
        if self.most > 1:
            found = self.heuristic(families, values)
            if found or deadline.reason is not None:
                return found
        cluster = self.most_violated(families, values, deadline).cluster
        return [] if cluster is None else [cluster]

    def heuristic(self, families: Families, values: Floats) -> list[Cluster]:
        """Return clusters violated by more than `CUT_TOLERANCE` that greedy growth finds; one value per family."""
        found: dict[Cluster, float] = {}
        for nodes, support in families.components(values):
            seeds = _seeds(support)
            clusters = np.empty((2 * len(seeds), len(nodes)), dtype=np.bool_)
            escapes = np.empty(2 * len(seeds))
            count = growing.grow_clusters(support, seeds, 1.0 - CUT_TOLERANCE, clusters, escapes)
            distinct, first = np.unique(clusters[:count], axis=0, return_index=True)
            best = np.argsort(escapes[first], kind="stable")[: self.most]
            found.update({frozenset(nodes[distinct[k]].tolist()): float(escapes[first[k]]) for k in best})
        return sorted(found, key=found.__getitem__)[: self.most]

    def most_violated(self, families: Families, values: Floats, deadline: Deadline) -> Separated:
        """Return the solution of the separation problem of appendix B.

        A depth-first search usually solves it; if that takes too many steps, the separation IP does.
        """
        some = np.flatnonzero(values > SUPPORT_TOLERANCE)
        node, words, mass = families.node[some], families.words[some], values[some]
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


def _by_ip(node: Ints, words: Words, mass: Floats, n_nodes: int, deadline: Deadline) -> Separated:
    """Solve the separation problem as an integer program."""
    from dagopt.lp.cluster_ip import separation_ip

    parents = [sorted(_cluster_of(row)) for row in words]
    cluster, proven = separation_ip(node, parents, mass, n_nodes, deadline)
    if cluster is not None:
        row = to_words([sum(1 << i for i in cluster)], n_nodes)[0]
        violation = 1.0 - float(kernels.escape(node, words, mass, row))
        if violation > PROOF_TOLERANCE:
            return Separated(cluster, violation, proven)
    return Separated(None, PROOF_TOLERANCE, proven)


def _cluster_of(row: Words) -> Cluster:
    return frozenset(members(from_words(row)))


def _seeds(support: growing.Support) -> Ints:
    """Return the seeds of clusters: each node, given twice, and the two ends of each arc that some family has."""
    heads = np.repeat(support.node, np.diff(support.starts))
    ends = np.sort(np.column_stack([heads, support.parents]), axis=1)
    alone = np.repeat(np.arange(len(support.offsets) - 1), 2).reshape(-1, 2)
    return np.concatenate([alone, np.unique(ends, axis=0)]) if len(ends) else alone


def _components(children: list[int]) -> list[list[int]]:
    """Return the strongly connected components of two or more nodes."""
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
            found.append(members(both))
    return found


def _reached(children: list[int], start: int, inside: int) -> int:
    """Return the nodes inside a set that a walk from ``start`` reaches, ``start`` only if the walk returns to it."""
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
