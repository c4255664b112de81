"""The candidate parent sets of one node while they grow, level by level of their size.

A level is made of the sets whose subsets with one fewer member are all open, scored, and then opened: a set stays open
while a superset could still beat all its subsets. The rules and their proofs are in ``listing.py``.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from dagopt.arrays import Floats, Ints, Words
from dagopt.bits import n_words, words_of_rows
from dagopt.errors import InputError
from dagopt.families.keys import BitKeys, set_keys
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels.counts.open_sets import OpenSets, Penalties, extended
from dagopt.scores.base import BulkJoints, Score
from dagopt.workers import spans

__all__ = ["Frontier", "KnownJoints", "NodeGrowth"]

SETS_PER_PIECE = 2048  # milliseconds between two looks at the clock
FEW_SETS = 1 << 14  # which are extended without a compiled kernel

_Grown = tuple[Ints, Floats, Floats, Floats]


class KnownJoints(Protocol):
    """Joints that were computed for the present level."""

    score: BulkJoints

    def keys_of(self, growth: NodeGrowth) -> tuple[Ints, Ints]:
        """Return the keys of the current sets of a node, without and with the node itself."""

    def of(self, keys: Ints) -> tuple[Floats, Ints]:
        """Return joints, and how many configurations occur."""


class _Open(NamedTuple):
    """Sets of one size that have been scored and may have useful supersets.

    ``ceiling`` bounds the scores of their proper supersets, ``best`` has the best score of the set and its subsets.
    """

    keys: Ints
    members: Ints
    best: Floats
    ceiling: Floats
    joints: Floats


class Frontier(NamedTuple):
    """Sets such that every useful set that is not listed contains one of them, and bounds on the scores of those.

    ``members`` are indices among the free candidates of the node.
    """

    members: Ints
    ceiling: Floats


def _none(size: int) -> _Open:
    """Return no open sets."""
    empty = np.zeros(0)
    return _Open(np.zeros(0, dtype=np.int64), np.zeros((0, size), dtype=np.int64), empty, empty, empty)


def _no_penalties(n_candidates: int) -> Penalties:
    """Return penalties that exclude nothing."""
    return Penalties(0.0, 0.0, np.inf, np.ones(n_candidates), np.full(n_candidates, -np.inf))


class NodeGrowth:
    """The sets of one node.

    Parameters
    ----------
    score, knowledge, slack
        As for ``candidate_pool``.
    node : int
        The node.

    Attributes
    ----------
    level : int array
        The sets that are to be scored next, as keys over the free candidates, sorted.
    """

    def __init__(self, score: Score, knowledge: Knowledge, node: int, slack: float) -> None:
        self._score = score
        self.node = node
        self._slack = slack
        self._must = np.flatnonzero(knowledge.must[:, node]).astype(np.int64)
        self._free = knowledge.free(node)
        bulk = score.bulk_joints
        self._margin = 0.0 if bulk is None else bulk.bound_rounding
        if bulk is not None and slack == 0:
            self._free = bulk.informative(node, self._free)
        self._keys = set_keys(len(self._free))
        candidates = np.flatnonzero(knowledge.may[:, node]).astype(np.int64)
        self._fall = 0.0 if len(candidates) == score.n_nodes - 1 else score.bounds_fall_by(node, candidates)
        self._penalties = _no_penalties(len(self._free))
        if bulk is not None:
            self._penalties = bulk.penalties_of(node, self._free)
        self._most = min(int(knowledge.at_most[node]) - len(self._must), len(self._free))
        self.level: Ints = np.zeros(1, dtype=np.int64)
        self._size = 0  # of the sets of this level, without required parents
        self._members: Ints = np.zeros((1, 0), dtype=np.int64)  # indices among the free candidates, one row per set
        self._inherited: Floats = np.full(1, -np.inf)  # best score of proper subsets
        self._ceiling: Floats = np.full(1, np.inf)  # bound on the set and its supersets
        self._redundant: Floats = np.full(1, np.inf)  # a set with a joint of at least this needs not all its members
        self._kept: list[tuple[Words, Floats]] = []
        self._scores: Floats = np.empty(0)
        self._bounds: Floats = np.empty(0)
        self._joints: Floats = np.empty(0)
        self._open = _none(0)

    @property
    def size(self) -> int:
        """Size of the sets of this level."""
        return self._size + len(self._must)

    @property
    def rows(self) -> Ints:
        """The sets of this level as rows of columns, in increasing order."""
        return self.full(self._members)

    @property
    def full_size(self) -> int:
        """The size up to which all useful sets are listed."""
        return self.size - 1 if self.level.size else self.size

    @property
    def is_over(self) -> bool:
        """Whether all useful sets are listed."""
        return not self.level.size and not self._open.keys.size

    def full(self, members: Ints) -> Ints:
        """Return sets of free candidates, given as indices, as rows of columns with the required parents added."""
        if not len(self._must):
            return self._free[members]
        fixed = np.broadcast_to(self._must, (len(members), len(self._must)))
        return np.sort(np.concatenate([fixed, self._free[members]], axis=1), axis=1)

    def pieces(self) -> list[partial[None]]:
        """Return the work of scoring this level."""
        self._scores = np.empty(self.level.size)
        self._bounds = np.empty(self.level.size)
        self._joints = np.full(self.level.size, np.nan)  # not known
        return [partial(self._evaluate, *span) for span in spans(self.level.size, SETS_PER_PIECE)]

    def _evaluate(self, first: int, last: int) -> None:
        rows = self.full(self._members[first:last])
        nodes = np.full(last - first, self.node, dtype=np.int64)
        offsets = np.arange(last - first + 1, dtype=np.int64) * rows.shape[1]
        self._scores[first:last], self._bounds[first:last] = self._score.local_and_bounds(nodes, rows.ravel(), offsets)

    def evaluate_by(self, joints: KnownJoints) -> None:
        """Score this level by joints that are known."""
        score = joints.score
        alone, with_node = joints.keys_of(self)
        without, occurring = joints.of(alone)
        together, _ = joints.of(with_node)
        rows = self.rows
        self._scores = together - without - score.costs_of_sets(self.node, rows)
        self._joints = without
        further = score.cheapest(self._free)  # every proper superset costs at least what this one more parent costs
        more = np.concatenate([rows, np.broadcast_to(further, (len(rows), len(further)))], axis=1)
        self._bounds = score.superset_bounds(self.node, score.costs_of_sets(self.node, more), occurring)

    def open(self) -> None:
        """Keep the sets of this level that are not dominated, and open those with supersets that could still win."""
        better = self._scores > self._inherited - self._slack
        self._kept.append((words_of_rows(self.full(self._members[better]), self._score.n_nodes), self._scores[better]))
        best = np.maximum(self._scores, self._inherited)
        ceiling = np.minimum(self._bounds - self._fall, self._ceiling)
        reach = self._slack + self._margin
        useful = (ceiling > best - reach) & ~(self._joints >= self._redundant + reach)
        chosen = np.flatnonzero(useful & (self._size < self._most))
        self._open = _Open(
            self.level[chosen], self._members[chosen], best[chosen], ceiling[chosen], self._joints[chosen]
        )
        self.level, self._members = np.zeros(0, dtype=np.int64), np.zeros((0, self._size), dtype=np.int64)

    def extend(self, most_sets: int | None = None) -> None:
        """Make the next level from the open sets; leave them open if it would have more sets than this.

        Sets with too many members for their keys are an error if the number of sets is not limited.
        """
        if not self._open.keys.size:
            return
        if self._size + 1 > self._keys.most:
            if most_sets is not None:
                return
            raise InputError(
                f"expected at most {self._keys.most} of {len(self._free)} candidate parents of "
                f"{self._score.names[self.node]!r} in a parent set; set max_parents={self._keys.most} or less"
            )
        by_kernel = isinstance(self._keys, BitKeys) and self._n_possible > FEW_SETS
        grown = self._extended(most_sets) if by_kernel else self._extended_by_arrays()
        if most_sets is not None and len(grown[0]) > most_sets:
            return
        self._size += 1
        self.level, self._inherited, self._ceiling, self._redundant = grown
        self._members = self._keys.members(self.level, self._size)
        self._open = _none(self._size)

    @property
    def _fixed(self) -> tuple[float, int]:
        """The product of the arities of the required parents, and how many there are."""
        bulk = self._score.bulk_joints
        arity = np.ones(0) if bulk is None else bulk.penalties_of(self.node, self._must).arity
        return float(np.prod(arity)), len(self._must)

    @property
    def _n_possible(self) -> int:
        """The number of sets that are an open set and one larger candidate."""
        last = self._open.members[:, -1] if self._size else np.full(len(self._open.keys), -1)
        return int((len(self._free) - 1 - last).sum())

    def _extended(self, most_sets: int | None) -> _Grown:
        """Return the sets of the next level and what is inherited, or more than ``most_sets``."""
        most = self._n_possible if most_sets is None else min(most_sets, self._n_possible)
        keys, values = np.empty(most + 1, dtype=np.int64), np.empty((3, most + 1))
        sets = OpenSets(self._open.keys, self._open.best, self._open.ceiling, self._open.joints)
        found = extended(sets, self._penalties, self._fixed, self._slack + self._margin, most, keys, values)
        return keys[:found].copy(), values[0, :found].copy(), values[1, :found].copy(), values[2, :found].copy()

    def _extended_by_arrays(self) -> _Grown:
        """Return the same for keys of any kind, with whole arrays."""
        blocks = [self._grown_by(item) for item in range(len(self._free))]
        inherited, lowest, redundant = (np.concatenate([block[k] for block in blocks]) for k in (1, 2, 3))
        return np.concatenate([block[0] for block in blocks]), inherited, lowest, redundant

    def _grown_by(self, item: int) -> _Grown:
        """Return the sets of the next level whose largest member is this one, and what is inherited."""
        keys, size = self._open.keys, self._size + 1
        level = self._keys.grown(keys, self._size, item)
        # all subsets with one fewer member must be open
        members = self._keys.members(level, size)
        for t in range(size - 1):  # without its last member each is one of those that grew
            subset = self._keys.without(level, members, t)
            alive = keys[np.minimum(np.searchsorted(keys, subset), keys.size - 1)] == subset
            level, members = level[alive], members[alive]
        # what the subsets say about each of the sets left
        unit, edge, most, arity, spare = self._penalties
        product, n_fixed = self._fixed
        with np.errstate(over="ignore"):
            cost = unit * (product * np.prod(arity[members], axis=1))
        inherited, redundant = np.full(level.size, -np.inf), np.full(level.size, np.inf)
        lowest = most - cost - edge * (size + n_fixed)
        for t in range(size):
            at = np.searchsorted(keys, self._keys.without(level, members, t))
            inherited = np.maximum(inherited, self._open.best[at])
            lowest = np.minimum(lowest, self._open.ceiling[at])
            b = members[:, t]
            redundant = np.fmin(redundant, self._open.joints[at] - (cost - cost / arity[b]) - edge - spare[b])
        alive = lowest > inherited - self._slack - self._margin
        return level[alive], inherited[alive], lowest[alive], redundant[alive]

    def frontier(self) -> Frontier:
        """Return where the listing stands: no sets if it is over."""
        if self.level.size:
            return Frontier(self._members, self._ceiling)
        return Frontier(self._open.members, self._open.ceiling)

    def stand_ins(self, most: int) -> Frontier:
        """Return at most so many sets such that every useful set that is not listed contains one, with its bound.

        They are made of the last members of the sets of the frontier, as many as possible.
        """
        members, ceiling = self.frontier()
        for size in range(members.shape[1], -1, -1):
            part = members[:, members.shape[1] - size :]
            order = np.lexsort((-ceiling, *part.T))
            sets = part[order]
            first = np.concatenate([[True], (sets[1:] != sets[:-1]).any(axis=1)])[: len(sets)]
            if first.sum() <= most:
                break
        return Frontier(sets[first], ceiling[order][first])

    def kept_words(self) -> Words:
        """Return the sets that were kept."""
        none = np.zeros((0, n_words(self._score.n_nodes)), dtype=np.uint64)
        return np.concatenate([none, *(words for words, _ in self._kept)])

    def kept_scores(self) -> Floats:
        """Return their scores."""
        scores: Floats = np.concatenate([np.zeros(0), *(scores for _, scores in self._kept)])
        return scores

    def ceiling(self) -> float:
        """Return an upper limit for all allowed sets: the best score so far and the bounds of the frontier."""
        return float(max(self.kept_scores().max(initial=-np.inf), self.frontier().ceiling.max(initial=-np.inf)))
