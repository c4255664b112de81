"""How often the doctor, and the checks of residuals, raise something on clean tables and where a fault is there.

python -m benchmarks.doctor [--draws 500] [--jobs 8] [--quick]

Clean tables are drawn from random networks: Gaussian, discrete and mixed, with 5 to 100 columns and 100 to 2000 rows.
The share of clean tables with any finding about rows, shapes or readings, or with a failed check of the residuals of
the true graph, should be at most 2 %. Discrete tables have no residuals.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import dagopt
from benchmarks.jobs import answers
from dagopt.graph.dag import as_graph
from dagopt.networks.model_check import check_model

SIZES = (5, 10, 20, 50, 100)  # columns
ROWS = (100, 300, 1000, 2000)
KINDS = ("gaussian", "discrete", "mixed")
OF_THE_TABLE = {
    "arity",
    "chance-edges",
    "few-rows",
    "constant",
    "duplicate",
    "nearly-dependent",
    "dependent",
    "few-values",
}


def drawn(task: tuple[str, int]) -> tuple[str, set[str], set[str]]:
    """Return the findings about one clean table and the failed checks of its true graph."""
    kind, seed = task
    frame, dag = dagopt.simulate(SIZES[seed % len(SIZES)], ROWS[seed // len(SIZES) % len(ROWS)], 1.0, seed, kind=kind)
    return kind, codes_of(frame), checks_of(frame, dag) if kind != "discrete" else set()


def raised(task: tuple[str, float, int]) -> tuple[str, float, bool]:
    """Say whether the finding is raised on one table with its fault."""
    code, strength, seed = task
    return code, strength, code in codes_of(FAULTS[code][0](np.random.default_rng(seed), strength))


def codes_of(frame: pd.DataFrame) -> set[str]:
    """Return the findings about rows, shapes and readings."""
    return {finding.code for finding in dagopt.examine(frame).findings} - OF_THE_TABLE


def checks_of(frame: pd.DataFrame, dag: Any) -> set[str]:
    """Return the checks of residuals that fail for a given graph."""
    table = dagopt.as_table(frame)
    adjacency = as_graph(dag, table.names).adjacency
    failed = check_model(table, [np.flatnonzero(column).tolist() for column in adjacency.T]).failed
    return set(failed["check"])


def walks(rng: np.random.Generator, strength: float) -> pd.DataFrame:
    """Return six independent columns with a lag-one correlation."""
    values = rng.normal(size=(300, 6))
    for t in range(1, 300):
        values[t] = strength * values[t - 1] + np.sqrt(1 - strength**2) * values[t]
    return pd.DataFrame(values).add_prefix("x")


def copies(rng: np.random.Generator, strength: float) -> pd.DataFrame:
    """Return a table with a share of repeated rows."""
    frame = pd.DataFrame(rng.normal(size=(300, 6))).add_prefix("x")
    again = frame.sample(round(strength * 300), random_state=int(rng.integers(1 << 31)))
    return pd.concat([frame, again]).sample(frac=1.0, random_state=0, ignore_index=True)


def outlier(rng: np.random.Generator, strength: float) -> pd.DataFrame:
    """Return independent columns with one row far out in two of them, in standard deviations."""
    values = rng.normal(size=(200, 6))
    values[7, :2] = strength
    return pd.DataFrame(values).add_prefix("x")


def skewed(rng: np.random.Generator, strength: float) -> pd.DataFrame:
    """Return a lognormal chain; the strength is the standard deviation of the logarithm."""
    a = rng.normal(size=500)
    b = 0.8 * a + 0.6 * rng.normal(size=500)
    c = 0.8 * b + 0.6 * rng.normal(size=500)
    return pd.DataFrame(np.exp(strength * np.column_stack([a, b, c])), columns=list("abc"))


def tails(rng: np.random.Generator, strength: float) -> pd.DataFrame:
    """Return columns of Student's t; the strength is one over the degrees of freedom."""
    return pd.DataFrame(rng.standard_t(1 / strength, size=(500, 5))).add_prefix("x")


def zeros(rng: np.random.Generator, strength: float) -> pd.DataFrame:
    """Return counts of which a share is zero from outside, beside Gaussian columns."""
    frame = pd.DataFrame(rng.normal(size=(500, 4))).add_prefix("x")
    counts = np.where(rng.random(500) < strength, 0, rng.poisson(12, 500))
    return frame.assign(visits=counts)


def classes(rng: np.random.Generator, strength: float) -> pd.DataFrame:
    """Return rows sorted by a class outside the table; the strength is the spread of the classes' means."""
    return pd.DataFrame(rng.normal(size=(300, 6)) + strength * rng.normal(size=(3, 6))[np.arange(300) // 100])


def units(rng: np.random.Generator, strength: float) -> pd.DataFrame:
    """Return 40 patients with 8 rows each, in random order; the strength is the intraclass correlation."""
    patient = rng.permutation(np.repeat(np.arange(40), 8))
    values = np.sqrt(strength) * rng.normal(size=(40, 5))[patient] + np.sqrt(1 - strength) * rng.normal(size=(320, 5))
    return pd.DataFrame(values).add_prefix("x").assign(patient=patient)


FAULTS: dict[str, tuple[Callable[[np.random.Generator, float], pd.DataFrame], tuple[float, ...]]] = {
    "serial": (walks, (0.1, 0.2, 0.3, 0.5, 0.9, 0.99)),
    "sorted": (classes, (0.25, 0.5, 1.0, 2.0)),
    "units": (units, (0.0, 0.05, 0.1, 0.2, 0.4)),
    "repeated-rows": (copies, (0.01, 0.02, 0.05, 0.2)),
    "outliers": (outlier, (4, 6, 8, 10, 20)),
    "skewed": (skewed, (0.2, 0.4, 0.6, 1.0)),
    "heavy-tails": (tails, (0.1, 0.2, 0.25, 0.34, 0.5)),
    "counts": (zeros, (0.1, 0.2, 0.3, 0.5)),
}


def _counted(found: list[set[str]]) -> str:
    which = Counter(code for codes in found for code in codes)
    return ", ".join(f"{code} {count}" for code, count in which.most_common()) or "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="tables at the same time")
    given = parser.parse_args()
    draws = 40 if given.quick else given.draws
    print("| clean tables | draws | with a finding | which | with a failed check | which |\n|---|---|---|---|---|---|")
    tables = [*answers(drawn, [(kind, seed) for kind in KINDS for seed in range(draws)], given.jobs)]
    for kind in KINDS:
        own = [(found, failed) for name, found, failed in tables if name == kind]
        parts = [[found for found, _ in own], [failed for _, failed in own] if kind != "discrete" else []]
        cells = [f"{sum(map(bool, part)) / draws:.1%} | {_counted(part)}" if part else "- | -" for part in parts]
        print(f"| {kind} | {draws} | {' | '.join(cells)} |", flush=True)
    print("\n| finding | strength | raised |\n|---|---|---|")
    seeds = range(draws // 5)
    asked = [(code, x, seed) for code, (_, strengths) in FAULTS.items() for x in strengths for seed in seeds]
    seen = Counter((code, strength) for code, strength, is_raised in answers(raised, asked, given.jobs) if is_raised)
    for code, (_, strengths) in FAULTS.items():
        for strength in strengths:
            print(f"| {code} | {strength:g} | {seen[code, strength] / len(seeds):.0%} |")


if __name__ == "__main__":
    main()
