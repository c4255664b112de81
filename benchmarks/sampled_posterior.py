"""Sampled edge probabilities: against the exact ones, and how soon two runs agree, beside sumu (Gadget).

    python -m benchmarks.sampled_posterior [--exact 15 18 20] [--large 50 100] [--rows 1000] [--degree 1.0]
                                           [--kinds gaussian discrete] [--seconds 30] [--sumu PYTHON]

Random networks; BGe for Gaussian and BDeu for discrete data, the fair prior. ``--exact``: the largest error of an edge
in one run of at most ``--seconds``. ``--large``: the largest difference of an edge between two runs with different
seeds, after a quarter, a half and all of ``--seconds``; with ``--sumu`` the same for sumu's partition MCMC, with as
many steps as fit, in its own environment (``python -m venv E && E/bin/pip install sumu``, then ``--sumu E/bin/python``;
it wants a compiler). sumu has candidates by its ``greedy-lite``, K = 12, d = 2, and its own prior, which is another
one. Seconds are wall-clock.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import dagopt
from dagopt.data.table import as_table
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network


def table_of(kind: str, nodes: int, degree: float, rows: int, seed: int):
    if kind == "gaussian":
        network = random_gaussian_network(nodes, degree, seed)
    else:
        network = random_discrete_network(nodes, degree, random_state=seed, levels=2)
    return as_table(network.sample(rows, seed))


def against_exact(kind: str, nodes: int, degree: float, rows: int, seconds: float) -> str:
    """Return one line: the error of a sampled run."""
    table = table_of(kind, nodes, degree, rows, 1)
    exact = dagopt.edge_posterior(table, method="exact", progress=False)
    found = dagopt.edge_posterior(table, method="sampled", time_limit=seconds, progress=False)
    if found.agreement is None:
        return f"| {kind} | {nodes} | {exact.seconds:.1f} | {found.seconds:.1f} | too slow | | |"
    error = np.abs(found.probabilities - exact.probabilities).max()
    one = found.agreement
    figures = f"{error:.4f} | {one.rhat:.3f} | {one.left_out:.4f}"
    return f"| {kind} | {nodes} | {exact.seconds:.1f} | {found.seconds:.1f} | {figures} |"


def own_runs(table, seconds: float) -> tuple[float, str]:
    """Return the seconds of a run, and how far two runs with different seeds are apart."""
    runs = [
        dagopt.edge_posterior(table, method="sampled", time_limit=seconds, random_state=seed, progress=False)
        for seed in (0, 1)
    ]
    apart = np.abs(runs[0].probabilities - runs[1].probabilities).max()
    figures = [one.agreement for one in runs if one.agreement is not None]
    rhat = max((one.rhat for one in figures), default=np.nan)
    left_out = max((one.left_out for one in figures), default=np.nan)
    told = f"{apart:.3f}; R-hat {rhat:.3f}, left out {left_out:.3f}, {' and '.join(one.status for one in runs)}"
    return float(np.mean([one.seconds for one in runs])), told


def sumu_edges(table, kind: str, seconds: float, seed: int, python: str) -> tuple[np.ndarray, float, str]:
    """Return the edge probabilities of one run of sumu, its seconds, and what of them was before the first step."""
    discrete = kind == "discrete"
    values = np.ascontiguousarray(np.repeat(table.codes, table.weights, axis=1).T) if discrete else table.values
    with tempfile.TemporaryDirectory() as folder:
        source, target = (str(Path(folder) / name) for name in ("data.npy", "edges.npy"))
        np.save(source, values.astype(np.int32) if discrete else values)
        child = [python, "-P", str(Path(__file__).with_name("sumu_child.py")), source, target, str(seconds), str(seed)]
        told = subprocess.run(child, check=True, capture_output=True, text=True).stdout.split()
        return np.load(target), float(told[0]), f"{told[1]} s before the first step, {told[2]} steps"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exact", nargs="*", type=int, default=[15, 18, 20])
    parser.add_argument("--large", nargs="*", type=int, default=[50, 100])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--degree", type=float, default=1.0)
    parser.add_argument("--kinds", nargs="+", default=["gaussian", "discrete"])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--sumu", metavar="PYTHON", help="the Python of an environment that has sumu")
    asked = parser.parse_args()
    if asked.exact:
        print("| data | columns | exact, s | sampled, s | largest error | R-hat | left out |\n" + "|---" * 7 + "|")
        for kind in asked.kinds:
            for nodes in asked.exact:
                print(against_exact(kind, nodes, asked.degree, asked.rows, asked.seconds), flush=True)
    if asked.large:
        print("\n| data | columns | program | seconds | largest difference between two runs |\n|---|---|---|---|---|")
    for kind in asked.kinds:
        for nodes in asked.large:
            table = table_of(kind, nodes, asked.degree, asked.rows, 1)
            for share in (0.25, 0.5, 1.0):
                seconds, told = own_runs(table, share * asked.seconds)
                print(f"| {kind} | {nodes} | dagopt | {seconds:.1f} | {told} |", flush=True)
                if asked.sumu:
                    runs = [sumu_edges(table, kind, share * asked.seconds, seed, asked.sumu) for seed in (0, 1)]
                    apart = np.abs(runs[0][0] - runs[1][0]).max()
                    took = np.mean([one[1] for one in runs])
                    print(f"| {kind} | {nodes} | sumu | {took:.1f} | {apart:.3f}; {runs[0][2]} |", flush=True)


if __name__ == "__main__":
    main()
