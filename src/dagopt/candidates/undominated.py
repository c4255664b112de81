"""Every parent set of continuous data that could be part of a best DAG, with no limit on its size.

A set is dominated if a subset scores at least as well; some best DAG has no dominated set. If the true graph is
sparse, few sets are undominated, and ``kernels/gaussian/undominated.py`` finds them without trying all others.
First, pairs of columns that cannot be parent and child in any undominated family are found, each by its own search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.kernels.cuts import separation
from dagopt.kernels.gaussian import undominated as kernels
from dagopt.knowledge import Knowledge
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Workers

__all__ = ["Estimate", "Listing", "TooMany", "rounding_margin"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

STEPS_A_PAIR = 300
STEPS_A_PIECE = 20_000
FIRST_STEPS = 2_000  # steps per node from which the total work is estimated
SETS_A_PIECE = 20_000
SECONDS_A_STEP = 4e-6  # on one thread
LEAST_MARGIN = 1e-6
LEAST_SHARE = 1e-12  # the share assumed done when a search has hardly begun
PHASE = "undominated parent sets"


class TooMany(Exception):
    """More sets than may be listed.

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


def rounding_margin(matrix: Floats, n_samples: int) -> float:
    """Return a bound on the rounding of a log-likelihood that is computed from a correlation matrix."""
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    eps = float(np.finfo(np.float64).eps)
    return LEAST_MARGIN + 16 * eps * n_samples * len(matrix) ** 2 / max(smallest, eps)


class Listing:
    """The undominated sets of all nodes, while they are found.

    Parameters
    ----------
    score : GaussianScore
        Its penalty must be convex in the number of parents.
    knowledge : Knowledge
        Required parents are in every set, forbidden ones in none, and a set has at most so many members.
    most_sets : int
        After so many sets ``TooMany`` is raised.
    """

    def __init__(self, score: GaussianScore, knowledge: Knowledge, most_sets: int) -> None:
        self._score = score
        self._knowledge = knowledge
        self._most_sets = most_sets
        self._matrix = score.correlation
        self._margin = rounding_margin(self._matrix, score.n_samples)
        self._cost = score.costs
        if (np.diff(self._cost, 2) < -1e-12).any() or self._margin > 1e-3 * score.n_samples:
            raise InputError(
                "listing undominated parent sets needs columns that are not nearly linearly dependent, and a penalty "
                "that is convex in the number of parents; use another method"
            )
        self._searches: list[_Search] = []

    def estimate(self, workers: Workers) -> Estimate:
        """Exclude pairs, do the first steps of each node, and return an estimate of the remaining work."""
        n = self._score.n_nodes
        useful = np.ones((n, n), dtype=np.bool_)
        step = float(np.diff(self._cost).min(initial=np.inf))
        threshold = float(np.exp(2.0 * (step - self._margin) / self._score.n_samples))
        pieces = [
            partial(kernels.useful_pairs, self._matrix, threshold, STEPS_A_PAIR, i, i + 1, useful) for i in range(n)
        ]
        workers.each(PHASE, pieces, n, (0.0, 0.1))
        self._searches = [self._search(i, useful[:, i]) for i in range(n)]
        workers.each(PHASE, [partial(search.run, FIRST_STEPS) for search in self._searches], n, (0.1, 0.2))
        self._check()
        steps = sum(search.n_steps / max(search.share, LEAST_SHARE) for search in self._searches)
        return Estimate(self._likely_sets(), steps * SECONDS_A_STEP / workers.count)

    def _likely_sets(self) -> float:
        """Estimate how many sets there are, from those found and the share of each search that is done."""
        return sum(search.n_sets / max(search.share, LEAST_SHARE) for search in self._searches)

    def _search(self, node: int, useful: Bools) -> _Search:
        must = np.flatnonzero(self._knowledge.must[:, node])
        free = np.flatnonzero(self._knowledge.may[:, node] & ~self._knowledge.must[:, node] & useful)
        most = int(min(self._knowledge.at_most[node], len(must) + len(free)))
        return _Search(self._matrix, self._score.n_samples, self._cost, node, must, free, most, self._margin)

    def run(self, workers: Workers) -> tuple[list[NDArray[np.uint64]], list[Floats]]:
        """Return the sets of each node as words, and their scores, from the best down; or raise ``TooMany``.

        Raises ``Stopped`` at the deadline.
        """
        if not self._searches:
            self.estimate(workers)
        while not all(search.over for search in self._searches):
            left = [search for search in self._searches if not search.over]
            share = float(np.mean([search.share for search in self._searches]))
            workers.each(PHASE, [partial(search.run, STEPS_A_PIECE) for search in left], len(left), (share, share))
            self._check()
        return self._sets()

    def _check(self) -> None:
        n_found = sum(search.n_sets for search in self._searches)
        if n_found > self._most_sets:
            raise TooMany(n_found, self._likely_sets())

    def _sets(self) -> tuple[list[NDArray[np.uint64]], list[Floats]]:
        words: list[NDArray[np.uint64]] = []
        scores: list[Floats] = []
        for node, search in enumerate(self._searches):
            members = search.members(self._score.n_nodes)
            own = self._score.local_many([node] * len(members), [np.flatnonzero(row) for row in members])
            order = np.lexsort((members.sum(axis=1), -own))
            packed = _words(members[order])
            beaten = np.empty(len(packed), dtype=np.bool_)
            separation.dominated(packed, np.array([0, len(packed)]), beaten)
            kept = ~beaten
            words.append(packed[kept])
            scores.append(np.asarray(own[order][kept], dtype=np.float64))
        return words, scores


class _Search:
    """The search of one node, in pieces."""

    def __init__(
        self,
        matrix: Floats,
        n_samples: int,
        cost: Floats,
        node: int,
        must: NDArray[np.intp],
        free: NDArray[np.intp],
        most: int,
        margin: float,
    ) -> None:
        self._ids = np.concatenate([must, free, [node]]).astype(np.int64)
        size, levels = len(self._ids), len(self._ids) + 2
        self._facts = (n_samples, cost, len(must), most, margin)
        self._counters = np.zeros(4, dtype=np.int64)
        integers = np.zeros((4, levels + 1), dtype=np.int64)  # branch, stage, up, taken
        fresh = np.zeros(levels + 1, dtype=np.int64)
        self._rooms = (
            np.empty((levels, size, size)),
            np.empty((levels, size, size)),
            np.empty((levels, size), dtype=np.bool_),
            np.empty((levels, size), dtype=np.bool_),
            *integers,
            fresh,
            self._counters,
        )
        self._scores = np.empty((2, levels))
        self._members = np.arange(levels, dtype=np.int64)
        self._done = np.zeros(1)
        self._found: list[Bools] = []
        upper, lower, free_room, active = self._rooms[:4]
        own = np.ascontiguousarray(matrix[np.ix_(self._ids, self._ids)])
        kernels.begin(own, len(must), upper, lower, free_room, active, self._counters, self._scores)
        integers[3, 0] = len(must)
        fresh[0] = 1

    @property
    def over(self) -> bool:
        """Whether all sets are found."""
        return bool(self._counters[kernels.OVER])

    @property
    def share(self) -> float:
        """The estimated share of the search that is done."""
        return 1.0 if self.over else float(self._done[0])

    @property
    def n_sets(self) -> int:
        """Sets found so far."""
        return sum(len(part) for part in self._found)

    @property
    def n_steps(self) -> int:
        """Steps done so far."""
        return int(self._counters[kernels.STEPS])

    def run(self, steps: int) -> None:
        """Do so many more steps, or fewer if many sets are found."""
        if self.over:
            return
        room = np.zeros((SETS_A_PIECE, len(self._ids)), dtype=np.bool_)
        self._counters[kernels.FOUND] = 0
        kernels.resume(*self._facts, self._rooms, self._scores, self._done, self._members, steps, room)
        self._found.append(room[: self._counters[kernels.FOUND]].copy())

    def members(self, n_nodes: int) -> Bools:
        """Return the sets found, one row per set."""
        found = np.concatenate(self._found) if self._found else np.zeros((0, len(self._ids)), dtype=np.bool_)
        rows = np.zeros((len(found), n_nodes), dtype=np.bool_)
        rows[:, self._ids[:-1]] = found[:, :-1]
        return rows


def _words(rows: Bools) -> NDArray[np.uint64]:
    """Return sets given as rows of booleans as rows of 64-bit words."""
    width = (rows.shape[1] + 63) // 64
    padded = np.zeros((len(rows), 64 * width), dtype=np.bool_)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
