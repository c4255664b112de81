"""What does the report say about real tables? ``python -m benchmarks.real_reports``.

Five tables as they come from statsmodels, scikit-learn and palmerpenguins (``pip install palmerpenguins``; left out if
it is absent). One row per table: what is proven, edges by weight of evidence, directions, what the doctor doubts, and
the checks of the residuals that fail, each as the report shows it.
"""

from __future__ import annotations

import argparse
import importlib
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import load_diabetes, load_wine

import dagopt
from dagopt.report.view import page_view_of

HEAD = ("table", "rows, columns", "proof", "edges: weak, clear, overwhelming", "directed, leaning, open", "findings")
HEAD += ("edges and columns that fail a check",)


def tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the tables by name."""
    try:
        yield "penguins", importlib.import_module("palmerpenguins").load_penguins()
    except ImportError:
        print("penguins are left out: pip install palmerpenguins")
    yield "diabetes", load_diabetes(as_frame=True, scaled=False).frame
    wine = load_wine(as_frame=True)
    yield "wine", wine.data.assign(cultivar=wine.target_names[wine.target])
    datasets = importlib.import_module("statsmodels.api").datasets
    yield "fair", datasets.fair.load_pandas().data
    yield "copper", datasets.copper.load_pandas().data


def told(name: str, table: pd.DataFrame, folder: Path | None) -> list[Any]:
    """Return what the report says about a table, and write it if there is a folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dagopt.DataWarning)  # they are a column of the answer
        result = dagopt.learn(table, missing="drop", progress=False)
    view = page_view_of(result)
    weights = Counter(edge.weight for edge in view.edges)
    ways = Counter(edge.direction for edge in view.edges)
    failed = [*filter(None, (edge.failed for edge in view.edges)), *filter(None, view.failed)]
    if folder is not None:
        result.report(folder / f"{name}.html")
    return [
        name,
        f"{result.n_samples}, {len(result.names)}",
        result.proof,
        ", ".join(str(weights[one]) for one in ("weak", "clear", "overwhelming")),
        ", ".join(str(ways[one]) for one in ("directed", "leaning", "open")),
        ", ".join(dict.fromkeys(f"`{finding.code}`" for finding in result.findings)),
        len(failed),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a folder for the reports")
    folder = parser.parse_args().out
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
    for name, table in tables():
        print("| " + " | ".join(map(str, told(name, table, folder))) + " |", flush=True)


if __name__ == "__main__":
    main()
