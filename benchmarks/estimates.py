"""Are estimates honest? ``python -m benchmarks.estimates [--quick] [--cpu] [--seconds 180]``.

One row per run: what the bar first said about the whole run, how long it took, and the larger of both ratios. Runs that
have only a latest end, such as a time limit, are not estimates and are left out. The last line has the median error and
the share of runs within a factor of 2. Kernels are loaded before, by the same run. ``--quick`` takes every fourth run.
On a machine that does other work, ``--cpu`` compares estimates for one thread with CPU seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import cache
from statistics import median
from types import SimpleNamespace
from typing import Any

import pandas as pd

import dagopt
from dagopt import pace
from dagopt.progress import NoProgress, WholeRun, whole_run

ROWS = 2000
LEAST_SECONDS = 0.02  # shorter runs are not worth an estimate, and a clock cannot judge it


@cache
def drawn(kind: str, columns: int, degree: float = 2.0) -> pd.DataFrame:
    """Return a table: drawn from a random graph, or the first columns of a bundled network."""
    if kind in ("gaussian", "mixed", "discrete"):
        return dagopt.simulate(n_nodes=columns, n_samples=ROWS, degree=degree, kind=kind, random_state=0).data
    return dagopt.datasets.load(kind, n_samples=5000, random_state=0)[0].iloc[:, :columns]


def cases() -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """Yield what is called, the kind of table, the number of columns and the options."""
    for columns in (15, 17, 18, 19, 20, 21, 22):
        yield "exact", "gaussian", columns, {}
    for columns in (16, 18, 20):
        yield "exact", "gaussian", columns, {"score": "bge"}
        yield "auto", "gaussian", columns, {}
        yield "exact", "gaussian", columns, {"constraints": {"forbidden": [("X0", "X1")]}}
    for columns in (14, 16, 18):
        yield "exact", "gaussian", columns, {"max_parents": 3}
        yield "exact", "gaussian", columns, {"n_jobs": 1}
    for kind in ("alarm", "insurance"):
        for columns in (13, 15, 16, 17, 18):
            yield "exact", kind, columns, {}
        for columns in (13, 14, 15, 16):
            yield "exact", kind, columns, {"score": "bdeu"}
        yield "auto", kind, 17, {}
        yield "exact", kind, 14, {"max_parents": 3}
    for columns in (10, 12, 14, 15):
        yield "exact", "mixed", columns, {}
    for columns in (14, 16, 18):
        yield "posterior", "gaussian", columns, {}
    for columns in (10, 12):
        yield "posterior", "alarm", columns, {}
    for kind, columns in (("lucas", 12), ("gaussian", 15), ("alarm", 13)):
        yield "bootstrap", kind, columns, {}
    for columns in (10, 12):
        yield "exact", "gaussian", columns, {"n_best": 10}


def run(call: str, kind: str, columns: int, options: dict[str, Any], cpu: bool) -> tuple[float, float] | None:
    """Return predicted and real seconds, None if nothing was predicted."""
    data, progress = drawn(kind, columns), WholeRun(NoProgress())
    clock = time.process_time if cpu else time.perf_counter
    options = options | {"n_jobs": 1} if cpu else options
    begun = clock()
    if call == "bootstrap":
        dagopt.bootstrap(data, 50, progress=progress, **options)
    elif call == "posterior":
        dagopt.edge_posterior(data, progress=progress, **options)
    else:
        dagopt.learn(data, call, progress=progress, **options)
    took = clock() - begun
    return None if progress.first is None or progress.first.at_most else (progress.first.seconds, took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--seconds", type=float, default=180.0, help="no run begins after this time")
    arguments = parser.parse_args()
    if arguments.cpu:  # the clock of the bar too
        whole_run.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[assignment]
        pace.time = SimpleNamespace(perf_counter=time.thread_time)  # type: ignore[assignment]
    begun, errors = time.perf_counter(), []
    print("| call | table | columns | options | predicted s | real s | factor |")
    print("|---|---|---:|---|---:|---:|---:|")
    for number, case in enumerate(cases()):
        if (arguments.quick and number % 4) or time.perf_counter() - begun > arguments.seconds:
            continue
        call, kind, columns, options = case
        run(*case, arguments.cpu)  # kernels are loaded; a smaller table may need none
        found = run(*case, arguments.cpu)
        if found is None or max(found) < LEAST_SECONDS:
            continue
        error = max(found[0] / found[1], found[1] / found[0])
        errors.append(error)
        told = ", ".join(f"{name} {value}" for name, value in options.items())
        print(f"| {call} | {kind} | {columns} | {told} | {found[0]:.2f} | {found[1]:.2f} | {error:.2f} |", flush=True)
    within = sum(error <= 2 for error in errors) / len(errors)
    print(f"\n{len(errors)} runs; median error a factor of {median(errors):.2f}; {within:.0%} within a factor of 2")


if __name__ == "__main__":
    main()
