"""What more threads bring to proofs, and that the answers are the same: ``python -m benchmarks.threads``.

python -m benchmarks.threads [--threads 1 2 4 8 16] [--parts tree pricing regrets rivals] [--within 230]
python -m benchmarks.threads --trees [NAME ...] [--lanes 16 4] [--limit 60] [--shared ../shared]

The first form runs each part with each number of threads, one after the other, without a time limit: *root* is a proof
whose tree has few open nodes, *tree* one with more of them, *pricing* one round of the priced root, *regrets* the
proofs of what each edge is worth, *rivals* all graphs within three points by cutting planes. The columns: seconds and
CPU seconds, how many times as fast as with the first number of threads, and whether the answer is the same. No run
begins after ``--within`` seconds. The exit code is 1 if an answer differs.

The second form runs trees over public files of local scores and over simulated tables, with a limit. ``--lanes`` gives
the most nodes that are worked on at the same time, which changes the tree; the number of threads does not, and a run
that ends in another tree with more threads is named.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import dagopt
from dagopt.deadline import Deadline
from dagopt.lp.priced_root import Effort, PricedRoot
from dagopt.lp.rows.clusters import ClusterRows
from dagopt.lp.rows.local import LocalRows
from dagopt.lp.rows.matrices import logdet_finders
from dagopt.methods.branch_and_cut import tree
from dagopt.methods.branch_and_cut.branch_and_cut import ROW_KINDS
from dagopt.progress import NoProgress
from dagopt.workers import Workers

FILES = ("soybean_BIC", "steel_BIC", "water_1000_1_BDeu")
CELLS = ((20, 2.0, 0), (25, 1.5, 1), (30, 1.0, 2))  # columns, degree, seed; 5,000 rows
NAMES = (*FILES, *(f"cell-{columns}-{degree:g}-{seed}" for columns, degree, seed in CELLS))
EFFORT = Effort(steps=20_000, climbs=6, rounds=1)  # of pricing: so much, whatever it takes

Answer = tuple[Any, ...]


def proof(columns: int, degree: float, seed: int, **options: Any) -> Callable[[int], Answer]:
    """Return a proof by branch and cut."""
    data = dagopt.simulate(columns, 5000, degree, seed).data

    def run(threads: int) -> Answer:
        found = dagopt.learn(data, "branch-and-cut", score="bic", n_jobs=threads, progress=False, **options)
        details = (found.details[name] for name in ("n_tree_nodes", "n_lps", "n_cuts"))
        return found.status, found.score, found.bound, digest(found.adjacency), *details

    return run


def pricing() -> Callable[[int], Answer]:
    """Return a round of pricing, after some climbs."""
    data = dagopt.simulate(50, 5000, 1.0, 0).data
    begun = dagopt.learn(data, "order", score="bic", random_state=0, n_jobs=1, progress=False)
    assert begun.problem is not None
    problem, dag = begun.problem, begun.adjacency
    form = problem.score.block_likelihood
    assert form is not None

    def run(threads: int) -> Answer:
        with Workers(Deadline(), NoProgress(), threads) as workers, ThreadPoolExecutor(threads) as own:
            finders = [ClusterRows(20), *logdet_finders(form, ROW_KINDS, dag, 0, own)]
            finders.append(LocalRows(own, 6, 0, lambda: False))
            root = PricedRoot(problem.score, problem.knowledge, dag, [], finders, workers, effort=EFFORT)
            root.run(0, 1e-6)
        return root.n_rounds, root.bound, digest(root.dag)

    return run


def regrets() -> Callable[[int], Answer]:
    """Return the proofs of what the edges of a DAG are worth."""
    data = dagopt.simulate(20, 5000, 1.0, 0).data
    found = dagopt.learn(data, "branch-and-cut", score="bic", n_jobs=1, progress=False)
    return lambda threads: (
        found.regrets(method="branch-and-cut", n_jobs=threads, progress=False).to_csv(float_format="%.6f"),
    )


def rivals() -> Callable[[int], Answer]:
    """Return the search for all graphs near the best."""
    data, _ = dagopt.datasets.load("alarm", n_samples=1000, random_state=0)
    found = dagopt.learn(data, "gobnilp", score="bic", n_jobs=1, progress=False)

    def run(threads: int) -> Answer:
        near = found.rivals(3.0, n_jobs=threads, progress=False)
        return near.count, near.best, digest(near.parents), digest(near.losses)

    return run


PARTS: dict[str, Callable[[], Callable[[int], Answer]]] = {
    "root": lambda: proof(25, 1.0, 1),
    "tree": lambda: proof(16, 1.5, 0, rows=tuple(kind for kind in ROW_KINDS if kind != "local")),
    "pricing": pricing,
    "regrets": regrets,
    "rivals": rivals,
}


def digest(array: Any) -> str:
    """Return a short text that two equal arrays share."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:12]


def measured(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return seconds, CPU seconds and the answer."""
    wall, cpu = time.perf_counter(), time.process_time()
    answer = run()
    return time.perf_counter() - wall, time.process_time() - cpu, answer


def compare(names: list[str], threads: list[int], within: float) -> int:
    """Print a row for each part and number of threads; return 1 if an answer differs."""
    end = time.perf_counter() + within
    print(f"{os.cpu_count()} cores\n\n| part | threads | seconds | CPU s | times as fast | the same |\n|{'---|' * 6}")
    differs = False
    dagopt.learn(dagopt.simulate(10, 300, 2.0, 3).data, "branch-and-cut", n_jobs=1, progress=False)  # compiles
    for name in names:
        run, known = PARTS[name](), list[tuple[float, Any]]()
        for count in threads:
            if time.perf_counter() > end:
                print(f"| {name} | {count} | no time | | | |")
                continue
            wall, cpu, answer = measured(lambda run=run, count=count: run(count))  # type: ignore[misc]
            known.append((wall, answer))
            same = answer == known[0][1]
            differs |= not same
            cells = [name, count, f"{wall:.2f}", f"{cpu:.2f}", f"{known[0][0] / wall:.2f}", "yes" if same else "NO"]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
    return int(differs)


def tree_of(name: str, threads: int, limit: float, shared: Path) -> dagopt.Result:
    """Return the result of an instance."""
    options: dict[str, Any] = {"time_limit": limit, "n_jobs": threads, "progress": False}
    if name in FILES:
        return dagopt.learn(shared / "bench" / "scores" / f"{name}.jkl.gz", "gobnilp", **options)
    columns, degree, seed = CELLS[NAMES.index(name) - len(FILES)]
    data = dagopt.simulate(columns, 5000, degree, seed).data
    return dagopt.learn(data, "branch-and-cut", score="bic", max_sets=10**7, **options)


def trees(given: argparse.Namespace) -> int:
    """Print a row per run; return 1 if a tree differs."""
    print(
        f"{os.cpu_count()} cores\n\n| instance | lanes | threads | status | gap | nodes | nodes/s | seconds | CPU s |"
    )
    print(f"|{'---|' * 9}")
    differs = False
    for name in given.trees or NAMES:
        tree_of(name, 1, 1.0, given.shared)  # loads and compiles
        for lanes in given.lanes:
            tree.MOST_LANES = lanes
            proven: tuple[Any, ...] | None = None
            for threads in given.threads:
                wall, cpu, result = measured(
                    lambda name=name, threads=threads: tree_of(name, threads, given.limit, given.shared)  # type: ignore[misc]
                )
                nodes = result.details.get("n_tree_nodes") or 0
                gap = "-" if result.gap is None else f"{result.gap:.4f}"
                cells = [name, lanes, threads, result.status, gap, nodes, f"{nodes / wall:.2f}", f"{wall:.1f}"]
                print(f"| {' | '.join(map(str, cells))} | {cpu:.1f} |", flush=True)
                if result.status == "optimal":
                    facts = (result.score, nodes, result.adjacency.tolist())
                    if proven not in (None, facts):
                        print(f"{name}: another tree with {threads} threads")
                        differs = True
                    proven = facts
    return int(differs)


def main() -> int:
    """Print a row per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS, metavar="PART")
    parser.add_argument("--within", type=float, default=230.0, help="seconds after which no run begins")
    parser.add_argument("--trees", nargs="*", choices=NAMES, metavar="NAME", help="trees with a limit instead")
    parser.add_argument("--lanes", type=int, nargs="+", default=[tree.MOST_LANES])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each tree")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    given = parser.parse_args()
    return compare(given.parts, given.threads, given.within) if given.trees is None else trees(given)


if __name__ == "__main__":
    sys.exit(main())
