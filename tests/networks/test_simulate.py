"""Simulated networks: the published draws, the design's ranges, and arguments out of range."""

import importlib.util
from pathlib import Path

import networkx
import numpy as np
import pandas as pd
import pytest

from dagopt.errors import InputError
from dagopt.networks.simulate import random_discrete_network, random_gaussian_network, simulate

TOOL = Path(__file__).resolve().parents[3] / "shared" / "tools" / "paper_instances.py"


@pytest.fixture(scope="module")
def paper_instance():
    """The function that draws the published instances."""
    if not TOOL.exists():
        pytest.skip("the published instances are not beside the repository")
    spec = importlib.util.spec_from_file_location("paper_instances", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.paper_instance


@pytest.mark.parametrize(
    "n_nodes, n_samples, degree, seed",
    [
        (15, 5000, 0.5, 0),
        (20, 5000, 1.0, 1),
        (25, 20000, 2.0, 2),
        (2, 10, 0.5, 7),
        (9, 100, 4.0, 3),
        (60, 50, 1.5, 0),
    ],
)
def test_published_draws(paper_instance, n_nodes, n_samples, degree, seed):
    """With a seed, graph and data are those of the published instances."""
    values, adjacency = paper_instance(n_nodes, n_samples, degree, seed)
    data, dag = simulate(n_nodes, n_samples, degree, seed)
    assert list(dag) == list(data.columns) == [f"X{k}" for k in range(n_nodes)]
    assert np.array_equal(networkx.to_numpy_array(dag, weight=None), adjacency)
    np.testing.assert_allclose(data.to_numpy(), values, rtol=1e-12, atol=1e-12 * np.abs(values).max())


def test_gaussian_design_ranges():
    """Coefficients, variances and the number of edges lie where the design puts them."""
    network = random_gaussian_network(60, 3.0, random_state=0)
    sizes = np.abs(network.weights[network.weights != 0])
    assert sizes.min() >= 0.5
    assert sizes.max() <= 2
    assert (network.weights > 0).any()
    assert (network.weights < 0).any()
    assert network.variances.min() >= 0.7
    assert network.variances.max() <= 1.2
    assert abs(len(sizes) - 180) < 5 * np.sqrt(180)  # binomial, mean degree * n
    assert not network.intercepts.any()


def test_graph_attributes():
    """Every edge has a weight and every node a variance, and regression finds the weight again."""
    data, dag = simulate(6, 20_000, 1.0, 4)
    for node, attributes in dag.nodes(data=True):
        parents = list(dag.predecessors(node))
        design = np.column_stack([np.ones(len(data)), data[parents]])
        beta, residual, *_ = np.linalg.lstsq(design, data[node].to_numpy(), rcond=None)
        assert beta[1:] == pytest.approx([dag.edges[p, node]["weight"] for p in parents], abs=0.1)
        assert residual[0] / len(data) == pytest.approx(attributes["variance"], rel=0.1)


@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_seeds(kind):
    """The same seed gives the same data and graph; none gives fresh ones; a generator moves on."""
    first = simulate(8, 30, 1.0, 5, kind=kind)
    again = simulate(8, 30, 1.0, np.int64(5), kind=kind)
    pd.testing.assert_frame_equal(first.data, again.data)
    assert set(first.dag.edges) == set(again.dag.edges)
    assert not simulate(8, 30, kind=kind).data.equals(simulate(8, 30, kind=kind).data)
    rng = np.random.default_rng(0)
    one, two = simulate(8, 30, 1.0, rng, kind=kind), simulate(8, 30, 1.0, rng, kind=kind)
    assert not one.data.equals(two.data)
    assert one.data.equals(simulate(8, 30, 1.0, np.random.default_rng(0), kind=kind).data)


def test_discrete_networks():
    """Levels number 2 to the most asked for, and the number of edges follows the degree."""
    networks = [random_discrete_network(30, 1.5, max_levels=3, random_state=seed) for seed in range(20)]
    arities = {len(own) for network in networks for own in network.levels}
    assert arities == {2, 3}
    edges = sum(int(network.adjacency.sum()) for network in networks)
    assert abs(edges - 20 * 45) < 5 * np.sqrt(20 * 45)
    data, dag = simulate(10, 50, 1.0, 0, kind="discrete")
    assert list(data.columns) == list(dag)
    assert all(isinstance(dtype, pd.CategoricalDtype) for dtype in data.dtypes)
    same = random_discrete_network(30, 1.5, random_state=0, levels=3)
    assert {len(own) for own in same.levels} == {3}
    assert simulate(6, 500, 1.0, 0, kind="discrete", levels=5).data.nunique().tolist() == [5] * 6


def test_extreme_degrees():
    """Degree 0 gives no edge and the largest degree a complete DAG."""
    for network in (random_gaussian_network, random_discrete_network):
        assert not network(5, 0, random_state=0).adjacency.any()
        full = network(5, 2.0, random_state=0).adjacency
        assert (full + full.T == 1 - np.eye(5)).all()


@pytest.mark.parametrize(
    "options, words",
    [
        ({"n_nodes": 1}, "n_nodes= to be a whole number >= 2"),
        ({"n_nodes": 2.5}, "n_nodes"),
        ({"n_samples": 0}, "n_samples"),
        ({"degree": -0.1}, "degree= to be from 0 to 9.5"),
        ({"degree": 10}, "degree= to be from 0 to 9.5"),
        ({"degree": float("nan")}, "got nan"),
        ({"degree": float("inf")}, "got inf"),
        ({"degree": "many"}, "'many'"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "now"}, "random_state"),
        ({"kind": "gausian"}, "did you mean 'gaussian'"),
        ({"levels": 3}, "leave it out"),
        ({"levels": 1, "kind": "discrete"}, "levels"),
    ],
)
def test_bad_arguments(options, words):
    """Each argument out of range is named with what is possible."""
    with pytest.raises(InputError, match=words):
        simulate(**options)


def test_tables_too_large_are_refused():
    """A dense discrete design is refused before it fills the memory."""
    for n_nodes in (16, 40):
        with pytest.raises(InputError, match="cells"):
            random_discrete_network(n_nodes, (n_nodes - 1) / 2, random_state=0)
    with pytest.raises(InputError, match="max_levels"):
        random_discrete_network(4, 1.0, max_levels=1)
