"""Where a run does not look at its clock: ``python -m benchmarks.clock_gaps [--kind bge --cell 50,0.5 --seed 1]``.

The limit is in CPU seconds, so that a busy machine changes nothing. For each run: by how many CPU seconds it ended
after its limit, the longest stretches of one thread between two looks at the clock, in CPU seconds of this thread, each
with the places in the code before and after, and what was done after the limit. HiGHS has the limit itself and is
counted too. The run is repeated once, so that kernels are compiled; only the second one counts. With ``--once`` loading
them counts, a few tenths of a second in all.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagopt
from benchmarks.bounds import KIND_ROWS, KINDS, name_of
from benchmarks.bounds import Task as Bound
from benchmarks.jobs import counting
from dagopt.deadline import Deadline

PACKAGE = str(Path(dagopt.__file__).parent)
SHOWN = 5  # places of each stack
LONG = 0.3  # CPU seconds between two looks that are shown
LONG_AFTER = 0.05  # the same after the limit
DISCRETE = {"discrete": "bic", "bdeu": "bdeu"}


class Looks:
    """The looks at the clock of each thread, and the longest stretches between two."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[float, list[str]]] = {}
        self._lock = threading.Lock()
        self.longest: dict[tuple[str, ...], float] = {}
        self.after: list[tuple[float, str]] = []  # CPU seconds of the process and places, after the limit
        self.count = 0

    def look(self, is_over: bool) -> None:
        """Take note of a look."""
        now, own = time.thread_time(), threading.get_ident()
        stack = _stack()
        with self._lock:
            self.count += 1
            before = self._last.get(own)
            if before is not None and now - before[0] > LONG:
                key = ("after " + " < ".join(before[1][:SHOWN]), "before " + " < ".join(stack[:SHOWN]))
                self.longest[key] = max(self.longest.get(key, 0.0), now - before[0])
            self._last[own] = now, stack
            if is_over:
                self.after.append((time.process_time(), " < ".join(stack[:SHOWN])))


def _stack() -> list[str]:
    """Return the places of the package that are being run, the innermost first, without the clock itself."""
    found, frame = [], sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(PACKAGE) and not name.endswith("deadline.py"):
            found.append(f"{name[len(PACKAGE) + 1 :]}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return found


@contextmanager
def watched() -> Iterator[Looks]:
    """Record all looks at the clock."""
    looks, inner = Looks(), Deadline.remaining
    depth = threading.local()

    def remaining(self: Deadline) -> float:
        if getattr(depth, "is_inside", False):
            return inner(self)
        depth.is_inside = True
        try:
            left = inner(self)
            looks.look(inner(self.whole) <= 0.0)
        finally:
            depth.is_inside = False
        return left

    Deadline.remaining = remaining  # type: ignore[method-assign]
    try:
        yield looks
    finally:
        Deadline.remaining = inner  # type: ignore[method-assign]


def run(kind: str, cell: tuple[int, float, int], method: str | None, seconds: float, threads: int, again: bool) -> None:
    """Learn twice, and print what the second run did with its clock."""
    n, degree, seed = cell
    if kind in DISCRETE:
        data: Any = dagopt.simulate(n, KIND_ROWS, degree, seed, kind="discrete").data
        told: dict[str, Any] = {"score": DISCRETE[kind]}
    else:
        data, told = Bound(name_of(*cell), cell, seconds, kind=kind).data()
    told = {"score": "bic"} | told
    how = method or ("auto" if kind in DISCRETE or kind == "cg" else "branch-and-cut")
    for _ in range(2 if again else 1):
        with counting(time.process_time), watched() as looks:
            begin = time.process_time()
            result = dagopt.learn(data, how, time_limit=seconds, progress=False, n_jobs=threads, **told)
            end = time.process_time()
    over = end - begin - seconds
    print(f"\n{kind} {name_of(*cell)}, {how}, {seconds:g} CPU s: {result.status}, {over:+.2f}, {looks.count} looks")
    for places, length in sorted(looks.longest.items(), key=lambda one: -one[1])[:12]:
        print(f"  {length:.2f}", *places, sep="\n       ")
    before = begin + seconds
    for now, place in [*looks.after, (end, "the end")]:
        if now - before > LONG_AFTER:
            print(f"  late {now - before:.2f} until {place}")
        before = max(now, before)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clock_gaps", description=__doc__)
    parser.add_argument("--kind", nargs="+", choices=(*KINDS, *DISCRETE), default=[*KINDS, *DISCRETE])
    parser.add_argument("--cell", nargs="+", default=["35,0.5", "50,1"], help="columns,degree")
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[5.0], help="CPU seconds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--method")
    parser.add_argument("--once", action="store_true", help="kernels are compiled already")
    args = parser.parse_args()
    for cell in args.cell:
        n, degree = cell.split(",")
        for seed in args.seed:
            for kind in args.kind:
                for seconds in args.seconds:
                    one = (int(n), float(degree), seed)
                    run(kind, one, args.method, seconds, args.threads, not args.once)


if __name__ == "__main__":
    main()
