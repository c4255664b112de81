"""Compile the kernels of ``needed.json`` ahead of need, in several processes at once.

A compilation holds the lock of the interpreter, so threads do not help. Each process reads from its standard input
which kernel is next and answers with a line when it is stored. What the processes share is the store.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from dagopt.kernels.needed import Needed, listed
from dagopt.kernels.store import GENERIC, PACKAGE, Store

__all__ = ["Warmed", "Warming", "cores", "missing", "ship", "warm", "work"]

PROGRAM = "from dagopt.kernels.warming import work; work()"


class Warmed(NamedTuple):
    """How many kernels were compiled, and which ones could not be."""

    compiled: int
    failed: list[str]


def missing(run: str = "") -> list[int]:
    """Return the places of the kernels called from Python, by a run if given, that are neither stored nor shipped."""
    places = (place for place, each in enumerate(listed()) if (run in each.runs if run else each.runs))
    return [place for place in places if not _is_there(listed()[place])]


class Warming:
    """Processes that compile kernels of the list, each after those that it calls.

    Parameters
    ----------
    places : list of int
        The places in the list, the most urgent first. What they call is added.
    environment : mapping, optional
        Variables of the processes' environment, in addition to those of this one.
    tell : callable
        Called with the fraction that is done.
    nice : int
        How much the processes give way to others.
    """

    def __init__(
        self,
        places: list[int],
        environment: Mapping[str, str] | None = None,
        tell: Callable[[float], object] = lambda fraction: None,
        nice: int = 0,
    ) -> None:
        self._list = listed()
        self._environment = {**os.environ, "PYTHONPATH": _path(), "DAGOPT_NICE": str(nice), **(environment or {})}
        self._tell = tell
        self._waiting = self._in_order(places)
        self.places = list(self._waiting)
        self._count = len(self._waiting)
        self._open = set(self._waiting)  # waiting or being compiled
        self._changed = threading.Condition()
        self._processes: list[subprocess.Popen[str]] = []
        self._threads: list[threading.Thread] = []
        self._is_stopped = False
        self.failed: list[int] = []

    def _in_order(self, places: list[int]) -> dict[int, None]:
        """Return the places with all that they call, each after what it calls."""
        order: dict[int, None] = {}

        def visit(place: int) -> None:
            if place not in order:
                for inner in self._list[place].calls:
                    visit(inner)
                order[place] = None

        for place in places:
            visit(place)
        return order

    def start(self, jobs: int) -> None:
        """Start this many processes."""
        for _ in range(min(jobs, self._count)):
            self._threads.append(threading.Thread(target=self._drive, daemon=True))
            self._threads[-1].start()

    def join(self) -> None:
        """Wait for all of them."""
        for thread in self._threads:
            thread.join()

    def stop(self) -> None:
        """Begin nothing more, and end the processes."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
            for process in self._processes:
                process.kill()
        self.join()

    def wait(self, places: Iterable[int], seconds: float = math.inf) -> bool:
        """Wait for some kernels, which become the next ones, at most this long; say whether none is open any more."""
        wanted = set(places)
        with self._changed:
            if wanted & self._open:
                first = self._in_order([place for place in self._waiting if place in wanted])
                self._waiting = {place: None for place in [*first, *self._waiting] if place in self._waiting}
            return self._changed.wait_for(
                lambda: self._is_stopped or not (wanted & self._open), None if math.isinf(seconds) else seconds
            )

    def _next(self) -> int | None:
        """Return a kernel whose calls are compiled, waiting for one if need be; None if there is none left."""
        with self._changed:
            while self._waiting and not self._is_stopped:
                for place in self._waiting:
                    if not self._open.intersection(self._list[place].calls):
                        del self._waiting[place]
                        return place
                self._changed.wait()
            return None

    def _drive(self) -> None:
        """Give one process one kernel after the other."""
        command = [sys.executable, "-c", PROGRAM]
        process: subprocess.Popen[str] | None = None
        while (place := self._next()) is not None:
            if process is None:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    env=self._environment,
                )
                with self._changed:
                    self._processes.append(process)
                    if self._is_stopped:  # before it was known
                        process.kill()
            answer = _asked(process, place)
            with self._changed:
                self._open.discard(place)
                if answer != "stored":
                    self.failed.append(place)
                self._changed.notify_all()
                done = self._count - len(self._open)
            self._tell(done / self._count)
            if not answer:  # the process has died: another one takes its place
                process.wait()
                process = None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def _asked(process: subprocess.Popen[str], place: int) -> str:
    """Have a process compile a kernel, and return its answer; nothing if it has died."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(f"{place}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()
    except OSError:
        return ""


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
    warming = Warming(places, environment, tell)
    warming.start(jobs)
    try:
        warming.join()
    except KeyboardInterrupt:
        warming.stop()
        raise
    failed = [listed()[place].kernel for place in warming.failed if place in places]
    return Warmed(len(places) - len(failed), failed)


def ship(target: Path, jobs: int) -> int:
    """Write machine code of all kernels in the list, for a common kind of processor, into a folder; return how many."""
    if not GENERIC:
        return 0
    with tempfile.TemporaryDirectory() as made:
        environment = {"NUMBA_CACHE_DIR": made, "NUMBA_CPU_NAME": GENERIC, "NUMBA_CPU_FEATURES": ""}
        called = [place for place, each in enumerate(listed()) if each.runs]
        warm(jobs, environment=environment, places=called)
        target.mkdir(parents=True, exist_ok=True)
        copied = 0
        for each in (listed()[place] for place in called):
            if (found := each.found()) is not None:
                kernel, kinds = found
                path = Path(made, "kernels", kernel._cache.generic_file(kinds, kernel.targetctx.codegen()))
                if path.exists():
                    shutil.copy(path, target / path.name)
                    copied += 1
    return copied


def work() -> None:
    """Compile kernels one after the other, as standard input says."""
    if hasattr(os, "nice"):
        os.nice(int(os.environ.get("DAGOPT_NICE", "0")))
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


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


if __name__ == "__main__":  # python -m dagopt.kernels.warming FOLDER, when a wheel is built
    ship(Path(sys.argv[1]), cores())
