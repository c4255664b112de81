"""What the first use on a machine costs, with nothing compiled yet.

``python -m benchmarks.cold_start``: seconds of every command on 2,000 rows of LUCAS (12 columns of levels) and 5,000 of
gaussian_test (7 columns of numbers), drawn from the bundled networks. "cold" begins with an empty folder of compiled
kernels, "warm" is the same command once more. Python's own bytecode is there from the start, as after an installation.
``--kernels`` lists what each command compiles, with CPU seconds; ``--quick`` leaves out the bootstrap.

``python -m benchmarks.cold_start --compile``: CPU seconds of compiling for methods that need kernels, and how many were
compiled in how many versions. ``--large`` adds larger cases, ``--case NAME`` takes one, ``--kernels`` lists the
kernels.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dagopt

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


def seconds(command: list[str], cache: Path, kernels: bool) -> tuple[float, float]:
    """Run a command as a program of its own; return wall and CPU seconds."""
    program = [sys.executable, *(["-c", WATCH + RUN] if kernels else ["-m", "dagopt.cli"]), *command]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["NUMBA_CACHE_DIR"] = str(cache)
    before, begun = os.times(), time.perf_counter()
    done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
    wall, after = time.perf_counter() - begun, os.times()
    if done.returncode:
        raise SystemExit(f"{command}: {done.stderr}")
    if kernels:
        print("\n".join(line for line in done.stderr.splitlines() if line.startswith("      ")))
    return wall, after.children_user + after.children_system - before.children_user - before.children_system


def compilation(wanted: dict[str, tuple[int, str, str, float]], kernels: bool) -> None:
    """Print the CPU seconds of compiling for each case, each as a program of its own without stored kernels."""
    print("| case | CPU s | of these compiling | kernels of dagopt | compiled, with those of numba |")
    print("|---|---|---|---|---|")
    for name, case in wanted.items():
        with tempfile.TemporaryDirectory() as cache:
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--case", choices=[*CASES, *LARGE])
    asked = parser.parse_args()
    if asked.compile or asked.case:
        everything = CASES | LARGE
        wanted = {asked.case: everything[asked.case]} if asked.case else everything if asked.large else CASES
        compilation(wanted, asked.kernels)
        return
    compileall.compile_dir(Path(dagopt.__file__).parent, quiet=2)
    print("| table | command | cold s | cold CPU s | warm s | warm CPU s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
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
