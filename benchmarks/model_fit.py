"""Recovery of simulated graphs by models that fit them more or less: BIC, ranks, polynomials, levels.

python -m benchmarks.model_fit [--draws 10] [--columns 8] [--rows 1000] [--design quadratic --design sine] [--quick]

Each table is drawn along a random DAG with one parent per node on average. SHD is the distance between essential
graphs. "Held out" is the mean log-likelihood per row and column of as many new rows under the learned graph, with
conditional densities that no model chooses: each column given its parents by 20 nearest neighbours in ranks, with a
Gaussian kernel on its own normal score. Higher is better.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

import dagopt

Array = NDArray[np.float64]
NEIGHBOURS = 20
WIDTH = 0.5  # of the kernel, in standard deviations


def linear(x: Array, rng: np.random.Generator) -> Array:
    return np.asarray(x + rng.normal(size=len(x)))


def quadratic(x: Array, rng: np.random.Generator) -> Array:
    return np.asarray(x + 0.7 * x**2 + rng.normal(size=len(x)))


def sine(x: Array, rng: np.random.Generator) -> Array:
    return np.asarray(2 * np.sin(2 * x) + 0.7 * rng.normal(size=len(x)))


def heavy(x: Array, rng: np.random.Generator) -> Array:
    return np.asarray(x + rng.standard_t(2.5, size=len(x)) / 1.5)


def draw(design: str, n: int, rows: int, seed: int) -> tuple[pd.DataFrame, Array]:
    """Return a table and the adjacency of its DAG."""
    rng = np.random.default_rng([seed, DESIGNS.index(design)])
    adjacency = np.triu(rng.random((n, n)) < 2.0 / (n - 1), 1).astype(np.int8)
    step: Callable[[Array, np.random.Generator], Array] = STEPS.get(design, linear)
    values = np.zeros((rows, n))
    for j in range(n):
        own = np.flatnonzero(adjacency[:, j])
        signal = values[:, own] @ (rng.choice([-1, 1], len(own)) * rng.uniform(0.5, 1.2, len(own)))
        if not len(own):
            values[:, j] = rng.standard_t(2.5, rows) if design == "heavy-tailed" else rng.normal(size=rows)
        else:
            values[:, j] = step(signal / max(float(signal.std()), 1e-9), rng)
        if design == "counts":
            values[:, j] = rng.poisson(np.exp(np.clip(0.7 + 0.6 * values[:, j] / values[:, j].std(), -3, 4)))
        values[:, j] = (values[:, j] - values[:, j].mean()) / values[:, j].std() if design != "counts" else values[:, j]
    frame = pd.DataFrame(values).add_prefix("X")
    if design == "skewed":
        frame = np.exp(frame)
    if design == "ordinal" or design == "mixed":
        for name in frame.columns[:: 1 if design == "ordinal" else 2]:
            frame[name] = np.digitize(frame[name], [-1.0, 0.0, 1.2])
    if design == "outliers":
        hit = rng.choice(rows, max(rows // 200, 1), replace=False)
        frame.iloc[hit] += rng.normal(0, 15, size=(len(hit), n))
    if design == "counts":
        frame = frame.astype(int)
    return frame.rename(columns=dict(zip(frame.columns, rng.permutation(frame.columns), strict=True))), adjacency


STEPS = {"quadratic": quadratic, "sine": sine, "heavy-tailed": heavy}
DESIGNS = ["linear", "skewed", "heavy-tailed", "quadratic", "sine", "ordinal", "counts", "mixed", "outliers"]
MODELS: dict[str, dict[str, object]] = {
    "bic": {"kind": "continuous"},
    "default": {},
    "rank": {"kind": "continuous", "transform": "rank"},
    "auto": {"kind": "continuous", "transform": "auto"},
    "basis": {"kind": "continuous", "score": "basis"},
    "levels": {"kind": "continuous", "discretize": "quantile"},
    "root": {"kind": "count"},
    "ordered": {"kind": "ordinal"},
    "unordered": {"kind": "discrete"},
}
ONLY = {"root": ("counts",), "ordered": ("ordinal", "counts"), "unordered": ("ordinal", "counts")}  # designs by model


def held_out(train: pd.DataFrame, test: pd.DataFrame, dag: Array) -> float:
    """Return the mean log density of new normal scores by nearest neighbours among the rows learned from."""
    scores = {}
    for name in train:
        known = np.sort(train[name].to_numpy(dtype=float))
        scores[name] = [
            stats.norm.ppf(
                (np.searchsorted(known, part[name], "left") + np.searchsorted(known, part[name], "right") + 1)
                / (2 * len(known) + 2)
            )
            for part in (train, test)
        ]
    total = []
    for j, name in enumerate(train):
        own, new = scores[name]
        parents = [scores[train.columns[k]] for k in np.flatnonzero(dag[:, j])]
        if parents:
            gaps = sum((p[1][:, None] - p[0][None, :]) ** 2 for p in parents)
            near = np.argpartition(gaps, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
            density = stats.norm.pdf(new[:, None], own[near], WIDTH).mean(axis=1)
        else:
            density = stats.norm.pdf(new, 0, np.hypot(1, WIDTH))
        total.append(np.log(density + 1e-4).mean())
    return float(np.mean(total))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--design", action="append", choices=DESIGNS, help="only these; all unless given")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", dagopt.DataWarning)
    draws = 2 if given.quick else given.draws
    print("| SHD (held out) | " + " | ".join(MODELS) + " |\n|---|" + "---|" * len(MODELS))
    for design in given.design or DESIGNS:
        cells = []
        for model, options in MODELS.items():
            if design not in ONLY.get(model, DESIGNS):
                cells.append("")
                continue
            shds, likelihoods = [], []
            for seed in range(draws):
                frame, dag = draw(design, given.columns, 2 * given.rows, seed)
                names = [f"X{j}" for j in range(given.columns)]
                order = list(frame.columns)
                true = pd.DataFrame(dag, index=order, columns=order).loc[names, names].to_numpy()
                train, test = frame[names].iloc[: given.rows], frame[names].iloc[given.rows :]
                result = dagopt.learn(train, progress=False, **options)
                learned = dagopt.Graph(result.adjacency, tuple(names))
                shds.append(dagopt.compare(learned, dagopt.Graph(true, tuple(names))).shd)
                likelihoods.append(held_out(train, test, result.adjacency))
            cells.append(f"{np.mean(shds):.1f} ({np.mean(likelihoods):.3f})")
        print(f"| {design} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
