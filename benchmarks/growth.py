"""How the gap grows with the number of columns: ``python -m benchmarks.growth``.

python -m benchmarks.growth [--columns 25 50 100 200 300] [--degrees 0.5 2] [--seeds 2] [--limit 60] [--threads 2]
python -m benchmarks.growth --jobs 8 --results after.jsonl         eight runs at the same time
python -m benchmarks.growth --tree ../other --results before.jsonl the same with the package of another checkout
python -m benchmarks.growth --show before.jsonl after.jsonl        both beside each other
python -m benchmarks.growth --cpu --threads 1                      limits of CPU seconds, for a busy machine
python -m benchmarks.growth --unseen [--limit 60] [--jobs 8]       shares proven of draws that nothing was chosen on

``auto`` with a time limit on simulated Gaussian tables with 5,000 rows, sparse and dense, each in a process of its own.
The gap is in points and as a share of what the graph explains, score(best) - score(empty). ``score`` is BIC unless
given, so that all sizes have the same penalty; the default of the package is EBIC for many columns. What is in the
results already is not run again. ``--unseen`` runs the seeds 100 to 119 of each cell of the proofs, in ``unseen.jsonl``
unless a file is named, and prints the share that is proven and the median gap of the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parents[1]
N_ROWS = 5000
UNSEEN_CELLS = ((25, 2.0), (30, 1.0), (30, 2.0), (50, 1.0), (100, 0.5), (100, 1.0))
FIRST_UNSEEN, N_UNSEEN = 100, 20  # seeds that no setting was chosen on, and must not be
KEYS = ("columns", "degree", "seed", "limit", "threads", "score")


def run(columns: int, degree: float, seed: int, limit: float, threads: int, score: str, cpu: bool) -> dict[str, Any]:
    """Return the figures of one run in this process; with ``cpu`` the limit is one of CPU seconds."""
    import time

    import numpy as np

    import dagopt
    from benchmarks.jobs import counting

    for size in (8, 30):  # what a process loads at its first runs
        dagopt.learn(dagopt.simulate(size, 200, 1.0, 0).data, score=score, time_limit=5, progress=False)
    data = dagopt.simulate(columns, N_ROWS, degree, seed).data
    begin, begin_cpu = time.perf_counter(), time.process_time()
    with counting(time.process_time) if cpu else nullcontext():
        result = dagopt.learn(data, score=score, time_limit=limit, n_jobs=threads, progress=False)
    seconds, used = time.perf_counter() - begin, time.process_time() - begin_cpu
    empty = dagopt.score(data, np.zeros((columns, columns), dtype=np.int8), score=score)
    falls = result.trace[:0]
    if "bound" in result.trace:  # the recursion has none until it ends
        trace = result.trace[result.trace["bound"].notna()]
        falls = trace[trace["bound"].diff().fillna(-1.0) < 0.0]
    return {
        "columns": columns, "degree": degree, "seed": seed, "limit": limit, "threads": threads, "score": score,
        "clock": "cpu" if cpu else "wall",
        "status": result.status, "value": result.score, "gap": result.gap,
        "share": None if result.gap is None else result.gap / max(result.score - empty, 1e-12),
        "last_fall": float(falls["seconds"].max()) if len(falls) else None,
        "seconds": used if cpu else seconds, "cpu": used, "notes": list(result.notes),
    }  # fmt: skip


def run_in(tree: Path, task: Sequence[object]) -> dict[str, Any] | str:
    """Return the figures of one run with the package of a checkout, in a process of its own, or why there are none."""
    command = [sys.executable, "-m", "benchmarks.growth", "--here", *map(str, task)]
    before = os.environ.get("PYTHONPATH")  # where packages are, perhaps
    paths = [str(tree.resolve() / "src"), str(HERE), *([before] if before else [])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=HERE)
    if done.returncode:
        return f"{task}: {(done.stderr.strip() or 'ended early').splitlines()[-1]}"
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def key_of(line: dict[str, Any]) -> tuple[Any, ...]:
    """Return which run a line is of."""
    return (*(line[key] for key in KEYS), line.get("clock") == "cpu")


def show(paths: Sequence[Path]) -> str:
    """Return the results of some files beside each other, the runs that any of them has."""
    found = [{key_of(line): line for line in map(json.loads, path.read_text().splitlines())} for path in paths]
    heads = ["columns", "degree", "seed", *(f"{path.stem}: {what}" for path in paths for what in ("gap", "%", "s"))]
    rows = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for key in sorted({key for lines in found for key in lines}):
        cells = [f"{key[0]}", f"{key[1]:g}", f"{key[2]}"]
        for lines in found:
            line = lines.get(key)
            if line is None:
                cells += ["-"] * 3
            else:
                gap = (
                    "none"
                    if line["gap"] is None
                    else "proven"
                    if line["status"] == "optimal"
                    else f"{line['gap']:,.1f}"
                )
                share = "-" if line["share"] is None else f"{100 * line['share']:.3f}"
                cells += [gap, share, f"{line['seconds']:.0f}"]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def shares(lines: Sequence[dict[str, Any]]) -> str:
    """Return for each cell, limit and number of threads the share that is proven, and the median gap of the rest."""
    heads = ["columns", "degree", "limit", "threads", "draws", "proven", "median seconds of a proof", "median gap", "%"]
    rows = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in lines:
        groups.setdefault(tuple(line[key] for key in ("columns", "degree", "limit", "threads")), []).append(line)
    for key in sorted(groups):
        own = groups[key]
        done = [line for line in own if line["status"] == "optimal"]
        rest = [line for line in own if line["status"] != "optimal" and line["gap"] is not None]
        cells = [f"{key[0]}", f"{key[1]:g}", f"{key[2]:g} s", f"{key[3]}", f"{len(own)}", f"{len(done) / len(own):.0%}"]
        cells.append(f"{median(line['seconds'] for line in done):.1f}" if done else "-")
        cells.append(f"{median(line['gap'] for line in rest):,.1f}" if rest else "-")
        cells.append(f"{100 * median(line['share'] for line in rest):.3f}" if rest else "-")
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    """Run what is missing, or show what there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=[25, 50, 100, 200, 300])
    parser.add_argument("--degrees", type=float, nargs="+", default=[0.5, 2.0])
    parser.add_argument("--seeds", type=int, help="tables of each size and degree; 2 unless given, all 20 if unseen")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds")
    parser.add_argument("--threads", type=int, default=2, help="of each run")
    parser.add_argument("--score", default="bic")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--tree", type=Path, default=HERE, help="a checkout whose package is run")
    parser.add_argument("--unseen", action="store_true", help="draws that no setting was chosen on")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--show", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--cpu", action="store_true", help="limits of CPU seconds; for one thread")
    parser.add_argument("--here", nargs=7, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        columns, degree, seed, limit, threads, score, cpu = given.here
        task = (int(columns), float(degree), int(seed), float(limit), int(threads), score, cpu == "True")
        print(json.dumps(run(*task)))
        return
    if given.cpu and given.threads != 1:
        parser.error("--cpu counts the time of all threads together; give --threads 1")
    given.seeds = given.seeds or (N_UNSEEN if given.unseen else 2)
    given.results = given.results or Path("unseen.jsonl" if given.unseen else "growth.jsonl")
    if given.show is None:
        lines = given.results.read_text().splitlines() if given.results.exists() else []
        done = {key_of(json.loads(line)) for line in lines}
        cells: Iterable[tuple[int, float, int]] = product(given.columns, given.degrees, range(given.seeds))
        if given.unseen:
            seeds = range(FIRST_UNSEEN, FIRST_UNSEEN + min(given.seeds, N_UNSEEN))
            cells = ((*cell, seed) for seed in seeds for cell in UNSEEN_CELLS)
        tasks = [(*cell, given.limit, given.threads, given.score, given.cpu) for cell in cells]
        with ThreadPoolExecutor(given.jobs) as jobs:
            for one in as_completed([jobs.submit(run_in, given.tree, task) for task in tasks if task not in done]):
                line = one.result()
                print(line if isinstance(line, str) else json.dumps(line), flush=True)
                if not isinstance(line, str):
                    with given.results.open("a") as file:
                        file.write(json.dumps(line) + "\n")
    if given.unseen:
        files = given.show or [given.results]
        print(shares([json.loads(line) for file in files for line in file.read_text().splitlines()]))
    else:
        print(show(given.show or [given.results]))


if __name__ == "__main__":
    main()
