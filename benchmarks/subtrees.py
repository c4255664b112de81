"""How the search of a tree speeds up with worker processes: ``python -m benchmarks.subtrees``.

python -m benchmarks.subtrees [--workers 1 2 4 8 16] [--columns 60] [--degree 0.5] [--seed 2] [--limit 120] [--dask]

Each worker is a process with one thread: of ``concurrent.futures``, or of a dask cluster of this machine. Nodes per
second count the whole run, with the listing and the root, which one thread does.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import dagopt


@contextmanager
def workers(count: int, is_dask: bool) -> Iterator[Any]:
    """Yield so many workers."""
    if not is_dask:
        with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as executor:
            yield executor
        return
    from distributed import Client, LocalCluster

    with LocalCluster(count, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def main() -> None:
    """Print a row per number of workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--columns", type=int, default=60)
    parser.add_argument("--degree", type=float, default=0.5)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for each run")
    parser.add_argument("--dask", action="store_true")
    given = parser.parse_args()
    data = dagopt.simulate(given.columns, given.rows, given.degree, given.seed).data
    options: dict[str, Any] = {"score": "bic", "n_jobs": 1, "progress": False}
    print(f"{os.cpu_count()} cores\n\n| workers | status | score | gap | nodes | seconds | nodes/s |\n|{'---|' * 7}")
    for count in (0, *given.workers):
        with workers(max(count, 1), given.dask) as where:
            cluster = where if count else None
            small = dagopt.simulate(10, 300, 2.0, 3).data
            dagopt.learn(small, "branch-and-cut", cluster=cluster, time_limit=20, **options)  # workers load and compile
            begin = time.perf_counter()
            result = dagopt.learn(data, "branch-and-cut", cluster=cluster, time_limit=given.limit, **options)
            seconds = time.perf_counter() - begin
        nodes = result.details.get("n_tree_nodes") or 0
        gap = "-" if result.gap is None else f"{result.gap:.4f}"
        cells = [count or "none", result.status, f"{result.score:.4f}", gap, nodes, f"{seconds:.1f}"]
        print(f"| {' | '.join(map(str, cells))} | {nodes / seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
