"""Methods of outside packages: their coding of graphs, and that they are what they are called."""

import numpy as np
import pytest

from dagopt.data.table import as_table
from dagopt.errors import InputError
from dagopt.graph.order import is_acyclic
from dagopt.learning.learning import learn
from dagopt.networks.simulate import simulate
from experiments.adapters import ADAPTERS, from_causal_learn
from experiments.measure import not_available

INSTALLED = [name for name, adapter in ADAPTERS.items() if adapter.installed]


def test_marks_of_causal_learn_are_read():
    """-1 is a tail and 1 a head: 0 → 1, 1 - 2, and 0 ↔ 3, on whose direction the tests disagree."""
    graph = np.zeros((4, 4), dtype=int)
    graph[0, 1], graph[1, 0] = -1, 1
    graph[1, 2] = graph[2, 1] = -1
    graph[0, 3] = graph[3, 0] = 1
    edges = {tuple(edge) for edge in np.argwhere(from_causal_learn(graph)).tolist()}
    assert edges == {(0, 1), (1, 2), (2, 1), (0, 3), (3, 0)}


@pytest.mark.parametrize("name", INSTALLED)
def test_an_outside_method_finds_the_class_of_an_easy_graph(name):
    """On few columns and many rows they end at the essential graph of the proven optimum; pgmpy adds edges to it."""
    table = as_table(simulate(5, 5000, 1.0, 1).data)
    found = ADAPTERS[name](table)
    expected = learn(table, "exact", score="bic", progress=False).cpdag_adjacency
    if name != "pgmpy-hc":
        assert np.array_equal(found, expected)
    else:  # its Gaussian BIC lets more edges in
        assert is_acyclic(found)
        assert ((found | found.T) >= (expected | expected.T)).all()


def test_discrete_data_are_refused():
    """They are for continuous data; the error says so."""
    with pytest.raises(InputError, match="expected continuous data"):
        next(iter(ADAPTERS.values()))(as_table(simulate(4, 50, 1.0, 0, kind="discrete").data))


def test_what_is_lacking_is_said():
    """A method of ours is available, an unknown one is not, an outside one if its package is there."""
    assert not_available("hc") is None
    assert "no such method" in not_available("nonsense")
    for name, adapter in ADAPTERS.items():
        assert not_available(name) == (None if adapter.installed else f"{adapter.package} is not installed")
