"""Sampled edge probabilities: against the exact ones, and how soon two runs agree, beside sumu (Gadget).

    python -m benchmarks.sampled_posterior [--exact 15 18 20] [--large 50 100] [--rows 1000] [--degree 1.0]
                                           [--kinds gaussian discrete] [--seconds 30] [--sumu]

Random networks; BGe for Gaussian and BDeu for discrete data, the fair prior. ``--exact``: the largest error of an edge
in one run of at most ``--seconds``. ``--large``: the largest difference of an edge between two runs with different
seeds, after a quarter, a half and all of ``--seconds``; with ``--sumu`` the same for sumu's partition MCMC with as many
iterations as fit (``pip install sumu``; candidates by its ``greedy-lite``, K = 12, d = 2, and its own prior, which is
another one). Seconds are wall-clock.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import dagopt
from dagopt.data.table import as_table
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network

K, D = 12, 2  # candidates of sumu, and the largest parent set outside them


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


def sumu_edges(table, kind: str, seconds: float, seed: int) -> tuple[np.ndarray, float]:
    """Return the edge probabilities of one run of sumu, and its seconds."""
    import sumu

    np.random.seed(seed)  # noqa: NPY002 (sumu draws from numpy's global state)
    start = time.perf_counter()
    discrete = kind == "discrete"
    values = np.ascontiguousarray(np.repeat(table.codes, table.weights, axis=1).T) if discrete else table.values
    gadget = sumu.Gadget(
        data=sumu.Data(values.astype(np.int32) if discrete else values, discrete=discrete),
        scoref="bdeu" if discrete else "bge", ess=1.0, max_id=-1, K=K, d=D, cp_algo="greedy-lite", cp_path=None,
        mc3_chains=4, burn_in=0, iterations=0, thinning=1, tolerance=2**-32,
    )  # fmt: skip
    gadget._find_candidate_parents()
    gadget._precompute_scores_for_all_candidate_psets()
    gadget._precompute_candidate_restricted_scoring()
    gadget._precompute_candidate_complement_scoring()
    gadget._init_mcmc()
    met = []
    while time.perf_counter() - start < 0.9 * seconds or len(met) < 40:
        for _ in range(100):
            at = gadget.mcmc.sample()
        met.append(at[0])
    gadget.Rs = met[len(met) // 4 :]
    edges = np.zeros((gadget.n, gadget.n))
    for dag in gadget._sample_dags()[0]:
        for node, *parents in dag:  # (node,) without parents, else (node, parents)
            edges[[int(j) for part in parents for j in np.atleast_1d(np.array(list(part)))], node] += 1
    return edges / len(gadget.Rs), time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exact", nargs="*", type=int, default=[15, 18, 20])
    parser.add_argument("--large", nargs="*", type=int, default=[50, 100])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--degree", type=float, default=1.0)
    parser.add_argument("--kinds", nargs="+", default=["gaussian", "discrete"])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--sumu", action="store_true")
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
                    runs = [sumu_edges(table, kind, share * asked.seconds, seed) for seed in (0, 1)]
                    apart = np.abs(runs[0][0] - runs[1][0]).max()
                    took = np.mean([one[1] for one in runs])
                    print(f"| {kind} | {nodes} | sumu | {took:.1f} | {apart:.3f} |", flush=True)


if __name__ == "__main__":
    main()
