"""Do the intervals of estimated effects contain the true ones? Coverage and width on simulated networks.

    python -m benchmarks.effect_coverage [--networks 40] [--kinds gaussian discrete] [--nodes 6 10 15] [--quick]
                                         [--rows 100 500 2000] [--seconds 240] [--score bic] [--ess 1] [--prior fair]
                                         [--all-pairs] [--first 0]

Random networks of degree 1.5, Gaussian or discrete with two levels per column. Of each, up to five random pairs of
columns of which the first has an effect on the second (any pairs with ``--all-pairs``: a posterior promises its share
over all of them, not over those with an effect) are estimated from a sample in these ways:

- ``true class``: over the class of the true DAG, the row with the parents that the cause truly has (Gaussian data: what
  the intervals promise);
- ``one graph``: the class learned from the same rows; its first row, as a user reads it who takes one graph for true;
- ``class``: the hull of the intervals of that class;
- ``score 3``: the hull over every DAG within 3 points of the best by the score alone (``half_price=False``);
- ``within 2``, ``3``, ``5``: the hull over every DAG within that many points of the best; with discrete columns also
  over those that are within them at half the price of parameters;
- ``posterior``: the interval of the exact mixture over all DAGs.

A pair is covered if the true effect is in the interval; a zero that a graph tells is an interval without width. Of
discrete pairs, those count whose adjustment levels occur with both levels of the cause in at least 99 % of the rows
given the true parents, as elsewhere the data cannot tell. The score is BIC unless given. The width is the median over
the pairs. The error is the standard error of the shares of ``within 3`` and ``posterior``, the larger one, over
networks: effects of one network are not independent. The last column has the misses of ``within 3``: in how many of
them the true parents of the cause are in no DAG within the limit (the score is against them), and in how many they
are, so that their own interval misses too.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import replace

import numpy as np

import dagopt
from dagopt.data.table import as_table
from dagopt.graph.cpdag import cpdag
from dagopt.networks.effects.effect import effect_in
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network

DEGREE, PAIRS = 1.5, 5
LIMITS = (2.0, 3.0, 5.0)
WAYS = ("true class", "one graph", "class", "score 3", *(f"within {limit:g}" for limit in LIMITS), "posterior")


def network_of(kind: str, nodes: int, seed: int):
    if kind == "gaussian":
        return random_gaussian_network(nodes, DEGREE, seed)
    return random_discrete_network(nodes, DEGREE, random_state=seed, levels=2)


def true_effect(network, kind: str, x: str, y: str) -> float:
    """Return the change of the mean of Y for one unit of X, or of the probability of s1 from X = s0 to s1."""
    if kind == "gaussian":
        total = np.linalg.inv(np.eye(len(network.names)) - network.weights)
        return float(total[network.names.index(x), network.names.index(y)])
    return network.do({x: "s1"}).query(y)["s1"] - network.do({x: "s0"}).query(y)["s1"]


def of_level(frame):
    """Return the rows about the level s1, if there are levels."""
    return frame[frame["level"] == "s1"] if "level" in frame else frame


def intervals_of(result, table, dag, pair: tuple[int, int], prior: str):
    """Return the interval of each way, and whether the true parents are within the middle limit.

    None if the data cannot tell the effect even given the true parents.
    """
    i, j = pair
    x, y = table.names[i], table.names[j]
    own = "{" + ", ".join(table.names[k] for k in np.flatnonzero(dag[:, i])) + "}"
    true = of_level(effect_in(table, cpdag(dag), x, y).table)
    true = true[[own in parents.split(" or ") for parents in true["parents"]]].iloc[0]
    if true.get("unsupported", 0.0) > 0.01:
        return None
    found = {"true class": (true["lower"], true["upper"])}
    whole = result.effect(x, y)
    first = of_level(whole.table).iloc[0]
    found["one graph"] = (first["lower"], first["upper"])
    near = result.effect(x, y, within=LIMITS[-1])  # those within less are among them
    hulls = {"class": whole}
    for limit in LIMITS:
        hulls[f"within {limit:g}"] = replace(near, table=near.table[near.table["loss"] <= limit])
    full = near.table[(near.table["loss"] <= LIMITS[1]) & (near.table.get("price", "full") == "full")]
    hulls["score 3"] = replace(near, table=full)
    for name, told in hulls.items():
        row = of_level(told.ranges).iloc[0]
        found[name] = (row["lower"], row["upper"])
    row = of_level(result.effect_posterior(x, y, prior=prior, progress=False).summaries).iloc[0]
    inside = own in set(hulls[f"within {LIMITS[1]:g}"].table["parents"])
    return found | {"posterior": (row["lower"], row["upper"])}, inside


def coverage(
    kind: str, nodes: int, rows: int, seeds: range, seconds: float, scoring: dict, prior: str, every: bool = False
) -> str:
    """Return one line of the table: coverage and median width of each way."""
    hits, widths, missed = defaultdict(list), defaultdict(list), {False: 0, True: 0}
    networks: list[int] = []
    start = time.perf_counter()
    for seed in seeds:
        if seed > seeds[0] and time.perf_counter() - start > seconds:
            break
        network = network_of(kind, nodes, seed)
        table = as_table(network.sample(rows, seed))
        if kind == "discrete" and any(len(levels) < 2 for levels in table.levels):
            continue
        result = dagopt.learn(table, "exact", progress=False, **scoring)
        dag = network.adjacency.astype(np.int8)
        below = every | (np.linalg.matrix_power(np.eye(nodes, dtype=np.int64) + dag, nodes) > 0)
        pairs = np.random.default_rng(seed).permutation(np.argwhere(below & ~np.eye(nodes, dtype=bool)))[:PAIRS]
        for i, j in pairs.tolist():
            told = intervals_of(result, table, dag, (i, j), prior)
            if told is None:
                continue
            truth = true_effect(network, kind, network.names[i], network.names[j])
            intervals, inside = told
            networks.append(seed)
            lower, upper = intervals[f"within {LIMITS[1]:g}"]
            missed[inside] += not lower - 1e-9 <= truth <= upper + 1e-9
            for way, (lower, upper) in intervals.items():
                hits[way].append(lower - 1e-9 <= truth <= upper + 1e-9)
                widths[way].append(upper - lower)
    told = [f"{np.mean(hits[way]):.1%} ({np.median(widths[way]):.3f})" for way in WAYS]
    why = f"{missed[False]} out, {missed[True]} in"
    error = max(error_over_networks(np.array(hits[way]), np.array(networks)) for way in ("within 3", "posterior"))
    return f"| {kind} | {nodes} | {rows} | {len(networks)} | {' | '.join(told)} | {error:.1%} | {why} |"


def error_over_networks(hits: np.ndarray, networks: np.ndarray) -> float:
    """Return the standard error of a share if the hits of one network depend on each other."""
    _, own = np.unique(networks, return_inverse=True)
    sums = np.bincount(own, weights=hits - hits.mean())
    return float(np.sqrt((sums**2).sum()) / len(hits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=40)
    parser.add_argument("--kinds", nargs="+", default=["gaussian", "discrete"])
    parser.add_argument("--nodes", nargs="+", type=int, default=[6, 10, 15])
    parser.add_argument("--rows", nargs="+", type=int, default=[100, 500, 2000])
    parser.add_argument("--seconds", type=float, default=240.0, help="per line; networks begun by then count")
    parser.add_argument("--score", default="bic")
    parser.add_argument("--ess", type=float, default=1.0, help="equivalent sample size of bdeu")
    parser.add_argument("--prior", default="fair", help="of the posterior")
    parser.add_argument("--all-pairs", action="store_true", help="pairs without an effect count too")
    parser.add_argument("--first", type=int, default=0, help="seed of the first network, for other draws")
    parser.add_argument("--quick", action="store_true", help="4 networks of 6 columns")
    arguments = parser.parse_args()
    networks, nodes = (4, [6]) if arguments.quick else (arguments.networks, arguments.nodes)
    seeds = range(arguments.first, arguments.first + networks)
    scoring = {"score": arguments.score, "equivalent_sample_size": arguments.ess}
    print(f"| data | columns | rows | effects | {' | '.join(WAYS)} | error | misses |")
    print("|---" * (len(WAYS) + 6) + "|")
    for kind in arguments.kinds:
        for size in nodes:
            for rows in arguments.rows:
                print(
                    coverage(kind, size, rows, seeds, arguments.seconds, scoring, arguments.prior, arguments.all_pairs),
                    flush=True,
                )


if __name__ == "__main__":
    main()
