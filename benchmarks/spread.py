"""How bootstrap, restarts and a penalty path speed up on the backends of joblib, and on a dask cluster of this machine.

    python -m benchmarks.spread [--quick]

The baseline is one thread of this process, without any backend. Then come two threads, two processes (loky), and dask
clusters of one and of two workers, each a process with one thread. In processes every learner uses one thread, so that
one worker is one core. Kernels are compiled, and worker processes started, by an earlier, smaller run. Seconds are
wall-clock, so the machine should be quiet; the answers are checked to be the same. The dask columns need
``dagopt[distributed]``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import joblib

import dagopt

Tasks = dict[str, Callable[[int, int], Any]]


def tasks(columns: tuple[int, int, int], resamples: int, restarts: int, penalties: int) -> Tasks:
    """Return what is timed: functions of the workers and of the threads of one learner, with comparable answers."""
    for_exact, for_order, for_path = (dagopt.simulate(n, 2000, 2.0, 0).data for n in columns)
    alone = {"score": "bic", "progress": False, "random_state": 0}
    return {
        f"bootstrap, {columns[0]} columns, {resamples} resamples": lambda jobs, own: dagopt.bootstrap(
            for_exact, resamples, method="exact", n_jobs=jobs, **alone
        ).edges.to_dict("records"),
        f"order, {columns[1]} columns, {restarts} restarts": lambda jobs, own: (
            dagopt.learn(for_order, "order", restarts=restarts, n_jobs=jobs, **alone).score
        ),
        f"path, {columns[2]} columns, {penalties} penalties": lambda jobs, own: [
            one.score for one in dagopt.path(for_path, n=penalties, method="exact", n_jobs=own, progress=False).results
        ],
    }


@contextmanager
def dask_workers(count: int) -> Iterator[None]:
    """Run joblib on a new dask cluster with so many workers."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(count, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask", n_jobs=count),
    ):
        yield


def places() -> dict[str, tuple[int, int, Callable[[], Any]]]:
    """Return where tasks can run: the number of workers, the threads of one learner, and a context."""
    found: dict[str, tuple[int, int, Callable[[], Any]]] = {
        "one thread": (1, 1, nullcontext),
        "two threads": (2, 2, lambda: joblib.parallel_config(backend="threading", n_jobs=2)),
        "two processes": (2, 1, lambda: joblib.parallel_config(backend="loky", n_jobs=2)),
    }
    try:
        import distributed  # noqa: F401
    except ImportError:
        print("dask is not installed: pip install 'dagopt[distributed]'")
        return found
    return found | {
        "dask, 1 worker": (1, 1, lambda: dask_workers(1)),
        "dask, 2 workers": (2, 1, lambda: dask_workers(2)),
    }


def main() -> None:
    """Print the table: seconds, and how many times as fast as one thread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    what = tasks((14, 20, 14), 16, 8, 6) if quick else tasks((20, 60, 21), 60, 32, 20)
    small = tasks((13, 16, 13), 4, 4, 4)
    took: dict[str, dict[str, tuple[float, Any]]] = {}
    for place, (jobs, own, context) in places().items():
        with context():
            for call in small.values():
                call(jobs, own)
            took[place] = {}
            for name, call in what.items():
                begun = time.perf_counter()
                answer = call(jobs, own)
                took[place][name] = (time.perf_counter() - begun, answer)
    print("| what | " + " | ".join(took) + " |\n|---|" + "---|" * len(took))
    for name in what:
        alone, expected = took["one thread"][name]
        assert all(found[name][1] == expected for found in took.values()), name
        figures = [f"{found[name][0]:.1f} s ({alone / found[name][0]:.2f})" for found in took.values()]
        print(f"| {name} | " + " | ".join(figures) + " |", flush=True)


if __name__ == "__main__":
    main()
