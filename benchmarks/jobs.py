"""Runs of a benchmark, several at the same time, and the clock of their limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Line = TypeVar("Line")


def answers(run: Callable[[Task], Line], tasks: Sequence[Task], jobs: int) -> Iterator[Line]:
    """Yield what the runs return, in the order in which they end; each of several jobs is a process of its own."""
    if jobs == 1:
        yield from map(run, tasks)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(run, task) for task in tasks]):
            yield future.result()


@contextmanager
def counting(clock: Callable[[], float]) -> Iterator[None]:
    """Let this clock measure the time limits of ``learn``."""
    try:  # of the checkout that is run
        from dagopt.learning import learning
    except ImportError:  # an older one, where it was a module
        from dagopt import learning
    from dagopt.deadline import Deadline

    before = learning.Deadline
    learning.__dict__["Deadline"] = lambda seconds=None: Deadline(seconds, clock)
    try:
        yield
    finally:
        learning.__dict__["Deadline"] = before
