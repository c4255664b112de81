"""``method="exact"``: run the recursion that the plan names, or refuse it, and report what is proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families
from dagopt.families.listing import candidate_pool
from dagopt.integer.recursion import pool_bytes, solve_pool
from dagopt.memory import readable
from dagopt.methods.exact.best_classes import solve_best_classes
from dagopt.methods.exact.exact_answer import exact_answer
from dagopt.methods.exact.in_time import InTime
from dagopt.methods.exact.plan import ExactPlan, memory_in_bytes, plan_exact
from dagopt.methods.exact.stopped import stopped_answer
from dagopt.methods.exact.subset_dp import SubsetDP
from dagopt.methods.method_options import device, memory_limit, n_best, n_jobs, solver
from dagopt.options import Options
from dagopt.problem import Problem
from dagopt.progress import Progress, expect
from dagopt.results.answer import Answer
from dagopt.results.certificate import GIVEN_POOL, Certificate
from dagopt.workers import Stopped, Workers

__all__ = [
    "Device",
    "ExactOptions",
    "PoolOptions",
    "best_dag",
    "exact_in_time",
    "run_exact",
    "solve_exact",
    "solve_given_pool",
]

Device = Literal["auto", "cpu", "gpu"]
Found = tuple[NDArray[np.int8], float]  # a DAG, and the largest error of the scores by which it was chosen


@dataclass(frozen=True)
class ExactOptions(Options):
    """Options of the exact method."""

    device: Device = device()
    memory_limit: int | float | str | None = memory_limit()
    n_jobs: int | None = n_jobs()
    n_best: int = n_best()

    def plan(self, problem: Problem, deadline: Deadline, progress: Progress) -> ExactPlan:
        """Return how the exact method would run; several classes are found on the CPU alone."""
        device = self.device if self.n_best == 1 else "cpu"
        return plan_exact(problem, Workers(deadline, progress, self.n_jobs), self.memory_limit, device)


@solver(ExactOptions)
def solve_exact(problem: Problem, options: ExactOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Return the proven best DAG; a run that is stopped proves nothing and returns the DAG of a short search.

    Returns
    -------
    Answer
        With ``status="optimal"`` and a bound equal to the score, up to rounding.
    """
    return run_exact(problem, options.plan(problem, deadline, progress), options.n_best)


def run_exact(problem: Problem, plan: ExactPlan, n_best: int = 1, begun: Dag | None = None) -> Answer:
    """Return what ``solve_exact`` returns, by a plan that is made; a run that is stopped searches on from a DAG."""
    workers = plan.workers
    if n_best != 1:
        return solve_best_classes(problem, n_best, workers, plan.memory_limit)
    way, note = _way(problem, plan)
    workers.progress.note(note)
    if plan.gpu is None:
        expect(workers.progress, plan.estimate.phases)
    try:
        with workers:
            adjacency, error = way()
    except Stopped:
        return stopped_answer(problem, workers, note, begun)
    return exact_answer(problem, adjacency, note, error)


def exact_in_time(problem: Problem, plan: ExactPlan, deadline: Deadline) -> Answer | None:
    """Return the proven best DAG by tables of all parent sets, or None as soon as it is seen that it would be late."""
    watch = InTime(plan.workers.progress, plan.estimate, deadline)
    workers = Workers(deadline, watch, plan.workers.count)
    way, note = _way(problem, replace(plan, workers=workers))
    try:
        with workers:
            adjacency, error = way()
    except Stopped:
        return None
    return exact_answer(problem, adjacency, note, error)


def best_dag(problem: Problem, plan: ExactPlan) -> NDArray[np.int8]:
    """Return the best DAG and nothing about it, for many problems of one size; raise ``Stopped`` at the deadline."""
    way, _ = _way(problem, plan)
    with plan.workers:
        return way()[0]


@dataclass(frozen=True)
class PoolOptions(Options):
    """Options of the exact method over given parent sets."""

    memory_limit: int | float | str | None = memory_limit()
    n_jobs: int | None = n_jobs()


@solver(PoolOptions)
def solve_given_pool(pool: Families, options: PoolOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Return the proven best DAG over given candidate parent sets, such as those of a ``.jkl`` file."""
    limit = memory_in_bytes(options.memory_limit)
    if pool_bytes(pool.n_nodes) > limit:
        raise InputError(
            f"the best DAG over a pool of {pool.n_nodes} nodes needs {readable(pool_bytes(pool.n_nodes))} but the "
            f"memory limit is {readable(limit)}; raise memory_limit= or use another method"
        )
    empty = np.zeros((pool.n_nodes, pool.n_nodes), dtype=np.int8)
    try:
        with Workers(deadline, progress, options.n_jobs) as workers:
            adjacency, score = solve_pool(pool.without_dominated(), workers)
    except Stopped:
        assert deadline.reason is not None
        return Answer("exact", empty, None, deadline.reason)
    return Answer("exact", adjacency, score, "optimal", Certificate(score, GIVEN_POOL, "subset recursion"))


def _way(problem: Problem, plan: ExactPlan) -> tuple[Callable[[], Found], str]:
    """Return how to solve the problem, and a sentence about it; refuse what does not fit.

    The solution is a DAG and a bound on the error of the scores by which it was chosen.
    """
    if plan.gpu is not None:
        return plan.gpu.solve, plan.gpu.note
    estimate, workers = plan.estimate, plan.workers
    if not estimate.fits:
        raise InputError(
            f"the exact method for {problem.n_nodes} columns needs {estimate} but the memory limit is "
            f"{readable(plan.memory_limit)}; {_advice(problem, plan.memory_limit)}choose fewer columns=, a GPU "
            f"(device='gpu') or another method"
        )
    if estimate.tables is None:
        return (lambda: _solve_by_pool(problem, workers)), f"exact over listed parent sets: {estimate}"
    solver = SubsetDP(problem.score, problem.knowledge, estimate.tables, workers)
    return (lambda: (solver.run()[0], 0.0)), f"exact over all parent sets: {estimate}"


def _advice(problem: Problem, limit: int) -> str:
    """Return the advice to limit the number of parents, if the problem would then fit in memory."""
    helps = pool_bytes(problem.n_nodes) <= limit and int(problem.knowledge.at_most.max()) > 3
    return "set max_parents= (3 or 4), " if helps else ""


def _solve_by_pool(problem: Problem, workers: Workers) -> Found:
    pool = candidate_pool(problem.score, problem.knowledge, workers)
    return solve_pool(pool, workers)[0], 0.0
