"""How often the true class is found exactly, in the design of FLOP's authors: 50 columns, average degree 8, 1000 rows.

    python -m benchmarks.recovery [--instances 50] [--restarts 100] [--factor 2] [--jobs 1] [--quick]

Order search beside FLOP (``make peers`` installs it), both with the penalty ``factor`` times half the logarithm of the
number of rows for an edge; 2 is what FLOP recommends. The data are simulated by us, with four parents on average.
"Best score" is how often a method's score is not below the other's by more than 1e-4.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

import dagopt
from benchmarks.peers import as_dag, run
from dagopt.graph.dag import as_graph

COLUMNS, PARENTS, ROWS = 50, 4.0, 1000
CLOSE = 1e-4


def compare(seed: int, methods: tuple[str, ...], factor: float, limit: float) -> NDArray[np.float64]:
    """Return, of one instance and for each method: was the true class found, was the score the best, CPU seconds."""
    data, truth = dagopt.simulate(COLUMNS, ROWS, PARENTS, seed)
    table = dagopt.as_table(data)
    score = dagopt.make_score(table, factor * 0.5 * np.log(ROWS))
    found = []
    for method in methods:
        answer = run(method, data.to_numpy(), factor, limit)
        if answer.graph is None:
            raise SystemExit(f"{method}: {answer.reason}")
        dag = as_dag(answer.graph)
        shd = dagopt.compare(as_graph(dag, names=table.names), truth).shd
        found.append((score.total(dag), shd == 0, answer.cpu))
    scores, exact, cpu = np.transpose(found)
    return np.array([exact, scores > scores.max() - CLOSE, cpu])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=50)
    parser.add_argument("--restarts", type=int, default=100, help="of FLOP")
    parser.add_argument("--factor", type=float, default=2.0)
    parser.add_argument("--jobs", type=int, default=1, help="instances at the same time, one thread each")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds per run")
    parser.add_argument("--quick", action="store_true", help="two instances")
    arguments = parser.parse_args()
    methods = ("order", f"flop{arguments.restarts}")
    count = 2 if arguments.quick else arguments.instances
    with ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda seed: compare(seed, methods, arguments.factor, arguments.limit), range(count)))
    exact, best, cpu = (dict(zip(methods, column, strict=True)) for column in np.sum(rows, axis=0))
    print("| method | instances | true class found | best score | mean CPU seconds |\n|---|---|---|---|---|")
    for method in methods:
        print(f"| {method} | {count} | {exact[method]:.0f} | {best[method]:.0f} | {cpu[method] / count:.2f} |")


if __name__ == "__main__":
    main()
