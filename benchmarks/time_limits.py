"""Does every method keep its time limit? ``python -m benchmarks.time_limits [--quick]``.

One row per method, number of columns, kind of data and limit: wall seconds, the score, that of the graph without edges.
Each run has a process of its own, so that loading and compiling count; the seconds are those of ``learn``. A run is
late if it takes more than a second or a tenth longer than its limit, whichever is more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass

METHODS = ("auto", "exact", "order", "cg-dca", "cg-dca-paper", "cg-minlp", "gobnilp", "hc", "tabu", "mmhc", "pc")
SIZES = (10, 20, 30, 60, 150, 300)
KINDS = ("gaussian", "discrete")
LIMITS = (1.0, 5.0, 20.0)
ROWS = 1000

CODE = """
import json, sys, time
import numpy as np
import dagopt
method, n, kind, limit = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
data = dagopt.simulate(n_nodes=n, n_samples={rows}, degree=2 if n > 4 else 1, random_state=0, kind=kind).data
begun = time.perf_counter()
try:
    result = dagopt.learn(data, method, time_limit=limit, progress=False)
except dagopt.InputError as error:
    print(json.dumps({{"seconds": time.perf_counter() - begun, "refused": str(error)}}))
else:
    seconds = time.perf_counter() - begun
    empty = dagopt.score(data, [])
    print(json.dumps({{"seconds": seconds, "status": result.status, "score": result.score, "empty": empty}}))
"""


@dataclass(frozen=True)
class Row:
    """One run."""

    method: str
    n: int
    kind: str
    limit: float
    seconds: float
    status: str
    score: float | None
    empty: float | None

    @property
    def is_late(self) -> bool:
        """Whether it took more than a second, or a tenth of its limit, too long."""
        return self.seconds > self.limit + max(1.0, 0.1 * self.limit)

    @property
    def is_below(self) -> bool:
        """Whether the DAG scores less than the graph without edges."""
        return self.score is not None and self.empty is not None and self.score < self.empty - 1e-6 * abs(self.empty)

    def line(self) -> str:
        """Return the row of a table in Markdown."""
        score = "-" if self.score is None else f"{self.score:.1f}"
        empty = "-" if self.empty is None else f"{self.empty:.1f}"
        marks = " ".join(word for word, holds in (("LATE", self.is_late), ("BELOW", self.is_below)) if holds)
        cells = (
            self.method,
            self.n,
            self.kind,
            f"{self.limit:g}",
            f"{self.seconds:.2f}",
            self.status,
            score,
            empty,
            marks,
        )
        return "| " + " | ".join(map(str, cells)) + " |"


def run(method: str, n: int, kind: str, limit: float) -> Row:
    command = [sys.executable, "-c", CODE.format(rows=ROWS), method, str(n), kind, str(limit)]
    begun = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * limit + 120)
    except subprocess.TimeoutExpired:
        return Row(method, n, kind, limit, time.perf_counter() - begun, "killed", None, None)
    if done.returncode:
        return Row(
            method, n, kind, limit, time.perf_counter() - begun, done.stderr.strip().splitlines()[-1][:60], None, None
        )
    said = json.loads(done.stdout.splitlines()[-1])
    status = "refused" if "refused" in said else said["status"]
    return Row(method, n, kind, limit, said["seconds"], status, said.get("score"), said.get("empty"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.time_limits", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="limits of 1 s, 30 and 150 columns")
    parser.add_argument("--method", action="append", help="these methods alone")
    parser.add_argument("--size", action="append", type=int, help="these numbers of columns alone")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--limit", action="append", type=float)
    asked = parser.parse_args()
    sizes = asked.size or ((30, 150) if asked.quick else SIZES)
    limits = asked.limit or ((1.0,) if asked.quick else LIMITS)
    print(
        "| method | columns | kind | limit | seconds | status | score | no edges | |\n" + "|---" * 9 + "|",
    )
    late = 0
    for method in asked.method or METHODS:
        for n in sizes:
            for kind in asked.kind or KINDS:
                for limit in limits:
                    row = run(method, n, kind, limit)
                    late += row.is_late or row.is_below
                    print(row.line(), flush=True)
    print(f"\n{late} runs were late or below the graph without edges")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
