"""Run one method once, in the environment that has it; called by ``peers.py`` and ``recovery.py``.

    python -P benchmarks/peer_child.py METHOD FACTOR DATA.npy GRAPH.npy

FACTOR is the penalty of an edge in units of half the logarithm of the number of rows (1: BIC). The graph that is
written is the adjacency of a DAG or of a CPDAG. Seconds of CPU and of the clock are printed; a first run on few
columns, which compiles or loads what there is to compile or load, does not count.
"""

from __future__ import annotations

import math
import sys
import time

import numpy as np

FIRST_COLUMNS, FIRST_ROWS = 8, 200
OURS = ("order", "hc", "cg-dca", "exact")


def search(method: str, data: np.ndarray, factor: float) -> np.ndarray:
    """Return the adjacency that a method finds."""
    if method in OURS:
        import dagopt

        penalty = factor * 0.5 * math.log(len(data))
        threads = {} if method == "hc" else {"n_jobs": 1}
        return dagopt.learn(data, method, score=penalty, progress=False, **threads).adjacency
    if method.startswith("flop"):
        import flopsearch

        return flopsearch.flop(data, factor, restarts=int(method[4:])) != 0
    if method == "xges":
        from xges import XGES

        return XGES(alpha=factor).fit(data, verbose=0).to_adjacency_matrix()
    return causal_learn(method, data, factor)


def causal_learn(method: str, data: np.ndarray, factor: float) -> np.ndarray:
    """Return what causal-learn's ges, boss or grasp finds."""
    from causallearn.search.PermutationBased.BOSS import boss
    from causallearn.search.PermutationBased.GRaSP import grasp
    from causallearn.search.ScoreBased.GES import ges

    score, options = "local_score_BIC_from_cov", {"lambda_value": 0.5 * factor}
    np.random.seed(0)  # noqa: NPY002 (these packages draw from the global generator)
    if method == "ges":
        graph = ges(data, score_func=score, parameters=options)["G"].graph
    else:
        graph = {"boss": boss, "grasp": grasp}[method](data, score_func=score, parameters=options, verbose=False).graph
    return (graph == -1) & (graph.T != 0)  # there -1 is a tail


def main() -> None:
    method, factor, source, target = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4]
    data = np.load(source)
    search(method, np.random.default_rng(0).normal(size=(FIRST_ROWS, FIRST_COLUMNS)), factor)
    start, cpu = time.perf_counter(), time.process_time()
    graph = search(method, data, factor)
    cpu, seconds = time.process_time() - cpu, time.perf_counter() - start
    np.save(target, np.asarray(graph, dtype=np.int8))
    print(f"{cpu} {seconds}")


if __name__ == "__main__":
    main()
