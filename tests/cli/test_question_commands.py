"""The commands query and effect."""

from __future__ import annotations

import json

import pytest

import dagopt
from dagopt.cli import run

BAD_INPUT = 2
ASIA = ("query", "asia.csv", "asia.dot", "--target")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with discrete and continuous data and their DAGs, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    for name, file in (("asia", "asia"), ("gaussian_test", "numbers")):
        data, dag = dagopt.datasets.load(name, n_samples=1000, random_state=0)
        data.to_csv(f"{file}.csv", index=False)
        dagopt.write_graph(dag, f"{file}.dot")
    return tmp_path


def said(capsys, *arguments):
    code = run(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_query_answers_as_the_library_does(folder, capsys):
    """Discrete and continuous answers, given evidence or set values, are those of the fitted network."""
    fitted = dagopt.fit("asia.csv", "asia.dot")
    code, out, _ = said(
        capsys,
        "query",
        "asia.csv",
        "asia.dot",
        "--target",
        "dysp",
        "--evidence",
        "smoke=yes",
        "--evidence",
        "asia=no",
        "--json",
    )
    assert code == 0
    expected = fitted.query("dysp", {"smoke": "yes", "asia": "no"})
    assert json.loads(out)["answer"] == pytest.approx(expected.to_dict())
    code, out, _ = said(capsys, "query", "asia.csv", "asia.dot", "--target", "smoke", "--do", "lung=yes")
    assert out.split()[1::2] == [f"{share:.6g}" for share in fitted.query("smoke")]
    numbers = dagopt.fit("numbers.csv", "numbers.dot").query("F", {"A": 1.5})
    code, out, _ = said(capsys, "query", "numbers.csv", "numbers.dot", "--target", "F", "--evidence", "A=1.5", "--json")
    assert json.loads(out)["answer"]["mean"] == pytest.approx(numbers.mean)


def test_effect_learns_or_takes_a_graph(folder, capsys):
    """The table, whether it is identified and what is assumed are printed; a given DAG identifies the effect."""
    code, out, _ = said(capsys, "effect", "numbers.csv", "A", "F", "--quiet")
    assert code == 0
    assert "total effect of A on F" in out
    assert "assumed: there is no hidden common cause" in out
    code, out, _ = said(capsys, "effect", "numbers.csv", "A", "F", "--graph", "numbers.dot", "--json")
    told = json.loads(out)
    assert told["identified"]
    expected = dagopt.effect("numbers.csv", "numbers.dot", "A", "F").value
    assert told["effects"][0]["effect"] == pytest.approx(expected)
    code, out, _ = said(capsys, "effect", "asia.csv", "smoke", "lung", "--tiers", "smoke;lung", "--quiet", "--json")
    assert json.loads(out)["effects"][0]["from"] == "no"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*ASIA, "lungs"], "unknown column 'lungs'; did you mean 'lung'?"),
        (
            ["query", "asia.csv", "asia.dot", "--target", "lung", "--evidence", "smoke"],
            "expected --evidence as COLUMN=VALUE",
        ),
        (
            ["query", "asia.csv", "asia.dot", "--target", "lung", "--evidence", "smoke=2"],
            "unknown level of column 'smoke'",
        ),
        (["query", "numbers.csv", "numbers.dot", "--target", "A", "--evidence", "B=x"], "expected a number"),
        (["effect", "numbers.csv", "A", "A", "--quiet"], "'A' twice; name two columns"),
        (["effect", "numbers.csv", "A", "Z", "--quiet"], "unknown column 'Z'"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, arguments, message):
    """What cannot be asked is one line and code 2."""
    code, _, err = said(capsys, *arguments)
    assert code == BAD_INPUT
    assert message in err
    assert err.count("\n") == 1
