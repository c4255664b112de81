"""Experiments with unknown targets: their columns, and what is found for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dagopt
from dagopt.cli import app
from dagopt.data.experiments import with_indicators


def trials(seed, rows=600):
    """Return a chain X0 → X1 → X2 and X0 → X3; "heat" shifts X1, "dose" X0 and X3, and a column names them."""
    rng = np.random.default_rng(seed)
    names = rng.choice(["none", "heat", "dose"], rows)
    noise = rng.normal(size=(4, rows))
    x0 = noise[0] - 2.0 * (names == "dose")
    x1 = x0 + noise[1] + 2.0 * (names == "heat")
    x3 = x0 + noise[3] + 4.0 * (names == "dose")
    return pd.DataFrame({"X0": x0, "X1": x1, "X2": x1 + noise[2], "X3": x3, "trial": names})


@pytest.mark.parametrize("seed", range(3))
def test_what_an_experiment_changed_is_found(seed):
    """Its children are the columns that were shifted; no edge leads to an experiment."""
    result = dagopt.learn(trials(seed), experiments="trial", progress=False)
    assert result.status == "optimal"
    assert result.targets("trial") == {"dose": ["X0", "X3"], "heat": ["X1"]}
    assert not result.adjacency[:, -2:].any()
    assert any("experiment 'heat' changed X1" in note for note in result.notes)


def test_it_is_the_same_as_columns_made_by_hand():
    """The score is that of a mixed table with two columns of the first tier that are not joined."""
    data = trials(1)
    told = dagopt.learn(data, experiments="trial", progress=False)
    plain = data.drop(columns="trial").assign(
        dose=np.where(data["trial"] == "dose", "yes", "no"), heat=np.where(data["trial"] == "heat", "yes", "no")
    )
    known = {
        "tiers": [["dose", "heat"], ["X0", "X1", "X2", "X3"]], "forbidden": [("dose", "heat"), ("heat", "dose")]
    }  # fmt: skip
    by_hand = dagopt.learn(plain, constraints=known, progress=False)
    assert told.score == pytest.approx(by_hand.score, abs=1e-6)
    assert np.array_equal(told.adjacency, by_hand.adjacency)


def test_rows_without_an_experiment_are_the_reference():
    """Missing, empty, 0, none and control mean none; without such rows it is the most frequent experiment."""
    frame = pd.DataFrame({"x": range(6), "by": [None, "", 0, "Control", "a", "b"]})
    made = with_indicators(frame, "by")
    assert made.names == ("a", "b")
    assert (made.data["by=a"] == "yes").tolist() == [False] * 4 + [True, False]
    assert ("x", "by=a") in made.forbidden()
    assert ("by=b", "by=a") in made.forbidden()
    assert not any(edge[0] == "by=a" and edge[1] == "x" for edge in made.forbidden())
    other = with_indicators(pd.DataFrame({"x": range(5), "by": list("aabbb")}), "by")
    assert (other.names, other.reference) == (("a",), "b")


@pytest.mark.parametrize(
    ("frame", "column", "words"),
    [
        ({"x": [1.0, 2.0]}, "by", "check the name"),
        ({"x": [1.0, 2.0], "by": ["a", "a"]}, "by", "at least two"),
        ({"x": [1.0, 2.0], "by": ["a", "b"], "by=b": [1, 2]}, "by", "rename it"),
    ],
)
def test_what_cannot_be_compared_is_refused(frame, column, words):
    """With a sentence that says what to do."""
    with pytest.raises(dagopt.InputError, match=words):
        with_indicators(pd.DataFrame(frame), column)


def test_known_and_unknown_targets_exclude_each_other():
    """One of the two is asked for."""
    with pytest.raises(dagopt.InputError, match="not both"):
        dagopt.learn(trials(0), experiments="trial", interventions="trial", progress=False)
    with pytest.raises(dagopt.InputError, match="learn with experiments"):
        dagopt.learn(trials(0).drop(columns="trial"), "hc", progress=False).targets("trial")


def test_the_command_has_the_flag(tmp_path):
    """The notes of the summary say what was changed."""
    path = tmp_path / "trials.csv"
    trials(2).to_csv(path, index=False)
    done = CliRunner().invoke(app, ["learn", str(path), "--experiments", "trial", "--quiet"])
    assert done.exit_code == 0
    assert "experiment 'heat' changed X1" in " ".join(done.output.split())
