"""``method="auto"``: the proven optimum while it fits, else CG-DCA joined with order search.

The rule, in this order:

1. exact, if its estimate fits the memory and ``PATIENCE`` seconds (or the time limit, if that is shorter);
2. cg-dca, within the time limit or else ``PATIENCE`` seconds;
3. order search alone, within the same time, where neither DCA nor a list of discrete parent sets serves the score:
   BGe, and scores of your own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from dagopt.deadline import Deadline
from dagopt.methods.column_generation.cg_dca import solve_cg_dca
from dagopt.methods.exact.gpu import gpu_run
from dagopt.methods.exact.solve import Estimate, ExactOptions, estimate_exact, memory_in_bytes, solve_exact
from dagopt.methods.options import random_state, solver, start
from dagopt.methods.orders.solve import solve_order
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result
from dagopt.workers import Workers

__all__ = ["PATIENCE", "AutoOptions", "choose", "solve_auto"]

PATIENCE = 60.0
SAFETY = 3.0  # estimates of time are rough


@dataclass(frozen=True)
class AutoOptions(ExactOptions):
    """Options of the choice by size; ``n_best`` above 1 asks for the exact method, which needs no ``start``."""

    random_state: int = random_state()
    start: Any = start()


@solver(AutoOptions)
def solve_auto(problem: Problem, options: AutoOptions, deadline: Deadline, progress: Progress) -> Result:
    """Choose a method by the size of the problem, say why, and run it."""
    exact = {name: getattr(options, name) for name in ExactOptions.defaults()}
    if options.n_best != 1:
        return solve_exact(problem, deadline=deadline, progress=progress, **exact)
    workers = Workers(deadline, progress, options.n_jobs)
    limit = memory_in_bytes(options.memory_limit)
    on_gpu = options.device != "cpu" and gpu_run(problem, options.device, workers) is not None
    estimate = estimate_exact(problem, limit, workers.count)
    method, why = ("exact", "a GPU has room for it") if on_gpu else choose(problem, estimate, deadline.remaining())
    progress.note(f"method {method}: {why}")
    if method == "exact":
        result = solve_exact(problem, deadline=deadline, progress=progress, **exact)
    else:
        search = solve_cg_dca if method == "cg-dca" else solve_order
        clock = deadline.within(PATIENCE) if math.isinf(deadline.time_limit) else deadline
        shared = {name: getattr(options, name) for name in ("random_state", "n_jobs", "start")}
        result = search(problem, deadline=clock, progress=progress, **shared)
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
