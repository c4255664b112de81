"""Multipliers of submodular rows, and the bound on all DAGs that they give.

For multipliers λ_r ≥ 0 of rows Σ a_r x ≤ b_r that every DAG satisfies,

    Σ_r λ_r b_r + Σ_i max over all parent sets T of (score_i(T) - Σ_r λ_r a_r(i, T))

bounds the score of every DAG. A search for each node (``families/node_search.py``) finds the largest remainders over
*all* undominated parent sets, listed or not. If it is stopped early, it still gives an upper bound on them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dagopt.arrays import Bools, Floats
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.families.node_search import NodeSearch, Prices
from dagopt.families.undominated import undominated
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian import price_climbs as kernels
from dagopt.lp.rows.row import SLACK, DualPoint, Row
from dagopt.scores.base import Score
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Stopped, Workers

__all__ = ["NodePrice", "Pricing", "gaussian_parts"]


STEPS_PER_PIECE = 5_000  # steps of one node between two looks at the clock,
FEW_COLUMNS = 50  # with up to so many columns; with more, in inverse proportion to their fourth power
MOST_CLIMBED = 4_000  # sets of one node that climbs find
SMALL, OF_ANY_SIZE = 10, 4  # climbs begin with at most so many parents, but one out of four with any number
LEAST_GAIN = 1e-3  # a remainder is of interest only if it exceeds the known ones by this
FIRST_STEPS = 2_000  # of each search, before the next one goes on
LEAST_SHARE = 1e-6  # of a search, in estimates of how long it takes
LEAST_SLACK, GROWTH, LESS_SLACK = 2.0, 2.0, 8.0  # of long searches; it is divided by the last number the next time
FINISHED_SHARE = 0.35  # of the time left in which searches are to end, because estimates are too short near the end
SHARE_PER_SWEEP = 0.05  # searches go on by fewer steps if those of all took a larger share of the time
LISTING_EFFORT = 20  # a listing may take this many times the steps of pricing, per node


@dataclass(frozen=True, eq=False)
class NodePrice:
    """What pricing found for one node.

    Attributes
    ----------
    members : bool array of shape (sets, n_nodes)
        Sets with the largest remainders.
    most : float
        An upper bound on the remainders of all sets, rounding included.
    n_steps : int
        The number of steps of the search.
    """

    members: Bools
    most: float
    n_steps: int


class Pricing:
    """Searches for the sets with the largest remainders, over all parent sets.

    Parameters
    ----------
    score : Score
        The score; ``score.part(i)`` is a ``GaussianScore`` for each node.
    knowledge : Knowledge
        The parents that each node must have and may have.
    most_steps : int
        The number of steps after which a search looks for larger remainders only: the bound of its node is then larger
        by the *slack*.
    """

    def __init__(self, score: Score, knowledge: Knowledge, most_steps: int) -> None:
        self._score = score
        self._parts = gaussian_parts(score)
        self._knowledge = knowledge
        self.most_steps = most_steps
        self._piece = max(int(STEPS_PER_PIECE * min((FEW_COLUMNS / score.n_nodes) ** 4, 1.0)), 1)
        self._slack = np.zeros(score.n_nodes)
        self._n_climbs = 0
        self.margin = 2 * max(part.block_likelihood.margin for part in set(self._parts))  # rounding, twice
        nothing = [np.empty(0, dtype=np.int64)] * score.n_nodes
        empty = np.asarray(score.local_many(np.arange(score.n_nodes), nothing), dtype=np.float64)
        self.constant = empty + [part.costs[0] for part in self._parts]  # what a search leaves out of the scores

    @property
    def _shared(self) -> Floats | None:
        """The correlations behind all likelihoods, if they are the same."""
        return self._parts[0].correlation if len(set(self._parts)) == 1 else None

    def prices(self, point: DualPoint) -> Prices:
        """Return the rows of a point in the form that a search takes."""
        return point.prices(self._score.n_nodes, self._shared, self._score.n_samples)

    def likelihood(self, row: Row) -> tuple[DualPoint, list[float]]:
        """Return multipliers that need no search, and the largest remainder of each node.

        If all nodes share their rows, it is the multiplier of the entropy of all columns that gives the bound of the
        likelihood: each remainder is then a constant minus the penalty. Else each node has the likelihood of all
        possible parents.
        """
        assert row.origin is not None
        if self._shared is None:
            return DualPoint((), np.zeros(0)), [self._most(i) for i in range(self._score.n_nodes)]
        costs = np.array(
            [part.costs[size:].min() for part, size in zip(self._parts, self._knowledge.must.sum(axis=0), strict=True)]
        )
        most = self.constant - costs + self.margin
        return DualPoint((row,), np.array([self._score.n_samples / row.origin.scale])), most.tolist()

    def _most(self, i: int) -> float:
        """Return a bound on all local scores of a node."""
        must = np.flatnonzero(self._knowledge.must[:, i]).astype(np.int64)
        free = self._knowledge.free(i).astype(np.int64)
        part = self._parts[i]
        return part.local(i) + part.block_likelihood.nodes[i].most_gain(i, must, free)

    def search(self, i: int, prices: Prices, limit: float) -> NodeSearch:
        """Return a search for all parent sets of a node with a remainder of at least ``limit``."""
        must = np.flatnonzero(self._knowledge.must[:, i])
        free = np.flatnonzero(self._knowledge.may[:, i] & ~self._knowledge.must[:, i])
        most = int(min(self._knowledge.at_most[i], len(must) + len(free)))
        part = self._parts[i]
        facts = (part.correlation, part.n_samples, part.costs, i, must, free, most, self.margin)
        return NodeSearch(*facts, prices, limit - float(self.constant[i]))

    def all_nodes(
        self,
        point: DualPoint,
        least: Sequence[float] | Floats,
        count: int,
        workers: Workers,
        allowed: float = np.inf,
        hopeless: float = np.inf,
    ) -> tuple[float, list[NodePrice]]:
        """Return a bound on all DAGs, and for each node the ``count`` best sets and a bound on all of them.

        ``least`` has the remainder of a known set for each node. All searches go on side by side. While they are not
        expected to end in the ``allowed`` seconds, those that are expected to take longest look for larger and larger
        remainders only; so do those that took too many steps, and all of them when the seconds are over. The bound is
        what is proven at the end or at the deadline. The searches are given up after the first steps if by these they
        are expected to take ``hopeless`` times the allowed seconds.
        """
        n = self._score.n_nodes
        prices = self.prices(point)
        slack = np.where(self._slack > LEAST_SLACK, self._slack / LESS_SLACK, 0.0)
        searches = [self.search(i, prices, float(least[i]) + slack[i]) for i in range(n)]
        begin = before = workers.deadline.elapsed()
        steps, is_first = FIRST_STEPS, True
        left = list(range(n))
        try:
            while left:
                pieces = [partial(_run, searches[i], steps, self._piece, count, workers.deadline) for i in left]
                workers.each("pricing", pieces, n)
                left = [i for i in left if not searches[i].over]
                now, remaining = workers.deadline.elapsed(), workers.deadline.remaining()
                expected = _expected(searches, now - begin)
                if is_first and expected.sum() > hopeless * allowed:
                    break
                is_first = False
                still = min(allowed - (now - begin), FINISHED_SHARE * remaining)
                for i in _late(expected, left, still):
                    slack[i] = max(GROWTH * slack[i], LEAST_SLACK)
                for i in left:
                    if searches[i].n_steps >= self.most_steps:
                        slack[i] = max(GROWTH * slack[i], LEAST_SLACK)
                    searches[i].raise_limit(float(least[i]) + slack[i] - float(self.constant[i]))
                is_long = now - before > SHARE_PER_SWEEP * min(allowed, remaining)
                steps = max(steps // 2, STEPS_PER_PIECE) if is_long else 2 * steps
                before = now
        except Stopped:
            pass
        self._slack = slack
        done = [self._priced(i, search, float(least[i])) for i, search in enumerate(searches)]
        return self.bound(point, [one.most for one in done]), done

    def _priced(self, i: int, search: NodeSearch, least: float) -> NodePrice:
        """Return what a search has found and proven so far."""
        found = float(search.values.max(initial=-np.inf)) + self.margin
        most = max(search.limit, search.ceiling, found) + float(self.constant[i])
        return NodePrice(search.members(self._score.n_nodes), max(most, least), search.n_steps)

    def climb(
        self,
        point: DualPoint,
        least: Floats,
        count: int,
        n_climbs: int,
        workers: Workers,
        known: Sequence[Bools] | None = None,
    ) -> list[NodePrice]:
        """Return sets with large remainders that climbs find; nothing is proven about others.

        ``n_climbs`` is the number for each node of those that begin at random sets, most of which are small, because a
        climb from a large set takes longer, and some of all sizes, because from small ones climbs seldom reach the
        large sets with the largest remainders. Others begin at the sets ``known`` of each node. If the clock of the
        workers stops before that of the whole run, nodes that were not reached have no sets, and infinity for ``most``.
        """
        n = self._score.n_nodes
        prices = self.prices(point)
        found = [NodePrice(np.zeros((0, n), dtype=np.bool_), np.inf, 0)] * n
        starts = [np.zeros((0, n), dtype=np.bool_)] * n if known is None else known
        self._n_climbs += 1

        def work(i: int) -> None:
            rng = np.random.default_rng([self._n_climbs, i])
            limit = float(least[i]) + LEAST_GAIN
            found[i] = self._climbed(i, prices, limit, count, n_climbs, rng, workers.deadline, starts[i])

        try:
            workers.each("pricing", [partial(work, i) for i in range(n)], n)
        except Stopped:
            if workers.deadline.whole.reason is not None:
                raise
        return found

    def _climbed(
        self,
        i: int,
        prices: Prices,
        least: float,
        count: int,
        n_climbs: int,
        rng: np.random.Generator,
        deadline: Deadline,
        known: Bools,
    ) -> NodePrice:
        """Return the best sets of a node with remainders above ``least`` that climbs find until the deadline."""
        part, n = self._parts[i], self._score.n_nodes
        ids = np.append(np.delete(np.arange(n), i), i)
        must, may = self._knowledge.must[ids, i], self._knowledge.may[ids, i]
        free = may & ~must
        candidates = np.flatnonzero(free)
        most = int(self._knowledge.at_most[i]) - int(must.sum())
        largest = min(most, len(candidates))
        climb = Box(prices.climb(part.correlation, part.n_samples, part.costs, i))
        members, values, n_found = np.zeros((MOST_CLIMBED, n), dtype=np.bool_), np.empty(MOST_CLIMBED), 0
        starts = [row.copy() for row in known[:, ids]]
        for k in range(n_climbs):
            start = must.copy()
            size = int(rng.integers(0, (largest if k % OF_ANY_SIZE == 0 else min(largest, SMALL)) + 1))
            start[rng.choice(candidates, size, replace=False)] = True
            starts.append(start)
        for start in starts if largest > 0 else []:
            if deadline.reason is not None:  # with hundreds of columns a climb takes a good part of a second
                break
            facts = (start, free, int(self._knowledge.at_most[i]), least - float(self.constant[i]))
            n_found = kernels.climb_from(climb, *facts, members, values, n_found)
        own = np.unique(members[:n_found], axis=0, return_index=True)[1]
        best = own[np.argsort(-values[own], kind="stable")][:count]
        rows = np.zeros((len(best), n), dtype=np.bool_)
        rows[:, ids] = members[best]
        return NodePrice(rows, float(values[best].max(initial=-np.inf)) + float(self.constant[i]), 0)

    def bound(self, point: DualPoint, most: Sequence[float]) -> float:
        """Return the bound on all DAGs, given an upper bound on the remainders of each node."""
        return float(sum(most) + point.constant + SLACK * sum(abs(one) for one in most))

    def listed(self, point: DualPoint, limits: Sequence[float], most_sets: int, workers: Workers) -> Families | None:
        """Return all undominated sets with remainders of at least ``limits``.

        Returns None if there are too many of them or the searches take too long. Raises ``Stopped`` at the deadline.
        """
        n = self._score.n_nodes
        prices = self.prices(point)
        found: list[Bools] = [np.zeros((0, n), dtype=np.bool_)] * n
        counts = np.zeros(n, dtype=np.int64)
        given_up = threading.Event()

        def work(i: int) -> None:
            search = self.search(i, prices, float(limits[i]))
            while not search.over and not given_up.is_set() and workers.deadline.reason is None:
                search.run(self._piece)
                counts[i] = search.n_sets
                if search.n_steps > LISTING_EFFORT * self.most_steps or counts.sum() > most_sets:
                    given_up.set()
            found[i] = search.members(n)

        workers.each("listing", [partial(work, i) for i in range(n)], n)
        return None if given_up.is_set() else undominated(self._score, found, workers)


def gaussian_parts(score: Score) -> tuple[GaussianScore, ...]:
    """Return the Gaussian score of the rows that count for each node."""
    parts = [score.part(i) for i in range(score.n_nodes)]
    found = tuple(part for part in parts if isinstance(part, GaussianScore))
    assert len(found) == len(parts)
    return found


def _expected(searches: Sequence[NodeSearch], seconds: float) -> Floats:
    """Return how long each of the searches, which took so many seconds, is expected to take until it is over."""
    steps = np.array([search.n_steps for search in searches], dtype=np.float64)
    share = np.array([max(search.share, LEAST_SHARE) for search in searches])
    expected: Floats = seconds / max(steps.sum(), 1.0) * steps * (1.0 / share - 1.0)
    return expected


def _late(expected: Floats, left: Sequence[int], seconds: float) -> list[int]:
    """Return those with which the ones that are left take longer than so many seconds: the longest ones."""
    order = sorted(left, key=lambda i: (expected[i], i))
    fits = int(np.searchsorted(np.cumsum(expected[order]), seconds, side="right"))
    return order[fits:]


def _run(search: NodeSearch, steps: int, piece: int, count: int, deadline: Deadline) -> None:
    """Search for this many more steps, until it is over or the time is up, keeping the ``count`` best sets.

    The clock is looked at after each ``piece`` of the steps.
    """
    last = search.n_steps + steps
    while not search.over and search.n_steps < last and deadline.reason is None:
        search.run(min(piece, last - search.n_steps))
        search.keep_best(count)
