"""What the first use on a machine costs, with nothing compiled yet.

``python -m benchmarks.cold_start``: ``learn`` with a time limit of 10 s on all kinds of tables, with an empty store of
compiled kernels and then again. ``--tree FOLDER`` runs another tree of dagopt beside this one, such as the one before a
change; ``--table NAME`` takes one table. Kernels that the tree ships (``python -m dagopt.kernels.warming
src/dagopt/kernels/compiled`` makes them) are used, as from a wheel.

``python -m benchmarks.cold_start --commands``: seconds of every command on 2,000 rows of LUCAS (12 columns of levels)
and 5,000 of gaussian_test (7 columns of numbers), drawn from the bundled networks. "cold" begins with an empty folder
of compiled kernels, "warm" is the same command once more. Python's own bytecode is there from the start, as after an
installation. ``--kernels`` lists what each command compiles, with CPU seconds; ``--quick`` leaves out the bootstrap.

``python -m benchmarks.cold_start --warm-command``: the second and later runs of ``dagopt learn`` on the same 2,000 rows
of LUCAS, import included, this tree and those of ``--tree`` in turn: wall and CPU seconds over ``--repeats``.

``python -m benchmarks.cold_start --compile``: CPU seconds of compiling for methods that need kernels, and how many were
compiled in how many versions. ``--large`` adds larger cases, ``--case NAME`` takes one, ``--kernels`` lists the
kernels.

``python -m benchmarks.cold_start --install FROM``: seconds from ``git clone`` of the repository FROM, or from ``pip
install`` of the wheel FROM, to the first graph, in a new environment without stored kernels. Packages that dagopt needs
are taken from where pip finds them; nothing that pip keeps is used.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

import dagopt
from dagopt.kernels import store

WATCH = """
import sys, time
from numba.core import event
rows, stack = [], []
class Watch(event.Listener):
    def on_start(self, e):
        stack.append([time.thread_time(), 0.0])
    def on_end(self, e):
        begun, inner = stack.pop()
        spent = time.thread_time() - begun
        function = e.data["dispatcher"].py_func
        rows.append((spent - inner, function.__module__ + "." + function.__qualname__))
        if stack:
            stack[-1][1] += spent
event.register("numba:compile", Watch())
"""

FIRST_GRAPH = """
import dagopt
data = dagopt.datasets.load("alarm", n_samples=2000, random_state=0)[0]
dagopt.learn(data, time_limit=10, progress=False)
"""

RUN = """
from dagopt.cli import run
run(sys.argv[1:])
for seconds, name in sorted(rows, reverse=True)[:15]:
    print(f"      {seconds:6.2f} s  {name}", file=sys.stderr)
"""

CASE = """
import collections, json, dagopt
columns, network, method, limit = json.loads(sys.argv[1])
if network:
    data = dagopt.datasets.load(network, n_samples=5000, random_state=0)[0]
else:
    data = dagopt.simulate(n_nodes=columns, n_samples=2000, random_state=0).data
before = time.process_time()
if method == "bootstrap":
    dagopt.bootstrap(data, progress=False)
else:
    dagopt.learn(data, method, time_limit=limit, progress=False)
spent = time.process_time() - before
by_kernel = collections.defaultdict(list)
for seconds, name in rows:
    by_kernel[name].append(seconds)
print(json.dumps([spent, {name: [sum(each), len(each)] for name, each in by_kernel.items()}]))
"""

CASES: dict[str, tuple[int, str, str, float]] = {  # columns, bundled network, method, time limit
    "auto, 30 continuous columns": (30, "", "auto", 20.0),
    "order, 100 continuous columns": (100, "", "order", 20.0),
    "exact, 20 continuous columns": (20, "", "exact", 20.0),
    "hc, 100 continuous columns": (100, "", "hc", 20.0),
    "auto, ALARM": (37, "alarm", "auto", 20.0),
    "bootstrap, LUCAS": (12, "lucas", "bootstrap", 20.0),
}
LARGE: dict[str, tuple[int, str, str, float]] = {
    "auto, 50 continuous columns": (50, "", "auto", 20.0),
    "auto, 100 continuous columns": (100, "", "auto", 20.0),
    "hc, ALARM": (37, "alarm", "hc", 20.0),
    "order, ALARM": (37, "alarm", "order", 20.0),
    "cg-dca, 30 continuous columns": (30, "", "cg-dca", 20.0),
    "pc, 50 continuous columns": (50, "", "pc", 20.0),
}


FIRST = """
import json, sys, time
import dagopt
import pandas as pd
data = pd.read_pickle(sys.argv[1])
begun = time.perf_counter()
result = dagopt.learn(data, time_limit=10.0, progress=False)
print(json.dumps([time.perf_counter() - begun, result.score, result.status]))
"""
TABLES = {  # columns, edges per column, and the kind; or a bundled network
    "30 continuous columns": (30, 2.0, "gaussian"),
    "30 continuous columns, dense": (30, 4.0, "gaussian"),
    "100 continuous columns": (100, 2.0, "gaussian"),
    "ALARM": "alarm",
    "INSURANCE": "insurance",
    "LUCAS": "lucas",
    "15 mixed columns": (15, 2.0, "mixed"),
    "30 mixed columns": (30, 2.0, "mixed"),
}


def made(name: str) -> pd.DataFrame:
    """Return a table of ``TABLES``."""
    how = TABLES[name]
    if isinstance(how, str):
        return dagopt.datasets.load(how, n_samples=5000, random_state=0)[0]
    columns, degree, kind = how
    return dagopt.simulate(n_nodes=columns, n_samples=2000, degree=degree, kind=kind, random_state=0).data


def first_runs(trees: list[Path], wanted: list[str]) -> None:
    """Print the seconds of the first and the second run on each table, for each tree in turn."""
    print("| table | tree | first run | CPU | second run | CPU | first - second | first score | second score |")
    print(f"|---|---|{'---:|' * 7}")
    for name in wanted:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made_here:
            file = Path(made_here, "table.pickle")
            made(name).to_pickle(file)
            for tree in trees:
                environment = {
                    **os.environ,
                    "PYTHONPATH": str(tree),
                    "NUMBA_CACHE_DIR": str(Path(made_here, tree.parent.name)),
                }
                runs = [_first_run(file, environment) for _ in range(2)]
                (first, cpu, score, _), (second, again, other, _) = runs
                figures = f"{first:.1f} s | {cpu:.1f} | {second:.1f} s | {again:.1f} | {first - second:.1f} s"
                print(f"| {name} | {tree.parent.name} | {figures} | {score:.2f} | {other:.2f} |", flush=True)


def _first_run(file: Path, environment: dict[str, str]) -> tuple[float, float, float, str]:
    """Return the seconds of one run of ``learn``, the CPU seconds of its process, the score and the status."""
    before = os.times()
    program = [sys.executable, "-c", FIRST, str(file)]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    seconds, score, status = json.loads(done.stdout.splitlines()[-1])
    return seconds, cpu, score, status


def tables(folder: Path) -> dict[str, Path]:
    """Write the two tables; return their files."""
    files = {}
    for name, rows in (("lucas", 2000), ("gaussian_test", 5000)):
        files[name] = folder / f"{name}.csv"
        dagopt.datasets.load(name, n_samples=rows, random_state=0)[0].to_csv(files[name], index=False)
    return files


def commands(data: Path, folder: Path, quick: bool) -> dict[str, list[str]]:
    """Return the commands by name."""
    graph = str(folder / "out" / "graph.dot")
    found = {
        "learn": ["learn", str(data), "--out", str(folder / "out")],
        "score": ["score", str(data), graph],
        "fit": ["fit", str(data), graph, "--out", str(folder / "fitted.json")],
        "explain": ["explain", str(data)],
        "doctor": ["doctor", str(data)],
        "bootstrap": ["bootstrap", str(data)],
    }
    if quick:
        del found["bootstrap"]
    return found


def seconds(command: list[str], cache: Path, kernels: bool, tree: Path | None = None) -> tuple[float, float]:
    """Run a command as a program of its own, of this tree or another; return wall and CPU seconds."""
    program = [sys.executable, *(["-c", WATCH + RUN] if kernels else ["-m", "dagopt.cli"]), *command]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["NUMBA_CACHE_DIR"] = str(cache)
    if tree is not None:
        environment["PYTHONPATH"] = str(tree)
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
    wall, after = time.perf_counter() - begun, os.times()
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr}")
    if kernels:
        print("\n".join(line for line in done.stderr.splitlines() if line.startswith("      ")))
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def warm_command(trees: list[Path], repeats: int) -> None:
    """Print the seconds of ``dagopt learn`` on a small table, with the user's store of kernels, the trees in turn."""
    for tree in trees:
        compileall.compile_dir(tree, quiet=2)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        data = tables(Path(name))["lucas"]
        runs: dict[Path, list[tuple[float, float]]] = {tree: [] for tree in trees}
        for turn in range(repeats + 1):
            for tree, own in runs.items():
                spent = seconds(["learn", str(data)], store.folder().parent, False, tree)
                if turn:  # the first may compile
                    own.append(spent)
    print("| tree | wall s, median | least | CPU s, median | least |\n|---|---:|---:|---:|---:|")
    for tree, own in runs.items():
        figures = [f"{pick(each):.2f}" for each in zip(*own, strict=True) for pick in (statistics.median, min)]
        print(f"| {tree.parent.name} | {' | '.join(figures)} |")


def compilation(wanted: dict[str, tuple[int, str, str, float]], kernels: bool) -> None:
    """Print the CPU seconds of compiling for each case, each as a program of its own without stored kernels."""
    print("| case | CPU s | of these compiling | kernels of dagopt | compiled, with those of numba |")
    print("|---|---|---|---|---|")
    for name, case in wanted.items():
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
            program = [sys.executable, "-c", WATCH + CASE, json.dumps(case)]
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
            done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr}")
        spent, found = json.loads(done.stdout.splitlines()[-1])
        compiling, versions = (sum(each[k] for each in found.values()) for k in range(2))
        own = sum(kernel.startswith("dagopt.") for kernel in found)
        print(f"| {name} | {spent:.1f} | {compiling:.1f} | {own} | {versions} |", flush=True)
        if kernels:
            for kernel, (seconds, times) in sorted(found.items(), key=lambda each: -each[1][0])[:25]:
                print(f"      {seconds:6.2f} s  {times} x  {kernel}")


def installed(source: str) -> None:
    """Print the seconds of each step from a clone or a wheel to the first graph, and of the second one."""
    print("| step | s |\n|---|---:|", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        python, clone = str(folder / "env" / "bin" / "python"), str(folder / "clone")
        steps: dict[str, list[str]] = {}
        if not source.endswith(".whl"):
            steps["git clone"] = ["git", "clone", "--quiet", source, clone]
        steps["new environment"] = [sys.executable, "-m", "venv", str(folder / "env")]
        wanted = str(Path(source).resolve()) if source.endswith(".whl") else clone
        steps["pip install"] = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir", wanted]
        steps["first graph, ALARM"] = steps["second graph"] = [python, "-c", FIRST_GRAPH]
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        environment |= {"XDG_CACHE_HOME": str(folder / "cache"), "NUMBA_CACHE_DIR": str(folder / "cache")}
        begun = time.perf_counter()
        for step, words in steps.items():
            since = time.perf_counter()
            subprocess.run(words, check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL)
            print(f"| {step} | {time.perf_counter() - since:.1f} |", flush=True)
            if step.startswith("first"):
                print(f"| all until the first graph | {time.perf_counter() - begun:.1f} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, action="append", default=[], help="a folder src of another tree")
    parser.add_argument("--table", choices=TABLES, action="append")
    parser.add_argument("--commands", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--warm-command", action="store_true")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--case", choices=[*CASES, *LARGE])
    parser.add_argument("--install", metavar="FROM", help="a repository or a wheel")
    asked = parser.parse_args()
    if asked.install:
        installed(asked.install)
        return
    if asked.compile or asked.case:
        everything = CASES | LARGE
        wanted = {asked.case: everything[asked.case]} if asked.case else everything if asked.large else CASES
        compilation(wanted, asked.kernels)
        return
    trees = [*(tree.resolve() for tree in asked.tree), Path(dagopt.__file__).parents[1]]
    if asked.warm_command:
        warm_command(trees, asked.repeats)
        return
    if not asked.commands:
        first_runs(trees, asked.table or list(TABLES))
        return
    compileall.compile_dir(Path(dagopt.__file__).parent, quiet=2)
    print("| table | command | cold s | cold CPU s | warm s | warm CPU s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for kind, data in tables(folder).items():
            for command, words in commands(data, folder, asked.quick).items():
                cache = folder / f"cache-{kind}-{command}"
                cold = seconds(words, cache, asked.kernels)
                warm = seconds(words, cache, False)
                figures = " | ".join(f"{value:.1f}" for value in (*cold, *warm))
                print(f"| {kind} | {command} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
