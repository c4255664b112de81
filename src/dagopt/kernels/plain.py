"""Kernels without compilation: for a small amount of work, plain Python finishes before compilation would.

Kernels are compiled the first time they are called on a machine, which takes seconds. After that they are loaded from
the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from dagopt.kernels.store import Kernel, is_stored

__all__ = ["compiled_or_python", "new_pass", "plain", "repeated"]

LOADING_STEPS = 1_500_000  # of all kernels together in plain Python, in the time that numba takes to load
MOST_PLAIN_STEPS = 5_000_000  # per kernel in plain Python: one or two seconds, less than most take to compile
_plain: dict[Any, Callable[..., Any]] = {}
_steps: dict[Any, int] = {}
_unstored: set[Any] = set()
_times = [1]


def compiled_or_python(
    kernel: Any, steps: int, *, log1p: bool = False, arrays: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """Return what to call for this many elementary steps: the kernel, or plain Python if that finishes sooner.

    A kernel that has not been compiled before, in this process or on this machine, runs uncompiled until it has made
    ``MOST_PLAIN_STEPS`` in all, or would make them within ``repeated``: by then, compiling it costs about as much as
    has been spent. As long as numba is not loaded, the same holds for all kernels and ``LOADING_STEPS``.

    Parameters
    ----------
    kernel : Kernel
        The kernel; a plain function if compilation is switched off.
    steps : int
        The number of steps, each of about 0.3 microseconds in plain Python.
    log1p : bool
        Whether the kernel calls log1p. Its last digits may differ in plain Python, so such a kernel is always compiled:
        an answer must not depend on what is stored on the disk.
    arrays : callable, optional
        A function that does the same with whole arrays, to the last digit. It is called instead of plain Python.
    """
    compiled: Callable[..., Any] = kernel
    if not isinstance(kernel, Kernel) or kernel.is_in_use or log1p:
        return compiled
    more = steps * _times[0]
    if _steps.get(kernel, 0) + more > MOST_PLAIN_STEPS:
        return compiled
    if Kernel.loaded or sum(_steps.values()) + more > LOADING_STEPS:
        if kernel not in _unstored and is_stored(kernel):
            return compiled
        _unstored.add(kernel)
    _steps[kernel] = _steps.get(kernel, 0) + more
    return partial(_quietly, arrays or plain(kernel))


@contextmanager
def repeated(times: int) -> Iterator[None]:
    """Announce that the work within is done this many times; each time begins with ``new_pass``."""
    before, _times[0] = _times[0], max(times, 1)
    try:
        yield
    finally:
        _times[0] = before


def new_pass() -> None:
    """Announce that the repeated work begins once more; this does nothing outside ``repeated``."""
    if _times[0] > 1:
        _steps.clear()


def plain(kernel: Any) -> Callable[..., Any]:
    """Return a kernel as plain Python, together with the kernels that it calls.

    Where compilation is switched off, kernels are plain functions already.
    """
    if not isinstance(kernel, Kernel):
        given: Callable[..., Any] = kernel
        return given
    function = kernel.py_func
    if function not in _plain:
        scope = dict(function.__globals__)
        _plain[function] = FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
        for name in function.__code__.co_names:
            if isinstance(scope.get(name), Kernel):
                scope[name] = plain(scope[name])
    return _plain[function]


def _quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function without warnings about what compiled code does silently, such as hashes that wrap around."""
    with np.errstate(all="ignore"):
        return function(*arguments)
