"""Seconds of every command on two small tables, with nothing compiled yet and again.

``python -m benchmarks.cold_start``: 2,000 rows of LUCAS (12 columns of levels) and 5,000 of gaussian_test (7 columns of
numbers), drawn from the bundled networks. "cold" begins with an empty folder of compiled kernels, "warm" is the same
command once more. Python's own bytecode is there from the start, as after an installation.
``--kernels`` lists what each command compiles, with CPU seconds; ``--quick`` leaves out the bootstrap.
"""

from __future__ import annotations

import argparse
import compileall
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
        stack.append([time.process_time(), 0.0])
    def on_end(self, e):
        begun, inner = stack.pop()
        spent = time.process_time() - begun
        function = e.data["dispatcher"].py_func
        rows.append((spent - inner, function.__module__ + "." + function.__qualname__))
        if stack:
            stack[-1][1] += spent
event.register("numba:compile", Watch())
from dagopt.cli import run
run(sys.argv[1:])
for seconds, name in sorted(rows, reverse=True)[:15]:
    print(f"      {seconds:6.2f} s  {name}", file=sys.stderr)
"""


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
    program = [sys.executable, *(["-c", WATCH] if kernels else ["-m", "dagopt.cli"]), *command]
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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kernels", action="store_true")
    asked = parser.parse_args()
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
