"""``method="auto"``: the proven optimum while it fits, else CG-DCA joined with order search.

The rule, in this order:

1. exact, if its estimate fits the memory and ``PATIENCE`` seconds (or the time limit, if that is shorter);
2. cg-dca, within the time limit or else ``PATIENCE`` seconds;
3. order search alone, within the same time, where neither DCA nor a list of discrete parent sets serves the score:
   BGe, and scores of your own.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dagopt.deadline import Deadline
from dagopt.methods.column_generation.cg_dca import solve_cg_dca
from dagopt.methods.exact.gpu import gpu_run
from dagopt.methods.exact.solve import Device, Estimate, check_device, estimate_exact, memory_in_bytes, solve_exact
from dagopt.methods.orders.solve import solve_order
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result
from dagopt.workers import Workers

__all__ = ["PATIENCE", "choose", "solve_auto"]

PATIENCE = 60.0
SAFETY = 3.0  # estimates of time are rough


def solve_auto(
    problem: Problem,
    *,
    deadline: Deadline,
    progress: Progress,
    device: Device = "auto",
    memory_limit: int | float | str | None = None,
    n_jobs: int | None = None,
    n_best: int = 1,
    random_state: int = 0,
    start: object = None,
) -> Result:
    """Choose a method by the size of the problem, say why, and run it.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    deadline, progress
        The clock, and where to tell what happens.
    device, memory_limit, n_jobs
        As in ``solve_exact``.
    n_best : int
        As in ``solve_exact``; more than 1 asks for the exact method.
    random_state : int
        Seed, where the method chosen is random.
    start : graph, optional
        An allowed DAG; the answer is never worse. The exact method does not need it.
    """
    check_device(device)
    if n_best != 1:
        return solve_exact(
            problem, deadline=deadline, progress=progress, memory_limit=memory_limit, n_jobs=n_jobs, n_best=n_best
        )
    workers = Workers(deadline, progress, n_jobs)
    limit = memory_in_bytes(memory_limit)
    on_gpu = device != "cpu" and gpu_run(problem, device, workers) is not None
    estimate = estimate_exact(problem, limit, workers.count)
    method, why = ("exact", "a GPU has room for it") if on_gpu else choose(problem, estimate, deadline.remaining())
    progress.note(f"method {method}: {why}")
    if method == "exact":
        result = solve_exact(
            problem, deadline=deadline, progress=progress, device=device, memory_limit=memory_limit, n_jobs=n_jobs
        )
    else:
        search = solve_cg_dca if method == "cg-dca" else solve_order
        clock = deadline.within(PATIENCE) if math.isinf(deadline.time_limit) else deadline
        result = search(
            problem, deadline=clock, progress=progress, random_state=random_state, n_jobs=n_jobs, start=start
        )
        if result.status == "time_limit" and clock is not deadline:
            result = replace(result, notes=(*result.notes, f"ended after {PATIENCE:.0f} s; time_limit= gives more"))
    return replace(result, notes=(f"auto chose {method}: {why}", *result.notes))


def choose(problem: Problem, estimate: Estimate, seconds: float) -> tuple[str, str]:
    """Return the method for a problem and the reason, given what exact would take and the time there is."""
    patience = min(PATIENCE, seconds)
    if estimate.fits and SAFETY * estimate.seconds <= patience:
        return "exact", f"the proven optimum takes {estimate}"
    lack = f"the proven optimum would take {estimate}, more than {'the time' if estimate.fits else 'the memory'} allows"
    if problem.score.likelihood is None and problem.score.bulk_joints is None:
        return "order", lack
    return "cg-dca", lack
