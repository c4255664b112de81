"""Is anything slower or worse than before? ``python -m benchmarks.guard BASE``, BASE being another tree of dagopt.

Short cases of all methods run on both trees by turns, each run in a process of its own on one thread. One row
per case: the CPU seconds of either tree (the least of its runs), their ratio, and both scores. A case whose ratio is
above ``MOST`` is measured once more, and called slower if it is above again. A lower score is always reported. The exit
status is 1 if a case is slower or worse. ``--case NAME`` takes one case and may be repeated.

Kernels are loaded before the clock starts: what the first run on a machine costs is measured by
``benchmarks.cold_start``. The cases have no time limit, so that a slower tree does not do less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

import dagopt

MOST = 1.10  # the largest ratio of CPU seconds that is not called slower
TURNS = 2  # runs per tree and measurement; the least one counts, because other work only adds to it
SCORE_TOLERANCE = 1e-9  # share of the score that rounding may change
HERE = Path(__file__).resolve().parents[1]

RUN = """
import json, sys, time
import pandas as pd
import dagopt
data, call, method, options = pd.read_pickle(sys.argv[1]), *json.loads(sys.argv[2])
options = {"score": "bic", **options}  # the default may differ between the trees
def searched_pairs():  # the same weights in both trees: three quarters of a parent's cost for each edge
    import numpy as np
    from dagopt.deadline import Deadline
    from dagopt.methods.branch_and_cut.pair_bound import PairBound
    from dagopt.progress import NoProgress
    from dagopt.workers import Workers
    found = dagopt.learn(data, "hc", progress=False, score="bic")
    with Workers(Deadline(), NoProgress(), 1) as workers:
        pairs = PairBound(found.problem.score, found.adjacency, workers)
        joined = (found.adjacency | found.adjacency.T)[pairs._pairs[:, 0], pairs._pairs[:, 1]]
        for size in range(1, options["size"] + 1):
            excess = pairs._search(np.where(joined, 0.375 * np.log(len(data)), 0.0), size)[0]
    return -float(excess.sum())
def listed():
    from dagopt.deadline import Deadline
    from dagopt.families.undominated import Listing
    try:
        from dagopt.learning.posing import pose
    except ImportError:  # an older checkout
        from dagopt.posing import pose
    from dagopt.progress import NoProgress
    from dagopt.workers import Workers
    problem, _ = pose(data, score="bic")
    with Workers(Deadline(), NoProgress(), 1) as workers:
        return -float(len(Listing(problem.score, problem.knowledge, 10**6).run(workers)))
def once():
    if call == "pairs":
        return searched_pairs()
    if call == "listing":
        return listed()
    if call == "bootstrap":
        return dagopt.bootstrap(data, 20, n_jobs=1, progress=False, **options).result.score
    return dagopt.learn(data, method, progress=False, **options).score
once()
begun = time.process_time()
score = once()
print(json.dumps([time.process_time() - begun, score]))
"""

CASES: dict[str, tuple[str, str, str, dict[str, object]]] = {  # table, call, method, options; of pairs the size of J
    "exact, 18 continuous columns": ("gaussian 18 2", "learn", "exact", {"n_jobs": 1}),
    "exact, LUCAS, BIC": ("lucas 2000", "learn", "exact", {"n_jobs": 1}),
    "exact, 16 columns of INSURANCE, BDeu": ("insurance 2000 16", "learn", "exact", {"n_jobs": 1, "score": "bdeu"}),
    "exact, 12 mixed columns": ("mixed 12 2", "learn", "exact", {"n_jobs": 1}),
    "order, 40 continuous columns": ("gaussian 40 2", "learn", "order", {"n_jobs": 1, "restarts": 2}),
    "order, ALARM": ("alarm 2000", "learn", "order", {"n_jobs": 1, "restarts": 2}),
    "hc, 100 continuous columns": ("gaussian 100 2", "learn", "hc", {}),
    "tabu, ALARM": ("alarm 2000", "learn", "tabu", {}),
    "pc, 40 continuous columns": ("gaussian 40 2", "learn", "pc", {}),
    "mmhc, ALARM": ("alarm 2000", "learn", "mmhc", {}),
    "gobnilp, INSURANCE": ("insurance 2000", "learn", "gobnilp", {"n_jobs": 1}),
    "branch-and-cut, 15 continuous columns": ("gaussian 15 1", "learn", "branch-and-cut", {"n_jobs": 1}),
    "branch-and-cut, 25 continuous columns": ("gaussian 25 0.5", "learn", "branch-and-cut", {"n_jobs": 1}),
    "listing, 40 continuous columns": ("gaussian 40 0.5", "listing", "", {}),
    "pairs, 20 continuous columns": ("gaussian 20 2", "pairs", "", {"size": 4}),
    "search from the end, 20 continuous columns": (
        "gaussian 20 2",
        "learn",
        "branch-and-cut",
        {"n_jobs": 1, "max_sets": 1000},
    ),
    "cg-dca, 15 continuous columns": ("gaussian 15 1", "learn", "cg-dca", {"n_jobs": 1}),
    "cg-dca-paper, 8 continuous columns": ("gaussian 8 1", "learn", "cg-dca-paper", {}),
    "auto, INSURANCE": ("insurance 2000", "learn", "auto", {"n_jobs": 1}),
    "20 resamples, LUCAS": ("lucas 2000", "bootstrap", "", {}),
}


def table(how: str) -> pd.DataFrame:
    """Return the table of a case: kind, columns and degree; or a bundled network, rows and the number of columns."""
    name, *numbers = how.split()
    if name in ("gaussian", "mixed"):
        columns, degree = int(numbers[0]), float(numbers[1])
        return dagopt.simulate(n_nodes=columns, n_samples=2000, degree=degree, kind=name, random_state=0).data
    data = dagopt.datasets.load(name, n_samples=int(numbers[0]), random_state=0)[0]
    return data.iloc[:, : int(numbers[1])] if len(numbers) > 1 else data


def measured(trees: tuple[Path, Path], file: Path, case: tuple[object, ...]) -> tuple[list[float], list[float]]:
    """Return the least CPU seconds of each tree, and the scores, after ``TURNS`` turns."""
    seconds, scores = [float("inf")] * 2, [0.0] * 2
    for _ in range(TURNS):
        for k, tree in enumerate(trees):
            environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
            program = [sys.executable, "-c", RUN, str(file), json.dumps(case)]
            done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
            if done.returncode:
                raise SystemExit(f"{case} failed in {tree}:\n{done.stderr}")
            spent, scores[k] = json.loads(done.stdout.splitlines()[-1])
            seconds[k] = min(seconds[k], spent)
    return seconds, scores


def guard(base: Path, wanted: list[str]) -> list[str]:
    """Print one row per case; return what is slower or worse."""
    found = []
    trees = (base.resolve(), HERE)
    print("| case | CPU s before | now | ratio | score before | now | |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for name in wanted:
        how, *case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "table.pickle")
            table(how).to_pickle(file)
            for _ in range(2):  # above the ratio, once more
                seconds, scores = measured(trees, file, tuple(case))
                ratio = seconds[1] / seconds[0]
                if ratio <= MOST:
                    break
        worse = scores[1] < scores[0] - SCORE_TOLERANCE * abs(scores[0])
        told = ", ".join(word for word, holds in (("SLOWER", ratio > MOST), ("WORSE", worse)) if holds)
        figures = f"{seconds[0]:.3f} | {seconds[1]:.3f} | {ratio:.2f} | {scores[0]:.4f} | {scores[1]:.4f}"
        print(f"| {name} | {figures} | {told} |", flush=True)
        if told:
            found.append(f"{name}: {told}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path, help="the other tree, with its folder src")
    parser.add_argument("--case", action="append", choices=[*CASES], help="one case; may be repeated")
    arguments = parser.parse_args()
    if not (arguments.base / "src" / "dagopt").is_dir():
        parser.error(f"{arguments.base} has no src/dagopt; give the folder of a clone")
    if found := guard(arguments.base, arguments.case or [*CASES]):
        raise SystemExit("slower or worse than before:\n  " + "\n  ".join(found))
    print("\nnothing is slower or worse")


if __name__ == "__main__":
    main()
