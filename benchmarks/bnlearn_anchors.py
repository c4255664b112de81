"""Hill climbing, stable PC and MMHC beside R's bnlearn 4.9.

    python -m benchmarks.bnlearn_anchors [SHARED] [--quick]

SHARED holds ``anchors/`` (bnlearn's graphs, scores and seconds), ``tools/paper_instances.py`` (which draws the
simulated instances anew) and ``data/`` (the real sets); it is ``../shared`` unless given. bnlearn's seconds were taken
on another machine and include other work, so they are context, not a race. Every method runs once before
the clock counts, so that compilation is not in the seconds. ``--quick`` runs the real sets alone.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import dagopt
from dagopt.data.table import ContinuousTable, Table, as_table
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.graph.cpdag import extend_pdag
from dagopt.graph.metrics import compare
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.climbing.tabu import solve_tabu
from dagopt.methods.independence.mmhc import solve_mmhc
from dagopt.methods.independence.stable_pc import solve_pc
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.results.result import Result
from dagopt.scores.build import make_score

SOLVERS = {"hc": solve_hc, "tabu": solve_tabu, "pc": solve_pc, "mmhc": solve_mmhc}
FILES = {"lucas0": "lucas", "gaussian.test": "gaussian_test"}
TOLERANCE = 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare with bnlearn's published graphs.")
    parser.add_argument("shared", nargs="?", type=Path, default=Path("../shared"))
    parser.add_argument("--quick", action="store_true", help="only the real data sets")
    given = parser.parse_args()
    shared = given.shared
    warm_up()
    real(shared)
    hailfinder(shared)
    if given.quick:
        return
    simulated(shared)
    growth(shared)
    large()


AS_FILED: dict[str, dict[str, Any]] = {"pc": {"separator": "first"}, "hc": {"reinsert": False}}  # as bnlearn works


def warm_up() -> None:
    for kind in ("gaussian", "discrete"):
        table = as_table(dagopt.simulate(6, 200, 1.0, 0, kind=kind).data)
        for method in SOLVERS:
            solve(method, problem_of(table, "paper"))


def problem_of(table: Table, convention: str) -> Problem:
    return Problem(table, make_score(table, "bic", convention=convention), Constraints().resolve(table.names))


def solve(method: str, problem: Problem, **options: Any) -> tuple[Result, float]:
    begin = time.perf_counter()
    result = SOLVERS[method](problem, deadline=Deadline(), progress=NoProgress(), **options)
    return result, time.perf_counter() - begin


def drawn(shared: Path, n: int, n_samples: int, degree: float, seed: int) -> tuple[ContinuousTable, np.ndarray]:
    """Draw an instance of the paper; its covariance is computed here, outside the timing."""
    spec = importlib.util.spec_from_file_location("paper_instances", shared / "tools" / "paper_instances.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    X, dag = module.paper_instance(n, n_samples, degree, seed)
    table = ContinuousTable(tuple(f"X{j}" for j in range(n)), X)
    table.correlation  # noqa: B018
    return table, dag


def adjacency(edges: list[list[int]], n: int) -> np.ndarray:
    array = np.zeros((n, n), dtype=np.int8)
    for i, j in edges:
        array[i, j] = 1
    return array


def simulated(shared: Path) -> None:
    records = json.loads((shared / "anchors" / "gaussian_instances.json").read_text())["instances"]
    seconds = {f"{who} {method}": 0.0 for method in ("hc", "pc", "mmhc") for who in ("dagopt", "bnlearn")}
    reached = same_dag = tabu_reached = same_pdag = unextended = 0
    exceptions, cells = [], {}
    for record in records:
        n = record["n"]
        table, true = drawn(shared, n, record["N"], record["d"], record["seed"])
        problem = problem_of(table, "bnlearn")
        theirs = {method: adjacency(record[f"bnlearn_{method}"]["edges"], n) for method in ("hc", "pc", "mmhc")}
        ours = {}
        for method in theirs:
            ours[method], taken = solve(method, problem)
            seconds[f"dagopt {method}"] += taken
            seconds[f"bnlearn {method}"] += record[f"bnlearn_{method}"]["seconds"]
        bar = problem.score.total(theirs["hc"])
        reached += ours["hc"].score >= bar - TOLERANCE * abs(bar)
        tabu_reached += solve("tabu", problem)[0].score >= bar - TOLERANCE * abs(bar)
        same_dag += np.array_equal(ours["hc"].adjacency, theirs["hc"])
        unextended += ours["pc"].score is None
        if np.array_equal(ours["pc"].adjacency, theirs["pc"]):
            same_pdag += 1
        else:
            exceptions.append(
                (n, record["N"], record["d"], record["seed"], int((ours["pc"].adjacency != theirs["pc"]).sum()))
            )
        cell = cells.setdefault((n, record["N"], record["d"]), [])
        bar = problem.score.total(theirs["mmhc"])
        cell.append((compare(ours["mmhc"].adjacency, true).shd, record["bnlearn_mmhc"]["shd"], ours["mmhc"].score, bar))
    total = len(records)
    print(f"simulated instances: {total}, score in bnlearn's convention")
    print(f"  hc    score within {TOLERANCE:g} of bnlearn's or better: {reached}/{total}; same DAG: {same_dag}/{total}")
    print(f"  tabu  score within {TOLERANCE:g} of bnlearn's hc or better: {tabu_reached}/{total}")
    print(f"  pc    same PDAG: {same_pdag}/{total}; without an extension: {unextended}; other: {exceptions or 'none'}")
    show_cells(cells)
    print("  seconds in all: " + ", ".join(f"{name} {value:.1f}" for name, value in seconds.items()))


def show_cells(cells: dict[tuple[int, int, float], list[tuple[float, ...]]]) -> None:
    print("  mmhc  means a cell        SHD ours bnlearn's     score ours      bnlearn's")
    worse = 0
    for (n, n_samples, degree), rows in cells.items():
        shd, their_shd, score, their_score = np.mean(rows, axis=0)
        mark = "" if shd <= their_shd and score >= their_score - TOLERANCE * abs(their_score) else "  WORSE"
        worse += bool(mark)
        numbers = f"{shd:8.2f} {their_shd:10.2f} {score:14.1f} {their_score:14.1f}"
        print(f"        n={n} N={n_samples:<6} d={degree}  {numbers}{mark}")
    print(f"        cells that are worse: {worse} of {len(cells)}")


def real(shared: Path) -> None:
    print(
        "real sets, score in the paper's convention; 'default': as it comes, 'as filed': with columns renamed X0, ..."
    )
    print("in the order of the file, in which bnlearn works; for pc the first separating set, for hc no reinsertion")
    for run in json.loads((shared / "anchors" / "datasets.json").read_text())["runs"]:
        table, true = filed(shared, FILES.get(run["name"], run["name"]))
        bar = run["score_learned"]
        line = (
            f"  {run['name']:<13} {run['alg']:<4} bnlearn SHD {run['shd']:>2} score {shown(bar)} {run['wall_s']:.2f} s"
        )
        for label, names in (("default", table.names), ("as filed", [f"X{j}" for j in range(len(table.names))])):
            options = AS_FILED.get(run["alg"], {}) if label == "as filed" else {}
            result, taken = solve(run["alg"], problem_of(replace(table, names=tuple(names)), "paper"), **options)
            shd = compare(result.adjacency, true).shd
            line += f" | {label} SHD {shd:>2} score {shown(result.score)} {taken:.2f} s"
        if run["alg"] == "pc":
            result, taken = solve("pc", problem_of(table, "paper"), separator="first")
            line += f" | first by name SHD {compare(result.adjacency, true).shd:>2}"
        print(line)


def hailfinder(shared: Path) -> None:
    """Show what the rule for ties and reinsertion mean on HAILFINDER, where many moves of a climb tie."""
    print("HAILFINDER, 20,000 rows; bnlearn: hc -990474.75, tabu -990396.27; the optimum of three parents: -990162.805")
    problem = problem_of(as_table(shared / "bench" / "tables" / "hailfinder.csv.gz", kind="discrete"), "paper")
    for method in ("hc", "tabu"):
        for ties, again in (("names", True), ("names", False), ("columns", True), ("columns", False)):
            result, taken = solve(method, problem, ties=ties, reinsert=again)
            print(f"  {method:<5} ties={ties:<8} reinsert={again!s:<5} {shown(result.score)} {taken:.2f} s")
    result = dagopt.learn(
        shared / "bench" / "tables" / "hailfinder.csv.gz", "order", kind="discrete", max_parents=3, score="bic"
    )
    print(f"  order, three parents {shown(result.score)} {result.seconds:.2f} s")
    rng = np.random.default_rng(0)
    for method in ("hc", "tabu"):
        ends = []
        for _ in range(20):
            names = tuple(f"X{j}" for j in rng.permutation(problem.n_nodes))
            ends.append(solve(method, problem_of(replace(problem.table, names=names), "paper"))[0].score)
        low, middle, high = np.quantile(ends, [0, 0.5, 1])
        print(f"  {method:<5} 20 random namings: worst {low:.1f}, median {middle:.1f}, best {high:.1f}")


def filed(shared: Path, name: str) -> tuple[Table, np.ndarray]:
    path = shared / "data" / f"{name}.csv"
    table = as_table(path if path.exists() else path.with_name(f"{name}.csv.gz"))
    with open(shared / "data" / f"{name}.edges.csv", newline="") as file:
        edges = [[table.names.index(row[end]) for end in ("from", "to")] for row in csv.DictReader(file)]
    return table, adjacency(edges, len(table.names))


def shown(score: float | None) -> str:
    return f"{'none':>13}" if score is None else f"{score:13.3f}"


def growth(shared: Path) -> None:
    print("growth with the rows, n = 25, d = 1.5, seed 0 (the covariance is taken before)")
    for n_samples in (5_000, 20_000, 100_000):
        table, _ = drawn(shared, 25, n_samples, 1.5, 0)
        problem = problem_of(table, "paper")
        taken = {method: min(solve(method, problem)[1] for _ in range(3)) for method in ("hc", "pc", "mmhc")}
        print(f"  N = {n_samples:<7} " + ", ".join(f"{method} {value:.3f} s" for method, value in taken.items()))
    print("growth with the rows, discrete, 20 columns, degree 1.5 (distinct rows count)")
    for n_samples in (5_000, 20_000, 100_000):
        table = as_table(dagopt.simulate(20, 100_000, 1.5, 0, kind="discrete").data.iloc[:n_samples])
        problem = problem_of(table, "paper")
        taken = {method: solve(method, problem)[1] for method in ("hc", "pc", "mmhc")}
        print(f"  N = {n_samples:<7} " + ", ".join(f"{method} {value:.3f} s" for method, value in taken.items()))


def large() -> None:
    print("n = 500, N = 5,000, degree 1.0, seed 0 (the covariance is taken before)")
    simulation = dagopt.simulate(500, 5000, 1.0, 0)
    table = as_table(simulation.data)
    table.correlation  # noqa: B018
    problem = problem_of(table, "paper")
    for method in SOLVERS:
        result, taken = solve(method, problem)
        shd = compare(result.graph, simulation.dag).shd
        extended = (
            "" if method != "pc" else f", {'an' if extend_pdag(result.adjacency) is not None else 'no'} extension"
        )
        print(f"  {method:<5} {taken:6.2f} s, score {shown(result.score)}, SHD {shd}{extended}")


if __name__ == "__main__":
    main()
