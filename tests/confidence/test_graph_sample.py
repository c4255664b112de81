"""Tests of DAGs drawn by their probability: against sums over all DAGs, and their answers against asking every one."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.errors import InputError
from dagopt.methods.orders import order_chains, sum_tables
from every_dag import continuous_table, discrete_table, learned, parent_sets, totals
from every_order import linear_extensions, log_prior


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Keep the walks short."""
    monkeypatch.setattr(order_chains, "STEPS_PER_PIECE", 20_000)
    monkeypatch.setattr(order_chains, "MOST_SWEEPS", 40_000)


def all_dags(problem, prior="fair"):
    """Return the adjacency of every DAG and its probability."""
    n = problem.n_nodes
    parents = parent_sets(n)
    weight = totals(problem.score, problem.knowledge) + np.log(linear_extensions(n))
    weight = weight + sum(log_prior(prior, n)[parents[:, i]] for i in range(n))
    shares = np.exp(weight - weight.max())
    return (parents[:, None, :] >> np.arange(n)[None, :, None] & 1).astype(np.int8), shares / shares.sum()


@pytest.mark.few(2)
@pytest.mark.parametrize("prior", ["fair", "uniform"])
@pytest.mark.parametrize("whole", [False, True])
def test_dags_are_drawn_by_their_probability(prior, whole, monkeypatch):
    """Each likely DAG has its share of 1,500 draws, up to chance, from tables of candidates and from those of all."""
    if whole:
        monkeypatch.setattr(sum_tables, "TABLE_ENTRIES", 0)
        monkeypatch.setattr(sum_tables, "MOST", 1)
        monkeypatch.setattr(sum_tables, "FEWEST", 1)
    result = dagopt.learn(continuous_table(4, 3, 60), "exact", score="bge", progress=False)
    sample = result.sample_graphs(1_500, prior=prior, n_jobs=1, progress=False)
    dags, shares = all_dags(result.problem, prior)
    found = {dag.tobytes(): share for dag, share in zip(dags, shares, strict=True)}
    drawn, counts = np.unique(sample.dags.reshape(1_500, -1), axis=0, return_counts=True)
    for dag, count in zip(drawn, counts, strict=True):
        share = found[dag.tobytes()]
        assert abs(count / 1_500 - share) <= 5 * np.sqrt(share * (1 - share) / 1_500) + 1e-3
    assert sum(found[dag.tobytes()] for dag in drawn) > 0.97
    assert sample.agrees
    assert sample.n_distinct == len(drawn)
    edges = sample.edges.set_index(["from", "to"])["share"]
    expected = np.tensordot(shares, dags.astype(float), axes=1)
    names = result.problem.names
    for i, j in np.argwhere(expected > 0.05):
        assert edges[names[i], names[j]] == pytest.approx(expected[i, j], abs=0.07)


@pytest.mark.parametrize("do", [None, {"a": 1.0}])
def test_answers_are_averaged_over_all_dags(do):
    """The average is near that over all DAGs, each fitted and asked; the learned graph's answer is beside it."""
    result = dagopt.learn(continuous_table(3, 3, 60), "exact", score="bge", progress=False)
    sample = result.sample_graphs(1_000, n_jobs=1, progress=False)
    told = sample.query("b", {"c": 0.5}, do=do)
    dags, shares = all_dags(result.problem)
    likely = shares > 1e-4
    means = []
    for dag in dags[likely]:
        network = dagopt.fit(result.problem.table, dagopt.Graph(dag, result.problem.names))
        means.append((network.do(do) if do else network).query("b", {"c": 0.5}).mean)
    means, weights = np.array(means), shares[likely] / shares[likely].sum()
    spread = np.sqrt(weights @ (means - weights @ means) ** 2)
    assert told.loc["mean", "average"] == pytest.approx(weights @ means, abs=6 * spread / np.sqrt(1_000) + 1e-6)
    assert told.loc["mean", "spread"] == pytest.approx(spread, rel=0.2, abs=1e-4)
    own = (result.fit().do(do) if do else result.fit()).query("b", {"c": 0.5})
    assert told.loc["mean", "learned"] == pytest.approx(own.mean)
    assert told.loc["std", "learned"] == pytest.approx(own.std)
    assert told.loc["mean", "lower"] <= told.loc["mean", "average"] <= told.loc["mean", "upper"]
    order = np.argsort(means)
    reached = np.cumsum(weights[order])
    low, high = (means[order][np.searchsorted(reached, goal)] for goal in (0.01, 0.99))
    wide = sample.query("b", {"c": 0.5}, do=do, level=0.9999)
    assert wide.loc["mean", "lower"] <= low + 1e-9
    assert wide.loc["mean", "upper"] >= high - 1e-9


@pytest.mark.parametrize(("table", "weight"), [(continuous_table, 0.0), (discrete_table, 1.0)])
def test_predictions_are_those_of_queries(table, weight):
    """Each row is predicted as a query given its other cells is answered."""
    result = dagopt.learn(table(3, 3, 80), "exact", progress=False)
    sample = result.sample_graphs(40, n_jobs=1, progress=False)
    rows = result.fit(equivalent_sample_size=weight).sample(2, random_state=0)
    found = sample.predict(rows, "b", equivalent_sample_size=weight)
    for place in range(2):
        given = rows.iloc[place].drop("b").to_dict()
        asked = sample.query("b", given, equivalent_sample_size=weight)
        for name, way in found.columns:
            assert found.iloc[place][name, way] == pytest.approx(asked.loc[name, way], abs=1e-9)


def test_the_same_on_any_threads_and_by_seed():
    """The draws depend on the seed alone."""
    result = dagopt.learn(discrete_table(5, 3, 80), "exact", score="bdeu", progress=False)
    one, other, third = (
        result.sample_graphs(40, n_jobs=jobs, random_state=seed, progress=False)
        for jobs, seed in ((1, 0), (2, 0), (1, 1))
    )
    np.testing.assert_array_equal(one.dags, other.dags)
    assert not np.array_equal(one.dags, third.dags)
    assert json.loads(json.dumps(one.to_dict()))["count"] == 40
    assert "40 DAGs over 5 columns" in repr(one)
    assert "<table" in one._repr_html_()


def test_knowledge_holds_in_every_draw():
    """Forbidden edges are in no DAG, required ones in all."""
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=list("abcd"))
    known = {"required": [("d", "a")], "forbidden": [("a", "b"), ("b", "a")]}
    result = dagopt.learn(rows, "exact", constraints=known, progress=False)
    sample = result.sample_graphs(50, n_jobs=1, progress=False)
    assert (sample.dags[:, 3, 0] == 1).all()
    assert (sample.dags[:, 0, 1] == 0).all()
    assert (sample.dags[:, 1, 0] == 0).all()


def test_what_is_refused():
    """No time, no graphs, an unknown prior, a level that is none."""
    result = learned(dagopt.learn(discrete_table(4, 3), "exact", progress=False).problem)
    with pytest.raises(InputError, match="time_limit="):
        result.sample_graphs(time_limit=1e-9)
    with pytest.raises(InputError, match="count="):
        result.sample_graphs(0)
    with pytest.raises(InputError, match="prior="):
        result.sample_graphs(prior="flat")
    sample = result.sample_graphs(4, n_jobs=1, progress=False)
    with pytest.raises(InputError, match="level="):
        sample.query("a", level=1.0)
