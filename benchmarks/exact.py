"""The exact method on the CPU: seconds, peak memory, and as multiples of one pass over n 2^(n-1) numbers in memory.

    python -m benchmarks.exact [15 20 22 24 26 28]
    python -m benchmarks.exact --threads [20 24]      one thread and two, and their ratio
    python -m benchmarks.exact --discrete [16 20 25]  columns of ALARM and INSURANCE, 5,000 rows, BIC and, to 20, BDeu

Each size runs in its own process, warm (kernels compiled, pages touched by an earlier run), and is checked
against the score of the true graph. causal-learn's exact search at n = 10 runs beside it where it is installed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

import dagopt
from dagopt.progress import NoProgress


class Phases(NoProgress):
    """Records when each phase was last reported."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.ends: dict[str, float] = {}

    def update(self, phase: str, fraction: float | None = None, **facts: object) -> None:
        """Note the phase."""
        self.ends[phase.partition(" (")[0]] = time.perf_counter() - self.start


def one(n: int) -> None:
    data, dag = dagopt.simulate(n, 5000, 2.0, 0)
    dagopt.learn(data.iloc[:, :10], "exact", score="bic", progress=False)
    dagopt.learn(data, "exact", score="bic", progress=False)
    phases = Phases()
    start, before = time.perf_counter(), time.process_time()
    result = dagopt.learn(data, "exact", score="bic", progress=phases)
    seconds, processor = time.perf_counter() - start, time.process_time() - before
    assert result.score >= dagopt.score(data, dag) - 1e-6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    part = min(n, 22)  # one pass of numpy over a part of the numbers that the recursion goes through
    table = np.ones(n * 2 ** (part - 1))
    np.maximum(table, 0.5, out=table)
    start = time.perf_counter()
    np.maximum(table, 2.0, out=table)
    stream = (time.perf_counter() - start) * 2 ** (n - part)
    told = phases.ends.get("potentials of all sets", float("nan"))
    figures = f"{seconds:.2f} | {processor:.2f} | {told:.2f} | {peak / 2**30:.2f} | {seconds / stream:.1f}"
    print(f"| {n} | {figures} |", flush=True)


def causal_learn() -> None:
    try:
        from causallearn.search.ScoreBased.ExactSearch import bic_exact_search
    except ImportError:
        print("causal-learn is not installed: pip install '.[bench]'")
        return
    data, _ = dagopt.simulate(10, 5000, 2.0, 0)
    dagopt.learn(data, "exact", score="bic", progress=False)
    start = time.perf_counter()
    result = dagopt.learn(data, "exact", score="bic", progress=False)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    adjacency, _ = bic_exact_search(data.to_numpy(), search_method="dp")
    theirs = time.perf_counter() - start
    score = dagopt.score(data, np.asarray(adjacency, dtype=int))
    print(
        f"n = 10: dagopt {ours:.4f} s, score {result.score:.4f}; causal-learn bic_exact_search (dp) {theirs:.2f} s, "
        f"score {score:.4f}: {theirs / ours:.0f} times"
    )


def threads(n: int) -> None:
    """Print seconds with one thread and with two, the better of two runs each."""
    data, _ = dagopt.simulate(n, 5000, 2.0, 0)
    dagopt.learn(data, "exact", n_jobs=2, score="bic", progress=False)
    took = [min(_seconds(data, n_jobs=jobs) for _ in range(2)) for jobs in (1, 2)]
    print(f"| {n} | {took[0]:.2f} | {took[1]:.2f} | {took[0] / took[1]:.2f} |", flush=True)


def discrete(n: int) -> None:
    """Print seconds for the first columns of two networks."""
    for name in ("alarm", "insurance"):
        data = dagopt.datasets.load(name, n_samples=5000, random_state=0)[0].iloc[:, :n]
        dagopt.learn(data.iloc[:, :16], "exact", score="bic", progress=False)
        for score in ("bic", "bdeu") if n <= 20 else ("bic",):
            phases = Phases()
            before = time.process_time()
            took = _seconds(data, score=score, progress=phases)
            processor = time.process_time() - before
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            told = phases.ends["potentials of all sets"]
            print(f"| {name} | {n} | {score} | {took:.2f} | {processor:.2f} | {told:.2f} | {peak:.2f} |", flush=True)


def _seconds(data: object, **options: Any) -> float:
    start = time.perf_counter()
    dagopt.learn(data, "exact", **{"score": "bic", "progress": False} | options)
    return time.perf_counter() - start


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["--threads"]:
        print("| n | one thread, s | two threads, s | ratio |\n|---|---|---|---|")
        for n in arguments[1:] or ["20", "24"]:
            threads(int(n))
        return
    if arguments[:1] == ["--discrete"]:
        print("| columns of | n | score | seconds | CPU seconds | until potentials are filled | peak GiB |")
        print("|---|---|---|---|---|---|---|", flush=True)
        for n in arguments[1:] or ["16", "20"]:
            discrete(int(n))
        return
    if arguments[:1] == ["--one"]:
        one(int(arguments[1]))
        return
    print("| n | seconds | CPU seconds | until potentials are filled | peak GiB | streams |")
    print("|---|---|---|---|---|---|", flush=True)
    for n in arguments or ["15", "20", "22", "24", "26"]:
        subprocess.run([sys.executable, "-m", "benchmarks.exact", "--one", str(n)], check=True)
    causal_learn()


if __name__ == "__main__":
    main()
