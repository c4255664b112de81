"""Is what a run says it will take what it takes? ``python -m benchmarks.memory [--jobs N]``.

One row per method, kind of data, and numbers of columns and rows: the bytes that ``memory_needed`` expects, the growth
of the process up to its peak, and their ratio. Each run has a process of its own, which first learns from eight
columns, so that modules and kernels do not count. A run takes more than was said if the ratio exceeds 1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from dagopt.memory import readable
from dagopt.methods.registry import METHODS

KINDS = ("gaussian", "discrete", "mixed")
SHAPES = ((20, 200_000), (300, 20_000), (2000, 200))  # columns and rows
HEAD = ("method", "kind", "columns", "rows", "said", "taken", "ratio")

CODE = """
import json, resource, sys
import numpy as np
import psutil
import dagopt
from dagopt.methods.memory_needed import memory_needed
method, kind, n, rows = *sys.argv[1:3], *map(int, sys.argv[3:5])
few = dagopt.simulate(n_nodes=8, n_samples=200, degree=2, random_state=1, kind=kind).data
try:
    dagopt.learn(few, method, time_limit=2, progress=False)
except dagopt.InputError:
    pass
rng = np.random.default_rng(0)
def column(j):
    is_number = kind == "gaussian" or (kind == "mixed" and j % 2)
    return rng.normal(size=rows) if is_number else np.array(["a", "b", "c"])[rng.integers(0, 3, rows)]
table = dagopt.as_table({f"X{j}": column(j) for j in range(n)})
before = psutil.Process().memory_info().rss
said = memory_needed(method, table)
try:
    dagopt.learn(table, method, time_limit=float(sys.argv[5]), max_parents=4, progress=False)
except dagopt.InputError as error:
    print(json.dumps({"refused": str(error)[:60]}))
    sys.exit()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"said": said, "taken": max(peak - before, 0)}))
"""

Cell = tuple[str, str, int, int]


def run(cell: Cell, limit: float) -> dict[str, float]:
    """Return the bytes that a run said and took, in a process of its own; nothing if it was refused."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, cell), str(limit)], capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"failed": done.stderr[-200:]}


def main() -> int:
    """Print the table; the exit code says whether a run took more than it said."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="only these methods")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only this kind of data")
    parser.add_argument("--size", action="append", type=int, help="only these numbers of columns")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds of each run")
    asked = parser.parse_args()
    shapes = [shape for shape in SHAPES if asked.size is None or shape[0] in asked.size]
    cells = [(*one, *shape) for *one, shape in product(asked.method or METHODS, asked.kind or KINDS, shapes)]
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
    above = 0
    with ThreadPoolExecutor(asked.jobs) as pool:
        for cell, found in zip(cells, pool.map(lambda cell: run(cell, asked.limit), cells), strict=True):
            shown = [*map(str, cell), *map(str, found.values())]
            if "said" in found:
                ratio = found["taken"] / max(found["said"], 1)
                above += ratio > 1
                shown = [*map(str, cell), readable(found["said"]), readable(found["taken"]), f"{ratio:.2f}"]
            print("| " + " | ".join(shown) + " |", flush=True)
    print(f"\n{len(cells)} runs, {above} took more than they said")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
