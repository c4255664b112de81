"""Runs that are killed at random moments, and disks that cannot be written: no partial files, nothing lost.

Each case starts a command with a file to write, kills it (SIGKILL or SIGTERM) after a random time, checks the files,
and if the command can be continued, lets it finish and compares with the answer of an uninterrupted run.
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

DAGOPT = [sys.executable, "-m", "dagopt.cli"]
BOOTSTRAP = [*DAGOPT, "bootstrap", "data.csv", "--resamples", "400", "--method", "hc", "-q"]
BOOTSTRAP += ["--out", "table.csv", "--graph", "graph.dot"]
CHECKPOINT = [*DAGOPT, "learn", "data.csv", "--method", "cg-dca-paper", "--max-passes", "4", "--jobs", "1", "-q"]
CHECKPOINT += ["--checkpoint", "run.json", "--resume", "--out", "folder"]
OFTEN = (  # the command with a checkpoint several times in a second instead of every few minutes
    "from dagopt.methods import checkpoint_file; checkpoint_file.SAVE_EVERY = 0.2; from dagopt.cli import main; main()"
)
PROOF = [sys.executable, "-c", OFTEN, "learn", "data.csv", "--method", "branch-and-cut", "--jobs", "1", "-q"]
PROOF += ["--checkpoint", "run.json", "--resume", "--out", "folder"]
WRITING = (  # a file is there in half for some time
    "import time; from pathlib import Path\n"
    "def write_bytes(self, data):\n"
    "    with self.open('wb') as file:\n"
    "        half = len(data) // 2; file.write(data[:half]); file.flush(); time.sleep(0.3)\n"
    "        return file.write(data[half:])\n"
    "Path.write_bytes = write_bytes\n"
)
SLOWLY = [sys.executable, "-c", WRITING + OFTEN, *PROOF[3:]]
LEARN = [*DAGOPT, *["learn", "data.csv", "--method", "order", "--out", "folder", "--restarts", "3", "-q"]]
TABLE = [sys.executable, "-m", "experiments", *["run", "table1", "--methods", "hc,order", "--nodes", "15"]]
TABLE += ["--seeds", "0-3", "--jobs", "1", "--results", "results", "-q"]
MOST_STARTS = 4  # of a run that is killed again and again
PATIENCE = 600.0


def look(seed: int, number: int, counts: Counter[str], family: str | None = None) -> str | None:
    """Run one case; return what is wrong about it, or None."""
    cases = (_checkpoint, _bootstrap, _learn, _table, _proof, _writing, _unwritable)
    case = cases[number % len(cases)]
    counts[f"cases: {case.__name__[1:]}"] += 1
    with tempfile.TemporaryDirectory() as folder:
        try:
            case(Path(folder), np.random.default_rng([seed, number, 3]), seed, counts)
        except (AssertionError, ValueError, OSError, subprocess.SubprocessError) as error:
            return f"{type(error).__name__}: {error}\npython -m hunt kills --seed {seed} --only {number}"
    return None


def _killed(
    command: list[str],
    folder: Path,
    seconds: float,
    counts: Counter[str],
    how: int = signal.SIGKILL,
    checkpoints: int = 0,
    drafts: int = 0,
) -> int | None:
    """Start a command, kill it some time after so many checkpoints, and return its exit code; None if it ended.

    With ``drafts`` it is killed while it writes the file with that number.
    """
    run = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment())
    ended = True
    try:
        _wait_for_checkpoints(run, folder / "run.json", checkpoints)
        if drafts:
            _wait_for_drafts(run, folder, drafts)
        run.wait(seconds)
    except subprocess.TimeoutExpired:
        run.send_signal(how)
        counts[signal.Signals(how).name] += 1
        ended = False
    said = run.communicate(timeout=PATIENCE)[1].decode()
    assert "Traceback" not in said, f"a traceback: {said[-800:]}"
    assert not ended or run.returncode == 0, f"exit code {run.returncode}: {said[-300:]}"
    return None if ended else run.returncode


def _wait_for_checkpoints(run: subprocess.Popen[bytes], path: Path, wanted: int) -> None:
    """Wait until a run has written so many checkpoints, or has ended."""
    seen = {path.stat().st_mtime_ns} if path.exists() else set()
    wanted += len(seen)
    until = time.monotonic() + PATIENCE
    while len(seen) < wanted and run.poll() is None and time.monotonic() < until:
        if path.exists():
            seen.add(path.stat().st_mtime_ns)
        time.sleep(0.005)


def _wait_for_drafts(run: subprocess.Popen[bytes], folder: Path, wanted: int) -> None:
    """Wait until a run writes its file with this number, or has ended."""
    seen = set(folder.rglob(".*.tmp"))
    wanted += len(seen)
    until = time.monotonic() + PATIENCE
    while len(seen) < wanted and run.poll() is None and time.monotonic() < until:
        seen |= set(folder.rglob(".*.tmp"))
        time.sleep(0.005)


def _environment() -> dict[str, str]:
    root = Path(__file__).parent.parent
    return {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}


@cache
def _undisturbed(command: tuple[str, ...], seed: int, n: int) -> tuple[float, dict[str, str]]:
    """Return how long a command takes that nothing stops, and the files that it leaves."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _data(folder, seed, n)
        begun = time.monotonic()
        subprocess.run(
            command, cwd=folder, env=_environment(), check=True, timeout=PATIENCE, stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return time.monotonic() - begun, _contents(folder)


def _contents(folder: Path) -> dict[str, str]:
    """Return the files of a folder, without what tells when and how fast they were made."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".jsonl":
            records = (json.loads(line) for line in path.read_text().splitlines())
            found[path.name] = "\n".join(sorted(f"{one['instance']} {one['seed']} {one['score']!r}" for one in records))
        elif path.name == "result.json":
            found[path.name] = repr(json.loads(path.read_text())["score"])
        elif path.name in ("table.csv", "graph.dot"):
            found[path.name] = path.read_text()
    return found


def _again_and_again(
    command: list[str], folder: Path, rng: np.random.Generator, seed: int, n: int, counts: Counter[str]
) -> None:
    """Kill a command at random moments, start it again, let it end, and compare with a run that nothing stopped."""
    seconds, expected = _undisturbed(tuple(command), seed, n)
    for _ in range(MOST_STARTS):
        resumed = (folder / "run.json").exists()
        after = int(rng.integers(0, 3)) if "--checkpoint" in command else 0
        moment = float(rng.uniform(0.0, 0.2) if after else rng.uniform(0.1, 1.1)) * seconds
        if _killed(command, folder, moment, counts, checkpoints=after) is None:
            break
        counts["SIGKILL in a run that continued from a checkpoint"] += resumed
        counts["SIGKILL after which there was a checkpoint"] += (folder / "run.json").exists()
        _whole(folder)
    else:
        assert _killed(command, folder, PATIENCE, counts) is None, f"did not end within {PATIENCE:.0f} s"
    found = _contents(folder)
    assert found == expected, f"resumed to another answer: {str(found)[:200]}"
    counts["resumed to the same answer"] += 1


def _checkpoint(folder: Path, rng: np.random.Generator, seed: int, counts: Counter[str]) -> None:
    """Kill a run with a checkpoint repeatedly; the checkpoint is complete each time, and the answer the same."""
    _data(folder, seed, 25)
    _again_and_again(CHECKPOINT, folder, rng, seed, 25, counts)


def _proof(folder: Path, rng: np.random.Generator, seed: int, counts: Counter[str]) -> None:
    """Kill branch and cut repeatedly, which saves its tree, rows and bounds; its proof ends with the same answer."""
    _data(folder, seed, 16)
    _again_and_again(PROOF, folder, rng, seed, 16, counts)


def _writing(folder: Path, rng: np.random.Generator, seed: int, counts: Counter[str]) -> None:
    """Kill branch and cut while it writes a checkpoint or a file of its answer: the one before stays, whole."""
    _data(folder, seed, 12)
    _, expected = _undisturbed(tuple(PROOF), seed, 12)
    for _ in range(MOST_STARTS):
        if _killed(SLOWLY, folder, 0.0, counts, drafts=int(rng.integers(1, 6))) is None:
            break
        counts["SIGKILL while a file was half written"] += any(folder.rglob(".*.tmp"))
        _whole(folder)
    else:
        assert _killed(PROOF, folder, PATIENCE, counts) is None, f"did not end within {PATIENCE:.0f} s"
    found = _contents(folder)
    assert found == expected, f"resumed to another answer: {str(found)[:200]}"
    counts["resumed to the same answer"] += 1


def _table(folder: Path, rng: np.random.Generator, seed: int, counts: Counter[str]) -> None:
    """Kill the runs of a table of the paper: recorded runs are whole and stay, and the table becomes the same."""
    _again_and_again(TABLE, folder, rng, seed, 2, counts)


def _data(folder: Path, seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(300, n)) @ np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 2 / n) + np.eye(n))
    header = ",".join(f"X{j}" for j in range(n))
    np.savetxt(folder / "data.csv", values, delimiter=",", header=header, comments="", fmt="%.6g")


def _bootstrap(folder: Path, rng: np.random.Generator, seed: int, counts: Counter[str]) -> None:
    """Kill a bootstrap: its files are complete or absent. With SIGTERM it ends by itself."""
    _data(folder, seed, 12)
    if rng.random() < 0.5:
        _terminated(BOOTSTRAP, folder, rng, seed, 12, counts, "table.csv")
    else:
        _again_and_again(BOOTSTRAP, folder, rng, seed, 12, counts)


def _learn(folder: Path, rng: np.random.Generator, seed: int, counts: Counter[str]) -> None:
    """Kill a run that writes a folder: every file in it is complete."""
    _data(folder, seed, 30)
    if rng.random() < 0.5:
        _terminated(LEARN, folder, rng, seed, 30, counts, "folder/graph.dot")
    else:
        _again_and_again(LEARN, folder, rng, seed, 30, counts)


def _terminated(
    command: list[str], folder: Path, rng: np.random.Generator, seed: int, n: int, counts: Counter[str], wanted: str
) -> None:
    """End a command by SIGTERM: the best so far is written, unless it came before there was an answer (130)."""
    seconds, _ = _undisturbed(tuple(command), seed, n)
    code = _killed(command, folder, float(rng.uniform(0.1, 1.1)) * seconds, counts, signal.SIGTERM)
    _whole(folder)
    if code in (-signal.SIGTERM, 130):
        counts["SIGTERM before there was an answer"] += 1
    elif code is not None:
        assert (folder / wanted).exists(), f"exit code {code} after SIGTERM, and no {wanted}"
        counts["SIGTERM: the best so far is written"] += 1


def _whole(folder: Path) -> None:
    """Check that every file can be read and is complete."""
    for path in folder.rglob("*"):
        if not path.is_file() or path.name.startswith(".") or path.name == "data.csv":
            continue
        text = path.read_text()
        if path.suffix == ".jsonl":
            assert all(json.loads(line) for line in text.splitlines()), f"{path.name} has a line that is not whole"
        ends = {".json": "}", ".dot": "}", ".html": "</html>", ".graphml": "</graphml>"}
        assert text.rstrip().endswith(ends.get(path.suffix, "")), f"{path.name} is half written: {text[-60:]!r}"
        assert text.endswith("\n") or path.suffix in (".html", ".json"), f"{path.name} is half written: {text[-60:]!r}"


def _unwritable(folder: Path, rng: np.random.Generator, seed: int, counts: Counter[str]) -> None:
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
    counts[f"not writable: {name}"] += 1
    command, code = cases[name]
    begun = time.monotonic()
    run = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=120)
    assert run.returncode == code, f"{name}: exit code {run.returncode}, {run.stderr[-300:]}"
    assert "Traceback" not in run.stderr, f"{name}: {run.stderr[-500:]}"
    assert code == 0 or run.stderr.count("\n") == 1, f"{name}: {run.stderr[-500:]}"
    assert time.monotonic() - begun < 100, f"{name}: too slow"
    left = [path for path in (folder / "new").rglob("*") if path.is_file()] if (folder / "new").exists() else []
    assert not left, f"{name}: half written {left}"
