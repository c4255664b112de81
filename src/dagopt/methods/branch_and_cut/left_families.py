"""Which families a DAG that scores at least a given number can have, by cutting planes and by probing.

Cutting planes bound all DAGs, and reduced costs the DAGs with each family: a family whose bound is below the number is
out. Where the LP has many optimal multipliers, as for equivalent DAGs, reduced costs exclude little. So every family
that is left is probed: the LP in which its node has no other parents bounds the DAGs with it, and cuts lower that bound
further. Several families are probed at the same time, each in an LP of its own; how many depends on the number of
families alone, and bounds and cuts are merged in a fixed order, so the answer does not depend on the number of threads.
All bounds are computed from multipliers, so they hold whatever the LP's tolerances.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.errors import InputError
from dagopt.families.families import Families
from dagopt.families.listing import candidate_pool
from dagopt.families.undominated import Listing, TooMany, is_searchable
from dagopt.lp.relaxation import Relaxation
from dagopt.lp.rows.clusters import ClusterRows, pair_rows
from dagopt.lp.rows.local import LocalRows
from dagopt.lp.rows.row import Point, Row, RowFinder
from dagopt.methods.branch_and_cut.gobnilp import CLUSTERS_PER_ROUND
from dagopt.methods.branch_and_cut.tree import Rules
from dagopt.problem import Problem
from dagopt.workers import Stopped, Workers, spans

__all__ = ["LeftFamilies", "listed_with_slack"]

MOST_SETS = 600_000  # maximum number of listed sets of log-determinants

LOCAL_SIZE = 10  # nodes of the largest local cuts
ROUNDS_BACK = 8  # cutting ends when so many rounds closed less than a share of the gap and excluded no family
SHARE = 0.02  # that share
PROBE_ROUNDS = 10  # most rounds of cuts for one family
PROBE_SHARE = 0.1  # a round of cuts for one family must close this share of what is left
PROBERS = 16  # families that are probed at the same time, whatever the number of threads
LEAST_PROBES = 16  # families for each of them, which pay for an LP of its own
TURN = 4  # families that each probes between two merges


def listed_with_slack(problem: Problem, within: float, workers: Workers) -> Families:
    """Return every family that a DAG within some points of the best can have, or raise ``Stopped``.

    A set that a subset beats by more than that is in no such DAG: without the other parents the DAG would score more
    than the best.
    """
    if not is_searchable(problem.score):
        return candidate_pool(problem.score, problem.knowledge, workers, within)
    try:
        return Listing(problem.score, problem.knowledge, MOST_SETS, within).run(workers)
    except TooMany as found:
        raise InputError(
            f"more than {found.n_found:,} parent sets can be part of a graph within {within:g} points of the best, too "
            f"many to list; lower within=, set max_parents= or tiers, or choose fewer columns="
        ) from None


@dataclass(frozen=True, eq=False)
class _Prober:
    """An LP and what finds its cuts; ``found`` are those since the last merge."""

    relaxation: Relaxation
    finders: list[RowFinder]
    found: list[Row] = field(default_factory=list)

    def cut(self, point: Point) -> bool:
        """Add cuts of a point; False if there are none."""
        known = self.relaxation.n_rows
        self.relaxation.add([row for finder in self.finders for row in finder.separate(point)])
        self.found.extend(self.relaxation.rows[known:])
        return self.relaxation.n_rows > known


class LeftFamilies:
    """The LP that excludes families.

    Parameters
    ----------
    pool : Families
        All families that are not dominated with the wanted slack.
    known : float
        The score of a DAG.
    within : float
        How much less a DAG may score than the best one to count.
    workers : Workers
        The threads, the clock and the progress bar.

    Attributes
    ----------
    bound : float array
        For each family of the pool a proven bound on the scores of the DAGs with it.
    known : float
        The score of the best DAG met so far.
    """

    def __init__(self, pool: Families, known: float, within: float, workers: Workers) -> None:
        self._workers = workers
        self._within = within
        self.known = known
        self._families = replace(pool, place=np.arange(len(pool.node)))
        self._threads = ThreadPoolExecutor(workers.count)
        relaxation = Relaxation(self._families, (), np.arange(len(pool.node)), Rules.idle_rounds)
        self._first = _Prober(relaxation, self._finders())
        self.bound: Floats = np.full(len(pool.node), np.inf)

    def __enter__(self) -> LeftFamilies:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown()

    @property
    def _least(self) -> float:
        """The least score that counts."""
        return self.known - self._within - Rules.tolerance * max(abs(self.known), 1.0)

    @property
    def alive(self) -> Bools:
        """The families that are not excluded so far."""
        return np.asarray(self.bound >= self._least)

    def exclude(self, first: int = -1) -> None:
        """Lower the bounds of all families until that stalls, those of one node first.

        If the time is over, ``Stopped`` is raised; the bounds hold as they are then.
        """
        self._first.relaxation.add(pair_rows(self._families, self._stopped))
        self._cut(self.bound)
        self._probe(self.bound, first)

    def inside(self, part: Bools) -> Bools:
        """Return which families of a part of the pool are left if all others are out, or raise ``Stopped``."""
        bound = np.where(part, self.bound, -np.inf)
        self._cut(bound)
        self._probe(bound)
        return np.asarray(bound >= self._least)

    def _cut(self, bound: Floats) -> None:
        """Lower bounds by rounds of cuts for all families together."""
        before: list[float] = []
        changed = 0
        while True:
            alive = bound >= self._least
            if (
                len(np.unique(self._families.node[alive])) < self._families.n_nodes
            ):  # a node without any: no DAG is left
                bound[:] = -np.inf
                return
            point = self._solve(self._first, alive)
            rounded = self._families.near(point.values)
            self.known = max(self.known, -np.inf if rounded is None else self._families.total(rounded))
            np.minimum(bound, np.where(alive, point.bound + point.excess, -np.inf), out=bound)
            left = int((bound >= self._least).sum())
            self._workers.progress.update("near families", None, families=left, bound=point.bound)
            before.append(point.bound)
            changed = len(before) if left < alive.sum() else changed
            back = before[-1 - ROUNDS_BACK] if len(before) > ROUNDS_BACK else np.inf
            stalled = len(before) - changed >= ROUNDS_BACK and back - point.bound <= SHARE * (back - self._least)
            if stalled or not left or not self._first.cut(point):
                return

    def _probe(self, bound: Floats, first: int = -1) -> None:
        """Lower bounds by an LP for each family that is left."""
        places = np.flatnonzero(bound >= self._least)
        places = places[np.argsort(self._families.node[places] != first, kind="stable")]
        probers = self._probers(places)
        for begin, end in spans(len(places), TURN * len(probers)):
            alive = bound >= self._least
            some = np.array_split(places[begin:end], len(probers))
            pieces = [
                partial(self._probe_some, prober, own, alive.copy(), bound)
                for prober, own in zip(probers, some, strict=True)
            ]
            share = (begin / len(places), end / len(places))
            self._workers.each("near families: one by one", pieces, len(pieces), share)
            _merge(probers)

    def _probers(self, places: Ints) -> list[_Prober]:
        """Return what probes these families: the LP itself, and others that begin where it stands."""
        count = min(max(len(places) // LEAST_PROBES, 1), PROBERS)
        probers = [self._first]
        start = self._first.relaxation.start() if count > 1 else None
        for _ in range(1, count):
            assert start is not None
            relaxation = self._first.relaxation.twin(places)
            relaxation.load(start)
            probers.append(_Prober(relaxation, self._finders()))
        self._first.found.clear()
        return probers

    def _probe_some(self, prober: _Prober, places: Ints, alive: Bools, bound: Floats) -> None:
        """Lower the bounds of some families, given which are left."""
        for place in places.tolist():
            for _ in range(PROBE_ROUNDS):
                if not alive[place]:
                    break
                only = alive & ((self._families.node != self._families.node[place]) | (np.arange(len(alive)) == place))
                point = self._solve(prober, only)
                gained = bound[place] - point.bound
                bound[place] = min(bound[place], point.bound)
                alive[place] = bound[place] >= self._least
                if gained <= PROBE_SHARE * (bound[place] - self._least) or not prober.cut(point):
                    break

    def _finders(self) -> list[RowFinder]:
        return [ClusterRows(CLUSTERS_PER_ROUND), LocalRows(self._threads, LOCAL_SIZE, 0, self._stopped)]

    def _solve(self, prober: _Prober, alive: Bools) -> Point:
        """Return the point of an LP over these families, or raise ``Stopped``."""
        point = prober.relaxation.solve(alive, self._workers.deadline, self._least)
        if point is None or self._stopped():
            raise Stopped
        return point

    def _stopped(self) -> bool:
        return self._workers.deadline.reason is not None


def _merge(probers: list[_Prober]) -> None:
    """Let all LPs have the cuts that any of them found."""
    found = [list(prober.found) for prober in probers]
    for k, prober in enumerate(probers):
        prober.relaxation.add([row for other, rows in enumerate(found) if other != k for row in rows])
        prober.found.clear()
