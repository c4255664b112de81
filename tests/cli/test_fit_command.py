"""The command ``dagopt fit``, and the parameters that ``dagopt learn`` writes."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt import cli
from dagopt.networks.bif import read_bif
from dagopt.networks.gaussian_json import read_gaussian_json

BAD_INPUT = 2


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Work in a folder with continuous and discrete data and the graphs behind them."""
    monkeypatch.chdir(tmp_path)
    for name, (frame, dag) in {
        "numbers": dagopt.simulate(5, 300, 1.5, random_state=0),
        "asia": dagopt.datasets.load("asia", n_samples=200, random_state=0),
    }.items():
        frame.to_csv(f"{name}.csv", index=False)
        dagopt.write_graph(dag, f"{name}.dot")
    return tmp_path


@pytest.fixture
def said(capsys):
    """Run the command and return its exit code, output and complaints."""

    def run(*arguments):
        capsys.readouterr()
        code = cli.run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_fit_tells_every_parameter(data, said):
    """Both kinds are shown with their standard errors, notes and log-likelihood."""
    code, out, _ = said("fit", "numbers.csv", "numbers.dot")
    assert code == 0
    fitted = dagopt.fit("numbers.csv", "numbers.dot")
    for row in fitted.parameters.itertuples():
        assert any(line.split()[:4] == [row.node, row.term, f"{row.estimate:.4f}", f"{row.standard_error:.4f}"]
                   for line in out.splitlines())  # fmt: skip
    assert f"log-likelihood {dagopt.score('numbers.csv', 'numbers.dot', 'loglik'):.4f}" in out
    code, out, _ = said("fit", "asia.csv", "asia.dot")
    assert code == 0
    assert "parent configurations without a row of data" in out


def test_fit_writes_what_the_suffix_says(data, said):
    """BIF and JSON read back as networks, CSV as the tidy table."""
    assert said("fit", "asia.csv", "asia.dot", "--out", "asia.bif", "--ess", "2")[0] == 0
    fitted = dagopt.fit("asia.csv", "asia.dot", equivalent_sample_size=2)
    for table, own in zip(read_bif("asia.bif").tables, fitted.network.tables, strict=True):
        np.testing.assert_array_equal(table, own)
    assert said("fit", "numbers.csv", "numbers.dot", "--out", "numbers.json")[0] == 0
    numbers = dagopt.fit("numbers.csv", "numbers.dot")
    np.testing.assert_array_equal(read_gaussian_json("numbers.json").weights, numbers.network.weights)
    assert said("fit", "numbers.csv", "numbers.dot", "--out", "out.csv")[0] == 0
    pd.testing.assert_frame_equal(pd.read_csv("out.csv"), numbers.parameters, check_dtype=False)


def test_fit_as_json(data, said):
    """For machines the same as the library's plain values."""
    code, out, err = said("fit", "asia.csv", "asia.dot", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == json.loads(json.dumps(dagopt.fit("asia.csv", "asia.dot").to_dict())) | {"files": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["numbers.csv", "numbers.dot", "--out", "n.bif"], "expected a file ending in .json or .csv but got 'n.bif'"),
        (["numbers.csv", "numbers.dot", "--ess", "1"], "--ess smooths tables of discrete data"),
        (["asia.csv", "asia.dot", "--ess", "-1"], "expected --ess to be a number >= 0 but got -1.0"),
        (
            ["asia.csv", "asia.dot", "--out", "n.txt"],
            "to end in .json, .csv, .bif, .net, .xdsl, .dsl, .bifxml, .uai but got 'n.txt'",
        ),
        (["asia.csv", "numbers.dot"], "unknown node in the graph"),
        (["asia.csv", "none.dot"], "none.dot"),
    ],
)
def test_fit_complains_in_one_line(data, said, arguments, message):
    """What cannot be fitted or written is one line and code 2, and leaves no file."""
    before = sorted(data.iterdir())
    code, _, err = said("fit", *arguments)
    assert code == BAD_INPUT
    assert message in err
    assert len(err.splitlines()) == 1
    assert sorted(data.iterdir()) == before


@pytest.mark.parametrize("name", ["asia", "numbers"])
def test_learn_writes_the_parameters(data, said, name):
    """The result file has the parameters of the learned DAG."""
    assert said("learn", f"{name}.csv", "-q", "--out", "out")[0] == 0
    told = json.loads((data / "out/result.json").read_text())
    result = dagopt.learn(f"{name}.csv")
    assert told["parameters"] == json.loads(json.dumps(result.fit().to_dict()))


def test_learn_says_why_there_are_no_parameters(data, said):
    """Local scores have no data behind them."""
    (data / "s.jkl").write_text("2\na 1\n-2.0 0\nb 2\n-3.0 0\n-1.0 1 a\n")
    assert said("learn", "s.jkl", "-q", "--out", "out")[0] == 0
    told = json.loads((data / "out/result.json").read_text())
    assert told["parameters"] is None
    assert "no data" in told["why_no_parameters"]
