"""A kernel as plain Python, also where compilation is switched off and kernels are plain functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dagopt.kernels.plain import plain
from dagopt.kernels.store import Kernel

__all__ = ["as_python"]


def as_python(kernel: Any) -> Callable[..., Any]:
    """Return a kernel as plain Python, together with the kernels that it calls."""
    found: Callable[..., Any] = plain(kernel) if isinstance(kernel, Kernel) else kernel
    return found
