"""Many columns: order search on simulated data: seconds, memory, score and SHD, and where the time goes.

    python -m benchmarks.scale [100 200 500 1000] [--kind gaussian|discrete] [--score bic] [--method order] [--seeds 1]
    python -m benchmarks.scale 2000 5000 --degree 1 --score ebic --max-parents 20
    python -m benchmarks.scale 10000 --degree 1 --score ebic --max-parents 20
    python -m benchmarks.scale 20000 50000 100000 --degree 1 --score ebic --rows 1000 --limit 900 --trace
    python -m benchmarks.scale 10000 11000 20000 --degree 1 --score ebic --rows 1000 --max-parents 20 --seeds 3
    python -m benchmarks.scale 200 500 1000 --phases        # the share of each phase, one thread
    python -m benchmarks.scale --quick

Each run has a process of its own, so that the peak of its memory is its own; all cores, except for the phases. The
peak includes the table. Above 10,000 columns the search is the one for very many columns, which computes products on a
GPU if there is one. ``--limit`` are the seconds of one run, ``--trace`` prints where they went, and the notes. The last
command but two compares SHD per edge below and above 10,000 columns on the same design.
"""

from __future__ import annotations

import argparse
import functools
import resource
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import numpy as np

import dagopt
from dagopt.deadline import Deadline
from dagopt.graph.order import MOST_DENSE
from dagopt.methods.orders.wide import WideScore, search_wide
from dagopt.progress import NoProgress

ROWS = 5000
PHASES = {
    "dagopt.data.doctor": {"_table_findings": "doctor"},
    "dagopt.methods.orders.grown.GrownOrders": {
        "start": "parents for the first order",
        "settle": "to the first local optimum",
        "kick": "kicks",
        "improve": "all places of all columns",
    },
    "dagopt.methods.orders.order": {"solve_hc": "hill climbing at the end"},
    "dagopt.learning.learning": {"with_likelihood_bound": "bound of the likelihood"},
}


def measure(n: int, seed: int, kind: str, options: dict[str, Any]) -> str:
    """Return a row of the table of sizes."""
    data, truth = dagopt.simulate(n, options["rows"], options["degree"], seed, kind=kind)
    method, score = options["method"], options["score"]
    small = dagopt.simulate(6, 300, 1.0, 0, kind=kind).data
    dagopt.learn(small, method, progress=False)  # kernels are loaded
    if n > MOST_DENSE:
        search_wide(small.to_numpy(), list(small), WideScore(300, 3.0 * np.arange(5)), Deadline(), NoProgress())
    table = dagopt.as_table(data)
    del data
    start, cpu = time.perf_counter(), time.process_time()
    asked = {"max_parents": options["max_parents"], "time_limit": options["limit"]}
    result = dagopt.learn(table, method, score=score, progress=False, **asked)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    assert result.score is not None
    above = result.score - dagopt.score(table, truth, score=score)
    closeness, edges = dagopt.compare(result.dag, truth), truth.number_of_edges()
    said = _where_time_went(result) if options["trace"] else ""
    return said + (
        f"| {kind}, {method}, {score} | {n} | {options['rows']} | {seed} | {edges} "
        f"| {seconds:.1f} | {cpu:.1f} | {peak:.0f} | {above:+.1f} | {closeness.shd} "
        f"| {closeness.shd / max(edges, 1):.4f} | {closeness.precision:.3f} | {closeness.recall:.3f} |"
    )


def _where_time_went(result: dagopt.Result) -> str:
    """Return the seconds between the rows of the trace, added up by phase, and the notes, as lines of text."""
    spent: dict[str, float] = {}
    before = 0.0
    for seconds, phase in zip(result.trace["seconds"], result.trace["phase"], strict=True):
        spent[phase] = spent.get(phase, 0.0) + seconds - before
        before = seconds
    parts = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in spent.items())
    return "\n".join([f"{result.status}: {parts}", *result.notes, ""])


def phases(n: int, seed: int, kind: str, options: dict[str, Any]) -> str:
    """Return the rows of one size in the table of phases: CPU seconds and shares, what is called within not counted."""
    data, _ = dagopt.simulate(n, options["rows"], options["degree"], seed, kind=kind)
    dagopt.learn(dagopt.simulate(6, 300, 1.0, 0, kind=kind).data, "order", progress=False)
    table = dagopt.as_table(data)
    spent: dict[str, float] = {}
    within = [0.0]

    def timed(function: Callable[..., Any], phase: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*arguments: Any, **named: Any) -> Any:
            within.append(0.0)
            start = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                seconds = time.process_time() - start
                spent[phase] = spent.get(phase, 0.0) + seconds - within.pop()
                within[-1] += seconds

        return call

    for path, functions in PHASES.items():
        holder = _find(path)
        for name, phase in functions.items():
            setattr(holder, name, timed(getattr(holder, name), phase))
    start = time.process_time()
    dagopt.learn(table, "order", score=options["score"], progress=False, n_jobs=1, max_parents=options["max_parents"])
    total = time.process_time() - start
    spent["all else"] = total - sum(spent.values())
    rows = [f"| {n} | {phase} | {seconds:.2f} | {seconds / total:.0%} |" for phase, seconds in spent.items()]
    return "\n".join([*rows, f"| {n} | **all** | {total:.2f} | |"])


def _find(path: str) -> Any:
    """Return the module or class of this name."""
    import importlib

    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, name = path.rsplit(".", 1)
        return getattr(importlib.import_module(module), name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int, nargs="*", default=[100, 200, 500, 1000])
    parser.add_argument("--kind", choices=("gaussian", "discrete"), default="gaussian")
    parser.add_argument("--score", default="bic")
    parser.add_argument("--method", default="order")
    parser.add_argument("--degree", type=float, default=2.0, help="parents of a column, on average")
    parser.add_argument("--max-parents", type=int)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--phases", action="store_true")
    parser.add_argument("--limit", type=float, help="seconds of one run")
    parser.add_argument("--trace", action="store_true", help="where the seconds went, and the notes")
    parser.add_argument("--quick", action="store_true", help="100 columns alone")
    arguments = parser.parse_args()
    names = ("score", "method", "degree", "max_parents", "rows", "limit", "trace")
    options = {name: getattr(arguments, name) for name in names}
    if arguments.phases:
        print("| n | phase | CPU seconds | share |\n|---|---|---|---|")
    else:
        print(
            "| data, method, score | n | rows | seed | edges | seconds | CPU seconds | peak MB | above the true DAG "
            "| SHD | SHD per edge | precision | recall |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
        )
    run = phases if arguments.phases else measure
    for n in [100] if arguments.quick else arguments.nodes or [100, 200, 500, 1000]:
        for seed in range(arguments.seeds):
            with get_context("spawn").Pool(1) as pool:
                print(pool.apply(run, (n, seed, arguments.kind, options)), flush=True)


if __name__ == "__main__":
    main()
