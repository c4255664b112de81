"""Tests of the dialogue before learning."""

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from dagopt import Constraints
from dagopt.cli import app

RUNNER = CliRunner()


def made(path):
    """Write a table with an identifier, an age and two columns that depend on it."""
    rng = np.random.default_rng(0)
    age = rng.normal(size=200)
    smoking = age + rng.normal(size=200)
    columns = {
        "row_id": [f"r{k}" for k in range(200)],
        "age": age,
        "smoking": smoking,
        "lung": smoking + rng.normal(size=200),
    }
    pd.DataFrame(columns).to_csv(path, index=False)
    return str(path)


def test_what_is_confirmed_is_used_and_kept(tmp_path, monkeypatch):
    """Proposals are taken by Enter, a wrong name is asked again, and the file has the tiers."""
    monkeypatch.chdir(tmp_path)
    answers = ["", "", "smokin", "smoking", "y", "known.toml"]
    found = RUNNER.invoke(
        app, ["learn", made(tmp_path / "x.csv"), "--interview", "--quiet", "--json"], input="\n".join(answers) + "\n"
    )
    assert found.exit_code == 0, found.output
    assert "there is no column 'smokin'" in found.output
    assert "left out: row_id" in found.output
    assert [list(group) for group in Constraints.read("known.toml").tiers] == [["age"], ["smoking"], ["lung"]]
    assert '"age"' in found.output


def test_what_is_not_confirmed_is_not_used(tmp_path):
    """Without a yes the graph is learned as if nothing was asked."""
    path = made(tmp_path / "x.csv")
    asked = RUNNER.invoke(app, ["learn", path, "--interview", "--quiet"], input="\n\n-\nn\n")
    assert asked.exit_code == 0, asked.output
    assert "that the constraints allow" not in asked.output
    refused = RUNNER.invoke(app, ["learn", path, "--interview", "--tiers", "age;lung"])
    assert "given already" in str(refused.exception)
