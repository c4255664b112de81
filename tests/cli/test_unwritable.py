"""Every command that writes, where nothing can be written: one sentence, nothing half written, the old file kept."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from dagopt.cli import run
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from experiments.commands import paper_commands
from experiments.records import Record, Run
from experiments.store import append, read_folder

resource = pytest.importorskip("resource")

# By name: the command, with {} for the file or folder it writes, and a name for that.
WRITES = {
    "learn": ("learn data.csv -q --method hc --out {}", "out"),
    "learn, pictures": ("learn data.csv -q --method hc --format svg,png,graphml,json --out {}", "out"),
    "checkpoint": ("learn data.csv -q --method cg-dca-paper --max-passes 2 --jobs 1 --checkpoint {}", "run.json"),
    "local scores": ("learn data.csv -q --method gobnilp --jobs 1 --save-scores {}", "scores.jkl"),
    "bootstrap": ("bootstrap data.csv -q --resamples 3 --method hc --jobs 1 --out {}", "edges.csv"),
    "bootstrap, graph": ("bootstrap data.csv -q --resamples 3 --method hc --jobs 1 --graph {}", "graph.dot"),
    "bootstrap, picture": ("bootstrap data.csv -q --resamples 3 --method hc --jobs 1 --plot {}", "graph.svg"),
    "path": ("path data.csv -q --out {}", "path.csv"),
    "path, entries": ("path data.csv -q --entries {}", "entries.csv"),
    "posterior": ("posterior data.csv -q --out {}", "edges.csv"),
    "posterior, graph": ("posterior data.csv -q --graph {}", "graph.graphml"),
    "explain": ("explain data.csv -q --out {}", "edges.csv"),
    "fit": ("fit data.csv true.csv --out {}", "network.json"),
    "convert": ("convert true.csv {}", "graph.dot"),
    "simulate": ("simulate --nodes 5 --samples 50 --out {}", "drawn.csv"),
    "networks": ("networks asia --out {}", "asia.bif"),
    "tables of the paper": ("experiments show table1 --out {}", "tables"),
    "page of the paper": ("experiments show table1 --markdown {}", "page.md"),
}
FOLDERS = ("out", "tables")
PAPER = "experiments "


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder that has a small table and its graph."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "room").mkdir()
    asked = ["simulate", "--nodes", "5", "--degree", "1.5", "--samples", "60"]
    assert run([*asked, "--out", "data.csv", "--graph", "true.csv"]) == 0
    return tmp_path


def started(command, place):
    """Run a command that writes to a place, and return its exit code."""
    words = command.format(place).split()
    return run(words[1:], paper_commands, "python -m experiments") if command.startswith(PAPER) else run(words)


def contents(folder):
    """Return every file below a folder with its bytes."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@contextmanager
def full_disk(most):
    """Let no file grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def one_sentence(capsys):
    """Return the one line on standard error."""
    (line,) = capsys.readouterr().err.splitlines()
    return line


@pytest.mark.parametrize("name", WRITES)
def test_a_full_disk(name, folder, capsys):
    """What was written before is kept to the last byte, and there is nothing else."""
    command, place = WRITES[name]
    room = folder / "room"
    assert started(command, room / place) == 0
    before = contents(room)
    assert before
    capsys.readouterr()
    for most in (0, 40):
        with full_disk(most):
            code = started(command, room / place)
        assert code == 2, most
        line = one_sentence(capsys)
        assert "could not write" in line
        assert "file too large" in line
        assert contents(room) == before


@pytest.mark.parametrize("name", WRITES)
def test_places_that_cannot_be_written(name, folder, capsys):
    """A folder in place of a file, a file in place of a folder, no folder, and one in which nobody can write."""
    command, place = WRITES[name]
    room = folder / "room"
    wrong = [room / "none" / place] if place not in FOLDERS else []
    if place in FOLDERS:
        (room / place).write_text("in the way")
    else:
        (room / place).mkdir()
    if os.path.isdir("/proc/self"):
        wrong.append(Path("/proc/self") / place)
    before = contents(room)
    for path in (room / place, *wrong):
        assert started(command, path) == 2
        line = one_sentence(capsys)
        assert str(path.parent) in line
        assert contents(room) == before


def test_a_disk_that_fills_up_under_the_results_of_the_paper(folder):
    """A line that does not fit is not there in part, and the lines before it are."""
    record = Record.of(Run("n10_d1", 0, "hc"), status="converged", score=1.0)
    room = folder / "results"
    append(record, room)
    (path,) = room.iterdir()
    before = path.read_bytes()
    for spare in (0, 1, len(before) - 1):
        with full_disk(len(before) + spare), pytest.raises(InputError, match=r"could not write into .*results"):
            append(record, room)
        assert path.read_bytes() == before
    append(record, room)
    assert len(read_folder(room)) == 2


def test_a_stopped_run_keeps_its_checkpoint(folder):
    """A checkpoint that cannot be replaced is the one from before."""
    from dagopt.files import write_text

    write_text("old", "run.json")
    with Deadline(), full_disk(2), pytest.raises(InputError, match=r"could not write 'run\.json': file too large"):
        write_text("new text", "run.json")
    assert Path("run.json").read_text() == "old"


@pytest.mark.skipif(os.name == "nt", reason="needs pipes of POSIX")
@pytest.mark.few(1)
@pytest.mark.parametrize("asked", ["learn data.csv -q --method hc", "learn data.csv -q --method hc --json", "networks"])
def test_a_reader_that_has_gone(folder, asked):
    """As in ``dagopt ... | head``: nothing is said, and it is no failure."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = [sys.executable, "-m", "dagopt.cli", *asked.split()]
        ended = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, timeout=120)
    assert (ended.returncode, ended.stderr) == (0, "")
