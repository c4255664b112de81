"""``method="order"``: order search for either kind of data, then hill climbing from what it found, and again."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.constraints import Knowledge
from dagopt.errors import InputError, checked_whole
from dagopt.exact.answer import worth
from dagopt.exact.candidates import candidate_pool
from dagopt.exact.pool import MOST_NODES
from dagopt.exact.threads import Stopped, Workers
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress
from dagopt.result import Result
from dagopt.scores.gaussian import LogDetScore
from dagopt.search.hill_climbing import solve_hc, start_dag
from dagopt.search.order import ListedOrders, LogDetOrders, Orders, search_orders
from dagopt.stop import Deadline

__all__ = ["solve_order"]

Dag = NDArray[np.int8]

MANY_COLUMNS = 150  # from here all searches begin at the same DAG, and fewer are made unless asked otherwise
MOST_LISTED = 300_000  # parent sets of discrete data that are listed without asking
MOST_ROUNDS = 20


def solve_order(
    problem: Problem,
    *,
    deadline: Deadline,
    progress: Progress,
    restarts: int | None = None,
    kicks: int | None = None,
    candidates: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    start: object = None,
) -> Result:
    """Return the best DAG that order search finds; nothing is proven about it.

    Parameters
    ----------
    problem : Problem
        Any score, and knowledge.
    deadline, progress
        The clock, and where to tell what happens.
    restarts : int, optional
        Independent searches: 10, or 2 for 150 columns or more. The first begins at a DAG, ``start`` or else that of
        hill climbing; the others at random orders, or for 150 columns or more at the same DAG.
    kicks : int, optional
        How often each is disturbed and continued: 10, or 3 for 150 columns or more.
    candidates : int, optional
        Gaussian data: keep only about so many candidate parents of each column, which is faster and loses some
        score; all unless given.
    random_state : int
        Seed; the answer does not depend on ``n_jobs``.
    n_jobs : int, optional
        Threads; all cores for None and -1.
    start : graph, optional
        An allowed DAG to begin at; the answer is never worse.
    """
    many = problem.n_nodes >= MANY_COLUMNS
    restarts = checked_whole("restarts", (2 if many else 10) if restarts is None else restarts, 1)
    kicks = checked_whole("kicks", (3 if many else 10) if kicks is None else kicks, 0)
    random_state = checked_whole("random_state", random_state, 0)
    if candidates is not None:
        candidates = checked_whole("candidates", candidates, 1)
    if n_jobs is not None and n_jobs != -1:
        n_jobs = checked_whole("n_jobs", n_jobs, 1)
    notes: list[str] = []
    rows: list[tuple[float, str, float]] = []
    if start is None:
        dag = solve_hc(problem, deadline=deadline, progress=progress).adjacency
        rows.append(_row(problem, dag, deadline, "hill climbing"))
    else:
        dag = start_dag(problem, start)
        rows.append(_row(problem, dag, deadline, "start"))
    try:
        orders = _orders(problem, candidates, deadline, progress, n_jobs, notes)
    except Stopped:
        orders = None
    if orders is not None and deadline.reason is None:
        progress.update("order search", None)
        found, _ = search_orders(
            orders, problem, deadline, restarts=restarts, kicks=kicks, random_state=random_state, n_jobs=n_jobs,
            start=dag, all_from_start=many,
        )  # fmt: skip
        rows.append(_row(problem, found, deadline, "orders"))
        if rows[-1][2] > rows[0][2]:
            dag = found
        dag = _alternate(problem, orders, dag, deadline, rows, progress)
    return Result(
        names=problem.names,
        adjacency=dag,
        score=problem.score.total(dag),
        status=deadline.reason or "converged",
        method="order",
        score_label=problem.score.label,
        trace=pd.DataFrame(rows, columns=["seconds", "phase", "score"]),
        notes=tuple(notes),
        details=worth(problem, dag),
    )


def _orders(
    problem: Problem,
    candidates: int | None,
    deadline: Deadline,
    progress: Progress,
    n_jobs: int | None,
    notes: list[str],
) -> Orders:
    """Return how orders are scored: by growing and shrinking, or over listed parent sets."""
    n = problem.n_nodes
    if isinstance(problem.score, LogDetScore):
        if candidates is not None and candidates < n - 1:
            notes.append(f"candidate parents screened: about {candidates} a column (candidates=)")
        return LogDetOrders(problem, candidates)
    if n > MOST_NODES:
        raise InputError(
            f"order search lists the parent sets of at most {MOST_NODES} discrete columns but got {n}; use method='hc'"
        )
    knowledge, limit = _listable(problem.knowledge)
    if limit is not None:
        notes.append(f"orders searched over parent sets of size <= {limit}, then hill climbing without that limit")
    with Workers(deadline, progress, n_jobs) as workers:
        pool = candidate_pool(problem.score, knowledge, workers)
    return ListedOrders(pool.masks, pool.scores)


def _listable(knowledge: Knowledge) -> tuple[Knowledge, int | None]:
    """Return knowledge whose parent sets are few enough to be listed, and the limit that made them so."""
    n = knowledge.n_nodes
    sizes = range(n - 1, 2, -1)
    limit = next((k for k in sizes if n * sum(comb(n - 1, b) for b in range(k + 1)) <= MOST_LISTED), 2)
    limit = max(limit, int(knowledge.must.sum(axis=0).max(initial=0)))
    if (knowledge.at_most <= limit).all():
        return knowledge, None
    return replace(knowledge, at_most=np.minimum(knowledge.at_most, limit)), limit


def _alternate(
    problem: Problem,
    orders: Orders,
    dag: Dag,
    deadline: Deadline,
    rows: list[tuple[float, str, float]],
    progress: Progress,
) -> Dag:
    """Climb from the DAG by single edges and search from its order in turn, until neither helps."""
    best = problem.score.total(dag)
    for _ in range(MOST_ROUNDS):
        if deadline.reason is not None:
            break
        climbed = solve_hc(problem, deadline=deadline, progress=NoProgress(), start=dag)
        dag, score = climbed.adjacency, problem.score.total(climbed.adjacency)
        rows.append(_row(problem, dag, deadline, "hill climbing"))
        found, _ = search_orders(orders, problem, deadline, restarts=1, kicks=0, n_jobs=1, start=dag)
        other = problem.score.total(found)
        rows.append(_row(problem, found, deadline, "orders"))
        progress.update("order search", None, score=max(score, other))
        if other > score:
            dag, score = found, other
        if score <= best + 1e-7:
            break
        best = score
    return dag


def _row(problem: Problem, dag: Dag, deadline: Deadline, phase: str) -> tuple[float, str, float]:
    return deadline.elapsed(), phase, problem.score.total(dag)
