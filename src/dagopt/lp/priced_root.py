"""A bound on all DAGs if there are too many undominated parent sets to list: column generation with submodular rows.

The LP has some families, at first those of an order search, and rows that every DAG satisfies: clusters, entropies,
matrices, local cuts. Sets with larger remainders than any in the LP are added to it. Climbs find them in milliseconds
(``kernels/gaussian/price_climbs.py``), so that the LP comes close to that over all parent sets. Multipliers give a
bound on all DAGs once the largest remainder over *all* parent sets is known, which takes a search for each node
(``lp/pricing.py``); so this is done only for multipliers that climbs do not show to be bad. The first bound is the
likelihood without any structure; from there the bound only falls.

In a DAG that is better than the best one known, no family's remainder is below the largest remainder of its node by
more than the gap between bound and score. As soon as the families that are left can be listed, branch and cut over them
proves the best DAG over all parent sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dagopt.arrays import Bools, Dag, Floats
from dagopt.families.family_arrays import FamilyArrays
from dagopt.families.pool import Pool
from dagopt.families.undominated import sets_of
from dagopt.graph.knowledge import Knowledge
from dagopt.lp.highs import SolverError
from dagopt.lp.pricing import DualPoint, NodePrice, Pricing
from dagopt.lp.relaxation import Relaxation
from dagopt.lp.rows.clusters import cluster_row
from dagopt.lp.rows.local import local_row
from dagopt.lp.rows.matrices import LogDets
from dagopt.lp.rows.row import Row, RowFinder
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Stopped, Workers

__all__ = ["PricedRoot"]

BareFamily = tuple[int, tuple[int, ...]]

FAMILIES_PER_NODE = 60  # families per node that are added to the LP at once
FEW_ROUNDS, ROUNDS = 5, 20  # rounds of cutting between two rounds of climbs: while many new sets are found, and after
ENOUGH_NEW = 100  # new sets are many
CLIMBS, MANY_CLIMBS = 30, 150  # per node: in every round, and before sets are priced
MOST_CLIMBS = 60  # rounds of climbs before sets are priced,
CLOSE = 0.05  # unless the guess of the bound exceeds the LP's value by less than this share of the gap
CLIMBING_SHARE = 0.35  # of the time left, at most, before sets are priced for the first time
TIME_TO_PRICE = 1.3  # is kept after that, as a multiple of what the last pricing took
CENTRE_SHARE = 0.5  # the weight of the best multipliers known in the point where climbs look for sets
ROUNDS_BACK, SHARE = 12, 0.01  # cutting has stalled when this many rounds close less than this share of the gap
IDLE_ROUNDS = 5
STEPS_PER_SECOND = 2e7  # steps per node and second of the time limit, to be divided by the square of its candidates
LEAST_STEPS, MOST_STEPS = 20_000, 20_000_000  # per node
WITHOUT_LIMIT = 600.0  # the seconds assumed if there is no time limit
MANY, MANY_SHARE = 60, 0.04  # with more candidates than this, the number of steps is multiplied by this
NEXT_LISTING = 0.7  # the listing is tried again when the gap has fallen to this share of what it was
MOST_IDLE = 8  # the run ends after this many rounds without a better bound or a new family


@dataclass(frozen=True, eq=False)
class _Best:
    """The best multipliers so far: the point, its bound, and an upper bound on the remainders of each node."""

    point: DualPoint
    bound: float
    most: list[float]


class PricedRoot:
    """One run of column generation.

    Parameters
    ----------
    score : GaussianScore
        The score.
    knowledge : Knowledge
        The parents that each node must have and may have.
    dag : int8 array
        The best DAG known.
    met : iterable of (node, parents)
        Families to begin with.
    finders : sequence of RowFinder
        The finders of rows; only rows with an origin are used.
    workers : Workers
        The threads and the clock.
    tell : callable
        Called after every round with the score, the bound, and the numbers of cuts and families.
    improved : callable
        Called with every better DAG.

    Attributes
    ----------
    bound : float
        An upper bound on the score of every DAG.
    dag : int8 array
        The best DAG found.
    families : FamilyArrays or None
        All families that a better DAG can have; None if they could not be listed.
    rows : list of Row
        The last rows of the LP, over ``families``.
    n_rounds : int
        The number of rounds of pricing.
    """

    def __init__(
        self,
        score: GaussianScore,
        knowledge: Knowledge,
        dag: Dag,
        met: Iterable[BareFamily],
        finders: Sequence[RowFinder],
        workers: Workers,
        tell: Callable[[float, float, int, int], None] = lambda *facts: None,
        improved: Callable[[Dag], None] = lambda dag: None,
    ) -> None:
        self._score = score
        self._knowledge = knowledge
        self._finders = finders
        self._workers = workers
        self._tell = tell
        self._improved = improved
        seconds = min(workers.deadline.remaining(), WITHOUT_LIMIT)
        candidates = float(knowledge.may.sum(axis=0).mean()) + 1.0
        steps = STEPS_PER_SECOND * seconds / candidates**2 * (MANY_SHARE if candidates > MANY else 1.0)
        steps = int(np.clip(steps, LEAST_STEPS, MOST_STEPS))
        self._pricing = Pricing(score, knowledge, steps)
        self._logdets = LogDets(score.n_samples)
        self.dag = dag
        self._value = float(score.total(dag))
        self._sets = _Sets(score, knowledge)
        self._sets.add_around(dag)
        self._sets.add(met)
        self._pool = self._sets.families()
        self._rows: list[Row] = []
        self._best = self._first()
        self._last = self._centre = self._best.point
        self._relaxation: Relaxation | None = None
        self._guess = np.inf
        self._price_seconds = 0.0
        self._n_cuts = 0
        self._n_rounds_of_cuts = ROUNDS
        self.families: FamilyArrays | None = None
        self.rows: list[Row] = []
        self.n_rounds = 0

    @property
    def bound(self) -> float:
        """An upper bound on the score of every DAG."""
        return max(self._best.bound, self._value)

    def _first(self) -> _Best:
        """Return the multipliers of the bound of the likelihood, if the entropy of all columns makes a row."""
        n = self._score.n_nodes
        row = self._logdets.row(self._pool, self._score.correlation, np.ones(n, dtype=np.bool_), "entropy")
        if row is None or row.origin is None:
            return _Best(DualPoint((), np.zeros(0)), np.inf, [np.inf] * n)
        self._rows = [row]
        point, most = self._pricing.likelihood(row)
        return _Best(point, self._pricing.bound(point, most), most)

    def run(self, max_sets: int, tolerance: float) -> None:
        """Lower the bound until the families left can be listed, nothing helps any more, or the time is up.

        It also ends if an LP cannot be solved. The bound holds whenever it ends.

        Parameters
        ----------
        max_sets : int
            The largest number of families to list.
        tolerance : float
            The best DAG is proven when the bound exceeds its score by no more than this.
        """
        idle, tried = 0, np.inf
        try:
            while idle < MOST_IDLE and self.bound > self._value + tolerance and self._workers.deadline.reason is None:
                if not self._converge():
                    return
                before = self._best.bound
                n_new = self._price(self._centre)
                self.n_rounds += 1
                self._tell(self._value, self.bound, self._n_cuts, len(self._pool.node))
                idle = 0 if n_new or self._best.bound < before - tolerance else idle + 1
                if self._gap < NEXT_LISTING * tried or idle == MOST_IDLE:
                    tried = self._gap
                    if self._list(max_sets):
                        return
        except (Stopped, SolverError):
            return

    def _converge(self) -> bool:
        """Cut and add sets that climbs find, until they find no much larger remainders; False at the deadline.

        What climbs find gives a *guess* of the bound that multipliers prove. The next point is always half way between
        the multipliers of the LP and those with the best guess, the *centre*, which keeps it from swinging.
        """
        self._guess, n_new = np.inf, ENOUGH_NEW
        left = self._workers.deadline.remaining()
        until = (1.0 - CLIMBING_SHARE) * left
        if 0.0 < TIME_TO_PRICE * self._price_seconds < 0.5 * left:
            until = min(until, TIME_TO_PRICE * self._price_seconds)
        for _ in range(MOST_CLIMBS):
            self._n_rounds_of_cuts = FEW_ROUNDS if n_new >= ENOUGH_NEW else ROUNDS
            if not self._cut():
                return False
            value = self._known(self._last)
            n_new = self._climb(self._last)
            n_new += self._climb(self._centre.mixed(self._last, CENTRE_SHARE))
            self._guess = max(self._guess, self._known(self._centre))
            if self._is_close(value) and n_new < ENOUGH_NEW:
                self._climb(self._centre, MANY_CLIMBS)
                self._guess = self._known(self._centre)
                if self._is_close(value):
                    break
            if self._workers.deadline.remaining() < until:
                break
        return True

    def _is_close(self, value: float) -> bool:
        """Say whether the guess exceeds the LP's value by little, compared with the gap."""
        return self._guess - value < CLOSE * (self._guess - self._value)

    def _known(self, point: DualPoint) -> float:
        """Return what a point would prove if the LP had all families."""
        return point.constant + float(self._largest_known(point).sum())

    def _climb(self, point: DualPoint, n_climbs: int = CLIMBS) -> int:
        """Add sets that climbs find at a point, which becomes the centre if its guess is the best; return how many."""
        known = self._largest_known(point)
        found = self._pricing.climb(point, known, FAMILIES_PER_NODE, n_climbs, self._workers)
        guess = point.constant + sum(max(float(a), b.most) for a, b in zip(known, found, strict=True))
        if guess < self._guess:
            self._centre, self._guess = point, guess
        return self._join(found)

    @property
    def _gap(self) -> float:
        return max(self._best.bound - self._value, 0.0)

    def _cut(self) -> bool:
        """Add cuts to the LP over the families for some rounds and keep its multipliers; False at the deadline."""
        deadline, relaxation = self._workers.deadline, self._relaxation or self._first_relaxation()
        self._relaxation = relaxation
        alive = np.ones(len(self._pool.node), dtype=np.bool_)
        bounds: list[float] = []
        while True:
            point = relaxation.solve(alive, deadline)
            if point is None:
                return False
            bounds.append(point.bound)
            self._round(point.values)
            back = bounds[-1 - ROUNDS_BACK] if len(bounds) > ROUNDS_BACK else np.inf
            if back - point.bound < SHARE * (back - self._value) or len(bounds) > self._n_rounds_of_cuts:
                break
            new = [row for finder in self._finders for row in finder.separate(point) if row.origin is not None]
            if not new or deadline.reason is not None:
                break
            self._n_cuts += len(new)
            relaxation.add(new)
        self._rows = relaxation.rows
        rows, weights = zip(*relaxation.priced, strict=True) if relaxation.priced else ((), ())
        self._last = DualPoint(rows, np.array(weights))
        return True

    def _first_relaxation(self) -> Relaxation:
        """Return the LP of the families and rows known at first."""
        pool = self._pool
        start = pool.start(self.dag)
        assert start is not None
        first = np.concatenate([start, pool.offsets[:-1], pool.offsets[1:] - 1])
        relaxation = Relaxation(pool, (), first, IDLE_ROUNDS)
        relaxation.add(self._rows)
        return relaxation

    def _round(self, values: Floats) -> None:
        """Keep a DAG near the LP point if it is better."""
        chosen = self._pool.near(values)
        if chosen is not None and self._pool.total(chosen) > self._value:
            dag = self._pool.adjacency(chosen)
            if self._score.total(dag) > self._value:
                self.dag, self._value = dag, float(self._score.total(dag))
                self._improved(dag)

    def _price(self, point: DualPoint) -> int:
        """Find the bound that multipliers give, and add sets with large remainders; return how many are new."""
        least, begin = self._largest_known(point), self._workers.deadline.elapsed()
        bound, found = self._pricing.all_nodes(point, least, FAMILIES_PER_NODE, self._workers)
        self._price_seconds = self._workers.deadline.elapsed() - begin
        if bound < self._best.bound:
            self._best = _Best(point, bound, [one.most for one in found])
        return self._join(found)

    def _join(self, found: Sequence[NodePrice]) -> int:
        """Add sets to the LP; return how many are new."""
        n_new = self._sets.add(_families(found))
        if n_new:
            before, self._pool = self._pool, self._sets.families()
            points = (self._best.point, self._last, self._centre)
            rows = [*self._rows, *(row for point in points for row in point.rows)]
            known = {id(row): self._written(row, self._pool) for row in rows}
            self._rows = [known[id(row)] for row in self._rows]
            best, self._last, self._centre = (
                DualPoint(tuple(known[id(row)] for row in point.rows), point.weights) for point in points
            )
            self._best = _Best(best, self._best.bound, self._best.most)
            if self._relaxation is not None:
                self._relaxation.change(self._pool, before.places_in(self._pool), self._rows)
        return n_new

    def _largest_known(self, point: DualPoint) -> Floats:
        """Return for each node the largest remainder over its families in the LP."""
        left = self._pool.score.copy()
        for row, weight in zip(point.rows, point.weights, strict=True):
            left[row.families] -= weight * row.values
        return np.maximum.reduceat(left, self._pool.offsets[:-1])

    def _written(self, row: Row, families: FamilyArrays) -> Row:
        """Return the same row, written over other families."""
        assert row.origin is not None
        if row.origin.matrix is not None:
            return self._logdets.again(row, families)
        if row.origin.table is not None:
            return local_row(families, row.origin)
        return cluster_row(families, frozenset(np.flatnonzero(row.origin.inside).tolist()))

    def _list(self, max_sets: int) -> bool:
        """List all families that a better DAG can have if there are few enough of them; say whether there are."""
        gap = self._best.bound - self._value
        limits = [one - gap - self._pricing.margin for one in self._best.most]
        pool = self._pricing.listed(self._best.point, limits, max_sets, self._workers)
        if pool is None:
            return False
        self.families = self._sets.with_dag(pool, self.dag)
        self.rows = [self._written(row, self.families) for row in self._rows]
        return True


class _Sets:
    """The parent sets found so far, for each node."""

    def __init__(self, score: GaussianScore, knowledge: Knowledge) -> None:
        self._score = score
        self._knowledge = knowledge
        self._known: list[dict[tuple[int, ...], None]] = [{} for _ in range(score.n_nodes)]

    def add(self, families: Iterable[BareFamily]) -> int:
        """Add sets; return how many are new."""
        count = 0
        for node, parents in families:
            if parents not in self._known[node]:
                self._known[node][parents] = None
                count += 1
        return count

    def add_around(self, dag: Dag) -> None:
        """Add the families of a DAG, those with one parent more or less, single parents, and the smallest sets."""
        n = self._score.n_nodes
        for i in range(n):
            must = frozenset(np.flatnonzero(self._knowledge.must[:, i]).tolist())
            own = frozenset(np.flatnonzero(dag[:, i]).tolist())
            sets = [must, own, *(must | {j} for j in range(n)), *(own ^ {j} for j in range(n))]
            allowed = [tuple(sorted(one)) for one in sets if i not in one]
            self.add((i, one) for one in allowed if self._knowledge.allows(i, np.array(one, dtype=np.int64)))

    def families(self) -> FamilyArrays:
        """Return the families without the dominated ones."""
        return FamilyArrays.of_sets(Pool.of_words(self._score.names, *sets_of(self._score, self._rows())))

    def with_dag(self, pool: Pool, dag: Dag) -> FamilyArrays:
        """Return the families of a pool and those of a DAG."""
        self._known = [{} for _ in range(pool.n_nodes)]
        self.add((i, tuple(np.flatnonzero(dag[:, i]).tolist())) for i in range(pool.n_nodes))
        extra = sets_of(self._score, self._rows())
        words = [np.concatenate(own) for own in zip(pool.words, extra[0], strict=True)]
        scores = [np.concatenate(own) for own in zip(pool.scores, extra[1], strict=True)]
        return FamilyArrays.of_sets(Pool.of_words(pool.names, words, scores))

    def _rows(self) -> list[Bools]:
        rows = []
        for own in self._known:
            members = np.zeros((len(own), self._score.n_nodes), dtype=np.bool_)
            for k, parents in enumerate(own):
                members[k, list(parents)] = True
            rows.append(members)
        return rows


def _families(found: Sequence[NodePrice]) -> Iterable[BareFamily]:
    """Yield the sets that pricing found."""
    for i, one in enumerate(found):
        for row in one.members:
            yield i, tuple(np.flatnonzero(row).tolist())
