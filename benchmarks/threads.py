"""What more threads bring to a proof, and that the answer is the same: ``python -m benchmarks.threads``.

python -m benchmarks.threads [--threads 1 2 4 8 16] [--lanes 16 4] [--limit 60] [--only NAME ...] [--shared ../shared]

Trees over public files of local scores, and over simulated Gaussian tables, with each number of threads, one run after
the other. ``--lanes`` gives the most nodes that are worked on at the same time, which changes the tree; the number of
threads does not, and a run that ends in another tree with more threads is named.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import dagopt
from dagopt.methods.branch_and_cut import tree

FILES = ("soybean_BIC", "steel_BIC", "water_1000_1_BDeu")
CELLS = ((20, 2.0, 0), (25, 1.5, 1), (30, 1.0, 2))  # columns, degree, seed; 5,000 rows
NAMES = (*FILES, *(f"cell-{columns}-{degree:g}-{seed}" for columns, degree, seed in CELLS))


def run(name: str, threads: int, limit: float, shared: Path) -> dagopt.Result:
    """Return the result of an instance."""
    options: dict[str, Any] = {"time_limit": limit, "n_jobs": threads, "progress": False}
    if name in FILES:
        return dagopt.learn(shared / "bench" / "scores" / f"{name}.jkl.gz", "gobnilp", **options)
    columns, degree, seed = CELLS[NAMES.index(name) - len(FILES)]
    data = dagopt.simulate(columns, 5000, degree, seed).data
    return dagopt.learn(data, "branch-and-cut", score="bic", max_sets=10**7, **options)


def main() -> None:
    """Print a row per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--lanes", type=int, nargs="+", default=[tree.MOST_LANES])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each run")
    parser.add_argument("--only", nargs="+", default=list(NAMES), choices=NAMES, metavar="NAME")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    given = parser.parse_args()
    print(
        f"{os.cpu_count()} cores\n\n| instance | lanes | threads | status | gap | nodes | nodes/s | seconds | CPU s |"
    )
    print(f"|{'---|' * 9}")
    for name in given.only:
        run(name, 1, 1.0, given.shared)  # loads and compiles
        for lanes in given.lanes:
            tree.MOST_LANES = lanes
            proven: tuple[Any, ...] | None = None
            for threads in given.threads:
                wall, cpu = time.perf_counter(), time.process_time()
                result = run(name, threads, given.limit, given.shared)
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                nodes = result.details.get("n_tree_nodes") or 0
                gap = "-" if result.gap is None else f"{result.gap:.4f}"
                cells = [name, lanes, threads, result.status, gap, nodes, f"{nodes / wall:.2f}", f"{wall:.1f}"]
                print(f"| {' | '.join(map(str, cells))} | {cpu:.1f} |", flush=True)
                if result.status == "optimal":
                    facts = (result.score, nodes, result.adjacency.tolist())
                    if proven not in (None, facts):
                        print(f"{name}: another tree with {threads} threads")
                    proven = facts


if __name__ == "__main__":
    main()
