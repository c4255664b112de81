"""A pool: for each node some candidate parent sets with their local scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dagopt.arrays import Bools, Floats, Ints, Words
from dagopt.bits import from_words, mask_of, members, to_words
from dagopt.errors import InputError
from dagopt.families.jkl import LocalScores
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels.cuts.separation import dominated

__all__ = ["MOST_MASK_NODES", "Pool"]

MOST_MASK_NODES = 62  # the most nodes whose sets fit in the bits of one signed 64-bit integer


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidate parent sets, for each node from the best score down.

    Attributes
    ----------
    names : tuple of str
        The nodes.
    words : tuple of uint64 arrays of shape (n_sets, n_words)
        For each node its candidates; node j is bit j % 64 of word j // 64.
    scores : tuple of float arrays
        Their local scores.
    """

    names: tuple[str, ...]
    words: tuple[Words, ...]
    scores: tuple[Floats, ...]

    @property
    def n_nodes(self) -> int:
        """Number of nodes n."""
        return len(self.names)

    @property
    def n_sets(self) -> int:
        """Number of candidates in all."""
        return sum(len(own) for own in self.words)

    def times(self, factor: float) -> Pool:
        """Return the pool with its scores times a factor > 0."""
        return replace(self, scores=tuple(factor * own for own in self.scores))

    def rounding(self, score: float | None) -> float:
        """Return how far a sum of local scores can be off, for DAGs no worse than one with the given score.

        With P the sum of the nodes' best scores, as far as they are positive, the negative ones of such a DAG add up to
        at most P - score.
        """
        best = sum(max(float(own.max(initial=0.0)), 0.0) for own in self.scores)
        return (self.n_nodes + 4) * float(np.finfo(np.float64).eps) * (2 * best + abs(score or 0.0))

    @cached_property
    def masks(self) -> tuple[Ints, ...]:
        """For each node its candidates as single integers, for at most `MOST_MASK_NODES` nodes."""
        if self.n_nodes > MOST_MASK_NODES:
            raise InputError(
                f"expected at most {MOST_MASK_NODES} nodes for sets as single integers but got {self.n_nodes}"
            )
        return tuple(own[:, 0].astype(np.int64) for own in self.words)

    @classmethod
    def of(cls, names: Sequence[str], masks: Sequence[Iterable[int]], scores: Sequence[Iterable[float]]) -> Pool:
        """Return the pool of the given candidates, sets as integers: each set once, sorted, ties by size."""
        words = [to_words([int(mask) for mask in own], len(names)) for own in masks]
        return cls.of_words(names, words, [np.array(list(values), dtype=np.float64) for values in scores])

    @classmethod
    def of_words(cls, names: Sequence[str], words: Sequence[Words], scores: Sequence[Floats]) -> Pool:
        """Return the pool of the given candidates: each set once, sorted, ties with smaller sets first."""
        kept_words, kept_scores = [], []
        for node, (own, values) in enumerate(zip(words, scores, strict=True)):
            if ((own[:, node >> 6] >> np.uint64(node & 63)) & np.uint64(1)).any():
                raise InputError(
                    f"a candidate parent set of {names[node]!r} contains {names[node]!r} itself; remove it from the set"
                )
            order = np.lexsort((-values, *own.T))
            own, values = own[order], values[order]
            new = np.concatenate([[True], (own[1:] != own[:-1]).any(axis=1)])[: len(own)]
            own, values = own[new], values[new]
            order = np.lexsort((*own.T, np.bitwise_count(own).sum(axis=1), -values))
            kept_words.append(own[order])
            kept_scores.append(values[order])
        return cls(tuple(names), tuple(kept_words), tuple(kept_scores))

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
                [(tuple(members(from_words(row))), float(value)) for row, value in zip(own, values, strict=True)]
                for own, values in zip(self.words, self.scores, strict=True)
            ],
        )

    def without_dominated(self) -> Pool:
        """Return the pool without the sets that a subset equals or beats: no best DAG needs them."""
        kept = []
        for own in self.words:
            gone = np.empty(len(own), dtype=np.bool_)
            dominated(own, np.array([0, len(own)]), gone)
            kept.append(~gone)
        return self._of_places(kept)

    def allowed_by(self, knowledge: Knowledge) -> Pool:
        """Return the pool with the candidates that the knowledge allows."""
        kept = []
        for node, own in enumerate(self.words):
            must = _word_row(knowledge.must[:, node])
            may = _word_row(knowledge.may[:, node])
            fits = ((own & must) == must).all(axis=1)
            fits &= ((own & ~may) == 0).all(axis=1)
            fits &= np.bitwise_count(own).sum(axis=1) <= knowledge.at_most[node]
            kept.append(fits)
        return self._of_places(kept)

    def _of_places(self, kept: Sequence[Bools]) -> Pool:
        """Return the pool with some of its candidates."""
        return Pool(
            self.names,
            tuple(own[k] for own, k in zip(self.words, kept, strict=True)),
            tuple(scores[k] for scores, k in zip(self.scores, kept, strict=True)),
        )


def _word_row(inside: Bools) -> Words:
    """Return a set given as truth values as words."""
    row: Words = to_words([mask_of(np.flatnonzero(inside))], len(inside))[0]
    return row
