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
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Dag, Floats, Ints
from dagopt.bits import bools_of_words
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.families.undominated import scored
from dagopt.graph.knowledge import Knowledge
from dagopt.lp.highs import SolverError
from dagopt.lp.pricing import NodePrice, Pricing
from dagopt.lp.relaxation import Relaxation
from dagopt.lp.rows.matrices import LogDets
from dagopt.lp.rows.rewriting import Renumbering, rewritten
from dagopt.lp.rows.row import DualPoint, Row, RowFinder
from dagopt.scores.base import Score
from dagopt.workers import Stopped, Workers

__all__ = ["MANY", "BareFamily", "Effort", "PricedRoot", "PricedState"]

BareFamily = tuple[int, tuple[int, ...]]

FAMILIES_PER_NODE = 60  # families per node that are added to the LP at once
FEW_ROUNDS, ROUNDS = 5, 20  # rounds of cutting between two rounds of climbs: while many new sets are found, and after
ENOUGH_NEW = 100  # from this number on, new sets are called many
CLIMBS, MANY_CLIMBS = 8, 60  # per node, from random sets: in every round, and before sets are priced
FEWER_CLIMBS = 4  # their number is divided by this if they take too long
KNOWN_STARTS = 5  # climbs per node from sets that are known to have large remainders
MOST_CLIMBS = 60  # maximum number of rounds of climbs before sets are priced
CLOSE = 0.05  # sets are priced earlier if the guessed bound is within this share of the gap of the LP's value
CLIMB_SHARE = 0.08  # of the time left: if the climbs of one round take longer, pricing is given up
CLIMBING_SHARE = 0.15  # of the time left, at most, before sets are priced for the first time
TIME_TO_PRICE = 3.0  # time kept for another pricing, as a multiple of what the last one took
CLIMBING_PER_PRICE = 3.0  # sets are priced again after climbing for so many times the seconds of the last pricing,
WORTH_PRICING = 0.1  # if the guess is below the bound by this share of the gap
PRICING_SHARE = 0.35  # of the time left, in which a pricing is to end, if none has taken longer
HOPELESS = 2.5  # it is given up after its first steps if it is expected to take so many times that
CENTRE_SHARE = 0.5  # the weight of the best multipliers known in the point where climbs look for sets
LESS, MORE, MOST_SHARE = 0.3, 0.3, 0.9  # of the best ones in prices: its steps after a better bound and another one
ROUNDS_BACK, SHARE = 12, 0.01  # cutting has stalled when this many rounds close less than this share of the gap
IDLE_ROUNDS = 5  # rounds after which a row that does not bind leaves the LP
STEPS_PER_SECOND = 2e7  # steps per node and second of the time limit, to be divided by the square of its candidates
LEAST_STEPS, MOST_STEPS = 20_000, 20_000_000  # per node
WITHOUT_LIMIT = 600.0  # the seconds assumed if there is no time limit
MANY, MANY_SHARE = 60, 0.04  # with more candidates than this, the number of steps is multiplied by this
LISTING_PER_PRICE, LISTING_SHARE = 1.0, 0.1  # of the last pricing, and of the time left: the longer one is its limit
NEXT_LISTING = 0.7  # the listing is tried again when the gap has fallen to this share of what it was
MOST_ROUNDS, ANY_NUMBER = 1_000_000, 1 << 62  # no limits
MOST_IDLE = 8  # the run ends after this many rounds without a better bound or a new family;
MORE_ROUNDS, MOST_TRIES = 3, 3  # or, if it is to try harder, after so many more, and so often;
HARDER = 4  # each time with so many times the seconds and steps of a pricing, until one closes this share of the gap
WORTH_TRYING = 0.01


@dataclass(frozen=True)
class Effort:
    """How much a run may do.

    Attributes
    ----------
    steps : int
        Steps of the search for one node in a round of pricing.
    climbs : int
        Rounds of climbs before sets are priced; 0 to price at once, which is faster where searches are short.
    rounds : int
        Rounds of pricing.
    all_steps : int
        Steps of all searches of all rounds, after which no other round begins.
    """

    steps: int
    climbs: int = MOST_CLIMBS
    rounds: int = MOST_ROUNDS
    all_steps: int = ANY_NUMBER

    @classmethod
    def within(cls, seconds: float, knowledge: Knowledge) -> Effort:
        """Return the effort that suits a time limit."""
        candidates = float(knowledge.may.sum(axis=0).mean()) + 1.0
        steps = STEPS_PER_SECOND * min(seconds, WITHOUT_LIMIT) / candidates**2
        return cls(int(np.clip(steps * (MANY_SHARE if candidates > MANY else 1.0), LEAST_STEPS, MOST_STEPS)))


@dataclass(frozen=True, eq=False)
class _Best:
    """The best multipliers so far: the point, its bound, and an upper bound on the remainders of each node."""

    point: DualPoint
    bound: float
    most: list[float]


@dataclass(frozen=True, eq=False)
class PricedState:
    """Where a run is between two rounds of pricing: all that it goes on from.

    Attributes
    ----------
    dag : int8 array
        The best DAG known.
    pool : Families
        The families of the LP.
    met : uint8 array
        The families met, one per row: the node in four bytes, and the parents as bits.
    rows : tuple of Row
        The rows of the LP.
    points : tuple of DualPoint
        The best multipliers, those of the last LP, and the centre.
    bound : float
        What the best multipliers prove.
    most : tuple of float
        An upper bound on the remainders of each node, at the best multipliers.
    effort : Effort
        How much the run may do.
    share, tried, price_seconds : float
        The weight of the LP's multipliers, the gap at the last listing, and how long the last pricing took.
    counts : tuple of int
        Rounds of pricing, steps of searches, cuts, and rounds without progress.
    """

    dag: Dag
    pool: Families
    met: NDArray[np.uint8]
    rows: tuple[Row, ...]
    points: tuple[DualPoint, DualPoint, DualPoint]
    bound: float
    most: tuple[float, ...]
    effort: Effort
    share: float
    tried: float
    price_seconds: float
    counts: tuple[int, int, int, int]


class PricedRoot:
    """One run of column generation.

    Parameters
    ----------
    score : Score
        The score; ``score.part(i)`` is a ``GaussianScore`` for each node.
    knowledge : Knowledge
        The parents that each node must have and may have.
    dag : int8 array
        The best DAG known.
    met : iterable of (node, parents)
        Families to begin with.
    finders : sequence of RowFinder
        The finders of rows; only rows with an origin are used. They are told of every better DAG.
    workers : Workers
        The threads and the clock.
    tell : callable
        Called after every round with the score, the bound, and the numbers of cuts and families.
    effort : Effort, optional
        How much to do; by default what suits the time limit.
    after_round : callable, optional
        Called after every round of pricing; returns new finders, with which and with a new LP the run goes on. So what
        it does next depends only on its ``state``.
    state : PricedState, optional
        The state to go on from.

    Attributes
    ----------
    bound : float
        An upper bound on the score of every DAG.
    dag : int8 array
        The best DAG found.
    families : Families or None
        All families that a better DAG can have; None if they could not be listed.
    rows : list of Row
        The last rows of the LP, over ``families``.
    n_rounds : int
        The number of rounds of pricing.
    over : bool
        Whether nothing is left to do.
    """

    def __init__(
        self,
        score: Score,
        knowledge: Knowledge,
        dag: Dag,
        met: Iterable[BareFamily],
        finders: Sequence[RowFinder],
        workers: Workers,
        tell: Callable[[float, float, int, int], None] = lambda *facts: None,
        effort: Effort | None = None,
        after_round: Callable[[], Sequence[RowFinder]] | None = None,
        state: PricedState | None = None,
    ) -> None:
        self._score = score
        self._knowledge = knowledge
        self._finders = finders
        self._workers = workers
        self._tell = tell
        self._after_round = after_round
        if state is not None:
            effort = state.effort
        self._effort = effort or Effort.within(workers.deadline.remaining(), knowledge)
        self._pricing = Pricing(score, knowledge, self._effort.steps)
        self._relaxation: Relaxation | None = None
        self._guess = np.inf
        self._n_rounds_of_cuts = ROUNDS
        self._fewer = 1  # what the numbers of climbs are divided by
        self._n_climbed, self._n_new, self._climb_seconds = 0, ENOUGH_NEW, 0.0  # since sets were last priced
        self._reached = np.inf  # the value of the LP
        self._failed = False  # whether the last pricing gave no better bound
        self.over = False
        self.families: Families | None = None
        self.rows: list[Row] = []
        if state is None:
            self._begin(dag, met)
        else:
            self._go_on(state)

    def _begin(self, dag: Dag, met: Iterable[BareFamily]) -> None:
        score, knowledge = self._score, self._knowledge
        self.dag = dag
        self._value = float(score.total(dag))
        self._met: set[bytes] = set()  # the families met, with those that others dominate
        first = [_around(dag, knowledge), _rows_of(met, score.n_nodes)]
        node, rows = (np.concatenate(part) for part in zip(*first, strict=True))
        self._pool = scored(score, *self._unknown(node, rows)).without_dominated()
        self._rows: list[Row] = []
        self._best = self._first()
        self._last = self._centre = self._best.point
        self._share = 0.0 if self._effort.climbs else MOST_SHARE
        self._price_seconds = 0.0
        self._n_steps = 0
        self._n_cuts = 0
        self._idle = 0  # rounds without a better bound or a new family
        self._tried = self._gap  # when the families left were last listed; at first as if they had been
        self.n_rounds = 0

    def _go_on(self, state: PricedState) -> None:
        self.dag = state.dag
        self._value = float(self._score.total(state.dag))
        self._met = {row.tobytes() for row in state.met}
        self._pool, self._rows = state.pool, list(state.rows)
        best, self._last, self._centre = state.points
        self._best = _Best(best, state.bound, list(state.most))
        self._share, self._tried, self._price_seconds = state.share, state.tried, state.price_seconds
        self.n_rounds, self._n_steps, self._n_cuts, self._idle = state.counts

    @property
    def state(self) -> PricedState:
        """Where the run is, between two rounds of pricing."""
        met = np.array([np.frombuffer(key, dtype=np.uint8) for key in sorted(self._met)])
        return PricedState(
            self.dag, self._pool, met, tuple(self._rows), (self._best.point, self._last, self._centre),
            self._best.bound, tuple(self._best.most), self._effort, self._share, self._tried, self._price_seconds,
            (self.n_rounds, self._n_steps, self._n_cuts, self._idle),
        )  # fmt: skip

    @property
    def bound(self) -> float:
        """An upper bound on the score of every DAG."""
        return max(self._best.bound, self._value)

    def _first(self) -> _Best:
        """Return the multipliers of the bound of the likelihood, if the entropy of all columns makes a row."""
        n, form = self._score.n_nodes, self._score.block_likelihood
        assert form is not None
        row = LogDets(self._score.n_samples).row(self._pool, form.matrix, np.ones(n, dtype=np.bool_), "entropy")
        if row is None or row.origin is None:
            return _Best(DualPoint((), np.zeros(0)), np.inf, [np.inf] * n)
        self._rows = [row]
        point, most = self._pricing.likelihood(row)
        return _Best(point, self._pricing.bound(point, most), most)

    def run(self, max_sets: int, tolerance: float, until: Deadline | None = None) -> None:
        """Lower the bound until the families left can be listed, nothing helps any more, or the time is up.

        It also ends if an LP cannot be solved, or climbs take so long that little can be done in the time. The bound
        holds whenever it ends. Unless it is over, another call goes on from there.

        Parameters
        ----------
        max_sets : int
            The largest number of families to list; none are if it is 0.
        tolerance : float
            The best DAG is proven when the bound exceeds its score by no more than this.
        until : Deadline, optional
            It ends after the round of climbs or of pricing in which this clock stops.
        """
        self.over |= self.bound <= self._value + tolerance
        try:
            while not self.over and (until or self._workers.deadline).reason is None:
                if not (self._converge(until) if self._effort.climbs else self._approach()):
                    return
                before = self._best.bound
                n_new = self._price(self._between() if self._effort.climbs else self._centre)
                self.n_rounds += 1
                self._tell(self._value, self.bound, self._n_cuts, len(self._pool.node))
                fall, tries = before - self._best.bound, self._idle >= MOST_IDLE
                is_better = fall > WORTH_TRYING * self._gap if tries else n_new > 0 or fall > tolerance
                self._idle = 0 if is_better else self._idle + 1
                spent = self.n_rounds >= self._effort.rounds or self._n_steps > self._effort.all_steps
                self.over = spent or self._is_idle or self.bound <= self._value + tolerance
                if max_sets and (self._gap < NEXT_LISTING * self._tried or self._is_idle):
                    self.over |= self._list(max_sets)
                    self._tried = self._gap
                if self._after_round is not None and not self.over:
                    self._finders, self._relaxation = self._after_round(), None
        except Stopped:
            return
        except SolverError:
            self.over = True

    @property
    def _is_idle(self) -> bool:
        """Whether so many rounds were in vain that the run ends, or tries harder."""
        return self._idle >= MOST_IDLE and (self._idle - MOST_IDLE) % MORE_ROUNDS == 0

    def try_harder(self) -> bool:
        """Go on after rounds in vain, with longer searches; say whether that is why the run was over."""
        if not self._is_idle or self._idle >= MOST_IDLE + MOST_TRIES * MORE_ROUNDS or self.families is not None:
            return False
        self.over = False
        self._price_seconds *= HARDER
        self._effort = replace(self._effort, steps=HARDER * self._effort.steps)
        self._pricing.most_steps = self._effort.steps
        return True

    def improve(self, dag: Dag) -> None:
        """Take a better DAG that was found elsewhere."""
        self.dag, self._value = dag, float(self._score.total(dag))
        self._join([NodePrice(row[np.newaxis], np.inf, 0) for row in (dag != 0).T])
        for finder in self._finders:
            finder.improved(dag)

    def _approach(self) -> bool:
        """Cut, and go from the best multipliers towards those of the LP; False at the deadline."""
        self._n_rounds_of_cuts = FEW_ROUNDS
        done = self._cut()
        self._centre = self._best.point.mixed(self._last, self._share)
        return done

    def _converge(self, until: Deadline | None) -> bool:
        """Cut and add sets that climbs find, until pricing is worth its time; False at the deadline or before it is.

        What climbs find gives a *guess* of the bound that multipliers prove. The next point is always half way between
        the multipliers of the LP and those with the best guess, the *centre*, which keeps it from swinging. At first
        these are the best ones, unless another centre was priced in vain.
        """
        deadline = self._workers.deadline
        if not self._n_climbed:
            self._n_new, self._climb_seconds, self._guess = ENOUGH_NEW, 0.0, np.inf
            if not self._failed and np.isfinite(self._best.bound):
                self._centre, self._guess = self._best.point, self._known(self._best.point)
        while self._n_climbed < self._effort.climbs:
            begin = deadline.elapsed()
            self._n_rounds_of_cuts = FEW_ROUNDS if self._n_new >= ENOUGH_NEW else ROUNDS
            if not self._cut():
                return False
            self._reached = self._known(self._last)
            self._n_new = self._climb(self._last)
            self._n_new += self._climb(self._centre.mixed(self._last, CENTRE_SHARE))
            self._guess = max(self._guess, self._known(self._centre))
            self._n_climbed += 1
            close = self._is_close() and self._n_new < ENOUGH_NEW and self._n_rounds_of_cuts == ROUNDS
            wanted = close or self._is_time_to_price()
            if wanted:  # look closer, because a guess that is too good costs a pricing
                self._climb(self._centre, MANY_CLIMBS)
                self._guess = self._known(self._centre)
            self._climb_seconds += deadline.elapsed() - begin
            if wanted and (self._is_close() if close else self._guess < self._best.bound):
                break
            if until is not None and until.reason is not None:
                return False
        self._n_climbed = 0
        return True

    def _is_time_to_price(self) -> bool:
        """Say whether climbs end, by what the last pricing took: at the latest when just enough time for it is left."""
        left, spent, needed = self._workers.deadline.remaining(), self._climb_seconds, self._price_seconds
        if not 0.0 < TIME_TO_PRICE * needed < 0.5 * (spent + left):
            return spent > CLIMBING_SHARE * (spent + left)
        is_worth = self._guess < self.bound - WORTH_PRICING * self._gap
        return left < TIME_TO_PRICE * needed or (is_worth and spent > CLIMBING_PER_PRICE * needed)

    def outlook(self, seconds: float) -> float | None:
        """Return the bound to expect after so many seconds; None to judge by how fast it falls.

        Where prices have not shown that the guess is too good, it is the guess if that goes on falling, but not below
        the value of the LP.
        """
        if self._failed or not self._climb_seconds or np.isinf(self._guess):
            return None
        fall = max(self._best.bound - self._guess, 0.0) / self._climb_seconds
        return float(min(max(self._reached, self._guess - fall * seconds), self.bound))

    def _is_close(self) -> bool:
        """Say whether the guess exceeds the LP's value by little, compared with the gap."""
        return self._guess - self._reached < CLOSE * (self._guess - self._value)

    def _known(self, point: DualPoint) -> float:
        """Return what a point would prove if the LP had all families."""
        return point.constant + float(self._largest_known(point).sum())

    def _climb(self, point: DualPoint, n_climbs: int = CLIMBS) -> int:
        """Add sets that climbs find at a point, which becomes the centre if its guess is the best; return how many."""
        left = self._remainders(point)
        known = np.maximum.reduceat(left, self._pool.offsets[:-1])
        deadline, share = self._workers.deadline, CLIMB_SHARE * max(n_climbs / CLIMBS, 1.0)
        clock = deadline.within(share * deadline.remaining())
        with Workers(clock, self._workers.progress, self._workers.count) as some:
            n_climbs = max(n_climbs // self._fewer, 1)
            found = self._pricing.climb(point, known, FAMILIES_PER_NODE, n_climbs, some, self._best_known(left))
        if clock.reason is not None:
            self._fewer *= FEWER_CLIMBS
            if n_climbs == 1:
                self.over = True
                raise Stopped
        guess = point.constant + sum(max(float(a), b.most) for a, b in zip(known, found, strict=True))
        if guess < self._guess:
            self._centre, self._guess = point, guess
        return self._join(found)

    def _best_known(self, left: Floats) -> list[Bools]:
        """Return the sets of the LP with the largest remainders of each node, which ``left`` are."""
        pool = self._pool
        order = np.lexsort((-left, pool.node))
        rank = np.arange(len(order)) - pool.offsets[pool.node]
        chosen = order[rank < KNOWN_STARTS]
        rows = bools_of_words(pool.words[chosen], pool.n_nodes)
        return np.split(rows, np.searchsorted(pool.node[chosen], np.arange(1, pool.n_nodes)))

    def _between(self) -> DualPoint:
        """Return the point at which sets are priced: the centre, or nearer to the best multipliers if that failed.

        There, the searches are shorter, and the bound is at most between that of the best ones and the guess.
        """
        return self._best.point.mixed(self._centre, self._share) if self._share else self._centre

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
            working = takewhile(lambda finder: deadline.reason is None, self._finders)
            new = [row for finder in working for row in finder.separate(point) if row.origin is not None]
            if not new or deadline.reason is not None:
                break
            self._n_cuts += len(new)
            relaxation.add(new)
        self._rows = relaxation.rows
        self._last = point.duals
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
                for finder in self._finders:
                    finder.improved(dag)

    def _price(self, point: DualPoint) -> int:
        """Find the bound that multipliers give, and add sets with large remainders; return how many are new."""
        deadline = self._workers.deadline
        least, begin = self._largest_known(point), deadline.elapsed()
        allowed = hopeless = np.inf
        if self._effort.climbs and np.isfinite(deadline.remaining()):
            allowed = max(PRICING_SHARE * deadline.remaining(), TIME_TO_PRICE * self._price_seconds)
            hopeless = HOPELESS
        bound, found = self._pricing.all_nodes(point, least, FAMILIES_PER_NODE, self._workers, allowed, hopeless)
        self._price_seconds = deadline.elapsed() - begin
        self._n_steps += sum(one.n_steps for one in found)
        better = bound < self._best.bound
        self._failed = not better
        self._share = max(self._share - LESS, 0.0) if better else min(self._share + MORE, MOST_SHARE)
        if better:
            self._best = _Best(point, bound, [one.most for one in found])
        return self._join(found)

    def _join(self, found: Sequence[NodePrice]) -> int:
        """Add sets to the LP; return how many are new."""
        node = np.repeat(np.arange(len(found)), [len(one.members) for one in found])
        node, rows = self._unknown(node, np.concatenate([one.members for one in found]))
        if len(node):
            pool = self._pool.joined(scored(self._score, node, rows)).without_dominated()
            moved = Renumbering(pool, pool.where(len(self._pool)))
            self._pool, self._rows = pool, [moved.row(row) for row in self._rows]
            best, self._last, self._centre = (
                replace(point, rows=tuple(map(moved.row, point.rows)))
                for point in (self._best.point, self._last, self._centre)
            )
            self._best = replace(self._best, point=best)
            if self._relaxation is not None:
                self._relaxation.change(moved)
        return len(node)

    def _unknown(self, node: Ints, rows: Bools) -> tuple[Ints, Bools]:
        """Return those of some families that are met for the first time, each once."""
        new = []
        for k, key in enumerate(zip(node.tolist(), np.packbits(rows, axis=1), strict=True)):
            if (own := key[0].to_bytes(4) + key[1].tobytes()) not in self._met:
                self._met.add(own)
                new.append(k)
        return node[new], rows[new]

    def _largest_known(self, point: DualPoint) -> Floats:
        """Return for each node the largest remainder over its families in the LP."""
        return np.maximum.reduceat(self._remainders(point), self._pool.offsets[:-1])

    def _remainders(self, point: DualPoint) -> Floats:
        """Return the remainders of the families in the LP."""
        left = self._pool.score.copy()
        for row, weight in zip(point.rows, point.weights, strict=True):
            left[row.families] -= weight * row.values
        return left

    def _list(self, max_sets: int) -> bool:
        """List all families that a better DAG can have if there are few enough of them; say whether there are."""
        gap = self._best.bound - self._value
        limits = [one - gap - self._pricing.margin for one in self._best.most]
        deadline = self._workers.deadline
        clock = deadline.within(max(LISTING_PER_PRICE * self._price_seconds, LISTING_SHARE * deadline.remaining()))
        try:
            with Workers(clock, self._workers.progress, self._workers.count) as some:
                pool = self._pricing.listed(self._best.point, limits, max_sets, some)
        except Stopped:  # better multipliers leave fewer sets
            if deadline.reason is not None:
                raise
            return False
        if pool is None:
            return False
        nodes = np.arange(pool.n_nodes)
        self.families = pool.joined(scored(self._score, nodes, (self.dag != 0).T))
        self.rows = [rewritten(row, self.families) for row in self._rows]
        return True


def _around(dag: Dag, knowledge: Knowledge) -> tuple[Ints, Bools]:
    """Return families near a DAG, as nodes and rows of parents.

    They are the smallest sets, single parents, the DAG's own families, and these with one parent more or less.
    """
    n = len(dag)
    single = np.eye(n, dtype=np.bool_)
    must, own = knowledge.must.T[:, None], (dag != 0).T[:, None]
    rows = np.concatenate([must, must | single, own, own ^ single], axis=1).reshape(-1, n)
    node = np.repeat(np.arange(n), 2 * n + 2)
    fits = (rows | ~knowledge.must.T[node]).all(axis=1) & ~(rows & ~knowledge.may.T[node]).any(axis=1)
    fits &= rows.sum(axis=1) <= knowledge.at_most[node]
    return node[fits], rows[fits]


def _rows_of(met: Iterable[BareFamily], n_nodes: int) -> tuple[Ints, Bools]:
    """Return families as nodes and rows of parents."""
    families = list(met)
    rows = np.zeros((len(families), n_nodes), dtype=np.bool_)
    for row, (_, parents) in zip(rows, families, strict=True):
        row[list(parents)] = True
    return np.array([node for node, _ in families], dtype=np.int64), rows
