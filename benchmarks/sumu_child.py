"""Run sumu's partition MCMC once, in the environment that has it; called by ``sampled_posterior.py``.

    python -P benchmarks/sumu_child.py DATA.npy EDGES.npy SECONDS SEED

Whole numbers are levels, scored by BDeu; others are scored by BGe. The shares of the sampled DAGs with each edge are
written. Seconds of the clock, those before the first step, and the number of steps are printed.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import sumu

K, D = 12, 2  # candidates of each column, and the largest parent set outside them
CHAINS = 4  # at different temperatures
STEPS = 100  # from one kept partition to the next
FEWEST = 40  # kept partitions
STEPPING = 0.9  # share of the seconds; the rest is for drawing DAGs


def main() -> None:
    source, target, seconds, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    values = np.load(source)
    discrete = values.dtype == np.int32
    np.random.seed(seed)  # noqa: NPY002 (sumu draws from numpy's global state)
    start = time.perf_counter()
    gadget = sumu.Gadget(
        data=sumu.Data(values, discrete=discrete), scoref="bdeu" if discrete else "bge", ess=1.0, max_id=-1, K=K, d=D,
        cp_algo="greedy-lite", cp_path=None, mc3_chains=CHAINS, burn_in=0, iterations=0, thinning=1, tolerance=2**-32,
    )  # fmt: skip
    gadget._find_candidate_parents()
    gadget._precompute_scores_for_all_candidate_psets()
    gadget._precompute_candidate_restricted_scoring()
    gadget._precompute_candidate_complement_scoring()
    gadget._init_mcmc()
    before = time.perf_counter() - start
    met = []
    while time.perf_counter() - start < STEPPING * seconds or len(met) < FEWEST:
        for _ in range(STEPS):
            at = gadget.mcmc.sample()
        met.append(at[0])
    gadget.Rs = met[len(met) // 4 :]
    edges = np.zeros((gadget.n, gadget.n))
    for dag in gadget._sample_dags()[0]:
        for node, *parents in dag:  # (node,) without parents, else (node, parents)
            edges[[int(j) for part in parents for j in np.atleast_1d(np.array(list(part)))], node] += 1
    np.save(target, edges / len(gadget.Rs))
    print(f"{time.perf_counter() - start:.1f} {before:.1f} {STEPS * len(met)}")


if __name__ == "__main__":
    main()
