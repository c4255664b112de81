"""Mixed data: distance to the true essential graph by degenerate and conditional Gaussian, discretize, R's bnlearn.

python -m benchmarks.mixed            n = 10, 20 and N = 500, 2000, three networks each
python -m benchmarks.mixed --quick    n = 8, N = 500, one network

R is asked for hill climbing with ``bic-cg`` where ``Rscript`` and its package bnlearn are installed, else its column
is left out.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

import dagopt

BNLEARN = """
library(bnlearn)
given <- commandArgs(trailingOnly = TRUE)
data <- read.csv(given[1], stringsAsFactors = TRUE)
graph <- hc(data, score = "bic-cg")
write.csv(as.data.frame(arcs(graph)), given[2], row.names = FALSE)
"""


def has_bnlearn() -> bool:
    """Say whether R and its package bnlearn are installed."""
    if shutil.which("Rscript") is None:
        return False
    found = subprocess.run(["Rscript", "-e", "library(bnlearn)"], capture_output=True, check=False)
    return found.returncode == 0


def by_bnlearn(data: pd.DataFrame) -> nx.DiGraph:
    """Return the DAG of bnlearn's hill climbing with bic-cg."""
    with tempfile.TemporaryDirectory() as folder:
        table, arcs = Path(folder, "table.csv"), Path(folder, "arcs.csv")
        data.to_csv(table, index=False)
        subprocess.run(["Rscript", "-e", BNLEARN, str(table), str(arcs)], capture_output=True, check=True)
        dag = nx.DiGraph()
        dag.add_nodes_from(data.columns)
        dag.add_edges_from(pd.read_csv(arcs).itertuples(index=False, name=None))
    return dag


def learned(data: pd.DataFrame, **options: object) -> nx.DiGraph:
    """Return the DAG of a short run."""
    return dagopt.learn(data, time_limit=60, progress=False, **{"score": "bic"} | options).dag


WAYS = {
    "degenerate Gaussian": lambda data: learned(data),
    "with EBIC": lambda data: learned(data, score="ebic"),
    "conditional Gaussian": lambda data: learned(data, method="hc", score="cg"),
    "discretize": lambda data: learned(data, discretize="quantile", bins=3),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    ways = {**WAYS, "R bnlearn bic-cg": by_bnlearn} if has_bnlearn() else dict(WAYS)
    if len(ways) == len(WAYS):
        print("R with its package bnlearn is not installed: its column is left out\n")
    print("| n | N | edges | " + " | ".join(f"SHD, {way}" for way in ways) + " |\n|" + "---|" * (3 + len(ways)))
    for n in (8,) if given.quick else (10, 20):
        for n_samples in (500,) if given.quick else (500, 2000):
            seeds = range(1 if given.quick else 3)
            drawn = [dagopt.simulate(n, n_samples, 1.5, seed, kind="mixed") for seed in seeds]
            means = [np.mean([dagopt.compare(dag, find(data)).shd for data, dag in drawn]) for find in ways.values()]
            edges = np.mean([dag.number_of_edges() for _, dag in drawn])
            print(
                f"| {n} | {n_samples} | {edges:.1f} | " + " | ".join(f"{mean:.1f}" for mean in means) + " |", flush=True
            )


if __name__ == "__main__":
    main()
