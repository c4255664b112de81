"""Discrete tables that nobody looked at: what ``auto`` proves about them, in CPU seconds.

python -m benchmarks.discrete_unseen [NAME ...] [--seed 1] [--limit 60] [--results FILE] [--profile] [--list]

A seed gives about 25 tables of 25 to 60 columns: new rows of networks (ALARM, INSURANCE, and networks fitted to the
tables of ``bench/uci`` and to HAILFINDER), half of the rows of such tables, tables of scikit-learn and of a simulated
robot cut into levels, and rows of random networks. The seed chooses rows, columns, and where numbers are cut. Half of
them are scored by BDeu. Each is learned by one thread with a limit of CPU seconds. ``left`` is the gap as a share of
what the graph explains. ``--profile`` prints where the time of each run went.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import dagopt
from benchmarks.jobs import counting
from benchmarks.public_instances import explained_left
from dagopt.networks.discrete_network import DiscreteNetwork

PSEUDOCOUNT = 0.5  # of a cell of a fitted table, so that nothing is impossible
SONARS, ROBOT_ROWS = 24, 3000


class Made(NamedTuple):
    """A table and the score."""

    data: pd.DataFrame
    score: str


def read(path: Path) -> pd.DataFrame:
    """Return a discrete table."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def bundled(name: str, rows: int, score: str, shared: Path, rng: np.random.Generator) -> Made:
    """Return rows of a bundled network."""
    return Made(dagopt.datasets.load(name, rows, rng).data, score)


def refitted(table: str, rows: int, score: str, shared: Path, rng: np.random.Generator) -> Made:
    """Return rows of a network that was fitted to a table."""
    found = read(shared / "bench" / f"{table}.csv.gz")
    found = found.loc[:, found.nunique() > 1]
    graph = dagopt.learn(found, "hc", kind="discrete", score="bic", progress=False).dag
    return Made(DiscreteNetwork.fit(found, graph, pseudocount=PSEUDOCOUNT).sample(rows, rng), score)


def half(table: str, score: str, shared: Path, rng: np.random.Generator) -> Made:
    """Return half of the rows of a table."""
    found = read(shared / "bench" / "uci" / f"{table}.csv.gz")
    chosen = np.sort(rng.permutation(len(found))[: len(found) // 2])
    found = found.iloc[chosen].reset_index(drop=True)
    return Made(found.loc[:, found.nunique() > 1], score)


def whole(name: str, score: str, shared: Path, rng: np.random.Generator) -> Made:
    """Return a whole table of the paper."""
    return Made(read(shared / "data" / f"{name}.csv.gz"), score)


def cut(values: np.ndarray, levels: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return numbers cut into levels, at quantiles that are drawn near those of equal shares."""
    shares = np.arange(1, levels) / levels + rng.uniform(-0.1, 0.1, levels - 1) / levels
    codes = [np.searchsorted(np.unique(np.quantile(own, shares)), own, side="right") for own in values.T]
    frame = pd.DataFrame({f"v{k}": code.astype(str) for k, code in enumerate(codes)})
    return frame.loc[:, frame.nunique() > 1]


def learned(name: str, columns: int, levels: int, score: str, shared: Path, rng: np.random.Generator) -> Made:
    """Return columns of a table of scikit-learn with its target, cut into levels."""
    import sklearn.datasets

    found = getattr(sklearn.datasets, f"load_{name}")()
    frame = cut(found.data, levels, rng)
    chosen = np.sort(rng.permutation(frame.shape[1])[:columns])
    return Made(frame.iloc[:, chosen].assign(target=found.target.astype(str)), score)


def robot(levels: int, score: str, shared: Path, rng: np.random.Generator) -> Made:
    """Return what a ring of sonars measures on the way of a robot along the walls of a room, and where it turns."""
    angles = np.arange(SONARS) * 2 * np.pi / SONARS
    turn = np.cumsum(rng.normal(0.05, 0.1, ROBOT_ROWS))
    place = np.stack([2.0 * np.cos(0.01 * np.arange(ROBOT_ROWS)), 1.2 * np.sin(0.01 * np.arange(ROBOT_ROWS))], axis=1)
    place += np.cumsum(rng.normal(0, 0.01, place.shape), axis=0)
    place = np.clip(place, [-2.8, -1.8], [2.8, 1.8])
    way = turn[:, None] + angles
    with np.errstate(divide="ignore"):
        walls = [
            (np.sign(np.cos(way)) * 3.0 - place[:, :1]) / np.cos(way),
            (np.sign(np.sin(way)) * 2.0 - place[:, 1:]) / np.sin(way),
        ]
    seen = np.minimum(*walls) + rng.normal(0, 0.1, way.shape)
    order = np.sin(turn)[:, None]
    return Made(cut(np.concatenate([seen, order], axis=1), levels, rng), score)


def drawn(
    columns: int, rows: int, degree: float, levels: int, score: str, shared: Path, rng: np.random.Generator
) -> Made:
    """Return rows of a random network."""
    data = dagopt.simulate(columns, rows, degree, rng, kind="discrete", levels=levels or None).data.astype(str)
    return Made(data.loc[:, data.nunique() > 1], score)


def tables() -> dict[str, Callable[[Path, np.random.Generator], Made]]:
    """Return how the tables are made, by name."""
    return {
        "wdbc-2": partial(learned, "breast_cancer", 30, 2, "bic"),
        "wdbc-3": partial(learned, "breast_cancer", 30, 3, "bic"),
        "wdbc-2-bdeu": partial(learned, "breast_cancer", 30, 2, "bdeu"),
        "digits-28": partial(learned, "digits", 27, 2, "bic"),
        "digits-36": partial(learned, "digits", 35, 2, "bic"),
        "digits-36-bdeu": partial(learned, "digits", 35, 2, "bdeu"),
        "robot-2": partial(robot, 2, "bic"),
        "robot-4": partial(robot, 4, "bic"),
        "alarm-300": partial(bundled, "alarm", 300, "bic"),
        "alarm-1000": partial(bundled, "alarm", 1000, "bic"),
        "alarm-5000": partial(bundled, "alarm", 5000, "bic"),
        "alarm-1000-bdeu": partial(bundled, "alarm", 1000, "bdeu"),
        "alarm-20000-bdeu": partial(whole, "alarm", "bdeu"),
        "insurance-300": partial(bundled, "insurance", 300, "bic"),
        "insurance-5000-bdeu": partial(bundled, "insurance", 5000, "bdeu"),
        "hailfinder-1000": partial(refitted, "tables/hailfinder", 1000, "bic"),
        "hailfinder-500-bdeu": partial(refitted, "tables/hailfinder", 500, "bdeu"),
        "mildew-3000": partial(refitted, "uci/mildew1000", 3000, "bic"),
        "water-3000": partial(refitted, "uci/water1000", 3000, "bic"),
        "water-500-bdeu": partial(refitted, "uci/water1000", 500, "bdeu"),
        "carpo-500": partial(refitted, "uci/carpo100", 500, "bic"),
        "soybean-300": partial(refitted, "uci/soybean", 300, "bic"),
        "steel-half": partial(half, "steel", "bic"),
        "flag-half-bdeu": partial(half, "flag", "bdeu"),
        "random-30": partial(drawn, 30, 1000, 2.0, 2, "bic"),
        "random-40": partial(drawn, 40, 500, 1.5, 3, "bic"),
        "random-40-bdeu": partial(drawn, 40, 2000, 1.5, 0, "bdeu"),
        "random-60": partial(drawn, 60, 2000, 1.0, 2, "bic"),
        "random-60-bdeu": partial(drawn, 60, 300, 1.0, 3, "bdeu"),
    }


def made(name: str, shared: Path, seed: int) -> Made:
    """Return a table of a seed."""
    return tables()[name](shared, np.random.default_rng([seed, *name.encode()]))


def run(name: str, shared: Path, seed: int, limit: float) -> dict[str, Any]:
    """Return the line of a table."""
    one = made(name, shared, seed)
    begin = time.process_time()
    with counting(time.process_time):
        result = dagopt.learn(
            one.data, kind="discrete", score=one.score, time_limit=limit, n_jobs=1, progress=False, random_state=0
        )
    return {
        "table": name, "seed": seed, "columns": len(result.names), "rows": result.n_samples,
        "method": result.method, "score": result.score, "bound": result.bound, "gap": result.gap,
        "left": explained_left(result), "status": result.status, "scope": result.scope,
        "CPU s": time.process_time() - begin, "limit": limit, "notes": list(result.notes),
    }  # fmt: skip


def shown(line: dict[str, Any]) -> str:
    """Return a line as a row of a table."""
    left = "-" if line["left"] is None else f"{line['left']:.2%}"
    state = "proven" if line["status"] == "optimal" else f"{line['gap']:.2f} ({left})" if line["gap"] else "no bound"
    cells = (line["table"], line["columns"], line["rows"], line["method"], f"{line['score']:.2f}", state)
    return f"| {' | '.join(map(str, cells))} | {line['CPU s']:.1f} |"


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="tables; all unless given")
    parser.add_argument("--shared", default="../shared", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds of each run")
    parser.add_argument("--results", type=Path, help="a file to which the lines are appended as JSON")
    for flag in ("--profile", "--list"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args()
    if wrong := [name for name in given.names if name not in tables()]:
        parser.error(f"no table named {', '.join(wrong)}")
    if given.list:
        print("\n".join(tables()))
        return
    for score in ("bic", "bdeu"):
        warm, _ = dagopt.datasets.load("alarm", n_samples=100, random_state=0)
        dagopt.learn(warm, score=score, time_limit=1.0, progress=False)  # compiles the kernels
    print("| table | columns | rows | method | score | left | CPU s |\n|---|---|---|---|---|---|---|", flush=True)
    for name in given.names or tables():
        profile = cProfile.Profile() if given.profile else None
        line = (profile.runcall if profile else lambda call, *facts: call(*facts))(
            run, name, given.shared, given.seed, given.limit
        )
        print(shown(line), flush=True)
        if profile:
            pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(20)
        if given.results:
            with given.results.open("a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
