"""The best score and the best bound ever found here on every public instance: ``python -m benchmarks.board``.

python -m benchmarks.board [--only PATTERN ...] [--limit 60] [--threads 2] [--jobs 1] [--within SECONDS]
python -m benchmarks.board --list                 the instances
python -m benchmarks.board --page                 write docs/board.md again, without a run
python -m benchmarks.board --merge FILE           take in the record of another machine (--record FILE there)

Patterns are those of file names: ``--only '9insurance*' 'cell-50-*'``. Each instance runs in a process of its own with
``auto`` or the method that it is listed with; ``--within`` begins no run after so many seconds. ``docs/board.json``
keeps the best score and the best bound of each instance, each with the version, the seconds and the limit of the run
that found it, and the last run under each limit. A run that is worse than the last one with the same limit and threads
is named, and so is a bound below a known score; then the exit code is 1. ``docs/board.md`` is made from the record.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np

import dagopt
from benchmarks import public_instances as public
from benchmarks.public_instances import Case, Posed

DOCS = Path(__file__).resolve().parents[1] / "docs"
RECORD, PAGE = DOCS / "board.json", DOCS / "board.md"
CELLS = ((25, 2.0), (30, 1.0), (30, 2.0), (50, 1.0), (50, 2.0), (100, 0.5), (100, 1.0), (100, 2.0), (300, 1.0))
SEEDS = 5
ROWS = 5000  # of the simulated cells
ER_COLUMNS, ER_DEGREE, ER_ROWS, ER_SEEDS = 150, 12, 1000, 3  # FLOP's design; the degree counts both ends of an edge
SAME = 1e-7  # of a score: a smaller difference is none
WORSE = 0.02  # of the gap: a bound that is higher by more is worse; runs with a time limit vary
INTRO = """# The board

The best score and the best bound ever found by dagopt on every public instance, by whatever version and limit.
Written by

    python -m benchmarks.board --limit 60 --threads 2

on the instances of [results on real data](real_data.md), and on simulated tables. `left` is the gap between bound and
score, in points and as a share of what the graph explains, score(best) - score(empty). A gap of 0 is a proof. `score
after` and `bound after` are the seconds of the runs that found them, `limit` is that of the run with the best bound.
The record is `docs/board.json`.

- `...-free` are the samples of MICODAG scored by BIC without the moral graph, over all DAGs. The others are MICODAG's
  own problem.
- `cell-N-D-S` are `dagopt.simulate(N, 5000, D, S)` with BIC.
- `er-150-12-S` are random graphs with 150 columns and 12 neighbours of each on average, 1,000 rows, BIC: the design of
  FLOP's authors.
"""


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


def run_one(name: str, case: Case, bench: Path, limit: float, threads: int) -> dict[str, Any]:
    """Run an instance here and return its line."""
    for size in (8, 30):  # what a process loads at its first runs
        dagopt.learn(dagopt.simulate(size, 200, 1.0, 0).data, time_limit=5, progress=False)
    data, options, _ = case.pose(bench)
    begin = time.perf_counter()
    result = dagopt.learn(data, time_limit=limit, n_jobs=threads, progress=False, **public.scored(data, options))
    seconds = time.perf_counter() - begin
    problem = result.problem
    published = public.known(name, bench) if name in public.CASES else ""
    empty = None if problem is None else problem.score.total(np.zeros_like(result.adjacency))
    return {
        "instance": name, "columns": len(result.names), "rows": result.n_samples, "score": result.score,
        "bound": result.bound, "empty": empty, "status": result.status, "seconds": round(seconds, 1), "limit": limit,
        "threads": threads, "version": dagopt.__version__, "known": published,
    }  # fmt: skip


def enter(record: dict[str, Any], line: dict[str, Any]) -> Iterator[str]:
    """Take a run into the record; yield what is worse than it was, or contradicts it."""
    name, score, bound = line["instance"], line["score"], line["bound"]
    own = record.setdefault(name, {"score": None, "bound": None, "runs": {}})
    own |= {key: line[key] for key in ("columns", "rows", "empty", "known")}
    how = {key: line[key] for key in ("seconds", "limit", "threads", "version")}
    within = SAME * max(abs(score), 1.0)
    key = f"{line['limit']:g} s, {line['threads']} threads"
    last = own["runs"].get(key)
    if last is not None:
        if score < last["score"] - within:
            yield f"{name}: the score with {key} was {last['score']:.4f} ({last['version']}) and is now {score:.4f}"
        gap = None if last["bound"] is None else last["bound"] - last["score"]
        if gap is not None and (bound is None or bound > last["bound"] + within + WORSE * gap):
            shown = "none" if bound is None else f"{bound:.4f}"
            yield f"{name}: the bound with {key} was {last['bound']:.4f} ({last['version']}) and is now {shown}"
    own["runs"][key] = {"score": score, "bound": bound, **how}
    if own["score"] is None or score > own["score"]["value"] + within:
        own["score"] = {"value": score, **how}
    if bound is not None and (own["bound"] is None or bound < own["bound"]["value"] - within):
        own["bound"] = {"value": bound, **how}
    if own["bound"] is not None and own["bound"]["value"] < own["score"]["value"] - within:
        yield f"{name}: the bound {own['bound']['value']:.6f} is below the score {own['score']['value']:.6f}"


def lines_of(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the runs of a record."""
    for name, own in record.items():
        facts = {key: own[key] for key in ("columns", "rows", "empty", "known")}
        for run in own["runs"].values():
            proven = run["bound"] is not None and run["bound"] - run["score"] <= SAME * max(abs(run["score"]), 1.0)
            yield {"instance": name, "status": "optimal" if proven else "time_limit", **facts, **run}


def left(own: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the gap in points, and as a share of what the graph explains; None where it is not known."""
    if own["bound"] is None:
        return None, None
    score = own["score"]["value"]
    gap = max(own["bound"]["value"] - score, 0.0)
    gap = 0.0 if gap <= SAME * max(abs(score), 1.0) else gap
    gain = None if own["empty"] is None else score - own["empty"]
    return gap, None if not gain or gain <= SAME * abs(score) else gap / gain


def page(record: dict[str, Any]) -> str:
    """Return the page of a record."""
    heads = ("instance", "columns", "rows", "best score", "best bound", "left", "share", "score after", "bound after")
    heads += ("limit", "version", "published")
    parts = [INTRO]
    gaps = [left(own)[0] for own in record.values()]
    missing = sum(map(len, instances().values())) - len(record)
    proven = sum(gap == 0.0 for gap in gaps)
    parts.append(
        f"{proven} of the {len(gaps)} instances in the record are proven; {missing} others were not run yet.\n"
    )
    for group, cases in instances().items():
        rows = [name for name in cases if name in record]
        if not rows:
            continue
        parts += [f"## {group[0].upper()}{group[1:]}\n", f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
        parts += [f"| {' | '.join(cells(name, record[name]))} |" for name in rows]
        parts.append("")
    return "\n".join(parts)


def cells(name: str, own: dict[str, Any]) -> list[str]:
    """Return the cells of an instance."""
    score, bound = own["score"], own["bound"]
    gap, share = left(own)
    return [
        name,
        str(own["columns"]),
        str(own["rows"] or "-"),
        f"{score['value']:.4f}",
        "-" if bound is None else f"{bound['value']:.4f}",
        "-" if gap is None else f"{gap:.4f}" if gap else "0",
        "-" if share is None else f"{share:.3%}" if share else "0",
        f"{score['seconds']:.0f} s",
        "-" if bound is None else f"{bound['seconds']:.0f} s",
        "-" if bound is None else f"{bound['limit']:g} s",
        score["version"] if bound is None else bound["version"],
        own["known"] or "-",
    ]


def run_all(names: list[str], given: argparse.Namespace) -> Iterator[dict[str, Any] | str]:
    """Yield the lines of runs, each in a process of its own, or why there is none."""
    begin = time.monotonic()

    def run(name: str) -> dict[str, Any] | str:
        if time.monotonic() - begin > given.within:
            return f"{name}: not begun within {given.within:g} s"
        command = [sys.executable, "-m", "benchmarks.board", "--here", name, "--limit", str(given.limit)]
        command += ["--threads", str(given.threads), "--shared", str(given.shared)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{name}: {(done.stderr.strip() or 'ended early').splitlines()[-1]}"
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return found

    with ThreadPoolExecutor(given.jobs) as jobs:
        for one in as_completed([jobs.submit(run, name) for name in names]):
            yield one.result()


def save(record: dict[str, Any], path: Path) -> None:
    """Write the record, one instance per line."""
    lines = [f"{json.dumps(name)}: {json.dumps(record[name])}" for name in sorted(record)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> int:
    """Run what is asked for; return 1 if something got worse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each run")
    parser.add_argument("--threads", type=int, default=2, help="of each run")
    parser.add_argument("--jobs", type=int, default=1, help="instances at the same time")
    parser.add_argument("--within", type=float, default=float("inf"), help="begin no run after so many seconds")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--merge", type=Path, metavar="FILE")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    given = parser.parse_args()
    cases = {name: case for group in instances().values() for name, case in group.items()}
    if given.here:
        line = run_one(given.here, cases[given.here], given.shared / "bench", given.limit, given.threads)
        print(json.dumps(line))
        return 0
    names = [name for name in cases if any(fnmatch(name, pattern) for pattern in given.only)]
    if not names:
        parser.error(f"no instance is named {', '.join(given.only)}; --list names them")
    if given.list:
        print("\n".join(names))
        return 0
    record = json.loads(given.record.read_text(encoding="utf-8")) if given.record.exists() else {}
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
        PAGE.write_text(page(record), encoding="utf-8")
    for one in worse:
        print(f"WORSE {one}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
