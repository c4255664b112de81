"""Commands that are told to stop: SIGTERM and Ctrl-C leave the best answer so far, in whole files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading

import pytest

import dagopt
from dagopt.cli import run
from dagopt.deadline import Deadline

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs signals of POSIX")
PATIENCE = 120
STOPPED_WHILE_WRITING = """
import os, pathlib, signal, sys
from dagopt.cli import main

whole = pathlib.Path.write_bytes

def first_told_to_stop(path, content):
    pathlib.Path.write_bytes = whole
    os.kill(os.getpid(), {signal})
    whole(path, content)

pathlib.Path.write_bytes = first_told_to_stop
main()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder that has a table."""
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "--nodes", "12", "--degree", "1.5", "--samples", "200", "--out", "data.csv"]) == 0
    return tmp_path


def stopped(arguments, number, phase):
    """Run a command that would not end, send it a signal once it says that it is working, and return how it ended."""
    command = [sys.executable, "-m", "dagopt.cli", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    watchdog = threading.Timer(PATIENCE, process.kill)
    watchdog.start()
    try:
        lines = []
        for line in process.stderr:
            lines.append(line)
            if phase in line and process.poll() is None:
                process.send_signal(number)
                break
        lines += process.stderr
        return process.wait(), "".join(lines)
    finally:
        watchdog.cancel()


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_stopped_run_writes_the_best_so_far(folder, number):
    """The folder has every file, whole, and the DAG is better than that without edges."""
    asked = ["learn", "data.csv", "--method", "order", "--restarts", "100000000", "--jobs", "1", "--out", "out"]
    code, said = stopped(asked, number, "order")
    assert code == 0, said
    assert "Traceback" not in said
    told = json.loads((folder / "out/result.json").read_text())
    assert told["status"] == "interrupted"
    assert told["score"] > dagopt.score("data.csv", [])
    assert sorted(os.listdir("out")) == ["graph.csv", "graph.dot", "report.html", "result.json"]
    assert (folder / "out/report.html").read_text().rstrip().endswith("</html>")


def test_a_stopped_bootstrap_writes_the_resamples_so_far(folder):
    """The table and the consensus of the resamples that were done."""
    asked = ["bootstrap", "data.csv", "--resamples", "100000000", "--method", "hc", "--jobs", "1", "--out", "edges.csv"]
    code, said = stopped([*asked, "--graph", "graph.dot"], signal.SIGTERM, "resample")
    assert code == 0, said
    assert (folder / "edges.csv").read_text().startswith("from,to")
    assert dagopt.read_graph("graph.dot").names == dagopt.as_table("data.csv").names


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_while_files_are_written_comes_too_late(folder, number):
    """The answer is there, so it is written."""
    code = STOPPED_WHILE_WRITING.format(signal=int(number))
    asked = ["learn", "data.csv", "-q", "--method", "hc", "--out", "out"]
    ended = subprocess.run([sys.executable, "-c", code, *asked], capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    assert json.loads((folder / "out/result.json").read_text())["status"] == "converged"
    assert sorted(os.listdir("out")) == ["graph.csv", "graph.dot", "report.html", "result.json"]


def test_sigterm_before_there_is_an_answer_is_one_line(folder):
    """As after Ctrl-C: the command says that it was interrupted."""
    code = (
        "import os, signal, dagopt.learning.posing\nfrom dagopt.cli import main\n"
        "dagopt.learning.posing.read_table = lambda *a, **k: os.kill(os.getpid(), signal.SIGTERM)\nmain()"
    )
    asked = ["learn", "data.csv", "-q", "--out", "out"]
    ended = subprocess.run([sys.executable, "-c", code, *asked], capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stderr) == (130, "dagopt: interrupted\n")
    assert not (folder / "out").exists()


def test_a_request_to_stop_holds_for_what_comes_after():
    """A deadline within another passes a signal on, so that nothing more is begun."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with Deadline() as whole:
            with Deadline() as part:
                signal.raise_signal(number)
                assert part.reason == "interrupted"
            assert whole.reason == "interrupted"
