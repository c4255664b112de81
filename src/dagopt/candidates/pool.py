"""A pool: for each node some candidate parent sets with their local scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dagopt.candidates.jkl import LocalScores
from dagopt.errors import InputError
from dagopt.knowledge import Knowledge

__all__ = ["Pool"]

MOST_NODES = 62  # a set is the bits of one 64-bit integer


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidate parent sets, for each node from the best score down.

    Attributes
    ----------
    names : tuple of str
        The nodes.
    masks : tuple of int64 arrays
        For each node its candidates; bit j of a mask is node j.
    scores : tuple of float arrays
        Their local scores.
    """

    names: tuple[str, ...]
    masks: tuple[NDArray[np.int64], ...]
    scores: tuple[NDArray[np.float64], ...]

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return len(self.names)

    @property
    def n_sets(self) -> int:
        """Number of candidates in all."""
        return sum(len(own) for own in self.masks)

    @classmethod
    def of(cls, names: Sequence[str], masks: Sequence[Iterable[int]], scores: Sequence[Iterable[float]]) -> Pool:
        """Return the pool of the given candidates: each set once, sorted, equal scores by smaller sets."""
        if len(names) > MOST_NODES:
            raise InputError(f"expected at most {MOST_NODES} nodes for a pool of parent sets but got {len(names)}")
        sorted_masks, sorted_scores = [], []
        for node, (own, values) in enumerate(zip(masks, scores, strict=True)):
            mask = np.array(list(own), dtype=np.int64)
            value = np.array(list(values), dtype=np.float64)
            if ((mask >> node) & 1).any():
                raise InputError(f"a candidate parent set of {names[node]!r} contains {names[node]!r} itself")
            size = np.bitwise_count(mask)
            order = np.lexsort((mask, size, -value))
            first = np.sort(np.unique(mask[order], return_index=True)[1])
            sorted_masks.append(mask[order][first])
            sorted_scores.append(value[order][first])
        return cls(tuple(names), tuple(sorted_masks), tuple(sorted_scores))

    @classmethod
    def from_local_scores(cls, scores: LocalScores) -> Pool:
        """Return the pool of a ``.jkl`` file."""
        masks = [[sum(1 << j for j in parents) for parents, _ in own] for own in scores.scores]
        return cls.of(scores.names, masks, [[value for _, value in own] for own in scores.scores])

    def to_local_scores(self) -> LocalScores:
        """Return the pool as the content of a ``.jkl`` file."""
        return LocalScores(
            self.names,
            [
                [(_members(int(mask)), float(value)) for mask, value in zip(own, values, strict=True)]
                for own, values in zip(self.masks, self.scores, strict=True)
            ],
        )

    def without_dominated(self) -> Pool:
        """Return the pool without sets that have a subset with at least their score: no best DAG needs them."""
        kept = [_undominated(masks, scores) for masks, scores in zip(self.masks, self.scores, strict=True)]
        return Pool(
            self.names,
            tuple(masks[k] for masks, k in zip(self.masks, kept, strict=True)),
            tuple(scores[k] for scores, k in zip(self.scores, kept, strict=True)),
        )

    def allowed_by(self, knowledge: Knowledge) -> Pool:
        """Return the pool with the candidates that knowledge allows."""
        weights = 1 << np.arange(self.n_nodes, dtype=np.int64)
        kept = []
        for node, masks in enumerate(self.masks):
            must = np.int64(knowledge.must[:, node] @ weights)
            may = np.int64(knowledge.may[:, node] @ weights)
            fits = (masks & must) == must
            fits &= (masks & ~may) == 0
            fits &= np.bitwise_count(masks) <= knowledge.at_most[node]
            kept.append(np.flatnonzero(fits))
        return Pool(
            self.names,
            tuple(masks[k] for masks, k in zip(self.masks, kept, strict=True)),
            tuple(scores[k] for scores, k in zip(self.scores, kept, strict=True)),
        )


def _undominated(masks: NDArray[np.int64], scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the places of sets that no subset equals or beats; masks come from the best score down."""
    kept: list[int] = []
    keep_masks = np.empty(len(masks), dtype=np.int64)
    for k, mask in enumerate(masks):
        if not ((keep_masks[: len(kept)] & ~mask) == 0).any():
            keep_masks[len(kept)] = mask
            kept.append(k)
    return np.array(kept, dtype=np.intp)


def _members(mask: int) -> tuple[int, ...]:
    return tuple(b for b in range(mask.bit_length()) if (mask >> b) & 1)
