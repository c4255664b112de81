"""The first pricing of every node at n = 20 (d = 1, N = 5,000): Kelley and the minimum-norm point.

    python -m benchmarks.pricing

The paper's section 5.1 gives 0.3 s per node for DCA and 35.1 s for the MINLP.
"""

from __future__ import annotations

import time

import numpy as np

import dagopt
from dagopt.data.table import as_table
from dagopt.methods.cg_dca.algorithm1 import CONVEX_STEPS, dca
from dagopt.methods.cg_dca.gaussian_cost import GaussianCost
from dagopt.methods.cg_dca.reduced_cost import ChainMemory
from dagopt.scores import make_score


def main() -> None:
    n = 20
    score = make_score(as_table(dagopt.simulate(n, 5000, 1.0, 0).data), "bic")
    assert score.joints is not None
    memory = ChainMemory(score.joints)
    nothing = np.zeros((0, n), dtype=bool)
    for name, step in CONVEX_STEPS.items():
        seconds, values = [], []
        for round_ in range(2):  # the first compiles
            for node in range(n):
                others = np.array([j for j in range(n) if j != node])
                dual = score.local(node)
                cost = GaussianCost(memory, node, others, np.empty(0, np.int64), dual, nothing, np.zeros(0))
                start = np.random.default_rng(node).random(n - 1)
                begin = time.perf_counter()
                _, path = dca(cost, start, step, 1e-6)
                if round_:
                    seconds.append(time.perf_counter() - begin)
                    values.append(path[-1])
        print(f"{name}: median {1e3 * np.median(seconds):.2f} ms a node, mean reduced cost {np.mean(values):.4f}")


if __name__ == "__main__":
    main()
