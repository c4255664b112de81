"""``make package``: build what is published, check it, and learn a first graph with it in empty environments.

The wheel and the source archive are built into ``dist/`` and checked by twine. For every Python from 3.11 on that is at
hand, the wheel is installed into a new environment, and a graph is learned there twice: kernels are compiled only
the first time. Needs a package index for the dependencies.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

from hunt.matrix import ROOT, pythons

DIST = ROOT / "dist"
WITHIN = ("dagopt/", "dagopt-")  # folders that a wheel may have
NEEDED = ("tests/conftest.py", "docs/index.md", "benchmarks/__init__.py", "experiments/__init__.py", "hunt/__init__.py")
STEPS = {
    "version": ("--version",),
    "table": ("simulate", "--network", "lucas", "--samples", "2000", "--out", "data.csv"),
    "first graph": ("learn", "data.csv", "--out", "first"),
    "again": ("learn", "data.csv", "--out", "again"),
}


class Spent(NamedTuple):
    """Seconds of a command by the clock, and of the processors."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.cpu:.1f})"


def called(command: list[str], folder: Path) -> Spent:
    """Run a command and return its seconds; stop with what it printed if it fails."""
    begin, before = time.perf_counter(), os.times()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Spent(time.perf_counter() - begin, used)


def built() -> Path:
    """Return the wheel, after both archives have been built and checked."""
    shutil.rmtree(DIST, ignore_errors=True)
    called([sys.executable, "-m", "build", "--outdir", str(DIST)], ROOT)
    files = sorted(map(str, DIST.iterdir()))
    called([sys.executable, "-m", "twine", "check", "--strict", *files], ROOT)
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        foreign = [name for name in archive.namelist() if not name.startswith(WITHIN)]
        unpacked = sum(one.file_size for one in archive.infolist())
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = [name for name in NEEDED if name not in names]
    if foreign or missing:
        sys.exit(f"the wheel has {foreign or 'nothing foreign'}, the source archive misses {missing or 'nothing'}")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {unpacked / 1e6:.1f} MB unpacked")
    print(f"{source.name}: {source.stat().st_size / 1e6:.2f} MB\n", flush=True)
    return wheel


def tried(python: Path, wheel: Path) -> list[Spent]:
    """Return the seconds of the installation into an empty environment and of every step."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        called([str(python), "-m", "venv", "environment"], folder)
        own = folder / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)]
        spent = [called([str(own / "python"), *install], folder)]
        return spent + [called([str(own / "dagopt"), *step], folder) for step in STEPS.values()]


def main() -> None:
    """Build, check, install and learn."""
    parser = argparse.ArgumentParser(prog="python -m hunt.package", description=__doc__)
    parser.add_argument("--python", action="append", help="only these versions, such as 3.12")
    asked = parser.parse_args()
    wheel = built()
    print("seconds by the clock, and of the processors in brackets")
    print(f"| Python | install | {' | '.join(STEPS)} |\n|---|{'---:|' * (len(STEPS) + 1)}", flush=True)
    for version, python in sorted(pythons().items()):
        if not asked.python or version in asked.python:
            print(f"| {version} | {' | '.join(map(str, tried(python, wheel)))} |", flush=True)


if __name__ == "__main__":
    main()
