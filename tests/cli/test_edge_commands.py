"""Tests of the commands bootstrap, path and explain: their tables, files and JSON against the library."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import dagopt
from dagopt.cli import run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with a small continuous and a small discrete table."""
    monkeypatch.chdir(tmp_path)
    dagopt.simulate(5, 150, 1.2, random_state=1).data.to_csv("data.csv", index=False)
    dagopt.simulate(4, 150, 1.2, random_state=1, kind="discrete").data.to_csv("levels.csv", index=False)
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


# --- bootstrap ------------------------------------------------------------------------------------------------


def test_bootstrap_is_that_of_the_library(said, folder):
    """The same seed gives the same table in JSON, in the file and on screen; the graph is the consensus."""
    expected = dagopt.bootstrap("data.csv", 8, random_state=3, progress=False)
    options = ["--resamples", 8, "--seed", 3, "--out", "edges.csv", "--graph", "consensus.dot", "--plot", "c.svg"]
    code, out, err = said("bootstrap", "data.csv", *options, "--json", "--quiet")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["edges"] == expected.edges.to_dict(orient="records")
    assert found["consensus"] == [list(edge) for edge in expected.consensus().directed_edges]
    assert found["files"] == ["edges.csv", "consensus.dot", "c.svg"]
    pd.testing.assert_frame_equal(pd.read_csv("edges.csv"), expected.edges, check_dtype=False)
    assert dagopt.read_graph("consensus.dot") == expected.consensus()
    assert (folder / "c.svg").read_text().startswith("<?xml")
    code, out, err = said("bootstrap", "data.csv", "--resamples", 8, "--seed", 3, "--threshold", 0.9)
    assert code == 0
    assert "8 of 8 resamples of 150 rows" in out
    assert f"consensus: {expected.consensus(0.9).n_edges} edges" in out
    assert "resamples" in err


def test_bootstrap_takes_knowledge_and_options(said):
    """Constraints, subsampling and the score arrive."""
    options = ["--required", "X0->X4", "--no-replace", "--fraction", 0.5, "--score", "aic", "--max-parents", 1]
    code, out, _ = said("bootstrap", "data.csv", "--resamples", 4, *options, "--json", "-q")
    assert code == 0
    found = json.loads(out)
    (row,) = [row for row in found["edges"] if {row["from"], row["to"]} == {"X0", "X4"}]
    assert (row["from"], row["strength"], row["forward"]) == ("X0", 1.0, 1.0)
    assert (found["rows"], found["replace"]) == (75, False)


def test_bootstrap_with_hardly_any_time(said):
    """Nothing done is told, with exit code 0; a graph cannot be written of it."""
    code, out, _ = said("bootstrap", "data.csv", "--time-limit", 1e-6, "-q")
    assert code == 0
    assert "0 of 100 resamples" in out
    assert "stopped by the time limit" in out
    code, _, err = said("bootstrap", "data.csv", "--time-limit", 1e-6, "-q", "--graph", "c.dot")
    assert code == 2
    assert "raise --time-limit" in err


# --- path -----------------------------------------------------------------------------------------------------


def test_path_is_that_of_the_library(said, folder):
    """Table, entries and graphs are those of the library; pictures and files are written."""
    expected = dagopt.path("data.csv", n=5, progress=False)
    options = ["--points", 5, "--out", "path.csv", "--entries", "entries.csv", "--plot", "path.png"]
    code, out, err = said("path", "data.csv", *options, "--json", "-q")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["table"] == expected.table.to_dict(orient="records")
    assert found["edges"] == [[list(edge) for edge in graph.directed_edges] for graph in expected.graphs]
    pd.testing.assert_frame_equal(pd.read_csv("path.csv"), expected.table)
    pd.testing.assert_frame_equal(pd.read_csv("entries.csv"), expected.entries, check_dtype=False)
    assert (folder / "path.png").read_bytes().startswith(b"\x89PNG")
    code, out, _ = said("path", "data.csv", "--penalties", "5, 1,20", "-q")
    assert code == 0
    assert "3 penalties from 20 to 1" in out
    assert "the first to enter first" in out


# --- explain --------------------------------------------------------------------------------------------------


def test_explain_is_that_of_the_library(said):
    """Words and JSON are those of the library, for one pair and for all edges."""
    result = dagopt.learn("data.csv", progress=False)
    expected = result.explain("X0", "X1", progress=False)
    code, out, _ = said("explain", "data.csv", "X0", "X1", "-q")
    assert (code, out.strip()) == (0, expected.summary())
    code, out, _ = said("explain", "data.csv", "X0", "X1", "-q", "--json")
    assert json.loads(out) == json.loads(json.dumps(expected.to_dict()))
    code, out, _ = said("explain", "data.csv", "-q", "--out", "edges.csv")
    assert code == 0
    assert "neither" in out
    assert "found by search" not in out
    pd.testing.assert_frame_equal(
        pd.read_csv("edges.csv", keep_default_na=False), result.regrets(progress=False), check_dtype=False
    )
    code, out, _ = said("explain", "data.csv", "-q", "--alternatives", "order")
    assert "the true loss is at most that" in out


def test_explain_a_given_dag(said):
    """A graph file takes the place of learning; required edges have no figures in JSON."""
    result = dagopt.learn("levels.csv", progress=False)
    dagopt.write_graph(result.graph, "graph.json")
    edge = result.graph.directed_edges[0]
    code, out, _ = said("explain", "levels.csv", *edge, "--graph", "graph.json", "-q", "--json")
    found = json.loads(out)
    assert (code, found["edge"], found["score"]) == (0, list(edge), pytest.approx(result.score))
    assert found["proof"] == "nothing is proven about better DAGs"
    required = ["--required", "->".join(edge)]
    code, out, _ = said("explain", "levels.csv", "--graph", "graph.json", "-q", "--json", *required)
    rows = {(row["from"], row["to"]): row for row in json.loads(out)["edges"]}
    assert rows[edge]["without"] is None
    assert rows[edge]["note"] == f"{edge[0]} -> {edge[1]} is required"


# --- verify ---------------------------------------------------------------------------------------------------


def test_a_proof_is_written_and_verified(said, folder):
    """``learn --proof`` writes what ``verify`` accepts with the same data, and refuses with others (exit code 1)."""
    code, out, _ = said("learn", "data.csv", "--proof", "proof.json", "-q")
    assert code == 0
    assert "wrote proof.json" in out
    code, out, err = said("verify", "proof.json", "data.csv")
    assert (code, err) == (0, "")
    assert out.startswith("verified: the graph has the score")
    code, out, _ = said("verify", "proof.json", "data.csv", "--json")
    assert json.loads(out)["accepted"] is True
    code, out, _ = said("verify", "proof.json", "data.csv", "--exclude", "X0")
    assert (code, out.split(":")[0]) == (1, "refused")
    assert said("verify", "data.csv", "data.csv")[0] == 2
    code, _, err = said("learn", "data.csv", "--proof", "proof.txt", "-q")
    assert code == 2
    assert "expected --proof to end in .json" in err


# --- bad input ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("bootstrap data.csv --resamples 0", "Invalid value for '--resamples'"),
        ("bootstrap data.csv --fraction 2", "expected --fraction to be a share of the rows, at most 1, but got 2.0"),
        ("bootstrap data.csv --no-replace", "give --fraction below 1"),
        ("bootstrap data.csv --threshold 0", "expected --threshold to be a number > 0 but got 0"),
        ("bootstrap data.csv --threshold 2", "expected --threshold to be a share, at most 1"),
        ("bootstrap data.csv --method ordre", "unknown method 'ordre'; did you mean 'order'?"),
        ("bootstrap data.csv --plot c.gif", "expected --plot to end in .png, .svg but got 'c.gif'"),
        ("bootstrap data.csv --plot nowhere/c.png", "there is no folder 'nowhere'; create it first"),
        ("bootstrap data.csv --out edges.doc", "expected --out to end in .csv, .tsv"),
        ("bootstrap data.csv --graph c.bif", "expected --graph to end in .dot, .gv"),
        ("path data.csv --entries e.html", "expected --entries to end in .csv, .tsv"),
        ("bootstrap nowhere.csv", "nowhere.csv"),
        ("bootstrap data.csv --required 'X0->X9'", "X9"),
        ("path data.csv --score bdeu", "score 'bdeu' has no penalty to vary"),
        ("path data.csv --penalties 1,a", "expected --penalties to be numbers such as 1,2,5 but got '1,a'"),
        ("path data.csv --penalties=-1", "expected --penalties to be at least one number from 0"),
        ("path data.csv --points 1", "Invalid value for '--points'"),
        ("path data.csv --method pc --quiet", "method 'pc' learns a class"),
        ("explain data.csv X0", "expected two columns to explain, or none for all edges, but got only 'X0'"),
        ("explain data.csv X0 X0", "expected two different columns but got 'X0' twice"),
        ("explain data.csv X0 XX1", "unknown column 'XX1'; did you mean 'X1'?"),
        ("explain data.csv X0 X1 --alternatives fast", "expected --alternatives to be auto, exact, order or"),
        ("explain data.csv X0 X1 --out e.csv", "--out is for the table of all edges"),
        ("explain data.csv X0 X1 --graph none.dot", "expected a file at 'none.dot' but got none"),
    ],
)
def test_bad_input_is_one_line(arguments, message, said, folder):
    """One line on standard error, exit code 2, and no file."""
    import shlex

    before = sorted(folder.iterdir())
    code, out, err = said(*shlex.split(arguments))
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


# --- rivals ---------------------------------------------------------------------------------------------------


def test_rivals_are_those_of_the_library(said):
    """Number, classes and edges are those of ``result.rivals``, on screen, in JSON and in the file."""
    expected = dagopt.learn("data.csv", progress=False).rivals(2.0, progress=False)
    code, out, err = said("rivals", "data.csv", "--within", 2, "--out", "edges.csv", "--json", "--quiet")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["count"] == expected.count
    assert len(found["classes"]) == expected.n_classes
    pd.testing.assert_frame_equal(pd.read_csv("edges.csv"), expected.edges, check_dtype=False)
    code, out, _ = said("rivals", "data.csv", "--within", 6, "--most", 1, "--quiet")
    assert code == 0
    assert "DAGs" in out
    assert ", the best " in out
    assert said("rivals", "data.csv", "--within", -1)[0] == 2
