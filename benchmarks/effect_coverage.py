"""Do the intervals of estimated effects contain the true ones? Coverage on simulated networks.

    python -m benchmarks.effect_coverage [--networks 200] [--quick]

Random networks (10 nodes, degree 1.5): Gaussian ones with 500 rows, discrete ones with two levels per column and 5,000
rows. For up to five random pairs of each network the effect is estimated over the class of the true DAG, and the row
with the parents that the cause truly has is compared with the true effect. Only pairs with an effect count; a zero that
the graph tells is exact. Of discrete pairs, those count whose adjustment levels occur with both levels of the cause in
at least 99 % of the rows, as elsewhere the data cannot tell. Other lines have the graph learned from the same rows, as
users do: what they lose is what the assumption of a true graph hides.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import dagopt
from dagopt.data.table import Table, as_table
from dagopt.graph.cpdag import cpdag
from dagopt.networks.effects.effect import effect_in
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network

NODES, DEGREE, PAIRS = 10, 1.5, 5
ROWS = {"gaussian": 500, "discrete": 5000}


def network_of(kind: str, seed: int):
    if kind == "gaussian":
        return random_gaussian_network(NODES, DEGREE, seed)
    return random_discrete_network(NODES, DEGREE, random_state=seed, levels=2)


def true_effect(network, kind: str, x: str, y: str) -> float:
    """Return the change of the mean of Y for one unit of X, or of the probability of s1 from X = s0 to s1."""
    if kind == "gaussian":
        total = np.linalg.inv(np.eye(NODES) - network.weights)
        return float(total[network.names.index(x), network.names.index(y)])
    return network.do({x: "s1"}).query(y)["s1"] - network.do({x: "s0"}).query(y)["s1"]


def told(table: Table, graph, x: str, y: str, parents: str | None):
    """Return the effect that belongs to the true parents of the cause, or the only one if it is identified."""
    effect = effect_in(table, graph, x, y)
    found = effect.table
    if parents is None and not effect.identified:
        return None
    if parents is not None:
        found = found[[parents in own.split(" or ") for own in found["parents"]]]
    if "level" in found:
        found = found[found["level"] == "s1"]
    return found.iloc[0]


def coverage(kind: str, networks: int, learned: bool) -> str:
    hits, wide, seconds = [], [], 0.0
    for seed in range(networks):
        network = network_of(kind, seed)
        table = as_table(network.sample(ROWS[kind], seed))
        dag = network.adjacency.astype(np.int8)
        graph = cpdag(dagopt.learn(table, "exact", progress=False).adjacency) if learned else cpdag(dag)
        below = np.linalg.matrix_power(np.eye(NODES, dtype=np.int64) + dag, NODES) > 0
        pairs = np.random.default_rng(seed).permutation(np.argwhere(below & ~np.eye(NODES, dtype=bool)))[:PAIRS]
        for i, j in pairs:
            x, y = network.names[i], network.names[j]
            own = "{" + ", ".join(network.names[k] for k in np.flatnonzero(dag[:, i])) + "}"
            start = time.process_time()
            row = told(table, graph, x, y, None if learned else own)
            seconds += time.process_time() - start
            if row is None or row.get("unsupported", 0.0) > 0.01:
                continue
            truth = true_effect(network, kind, x, y)
            hits.append(row["lower"] <= truth <= row["upper"])
            wide.append(row["upper"] - row["lower"])
    share = float(np.mean(hits))
    error = np.sqrt(share * (1 - share) / len(hits))
    graph_is = "learned, identified effects" if learned else "class of the true DAG"
    return (
        f"| {kind} | {graph_is} | {len(hits)} | {share:.1%} ± {error:.1%} | {np.median(wide):.3f} |"
        f" {1000 * seconds / max(len(hits), 1):.1f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="20 networks")
    arguments = parser.parse_args()
    networks = 20 if arguments.quick else arguments.networks
    print("| data | graph | effects | 95 % intervals that hold the truth | median width | ms an effect |")
    print("|---|---|---|---|---|---|")
    for kind in ("gaussian", "discrete"):
        for learned in (False, True):
            print(coverage(kind, networks, learned), flush=True)


if __name__ == "__main__":
    main()
