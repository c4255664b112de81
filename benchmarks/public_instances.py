"""Instances that nobody here made: what is proven about each, seconds, peak memory, and what is known of it.

python -m benchmarks.public_instances [NAME or GROUP ...] [--limit 600] [--threads 2] [--results FILE] [--quick]
python -m benchmarks.public_instances --show [--results FILE]
python -m benchmarks.public_instances --write docs/real_data.md [--results FILE]
python -m benchmarks.public_instances --methods [--limit 60] [--quick]
python -m benchmarks.public_instances --uci [--limit 60] [--threads 2] [--jobs 8]
python -m benchmarks.public_instances --uci --limit 20 --threads 1 --cpu
python -m benchmarks.public_instances --uci --minutes 15 [--threads 2]

Groups are ``tables``, ``micodag``, ``scores``, ``uci`` and ``large`` (a simulated table with as many columns as MUNIN).
``--uci`` runs the discrete tables of ``bench/uci`` with ``auto``, 60 s each unless given. ``left`` is the gap as a
share of what the graph explains, score(best) - score(empty), and the best of the other methods with the same limit is
named; where ``auto`` has a proof over all DAGs, no other method can be better and none is run. ``--others`` runs them
everywhere, and ``--alone`` nowhere. ``--minutes`` runs all of it in that time: the tables with the fewest columns come
first, and the limit of a run, the same for all methods on a table, is an equal share of what is left. With ``--cpu``
limits count the CPU seconds of one thread, which mean the same on a machine that does other work too. Each
instance runs in a process of its own, so that its peak memory is its own, and is appended to the results as one line of
JSON. ``--show`` prints the last run of each and ``--write`` puts the tables between the marks of a page. ``--quick``
runs what is over in seconds. ``--methods`` compares ``auto`` with the other methods on 20 instances of all kinds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

import dagopt
from benchmarks.jobs import counting
from dagopt.errors import InputError
from dagopt.networks.gaussian_json import read_gaussian_json

ROWS = 5000  # drawn from a network that is published without data
COLUMNS = [
    "instance", "columns", "rows", "method", "score", "bound", "gap", "left", "proven over", "SHD", "seconds", "CPU s",
    "MB", "best of others", "known",
]  # fmt: skip
METHODS = ("auto", "gobnilp", "cg-dca", "order", "tabu", "hc", "mmhc")
OTHERS = (*METHODS[1:], "branch-and-cut", "exact")
EQUAL = 1e-7  # relative to the score, for sums in another order
LATEST = 2.0  # seconds that a run may take beyond its limit, for reading and loading
BIC = {"score": "bic"}  # unless an instance says otherwise
FIELDS = ("9insurance", "10factors", "11hfinder", "12hepar")
DENSE = ("10factors", "12hepar")  # moral graphs with 25 neighbours of a node


class Posed(NamedTuple):
    """The data of an instance (a frame or a path), options of ``learn``, and the true graph where it is known."""

    data: Any
    options: dict[str, Any]
    true: Any = None


class Case(NamedTuple):
    """One instance: how it is posed, given the folder ``bench``, what is known of it, and whether it takes seconds."""

    pose: Callable[[Path], Posed]
    known: str = ""
    quick: bool = False


def sachs(bench: Path) -> Posed:
    """Return the flow cytometry table in logarithms, as is usual for it, and the consensus graph."""
    table = pd.read_csv(bench / "tables" / "sachs.data.txt", sep="\t")
    return Posed(np.log(table), {}, bench / "tables" / "consensus17.edges.csv")


def gaussian(name: str) -> Callable[[Path], Posed]:
    """Return what draws rows from a published Gaussian network."""

    def pose(bench: Path) -> Posed:
        network = read_gaussian_json(bench / "gaussian" / f"{name}.json")
        return Posed(network.sample(ROWS, random_state=0), {}, network.dag)

    return pose


def auto_mpg(bench: Path) -> Posed:
    """Return the table with mixed columns."""
    table = pd.read_csv(bench / "tables" / "auto-mpg.data.mixed.max.3.categories.txt", sep="\t")
    return Posed(table.astype({"origin": "category"}).astype(dict.fromkeys(table.columns.drop("origin"), float)), {})


def hailfinder(bench: Path) -> Posed:
    """Return the 20,000 rows, to three parents."""
    path = bench / "tables" / "hailfinder.csv.gz"
    return Posed(path, {"method": "gobnilp", "max_parents": 3, "kind": "discrete"})


def micodag(field: str, draw: int) -> Callable[[Path], Posed]:
    """Return what poses a published sample: edges inside the true moral graph, 6 log n charged for each."""

    def pose(bench: Path) -> Posed:
        folder = bench / "micodag" / field
        data = pd.read_csv(next(folder.glob(f"data_*_iter_{draw}.csv.gz")), header=None)
        data.columns = [f"x{i + 1}" for i in range(data.shape[1])]
        moral, edges = (
            [(f"x{a}", f"x{b}") for a, b in np.loadtxt(next(folder.glob(f"Sparse_{kind}*.txt")), int, delimiter=",")]
            for kind in ("Moral", "Original")
        )
        inside = dagopt.Constraints(superstructure=nx.Graph(moral))
        options = {"constraints": inside, "score": float(6.0 * np.log(data.shape[1]))}
        if field in DENSE:
            options["method"] = "branch-and-cut"  # lists undominated sets; all sets would be too many
        return Posed(data, options, edges)

    return pose


def scores(name: str) -> Callable[[Path], Posed]:
    """Return what poses a file of local scores."""
    return lambda bench: Posed(bench / "scores" / f"{name}.jkl.gz", {"method": "gobnilp"})


def uci(name: str) -> Callable[[Path], Posed]:
    """Return what reads a discrete table."""

    def pose(bench: Path) -> Posed:
        table = pd.read_csv(bench / "uci" / f"{name}.csv.gz", dtype=str, keep_default_na=False)
        return Posed(table, {"kind": "discrete"})

    return pose


def munin_sized(bench: Path) -> Posed:
    """Return a simulated table with the columns and arcs of MUNIN: 1,041 and about 1,397, and four more pairs a column.

    Edges may be inside the true moral graph and among these pairs, which are drawn.
    """
    n, arcs = 1041, 1397
    data, dag = dagopt.simulate(n, ROWS, arcs / n, 0, kind="discrete")
    inside = nx.moral_graph(dag)
    rng = np.random.default_rng(0)
    names = list(data.columns)
    inside.add_edges_from((names[a], names[b]) for a, b in rng.integers(0, n, (4 * n, 2)) if a != b)
    constraints = dagopt.Constraints(superstructure=inside, max_parents=4)
    return Posed(data, {"method": "gobnilp", "constraints": constraints}, dag)


GROUPS: dict[str, dict[str, Case]] = {
    "tables": {
        "sachs": Case(sachs, "consensus graph of 17 edges", quick=True),
        "ecoli70": Case(gaussian("ecoli70"), "true DAG has 70 edges"),
        "magic-niab": Case(gaussian("magic-niab"), "true DAG has 66 edges"),
        "auto-mpg": Case(auto_mpg, quick=True),
        "hailfinder": Case(
            hailfinder, "optimum -990162.80504 (pygobnilp); R bnlearn `hc` -990474.75, `tabu` -990396.27"
        ),
    },
    "micodag": {
        f"{field}-{draw}": Case(micodag(field, draw), quick=(field, draw) == ("9insurance", 1))
        for field in FIELDS
        for draw in (1, 2, 3)
    },
    "scores": {
        "alarm-5000": Case(scores("alarm-5000"), "", quick=True),
        "hailfinder-5000": Case(scores("hailfinder-5000"), "", quick=True),
        "hepar2-5000": Case(scores("hepar2-5000"), "-164433.403 (k-MAX, bounded treewidth)", quick=True),
        "pathfinder-5000": Case(scores("pathfinder-5000"), "-150290.934 (k-MAX, bounded treewidth)"),
        "diabetes-5000": Case(scores("diabetes-5000"), "-2264555.363 (k-MAX, bounded treewidth)"),
        "pigs-5000": Case(scores("pigs-5000"), "-1796786.607 (k-MAX, bounded treewidth)"),
        "soybean_BIC": Case(scores("soybean_BIC"), "hard for CPBayes and ELSA"),
        "steel_BIC": Case(scores("steel_BIC"), "hard for CPBayes and ELSA"),
        "insurance_2000_1_BDeu": Case(scores("insurance_2000_1_BDeu"), "", quick=True),
        "water_1000_1_BDeu": Case(scores("water_1000_1_BDeu")),
    },
    "uci": {
        "alarm": Case(uci("alarm"), "-14390.7843 over up to 3 parents"),
        "alarm1000": Case(uci("alarm1000"), "-11783.0524 found"),
        "carpo100": Case(uci("carpo100"), "-2000.2132 over up to 3 parents"),
        "costs": Case(uci("costs"), "-2358.6520"),
        "flag": Case(uci("flag"), "-2748.1052 over up to 3 parents"),
        "hailfinder100": Case(uci("hailfinder100"), "-6414.5342"),
        "hailfinder500": Case(uci("hailfinder500"), "-27777.5544 over up to 3 parents"),
        "hepatitis": Case(uci("hepatitis"), "-1322.5842"),
        "horse": Case(uci("horse"), "-4524.6631 over up to 3 parents"),
        "insurance1000": Case(uci("insurance1000"), "-14350.4714"),
        "iris": Case(uci("iris"), "-465.4350"),
        "letter": Case(uci("letter"), "-174997.4502"),
        "mildew1000": Case(uci("mildew1000"), "-57238.0204 over up to 3 parents"),
        "mushroom": Case(uci("mushroom"), "-89683.4536"),
        "nltcs": Case(uci("nltcs"), "-20033.5955"),
        "soybean": Case(uci("soybean"), "-3122.0630 found"),
        "steel": Case(uci("steel"), "-18805.5229 by scores in single precision"),
        "tic-tac-toe": Case(uci("tic-tac-toe"), "-9396.3759"),
        "voting": Case(uci("voting"), "-4642.6310"),
        "water1000": Case(uci("water1000"), "-13290.1091"),
        "wine": Case(uci("wine"), "-1258.4459"),
        "zoo": Case(uci("zoo"), "-612.2612"),
    },
    "large": {"munin-sized": Case(munin_sized, "simulated")},
}
CASES = {name: case for group in GROUPS.values() for name, case in group.items()}


def known(name: str, bench: Path) -> str:
    """Return what others report about an instance."""
    field, _, draw = name.rpartition("-")
    if field not in FIELDS:
        return CASES[name].known
    table = pd.read_csv(bench / "micodag" / "published_micodag.csv")
    row = table[(table["network"] == field) & (table["k"] == int(draw))]
    return "" if row.empty else f"gap {row['RGAP'].iloc[0]:.1%} in {row['Time'].iloc[0]:.0f} s (MICODAG, Gurobi)"


def scored(data: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with the score, which a file of local scores does not take."""
    return options if str(data).endswith(".jkl.gz") else BIC | options


def explained_left(result: dagopt.Result) -> float | None:
    """Return the gap as a share of what the graph explains; None without a bound or data, or if it explains nothing."""
    if result.bound is None or result.score is None or result.problem is None:
        return None
    gain = result.score - result.problem.score.total(np.zeros_like(result.adjacency))
    return float((result.bound - result.score) / gain) if gain > 1e-9 * abs(result.score) else None


def best_of_others(data: Any, options: dict[str, Any], limit: float, threads: int | None) -> tuple[str, float]:
    """Return which of the methods other than ``auto`` has the best score, and the score."""
    found = {}
    for method in OTHERS:
        jobs = {} if method in ("hc", "tabu", "mmhc") else {"n_jobs": threads}
        with suppress(InputError):  # a method that does not take so many columns
            found[method] = dagopt.learn(
                data, method, time_limit=limit, progress=False, **jobs, **scored(data, options)
            ).score
    best = max(found, key=lambda method: found[method])
    return best, float(found[best])


def run_one(name: str, bench: Path, limit: float, threads: int | None, others: str, of_cpu: bool) -> dict[str, Any]:
    """Run an instance here and return its line; other methods too if ``others`` is all, or "open" and so is the gap.

    ``of_cpu`` says whether the limit is one of CPU seconds.
    """
    with counting(time.process_time if of_cpu else time.perf_counter):
        return _line_of(name, bench, limit, threads, others) | {"clock": "cpu" if of_cpu else "wall"}


def _line_of(name: str, bench: Path, limit: float, threads: int | None, others: str) -> dict[str, Any]:
    """Return the line of an instance, by the clock that is set."""
    warm, _ = dagopt.datasets.load("asia", n_samples=300, random_state=0)
    for method in ("auto", "gobnilp"):
        dagopt.learn(warm, method, progress=False)  # compiles the kernels
    data, options, true = CASES[name].pose(bench)
    wall, cpu = time.perf_counter(), time.process_time()
    result = dagopt.learn(data, time_limit=limit, n_jobs=threads, progress=False, **scored(data, options))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    text, best = "not run", None
    if others == "open" and result.status == "optimal":
        text = "none can be better"
    elif others != "none":
        method, best = best_of_others(data, options, limit, threads)
        text = f"{best:.4f} ({method})"
    return {
        "instance": name, "columns": len(result.names), "rows": result.n_samples, "method": result.method,
        "score": result.score, "bound": result.bound, "gap": result.gap, "status": result.status,
        "scope": result.scope, "SHD": None if true is None else dagopt.compare(result.graph, true).shd,
        "seconds": wall, "CPU s": cpu, "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "left": explained_left(result), "known": known(name, bench),
        "others": text, "best of others": best,
        "limit": limit, "threads": threads, "date": str(date.today()),
        "details": {key: value for key, value in result.details.items() if key.startswith("n_")},
    }  # fmt: skip


def table(lines: dict[str, dict[str, Any]], group: dict[str, Case]) -> str:
    """Return the runs of a group as a table, with the conditions."""
    rows = [f"| {' | '.join(COLUMNS)} |", f"|{'---|' * len(COLUMNS)}"]
    found = [lines[name] for name in group if name in lines]
    for line in found:
        gap = "-" if line["gap"] is None else "0" if line["status"] == "optimal" else f"{line['gap']:.4f}"
        cells = [line["instance"], line["columns"], line["rows"] or "not given", line["method"]]
        cells += ["-" if line[key] is None else f"{line[key]:.4f}" for key in ("score", "bound")]
        left = line.get("left")
        cells += [
            gap,
            "-" if left is None else f"{left:.3%}",
            line["scope"] or "nothing",
            "no truth" if line["SHD"] is None else line["SHD"],
        ]
        cells += [f"{line[key]:.1f}" for key in ("seconds", "CPU s")]
        cells += [round(line["MB"]), line.get("others", "not run"), line["known"] or "nothing"]
        rows.append(f"| {' | '.join(map(str, cells))} |")
    clocks = {"cpu": "CPU s", "wall": "s"}
    runs = sorted(
        f"{day}, limit {limit:g} {clocks[clock]}, {threads or 'all'} threads"
        for day, limit, clock, threads in {
            (line["date"], line["limit"], line.get("clock", "wall"), line["threads"]) for line in found
        }
    )
    conditions = f"dagopt {dagopt.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores"
    return "\n".join([*rows, "", f"{conditions}; {'; '.join(runs)}.", "", verdict(found)])


def verdict(lines: Sequence[dict[str, Any]]) -> str:
    """Return on how many instances ``auto`` has the best score or a proof, and where it does not."""
    proven = [line for line in lines if line["status"] == "optimal"]
    told = [line for line in lines if line.get("best of others") is not None]
    near = {line["instance"]: EQUAL * max(abs(line["score"]), 1.0) for line in lines}
    worse = [line for line in told if line["best of others"] > line["score"] + near[line["instance"]]]
    names = "".join(f"; below on {line['instance']}: {line['others']}" for line in worse)
    settled = len({line["instance"] for line in (*proven, *told)})
    return f"auto proven on {len(proven)} of {len(lines)}, best on {settled - len(worse)} of {settled} compared{names}."


def write_between(page: Path, mark: str, text: str) -> None:
    """Put a text between ``<!-- mark -->`` and ``<!-- end of mark -->`` of a page."""
    first, last = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    old = page.read_text(encoding="utf-8")
    new, n = re.subn(rf"{first}.*?{last}", lambda _: f"{first}\n{text}\n{last}", old, flags=re.DOTALL)
    if n != 1:
        raise SystemExit(f"{page} has no place marked {first} ... {last}")
    page.write_text(new, encoding="utf-8")


def show(results: Path, page: Path | None) -> None:
    """Print the last run of each instance, or write it into a page."""
    lines = {line["instance"]: line for line in map(json.loads, results.read_text().splitlines())}
    for mark, group in GROUPS.items():
        if not lines.keys() & group.keys():
            continue
        if page is None:
            print(f"\n{mark}\n\n{table(lines, group)}")
        else:
            write_between(page, mark, table(lines, group))


def run_apart(name: str, given: argparse.Namespace, limit: float, others: str) -> None:
    """Run an instance in a process of its own, append its line to the results, and print it in short."""
    command = [sys.executable, "-m", "benchmarks.public_instances", name, "--here", others, "--limit", str(limit)]
    command += ["--shared", str(given.shared)]
    command += [] if given.threads is None else ["--threads", str(given.threads)]
    command += ["--cpu"] if given.cpu else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name}: {(done.stderr.strip() or 'ended early').splitlines()[-1]}", file=sys.stderr)
        return
    line = done.stdout.strip().splitlines()[-1]
    with given.results.open("a") as file:
        file.write(line + "\n")
    found = json.loads(line)
    seconds = f"{found['seconds']:.1f} of {limit:.0f} s"
    print(name, found["status"], found["score"], found["bound"], found["scope"], seconds, found["others"], flush=True)


def run_all(names: list[str], given: argparse.Namespace, limit: float) -> None:
    """Run instances, as many at the same time as there are jobs."""
    others = "none" if given.alone else "all" if given.others else "open" if given.uci else "none"
    with ThreadPoolExecutor(given.jobs) as jobs:
        for one in as_completed([jobs.submit(run_apart, name, given, limit, others) for name in names]):
            one.result()


def run_within(names: list[str], given: argparse.Namespace, limit: float) -> None:
    """Run instances one after the other within some minutes, those with the fewest columns first."""
    end = time.perf_counter() + 60.0 * given.minutes
    widths = {name: len(pd.DataFrame(CASES[name].pose(given.shared / "bench").data).columns) for name in names}
    todo = sorted(names, key=lambda name: (widths[name], name))
    for k, name in enumerate(todo):
        runs = (len(todo) - k) * (1 + len(OTHERS))
        share = (end - time.perf_counter()) / runs - LATEST
        run_apart(name, given, max(min(share, limit), 1.0), "none" if given.alone else "open")


def kinds(quick: bool) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return instances of all kinds for the comparison of methods."""
    made: dict[str, tuple[Any, dict[str, Any]]] = {}
    networks = ("asia", "lucas", "insurance", "alarm")
    for name in networks[:2] if quick else networks:
        for rows in (500,) if quick else (500, 2000):
            data, _ = dagopt.datasets.load(name, n_samples=rows, random_state=0)
            for score in ("bic", "bdeu"):
                made[f"{name} {rows} {score}"] = (data, {"score": score})
    for n in (10,) if quick else (15, 30):
        data, _ = dagopt.simulate(n, 1000, 1.5, 0)
        made[f"gaussian {n}"] = (data, {})
        made[f"gaussian {n}, <= 2 parents"] = (data, {"max_parents": 2})
    return made


def compare(limit: float, quick: bool) -> None:
    """Print the score of every method on every instance, and how often each has the best score and a best bound."""
    best_score, best_bound = dict.fromkeys(METHODS, 0), dict.fromkeys(METHODS, 0)
    print(f"| instance | {' | '.join(METHODS)} |\n|{'---|' * (len(METHODS) + 1)}")
    for name, (data, options) in kinds(quick).items():
        found = {m: dagopt.learn(data, m, time_limit=limit, progress=False, **BIC | options) for m in METHODS}
        top = max(one.score for one in found.values())
        # bounds are compared where they hold for the same DAGs; a proof over all DAGs counts most
        bounds = {m: one.bound for m, one in found.items() if one.bound is not None and one.bound >= top - 1e-6}
        low = min(bounds.values(), default=np.inf)
        for m, one in found.items():
            best_score[m] += one.score >= top - 1e-6 * abs(top)
            best_bound[m] += m in bounds and bounds[m] <= low + 1e-6 * abs(low)
        cells = [f"{one.score:.2f}{' proven' if one.status == 'optimal' else ''}" for one in found.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    print(f"| best score | {' | '.join(map(str, best_score.values()))} |")
    print(f"| best bound | {' | '.join(map(str, best_bound.values()))} |")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="instances or groups; all unless given")
    parser.add_argument("--shared", default="../shared", type=Path)
    parser.add_argument("--limit", type=float, help="seconds for each run; 600 unless given, 60 for --uci")
    parser.add_argument("--threads", type=int, help="threads of each run; all cores unless given")
    parser.add_argument("--results", type=Path, default=Path("public_instances.jsonl"))
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables of the results into a page")
    parser.add_argument("--jobs", type=int, default=1, help="instances at the same time")
    for flag in ("--quick", "--show", "--methods", "--uci", "--others", "--alone", "--cpu"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--minutes", type=float, help="for all tables together, one after the other; for --uci")
    parser.add_argument("--here", choices=("all", "open", "none"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cpu and given.threads != 1:
        parser.error("--cpu counts the time of all threads together; give --threads 1")
    limit = given.limit or (60.0 if given.uci else 600.0)
    limit = min(limit, 10.0) if given.quick else limit
    given.names = given.names or (["uci"] if given.uci else [])
    wrong = [name for name in given.names if name not in CASES and name not in GROUPS]
    if wrong:
        parser.error(f"no instance or group named {', '.join(wrong)}; instances: {', '.join(CASES)}")
    if given.methods:
        compare(limit, given.quick)
    elif given.here:
        print(json.dumps(run_one(given.names[0], given.shared / "bench", limit, given.threads, given.here, given.cpu)))
    else:
        if not given.show and given.write is None:
            names = [one for name in given.names for one in GROUPS.get(name, [name])] or list(CASES)
            run = run_all if given.minutes is None else run_within
            run([name for name in names if CASES[name].quick or not given.quick], given, limit)
        show(given.results, given.write)


if __name__ == "__main__":
    main()
