"""Other packages beside ours on simulated Gaussian data (degree 2, 5000 rows, seed 0): score and seconds.

    python -m benchmarks.peers [25 50 100] [--only order,boss] [--limit 300]

Every answer is scored by us, as the Gaussian BIC (paper convention) of one DAG; of a CPDAG a member is taken. Each run
has a process of its own and one thread, and is ended some time after the limit; everything is loaded before the clock
starts. Needs ``causal-learn`` and ``pgmpy``; what is not installed is left out. All in one run, one after the other.
"""

from __future__ import annotations

import argparse

from experiments.adapters import ADAPTERS
from experiments.isolate import run_isolated
from experiments.measure import not_available
from experiments.records import Run

MOST_EXACT_NODES = 25
PEERS = [name for name in ADAPTERS if name != "causal-learn-pc"]


def compare(n: int, only: list[str], limit: float) -> None:
    """Print the table of one size."""
    ours = ["order", "cg-dca", "hc", *(["exact"] if n <= MOST_EXACT_NODES else [])]
    print(
        f"\n| n = {n} | score | above the true DAG | CPU seconds | times `order` | seconds |\n|---|---|---|---|---|---|"
    )
    base = None
    for method in [*ours, *PEERS]:
        if only and not any(part in method for part in only):
            continue
        if not_available(method):
            print(f"| {method} | {not_available(method)} | | | | |", flush=True)
            continue
        record = run_isolated(Run(f"n{n}-N5000-d2.0", 0, method, limit=limit))
        assert record is not None
        if record.score is None or record.true_score is None:
            print(f"| {method} | {record.error or record.status} | | | | |", flush=True)
            continue
        base = record.cpu_seconds if method == "order" else base
        times = f"{record.cpu_seconds / base:.1f}" if base else "-"
        print(
            f"| {method} | {record.score:.2f} | {record.score - record.true_score:+.2f} | {record.cpu_seconds:.2f} "
            f"| {times} | {record.seconds:.2f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int, nargs="*", default=[25, 50, 100])
    parser.add_argument("--only", default="", help="parts of names, with commas")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a run")
    arguments = parser.parse_args()
    for n in arguments.nodes or [25, 50, 100]:
        compare(n, [part for part in arguments.only.split(",") if part], arguments.limit)


if __name__ == "__main__":
    main()
