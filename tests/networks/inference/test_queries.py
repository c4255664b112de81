"""Answers of networks against listing every row, closed forms, simulation and other packages."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dagopt
from dagopt.errors import InputError
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.inference import elimination
from dagopt.networks.inference.elimination import Elimination, elimination_order
from dagopt.networks.inference.weighting import LikelihoodWeighting
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network, random_mixed_network
from every_row import joint_of, share_by_level


def some_evidence(network, rng, target, size):
    """Return levels of some columns other than the target, taken from one drawn row, so that they are possible."""
    row = network.sample(1, rng).iloc[0]
    others = [name for name in network.names if name != target]
    return {name: row[name] for name in rng.choice(others, size=size, replace=False)}


# --- discrete: every row listed ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["asia", "lucas"])
def test_queries_equal_the_sum_over_every_row(name, rng):
    """Every column, given 0 to 6 others, has the probabilities that the joint distribution gives."""
    network = dagopt.datasets.load_network(name)
    joint = joint_of(network)
    for target in network.names:
        for size in (0, 1, 2, 4, 6):
            evidence = some_evidence(network, rng, target, size)
            told = network.query(target, evidence)
            np.testing.assert_allclose(told, share_by_level(network, joint, target, evidence), atol=1e-12)
            assert told.index.tolist() == list(network.levels[network.names.index(target)])


@pytest.mark.parametrize("seed", range(8))
def test_random_networks_with_dense_graphs(seed):
    """Dense random networks of 2 to 4 levels, and those with impossible levels, agree with every row listed."""
    rng = np.random.default_rng(seed)
    drawn = random_discrete_network(7, 2.5, random_state=rng)
    tables = [np.where(rng.random(t.shape) < 0.3, 0, t) + np.eye(t.shape[-1])[0] * 1e-3 for t in drawn.tables]
    tables = tuple(t / t.sum(axis=-1, keepdims=True) for t in tables)
    network = DiscreteNetwork(drawn.names, drawn.levels, drawn.parents, tables)
    joint = joint_of(network)
    for target in network.names:
        evidence = some_evidence(network, rng, target, int(rng.integers(0, 5)))
        np.testing.assert_allclose(
            network.query(target, evidence), share_by_level(network, joint, target, evidence), atol=1e-12
        )


def test_probability_of_a_joint_event(rng):
    """Several columns at once, with one level or several of each."""
    network = dagopt.datasets.load_network("asia")
    rows, weights = joint_of(network)
    code = {name: rows[:, j] for j, name in enumerate(network.names)}
    known = (code["xray"] == network.levels[network.names.index("xray")].index("yes")) * weights
    yes = [network.levels[j].index("yes") for j in range(8)]
    wanted = (code["lung"] == yes[network.names.index("lung")]) & (code["smoke"] >= 0)
    wanted &= code["dysp"] != yes[network.names.index("dysp")]
    told = network.probability({"lung": "yes", "smoke": ["no", "yes"], "dysp": "no"}, {"xray": "yes"})
    assert told == pytest.approx(known[wanted].sum() / known.sum(), abs=1e-12)


def test_rows_with_missing_cells(rng):
    """Predictions, probabilities, imputation and likelihoods of rows with holes are those of single queries."""
    network = dagopt.datasets.load_network("asia")
    data = network.sample(40, rng).astype(object)
    holes = rng.random(data.shape) < 0.4
    data = data.mask(holes)
    probabilities = network.predict_proba(data, "lung")
    filled = network.impute(data)
    joint, weights = joint_of(network)
    fitted = dagopt.fit(network.sample(500, rng), network.dag, equivalent_sample_size=5)
    for k, row in enumerate(data.to_dict("records")):
        known = {name: level for name, level in row.items() if isinstance(level, str)}
        without = {name: level for name, level in known.items() if name != "lung"}
        expected = share_by_level(network, (joint, weights), "lung", without)
        np.testing.assert_allclose(probabilities.iloc[k], expected, atol=1e-12)
        for name in network.names:
            best = known.get(name) or network.query(name, known).idxmax()
            assert filled[name].iloc[k] == best
        inside = np.ones(len(joint), dtype=bool)
        for name, level in known.items():
            j = network.names.index(name)
            inside &= joint[:, j] == network.levels[j].index(level)
        own = np.log(joint_of(fitted.network)[1][inside].sum())
        assert fitted.log_likelihoods(data)[k] == pytest.approx(own, abs=1e-9)
    assert network.predict(data, "lung").tolist() == probabilities.idxmax(axis=1).tolist()


def test_draws_given_evidence_have_the_conditional_distribution():
    """Draws given evidence agree with the query in every column, within four standard errors, and obey the evidence."""
    network = dagopt.datasets.load_network("asia")
    evidence = {"dysp": "yes", "xray": "yes"}
    drawn = network.sample(20_000, 1, evidence=evidence)
    assert (drawn["dysp"] == "yes").all()
    for name in ("lung", "smoke", "bronc", "tub"):
        expected = network.query(name, evidence)["yes"]
        error = np.sqrt(expected * (1 - expected) / len(drawn))
        assert abs((drawn[name] == "yes").mean() - expected) < 4 * error
    both = ((drawn["lung"] == "yes") & (drawn["smoke"] == "yes")).mean()
    joint = network.probability({"lung": "yes", "smoke": "yes"}, evidence)
    assert abs(both - joint) < 4 * np.sqrt(joint * (1 - joint) / len(drawn))
    pd.testing.assert_frame_equal(drawn, network.sample(20_000, 1, evidence=evidence))


def test_imputation_by_draws_keeps_what_is_known():
    """Drawn imputations leave known cells alone, and their mean over many rows is the conditional one."""
    network = dagopt.datasets.load_network("asia")
    data = pd.DataFrame({"smoke": ["yes"] * 5000 + ["no"] * 5000})
    filled = network.impute(data, draw=True)
    assert filled["smoke"].tolist() == data["smoke"].tolist()
    for level in ("yes", "no"):
        expected = network.query("bronc", {"smoke": level})["yes"]
        assert (filled.loc[filled["smoke"] == level, "bronc"] == "yes").mean() == pytest.approx(expected, abs=0.03)


def test_the_order_has_a_small_width_on_alarm():
    """Fewest fill-in edges give ALARM tables of at most 108 cells, and each node is eliminated once."""
    network = dagopt.datasets.load_network("alarm")
    scopes = [{j, *own} for j, own in enumerate(network.parents)]
    order = elimination_order(scopes, [len(levels) for levels in network.levels])
    assert sorted(order.nodes) == list(range(37))
    assert order.largest <= 144


# --- other packages ------------------------------------------------------------------------------------------


def test_alarm_agrees_with_pgmpy(rng):
    """Queries on ALARM with up to five pieces of evidence are those of pgmpy's variable elimination."""
    inference = pytest.importorskip("pgmpy.inference")
    network = dagopt.datasets.load_network("alarm")
    peer = inference.VariableElimination(network.to_pgmpy())
    for target in rng.choice(network.names, size=12, replace=False):
        evidence = some_evidence(network, rng, target, int(rng.integers(0, 6)))
        theirs = peer.query([target], evidence=evidence, show_progress=False)
        levels = network.levels[network.names.index(target)]
        expected = [theirs.get_value(**{target: level}) for level in levels]
        np.testing.assert_allclose(network.query(target, evidence), expected, atol=1e-9)


@pytest.mark.parametrize("name", ["alarm", "insurance"])
def test_pyagrum_agrees(name, rng):
    """So are those of pyAgrum's lazy propagation."""
    gum = pytest.importorskip("pyagrum")
    network = dagopt.datasets.load_network(name)
    peer = gum.LazyPropagation(network.to_pyagrum())
    for target in rng.choice(network.names, size=15, replace=False):
        evidence = some_evidence(network, rng, target, int(rng.integers(0, 6)))
        peer.setEvidence(evidence)
        peer.makeInference()
        np.testing.assert_allclose(network.query(target, evidence), peer.posterior(str(target)).toarray(), atol=1e-6)


# --- Gaussian ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_gaussian_queries_equal_the_formula(seed):
    """Mean and variance are those of the conditional normal distribution, worked out with a plain inverse."""
    rng = np.random.default_rng(seed)
    network = random_gaussian_network(7, 2.0, seed)
    covariance, mean = network.covariance(), network.mean()
    row = network.sample(1, rng).iloc[0]
    target, *known = rng.permutation(7)[:4].tolist()
    told = network.query(network.names[target], {network.names[i]: row.iloc[i] for i in known})
    inverse = np.linalg.inv(covariance[np.ix_(known, known)])
    slope = covariance[target, known] @ inverse
    assert told.mean == pytest.approx(mean[target] + slope @ (row.iloc[known] - mean[known]))
    assert told.std == pytest.approx(np.sqrt(covariance[target, target] - slope @ covariance[known, target]))
    low, high = told.interval(0.9)
    assert stats.norm(told.mean, told.std).cdf([low, high]) == pytest.approx([0.05, 0.95])
    name = network.names[target]
    chance = network.probability({name: (None, high)}, {network.names[i]: row.iloc[i] for i in known})
    assert chance == pytest.approx(0.95)


def test_gaussian_queries_equal_simulation():
    """Among many draws, those near the evidence have the mean and spread that the query tells."""
    network = random_gaussian_network(5, 1.5, 3)
    drawn = network.sample(400_000, 0)
    a, b, c = network.names[:3]
    near = drawn[(drawn[a] - 0.5).abs().lt(0.05) & (drawn[b] + 0.3).abs().lt(0.05)]
    told = network.query(c, {a: 0.5, b: -0.3})
    assert near[c].mean() == pytest.approx(told.mean, abs=5 * told.std / np.sqrt(len(near)) + 0.05)
    assert near[c].std() == pytest.approx(told.std, rel=0.1)
    box = network.probability({a: (0, None), b: (None, 0.2)})
    assert ((drawn[a] > 0) & (drawn[b] < 0.2)).mean() == pytest.approx(box, abs=0.005)
    given = network.sample(200_000, 1, evidence={a: 0.5, b: -0.3})
    assert (given[a] == 0.5).all()
    assert given[c].mean() == pytest.approx(told.mean, abs=0.02)
    assert given[c].std() == pytest.approx(told.std, rel=0.02)


def test_gaussian_rows_with_missing_cells():
    """Rows with holes are predicted, filled in and weighed as single queries and densities are."""
    network = random_gaussian_network(6, 2.0, 1)
    rng = np.random.default_rng(0)
    data = network.sample(30, rng) * 100 + 7  # other units
    fitted = dagopt.fit(network.sample(500, rng) * 100 + 7, network.dag)
    holes = data.mask(rng.random(data.shape) < 0.4)
    told = fitted.predict_proba(holes, "X2")
    filled = fitted.impute(holes)
    covariance, mean = fitted.network.covariance(), fitted.network.mean()
    for k, row in enumerate(holes.to_dict("records")):
        known = {name: value for name, value in row.items() if value == value}
        answer = fitted.query("X2", {name: value for name, value in known.items() if name != "X2"})
        assert told.iloc[k].tolist() == pytest.approx([answer.mean, answer.std])
        places = [fitted.names.index(name) for name in known]
        if places:
            density = stats.multivariate_normal(mean[places], covariance[np.ix_(places, places)])
            assert fitted.log_likelihoods(holes)[k] == pytest.approx(density.logpdf(list(known.values())))
        for name in fitted.names:
            expected = known[name] if name in known else fitted.query(name, known).mean
            assert filled[name].iloc[k] == pytest.approx(expected)


# --- weighted draws ------------------------------------------------------------------------------------------


def test_weighted_draws_agree_with_exact_answers():
    """Likelihood weighting is within five of its own standard errors, in discrete and Gaussian networks."""
    asia = dagopt.datasets.load_network("asia")
    row = np.full((1, 8), np.nan)
    row[0, asia.names.index("dysp")] = row[0, asia.names.index("asia")] = 0
    gaussian = random_gaussian_network(6, 2.0, 5)
    known = np.full((1, 6), np.nan)
    known[0, [1, 4]] = 0.5, -1.0
    for network, cells in ((asia, row), (gaussian, known)):
        weighting = LikelihoodWeighting(network)
        for node in np.flatnonzero(np.isnan(cells[0])):
            exact, drawn = network.engine().posterior(node, cells), weighting.posterior(node, cells)
            assert np.all(np.abs(exact.figures - drawn.figures) <= 5 * drawn.errors + 1e-12)
            assert drawn.errors.max() < 0.1
        np.testing.assert_allclose(weighting.log_evidence(cells), network.engine().log_evidence(cells), atol=0.1)
    event = {asia.names.index("lung"): np.array([True, False])}
    share, error = LikelihoodWeighting(asia).probability(event, row)
    assert abs(share - asia.engine().probability(event, row)[0]) <= 5 * error


def test_mixed_networks_are_asked_by_weighted_draws():
    """Answers agree with the share of draws near the evidence; what is exact has no error, what is drawn has one."""
    network = random_mixed_network(6, 1.5, random_state=3)
    drawn = network.sample(300_000, 0)
    discrete = [name for j, name in enumerate(network.names) if network.levels[j]]
    continuous = [name for j, name in enumerate(network.names) if not network.levels[j]]
    assert len(discrete) >= 2
    assert continuous
    first, second = discrete[:2]
    level = drawn[first].mode()[0]
    rows = drawn[drawn[first] == level]
    told = network.query(second, {first: level})
    for one, share in told.items():
        error = max(told.attrs.get("standard_error", {}).get(one, 0), 1e-3)
        assert abs((rows[second] == one).mean() - share) < 5 * error
    answer = network.query(continuous[0], {first: level})
    assert abs(answer.mean - rows[continuous[0]].mean()) < 5 * (answer.standard_error + answer.std / len(rows) ** 0.5)
    given = network.sample(500, 0, evidence={first: level})
    assert set(given[first]) == {level}
    assert network.do({continuous[0]: 1.0}).sample(20, 0)[continuous[0]].tolist() == [1.0] * 20
    holes = drawn.head(5).astype(object)
    holes.loc[0, continuous[0]] = None
    assert network.impute(holes).notna().all().all()


def test_tables_that_are_too_large_are_left_to_weighted_draws(monkeypatch):
    """The answer then says its standard error."""
    monkeypatch.setattr(elimination, "MOST_CELLS", 3)
    network = dagopt.datasets.load_network("asia")
    told = Elimination(network).posterior(network.names.index("bronc"), np.full((1, 8), np.nan))
    assert told.errors is not None
    answer = network.query("dysp", {"smoke": "yes"})
    monkeypatch.undo()
    exact = network.query("dysp", {"smoke": "yes"})
    errors = answer.attrs["standard_error"]
    assert 0 < abs(answer["yes"] - exact["yes"]) < 5 * errors["yes"]
    assert "standard_error" not in exact.attrs


# --- setting a column ----------------------------------------------------------------------------------------


def test_setting_a_discrete_column_cuts_its_causes():
    """P(smoke | do(lung)) is P(smoke), and P(dysp | do(bronc)) sums over smoke as in the truncated factorisation."""
    network = dagopt.datasets.load_network("asia")
    done = network.do({"lung": "yes"})
    np.testing.assert_allclose(done.query("smoke"), network.query("smoke"))
    assert abs(network.query("smoke", {"lung": "yes"})["yes"] - network.query("smoke")["yes"]) > 0.1
    expected = sum(
        network.query("smoke")[level] * network.query("dysp", {"smoke": level, "bronc": "yes"})["yes"]
        for level in ("yes", "no")
    )
    assert network.do({"bronc": "yes"}).query("dysp")["yes"] == pytest.approx(expected)
    assert set(done.sample(50, 0)["lung"]) == {"yes"}
    with pytest.raises(InputError, match="'lung' is already set by do\\(\\)"):
        done.query("smoke", {"lung": "no"})


def test_setting_a_continuous_column_moves_its_effects():
    """The mean of Y under do(X = x) moves by the sum over directed paths of the products of coefficients."""
    network = random_gaussian_network(6, 2.0, 2)
    total = np.linalg.inv(np.eye(6) - network.weights)
    for i, x in enumerate(network.names):
        for j, y in enumerate(network.names):
            if i != j:
                low, high = (network.do({x: value}).query(y).mean for value in (0.0, 1.0))
                assert high - low == pytest.approx(total[i, j], abs=1e-9)


# --- what cannot be asked ------------------------------------------------------------------------------------


def test_one_sentence_for_each_mistake():
    """Unknown names and levels, impossible evidence, a known target and the wrong kinds are each told."""
    network = dagopt.datasets.load_network("asia")
    with pytest.raises(InputError, match="unknown column 'lungs'; did you mean 'lung'"):
        network.query("lungs")
    with pytest.raises(InputError, match="unknown column in the evidence: 'smok'; did you mean 'smoke'"):
        network.query("lung", {"smok": "yes"})
    with pytest.raises(InputError, match="unknown level of column 'smoke': 'maybe'; there are: "):
        network.query("lung", {"smoke": "maybe"})
    with pytest.raises(InputError, match="the evidence either=no, lung=yes has probability zero"):
        network.query("dysp", {"either": "no", "lung": "yes"})
    with pytest.raises(InputError, match="the evidence either=no, lung=yes has probability zero"):
        network.probability({"dysp": "yes"}, {"either": "no", "lung": "yes"})
    with pytest.raises(InputError, match="has probability zero"):
        network.sample(5, evidence={"either": "no", "lung": "yes"})
    with pytest.raises(InputError, match="the target 'lung' is also in the evidence"):
        network.query("lung", {"lung": "yes"})
    with pytest.raises(InputError, match="expected the evidence as a mapping"):
        network.query("lung", [("smoke", "yes")])
    with pytest.raises(InputError, match="but got none"):
        network.predict(pd.DataFrame({"z": [1]}), "lung")
    assert network.predict(pd.DataFrame({"either": ["no"], "lung": ["yes"]}), "dysp").isna().all()
    gaussian = random_gaussian_network(4, 1.0, 0)
    with pytest.raises(InputError, match="expected a number for the continuous column 'X0' but got 'high'"):
        gaussian.query("X1", {"X0": "high"})
    with pytest.raises(InputError, match="expected an interval"):
        gaussian.probability({"X0": 3})
    with pytest.raises(InputError, match="expected low < high"):
        gaussian.probability({"X0": (3, 1)})


def test_numbers_as_levels_are_found():
    """Levels that are numbers are given as numbers or as text, and integers with holes still fit."""
    data = pd.DataFrame({"a": [0, 1, 1, 0, 1, 1], "b": [1, 2, 2, 1, 2, 1]})
    fitted = dagopt.fit(data, [("a", "b")])
    assert fitted.query("b", {"a": 1})["2"] == pytest.approx(3 / 4)
    assert fitted.query("b", {"a": "1"})["2"] == pytest.approx(3 / 4)
    holes = pd.DataFrame({"a": [1.0, np.nan]})
    assert fitted.predict(holes, "b").tolist() == ["2", "1"]


@pytest.mark.parametrize("wrong", ["Smokng", "smoking", "Smoking "])
def test_a_misspelt_column_is_named(wrong):
    """A column spelt almost like one that the data lack is refused; strangers and missing columns are not."""
    data, _ = dagopt.datasets.load("lucas", n_samples=300, random_state=0)
    fitted = dagopt.learn(data, "hc", progress=False).fit(data)
    expected = fitted.predict(data.drop(columns=["Smoking"]), "Lung_cancer")
    with pytest.raises(dagopt.InputError, match=rf"unknown column '{wrong}'; did you mean 'Smoking'"):
        fitted.predict(data.rename(columns={"Smoking": wrong}), "Lung_cancer")
    assert fitted.predict(data.rename(columns={"Smoking": "patient"}), "Lung_cancer").equals(expected)
