"""Order knowledge as required parents: a score under which every method that respects required edges respects an order.

"A before B" means that all edges follow one order of the columns in which A comes before B. Such an order exists if and
only if the DAG with the edge A → B added is acyclic. So the methods search for a DAG with these edges as required ones,
under a score in which an added edge is free to count or not:

    local'(B, J) = max over the sets K of added parents of local(B, J without K).

The best DAG under this score, without the added edges that do not count, is the best DAG with such an order, and it has
the same score. A bound for one is a bound for the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Dag, Ints
from dagopt.graph.knowledge import Knowledge
from dagopt.scores.base import Score, as_set

__all__ = ["OrderedScore", "ordered_knowledge"]


class OrderedScore(Score):
    """A score under which parents that are added for the order need not count.

    Parameters
    ----------
    score : Score
        What is maximised.
    knowledge : Knowledge
        With ``before``; its conditions on parent sets are about those that count.
    """

    def __init__(self, score: Score, knowledge: Knowledge) -> None:
        self.names, self.n_samples, self.label, self.reason = score.names, score.n_samples, score.label, score.reason
        self.seconds_per_local, self.degree = score.seconds_per_local, score.degree
        self.way_to_bound = score.way_to_bound
        self._score, self._knowledge = score, knowledge
        added = knowledge.added
        self._added = [np.flatnonzero(added[:, i]) for i in range(score.n_nodes)]

    @property
    def rounding(self) -> float:
        """That of the score."""
        return self._score.rounding

    def unbounded(self, node: int, parents: Ints) -> bool:
        """Say whether the parents that count determine a column."""
        return self._score.unbounded(node, np.array(self.counting(node, parents), dtype=np.int64))

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the largest local score without some of the added parents."""
        own = as_set(parents)
        if not len(self._added[node]):
            return self._score.local(node, own)
        sets = self._ways(node, own)
        if not sets:
            return -np.inf
        return float(self._score.local_many([node] * len(sets), sets).max())

    @property
    def bounds_sets(self) -> bool:
        """Whether the score has bounds."""
        return self._score.bounds_sets

    def bound(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return a bound on the scores of all sets between two, with added parents or without."""
        own, added = np.asarray(parents, dtype=np.int64), self._added[node]
        fixed = own[~np.isin(own, added)]
        free = np.union1d(np.asarray(candidates, dtype=np.int64), added)
        return self._score.bound(node, fixed, free)

    def counting(self, node: int, parents: Iterable[int]) -> list[int]:
        """Return the parents of a node that count: the best set, the smallest of ties."""
        own = as_set(parents)
        sets = self._ways(node, own)
        if not sets:
            return [int(j) for j in own]
        scores = self._score.local_many([node] * len(sets), sets)
        best = int(np.argmax(scores))
        return list(sets[best])

    def plain(self, adjacency: NDArray[np.int8]) -> Dag:
        """Return a DAG without the added edges that do not count."""
        found = np.zeros_like(adjacency)
        for node in range(self.n_nodes):
            found[self.counting(node, np.flatnonzero(adjacency[:, node])), node] = 1
        return found

    def _ways(self, node: int, own: Ints) -> list[tuple[int, ...]]:
        """Return the allowed sets that are left without some of the added parents, smaller ones first."""
        known = self._knowledge
        added = [int(j) for j in self._added[node] if j in own]
        rest = tuple(int(j) for j in own if j not in added)
        ways = (rest + some for size in range(len(added) + 1) for some in combinations(added, size))
        return [way for way in ways if known.allows(node, way)]


def ordered_knowledge(knowledge: Knowledge) -> Knowledge:
    """Return the knowledge in which the order is a set of required edges."""
    added = knowledge.added
    more = added.sum(axis=0)
    at_most = np.minimum(knowledge.at_most + more, knowledge.n_nodes - 1)
    return replace(knowledge, must=knowledge.must | added, may=knowledge.may | added, at_most=at_most, before=None)
