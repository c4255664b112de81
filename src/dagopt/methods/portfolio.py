"""Search and proof under one clock: the best DAG of everything that ran, with the tightest certificate.

1. Order search, without a limit on parents, finds a DAG: the same search as that of ``method="order"``, which is not
   cut where a proof is far away. The exact method follows if it may end within the time limit. If the searches
   differ and a time limit was given, the best DAG is hard to find. If parent sets cannot be listed either, a proof is
   far away, and column generation follows for a share of the time, or a multiple of what the first search took if
   that is less, because growing one parent at a time may miss what it finds. It begins as it does alone, with a longer
   order search from the same starts: where it did not begin from the DAG that was found, it found more. Where a proof
   is not so far, that longer search follows alone. Where column generation does not suit the problem, further searches
   go on. Unless the prover lists all allowed sets, a search goes on from the best DAG of small parent sets
   (``orders/small_sets.py``), before the prover if there is a time limit, else after one that proved nothing. A prover
   starts from the best.
2. The prover that was chosen for the table runs. If column generation did not run before, it has a share of the time
   limit, so that a proof that is not found does not take the time of a better DAG. A limit on parents that was chosen
   for it, not by the user, makes its proof one about fewer graphs: it becomes ``Answer.limited``.
3. If a time limit was given and the gap is open, column generation, order search and the search from small parent sets
   work, one after the other. After that they take turns with the prover, which is paused, not over (``resumable.py``):
   the next turn goes to whichever closed more of the gap per second in its last one; while neither closes any, to each
   of them, for longer and longer. If the bounds of the prover stand still before its share of the time is over, the
   searches have theirs at once. Both use the best DAG that the other found. If the prover is over, searches go on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels import ahead
from dagopt.methods.orders.order import THOROUGH, solve_order
from dagopt.methods.orders.small_sets import SmallSets
from dagopt.methods.resumable import Beside, Resumable
from dagopt.methods.start import StartDag, start_dag
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer, Status

__all__ = ["FIRST_SECONDS", "Portfolio"]

FIRST_SHARE = 0.4  # of the time, at most, for the first order search,
HARD_SHARE = 1.0  # or this where a proof is far away: column generation begins with a longer one,
FIRST_SECONDS = 2.0  # but at least this many seconds: with a shorter limit a search alone would find as much
QUICK_SHARE = 0.1  # or this if the prover lists all allowed sets: its own search over them finds more
RUGGED_SHARE = 0.6  # of the time that is left, for column generation where searches differ and a proof is far away
RUGGED_FACTOR, LEAST_MOST = 30.0, 5.0  # but at most so many times what the first search took, or these seconds if more
HURRIED_SHARE = 0.8  # or up to this much where it may need that to end the search with which it begins
LATER_SHARE = 0.5  # of the time that is left, at most, for column generation after the prover,
COMPLETE_SHARE = 0.2  # or this if the prover lists all allowed sets, and so meets what column generation would find:
LATER_FACTOR, LATER_SECONDS = 4.0, 2.0  # it needs about so many times what the first search took, and these seconds
SMALL_SHARE = 0.5  # of the time that is left, at most, for the listing of small parent sets, and then for the search
LISTED_SHARE = 0.7  # or this for the search if these sets are all that are allowed
STEPS = 3  # column generation, order search and small sets, one after the other, after the prover:
GENERATION, ORDERS, SMALL = range(STEPS)
TURN_SHARE, LEAST_TURN = 0.05, 1.0  # of the time left, and seconds: a further turn of the searches or the prover
LONGER = 2.0  # the factor by which turns grow that close nothing
LEAST_GAIN = 0.02  # of the gap: what a turn closed is nothing if at this pace less is closed in the time left
NEXT_SEED = 1009  # between the seeds of two searches, so that those of neighbouring seeds differ
BETTER = 1e-9  # relative to the score; what a DAG must gain to replace another


class Portfolio:
    """One run of ``auto`` where the exact method does not fit.

    Parameters
    ----------
    problem : Problem
        Table, score and knowledge.
    knowledge : Knowledge
        The knowledge of the prover, which may limit the number of parents.
    shared : dict
        Options that searches and provers share: ``random_state``, ``n_jobs`` and ``start``.
    clock : Deadline
        When to stop.
    progress : Progress
        Where the run is shown.
    """

    def __init__(
        self, problem: Problem, knowledge: Knowledge, shared: dict[str, Any], clock: Deadline, progress: Progress
    ) -> None:
        self._problem = problem
        self._knowledge = knowledge
        self._shared = shared
        self._clock = clock
        self._progress = progress
        self._small = SmallSets(problem, shared["n_jobs"])
        self._beside = Beside()
        self._best: Dag | None = None
        self._score = -math.inf
        self._seed: int = shared["random_state"]
        self._step = GENERATION  # the search that is next
        self._lists_all = self._from_best = False  # whether column generation begins from the best DAG
        if shared["start"] is not None:
            self._keep(start_dag(problem, shared["start"]))

    def run(
        self,
        prove: Callable[..., Answer],
        goes_on: bool,
        is_hard: bool = False,
        lists_all: bool = False,
        generate: Callable[..., Answer] | None = None,
        exact: Callable[[Deadline], Answer | None] | None = None,
        **options: Any,
    ) -> Answer:
        """Return the best DAG found, with what the prover proved.

        Parameters
        ----------
        prove : callable
            The prover; called with the problem, ``deadline=``, ``progress=``, the shared options and ``options``.
        goes_on : bool
            Whether to search until the time is over if the gap is open.
        is_hard : bool
            Whether a proof is far away, so that further searches may come before it.
        lists_all : bool
            Whether the prover lists all parent sets that are allowed, because they are few.
        generate : callable, optional
            Column generation, called as the prover is, if it suits the problem.
        exact : callable, optional
            The exact method, which is called with the clock if searches go on, and returns None if it would be late.
        """
        self._lists_all = self._from_best = lists_all
        left = self._clock.remaining()
        share = HARD_SHARE if goes_on and is_hard else FIRST_SHARE
        first = self._clock.within(max(share * left, FIRST_SECONDS))
        if goes_on and lists_all:
            first = self._clock.within(QUICK_SHARE * left)
        # Without a time limit compiling does not count, and with a short one the search has all of the time anyway.
        if goes_on and left > FIRST_SECONDS and ahead.is_cold():  # the prover's kernels come after the search's
            first = self._clock.within(left)
        found = self._search(first, self._shared["random_state"])
        took = first.elapsed()
        if goes_on and exact is not None and self._clock.reason is None:
            proven = exact(self._clock)
            if proven is not None:
                return proven
        later = max(LATER_FACTOR * took, LATER_SECONDS)
        is_rugged = goes_on and not lists_all and found.figures.searches_agree is False
        generated = is_rugged and self._clock.reason is None and self._search_more(generate, is_hard, took)
        if (goes_on or is_hard) and not lists_all:
            self._search_small(self._clock)
        if not ahead.ready(self._clock):
            return self._with_best(replace(found, status=self._clock.reason or "time_limit").noted(ahead.LATE))
        if self._clock.reason is not None:  # the prover's first step may take seconds on many rows
            ended = found if found.status == "optimal" else replace(found, status=self._clock.reason)
            return self._with_best(ended)
        prover = partial(self._prove, prove, options)
        if goes_on:
            share = COMPLETE_SHARE if lists_all else LATER_SHARE
            reserve = 0.0 if generated else min(share * self._clock.remaining(), later)
            self._step = SMALL if lists_all else ORDERS if generated else GENERATION
            return self._with_best(self._take_turns(prover, generate, reserve))
        answer = self._proven(prover(self._clock))
        if answer.status != "optimal" and not (is_hard or lists_all):
            self._search_small(self._clock)
        return self._with_best(answer)

    def _take_turns(
        self, prover: Callable[[Deadline], Answer], generate: Callable[..., Answer] | None, reserve: float
    ) -> Answer:
        """Let the prover and searches work in turns until the gap is closed or the time is over.

        The prover begins. The searches have ``reserve`` seconds when its bounds stand still, or at the end of its
        share. That is what column generation leaves of the time; where there is none, it is all of it.
        """
        clock, beside = self._clock, self._beside
        share = clock.remaining() - (0.0 if generate is None else reserve)
        turn = max(TURN_SHARE * clock.remaining(), LEAST_TURN)
        proof, search = _Pace(turn), _Pace(turn)
        with Resumable(prover, clock) as run:

            def rest(is_hopeless: bool) -> None:
                nonlocal share
                share = 0.0 if is_hopeless else share
                if reserve > 0.0 or share <= 0.0:
                    run.rest()

            beside.rest, proves = rest, True
            while True:
                begin, gap = clock.elapsed(), beside.bound - self._score
                if proves or clock.reason is not None:
                    self._tell()
                    answer = run.go_on(share if share > 0.0 else proof.turn)
                    if answer is not None:
                        break
                    self._hear()
                    share -= clock.elapsed() - begin
                else:
                    is_first = reserve > 0.0
                    self._search_for(reserve if is_first else search.turn, generate, is_first or proof.speed > 0.0)
                    reserve = 0.0 if share <= 0.0 else reserve - (clock.elapsed() - begin)
                closed = gap - (beside.bound - self._score)
                (proof if proves else search).note(closed, clock.elapsed() - begin, gap, clock.remaining())
                if self._is_closed:
                    proves = True
                elif share > 0.0:
                    proves = not (proves and run.rested)
                elif proves and reserve > 0.0:
                    proves = False
                else:
                    proves = proof.speed > search.speed if proof.speed != search.speed else not proves
            trace = answer.trace
            if "seconds" in trace:
                answer = replace(answer, trace=trace.assign(seconds=[run.moment(each) for each in trace["seconds"]]))
        answer = self._proven(answer)
        self._beside.bound = math.inf  # of a prover that is over
        while answer.status != "optimal" and clock.reason is None:
            self._search_for(clock.remaining(), generate)
        return answer

    @property
    def _is_closed(self) -> bool:
        """Whether the best DAG reaches the bound of the prover, which need only see it."""
        covers_all = self._knowledge is self._problem.knowledge
        return covers_all and self._beside.bound <= self._score + BETTER * abs(self._score)

    def _tell(self) -> None:
        """Give the prover the best DAG, if its limit on parents allows it."""
        if self._best is not None and self._knowledge.allows_dag(self._best):
            self._beside.dag = self._best

    def _hear(self) -> None:
        """Keep the best DAG of the prover."""
        if self._beside.found is not None:
            self._keep(self._beside.found)

    def _search_for(self, seconds: float, generate: Callable[..., Answer] | None, ends: bool = False) -> None:
        """Generate parent sets, search over orders and from small sets by turns; it may end when each was in vain."""
        clock, vain = self._clock.within(seconds), 0
        while not (self._is_closed or (ends and vain >= STEPS)) and clock.reason is None:
            before = self._score
            if self._step == GENERATION and generate is not None:
                self._generate(generate, clock)
            elif self._step == ORDERS:
                self._seed += NEXT_SEED
                self._search(clock, self._seed)
            elif self._step == SMALL:
                self._search_small(clock)
            self._step = (self._step + 1) % STEPS
            vain = 0 if self._score > before else vain + 1

    def _prove(self, prove: Callable[..., Answer], options: dict[str, Any], clock: Deadline) -> Answer:
        """Return what the prover proves from the best DAG, which it takes if its limit on parents allows it."""
        self._tell()
        posed, begin = replace(self._problem, knowledge=self._knowledge), self._beside.dag
        given = {**self._shared, "start": None if begin is None else StartDag(begin), **options}
        return prove(posed, deadline=clock, progress=self._progress, beside=self._beside, **given)

    def _proven(self, answer: Answer) -> Answer:
        """Return the answer of the prover, under the limit that was chosen for it if there is one; keep its DAG."""
        if self._knowledge is not self._problem.knowledge:
            answer = answer.under_limit()
        if answer.score is not None:
            self._keep(answer.adjacency)
        return answer

    def _generate(self, generate: Callable[..., Answer], clock: Deadline) -> None:
        """Generate parent sets, and keep what is better.

        The first time it begins as it does alone, so that it finds what it finds there, and is joined with the best
        DAG; later it begins from that, and always where a search over all allowed sets comes before it.
        """
        given: dict[str, Any] = {**self._shared, "random_state": self._seed}
        if self._from_best:
            given["start"] = None if self._best is None else StartDag(self._best)
        else:
            given["beside"], self._from_best = Beside(dag=self._best), True
        with suppress(ahead.Late), ahead.in_time(clock):
            found = generate(self._problem, deadline=clock, progress=self._progress, **given)
            if found.score is not None:
                self._keep(found.adjacency)

    def _search_more(self, generate: Callable[..., Answer] | None, is_hard: bool, took: float) -> bool:
        """Search on where searches differ, until a prover begins; say whether parent sets were generated.

        ``took`` is how long the first search took.
        """
        left = self._clock.remaining()
        most = max(RUGGED_FACTOR * took, LEAST_MOST)
        if is_hard and generate is not None:
            hurried = min(HURRIED_SHARE * left, max(LATER_FACTOR * took, LATER_SECONDS))
            self._generate(generate, self._clock.within(min(max(RUGGED_SHARE * left, hurried), most)))
        elif is_hard:
            self._search_on(self._clock.within(min(RUGGED_SHARE * left, most)))
        elif generate is not None:
            self._search_thoroughly(self._clock.within(LATER_SHARE * left))
        return is_hard and generate is not None

    def _search_thoroughly(self, clock: Deadline) -> None:
        """Search as column generation does before it begins, from the same starts: it may come too late for that."""
        given: dict[str, Any] = {**self._shared, "random_state": self._seed, **THOROUGH}
        self._keep(solve_order(self._problem, deadline=clock, progress=self._progress, **given).adjacency)
        self._seed += NEXT_SEED

    def _search_on(self, clock: Deadline) -> None:
        """Search from other seeds until one finds nothing better."""
        improved = True
        while improved and clock.reason is None:
            before = self._score
            self._seed += NEXT_SEED
            self._search(clock, self._seed)
            improved = self._score > before

    def _search(self, clock: Deadline, seed: int) -> Answer:
        """Search over orders, from the best DAG if there is one, keep what is better, and return what was found."""
        options: dict[str, Any] = {"n_jobs": self._shared["n_jobs"], "random_state": seed}
        if self._best is not None:
            options["start"] = StartDag(self._best)
        found = solve_order(self._problem, deadline=clock, progress=self._progress, **options)
        self._keep(found.adjacency)
        return found

    def _search_small(self, whole: Deadline) -> None:
        """Search from small parent sets and what is met there, and keep what is better."""
        clock = whole.within(SMALL_SHARE * whole.remaining())
        if clock.reason is not None or self._problem.knowledge.path_keys:
            return
        if self._lists_all and self._beside.pool is not None:
            self._small.take(self._beside.pool)
        with suppress(ahead.Late), ahead.in_time(clock):
            if self._small.listed(clock, self._progress) and whole.reason is None:
                assert self._best is not None
                if self._lists_all:
                    self._seed += NEXT_SEED
                    clock = whole.within(LISTED_SHARE * whole.remaining())
                    self._keep(self._small.better(self._best, clock, self._seed))
                    return
                clock = whole.within(SMALL_SHARE * whole.remaining())
                self._keep(self._small.search(self._best, clock, self._progress, self._seed))

    def _keep(self, dag: Dag) -> None:
        score = self._problem.score.total(dag)
        if self._best is None or score > self._score + BETTER * abs(score):
            self._best, self._score = dag, score

    def _with_best(self, answer: Answer) -> Answer:
        """Return the answer with the best DAG, whose score no certificate of all graphs can be below."""
        if self._best is None or answer.score is None or self._score <= answer.score + BETTER * abs(self._score):
            return answer
        status: Status = "converged" if answer.status == "optimal" else answer.status
        proof = None if answer.certificate is None else answer.certificate.at_least(self._score)
        better = replace(answer.with_graph(self._problem, self._best), status=status, certificate=proof)
        return better.noted("the DAG is that of a search, which is better than the prover's")


class _Pace:
    """How long a turn is, and how much of the gap the last one closed per second."""

    def __init__(self, turn: float) -> None:
        self.speed = 0.0
        self.turn = self._first = turn

    def note(self, closed: float, seconds: float, gap: float, left: float) -> None:
        """Take note of a turn, given the gap before it and the time that is left."""
        speed = closed / max(seconds, 1e-9) if math.isfinite(closed) else 0.0
        self.speed = speed if speed * left > LEAST_GAIN * gap else 0.0
        self.turn = self._first if self.speed else LONGER * self.turn
