"""Runs of a benchmark, several at the same time, and the clock of their limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice, takewhile
from multiprocessing import get_context
from typing import TypeVar

Task = TypeVar("Task")
Line = TypeVar("Line")


def answers(
    run: Callable[[Task], Line], tasks: Sequence[Task], jobs: int, within: float = float("inf")
) -> Iterator[Line]:
    """Yield what the runs return, in the order in which they end; none begins after so many seconds.

    Each of several jobs is a process of its own.
    """
    begin = time.monotonic()
    todo = takewhile(lambda _: time.monotonic() - begin < within, tasks)
    if jobs == 1:
        yield from map(run, todo)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        busy = {pool.submit(run, task) for task in islice(todo, jobs)}
        while busy:
            done, busy = wait(busy, return_when=FIRST_COMPLETED)
            busy |= {pool.submit(run, task) for task in islice(todo, len(done))}
            yield from (future.result() for future in done)


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
