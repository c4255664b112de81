"""``python -m hunt.planted``: plant faults one at a time, and say which test or how many seconds of hunting find them.

Each fault of ``faults.py`` is a small edit of the source that makes some claim false. It is applied to a copy of the
tree; the tests of its room run on the copy, and if none fails, parts of the hunt do. At the end all tests that failed
run on the tree as it is; a fault that was found by one that fails there too is looked for once more, without it. What
the hunt finds is tried on the tree as it is at once, and does not count if it is found there too. A fault that neither
finds within ``--seconds`` is a gap in the tests. ``--only k`` plants one, ``--state`` keeps what was found, ``--hunt``
skips tests, ``--jobs K`` looks for K faults at the same time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from statistics import median
from threading import Lock
from typing import NamedTuple

from hunt.faults import FAULTS, Fault

__all__ = ["Found", "plant"]

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "hunt", "benchmarks", "experiments", "pyproject.toml", "docs")
SHARE_OF_TESTS = 0.5  # of the seconds; the rest is for the hunt
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
FINDING = re.compile(r"(?<=^=== )(?P<part>\w+) (?P<number>\d+): .*", re.MULTILINE)


class Found(NamedTuple):
    """What found a fault, empty if nothing did, and after how many seconds."""

    by: str
    seconds: float

    def line(self, number: int, fault: Fault) -> str:
        """Return the row of a table in Markdown."""
        return f"| {number} | {fault.breaks} | `{fault.file}` | {self.by or 'NOT FOUND'} | {self.seconds:.0f} |"


def plant(fault: Fault, root: Path) -> None:
    """Make the edit of a fault in a tree; its old text must be there once."""
    path = root / "src" / "dagopt" / fault.file
    text = path.read_text()
    if text.count(fault.old) != 1:
        raise ValueError(
            f"expected the text once in {fault.file} but it is there {text.count(fault.old)} times:\n{fault.old}"
        )
    path.write_text(text.replace(fault.old, fault.new))


def main() -> int:
    """Print one row per fault; the exit code says whether one was not found."""
    asked = _asked()
    known: dict[str, Found] = {}
    if asked.state is not None and asked.state.exists():
        known = {name: Found(*found) for name, found in json.loads(asked.state.read_text()).items()}
    numbers = range(len(FAULTS)) if asked.only is None else asked.only
    print("| | fault | file | found by | seconds |\n|---|---|---|---|---|", flush=True)
    until = time.monotonic() + asked.all_seconds
    lock = Lock()
    without: set[str] = set()  # tests that fail in any case

    def look_for(number: int) -> Found | None:
        fault = FAULTS[number]
        if fault.breaks in known:
            return known[fault.breaks]
        if time.monotonic() > until:
            return None
        found = _look_for(fault, asked, without)
        with lock:
            known[fault.breaks] = found
            if asked.state is not None:
                asked.state.write_text(json.dumps(known, indent=1))
        return found

    while True:
        rows: list[Found] = []
        with ThreadPoolExecutor(asked.jobs) as pool:
            for number, found in zip(numbers, pool.map(look_for, numbers), strict=True):
                if found is not None:
                    rows.append(found)
                    print(found.line(number, FAULTS[number]), flush=True)
        failing = _failing({found.by.strip("`") for found in rows if found.by.startswith("`")})
        if not failing:
            break
        print(f"\nthese fail without a fault too: {' '.join(sorted(failing))}\n", flush=True)
        without |= failing
        known = {name: found for name, found in known.items() if found.by.strip("`") not in failing}
    missed = [found for found in rows if not found.by]
    by_tests = sum(found.by.startswith("`") for found in rows)
    seconds = sorted(found.seconds for found in rows if found.by)
    if seconds:
        print(
            f"\n{len(rows)} of {len(numbers)} planted, {by_tests} found by a test and {len(seconds) - by_tests} by the "
            f"hunt, after {median(seconds):.0f} s (median) and {seconds[-1]:.0f} s at most"
        )
    print(f"{len(missed)} not found")
    return 1 if missed else 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hunt.planted", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="for each fault")
    parser.add_argument("--all-seconds", type=float, default=float("inf"), help="begin no other fault after these")
    parser.add_argument("--jobs", type=int, default=1, help="faults that are looked for at the same time")
    parser.add_argument("--only", type=int, action="append", help="plant only this one; may be given several times")
    parser.add_argument("--state", type=Path, help="a file with what was found, and to continue from")
    parser.add_argument("--hunt", action="store_true", help="without the tests: by hunting alone")
    return parser.parse_args()


def _look_for(fault: Fault, asked: argparse.Namespace, without: set[str]) -> Found:
    """Plant a fault in a copy, run the tests, and then the hunt if no test fails."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for part in COPIED:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, copy / part, ignore=shutil.ignore_patterns("__pycache__", "compiled"))
            elif source.exists():
                shutil.copy(source, copy / part)
        plant(fault, copy)
        begun = time.monotonic()
        if not asked.hunt:
            tests = [*fault.tests.split(), *(f"--deselect={one}" for one in sorted(without))]
            failed = _first_failure(tests, copy, SHARE_OF_TESTS * asked.seconds)
            if failed:
                return Found(f"`{failed}`", time.monotonic() - begun)
        left = asked.seconds - (time.monotonic() - begun)
        hunted = _finding(fault, copy, left)
        return Found(hunted, time.monotonic() - begun)


def _environment(copy: Path) -> dict[str, str]:
    alone = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **alone, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}


def _failing(tests: set[str]) -> set[str]:
    """Return those of some tests that fail in the tree as it is."""
    if not tests:
        return set()
    done = subprocess.run(
        [*PYTEST, *sorted(tests)], cwd=ROOT, env=_environment(ROOT), capture_output=True, text=True, check=False
    )
    return set(FAILED.findall(done.stdout))


def _first_failure(tests: list[str], root: Path, seconds: float) -> str:
    """Return the first of some tests that fails in a tree, empty if none does in time."""
    command = [*PYTEST, "-x", "-m", "not slow", *tests]
    try:
        done = subprocess.run(
            command, cwd=root, env=_environment(root), capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return ""
    if done.returncode == 0:
        return ""
    found = FAILED.search(done.stdout)
    if found is None:
        raise RuntimeError(f"pytest ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return found[1]


def _finding(fault: Fault, copy: Path, seconds: float) -> str:
    """Return the first line of what the hunt finds in the copy alone, empty if it finds nothing in time."""
    until = time.monotonic() + max(seconds, 1.0)
    for seed in count():
        left = until - time.monotonic()
        if left <= 0.0:
            return ""
        found = _hunted(copy, [*fault.parts.split(), "--seed", str(seed), "--first", "--seconds", str(left)])
        if found is None:
            return ""
        if _hunted(ROOT, [found["part"], "--seed", str(seed), "--only", found["number"]]) is None:
            return f"hunt: {found[0][:80]}"
    raise AssertionError


def _hunted(root: Path, asked: list[str]) -> re.Match[str] | None:
    """Return the first finding of a hunt in a tree, None if there is none."""
    command = [sys.executable, "-m", "hunt", *asked]
    done = subprocess.run(command, cwd=root, env=_environment(root), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    found = FINDING.search(done.stdout)
    if found is None:
        raise RuntimeError(f"the hunt ended with {done.returncode}: {done.stderr[-500:]}")
    return found


if __name__ == "__main__":
    sys.exit(main())
