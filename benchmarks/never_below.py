"""``auto`` is never below another method with the same time limit: random problems of all kinds.

python -m benchmarks.never_below [--problems 200] [--first 0] [--limits 1 5 20] [--threads 1 2] [--results FILE]
python -m benchmarks.never_below --jobs 8                  eight problems at the same time, each in a process of its own
python -m benchmarks.never_below --kinds mixed bdeu        only problems of these kinds
python -m benchmarks.never_below --cpu --threads 1         limits of CPU seconds, for a machine that does other work too
python -m benchmarks.never_below --show                    what is in the results

Each problem, limit and number of threads is one line of JSON in the results. What is there already is not run again, so
that a long run can be done in pieces. With several jobs, jobs times threads should not exceed the number of cores, or a
time limit means something else for each method. With ``--cpu`` it means the same on a busy machine: the clock of every
run is the CPU time of its process, which only counts right with one thread. Where ``auto`` is below a method, both run
twice again: it counts as below if it is below each time, and as below once otherwise, because a limit that ends in the
middle of a search makes either better by chance. The program ends with status 1 if ``auto`` was below.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import dagopt
from benchmarks.jobs import answers, counting
from dagopt.errors import InputError

OTHERS = ("order", "hc", "tabu", "cg-dca", "gobnilp", "branch-and-cut", "exact")
NO_THREADS = ("hc", "tabu")
NO_SEED = ("exact",)
KINDS = ("gaussian", "ebic", "bge", "few parents", "discrete", "bdeu", "mixed", "incomplete", "tiers", "dense")
AGAIN = 2  # further runs of ``auto`` and of the methods above it
EQUAL = 1e-7  # relative to the score, for sums in another order


class Posed(NamedTuple):
    """A table and options of ``learn``."""

    data: pd.DataFrame
    options: dict[str, Any]


def problem(number: int, most_columns: int = 60) -> Posed:
    """Return a random problem; its kind is that of the number."""
    kind = KINDS[number % len(KINDS)]
    rng = np.random.default_rng(number)
    n = int(np.exp(rng.uniform(np.log(5), np.log(most_columns + 1))))
    rows = int(rng.choice([60, 400, 3000]))
    degree = min(float(rng.choice([0.5, 1.5, 3.0])) if kind != "dense" else 6.0, (n - 1) / 2)
    of = {"mixed": "mixed", "discrete": "discrete", "bdeu": "discrete", "incomplete": "discrete"}.get(kind, "gaussian")
    data = dagopt.simulate(n, rows, degree, number, kind=of).data
    options: dict[str, Any] = {"score": kind} if kind in ("ebic", "bge", "bdeu") else {}
    if kind == "few parents":
        options["max_parents"] = 2
    if kind == "incomplete":
        data = data.mask(rng.random(data.shape) < 0.3 / n)
        options["missing"] = "level"
    if kind == "tiers":
        names = list(data.columns)
        options["constraints"] = dagopt.Constraints(tiers=[names[: n // 2], names[n // 2 :]])
    return Posed(data, options)


def compare(
    number: int, limit: float | None, threads: int, most_columns: int = 60, cpu: bool = False, **of_auto: Any
) -> dict[str, Any]:
    """Return the scores of all methods on a problem; a method that does not take it has none.

    With ``cpu`` the limit is one of CPU seconds. ``of_auto`` are further options of ``auto``, such as a memory limit
    that rules out the exact method.
    """
    data, options = problem(number, most_columns)
    clock = time.process_time if cpu else time.perf_counter
    line: dict[str, Any] = {"problem": number, "kind": KINDS[number % len(KINDS)], "limit": limit, "threads": threads}
    line |= {"clock": "cpu" if cpu else "wall", "columns": data.shape[1], "rows": data.shape[0]}

    def run(method: str) -> dagopt.Result:
        more: dict[str, Any] = {} if method in NO_THREADS else {"n_jobs": threads}
        more |= {} if method in NO_SEED else {"random_state": 0}
        more |= of_auto if method == "auto" else {}
        with counting(clock):
            return dagopt.learn(data, method, time_limit=limit, progress=False, **more, **options)

    begin = clock()
    result = run("auto")
    bound = None if result.bound is None else float(result.bound)
    line |= {"status": result.status, "bound": bound, "chose": result.method, "seconds": clock() - begin}
    found = {"auto": float(result.score)}
    for method in OTHERS:
        with suppress(InputError):
            found[method] = float(run(method).score)
    losses = below(found, bound)
    for _ in range(AGAIN if limit is not None else 0):  # what the clock decides is not found again
        better = [method for method in losses if method in found]
        if better:
            top = float(run("auto").score)
            again = below({"auto": top, **{method: float(run(method).score) for method in better}}, None)
            losses = {name: by for name, by in losses.items() if name in again or name not in found}
    return line | {"scores": found, "once": below(found, bound), "below": losses}


def _compare(task: tuple[int, float, int, int, bool]) -> dict[str, Any] | None:
    """Compare on one problem; None if ``auto`` refuses its table.

    What a process loads at its first run of a kind is loaded before the clock starts.
    """
    number, limit, threads, columns, cpu = task
    kind = number % len(KINDS)
    if kind not in _warmed:
        _warmed.add(kind)
        data, options = problem(kind, 8)
        for method in ("auto", *OTHERS):
            with suppress(InputError):
                dagopt.learn(data, method, time_limit=5, progress=False, **options)
    try:
        return compare(number, limit, threads, columns, cpu)
    except InputError as error:
        print(f"problem {number}: {error}", flush=True)
        return None


_warmed: set[int] = set()  # the kinds of problems that this process has had


def below(scores: dict[str, float], bound: float | None) -> dict[str, float]:
    """Return by how much ``auto``, or its bound, is below each method that is better."""
    top = scores["auto"]
    near = EQUAL * max(abs(top), 1.0)
    worse = {method: value - top for method, value in scores.items() if value > top + near}
    false = {f"bound, {m}": value - bound for m, value in scores.items() if bound is not None and value > bound + near}
    return worse | false


def show(lines: list[dict[str, Any]]) -> str:
    """Return how often ``auto`` was below, by limit and threads, and each such problem."""
    counts = Counter((one["limit"], one["threads"]) for one in lines)
    rows = ["| limit | threads | problems | auto below | below once | proven |", "|---|---|---|---|---|---|"]
    for (limit, threads), count in sorted(counts.items()):
        own = [one for one in lines if (one["limit"], one["threads"]) == (limit, threads)]
        worse, proven = sum(bool(one["below"]) for one in own), sum(one["status"] == "optimal" for one in own)
        once = sum(bool(one.get("once")) and not one["below"] for one in own)
        rows.append(f"| {limit:g} s | {threads} | {count} | {worse} | {once} | {proven} |")
    for one in lines:
        if one["below"]:
            about = f"{one['kind']}, {one['columns']} columns, {one['rows']} rows"
            rows.append(f"problem {one['problem']} ({about}), {one['limit']:g} s, {one['threads']}: {one['below']}")
    return "\n".join(rows)


def main() -> None:
    """Run what is missing and show all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the number of the first problem")
    parser.add_argument("--limits", type=float, nargs="+", default=[1.0, 5.0, 20.0], help="seconds")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--columns", type=int, default=60, help="the most columns of a problem")
    parser.add_argument("--least", type=int, default=0, help="the fewest columns of a problem; others are left out")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--jobs", type=int, default=1, help="problems at the same time")
    parser.add_argument("--results", type=Path, default=Path("never_below.jsonl"))
    parser.add_argument("--cpu", action="store_true", help="limits of CPU seconds; for one thread")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    if given.cpu and given.threads != [1]:
        parser.error("--cpu counts the time of all threads together; give --threads 1")
    lines = [json.loads(line) for line in given.results.read_text().splitlines()] if given.results.exists() else []
    done = {(one["problem"], one["limit"], one["threads"], one.get("clock") == "cpu") for one in lines}
    numbers = [k for k in range(given.first, given.first + given.problems) if KINDS[k % len(KINDS)] in given.kinds]
    numbers = [k for k in numbers if given.least <= 0 or problem(k, given.columns).data.shape[1] >= given.least]
    tasks = [(k, limit, threads) for limit in given.limits for threads in given.threads for k in numbers]
    new = [task for task in tasks if (*task, given.cpu) not in done and not given.show]
    todo = [(*task, given.columns, given.cpu) for task in new]
    for line in answers(_compare, todo, given.jobs):
        if line is None:
            continue
        lines.append(line)
        with given.results.open("a") as file:
            file.write(json.dumps(line) + "\n")
    print(show(lines))
    sys.exit(any(one["below"] for one in lines))


if __name__ == "__main__":
    main()
