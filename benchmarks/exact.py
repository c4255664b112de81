"""The exact method on the CPU: seconds, peak memory, and as multiples of streaming its table through memory.

    python -m benchmarks.exact [15 20 22 24 25]

Each size runs in its own process, warm (kernels compiled, pages touched by an earlier run), and is checked
against the score of the true graph. causal-learn's exact search at n = 10 runs beside it where it is installed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

import numpy as np

import dagopt


class Phases:
    """Records when each phase was last reported."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.ends: dict[str, float] = {}

    def update(self, phase: str, fraction: float | None = None, **facts: object) -> None:
        """Note the phase."""
        self.ends[phase.partition(" (")[0]] = time.perf_counter() - self.start

    def note(self, message: str) -> None:
        """Ignore notes."""

    def close(self) -> None:
        """Do nothing."""


def one(n: int) -> None:
    data, dag = dagopt.simulate(n, 5000, 2.0, 0)
    dagopt.learn(data.iloc[:, :10], "exact", progress=False)
    dagopt.learn(data, "exact", progress=False)
    phases = Phases()
    start = time.perf_counter()
    result = dagopt.learn(data, "exact", progress=phases)
    seconds = time.perf_counter() - start
    assert result.score >= dagopt.score(data, dag) - 1e-6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    table = np.ones(n * 2 ** (n - 1))
    np.maximum(table, 0.5, out=table)
    start = time.perf_counter()
    np.maximum(table, 2.0, out=table)
    stream = time.perf_counter() - start
    ends = phases.ends
    transform = ends["best parents: subsets"] - ends["potentials of all sets"] if n > 13 else float("nan")
    print(
        f"| {n} | {seconds:.2f} | {peak / 2**30:.2f} | {stream:.3f} | {seconds / stream:.1f} | "
        f"{transform:.2f} | {transform / stream:.1f} |",
        flush=True,
    )


def causal_learn() -> None:
    try:
        from causallearn.search.ScoreBased.ExactSearch import bic_exact_search
    except ImportError:
        print("causal-learn is not installed: pip install '.[bench]'")
        return
    data, _ = dagopt.simulate(10, 5000, 2.0, 0)
    dagopt.learn(data, "exact", progress=False)
    start = time.perf_counter()
    result = dagopt.learn(data, "exact", progress=False)
    ours = time.perf_counter() - start
    start = time.perf_counter()
    adjacency, _ = bic_exact_search(data.to_numpy(), search_method="dp")
    theirs = time.perf_counter() - start
    score = dagopt.score(data, np.asarray(adjacency, dtype=int))
    print(
        f"n = 10: dagopt {ours:.4f} s, score {result.score:.4f}; causal-learn bic_exact_search (dp) {theirs:.2f} s, "
        f"score {score:.4f}: {theirs / ours:.0f} times"
    )


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["--one"]:
        one(int(arguments[1]))
        return
    print("| n | seconds | peak GiB | one stream of the table | streams in all | best parents | streams |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for n in arguments or ["15", "20", "22", "24", "25"]:
        subprocess.run([sys.executable, "-m", "benchmarks.exact", "--one", str(n)], check=True)
    causal_learn()


if __name__ == "__main__":
    main()
