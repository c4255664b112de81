"""Every parent set that could be part of a best DAG, with no limit on its size, for likelihoods of log-determinants.

A set is dominated if a subset scores at least as well; some best DAG has no dominated set. If the true graph is sparse,
few sets are undominated, and ``kernels/gaussian/undominated.py`` finds them without trying all others; where columns
are blocks, or cost more than their number, ``kernels/gaussian/block_undominated.py``. Parents that lie in no cycle,
such as those of the past, are safe: a set is also dominated by one with fewer parents that are not safe and with any
safe ones. So each set of other parents is listed once, with its best safe ones. First, pairs of columns that cannot be
parent and child in any undominated family are found, each by its own search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.bits import words_of_bools
from dagopt.deadline import Deadline, Stopped
from dagopt.errors import InputError
from dagopt.families.block_search import BlockSearch, useful_block_pairs, useful_block_parents
from dagopt.families.families import COMPARING, Families
from dagopt.families.node_search import NodeSearch
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels.gaussian import useful as kernels
from dagopt.kernels.gaussian.subset_walk import inverse_of
from dagopt.scores.base import Score
from dagopt.scores.block_likelihood import NodeLikelihood
from dagopt.workers import Workers, spans

__all__ = ["Estimate", "Listing", "TooMany", "is_searchable", "scored", "undominated"]

STEPS_PER_PAIR = 300  # after which a pair is kept undecided
ENTRIES_PER_PAIR = 200_000_000  # steps times the size of the matrix, after which it is too: about 0.2 s
MOST_SWEPT = 400  # columns of a matrix that is inverted by sweeps; of more, LAPACK is several times as fast
INVERTED_PER_SECOND = 1e10  # columns cubed
ENTRIES_PER_PIECE = 100_000  # pairs times the size of the matrix, which each step of a pair changes
STEPS_PER_PIECE = 20_000  # steps of one node before it is another one's turn
ENTRIES_PER_LOOK = 10_000_000  # steps times the size of the matrix, between two looks at the clock, about 0.1 s
SCORED_PER_PIECE = 5_000  # sets scored between two looks at the clock, about 0.1 s
FIRST_STEPS = 2_000  # steps per node from which the total work is estimated
SECONDS_PER_STEP = 4e-6  # on one thread, of a column; blocks, and busy machines, take longer, which is measured
LEAST_MEASURED = 0.1  # seconds of searches from which their pace is known
LEAST_SHARE = 1e-12  # the share assumed done when a search has hardly begun
PHASE = "undominated parent sets"


class TooMany(Exception):
    """There are more sets than may be listed.

    Attributes
    ----------
    n_found : int
        Sets found before the listing was given up.
    n_likely : float
        The estimated number of sets in all.
    """

    def __init__(self, n_found: int, n_likely: float) -> None:
        super().__init__(f"{n_found:,} parent sets found, about {n_likely:,.0f} in all")
        self.n_found = n_found
        self.n_likely = n_likely


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of the listing, from its first steps.

    Attributes
    ----------
    n_sets : float
        Sets in all.
    seconds : float
        Time on these threads.
    """

    n_sets: float
    seconds: float


def is_searchable(score: Score) -> bool:
    """Say whether the searches for undominated sets apply: rounding is harmless, and a plain penalty is convex."""
    form = score.block_likelihood
    return form is not None and form.is_searchable


class Listing:
    """The undominated sets of all nodes, while they are found; what is stopped continues where it was.

    Parameters
    ----------
    score : Score
        One that has a ``block_likelihood``.
    knowledge : Knowledge
        Required parents are in every set, forbidden ones are in none, and it limits the number of members.
    most_sets : int
        ``TooMany`` is raised when more sets than this are found; a later caller may allow more.
    slack : float
        Sets are dropped only if a subset beats them by more than this.

    Attributes
    ----------
    knowledge : Knowledge
        The knowledge, and as soon as it is known, that some parents are in no undominated set.
    """

    def __init__(self, score: Score, knowledge: Knowledge, most_sets: int, slack: float = 0.0) -> None:
        self._score = score
        self._slack = slack
        self.knowledge = knowledge
        self._safe = knowledge.safe
        self.most_sets = most_sets
        form = score.block_likelihood
        if form is None or not form.is_searchable:
            raise InputError(
                "listing undominated parent sets needs columns that are not nearly linearly dependent, and a penalty "
                "that is convex in the number of parents; use another method"
            )
        # what is lost by rounding and what may be lost are treated alike
        self._form = form.with_slack(slack)
        self._is_narrow = False
        self._pairs_left: Iterator[partial[None]] | None = None  # work of ``narrow`` that was not begun
        self._excluding: list[_Excluding] | None = None
        self._found: Families | None = None  # all families, before they are compared
        self._compared: tuple[Bools, Iterator[partial[None]], int] | None = None  # dominated; what is to be compared
        self._searches: list[NodeSearch | BlockSearch] = []
        self._scoring: _Scoring | None = None
        self._seconds = 0.0  # of threads that searches took after their first steps, which may compile, and their steps
        self._steps = 0

    def estimate(self, workers: Workers) -> Estimate:
        """Exclude pairs, do the first steps of each node, and return an estimate of the remaining work."""
        n = self._score.n_nodes
        self.narrow(workers)
        self._searches = [self._search(i) for i in range(n)]
        pieces = [partial(_advance, search, FIRST_STEPS, workers.deadline) for search in self._searches]
        workers.each(PHASE, pieces, n, (0.1, 0.2))
        self._check()
        steps = sum(search.n_steps / max(search.share, LEAST_SHARE) for search in self._searches)
        return Estimate(self.n_likely, steps * SECONDS_PER_STEP / workers.count)

    def _advance(self, searches: list[NodeSearch | BlockSearch], workers: Workers) -> None:
        """Let searches do some more steps each, and take the time."""
        share = float(np.mean([search.share for search in self._searches]))
        begin, before = monotonic(), sum(search.n_steps for search in searches)
        pieces = [partial(_advance, search, STEPS_PER_PIECE, workers.deadline) for search in searches]
        try:
            workers.each(PHASE, pieces, len(pieces), (share, share))
        finally:
            self._seconds += (monotonic() - begin) * min(workers.count, len(pieces))
            self._steps += sum(search.n_steps for search in searches) - before
        self._check()

    @property
    def _pace(self) -> float:
        """Seconds per step on one thread: measured, or before that the usual ones."""
        return self._seconds / self._steps if self._steps and self._seconds > LEAST_MEASURED else SECONDS_PER_STEP

    def narrow(self, workers: Workers) -> None:
        """Forbid parents that are in no undominated set: first pairs, then candidates of each node among those left."""
        if self._is_narrow or 2 * self._safe.sum() >= self.knowledge.may.sum():  # these searches narrow by themselves
            return
        n = self._score.n_nodes
        if self._pairs_left is None:
            self._useful = np.ones((n, n), dtype=np.bool_)
            one = self._form.has_one_matrix
            self._pairs_left = self._pairs(self._useful, self._inverse(workers.deadline)) if one else iter(())
        workers.each(PHASE, self._pairs_left, n * (n - 1) // 2, (0.0, 0.05))
        if self._excluding is None:
            must = np.ascontiguousarray(self.knowledge.must.T)
            own = np.ascontiguousarray((self._useful & self.knowledge.may).T) | must
            self._excluding = [_Excluding(self._form.nodes[i], i, must[i], own[i]) for i in range(n)]
        left = [partial(one.run, workers.deadline) for one in self._excluding if not one.over]
        workers.each(PHASE, left, n, (0.05, 0.1))
        may = np.column_stack([one.useful for one in self._excluding])
        self.knowledge = replace(self.knowledge, may=np.ascontiguousarray(may))
        self._is_narrow = True

    def _inverse(self, deadline: Deadline) -> Floats:
        """Return the inverse of the matrix; if that would not end in time, the listing is given up."""
        matrix = self._form.matrix
        if len(matrix) <= MOST_SWEPT:
            return np.asarray(inverse_of(matrix), dtype=np.float64)
        if deadline.reason is not None:
            raise Stopped
        if not deadline.whole.has_time_for(len(matrix) ** 3 / INVERTED_PER_SECOND):
            raise TooMany(0, 0.0)
        return np.ascontiguousarray(np.linalg.inv(matrix))

    def _pairs(self, useful: Bools, inverse: Floats) -> Iterator[partial[None]]:
        """Yield the work of finding pairs that are never useful, whichever is the parent."""
        nodes = self._form.nodes
        present = np.flatnonzero(np.diff(self._form.starts))
        either = (self.knowledge.may | self.knowledge.may.T)[np.ix_(present, present)]
        size = max(ENTRIES_PER_PIECE // max(len(inverse), 1) ** 2, 1)
        is_plain = all(node.is_plain for node in nodes)
        earned = np.zeros((0, 0)) if is_plain else np.array([node.least_needs() for node in nodes])
        needs = np.minimum(earned, earned.T)
        for pairs in _lower_pairs(either, size):
            if is_plain:
                yield partial(kernels.useful_pairs, inverse, nodes[0].matrix, *_ratio(nodes[0]), pairs, useful)
            else:
                yield partial(
                    useful_block_pairs, nodes[0], needs, present, inverse, _steps_per_pair(nodes[0]), pairs, useful
                )

    def seconds_left(self, n_threads: int) -> float:
        """Return about how long the searches will still take; infinity before they have begun."""
        open_ones = [search for search in self._searches if not search.over]
        if not self._searches or any(search.n_steps == 0 for search in open_ones):
            return np.inf
        steps = sum(search.n_steps * (1.0 / max(search.share, LEAST_SHARE) - 1.0) for search in open_ones)
        return steps * self._pace / n_threads

    @property
    def n_found(self) -> int:
        """Sets found so far."""
        return sum(search.n_sets for search in self._searches)

    @property
    def n_likely(self) -> float:
        """About how many sets there are, by those found and the share of each search that is done."""
        return sum(search.n_sets / max(search.share, LEAST_SHARE) for search in self._searches)

    def _search(self, node: int) -> NodeSearch | BlockSearch:
        must, free = np.flatnonzero(self.knowledge.must[:, node]), self.knowledge.free(node)
        most = int(min(self.knowledge.at_most[node], len(must) + len(free)))
        own = self._form.nodes[node]
        if own.is_plain:
            n_samples = round(2.0 * own.half)
            safe = self._safe[:, node]
            return NodeSearch(own.matrix, n_samples, own.costs, node, must, free, most, own.margin, safe=safe)
        return BlockSearch(own, node, must, free, most)

    def run(self, workers: Workers) -> Families:
        """Return the undominated families, with slack some others, or raise ``TooMany``.

        Raises ``Stopped`` at the deadline.
        """
        if not self._searches:
            self.estimate(workers)
        while not all(search.over for search in self._searches):
            # Those that are behind come first: a run that is stopped often would never reach the last ones.
            left = [search for search in self._searches if not search.over]
            self._advance(sorted(left, key=lambda search: search.n_steps), workers)
        if self._scoring is None:
            self._scoring = _Scoring(self._score, [search.members(self._score.n_nodes) for search in self._searches])
        workers.each("scores of parent sets", self._scoring.pieces, self._scoring.count, (1.0, 1.0))
        if self._found is None:
            self._found = self._scoring.families()
        if self._slack > 0.0:
            return self._found
        if self._compared is None:
            gone, pieces = self._found.comparisons(self._safe)
            self._compared = gone, iter(pieces), len(pieces)
        gone, waiting, count = self._compared
        workers.each(COMPARING, waiting, count)
        return self._found.only(~gone)

    def _check(self) -> None:
        if self.n_found > self.most_sets:
            raise TooMany(self.n_found, self.n_likely)


class _Excluding:
    """The search for candidates of one node that are never useful among those left, a few at a time.

    Attributes
    ----------
    useful : bool array
        Which candidates are left.
    """

    def __init__(self, own: NodeLikelihood, node: int, must: Bools, useful: Bools) -> None:
        self._own, self._node, self._must, self.useful = own, node, must, useful
        self._state = np.zeros(4, dtype=np.int64)
        self._tries = max(ENTRIES_PER_LOOK // (_steps_per_pair(own) * len(own.matrix) ** 2), 1)

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        return bool(self._state[kernels.OVER])

    def run(self, deadline: Deadline) -> None:
        """Go on until it is over, or the deadline."""
        own, facts = self._own, (self._node, self._must, self.useful, self._state, self._tries)
        while not self.over:
            if own.is_plain:
                kernels.useful_parents(own.matrix, *_ratio(own), *facts)
            else:
                useful_block_parents(own, _steps_per_pair(own), *facts)
            if deadline.reason is not None:
                return


def _advance(search: NodeSearch | BlockSearch, steps: int, deadline: Deadline) -> None:
    """Do this many more steps of a search, or fewer at the deadline."""
    last, piece = search.n_steps + steps, max(ENTRIES_PER_LOOK // search.width**2, 1)
    while not search.over and search.n_steps < last:
        search.run(min(piece, last - search.n_steps))
        if deadline.reason is not None:
            return


def _lower_pairs(either: Bools, size: int) -> Iterator[Ints]:
    """Yield the places below the diagonal that are true, about so many at a time: of 10,000 columns there are 1e8."""
    rows: list[Ints] = []
    for i in range(1, len(either)):
        own = np.flatnonzero(either[i, :i])
        rows.append(np.column_stack([np.full(len(own), i), own]))
        if i == len(either) - 1 or sum(map(len, rows)) >= size:
            found = np.concatenate(rows)
            yield from (found[k : k + size] for k in range(0, len(found), size))
            rows = []


def _steps_per_pair(own: NodeLikelihood) -> int:
    """Return the steps after which a pair is kept undecided."""
    return max(min(STEPS_PER_PAIR, ENTRIES_PER_PAIR // max(len(own.matrix), 1) ** 2), 1)


def _ratio(own: NodeLikelihood) -> tuple[float, int, float]:
    """Return for a plain likelihood the ratio of variances a parent must reach, the steps per pair, and the rounding.

    N/2 log of the ratio is what a parent costs.
    """
    threshold = float(np.exp((own.steps.min(initial=np.inf) - own.margin) / own.half))
    return threshold, _steps_per_pair(own), own.margin / own.half


def scored(score: Score, node: Ints, rows: Bools) -> Families:
    """Return families given by their nodes and by rows of truth values, one per possible parent."""
    scores = score.local_many(node, [np.flatnonzero(row) for row in rows])
    return Families.of(score.names, node, words_of_bools(rows), np.asarray(scores, dtype=np.float64))


def undominated(score: Score, members: Sequence[Bools], workers: Workers | None = None) -> Families:
    """Return the families of sets of each node, given as rows of truth values, without dominated ones."""
    scoring = _Scoring(score, members)
    if workers is None:
        for piece in scoring.pieces:
            piece()
    else:
        workers.each("scores of parent sets", scoring.pieces, scoring.count)
    return scoring.families().without_dominated(workers)


class _Scoring:
    """The scores of sets of each node, given as rows of truth values, a piece at a time: what is stopped goes on.

    Attributes
    ----------
    pieces : iterator
        The pieces of the work that were not begun.
    count : int
        How many there were at first.
    """

    def __init__(self, score: Score, members: Sequence[Bools]) -> None:
        self._score, self._rows = score, np.concatenate(members)
        self._node = np.repeat(np.arange(len(members)), [len(rows) for rows in members])
        self._scores = np.empty(len(self._node))
        parts = spans(len(self._node), SCORED_PER_PIECE)
        self.count, self.pieces = len(parts), iter([partial(self._work, *part) for part in parts])

    def _work(self, first: int, last: int) -> None:
        sets = [np.flatnonzero(row) for row in self._rows[first:last]]
        self._scores[first:last] = self._score.local_many(self._node[first:last], sets)

    def families(self) -> Families:
        """Return the families, when all pieces are done."""
        return Families.of(self._score.names, self._node, words_of_bools(self._rows), self._scores)
