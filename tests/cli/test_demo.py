from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import dagopt
from dagopt.cli import demo
from dagopt.graph.dag import as_graph
from dagopt.results.certificate import Certificate
from dagopt.results.result import Result

FILES = {"report.html", "graph.png", "graph.dot", "comparison.png", "data.csv"}


@pytest.fixture
def quick(monkeypatch):
    """Stand in for the learning: the true graph with one edge less, one more and one turned."""

    def learned(data):
        true = as_graph(dagopt.datasets.load_network(demo.NETWORK).dag, data.columns)
        adjacency = np.array(true.adjacency)
        place = true.names.index
        adjacency[place("Allergy"), place("Coughing")] = 0
        adjacency[place("Anxiety"), place("Born_an_Even_Day")] = 1
        proof = Certificate(-1.0, "all DAGs", "subset recursion")
        return Result(true.names, adjacency, score=-1.0, certificate=proof, status="optimal", method="exact")

    monkeypatch.setattr(demo, "_learned", learned)


def told(folder):
    """Run the demo and return what it printed."""
    console = Console(file=io.StringIO(), width=100)
    demo.run(folder, console)
    return console.file.getvalue()


def test_the_demo_writes_its_files_and_says_where(tmp_path, quick):
    """All files are there, none is empty, and each is named on the screen."""
    said = told(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    for name in FILES:
        assert (tmp_path / "out" / name).stat().st_size > 100
        assert name in said
    assert (tmp_path / "out" / "graph.png").read_bytes().startswith(b"\x89PNG")
    assert len(pd.read_csv(tmp_path / "out" / "data.csv")) == demo.N_SAMPLES
    assert as_graph(tmp_path / "out" / "graph.dot").n_edges == 12


def test_the_demo_tells_what_is_right_and_what_is_not(tmp_path, quick):
    """Missing and extra edges are told beside the right ones."""
    said = told(tmp_path)
    assert "yes, but not found" in said
    assert "proven optimal" in said
    assert "SHD" in said


def test_the_demo_can_be_run_twice(tmp_path, quick):
    """The second run replaces the files of the first."""
    assert demo.main([str(tmp_path)]) == 0
    assert demo.main([str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == FILES


def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path, capsys):
    """A file where the folder should be: one line, exit code 2, nothing else."""
    (tmp_path / "file").write_text("x")
    assert demo.main([str(tmp_path / "file" / "out")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "choose another folder" in said.err


@pytest.mark.parametrize(("arguments", "code"), [([], 2), (["a", "b"], 2), (["--help"], 0)])
def test_wrong_calls_show_the_usage(arguments, code, capsys):
    """Without a folder, the usage is shown."""
    assert demo.main(arguments) == code
    assert "python -m dagopt.cli.demo FOLDER" in capsys.readouterr().err


def test_the_demo_runs_as_a_command(tmp_path):
    """The real demo, in its own process and without a terminal, proves its answer."""
    run = subprocess.run(
        [sys.executable, "-m", "dagopt.cli.demo", str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert "proven optimal over all DAGs" in run.stdout
    assert {path.name for path in tmp_path.iterdir()} == FILES
    assert "\x1b[" not in run.stdout
