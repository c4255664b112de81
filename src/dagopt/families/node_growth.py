"""The candidate parent sets of one node while they grow, level by level of their size.

A level is made of open sets and one later candidate each, without those that contain a set that was given up. It is
scored, and then opened: a set stays open while a superset could still beat all its subsets, and reaches as far as a
later candidate could help. The rules and their proofs are in ``listing.py``.
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
from dagopt.kernels.counts.counting import LARGEST_PRODUCT
from dagopt.kernels.counts.open_sets import OpenSets, Penalties, extended, worth_of
from dagopt.kernels.plain import compiled_or_python
from dagopt.scores.base import BulkJoints, Score
from dagopt.workers import spans

__all__ = ["Frontier", "KnownJoints", "NodeGrowth"]

SETS_PER_PIECE = 2048  # milliseconds between two looks at the clock
MANY_SETS = 1 << 14  # from which on it may pay to find out how far the open sets reach
FEW_SETS = 1 << 11  # which are extended without a compiled kernel: milliseconds
ROWS_PER_CHILD = 300  # scoring a set takes as long as 300 distinct rows of finding how far one reaches, about
TRIED_SETS = 256  # whose reach is found to see whether it pays for all

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

    ``best`` has the best score of the set and its subsets, ``ceiling`` bounds the scores of all proper supersets, and
    ``tail`` those of the supersets that grow from it: by later candidates, the first of which is below ``reach``.
    No useful superset costs as much as ``worth``.
    """

    keys: Ints
    members: Ints
    best: Floats
    ceiling: Floats
    joints: Floats
    pairs: Ints
    reach: Ints
    tail: Floats
    worth: Floats

    @property
    def next(self) -> Ints:
        """For each set the first candidate after its last member."""
        return self.members[:, -1] + 1 if self.members.shape[1] else np.zeros(len(self.keys), dtype=np.int64)

    def sets(self) -> OpenSets:
        """Return what the kernel that extends them takes."""
        return OpenSets(self.keys, self.best, self.ceiling, self.joints, self.reach, self.worth)


class Frontier(NamedTuple):
    """Sets such that every useful set that is not listed contains one of them, and bounds on the scores of those.

    ``members`` are indices among the free candidates of the node.
    """

    members: Ints
    ceiling: Floats


def _unknown(count: int, size: int, reach: int) -> _Open:
    """Return sets without members about which nothing is known: none, or the empty set."""
    keys, low, high = np.zeros(count, dtype=np.int64), np.full(count, -np.inf), np.full(count, np.inf)
    members = np.zeros((count, size), dtype=np.int64)
    return _Open(keys, members, low, high, np.full(count, np.nan), keys, np.full(count, reach), high, high)


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
        self._worth: Floats = np.full(1, np.inf)  # no useful superset costs as much
        self._kept: list[tuple[Words, Floats]] = []
        self._scores: Floats = np.empty(0)
        self._bounds: Floats = np.empty(0)
        self._joints: Floats = np.empty(0)
        self._pairs: Ints = np.empty(0, dtype=np.int64)  # configurations of the set and the node that occur
        self._open = _unknown(0, 0, 0)
        self._before = _unknown(1, 0, len(self._free))  # the sets that this level grew from
        self._has_tails = False  # whether it is known how far the open sets reach
        self._asked: tuple[Ints, Ints] | None = None  # for which of them that is to be found, and up to where
        self._ahead: _Grown | None = None  # the next level, if it is known before the open sets are extended

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
        return not self.level.size and not self._n_possible

    @property
    def unordered_rows(self) -> Ints:
        """The sets of this level as rows of columns, in any order, which is faster."""
        return self._columns(self._members)

    def full(self, members: Ints) -> Ints:
        """Return sets of free candidates, given as indices, as rows of columns with the required parents added."""
        return np.sort(self._columns(members), axis=1)

    def _columns(self, members: Ints) -> Ints:
        """Return the same, each row in any order."""
        if not len(self._must):
            return self._free[members]
        fixed = np.broadcast_to(self._must, (len(members), len(self._must)))
        return np.concatenate([fixed, self._free[members]], axis=1)

    def pieces(self) -> list[partial[None]]:
        """Return the work of scoring this level."""
        self._scores = np.empty(self.level.size)
        self._bounds = np.empty(self.level.size)
        self._joints = np.full(self.level.size, np.nan)  # not known
        self._pairs = np.ones(self.level.size, dtype=np.int64)
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
        without, _ = joints.of(alone)
        together, self._pairs = joints.of(with_node)
        rows = self.unordered_rows
        self._scores = together - without - score.costs_of_sets(self.node, rows)
        self._joints = without
        further = score.cheapest(self._free)  # every proper superset costs at least what this one more parent costs
        more = np.concatenate([rows, np.broadcast_to(further, (len(rows), len(further)))], axis=1)
        self._bounds = score.superset_bounds(self.node, score.costs_of_sets(self.node, more), self._pairs)

    def open(self) -> None:
        """Keep the sets of this level that are not dominated, and open those with supersets that could still win."""
        if self._size == 1 and self._score.bulk_joints is not None:
            self._arrange(self._score.bulk_joints)
        better = self._scores > self._inherited - self._slack
        self._kept.append((words_of_rows(self.full(self._members[better]), self._score.n_nodes), self._scores[better]))
        best = np.maximum(self._scores, self._inherited)
        ceiling = np.minimum(self._bounds - self._fall, self._ceiling)
        reach = self._slack + self._margin
        chosen = np.flatnonzero((ceiling > best - reach) & (self._size < self._most))
        everything = np.full(len(chosen), len(self._free))
        self._open = _Open(
            self.level[chosen], self._members[chosen], best[chosen], ceiling[chosen], self._joints[chosen],
            self._pairs[chosen], everything, ceiling[chosen].copy(), self._worth[chosen],
        )  # fmt: skip
        self._weigh()
        self._has_tails = False
        self.level, self._members = np.zeros(0, dtype=np.int64), np.zeros((0, self._size), dtype=np.int64)

    def _weigh(self) -> None:
        """Find the worth of the open sets, and close those with no superset that costs less."""
        sets, reach = self._open, self._slack + self._margin
        if isinstance(self._keys, BitKeys) and len(sets.keys) > FEW_SETS:
            worth_of(sets.keys, sets.joints, self._before.sets(), self._penalties, reach, sets.worth)
        else:
            _, edge, _, arity, spare = self._penalties
            for t in range(self._size):
                at = _places(self._before.keys, self._keys.without(sets.keys, sets.members, t))
                b = sets.members[:, t]
                gain = np.where(at >= 0, self._before.joints[at], np.inf) - sets.joints - spare[b] - edge + reach
                with np.errstate(divide="ignore"):
                    np.fmin(sets.worth, np.where(arity[b] > 1, gain / (1.0 - 1.0 / arity[b]), np.inf), out=sets.worth)
        unit, _, _, arity, _ = self._penalties
        cheapest = float(arity.min(initial=LARGEST_PRODUCT))
        with np.errstate(over="ignore"):
            costs = unit * self._fixed[0] * np.prod(arity[sets.members], axis=1) * cheapest  # at least, of supersets
        left = np.flatnonzero(sets.worth > costs)
        self._open = _Open(
            sets.keys[left], sets.members[left], sets.best[left], sets.ceiling[left], sets.joints[left],
            sets.pairs[left], sets.reach[left], sets.tail[left], sets.worth[left],
        )  # fmt: skip

    def _arrange(self, bulk: BulkJoints) -> None:
        """Put the candidates in an order in which tails say little.

        The first ones are in the order of what they say about the node, most first. The sets of this level are single
        candidates; those that were given up come last.
        """
        alone = self._members[:, 0]
        order = np.argsort(-(self._scores + bulk.costs_of_sets(self.node, self.rows)), kind="stable")
        last = bulk.last_candidates(self.node, self._free[alone[order]])
        order = np.concatenate([np.delete(order, last), order[last[::-1]]])
        others = np.setdiff1d(np.arange(len(self._free)), alone)
        self._free = self._free[np.concatenate([alone[order], others])]
        self._penalties = bulk.penalties_of(self.node, self._free)
        self._members = np.arange(len(alone))[:, np.newaxis]
        self.level = self._keys.of(self._members)
        for name in ("_scores", "_bounds", "_joints", "_pairs", "_inherited", "_ceiling", "_worth"):
            setattr(self, name, getattr(self, name)[order])

    def look_ahead(self, most_sets: int | None = None) -> None:
        """Make the next level if the open sets are many, and say of which it pays to find how far they reach.

        It pays for sets from which many grow, as far as finding it for some of them first shows that few are left. If
        more sets grow than are allowed, it is found for all.
        """
        bulk = self._score.bulk_joints
        many = not self._has_tails and bulk is not None and self._n_possible > MANY_SETS
        if bulk is None or not many or self._size >= self._keys.most:
            return
        sets, grown = self._open, self._grown(most_sets)
        if most_sets is not None and len(grown[0]) > most_sets:  # too many: only with their reach the node goes on
            self._has_tails, self._asked = True, (np.flatnonzero(sets.reach > sets.next), sets.reach.copy())
            return
        self._ahead = grown
        items, parents = self._keys.last(grown[0], self._size + 1)
        at = np.searchsorted(sets.keys, parents)
        n_grown, ends = np.bincount(at, minlength=len(sets.keys)), np.zeros(len(sets.keys), dtype=np.int64)
        ends[at] = items + 1  # the items increase, so that the last one stays
        which = np.flatnonzero(ROWS_PER_CHILD * n_grown > bulk.n_distinct)
        if not len(which):
            return
        tried = which[:: -(-len(which) // TRIED_SETS)]
        self._find_tails(bulk, tried, ends)
        left = np.maximum(np.minimum(sets.reach, ends) - sets.next, 0)[tried].sum()
        saved = 1.0 - left / max((ends - sets.next)[tried].sum(), 1)
        which = which[ROWS_PER_CHILD * saved * n_grown[which] > bulk.n_distinct]
        self._has_tails, self._asked = True, (which, ends)

    def tails(self) -> list[partial[None]]:
        """Return the work of finding how far the open sets reach of which ``look_ahead`` found that it pays."""
        bulk = self._score.bulk_joints
        if bulk is None or self._asked is None:
            return []
        which, ends = self._asked
        self._asked = None
        return [partial(self._find_tails, bulk, which[a:b], ends) for a, b in spans(len(which), SETS_PER_PIECE)]

    def bounds(self) -> list[partial[None]]:
        """Return the work of bounding what grows from the sets of the frontier."""
        bulk, sets = self._score.bulk_joints, self._last
        grows = np.flatnonzero(sets.reach > sets.next)
        if not len(grows) or not np.isfinite(sets.best).all():
            return []
        parts = spans(len(grows), SETS_PER_PIECE)
        if bulk is None:
            some = self._score.bounds_sets
            return [partial(self._bound_tails, sets, grows[a:b]) for a, b in parts] if some else []
        return [partial(self._bound_all, bulk, sets, grows[a:b]) for a, b in parts]

    def _find_tails(self, bulk: BulkJoints, which: Ints, ends: Ints) -> None:
        """Find how far some open sets reach, if that is below these ends."""
        sets = self._open
        floor = sets.best[which] - self._slack - self._margin
        about = (self.node, self._must, self._free, sets.members[which], sets.pairs[which], floor, ends[which])
        sets.reach[which] = bulk.reaches(*about)[0]

    def _bound_all(self, bulk: BulkJoints, sets: _Open, which: Ints) -> None:
        """Bound what grows from some sets."""
        about = (self.node, self._must, self._free, sets.members[which], sets.pairs[which])
        _, tail = bulk.reaches(*about, np.full(len(which), -np.inf))
        sets.tail[which] = np.minimum(tail + self._margin, sets.ceiling[which])

    def _bound_tails(self, sets: _Open, which: Ints) -> None:
        """Bound what grows from some sets: these members, and any later candidates."""
        for k in which.tolist():
            parents = np.concatenate([self._must, self._free[sets.members[k]]])
            bound = self._score.bound(self.node, np.sort(parents), self._free[sets.next[k] :])
            sets.tail[k] = min(bound, sets.ceiling[k])

    @property
    def _last(self) -> _Open:
        """The sets that were opened last."""
        return self._before if self.level.size else self._open

    def extend(self, most_sets: int | None = None) -> None:
        """Make the next level from the open sets; leave them open if it would have more sets than this.

        Sets with too many members for their keys are an error if the number of sets is not limited.
        """
        if not self._n_possible:
            return
        if self._size + 1 > self._keys.most:
            if most_sets is not None:
                return
            raise InputError(
                f"expected at most {self._keys.most} of {len(self._free)} candidate parents of "
                f"{self._score.names[self.node]!r} in a parent set; set max_parents={self._keys.most} or less"
            )
        grown = self._grown(most_sets) if self._ahead is None else self._within_reach(self._ahead)
        self._ahead = None
        if most_sets is not None and len(grown[0]) > most_sets:
            return
        self._size += 1
        self.level, self._inherited, self._ceiling, self._worth = grown
        self._members = self._keys.members(self.level, self._size)
        self._before, self._open = self._open, _unknown(0, self._size, 0)

    def _within_reach(self, grown: _Grown) -> _Grown:
        """Return those of the sets of the next level that the open sets reach, whose reach may have fallen."""
        items, parents = self._keys.last(grown[0], self._size + 1)
        left = self._open.reach[np.searchsorted(self._open.keys, parents)] > items
        return grown[0][left], grown[1][left], grown[2][left], grown[3][left]

    def _grown(self, most_sets: int | None) -> _Grown:
        """Return the sets of the next level and what is inherited, perhaps more than ``most_sets``."""
        many = self._n_possible > FEW_SETS or compiled_or_python(extended, self._n_possible) is extended
        return self._extended(most_sets) if many and isinstance(self._keys, BitKeys) else self._extended_by_arrays()

    @property
    def _fixed(self) -> tuple[float, int]:
        """The product of the arities of the required parents, and how many there are."""
        bulk = self._score.bulk_joints
        arity = np.ones(0) if bulk is None else bulk.penalties_of(self.node, self._must).arity
        return float(np.prod(arity)), len(self._must)

    @property
    def _n_possible(self) -> int:
        """The number of sets that are an open set and one later candidate within its reach."""
        return int(np.maximum(self._open.reach - self._open.next, 0).sum())

    def _extended(self, most_sets: int | None) -> _Grown:
        """Return the sets of the next level and what is inherited, or more than ``most_sets``."""
        most = self._n_possible if most_sets is None else min(most_sets, self._n_possible)
        keys, values = np.empty(most + 1, dtype=np.int64), np.empty((3, most + 1))
        sets, before = self._open.sets(), self._before.sets()
        found = extended(sets, before, self._penalties, self._fixed, self._slack + self._margin, most, keys, values)
        return keys[:found].copy(), values[0, :found].copy(), values[1, :found].copy(), values[2, :found].copy()

    def _extended_by_arrays(self) -> _Grown:
        """Return the same for keys of any kind, with whole arrays."""
        blocks = [self._grown_by(item) for item in range(len(self._free))]
        inherited, lowest, worth = (np.concatenate([block[k] for block in blocks]) for k in (1, 2, 3))
        return np.concatenate([block[0] for block in blocks]), inherited, lowest, worth

    def _grown_by(self, item: int) -> _Grown:
        """Return the sets of the next level whose largest member is this one, and what is inherited."""
        size = self._size + 1
        level = self._keys.grown(self._open.keys, self._size, item)
        level = level[self._open.reach[: len(level)] > item]
        # no subset with one fewer member may have been given up: not be open although it was made
        members = self._keys.members(level, size)
        for t in range(size - 1):
            subset = self._keys.without(level, members, t)
            at = _places(self._open.keys, subset)
            without = np.delete(members, t, axis=1)
            earlier = _places(self._before.keys, self._keys.without(subset, without, size - 2))
            made = (earlier >= 0) & (self._before.reach[earlier] > item)
            level, members = level[(at >= 0) | ~made], members[(at >= 0) | ~made]
        # what the subsets say about each of the sets left
        unit, edge, most, arity, _ = self._penalties
        product, n_fixed = self._fixed
        with np.errstate(over="ignore"):
            cost = unit * (product * np.prod(arity[members], axis=1))
        inherited, worth = np.full(level.size, -np.inf), np.full(level.size, np.inf)
        lowest = most - cost - edge * (size + n_fixed)
        for t in range(size):
            at = _places(self._open.keys, self._keys.without(level, members, t))
            known = at >= 0
            inherited = np.where(known, np.maximum(inherited, self._open.best[at]), inherited)
            lowest = np.where(known, np.minimum(lowest, self._open.ceiling[at]), lowest)
            worth = np.where(known, np.minimum(worth, self._open.worth[at]), worth)
        alive = (lowest > inherited - self._slack - self._margin) & (cost < worth)
        return level[alive], inherited[alive], lowest[alive], worth[alive]

    def frontier(self) -> Frontier:
        """Return where the listing stands: no sets if it is over."""
        sets = self._last
        grows = sets.reach > sets.next
        return Frontier(sets.members[grows], sets.tail[grows])

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


def _places(keys: Ints, wanted: Ints) -> Ints:
    """Return where the wanted keys are among sorted ones, -1 for those that are not there."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, at, -1)
