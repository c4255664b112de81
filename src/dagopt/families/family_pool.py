"""The families of the restricted master: candidate parent sets P̂_i with their local scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import members
from dagopt.families.pool import Pool

__all__ = ["Family", "FamilyPool"]


class Family(NamedTuple):
    """The variable x_{i ← J}: a node, a parent set as the bits of an integer, and its local score."""

    node: int
    mask: int
    score: float


class FamilyPool:
    """Families in the order in which they were added, each once.

    Parameters
    ----------
    n_nodes : int
        Number of nodes n.
    """

    def __init__(self, n_nodes: int) -> None:
        self.n_nodes = n_nodes
        self.families: list[Family] = []
        self._of: list[dict[int, int]] = [{} for _ in range(n_nodes)]

    def __len__(self) -> int:
        return len(self.families)

    def __iter__(self) -> Iterator[Family]:
        return iter(self.families)

    def add(self, family: Family) -> bool:
        """Add a family; return False if it was already there."""
        if family.mask in self._of[family.node]:
            return False
        self._of[family.node][family.mask] = len(self.families)
        self.families.append(family)
        return True

    def count(self, node: int) -> int:
        """Return how many families a node has, |P̂_i|."""
        return len(self._of[node])

    def index(self, node: int, mask: int) -> int | None:
        """Return the index of a family, or None."""
        return self._of[node].get(mask)

    def places(self, node: int) -> list[int]:
        """Return the indices of a node's families."""
        return list(self._of[node].values())

    def to_pool(self) -> Pool:
        """Return the families as a pool for the subset recursion (at most 62 nodes)."""
        names = [str(node) for node in range(self.n_nodes)]
        masks = [list(own) for own in self._of]
        scores = [[self.families[k].score for k in own.values()] for own in self._of]
        return Pool.of(names, masks, scores)

    def adjacency(self, places: Iterable[int]) -> NDArray[np.int8]:
        """Return the graph with these families."""
        adjacency = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int8)
        for k in places:
            family = self.families[k]
            adjacency[members(family.mask), family.node] = 1
        return adjacency
