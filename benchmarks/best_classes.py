"""The ten best equivalence classes: seconds and bytes of tables. Run as ``python -m benchmarks.best_classes``."""

from __future__ import annotations

import time

import dagopt
from dagopt.data.table import as_table
from dagopt.graph.constraints import Constraints
from dagopt.memory import readable
from dagopt.methods.exact.best_classes import estimate_best_classes
from dagopt.problem import Problem
from dagopt.scores import make_score


def main() -> None:
    for n in (12, 12, 15, 18):  # the first compiles
        data, _ = dagopt.simulate(n, 1000, 1.0, 0)
        table = as_table(data)
        problem = Problem(table, make_score(table, "bic"), Constraints().resolve(table.names))
        start = time.perf_counter()
        result = dagopt.learn(data, "exact", n_best=10, score="bic", progress=False)
        seconds = time.perf_counter() - start
        bytes_ = readable(estimate_best_classes(problem, 10, 10**12, 2).n_bytes)
        print(f"n = {n}: {seconds:.2f} s, {bytes_}; {result.notes[-1]}")


if __name__ == "__main__":
    main()
