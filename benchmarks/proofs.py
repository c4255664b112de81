"""Proofs over listed parent sets on discrete data: seconds with scoring, the gap that is left, and what rows add.

python -m benchmarks.proofs [../shared] [--limit 300] [--threads N]
python -m benchmarks.proofs --rows [../shared] [--limit 60] [--only alarm soybean_BIC] [--quick]

``--rows`` runs the engine of ``gobnilp`` on one thread with further kinds of rows, on instances that clusters and
local cuts close and on those that they do not: entropies of the data (log-determinants of the correlations of the
level codes), and matrices that cut deepest, which need no data. The search over prefixes is left out, so that the
bound is that of the rows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import dagopt
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.families.jkl import read_jkl
from dagopt.families.listing import candidate_pool
from dagopt.graph.constraints import Constraints
from dagopt.learning.posing import pose
from dagopt.lp.rows.clusters import ClusterRows, pair_rows
from dagopt.lp.rows.local import LocalRows
from dagopt.lp.rows.matrices import EntropyRows, LogDets, MatrixRows
from dagopt.lp.rows.row import RowFinder
from dagopt.methods.branch_and_cut.tree import Rules, Tree
from dagopt.progress import NoProgress
from dagopt.workers import Workers

CASES = [("lucas", 3, "bic"), ("insurance", 3, "bic"), ("alarm", 3, "bic"), ("alarm", 4, "bic"), ("alarm", 3, "bdeu")]
ROWS_CASES = [("lucas", "bic"), ("insurance", "bic"), ("alarm", "bic"), ("alarm", "bdeu"), ("soybean_BIC", ""),
              ("steel_BIC", "")]  # fmt: skip
KINDS = ("clusters", "+ local", "+ local + entropies", "+ local + matrices", "+ entropies + matrices")
RESTARTS = 100
WORTH = 1000.0  # what a difference of 1 in h is worth in a score without data


def table_of(shared: Path, name: str) -> Path:
    """Return the file of a table."""
    return next((shared / "data").glob(f"{name}.csv*"))


def proofs(shared: Path, limit: float, threads: int | None) -> None:
    """Print what ``gobnilp`` proves about the tables."""
    print("| data | sets up to | score | best | bound | gap | sets kept | nodes | cuts | seconds | CPU seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, size, score in CASES:
        wall, cpu = time.perf_counter(), time.process_time()
        result = dagopt.learn(
            table_of(shared, name), "gobnilp", score=score, max_parents=size, time_limit=limit, n_jobs=threads,
            progress=False,
        )  # fmt: skip
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        kept = result.notes[0].partition("; ")[2].split()[0]  # of those that were scored
        figures = [result.details.get(key, "") for key in ("n_tree_nodes", "n_cuts")]
        print(
            f"| {name} | {size} | {score} | {result.score:.4f} | {result.bound:.4f} | {result.gap:.4f} | {kept} | "
            f"{figures[0]} | {figures[1]} | {wall:.1f} | {cpu:.1f} |",
            flush=True,
        )


def listed(shared: Path, name: str, score: str) -> tuple[Families, np.ndarray | None, float]:
    """Return the families of an instance, the correlations of its level codes, and the number of its rows."""
    if not score:
        file = shared / "bench" / "scores" / f"{name}.jkl.gz"
        return Families.from_local_scores(read_jkl(file)).without_dominated(), None, WORTH
    path = table_of(shared, name)
    problem, _ = pose(path, score=score, constraints=Constraints(max_parents=3))
    with Workers(Deadline(), NoProgress(), 1) as workers:
        pool = candidate_pool(problem.score, problem.knowledge, workers)
    codes = pd.read_csv(path, dtype=str, keep_default_na=False).apply(lambda column: pd.factorize(column, sort=True)[0])
    return pool, np.corrcoef(codes.to_numpy().T), float(len(codes))


def finders(
    kind: str, families: Families, matrix: np.ndarray | None, worth: float, threads: ThreadPoolExecutor
) -> Iterator[RowFinder]:
    """Yield what finds the rows of a kind."""
    yield ClusterRows(30)
    if "local" in kind:
        yield LocalRows(threads, 10, 0, lambda: False)
    logdets = LogDets(worth)
    if "entropies" in kind and matrix is not None:
        yield EntropyRows(logdets, matrix)
    if "matrices" in kind:
        yield MatrixRows(logdets, [np.eye(families.n_nodes) if matrix is None else matrix])


def rows(shared: Path, limit: float, only: list[str]) -> None:
    """Print what is left with each kind of rows."""
    print("| instance | rows | gap at the root | gap | proven | nodes | LPs | cuts | CPU seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, score in ROWS_CASES:
        if only and name not in only:
            continue
        families, matrix, worth = listed(shared, name, score)
        start, rng = families.start(None), np.random.default_rng(0)
        for _ in range(RESTARTS):
            start = families.better(start, families.along(rng.permutation(families.n_nodes)))
        back = max(3, families.n_nodes // 8)
        for kind in KINDS:
            if "entropies" in kind and matrix is None:
                continue
            cpu = time.process_time()
            with ThreadPoolExecutor(1) as threads:
                made = partial(finders, kind, families, matrix, worth, threads)
                outcome = Tree(
                    families, start, Deadline(limit, clock=time.process_time), lambda made=made: list(made()),
                    Rules(rounds_back=(back, back)), first_rows=pair_rows(families),
                ).run()  # fmt: skip
            cpu = time.process_time() - cpu
            print(
                f"| {name} {score} | {kind} | {outcome.root_bound - outcome.score:.3f} | "
                f"{outcome.bound - outcome.score:.3f} | {'yes' if outcome.status == 'optimal' else 'no'} | "
                f"{outcome.n_nodes} | {outcome.n_lps} | {outcome.n_cuts} | {cpu:.1f} |",
                flush=True,
            )


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", nargs="?", default="../shared", type=Path)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each run; of the CPU with --rows")
    parser.add_argument("--threads", type=int, help="of each proof; all cores unless given")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], help="instances of --rows")
    parser.add_argument("--quick", action="store_true", help="with --rows LUCAS alone")
    given = parser.parse_args()
    warm, _ = dagopt.datasets.load("asia", n_samples=500, random_state=0)
    dagopt.learn(warm, "gobnilp", progress=False)  # compiles the kernels
    if given.rows:
        rows(given.shared, given.limit, ["lucas"] if given.quick else given.only)
    else:
        proofs(given.shared, given.limit, given.threads)


if __name__ == "__main__":
    main()
