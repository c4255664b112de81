"""Does every method keep its time limit? ``python -m benchmarks.time_limits [--quick]``.

One row per method, kind of data, number of columns and limit: the wall seconds of ``learn``, by how many it is over the
limit, and what the DAG scores more than the graph without edges. Each run has a process of its own. That first learns
from eight columns, so that modules and kernels are loaded (column "loading"), and compiled on a machine where they were
not; no limit counts that. A run is late if it takes more than a second or a tenth longer than its limit, whichever is
more. The whole table takes about three hours on a quiet machine, ``--quick`` about four minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass

from dagopt.methods.registry import METHODS

SIZES = (10, 20, 30, 60, 100, 150, 300)
KINDS = ("gaussian", "discrete")
LIMITS = (1.0, 5.0, 20.0)
QUICK_SIZES, QUICK_LIMITS = (30, 150), (1.0,)
ROWS = 1000

CODE = """
import json, sys, time
import dagopt
method, n, kind, limit = sys.argv[1], int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
begun = time.perf_counter()
few = dagopt.simulate(n_nodes=8, n_samples=200, degree=2, random_state=1, kind=kind).data
try:
    dagopt.learn(few, method, time_limit=20, progress=False)
except dagopt.InputError:
    pass
loading = time.perf_counter() - begun
data = dagopt.simulate(n_nodes=n, n_samples={rows}, degree=2, random_state=0, kind=kind).data
begun = time.perf_counter()
try:
    result = dagopt.learn(data, method, time_limit=limit, progress=False)
except dagopt.InputError as error:
    print(json.dumps({{"seconds": time.perf_counter() - begun, "loading": loading, "status": "refused"}}))
else:
    seconds = time.perf_counter() - begun - result.provenance.compile_seconds
    gain = None if result.score is None else result.score - dagopt.score(data, [])
    print(json.dumps({{"seconds": seconds, "loading": loading, "status": result.status, "gain": gain}}))
"""


@dataclass(frozen=True)
class Row:
    """One run."""

    method: str
    kind: str
    n: int
    limit: float
    seconds: float
    status: str
    loading: float | None = None
    gain: float | None = None

    @property
    def is_late(self) -> bool:
        """Whether it took more than a second, or a tenth of its limit, too long."""
        return self.seconds > self.limit + max(1.0, 0.1 * self.limit)

    @property
    def is_below(self) -> bool:
        """Whether the DAG scores less than the graph without edges."""
        return self.gain is not None and self.gain < -1e-6

    def line(self) -> str:
        """Return the row of a table in Markdown."""
        marks = " ".join(word for word, holds in (("LATE", self.is_late), ("BELOW", self.is_below)) if holds)
        over = f"{self.seconds - self.limit:+.2f}" if self.seconds > self.limit else ""
        cells = (
            self.method, self.kind, self.n, f"{self.limit:g}", f"{self.seconds:.2f}", over, self.status,
            "-" if self.gain is None else f"{self.gain:.1f}",
            "-" if self.loading is None else f"{self.loading:.1f}", marks,
        )  # fmt: skip
        return "| " + " | ".join(map(str, cells)) + " |"


def run(method: str, kind: str, n: int, limit: float) -> Row:
    """Return how one run went."""
    command = [sys.executable, "-c", CODE.format(rows=ROWS), method, str(n), kind, str(limit)]
    begun = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10 * limit + 300)
    except subprocess.TimeoutExpired:
        return Row(method, kind, n, limit, time.perf_counter() - begun, "killed")
    if done.returncode:
        return Row(method, kind, n, limit, time.perf_counter() - begun, done.stderr.strip().splitlines()[-1][:60])
    said = json.loads(done.stdout.splitlines()[-1])
    return Row(method, kind, n, limit, said["seconds"], said["status"], said["loading"], said.get("gain"))


def main() -> int:
    """Print the table; the exit code says whether a run was late, below the empty graph, or failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.time_limits", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a limit of 1 s, 30 and 150 columns")
    parser.add_argument("--method", action="append", choices=list(METHODS), help="only these methods")
    parser.add_argument("--size", action="append", type=int, help="only these numbers of columns")
    parser.add_argument("--kind", action="append", choices=KINDS, help="this kind of data alone")
    parser.add_argument("--limit", action="append", type=float, help="these limits alone, in seconds")
    asked = parser.parse_args()
    sizes = asked.size or (QUICK_SIZES if asked.quick else SIZES)
    limits = asked.limit or (QUICK_LIMITS if asked.quick else LIMITS)
    head = ("method", "kind", "columns", "limit", "seconds", "over by", "status", "score - empty", "loading", "")
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|", flush=True)
    bad = 0
    for method in asked.method or METHODS:
        for kind in asked.kind or KINDS:
            for n in sizes:
                for limit in limits:
                    row = run(method, kind, n, limit)
                    bad += row.is_late or row.is_below or row.loading is None
                    print(row.line(), flush=True)
    print(f"\n{bad} runs were late, below the graph without edges, or failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
