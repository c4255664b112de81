"""Neighbourhoods, hubs and components, against networkx."""

import networkx as nx
import numpy as np
import pytest

from dagopt.errors import InputError
from dagopt.graph.dag import Graph
from dagopt.graph.neighbourhoods import components, hubs, neighbourhood


def random_graph(seed: int, n: int = 30) -> Graph:
    rng = np.random.default_rng(seed)
    adjacency = np.triu(rng.random((n, n)) < 0.04, 1)
    adjacency |= (adjacency & (rng.random((n, n)) < 0.3)).T
    return Graph(adjacency.astype(np.int8), tuple(f"g{k}" for k in range(n)))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("steps", [1, 2, 40])
def test_neighbourhoods_are_those_of_networkx(seed, steps):
    graph = random_graph(seed)
    plain = graph.to_networkx().to_undirected()
    near = nx.single_source_shortest_path_length(plain, "g3", cutoff=steps)
    found = neighbourhood(graph, "g3", steps)
    assert set(found.columns) == set(near)
    assert [near[name] for name in found.columns] == sorted(near.values())
    inside = plain.subgraph(near)
    assert {frozenset((a, b)) for a, _, b, _ in found.edges} == {frozenset(edge) for edge in inside.edges}
    assert all(far == max(near[a], near[b]) for a, _, b, far in found.edges)


@pytest.mark.parametrize("seed", range(5))
def test_components_and_hubs_are_those_of_networkx(seed):
    graph = random_graph(seed)
    plain = graph.to_networkx().to_undirected()
    expected = {frozenset(part) for part in nx.connected_components(plain)}
    parts = components(graph)
    assert {frozenset(graph.names[k] for k in part) for part in parts} == expected
    assert [len(part) for part in parts] == sorted(map(len, parts), reverse=True)
    degrees = dict(plain.degree)
    top = hubs(graph, 4)
    assert [edges for _, edges, _, _ in top] == sorted(degrees.values(), reverse=True)[:4]
    assert all(degrees[name] == edges for name, edges, _, _ in top)


def test_an_unknown_column_gets_a_near_name():
    with pytest.raises(InputError, match="unknown column 'g33'; did you mean"):
        neighbourhood(random_graph(0), "g33")
