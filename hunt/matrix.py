"""``make matrix``: the same answers and the core of the suite on every available Python and numpy.

For each Python from 3.11 on (on the PATH or of pyenv), with the oldest and the newest allowed numpy, an environment is
made under ``.matrix/``, the answers of ``hunt.answers`` are compared, and the core of the suite is run. Versions that
cannot be installed are reported.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".matrix"
CORE = (
    "tests/scores",
    "tests/kernels",
    "tests/methods/exact",
    "tests/graph/test_knowledge.py",
    "tests/results/test_result.py",
)
PIP = ("-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary=numpy,scipy")
RELATIVE = 1e-9


def pythons() -> dict[str, Path]:
    """Return the Pythons from 3.11 on, by version."""
    names = [f"python3.{minor}" for minor in range(11, 20)]
    found = [Path(path) for name in names if (path := shutil.which(name)) is not None]
    found += sorted(Path.home().glob(".pyenv/versions/3.*/bin/python"))
    by_version: dict[str, Path] = {}
    for path in found:
        asked = [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        version = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        if version and tuple(map(int, version.split("."))) >= (3, 11):
            by_version.setdefault(version, path)
    return by_version


def oldest_numpy() -> str:
    """Return the oldest numpy that the package allows."""
    match = re.search(r'"numpy>=([\d.]+)"', (ROOT / "pyproject.toml").read_text())
    assert match is not None
    return match[1]


def made(python: Path, version: str, numpy: str, extra: str) -> Path | str:
    """Return the Python of a new environment, with what an extra of the package needs, or why there is none."""
    place = FOLDER / f"{version}-numpy{numpy or 'newest'}{extra}"
    own = place / "bin" / "python"
    wanted = [f"numpy=={numpy}.*"] if numpy else ["numpy"]
    if not (place / "made").exists():
        for command in (
            [str(python), "-m", "venv", str(place)],
            [str(own), *PIP, *wanted, f"{ROOT}{extra}"],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                lines = done.stderr.strip().splitlines() or ["no reason given"]
                return lines[-1][:100]
        (place / "made").touch()
    return own


def main() -> int:
    """Make the environments, compare the answers, run the core of the suite."""
    parser = argparse.ArgumentParser(prog="python -m hunt.matrix", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="compare only the answers")
    parser.add_argument("--python", action="append", help="only these versions, such as 3.12")
    asked = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    first, wrong = None, 0
    print("| Python | numpy | answers | suite |\n|---|---|---|---|", flush=True)
    for version, python in sorted(pythons().items()):
        if asked.python and version not in asked.python:
            continue
        for numpy in (oldest_numpy(), ""):
            own = made(python, version, numpy, "" if asked.quick else "[test]")
            if isinstance(own, str):
                print(f"| {version} | {numpy or 'newest'} | not installable here: {own} | |", flush=True)
                continue
            said, first = _answers(own, first)
            suite = "-" if asked.quick else _suite(own)
            wrong += said[1] != "same" or suite not in ("-", "passed")
            print(f"| {version} | {said[0]} | {said[1]} | {suite} |", flush=True)
    return 1 if wrong else 0


def _answers(own: Path, first: dict | None) -> tuple[tuple[str, str], dict | None]:
    done = _run(own, "-m", "hunt.answers")
    if done.returncode:
        return ("?", done.stderr.strip().splitlines()[-1][:80]), first
    said = json.loads(done.stdout.splitlines()[-1])
    numpy, answers = said["about"]["numpy"], said["answers"]
    if first is None:
        return (numpy, "same"), answers
    other = [name for name, one in answers.items() if not _same(one, first[name])]
    return (numpy, f"{len(other)} of {len(answers)} differ: {other[0]}" if other else "same"), first


def _same(one: dict, other: dict) -> bool:
    close = abs(one["score"] - other["score"]) <= RELATIVE * abs(other["score"])
    return close and one["edges"] == other["edges"]


def _suite(own: Path) -> str:
    done = _run(own, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *CORE)
    return "passed" if done.returncode == 0 else (done.stdout.strip().splitlines() or ["failed"])[-1][:100]


def _run(own: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NUMBA_CACHE_DIR": str(own.parent.parent / "numba")}
    return subprocess.run(
        [str(own), *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    sys.exit(main())
