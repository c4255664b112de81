"""``make package``: build what is published, check it, and learn a first graph with it in empty environments.

The wheel and the source archive are built into ``dist/`` and checked by twine. For every Python from 3.11 on that is at
hand, the kernels are compiled and a wheel that ships them is built too. Each wheel is installed into a new environment
without any compiled kernels, and graphs are learned there twice. Needs a package index for the dependencies.
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
    "30 columns": ("simulate", "--nodes", "30", "--samples", "2000", "--degree", "2", "--seed", "0", "--out", "30.csv"),
    "their first graph": ("learn", "30.csv", "--time-limit", "10", "--out", "first30"),
    "again, 30 columns": ("learn", "30.csv", "--time-limit", "10", "--out", "again30"),
}


class Spent(NamedTuple):
    """Seconds of a command by the clock, and of the processors."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.cpu:.1f})"


def called(command: list[str], folder: Path, **variables: str) -> Spent:
    """Run a command and return its seconds; stop with what it printed if it fails."""
    begin, before = time.perf_counter(), os.times()
    given = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=given)
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


def environment(python: Path, folder: Path, *packages: str) -> tuple[Path, Spent]:
    """Return the folder of programs of a new environment with these packages, and what installing them took."""
    called([str(python), "-m", "venv", "environment"], folder)
    own = folder / "environment" / ("Scripts" if sys.platform == "win32" else "bin")
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    return own, called([str(own / "python"), *install], folder)


def with_kernels(python: Path, wheel: Path) -> tuple[Path, Spent]:
    """Build a wheel that ships the kernels, compiled with this Python; return it and what compiling took."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        own, _ = environment(python, folder, str(wheel), "build")
        spent = called([str(own / "python"), "-m", "dagopt.kernels.warming", str(folder / "kernels")], folder)
        build = ["-m", "build", "--wheel", "--outdir", str(folder / "out"), str(ROOT)]
        called([str(own / "python"), *build], folder, DAGOPT_KERNELS=str(folder / "kernels"))
        (found,) = (folder / "out").glob("*.whl")
        shutil.move(found, DIST / found.name)
        return DIST / found.name, spent


def tried(python: Path, wheel: Path) -> list[Spent]:
    """Return the seconds of the installation into an empty environment and of every step."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        own, install = environment(python, folder, str(wheel))
        store = str(folder / "kernels")
        return [install] + [
            called([str(own / "dagopt"), *step], folder, NUMBA_CACHE_DIR=store) for step in STEPS.values()
        ]


def main() -> None:
    """Build, check, install and learn."""
    parser = argparse.ArgumentParser(prog="python -m hunt.package", description=__doc__)
    parser.add_argument("--python", action="append", help="only these versions, such as 3.12")
    asked = parser.parse_args()
    wheel = built()
    print("seconds by the clock, and of the processors in brackets")
    print(f"| Python | wheel | install | {' | '.join(STEPS)} |\n|---|---|{'---:|' * (len(STEPS) + 1)}", flush=True)
    for version, python in sorted(pythons().items()):
        if not asked.python or version in asked.python:
            print(f"| {version} | pure | {' | '.join(map(str, tried(python, wheel)))} |", flush=True)
            full, compiling = with_kernels(python, wheel)
            size = f"{full.stat().st_size / 1e6:.2f} MB, kernels compiled in {compiling}"
            print(f"| {version} | {size} | {' | '.join(map(str, tried(python, full)))} |", flush=True)


if __name__ == "__main__":
    main()
