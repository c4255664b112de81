"""``dagopt learn``: how sure the edges are, and what is left where the answer cannot be written."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import dagopt
import dagopt.learning.learning
from dagopt.cli import run
from dagopt.cli.method_flags import all_flags
from dagopt.cli.show import print_summary
from dagopt.errors import InputError
from dagopt.families.jkl import LocalScores, write_jkl
from dagopt.methods.registry import METHODS
from dagopt.results.result import Result

ASKED_FOR = (
    "--method --score --penalty --required --forbidden --tiers --max-parents --time-limit --seed --jobs --start "
    "--knowledge"
)
COLOURS = re.compile(r"\x1b\[[\d;]*m")
KILLED_WHILE_WRITING = """
import os, pathlib, signal, sys
from dagopt.cli import run

whole = pathlib.Path.write_bytes

def half(path, content):
    if content.lstrip().lower().startswith(b"<!doctype html"):
        whole(path, content[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
    whole(path, content)

pathlib.Path.write_bytes = half
run(sys.argv[1:])
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder that has a small table."""
    monkeypatch.chdir(tmp_path)
    assert run(["simulate", "--nodes", "5", "--degree", "1.5", "--samples", "200", "--out", "data.csv"]) == 0
    return tmp_path


@pytest.fixture
def said(capsys):
    """Return a function that runs a command and returns its exit code, its output and its complaints."""

    def run_and_read(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_and_read


# --- the help ---------------------------------------------------------------------------------------------------


def test_the_help_has_an_example_of_every_usual_option(said):
    """What a first user looks for is in the examples, and listed below under a heading."""
    words = " ".join(said("learn", "--help")[1].split())
    examples, listed = words.split("Exit code 0")[0], words.split("Exit code 0")[1]
    for flag in (*ASKED_FOR.split(), "--explain", "--bootstrap", "--out", "--format", "learn -"):
        assert re.search(rf"{flag}\b|{flag} ", examples), flag
        assert flag == "learn -" or flag in listed, flag
    assert all(heading in listed for heading in ("Score", "Knowledge", "How sure?", "Output", "Data", "Methods"))


def test_the_examples_are_good_input(folder, said):
    """Each example of the help runs, on files of the names that it uses."""
    data, true = dagopt.simulate(n_nodes=3, n_samples=150, degree=1, random_state=0, kind="discrete")
    names = dict(zip(data.columns, ("age", "smoke", "lung"), strict=True))
    data = data.rename(columns=names)
    data.to_csv("data.csv", index=False)
    data.assign(target=["smoke" if row % 5 == 0 else "" for row in range(150)]).to_csv("trial.csv", index=False)
    dagopt.write_graph([(names[a], names[b]) for a, b in true.edges], "mine.dot")
    (folder / "known.toml").write_text('forbidden = [["lung", "age"]]\n')
    words = " ".join(said("learn", "--help")[1].split()).split("Exit code 0")[0].split("Examples:")[1]
    examples = [example for example in words.split(" dagopt ") if example.strip()]
    shown = [
        re.sub(r"\s*(cut -d.*\||--jobs 2)", "", one).replace("--bootstrap 100", "--bootstrap 2") for one in examples
    ]
    tried = [one.split() for one in shown if not one.startswith("learn -")]
    assert len(tried) == 7
    for arguments in tried:
        code, _, err = said(*(word.strip("'") for word in arguments), "-q")
        assert (code, err) == (0, ""), arguments


# --- how sure is it ---------------------------------------------------------------------------------------------


def test_explain_and_bootstrap_in_one_run(folder, said):
    """Losses and frequencies are those of the library, on the screen, in the JSON and in the files."""
    flags = ["learn", "data.csv", "-q", "--explain", "--bootstrap", "4", "--seed", "3"]
    told = json.loads(said(*flags, "--json")[1])["edge_figures"]
    lost = dagopt.learn("data.csv").regrets().set_index(["from", "to"])["neither"]
    assert {edge: pytest.approx(value) for edge, value in told["lost if not joined"].items()} == {
        f"{a} -> {b}": value for (a, b), value in lost.items()
    }
    often = dagopt.bootstrap("data.csv", 4, random_state=3).edges.set_index(["from", "to"])["strength"]
    either = {frozenset(pair): value for pair, value in often.items()}
    for edge, share in told["joined in resamples"].items():
        assert share == pytest.approx(either.get(frozenset(edge.split(" -> ")), 0.0))
    code, out, err = said(*flags, "--out", "out")
    assert (code, err) == (0, "")
    table = out.split("How certain each edge is")[1]
    for edge, share in told["joined in resamples"].items():
        (row,) = [line for line in table.splitlines() if line.split()[:3] == edge.split()]
        assert row.split()[3:6:2] == [f"{told['lost if not joined'][edge]:.2f}", f"{share:.0%}"]
    assert json.loads((folder / "out/result.json").read_text())["edge_figures"] == told
    assert "Lost if reversed" in (folder / "out/report.html").read_text()


def test_resamples_are_learned_by_the_same_method(folder, said):
    """Method and options of the run are those of the resamples; what is for one run alone is left out."""
    flags = ["--method", "pc", "--alpha", "1e-12", "--bootstrap", "3"]
    told = json.loads(said("learn", "data.csv", "-q", "--json", *flags)[1])
    assert "3 of 3 resamples of 200 rows, drawn with replacement; pc" in told["notes"]
    flags = ["--method", "cg-dca", "--checkpoint", "run.json", "--bootstrap", "2", "--jobs", "1"]
    assert said("learn", "data.csv", "-q", *flags)[0] == 0
    assert said("learn", "data.csv", "-q", "--n-best", "2", "--bootstrap", "2")[0] == 0


def test_an_edge_that_cannot_be_explained_is_no_reason_to_lose_the_rest(said, monkeypatch):
    """Where there is no DAG to explain, a line says so and the answer is told."""

    def refuse(*_, **__):
        raise InputError("no DAG has the edges; use another method")

    monkeypatch.setattr(Result, "regrets", refuse)
    code, out, err = said("learn", "data.csv", "-q", "--explain")
    assert code == 0
    assert err == "warning: --explain: no DAG has the edges; use another method\n"
    assert "proven optimal" in out


def test_after_ctrl_c_nothing_more_is_begun(said, monkeypatch):
    """A run that was interrupted is told as it is, without losses and resamples."""
    learn = dagopt.learn
    monkeypatch.setattr("dagopt.learning.learning.learn", lambda *a, **k: replace(learn(*a, **k), status="interrupted"))
    monkeypatch.setattr(Result, "regrets", lambda *_, **__: pytest.fail("explained"))
    monkeypatch.setattr("dagopt.confidence.bootstrap.bootstrap", lambda *_, **__: pytest.fail("resampled"))
    code, out, _ = said("learn", "data.csv", "-q", "--explain", "--bootstrap", "5")
    assert code == 0
    assert "stopped by the user" in out


def test_local_scores_have_no_rows(folder, said):
    """A file of local scores can be neither explained nor resampled, and a line says so."""
    write_jkl(LocalScores(["a", "b"], [[((), -2.0)], [((), -3.0), ((0,), -1.0)]]), "scores.jkl")
    assert said("learn", "scores.jkl", "-q")[0] == 0
    code, out, err = said("learn", "scores.jkl", "--bootstrap", "5")
    assert (code, out) == (2, "")
    assert "scores.jkl holds local scores; leave them out" in err


# --- where the answer cannot be written -------------------------------------------------------------------------


def test_an_answer_that_cannot_be_kept_is_shown(said, monkeypatch):
    """When the disk fills up at the end of a run, the answer is on the screen, then the line that says why."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    code, out, err = said("learn", "data.csv", "-q", "--out", "out")
    assert code == 2
    assert "proven optimal" in out
    (line,) = err.splitlines()
    assert "no space left on device" in line
    code, out, err = said("learn", "data.csv", "-q", "--out", "out", "--json")
    assert code == 2
    assert json.loads(out)["files"] == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that nobody can write into")
def test_a_folder_that_nobody_can_write_into(said, monkeypatch):
    """The run does not begin, for root neither."""
    monkeypatch.setattr("dagopt.learning.posing.read_table", lambda *_, **__: pytest.fail("read the table"))
    code, out, err = said("learn", "data.csv", "--out", "/proc/self/out")
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert "could not write into '/proc/self/out'" in line


@pytest.mark.slow  # as test_a_full_disk for this command, but in a process of its own
@pytest.mark.skipif(os.name == "nt", reason="needs limits of a POSIX shell")
def test_a_file_that_outgrows_the_disk_leaves_nothing(folder):
    """A file that the system cuts off in the middle of writing is not there, nor a part of it."""
    before = sorted(os.listdir(folder))
    command = f"ulimit -f 20; exec {sys.executable} -m dagopt.cli simulate --nodes 30 --samples 3000 --out big.csv"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert "could not write 'big.csv': file too large" in line
    assert sorted(os.listdir(folder)) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_screen_that_is_full(folder):
    """Output into a full disk is one line on standard error."""
    command = f"exec {sys.executable} -m dagopt.cli networks > /dev/full"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr == "dagopt: No space left on device\n"


@pytest.mark.skipif(os.name == "nt", reason="needs signals of POSIX")
def test_a_killed_run_leaves_whole_files(folder, said):
    """SIGKILL in the middle of the report: what is under its name is the report of the run before, whole."""
    assert said("learn", "data.csv", "-q", "--method", "pc", "--out", "out")[0] == 0
    before = (folder / "out/report.html").read_bytes()
    arguments = ["learn", "data.csv", "-q", "--method", "hc", "--out", "out"]
    ended = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, *arguments], capture_output=True)
    assert ended.returncode == -signal.SIGKILL
    assert (folder / "out/report.html").read_bytes() == before
    assert json.loads((folder / "out/result.json").read_text())["method"] == "hc"
    assert dagopt.read_graph("out/graph.dot").is_dag
    assert sorted(name for name in os.listdir("out") if not name.startswith(".")) == [
        "graph.csv",
        "graph.dot",
        "report.html",
        "result.json",
    ]


# --- the screen -------------------------------------------------------------------------------------------------


def test_a_terminal_shows_bars_and_breaks_no_name(said, monkeypatch):
    """On a terminal edges have bars, the longest for the most valuable, unless names need the room."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    gains = dagopt.learn("data.csv").details["edge_gain"]
    for width, shown in (("100", True), ("44", False)):
        monkeypatch.setenv("COLUMNS", width)
        out = COLOURS.sub("", said("learn", "data.csv", "-q")[1])
        rows = [line.split() for line in out.splitlines() if "->" in line]
        assert [" ".join(row[:3]) for row in rows] == sorted(gains, key=gains.get, reverse=True)
        bars = [row[-1] for row in rows]
        assert all((set(bar) == {"━"}) == shown for bar in bars)
        assert not shown or bars == sorted(bars, reverse=True) != [bars[0]] * len(bars)
        assert "proven optimal over all DAGs" in " ".join(out.split())


@pytest.mark.parametrize("terminal", [True, False])
def test_a_summary_speaks_of_flags_in_notes_alone(capsys, monkeypatch, terminal):
    """Options in notes and warnings are written as flags; the word for the status stays."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    print_summary("2 columns\nstatus  time_limit: stopped by the time limit\nnote    time_limit= allows more")
    first, second, third = COLOURS.sub("", capsys.readouterr().out).split("\n")[-4:-1]
    assert first.split() == ["2", "columns"]
    assert second.split() == ["status", "time_limit:", "stopped", "by", "the", "time", "limit"]
    assert third.split() == ["note", "--time-limit", "allows", "more"]


def test_local_scores_of_any_name(folder, said):
    """--format jkl says what the file holds; other formats beside it are written."""
    Path("scores").write_text("2\n# a comment\na 1\n-2.0 0\nb 2\n-3.0 0\n-1.0 1 a\n")
    assert said("learn", "scores", "--format", "jkl,dot", "-q", "--out", "out")[0] == 0
    assert Path("out/graph.dot").exists()


def test_superstructure_from_a_file(folder, said):
    """Only the pairs of the file are joined, and a contradiction is one line."""
    columns = dagopt.as_table("data.csv").names
    Path("may.csv").write_text(f"from,to\n{columns[0]},{columns[1]}\n")
    code, out, _ = said("learn", "data.csv", "--superstructure", "may.csv", "--json", "-q")
    assert code == 0
    assert json.loads(out)["scope"] == "all DAGs inside the superstructure"
    required = f"{columns[0]}->{columns[2]}"
    code, _, err = said("learn", "data.csv", "--superstructure", "may.csv", "--required", required)
    assert code == 2
    assert "not in the superstructure" in err


@pytest.mark.parametrize("method", METHODS)
def test_every_option_of_a_method_is_a_flag_of_it(method, said):
    """The help of a method shows each of its options, with its default; the parser knows each."""
    code, out, _ = said("learn", "--method", method, "--help")
    assert code == 0
    for flag in all_flags(METHODS[method].options_type()).values():
        assert flag in out


def test_flags_of_a_method_reach_it_with_their_kinds(folder, said, monkeypatch):
    """Numbers, switches, lists and none are read as such, in either spelling; what is not given is not passed on."""
    asked = []

    def learned(*_, **options):
        asked.append(options)
        raise InputError("seen")

    monkeypatch.setattr(dagopt.learning.learning, "learn", learned)
    said("learn", "data.csv", "--method", "cg-dca", "--no-order-start", "--epsilon=1e-3", "--integer-seconds", "none")
    assert {"order_start": False, "epsilon": 1e-3, "integer_seconds": None}.items() <= asked[0].items()
    assert "tolerance" not in asked[0]
    said("learn", "data.csv", "--method=branch-and-cut", "--rows", "entropies, local")
    assert list(asked[1]["rows"]) == ["entropies", "local"]
    code, _, err = said("learn", "data.csv", "--alpha", "0.1")
    assert code == 2
    assert "--alpha is for pc and mmhc" in err
