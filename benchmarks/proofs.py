"""Proofs over parent sets up to a size on LUCAS, INSURANCE and ALARM: seconds with scoring, and the gap that is left.

python -m benchmarks.proofs [../shared] [--limit 300]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import dagopt

CASES = [("lucas", 3, "bic"), ("insurance", 3, "bic"), ("alarm", 3, "bic"), ("alarm", 4, "bic"), ("alarm", 3, "bdeu")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shared", nargs="?", default="../shared", type=Path)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each case")
    given = parser.parse_args()
    warm, _ = dagopt.datasets.load("asia", n_samples=500, random_state=0)
    dagopt.learn(warm, "gobnilp", progress=False)  # compiles the kernels
    print("| data | sets up to | score | best | bound | gap | sets kept | nodes | cuts | seconds | CPU seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, size, score in CASES:
        path = next((given.shared / "data").glob(f"{name}.csv*"))
        wall, cpu = time.perf_counter(), time.process_time()
        result = dagopt.learn(path, "gobnilp", score=score, max_parents=size, time_limit=given.limit, progress=False)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        kept = result.notes[0].split()[0]
        figures = [result.details.get(key, "") for key in ("n_tree_nodes", "n_cuts")]
        print(
            f"| {name} | {size} | {score} | {result.score:.4f} | {result.bound:.4f} | {result.gap:.4%} | {kept} | "
            f"{figures[0]} | {figures[1]} | {wall:.1f} | {cpu:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
