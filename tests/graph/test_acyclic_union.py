"""Tests of edges put together without cycles, and of essential graphs under knowledge: both against brute force."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest

from dagopt.graph.acyclic_union import acyclic_union
from dagopt.graph.cpdag import cpdag
from dagopt.graph.known_directions import essential_given


def by_networkx(edges, n, at_most):
    """Return the union by asking networkx for a cycle after every edge."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    for tail, head in edges:
        if graph.has_edge(tail, head) or graph.has_edge(head, tail) or graph.in_degree(head) >= at_most[head]:
            continue
        graph.add_edge(tail, head)
        if not nx.is_directed_acyclic_graph(graph):
            graph.remove_edge(tail, head)
    return nx.to_numpy_array(graph, dtype=np.int8)


@pytest.mark.parametrize("seed", range(40))
def test_union_is_that_of_networkx(seed):
    """Random edges in a random order, with and without a limit."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    edges = [tuple(map(int, rng.choice(n, 2, replace=False))) for _ in range(int(rng.integers(0, 4 * n)))]
    limit = rng.integers(0, 4, n)
    np.testing.assert_array_equal(acyclic_union(edges, n), by_networkx(edges, n, [n] * n))
    np.testing.assert_array_equal(acyclic_union(edges, n, limit), by_networkx(edges, n, limit))


def all_members(dag, must, may):
    """Return the DAGs of the class that obey the knowledge, by trying every order on the skeleton."""
    n = len(dag)
    skeleton = (dag | dag.T) != 0
    essential = cpdag(dag)
    found = {}
    for order in permutations(range(n)):
        rank = np.argsort(order)
        member = (skeleton & (rank[:, None] < rank[None, :])).astype(np.int8)
        if (member | ~must).all() and not (member.astype(bool) & ~may).any() and (cpdag(member) == essential).all():
            found[member.tobytes()] = member
    return list(found.values())


@pytest.mark.few(20)
@pytest.mark.parametrize("seed", range(60))
def test_essential_graph_under_knowledge_is_the_union_of_members(seed):
    """An edge has both directions where members that obey the knowledge have both, and else the one they have."""
    rng = np.random.default_rng(seed)
    n = 5
    order = rng.permutation(n)
    upper = np.triu(rng.random((n, n)) < 0.6, k=1).astype(np.int8)
    dag = upper[np.ix_(np.argsort(order), np.argsort(order))]
    must = (dag != 0) & (rng.random((n, n)) < 0.15)
    may = (dag != 0) | (rng.random((n, n)) < 0.6)
    np.fill_diagonal(may, False)
    members = all_members(dag, must, may)
    assert any((member == dag).all() for member in members)
    expected = np.bitwise_or.reduce(members)
    np.testing.assert_array_equal(essential_given(dag, must, may), expected)
    everything = ~np.eye(n, dtype=bool)
    np.testing.assert_array_equal(essential_given(dag, ~everything & everything, everything), cpdag(dag))
