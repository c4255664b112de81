"""Order search on the 72 Gaussian instances with proven optima: how often it reaches them, and seconds.

    python -m benchmarks.order_cells [--nodes 15,20,25] [--samples 5000,20000] [--restarts 10] [--kicks 8] [--seeds 1]

Needs ``shared/anchors/gaussian_instances.json`` beside the repository. An optimum counts as reached within 0.01.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import dagopt

ANCHORS = Path(__file__).resolve().parents[2] / "shared" / "anchors" / "gaussian_instances.json"
CLOSE = 0.01


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="15,20,25")
    parser.add_argument("--samples", default="5000,20000")
    parser.add_argument("--restarts", type=int)
    parser.add_argument("--kicks", type=int)
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds of the search")
    parser.add_argument("--n-jobs", type=int)
    arguments = parser.parse_args()
    options = {"restarts": arguments.restarts, "kicks": arguments.kicks, "n_jobs": arguments.n_jobs}
    nodes = [int(n) for n in arguments.nodes.split(",")]
    samples = [int(n) for n in arguments.samples.split(",")]
    records = [one for one in json.loads(ANCHORS.read_text())["instances"] if one["N"] in samples]
    dagopt.learn(dagopt.simulate(5, 100, 1.0, 0).data, "order", progress=False)  # kernels are compiled or loaded
    print("| n | runs | optimum reached | mean seconds | slowest | mean loss where missed |")
    print("|---|---|---|---|---|---|")
    for n in nodes:
        losses, seconds = [], []
        for record in (one for one in records if one["n"] == n):
            data, _ = dagopt.simulate(n, record["N"], record["d"], record["seed"])
            for seed in range(arguments.seeds):
                start = time.perf_counter()
                result = dagopt.learn(data, "order", score="bic", progress=False, random_state=seed, **options)
                seconds.append(time.perf_counter() - start)
                losses.append(record["score_optimal"] - result.score)
        missed = [loss for loss in losses if loss > CLOSE]
        loss = f"{sum(missed) / len(missed):.2f}" if missed else "-"
        mean = sum(seconds) / len(seconds)
        hits = len(losses) - len(missed)
        print(f"| {n} | {len(losses)} | {hits} | {mean:.2f} | {max(seconds):.2f} | {loss} |", flush=True)


if __name__ == "__main__":
    main()
