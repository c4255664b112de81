"""Tests of the posterior of an effect: parent sets against all DAGs and orders, the mixture against drawn values."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import dagopt
from dagopt.cli import run
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods.exact.edge_posterior import OrderSums
from dagopt.networks.effects.estimates import estimate
from dagopt.networks.effects.mixture import _mixed
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from every_dag import continuous_table, discrete_table, learned, members, parent_sets, problems, totals
from every_order import linear_extensions, log_prior


def shares_of_dags(problem, prior):
    """Return the probability of every DAG."""
    n = problem.n_nodes
    parents = parent_sets(n)
    weight = totals(problem.score, problem.knowledge) + np.log(linear_extensions(n))
    weight = weight + sum(log_prior(prior, n)[parents[:, i]] for i in range(n))
    return np.exp(weight - logsumexp(weight))


@settings(max_examples=20, deadline=None)
@given(problem=problems(min_nodes=2), prior=st.sampled_from(["fair", "uniform"]), node=st.integers(0, 4))
def test_parent_sets_have_the_probability_of_their_dags(problem, prior, node):
    """The probability of a parent set is the sum over all DAGs that have it, each as often as orders agree with it."""
    node %= problem.n_nodes
    with Workers(Deadline(), NoProgress(), 1) as workers:
        masks, found = OrderSums(problem, prior, workers).parents_of(node)
    shares, own = shares_of_dags(problem, prior), parent_sets(problem.n_nodes)[:, node]
    expected = {mask: shares[own == mask].sum() for mask in np.unique(own).tolist()}
    told = dict(zip(masks.tolist(), found, strict=True))
    for mask, share in expected.items():
        assert told.get(mask, 0.0) == pytest.approx(share, abs=1e-9)
    assert found.sum() == pytest.approx(1, abs=1e-9)
    assert (np.diff(found) <= 0).all()


@settings(max_examples=20, deadline=None)
@given(problem=problems(min_nodes=2, max_nodes=4), prior=st.sampled_from(["fair", "uniform"]))
def test_the_mean_is_that_over_all_dags(problem, prior):
    """Mean and probability of no effect are the averages over all DAGs, each with the effect of its parents."""
    shares, parents = shares_of_dags(problem, prior), parent_sets(problem.n_nodes)
    found = learned(problem).effect_posterior(*problem.names[:2], prior=prior, progress=False)
    mean, zero = 0.0, 0.0
    for mask in np.unique(parents[:, 0]).tolist():
        share = shares[parents[:, 0] == mask].sum()
        if mask >> 1 & 1:
            zero += share
        elif share > 1e-12:
            rows = estimate(problem.table, 0, 1, tuple(members(mask)), 0.95)
            mean += share * np.array([row["effect"] for row in rows])
    np.testing.assert_allclose(found.summaries["mean"], mean, atol=1e-5)
    np.testing.assert_allclose(found.summaries["zero"], zero, atol=1e-5)
    assert found.covered == pytest.approx(1, abs=1e-5)
    signs = found.summaries[["positive", "negative", "zero"]].sum(axis=1)
    np.testing.assert_allclose(signs, 1, atol=1e-9)


def parts(weights, means, spreads):
    """Return a mixture of two normals and a point without an effect."""
    reach = 1.959964 * np.array(spreads)
    return pd.DataFrame(
        {
            "probability_of_parents": weights,
            "effect": means,
            "lower": np.array(means) - reach,
            "upper": np.array(means) + reach,
            "adjustment": ["{}", "{a}", "no effect"],
        }
    )


@pytest.mark.parametrize("weights", [[0.5, 0.3, 0.2], [0.1, 0.05, 0.85], [0.1, 0.899, 0.001]])
def test_the_interval_is_that_of_drawn_values(weights):
    """The hull of quantiles of many draws: of all, of those with an effect, of each part that is likely."""
    rng = np.random.default_rng(0)
    means, spreads = np.array([1.0, -0.4, 0.0]), np.array([0.2, 0.1, 0.0])
    found = _mixed(parts(weights, means, spreads), 0.95)
    which = rng.choice(3, p=weights, size=1_000_000)
    drawn = means[which] + spreads[which] * rng.normal(size=which.size)
    likely = [drawn[which == k] for k in range(3) if weights[k] > 0.01]
    ends = [np.quantile(own, [0.025, 0.975]) for own in (drawn, drawn[which < 2], *likely)]
    assert found["lower"] == pytest.approx(min(lower for lower, _ in ends), abs=0.01)
    assert found["upper"] == pytest.approx(max(upper for _, upper in ends), abs=0.01)
    assert found["positive"] == pytest.approx((drawn > 0).mean(), abs=0.002)
    assert found["zero"] == pytest.approx(weights[2])


def test_a_mixture_without_an_effect_is_a_point():
    """If every likely parent set has the outcome in it, the interval is zero."""
    only = parts([0.0, 0.0, 1.0], [1.0, -0.4, 0.0], [0.2, 0.1, 0.0])
    assert (_mixed(only, 0.95)["lower"], _mixed(only, 0.95)["upper"]) == (0.0, 0.0)
    assert (_mixed(only.tail(1), 0.95)["lower"], _mixed(only.tail(1), 0.95)["upper"]) == (0.0, 0.0)


def test_many_rows_do_not_underflow():
    """With 20,000 rows local scores are in the tens of thousands, and the probabilities still sum to one."""
    result = dagopt.learn(continuous_table(6, 3, 20_000), "exact", score="bge", progress=False)
    found = result.effect_posterior("a", "b", progress=False)
    assert found.covered == pytest.approx(1, abs=1e-5)
    assert np.isfinite(found.summaries[["mean", "lower", "upper"]].to_numpy()).all()


def test_levels_and_the_command(tmp_path, capsys, monkeypatch):
    """Discrete outcomes have one row per level; the command tells the same."""
    monkeypatch.chdir(tmp_path)
    dagopt.simulate(4, 300, 1.2, random_state=1, kind="discrete").data.to_csv("levels.csv", index=False)
    result = dagopt.learn("levels.csv", score="bdeu", progress=False)
    expected = result.effect_posterior("X0", "X1", progress=False)
    assert len(expected.summaries) == expected.table.groupby(["level", "from", "to"]).ngroups
    assert run(["effect", "levels.csv", "X0", "X1", "--posterior", "--score", "bdeu", "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["summaries"] == expected.to_dict()["summaries"]
    assert run(["effect", "levels.csv", "X0", "X1", "--posterior", "--score", "bdeu", "--quiet"]) == 0
    assert "averaged over all DAGs" in capsys.readouterr().out
    both = ["effect", "levels.csv", "X0", "X1", "--posterior", "--within", "3", "--score", "bdeu", "--quiet"]
    assert run([*both, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["posterior"]["summaries"] == expected.to_dict()["summaries"]
    assert told["effect"]["ranges"] == result.effect("X0", "X1", within=3.0).to_dict()["ranges"]
    assert run(both) == 0
    told = capsys.readouterr().out
    assert "proven complete" in told
    assert "averaged over all DAGs" in told
    assert run(["effect", "levels.csv", "X0", "X1", "--posterior", "--graph", "a.dot"]) == 2


def test_what_is_refused():
    """No time, an unknown prior and unknown columns."""
    result = dagopt.learn(discrete_table(4, 3), "exact", progress=False)
    with pytest.raises(InputError, match="time_limit="):
        result.effect_posterior("a", "b", time_limit=1e-9)
    with pytest.raises(InputError, match="prior="):
        result.effect_posterior("a", "b", prior="flat")
    with pytest.raises(InputError, match="unknown column"):
        result.effect_posterior("a", "z")
