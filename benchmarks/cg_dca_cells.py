"""CG-DCA on the 24 Gaussian cells of the paper's table 1, seeds 0-2, beside the paper's figures.

    python -m benchmarks.cg_dca_cells run OUT.jsonl [--method cg-dca-paper] [--nodes 15,20] [--init hybrid]
    python -m benchmarks.cg_dca_cells show OUT.jsonl

``run`` appends one JSON line an instance and goes on where an earlier call stopped. Optima are the exact method's.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import dagopt

# mean score gap in percent and mean seconds of CG-DCA over ten instances: table 1 of arXiv:2505.11089
PAPER = {
    (15, 5000, 0.5): (0.00, 4.06),
    (15, 5000, 1.0): (0.03, 25.76),
    (15, 5000, 1.5): (0.16, 76.72),
    (15, 5000, 2.0): (0.39, 170.39),
    (15, 20000, 0.5): (0.00, 10.17),
    (15, 20000, 1.0): (0.03, 36.71),
    (15, 20000, 1.5): (0.02, 104.25),
    (15, 20000, 2.0): (0.23, 229.80),
    (20, 5000, 0.5): (0.00, 9.53),
    (20, 5000, 1.0): (0.01, 84.34),
    (20, 5000, 1.5): (0.22, 312.67),
    (20, 5000, 2.0): (0.70, 1039.53),
    (20, 20000, 0.5): (0.00, 18.42),
    (20, 20000, 1.0): (0.03, 133.69),
    (20, 20000, 1.5): (0.15, 425.17),
    (20, 20000, 2.0): (0.54, 997.99),
    (25, 5000, 0.5): (0.00, 21.97),
    (25, 5000, 1.0): (0.03, 261.84),
    (25, 5000, 1.5): (0.24, 949.90),
    (25, 5000, 2.0): (0.86, 3054.63),
    (25, 20000, 0.5): (0.00, 50.22),
    (25, 20000, 1.0): (0.06, 404.43),
    (25, 20000, 1.5): (0.23, 1372.59),
    (25, 20000, 2.0): (0.67, 3189.98),
}
SEEDS = (0, 1, 2)
MOST_EXACT_NODES = 20


def run(arguments: argparse.Namespace) -> None:
    out = Path(arguments.file)
    done = {tuple(row["instance"]) for row in _rows(out)}
    nodes = {int(n) for n in arguments.nodes.split(",")}
    options = {"init": arguments.init, "convex_step": arguments.step} if arguments.method == "cg-dca" else {}
    for seed in SEEDS:
        for n, n_samples, degree in PAPER:
            instance = (n, n_samples, degree, seed)
            if n not in nodes or instance in done:
                continue
            data, dag = dagopt.simulate(n, n_samples, degree, seed)
            optimum = dagopt.learn(data, "exact", progress=False).score if n <= MOST_EXACT_NODES else None
            start, cpu = time.perf_counter(), time.process_time()
            result = dagopt.learn(data, arguments.method, progress=False, time_limit=arguments.time_limit, **options)
            row = {
                "instance": instance,
                "method": arguments.method,
                **options,
                "score": result.score,
                "true": dagopt.score(data, dag),
                "optimum": optimum,
                "status": result.status,
                "seconds": time.perf_counter() - start,
                "cpu_seconds": time.process_time() - cpu,
                "columns": result.details["columns"],
                "rows": result.details["rows"],
                "passes": result.details["passes"],
                "shd": dagopt.compare(result.dag, dag).shd,
            }
            with out.open("a") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)


def show(arguments: argparse.Namespace) -> None:
    rows = _rows(Path(arguments.file))
    print("| n, N, d | runs | gap to truth % | paper | gap to optimum % | seconds | paper | SHD |")
    print("|---|---|---|---|---|---|---|---|")
    ours = paper = 0.0
    for cell, (paper_gap, paper_seconds) in PAPER.items():
        own = [row for row in rows if tuple(row["instance"][:3]) == cell]
        if not own:
            continue
        gap = sum(max(row["true"] - row["score"], 0) / abs(row["true"]) for row in own) / len(own) * 100
        known = [row for row in own if row["optimum"] is not None]
        best = sum((row["optimum"] - row["score"]) / abs(row["optimum"]) for row in known) / max(len(known), 1) * 100
        seconds = sum(row["seconds"] for row in own) / len(own)
        shd = sum(row["shd"] for row in own) / len(own)
        ours, paper = ours + seconds, paper + paper_seconds
        shown = f"{best:.3f}" if known else "-"
        mark = " (*)" if gap > paper_gap + 0.005 else ""
        print(
            f"| {cell[0]}, {cell[1]}, {cell[2]} | {len(own)} | {gap:.3f}{mark} | {paper_gap:.2f} | {shown} "
            f"| {seconds:.1f} | {paper_seconds:.1f} | {shd:.1f} |"
        )
    print(f"\nsum of the cells' mean seconds: ours {ours:.0f}, paper {paper:.0f}: {paper / max(ours, 1e-9):.1f} times")
    print("(*) above the paper's mean gap; the paper's means are over ten instances of its own, ours over seeds 0-2")


def _rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("run", "show"))
    parser.add_argument("file")
    parser.add_argument("--method", default="cg-dca-paper")
    parser.add_argument("--nodes", default="15,20,25")
    parser.add_argument("--init", default="hybrid")
    parser.add_argument("--step", default="kelley")
    parser.add_argument("--time-limit", type=float, default=3600.0)
    arguments = parser.parse_args()
    (run if arguments.command == "run" else show)(arguments)


if __name__ == "__main__":
    main()
