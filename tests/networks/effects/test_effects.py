"""Possible effects and adjustment sets against every DAG of the class, and estimates against the truth."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.errors import InputError
from dagopt.graph.cpdag import cpdag
from dagopt.graph.known_directions import essential_given
from dagopt.graph.order import is_acyclic
from dagopt.networks.effects.adjustment import optimal_adjustment, possibilities
from dagopt.networks.effects.effect import effect_in
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network
from every_dag import parent_sets


def naive_adjustment(dag, x, y):
    """Return pa(cn) without the forbidden nodes, by definition; None if there is no effect."""
    graph = nx.from_numpy_array(dag, create_using=nx.DiGraph)
    below = nx.descendants(graph, x)
    if y not in below:
        return None
    causal = {v for v in below if v == y or y in nx.descendants(graph, v)}
    forbidden = {x}.union(causal, *(nx.descendants(graph, v) for v in causal))
    return tuple(sorted({p for v in causal for p in graph.predecessors(v)} - forbidden))


def classes(dags):
    """Return the DAGs by their essential graph."""
    found = {}
    for dag in dags:
        found.setdefault(cpdag(dag).tobytes(), []).append(dag)
    return found


def check(graph, members):
    n = len(graph)
    for x, y in itertools.permutations(range(n), 2):
        told = possibilities(graph, x, y)
        ours = {(one.parents, one.adjustment) for one in told}
        naive = {(tuple(np.flatnonzero(dag[:, x]).tolist()), naive_adjustment(dag, x, y)) for dag in members}
        assert ours == naive
        assert len(told) == len(ours)


def test_every_class_of_four_nodes():
    """Parent sets of the cause and adjustment sets are those of the DAGs of the class, all listed."""
    dags = [((own[None, :] >> np.arange(4)[:, None]) & 1).astype(np.int8) for own in parent_sets(4)]
    assert len(dags) == 543
    for members in classes(dags).values():
        check(cpdag(members[0]), members)


def random_dags(n, seed):
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(n)
        upper = np.triu(rng.random((n, n)) < rng.uniform(0.3, 0.9), 1).astype(np.int8)
        dag = np.zeros((n, n), dtype=np.int8)
        dag[np.ix_(order, order)] = upper
        yield dag


def members_of(graph):
    """Return all DAGs whose essential graph this is, by trying both directions of every free edge."""
    free = [(i, j) for i, j in np.argwhere(graph & graph.T) if i < j]
    found = []
    for ways in itertools.product((0, 1), repeat=len(free)):
        dag = graph.copy()
        for (i, j), way in zip(free, ways, strict=True):
            dag[(i, j) if way else (j, i)] = 0
        if is_acyclic(dag) and (cpdag(dag) == graph).all():
            found.append(dag)
    return found


def test_random_classes_of_five_nodes():
    """So they are for classes of five nodes, with and without knowledge that forbids edges."""
    for dag, _ in zip(random_dags(5, 0), range(15), strict=False):
        graph = cpdag(dag)
        members = members_of(graph)
        check(graph, members)
        rng = np.random.default_rng(int(dag.sum()))
        may = (rng.random((5, 5)) < 0.7) | (dag != 0)
        known = essential_given(dag, np.zeros((5, 5), dtype=bool), may)
        check(known, [one for one in members if not (one & ~may).any()])


def test_the_adjusted_regression_is_the_path_product():
    """In the population, the coefficient of X given the adjustment set is the total effect, in every DAG."""
    for seed in range(20):
        network = random_gaussian_network(7, 1.8, seed)
        total = np.linalg.inv(np.eye(7) - network.weights)
        covariance = network.covariance()
        for x, y in itertools.permutations(range(7), 2):
            chosen = optimal_adjustment(network.adjacency.astype(np.int8), x, y)
            if chosen is None:
                assert total[x, y] == pytest.approx(0, abs=1e-9)
                continue
            used = [x, *chosen]
            slopes = np.linalg.solve(covariance[np.ix_(used, used)], covariance[used, y])
            assert slopes[0] == pytest.approx(total[x, y], abs=1e-8)


def test_the_estimate_is_the_regression(rng):
    """Effect and standard error are those of least squares by hand, in any units."""
    data = pd.DataFrame({"z": rng.normal(size=200) * 50 + 1e3})
    data["x"] = data["z"] / 50 + rng.normal(size=200)
    data["y"] = 2 * data["x"] - data["z"] / 50 + rng.normal(size=200)
    found = dagopt.effect(data, [("z", "x"), ("z", "y"), ("x", "y")], "x", "y")
    design = np.column_stack([np.ones(200), data["x"], data["z"]])
    beta, (rss,), *_ = np.linalg.lstsq(design, data["y"], rcond=None)
    error = np.sqrt(rss / 197 * np.linalg.inv(design.T @ design)[1, 1])
    assert found.value == pytest.approx(beta[1])
    assert found.table["standard_error"].tolist() == pytest.approx([error])
    assert found.table["adjustment"].tolist() == ["{z}"]
    assert found.identified


def test_discrete_effects_are_the_truncated_factorisation():
    """With many rows, differences of probabilities are those of do() in the true network."""
    network = random_discrete_network(6, 1.7, random_state=4, levels=2)
    data = network.sample(50_000, 0)
    found = 0
    for x, y in itertools.permutations(network.names, 2):
        told = dagopt.effect(data, network.dag, x, y).table
        for row in told.itertuples():
            high, low = (network.do({x: level}).query(y)[row.level] for level in (row.to, told["from"].iloc[0]))
            assert abs(row.effect - (high - low)) <= 4.5 * row.standard_error + 1e-12
            found += row.standard_error > 0
    assert found > 10


def test_intervals_cover_the_truth():
    """Of 200 intervals of 90 % about 180 hold the true effect, for numbers and for levels."""
    covered = {"gaussian": 0, "discrete": 0}
    gaussian = random_gaussian_network(5, 1.5, 1)
    total = np.linalg.inv(np.eye(5) - gaussian.weights)
    x, y = np.argwhere((total != 0) & ~np.eye(5, dtype=bool))[0]
    names = gaussian.names
    discrete = random_discrete_network(5, 1.5, random_state=2, levels=2)
    a, b = next((i, j) for i, j in itertools.permutations(discrete.names, 2) if nx.has_path(discrete.dag, i, j))
    truth = discrete.do({a: "s1"}).query(b)["s1"] - discrete.do({a: "s0"}).query(b)["s1"]
    for seed in range(200):
        told = dagopt.effect(gaussian.sample(100, seed), gaussian.dag, names[x], names[y], level=0.9).table.iloc[0]
        covered["gaussian"] += told["lower"] <= total[x, y] <= told["upper"]
        table = dagopt.effect(discrete.sample(1000, seed), discrete.dag, a, b, level=0.9).table
        told = table[table["level"] == "s1"].iloc[0]
        covered["discrete"] += told["lower"] <= truth <= told["upper"]
    assert 165 <= covered["gaussian"] <= 193
    assert 165 <= covered["discrete"] <= 193


def test_discrete_intervals_are_those_of_drawn_probabilities():
    """Centre and standard error are those of draws from Dirichlet distributions with half a row in every cell."""
    rng = np.random.default_rng(0)
    data = random_discrete_network(4, 1.2, random_state=3, levels=3).sample(80, 0)
    data = data[["X0", "X1", "X2"]]
    found = dagopt.effect(data, [("X0", "X1"), ("X0", "X2"), ("X1", "X2")], "X1", "X2").table
    strata = data["X0"].value_counts()
    weights = rng.dirichlet(strata, size=40_000)
    drawn = {level: np.zeros((40_000, 3)) for level in ("s0", "s1", "s2")}
    for k, (stratum, _) in enumerate(strata.items()):
        for level, sums in drawn.items():
            rows = data[(data["X0"] == stratum) & (data["X1"] == level)]["X2"]
            counts = [(rows == own).sum() + 0.5 for own in ("s0", "s1", "s2")]
            sums += weights[:, [k]] * rng.dirichlet(counts, size=40_000)
    for row in found.itertuples():
        change = (drawn[row.to] - drawn["s0"])[:, int(row.level[1])]
        assert row.standard_error == pytest.approx(change.std(), rel=0.03)
        reach = 1.959964 * row.standard_error
        assert row.lower == pytest.approx(min(change.mean() - reach, row.effect), abs=0.005)
        assert row.upper == pytest.approx(max(change.mean() + reach, row.effect), abs=0.005)


def test_few_rows_are_not_taken_for_certain():
    """Shares of 0 and 1 in small cells have a width, and 95 % intervals from 60 rows hold the truth often enough."""
    sure = pd.DataFrame({"x": list("aaabbb"), "y": list("cccddd")})
    told = dagopt.effect(sure, [("x", "y")], "x", "y").table.iloc[1]
    assert told["effect"] == 1.0
    assert told["upper"] >= 1.0
    assert told["lower"] < 0.5
    assert told["standard_error"] > 0.1
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        x = rng.random(60) < 0.3
        y = rng.random(60) < np.where(x, 0.15, 0.03)
        data = pd.DataFrame({"x": np.where(x, "yes", "no"), "y": np.where(y, "yes", "no")})
        if data.nunique().min() < 2:
            continue
        row = dagopt.effect(data, [("x", "y")], "x", "y").table.iloc[1]
        hits += row["lower"] <= 0.12 <= row["upper"]
    assert hits >= 170


def test_a_class_has_several_effects():
    """An edge that could point either way has an effect or none; tiers identify it."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    data = pd.DataFrame({"x": x, "y": x + rng.normal(size=500)})
    result = dagopt.learn(data, "exact")
    found = result.effect("x", "y")
    assert not found.identified
    assert found.value is None
    assert found.bounds[0] == 0
    assert "not identified: DAGs that the data cannot tell apart have effects from 0 to" in found.summary()
    assert "no hidden common cause" in found.summary()
    known = dagopt.learn(data, "exact", constraints=dagopt.Constraints(tiers=[["x"], ["y"]])).effect("x", "y")
    assert known.identified
    assert known.value == pytest.approx(1, abs=0.15)
    assert dagopt.learn(data, "exact").effect("x", "y", over="dag").identified
    assert known.to_dict()["assumptions"]
    assert "<table" in known._repr_html_()


def test_mixed_tables(rng):
    """Effects on a continuous column of a continuous and of a discrete cause."""
    smoker = rng.random(3000) < 0.4
    age = rng.normal(50, 10, 3000)
    pressure = 80 + 0.5 * age + 8 * smoker + rng.normal(0, 5, 3000)
    from dagopt.data.columns import columns_from_frame
    from dagopt.data.mixed import MixedTable

    frame = pd.DataFrame({"smoker": np.where(smoker, "yes", "no"), "age": age, "pressure": pressure})
    table = MixedTable(tuple(columns_from_frame(frame)))
    dag = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=np.int8)
    by_level = effect_in(table, dag, "smoker", "pressure").table.iloc[0]
    assert (by_level["from"], by_level["to"]) == ("no", "yes")
    assert abs(by_level["effect"] - 8) < 4 * by_level["standard_error"]
    slope = effect_in(table, dag, "age", "pressure").table.iloc[0]
    assert abs(slope["effect"] - 0.5) < 4 * slope["standard_error"] < 0.1
    back = effect_in(table, dag[[2, 1, 0]][:, [2, 1, 0]], "pressure", "smoker").table
    assert back["level"].tolist() == ["no", "yes"]
    assert back["effect"].sum() == pytest.approx(0, abs=1e-12)
    assert back["lower"].iloc[1] > 0
    none = effect_in(table, dag, "pressure", "smoker")
    assert none.table["effect"].tolist() == [0.0, 0.0]
    assert none.table["level"].tolist() == ["no", "yes"]


def test_levels_of_a_mixed_table(rng):
    """Without a continuous column to adjust for, the change of a probability is the difference of two shares."""
    from dagopt.networks.effects.logit_effect import probability_changes

    cause = (rng.random(4000) < 0.4).astype(float)
    codes = (rng.random(4000) < 0.2 + 0.3 * cause).astype(np.int64)
    effects, errors = probability_changes(cause[:, None], np.ones((4000, 1)), codes, 2, True)
    shares = [codes[cause == level].mean() for level in (0, 1)]
    assert effects[0, 1] == pytest.approx(shares[1] - shares[0], abs=1e-5)
    spread = sum(p * (1 - p) / (cause == level).sum() for level, p in enumerate(shares))
    assert errors[0, 1] == pytest.approx(np.sqrt(spread), rel=1e-3)


@pytest.mark.parametrize("by_level", [True, False])
def test_intervals_of_changed_probabilities(by_level):
    """With a confounder, 95 % intervals hold the standardised change in about 95 % of the draws."""
    from dagopt.networks.effects.logit_effect import probability_changes

    def rate(x, z):
        return 1 / (1 + np.exp(-(-0.4 + 0.9 * x + 0.8 * z)))

    many = np.random.default_rng(0).normal(size=200_000)
    if by_level:
        truth = float(np.mean(rate(1.0, many) - rate(0.0, many)))
    else:
        x = 0.6 * many + np.random.default_rng(1).normal(size=many.size)
        truth = float(np.mean(0.9 * rate(x, many) * (1 - rate(x, many))))
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(100 + seed)
        z = rng.normal(size=400)
        x = (rng.random(400) < 1 / (1 + np.exp(-z))) * 1.0 if by_level else 0.6 * z + rng.normal(size=400)
        codes = (rng.random(400) < rate(x, z)).astype(np.int64)
        effects, errors = probability_changes(x[:, None], np.column_stack([np.ones(400), z]), codes, 2, by_level)
        hits += abs(effects[0, 1] - truth) <= 1.96 * errors[0, 1]
    assert 180 <= hits <= 199


def test_levels_are_never_pooled():
    """An effect that raises one level and lowers the other is not said to reach from minus to plus."""
    rng = np.random.default_rng(4)
    cause = rng.random(800) < 0.5
    outcome = np.where(rng.random(800) < np.where(cause, 0.8, 0.3), "yes", "no")
    data = pd.DataFrame({"cause": np.where(cause, "b", "a"), "outcome": outcome})
    known = dagopt.Constraints(tiers=[["cause"], ["outcome"]])
    found = dagopt.learn(data, "exact", constraints=known).effect("cause", "outcome")
    assert found.bounds is None
    ranges = found.ranges.set_index("level")
    assert ranges.loc["yes", "lower"] > 0.3
    assert ranges.loc["no", "upper"] < -0.3
    assert ranges["sign"].to_dict() == {"no": "-", "yes": "+"}
    both = dagopt.learn(data, "exact").effect("cause", "outcome")
    assert "effects on outcome = yes of cause from a to b from 0 to" in both.summary()


def test_one_sentence_for_each_mistake(rng):
    """An effect on itself, unknown columns, a class without DAG and dependent columns are told."""
    data = pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc"))
    data["d"] = data["a"] * 2
    result = dagopt.learn(data[list("abc")], "exact")
    with pytest.raises(InputError, match="two different columns but got 'a' twice"):
        result.effect("a", "a")
    with pytest.raises(InputError, match="unknown column 'z'"):
        result.effect("a", "z")
    with pytest.raises(InputError, match="level= to be between 0 and 1"):
        result.effect("a", "b", level=95)
    with pytest.raises(InputError, match="over= to be 'class' or 'dag'"):
        result.effect("a", "b", over="all")
    square = [(i, j) for i, j in itertools.permutations("abcd", 2) if {i, j} not in ({"a", "c"}, {"b", "d"})]
    with pytest.raises(InputError, match="no DAG extends this graph"):
        dagopt.effect(data, square, "a", "b")
    with pytest.raises(InputError, match="linear function of the columns to adjust for, 'd'"):
        dagopt.effect(data, [("d", "a"), ("d", "b"), ("a", "b")], "a", "b")


@pytest.mark.parametrize("limits", [{"b": 0}, {"a": 0, "c": 1}, {"b": 0, "c": 1}, {}])
def test_members_beyond_a_limit_do_not_count(limits):
    """Of the chain a - b - c only the members within the limits of each column have effects."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    b = a + rng.normal(size=500)
    data = {"a": a, "b": b, "c": b + rng.normal(size=500)}
    result = dagopt.learn(data, "exact", constraints={"max_parents": limits} if limits else None, progress=False)
    members = [{"b": ["a"], "c": ["b"]}, {"b": ["c"], "a": ["b"]}, {"a": ["b"], "c": ["b"]}]
    kept = [own for own in members if all(len(own.get(node, [])) <= most for node, most in limits.items())]
    expected = {frozenset(own.get("b", [])) for own in kept}
    found = result.effect("b", "c").table["parents"]
    spelled = {frozenset(one.strip("{}").split(", ")) - {""} for text in found for one in text.split(" or ")}
    assert spelled == expected
