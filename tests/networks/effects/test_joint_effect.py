"""Tests of effects of two columns set at once: against the true networks, all listed DAGs, and repeated draws."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.data.table import as_table
from dagopt.errors import InputError
from dagopt.graph.cpdag import cpdag
from dagopt.networks.effects.joint_effect import joint_effect_in
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network


def triples(n):
    """Return every pair of causes with an outcome."""
    return [(a, b, y) for a, b in itertools.combinations(range(n), 2) for y in range(n) if y not in (a, b)]


def true_slopes(weights, a, b, y):
    """Return the change of y for one unit of a with b held, and of b with a held: paths that avoid the other."""
    cut = weights.copy()
    cut[:, [a, b]] = 0.0
    total = np.linalg.inv(np.eye(len(weights)) - cut)
    return total[a, y], total[b, y]


def test_slopes_are_those_of_the_true_network():
    """With many rows every effect is within some standard errors of the path products; none is exactly zero."""
    apart = []
    for seed in range(3):
        network = random_gaussian_network(5, 1.8, seed)
        table = as_table(network.sample(20_000, seed))
        dag = network.adjacency.astype(np.int8)
        for a, b, y in triples(5):
            names = [network.names[k] for k in (a, b, y)]
            told = joint_effect_in(table, dag, names[:2], names[2]).table
            assert told["of"].tolist() == names[:2]
            for row, truth in zip(told.itertuples(), true_slopes(network.weights, a, b, y), strict=True):
                if row.standard_error == 0:
                    assert truth == pytest.approx(0, abs=1e-12)
                else:
                    apart.append((row.effect - truth) / row.standard_error)
    assert len(apart) > 40
    assert np.abs(apart).max() < 4.5
    assert 0.7 < np.std(apart) < 1.3


def test_standard_errors_are_those_of_repeated_draws():
    """The spread of the estimates from 300 samples is the standard error that one of them tells."""
    weights = np.zeros((4, 4))  # a -> m -> b, m -> y, a -> y, b -> y
    weights[0, 1], weights[1, 2], weights[1, 3], weights[0, 3], weights[2, 3] = 1.0, 0.8, 0.7, 0.5, -0.6
    dag = (weights != 0).astype(np.int8)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        values = rng.normal(size=(150, 4)) @ np.linalg.inv(np.eye(4) - weights)
        table = as_table(pd.DataFrame(values, columns=list("ambY")))
        told = joint_effect_in(table, dag, ["a", "b"], "Y").table
        found.append((told["effect"].to_numpy(), told["standard_error"].to_numpy()))
    effects, errors = (np.array([one[k] for one in found]) for k in (0, 1))
    np.testing.assert_allclose(effects.mean(axis=0), [0.5 + 0.7, -0.6], atol=0.03)
    np.testing.assert_allclose(errors.mean(axis=0), effects.std(axis=0), rtol=0.12)


def test_levels_are_those_of_the_true_network():
    """With many rows, changes of probabilities are those of do() with both columns set."""
    network = random_discrete_network(5, 1.6, random_state=4, levels=2)
    table = as_table(network.sample(100_000, 0))
    dag = network.adjacency.astype(np.int8)
    seen = 0
    for a, b, y in triples(5)[::2]:
        x, z, w = (network.names[k] for k in (a, b, y))
        told = joint_effect_in(table, dag, (x, z), w).table
        assert told["to"].unique().tolist() == ["s0, s1", "s1, s0", "s1, s1"]
        low = network.do({x: "s0", z: "s0"}).query(w)
        for row in told.itertuples():
            one, other = row.to.split(", ")
            truth = network.do({x: one, z: other}).query(w)[row.level] - low[row.level]
            assert abs(row.effect - truth) <= 4.5 * row.standard_error + 1e-12
            assert row.lower <= row.effect <= row.upper
            seen += row.standard_error > 0
    assert seen > 20


@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_within_has_the_effects_of_every_listed_dag(kind):
    """Each listed DAG's own effects are among those within the limit, and the ranges are their hull."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame(rng.normal(size=(80, 4)), columns=list("abcd"))
    rows["b"] += 0.6 * rows["a"]
    rows["c"] += 0.5 * rows["b"] - 0.4 * rows["a"]
    data = rows if kind == "continuous" else (rows > 0).replace({True: "yes", False: "no"}).astype(object)
    result = dagopt.learn(data, "exact", progress=False)
    told = result.effect(("a", "b"), "c", within=2.0, half_price=False)
    keys = [name for name in ("of", "level", "to") if name in told.table]
    rivals = result.rivals(2.0, progress=False)
    lowest = {}
    for rank in range(rivals.count):
        own = joint_effect_in(result.problem.table, rivals.adjacency(rank), ("a", "b"), "c").table
        for row in own.to_dict("records"):
            key = tuple(row[name] for name in keys)
            lowest.setdefault(key, []).append((row["lower"], row["upper"]))
    for row in told.ranges.to_dict("records"):
        own = lowest[tuple(row[name] for name in keys)]
        assert row["lower"] == pytest.approx(min(one for one, _ in own))
        assert row["upper"] == pytest.approx(max(one for _, one in own))
    assert told.within == 2.0
    assert "total effect of a and b on c in every DAG within 2 points" in told.summary()
    by_class = result.effect(("a", "b"), "c")
    dag = rivals.adjacency(0)
    assert (cpdag(dag) == result.cpdag_adjacency).all()
    one = result.effect(("a", "b"), "c", over="dag").table
    for row in one.to_dict("records"):
        key = np.all([by_class.table[name] == row[name] for name in keys], axis=0)
        assert np.isclose(by_class.table["effect"][key], row["effect"]).any()


def test_what_is_refused():
    """Three causes, the same twice, a mixed table, the posterior, and too many DAGs."""
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=list("abcd"))
    result = dagopt.learn(rows, "exact", progress=False)
    for causes in (("a", "b", "c"), ("a", "a")):
        with pytest.raises(InputError, match="two different ones"):
            result.effect(causes, "d")
    with pytest.raises(InputError, match="two different columns"):
        result.effect(("a", "d"), "d")
    with pytest.raises(InputError, match="sample_graphs"):
        result.effect_posterior(("a", "b"), "d")
    mixed = rows.assign(a=np.where(rows["a"] > 0, "yes", "no"))
    with pytest.raises(InputError, match="the table is mixed"):
        dagopt.learn(mixed, progress=False).effect(("a", "b"), "d")
    with pytest.raises(InputError, match="lower within="):
        dagopt.learn(pd.DataFrame(np.random.default_rng(1).normal(size=(30, 7))), progress=False).effect(
            ("0", "1"), "2", within=12.0, time_limit=20
        )
