"""Other packages beside ours on simulated Gaussian data (degree 2, 5000 rows): score and CPU seconds, by seed.

    make peers                     installs the packages into .venv-peers and runs this
    python -m benchmarks.peers [25 50 100] [--seeds 1] [--first 0] [--only order,flop] [--limit 300] [--factor 1]

FLOP (0 and 20 restarts), XGES (Python), and causal-learn's GES, BOSS and GRaSP, all with the same penalty: ``factor``
times half the logarithm of the number of rows for an edge, 1 being BIC. Every answer is scored by us, as one DAG; of a
CPDAG a member is taken. Each run has a process of its own and one thread, in the environment that has the package, and
is ended after the limit; loading and compiling come before the clock starts. What is not installed is left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import dagopt
from dagopt.graph.cpdag import extend_pdag
from dagopt.graph.dag import as_graph

ROOT = Path(__file__).resolve().parents[1]
PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
MOST_COLUMNS = {"exact": 25, "cg-dca": 100, "ges": 100, "grasp": 100, "boss": 200, "xges": 500}  # longer than an hour
METHODS = ("order", "hc", "cg-dca", "exact", "flop0", "flop20", "xges", "boss", "grasp", "ges")
OURS = METHODS[:4]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Answer(NamedTuple):
    """What a run gave: the adjacency of a DAG or CPDAG, or None with the reason; CPU seconds; seconds."""

    graph: NDArray[np.int8] | None
    cpu: float
    seconds: float
    reason: str = ""


def run(method: str, data: NDArray[np.float64], factor: float, limit: float) -> Answer:
    """Run a method in a process of its own, in the environment of the peers unless it is ours."""
    python = sys.executable if method in OURS or not PEERS_PYTHON.exists() else str(PEERS_PYTHON)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "data.npy", Path(folder) / "graph.npy"
        np.save(source, data)
        child = [python, "-P", str(ROOT / "benchmarks" / "peer_child.py"), method, str(factor), source, target]
        try:
            done = subprocess.run(
                child, capture_output=True, text=True, timeout=limit, env=os.environ | dict.fromkeys(THREADS, "1")
            )
        except subprocess.TimeoutExpired:
            return Answer(None, 0.0, 0.0, f"no answer in {limit:g} s")
        if done.returncode:
            return Answer(None, 0.0, 0.0, (done.stderr.strip().splitlines() or ["failed"])[-1])
        cpu, seconds = map(float, done.stdout.split()[-2:])
        return Answer(np.load(target), cpu, seconds)


def as_dag(graph: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return a DAG of the class, or the DAG itself."""
    return np.asarray(extend_pdag(graph), dtype=np.int8) if (graph & graph.T).any() else graph


def compare(n: int, seed: int, methods: list[str], limit: float, factor: float) -> None:
    """Print the rows of one data set."""
    data, truth = dagopt.simulate(n, 5000, 2.0, seed)
    table = dagopt.as_table(data)
    score = dagopt.make_score(table, factor * 0.5 * np.log(len(data)))
    true_score = score.total(as_graph(truth, names=table.names).adjacency)
    base = None
    for method in methods:
        if n > MOST_COLUMNS.get(method, n):
            continue
        answer = run(method, data.to_numpy(), factor, limit)
        head = f"| {n} | {seed} | {method} |"
        if answer.graph is None:
            print(f"{head} {answer.reason} | | | | |", flush=True)
            continue
        found = score.total(as_dag(answer.graph))
        what = f"{found:.2f} | {found - true_score:+.2f}"
        base = answer.cpu if method == "order" else base
        times = f"{answer.cpu / base:.1f}" if base else "-"
        print(f"{head} {what} | {answer.cpu:.2f} | {times} | {answer.seconds:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int, nargs="*", default=[25, 50, 100])
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", default="", help="names, with commas")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds per run")
    parser.add_argument("--factor", type=float, default=1.0, help="penalty of an edge, in units of half of log N")
    parser.add_argument("--quick", action="store_true", help="10 columns, FLOP and GES")
    arguments = parser.parse_args()
    nodes = [10] if arguments.quick else arguments.nodes or [25, 50, 100]
    only = ["order", "flop0", "flop20", "ges"] if arguments.quick else arguments.only.split(",")
    methods = [method for method in METHODS if method in only or (not arguments.only and not arguments.quick)]
    print(
        "| n | seed | method | score | above the true DAG | CPU seconds | times `order` | seconds |\n"
        + 8 * "|---"
        + "|"
    )
    for n in nodes:
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            compare(n, seed, methods, arguments.limit, arguments.factor)


if __name__ == "__main__":
    main()
