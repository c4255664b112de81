"""SCIP models are freed: solving again and leaving the interpreter does not crash."""

import subprocess
import sys

REPEATED = """
import numpy as np
from dagopt.families.families import Families, Family
from dagopt.integer.scip import ScipBranchAndCut
from dagopt.deadline import Deadline

rng = np.random.default_rng(0)
kept = []
for time_limit in [None, None, 1e-3, None]:
    pool = []
    for node in range(8):
        pool.append(Family(node, 0, -1e5))
        for _ in range(10):
            pool.append(Family(node, int(rng.integers(1, 256)) & ~(1 << node), -1e5 + rng.random()))
    kept.append(ScipBranchAndCut().solve(Families.from_list(8, pool), [], None, Deadline(time_limit)))
print(sorted({solution.status for solution in kept} & {"optimal"}))
"""

BROKEN = """
from dagopt.families.families import Families, Family
from dagopt.integer.scip import ScipBranchAndCut
from dagopt.deadline import Deadline

def broken(self, values):
    raise ZeroDivisionError("broken")

Families.taken = broken
pool = []
for node in range(3):
    pool.append(Family(node, 0, -1.0))
    pool.append(Family(node, 1 << (node + 1) % 3, 0.0))
try:
    ScipBranchAndCut().solve(Families.from_list(3, pool), [], None, Deadline())
except ZeroDivisionError as error:
    print(error)
"""


def run(code):
    """Run code in an interpreter of its own."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_repeated_solves_and_exit():
    """Several solves, one of them out of time, and a clean and silent end."""
    done = run(REPEATED)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['optimal']\n", "")


def test_exit_after_an_error_in_a_callback():
    """An exception in a callback is raised once, and the interpreter ends cleanly."""
    done = run(BROKEN)
    assert (done.returncode, done.stdout, done.stderr) == (0, "broken\n", "")
