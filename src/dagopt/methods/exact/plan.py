"""The estimated cost of the exact method and the way it will run: made once, by ``auto`` or by the method itself."""

from __future__ import annotations

from dataclasses import dataclass

from dagopt.families.listing import count_sets
from dagopt.integer.recursion import pool_bytes, pool_seconds
from dagopt.memory import available_bytes, parse_bytes, readable
from dagopt.methods.exact.gpu import GpuRun, gpu_run
from dagopt.methods.exact.subset_dp import (
    POTENTIALS,
    RECURSION,
    Plan,
    best_score,
    plan_subset_dp,
    plans_subset_dp,
    potential_tables,
)
from dagopt.pace import machine_pace
from dagopt.problem import Problem
from dagopt.workers import Workers

__all__ = ["Estimate", "ExactPlan", "estimate_exact", "listing_seconds", "memory_in_bytes", "plan_exact"]

SHARE_OF_FREE_MEMORY = 0.85  # the rest is for the system
MOST_POOL_SETS = 3_000_000  # with at most this many sets to score, candidates are listed instead of tabulated
BYTES_PER_SET = 60  # of a listed set
SLOWER_WITH_KNOWLEDGE = 1.5  # the recursion if some sets are not allowed; 1.0 to 1.9 times with 16 to 20 columns

ANSWER_SECONDS = 0.005  # from the best DAG to the result, on the machine of the constants; CPU time, median of 55 runs
BEYOND_ALL = 10**15  # bytes; larger numbers are not shown in full
MOST_ESTIMATED = 60  # columns; with more, the estimate is the one for this many


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of the exact method, before anything is allocated.

    Attributes
    ----------
    way : {"table", "pool"}
        Tables of all parent sets, or a pool of listed candidates.
    n_bytes : int
        Memory.
    seconds : float
        Rough time on the machine of the constants, by which methods are chosen.
    fits : bool
        Whether the memory suffices.
    tables : Plan or None
        How the tables are cut, if tables are used and fit.
    potential_seconds : float
        The time to fill the tables of potentials, which ``seconds`` includes.
    cores : int
        How many threads work.
    """

    way: str
    n_bytes: int
    seconds: float
    fits: bool
    tables: Plan | None = None
    potential_seconds: float = 0.0
    cores: int = 1

    @property
    def seconds_here(self) -> float:
        """Rough time on this machine."""
        return self.seconds * machine_pace(self.cores)

    @property
    def phases(self) -> dict[str, float]:
        """The seconds of each phase on this machine, as far as they are known apart."""
        answer = ANSWER_SECONDS * machine_pace(self.cores)
        if self.tables is None:
            return {"": self.seconds_here + answer}
        filling = self.potential_seconds * machine_pace(self.cores)
        return {POTENTIALS: filling, RECURSION: self.seconds_here - filling, "answer": answer}

    def __str__(self) -> str:
        if self.n_bytes > BEYOND_ALL:
            return f"more than {readable(BEYOND_ALL)}"
        seconds = self.seconds_here
        told = f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 3600:.1f} h"
        return f"about {readable(self.n_bytes)} and {told if seconds >= 0.05 else 'less than 0.1 s'}"


def estimate_exact(problem: Problem, memory_limit: int, cores: int) -> Estimate:
    """Return the estimated cost of the exact method on the CPU, by the faster way that fits."""
    n = min(problem.n_nodes, MOST_ESTIMATED)
    tables = potential_tables(problem.score)
    table = plan_subset_dp(n, memory_limit, cores, tables)
    score = problem.score if table is None else best_score(problem.score, problem.knowledge)
    sets = count_sets(problem.knowledge)
    pooled_bytes = pool_bytes(n) + BYTES_PER_SET * min(sets, MOST_POOL_SETS)
    pooled = Estimate(
        "pool",
        pooled_bytes,
        pool_seconds(n, cores) + listing_seconds(problem, sets, cores),
        pooled_bytes <= memory_limit and sets <= MOST_POOL_SETS,
        cores=cores,
    )
    smallest = plans_subset_dp(n, cores, tables)[-1] if table is None else table
    slower = 1.0 if problem.knowledge.is_free else SLOWER_WITH_KNOWLEDGE
    filling = tables * 2.0**n * score.seconds_per_potential / cores
    seconds, fits = smallest.seconds * slower + filling, table is not None
    tabled = Estimate("table", smallest.n_bytes, seconds, fits, table, filling, cores)
    return min(pooled, tabled, key=lambda way: (not way.fits, way.seconds))


def listing_seconds(problem: Problem, sets: int, cores: int) -> float:
    """Return roughly how long it takes to score this many parent sets without pruning."""
    return float(min(sets, 1 << 60)) * problem.score.seconds_per_local / cores


def memory_in_bytes(memory_limit: int | float | str | None) -> int:
    """Return a memory limit in bytes: as given, or most of the free memory."""
    return int(SHARE_OF_FREE_MEMORY * available_bytes()) if memory_limit is None else parse_bytes(memory_limit)


@dataclass(frozen=True)
class ExactPlan:
    """How the exact method will run.

    Attributes
    ----------
    workers : Workers
        The threads that it was made for.
    memory_limit : int
        Bytes.
    gpu : GpuRun or None
        The run on a GPU, if one is to be used.
    estimate : Estimate
        The estimated cost on the CPU.
    """

    workers: Workers
    memory_limit: int
    gpu: GpuRun | None
    estimate: Estimate


def plan_exact(problem: Problem, workers: Workers, memory_limit: int | float | str | None, device: str) -> ExactPlan:
    """Return how the exact method would solve a problem; raise an error if a GPU is required but unusable."""
    limit = memory_in_bytes(memory_limit)
    gpu = None if device == "cpu" else gpu_run(problem, device, workers)
    return ExactPlan(workers, limit, gpu, estimate_exact(problem, limit, workers.count))
