"""Hill climbing over DAGs: the best of all additions, deletions and reversals of an edge, until none helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.table import DiscreteTable
from dagopt.deadline import Deadline, StopReason
from dagopt.kernels import ahead
from dagopt.methods.climbing.moves import KINDS, Move, MovingDag
from dagopt.methods.climbing.reinsertion import reinsert
from dagopt.methods.method_options import random_state, solver, start, ties
from dagopt.methods.names import working_order
from dagopt.methods.start import start_dag
from dagopt.options import Options, option, truth, whole
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress
from dagopt.results.answer import Answer
from dagopt.results.figures import Figures

__all__ = ["HillClimbingOptions", "SearchLog", "climb", "solve_hc", "start_dag", "with_restarts"]

SHOW_EVERY = 10  # moves between two reports of progress
SECONDS_PER_PAIR = (
    3e-8  # of memory to take for a pair of columns; with less time, no gain would be known before its end
)

Trace = list[tuple[int, str, str, str, float, float]]


@dataclass
class SearchLog:
    """What a search over DAGs reports while it runs, and its record.

    Attributes
    ----------
    phase : str
        What the search is called on screen.
    names : sequence of str
        The nodes, in name order.
    progress : Progress
        Where it is shown.
    n_rounds : int
        The number of climbs planned; with one, the fraction of work done is not known.
    round : int
        The current climb, from 0.
    rows : list
        The moves made.
    reason : str or None
        Why the search was stopped before its end.
    """

    phase: str
    names: list[str]
    progress: Progress
    n_rounds: int = 1
    round: int = 0
    rows: Trace = field(default_factory=list)
    reason: StopReason | None = None

    def stops(self, deadline: Deadline) -> bool:
        """Say whether to stop now, and record why."""
        self.reason = self.reason or deadline.reason
        return self.reason is not None

    def add(self, move: Move, score: float, *, why: str = "") -> None:
        """Record a move, and show progress now and then."""
        kind = f"{why}{KINDS[move.kind]}"
        self.rows.append((self.round, kind, self.names[move.tail], self.names[move.head], move.gain, score))
        if len(self.rows) % SHOW_EVERY == 0:
            self.show(score)

    def add_reinsertion(self, node: int, gain: float, score: float) -> None:
        """Keep the reinsertion of a node, with what the climb after it gained."""
        self.rows.append((self.round, "reinsert", self.names[node], "", gain, score))
        self.show(score)

    def show(self, score: float) -> None:
        """Show how far the search has come."""
        share = self.round / self.n_rounds if self.n_rounds > 1 else None
        self.progress.update(self.phase, share, score=score, moves=len(self.rows))

    def frame(self) -> pd.DataFrame:
        """Return the moves, one row per move."""
        return pd.DataFrame(self.rows, columns=["round", "move", "from", "to", "gain", "score"])


@dataclass(frozen=True)
class HillClimbingOptions(Options):
    """Options of hill climbing."""

    start: Any = start("The DAG to start from, a graph or a graph file; by default only the required edges.")
    restarts: int = option(0, "Further climbs, each from the best DAG so far after some random moves.", whole(0))
    perturb: int = option(1, "Random legal moves before each restart.", whole(1))
    random_state: int = random_state()
    ties: str = ties()
    reinsert: bool | None = option(
        None,
        "At a local optimum, remove the edges of one column after another and continue the climb; by default only with "
        "discrete data.",
        truth(),
    )


@solver(HillClimbingOptions)
def solve_hc(problem: Problem, options: HillClimbingOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Climb from a DAG to a local optimum of the score, then again from perturbed optima.

    Returns
    -------
    Answer
        With ``trace``, one row per move, and ``figures``: ``moves``, ``restarts`` (made), ``best_round``. Where the
        reinsertion of a column helps, that is one row, ``reinsert``, with the gain after the climb that follows it.

    Notes
    -----
    Each step makes the move with the largest gain. Gains within 1e-12 of the score count as equal. Among equal moves,
    additions come before deletions and deletions before reversals, and then the names of tail and head
    decide, in alphabetical order with X2 before X10, so that the order of the columns does not matter. With
    ``ties="columns"`` the positions of the columns decide instead.
    """
    return with_restarts(problem, climb, "hc", options, deadline, progress)


def climb(dag: MovingDag, deadline: Deadline, log: SearchLog) -> tuple[NDArray[np.int8], float]:
    """Make the best move until none gains; return the DAG, in name order, and its score.

    The score after a move must be higher than before, whatever the predicted gain: so no DAG is visited twice.
    """
    best, best_score = dag.adjacency.copy(), dag.score
    while (move := dag.best_move()) is not None and not log.stops(deadline):
        dag.apply(move)
        log.add(move, dag.score)
        if not dag.score > best_score:
            break
        best, best_score = dag.adjacency.copy(), dag.score
    return best, best_score


def with_restarts(
    problem: Problem,
    search: Callable[[MovingDag, Deadline, SearchLog], tuple[NDArray[np.int8], float]],
    method: Literal["hc", "tabu", "mmhc"],
    options: HillClimbingOptions,
    deadline: Deadline,
    progress: Progress,
    may: NDArray[np.bool_] | None = None,
) -> Answer:
    """Run a search from the start, then from perturbed best DAGs; ``may``, if given, are the edges to try.

    With reinsertion a climb and the reinsertion of nodes come first, so that tabu search goes on where they end.
    """
    rounds = options.restarts + 1
    order = working_order(problem.names, options.ties)
    log = SearchLog(_PHASES[method], [problem.names[j] for j in order], progress, n_rounds=rounds)
    first = start_dag(problem, options.start)
    if deadline.remaining() < SECONDS_PER_PAIR * problem.n_nodes**2:
        log.reason = deadline.reason or "time_limit"
    if log.stops(deadline):  # before memory is taken for the gains of all edges
        return _result(problem, first, method, log, 0)
    dag = MovingDag(problem, may, options.ties)
    best = dag.in_names(first)
    best_score, best_round = -np.inf, 0
    rng = np.random.default_rng(options.random_state)
    if options.reinsert or (options.reinsert is None and isinstance(problem.table, DiscreteTable)):
        best = _reinserted(dag, best, deadline, log, rng)
    for log.round in range(rounds):
        if log.stops(deadline) or not dag.load(best, deadline):
            log.stops(deadline)
            break
        if log.round > 0:
            _shake(dag, options.perturb, rng, log)
        found, score = search(dag, deadline, log)
        if score > best_score + dag.tolerance:
            best, best_score, best_round = found, score, log.round
    return _result(problem, dag.in_columns(best), method, log, best_round)


def _result(
    problem: Problem, adjacency: NDArray[np.int8], method: Literal["hc", "tabu", "mmhc"], log: SearchLog, best: int
) -> Answer:
    """Return what a search ended with; ``best`` is the round that found it."""
    score = problem.score.total(adjacency)
    log.show(score)
    return Answer(
        method,
        adjacency,
        score,
        log.reason or "converged",
        trace=log.frame(),
        figures=Figures(moves=len(log.rows), restarts=log.round, best_round=best),
    )


_PHASES = {"hc": "hill climbing", "tabu": "tabu search", "mmhc": "hill climbing"}


def _shake(dag: MovingDag, perturb: int, rng: np.random.Generator, log: SearchLog) -> None:
    for _ in range(perturb):
        move = dag.random_move(rng)
        if move is not None:
            dag.apply(move)
            log.add(move, dag.score, why="random ")


def _reinserted(
    dag: MovingDag, start: NDArray[np.int8], deadline: Deadline, log: SearchLog, rng: np.random.Generator
) -> NDArray[np.int8]:
    """Return the DAG that a climb and reinsertions lead to; each reinsertion that helps is one row of the log."""
    if not dag.load(start, deadline):
        return start
    quiet = SearchLog(log.phase, log.names, NoProgress())
    best, score = climb(dag, deadline, log)
    deadline.answered()
    try:
        with ahead.in_time(deadline):
            return reinsert(dag, best, score, lambda: climb(dag, deadline, quiet), log.add_reinsertion, deadline, rng)
    except ahead.Late:
        return best
