"""Tests of effects over all DAGs near the best: against all DAGs on up to five columns, for every kind of table."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.cli import run
from dagopt.errors import InputError
from dagopt.networks.effects.estimates import estimate
from every_dag import continuous_table, learned, members, parent_sets, problems, totals


@settings(max_examples=20, deadline=None)
@given(problem=problems(min_nodes=2), within=st.sampled_from([0.7131, 2.1417, 5.3199]), pair=st.integers(0, 19))
def test_the_effects_are_those_of_all_dags(problem, within, pair):
    """One row for each parent set of the cause in a DAG within the limit, with its loss, and the hull of them."""
    n = problem.n_nodes
    x, y = [(a, b) for a in range(n) for b in range(n) if a != b][pair % (n * (n - 1))]
    parents = parent_sets(n)
    found = learned(problem).effect(problem.names[x], problem.names[y], within=within)
    frames, losses = {}, {}
    for score in (problem.score, problem.score.at_half_cost()):
        if score is None:
            continue
        scores = totals(score, problem.knowledge)
        inside = scores >= scores.max() - within
        for mask in np.unique(parents[inside, x]).tolist():
            own = tuple(members(mask))
            spelled = "{" + ", ".join(problem.names[i] for i in own) + "}"
            losses.setdefault(spelled, scores.max() - scores[parents[:, x] == mask].max())
            frames[spelled] = None if y in own else pd.DataFrame(estimate(problem.table, x, y, own, 0.95))
    assert set(found.table["parents"]) == set(frames)
    for spelled, rows in found.table.groupby("parents"):
        assert rows["loss"].to_numpy() == pytest.approx(losses[spelled], abs=1e-7)
        expected = frames[spelled]
        for name in ("effect", "lower", "upper"):
            told = np.zeros(len(rows)) if expected is None else expected[name].to_numpy()
            np.testing.assert_allclose(rows[name].to_numpy(), told, atol=1e-9)
    whole = found.ranges
    assert whole["lower"].min() == pytest.approx(found.table["lower"].min())
    assert whole["upper"].max() == pytest.approx(found.table["upper"].max())
    assert ((whole["share"] > 0) & (whole["share"] <= 1)).all()
    by_score = found.table[found.table["price"] == "full"] if "price" in found.table else found.table
    assert by_score["loss"].is_monotonic_increasing


def test_mixed_tables_have_them_too():
    """A discrete outcome among continuous columns has one range per level, which sum to zero."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(continuous_table(4, 3, 300).values, columns=list("abcd"))
    frame["e"] = np.where(rng.random(300) < 1 / (1 + np.exp(-2 * frame["a"])), "yes", "no")
    result = dagopt.learn(frame, "exact", progress=False)
    found = result.effect("a", "e", within=3.0)
    assert found.ranges["level"].tolist() == ["no", "yes"]
    effects = found.table.pivot(index="parents", columns="level", values="effect")
    np.testing.assert_allclose(effects.sum(axis=1), 0, atol=1e-9)
    assert len(result.effect("e", "a", within=3.0).ranges) == 1


def test_half_the_price_keeps_a_weak_parent_in():
    """A weak confounder costs two parameters more than it gains, and counts at half the price."""
    rng = np.random.default_rng(5)
    other, weak = rng.random((2, 4000)) < 0.5
    cause = rng.random(4000) < 0.2 + 0.5 * other + 0.05 * weak
    outcome = rng.random(4000) < 0.1 + 0.2 * cause + 0.6 * weak
    frame = pd.DataFrame({"w": weak, "o": other, "x": cause, "y": outcome}).astype(int).astype(str)
    known = dagopt.Constraints(tiers=[["w", "o"], ["x"], ["y"]])
    result = dagopt.learn(frame, "exact", score="bic", kind="discrete", constraints=known, progress=False)
    found, alone = result.effect("x", "y", within=1.0), result.effect("x", "y", within=1.0, half_price=False)
    assert "{w, o}" in set(found.table["parents"][found.table["price"] == "half"])
    assert "{w, o}" not in set(alone.table["parents"])
    assert "price" not in alone.table
    assert set(alone.table["parents"]) == set(found.table["parents"][found.table["price"] == "full"])
    assert found.ranges["lower"].min() <= alone.ranges["lower"].min()
    assert "at half the price only" in found.summary()
    assert "half" not in alone.summary()
    both = result.effect(("o", "x"), "y", within=1.0)
    assert set(both.table["price"]) == {"full", "half"}
    assert "price" not in result.effect(("o", "x"), "y", within=1.0, half_price=False).table


def test_dependent_columns_leave_the_range_open():
    """Where parents determine the cause, the effect given them is unknown and the hull has no end."""
    from dagopt.networks.effects.effect import effect_of_parents

    values = np.random.default_rng(0).normal(size=(50, 3))
    table = dagopt.as_table(pd.DataFrame(np.column_stack([values, values[:, 0] * 2]), columns=list("abcd")))
    found = effect_of_parents(table, "a", "b", [(), (3,)], [0.0, 1.0], 3.0)
    assert found.ranges["lower"].tolist() == [-np.inf]
    assert found.to_dict()["ranges"][0]["lower"] is None


def test_the_command_tells_the_same(tmp_path, capsys, monkeypatch):
    """``dagopt effect --within`` has the library's figures; one graph and many exclude each other."""
    monkeypatch.chdir(tmp_path)
    dagopt.simulate(5, 150, 1.2, random_state=1).data.to_csv("data.csv", index=False)
    expected = dagopt.learn("data.csv", progress=False).effect("X0", "X1", within=2.0)
    assert run(["effect", "data.csv", "X0", "X1", "--within", "2", "--quiet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["within"] == 2.0
    assert told["ranges"] == expected.to_dict()["ranges"]
    assert run(["effect", "data.csv", "X0", "X1", "--within", "2", "--quiet"]) == 0
    assert "proven complete" in capsys.readouterr().out
    assert run(["effect", "data.csv", "X0", "X1", "--within", "2", "--graph", "a.dot"]) == 2


def test_what_is_refused():
    """One DAG and many, no time, and wrong numbers."""
    result = dagopt.learn(continuous_table(4, 3), "exact", progress=False)
    with pytest.raises(InputError, match="leave one of them out"):
        result.effect("a", "b", over="dag", within=3.0)
    with pytest.raises(InputError, match="within="):
        result.effect("a", "b", within=-1)
    with pytest.raises(InputError, match="unknown column"):
        result.effect("a", "z", within=3.0)
    with pytest.raises(InputError, match="time_limit="):
        result.effect("a", "b", within=3.0, time_limit=1e-9)


def test_more_columns_than_the_recursion_takes(monkeypatch):
    """Where the recursion does not fit, branch and cut gives the same table."""
    from dagopt.confidence import effect_within as module

    result = dagopt.learn(continuous_table(6, 3), "exact", progress=False)
    whole = result.effect("a", "b", within=2.0)
    monkeypatch.setattr(module, "by_recursion", lambda *given: False)
    found = result.effect("a", "b", within=2.0)
    both = (frame.sort_values("parents", ignore_index=True) for frame in (found.table, whole.table))
    pd.testing.assert_frame_equal(*both, atol=1e-6)
