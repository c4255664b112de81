"""Column generation on discrete data: DCA's pricing, listed pricing, and listed pricing with order search.

    python -m benchmarks.discrete_pricing [--data ../shared/data] [--sets lucas,insurance,alarm] [--time-limit 120]

The data sets are those of the paper's table 3, read from a folder of CSV files with their true edges. DCA starts
as in the paper (hybrid) with the minimum-norm point; parent sets have at most three members with each.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import dagopt

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
ALONE = dict.fromkeys(("order_start", "order_again", "price_incumbent", "start_integer"), False)
WAYS = {
    "DCA": {**ALONE, "pricing": "dca"},
    "listed": {**ALONE, "pricing": "listed"},
    "listed, with order search": {"pricing": "listed"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--sets", default="lucas,insurance,alarm")
    parser.add_argument("--time-limit", type=float, default=120.0)
    arguments = parser.parse_args()
    print("| data | pricing | score | bound | SHD | columns | rows | seconds | CPU seconds | status |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in arguments.sets.split(","):
        path = next(path for path in arguments.data.glob(f"{name}.csv*"))
        table = dagopt.as_table(path)
        true = dagopt.read_graph(arguments.data / f"{name}.edges.csv", names=table.names)
        for way, options in WAYS.items():
            start, cpu = time.perf_counter(), time.process_time()
            result = dagopt.learn(
                table, "cg-dca", max_parents=3, score="bic", progress=False, time_limit=arguments.time_limit, **options
            )
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            bound = "-" if result.bound is None else f"{result.bound:.2f}"
            print(
                f"| {name} | {way} | {result.score:.4f} | {bound} | {dagopt.compare(result.dag, true).shd} "
                f"| {result.details['families']} | {result.details['rows']} | {seconds:.1f} | {cpu:.1f} "
                f"| {result.status} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
