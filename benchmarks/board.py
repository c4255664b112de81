"""The best score and the best bound ever found here on every public instance: ``python -m benchmarks.board``.

python -m benchmarks.board [--only PATTERN ...] [--limit 60] [--threads 2] [--jobs 1] [--within SECONDS]
python -m benchmarks.board --cpu --threads 1      limits of CPU seconds, for a machine that does other work too
python -m benchmarks.board --missing              what was not run yet with this limit, clock, threads and commit
python -m benchmarks.board --list                 the instances, in the order in which they run
python -m benchmarks.board --page                 write docs/board.md again, without a run
python -m benchmarks.board --merge FILE           take in the record of another machine (--record FILE there)

Patterns are those of file names: ``--only '9insurance*' 'cell-50-*'``. Each instance runs in a process of its own with
``auto`` or the method that it is listed with; ``--within`` begins no run after so many seconds. The groups take turns,
and so do the kinds of instances in a group: what a stopped board has run is a fair part. ``docs/board.json`` keeps the
best score and the best bound of each instance, each with the version, the commit, the seconds, the limit and the clock
of the run that found it, and the last run under each limit. A run that is worse than the last one with the same limit,
clock and threads is named, and so is a bound below a known score; then the exit code is 1. ``docs/board.md`` is made
from the record.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from fnmatch import fnmatch
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

import dagopt
from benchmarks import public_instances as public
from benchmarks.board_page import page
from benchmarks.board_record import enter, lines_of, manner, save
from benchmarks.jobs import counting
from benchmarks.public_instances import Case, Posed

DOCS = Path(__file__).resolve().parents[1] / "docs"
RECORD, PAGE = DOCS / "board.json", DOCS / "board.md"
CELLS = ((25, 2.0), (30, 1.0), (30, 2.0), (50, 1.0), (50, 2.0), (100, 0.5), (100, 1.0), (100, 2.0), (300, 1.0))
SEEDS = 5
ROWS = 5000  # of the simulated cells
ER_COLUMNS, ER_DEGREE, ER_ROWS, ER_SEEDS = 150, 12, 1000, 3  # FLOP's design; the degree counts both ends of an edge


def drawn(name: str, seed: int) -> Callable[[Path], Posed]:
    """Return what draws rows from a published Gaussian network."""

    def pose(bench: Path) -> Posed:
        network = public.read_gaussian_json(bench / "gaussian" / f"{name}.json")
        return Posed(network.sample(public.ROWS, random_state=seed), {}, network.dag)

    return pose


def without_moral_graph(field: str, draw: int) -> Callable[[Path], Posed]:
    """Return what poses a sample of MICODAG by BIC over all DAGs."""
    return lambda bench: public.micodag(field, draw)(bench)._replace(options={})


def simulated(columns: int, rows: int, degree: float, seed: int) -> Callable[[Path], Posed]:
    """Return what draws a table."""

    def pose(_: Path) -> Posed:
        data, dag = dagopt.simulate(columns, rows, degree, seed)
        return Posed(data, {}, dag)

    return pose


def instances() -> dict[str, dict[str, Case]]:
    """Return all instances by group."""
    groups = {name: dict(group) for name, group in public.GROUPS.items() if name != "large"}
    for name in ("ecoli70", "magic-niab"):
        for seed in range(1, SEEDS):
            groups["tables"][f"{name}-{seed}"] = Case(drawn(name, seed))
    groups["micodag without the moral graph"] = {
        f"{field}-{draw}-free": Case(without_moral_graph(field, draw)) for field in public.FIELDS for draw in (1, 2, 3)
    }
    groups["simulated cells"] = {
        f"cell-{columns}-{degree:g}-{seed}": Case(simulated(columns, ROWS, degree, seed))
        for columns, degree in CELLS
        for seed in range(SEEDS)
    }
    groups["FLOP's design"] = {
        f"er-{ER_COLUMNS}-{ER_DEGREE}-{seed}": Case(simulated(ER_COLUMNS, ER_ROWS, ER_DEGREE / 2, seed))
        for seed in range(ER_SEEDS)
    }
    return groups


def turns(lists: Iterable[list[str]]) -> list[str]:
    """Return the names of all lists: the first of each, the second of each, and so on."""
    return [name for some in zip_longest(*lists) for name in some if name is not None]


def order(groups: dict[str, dict[str, Case]]) -> list[str]:
    """Return the names of all instances so that every beginning covers the groups, and what is in them, evenly."""
    by_kind = []
    for group in groups.values():
        kinds: dict[str, list[str]] = {}
        for name in group:
            kinds.setdefault(name.rpartition("-")[0], []).append(name)  # what follows is the draw
        by_kind.append(turns(kinds.values()))
    return turns(by_kind)


def missing(names: list[str], record: dict[str, Any], how: str, commit: str) -> list[str]:
    """Return what this commit has not run in this manner; what no commit has run comes first."""
    runs = {name: record.get(name, {"runs": {}})["runs"].get(how) for name in names}
    here = {"version": dagopt.__version__, "commit": commit}
    stale = [name for name, run in runs.items() if run is not None and not here.items() <= run.items()]
    return [name for name, run in runs.items() if run is None] + stale


def commit_here() -> str:
    """Return the commit of this checkout, with a mark if files were changed; nothing outside a checkout."""
    command = ["git", "-C", str(DOCS), "describe", "--always", "--dirty", "--exclude", "*"]
    with suppress(OSError):
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return ""


def run_one(name: str, case: Case, given: argparse.Namespace) -> dict[str, Any]:
    """Run an instance here and return its line."""
    limit, threads, bench = given.limit, given.threads, given.shared / "bench"
    clock = time.process_time if given.cpu else time.perf_counter
    for size in (8, 30):  # what a process loads at its first runs
        dagopt.learn(dagopt.simulate(size, 200, 1.0, 0).data, time_limit=5, progress=False)
    data, options, _ = case.pose(bench)
    begin = clock()
    with counting(clock):
        result = dagopt.learn(data, time_limit=limit, n_jobs=threads, progress=False, **public.scored(data, options))
    seconds = clock() - begin
    problem = result.problem
    published = public.known(name, bench) if name in public.CASES else ""
    empty = None if problem is None else problem.score.total(np.zeros_like(result.adjacency))
    return {
        "instance": name, "columns": len(result.names), "rows": result.n_samples, "score": result.score,
        "bound": result.bound, "empty": empty, "status": result.status, "seconds": round(seconds, 1), "limit": limit,
        "clock": "cpu" if given.cpu else "wall", "threads": threads, "version": dagopt.__version__,
        "commit": commit_here(), "known": published,
    }  # fmt: skip


def run_all(names: list[str], given: argparse.Namespace) -> Iterator[dict[str, Any] | str]:
    """Yield the lines of runs, each in a process of its own, or why there is none."""
    begin = time.monotonic()

    def run(name: str) -> dict[str, Any] | str:
        if time.monotonic() - begin > given.within:
            return f"{name}: not begun within {given.within:g} s"
        command = [sys.executable, "-m", "benchmarks.board", "--here", name, "--limit", str(given.limit)]
        command += ["--threads", str(given.threads), "--shared", str(given.shared), *(["--cpu"] if given.cpu else [])]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{name}: {(done.stderr.strip() or 'ended early').splitlines()[-1]}"
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return found

    with ThreadPoolExecutor(given.jobs) as jobs:
        for one in as_completed([jobs.submit(run, name) for name in names]):
            yield one.result()


def main() -> int:
    """Run what is asked for; return 1 if something got worse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each run")
    parser.add_argument("--cpu", action="store_true", help="limits of CPU seconds; for one thread")
    parser.add_argument("--threads", type=int, default=2, help="of each run")
    parser.add_argument("--jobs", type=int, default=1, help="instances at the same time")
    parser.add_argument("--within", type=float, default=float("inf"), help="begin no run after so many seconds")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--missing", action="store_true", help="leave out what this commit has run in this manner")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--merge", type=Path, metavar="FILE")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cpu and given.threads != 1:
        parser.error("--cpu counts the time of all threads together; give --threads 1")
    groups = instances()
    if given.here:
        cases = dict(chain.from_iterable(group.items() for group in groups.values()))
        print(json.dumps(run_one(given.here, cases[given.here], given)))
        return 0
    names = [name for name in order(groups) if any(fnmatch(name, pattern) for pattern in given.only)]
    if not names:
        parser.error(f"no instance is named {', '.join(given.only)}; --list names them")
    record = json.loads(given.record.read_text(encoding="utf-8")) if given.record.exists() else {}
    if given.missing:
        how = manner(given.limit, "cpu" if given.cpu else "wall", given.threads)
        names = missing(names, record, how, commit_here())
    if given.list:
        print("\n".join(names))
        return 0
    worse = []
    if given.merge is not None:
        lines: Iterator[dict[str, Any] | str] = lines_of(json.loads(given.merge.read_text(encoding="utf-8")))
    else:
        lines = run_all([] if given.page else names, given)
    for line in lines:
        if isinstance(line, str):
            print(line, flush=True)
            continue
        worse += list(enter(record, line))
        save(record, given.record)
        print(line["instance"], line["status"], line["score"], line["bound"], f"{line['seconds']} s", flush=True)
    if given.record == RECORD:
        PAGE.write_text(page(record, groups), encoding="utf-8")
    for one in worse:
        print(f"WORSE {one}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
