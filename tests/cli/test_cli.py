"""Tests of the command, each command from end to end."""

from __future__ import annotations

import functools
import io
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.cli import app, run
from dagopt.cli.output import graph_files
from dagopt.cli.show import in_flags
from dagopt.kernels.store import njit
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.registry import METHODS
from dagopt.networks.bif import read_bif

COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Return a folder with a Gaussian table, its DAG, and a discrete table."""
    path = tmp_path_factory.mktemp("simulated")
    gaussian = ["--nodes", "6", "--samples", "300", "--out", f"{path}/data.csv", "--graph", f"{path}/true.dot"]
    assert run(["simulate", *gaussian]) == 0
    assert run(["simulate", "--network", "asia", "--samples", "300", "--out", f"{path}/asia.csv"]) == 0
    return path


@pytest.fixture
def data(folder, simulated):
    """Return the folder of the test, with copies of the simulated files."""
    shutil.copytree(simulated, folder, dirs_exist_ok=True)
    return folder


@pytest.fixture
def said(capsys):
    """Return a function that runs a command and returns its exit code, its output and its complaints."""

    def run_and_read(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_and_read


# --- the command itself ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "flag"),
    [([], "--help"), ([], "-h"), (["learn"], "-h"), *(([name], "--help") for name in COMMANDS)],
)
def test_help_has_an_example(said, command, flag):
    """The help of every command goes to standard output, tells what it does and shows an example."""
    code, out, err = said(*command, flag)
    assert (code, err) == (0, "")
    assert "Usage: dagopt" in out
    assert "Example" in out
    assert " ".join(["dagopt", *command]) in out


def test_no_command_is_a_question_for_help(said):
    """The command alone shows what there is."""
    code, out, err = said()
    assert (code, err) == (0, "")
    assert all(name in out for name in COMMANDS)


def test_version(said):
    """The version is that of the package."""
    assert said("--version") == (0, f"dagopt {dagopt.__version__}\n", "")


def test_the_program_ends_with_the_exit_code(folder):
    """As a program, text goes to standard output, complaints to standard error, and the exit code is told."""
    program = [sys.executable, "-m", "dagopt.cli"]
    good = subprocess.run([*program, "networks", "asia"], capture_output=True, text=True)
    assert (good.returncode, good.stderr) == (0, "")
    assert "smoke -> lung" in good.stdout
    bad = subprocess.run([*program, "compare", "no.dot", "no.dot"], capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "dagopt: expected a file at 'no.dot' but got none; check the path\n"


@pytest.mark.skipif(os.name == "nt", reason="needs a pipe of a POSIX shell")
def test_a_reader_that_leaves_early_is_no_error(folder):
    """Piped into a program that stops reading, the command ends in silence."""
    command = f"{sys.executable} -m dagopt.cli networks alarm | head -n 1"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(ended.stdout.splitlines()) == 1


def test_ctrl_c_ends_with_its_code(monkeypatch, said):
    """An interrupted command says so in a line and has the exit code that shells expect."""
    monkeypatch.setattr("dagopt.graph.metrics.compare", _interrupted)
    assert said("compare", "a.dot", "b.dot") == (130, "", "dagopt: interrupted\n")


def _interrupted(*_):
    raise KeyboardInterrupt


def test_lack_of_memory_is_told(monkeypatch, said):
    """Running out of memory is a line with a remedy."""

    def too_large(*_):
        raise MemoryError

    monkeypatch.setattr("dagopt.graph.metrics.compare", too_large)
    code, _, err = said("compare", "a.dot", "b.dot")
    assert code == 2
    assert "fewer --columns" in err


def test_a_fault_of_the_program_is_not_hidden(monkeypatch):
    """An error that is not about the input keeps its traceback."""
    monkeypatch.setattr("dagopt.graph.metrics.compare", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(["compare", "a.dot", "b.dot"])


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("leave it out with exclude=", "leave it out with --exclude"),
        ("use discretize='quantile' (or 'interval')", "use --discretize quantile (or 'interval')"),
        ("set max_parents=3 or less", "set --max-parents 3 or less"),
        ("set max_parents= (3 or 4)", "set --max-parents (3 or 4)"),
        ("expected time_limit > 0", "expected --time-limit > 0"),
        ("key 'max_parents' of the file", "key 'max_parents' of the file"),
        ("the kind of columns to score", "the kind of columns to score"),
        ("my_columns=3", "my_columns=3"),
    ],
)
def test_messages_speak_of_flags(message, shown):
    """Options that a message of the library names appear as flags, words and names of columns do not."""
    assert in_flags(message) == shown


# --- learn ----------------------------------------------------------------------------------------------------


def test_learn_tells_what_is_proven(data, said):
    """Summary and edges go to standard output, progress to standard error."""
    code, out, err = said("learn", "data.csv")
    assert code == 0
    assert "proven optimal over all DAGs" in out
    assert "score gained" in out
    assert "exact over all parent sets" in err
    assert "proven optimal" not in err
    for tail, head in dagopt.learn("data.csv").dag.edges:
        assert any(line.split()[:3] == [tail, "->", head] for line in out.splitlines())


def test_learn_in_quiet(data, said):
    """Nothing is told while it runs when asked."""
    code, out, err = said("learn", "data.csv", "--quiet")
    assert (code, err) == (0, "")
    assert "proven optimal" in out


@pytest.mark.parametrize("method", ["auto", "exact", "hc", "tabu", "pc", "mmhc"])
def test_learn_as_json(data, said, method):
    """Every method's answer is JSON for machines, the same as the library's."""
    code, out, err = said("learn", "asia.csv", "--method", method, "--json", "-q")
    assert (code, err) == (0, "")
    told = json.loads(out)
    result = dagopt.learn("asia.csv", method)
    assert told["score"] == result.score
    assert told["edges"] == [list(edge) for edge in result.graph.directed_edges]
    assert told["files"] == []


def test_learn_lists_every_method(said):
    """The help of learn names all methods and what they do."""
    _, out, _ = said("learn", "--help")
    words = " ".join(out.split())
    for name, method in METHODS.items():
        assert f"{name}: " in words
        assert method.about.split()[0] in words


def test_learn_writes_a_folder(data, said):
    """A folder that was not there holds the graph in the formats asked for, the result and the report."""
    code, out, _ = said("learn", "asia.csv", "-q", "--out", "new/deep", "--format", "dot,json", "--format", "bif")
    assert code == 0
    assert {path.name for path in (data / "new/deep").iterdir()} == {
        "graph.dot",
        "graph.json",
        "graph.bif",
        "result.json",
        "report.html",
    }
    result = dagopt.learn("asia.csv")
    assert dagopt.read_graph("new/deep/graph.dot") == dagopt.read_graph("new/deep/graph.json") == result.graph
    told = json.loads((data / "new/deep/result.json").read_text())
    assert told["score"] == pytest.approx(result.score)
    assert "</html>" in (data / "new/deep/report.html").read_text()
    assert "wrote new/deep/graph.dot" in out
    fitted = read_bif("new/deep/graph.bif")
    loglik = dagopt.score("asia.csv", fitted.dag, "loglik")
    assert fitted.log_likelihood(pd.read_csv("asia.csv", dtype=str)) == pytest.approx(loglik)


def test_learn_writes_every_format(data, said):
    """Every format of the list can be written, and is not empty."""
    assert said("learn", "asia.csv", "-q", "--out", "all", "--format", ",".join(graph_files()))[0] == 0
    for name in graph_files().values():
        assert (data / "all" / name).stat().st_size > 50
    assert (data / "all/graph.png").read_bytes().startswith(b"\x89PNG")


def test_learn_replaces_what_it_wrote(data, said):
    """A second run into the same folder replaces its files and leaves others alone."""
    (data / "out").mkdir()
    (data / "out/mine.txt").write_text("kept")
    for method in ("pc", "hc"):
        assert said("learn", "data.csv", "-q", "--method", method, "--out", "out")[0] == 0
        assert json.loads((data / "out/result.json").read_text())["method"] == method
    assert sorted(path.name for path in (data / "out").iterdir()) == [
        "graph.csv",
        "graph.dot",
        "mine.txt",
        "report.html",
        "result.json",
    ]
    assert (data / "out/mine.txt").read_text() == "kept"


def test_an_unwritable_folder_is_found_before_learning(data, said, monkeypatch):
    """The run does not start where its answer could not be kept, and the table is not even read."""
    monkeypatch.setattr("dagopt.learning.posing.read_table", lambda *_, **__: pytest.fail("read the table"))
    code, _, err = said("learn", "data.csv", "--out", "data.csv/out")
    assert code == 2
    assert "could not write into 'data.csv/out'" in err


def test_a_disk_that_fills_up_leaves_no_half_file(data, said, monkeypatch):
    """A file that cannot be written whole is not there, and the line says why."""

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    code, _, err = said("learn", "data.csv", "-q", "--out", "out")
    assert code == 2
    assert "no space left on device" in err
    assert list((data / "out").iterdir()) == []


def test_learn_honours_knowledge(data, said):
    """Edges, tiers and the limit from flags and from a file all hold."""
    (data / "known.toml").write_text('forbidden = [["X0", "X1"], ["X1", "X0"]]\n')
    flags = ["--knowledge", "known.toml", "--required", "X5 -> X0,X4->X0", "--tiers", "X4,X5;X0", "--max-parents", "2"]
    code, out, _ = said("learn", "data.csv", "-q", "--json", *flags)
    assert code == 0
    edges = {tuple(edge) for edge in json.loads(out)["edges"]}
    assert {("X5", "X0"), ("X4", "X0")} <= edges
    assert not {("X0", "X1"), ("X1", "X0"), ("X0", "X4"), ("X0", "X5")} & edges
    assert max(sum(head == f"X{k}" for _, head in edges) for k in range(6)) <= 2


def test_learn_passes_options_on(data, said):
    """Flags and further options reach the method and the score."""
    flags = ["--method", "hc", "--seed", "3", "--restarts", "2", "--start", "true.dot", "--score", "aic"]
    told = json.loads(said("learn", "data.csv", "-q", "--json", *flags)[1])
    assert told["figures"]["restarts"] == 2
    expected = dagopt.learn("data.csv", "hc", score="aic", random_state=3, restarts=2, start="true.dot")
    assert told["score"] == expected.score
    more = json.loads(said("learn", "data.csv", "-q", "--json", "--method", "pc", "--alpha", "0.5")[1])
    less = json.loads(said("learn", "data.csv", "-q", "--json", "--method", "pc", "--alpha=1e-9")[1])
    assert len(more["edges"] + more["undirected_edges"]) > len(less["edges"] + less["undirected_edges"])
    assert said("learn", "data.csv", "-q", "--method", "mmhc", "--max-given", "none", "--jobs", "1")[0] == 0


def test_learn_shows_the_best_classes(data, said):
    """With --n-best the classes are listed, for people and for machines."""
    code, out, _ = said("learn", "data.csv", "-q", "--n-best", "3")
    assert code == 0
    assert "Best equivalence classes" in out
    classes = json.loads(said("learn", "data.csv", "-q", "--n-best", "3", "--json")[1])["best_classes"]
    scores = [one["score"] for one in classes]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)


def test_a_class_is_shown_with_its_undirected_edges(data, said):
    """An edge that stable PC leaves open has no arrow."""
    _, out, _ = said("learn", "asia.csv", "-q", "--method", "pc")
    result = dagopt.learn("asia.csv", "pc")
    shown = {tuple(line.split()[:3]) for line in out.splitlines()}
    for a, b in result.graph.undirected_edges:
        assert (a, "--", b) in shown or (b, "--", a) in shown


def test_a_run_that_the_limit_ends_says_so(folder, said):
    """The time limit is no error: exit code 0, with the word on the screen and in the JSON."""
    assert run(["simulate", "--nodes", "22", "--samples", "200", "--out", "wide.csv"]) == 0
    code, out, _ = said("learn", "wide.csv", "-q", "--time-limit", "0.001")
    assert code == 0
    assert "stopped by the time limit" in out
    told = json.loads(said("learn", "wide.csv", "-q", "--time-limit", "0.001", "--json")[1])
    assert told["status"] == "time_limit"


def test_learn_shows_warnings_and_goes_on(folder, said):
    """The doctor's warnings come first, on standard error, with their remedies."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"]).assign(row=np.arange(40.0))
    frame.to_csv("numbered.csv", index=False)
    code, out, err = said("learn", "numbered.csv")
    assert code == 0
    assert err.startswith("warning: column 'row' looks like an identifier")
    assert "leave it out with --exclude" in err.splitlines()[0]
    assert "warning column 'row'" in out
    frame.loc[3, "a"] = np.nan
    frame.to_csv("numbered.csv", index=False)
    code, _, err = said("learn", "numbered.csv", "--missing", "drop", "--columns", "a,b")
    assert code == 0
    assert "missing values in column 'a'" in err


def test_many_edges_are_cut_short(folder, said):
    """A long list of edges ends with how many more there are."""
    assert run(["simulate", "--nodes", "20", "--degree", "5", "--samples", "400", "--out", "many.csv"]) == 0
    code, out, _ = said("learn", "many.csv", "-q", "--method", "hc")
    assert code == 0
    assert "more edges; --out or --json has them all" in out


def test_standard_input_is_a_table(data, said, monkeypatch):
    """A dash reads the table from a pipe."""
    given = io.TextIOWrapper(io.BytesIO((data / "data.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", given)
    code, out, _ = said("learn", "-", "-q", "--json")
    assert code == 0
    assert json.loads(out)["score"] == dagopt.learn("data.csv").score


def test_parquet_and_data_options(data, said):
    """A Parquet file is read, its columns chosen and cut."""
    pd.read_csv("data.csv").to_parquet("data.parquet")
    flags = ["--columns", "X0,X1,X2", "--discretize", "quantile", "--bins", "2", "--score", "bdeu", "--ess", "5"]
    told = json.loads(said("learn", "data.parquet", "-q", "--json", *flags)[1])
    assert told["names"] == ["X0", "X1", "X2"]
    assert told["score_label"].startswith("BDeu")


# --- the other commands ---------------------------------------------------------------------------------------


def test_doctor(data, said):
    """A good table has no problems; one with a finding has exit code 1."""
    code, out, err = said("doctor", "data.csv", "--max-parents", "3")
    assert (code, err) == (0, "")
    assert "no problems found" in out
    (data / "copy.csv").write_text("A,B,C\n" + "".join(f"{k}.5,{k}.5,{k * k % 7}.25\n" for k in range(30)))
    code, out, err = said("doctor", "copy.csv")
    assert (code, err) == (1, "")
    assert "leave one out with --exclude" in out
    told = json.loads(said("doctor", "copy.csv", "--json")[1])
    assert told["errors"] >= 1


def test_score(data, said):
    """The score of a DAG is that of the library, with all nodes when asked."""
    expected = dagopt.score("data.csv", "true.dot")
    code, out, err = said("score", "data.csv", "true.dot")
    assert (code, err) == (0, "")
    assert out.startswith(f"{expected:.4f}")
    code, out, _ = said("score", "data.csv", "true.dot", "--per-node", "--json")
    told = json.loads(out)
    assert told["score"] == pytest.approx(expected)
    assert sum(node["score"] for node in told["nodes"]) == pytest.approx(expected)
    assert all(f"X{k}" in said("score", "data.csv", "true.dot", "--per-node")[1] for k in range(6))
    assert said("score", "asia.csv", "[smoke][lung|smoke]", "--score", "bdeu")[0] == 0


def test_score_warns_of_columns_that_determine_each_other(folder, said):
    """A score on copied columns is shown, with the doctor's error as a warning."""
    (folder / "copy.csv").write_text("A,B\n" + "".join(f"{k * k % 11}.5,{k * k % 11}.5\n" for k in range(30)))
    code, out, err = said("score", "copy.csv", "[A][B|A]")
    assert code == 0
    assert "1 edges" in out
    assert err.startswith("warning: column 'B' is a copy of 'A'")


def test_compare(data, said):
    """Equal graphs have exit code 0; others 1, with the edges that differ."""
    code, out, err = said("compare", "true.dot", "true.dot")
    assert (code, err) == (0, "")
    assert "5 match, 0 with another mark, 0 extra, 0 missing" in out
    assert run(["convert", "[X0][X1|X0][X2|X1][X3][X4][X5]", "other.csv"]) == 0
    code, out, _ = said("compare", "other.csv", "true.dot", "--json")
    told = json.loads(out)
    found = dagopt.compare("other.csv", "true.dot")
    assert code == 1
    assert (told["shd"], told["precision"], told["recall"]) == (found.shd, found.precision, found.recall)
    code, out, _ = said("compare", "other.csv", "true.dot")
    assert code == 1
    assert "missing: " in out


def test_simulate(folder, said):
    """Data and graph are written, the same for the same seed, and sized as asked."""
    flags = ["--nodes", "5", "--samples", "50", "--degree", "1.5", "--seed", "7"]
    code, out, err = said("simulate", *flags, "--out", "a.csv", "--graph", "a.json")
    assert (code, err) == (0, "")
    assert "50 rows, 5 columns" in out
    told = json.loads(said("simulate", *flags, "--out", "b.tsv", "--json")[1])
    assert (told["rows"], told["columns"]) == (50, 5)
    pd.testing.assert_frame_equal(pd.read_csv("a.csv"), pd.read_csv("b.tsv", sep="\t"))
    assert dagopt.read_graph("a.json").n_edges == told["edges"]
    assert said("simulate", *flags, "--kind", "discrete", "--out", "c.csv")[0] == 0
    assert said("networks", "lucas", "--out", "lucas.bif")[0] == 0
    assert said("simulate", "--network", "lucas.bif", "--samples", "20", "--out", "d.csv")[0] == 0
    assert len(pd.read_csv("d.csv")) == 20


def test_convert(data, said):
    """A graph goes through all formats and comes back the same; tables are fitted on data."""
    code, out, err = said("convert", "true.dot", "a.graphml")
    assert (code, err) == (0, "")
    assert "6 nodes" in out
    told = json.loads(said("convert", "a.graphml", "b.txt", "--to", "json", "--json")[1])
    assert told["nodes"] == 6
    assert said("convert", "b.txt", "c.bnlearn", "--from", "json")[0] == 0
    assert said("compare", "c.bnlearn", "true.dot")[0] == 0
    assert said("convert", "true.dot", "class.dot", "--essential")[0] == 0
    assert said("compare", "class.dot", "true.dot")[0] == 0
    assert said("convert", "[smoke][lung|smoke]", "fitted.bif", "--data", "asia.csv")[0] == 0
    assert said("convert", "fitted.bif", "again.bif")[0] == 0
    assert read_bif("again.bif").dag.number_of_edges() == 1


def test_networks(folder, said):
    """The bundled networks are listed, shown and written."""
    code, out, err = said("networks")
    assert (code, err) == (0, "")
    assert all(name in out for name in dagopt.datasets.names())
    listed = json.loads(said("networks", "--json")[1])
    assert [one["name"] for one in listed] == dagopt.datasets.names()
    assert "smoke -> lung" in said("networks", "asia")[1]
    assert len(json.loads(said("networks", "asia", "--json")[1])["edges"]) == 8
    for name in ("asia.bif", "asia.dot"):
        assert said("networks", "asia", "--out", name)[0] == 0
        assert dagopt.read_graph(name).n_edges == 8


# --- the first run --------------------------------------------------------------------------------------------


def test_the_first_run_says_that_it_compiles(data, said, monkeypatch):
    """A line explains the time that compilation takes, once; where kernels are there, nothing is said."""
    fresh = njit(cache=False)(lambda x: x + 1)

    @functools.wraps(solve_hc)
    def compiling(*given, **options):
        fresh(1), fresh(1.5)
        return solve_hc(*given, **options)

    monkeypatch.setattr("dagopt.methods.climbing.hill_climbing.solve_hc", compiling)
    told = [said("learn", "data.csv", "--method", "hc")[2].count("compiling kernels, first use only") for _ in range(2)]
    assert told == [1, 0]
    assert "compiling" not in said("learn", "data.csv", "--method", "hc", "-q")[2]
