"""Public series of statsmodels: what is learned if rows are taken as independent, and what with ``lags=``.

    python -m benchmarks.real_series

- sunspots: the yearly number from 1700 to 2008, lags chosen by score;
- macrodata: the economy of the United States by quarter, levels as they are, and changes with the quarter before;
- grunfeld: investment of eleven firms from 1935 to 1954, a panel with ``groups=``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

import dagopt


def told(title: str, data: pd.DataFrame, **options: Any) -> None:
    """Learn and print the edges, how they are proven, and what the doctor warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = dagopt.learn(data, progress=False, **options)
    if result.lags is None:
        edges = [f"{a} -> {b}" for a, b in result.graph.directed_edges]
        edges += [f"{a} - {b}" for a, b in result.graph.undirected_edges]
    else:
        edges = [f"{a} -> {b} (lag {lag})" for a, b, lag in result.graph.edges[["from", "to", "lag"]].itertuples(False)]
    print(f"\n{title}: {result.n_samples} rows, {result.status}, {len(edges)} edges")
    print("  " + "; ".join(edges))
    for finding in result.findings:
        print(f"  doctor: {finding.line[:160]}")
    for note in result.notes:
        if "lags" in note:
            print(f"  note: {note[:200]}")


def main() -> None:
    """Print one block per table and way."""
    import statsmodels.api as sm

    sunspots = sm.datasets.sunspots.load_pandas().data.rename(columns={"YEAR": "year", "SUNACTIVITY": "sunspots"})
    told("sunspots, rows as independent", sunspots)
    told("sunspots, lags chosen", sunspots, lags="auto", time="year")

    macro = sm.datasets.macrodata.load_pandas().data
    told("macrodata, rows as independent", macro)
    series = ["realgdp", "realcons", "realinv", "unemp", "infl", "tbilrate"]
    changes = macro[["year", "quarter"]].astype(int)
    for name in series:
        values = np.log(macro[name]) if name.startswith("real") else macro[name]
        changes[name] = values.diff()
    told("macrodata, changes, one lag", changes.dropna(), lags=1, time=["year", "quarter"])

    grunfeld = sm.datasets.grunfeld.load_pandas().data.astype({"year": int})
    told("grunfeld, rows as independent", grunfeld)
    told("grunfeld, by firm, one lag", grunfeld, lags=1, time="year", groups="firm")


if __name__ == "__main__":
    main()
