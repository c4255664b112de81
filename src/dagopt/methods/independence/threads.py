"""Work in threads, with the answers in the order of the questions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dagopt.errors import checked_whole

__all__ = ["checked_jobs", "ordered_map"]

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def checked_jobs(n_jobs: int | None) -> int:
    """Return how many threads to use: all processors that this process may use for None or -1."""
    if n_jobs is None or n_jobs == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return checked_whole("n_jobs", n_jobs, 1)


def ordered_map(answer: Callable[[Question], Answer], questions: Iterable[Question], n_jobs: int) -> Iterator[Answer]:
    """Yield the answers in the order of the questions, found by ``n_jobs`` threads."""
    if n_jobs == 1:
        yield from map(answer, questions)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        yield from pool.map(answer, questions)
