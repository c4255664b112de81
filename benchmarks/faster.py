"""Where others are, or were, faster: ``python -m benchmarks.faster [--long] [--only NAME]``, one row per case.

Each case runs in a process of its own, after a first run that loads the kernels, on a few of the rows where there are
many: seconds, CPU seconds, and what stands beside it in the same run. A process is ended after ``--limit`` seconds,
which its row says; without ``--long`` all of it takes about five minutes on two cores.

* ``flop``: order search on 25 continuous columns, beside FLOP with 20 restarts (``make peers`` installs it), with both
  scores;
* ``bdeu``: the recursion with BDeu on the first 20 columns of two networks, 25 with ``--long``; beside it the same with
  BIC, whose penalty rules out most sets;
* ``bootstrap``: one resample of LUCAS, of 100; beside it hill climbing of pgmpy on one resample, if it is installed;
* ``insurance``: ``auto`` on INSURANCE with 20,000 rows to its proof; beside it the listing of its parent sets alone;
* ``command``: ``dagopt learn`` on LUCAS, from start to end; beside it loading numpy and pandas, which it needs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import dagopt
from benchmarks import peers

FEW = 300  # rows of the first run, which loads the kernels
HERE = Path(__file__).resolve().parents[1]
ROWS = 5000
MEASURED = """
import json, resource, sys, time
import dagopt
from dagopt.deadline import FOREVER
{made}
def once():
    {call}
whole = data if "data" in globals() else None
if {few_first} and whole is not None:
    data = whole.head({few})
once()
data = whole
def spent():
    return sum(sum(resource.getrusage(whose)[:2]) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
begun, used = time.perf_counter(), spent()
told = once()
print(json.dumps([time.perf_counter() - begun, spent() - used, told]))
"""
LISTING = """
from dagopt.families.listing import Candidates
from dagopt.progress import NoProgress
from dagopt.workers import Workers
problem = dagopt.learn(data, "hc", score="bic", progress=False).problem
"""
PGMPY = """
import numpy as np, pandas as pd
from pgmpy.estimators import HillClimbSearch
drawn = data.iloc[np.random.default_rng(0).integers(0, len(data), len(data))].reset_index(drop=True)
"""

Row = tuple[str, str, float, float, str]


def measured(body: str, made: str, limit: float, few_first: bool = False) -> tuple[float, float, str]:
    """Return seconds, CPU seconds and what a function returns, in a process of its own; the reason if it fails.

    With ``few_first`` the first run, which loads the kernels, takes the first rows of ``data`` only.
    """
    program = MEASURED.format(made=made, call=body, few_first=few_first, few=FEW)
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=HERE, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return float("nan"), float("nan"), f"ended after {limit:g} s"
    if done.returncode:
        return float("nan"), float("nan"), (done.stderr.strip().splitlines() or ["failed"])[-1]
    seconds, cpu, told = json.loads(done.stdout.splitlines()[-1])
    return seconds, cpu, str(told)


def network(name: str, rows: int, columns: int = 0) -> str:
    """Return code that makes ``data`` from a bundled network."""
    chosen = f".iloc[:, :{columns}]" if columns else ""
    return f"data = dagopt.datasets.load({name!r}, n_samples={rows}, random_state=0)[0]{chosen}"


def learned(method: str, score: str) -> str:
    """Return code that learns from ``data`` and says the score and what is proven."""
    return (
        f'return "{{0.score:.4f}} {{0.status}}".format(dagopt.learn(data, {method!r}, score={score!r}, progress=False))'
    )


def flop(long: bool, limit: float) -> Iterator[Row]:
    """Yield order search and FLOP on the same table, each on one thread."""
    data, _ = dagopt.simulate(25, ROWS, 2.0, 0)
    score = dagopt.make_score(dagopt.as_table(data), "bic")
    for method in ("order", "flop0", "flop20"):
        answer = peers.run(method, data.to_numpy(), 1.0, limit)
        told = answer.reason if answer.graph is None else f"{score.total(peers.as_dag(answer.graph)):.4f}"
        yield "25 continuous columns", method, answer.seconds, answer.cpu, told


def bdeu(long: bool, limit: float) -> Iterator[Row]:
    """Yield the recursion with BDeu and with BIC."""
    for name in ("alarm", "insurance"):
        for columns in (20, 25) if long else (20,):
            for score in ("bdeu", "bic"):
                took = measured(learned("exact", score), network(name, ROWS, columns), limit, few_first=True)
                yield f"{columns} columns of {name.upper()}", f"exact, {score}", *took


def bootstrap(long: bool, limit: float) -> Iterator[Row]:
    """Yield one resample of LUCAS: the best DAG of all, and a hill climbing."""
    seconds, cpu, told = measured(
        "return dagopt.bootstrap(data, 100, progress=False).n_done", network("lucas", 2000), limit
    )
    yield "LUCAS", "a resample, of 100", seconds / 100, cpu / 100, f"{told} resamples, each proven"
    climb = "return len(HillClimbSearch(drawn).estimate(show_progress=False).edges())"
    yield "LUCAS", "pgmpy, hill climbing", *measured(climb, f"{network('lucas', 2000)}{PGMPY}", limit)


def insurance(long: bool, limit: float) -> Iterator[Row]:
    """Yield ``auto`` to its proof, and the listing of parent sets."""
    made = network("insurance", 20_000)
    yield "INSURANCE, 20,000 rows", "auto", *measured(learned("auto", "bic"), made, limit, few_first=True)
    call = """candidates = Candidates(problem.score, problem.knowledge)
    with Workers(FOREVER, NoProgress()) as workers:
        candidates.grow(workers)
    return f"{candidates.n_scored:,} sets scored, {len(candidates.pool()):,} kept\""""
    yield "INSURANCE, 20,000 rows", "listing alone", *measured(call, made + LISTING, limit)


def command(long: bool, limit: float) -> Iterator[Row]:
    """Yield the command and the loading of what it needs; the least of three runs each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "lucas.csv")
        dagopt.datasets.load("lucas", n_samples=2000, random_state=0)[0].to_csv(file, index=False)
        programs = {
            "dagopt learn": [sys.executable, "-m", "dagopt.cli", "learn", str(file)],
            "import numpy, pandas": [sys.executable, "-c", "import numpy, pandas"],
        }
        for name, program in programs.items():
            body = f"return subprocess.run({program!r}, capture_output=True, check=True).returncode"
            seconds, cpu, _ = min(measured(body, "import subprocess", limit) for _ in range(3))
            yield "LUCAS", name, seconds, cpu, ""


CASES: dict[str, Callable[[bool, float], Iterator[Row]]] = {
    "flop": flop,
    "bdeu": bdeu,
    "bootstrap": bootstrap,
    "insurance": insurance,
    "command": command,
}


def main() -> None:
    """Print one row per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="25 columns with BDeu too: minutes")
    parser.add_argument("--only", action="append", choices=[*CASES], help="one case; may be repeated")
    parser.add_argument("--limit", type=float, default=150.0, help="seconds after which a process is ended")
    asked = parser.parse_args()
    print("| table | what | seconds | CPU seconds | |\n|---|---|---:|---:|---|", flush=True)
    for name in asked.only or CASES:
        for table, what, seconds, cpu, told in CASES[name](asked.long, asked.limit):
            print(f"| {table} | {what} | {seconds:.3f} | {cpu:.3f} | {told} |", flush=True)


if __name__ == "__main__":
    main()
