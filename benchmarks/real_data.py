"""Tables and score files from other sources: what is proven about each, how long it takes, and what was published.

python -m benchmarks.real_data [../shared] [--quick] [--only sachs,ecoli70] [--limit 300] [--write docs/real_data.md]

``--quick`` runs what is over in seconds. ``--write`` puts the tables between the marks of the page.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dagopt
from dagopt.networks.gaussian_json import read_gaussian_json

ROWS = 5000  # drawn from a network that is published without data


@dataclass(frozen=True)
class Case:
    """One instance.

    Attributes
    ----------
    name : str
        What it is called, and asked for by ``--only``.
    load : callable
        Of the folder ``bench``; returns the data (a frame or a path) and the true graph or None.
    published : str
        What others report about it.
    options : dict
        Of ``learn``.
    quick : bool
        Whether it is over in seconds.
    """

    name: str
    load: Callable[[Path], tuple[Any, Any]]
    published: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    quick: bool = False


def sachs(bench: Path) -> tuple[Any, Any]:
    """Return the flow cytometry table in logarithms, as is usual for it, and the consensus graph."""
    table = pd.read_csv(bench / "tables" / "sachs.data.txt", sep="\t")
    return np.log(table), bench / "tables" / "consensus17.edges.csv"


def gaussian(name: str) -> Callable[[Path], tuple[Any, Any]]:
    def load(bench: Path) -> tuple[Any, Any]:
        network = read_gaussian_json(bench / "gaussian" / f"{name}.json")
        return network.sample(ROWS, random_state=0), network.dag

    return load


def auto_mpg(bench: Path) -> tuple[Any, Any]:
    table = pd.read_csv(bench / "tables" / "auto-mpg.data.mixed.max.3.categories.txt", sep="\t")
    return table.astype({"origin": "category"}).astype(dict.fromkeys(table.columns.drop("origin"), float)), None


def hailfinder(bench: Path) -> tuple[Any, Any]:
    return bench / "tables" / "hailfinder.csv.gz", None


def micodag(name: str, draw: int) -> Callable[[Path], tuple[Any, Any]]:
    def load(bench: Path) -> tuple[Any, Any]:
        folder = bench / "micodag" / name
        values = pd.read_csv(folder / f"data_{name}_n_500_iter_{draw}.csv.gz", header=None).to_numpy()
        return values, _pairs(folder, "Original", values.shape[1])

    return load


def inside_the_moral_graph(bench: Path, name: str, n_nodes: int) -> dagopt.Constraints:
    """Return the constraints of the paper: edges inside the true moral graph only."""
    joined = {frozenset(pair) for pair in _pairs(bench / "micodag" / name, "Moral", n_nodes)}
    every = permutations((f"X{k}" for k in range(n_nodes)), 2)
    return dagopt.Constraints(forbidden=[pair for pair in every if frozenset(pair) not in joined])


def _pairs(folder: Path, kind: str, n_nodes: int) -> list[tuple[str, str]]:
    """Return the edges of a file of pairs numbered from 1."""
    (file,) = folder.glob(f"Sparse_{kind}_edges_{n_nodes}_*.txt")
    return [(f"X{a - 1}", f"X{b - 1}") for a, b in np.loadtxt(file, delimiter=",", dtype=int)]


def scores(file: str) -> Callable[[Path], tuple[Any, Any]]:
    """Return a loader of a score file, unpacked."""

    def load(bench: Path) -> tuple[Any, Any]:
        target = Path(tempfile.mkdtemp()) / f"{file}.jkl"
        target.write_bytes(gzip.decompress((bench / "scores" / f"{file}.jkl.gz").read_bytes()))
        return target, None

    return load


LISTED = {"method": "gobnilp"}
TABLES = [
    Case("sachs", sachs, "consensus graph of 17 edges", quick=True),
    Case("ecoli70", gaussian("ecoli70"), "true DAG has 70 edges"),
    Case("magic-niab", gaussian("magic-niab"), "true DAG has 66 edges"),
    Case("auto-mpg", auto_mpg, "", quick=True),
    Case(
        "hailfinder",
        hailfinder,
        "optimum -990162.80504 (pygobnilp); R bnlearn `hc` -990474.75, `tabu` -990396.27",
        LISTED | {"max_parents": 3},
    ),
]
PUBLISHED_MICODAG = {
    "9insurance": "1,350 s, gap 24 %",
    "10factors": "1,350 s, gap 30 %",
    "11hfinder": "2,805 s, gap 22 %",
    "12hepar": "3,500 s, gap 29 %",
}
MICODAG = [
    Case(f"{name}-{draw}", micodag(name, draw), published, quick=name == "9insurance" and draw == 1)
    for name, published in PUBLISHED_MICODAG.items()
    for draw in (1, 2, 3)
]
SCORES = [
    Case("alarm-5000", scores("alarm-5000"), "", LISTED, quick=True),
    Case("hailfinder-5000", scores("hailfinder-5000"), "", LISTED, quick=True),
    Case("insurance_2000_1_BDeu", scores("insurance_2000_1_BDeu"), "", LISTED, quick=True),
    Case("water_1000_1_BDeu", scores("water_1000_1_BDeu"), "", LISTED),
    Case("soybean_BIC", scores("soybean_BIC"), "hard for CPBayes and ELSA", LISTED),
    Case("steel_BIC", scores("steel_BIC"), "hard for CPBayes and ELSA", LISTED),
    Case("hepar2-5000", scores("hepar2-5000"), "-164433.403 (k-MAX), no proof", LISTED),
    Case("pathfinder-5000", scores("pathfinder-5000"), "-150290.934 (k-MAX), no proof", LISTED),
    Case("diabetes-5000", scores("diabetes-5000"), "-2264555.363 (k-MAX), no proof", LISTED),
    Case("pigs-5000", scores("pigs-5000"), "-1796786.607 (k-MAX), no proof", LISTED),
]
GROUPS = {"tables": TABLES, "micodag": MICODAG, "scores": SCORES}
HEAD = (
    "| instance | columns | rows | method | score | bound | gap | proven over | SHD | seconds | published |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


def row(case: Case, group: str, bench: Path, limit: float) -> str:
    """Return the row of one instance: run it, or say why it could not be run."""
    data, true = case.load(bench)
    options: dict[str, Any] = {"time_limit": limit, "progress": False} | case.options
    if group == "micodag":
        n_nodes = data.shape[1]
        inside = inside_the_moral_graph(bench, case.name.rpartition("-")[0], n_nodes)
        options |= {"score": 6 * math.log(n_nodes), "constraints": inside}
    begun = time.perf_counter()
    try:
        result = dagopt.learn(data, **options)
    except dagopt.InputError as error:
        why = str(error).partition(";")[0].replace(f"{Path(str(data)).parent}{os.sep}", "")
        return f"| {case.name} | | | | | | | refused: {why} | | | {case.published} |"
    seconds = time.perf_counter() - begun
    cells = [
        case.name,
        len(result.names),
        result.n_samples or "",
        result.method,
        "" if result.score is None else f"{result.score:.4f}",
        "" if result.bound is None else f"{result.bound:.4f}",
        "" if result.gap is None else "0" if result.status == "optimal" else f"{result.gap:.3%}",
        result.scope or "nothing",
        "" if true is None else dagopt.compare(result.graph, true).shd,
        f"{seconds:.1f}",
        case.published,
    ]
    return f"| {' | '.join(map(str, cells))} |"


def write_between(page: Path, mark: str, text: str) -> None:
    """Put a text between ``<!-- mark -->`` and ``<!-- end of mark -->`` of a page."""
    first, last = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    old = page.read_text(encoding="utf-8")
    new, n = re.subn(rf"{first}.*?{last}", lambda _: f"{first}\n{text}\n{last}", old, flags=re.DOTALL)
    if n != 1:
        raise SystemExit(f"{page} has no place marked {first} ... {last}")
    page.write_text(new, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", nargs="?", default="../shared", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="names of instances or groups, separated by commas")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each instance")
    parser.add_argument("--write", type=Path, help="the page to put the tables into")
    given = parser.parse_args()
    asked = set(filter(None, given.only.split(",")))
    warm, _ = dagopt.datasets.load("asia", n_samples=500, random_state=0)
    for method in ("auto", "gobnilp"):
        dagopt.learn(warm, method, progress=False)  # compiles the kernels
    for group, cases in GROUPS.items():
        rows = [
            row(case, group, given.shared / "bench", given.limit)
            for case in cases
            if (not asked or {case.name, group} & asked) and (case.quick or not given.quick)
        ]
        if not rows:
            continue
        table = "\n".join([HEAD, *rows])
        print(f"{group}\n{table}\n", flush=True)
        if given.write:
            conditions = f"dagopt {dagopt.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores"
            about = f"Run on {date.today()}, {conditions}, limit {given.limit:g} s for each instance."
            write_between(given.write, group, f"{table}\n\n{about}")


if __name__ == "__main__":
    main()
