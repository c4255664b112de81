"""Bundled networks: structures and tables against the data they come from, and loading by name."""

from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest

from dagopt import datasets
from dagopt.errors import InputError
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.gaussian_network import GaussianNetwork

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
FITTED = ["alarm", "insurance", "lucas"]

needs_data = pytest.mark.skipif(not SHARED.exists(), reason="the data sets are not beside the repository")


def shared_table(name, **options):
    """Read one of the data sets the networks were fitted on."""
    plain = SHARED / f"{name}.csv"
    return pd.read_csv(plain if plain.exists() else SHARED / f"{name}.csv.gz", **options)


@needs_data
@pytest.mark.parametrize("name", [*FITTED, "gaussian_test"])
def test_structures_equal_edge_lists(name):
    """Nodes are the columns of the data, in order, and edges are those of the true structure."""
    dag = datasets.load_network(name).dag
    assert list(dag) == list(shared_table(name, nrows=1).columns)
    edges = pd.read_csv(SHARED / f"{name}.edges.csv")
    assert set(dag.edges) == set(edges.itertuples(index=False, name=None))


@needs_data
@pytest.mark.parametrize("name", FITTED)
def test_tables_equal_count_ratios(name):
    """Every row of every table is the ratio of counts to six decimals, or uniform if never seen."""
    network = datasets.load_network(name)
    data = shared_table(name, dtype=str, keep_default_na=False)
    for j, node in enumerate(network.names):
        assert network.levels[j] == tuple(sorted(set(data[node])))
        parents = [network.names[i] for i in network.parents[j]]
        seen = {key: group[node] for key, group in data.groupby(parents)} if parents else {(): data[node]}
        for where in np.ndindex(network.tables[j].shape[:-1]):
            row = network.tables[j][where]
            key = tuple(network.levels[i][k] for i, k in zip(network.parents[j], where, strict=True))
            expected = np.full(len(row), 1 / len(row))
            if key in seen:
                expected = np.array([(seen[key] == level).mean() for level in network.levels[j]])
            assert row == pytest.approx(expected, abs=1.001e-6)
            assert sum(round(p * 10**6) for p in row) == 10**6


@needs_data
def test_gaussian_parameters_equal_regression():
    """The equations are the least-squares ones to four significant digits."""
    network = datasets.load_network("gaussian_test")
    data = shared_table("gaussian_test").to_numpy()
    for j, own in enumerate(network.parents):
        design = np.column_stack([np.ones(len(data)), data[:, list(own)]])
        beta, *_ = np.linalg.lstsq(design, data[:, j], rcond=None)
        assert network.intercepts[j] == pytest.approx(beta[0], rel=5e-4)
        assert network.weights[list(own), j] == pytest.approx(beta[1:], rel=5e-4)
        assert network.variances[j] == pytest.approx(np.mean((data[:, j] - design @ beta) ** 2), rel=5e-4)


def test_asia_is_the_published_network():
    """Marginals by enumeration equal those known for the network of 1988."""
    network = datasets.load_network("asia")
    edges = "asia-tub smoke-lung smoke-bronc tub-either lung-either either-xray either-dysp bronc-dysp"
    assert set(network.dag.edges) == {tuple(edge.split("-")) for edge in edges.split()}
    marginal = np.zeros(8)
    for code in np.ndindex(*[2] * 8):
        rows = (t[tuple(code[i] for i in network.parents[j])] for j, t in enumerate(network.tables))
        marginal += np.prod([row[k] for row, k in zip(rows, code, strict=True)]) * np.array(code)
    expected = {
        "tub": 0.0104,
        "lung": 0.055,
        "bronc": 0.45,
        "either": 0.064828,
        "xray": 0.11029,
        "dysp": 0.435971,
    }
    for name, value in expected.items():
        assert marginal[network.names.index(name)] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("name", datasets.names())
def test_load(name):
    """Each network loads, draws the rows asked for, and fits its own data."""
    data, dag = datasets.load(name, n_samples=500)
    assert data.shape == (500, len(dag))
    assert list(data.columns) == list(dag)
    assert networkx.is_directed_acyclic_graph(dag)
    assert not data.isna().any().any()
    assert np.isfinite(datasets.load_network(name).log_likelihood(data))


def test_defaults_and_seeds():
    """5000 rows by default; a seed, 0 if none is given, fixes them; None does not."""
    first = datasets.load("insurance").data
    assert len(first) == 5000
    assert first.equals(datasets.load("insurance", random_state=0).data)
    assert not first.equals(datasets.load("insurance", random_state=1).data)
    assert not datasets.load("lucas", random_state=None).data.equals(datasets.load("lucas", random_state=None).data)
    assert "None" in set(first["Accident"])


@pytest.mark.parametrize("name", ["gaussian_test", "gaussian-test", "gaussian.test", " Gaussian_Test "])
def test_spellings(name):
    """Case, dashes and dots do not matter, and the network is read once."""
    assert datasets.load_network(name) is datasets.load_network("gaussian_test")


def test_unknown_name():
    """A name that is not bundled is answered with the nearest one, or all."""
    with pytest.raises(InputError, match="did you mean 'alarm'"):
        datasets.load("alarms")
    with pytest.raises(InputError, match="there are: 'alarm'"):
        datasets.load_network("xyz")


def test_describe():
    """The table has one row a network, with the sizes the literature gives."""
    table = datasets.describe().set_index("name")
    assert list(table.index) == datasets.names()
    assert table["nodes"].to_dict() == {
        "alarm": 37,
        "asia": 8,
        "gaussian_test": 7,
        "insurance": 27,
        "lucas": 12,
    }
    assert table.loc["alarm", ["edges", "parameters"]].tolist() == [46, 509]
    assert table.loc["insurance", ["edges", "parameters"]].tolist() == [52, 984]
    for name, kind in table["kind"].items():
        wanted = GaussianNetwork if kind == "gaussian" else DiscreteNetwork
        assert isinstance(datasets.load_network(name), wanted)
    for name, author in (
        ("alarm", "Beinlich"),
        ("insurance", "Binder"),
        ("asia", "Lauritzen"),
        ("lucas", "LUCAS"),
    ):
        assert author in table.loc[name, "source"]
    assert table["source"].str.contains("fitted", case=False).all()
