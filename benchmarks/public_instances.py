"""Public instances: local scores, HAILFINDER and Gaussian samples inside moral graphs, with the known values.

python -m benchmarks.public_instances [NAME ...] [--limit 600] [--results FILE] [--quick]
python -m benchmarks.public_instances --show FILE
python -m benchmarks.public_instances --methods [--limit 60] [--quick]

Each instance runs in its own process, so that its peak memory can be measured, and is appended to the results as one
line of JSON. ``--show`` makes the table of the last run of each. ``--methods`` compares ``auto`` with the other methods
on 20 instances of all kinds.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

import dagopt

KNOWN = {  # best known score and its source
    "alarm-5000": (-53781.3386, "proved"),
    "hailfinder-5000": (-252358.1055, "proved"),
    "hepar2-5000": (-164433.403, "k-MAX, bounded treewidth"),
    "pathfinder-5000": (-150290.934, "k-MAX, bounded treewidth"),
    "diabetes-5000": (-2264555.363, "k-MAX, bounded treewidth"),
    "pigs-5000": (-1796786.607, "k-MAX, bounded treewidth"),
    "soybean_BIC": (-3125.043, "best found"),
    "steel_BIC": (-18813.516, "best found"),
    "insurance_2000_1_BDeu": (-27200.4907, "proved"),
    "water_1000_1_BDeu": (-13399.2618, "best found"),
    "hailfinder": (-990162.80504, "pygobnilp"),
}
FIELDS = ("9insurance", "10factors", "11hfinder", "12hepar")
COLUMNS = ["instance", "nodes", "score", "bound", "gap", "seconds", "CPU s", "MB", "known", "by"]
METHODS = ("auto", "gobnilp", "cg-dca", "order", "tabu", "hc", "mmhc")


def instances(bench: Path) -> list[str]:
    """Return the names of all available instances."""
    scores = [path.name.removesuffix(".jkl.gz") for path in sorted((bench / "scores").glob("*.jkl.gz"))]
    fields = [f"micodag-{field}-{k}" for field in FIELDS for k in (1, 2, 3)]
    return [*scores, "hailfinder", *fields]


def posed(name: str, bench: Path) -> tuple[Any, dict[str, Any]]:
    """Return the data of an instance and the options of ``learn``."""
    if name == "hailfinder":
        return bench / "tables" / "hailfinder.csv.gz", {"max_parents": 3, "kind": "discrete"}
    if not name.startswith("micodag-"):
        return bench / "scores" / f"{name}.jkl.gz", {}
    _, field, k = name.split("-")
    folder = bench / "micodag" / field
    data = pd.read_csv(next(folder.glob(f"data_*_iter_{k}.csv.gz")), header=None)
    data.columns = [f"x{i + 1}" for i in range(data.shape[1])]
    pairs = pd.read_csv(next(folder.glob("Sparse_Moral*.txt")), header=None).to_numpy()
    moral = nx.Graph([(f"x{a}", f"x{b}") for a, b in pairs])
    penalty = 6.0 * np.log(data.shape[1])  # of the published objective
    return data, {"constraints": dagopt.Constraints(superstructure=moral), "score": float(penalty)}


def published(name: str, bench: Path) -> tuple[str, str]:
    """Return the known value of an instance and where it comes from."""
    if name in KNOWN:
        value, source = KNOWN[name]
        return f"{value}", source
    _, field, k = name.split("-")
    table = pd.read_csv(bench / "micodag" / "published_micodag.csv")
    row = table[(table["network"] == field) & (table["k"] == int(k))]
    if row.empty:
        return "", ""
    return f"gap {row['RGAP'].iloc[0]:.1%} in {row['Time'].iloc[0]:.0f} s", "micodag, Gurobi"


def run_one(name: str, bench: Path, limit: float) -> dict[str, Any]:
    """Run an instance here and return its line."""
    warm, _ = dagopt.datasets.load("asia", n_samples=300, random_state=0)
    dagopt.learn(warm, "gobnilp", progress=False)  # compiles the kernels
    data, options = posed(name, bench)
    wall, cpu = time.perf_counter(), time.process_time()
    result = dagopt.learn(data, "gobnilp", time_limit=limit, progress=False, **options)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    assert result.score is not None
    known, source = published(name, bench)
    gap = None if result.bound is None else (result.bound - result.score) / abs(result.score)
    return {
        "instance": name, "nodes": len(result.names), "score": result.score, "bound": result.bound, "gap": gap,
        "status": result.status, "scope": result.scope, "seconds": wall, "CPU s": cpu,
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "known": known, "by": source,
        "details": {key: value for key, value in result.details.items() if key.startswith("n_")},
    }  # fmt: skip


def show(path: Path) -> None:
    """Print the last run of each instance as a table."""
    lines = {line["instance"]: line for line in map(json.loads, path.read_text().splitlines())}
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for line in lines.values():
        bound = "-" if line["bound"] is None else f"{line['bound']:.4f}"
        gap = "-" if line["gap"] is None else ("proven" if line["status"] == "optimal" else f"{line['gap']:.4%}")
        cells = [line["instance"], line["nodes"], f"{line['score']:.4f}", bound, gap, f"{line['seconds']:.1f}"]
        cells += [f"{line['CPU s']:.1f}", f"{line['MB']:.0f}", line["known"], line["by"]]
        print(f"| {' | '.join(map(str, cells))} |")


def kinds(quick: bool) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return instances of all kinds for the comparison of methods."""
    made: dict[str, tuple[Any, dict[str, Any]]] = {}
    networks = ("asia", "lucas", "insurance", "alarm")
    for name in networks[:2] if quick else networks:
        for rows in (500,) if quick else (500, 2000):
            data, _ = dagopt.datasets.load(name, n_samples=rows, random_state=0)
            for score in ("bic", "bdeu"):
                made[f"{name} {rows} {score}"] = (data, {"score": score})
    for n in (10,) if quick else (15, 30):
        data, _ = dagopt.simulate(n, 1000, 1.5, 0)
        made[f"gaussian {n}"] = (data, {})
        made[f"gaussian {n}, <= 2 parents"] = (data, {"max_parents": 2})
    return made


def compare(limit: float, quick: bool) -> None:
    """Print the score of every method on every instance, and how often each has the best score and a best bound."""
    best_score, best_bound = dict.fromkeys(METHODS, 0), dict.fromkeys(METHODS, 0)
    print(f"| instance | {' | '.join(METHODS)} |\n|{'---|' * (len(METHODS) + 1)}")
    for name, (data, options) in kinds(quick).items():
        found = {m: dagopt.learn(data, m, time_limit=limit, progress=False, **options) for m in METHODS}
        top = max(one.score for one in found.values())
        # bounds are compared where they hold for the same DAGs; a proof over all DAGs counts most
        bounds = {m: one.bound for m, one in found.items() if one.bound is not None and one.bound >= top - 1e-6}
        low = min(bounds.values(), default=np.inf)
        for m, one in found.items():
            best_score[m] += one.score >= top - 1e-6 * abs(top)
            best_bound[m] += m in bounds and bounds[m] <= low + 1e-6 * abs(low)
        cells = [f"{one.score:.2f}{' proven' if one.status == 'optimal' else ''}" for one in found.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"| best score | {' | '.join(map(str, best_score.values()))} |")
    print(f"| best bound | {' | '.join(map(str, best_bound.values()))} |")


def main() -> None:
    """Run the requested instances."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="instances; all unless given")
    parser.add_argument("--shared", default="../shared", type=Path)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each run")
    parser.add_argument("--results", type=Path, default=Path("public_instances.jsonl"))
    parser.add_argument("--quick", action="store_true", help="a few small instances, ten seconds each")
    parser.add_argument("--show", type=Path)
    parser.add_argument("--methods", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    bench = given.shared / "bench"
    limit = min(given.limit, 10.0) if given.quick else given.limit
    if given.show is not None:
        show(given.show)
    elif given.methods:
        compare(limit, given.quick)
    elif given.here:
        print(json.dumps(run_one(given.names[0], bench, limit)))
    else:
        few = ["alarm-5000", "hepar2-5000", "micodag-9insurance-1"]
        for name in given.names or (few if given.quick else instances(bench)):
            command = [sys.executable, "-m", "benchmarks.public_instances", name, "--here", "--limit", str(limit)]
            done = subprocess.run(
                [*command, "--shared", str(given.shared)], capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                continue
            with given.results.open("a") as file:
                file.write(done.stdout.strip().splitlines()[-1] + "\n")
        show(given.results)


if __name__ == "__main__":
    main()
