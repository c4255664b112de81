"""Networks with parameters: validation, sampling, fitting and likelihood against obvious twins."""

import math

import networkx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dagopt.errors import InputError
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.gaussian_network import GaussianNetwork
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network


def sprinkler():
    """Rain -> Sprinkler, both -> Grass, with a level called None and a deterministic row."""
    return DiscreteNetwork(
        names=("Rain", "Sprinkler", "Grass"),
        levels=(("None", "some", "much"), ("off", "on"), ("dry", "wet")),
        parents=((), (0,), (1, 0)),
        tables=(
            np.array([0.6, 0.3, 0.1]),
            np.array([[0.5, 0.5], [0.8, 0.2], [1.0, 0.0]]),
            np.array([[[1.0, 0.0], [0.3, 0.7], [0.05, 0.95]], [[0.2, 0.8], [0.1, 0.9], [0.0, 1.0]]]),
        ),
    )


def chain():
    """A -> B -> C and A -> C with intercepts."""
    weights = np.array([[0, 1.5, -0.7], [0, 0, 2.0], [0, 0, 0]])
    return GaussianNetwork(("A", "B", "C"), weights, np.array([1.0, -2.0, 0.5]), np.array([1.0, 0.5, 2.0]))


def naive_log_likelihood(network, data):
    """Sum the logs of the table entries, one cell of the data at a time."""
    total = 0.0
    for _, row in data.iterrows():
        code = [own.index(row[name]) for name, own in zip(network.names, network.levels, strict=True)]
        for j, table in enumerate(network.tables):
            total += math.log(table[tuple(code[i] for i in network.parents[j])][code[j]])
    return total


def test_structure_and_size():
    """Graph, adjacency and parameter count say what the parents say."""
    network = sprinkler()
    assert list(network.dag) == ["Rain", "Sprinkler", "Grass"]
    assert set(network.dag.edges) == {("Rain", "Sprinkler"), ("Rain", "Grass"), ("Sprinkler", "Grass")}
    assert network.adjacency.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert network.n_parameters == 2 + 3 * 1 + 6 * 1
    assert "3 nodes" in repr(network)


def test_sampling_frequencies_match_tables():
    """Counts in every parent configuration pass a chi-square test against the table's row."""
    network = sprinkler()
    data = network.sample(20_000, random_state=1)
    for j, name in enumerate(network.names):
        by = [network.names[i] for i in network.parents[j]]
        groups = data.groupby(by, observed=True) if by else [((), data)]
        for key, group in groups:
            where = tuple(network.levels[i].index(k) for i, k in zip(network.parents[j], key, strict=True))
            row = network.tables[j][where]
            counts = np.array([(group[name] == level).sum() for level in network.levels[j]])
            assert counts[row == 0].sum() == 0
            if (row > 0).sum() > 1:
                assert stats.chisquare(counts[row > 0], len(group) * row[row > 0]).pvalue > 1e-3


def test_levels_stay_strings():
    """The level None is sampled as a string, and is no missing value."""
    data = sprinkler().sample(200, random_state=0)
    assert not data.isna().any().any()
    assert set(data["Rain"]) == {"None", "some", "much"}
    assert list(data["Rain"].cat.categories) == ["None", "some", "much"]


@pytest.mark.parametrize("network", [sprinkler(), chain()], ids=["discrete", "gaussian"])
def test_same_seed_same_data(network):
    """A seed fixes the data; another seed, a used generator or None do not give the same."""
    first = network.sample(50, random_state=3)
    rng = np.random.default_rng(3)
    pd.testing.assert_frame_equal(first, network.sample(50, random_state=3))
    pd.testing.assert_frame_equal(first, network.sample(50, random_state=rng))
    for other in (4, rng, None):
        assert not first.equals(network.sample(50, random_state=other))


def test_fit_is_count_ratios():
    """Fitted tables are the count ratios, uniform where the parents' levels never occur together."""
    data = pd.DataFrame({"a": list("xxyy"), "b": ["1", "2", "1", "1"], "c": ["u", "v", "u", "v"]})
    dag = networkx.DiGraph([("a", "c"), ("b", "c")])
    network = DiscreteNetwork.fit(data, dag)
    assert network.names == ("a", "b", "c")
    assert network.levels == (("x", "y"), ("1", "2"), ("u", "v"))
    assert network.tables[2].tolist() == [[[1, 0], [0, 1]], [[0.5, 0.5], [0.5, 0.5]]]
    smooth = DiscreteNetwork.fit(data, dag, levels={"b": ["1", "2", "3"]}, pseudocount=1)
    assert smooth.tables[1] == pytest.approx(np.array([4, 2, 1]) / 7)
    assert smooth.tables[2][0, 0] == pytest.approx([2 / 3, 1 / 3])


def test_fit_takes_numbers_and_categories():
    """Integers count as their text, and categories that do not occur stay levels."""
    numbers = pd.DataFrame({0: [0, 1, 1], 1: [2, 2, 3]})
    dag = networkx.DiGraph([(0, 1)])
    assert DiscreteNetwork.fit(numbers, dag).levels == (("0", "1"), ("2", "3"))
    data = sprinkler().sample(3, random_state=0)
    assert DiscreteNetwork.fit(data, sprinkler().dag).levels == sprinkler().levels


def test_discrete_fit_recovers_generator():
    """Every row fitted on many draws lies within five standard errors of the generator's."""
    truth = random_discrete_network(6, 1.0, max_levels=3, random_state=2)
    data = truth.sample(50_000, random_state=5)
    fitted = DiscreteNetwork.fit(data, truth.dag)
    for j, name in enumerate(truth.names):
        assert fitted.parents[j] == truth.parents[j]
        by = [truth.names[i] for i in truth.parents[j]]
        sizes = data.groupby(by, observed=False)[name].size() if by else pd.Series([len(data)])
        rows = np.maximum(sizes.to_numpy().reshape(truth.tables[j].shape[:-1] + (1,)), 1)
        error = np.sqrt(truth.tables[j] * (1 - truth.tables[j]) / rows)
        assert (np.abs(fitted.tables[j] - truth.tables[j]) <= 5 * error + 1 / rows).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n_nodes=st.integers(2, 6), degree=st.floats(0, 0.5))
def test_discrete_log_likelihood_is_naive_sum(seed, n_nodes, degree):
    """The log-likelihood equals the naive loop, is maximal at the fit and ignores column order."""
    network = random_discrete_network(n_nodes, degree, max_levels=3, random_state=seed)
    data = network.sample(30, random_state=seed)
    value = network.log_likelihood(data)
    assert value == pytest.approx(naive_log_likelihood(network, data))
    assert network.log_likelihood(data[data.columns[::-1]].astype(object)) == pytest.approx(value)
    assert DiscreteNetwork.fit(data, network.dag).log_likelihood(data) >= value - 1e-9


def test_impossible_row_has_no_likelihood():
    """A row of probability zero makes the log-likelihood -inf, without a warning."""
    data = pd.DataFrame({"Rain": ["much"], "Sprinkler": ["on"], "Grass": ["wet"]})
    assert sprinkler().log_likelihood(data) == -math.inf


def test_rounded_rows_are_normalised_once():
    """Rows within 1e-6 of 1 are divided by their sum, and doing so again changes nothing."""
    first = DiscreteNetwork(("a",), (("x", "y", "z"),), ((),), (np.array([0.3333333] * 3),))
    again = DiscreteNetwork(first.names, first.levels, first.parents, first.tables)
    assert first.tables[0].sum() == pytest.approx(1, abs=1e-15)
    assert (first.tables[0] == again.tables[0]).all()
    with pytest.raises(ValueError):
        first.tables[0][0] = 1.0


@pytest.mark.parametrize(
    "change, words",
    [
        ({"names": ("a", "a")}, "'a' more than once"),
        ({"names": ()}, "at least one node name"),
        ({"levels": (("x", "y"),)}, "levels for 2 nodes"),
        ({"levels": (("x", "x"), ("u", "v"))}, "all different, for 'a'"),
        ({"parents": ((1,), (0,))}, "cycle"),
        ({"parents": ((), (2,))}, "'b'"),
        ({"parents": ((), (0, 0))}, "'b'"),
        ({"tables": ([0.5, 0.5], [0.5, 0.5])}, "shape (2, 2) for 'b'"),
        ({"tables": ([0.5, 0.5], [[0.5, 0.5], [0.5, 0.6]])}, "'b' given a=y but got [0.5, 0.6]"),
        ({"tables": ([1.5, -0.5], [[0.5, 0.5], [0.5, 0.5]])}, "'a' but got [1.5, -0.5]"),
        ({"tables": ([np.nan, 1.0], [[0.5, 0.5], [0.5, 0.5]])}, "'a'"),
    ],
)
def test_bad_discrete_networks(change, words):
    """Each broken field is named together with the node and the configuration."""
    good = {
        "names": ("a", "b"),
        "levels": (("x", "y"), ("u", "v")),
        "parents": ((), (0,)),
        "tables": (np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.1, 0.9]])),
    }
    DiscreteNetwork(**good)
    with pytest.raises(InputError) as error:
        DiscreteNetwork(**good | change)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_bad_data_for_discrete_networks():
    """Missing values, unknown levels, missing columns and foreign graphs are named."""
    network = sprinkler()
    data = network.sample(50, random_state=0).astype(object)
    holes = data.copy()
    holes.loc[0, "Rain"] = None
    for frame, words in ((holes, "missing value"), (data.replace("off", "odd"), "'odd'")):
        with pytest.raises(InputError, match=words):
            network.log_likelihood(frame)
    with pytest.raises(InputError, match="'Rain'"):
        network.log_likelihood(data.drop(columns="Rain"))
    with pytest.raises(InputError, match="no node"):
        DiscreteNetwork.fit(data, networkx.DiGraph([("Rain", "Grass")]))
    with pytest.raises(InputError, match="not columns: 'Snow'"):
        DiscreteNetwork.fit(data, networkx.DiGraph([("Snow", "Grass")]))
    with pytest.raises(InputError, match=r"networkx\.DiGraph"):
        DiscreteNetwork.fit(data, networkx.Graph([("Rain", "Grass")]))
    with pytest.raises(InputError, match="pseudocount"):
        DiscreteNetwork.fit(data, network.dag, pseudocount=-1)
    with pytest.raises(InputError, match="'Hail'"):
        DiscreteNetwork.fit(data, network.dag, levels={"Hail": ["a"]})
    with pytest.raises(InputError, match="DataFrame"):
        network.log_likelihood([[1]])


def test_table_too_large_is_refused():
    """A fit that would need a giant table fails at once and says for which node."""
    data = pd.DataFrame({f"v{k}": [f"{r}" for r in range(60)] for k in range(6)})
    dag = networkx.DiGraph([(f"v{k}", "v5") for k in range(5)])
    with pytest.raises(InputError, match="'v5' with 5 parents"):
        DiscreteNetwork.fit(data, dag)


@pytest.mark.parametrize("n_samples", [0, -1, 2.5, "3", True])
def test_bad_sample_sizes(n_samples):
    """The number of rows must be a positive integer."""
    for network in (sprinkler(), chain()):
        with pytest.raises(InputError, match="n_samples"):
            network.sample(n_samples)


@pytest.mark.parametrize("random_state", [-1, 0.5, "0"])
def test_bad_seeds(random_state):
    """A seed must be an integer >= 0."""
    with pytest.raises(InputError, match="random_state"):
        chain().sample(3, random_state)


def test_gaussian_structure():
    """Edges carry the coefficient and nodes the variance of the noise."""
    network = chain()
    assert network.dag.edges["A", "C"]["weight"] == -0.7
    assert network.dag.nodes["B"]["variance"] == 0.5
    assert network.adjacency.tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert network.n_parameters == 3 + 3 + 3
    assert "3 edges" in repr(network)


def test_implied_covariance_by_hand():
    """The implied covariance equals path tracing on three nodes."""
    total = 1.5 * 2.0 - 0.7  # effect of A on C
    expected = [
        [1.0, 1.5, total],
        [1.5, 1.5**2 + 0.5, 1.5 * total + 2.0 * 0.5],
        [total, 1.5 * total + 2.0 * 0.5, total**2 + 4 * 0.5 + 2.0],
    ]
    assert chain().covariance() == pytest.approx(np.array(expected))


def test_implied_covariance_matches_sample():
    """The covariance of many draws lies within five standard errors of the implied one."""
    network = random_gaussian_network(6, 1.0, random_state=3)
    implied = network.covariance()
    sampled = network.sample(50_000, random_state=4).cov().to_numpy()
    error = np.sqrt((implied**2 + np.outer(np.diag(implied), np.diag(implied))) / 50_000)
    assert (np.abs(sampled - implied) <= 5 * error).all()


def test_gaussian_fit_equals_least_squares():
    """Coefficients, intercepts and variances equal those of a least-squares solve per node."""
    truth = random_gaussian_network(8, 1.5, random_state=1)
    data = truth.sample(200, random_state=2) * 10.0 ** np.arange(-4, 4) + 100
    fitted = GaussianNetwork.fit(data, truth.dag)
    values = data.to_numpy()
    for j, own in enumerate(truth.parents):
        design = np.column_stack([np.ones(200), values[:, list(own)]])
        beta, *_ = np.linalg.lstsq(design, values[:, j], rcond=None)
        residual = values[:, j] - design @ beta
        assert fitted.intercepts[j] == pytest.approx(beta[0], rel=1e-6, abs=1e-6)
        assert fitted.weights[list(own), j] == pytest.approx(beta[1:], rel=1e-6)
        assert fitted.variances[j] == pytest.approx(np.mean(residual**2), rel=1e-6)


def test_gaussian_fit_recovers_generator():
    """Coefficients fitted on many draws lie near the generator's, and no edge is added."""
    truth = chain()
    fitted = GaussianNetwork.fit(truth.sample(50_000, random_state=0), truth.dag)
    assert (fitted.adjacency == truth.adjacency).all()
    assert fitted.weights == pytest.approx(truth.weights, abs=0.05)
    assert fitted.intercepts == pytest.approx(truth.intercepts, abs=0.1)
    assert fitted.variances == pytest.approx(truth.variances, rel=0.05)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n_nodes=st.integers(2, 6))
def test_gaussian_log_likelihood_is_joint_density(seed, n_nodes):
    """The log-likelihood equals the joint normal density with the implied covariance."""
    network = random_gaussian_network(n_nodes, 0.5, random_state=seed)
    data = network.sample(20, random_state=seed)
    joint = stats.multivariate_normal(np.zeros(n_nodes), network.covariance())
    value = network.log_likelihood(data)
    assert value == pytest.approx(joint.logpdf(data.to_numpy()).sum())
    assert GaussianNetwork.fit(data, network.dag).log_likelihood(data) >= value - 1e-9


@pytest.mark.parametrize(
    "change, words",
    [
        ({"weights": np.zeros((2, 3))}, "weights of shape (2, 2)"),
        ({"weights": np.array([[0, 1], [1, 0]])}, "cycle"),
        ({"weights": np.array([[1, 0], [0, 0]])}, "cycle"),
        ({"weights": np.array([[0, np.nan], [0, 0]])}, "finite weights"),
        ({"intercepts": np.zeros(3)}, "intercepts of shape (2,)"),
        ({"variances": np.array([1, 0])}, "variance > 0 for 'b'"),
        ({"names": ("a", 1)}, "string"),
    ],
)
def test_bad_gaussian_networks(change, words):
    """Each broken field is named."""
    good = {"names": ("a", "b"), "weights": np.zeros((2, 2)), "intercepts": [0, 0], "variances": [1, 1]}
    GaussianNetwork(**good)
    with pytest.raises(InputError) as error:
        GaussianNetwork(**good | change)
    assert words in str(error.value)


def test_bad_data_for_gaussian_networks():
    """Text, missing values, constants, exact functions and a wrong order of draws are named."""
    dag = networkx.DiGraph([("a", "b")])
    a = np.arange(5.0)
    for values, words in (
        ({"a": a, "b": list("uvwxy")}, "numbers in column 'b'"),
        ({"a": a, "b": [1, 2, 3, 4, np.nan]}, "missing or infinite"),
        ({"a": a, "b": 3 * a + 1}, "'b' is a linear function"),
        ({"a": a * 0, "b": a}, "'a' is constant"),
        ({"a": [1.0], "b": [2.0]}, "at least 2 rows"),
    ):
        with pytest.raises(InputError, match=words):
            GaussianNetwork.fit(pd.DataFrame(values), dag)
    for order, words in (((0, 2, 1), "before a parent"), ((0, 1), "once"), ((0, 1, 1), "once")):
        with pytest.raises(InputError, match=words):
            chain().sample(3, order=order)
