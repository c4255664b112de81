"""What ``branch-and-cut`` proves: ``python -m benchmarks.bounds``.

    python -m benchmarks.bounds --cell 25,1 --seeds 0-4 --seconds 60     one cell of the simulated instances
    python -m benchmarks.bounds --cell 30,2 --seconds 600                a dense cell
    python -m benchmarks.bounds --all --seconds 600 --jobs 8             all cells, seeds 0-4, eight instances at once
    python -m benchmarks.bounds --cell 35,0.5 --kind mixed               mixed; also bge, basis, interventional
    python -m benchmarks.bounds --cell 20,1 --kind cg                    conditional Gaussians, by auto
    python -m benchmarks.bounds --cell 25,1 --seeds 0 --without matrices one piece left out
    python -m benchmarks.bounds --pieces --seconds 60                    every piece left out in turn, on five instances
    python -m benchmarks.bounds --pieces --unseen --cpu --threads 1 --seconds 30 --within 3600 --json pieces.jsonl
                                                                         what each piece adds on unseen draws
    python -m benchmarks.bounds --tables --seconds 600                   ecoli70, magic-niab and the micodag tables
    python -m benchmarks.bounds --list                                   undominated sets, seed 0 of each cell
    python -m benchmarks.bounds --pairs --cell 25,2 --seconds 60         the bound by pairs alone, seed 0
    python -m benchmarks.bounds --check 2000                             random small problems against the recursion
    python -m benchmarks.bounds --show a.jsonl b.jsonl                   the results of several runs as one table
    python -m benchmarks.bounds --figure docs/images/closing_gap.png     the gap of (25, 1, 0) against time

Every run appends one line of JSON to ``--json``, so that cells can run on several machines and be joined; each instance
has ``--threads`` threads, two by default. Up to 25 columns, the optimum of ``exact`` is compared with every bound,
unless ``--no-exact`` is given. ``--unseen`` runs seeds 100 to 119 of sparse cells without each piece of the tree, and
of dense ones without each bound on all sets, and prints one line per piece; what is in the file already is not run
again, and ``--within`` begins no run after so many seconds. With ``--cpu`` limits are CPU seconds, for a machine that
does other work too. Instances are those of ``../shared/tools/paper_instances.py``, 5,000 rows; tables those
of ``../shared/bench``.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dagopt
from benchmarks.bounds_check import check
from benchmarks.bounds_pieces import PIECES, draw_of, piece_table, seed_draws, unseen_draws, without_pieces
from benchmarks.jobs import answers, counting
from dagopt.deadline import Deadline
from dagopt.families.undominated import Listing, TooMany
from dagopt.learning.posing import pose
from dagopt.methods.branch_and_cut.branch_and_cut import ROW_KINDS
from dagopt.methods.branch_and_cut.pair_bound import PairBound
from dagopt.methods.likelihood_bound import likelihood_bound
from dagopt.networks.gaussian_json import read_gaussian_json
from dagopt.progress import NoProgress
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Stopped, Workers

SHARED = Path(__file__).resolve().parents[2] / "shared"
N_ROWS = 5000
KINDS = ("gaussian", "mixed", "bge", "basis", "interventional", "cg")
KIND_ROWS = 3000  # of kinds other than Gaussian
CELLS = (
    (25, 0.5), (25, 1), (25, 2), (30, 1), (40, 0.5), (40, 1), (50, 0.5), (50, 1), (60, 0.5), (100, 0.5), (100, 2)
)  # fmt: skip
MOST_EXACT = 25


def instance(n: int, degree: float, seed: int) -> np.ndarray:
    """Return a simulated instance of the paper."""
    sys.path.insert(0, str(SHARED / "tools"))
    from paper_instances import paper_instance

    return np.asarray(paper_instance(n, N_ROWS, degree, seed)[0])


def intervened(n: int, degree: float, seed: int) -> tuple[pd.DataFrame, list[str | None]]:
    """Return rows of a random linear network, half of which set one column each, and the column that each row sets."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    joined = np.triu(rng.random((n, n)) < 2 * degree / (n - 1), 1)
    weights = joined * rng.choice([-1, 1], (n, n)) * rng.uniform(0.5, 1.5, (n, n))
    target = np.where(rng.random(KIND_ROWS) < 0.5, -1, rng.integers(0, n, KIND_ROWS))
    values = np.zeros((KIND_ROWS, n))
    for place, j in enumerate(order):
        values[:, j] = values[:, order] @ weights[:, place] + rng.normal(size=KIND_ROWS)
        values[target == j, j] = 2 * rng.normal(size=int((target == j).sum()))
    names = [f"V{j}" for j in range(n)]
    return pd.DataFrame(values, columns=names), [None if j < 0 else names[j] for j in target]


def tables() -> Iterator[tuple[str, np.ndarray]]:
    """Yield the Gaussian networks, 5,000 rows simulated, and the micodag tables."""
    for path in sorted((SHARED / "bench" / "gaussian").glob("*.json*")):
        drawn = read_gaussian_json(path).sample(N_ROWS, random_state=0)
        yield path.name.split(".")[0], np.asarray(drawn, dtype=np.float64)
    for path in sorted((SHARED / "bench" / "micodag").glob("*/data_*_n_500_iter_1.csv.gz")):
        yield path.parent.name, np.loadtxt(path, delimiter=",")


@dataclass(frozen=True)
class Task:
    """One run: a simulated instance (columns, degree, seed), or a table by its name."""

    name: str
    cell: tuple[int, float, int] | None
    seconds: float
    without: tuple[str, ...] = ()
    exact: bool = False
    threads: int = 2
    kind: str = "gaussian"
    cpu: bool = False  # whether the limit counts CPU seconds

    @property
    def key(self) -> tuple[Any, ...]:
        """Which run this is."""
        return self.name, self.kind, self.seconds, self.threads, "cpu" if self.cpu else "wall", self.without

    def data(self) -> tuple[Any, dict[str, Any]]:
        """Return the table, and what else ``learn`` is told about it."""
        if self.cell is None:
            return dict(tables())[self.name], {}
        n, degree, seed = self.cell
        if self.kind == "mixed":
            return dagopt.simulate(n, KIND_ROWS, degree, seed, kind="mixed").data, {}
        if self.kind == "cg":
            return dagopt.simulate(n, KIND_ROWS, degree, seed, kind="mixed").data, {"score": "cg"}
        if self.kind in ("bge", "basis"):
            return dagopt.simulate(n, KIND_ROWS, degree, seed).data, {"score": self.kind}
        if self.kind == "interventional":
            data, targets = intervened(n, degree, seed)
            return data, {"interventions": targets}
        return instance(*self.cell), {}


def gap_at(result: dagopt.Result, seconds: float, saturated: float | None) -> float | None:
    """Return how far the bound was above the best score of the whole run at some moment of it."""
    if "bound" not in result.trace:
        return None
    trace = result.trace[result.trace["bound"].notna() & (result.trace["seconds"] <= seconds)]
    known = [float(trace["bound"].min())] if len(trace) else []
    known += [] if saturated is None else [saturated]
    return min(known) - result.score if known else None


def run(task: Task) -> dict[str, Any]:
    """Return the figures of one run."""
    name, seconds, without, exact = task.name, task.seconds, task.without, task.exact
    data, told = task.data()
    rows = tuple(kind for kind in ROW_KINDS if kind not in without)
    told = {"score": "bic"} | told
    how = {"method": "auto"} if task.kind == "cg" else {"method": "branch-and-cut", "rows": rows}
    if how["method"] not in _warmed:  # what a process loads at its first run
        _warmed.add(how["method"])
        dagopt.learn(dagopt.simulate(8, 200, 1.0, 0).data, how["method"], time_limit=5, progress=False)
    begin = time.process_time()
    with without_pieces(without), counting(time.process_time) if task.cpu else nullcontext():
        result = dagopt.learn(data, time_limit=seconds, progress=False, n_jobs=task.threads, **how, **told)
    problem, facts = result.problem, result.details
    saturated = likelihood_bound(problem)
    found = {
        "name": name,
        "n": problem.n_nodes,
        "limit": seconds,
        "threads": task.threads,
        "clock": "cpu" if task.cpu else "wall",
        "kind": task.kind,
        "without": list(without),
        "status": result.status,
        "score": result.score,
        "likelihood_gap": None if saturated is None else saturated - result.score,
        "root_gap": None if "root_bound" not in facts else facts["root_bound"] - result.score,
        "gap": None if result.bound is None else result.bound - result.score,
        "per_cent": None if result.gap is None else 100 * result.gap / max(abs(result.score), 1e-12),
        "per_cent_explained": None if result.gap_share is None else 100 * result.gap_share,
        "gap_at_a_minute": gap_at(result, 60.0, saturated),
        **{key: facts.get(key) for key in ("n_sets", "n_states", "n_tree_nodes", "n_open_nodes", "n_cuts", "n_lps")},
        "seconds": result.seconds,
        "cpu": time.process_time() - begin,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,  # of all runs of this process so far
        "notes": list(result.notes),
    }
    if exact and problem.n_nodes <= MOST_EXACT:
        best = dagopt.learn(data, "exact", progress=False, **told).score
        found["optimum"] = best
        near = 2e-8 * abs(best)
        bounds = [one for one in (result.bound, facts.get("root_bound"), saturated) if one is not None]
        found["true"] = bool(min(bounds) >= best - near and result.score <= best + near)
    return found


_warmed: set[str] = set()  # the methods that this process has run


def not_run(todo: Sequence[Task], path: Path) -> list[Task]:
    """Return the tasks whose figures are not in a file yet."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {(*draw_of(one), tuple(one["without"])) for one in lines}
    return [task for task in todo if task.key not in done]


def _order(name: str) -> tuple[object, ...]:
    """Return what sorts names by columns, degree and seed, with tables at the end."""
    words = name.split()
    return (0, int(words[0][1:]), float(words[1][1:]), int(words[3])) if len(words) == 4 else (1, name)


def show(paths: Sequence[Path]) -> str:
    """Return the results of some files as a table."""
    heads = (
        "instance",
        "limit",
        "L(V) gap",
        "root gap",
        "gap at 60 s",
        "final gap",
        "%",
        "proven",
        "sets",
        "states",
        "nodes",
        "seconds",
        "left out",
    )
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    found = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    for one in sorted(found, key=lambda one: (one["limit"], _order(one["name"]))):
        keys = ("likelihood_gap", "root_gap", "gap_at_a_minute", "gap")
        gaps = ["-" if one.get(key) is None else f"{one[key]:,.3f}" for key in keys]
        share = "-" if one["per_cent"] is None else f"{one['per_cent']:.4f}"
        proven = "yes" if one["status"] == "optimal" else "no"
        if one.get("true") is False:
            proven = "**WRONG**"
        cells = [one["name"], f"{one['limit']:.0f} s", *gaps, share, proven]
        cells += [str(one.get(key) or "-") for key in ("n_sets", "n_states", "n_tree_nodes")]
        cells.append(f"{one['seconds']:.1f}")
        cells.append(", ".join(one["without"]) or "nothing")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def run_checks(count: int, first: int) -> None:
    """Compare random problems with the recursion and print what is wrong, and progress every ten problems."""
    n_wrong = 0
    for seed in range(first, first + count):
        for one in check(seed):
            n_wrong += 1
            print(one, flush=True)
        if (seed + 1 - first) % 10 == 0:
            print(f"{seed + 1 - first} of {count}", file=sys.stderr, flush=True)
    print(f"{count} problems: " + (f"{n_wrong} wrong" if n_wrong else "no bound below the optimum, no optimum cut off"))


def list_sets(seconds: float) -> None:
    """Print the number of undominated sets of the cells, its estimate, and the time of the listing on one core."""
    for n, degree in CELLS:
        problem, _ = pose(instance(n, degree, 0), score="bic")
        assert isinstance(problem.score, GaussianScore)
        listing = Listing(problem.score, problem.knowledge, 400_000)
        begin = time.process_time()
        likely = "none"
        try:
            with Workers(Deadline(seconds), NoProgress(), 1) as workers:
                likely = f"{listing.estimate(workers).n_sets:,.0f}"
                count: object = len(listing.run(workers))
        except (TooMany, Stopped) as end:
            count = type(end).__name__
        print(
            f"n = {n}, degree {degree}: {count} sets, estimate {likely}, {time.process_time() - begin:.2f} s",
            flush=True,
        )


def bound_by_pairs(cells: Sequence[tuple[int, float]], seconds: float, threads: int) -> None:
    """Print how far the bounds of the likelihood and of pairs are above the best score of the order search."""
    for n, degree in cells:
        data = instance(n, degree, 0)
        problem, _ = pose(data, score="bic")
        found = dagopt.learn(data, "order", score="bic", progress=False, n_jobs=threads)
        assert isinstance(problem.score, GaussianScore)
        assert found.score is not None
        begin = time.process_time()
        with Workers(Deadline(seconds), NoProgress(), threads) as workers:
            pairs = PairBound(problem.score, np.asarray(found.adjacency, dtype=np.int8), workers)
            first = pairs.bound
            pairs.run()
        gaps = [bound - found.score for bound in (first, pairs.bound)]
        shares = [f"{gap:,.1f} ({100 * gap / abs(found.score):.4f} %)" for gap in gaps]
        print(
            f"n = {n}, degree {degree:g}: L(V) {shares[0]}, pairs {shares[1]}, sets of up to {pairs.most_parents}, "
            f"{pairs.n_rounds} LPs, {time.process_time() - begin:.1f} CPU seconds",
            flush=True,
        )


def figure(path: Path, seconds: float) -> None:
    """Draw score and bound of one instance against time."""
    import matplotlib.pyplot as plt

    result = dagopt.learn(instance(25, 1, 0), "branch-and-cut", time_limit=seconds, score="bic", progress=False)
    trace = result.trace[result.trace["bound"].notna()]
    gap = np.maximum(trace["bound"] - result.score, 1e-3)
    _, ax = plt.subplots(figsize=(6, 3.5))
    ax.step(trace["seconds"], gap, where="post")
    ax.set_yscale("log")
    ax.set_xlabel("seconds")
    ax.set_ylabel("bound - best score")
    ax.set_title("25 columns, degree 1")
    plt.tight_layout()
    plt.savefig(path, dpi=120)


def name_of(n: int, degree: float, seed: int) -> str:
    """Return the name of a simulated instance."""
    return f"n{n} d{degree:g} seed {seed}"


def seeds_of(text: str) -> range:
    """Return the seeds of ``2`` or ``0-4``."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bounds", description=__doc__)
    parser.add_argument("--cell", "--cells", nargs="+", action="extend", default=[], help="columns,degree")
    parser.add_argument("--kind", choices=KINDS, default=KINDS[0], help="of the tables and the score")
    parser.add_argument("--seeds", default="0-4")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--without", action="append", default=[], choices=PIECES)
    parser.add_argument("--jobs", type=int, default=1, help="instances at the same time")
    parser.add_argument("--threads", type=int, default=2, help="threads of each instance")
    parser.add_argument("--within", type=float, default=float("inf"), help="begin no run after so many seconds")
    parser.add_argument("--json", "--out", type=Path, default=Path("bounds.jsonl"), help="file that the results join")
    parser.add_argument("--show", type=Path, nargs="*", help="files of results, by default that of --json")
    parser.add_argument("--check", type=int, default=0, help="number of random problems")
    parser.add_argument("--first", type=int, default=0, help="the number of the first of them")
    parser.add_argument("--figure", type=Path)
    for flag in ("--all", "--quick", "--tables", "--list", "--no-exact", "--pieces", "--unseen", "--cpu", "--pairs"):
        parser.add_argument(flag, action="store_true")
    args = parser.parse_args()
    if args.cpu and args.threads != 1:
        parser.error("--cpu counts the time of all threads together; give --threads 1")
    cells = [(int(n), float(d)) for n, d in (cell.split(",") for cell in args.cell)]
    cells += list(CELLS) if args.all else [(25, 0.5)] if args.quick and not args.pieces else []
    if args.pairs:
        bound_by_pairs(cells, args.seconds, args.threads)
        return
    settings = {"seconds": args.seconds, "threads": args.threads, "kind": args.kind, "cpu": args.cpu}
    exact = not args.no_exact
    seeds = range(1) if args.quick else seeds_of(args.seeds)
    chosen = [(n, d, seed) for n, d in cells for seed in seeds]
    todo = [Task(name_of(*one), one, without=tuple(args.without), exact=exact, **settings) for one in chosen]
    if args.tables:
        todo += [Task(name, None, without=tuple(args.without), **settings) for name, _ in tables()]
    if args.pieces:
        draws = unseen_draws() if args.unseen else seed_draws(args.quick)
        todo += [Task(name_of(*one), one, without=(piece,) if piece else (), **settings) for one, piece in draws]
    if args.unseen:
        todo = not_run(todo, args.json)
    for found in answers(run, todo, args.jobs, args.within):
        with args.json.open("a") as file:
            file.write(json.dumps(found) + "\n")
        print(json.dumps(found), flush=True)
    if args.check:
        run_checks(args.check, args.first)
    if args.list:
        list_sets(args.seconds)
    if args.figure:
        figure(args.figure, args.seconds)
    shown = args.show or [args.json]
    if args.pieces and args.unseen:
        print(piece_table([json.loads(line) for path in shown for line in path.read_text().splitlines()]))
    elif args.show is not None or todo:
        print(show(shown))


if __name__ == "__main__":
    main()
