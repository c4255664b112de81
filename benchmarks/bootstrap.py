"""How certain an edge is, timed: resamples, the penalty path and regrets; and how far order search is from the optimum.

    python -m benchmarks.bootstrap [--nodes 15,20,25] [--resamples 100] [--jobs 2] [--quality]

Seconds are wall-clock; processor seconds are also given, because other work on the machine slows the first. Data are
drawn with an average of two parents and 5,000 rows. ``--quality`` compares, on 18 columns, the frequencies and
regrets of order search with those of the exact method.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dagopt

ROWS, DEGREE, SEED = 5000, 2.0, 0


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what a call returns, its seconds and its processor seconds."""
    start, used = time.perf_counter(), time.process_time()
    found = call()
    return found, time.perf_counter() - start, time.process_time() - used


def speed(nodes: list[int], resamples: int, jobs: int) -> None:
    """Print the times of all three for each number of columns."""
    print("| n | what | seconds | processor seconds | found |")
    print("|---|---|---|---|---|")
    for n in nodes:
        data, true = dagopt.simulate(n, ROWS, DEGREE, SEED)
        sure, *took = timed(
            lambda data=data: dagopt.bootstrap(data, resamples, n_jobs=jobs, score="bic", progress=False)
        )
        agree = dagopt.compare(sure.consensus(), true)
        told = f"{sure.method}; consensus: SHD {agree.shd} of {agree.n_true} edges"
        print(f"| {n} | {sure.n_done} resamples | {took[0]:.1f} | {took[1]:.1f} | {told} |")
        along, *took = timed(lambda data=data: dagopt.path(data, n_jobs=jobs, score="bic", progress=False))
        told = f"{along.method}; {along.table['edges'].iloc[0]} to {along.table['edges'].iloc[-1]} edges"
        print(f"| {n} | {len(along.penalties)} penalties | {took[0]:.1f} | {took[1]:.1f} | {told} |")
        result = dagopt.learn(data, "order", score="bic", progress=False)
        for method in ("auto", "order"):
            table, *took = timed(
                lambda result=result, method=method: result.regrets(method=method, n_jobs=jobs, progress=False)
            )
            told = f"{method}; {int(table['proven'].sum())} proven, least {table['neither'].min():.2f}"
            print(f"| {n} | regrets of {len(table)} edges | {took[0]:.1f} | {took[1]:.1f} | {told} |")


def quality(resamples: int, jobs: int) -> None:
    """Print how far order search is from the exact method on 18 columns."""
    print("\n| instance | mean difference of strength | largest | regrets equal to the exact ones | mean excess |")
    print("|---|---|---|---|---|")
    for seed in range(3):
        data, _ = dagopt.simulate(18, ROWS, DEGREE, seed)
        exact, order = (
            dagopt.bootstrap(data, resamples, method=method, n_jobs=jobs, score="bic", progress=False)
            for method in ("exact", "order")
        )
        strengths = [found.frequency + found.frequency.T for found in (exact, order)]
        joined = np.triu(strengths[0] + strengths[1]) > 0
        gap = np.abs(strengths[0] - strengths[1])[joined]
        result = dagopt.learn(data, "exact", score="bic", progress=False)
        tables = [
            result.regrets(method=method, n_jobs=jobs, progress=False).set_index(["from", "to"]).sort_index()
            for method in ("exact", "order")
        ]
        exact_figures, found_figures = (table[["without", "reversed", "neither"]].to_numpy() for table in tables)
        excess = found_figures - exact_figures
        print(f"| {seed} | {gap.mean():.4f} | {gap.max():.2f} | {np.mean(excess < 1e-6):.0%} | {excess.mean():.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="15,20,25")
    parser.add_argument("--resamples", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quality", action="store_true")
    arguments = parser.parse_args()
    small = dagopt.simulate(5, 100, 1.0, 0).data  # kernels are compiled or loaded
    dagopt.bootstrap(small, 2, method="order", progress=False)
    dagopt.learn(small, "exact", progress=False).regrets(progress=False)
    speed([int(n) for n in arguments.nodes.split(",")], arguments.resamples, arguments.jobs)
    if arguments.quality:
        quality(arguments.resamples, arguments.jobs)


if __name__ == "__main__":
    main()
