"""Runs that are killed at random moments, and disks that cannot be written: nothing half written, nothing lost.

Each case starts a command with a file to write, kills it (SIGKILL or SIGTERM) after a random time, looks at what is
there, and where the command can go on, lets it end and compares with the answer of a run that was never stopped.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np

CHECKPOINT = """
import sys, dagopt
data = dagopt.simulate(n_nodes={n}, n_samples=400, degree=1.5, random_state={seed}).data
result = dagopt.learn(data, "cg-dca", checkpoint="run.json", resume=True, max_passes=4, n_jobs=1, progress=False)
open("answer.txt", "w").write(f"{{result.score!r}} {{result.adjacency.tolist()}}")
"""
BOOTSTRAP = "{python} -m dagopt.cli bootstrap data.csv --resamples 400 --method hc --out table.csv --graph graph.dot -q"
LEARN = "{python} -m dagopt.cli learn data.csv --method order --out folder --restarts 3 -q"
TABLE = "{python} -m experiments run table1 --quick --out results"


def look(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Run one case; return what is wrong about it, or None."""
    cases = (_checkpoint, _bootstrap, _learn, _unwritable)
    case = cases[number % len(cases)]
    counts[f"kills: {case.__name__[1:]}"] += 1
    with tempfile.TemporaryDirectory() as folder:
        try:
            case(Path(folder), np.random.default_rng([seed, number, 3]), seed)
        except AssertionError as error:
            return f"{error}\npython -m hunt --part kills --seed {seed} --only {number}"
    return None


def _killed(command: list[str], folder: Path, seconds: float, how: int = signal.SIGKILL) -> int:
    """Start a command, kill it after some time, and return its exit code."""
    run = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment())
    try:
        run.wait(seconds)
    except subprocess.TimeoutExpired:
        run.send_signal(how)
    said = run.communicate(timeout=120)[1].decode()
    assert "Traceback" not in said, f"a traceback: {said[-800:]}"
    return run.returncode


def _environment() -> dict[str, str]:
    root = Path(__file__).parent.parent
    return {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}


@cache
def _undisturbed(seed: int, n: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        code = CHECKPOINT.format(n=n, seed=seed)
        subprocess.run([sys.executable, "-c", code], cwd=folder, env=_environment(), check=True, timeout=300)
        return Path(folder, "answer.txt").read_text()


def _checkpoint(folder: Path, rng: np.random.Generator, seed: int) -> None:
    """Kill a run with a checkpoint again and again; the checkpoint is whole each time, and the answer the same."""
    n = 25
    command = [sys.executable, "-c", CHECKPOINT.format(n=n, seed=seed)]
    for _ in range(4):
        _killed(command, folder, float(rng.uniform(0.5, 12)))
        saved = folder / "run.json"
        if saved.exists():
            json.loads(saved.read_text())
        if (folder / "answer.txt").exists():
            break
    else:
        _killed(command, folder, 300.0)
    answer = (folder / "answer.txt").read_text()
    assert answer == _undisturbed(seed, n), f"resumed to another answer: {answer[:60]}"


def _data(folder: Path, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(300, n)) @ np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.2) + np.eye(n))
    header = ",".join(f"X{j}" for j in range(n))
    np.savetxt(folder / "data.csv", values, delimiter=",", header=header, comments="", fmt="%.6g")


def _bootstrap(folder: Path, rng: np.random.Generator, seed: int) -> None:
    """Kill a bootstrap: its files are whole or not there. With SIGTERM it ends by itself."""
    _data(folder, seed, 12)
    how = signal.SIGTERM if rng.random() < 0.5 else signal.SIGKILL
    _killed(BOOTSTRAP.format(python=sys.executable).split(), folder, float(rng.uniform(0.5, 8)), how)
    _whole(folder)


def _learn(folder: Path, rng: np.random.Generator, seed: int) -> None:
    """Kill a run that writes a folder: every file in it is whole."""
    _data(folder, seed, 30)
    how = signal.SIGTERM if rng.random() < 0.5 else signal.SIGKILL
    _killed(LEARN.format(python=sys.executable).split(), folder, float(rng.uniform(0.5, 8)), how)
    _whole(folder)


def _whole(folder: Path) -> None:
    """Check that every file that is there can be read and has an end."""
    for path in folder.rglob("*"):
        if not path.is_file() or path.name.startswith(".") or path.name == "data.csv":
            continue
        text = path.read_text()
        ends = {".json": "}", ".dot": "}", ".html": "</html>", ".graphml": "</graphml>"}
        assert text.rstrip().endswith(ends.get(path.suffix, "")), f"{path.name} is half written: {text[-60:]!r}"
        assert text.endswith("\n") or path.suffix == ".html", f"{path.name} is half written: {text[-60:]!r}"


def _unwritable(folder: Path, rng: np.random.Generator, seed: int) -> None:
    """Write where nothing can be written: a sentence, exit code 2, and no file."""
    _data(folder, seed, 4)
    (folder / "file").write_text("x")
    (folder / "there").mkdir()
    learn = [sys.executable, "-m", "dagopt.cli", "learn", "data.csv", "-q"]
    cases = {
        "a file for a folder": ([*learn, "--out", "file"], 2),
        "no such folder": ([*learn, "--out", "/proc/no/such"], 2),
        "a folder for a table": ([sys.executable, "-m", "dagopt.cli", "path", "data.csv", "-q", "--out", "there"], 2),
        "a full disk": (["bash", "-c", 'ulimit -f 0; exec "$@"', "x", *learn, "--out", "new"], 2),
        "a reader that has gone": (
            ["bash", "-c", '"$@" | head -c 1 > /dev/null; exit ${PIPESTATUS[0]}', "x", *learn],
            0,
        ),
    }
    name = sorted(cases)[int(rng.integers(len(cases)))]
    command, code = cases[name]
    begun = time.monotonic()
    run = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=120)
    assert run.returncode == code, f"{name}: exit code {run.returncode}, {run.stderr[-300:]}"
    assert "Traceback" not in run.stderr, f"{name}: {run.stderr[-500:]}"
    assert code == 0 or run.stderr.count("\n") == 1, f"{name}: {run.stderr[-500:]}"
    assert time.monotonic() - begun < 100, f"{name}: too slow"
    left = [path for path in (folder / "new").rglob("*") if path.is_file()] if (folder / "new").exists() else []
    assert not left, f"{name}: half written {left}"
