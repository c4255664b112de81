"""How bootstrap, restarts and a penalty path speed up with one and two workers of a dask cluster on this machine.

    python -m benchmarks.spread [--workers 1,2] [--quick]

Each worker is a process with one thread. Kernels are compiled by an earlier, smaller run on every worker. Seconds are
wall-clock, so the machine should be quiet; the answers are checked to be the same. Needs ``dagopt[distributed]``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import joblib
from distributed import Client, LocalCluster

import dagopt


def tasks(columns: int, resamples: int, restarts: int) -> dict[str, Callable[[], Any]]:
    """Return what is timed, each giving something that can be compared."""
    data = dagopt.simulate(columns, 2000, 2.0, 0).data
    alone = {"progress": False, "random_state": 0}
    return {
        f"bootstrap, {resamples} resamples": lambda: dagopt.bootstrap(data, resamples, **alone).edges.to_dict(
            "records"
        ),
        f"order, {restarts} restarts": lambda: dagopt.learn(data, "order", restarts=restarts, **alone).score,
        "path, 12 penalties": lambda: [
            result.score for result in dagopt.path(data, n=12, method="exact", progress=False).results
        ],
    }


def seconds(n_workers: int, what: dict[str, Callable[[], Any]]) -> dict[str, tuple[float, Any]]:
    """Return seconds and answer of each task on so many workers."""
    found = {}
    with (
        LocalCluster(n_workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask", n_jobs=n_workers),
    ):
        for small in tasks(8, 2 * n_workers, 2 * n_workers).values():
            small()
        for name, call in what.items():
            begun = time.perf_counter()
            answer = call()
            found[name] = (time.perf_counter() - begun, answer)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    what = tasks(12, 16, 8) if asked.quick else tasks(18, 40, 32)
    counts = [int(text) for text in asked.workers.split(",")]
    took = {count: seconds(count, what) for count in counts}
    print("| what | " + " | ".join(f"{count} workers, s" for count in counts) + " | speed-up |")
    print("|---|" + "---|" * (len(counts) + 1))
    for name in what:
        assert all(took[count][name][1] == took[counts[0]][name][1] for count in counts), name
        figures = [took[count][name][0] for count in counts]
        print(f"| {name} | " + " | ".join(f"{x:.1f}" for x in figures) + f" | {figures[0] / figures[-1]:.2f} |")


if __name__ == "__main__":
    main()
