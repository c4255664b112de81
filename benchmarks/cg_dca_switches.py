"""What each addition of CG-DCA is worth: with all of them, without each, with each alone, and with none.

    python -m benchmarks.cg_dca_switches [--nodes 15,20] [--seeds 0,1,2] [--degrees 0.5,1] [--only rows] [--quick]

Gaussian instances with proven optima by the exact method; an optimum counts as reached within 0.01. The bound is that
on all DAGs, in units of the score. Seconds are CPU seconds of one thread. ``--only`` compares all switches with all but
one; ``--without`` leaves one off everywhere.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import dagopt

SWITCHES = ("order_start", "order_again", "price_incumbent", "start_integer", "rows")
KINDS = ("entropies", "matrices")  # of rows, when they are on
SAMPLES, DEGREES = (5000, 20000), (0.5, 1.0, 1.5, 2.0)
CLOSE = 0.01


def settings(only: str | None, without: str | None) -> dict[str, dict[str, object]]:
    """Return the rows of the table."""
    names = [name for name in SWITCHES if name != without]
    off = dict.fromkeys(SWITCHES, False)
    on = {**off, **dict.fromkeys(names, True)}
    rows = {"all": on, **{f"all but `{name}`": {**on, name: False} for name in names if only in (None, name)}}
    if only is None:
        rows |= {**{f"only `{name}`": {**off, name: True} for name in names}, "none": off}
    return {name: {**one, "rows": KINDS if one["rows"] else ()} for name, one in rows.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="15,20")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--degrees", default=",".join(map(str, DEGREES)))
    parser.add_argument("--samples", default=",".join(map(str, SAMPLES)))
    parser.add_argument("--only", choices=SWITCHES)
    parser.add_argument("--without", choices=SWITCHES, help="leave this switch off in all rows")
    parser.add_argument("--quick", action="store_true", help="10 nodes, one seed")
    arguments = parser.parse_args()
    given = (arguments.nodes, arguments.samples, arguments.seeds)
    nodes, samples, seeds = ([int(one) for one in text.split(",")] for text in given)
    degrees = [float(one) for one in arguments.degrees.split(",")]
    if arguments.quick:
        nodes, samples, seeds = [10], [5000], [0]
    instances = []
    for n, n_samples, degree, seed in product(nodes, samples, degrees, seeds):
        data, _ = dagopt.simulate(n, n_samples, degree, seed)
        instances.append((data, dagopt.learn(data, "exact", score="bic", progress=False).score))
    dagopt.learn(dagopt.simulate(6, 500, 1.0, 0)[0], "cg-dca", progress=False)  # loads the kernels
    print(
        "| switches | runs | optimum reached | mean gap to the optimum % | bound above the optimum | mean CPU seconds |"
    )
    print("|---|---|---|---|---|---|")
    for name, options in settings(arguments.only, arguments.without).items():
        gaps, seconds, bounds = [], [], []
        for data, optimum in instances:
            start = time.process_time()
            result = dagopt.learn(data, "cg-dca", score="bic", progress=False, n_jobs=1, **options)
            seconds.append(time.process_time() - start)
            gaps.append(optimum - result.score)
            bounds.append(result.bound - optimum)
        reached = sum(gap <= CLOSE for gap in gaps)
        share = 100 * sum(gap / abs(one[1]) for gap, one in zip(gaps, instances, strict=True)) / len(gaps)
        print(
            f"| {name} | {len(gaps)} | {reached} | {max(share, 0):.4f} | {sum(bounds) / len(bounds):.1f} "
            f"| {sum(seconds) / len(seconds):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
