"""Does every method keep its time limit? ``python -m benchmarks.time_limits [--quick] [--jobs N]``.

One row per method, kind of data, numbers of columns and rows, and limit: the wall seconds of ``learn``, by how many it
is over the limit, the seconds on the processor, and what the DAG scores more than the graph without edges. A run is
late if it takes more than a second longer than its limit; with more than 1,000 columns, more than a tenth of it if that
is longer. With ``--file`` the data are a CSV file, so that reading is part of the run.

Each run has a process of its own with ``--threads`` cores of its own; ``--jobs`` runs go on at the same time. The
process first learns from eight columns, so that modules and kernels are loaded (column "loading"). Before the table,
every method runs once, so that kernels are compiled, and a run with an empty cache of kernels shows what the very first
run takes.

With as many columns as rows or more, sets have at most five parents.

Making a table takes longer than most runs. With ``--together`` all methods run on a table that is made once, each in a
copy of the process.

With ``--cpu`` limits and lateness are in CPU seconds of the process, which has one core of its own, so that a busy
machine changes little; wall seconds are shown too.

The whole table takes hours; ``--within SECONDS`` begins no run after that time, in an order drawn from ``--seed`` in
which kinds and numbers of columns take turns, so that what was run is a fair part of it. A quarter of an hour on two
quiet cores whose kernels are compiled: ``--file --warm --jobs 2 --limit 1 --limit 5 --within 800``. ``--quick`` takes
two minutes with one job.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from queue import SimpleQueue

from dagopt.methods.registry import METHODS

SIZES = (20, 100, 300, 1000, 3000, 10_000)
# For each kind of table and score: the kind that is simulated, and what else ``learn`` is given.
KINDS: dict[str, tuple[str, dict[str, object]]] = {
    "gaussian": ("gaussian", {"score": "bic"}),
    "discrete": ("discrete", {"score": "bic"}),
    "mixed": ("mixed", {"score": "bic"}),
    "bge": ("gaussian", {"score": "bge"}),
    "bdeu": ("discrete", {"score": "bdeu"}),
    "cg": ("mixed", {"score": "cg"}),
    "basis": ("gaussian", {"score": "basis"}),
    "rank": ("gaussian", {"score": "bic", "transform": "rank"}),
    "interventions": ("gaussian", {"score": "bic", "interventions": "every tenth row sets a column"}),
    "weights": ("gaussian", {"score": "bic", "weights": "one to three of each row"}),
    "lags": ("gaussian", {"score": "bic", "lags": 1}),
}
ROWS = (100, 1000, 10_000, 1_000_000)
LIMITS = (1.0, 5.0, 20.0)
QUICK_SIZES, QUICK_LIMITS, QUICK_ROWS = (30, 300), (1.0,), (1000,)
MOST_CELLS = 100_000_000  # of a table: larger ones are left out
FEW_COLUMNS = 1000  # up to which a run may be late by a second, whatever its limit
COLD = ("auto", "gaussian", 30, 1000, 5.0)
HEAD = ("method", "kind", "columns", "rows", "limit", "seconds", "over by", "on the processor", "status",
        "score - empty", "loading", "")  # fmt: skip

CODE = """
import json, os, sys, time
from contextlib import nullcontext
import numpy as np
import dagopt
from benchmarks.jobs import counting
methods, kind, n, rows, limit = sys.argv[1].split("+"), sys.argv[2], *map(int, sys.argv[3:5]), float(sys.argv[5])
warm, file, (simulated, asked) = sys.argv[6] == "warm", sys.argv[7], json.loads(sys.argv[8])
clock = counting(time.process_time) if sys.argv[9] == "cpu" else nullcontext()

def options(data):
    names, rng, found = list(data.columns), np.random.default_rng(0), dict(asked)
    if "interventions" in found:
        drawn = rng.integers(0, 10 * len(names), len(data))
        found["interventions"] = [names[k] if k < len(names) else None for k in drawn.tolist()]
    if "weights" in found:
        found["weights"] = rng.integers(1, 4, len(data))
    return found

begun = time.perf_counter()
few = dagopt.simulate(n_nodes=8, n_samples=200, degree=2, random_state=1, kind=simulated).data
for method in methods if warm else ():
    try:
        dagopt.learn(few, method, time_limit=2, progress=False, **options(few))
    except dagopt.InputError:
        pass
most = 5 if n >= rows else None
loading = time.perf_counter() - begun
for degree in (2, 1, 0.5):  # of 10,000 discrete columns some would have too many parents
    try:
        data = dagopt.simulate(n_nodes=n, n_samples=rows, degree=degree, random_state=0, kind=simulated).data
        break
    except dagopt.InputError:
        continue
source, given = data, options(data)
if file:
    data.to_csv(file, index=False)
    source = file

def one(method):
    said = {"loading": loading, "status": "refused"}
    begun, worked = time.perf_counter(), time.process_time()
    try:
        with clock:
            result = dagopt.learn(source, method, time_limit=limit, progress=False, max_parents=most, **given)
    except dagopt.InputError as error:
        result, said["why"] = None, str(error)
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    if result is not None:
        said |= {"status": result.status, "compiling": result.provenance.compile_seconds}
        empty = result.figures.empty_score
        said["gain"] = None if result.score is None or empty is None else result.score - empty
    print(json.dumps({"seconds": seconds - said.get("compiling", 0.0), "worked": worked, **said}), flush=True)

if len(methods) == 1:
    one(methods[0])
else:
    for method in methods:
        begun, child = time.perf_counter(), os.fork()
        if child == 0:
            one(method)
            os._exit(0)
        if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            print(json.dumps({"seconds": time.perf_counter() - begun, "status": f"exit code {code}"}), flush=True)
"""

Cell = tuple[str, str, int, int, float]  # method, or several joined by +, kind, columns, rows, limit


@dataclass(frozen=True)
class Row:
    """One run; ``seconds`` are without those in which kernels were compiled."""

    cell: Cell
    seconds: float
    status: str
    worked: float | None = None
    loading: float | None = None
    compiling: float = 0.0
    gain: float | None = None
    why: str = ""  # it was refused
    cpu: bool = False  # the limit was in CPU seconds

    @property
    def over(self) -> float:
        """The seconds by which it took longer than its limit; negative if it did not."""
        taken = self.seconds if not self.cpu or self.worked is None else self.worked
        return taken - self.cell[-1]

    @property
    def is_late(self) -> bool:
        """Whether it took more than a second too long, or with many columns a tenth of its limit."""
        limit, columns = self.cell[-1], self.cell[2]
        return self.over > (1.0 if columns <= FEW_COLUMNS else max(1.0, 0.1 * limit))

    @property
    def is_below(self) -> bool:
        """Whether the DAG scores less than the graph without edges."""
        return self.gain is not None and self.gain < -1e-6

    @property
    def is_bad(self) -> bool:
        """Whether it was late, below the graph without edges, or failed."""
        return self.is_late or self.is_below or self.loading is None

    def line(self) -> str:
        """Return the row of a table in Markdown."""
        marks = " ".join(word for word, holds in (("LATE", self.is_late), ("BELOW", self.is_below)) if holds)
        method, kind, n, rows, limit = self.cell
        over = f"{self.over:+.2f}" if self.over > 0.0 else ""
        cells = (
            method, kind, n, rows, f"{limit:g}", f"{self.seconds:.2f}", over, _number(self.worked, 2),
            f"{self.status}: {self.why[:60]}" if self.why else self.status,
            _number(self.gain, 1), _number(self.loading, 1), marks,
        )  # fmt: skip
        return "| " + " | ".join(map(str, cells)) + " |"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def run(
    cell: Cell, cores: Sequence[int] = (), cache: str | None = None, file: bool = False, cpu: bool = False
) -> list[Row]:
    """Return how runs went, on some cores; with a cache of kernels of its own, nothing is loaded beforehand."""
    with tempfile.TemporaryDirectory() as folder:
        return _run(cell, cores, cache, f"{folder}/data.csv" if file else "", cpu)


def _run(cell: Cell, cores: Sequence[int], cache: str | None, file: str, cpu: bool) -> list[Row]:
    """Run the methods of one cell, each in a process of its own."""
    limit, methods = cell[-1], cell[0].split("+")
    of_kind = json.dumps(KINDS[cell[1]])
    command = [sys.executable, "-c", CODE, *map(str, cell), "warm" if cache is None else "cold", file, of_kind]
    command.append("cpu" if cpu else "wall")
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": cache})
    if cores:
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        environment |= dict.fromkeys(names, str(len(cores)))
    own = (lambda: os.sched_setaffinity(0, cores)) if cores and hasattr(os, "sched_setaffinity") else None
    begun = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=(10 * limit + 30) * len(methods) + 300,
            env=environment,
            preexec_fn=own,
        )
    except subprocess.TimeoutExpired:
        return [Row(cell, time.perf_counter() - begun, "killed")]
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return [Row(cell, time.perf_counter() - begun, why[:60])]
    said = [json.loads(line) for line in done.stdout.splitlines()[-len(methods) :]]
    return [Row((method, *cell[1:]), **one, cpu=cpu) for method, one in zip(methods, said, strict=True)]


def print_rows(cells: Sequence[Cell], jobs: int, threads: int, file: bool, until: float, cpu: bool) -> list[Row]:
    """Run the cells, so many at a time, each on cores of its own, and print their rows; begin none after ``until``."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    free: SimpleQueue[list[int]] = SimpleQueue()
    for k in range(jobs):
        fits = (jobs > 1 or cpu) and jobs * threads <= len(usable)
        free.put(usable[k * threads : (k + 1) * threads] if fits else [])

    def on_free_cores(cell: Cell) -> list[Row]:
        if time.monotonic() > until:
            return []
        cores = free.get()
        try:
            return run(cell, cores, file=file, cpu=cpu)
        finally:
            free.put(cores)

    rows = []
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(on_free_cores, cells):
            rows += found
            for row in found:
                print(row.line(), flush=True)
    return rows


def by_kind(rows: Sequence[Row]) -> str:
    """Return the latest run of each kind and number of columns, in seconds over the limit, as a table in Markdown."""
    sizes = sorted({row.cell[2] for row in rows})
    lines = ["| kind | " + " | ".join(f"{n} columns" for n in sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
    for kind in dict.fromkeys(row.cell[1] for row in rows):
        cells = []
        for n in sizes:
            own = [row for row in rows if row.cell[1:3] == (kind, n)]
            worst = max(own, key=lambda row: row.over, default=None)
            over = None if worst is None else max(worst.over, 0.0)
            cells.append("-" if worst is None else f"{over:.2f} ({worst.cell[0]}; {len(own)} runs)")
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def in_turns(cells: Sequence[Cell], seed: int) -> list[Cell]:
    """Return the runs in random order, each kind and number of columns once before one comes again."""
    drawn = random.Random(seed).sample(list(cells), len(cells))
    seen: Counter[tuple[str, int]] = Counter()
    turns = []
    for cell in drawn:
        turns.append(seen[cell[1:3]])
        seen[cell[1:3]] += 1
    return [drawn[k] for k in sorted(range(len(drawn)), key=turns.__getitem__)]


def compile_all(methods: Sequence[str], kinds: Sequence[str], jobs: int) -> float:
    """Run every method on few columns, so that kernels are compiled; return the seconds that took."""
    begun = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(run, product(methods, kinds, (8, 30), (1000,), (1.0,))))
    return time.perf_counter() - begun


def main() -> int:
    """Print the table and the bad rows; the exit code says whether there are any."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.time_limits", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a limit of 1 s, 30 and 300 columns")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--threads", type=int, default=1, help="cores of each run, if there is more than one job")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="only these methods")
    parser.add_argument("--size", action="append", type=int, help="only these numbers of columns")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind of data")
    parser.add_argument("--rows", action="append", type=int, help="only these numbers of rows")
    parser.add_argument("--cpu", action="store_true", help="limits in CPU seconds, each run on cores of its own")
    parser.add_argument("--together", action="store_true", help="all methods of a table one after the other")
    parser.add_argument("--file", action="store_true", help="read the data from a CSV file within the limit")
    parser.add_argument("--within", type=float, help="seconds after which no other run begins; runs in random order")
    parser.add_argument("--seed", type=int, default=0, help="of that order")
    parser.add_argument("--limit", action="append", type=float, help="only these limits, in seconds")
    parser.add_argument(
        "--cells", type=float, default=MOST_CELLS, help="leave out larger tables, which take minutes to make"
    )
    parser.add_argument("--warm", action="store_true", help="kernels are compiled: leave out the runs before the table")
    asked = parser.parse_args()
    methods, kinds = asked.method or list(METHODS), asked.kind or list(KINDS)
    sizes = asked.size or (QUICK_SIZES if asked.quick else SIZES)
    limits = asked.limit or (QUICK_LIMITS if asked.quick else LIMITS)
    if not asked.warm:
        with tempfile.TemporaryDirectory() as cache:
            cold = run(COLD, cache=cache)[0]
        print(f"cold: {cold.cell}: {cold.seconds:.2f} s and {cold.compiling:.1f} s of compiling, {cold.status}")
        print(f"compiled in {compile_all(methods, kinds, asked.jobs):.0f} s\n")
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
    begun = time.perf_counter()
    n_rows = asked.rows or (QUICK_ROWS if asked.quick else ROWS)
    ways = ["+".join(methods)] if asked.together else methods
    cells = [cell for cell in product(ways, kinds, sizes, n_rows, limits) if cell[2] * cell[3] <= asked.cells]
    until = float("inf")
    if asked.within is not None:
        cells = in_turns(cells, asked.seed)
        until = time.monotonic() + asked.within
    rows = print_rows(cells, asked.jobs, asked.threads, asked.file, until, asked.cpu)
    bad = [row for row in rows if row.is_bad]
    over = max((row.over for row in rows), default=0.0)
    seconds = time.perf_counter() - begun
    print("\n" + by_kind(rows))
    count = len(cells) * (len(methods) if asked.together else 1)
    print(f"\n{len(rows)} of {count} runs in {seconds:.0f} s, at most {over:.2f} s over the limit; {len(bad)} "
          "late, below the graph without edges, or failed")  # fmt: skip
    for row in bad:
        print(row.line())
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
