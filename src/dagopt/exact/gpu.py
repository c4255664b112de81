"""When and how the exact method runs on a GPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.exact.threads import Workers
from dagopt.problem import Problem

__all__ = ["gpu_way"]


def gpu_way(
    problem: Problem, device: str, workers: Workers
) -> tuple[Callable[[], tuple[NDArray[np.int8], float]], str] | None:
    """Return how to solve the problem on a GPU, or None to use the CPU; refuse if a GPU was asked for in vain."""
    if device == "gpu":
        raise InputError("device='gpu' is not available yet")
    return None
