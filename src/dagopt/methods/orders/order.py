"""``method="order"``: order search for any kind of data, in turns with hill climbing and better parents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.kernels import ahead
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.method_options import n_jobs, random_state, solver, start
from dagopt.methods.orders.better_parents import BetterParents
from dagopt.methods.orders.search import (
    EQUAL,
    BareFamily,
    ListedOrders,
    Orders,
    families,
    orders_of,
    search_orders,
)
from dagopt.methods.start import StartDag, start_dag
from dagopt.options import Options, option, whole
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress
from dagopt.results.answer import Answer, worth
from dagopt.results.figures import Figures

__all__ = ["THOROUGH", "OrderOptions", "order_incumbent", "solve_order"]


THOROUGH = {"restarts": 10, "kicks": 10}  # the effort of a search that column generation follows
EFFORTS = ((150, 2, 4), (40, 2, 8), (0, 10, 10))  # least number of columns, restarts, rounds of kicks
FIRST_RESTARTS = 4  # if these agree, there are no others: on 20 tables of 25 columns these did not find more
MANY_COLUMNS = 150  # from here on hill climbing takes longer than the order search that would start from it, and so do
# better parents, which are looked for only if searches differ
CLIMB_SHARE = 0.2  # of the time limit, at most, for the first climb: on dense tables the search gains more in a second
LATER = 1000  # the stage of the random numbers of searches after better parents
MOST_ROUNDS = 20  # of climbing and searching in turn, which ends earlier if neither helps


@dataclass(frozen=True)
class OrderOptions(Options):
    """Options of order search."""

    restarts: int | None = option(
        None,
        "Independent searches: 10, or 4 if these agree; 2 for 40 columns or more. The first starts from start or, with "
        "fewer than 150 columns, from the DAG of hill climbing; the others from random orders, or from start if there "
        "are 150 or more.",
        whole(1),
    )
    kicks: int | None = option(
        None,
        "Rounds of disturbances, one disturbance per column in each: 10, 8 for 40 columns or more, 4 for 150 or "
        "more, where every round begins at what all searches found together.",
        whole(0),
    )
    candidates: int | None = option(
        None,
        "Keep only about this many candidate parents per column, those most associated with it, which is faster for "
        "many columns and may lower the score; all unless given.",
        whole(1),
    )
    random_state: int = random_state()
    n_jobs: int | None = n_jobs()
    start: Any = start()


@solver(OrderOptions)
def solve_order(problem: Problem, options: OrderOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Return the best DAG that order search finds; nothing is proven about it."""
    found = _search(problem, options, deadline, progress)
    return Answer(
        "order",
        found.dag,
        problem.score.total(found.dag),
        deadline.reason or "converged",
        trace=pd.DataFrame(found.rows, columns=["seconds", "phase", "score"]),
        notes=tuple(found.notes),
        figures=Figures(searches_agree=found.agree, **worth(problem, found.dag)),
    )


def order_incumbent(
    problem: Problem, deadline: Deadline, progress: Progress, *, pool: Families | None = None, **options: Any
) -> tuple[Dag, list[BareFamily]]:
    """Return the DAG that ``solve_order`` finds, and (node, parents) of all locally optimal DAGs found.

    The options are those of ``solve_order``. Parents are in increasing order, and no set is listed twice; those of
    the DAG itself are in the list. ``pool``, if given, has the parent sets to search over.
    """
    found = _search(problem, OrderOptions(**options), deadline, progress, keep_met=True, pool=pool)
    return found.dag, list(found.met)


@dataclass
class _Search:
    """A search in progress: the best DAG, the rows of the trace, notes, and the parent sets of local optima."""

    problem: Problem
    deadline: Deadline
    dag: Dag
    rows: list[tuple[float, str, float]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    met: dict[BareFamily, None] = field(default_factory=dict)
    agree: bool | None = None  # whether several searches ended at the best score; None if there was one

    def row(self, phase: str, dag: Dag) -> float:
        """Add what a phase found to the trace, and return its score."""
        score = self.problem.score.total(dag)
        self.rows.append((self.deadline.elapsed(), phase, score))
        self.deadline.answered()
        return score


def _search(
    problem: Problem,
    options: OrderOptions,
    deadline: Deadline,
    progress: Progress,
    keep_met: bool = False,
    pool: Families | None = None,
) -> _Search:
    """Climb, search over orders from there, and alternate."""
    start = options.start
    many = start is None and pool is None and problem.n_nodes >= MANY_COLUMNS and not ahead.under_way()
    if start is None and not many:
        # Reinsertion takes most of a climb over discrete data, and the search over orders moves columns faster.
        alone: dict[str, Any] = {} if ahead.under_way() else {"reinsert": False}
        clock = deadline.within((CLIMB_SHARE if alone else 1.0) * deadline.remaining())
        run = _Search(problem, deadline, solve_hc(problem, deadline=clock, progress=progress, **alone).adjacency)
    else:
        run = _Search(problem, deadline, start_dag(problem, start))
    run.row("hill climbing" if start is None and not many else "start", run.dag)
    if deadline.reason is None and ahead.ready(deadline, "order"):
        progress.update("order search", None)
        try:
            with ahead.in_time(deadline):
                orders = _orders(problem, options.candidates, run.notes) if pool is None else ListedOrders(pool)
                states = _stages(run, orders, options, None if many else run.dag, keep_met)
                _alternate(run, orders, options, progress, states)
        except ahead.Late:
            run.notes.append(ahead.LATE)
    if keep_met:
        run.met.update(dict.fromkeys(families(run.dag)))
    return run


def _stages(run: _Search, orders: Orders, options: OrderOptions, start: Dag | None, keep_met: bool) -> tuple[Any, ...]:
    """Search in stages, each from what the earlier ones found together; return the states of the searches."""
    problem = run.problem
    n = problem.n_nodes
    restarts, kicks = _effort(n, options)
    count = max(kicks, 1) if n >= MANY_COLUMNS and restarts > 1 else 1
    parts = [restarts] * count
    if options.restarts is None and restarts > FIRST_RESTARTS and not keep_met:
        parts = [FIRST_RESTARTS, restarts - FIRST_RESTARTS]
    states: tuple[Any, ...] = ()
    best = run.rows[-1][2]
    for stage, searches in enumerate(parts):
        found = search_orders(
            orders,
            problem,
            run.deadline,
            restarts=searches,
            kicks=kicks // count,
            random_state=options.random_state,
            n_jobs=options.n_jobs,
            start=start,
            all_from_start=n >= MANY_COLUMNS,
            keep_met=keep_met,
            stage=stage,
            all_places=count == 1,
            after=states,
        )
        states = found.states
        run.met.update(dict.fromkeys((node, parents) for node, parents, _ in found.met))
        score = run.row("orders", found.dag)
        if score > best + EQUAL:
            run.dag, best = found.dag, score
        start = run.dag
        run.agree = found.all_agree if searches > 1 else None
        if run.deadline.reason is not None or (found.all_agree and n < MANY_COLUMNS):
            break
    return states


def _effort(n_nodes: int, options: OrderOptions) -> tuple[int, int]:
    """Return the number of searches and of rounds of kicks in each."""
    restarts, kicks = next(effort for least, *effort in EFFORTS if n_nodes >= least)
    return options.restarts or restarts, kicks if options.kicks is None else options.kicks


def _orders(problem: Problem, candidates: int | None, notes: list[str]) -> Orders:
    """Return how orders are scored, by the kind of the score."""
    if candidates is not None and candidates < problem.n_nodes - 1:
        notes.append(f"candidate parents screened: about {candidates} per column (candidates=)")
    return orders_of(problem, candidates)


def _alternate(
    run: _Search, orders: Orders, options: OrderOptions, progress: Progress, states: tuple[Any, ...]
) -> None:
    """Climb from the DAG by single edges, look for better parents, and search from its order, until nothing helps."""
    problem, deadline = run.problem, run.deadline
    best, parents = problem.score.total(run.dag), BetterParents(problem)
    _, kicks = _effort(problem.n_nodes, options)
    for k in range(MOST_ROUNDS):
        if deadline.reason is not None:
            break
        run.dag = solve_hc(problem, deadline=deadline, progress=NoProgress(), start=StartDag(run.dag)).adjacency
        climbed = run.row("hill climbing", run.dag)
        if problem.n_nodes < MANY_COLUMNS or run.agree is False:
            run.dag = parents.improve(run.dag, deadline)
        score = run.row("parents", run.dag)
        again = search_orders(
            orders,
            problem,
            deadline,
            restarts=1,
            kicks=kicks if score > climbed + EQUAL else 0,  # from a DAG that no search has seen
            random_state=options.random_state,
            n_jobs=1,
            start=run.dag,
            stage=LATER + k,
            after=states,
        )
        found, states = again.dag, again.states
        other = run.row("orders", found)
        progress.update("order search", None, score=max(score, other))
        if other > score + EQUAL:
            run.dag, score = found, other
        if score <= best + 1e-7:
            break
        best, run.agree = score, None if run.agree is None else False
