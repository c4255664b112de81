"""Networks in other packages and their files: what they read is what we have."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import dagopt
from dagopt.errors import InputError
from dagopt.graph.formats.bif_spelling import spelled, spelled_levels
from dagopt.networks.bif import read_bif
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.simulate import random_gaussian_network

NAMES = ("blood pressure", "größe 高さ", "table", 'say "hi", (now)', "plain", "0", "a/b", "a_b")
LEVELS = (("low 1", "low/1"), ("0.5", "1.5", "-2"), ("yes", "no"), ("{x}", "a;b"), ("a", "b"), ("default", ""))


@pytest.fixture(scope="module")
def awkward():
    """Return a network with every kind of name and level that BIF readers stumble over."""
    rng = np.random.default_rng(0)
    levels = (*LEVELS, ("u", "v"), ("1", "2", "10"))
    parents = ((), (0,), (0, 1), (2,), (1, 3), (4,), (5, 0), (6,))
    tables = tuple(
        rng.dirichlet(np.ones(len(levels[j])), size=[len(levels[i]) for i in own]) for j, own in enumerate(parents)
    )
    return DiscreteNetwork(NAMES, levels, parents, tables)


def plain(network):
    """Return the network in the words that its file has."""
    levels = tuple(tuple(spelled_levels(own)) for own in network.levels)
    return DiscreteNetwork(tuple(spelled(network.names)), levels, network.parents, network.tables)


def test_words_are_different_and_stay_where_they_can():
    """Words are unique, keep plain names, and never are keywords."""
    assert spelled(NAMES) == ["blood_pressure", "gr__e___", "_table", "say__hi____now_", "plain", "_0", "a_b_2", "a_b"]
    assert len(set(spelled_levels(["0.5", "0 5", "_0_5"]))) == 3


def test_bif_reads_back_with_its_true_names(awkward, tmp_path):
    """Our reader gives back names, levels and every float."""
    dagopt.networks.bif.write_bif(awkward, tmp_path / "a.bif")
    back = read_bif(tmp_path / "a.bif")
    assert (back.names, back.levels, back.parents) == (awkward.names, awkward.levels, awkward.parents)
    for ours, theirs in zip(awkward.tables, back.tables, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_pgmpy_reads_and_writes_our_bif(awkward, tmp_path):
    """Pgmpy reads the file, and we read what pgmpy writes."""
    readwrite = pytest.importorskip("pgmpy.readwrite")
    dagopt.networks.bif.write_bif(awkward, tmp_path / "a.bif")
    model = readwrite.BIFReader(str(tmp_path / "a.bif")).get_model()
    words = plain(awkward)
    assert set(model.nodes) == set(words.names)
    assert set(model.edges) == set(words.dag.edges)
    for j, name in enumerate(words.names):
        own = model.get_cpds(name)
        for k, level in enumerate(words.levels[j]):
            first = {words.names[i]: words.levels[i][-1] for i in words.parents[j]}
            assert own.get_value(**{name: level, **first}) == pytest.approx(words.tables[j][..., k].flat[-1], abs=1e-9)
    readwrite.BIFWriter(model).write(str(tmp_path / "b.bif"))
    back = read_bif(tmp_path / "b.bif")
    assert set(back.dag.edges) == set(words.dag.edges)


@pytest.mark.parametrize("suffix", [".bif", ".net", ".xdsl", ".bifxml"])
def test_pyagrum_reads_what_is_written(awkward, tmp_path, suffix):
    """Each file gives pyAgrum the same distribution, within the precision of its formats."""
    gum = pytest.importorskip("pyagrum")
    fitted = dagopt.fit(awkward.sample(2000, 0), awkward.dag)
    path = tmp_path / f"a{suffix}"
    fitted.write(path)
    net = gum.loadBN(str(path))
    words = plain(fitted.network)
    assert net.names() == set(words.names)
    for j, name in enumerate(words.names):
        table = net.cpt(name)
        given = {words.names[i]: words.levels[i][-1] for i in words.parents[j]}
        told = [table[{**given, name: level}] for level in words.levels[j]]
        expected = words.tables[j].reshape(-1, len(told))[-1]
        assert told == pytest.approx(expected.tolist(), abs=1e-5)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_objects_of_other_packages_have_our_names(awkward):
    """Objects, unlike files, keep every name and level."""
    pgmpy, gum = pytest.importorskip("pgmpy.models"), pytest.importorskip("pyagrum")
    model = awkward.to_pgmpy()
    assert isinstance(model, pgmpy.DiscreteBayesianNetwork)
    assert model.check_model()
    assert set(model.edges) == set(awkward.dag.edges)
    net = awkward.to_pyagrum()
    assert isinstance(net, gum.BayesNet)
    assert net.names() == set(awkward.names)


def test_gaussian_networks_elsewhere(tmp_path):
    """Pgmpy's mean and covariance are ours; networkx has coefficients; pyAgrum and BIF are refused in a sentence."""
    network = random_gaussian_network(5, 1.5, 0)
    fitted = dagopt.fit(network.sample(300, 0), network.dag)
    graph = fitted.to_networkx()
    for row in fitted.parameters.itertuples():
        if row.term != "(intercept)":
            assert graph.edges[row.term, row.node]["weight"] == row.estimate
            assert graph.edges[row.term, row.node]["standard_error"] == row.standard_error
    nx.write_graphml(graph, tmp_path / "a.graphml")
    with pytest.raises(InputError, match="discrete columns"):
        fitted.to_pyagrum()
    with pytest.raises(InputError, match=r"expected a file ending in \.json or \.csv"):
        fitted.write(tmp_path / "a.bif")
    pytest.importorskip("pgmpy")
    order, covariance = list(fitted.names), fitted.network.covariance()
    model = fitted.to_pgmpy()
    mean, theirs = model.to_joint_gaussian()
    nodes = list(nx.topological_sort(model))
    places = [order.index(name) for name in nodes]
    np.testing.assert_allclose(theirs, covariance[np.ix_(places, places)], atol=1e-2)
    np.testing.assert_allclose(mean, fitted.network.mean()[places], atol=1e-2)
