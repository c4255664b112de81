"""Edge probabilities and edge regrets: seconds, seconds of all cores together, and memory.

    python -m benchmarks.posterior [--sums 15 18 20] [--regrets 20 25]

Gaussian data (d = 2, N = 1,000 for BGe and 5,000 for BIC). Each size runs in its own process, warm: kernels are
compiled by a smaller problem before. Probabilities are checked to be such, regrets against the exact method. For the
regrets, the edges of the best DAG alone come first, then all pairs.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

import dagopt
from dagopt.data.table import as_table
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.memory import readable
from dagopt.methods.exact.edge_posterior import estimate_order_sums
from dagopt.methods.exact.edge_regret import edge_regrets, estimate_edge_regrets
from dagopt.methods.exact.plan import memory_in_bytes
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores import make_score

WARM = 14  # with this many columns every kernel runs


def problem_of(n: int, n_samples: int, score: str) -> Problem:
    table = as_table(dagopt.simulate(n, n_samples, 2.0, 0).data)
    return Problem(table, make_score(table, score), Constraints().resolve(table.names))


def peak() -> str:
    return readable(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def sums(n: int) -> None:
    dagopt.edge_posterior(problem_of(WARM, 1000, "bge").table, progress=False)
    problem = problem_of(n, 1000, "bge")
    start, work = time.perf_counter(), time.process_time()
    found = dagopt.edge_posterior(problem.table, progress=False)
    seconds, work = time.perf_counter() - start, time.process_time() - work
    assert ((found.probabilities >= 0) & (found.skeleton <= 1 + 1e-9)).all(axis=None)
    planned = readable(estimate_order_sums(problem, 1 << 60, 1).n_bytes)
    print(f"| {n} | {seconds:.2f} | {work:.2f} | {planned} | {peak()} |", flush=True)


def regrets(n: int) -> None:
    edge_regrets(problem_of(WARM, 1000, "bic"), Deadline(), NoProgress())
    problem = problem_of(n, 5000, "bic")
    best = dagopt.learn(problem.table, "exact", score="bic", progress=False)
    edges = [(int(a), int(b)) for a, b in np.argwhere(best.adjacency)]
    planned = readable(estimate_edge_regrets(problem, memory_in_bytes(None), 1).n_bytes)
    for asked, what in ((edges, f"{len(edges)} edges"), (None, f"all {n * (n - 1)}")):
        start, work = time.perf_counter(), time.process_time()
        found = edge_regrets(problem, Deadline(), NoProgress(), edges=asked)
        seconds, work = time.perf_counter() - start, time.process_time() - work
        assert best.score is not None
        assert abs(found.best - best.score) <= 1e-10 * abs(found.best)
        assert all(found.include[edge] == found.best for edge in edges)
        print(f"| {n} | {what} | {seconds:.2f} | {work:.2f} | {planned} | {peak()} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--sums", nargs="*", default=["15", "18", "20"])
    parser.add_argument("--regrets", nargs="*", default=["20", "25"])
    asked = parser.parse_args()
    if asked.one:
        {"sums": sums, "regrets": regrets}[asked.one[0]](int(asked.one[1]))
        return
    heads = {
        "sums": "| n | seconds | core seconds | planned | peak |\n|---|---|---|---|---|",
        "regrets": "| n | edges | seconds | core seconds | planned | peak |\n|---|---|---|---|---|---|",
    }
    for what, sizes in (("sums", asked.sums), ("regrets", asked.regrets)):
        print(f"\n{what}\n\n{heads[what]}", flush=True)
        for n in sizes:
            subprocess.run([sys.executable, "-m", "benchmarks.posterior", "--one", what, n], check=True)


if __name__ == "__main__":
    main()
