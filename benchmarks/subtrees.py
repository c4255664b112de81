"""How the search of a tree speeds up with worker processes: ``python -m benchmarks.subtrees``.

python -m benchmarks.subtrees [--workers 1 2 4 8 16] [--columns 16] [--degree 1.75] [--seed 0] [--within 300] [--dask]

Each worker is a process with one thread: of ``concurrent.futures``, or of a dask cluster of this machine. Local cuts
are left out, so that the tree is long and the root short. All is proven, without a limit. The runs with the most
workers come first, the one without workers last; none begins after ``--within`` seconds. *Root* is the listing and the
root, which one thread does in every run. The rest is compared with that of the run without workers, or with one. The
exit code is 1 if a score or a bound differs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import dagopt
from dagopt.methods.branch_and_cut.branch_and_cut import ROW_KINDS
from dagopt.methods.branch_and_cut.tree import Tree


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


@contextmanager
def noted(ends: list[float]) -> Iterator[None]:
    """Note when roots end."""
    work = Tree._work_on_root

    def work_on_root(tree: Tree, *facts: Any) -> bool:
        goes_on = work(tree, *facts)
        ends.append(time.perf_counter())
        return goes_on

    Tree._work_on_root = work_on_root  # type: ignore[method-assign]
    try:
        yield
    finally:
        Tree._work_on_root = work  # type: ignore[method-assign]


def main() -> int:
    """Print a row per number of workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--degree", type=float, default=1.75)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--within", type=float, default=300.0, help="seconds after which no run begins")
    parser.add_argument("--dask", action="store_true")
    given = parser.parse_args()
    data = dagopt.simulate(given.columns, given.rows, given.degree, given.seed).data
    small = dagopt.simulate(10, 300, 2.0, 3).data
    kinds = tuple(kind for kind in ROW_KINDS if kind != "local")
    options: dict[str, Any] = {"score": "bic", "n_jobs": 1, "progress": False, "rows": kinds}
    dagopt.learn(small, "branch-and-cut", **options)  # compiles
    print(
        f"{os.cpu_count()} cores\n\n| workers | status | score | nodes | tasks | root, s | the rest, s |\n|{'---|' * 7}"
    )
    end, took, answers = time.perf_counter() + given.within, dict[int, float](), set[tuple[float, float]]()
    for count in (*sorted(given.workers, reverse=True), 0):
        if time.perf_counter() > end:
            print(f"| {count or 'none'} | no time | | | | | |")
            continue
        with workers(max(count, 1), given.dask) as where:
            cluster = where if count else None
            dagopt.learn(small, "branch-and-cut", cluster=cluster, **options)  # workers load
            begin, ends = time.perf_counter(), list[float]()
            with noted(ends):
                result = dagopt.learn(data, "branch-and-cut", cluster=cluster, **options)
            root, whole = ends[0] - begin, time.perf_counter() - begin
        took[count] = whole - root
        answers.add((round(result.score or 0.0, 6), round(result.bound or 0.0, 4)))
        tasks = [note.split("; ")[-1] for note in result.notes if "tasks on" in note]
        cells = [count or "none", result.status, f"{result.score:.4f}", result.details.get("n_tree_nodes")]
        cells += [tasks[0].split(" tasks")[0] if tasks else "-", f"{root:.1f}", f"{took[count]:.1f}"]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    alone = took.get(0, took.get(1))
    if alone is not None:
        faster = ", ".join(f"{count or 'none'}: {alone / seconds:.2f}" for count, seconds in sorted(took.items()))
        print(f"\nThe rest, times as fast: {faster}")
    print("Scores and bounds are the same." if len(answers) == 1 else f"DIFFERENT: {sorted(answers)}")
    return int(len(answers) > 1)


if __name__ == "__main__":
    sys.exit(main())
