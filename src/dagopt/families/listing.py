"""Candidate parent sets: all that could matter, and no others.

A set is dropped when one of its subsets scores at least as well (no best DAG needs it), and a set is not
extended when no superset can beat the scores of its subsets. Two rules do that.

**Bounds.** Supersets of J are useless if a bound on their scores is at most the score of a subset of J. The bounds are

* penalised multinomial likelihood: supersets of J score at most the likelihood with all columns as parents minus the
  penalty of J (after de Campos and Ji 2011, whose bound on the likelihood is 0), and proper supersets minus that of J
  and one more parent;
* BDeu: the first row of every configuration of the parents and the node that occurs has probability 1 / a_i at most,
  so supersets of J score at most -K(J) log a_i, K(J) the number of these configurations;
* penalised Gaussian likelihood: supersets of J score at most the likelihood with all columns as parents minus
  the penalty of J.

**Entropies** (penalised multinomial likelihood; de Campos et al. 2018). A member Y of J adds N I(i; Y | J' - Y) to the
likelihood of a superset J'. I is H(Y | J' - Y) - H(Y | J' - Y + i), which is at most H(Y | J - Y) - H(Y | all others).
So if N times this difference is at most the penalty that Y adds to J', J' scores at most as much as without Y. That
penalty is the share 1 - 1 / a_Y of what J' costs: from some cost on, the *worth* of J, no superset of J is useful. A
set is given up before it is counted if it costs as much as one of its subsets is worth.

**Tails.** The candidates of a node have an order, and a set is extended by later candidates only. What grows from J
with candidate b next is inside J and the candidates from b on, which are fewer than all columns, so that the likelihood
with these is a sharper bound: ``kernels/counts/tails.py``. For BDeu the likelihood is lowered by one row per
configuration, and K(J) log a_i subtracted. A set beyond the reach of its first members is not scored. Its supersets
may be: only a set that was made and then given up rules out its supersets.

The proofs are in docs/proofs.md. All rules allow for rounding. If the listing ends early, the sets that are not listed
have stand-ins: see ``Candidates.relaxed_pool``.

Sets grow by one member at a time for all nodes together: the local scores of discrete data are differences of joints,
and the joint of one set of columns serves all its members.

References
----------
de Campos, Ji (2011). Efficient structure learning of Bayesian networks using constraints. JMLR 12.
de Campos, Scanagatta, Corani, Zaffalon (2018). Entropy-based pruning for learning Bayesian networks using BIC. AIJ 260.
Scanagatta, de Campos, Zaffalon (2018). Efficient learning of bounded-treewidth Bayesian networks. ML 107.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from math import comb

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.bits import words_of_rows
from dagopt.deadline import FOREVER, Deadline
from dagopt.families.families import Families
from dagopt.families.keys import BitKeys, set_keys
from dagopt.families.node_growth import NodeGrowth
from dagopt.graph.knowledge import Knowledge
from dagopt.scores.base import BulkJoints, Score
from dagopt.workers import Stopped, Workers, spans

__all__ = ["MOST_SETS", "Candidates", "bounds_the_rest", "candidate_pool", "count_sets", "limited", "listable"]

MOST_SETS = 100_000_000  # the most sets scored; above this the user must lower max_parents
MOST_UNASKED = 3_000_000  # the most sets inside a superstructure if no limit is given
ROWS_PER_PIECE = 1 << 25  # joints times distinct rows between two looks at the clock: hundredths of a second
LEAST_JOINTS, MOST_JOINTS = 64, 4096
ORDERED_TOGETHER, MERGED_TOGETHER = 1 << 18, 1 << 20  # sets, between two looks at the clock: tenths of a second
FEW_NODES = 300  # up to so many are got ready whatever the clock says, in a tenth of a second
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


def bounds_the_rest(score: Score) -> bool:
    """Say whether sets that are not listed are bounded: discrete scores, and others with bounds, but not Gaussian ones.

    What is listed for these are undominated sets, by ``branch-and-cut``.
    """
    if score.bulk_joints is not None or score.block_likelihood is not None or not score.bounds_sets:
        return score.bulk_joints is not None
    none, others = np.zeros(0, dtype=np.int64), np.arange(1, score.n_nodes)
    return bool(np.isfinite(score.bound(0, none, others)))


def candidate_pool(score: Score, knowledge: Knowledge, workers: Workers, slack: float = 0.0) -> Families:
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
    Families
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
    deadline : Deadline
        ``Stopped`` is raised then if there are so many nodes that getting ready for all of them takes seconds.

    Attributes
    ----------
    n_scored : int
        Sets scored so far.
    """

    def __init__(self, score: Score, knowledge: Knowledge, slack: float = 0.0, deadline: Deadline = FOREVER) -> None:
        self._score = score
        self._growths: list[NodeGrowth] = []
        for node in range(score.n_nodes):
            if score.n_nodes > FEW_NODES:
                deadline.require_time()
            self._growths.append(NodeGrowth(score, knowledge, node, slack))
        self._joints = None if score.bulk_joints is None else _Joints(score.bulk_joints)
        self._total = count_sets(knowledge)
        self.n_scored = 0

    def grow(self, workers: Workers, most_sets: int | None = None, nodes: Iterable[int] | None = None) -> bool:
        """Score all sets worth scoring; False if the deadline or ``most_sets`` came first.

        The smallest sets are always scored.

        Parameters
        ----------
        workers : Workers
            The threads, and the clock.
        most_sets : int, optional
            The most sets of one size of one node. A node with more stays at the size before.
        nodes : iterable of int, optional
            The nodes that grow; all unless given.
        """
        growing = self._growths if nodes is None else [self._growths[node] for node in nodes]
        try:
            while self._score_level(growing, workers, most_sets):
                pass
        except Stopped:
            return False
        return self.is_complete

    def bound_rest(self, workers: Workers) -> None:
        """Bound the sets that are not listed as tightly as possible, or raise ``Stopped``."""
        pieces = [piece for growth in self._growths for piece in growth.bounds()]
        workers.each("bounds of parent sets", pieces, len(pieces))

    @property
    def is_complete(self) -> bool:
        """Whether all useful sets are listed."""
        return all(growth.is_over for growth in self._growths)

    @property
    def full_size(self) -> int:
        """The size up to which all useful sets are listed."""
        sizes = [growth.full_size for growth in self._growths if not growth.is_over]
        return min(sizes, default=self._score.n_nodes - 1)

    def _score_level(self, growing: list[NodeGrowth], workers: Workers, most_sets: int | None) -> bool:
        """Make the sets of the next size of each node and score them; False if there are none."""
        waiting = [growth for growth in growing if not growth.level.size and not growth.is_over]
        ahead = [partial(growth.look_ahead, most_sets) for growth in waiting]
        workers.each(PHASE, ahead, len(ahead), (self._share,) * 2)
        tails = [piece for growth in waiting for piece in growth.tails()]
        workers.each(PHASE, tails, len(tails), (self._share,) * 2)
        workers.each(PHASE, [partial(growth.extend, most_sets) for growth in waiting], len(waiting), (self._share,) * 2)
        growths = [growth for growth in growing if growth.level.size]
        if not growths:
            return False
        size = sum(growth.level.size for growth in growths)
        share = (self._share, self._share + size / self._total)
        joints = self._joints
        if joints is None or any(growth.size >= joints.most for growth in growths):
            joints = None
            pieces = [piece for growth in growths for piece in growth.pieces()]
            self._run(pieces, workers, share)
        else:
            ready = 0.75 * share[0] + 0.25 * share[1]  # sets are put in order in a quarter of the time, about
            self._run([partial(joints.look_for, growth) for growth in growths], workers, (share[0],) * 2)
            joints.expect(self._merged(joints.wanted(), workers))
            self._run(joints.orderings(), workers, (share[0], ready))
            self._run(joints.counts(), workers, (ready, share[1]))
        self._run([partial(_open, growth, joints) for growth in growths], workers, (share[1],) * 2)
        self.n_scored += size
        return True

    @property
    def _share(self) -> float:
        """The share of all allowed sets that are scored."""
        return self.n_scored / self._total

    def _merged(self, parts: list[Ints], workers: Workers) -> Ints:
        """Return the keys of sorted arrays, each once, sorted."""
        merged = []
        for together in _in_ranges(parts):
            self._look_at(workers)
            keys = np.sort(np.concatenate(together))
            merged.append(keys[np.concatenate([[True], keys[1:] != keys[:-1]])[: len(keys)]])
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

    def pool(self) -> Families:
        """Return what is kept so far; every node has a set once the smallest are scored."""
        return Families.from_words(
            self._score.names, [g.kept_words() for g in self._growths], [g.kept_scores() for g in self._growths]
        )

    def relaxed_pool(self, most_stand_ins: int) -> Families:
        """Return the pool with stand-ins for the useful sets that are not listed; no DAG beats its best DAG.

        A stand-in is a subset of such sets with a bound on their scores. Replacing a set that is not listed by its
        stand-in keeps a DAG acyclic and does not lower its score.

        Parameters
        ----------
        most_stand_ins : int
            The most stand-ins of one node; they have as many members as this allows.
        """
        words, scores = [], []
        for growth in self._growths:
            members, bounds = growth.stand_ins(most_stand_ins)
            stand_ins = words_of_rows(growth.full(members), self._score.n_nodes)
            words.append(np.concatenate([growth.kept_words(), stand_ins]))
            scores.append(np.concatenate([growth.kept_scores(), bounds]))
        return Families.from_words(self._score.names, words, scores).without_dominated()

    def ceiling(self) -> float:
        """Return the sum of an upper limit on each node's score, infinity if it is not known."""
        return float(sum(growth.ceiling() for growth in self._growths))


def _open(growth: NodeGrowth, joints: _Joints | None) -> None:
    """Score the level of a node by joints, if they are known, and open it."""
    if joints is not None:
        growth.evaluate_by(joints)
    growth.open()


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
        self._asked: dict[int, Ints] = {}

    def keys_of(self, growth: NodeGrowth) -> tuple[Ints, Ints]:
        """Return the keys of the current sets of a node, without and with the node itself."""
        if isinstance(self._keys, BitKeys):
            alone = self._keys.of(growth.unordered_rows)
            return alone, alone | np.int64(1) << growth.node
        own = np.full((growth.level.size, 1), growth.node, dtype=np.int64)
        together = np.sort(np.concatenate([growth.rows, own], axis=1), axis=1)
        return self._keys.of(growth.rows), self._keys.of(together)

    def look_for(self, growth: NodeGrowth) -> None:
        """Take note of the sets whose joints the current level of a node takes."""
        self._asked[growth.node] = np.sort(np.concatenate(self.keys_of(growth)))

    def wanted(self) -> list[Ints]:
        """Return the keys of these sets, sorted for each node, and forget them."""
        asked, self._asked = list(self._asked.values()), {}
        return asked

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
        count = int(np.clip(ROWS_PER_PIECE // max(self.score.n_distinct, 1), LEAST_JOINTS, MOST_JOINTS))
        return [
            partial(self._fill, block.places[a:b], block.rows[a:b])
            for block in self._new
            for a, b in spans(len(block.places), count)
        ]

    def _fill(self, places: Ints, rows: Ints) -> None:
        self._values[places], self._occurring[places] = self.score.joints_of_sets(rows)

    def of(self, keys: Ints) -> tuple[Floats, Ints]:
        """Return joints, and how many configurations occur."""
        at = np.searchsorted(self._sets, keys)
        return self._values[at], self._occurring[at]
