"""Compile the kernels of ``needed.json`` ahead of need, in several processes at once.

A compilation holds the lock of the interpreter, so threads do not help. Each process reads from its standard input
which kernel is next and answers with a line when it is stored. What the processes share is the store.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from dagopt.kernels.needed import Needed, listed
from dagopt.kernels.store import GENERIC, PACKAGE, Store

__all__ = ["Warmed", "missing", "ship", "warm", "work"]

PROGRAM = "from dagopt.kernels.warming import work; work()"


class Warmed(NamedTuple):
    """How many kernels were compiled, and which ones could not be."""

    compiled: int
    failed: list[str]


def missing() -> list[int]:
    """Return the places in the list of kernels that are neither shipped nor stored."""
    return [place for place, each in enumerate(listed()) if not _is_there(each)]


def warm(
    jobs: int,
    tell: Callable[[float], object] = lambda fraction: None,
    environment: Mapping[str, str] | None = None,
    places: list[int] | None = None,
) -> Warmed:
    """Compile what is missing, with this many processes.

    Parameters
    ----------
    jobs : int
        The number of processes.
    tell : callable
        Called with the fraction that is done.
    environment : mapping, optional
        Variables of the processes' environment, in addition to those of this one.
    places : list of int, optional
        The places in the list of kernels to compile; all that are missing by default.
    """
    places = missing() if places is None else places
    waiting: SimpleQueue[int] = SimpleQueue()
    for place in places:
        waiting.put(place)
    failed: list[str] = []
    done = 0

    def drive() -> None:
        nonlocal done
        given = {**os.environ, "PYTHONPATH": _path(), **(environment or {})}
        command = [sys.executable, "-c", PROGRAM]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=given
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                while True:
                    place = waiting.get_nowait()
                    process.stdin.write(f"{place}\n")
                    process.stdin.flush()
                    answer = process.stdout.readline().strip()
                    if answer != "stored":
                        failed.append(listed()[place].kernel)
                    if not answer:  # the process has died
                        return
                    done += 1
                    tell(done / len(places))
            except Empty:
                process.stdin.close()

    with ThreadPoolExecutor(max(min(jobs, len(places)), 1)) as pool:
        for driven in [pool.submit(drive) for _ in range(min(jobs, len(places)))]:
            driven.result()
    failed += [listed()[waiting.get()].kernel for _ in range(waiting.qsize())]
    return Warmed(len(places) - len(failed), failed)


def ship(target: Path, jobs: int) -> int:
    """Write machine code of all kernels in the list, for a common kind of processor, into a folder; return how many."""
    if not GENERIC:
        return 0
    with tempfile.TemporaryDirectory() as made:
        environment = {"NUMBA_CACHE_DIR": made, "NUMBA_CPU_NAME": GENERIC, "NUMBA_CPU_FEATURES": ""}
        warm(jobs, environment=environment, places=list(range(len(listed()))))
        target.mkdir(parents=True, exist_ok=True)
        copied = 0
        for each in listed():
            if (found := each.found()) is not None:
                kernel, kinds = found
                path = Path(made, "kernels", kernel._cache.generic_file(kinds, kernel.targetctx.codegen()))
                if path.exists():
                    shutil.copy(path, target / path.name)
                    copied += 1
    return copied


def work() -> None:
    """Compile kernels one after the other, as standard input says."""
    needed = listed()
    for line in sys.stdin:
        found = needed[int(line)].found()
        if found is not None:
            kernel, kinds = found
            kernel.compile(kinds)
        sys.stdout.write("stored\n" if found is not None and _is_there(needed[int(line)]) else "failed\n")
        sys.stdout.flush()


def _is_there(needed: Needed) -> bool:
    """Say whether a kernel is shipped or stored; one that does not exist any more counts as there."""
    found = needed.found()
    if found is None:
        return True
    kernel, kinds = found
    store = getattr(kernel, "_cache", None)
    return not isinstance(store, Store) or store.has(kinds, kernel.targetctx.codegen())


def _path() -> str:
    """Return the path on which the processes find this dagopt."""
    return os.pathsep.join([str(PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])


if __name__ == "__main__":  # python -m dagopt.kernels.warming FOLDER, when a wheel is built
    ship(Path(sys.argv[1]), len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
