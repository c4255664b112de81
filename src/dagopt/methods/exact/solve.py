"""``method="exact"``: choose between the two recursions, check that they fit, and report what is proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dagopt.candidates.listing import candidate_pool, count_sets
from dagopt.candidates.pool import Pool
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.memory import available_bytes, parse_bytes, readable
from dagopt.methods.answer import answer
from dagopt.methods.exact.gpu import gpu_run
from dagopt.methods.exact.pool_dp import pool_bytes, pool_seconds, solve_pool
from dagopt.methods.exact.subset_dp import SubsetDP, plan_subset_dp, plans_subset_dp, potential_tables
from dagopt.methods.options import device, memory_limit, n_best, n_jobs, solver
from dagopt.options import Options
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result
from dagopt.workers import Stopped, Workers

__all__ = [
    "Device",
    "Estimate",
    "ExactOptions",
    "PoolOptions",
    "estimate_exact",
    "listing_seconds",
    "memory_in_bytes",
    "solve_exact",
    "solve_given_pool",
]

Device = Literal["auto", "cpu", "gpu"]
Answer = tuple[NDArray[np.int8], float]  # a DAG, and the largest error of the scores by which it was chosen

SHARE_OF_FREE_MEMORY = 0.85
MOST_POOL_SETS = 3_000_000  # with at most so many sets to score, candidates are listed instead of tabled
BYTES_PER_SET = 60

BEYOND_ALL = 10**15  # bytes; larger figures are not shown in full
MOST_ESTIMATED = 60  # columns; with more, the estimate is that of this many


@dataclass(frozen=True)
class Estimate:
    """What the exact method would take, before anything is allocated.

    Attributes
    ----------
    way : {"table", "pool", "gpu"}
        Tables of all parent sets, a pool of listed candidates, or tables on a GPU.
    n_bytes : int
        Memory.
    seconds : float
        Rough time on this machine.
    fits : bool
        Whether the memory suffices.
    """

    way: str
    n_bytes: int
    seconds: float
    fits: bool

    def __str__(self) -> str:
        if self.n_bytes > BEYOND_ALL:
            return f"more than {readable(BEYOND_ALL)}"
        seconds = f"{self.seconds:.1f} s" if self.seconds < 600 else f"{self.seconds / 3600:.1f} h"
        return f"about {readable(self.n_bytes)} and {seconds}"


def estimate_exact(problem: Problem, memory_limit: int, cores: int) -> Estimate:
    """Return what the exact method would take on the CPU, by the faster way that fits."""
    n = min(problem.n_nodes, MOST_ESTIMATED)
    score, tables = problem.score, potential_tables(problem.score)
    table = plan_subset_dp(n, memory_limit, cores, tables)
    sets = count_sets(problem.knowledge)
    pooled_bytes = pool_bytes(n) + BYTES_PER_SET * min(sets, MOST_POOL_SETS)
    pooled = Estimate(
        "pool",
        pooled_bytes,
        pool_seconds(n, cores) + listing_seconds(problem, sets, cores),
        pooled_bytes <= memory_limit and sets <= MOST_POOL_SETS,
    )
    smallest = plans_subset_dp(n, cores, tables)[-1] if table is None else table
    slower = 1.0 if problem.knowledge.is_free else 4.0
    tabled = Estimate(
        "table",
        smallest.n_bytes,
        smallest.seconds * slower + tables * 2.0**n * score.seconds_per_potential / cores,
        table is not None,
    )
    return min(pooled, tabled, key=lambda way: (not way.fits, way.seconds))


def listing_seconds(problem: Problem, sets: int, cores: int) -> float:
    """Return how long it takes about to score so many parent sets, as if bounds spared none."""
    return float(min(sets, 1 << 60)) * problem.score.seconds_per_local / cores


def memory_in_bytes(memory_limit: int | float | str | None) -> int:
    """Return a memory limit in bytes: as given, or most of what is free."""
    return int(SHARE_OF_FREE_MEMORY * available_bytes()) if memory_limit is None else parse_bytes(memory_limit)


@dataclass(frozen=True)
class ExactOptions(Options):
    """Options of the exact method.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=6, n_samples=500, random_state=1)
    >>> learner = dagopt.ExactDP(max_parents=2).fit(data)
    >>> learner.result_.status, learner.adjacency_.shape
    ('optimal', (6, 6))
    """

    device: Device = device()
    memory_limit: int | float | str | None = memory_limit()
    n_jobs: int | None = n_jobs()
    n_best: int = n_best()


@solver(ExactOptions)
def solve_exact(problem: Problem, options: ExactOptions, deadline: Deadline, progress: Progress) -> Result:
    """Return the proven best DAG; before the end nothing is proven and the required edges alone are returned.

    Returns
    -------
    Result
        With ``status="optimal"`` and ``bound == score``.
    """
    limit = memory_in_bytes(options.memory_limit)
    workers = Workers(deadline, progress, options.n_jobs)
    if options.n_best != 1:
        from dagopt.methods.exact.best_classes import solve_best_classes

        return solve_best_classes(problem, options.n_best, workers, limit)
    way, note = _way(problem, options.device, limit, workers)
    progress.note(note)
    try:
        with workers:
            adjacency, error = way()
    except Stopped:
        return _stopped(problem, deadline, note)
    return answer(problem, adjacency, note, error)


@dataclass(frozen=True)
class PoolOptions(Options):
    """Options of the exact method over given parent sets."""

    memory_limit: int | float | str | None = memory_limit()
    n_jobs: int | None = n_jobs()


@solver(PoolOptions)
def solve_given_pool(pool: Pool, options: PoolOptions, deadline: Deadline, progress: Progress) -> Result:
    """Return the proven best DAG over given candidate parent sets, such as those of a ``.jkl`` file."""
    limit = memory_in_bytes(options.memory_limit)
    if pool_bytes(pool.n_nodes) > limit:
        raise InputError(
            f"the best DAG over a pool of {pool.n_nodes} nodes needs {readable(pool_bytes(pool.n_nodes))} but the "
            f"memory limit is {readable(limit)}; raise memory_limit= or use another method"
        )
    empty = np.zeros((pool.n_nodes, pool.n_nodes), dtype=np.int8)
    scope = "the given pool"
    try:
        with Workers(deadline, progress, options.n_jobs) as workers:
            adjacency, score = solve_pool(pool.without_dominated(), workers)
    except Stopped:
        assert deadline.reason is not None
        return Result(pool.names, empty, None, deadline.reason, "exact", "given local scores")
    return Result(pool.names, adjacency, score, "optimal", "exact", "given local scores", bound=score, scope=scope)


def _way(problem: Problem, device: Device, limit: int, workers: Workers) -> tuple[Callable[[], Answer], str]:
    """Return how to solve the problem, and a sentence about it; refuse what does not fit.

    The solution is a DAG and a bound on the error of the scores that it was chosen by.
    """
    if device != "cpu":
        found = gpu_run(problem, device, workers)
        if found is not None:
            return found.solve, found.note
    estimate = estimate_exact(problem, limit, workers.count)
    if not estimate.fits:
        raise InputError(
            f"the exact method for {problem.n_nodes} columns needs {estimate} but the memory limit is "
            f"{readable(limit)}; {_advice(problem, limit)}use fewer columns=, a GPU (device='gpu') or another method"
        )
    if estimate.way == "pool":
        return (lambda: _solve_by_pool(problem, workers)), f"exact over listed parent sets: {estimate}"
    plan = plan_subset_dp(problem.n_nodes, limit, workers.count, potential_tables(problem.score))
    assert plan is not None
    solver = SubsetDP(problem.score, problem.knowledge, plan, workers)
    return (lambda: (solver.run()[0], 0.0)), f"exact over all parent sets: {estimate}"


def _advice(problem: Problem, limit: int) -> str:
    """Return the advice to limit the number of parents, where that would fit the memory."""
    helps = pool_bytes(problem.n_nodes) <= limit and int(problem.knowledge.at_most.max()) > 3
    return "set max_parents= (3 or 4), " if helps else ""


def _solve_by_pool(problem: Problem, workers: Workers) -> Answer:
    pool = candidate_pool(problem.score, problem.knowledge, workers)
    return solve_pool(pool, workers)[0], 0.0


def _stopped(problem: Problem, deadline: Deadline, note: str) -> Result:
    """Return the DAG of the required edges: nothing better is known before the recursion ends."""
    assert deadline.reason is not None
    adjacency = problem.knowledge.must.astype(np.int8)
    return Result(
        names=problem.names,
        adjacency=adjacency,
        score=problem.score.total(adjacency),
        status=deadline.reason,
        method="exact",
        score_label=problem.score.label,
        notes=(note, "stopped before the end: only the required edges are in the graph"),
    )
