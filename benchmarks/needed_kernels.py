"""Which kernels the package needs, and for which types: ``python -m benchmarks.needed_kernels`` writes the list anew.

Runs of many kinds record the kernels that they call from Python; the list, ``src/dagopt/kernels/needed.json``, is what
``dagopt warm`` compiles and what a wheel ships. Run it after a kernel has got other arguments: a kernel that is not in
the list still works, but its first run compiles it. ``--seconds`` limits each run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from dagopt.kernels.needed import Needed, listed, write_list

RUN = """
import json, sys, dagopt, numpy as np, pandas as pd
import dagopt.kernels.plain
from dagopt.kernels.needed import recording
dagopt.kernels.plain.MOST_PLAIN_STEPS = -1  # also for little work, because shipped kernels are used for that
kind, columns, degree, method, options = json.loads(sys.argv[1])
if kind == "continuous":
    data = dagopt.simulate(n_nodes=columns, n_samples=2000, degree=degree, random_state=0).data
elif kind == "levels":
    data = dagopt.simulate(n_nodes=columns, n_samples=2000, degree=degree, random_state=0).data
    data = data.apply(lambda column: pd.cut(column, 3, labels=list("abc")) if column.name < "X6" else column)
elif kind == "mixed":
    data = dagopt.simulate(n_nodes=columns, n_samples=2000, degree=degree, random_state=0, kind="mixed").data
else:
    data = dagopt.datasets.load(kind, n_samples=5000, random_state=0)[0]
with recording() as needed:
    if method == "bootstrap":
        dagopt.bootstrap(data, n=8, random_state=0, progress=False, **options)
    elif method == "posterior":
        dagopt.edge_posterior(data, progress=False, **options)
    elif method == "explain":
        dagopt.learn(data, progress=False).regrets()
    else:
        dagopt.learn(data, method, progress=False, **options)
json.dump(needed, open(sys.argv[2], "w"))
"""

# The kind of table or a bundled network, columns, edges per column, the method and its options: the usual ones first.
RUNS: list[tuple[str, int, float, str, dict[str, object]]] = [
    *(
        ("continuous", columns, degree, "auto", {})
        for columns, degree in ((30, 2), (30, 4), (100, 2), (60, 4), (15, 2))
    ),
    *((name, 0, 0, "auto", {}) for name in ("alarm", "insurance", "lucas", "asia", "gaussian_test")),
    *(("mixed", columns, 2, "auto", {}) for columns in (15, 30, 60)),
    ("levels", 15, 1, "auto", {}),
    *((name, 0, 0, "auto", {"score": "bdeu"}) for name in ("alarm", "lucas")),
    ("continuous", 22, 2, "auto", {}),
    ("continuous", 300, 2, "auto", {}),
    *(
        (table, columns, 2, method, {})
        for method in ("order", "hc", "tabu", "mmhc", "pc")
        for table, columns in (("continuous", 40), ("alarm", 0), ("mixed", 20))
        if not (table == "mixed" and method in ("mmhc", "pc"))  # tests of independence need columns of one kind
    ),
    *((table, columns, 2, "exact", {}) for table, columns in (("continuous", 18), ("mixed", 14), ("lucas", 0))),
    ("continuous", 16, 2, "exact", {"max_parents": 3}),
    ("continuous", 14, 2, "exact", {"n_best": 5}),
    ("continuous", 25, 2, "branch-and-cut", {}),
    ("alarm", 0, 0, "gobnilp", {}),
    ("continuous", 25, 2, "cg-dca", {}),
    ("lucas", 0, 0, "cg-dca", {}),
    *(
        (table, columns, 2, "bootstrap", {})
        for table, columns in (("lucas", 0), ("continuous", 15), ("continuous", 40))
    ),
    *((table, columns, 2, "posterior", {}) for table, columns in (("asia", 0), ("continuous", 12))),
    *((table, columns, 2, "explain", {}) for table, columns in (("lucas", 0), ("continuous", 12))),
]


def recorded(run: tuple[str, int, float, str, dict[str, object]], seconds: float) -> list[Needed]:
    """Return what one run needs, as a program of its own."""
    kind, columns, degree, method, options = run
    if method not in ("bootstrap", "posterior", "explain"):
        options = {**options, "time_limit": seconds}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "needed.json")
        program = [sys.executable, "-c", RUN, json.dumps([kind, columns, degree, method, options]), str(file)]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"  failed: {done.stderr.splitlines()[-1]}", flush=True)
            return []
        return [Needed(kernel, tuple(words)) for kernel, words in json.loads(file.read_text())]


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--add", action="store_true", help="keep what is in the list")
    parser.add_argument("--method", help="only runs of this method")
    asked = parser.parse_args()
    found = {json.dumps(each): each for each in (listed() if asked.add else [])}
    for run in [run for run in RUNS if asked.method in (None, run[3])]:
        before = len(found)
        needed = recorded(run, asked.seconds)
        found |= {json.dumps(each): each for each in needed if json.dumps(each) not in found}
        print(f"{run[0]} {run[1] or ''} {run[3]}: {len(needed)} kernels, {len(found) - before} new", flush=True)
        write_list(list(found.values()))


if __name__ == "__main__":
    main()
