"""Multipliers of submodular rows, and the bound on all DAGs that they give.

For multipliers λ_r ≥ 0 of rows Σ a_r x ≤ b_r that every DAG satisfies,

    Σ_r λ_r b_r + Σ_i max over all parent sets T of (score_i(T) - Σ_r λ_r a_r(i, T))

bounds the score of every DAG. A search for each node (``candidates/node_search.py``) finds the largest remainders over
*all* undominated parent sets, listed or not. If it is stopped early, it still gives an upper bound on them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.candidates.node_search import NodeSearch, Prices, TableRow
from dagopt.candidates.pool import Pool
from dagopt.candidates.undominated import rounding_margin, sets_of
from dagopt.deadline import Deadline
from dagopt.knowledge import Knowledge
from dagopt.master.rows.base import Row
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Workers

__all__ = ["DualPoint", "NodePrice", "Pricing"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

SLACK = 1e-12  # relative rounding error of the sums in a bound
STEPS_A_PIECE = 5_000
QUICK_STEPS = 10_000
LEAST_GAIN = 1e-3  # a remainder is of interest only if it exceeds the known ones by this
MOST_TRIALS = 3  # searches for one node, with growing slack
LEAST_SLACK, GROWTH = 2.0, 8.0
LISTING_EFFORT = 2  # a listing may take this many times the steps of pricing, per node


@dataclass(frozen=True, eq=False)
class DualPoint:
    """Rows that have an origin, and the multiplier of each."""

    rows: tuple[Row, ...]
    weights: Floats

    def mixed(self, other: DualPoint, share: float) -> DualPoint:
        """Return a point between two: ``share`` times this one plus ``1 - share`` times the other."""
        total: dict[int, tuple[Row, float]] = {}
        for point, part in ((self, share), (other, 1.0 - share)):
            for row, weight in zip(point.rows, point.weights, strict=True):
                if part * weight > 0.0:
                    before = total[id(row)][1] if id(row) in total else 0.0
                    total[id(row)] = (row, before + part * float(weight))
        return DualPoint(tuple(row for row, _ in total.values()), np.array([w for _, w in total.values()]))

    @property
    def constant(self) -> float:
        """Σ λ_r b_r, rounded up."""
        uppers = self.weights * np.array([row.upper for row in self.rows])
        return float(uppers.sum() + SLACK * np.abs(uppers).sum())

    def prices(self, n_nodes: int, correlation: Floats, n_samples: int) -> Prices:
        """Return the rows in the form that the search takes.

        The row of the sample correlations over all nodes becomes a share of the likelihood.
        """
        whole = 0.0
        matrices: dict[int, int] = {}
        kept: list[Floats] = []
        which, inside, weights, clusters, cluster_weights = [], [], [], [], []
        tables: list[TableRow] = []
        for row, weight in zip(self.rows, self.weights, strict=True):
            origin = row.origin
            assert origin is not None
            if origin.table is not None:
                tables.append(TableRow(np.flatnonzero(origin.inside), origin.table, float(weight)))
                continue
            if origin.matrix is None:
                clusters.append(origin.inside)
                cluster_weights.append(float(weight))
                continue
            share = float(weight) * origin.scale / n_samples
            if origin.matrix is correlation and origin.inside.all() and whole + share <= 1.0:
                whole += share
                continue
            if id(origin.matrix) not in matrices:
                matrices[id(origin.matrix)] = len(kept)
                kept.append(origin.matrix)
            which.append(matrices[id(origin.matrix)])
            inside.append(origin.inside)
            weights.append(float(weight) * origin.scale)
        return Prices(
            np.array(kept).reshape(len(kept), n_nodes, n_nodes),
            np.array(which, dtype=np.int64),
            np.array(inside, dtype=np.bool_).reshape(-1, n_nodes),
            np.array(weights),
            np.array(clusters, dtype=np.bool_).reshape(-1, n_nodes),
            np.array(cluster_weights),
            whole,
            tuple(tables),
        )


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
    score : GaussianScore
        The score.
    knowledge : Knowledge
        The parents that each node must have and may have.
    most_steps : int
        The largest number of steps of one search. If the search for a node takes longer, it is repeated for larger
        remainders only: the bound of the node is then larger by the *slack*, which is kept for the next time and
        shrinks when searches are short.
    """

    def __init__(self, score: GaussianScore, knowledge: Knowledge, most_steps: int) -> None:
        self._score = score
        self._knowledge = knowledge
        self.most_steps = most_steps
        self._slack = np.zeros(score.n_nodes)
        self.margin = 2 * rounding_margin(score.correlation, score.n_samples)  # rounding of the likelihood, twice
        nothing = [np.empty(0, dtype=np.int64)] * score.n_nodes
        empty = np.asarray(score.local_many(np.arange(score.n_nodes), nothing), dtype=np.float64)
        self.constant = empty + score.costs[0]  # what a search leaves out of the scores

    def prices(self, point: DualPoint) -> Prices:
        """Return the rows of a point in the form that a search takes."""
        return point.prices(self._score.n_nodes, self._score.correlation, self._score.n_samples)

    def likelihood(self, row: Row) -> tuple[DualPoint, list[float]]:
        """Return the multiplier of the entropy of all columns that gives the bound of the likelihood.

        Each remainder is then a constant minus the penalty, so the largest one of each node, which is returned too,
        needs no search.
        """
        assert row.origin is not None
        costs = np.array([self._score.costs[size:].min() for size in self._knowledge.must.sum(axis=0)])
        most = self.constant - costs + self.margin
        return DualPoint((row,), np.array([self._score.n_samples / row.origin.scale])), most.tolist()

    def search(self, i: int, prices: Prices, limit: float) -> NodeSearch:
        """Return a search for all parent sets of a node with a remainder of at least ``limit``."""
        must = np.flatnonzero(self._knowledge.must[:, i])
        free = np.flatnonzero(self._knowledge.may[:, i] & ~self._knowledge.must[:, i])
        most = int(min(self._knowledge.at_most[i], len(must) + len(free)))
        facts = (self._score.correlation, self._score.n_samples, self._score.costs, i, must, free, most, self.margin)
        return NodeSearch(*facts, prices, limit - float(self.constant[i]))

    def node(self, i: int, prices: Prices, least: float, count: int, deadline: Deadline) -> NodePrice:
        """Return the ``count`` best sets of a node and a bound on all; ``least`` is the remainder of a known set."""
        n_steps = 0
        for _ in range(MOST_TRIALS):
            search = self.search(i, prices, least + self._slack[i])
            _run(search, self.most_steps, count, deadline)
            n_steps += search.n_steps
            if search.over or deadline.reason is not None:
                break
            self._slack[i] = max(GROWTH * self._slack[i], LEAST_SLACK)
        if search.over and 4 * search.n_steps < self.most_steps:
            self._slack[i] = self._slack[i] / GROWTH if self._slack[i] > LEAST_SLACK else 0.0
        found = float(search.values.max(initial=-np.inf)) + self.margin
        most = max(search.limit, search.ceiling, found) + float(self.constant[i])
        return NodePrice(search.members(self._score.n_nodes), max(most, least), n_steps)

    def all_nodes(
        self, point: DualPoint, least: Sequence[float] | Floats, count: int, workers: Workers
    ) -> tuple[float, list[NodePrice]]:
        """Return a bound on all DAGs, and what was found for each node; raise ``Stopped`` at the deadline."""
        n = self._score.n_nodes
        prices = self.prices(point)
        found: list[NodePrice | None] = [None] * n

        def work(i: int) -> None:
            found[i] = self.node(i, prices, float(least[i]), count, workers.deadline)

        workers.each("pricing", [partial(work, i) for i in range(n)], n)
        done = [one for one in found if one is not None]
        assert len(done) == n
        return self.bound(point, [one.most for one in done]), done

    def quick(self, point: DualPoint, least: Floats, count: int, workers: Workers) -> list[NodePrice]:
        """Return the sets with large remainders that are found in the first steps of each search."""
        n = self._score.n_nodes
        prices = self.prices(point)
        found: list[NodePrice | None] = [None] * n

        def work(i: int) -> None:
            search = self.search(i, prices, float(least[i]) + LEAST_GAIN)
            _run(search, QUICK_STEPS, count, workers.deadline)
            found[i] = NodePrice(search.members(n), np.inf, search.n_steps)

        workers.each("pricing", [partial(work, i) for i in range(n)], n)
        return [one for one in found if one is not None]

    def bound(self, point: DualPoint, most: Sequence[float]) -> float:
        """Return the bound on all DAGs, given an upper bound on the remainders of each node."""
        return float(sum(most) + point.constant + SLACK * sum(abs(one) for one in most))

    def listed(self, point: DualPoint, limits: Sequence[float], most_sets: int, workers: Workers) -> Pool | None:
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
                search.run(STEPS_A_PIECE)
                counts[i] = search.n_sets
                if search.n_steps > LISTING_EFFORT * self.most_steps or counts.sum() > most_sets:
                    given_up.set()
            found[i] = search.members(n)

        workers.each("listing", [partial(work, i) for i in range(n)], n)
        return None if given_up.is_set() else Pool.of_words(self._score.names, *sets_of(self._score, found))


def _run(search: NodeSearch, most_steps: int, count: int, deadline: Deadline) -> None:
    """Search until it is over, has made this many steps or the time is up, keeping the ``count`` best sets."""
    while not search.over and search.n_steps < most_steps and deadline.reason is None:
        search.run(STEPS_A_PIECE)
        search.keep_best(count)
