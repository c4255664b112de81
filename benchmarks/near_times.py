"""How long it takes to find every graph, and every parent set of a cause, within some points of the best.

    python -m benchmarks.near_times [--cases 20:1 25:1.5 40:0.5 50:0.5 60:0.5] [--tables FILE ...] [--within 3]
                                    [--rows 2000] [--kinds gaussian discrete] [--seconds 120] [--seeds 0]

A case is a number of columns and the mean number of parents times two of a random network; BIC. ``--tables`` names
files with tables of one's own. The columns of the output: the seconds of ``learn`` and whether its DAG is proven best;
the number of DAGs and of equivalence classes within the limit, with edges that all, some or none of them have or that
are undecided, and the seconds of ``result.rivals``; the parent sets of the column with the most neighbours, how many of
them are undecided, and the seconds of ``result.effect``. Up to about 25 columns by the recursion, beyond by cutting
planes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import dagopt
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network


def drawn(kind: str, columns: int, degree: float, rows: int, seed: int):
    """Return a table drawn from a random network."""
    if kind == "gaussian":
        return random_gaussian_network(columns, degree, seed).sample(rows, seed)
    return random_discrete_network(columns, degree, random_state=seed, levels=2).sample(rows, seed)


def line(name: str, table: object, within: float, seconds: float) -> str:
    """Return one line of the output."""
    start = time.perf_counter()
    result = dagopt.learn(table, time_limit=seconds, progress=False)
    cells = [name, f"{time.perf_counter() - start:.1f}", "proven" if result.status == "optimal" else result.status]
    start = time.perf_counter()
    try:
        found = result.rivals(within, time_limit=seconds, progress=False)
        number = found._number if len(found.losses) else "not counted"
        cells += [number, f"{found.n_classes:,}" if found.is_complete else "", found._agreement]
    except dagopt.InputError as error:
        cells += [f"refused: {error}", "", ""]
    cells.append(f"{time.perf_counter() - start:.1f}")
    joined = result.adjacency + result.adjacency.T
    x = int(joined.sum(axis=0).argmax())
    y = int(np.flatnonzero(joined[x])[0]) if joined[x].any() else (x + 1) % len(result.names)
    start = time.perf_counter()
    try:
        effect = result.effect(result.names[x], result.names[y], within=within, time_limit=seconds)
        cells += [str(effect.table["parents"].nunique()), str(effect.n_undecided)]
    except dagopt.InputError as error:
        cells += [f"refused: {error}", ""]
    cells.append(f"{time.perf_counter() - start:.1f}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="*", default=["20:1", "25:1.5", "40:0.5", "50:0.5", "60:0.5"])
    parser.add_argument("--tables", nargs="*", default=[], type=Path)
    parser.add_argument("--kinds", nargs="+", default=["gaussian", "discrete"])
    parser.add_argument("--within", type=float, default=3.0)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=120.0, help="limit of each of the three parts")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    asked = parser.parse_args()
    print("| table | learn, s | | DAGs | classes | edges | rivals, s | parent sets | undecided | effect, s |")
    print("|---" * 10 + "|")
    for path in asked.tables:
        print(line(path.name, path, asked.within, asked.seconds), flush=True)
    for kind in asked.kinds:
        for case in asked.cases:
            columns, degree = case.split(":")
            for seed in asked.seeds:
                table = drawn(kind, int(columns), float(degree), asked.rows, seed)
                name = f"{kind}, {columns} columns, degree {degree}, seed {seed}"
                print(line(name, table, asked.within, asked.seconds), flush=True)


if __name__ == "__main__":
    main()
