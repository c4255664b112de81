"""What each addition of CG-DCA is worth: with all of them, without each, with each alone, and with none.

    python -m benchmarks.cg_dca_switches [--nodes 15,20] [--seeds 0,1,2]

Gaussian instances with proven optima by the exact method; an optimum counts as reached within 0.01. Seconds are CPU
seconds of one thread.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import dagopt

SWITCHES = ("order_start", "order_again", "price_incumbent", "start_integer")
SAMPLES, DEGREES = (5000, 20000), (0.5, 1.0, 1.5, 2.0)
CLOSE = 0.01


def settings() -> dict[str, dict[str, bool]]:
    """Return the rows of the table."""
    off, on = dict.fromkeys(SWITCHES, False), dict.fromkeys(SWITCHES, True)
    return {
        "all": on,
        **{f"all but `{name}`": {**on, name: False} for name in SWITCHES},
        **{f"only `{name}`": {**off, name: True} for name in SWITCHES},
        "none": off,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="15,20")
    parser.add_argument("--seeds", default="0,1,2")
    arguments = parser.parse_args()
    nodes, seeds = ([int(one) for one in given.split(",")] for given in (arguments.nodes, arguments.seeds))
    instances = []
    for n, n_samples, degree, seed in product(nodes, SAMPLES, DEGREES, seeds):
        data, _ = dagopt.simulate(n, n_samples, degree, seed)
        instances.append((data, dagopt.learn(data, "exact", progress=False).score))
    print("| switches | runs | optimum reached | mean gap to the optimum % | mean CPU seconds |")
    print("|---|---|---|---|---|")
    for name, options in settings().items():
        gaps, seconds = [], []
        for data, optimum in instances:
            start = time.process_time()
            score = dagopt.learn(data, "cg-dca", progress=False, n_jobs=1, **options).score
            seconds.append(time.process_time() - start)
            gaps.append(optimum - score)
        reached = sum(gap <= CLOSE for gap in gaps)
        share = 100 * sum(gap / abs(one[1]) for gap, one in zip(gaps, instances, strict=True)) / len(gaps)
        print(
            f"| {name} | {len(gaps)} | {reached} | {max(share, 0):.4f} | {sum(seconds) / len(seconds):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
