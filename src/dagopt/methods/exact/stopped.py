"""The answer of an exact run that was stopped: its recursion has no DAG before its end, so a short climb finds one."""

from __future__ import annotations

from dagopt.deadline import Deadline
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.results.answer import Answer

__all__ = ["stopped_answer"]

SECONDS = 0.5  # of the climb; for as many columns as the recursion takes, it ends long before


def stopped_answer(problem: Problem, deadline: Deadline, note: str) -> Answer:
    """Return the DAG of hill climbing from the required edges; nothing is proven about it."""
    assert deadline.reason is not None
    found = solve_hc(problem, deadline=Deadline(SECONDS), progress=NoProgress())
    return Answer(
        "exact",
        found.adjacency,
        found.score,
        deadline.reason,
        notes=(note, "stopped before the end: the graph is that of a short hill climb"),
    )
