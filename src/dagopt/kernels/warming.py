"""Compile the kernels of ``needed.json`` ahead of need, in several processes at once.

A compilation holds the lock of the interpreter, so threads do not help. Each process reads from its standard input
which kernel is next and answers with a line when it is stored. What the processes share is the store.

Nobody waits for ever: a process that takes too long for one kernel is ended, a kernel whose process has died counts as
failed, and who waits while nothing is finished for ``PATIENCE`` seconds goes on alone.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from dagopt.kernels.needed import Needed, listed
from dagopt.kernels.store import GENERIC, PACKAGE, Store

__all__ = ["Warmed", "Warming", "cores", "missing", "ship", "warm", "work"]

PATIENCE = 120.0  # seconds without any kernel being finished, after which those who wait go on without the processes
MOST_SECONDS = 600.0  # for one kernel, after which its process is ended; the largest takes some 10 s
END_SECONDS = 5.0  # for a process or a thread to end
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
        self._driving = 0  # threads that still give kernels to their process
        self._last = time.monotonic()  # when a kernel was finished
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
        self._last = time.monotonic()
        self._driving = min(jobs, self._count)
        for _ in range(self._driving):
            self._threads.append(threading.Thread(target=self._drive, daemon=True))
            self._threads[-1].start()

    def join(self, seconds: float | None = None) -> None:
        """Wait for all of them, at most this long for each if given."""
        for thread in self._threads:
            thread.join(seconds)

    def leave(self) -> None:
        """Begin nothing more; each process ends by itself when it has stored the kernel that it compiles."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Begin nothing more, and end the processes."""
        self.leave()
        with self._changed:
            for process in self._processes:
                process.kill()
        self.join(END_SECONDS)

    def wait(self, places: Iterable[int], seconds: float = math.inf) -> bool:
        """Wait for some kernels, which become the next ones, at most this long; say whether none is open any more.

        If nothing is finished for ``PATIENCE`` seconds, the processes are ended, and no kernel is open any more.
        """
        wanted = set(places)
        end = time.monotonic() + seconds
        with self._changed:
            if wanted & self._open:
                first = self._in_order([place for place in self._waiting if place in wanted])
                self._waiting = {place: None for place in [*first, *self._waiting] if place in self._waiting}
            while wanted & self._open and not self._is_stopped:
                now = time.monotonic()
                if now >= end:
                    return False
                if now >= self._last + PATIENCE:
                    break
                self._changed.wait(min(end, self._last + PATIENCE) - now)
            else:
                return True
        self.stop()
        return True

    def _next(self) -> int | None:
        """Return a kernel whose calls are compiled, waiting for one if need be; None if there is none left."""
        with self._changed:
            while self._waiting and not self._is_stopped:
                for place in self._waiting:
                    if not self._open.intersection(self._list[place].calls):
                        del self._waiting[place]
                        return place
                self._changed.wait(MOST_SECONDS)
            return None

    def _drive(self) -> None:
        """Give one process one kernel after the other; whatever happens, no kernel is left open."""
        process: subprocess.Popen[str] | None = None
        place: int | None = None
        try:
            with contextlib.suppress(OSError):  # no process can be started
                while (place := self._next()) is not None:
                    process = process or self._begun()
                    answer = _asked(process, place)
                    self._finished(place, answer == "stored")
                    place = None
                    self._tell((self._count - len(self._open)) / self._count)
                    if not answer:  # the process has died: another one takes its place
                        _end(process)
                        process = None
        finally:
            if place is not None:
                self._finished(place, False)
            if process is not None:
                _end(process)
            with self._changed:
                self._driving -= 1
                if self._driving == 0:  # nobody is left to compile what is open
                    self.failed += self._open
                    self._open.clear()
                    self._waiting.clear()
                    self._changed.notify_all()

    def _begun(self) -> subprocess.Popen[str]:
        """Start a process."""
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
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
        return process

    def _finished(self, place: int, is_stored: bool) -> None:
        """Say that a kernel is no longer open."""
        with self._changed:
            self._open.discard(place)
            if not is_stored:
                self.failed.append(place)
            self._last = time.monotonic()
            self._changed.notify_all()


def _end(process: subprocess.Popen[str]) -> None:
    """End a process, which has nothing more to do."""
    assert process.stdin is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:  # a copy of this process still has the other end of its standard input
        process.kill()
        process.wait(END_SECONDS)


def _asked(process: subprocess.Popen[str], place: int) -> str:
    """Have a process compile a kernel, and return its answer; nothing if it has died or takes too long."""
    assert process.stdin is not None
    assert process.stdout is not None
    too_long = threading.Timer(MOST_SECONDS, process.kill)
    too_long.daemon = True
    too_long.start()
    try:
        process.stdin.write(f"{place}\n")
        process.stdin.flush()
        for line in process.stdout:
            answer, _, asked = line.strip().partition(" ")
            if asked == str(place):  # other lines are not answers
                return answer
        return ""
    except (OSError, ValueError):  # ValueError: what it wrote is not text
        return ""
    finally:
        too_long.cancel()


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
        is_stored = found is not None and _is_there(needed[int(line)])
        sys.stdout.write(f"{'stored' if is_stored else 'failed'} {int(line)}\n")
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
