"""Many columns: order search on simulated data of degree 2 with 5000 rows: seconds, memory, score and SHD.

    python -m benchmarks.scale [100 200 500 1000] [--kind gaussian|discrete]

Each size has a process of its own, so that the peak of its memory is its own; both cores.
"""

from __future__ import annotations

import argparse
import resource
import time
from multiprocessing import get_context

import dagopt


def measure(n: int, kind: str, score: str) -> str:
    """Return a row of the table."""
    data, truth = dagopt.simulate(n, 5000, 2.0, 0, kind=kind)
    dagopt.learn(dagopt.simulate(6, 300, 1.0, 0, kind=kind).data, "order", progress=False)  # kernels are loaded
    table = dagopt.as_table(data)
    start, cpu = time.perf_counter(), time.process_time()
    result = dagopt.learn(table, "order", score=score, progress=False)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    assert result.score is not None
    above = result.score - dagopt.score(table, truth, score=score)
    closeness = dagopt.compare(result.dag, truth)
    return (
        f"| {kind}, {score} | {n} | {truth.number_of_edges()} | {seconds:.1f} | {cpu:.1f} | {peak:.0f} | {above:+.1f} "
        f"| {closeness.shd} | {closeness.precision:.3f} | {closeness.recall:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int, nargs="*", default=[100, 200, 500, 1000])
    parser.add_argument("--kind", choices=("gaussian", "discrete"), default="gaussian")
    parser.add_argument("--score", default="bic")
    arguments = parser.parse_args()
    print("| data | n | edges | seconds | CPU seconds | peak MB | above the true DAG | SHD | precision | recall |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for n in arguments.nodes or [100, 200, 500, 1000]:
        with get_context("spawn").Pool(1) as pool:
            print(pool.apply(measure, (n, arguments.kind, arguments.score)), flush=True)


if __name__ == "__main__":
    main()
