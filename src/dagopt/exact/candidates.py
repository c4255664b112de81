"""Candidate parent sets: all that could matter, and no more.

A set is dropped when one of its subsets scores at least as well (no best DAG needs it), and a set is not even
extended when no superset can beat what its subsets have. The bounds are

* penalised multinomial likelihood: log-likelihoods are at most 0, so supersets of J score at most minus the
  penalty of J (de Campos and Ji 2011);
* BDeu: the first row of every configuration of the parents that occurs has probability 1 / a_i and the others
  at most 1, so supersets of J score at most -K(J) log a_i, K(J) the number of configurations that occur;
* penalised Gaussian likelihood: supersets of J score at most the likelihood with all columns as parents minus
  the penalty of J.

References
----------
de Campos, Ji (2011). Efficient structure learning of Bayesian networks using constraints. JMLR 12.
Scanagatta, de Campos, Zaffalon (2018). Efficient learning of bounded-treewidth Bayesian networks. ML 107.
"""

from __future__ import annotations

from functools import partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from dagopt.constraints import Knowledge
from dagopt.errors import InputError
from dagopt.exact.pool import MOST_NODES, Pool
from dagopt.exact.threads import Workers
from dagopt.scores.base import Floats, Ints, Score

__all__ = ["candidate_pool", "count_sets"]

SETS_A_PIECE = 2048


def count_sets(knowledge: Knowledge) -> int:
    """Return how many parent sets knowledge allows in all."""
    total = 0
    for i in range(knowledge.n_nodes):
        fixed = int(knowledge.must[:, i].sum())
        free = int(knowledge.may[:, i].sum()) - fixed
        total += sum(comb(free, k) for k in range(int(knowledge.at_most[i]) - fixed + 1))
    return total


def candidate_pool(score: Score, knowledge: Knowledge, workers: Workers) -> Pool:
    """Return every allowed parent set that could be part of a best DAG, scored.

    Parameters
    ----------
    score : Score
        Where local scores and bounds come from.
    knowledge : Knowledge
        What is allowed: must ⊆ J ⊆ may, |J| ≤ at most.
    workers : Workers
        The threads that score.

    Returns
    -------
    Pool
        Without dominated sets. Optimising over it is optimising over all allowed sets.
    """
    n = score.n_nodes
    if n > MOST_NODES:
        raise InputError(f"expected at most {MOST_NODES} columns for candidate parent sets but got {n}")
    masks, scores = [], []
    for node in range(n):
        grown = _Growth(score, knowledge, node)
        level = 0
        while grown.level.size:
            pieces = grown.pieces()
            share = ((node + min(level, 3) / 4) / n, (node + min(level + 1, 3) / 4) / n)
            workers.each("scores of candidate parents", pieces, len(pieces), share)
            grown.next_level()
            level += 1
        kept_masks, kept_scores = grown.kept()
        masks.append(kept_masks)
        scores.append(kept_scores)
    return Pool.of(score.names, masks, scores)


class _Growth:
    """The sets of one node, level by level of their size."""

    def __init__(self, score: Score, knowledge: Knowledge, node: int) -> None:
        self._score = score
        self._node = node
        self._must = [int(j) for j in np.flatnonzero(knowledge.must[:, node])]
        self._free = [int(j) for j in np.flatnonzero(knowledge.may[:, node] & ~knowledge.must[:, node])]
        self._most = int(knowledge.at_most[node]) - len(self._must)
        self.level: Ints = np.zeros(1, dtype=np.int64)  # masks over the free candidates, sorted
        self._inherited: Floats = np.full(1, -np.inf)  # best score of proper subsets
        self._ceiling: Floats = np.full(1, np.inf)  # bound on supersets, inherited
        self._size = 0
        self._kept: list[tuple[Ints, Floats]] = []
        self._scores: Floats = np.empty(0)
        self._bounds: Floats = np.empty(0)

    def pieces(self) -> list[partial[None]]:
        """Return the work of scoring this level."""
        self._scores = np.empty(self.level.size)
        self._bounds = np.empty(self.level.size)
        return [
            partial(self._evaluate, first, min(first + SETS_A_PIECE, self.level.size))
            for first in range(0, self.level.size, SETS_A_PIECE)
        ]

    def _evaluate(self, first: int, last: int) -> None:
        size = self._size + len(self._must)
        sets = np.empty((last - first, size), dtype=np.int64)
        sets[:, : len(self._must)] = self._must
        if self._size:
            sets[:, len(self._must) :] = np.array(self._free)[_members(self.level[first:last], self._size)]
        sets.sort(axis=1)
        nodes = np.full(last - first, self._node, dtype=np.int64)
        offsets = np.arange(last - first + 1, dtype=np.int64) * size
        self._scores[first:last], self._bounds[first:last] = self._score.local_and_bounds(nodes, sets.ravel(), offsets)

    def next_level(self) -> None:
        """Keep what is not dominated, and go on to the supersets that could still win."""
        better = self._scores > self._inherited
        self._kept.append((self.level[better], self._scores[better]))
        best = np.maximum(self._scores, self._inherited)
        ceiling = np.minimum(self._bounds, self._ceiling)
        open_sets = np.flatnonzero(ceiling > best)
        self._size += 1
        if self._size > self._most or not open_sets.size:
            self.level = np.zeros(0, dtype=np.int64)
            return
        parents, best, ceiling = self.level[open_sets], best[open_sets], ceiling[open_sets]
        self._extend(parents, best, ceiling)

    def _extend(self, parents: Ints, best: Floats, ceiling: Floats) -> None:
        """Make the next level: every set all of whose subsets with one member less are open."""
        grown = [parents[parents < (1 << j)] | (1 << j) for j in range(len(self._free))]
        level = np.unique(np.concatenate(grown)) if grown else np.zeros(0, dtype=np.int64)
        inherited = np.full(level.size, -np.inf)
        lowest = np.full(level.size, np.inf)
        alive = np.ones(level.size, dtype=bool)
        if level.size:
            for member in _members(level, self._size).T:
                subset = level ^ (np.int64(1) << member)
                at = np.minimum(np.searchsorted(parents, subset), parents.size - 1)
                alive &= parents[at] == subset
                inherited = np.maximum(inherited, best[at])
                lowest = np.minimum(lowest, ceiling[at])
        alive &= lowest > inherited
        self.level, self._inherited, self._ceiling = level[alive], inherited[alive], lowest[alive]

    def kept(self) -> tuple[Ints, Floats]:
        """Return the sets that are left as masks over all columns, with their scores."""
        masks = np.concatenate([masks for masks, _ in self._kept])
        scores = np.concatenate([scores for _, scores in self._kept])
        full = np.full(masks.size, sum(1 << j for j in self._must), dtype=np.int64)
        for b, j in enumerate(self._free):
            full |= ((masks >> b) & 1) << j
        return full, scores


def _members(masks: Ints, size: int) -> NDArray[np.int64]:
    """Return the members of sets of one size, a row each, in increasing order."""
    members = np.empty((masks.size, size), dtype=np.int64)
    rest = masks.copy()
    for k in range(size):
        lowest = rest & -rest
        members[:, k] = np.bitwise_count(lowest - 1)
        rest ^= lowest
    return members
