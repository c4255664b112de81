"""Order knowledge, paths and beliefs about edges against brute force over all 29,281 DAGs of five columns.

    python -m benchmarks.knowledge                      # 300 tables, every method
    python -m benchmarks.knowledge --tables 20 --methods exact hc

Each table has numbers or levels, and pairs of ``before=``, of ``ancestors=``, an ``edge_prior=`` and a limit on
parents, each with some probability. One line per method: on how many tables it refused and by which names, on how many
its graph is no DAG, on how many it found the best DAG and on how many it proved that, and its CPU seconds. A graph that
does not obey, a bound below the best score, a proven graph below it, and a refusal that does not name what is refused
are faults: the command then lists them and fails. gobnilp, which limits itself to three parents unless told otherwise,
is told that there may be four.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from functools import cache, cached_property
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import dagopt
from dagopt.errors import InputError

COLUMNS = 5
METHODS = ("auto", "exact", "branch-and-cut", "gobnilp", "cg-dca", "order", "hc", "tabu", "pc", "mmhc")
KEYS = ("before=", "ancestors=", "edge_prior=", "max_parents=")
CLOSE = 1e-6


class Drawn(NamedTuple):
    """A table, what is known about it, and the pairs of the order and of the paths by position."""

    data: pd.DataFrame
    known: dict[str, Any]
    before: list[tuple[int, int]]
    ancestors: list[tuple[int, int]]


@cache
def all_dags() -> NDArray[np.bool_]:
    """Return all DAGs of five nodes, ``[dag, from, to]``."""
    pairs = list(combinations(range(COLUMNS), 2))
    states = np.array(list(product((0, 1, 2), repeat=len(pairs))), dtype=np.int8)
    graphs = np.zeros((len(states), COLUMNS, COLUMNS), dtype=bool)
    for k, (a, b) in enumerate(pairs):
        graphs[:, a, b], graphs[:, b, a] = states[:, k] == 1, states[:, k] == 2
    return graphs[~reaching(graphs)[:, range(COLUMNS), range(COLUMNS)].any(axis=1)]


def reaching(graphs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return between which nodes of each graph a path leads."""
    reach = graphs.copy()
    for k in range(COLUMNS):
        reach |= reach[:, :, k, np.newaxis] & reach[:, np.newaxis, k, :]
    return reach


def draw(seed: int) -> Drawn:
    """Return a table and knowledge that some DAG obeys."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(COLUMNS)
    weights = np.triu(rng.normal(size=(COLUMNS, COLUMNS)) * (rng.random((COLUMNS, COLUMNS)) < 0.6), 1)
    values = np.zeros((80, COLUMNS))
    for j in range(COLUMNS):
        values[:, j] = values @ weights[:, j] + rng.normal(size=80)
    data = pd.DataFrame(values[:, order], columns=list("abcde"))
    if seed % 2:
        data = (data > data.median()).astype(int).astype(str)
    first = rng.permutation(COLUMNS)
    every = [(int(first[i]), int(first[j])) for i, j in combinations(range(COLUMNS), 2)]
    before = [every[k] for k in rng.choice(10, rng.integers(1, 4), replace=False)] if seed % 3 else []
    ancestors = [every[k] for k in rng.choice(10, rng.integers(1, 3), replace=False)] if seed % 4 else []
    names = list(data.columns)
    known: dict[str, Any] = {
        "before": [(names[a], names[b]) for a, b in before],
        "ancestors": [(names[a], names[b]) for a, b in ancestors],
    }
    if seed % 5 < 3:
        ends = [(0, 1), (2, 3), (4, 0)]
        known["edge_prior"] = [(names[a], names[b], float(rng.uniform(0.01, 0.99))) for a, b in ends]
    if seed % 7 == 0:
        known["max_parents"] = 2
    return Drawn(data, known, before, ancestors)


def allowed(drawn: Drawn) -> NDArray[np.bool_]:
    """Say which of all DAGs obey what is known."""
    graphs = all_dags()
    reach = reaching(graphs)
    obeys = graphs.sum(axis=1).max(axis=1) <= drawn.known.get("max_parents", COLUMNS)
    for a, b in drawn.ancestors:
        obeys &= reach[:, a, b]
    ordered = graphs.copy()
    for a, b in drawn.before:
        ordered[:, a, b] = True
    return obeys & ~reaching(ordered)[:, range(COLUMNS), range(COLUMNS)].any(axis=1)


class Checked:
    """The best score of the DAGs that obey, found by scoring all of them, once per table."""

    def __init__(self, drawn: Drawn) -> None:
        self._drawn = drawn
        self._best: float | None = None

    @cached_property
    def _obeys(self) -> NDArray[np.bool_]:
        return allowed(self._drawn)

    def obeys(self, adjacency: NDArray[np.int8]) -> bool:
        """Say whether a graph is a DAG that obeys."""
        return bool((all_dags() == (adjacency != 0)).all(axis=(1, 2))[self._obeys].any())

    def has_member(self, adjacency: NDArray[np.int8]) -> bool:
        """Say whether some DAG that obeys has the edges of a graph, the open ones in either direction."""
        dags, found = all_dags()[self._obeys], adjacency != 0
        same = ((dags | dags.transpose(0, 2, 1)) == (found | found.T)).all(axis=(1, 2))
        return bool((same & ~(dags & ~found).any(axis=(1, 2))).any())

    def best(self, score: Any) -> float:
        """Return the best score; the score is the same for all methods."""
        if self._best is None:
            sets = np.arange(1 << COLUMNS)
            members = [np.flatnonzero(mask >> np.arange(COLUMNS) & 1) for mask in sets]
            masks = (all_dags()[self._obeys] * (1 << np.arange(COLUMNS))[:, np.newaxis]).sum(axis=1)
            total = np.zeros(len(masks))
            for i in range(COLUMNS):
                own = np.array([-np.inf if i in members[mask] else score.local(i, members[mask]) for mask in sets])
                total += own[masks[:, i]]
            self._best = float(total.max())
        return self._best


def faults(drawn: Drawn, checked: Checked, method: str, counts: Counter[str]) -> list[str]:
    """Run a method, count what it says, and return what is wrong with it."""
    known = drawn.known | ({"max_parents": drawn.known.get("max_parents", COLUMNS - 1)} if method == "gobnilp" else {})
    try:
        result = dagopt.learn(drawn.data, method, score="bic", constraints=known, progress=False)
    except InputError as error:
        named = [key for key in KEYS if key in str(error).split(";")[0]]
        counts["refused"] += 1
        counts.update(f"refused {key}" for key in named)
        return [] if named else [f"refuses without a name: {error}"]
    if (result.adjacency & result.adjacency.T).any():  # tests of independence leave directions open
        counts["no DAG"] += 1
        return [] if checked.has_member(result.adjacency) else ["no DAG of the graph obeys"]
    best = checked.best(result.problem.score)
    found = []
    if not checked.obeys(result.adjacency):
        found.append("the graph does not obey")
    if abs(result.problem.score.total(result.adjacency) - result.score) > CLOSE:
        found.append("the score is not that of the graph")
    elif result.score > best + CLOSE:
        found.append(f"scores {result.score} but the best is {best}")
    elif result.score > best - CLOSE:
        counts["best"] += 1
    elif result.status == "optimal":
        found.append(f"said to be optimal at {result.score} but the best is {best}")
    if result.bound is not None and result.bound < best - CLOSE:
        found.append(f"bound {result.bound} below the best {best}")
    counts["proven"] += result.status == "optimal"
    return found


def main() -> None:
    """Print one line per method and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=300)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    asked = parser.parse_args()
    wrong = []
    counts: dict[str, Counter[str]] = {method: Counter() for method in asked.methods}
    seconds: Counter[str] = Counter()
    for seed in range(asked.tables):
        drawn = draw(seed)
        checked = Checked(drawn)
        for method in asked.methods:
            begun = time.process_time()
            wrong += [f"{method}, table {seed}: {one}" for one in faults(drawn, checked, method, counts[method])]
            seconds[method] += time.process_time() - begun
        if seed % 50 == 49:
            so_far = {method: own["best"] for method, own in counts.items()}
            print(f"{seed + 1} tables, {len(wrong)} faults, best on {so_far}", file=sys.stderr, flush=True)
    for method, own in counts.items():
        print(
            {
                "method": method,
                "tables": asked.tables,
                "refused": own["refused"],
                **{f"refused {key}": own[f"refused {key}"] for key in KEYS if own[f"refused {key}"]},
                **{key: own[key] for key in ("no DAG", "best", "proven")},
                "cpu seconds": round(seconds[method], 1),
            }
        )
    print(f"{len(wrong)} faults", *wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
