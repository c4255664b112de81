"""Pieces of work on threads, with one clock and the true fraction of work done."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from types import TracebackType
from typing import TypeVar

from dagopt.deadline import Deadline, Stopped
from dagopt.errors import checked_jobs
from dagopt.progress import Progress

__all__ = ["Stopped", "Workers", "ordered_map", "spans", "thread_count"]

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads to use: all cores that this process may use for None and -1."""
    jobs = checked_jobs("n_jobs", n_jobs)
    if jobs is not None:
        return jobs
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered_map(answer: Callable[[Question], Answer], questions: Iterable[Question], n_jobs: int) -> Iterator[Answer]:
    """Yield the answers in the order of the questions, computed by ``n_jobs`` threads."""
    if n_jobs == 1:
        yield from map(answer, questions)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield from pool.map(answer, questions)


class Workers:
    """Threads that run kernels, which release the interpreter lock, so that all cores work.

    Parameters
    ----------
    deadline : Deadline
        When to stop; checked five times a second.
    progress : Progress
        Where progress is reported.
    n_jobs : int, optional
        Number of threads; all cores for None and -1.
    """

    def __init__(self, deadline: Deadline, progress: Progress, n_jobs: int | None = None) -> None:
        self.count = thread_count(n_jobs)
        self.deadline = deadline
        self.progress = progress

    def __enter__(self) -> Workers:
        self._pool = ThreadPoolExecutor(self.count)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def each(
        self,
        phase: str,
        pieces: Iterable[Callable[[], object]],
        count: int,
        share: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        """Run all ``count`` pieces, which make up this share of the phase; raise ``Stopped`` at the deadline."""
        if self.count == 1:  # in this thread: for short pieces, handing them over takes most of the time
            for finished, piece in enumerate(pieces, start=1):
                piece()
                self._report(phase, share, finished / max(count, 1))
            return
        waiting = iter(pieces)
        running = {self._pool.submit(piece) for piece in islice(waiting, 2 * self.count)}
        finished = 0
        while running:
            done, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            finished += len(done)
            try:
                self._report(phase, share, finished / max(count, 1))
            except Stopped:
                wait(running)
                raise
            running |= {self._pool.submit(piece) for piece in islice(waiting, len(done))}

    def _report(self, phase: str, share: tuple[float, float], done: float) -> None:
        """Report the fraction of the pieces that is done; raise ``Stopped`` after the deadline."""
        self.progress.update(phase, share[0] + (share[1] - share[0]) * done)
        if self.deadline.reason is not None:
            raise Stopped


def spans(total: int, size: int) -> list[tuple[int, int]]:
    """Return [0, total) cut into pieces of at most this size."""
    return [(first, min(first + size, total)) for first in range(0, total, size)]
