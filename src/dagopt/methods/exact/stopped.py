"""The answer of an exact run that was stopped: its recursion has no DAG before its end, so a short search finds one."""

from __future__ import annotations

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.start import StartDag
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.results.answer import Answer
from dagopt.workers import Workers

__all__ = ["stopped_answer"]

# At most; for as many columns as the recursion takes, both end long before unless scores or the machine are slow.
CLIMB_SECONDS, SEARCH_SECONDS = 1.0, 0.5
RESTARTS = 5  # of the search


def stopped_answer(problem: Problem, workers: Workers, note: str, begun: Dag | None = None) -> Answer:
    """Return the DAG of an order search from a given one or that of a hill climb; nothing is proven about it."""
    from dagopt.methods.orders.order import solve_order  # loads numba, which a run that ends in time may not need

    reason = workers.deadline.reason
    assert reason is not None
    if begun is None:
        begun = solve_hc(problem, deadline=Deadline(CLIMB_SECONDS), progress=NoProgress()).adjacency
    searched = solve_order(
        problem, deadline=Deadline(SEARCH_SECONDS), progress=NoProgress(), n_jobs=workers.count, restarts=RESTARTS,
        start=StartDag(begun),
    )  # fmt: skip
    dag = max((begun, searched.adjacency), key=problem.score.total)
    return Answer(
        "exact",
        dag,
        problem.score.total(dag),
        reason,
        notes=(note, "stopped before the end: the graph is that of a short search"),
    )
