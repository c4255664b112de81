"""Candidate parent sets: all that could matter, and no others.

A set is dropped when one of its subsets scores at least as well (no best DAG needs it), and a set is not
extended when no superset can beat the scores of its subsets. The bounds are

* penalised multinomial likelihood: supersets of J score at most the likelihood with all columns as parents minus the
  penalty of J (after de Campos and Ji 2011, whose bound on the likelihood is 0);
* BDeu: the first row of every configuration of the parents that occurs has probability 1 / a_i and the others
  at most 1, so supersets of J score at most -K(J) log a_i, K(J) the number of configurations that occur;
* penalised Gaussian likelihood: supersets of J score at most the likelihood with all columns as parents minus
  the penalty of J.

Sets grow by one member at a time for all nodes together: the local scores of discrete data are differences of joints,
and the joint of one set of columns serves all its members.

References
----------
de Campos, Ji (2011). Efficient structure learning of Bayesian networks using constraints. JMLR 12.
Scanagatta, de Campos, Zaffalon (2018). Efficient learning of bounded-treewidth Bayesian networks. ML 107.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import comb

import numpy as np

from dagopt.arrays import Floats, Ints, Words
from dagopt.bits import n_words, words_of_rows
from dagopt.errors import InputError
from dagopt.families.keys import set_keys
from dagopt.families.pool import Pool
from dagopt.graph.knowledge import Knowledge
from dagopt.scores.base import BulkJoints, Score
from dagopt.workers import Stopped, Workers, spans

__all__ = ["MOST_SETS", "Candidates", "candidate_pool", "count_sets", "limited", "listable"]

MOST_SETS = 100_000_000  # the most sets scored; above this the user must lower max_parents
MOST_UNASKED = 3_000_000  # the most sets inside a superstructure if no limit is given
SETS_PER_PIECE = 2048
JOINTS_PER_PIECE = 512
ORDERED_TOGETHER, MERGED_TOGETHER = 1 << 18, 1 << 20  # sets, between two looks at the clock: tenths of a second
PHASE = "scores of candidate parents"


def count_sets(knowledge: Knowledge) -> int:
    """Return how many parent sets the knowledge allows in all."""
    fixed = knowledge.must.sum(axis=0)
    free = knowledge.may.sum(axis=0) - fixed
    kinds = Counter(zip(free.tolist(), np.minimum(knowledge.at_most - fixed, free).tolist(), strict=True))
    return sum(
        count * (1 << free if most == free else sum(comb(free, k) for k in range(most + 1)))
        for (free, most), count in kinds.items()
    )


def limited(knowledge: Knowledge, most: int) -> Knowledge:
    """Return the knowledge with a limit on the number of parents, raised where more are required."""
    limits = np.maximum(knowledge.must.sum(axis=0), most)
    return replace(knowledge, at_most=np.minimum(knowledge.at_most, limits))


def listable(knowledge: Knowledge, least: int, most_sets: int = MOST_UNASKED) -> Knowledge:
    """Return knowledge with the largest limit, at least ``least``, that leaves at most this many sets to list.

    Knowledge that allows no more sets than that is returned as it is.
    """
    if count_sets(knowledge) <= most_sets:
        return knowledge
    size = least
    while count_sets(limited(knowledge, size + 1)) <= most_sets:
        size += 1
    return limited(knowledge, size)


def candidate_pool(score: Score, knowledge: Knowledge, workers: Workers, slack: float = 0.0) -> Pool:
    """Return every allowed parent set that could be part of a best DAG, scored, or raise ``Stopped``.

    Parameters
    ----------
    score : Score
        Where local scores and bounds come from.
    knowledge : Knowledge
        What is allowed: must ⊆ J ⊆ may, |J| ≤ at most.
    workers : Workers
        The threads that score.
    slack : float
        Keep sets that could be part of a DAG that scores up to this much less than the best.

    Returns
    -------
    Pool
        The pool without dominated sets. Optimising over it is the same as optimising over all allowed sets.
    """
    candidates = Candidates(score, knowledge, slack)
    if not candidates.grow(workers):
        raise Stopped
    return candidates.pool()


class Candidates:
    """The candidates of all nodes while they grow.

    Parameters
    ----------
    score, knowledge, slack
        As for ``candidate_pool``.

    Attributes
    ----------
    n_scored : int
        Sets scored so far.
    """

    def __init__(self, score: Score, knowledge: Knowledge, slack: float = 0.0) -> None:
        self._score = score
        self._growths = [_Growth(score, knowledge, node, slack) for node in range(score.n_nodes)]
        self._joints = None if score.bulk_joints is None else _Joints(score.bulk_joints)
        self._total = count_sets(knowledge)
        self.n_scored = 0

    def grow(self, workers: Workers) -> bool:
        """Score all sets worth scoring; False if the deadline came first. The smallest sets are always scored."""
        try:
            while any(growth.level.size for growth in self._growths):
                self._score_level(workers)
        except Stopped:
            return False
        return True

    def _score_level(self, workers: Workers) -> None:
        """Score the sets of the current size and go on to the next size."""
        growths = [growth for growth in self._growths if growth.level.size]
        size = sum(growth.level.size for growth in growths)
        share = (self.n_scored / self._total, (self.n_scored + size) / self._total)
        joints = self._joints
        if joints is None or any(growth.size >= joints.most for growth in growths):
            joints = None
            pieces = [piece for growth in growths for piece in growth.pieces()]
            self._run(pieces, workers, share)
        else:
            ready = 0.75 * share[0] + 0.25 * share[1]  # sets are put in order in a quarter of the time, about
            joints.expect(self._wanted(joints, growths, workers))
            self._run(joints.orderings(), workers, (share[0], ready))
            self._run(joints.counts(), workers, (ready, share[1]))
        for growth in growths:
            self._look_at(workers)
            if joints is not None:
                growth.evaluate_by(joints)
            growth.next_level()
        self.n_scored += size

    def _wanted(self, joints: _Joints, growths: list[_Growth], workers: Workers) -> Ints:
        """Return the keys of all sets whose joints the present level takes, sorted."""
        parts = []
        for growth in growths:
            self._look_at(workers)
            parts.append(np.unique(np.concatenate(joints.keys_of(growth))))
        merged = []
        for together in _in_ranges(parts):
            self._look_at(workers)
            merged.append(np.unique(np.concatenate(together)))
        return np.concatenate(merged)

    def _look_at(self, workers: Workers) -> None:
        """Stop here if the time is over, except for the first sets."""
        if self.n_scored and workers.deadline.reason is not None:
            raise Stopped

    def _run(self, pieces: list[partial[None]], workers: Workers, share: tuple[float, float]) -> None:
        """Do this work on the threads; the first sets, which are few and always needed, are done without them."""
        if self.n_scored:
            workers.each(PHASE, pieces, len(pieces), share)
        else:
            for piece in pieces:
                piece()

    def pool(self) -> Pool:
        """Return what is kept so far; every node has a set once the smallest are scored."""
        return Pool.of_words(
            self._score.names, [g.kept_words() for g in self._growths], [g.kept_scores() for g in self._growths]
        )

    def ceiling(self) -> float:
        """Return the sum of an upper limit on each node's score, infinity if it is not known."""
        return float(sum(growth.ceiling() for growth in self._growths))


@dataclass
class _Block:
    """Sets of one size whose joints are wanted: their places among all, and their members once they are in order."""

    places: Ints
    size: int
    rows: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))


def _in_ranges(parts: list[Ints]) -> Iterator[list[Ints]]:
    """Yield sorted arrays cut at common values, so that each range has about ``MERGED_TOGETHER`` entries in all."""
    largest = max(parts, key=len)
    n_ranges = sum(map(len, parts)) // MERGED_TOGETHER + 1
    marks = largest[np.arange(1, n_ranges) * len(largest) // n_ranges]
    cuts = [[0, *np.searchsorted(own, marks).tolist(), len(own)] for own in parts]
    for k in range(n_ranges):
        yield [own[places[k] : places[k + 1]] for own, places in zip(parts, cuts, strict=True)]


class _Joints:
    """Joints of sets of columns, each computed once."""

    def __init__(self, score: BulkJoints) -> None:
        self.score = score
        self._keys = set_keys(score.n_nodes)
        self.most = self._keys.most
        self._sets = np.zeros(0, dtype=np.int64)
        self._values = np.zeros(0)
        self._occurring = np.zeros(0, dtype=np.int64)
        self._new = list[_Block]()

    def keys_of(self, growth: _Growth) -> tuple[Ints, Ints]:
        """Return the keys of the current sets of a node, without and with the node itself."""
        own = np.full((growth.level.size, 1), growth.node, dtype=np.int64)
        together = np.sort(np.concatenate([growth.rows, own], axis=1), axis=1)
        return self._keys.of(growth.rows), self._keys.of(together)

    def expect(self, sets: Ints) -> None:
        """Take these sets, whose keys are sorted, in place of those before; what is known of them is kept."""
        values, occurring = np.empty(len(sets)), np.empty(len(sets), dtype=np.int64)
        known = np.zeros(len(sets), dtype=bool)
        if len(sets):
            at = np.minimum(np.searchsorted(sets, self._sets), len(sets) - 1)
            same = sets[at] == self._sets
            at = at[same]
            values[at], occurring[at], known[at] = self._values[same], self._occurring[same], True
        self._sets, self._values, self._occurring = sets, values, occurring
        new = np.flatnonzero(~known)
        sizes = self._keys.sizes(sets[new])
        self._new = []
        for size in np.unique(sizes).tolist():
            part = new[sizes == size]
            self._new += [_Block(part[a:b], size) for a, b in spans(len(part), ORDERED_TOGETHER)]

    def orderings(self) -> list[partial[None]]:
        """Return the work of putting the sets that are not known in the order in which they are best counted."""
        return [partial(self._arrange, block) for block in self._new]

    def _arrange(self, block: _Block) -> None:
        order, block.rows = self.score.counting_order(self._keys.members(self._sets[block.places], block.size))
        block.places = block.places[order]

    def counts(self) -> list[partial[None]]:
        """Return the work of computing their joints, after ``orderings``."""
        return [
            partial(self._fill, block.places[a:b], block.rows[a:b])
            for block in self._new
            for a, b in spans(len(block.places), JOINTS_PER_PIECE)
        ]

    def _fill(self, places: Ints, rows: Ints) -> None:
        self._values[places], self._occurring[places] = self.score.joints_of_sets(rows)

    def of(self, keys: Ints) -> tuple[Floats, Ints]:
        """Return joints, and how many configurations occur."""
        at = np.searchsorted(self._sets, keys)
        return self._values[at], self._occurring[at]


class _Growth:
    """The sets of one node, level by level of their size."""

    def __init__(self, score: Score, knowledge: Knowledge, node: int, slack: float) -> None:
        self._score = score
        self.node = node
        self._slack = slack
        self._must = np.flatnonzero(knowledge.must[:, node]).astype(np.int64)
        self._free = knowledge.free(node)
        self._keys = set_keys(len(self._free))
        self._most = min(int(knowledge.at_most[node]) - len(self._must), len(self._free))
        self.level: Ints = np.zeros(1, dtype=np.int64)  # keys over the free candidates, sorted
        self._size = 0  # of the sets of this level, without required parents
        self._members: Ints = np.zeros((1, 0), dtype=np.int64)  # indices among the free candidates, one row per set
        self._inherited: Floats = np.full(1, -np.inf)  # best score of proper subsets
        self._ceiling: Floats = np.full(1, np.inf)  # bound on supersets, inherited
        candidates = np.flatnonzero(knowledge.may[:, node]).astype(np.int64)
        self._fall = 0.0 if len(candidates) == score.n_nodes - 1 else score.bounds_fall_by(node, candidates)
        self._kept: list[tuple[Words, Floats]] = []
        self._scores: Floats = np.empty(0)
        self._bounds: Floats = np.empty(0)

    @property
    def size(self) -> int:
        """Size of the sets of this level."""
        return self._size + len(self._must)

    @property
    def rows(self) -> Ints:
        """The sets of this level as rows of columns, in increasing order."""
        return self._full(self._members)

    def _full(self, members: Ints) -> Ints:
        """Return sets of free candidates, given as indices, as rows of columns with the required parents added."""
        if not len(self._must):
            return self._free[members]
        fixed = np.broadcast_to(self._must, (len(members), len(self._must)))
        return np.sort(np.concatenate([fixed, self._free[members]], axis=1), axis=1)

    def pieces(self) -> list[partial[None]]:
        """Return the work of scoring this level."""
        self._scores = np.empty(self.level.size)
        self._bounds = np.empty(self.level.size)
        return [partial(self._evaluate, *span) for span in spans(self.level.size, SETS_PER_PIECE)]

    def _evaluate(self, first: int, last: int) -> None:
        rows = self._full(self._members[first:last])
        nodes = np.full(last - first, self.node, dtype=np.int64)
        offsets = np.arange(last - first + 1, dtype=np.int64) * rows.shape[1]
        self._scores[first:last], self._bounds[first:last] = self._score.local_and_bounds(nodes, rows.ravel(), offsets)

    def evaluate_by(self, joints: _Joints) -> None:
        """Score this level by joints that are known."""
        score = joints.score
        alone, with_node = joints.keys_of(self)
        without, occurring = joints.of(alone)
        together, _ = joints.of(with_node)
        cost = score.costs_of_sets(self.node, self.rows)
        self._scores = together - without - cost
        self._bounds = score.superset_bounds(self.node, cost, occurring)

    def next_level(self) -> None:
        """Keep the sets that are not dominated, and go on to the supersets that could still win."""
        better = self._scores > self._inherited - self._slack
        self._kept.append((words_of_rows(self._full(self._members[better]), self._score.n_nodes), self._scores[better]))
        best = np.maximum(self._scores, self._inherited)
        ceiling = np.minimum(self._bounds - self._fall, self._ceiling)
        open_sets = np.flatnonzero(ceiling > best - self._slack)
        if self._size + 1 > self._most or not open_sets.size:
            self.level = np.zeros(0, dtype=np.int64)
            self._members = np.zeros((0, self._size), dtype=np.int64)
            return
        if self._size + 1 > self._keys.most:
            raise InputError(
                f"expected at most {self._keys.most} of {len(self._free)} candidate parents of "
                f"{self._score.names[self.node]!r} in a parent set; set max_parents={self._keys.most} or less"
            )
        self._extend(self.level[open_sets], best[open_sets], ceiling[open_sets])

    def _extend(self, parents: Ints, best: Floats, ceiling: Floats) -> None:
        """Make the next level: every set whose subsets with one fewer member are all open."""
        level = self._keys.grown(parents, self._size)
        self._size += 1
        members = self._keys.members(level, self._size)
        inherited = np.full(level.size, -np.inf)
        lowest = np.full(level.size, np.inf)
        alive = np.ones(level.size, dtype=bool)
        for t in range(self._size):
            subset = self._keys.without(level, members, t)
            at = np.minimum(np.searchsorted(parents, subset), parents.size - 1)
            alive &= parents[at] == subset
            inherited = np.maximum(inherited, best[at])
            lowest = np.minimum(lowest, ceiling[at])
        alive &= lowest > inherited - self._slack
        self.level, self._members = level[alive], members[alive]
        self._inherited, self._ceiling = inherited[alive], lowest[alive]

    def kept_words(self) -> Words:
        """Return the sets that were kept."""
        none = np.zeros((0, n_words(self._score.n_nodes)), dtype=np.uint64)
        return np.concatenate([none, *(words for words, _ in self._kept)])

    def kept_scores(self) -> Floats:
        """Return their scores."""
        scores: Floats = np.concatenate([np.zeros(0), *(scores for _, scores in self._kept)])
        return scores

    def ceiling(self) -> float:
        """Return an upper limit for all allowed sets: the best score so far and the bounds of the open sets."""
        scores = [values.max(initial=-np.inf) for _, values in self._kept]
        return float(max(*scores, self._ceiling.max(initial=-np.inf) if self.level.size else -np.inf, -np.inf))
