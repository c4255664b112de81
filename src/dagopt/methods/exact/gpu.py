"""When and how the exact method runs on a GPU; the kernels are in ``subset_dp_gpu.py``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.kernels.gaussian.logdet import PIVOT_FLOOR
from dagopt.memory import readable
from dagopt.methods.exact.subset_dp import all_potentials, best_score
from dagopt.problem import Problem
from dagopt.workers import Stopped, Workers

__all__ = ["GpuRun", "find_device", "gpu_run"]

WORTH_IT = 21  # columns from which ``auto`` uses a GPU if there is one
MOST_WORTH_IT = 36  # columns beyond which no device has the memory; looking for one takes a second
LEAST_SECONDS = 5.0  # with less time left ``auto`` does not look for a GPU, which takes a second or more
MOST_COUNTED = 24  # columns of discrete data whose potentials the CPU still counts in reasonable time


@dataclass(frozen=True)
class GpuRun:
    """A run that fits the device.

    Attributes
    ----------
    solve : callable
        Returns the best DAG and a bound on the error of the scores by which it was chosen (0 for float64).
    note : str
        Its estimated cost, in words.
    """

    solve: Callable[[], tuple[NDArray[np.int8], float]]
    note: str


def gpu_run(problem: Problem, device: str, workers: Workers) -> GpuRun | None:
    """Return how to solve the problem on a GPU, or None to use the CPU; raise if a GPU is required but unusable."""
    is_worth_it = WORTH_IT <= problem.n_nodes <= MOST_WORTH_IT and workers.deadline.remaining() >= LEAST_SECONDS
    if device == "auto" and not is_worth_it:
        return None
    try:
        gpu, name, free = find_device()
    except InputError:
        if device == "auto":
            return None
        raise
    plan = gpu.plan_gpu(problem.n_nodes, free)
    lack = _lack(problem, gpu, plan, f"{name} with {readable(free)} free")
    if plan is None or lack is not None:
        if device == "auto":
            return None
        raise InputError(f"{lack}; use device='cpu' or another method")
    note = f"exact on {name}: about {readable(plan.n_bytes)} in {plan.dtype}"
    return GpuRun(lambda: _solve(problem, gpu, plan, workers), note)


def _lack(problem: Problem, gpu: Any, plan: Any, where: str) -> str | None:
    """Return why a problem cannot be solved on the device, None if it can."""
    n, score = problem.n_nodes, problem.score
    if n < gpu.FEWEST_NODES:
        return f"{n} columns are too few for device='gpu', which takes at least {gpu.FEWEST_NODES}"
    if not score.is_score_equivalent:
        return "device='gpu' takes only scores that are the same for equivalent DAGs, and this one is not"
    counted = score.logdets is None or not score.logdets_suffice
    if counted and n > MOST_COUNTED:
        return f"device='gpu' takes at most {MOST_COUNTED} columns with this score, which the CPU computes, but got {n}"
    return f"{n} columns do not fit on {where}" if plan is None else None


def find_device() -> tuple[Any, str, int]:
    """Return the module that runs on the CUDA device, its name and its free bytes, or raise an error that says why."""
    try:
        from dagopt.methods.exact import subset_dp_gpu as gpu

        return gpu, *_name_and_memory(gpu)
    except Exception as error:  # no CuPy, no driver, no device
        raise InputError(
            f"device='gpu' needs CuPy and a CUDA device ({type(error).__name__}: {str(error).splitlines()[0]}); "
            f"install it with: pip install 'dagopt[gpu]', or use device='cpu'"
        ) from error


def _name_and_memory(gpu: Any) -> tuple[str, int]:
    device = gpu.cp.cuda.Device()
    properties = gpu.cp.cuda.runtime.getDeviceProperties(device.id)
    return properties["name"].decode(), int(device.mem_info[0])


def _solve(problem: Problem, gpu: Any, plan: Any, workers: Workers) -> tuple[NDArray[np.int8], float]:
    knowledge = problem.knowledge
    must, may = knowledge.masks
    score = problem.score
    form: dict[str, Any] = {"matrix": None, "constant": None, "power": None}
    if score.logdets is not None and score.logdets_suffice:
        form = score.logdets._asdict()
    else:
        form["potential"] = all_potentials(best_score(score, knowledge), workers).of(0)

    def tick(phase: str, fraction: float) -> None:
        workers.progress.update(phase, fraction)
        if workers.deadline.reason is not None:
            raise Stopped

    solver = gpu.GpuSubsetDP(
        must=must,
        may=may,
        at_most=knowledge.at_most,
        plan=plan,
        tick=tick,
        pivot_floor=PIVOT_FLOOR,
        **form,
    )
    adjacency, _, largest = solver.run()
    return adjacency, gpu.rounding_error(problem.n_nodes, largest, plan.dtype)
