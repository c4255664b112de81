"""BIC, EBIC and the default, which is one of them: how well each recovers the true graph and predicts new rows.

    python -m benchmarks.chance_edges [--only simulated | public] [--kinds gaussian ...] [--seeds 3] [--quick]

Simulated networks by the number of columns and rows, and the published networks ecoli70, magic-niab (of
``../shared/bench``), ALARM and INSURANCE. SHD counts the pairs in which the learned essential graph and the true one
differ; precision and recall are those of the joined pairs; "held-out" is the log-likelihood per row of 5,000 new rows,
minus that of BIC. "By chance" is the number of edges expected by chance under BIC, by which ``score="auto"`` decides.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import dagopt
from dagopt.data.chance import chance_edges
from dagopt.deadline import Deadline
from dagopt.graph.dag import as_graph
from dagopt.learning.posing import pose
from dagopt.methods.registry import METHODS
from dagopt.networks.gaussian_json import read_gaussian_json
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network, random_mixed_network
from dagopt.progress import NoProgress

SCORES = ("bic", "ebic", "auto")
FIGURES = ("SHD", "precision", "recall", "held-out")
KINDS = {"gaussian": random_gaussian_network, "discrete": random_discrete_network, "mixed": random_mixed_network}
HELD_OUT = 5000  # rows
Cell = tuple[str, int, list[dict[str, float]]]  # network, rows, and the figures of each table
COLUMNS, ROWS = (10, 20, 50, 100), (200, 1000, 5000)


def figures_of(network: Any, rows: int, seed: int) -> dict[str, float]:
    """Return the figures of one table."""
    data, new = (network.sample(size, random_state=start) for size, start in ((rows, seed), (HELD_OUT, seed + 10**6)))
    table = dagopt.as_table(data)
    for name in data.select_dtypes(exclude="number"):
        new = new[new[name].isin(data[name])]  # levels that the table does not have
    search = METHODS["order"].load()
    found = {"by chance": chance_edges(table.sizes, 0.5 * np.log(rows))}
    for score in SCORES:
        problem, _ = pose(table, score=score)
        dag = search(problem, deadline=Deadline(60), progress=NoProgress(), restarts=2, kicks=5).adjacency
        against = dagopt.compare(as_graph(dag, table.names), network.dag)
        smoothing = {} if table.kind == "continuous" else {"equivalent_sample_size": 1.0}
        likelihood = dagopt.fit(table, dag, **smoothing).log_likelihood(new) / len(new)
        values = (against.shd, against.skeleton_precision, against.skeleton_recall, likelihood)
        found |= {f"{score} {name}": float(value) for name, value in zip(FIGURES, values, strict=True)}
    base = found["bic held-out"]
    return found | {f"{score} held-out": found[f"{score} held-out"] - base for score in SCORES}


def simulated(kinds: list[str], columns: tuple[int, ...], seeds: int) -> Iterator[Cell]:
    """Return the figures of each design, one table per seed."""
    for kind, n, rows in product(kinds, columns, ROWS):
        networks = (KINDS[kind](n, 1.5, random_state=seed) for seed in range(seeds))
        yield f"{kind}, {n} columns", rows, [figures_of(one, rows, seed) for seed, one in enumerate(networks)]


def public(seeds: int) -> Iterator[Cell]:
    """Return the figures of the published networks, one draw per seed."""
    bench = Path("../shared/bench/gaussian")
    networks = {path.stem: read_gaussian_json(path) for path in sorted(bench.glob("*.json"))}
    networks |= {name: dagopt.datasets.load_network(name) for name in ("insurance", "alarm")}
    for (name, network), rows in product(networks.items(), ROWS):
        yield name, rows, [figures_of(network, rows, seed) for seed in range(seeds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("simulated", "public"))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="up to 20 columns, one table each")
    given = parser.parse_args()
    seeds = 1 if given.quick else given.seeds
    heads = [f"{name}: {' / '.join(SCORES)}" for name in FIGURES]
    print(f"| network | rows | by chance | {' | '.join(heads)} |\n|{'---|' * (3 + len(heads))}")
    cells: list[Iterator[Cell]] = []
    if given.only != "public":
        cells.append(simulated(given.kinds, COLUMNS[:2] if given.quick else COLUMNS, seeds))
    if given.only != "simulated" and not given.quick:
        cells.append(public(seeds))
    for name, rows, found in (cell for group in cells for cell in group):
        mean = {key: np.mean([one[key] for one in found]) for key in found[0]}
        digits = {"SHD": ".1f", "precision": ".2f", "recall": ".2f", "held-out": "+.3f"}
        shown = [" / ".join(f"{mean[f'{score} {key}']:{form}}" for score in SCORES) for key, form in digits.items()]
        print(f"| {name} | {rows} | {mean['by chance']:.2f} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
