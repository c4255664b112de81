"""The last part of CG-DCA: rows of log-determinants in the restricted master, and the bound on all DAGs they give.

The rows and what finds them are those of branch and cut (``lp/rows``). The LP is cut and priced in turns: once by
DCA, inexactly, then over all undominated parent sets (``lp/pricing.py``), which gives a bound for any multipliers.
The multipliers priced are those of the LP, mixed with the best ones so far. The first of these are those of the entropy
of all columns, whose bound is that of the likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from dagopt.arrays import Dag, Floats
from dagopt.bits import mask_of
from dagopt.families.family_arrays import FamilyArrays
from dagopt.families.family_pool import Family
from dagopt.families.undominated import Listing
from dagopt.lp.highs import SolverError
from dagopt.lp.pricing import DualPoint, NodePrice, Pricing
from dagopt.lp.restricted_master import MasterSolution, RestrictedMaster
from dagopt.lp.rows.clusters import ClusterRows
from dagopt.lp.rows.matrices import LogDets, coefficients, logdet_finders
from dagopt.lp.rows.row import Origin, Point, Row, RowFinder
from dagopt.problem import Problem
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Stopped, Workers

__all__ = ["RowPhase", "dual_point"]


CLUSTERS_PER_ROUND = 20
ROUNDS = 5  # rounds of cutting between two rounds of pricing
ROUNDS_BACK, SHARE = 4, 0.05  # cutting has stalled when this many rounds close less than this share of the gap
MOST_EMPTY = 3  # rounds of cutting in a row without a row; matrix rows try another weight in each
IDLE_ROUNDS = 8  # a row is dropped after this many LPs without a dual
FAMILIES_PER_NODE = 10  # families per node that exact pricing adds at once
MOST_PRICED = 16  # rounds of exact pricing
STEPS = 10_000  # the most steps of one search for a node
MOST_STEPS = 400_000  # of all searches together
MAX_STALLED_STEPS = 100_000  # steps in a round without a better bound; after more, the problem is too dense
LESS, MORE, MOST_SHARE = 0.3, 0.3, 0.9  # the share of the best multipliers in the point priced: its steps and maximum
LEAST_PROGRESS, MOST_IDLE = 0.02, 3  # the phase ends after this many rounds that each close less of the gap


@dataclass(frozen=True, eq=False)
class _Best:
    """The best multipliers so far and their bound."""

    point: DualPoint
    bound: float


class RowPhase:
    """Lowers the bound on all DAGs.

    Parameters
    ----------
    problem : Problem
        Score and knowledge; the score is a Gaussian likelihood.
    master : RestrictedMaster
        The LP, which gets rows and further families.
    dag : int8 array
        The best DAG known.
    kinds : sequence of str
        The kinds of rows besides clusters.
    price : callable
        ``price(node, lp)`` returns families with negative reduced cost, found by DCA.
    workers : Workers
        The threads and the clock.
    random_state : int
        The seed of the finders.
    tell : callable
        Called with score and bound after every round.

    Attributes
    ----------
    bound : float
        No DAG scores more.
    dag : int8 array
        The best DAG known.
    n_rounds : int
        The number of rounds of exact pricing.
    """

    def __init__(
        self,
        problem: Problem,
        master: RestrictedMaster,
        dag: Dag,
        kinds: Sequence[str],
        price: Callable[[int, MasterSolution], list[Family]],
        workers: Workers,
        random_state: int,
        tell: Callable[[float, float], None] = lambda score, bound: None,
    ) -> None:
        score = problem.score.gaussian
        assert score is not None
        self._score: GaussianScore = score
        self._master = master
        self._price_by_dca = price
        self._workers = workers
        self._tell = tell
        listing = Listing(score, problem.knowledge, 0)
        with suppress(Stopped):
            listing.narrow(workers)
        self._pricing = Pricing(score, listing.knowledge, STEPS)
        self._finders: list[RowFinder] = [
            ClusterRows(CLUSTERS_PER_ROUND), *logdet_finders(score, kinds, dag, random_state)
        ]  # fmt: skip
        self.dag = dag
        self._value = float(score.total(dag))
        self._arrays = FamilyArrays.of(master.pool)
        self._best = self._first()
        self.n_rounds = 0

    @property
    def bound(self) -> float:
        """No DAG scores more."""
        return max(self._best.bound, self._value)

    def _first(self) -> _Best:
        """Return the multipliers of the bound of the likelihood, if the entropy of all columns makes a row."""
        everything = np.ones(self._score.n_nodes, dtype=np.bool_)
        row = LogDets(self._score.n_samples).row(self._arrays, self._score.correlation, everything, "entropy")
        if row is None or row.origin is None:
            return _Best(DualPoint((), np.zeros(0)), np.inf)
        self._master.add_rows([_over_pool(row, self._arrays)])
        point, most = self._pricing.likelihood(row)
        return _Best(point, self._pricing.bound(point, most))

    def run(self, tolerance: float) -> None:
        """Cut and price until the bound is within ``tolerance`` of the score, falls no more, or the time is up.

        It also ends if an LP cannot be solved. The bound holds whenever it ends.
        """
        with suppress(Stopped, SolverError):
            self._cut_and_price(tolerance)

    def _cut_and_price(self, tolerance: float) -> None:
        self._add(self._by_dca(self._cut()))
        share, idle, n_steps = MOST_SHARE, 0, 0
        while self.bound > self._value + tolerance and self.n_rounds < MOST_PRICED:
            lp = self._cut()
            gap = self.bound - self._value
            point = self._best.point.mixed(dual_point(self._master, lp), share)
            bound, found = self._pricing.all_nodes(point, self._known(point), FAMILIES_PER_NODE, self._workers)
            self.n_rounds += 1
            taken = sum(one.n_steps for one in found)
            n_steps += taken
            better = bound < self._best.bound
            share = max(share - LESS, 0.0) if better else min(share + MORE, MOST_SHARE)
            if better:
                self._best = _Best(point, bound)
            self._tell(self._value, self.bound)
            closed = gap - (self.bound - self._value)
            idle = 0 if self._add(self._families(found)) or closed > LEAST_PROGRESS * gap else idle + 1
            if idle == MOST_IDLE or n_steps > MOST_STEPS or (taken > MAX_STALLED_STEPS and not better):
                return

    def _cut(self) -> MasterSolution:
        """Add violated rows to the LP until cutting stalls; return its last solution."""
        values: list[float] = []
        empty = 0
        while True:
            lp = self._master.solve()
            values.append(lp.value)
            self._round(lp)
            back = values[-1 - ROUNDS_BACK] if len(values) > ROUNDS_BACK else np.inf
            stalled = back - lp.value < SHARE * (back - self._value) or len(values) > ROUNDS
            if stalled or self._workers.deadline.reason is not None:
                return lp
            point = Point(self._arrays, lp.values[self._arrays.place], lp.value, np.zeros(len(lp.values)))
            found = [_over_pool(row, self._arrays) for finder in self._finders for row in finder.separate(point)]
            self._master.drop_idle_rows(IDLE_ROUNDS)
            empty = 0 if self._join(found) else empty + 1
            if empty == MOST_EMPTY:
                return lp

    def _join(self, rows: Sequence[Row]) -> int:
        """Add rows to the LP; return how many are new."""
        clusters = [_cluster(row.origin) for row in rows if row.origin is not None and row.origin.matrix is None]
        others = [row for row in rows if row.origin is not None and row.origin.matrix is not None]
        return self._master.add_clusters(clusters) + self._master.add_rows(others)

    def _round(self, lp: MasterSolution) -> None:
        """Keep a DAG near the LP point if it is better."""
        chosen = self._arrays.near(lp.values[self._arrays.place])
        if chosen is not None and self._arrays.total(chosen) > self._value:
            dag = self._arrays.adjacency(chosen)
            if self._score.total(dag) > self._value:
                self.dag, self._value = dag, float(self._score.total(dag))
                for finder in self._finders:
                    finder.improved(dag)

    def _by_dca(self, lp: MasterSolution) -> Iterator[Family]:
        """Yield families that DCA finds, one node after the other."""
        for node in range(self._score.n_nodes):
            if self._workers.deadline.reason is None:
                yield from self._price_by_dca(node, lp)

    def _families(self, found: Sequence[NodePrice]) -> list[Family]:
        """Return the sets that exact pricing found."""
        sets = [(i, np.flatnonzero(row)) for i, one in enumerate(found) for row in one.members]
        scores = self._score.local_many([i for i, _ in sets], [own for _, own in sets])
        return [Family(i, mask_of(own), float(value)) for (i, own), value in zip(sets, scores, strict=True)]

    def _add(self, families: Iterator[Family] | Sequence[Family]) -> int:
        """Add families to the LP; return how many are new."""
        count = self._master.add_families(list(families))
        if count:
            self._arrays = FamilyArrays.of(self._master.pool)
        return count

    def _known(self, point: DualPoint) -> Floats:
        """Return for each node the largest remainder over its families in the LP."""
        families = self._arrays
        left = families.score.copy()
        for row, weight in zip(point.rows, point.weights, strict=True):
            assert row.origin is not None
            if row.origin.matrix is None:
                left[families.in_row(_cluster(row.origin))] -= weight
        rows = [(row, weight) for row, weight in zip(point.rows, point.weights, strict=True) if _is_logdet(row)]
        values = coefficients([row for row, _ in rows], self._master.pool.families, families.n_nodes)
        left -= (values @ np.array([weight for _, weight in rows]))[families.place]
        return np.maximum.reduceat(left, families.offsets[:-1])


def dual_point(master: RestrictedMaster, lp: MasterSolution) -> DualPoint:
    """Return the rows of an LP with their duals, without those that are zero."""
    clusters = []
    for cluster in master.clusters:
        inside = np.zeros(master.n_nodes, dtype=np.bool_)
        inside[sorted(cluster)] = True
        clusters.append(Row(np.zeros(0, dtype=np.int64), np.zeros(0), len(cluster) - 1.0, "cluster", Origin(inside)))
    duals = np.concatenate([lp.cluster_duals, lp.row_duals])
    used = np.flatnonzero(duals > 0.0)
    rows = (*clusters, *lp.rows)
    return DualPoint(tuple(rows[k] for k in used), duals[used])


def _is_logdet(row: Row) -> bool:
    return row.origin is not None and row.origin.matrix is not None


def _cluster(origin: Origin) -> frozenset[int]:
    return frozenset(np.flatnonzero(origin.inside).tolist())


def _over_pool(row: Row, families: FamilyArrays) -> Row:
    """Return a row over the places of its families in the pool."""
    return Row(families.place[row.families], row.values, row.upper, row.kind, row.origin)
