"""Fit and write the networks bundled with the package.

    python benchmarks/fit_bundled_networks.py DATA [--out FOLDER]

DATA holds the data sets (``alarm.csv.gz``, ``insurance.csv.gz``, ``lucas.csv``, ``gaussian_test.csv.gz``) and
their true structures (``*.edges.csv`` with columns from and to). Asia needs no data: its tables are known.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import networkx
import numpy as np
import pandas as pd

from dagopt.networks.bif import write_bif
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.gaussian_json import write_gaussian_json
from dagopt.networks.gaussian_network import GaussianNetwork

BUNDLED = Path(__file__).parents[1] / "src" / "dagopt" / "networks" / "datasets" / "files"
FITTED = (
    "Tables fitted by maximum likelihood to {rows} rows along the true structure; "
    "parent configurations that never occur are uniform."
)
DISCRETE = {
    "alarm": "ALARM, monitoring patients under anaesthesia (Beinlich, Suermondt, Chavez and Cooper, 1989).",
    "insurance": "INSURANCE, the risks of car insurance (Binder, Koller, Russell and Kanazawa, 1997).",
    "lucas": "LUCAS, the lung cancer toy set of the Causality Workbench (Guyon et al.).",
}
GAUSSIAN = (
    "The gaussian.test set of the R package bnlearn (Scutari, 2010). "
    "Equations fitted by maximum likelihood to {rows} rows along the true structure, four significant digits."
)
ASIA = (
    "ASIA, diagnosis of lung diseases (Lauritzen and Spiegelhalter, 1988), with the tables they published.\n"
    "Not fitted to data."
)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit and write the networks bundled with dagopt.")
    parser.add_argument("data", type=Path, help="folder with the data sets and edge lists")
    parser.add_argument("--out", type=Path, default=BUNDLED, help="folder for the networks")
    options = parser.parse_args()
    for name, about in DISCRETE.items():
        data = read_table(options.data, name, dtype=str, keep_default_na=False)
        network = fit_discrete(data, read_dag(options.data, name, data))
        comment = f"{about}\n{FITTED.format(rows=len(data))}"
        write_bif(network, options.out / f"{name}.bif", name=name, comment=comment)
    write_bif(asia(), options.out / "asia.bif", name="asia", comment=ASIA)
    data = read_table(options.data, "gaussian_test")
    gaussian = fit_gaussian(data, read_dag(options.data, "gaussian_test", data))
    about = GAUSSIAN.format(rows=len(data))
    write_gaussian_json(gaussian, options.out / "gaussian_test.json", description=about)


def read_table(folder: Path, name: str, **options: object) -> pd.DataFrame:
    plain = folder / f"{name}.csv"
    return pd.read_csv(plain if plain.exists() else folder / f"{name}.csv.gz", **options)


def read_dag(folder: Path, name: str, data: pd.DataFrame) -> networkx.DiGraph:
    dag = networkx.DiGraph()
    dag.add_nodes_from(data.columns)
    edges = pd.read_csv(folder / f"{name}.edges.csv", dtype=str, keep_default_na=False)
    dag.add_edges_from(edges[["from", "to"]].itertuples(index=False, name=None))
    return dag


def fit_discrete(data: pd.DataFrame, dag: networkx.DiGraph) -> DiscreteNetwork:
    fitted = DiscreteNetwork.fit(data, dag)
    tables = tuple(round_rows(table) for table in fitted.tables)
    return DiscreteNetwork(fitted.names, fitted.levels, fitted.parents, tables)


def round_rows(table: np.ndarray, digits: int = 6) -> np.ndarray:
    """Round so that each row is in units of 10^-digits and these sum to exactly one: largest remainders."""
    units = table * 10**digits
    whole = np.floor(units + 1e-7)
    places = np.argsort(np.argsort(whole - units, axis=-1, kind="stable"), axis=-1, kind="stable")
    missing = 10**digits - whole.sum(axis=-1, keepdims=True)
    return (whole + (places < missing)) / 10**digits


def fit_gaussian(data: pd.DataFrame, dag: networkx.DiGraph) -> GaussianNetwork:
    fitted = GaussianNetwork.fit(data, dag)
    short = np.vectorize(lambda number: float(f"{number:.4g}"))
    return GaussianNetwork(fitted.names, short(fitted.weights), short(fitted.intercepts), short(fitted.variances))


def asia() -> DiscreteNetwork:
    """Return the network of Lauritzen and Spiegelhalter; every level pair is (no, yes)."""
    yes: dict[str, tuple[tuple[str, ...], object]] = {  # P(yes | parents), parents' levels (no, yes)
        "asia": ((), 0.01),
        "tub": (("asia",), [0.01, 0.05]),
        "smoke": ((), 0.5),
        "lung": (("smoke",), [0.01, 0.1]),
        "bronc": (("smoke",), [0.3, 0.6]),
        "either": (("tub", "lung"), [[0.0, 1.0], [1.0, 1.0]]),
        "xray": (("either",), [0.05, 0.98]),
        "dysp": (("bronc", "either"), [[0.1, 0.7], [0.8, 0.9]]),
    }
    names = tuple(yes)
    parents = tuple(tuple(names.index(parent) for parent in own) for own, _ in yes.values())
    chances = [np.asarray(chance, dtype=float) for _, chance in yes.values()]
    tables = tuple(np.round(np.stack([1 - chance, chance], axis=-1), 6) for chance in chances)
    return DiscreteNetwork(names, (("no", "yes"),) * len(names), parents, tables)


if __name__ == "__main__":
    main()
