"""Other packages beside ours on simulated Gaussian data (degree 2, 5000 rows, seed 0): score and seconds.

    python -m benchmarks.peers [25 50] [--only BOSS,order]

Every answer is scored by us, as the Gaussian BIC (paper convention) of one DAG; of a CPDAG a member is taken. Needs
``causal-learn`` and ``pgmpy``; what is not installed is left out. All in one run, one after the other.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np
import pandas as pd

import dagopt
from dagopt.graph.cpdag import extend_pdag

MOST_EXACT_NODES = 25


def from_causal_learn(graph: np.ndarray) -> np.ndarray:
    """Return a member of a CPDAG in causal-learn's coding: ``graph[i, j] = -1, graph[j, i] = 1`` is i -> j."""
    pdag = ((graph == -1) & ((graph.T == 1) | (graph.T == -1))).astype(np.int8)
    member = extend_pdag(pdag)
    if member is None:
        raise ValueError("the graph has no member")
    return member


def causal_learn() -> Iterator[tuple[str, Callable[[pd.DataFrame], np.ndarray]]]:
    if find_spec("causallearn") is None:
        return
    from causallearn.search.PermutationBased.BOSS import boss
    from causallearn.search.PermutationBased.GRaSP import grasp
    from causallearn.search.ScoreBased.GES import ges

    def seeded(search: Callable[..., object]) -> Callable[[pd.DataFrame], np.ndarray]:
        def run(data: pd.DataFrame) -> np.ndarray:
            np.random.seed(0)  # noqa: NPY002 (it draws from the global generator)
            found = search(data.to_numpy(), score_func="local_score_BIC_from_cov")
            return from_causal_learn(found.graph)  # type: ignore[attr-defined]

        return run

    yield "causal-learn BOSS", seeded(boss)
    yield "causal-learn GRaSP", seeded(grasp)
    yield (
        "causal-learn GES",
        lambda data: from_causal_learn(ges(data.to_numpy(), score_func="local_score_BIC_from_cov")["G"].graph),
    )


def pgmpy() -> Iterator[tuple[str, Callable[[pd.DataFrame], np.ndarray]]]:
    if find_spec("pgmpy") is None:
        return

    def run(data: pd.DataFrame) -> np.ndarray:
        from pgmpy.estimators import HillClimbSearch

        found = HillClimbSearch(data).estimate(scoring_method="bic-g", show_progress=False)
        place = {name: k for k, name in enumerate(data.columns)}
        dag = np.zeros((len(place), len(place)), dtype=np.int8)
        for tail, head in found.edges():
            dag[place[tail], place[head]] = 1
        return dag

    yield "pgmpy HillClimbSearch", run


def ours(n: int) -> Iterator[tuple[str, Callable[[pd.DataFrame], np.ndarray]]]:
    methods = ["order", "hc"] + (["exact"] if n <= MOST_EXACT_NODES else [])
    for method in methods:
        yield f"dagopt {method}", lambda data, method=method: dagopt.learn(data, method, progress=False).adjacency


def compare(n: int, only: list[str]) -> None:
    data, truth = dagopt.simulate(n, 5000, 2.0, 0)
    print(f"\n| n = {n} | score | above the true DAG | seconds |\n|---|---|---|---|")
    true = dagopt.score(data, truth)
    small = dagopt.simulate(5, 200, 1.0, 0).data
    for name, search in [*ours(n), *causal_learn(), *pgmpy()]:
        if only and not any(part.lower() in name.lower() for part in only):
            continue
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search(small)  # imports and compiles
            start = time.perf_counter()
            try:
                dag = search(data)
            except Exception as error:
                dag = None
                why = f"{type(error).__name__}: {error}"
            seconds = time.perf_counter() - start
        if dag is None:
            print(f"| {name} | {why} | | {seconds:.2f} |", flush=True)
            continue
        score = dagopt.score(data, pd.DataFrame(dag, index=data.columns, columns=data.columns))
        print(f"| {name} | {score:.2f} | {score - true:+.2f} | {seconds:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nodes", type=int, nargs="*", default=[25, 50])
    parser.add_argument("--only", default="", help="parts of names, with commas")
    arguments = parser.parse_args()
    for n in arguments.nodes:
        compare(n, [part for part in arguments.only.split(",") if part])


if __name__ == "__main__":
    main()
