"""A method on the 24 Gaussian cells of the paper's table 1, compared with the paper's CG-DCA and the proven optimum.

    python -m experiments run table1 --methods cg-dca-paper,exact --seeds 0,1,2,3,4,5,6,7,8,9 --results FOLDER
    python -m benchmarks.cg_dca_cells [--method cg-dca-paper] [--results FOLDER]

Reads recorded runs, those that come with the package unless a folder is given. The optimum is the exact method's,
where it was run on the same instance. Seconds are CPU seconds, which other work on the machine changes little.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.published import published
from experiments.records import Record
from experiments.store import best_of, results_in_use

CLOSE = 0.01


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="cg-dca-paper")
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    records = list(best_of(results_in_use(arguments.results)[0]).values())
    optimum = {(one.instance, one.seed): one.score for one in records if one.method == "exact" and not one.options}
    cells: dict[str, list[Record]] = {}
    for one in records:
        if one.method == arguments.method and not one.options and one.cell.n_nodes and one.score is not None:
            cells.setdefault(one.instance, []).append(one)
    paper = published()["table1"]
    cells = {cell: own for cell, own in cells.items() if paper.get(cell, "gap", "CG-DCA") is not None}
    print("| (n, N, d) | runs | gap to truth % | paper | gap to optimum % | CPU seconds | paper's seconds | SHD |")
    print("|---|---|---|---|---|---|---|---|")
    ours = theirs = 0.0
    reached = n_known = 0
    for cell, own in sorted(cells.items(), key=lambda one: (one[1][0].cell.n_nodes, one[1][0].cell.n_samples, one[0])):
        gap, seconds = paper.get(cell, "gap", "CG-DCA"), paper.get(cell, "seconds", "CG-DCA")
        if gap is None or seconds is None:
            continue
        truth = mean([100 * max(one.true_score - one.score, 0) / abs(one.true_score) for one in own])
        known = [(one.score, optimum[one.instance, one.seed]) for one in own if (one.instance, one.seed) in optimum]
        reached += sum(most - score <= CLOSE for score, most in known)
        n_known += len(known)
        best = f"{mean([100 * (most - score) / abs(most) for score, most in known]):.3f}" if known else "-"
        cpu = mean([one.cpu_seconds for one in own])
        ours, theirs = ours + cpu, theirs + float(seconds.value)
        mark = " (*)" if truth > float(gap.value) + 0.005 else ""
        print(
            f"| {own[0].cell.label} | {len(own)} | {truth:.3f}{mark} | {gap} | {best} | {cpu:.1f} | {seconds} "
            f"| {mean([one.shd for one in own]):.1f} |"
        )
    print(f"\nproven optimum reached, within {CLOSE}, in {reached} of {n_known} runs")
    for n in sorted({own[0].cell.n_nodes for own in cells.values()}):
        spent = [one.cpu_seconds for own in cells.values() for one in own if one.cell.n_nodes == n]
        print(f"n = {n}: mean CPU seconds {mean(spent):.2f}, most {max(spent):.2f}, {len(spent)} runs")
    times = theirs / max(ours, 1e-9)
    print(f"sum of the cells' mean seconds: ours {ours:.0f}, paper {theirs:.0f}: {times:.1f} times")
    print("(*) above the paper's mean gap; the paper's means are over ten instances of its own")


if __name__ == "__main__":
    main()
