"""Edges by chance: distance to the true essential graph under BIC and EBIC, by the number of columns.

python -m benchmarks.chance_edges            Gaussian, n = 50, 100, 200, 500, and discrete, n = 20, 50, 100
python -m benchmarks.chance_edges --quick    the smaller half, one network each
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import dagopt
from dagopt.data.chance import chance_edges
from dagopt.data.table import as_table

SCORES = ("bic", "ebic")


def row(kind: str, n: int, n_samples: int, degree: float, seeds: int) -> dict[str, object]:
    """Return the mean figures of one number of columns."""
    found: dict[str, list[float]] = {f"{score} {what}": [] for score in SCORES for what in ("SHD", "edges", "s")}
    expected, true_edges = [], []
    for seed in range(seeds):
        data, dag = dagopt.simulate(n, n_samples, degree, seed, kind=kind)
        table = as_table(data)
        sizes = np.ones(n, dtype=np.int64) if kind == "gaussian" else np.array([len(own) - 1 for own in table.levels])
        expected.append(chance_edges(sizes, 0.5 * np.log(n_samples)))
        true_edges.append(dag.number_of_edges())
        for score in SCORES:
            begin = time.process_time()
            result = dagopt.learn(table, "order", score=score, restarts=1, kicks=2, time_limit=120, progress=False)
            found[f"{score} s"].append(time.process_time() - begin)
            found[f"{score} SHD"].append(dagopt.compare(dag, result.dag).shd)
            found[f"{score} edges"].append(result.graph.n_edges)
    means = {name: float(np.mean(values)) for name, values in found.items()}
    return {"kind": kind, "n": n, "edges": np.mean(true_edges), "expected by chance": np.mean(expected), **means}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    cells = [("gaussian", n, 2.0) for n in ((50, 100) if given.quick else (50, 100, 200, 500))]
    cells += [("discrete", n, 1.0) for n in ((20,) if given.quick else (20, 50, 100))]
    head = None
    for kind, n, degree in cells:
        one = row(kind, n, given.rows, degree, 1 if given.quick else given.seeds)
        if head is None:
            head = list(one)
            print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
        cell = [f"{value:.1f}" if isinstance(value, float) else str(value) for value in one.values()]
        print("| " + " | ".join(cell) + " |", flush=True)


if __name__ == "__main__":
    main()
