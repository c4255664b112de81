"""``dagopt summarise`` and ``dagopt show``."""

import json

import pytest

import dagopt
from dagopt.cli import run


def test_mixed_statistics_without_rows_have_no_parameters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    dagopt.summarise(dagopt.simulate(4, 300, 1.0, 1, kind="mixed").data).save("mixed")
    assert run(["learn", "mixed.dagstats", "--out", "results", "--quiet"]) == 0
    with pytest.raises(dagopt.InputError, match="saved without rows"):
        dagopt.learn("mixed.dagstats").fit()


def test_statistics_are_added_and_learned_from(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = dagopt.simulate(5, 600, 1.0, 1).data
    data[:400].to_csv("a.csv", index=False)
    data[400:].to_csv("b.csv", index=False)
    assert run(["summarise", "a.csv", "--out", "a.dagstats"]) == 0
    assert run(["summarise", "a.dagstats", "b.csv", "--out", "both.dagstats"]) == 0
    assert "both.dagstats: 600 rows, 5 columns" in capsys.readouterr().out
    assert run(["learn", "both.dagstats", "--out", "results", "--quiet"]) == 0
    found = json.loads((tmp_path / "results" / "result.json").read_text())
    assert abs(found["score"] / dagopt.learn(data).score - 1) < 1e-9
    capsys.readouterr()
    assert run(["show", "results/result.json", "--json"]) == 0
    assert sum(json.loads(capsys.readouterr().out)["components"]) <= 5
    assert run(["show", "results/result.json"]) == 0
    assert "5 columns, " in capsys.readouterr().out
    assert run(["show", "results/result.json", "--around", "X0", "--steps", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"][0] == "X0"
    assert run(["show", "results/result.json", "--around", "X0"]) == 0
    assert "within 1 of 'X0'" in capsys.readouterr().out
    assert run(["show", "results/result.json", "--around", "X9"]) == 2
