"""Parameters of a DAG, against least squares, counting by pandas, closed forms and simulated data."""

from __future__ import annotations

import itertools
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

import dagopt
from dagopt.data.table import DiscreteTable
from dagopt.errors import InputError
from dagopt.networks.bif import read_bif
from dagopt.networks.fitted import FittedDiscrete, FittedGaussian
from dagopt.networks.gaussian_json import read_gaussian_json
from dagopt.results.result import Result

SQUARE = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], dtype=np.int8)  # no DAG extends it


@pytest.fixture(scope="module")
def numbers():
    """Return Gaussian data far from zero and in very different units, and its DAG."""
    data, dag = dagopt.simulate(8, 400, 2.0, random_state=1)
    return data * [1e2, 1, 1e-2, 1, 1, 10, 1, 1] + [1e4, 0, 5, -3, 0, 0, 1, 0], dag


@pytest.fixture(scope="module")
def asia():
    return dagopt.datasets.load("asia", n_samples=3000, random_state=2)


def parents_of(dag, node, data):
    return [name for name in data.columns if dag.has_edge(name, node)]


# --- Gaussian: against least squares -----------------------------------------------------------------------------


def test_coefficients_are_those_of_least_squares(numbers):
    """Coefficients, intercepts, variances and R² are scikit-learn's, in whatever units."""
    data, dag = numbers
    fitted = dagopt.fit(data, dag)
    assert isinstance(fitted, FittedGaussian)
    for row in fitted.nodes.itertuples():
        parents = parents_of(dag, row.node, data)
        assert row.parents == ", ".join(parents)
        design, target = data[parents].to_numpy(), data[row.node].to_numpy()
        own = fitted.parameters[fitted.parameters["node"] == row.node].set_index("term")
        if parents:
            peer = LinearRegression().fit(design, target)
            residuals = target - peer.predict(design)
            assert own.loc["(intercept)", "estimate"] == pytest.approx(peer.intercept_, rel=1e-8)
            np.testing.assert_allclose(own.loc[parents, "estimate"], peer.coef_, rtol=1e-9)
            assert row.r_squared == pytest.approx(peer.score(design, target), abs=1e-12)
        else:
            residuals = target - target.mean()
            assert own.loc["(intercept)", "estimate"] == pytest.approx(target.mean())
            assert row.r_squared == 0
        assert row.variance == pytest.approx(np.mean(residuals**2), rel=1e-9)
        assert row.residual_variance == pytest.approx(residuals @ residuals / (len(data) - len(parents) - 1), rel=1e-9)


def test_standard_errors_are_the_textbook_ones(numbers):
    """Standard errors are sqrt(s² diag((X'X)⁻¹)) with s² over N - |pa| - 1, and the p-values are Student's."""
    data, dag = numbers
    data = data - data.mean() + 3  # so that X'X can be inverted as it stands
    fitted = dagopt.fit(data / data.std(), dag)
    data = data / data.std()
    for node in data.columns:
        parents = parents_of(dag, node, data)
        design = np.column_stack([np.ones(len(data)), data[parents].to_numpy()])
        beta = np.linalg.lstsq(design, data[node], rcond=None)[0]
        freedom = len(data) - design.shape[1]
        left = np.sum((data[node] - design @ beta) ** 2) / freedom
        errors = np.sqrt(left * np.diag(np.linalg.inv(design.T @ design)))
        own = fitted.parameters[fitted.parameters["node"] == node]
        assert own["term"].tolist() == ["(intercept)", *parents]
        np.testing.assert_allclose(own["standard_error"], errors, rtol=1e-8)
        np.testing.assert_allclose(own["t_value"], beta / errors, rtol=1e-7)
        np.testing.assert_allclose(own["p_value"], 2 * stats.t.sf(np.abs(beta / errors), freedom), rtol=1e-5)


def test_one_parent_agrees_with_scipy(rng):
    """With one parent everything is what scipy's linregress says."""
    x = rng.normal(5, 2, 60)
    data = pd.DataFrame({"x": x, "y": 0.3 * x + rng.normal(size=60)})
    peer = stats.linregress(data["x"], data["y"])
    own = dagopt.fit(data, [("x", "y")]).parameters.iloc[1:]
    np.testing.assert_allclose(own["estimate"], [peer.intercept, peer.slope])
    np.testing.assert_allclose(own["standard_error"], [peer.intercept_stderr, peer.stderr])
    assert own["p_value"].iloc[1] == pytest.approx(peer.pvalue)


def test_gaussian_log_likelihood_is_the_score(numbers):
    """On the data of the fit the log-likelihood is the score ``loglik``, in all and node by node."""
    data, dag = numbers
    fitted = dagopt.fit(data, dag)
    assert fitted.log_likelihood(data) == pytest.approx(dagopt.score(data, dag, "loglik"), rel=1e-10)
    nodes = dagopt.score_table(data, dag, "loglik")["score"]
    np.testing.assert_allclose(fitted.nodes["log_likelihood"], nodes, rtol=1e-9)


def test_gaussian_log_likelihood_of_a_row_is_the_joint_density(numbers):
    """Row by row it is the density of the multivariate normal distribution that the equations imply."""
    data, dag = numbers
    data = data / data.std()
    fitted = dagopt.fit(data, dag)
    mean = np.linalg.solve((np.eye(8) - fitted.network.weights).T, fitted.network.intercepts)
    density = stats.multivariate_normal(mean, fitted.network.covariance())
    np.testing.assert_allclose(fitted.log_likelihoods(data), density.logpdf(data), rtol=1e-6)
    assert fitted.log_likelihoods(data).sum() == pytest.approx(fitted.log_likelihood(data))


def test_the_mean_given_others_is_that_of_the_joint_distribution(numbers):
    """Given the blanket, the mean is that of the joint distribution given all other columns."""
    data = numbers[0] / numbers[0].std()
    fitted = dagopt.fit(data, numbers[1])
    covariance = fitted.network.covariance()
    mean = np.linalg.solve((np.eye(8) - fitted.network.weights).T, fitted.network.intercepts)
    for j, name in enumerate(data.columns):
        others = np.delete(np.arange(8), j)
        slopes = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, j])
        expected = mean[j] + (data.to_numpy()[:, others] - mean[others]) @ slopes
        np.testing.assert_allclose(fitted.predict(data.drop(columns=name), name, given="blanket"), expected, atol=1e-7)
        own = fitted.parameters[fitted.parameters["node"] == name].set_index("term")["estimate"]
        straight = data[own.index[1:]] @ own.iloc[1:] + own.iloc[0]
        np.testing.assert_allclose(fitted.predict(data, name, given="parents"), straight, atol=1e-9)


def test_a_coefficient_of_zero_keeps_its_edge():
    """In an orthogonal design a coefficient is exactly zero, and its parent is a parent all the same."""
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    data = pd.DataFrame({"a": signs[:, 0], "b": signs[:, 1], "c": signs[:, 0] + 0.5 * signs[:, 2]})
    fitted = dagopt.fit(data, [("a", "c"), ("b", "c")])
    assert fitted.parents[2] == (0, 1)
    assert set(fitted.dag.edges) == {("a", "c"), ("b", "c")}
    assert fitted.to_dict()["nodes"][2]["parents"] == {"a": pytest.approx(1.0), "b": pytest.approx(0.0, abs=1e-15)}


def test_dependent_parents_are_told(rng):
    """Parents that determine each other get coefficients that fit, no standard errors, and a note."""
    a, b = rng.normal(size=(2, 100))
    data = pd.DataFrame({"a": a, "b": b, "twice": 2 * a, "y": 3 * a + b + rng.normal(size=100)})
    fitted = dagopt.fit(data, [("a", "y"), ("b", "y"), ("twice", "y")])
    assert "'a', 'b', 'twice' of 'y' are linearly dependent" in fitted.notes[0]
    own = fitted.parameters[fitted.parameters["node"] == "y"]
    assert own["standard_error"].isna().all()
    design = np.column_stack([np.ones(100), a, b])
    expected = design @ np.linalg.lstsq(design, data["y"], rcond=None)[0]
    np.testing.assert_allclose(fitted.predict(data, "y", given="parents"), expected)
    freedom = fitted.nodes.set_index("node").loc["y"]
    assert freedom["residual_variance"] == pytest.approx(np.sum((data["y"] - expected) ** 2) / 97)
    assert json.loads(json.dumps(fitted.to_dict(), allow_nan=False))["nodes"][3]["standard_errors"]["a"] is None


@pytest.mark.parametrize(
    ("data", "edges", "message"),
    [
        (
            {"a": [1.0, 2, 4], "b": [2.0, 4, 8]},
            [("a", "b")],
            "noise in column 'b' .* of its parents 'a'; give more rows",
        ),
        ({"a": [1.5, 2], "b": [2.5, 4]}, [("a", "b")], "noise in column 'b'"),
        ({"a": [1.0, 2, 4], "b": [0.5, 0.5, 0.5]}, [], "column 'b' to vary but its only value is 0.5"),
        ({"a": [1.0, 2, 4], "b": [1.0, 0, 3]}, [("a", "b"), ("b", "a")], "the edge 'a' - 'b' is undirected"),
        ({"a": [1.0, 2, 4], "b": [1.0, 0, 3]}, [("a", "c")], "unknown node in the graph 'c'"),
    ],
)
def test_what_cannot_be_fitted_is_said(data, edges, message):
    """No noise, no variance, no DAG and unknown columns are refused with their names."""
    with pytest.raises(InputError, match=message):
        dagopt.fit(data, edges)


def test_gaussian_json_reads_back(numbers, tmp_path):
    """The file is a Gaussian network for the reader, to the last digit, and has the standard errors."""
    fitted = dagopt.fit(*numbers)
    fitted.to_json(tmp_path / "network.json")
    back = read_gaussian_json(tmp_path / "network.json")
    np.testing.assert_array_equal(back.weights, fitted.network.weights)
    np.testing.assert_array_equal(back.variances, fitted.network.variances)
    told = json.loads((tmp_path / "network.json").read_text())["nodes"]
    frame = fitted.parameters.set_index(["node", "term"])
    for node in told:
        for parent, error in node["standard_errors"].items():
            assert error == frame.loc[(node["name"], parent), "standard_error"]


def test_standard_errors_cover_the_truth():
    """Over many samples, 95 % intervals hold the true coefficient in about 95 of 100."""
    network = dagopt.datasets.load_network("gaussian_test")
    inside = []
    for seed in range(60):
        frame = dagopt.fit(network.sample(200, seed), network.dag).parameters
        frame = frame[frame["term"] != "(intercept)"]
        true = [
            network.dag.edges[term, node]["weight"] for node, term in zip(frame["node"], frame["term"], strict=True)
        ]
        inside.append(np.abs(frame["estimate"] - true) < 1.96 * frame["standard_error"])
    share = np.concatenate(inside).mean()
    assert abs(share - 0.95) < 4 * np.sqrt(0.95 * 0.05 / (60 * 7))


def test_refitting_on_simulated_data_gives_the_parameters_back(numbers):
    """Data drawn from the fitted network lead back to it, within a few standard errors."""
    fitted = dagopt.fit(*numbers)
    drawn = fitted.sample(40_000, random_state=0)
    assert drawn.columns.tolist() == numbers[0].columns.tolist()
    assert set(drawn.dtypes) == {np.dtype(float)}
    again = dagopt.fit(drawn, numbers[1])
    off = (again.parameters["estimate"] - fitted.parameters["estimate"]) / again.parameters["standard_error"]
    assert np.abs(off).max() < 4.5
    np.testing.assert_allclose(again.nodes["variance"], fitted.nodes["variance"], rtol=0.05)


# --- discrete: against counting ----------------------------------------------------------------------------------


def test_tables_are_relative_frequencies(asia):
    """Probabilities, counts and standard errors are those of pandas' cross tables."""
    data, dag = asia
    fitted = dagopt.fit(data, dag)
    assert isinstance(fitted, FittedDiscrete)
    for node in data.columns:
        parents = parents_of(dag, node, data)
        own = fitted.parameters[fitted.parameters["node"] == node]
        if not parents:
            shares = data[node].value_counts(normalize=True)
            assert own.set_index("level")["probability"].to_dict() == pytest.approx(shares.to_dict())
            continue
        given = data[parents].astype(str).apply(lambda row: ", ".join(f"{k}={v}" for k, v in row.items()), axis=1)
        counted = pd.crosstab(given, data[node])
        for row in own.itertuples():
            total = int(counted.loc[row.given].sum()) if row.given in counted.index else 0
            assert row.total == total
            if total == 0:
                assert row.probability == 0.5
                assert np.isnan(row.standard_error)
                continue
            share = counted.loc[row.given, row.level] / total
            assert row.count == counted.loc[row.given, row.level]
            assert row.probability == pytest.approx(share)
            assert row.standard_error == pytest.approx(np.sqrt(share * (1 - share) / total))


def test_configurations_never_seen_are_told():
    """They have the uniform distribution, a count of zero, and a note that names column and number."""
    data = pd.DataFrame({"a": list("xxyy"), "b": list("uvuu"), "c": list("pqrp")})
    fitted = dagopt.fit(data, [("a", "c"), ("b", "c")])
    assert "1 of 4 of 'c'" in fitted.notes[0]
    assert fitted.nodes.set_index("node")["unseen"].to_dict() == {"a": 0, "b": 0, "c": 1}
    unseen = fitted.parameters.query("total == 0")
    assert unseen["given"].unique().tolist() == ["a=y, b=v"]
    np.testing.assert_allclose(unseen["probability"], 1 / 3)
    assert dagopt.fit(data, [("a", "c")]).notes == ()


def test_an_equivalent_sample_size_is_a_dirichlet_prior(asia):
    """Probabilities and standard errors are the moments of the posterior under a uniform Dirichlet prior."""
    data, dag = asia
    fitted = dagopt.fit(data, dag, equivalent_sample_size=12)
    for row in fitted.parameters.itertuples():
        cells = 2 ** (1 + len(parents_of(dag, row.node, data)))
        posterior = stats.beta(row.count + 12 / cells, row.total - row.count + 12 / cells)  # both levels have a half
        assert row.probability == pytest.approx(posterior.mean())
        assert row.standard_error == pytest.approx(posterior.std())
    assert (fitted.parameters["probability"] > 0).all()
    assert dagopt.fit(data, dag, equivalent_sample_size=1e9).network.tables[3] == pytest.approx(0.5, abs=1e-5)


def test_discrete_log_likelihood_is_the_score(asia):
    """By maximum likelihood it is the score ``loglik``, in all, node by node and row by row."""
    data, dag = asia
    fitted = dagopt.fit(data, dag)
    assert fitted.log_likelihood(data) == pytest.approx(dagopt.score(data, dag, "loglik"))
    np.testing.assert_allclose(fitted.nodes["log_likelihood"], dagopt.score_table(data, dag, "loglik")["score"])
    rows = fitted.log_likelihoods(data.head(20))
    for (_, row), value in zip(data.head(20).iterrows(), rows, strict=True):
        own = fitted.parameters
        product = 1.0
        for node in data.columns:
            given = ", ".join(f"{name}={row[name]}" for name in parents_of(dag, node, data))
            (one,) = own[(own["node"] == node) & (own["given"] == given) & (own["level"] == row[node])]["probability"]
            product *= one
        assert value == pytest.approx(np.log(product))


def test_weighted_tables_count_their_rows(asia):
    """Equal rows are kept once with a weight; the fit and the likelihood are those of all rows."""
    data, dag = asia
    table = dagopt.as_table(data)
    assert table.codes.shape[1] < len(data)
    plain = dagopt.fit(data, dag)
    pd.testing.assert_frame_equal(dagopt.fit(table, dag).parameters, plain.parameters)
    assert plain.log_likelihood(table) == pytest.approx(plain.log_likelihood(data))
    heavy = DiscreteTable(table.names, table.levels, table.codes, table.weights * 10**9)
    again = dagopt.fit(heavy, dag)
    np.testing.assert_allclose(again.parameters["probability"], plain.parameters["probability"])
    assert again.parameters["count"].max() == plain.parameters["count"].max() * 10**9


def test_the_most_probable_level(asia):
    """Given the blanket it is the most probable level of the joint distribution given all others."""
    data, dag = asia
    fitted = dagopt.fit(data, dag, equivalent_sample_size=1)
    few = data.head(30)
    for name in ("either", "smoke", "dysp"):
        levels = fitted.network.levels[data.columns.get_loc(name)]
        whole = np.stack([fitted.log_likelihoods(few.assign(**{name: level})) for level in levels])
        told = fitted.predict(few.drop(columns=name), name, given="blanket")
        assert told.tolist() == [levels[k] for k in whole.argmax(axis=0)]
        assert told.index.equals(few.index)
        own = fitted.parameters[fitted.parameters["node"] == name]
        best = own.sort_values("probability", ascending=False, kind="stable").groupby("given").first()["level"]
        given = [
            ", ".join(f"{parent}={row[parent]}" for parent in parents_of(dag, name, data)) for _, row in few.iterrows()
        ]
        assert fitted.predict(few, name, given="parents").tolist() == best.loc[given].tolist()


def test_an_impossible_row_is_minus_infinity():
    """What never happened has no probability by maximum likelihood; smoothing gives it some."""
    data = pd.DataFrame({"a": ["x", "x", "y"], "b": ["p", "p", "q"]})
    new = pd.DataFrame({"a": ["x", "x"], "b": ["q", "p"]})
    dag = [("a", "b")]
    assert dagopt.fit(data, dag).log_likelihood(new) == -np.inf
    assert np.isfinite(dagopt.fit(data, dag).log_likelihoods(new)[1])
    assert np.isfinite(dagopt.fit(data, dag, equivalent_sample_size=1).log_likelihood(new))
    chain = dagopt.fit(data.assign(c=["u", "u", "v"]), [("a", "b"), ("b", "c")])
    odd = chain.predict(pd.DataFrame({"a": ["x"], "c": ["v"]}), "b", given="blanket")
    assert odd.isna().all()


def test_a_column_of_one_level():
    """A column that never varies has probability 1, as a node and as a parent."""
    data = pd.DataFrame({"a": ["x"] * 4, "b": ["p", "q", "q", "q"]})
    fitted = dagopt.fit(data, [("a", "b")])
    assert fitted.parameters["probability"].tolist() == [1.0, 0.25, 0.75]
    assert fitted.parameters["standard_error"].iloc[0] == 0
    assert fitted.log_likelihood(data) == pytest.approx(np.log(0.25) + 3 * np.log(0.75))


def test_discrete_data_lead_back(asia):
    """Data drawn from the fitted network have its levels, read back and lead back to its tables."""
    data, dag = asia
    fitted = dagopt.fit(data, dag)
    drawn = fitted.sample(40_000, random_state=0)
    assert drawn.columns.tolist() == data.columns.tolist()
    assert [tuple(drawn[name].cat.categories) for name in drawn] == list(fitted.network.levels)
    again = dagopt.fit(drawn, dag)
    both = fitted.parameters.merge(again.parameters, on=["node", "given", "level"]).query("total_y > 0")
    room = np.maximum(both["standard_error_y"], 1 / both["total_y"])
    assert (np.abs(both["probability_x"] - both["probability_y"]) < 5 * room).all()


def test_bif_round_trip(asia, tmp_path):
    """The written network reads back with the same tables."""
    fitted = dagopt.fit(*asia)
    fitted.to_bif(tmp_path / "asia.bif")
    back = read_bif(tmp_path / "asia.bif")
    assert (back.names, back.levels, back.parents) == (fitted.names, fitted.network.levels, fitted.parents)
    for table, own in zip(back.tables, fitted.network.tables, strict=True):
        np.testing.assert_array_equal(table, own)


def test_discrete_json_has_every_number(asia, tmp_path):
    """Rows of probabilities in the order of the tables, and the rows of data behind each."""
    fitted = dagopt.fit(*asia)
    fitted.to_json(tmp_path / "asia.json")
    told = json.loads((tmp_path / "asia.json").read_text())
    for j, node in enumerate(told["nodes"]):
        table = fitted.network.tables[j]
        np.testing.assert_array_equal(np.reshape(node["probabilities"], table.shape), table)
        np.testing.assert_array_equal(np.reshape(node["rows"], table.shape[:-1]), fitted.counts[j].sum(axis=-1))


# --- from a result -----------------------------------------------------------------------------------------------


def test_a_result_fits_its_own_data(asia, numbers):
    """Without data the parameters are those of the data learned from."""
    for data, _ in (asia, numbers):
        result = dagopt.learn(data)
        fitted = result.fit()
        pd.testing.assert_frame_equal(fitted.parameters, dagopt.fit(data, result.dag).parameters)
        assert nx.utils.graphs_equal(fitted.dag, result.dag)
        assert fitted.n_samples == len(data)


def test_a_result_fits_other_data(asia, numbers):
    """Other data may have more columns in another order, fewer levels, and whole numbers."""
    result = dagopt.learn(asia.data)
    some = asia.data[asia.data["asia"] == "no"].assign(more=1.5)[[*reversed(asia.data.columns), "more"]]
    fitted = result.fit(some)
    assert fitted.names == result.names
    assert fitted.network.levels == result.fit().network.levels
    assert fitted.parameters.query("node == 'asia' and level == 'yes'")["probability"].tolist() == [0.0]
    assert result.fit(some, equivalent_sample_size=2).log_likelihood(asia.data) > -np.inf
    learned = dagopt.learn(numbers[0])
    whole = numbers[0].mul([1, 9, 1e4, 9, 9, 9, 9, 9]).round().astype(int)
    assert isinstance(learned.fit(whole), FittedGaussian)
    table = dagopt.as_table(whole, kind="continuous", columns=list(whole.columns)[::-1])
    pd.testing.assert_frame_equal(learned.fit(table).parameters, learned.fit(whole).parameters)


def test_other_data_must_match(asia, numbers):
    """Strange values, missing columns, the wrong kind and options without data are named."""
    result = dagopt.learn(asia.data)
    for call in (result.fit, result.fit().log_likelihood):
        with pytest.raises(InputError, match="one of 'no', 'yes' in column 'smoke' but got 'maybe'"):
            call(asia.data.assign(smoke="maybe"))
    with pytest.raises(InputError, match="'smoke'"):
        result.fit(asia.data.drop(columns="smoke"))
    with pytest.raises(InputError, match=r"'smoke'.*missing|missing.*'smoke'"):
        result.fit(asia.data.astype(object).assign(smoke=None))
    with pytest.raises(InputError, match="a discrete table, as in learning, but got a continuous"):
        result.fit(dagopt.as_table(numbers[0]))
    with pytest.raises(InputError, match="option 'missing' is for other data"):
        result.fit(missing="drop")
    with pytest.raises(InputError, match="unknown column 'smok'; did you mean 'smoke'"):
        result.fit().predict(asia.data, "smok")
    with pytest.raises(InputError, match="given= to be 'all', 'parents' or 'blanket'"):
        result.fit().predict(asia.data, "smoke", given="children")
    with pytest.raises(InputError, match="more than once"):
        result.fit().log_likelihood(pd.concat([asia.data, asia.data[["smoke"]]], axis=1))


@pytest.mark.parametrize("size", [-1, float("nan"), float("inf"), "much", True])
def test_a_bad_equivalent_sample_size_is_refused(asia, numbers, size):
    """Only finite numbers from zero on, and only for discrete data."""
    with pytest.raises(InputError, match="equivalent_sample_size="):
        dagopt.fit(*asia, equivalent_sample_size=size)
    with pytest.raises(InputError, match="equivalent_sample_size="):
        dagopt.fit(*numbers, equivalent_sample_size=1)


def test_a_learned_class_is_fitted_by_a_member(asia):
    """The parameters of stable PC's answer are those of a DAG of the class, and a note says so."""
    result = dagopt.learn(asia.data, "pc")
    if result.dag is None or result.graph.is_dag:
        pytest.skip("no class with members was learned")
    fitted = result.fit()
    assert "one member" in fitted.notes[0]
    assert nx.utils.graphs_equal(fitted.dag, result.dag)
    assert nx.is_directed_acyclic_graph(fitted.dag)


def test_graphs_without_dag_or_data_are_refused(asia):
    """A PDAG without members, and local scores without data, say what to do."""
    table = dagopt.as_table(asia.data, columns=[0, 1, 2, 3])
    stuck = Result(table.names, SQUARE, score=None, status="converged", method="pc")
    with pytest.raises(InputError, match=r"dagopt\.fit\(data, dag\)"):
        stuck.fit(table)
    empty = Result(table.names, np.zeros((4, 4), dtype=np.int8), score=0.0, status="optimal", method="exact")
    with pytest.raises(InputError, match="without data; give the data to fit as data="):
        empty.fit()
    assert empty.fit(asia.data).log_likelihood(asia.data) == pytest.approx(dagopt.score(table, [], "loglik"))


def test_every_kind_of_data_is_taken(asia, tmp_path):
    """A path, a frame with more columns and a table give the same likelihood; the index of a frame is kept."""
    data, dag = asia
    fitted = dagopt.fit(data, dag)
    data.to_csv(tmp_path / "asia.csv", index=False)
    value = fitted.log_likelihood(data)
    assert fitted.log_likelihood(tmp_path / "asia.csv") == pytest.approx(value)
    assert fitted.log_likelihood(data.assign(more="?")) == pytest.approx(value)
    shifted = data.head(5).set_axis([7, 8, 9, 10, 11])
    assert fitted.predict(shifted[["smoke"]], "lung").index.tolist() == [7, 8, 9, 10, 11]
    assert fitted.predict(shifted, "smoke", given="parents").nunique() == 1  # it has no parents


def test_random_tables_against_brute_force(rng):
    """Small random tables over random DAGs: the whole distribution is a product that sums to one."""
    for _ in range(10):
        arity = rng.integers(1, 4, 4)
        data = pd.DataFrame({f"v{k}": rng.integers(0, a, 30).astype(str) for k, a in enumerate(arity)})
        adjacency = np.triu(rng.integers(0, 2, (4, 4)), 1)
        fitted = dagopt.fit(data, adjacency, equivalent_sample_size=float(rng.integers(0, 3)))
        every = pd.DataFrame(itertools.product(*fitted.network.levels), columns=data.columns)
        assert np.exp(fitted.log_likelihoods(every)).sum() == pytest.approx(1)
        sums = fitted.parameters.groupby(["node", "given"])[["probability", "count"]].sum()
        np.testing.assert_allclose(sums["probability"], 1)
        assert sums.groupby("node")["count"].sum().tolist() == [30] * 4


def test_configurations_are_asked_for_by_name():
    """``given`` and ``standard_errors`` take the name of a column as well as its position."""
    data, _ = dagopt.datasets.load("asia", n_samples=200, random_state=1)
    fitted = dagopt.fit(data, [("smoke", "lung"), ("asia", "tub")])
    assert fitted.given("lung") == fitted.given(fitted.names.index("lung")) == ["smoke=no", "smoke=yes"]
    assert np.array_equal(fitted.standard_errors("lung"), fitted.standard_errors(fitted.names.index("lung")))
    with pytest.raises(InputError, match="unknown column 'Coughing'"):
        fitted.given("Coughing")
    with pytest.raises(InputError, match="a position below 8"):
        fitted.given(8)
