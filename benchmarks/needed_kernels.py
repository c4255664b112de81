"""Which kernels the package needs, and for which types: ``python -m benchmarks.needed_kernels`` writes the list anew.

Runs of many kinds record the kernels that they call from Python, and compiling these records the kernels that they
call. The list, ``src/dagopt/kernels/needed.json``, is what ``dagopt warm`` compiles, what a first run compiles ahead of
need, and what a wheel ships. Run it after a kernel has got other arguments: a kernel that is not in the list still
works, but its first run compiles it. ``--seconds`` limits each run, ``--jobs`` is how many run side by side. ``--add``
keeps what is in the list, with what it calls, so only kernels that are new there are compiled.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
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
    elif method == "many columns":
        import dagopt.learning.many_columns
        from dagopt.graph import order
        from dagopt.scores import build
        dagopt.learning.many_columns.MOST_DENSE = order.MOST_DENSE = build.MOST_DENSE = 10
        dagopt.learn(data, score="ebic", progress=False)
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
    ("mixed", 12, 1, "order", {"score": "cg"}),
    ("continuous", 30, 2, "posterior", {"time_limit": 10}),
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
    ("continuous", 30, 1, "many columns", {}),
]


CALLS = """
import json, sys
from numba.core.dispatcher import Dispatcher
from dagopt.kernels.needed import ROOM, Needed, as_words
plain, stack, calls = Dispatcher.compile, [], {}

def compile(self, sig):
    function = self.py_func
    own = None
    if function.__module__.startswith(ROOM) and "<" not in function.__qualname__:
        try:
            words = tuple(map(as_words, sig))
            own = Needed(f"{function.__module__.removeprefix(ROOM)}.{function.__qualname__}", words)
            own = own if own.found() is not None and own.found()[1] == tuple(sig) else None
        except (AttributeError, TypeError):
            own = None
    if own is None:
        return plain(self, sig)
    if stack:
        calls[stack[-1]].setdefault(own.key, None)
    calls.setdefault(own.key, {})
    stack.append(own.key)
    try:
        return plain(self, sig)
    finally:
        stack.pop()

Dispatcher.compile = compile
for kernel, words in json.load(open(sys.argv[1])):
    found = Needed(kernel, tuple(words)).found()
    if found is not None:
        found[0].dispatcher.compile(found[1])
json.dump({key: list(inner) for key, inner in calls.items()}, open(sys.argv[2], "w"))
"""

KINDS = {"continuous": "continuous", "gaussian_test": "continuous", "levels": "mixed", "mixed": "mixed"}


def recorded(seconds: float, run: tuple[str, int, float, str, dict[str, object]]) -> list[Needed]:
    """Return what one run needs, as a program of its own."""
    kind, columns, degree, method, options = run
    if method not in ("bootstrap", "posterior", "explain", "many columns"):
        options = {**options, "time_limit": seconds}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "needed.json")
        program = [sys.executable, "-c", RUN, json.dumps([kind, columns, degree, method, options]), str(file)]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"  failed: {done.stderr.splitlines()[-1]}", flush=True)
            return []
        name = (f"{KINDS.get(kind, 'discrete')} {method}",)
        return [Needed(kernel, tuple(words), name) for kernel, words, *_ in json.loads(file.read_text())]


def calls_of(needed: list[Needed]) -> dict[str, list[str]]:
    """Return which kernels each kernel calls, those of the list and those that they call, by their keys."""
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder, "asked.json"), Path(folder, "answer.json")
        asked.write_text(json.dumps([(each.kernel, each.types) for each in needed]))
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        subprocess.run([sys.executable, "-c", CALLS, str(asked), str(answer)], check=True, env=environment)
        found: dict[str, list[str]] = json.loads(answer.read_text())
        return found


def with_calls(needed: list[Needed], parts: Iterable[dict[str, list[str]]]) -> list[Needed]:
    """Return the list with the kernels that those in it call."""
    calls: dict[str, list[str]] = {}
    for part in parts:
        for key, inner in part.items():
            calls.setdefault(key, inner)
    own = {each.key: each for each in needed}
    for key in calls:
        kernel, _, words = key.partition(" ")
        own.setdefault(key, Needed(kernel, tuple(json.loads(words))))
    places = {key: place for place, key in enumerate(own)}
    return [each._replace(calls=tuple(places[inner] for inner in calls.get(key, []))) for key, each in own.items()]


def main() -> None:
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--add", action="store_true", help="keep what is in the list")
    parser.add_argument("--method", help="only runs of this method")
    asked = parser.parse_args()
    found = {each.key: each for each in (listed() if asked.add else []) if each.runs}
    wanted = [run for run in RUNS if asked.method in (None, run[3])]
    with ThreadPoolExecutor(asked.jobs) as pool:
        for run, needed in zip(wanted, pool.map(partial(recorded, asked.seconds), wanted), strict=True):
            before = len(found)
            for each in needed:
                runs = found[each.key].runs if each.key in found else ()
                found[each.key] = each._replace(runs=tuple(sorted({*runs, *each.runs})))
            print(f"{run[0]} {run[1] or ''} {run[3]}: {len(needed)} kernels, {len(found) - before} new", flush=True)
        old = {each.key: [listed()[place].key for place in each.calls] for each in listed()} if asked.add else {}
        new = [each for each in found.values() if each.key not in old]
        parts = [old, *pool.map(calls_of, [new[i :: asked.jobs] for i in range(asked.jobs)])]
        write_list(with_calls(list(found.values()), parts))


if __name__ == "__main__":
    main()
