"""Where the CPU time of the suite goes: ``python -m benchmarks.suite`` runs its parts one after the other, and adds up.

Each folder of ``tests/`` is a process, and so are the files directly in it together. CPU seconds are user and system
time, with those of processes that tests start and wait for. ``collecting`` is what each process of ``make test`` pays
once; ``compiling`` is what numba compiles because it is not in ``needed.json``; ``processes`` are those started.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
seen: dict[str, list[float]] = {}  # by test: CPU seconds, those of compiling, processes
_compiled = [0.0, 0.0, 0.0]  # seconds, when the outermost began, depth
_started = [0]


def cpu() -> float:
    """Return the CPU seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def pytest_configure(config: pytest.Config) -> None:
    """Listen to compilations and to processes that are started."""
    from numba.core import event

    class Heard(event.Listener):
        def on_start(self, event: object) -> None:
            if _compiled[2] == 0:
                _compiled[1] = cpu()
            _compiled[2] += 1

        def on_end(self, event: object) -> None:
            _compiled[2] -= 1
            if _compiled[2] == 0:
                _compiled[0] += cpu() - _compiled[1]

    event.register("numba:compile", Heard())

    def hear(name: str, _: object) -> None:
        if name in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
            _started[0] += 1

    sys.addaudithook(hear)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the end of collecting."""
    seen["collecting"] = [cpu(), _compiled[0], _started[0]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Add up one test, with what it sets up."""
    before = cpu(), _compiled[0], _started[0]
    try:
        return (yield)
    finally:
        seen[item.nodeid] = [cpu() - before[0], _compiled[0] - before[1], _started[0] - before[2]]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was seen."""
    seen["all"] = [cpu(), _compiled[0], _started[0]]
    Path(os.environ["DAGOPT_SUITE"]).write_text(json.dumps(seen))


def measured(part: list[str], chosen: str) -> dict[str, list[float]]:
    """Return what one process saw."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "seen.json")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.suite", "-m", chosen, *part]
        environment = {**os.environ, "DAGOPT_SUITE": str(file), "OPENBLAS_NUM_THREADS": "1"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as in the Makefile
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        print("\n".join(line for line in done.stdout.splitlines()[-20:] if not line.endswith("%]")), flush=True)
        found: dict[str, list[float]] = json.loads(file.read_text())
        return found


def added(tests: dict[str, Any], by: Any) -> list[tuple[str, list[float]]]:
    """Return the sums by a name made from that of a test, the largest first, with how many tests."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    for name, figures in tests.items():
        for k, figure in enumerate([*figures, 1]):
            sums[by(name)][k] += figure
    return sorted(sums.items(), key=lambda pair: -pair[1][0])


def main() -> None:
    """Print the sums, and the dearest files and tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="folders and files; all by default")
    parser.add_argument("-m", dest="chosen", default="not slow", help="which tests, as for pytest")
    parser.add_argument("--most", type=int, default=30, help="how many files and tests are named")
    parser.add_argument("--state", type=Path, help="a file that keeps what was measured, and to which more is added")
    asked = parser.parse_args()
    folders = [path for path in sorted((ROOT / "tests").iterdir()) if any(path.glob("**/test_*.py"))]
    alone = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests").glob("test_*.py"))]
    parts = [[part] for part in asked.parts] or [*([str(path.relative_to(ROOT))] for path in folders), alone]
    known: dict[str, dict[str, list[float]]] = {}
    if asked.state is not None and asked.state.exists():
        known = json.loads(asked.state.read_text())
    for part in parts:
        name = part[0] if len(part) == 1 else "tests/*.py"
        if name in known and not asked.parts:
            continue
        known[name] = measured(part, asked.chosen)
        if asked.state is not None:
            asked.state.write_text(json.dumps(known))
    print(f"{'CPU s':>8} {'collect':>8} {'compile':>8} {'processes':>9} {'tests':>6}")
    for name, one in sorted(known.items(), key=lambda pair: -pair[1]["all"][0]):
        every = one["all"]
        print(f"{every[0]:8.1f} {one['collecting'][0]:8.1f} {every[1]:8.1f} {every[2]:9.0f} {len(one) - 2:6} {name}")
    print(f"{sum(one['all'][0] for one in known.values()):8.1f} in all")
    tests = {name: one[name] for one in known.values() for name in one if "::" in name}
    for by in (lambda name: name.split("::")[0], lambda name: name.split("[")[0], lambda name: name):
        print(f"\n{'CPU s':>8} {'compile':>8} {'processes':>9} {'tests':>6}")
        for name, figures in added(tests, by)[: asked.most]:
            print(f"{figures[0]:8.1f} {figures[1]:8.1f} {figures[2]:9.0f} {figures[3]:6.0f} {name}")


if __name__ == "__main__":
    main()
