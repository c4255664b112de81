"""Search and proof under one clock: the best DAG of everything that ran, with the tightest certificate.

1. Order search, without a limit on parents, finds a DAG: the same search as that of ``method="order"``. If its searches
   differ and a time limit was given, the best DAG is hard to find. If parent sets cannot be listed either, a proof is
   far away, and column generation goes on from the DAG for a share of the time, because growing one parent at a time
   may miss what it finds. Where it does not suit the problem, further searches go on. Unless the prover lists all
   allowed sets, a search goes on from the best DAG of small parent sets (``orders/small_sets.py``), before the prover
   if there is a time limit, else after one that proved nothing. A prover starts from the best.
2. The prover that was chosen for the table runs. If column generation did not run before, it has a share of the time
   limit, so that a proof that is not found does not take the time of a better DAG. A limit on parents that was chosen
   for it, not by the user, makes its proof one about fewer graphs: it becomes ``Answer.limited``.
3. If a time limit was given, the gap is open and time is left, column generation, order search and the search from
   small parent sets take turns until it is over.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels import ahead
from dagopt.methods.orders.order import solve_order
from dagopt.methods.orders.small_sets import SmallSets
from dagopt.methods.start import StartDag, start_dag
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer, Status

__all__ = ["FIRST_SECONDS", "Portfolio"]

FIRST_SHARE = 0.4  # of the time, at most, for the first order search,
FIRST_SECONDS = 2.0  # but at least this many seconds: with a shorter limit a search alone would find as much
RUGGED_SHARE = 0.6  # of the time that is left, for column generation where searches differ and a proof is far away
HURRIED_SHARE = 0.8  # or this much if the limit is so short that a search alone would take all of it
LATER_SHARE = 0.5  # of the time that is left, at most, for column generation after the prover,
COMPLETE_SHARE = 0.2  # or this if the prover lists all allowed sets, and so meets what column generation would find:
LATER_FACTOR, LATER_SECONDS = 4.0, 2.0  # it needs about so many times what the first search took, and these seconds
SMALL_SHARE = 0.5  # of the time that is left, at most, for the listing of small parent sets, and then for the search
TURNS = 3  # column generation, order search and small sets, one after the other, after the prover
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
        self._best: Dag | None = None
        self._score = -math.inf
        if shared["start"] is not None:
            self._keep(start_dag(problem, shared["start"]))

    def run(
        self,
        prove: Callable[..., Answer],
        goes_on: bool,
        is_hard: bool = False,
        lists_all: bool = False,
        generate: Callable[..., Answer] | None = None,
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
        """
        left = self._clock.remaining()
        first = self._clock.within(max(FIRST_SHARE * left, FIRST_SECONDS))
        # Without a time limit compiling does not count, and with a short one the search has all of the time anyway.
        if goes_on and left > FIRST_SECONDS and ahead.is_cold():  # the prover's kernels come after the search's
            first = self._clock.within(left)
        seed = self._shared["random_state"]
        found = self._search(first, seed)
        clock, generated = self._clock, False
        later = max(LATER_FACTOR * first.elapsed(), LATER_SECONDS)
        is_rugged = goes_on and is_hard and found.figures.searches_agree is False
        if is_rugged and clock.reason is None:
            generated = generate is not None
            if generate is None:
                seed = self._search_on(first, seed)
            else:
                share = RUGGED_SHARE if left > FIRST_SECONDS else HURRIED_SHARE
                self._generate(generate, clock.within(share * clock.remaining()), seed)
        if (goes_on or is_hard) and not lists_all:
            self._search_small(seed)
        if not is_rugged and goes_on and generate is not None:
            share = COMPLETE_SHARE if lists_all else LATER_SHARE
            clock = clock.within(clock.remaining() - min(share * clock.remaining(), later))
        if not ahead.ready(self._clock):
            return self._with_best(replace(found, status=self._clock.reason or "time_limit").noted(ahead.LATE))
        if self._clock.reason is not None:  # the prover's first step may take seconds on many rows
            ended = found if found.status == "optimal" else replace(found, status=self._clock.reason)
            return self._with_best(ended)
        answer = self._prove(prove, clock, options)
        if answer.status != "optimal" and not (goes_on or is_hard or lists_all):
            self._search_small(seed)
        if goes_on and answer.status != "optimal":
            self._go_on(generate, seed, turn=1 if generated else 0)
        return self._with_best(answer)

    def _go_on(self, generate: Callable[..., Answer] | None, seed: int, turn: int) -> None:
        """Generate parent sets, search over orders and search from small sets by turns until the time is over."""
        while self._clock.reason is None:
            if turn % TURNS == 0 and generate is not None:
                self._generate(generate, self._clock, seed)
            elif turn % TURNS == 1:
                seed += NEXT_SEED
                self._search(self._clock, seed)
            elif turn % TURNS == 2:
                self._search_small(seed)
            turn += 1

    def _prove(self, prove: Callable[..., Answer], clock: Deadline, options: dict[str, Any]) -> Answer:
        """Return what the prover proves from the best DAG, which it takes if its limit on parents allows it."""
        posed = replace(self._problem, knowledge=self._knowledge)
        begin = None if self._best is None or not self._knowledge.allows_dag(self._best) else StartDag(self._best)
        given = {**self._shared, "start": begin, **options}
        answer = prove(posed, deadline=clock, progress=self._progress, **given)
        if self._knowledge is not self._problem.knowledge:
            answer = answer.under_limit()
        if answer.score is not None:
            self._keep(answer.adjacency)
        return answer

    def _generate(self, generate: Callable[..., Answer], clock: Deadline, seed: int) -> None:
        """Generate parent sets from the best DAG, and keep what is better."""
        given = {**self._shared, "random_state": seed, "start": None if self._best is None else StartDag(self._best)}
        with suppress(ahead.Late), ahead.in_time(clock):
            found = generate(self._problem, deadline=clock, progress=self._progress, **given)
            if found.score is not None:
                self._keep(found.adjacency)

    def _search_on(self, clock: Deadline, seed: int) -> int:
        """Search from other seeds until one finds nothing better; return the last seed."""
        improved = True
        while improved and clock.reason is None:
            seed, before = seed + NEXT_SEED, self._score
            self._search(clock, seed)
            improved = self._score > before
        return seed

    def _search(self, clock: Deadline, seed: int) -> Answer:
        """Search over orders, from the best DAG if there is one, keep what is better, and return what was found."""
        options: dict[str, Any] = {"n_jobs": self._shared["n_jobs"], "random_state": seed}
        if self._best is not None:
            options["start"] = StartDag(self._best)
        found = solve_order(self._problem, deadline=clock, progress=self._progress, **options)
        self._keep(found.adjacency)
        return found

    def _search_small(self, seed: int) -> None:
        """Search from small parent sets and what is met there, and keep what is better."""
        clock = self._clock.within(SMALL_SHARE * self._clock.remaining())
        if clock.reason is not None or self._problem.knowledge.path_keys:
            return
        with suppress(ahead.Late), ahead.in_time(clock):
            if self._small.listed(clock, self._progress) and self._clock.reason is None:
                assert self._best is not None
                clock = self._clock.within(SMALL_SHARE * self._clock.remaining())
                self._keep(self._small.search(self._best, clock, self._progress, seed))

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
