"""Graph, as_graph, orders and cycles."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from brute_force import acyclic, random_pdag
from dagopt.errors import InputError
from dagopt.graph import Graph, as_graph, find_cycle, require_dag, topological_order
from strategies import dags, pdags

NAMES = ("A", "B", "C", "D")
CHAIN = Graph.from_edges(NAMES, [("A", "B"), ("B", "C")])
MIXED = Graph.from_edges(NAMES, [("C", "A"), ("B", "C"), ("C", "B")])


def test_edges_and_counts():
    """Directed and undirected edges are told apart and sorted by position."""
    assert (MIXED.n_nodes, MIXED.n_edges, MIXED.is_dag) == (4, 2, False)
    assert MIXED.directed_edges == [("C", "A")]
    assert MIXED.undirected_edges == [("B", "C")]
    assert MIXED.parents(0) == (2,)
    assert MIXED.parents(1) == ()
    assert CHAIN.is_dag
    assert repr(CHAIN) == "<Graph: DAG, 4 nodes, 2 edges>"


def test_equality_is_by_value():
    """Equal names and edges make equal graphs with equal hashes."""
    again = Graph(CHAIN.adjacency.astype(float), list(NAMES))
    assert again == CHAIN
    assert hash(again) == hash(CHAIN)
    assert CHAIN != MIXED
    assert Graph(CHAIN.adjacency, ("A", "B", "C", "E")) != CHAIN
    assert CHAIN != "CHAIN"


def test_a_graph_cannot_be_changed():
    """The stored array is a read-only copy."""
    array = np.zeros((2, 2), dtype=np.int8)
    graph = Graph(array, ("A", "B"))
    array[0, 1] = 1
    assert graph.n_edges == 0
    with pytest.raises(ValueError):
        graph.adjacency[0, 1] = 1


@pytest.mark.parametrize(
    ("adjacency", "names", "message"),
    [
        (np.zeros((2, 3)), "AB", r"expected a square adjacency array but got shape \(2, 3\)"),
        ([[0, 1], [0]], "AB", "rows of different lengths"),
        (np.zeros(3), "ABC", r"got shape \(3,\)"),
        ([[0, 0.5], [0, 0]], "AB", r"got 0.5 at \[0, 1\]; threshold"),
        ([[0, np.nan], [0, 0]], "AB", "got nan at"),
        ([[0, -1], [0, 0]], "AB", "got -1 at"),
        ([["x", "y"], ["z", "w"]], "AB", "got entries of type"),
        ([[0, 0], [0, 1]], "AB", "node 'B' has an edge to itself"),
        (np.zeros((2, 2)), "ABC", "got 3 names for 2 nodes"),
        (np.zeros((2, 2)), "AA", "got 'A' more than once"),
        (np.zeros((2, 2)), ("A", ""), "got an empty one at 1"),
    ],
)
def test_bad_graphs(adjacency, names, message):
    """What makes no graph is refused in one line that names it."""
    with pytest.raises(InputError, match=message) as caught:
        Graph(adjacency, tuple(names))
    assert "\n" not in str(caught.value)


@given(pdags())
def test_networkx_round_trip(graph):
    """A graph survives networkx with its order, and an undirected one loses only its arrows."""
    assert as_graph(graph.to_networkx()) == graph
    assert list(graph.to_networkx()) == list(graph.names)
    skeleton = as_graph(graph.to_networkx().to_undirected())
    np.testing.assert_array_equal(skeleton.adjacency, graph.adjacency | graph.adjacency.T)


def frame(rows, columns):
    full = pd.DataFrame(CHAIN.adjacency, index=NAMES, columns=NAMES)
    return full.loc[list(rows), list(columns)]


@pytest.mark.parametrize(
    "given_graph",
    [
        CHAIN,
        CHAIN.to_networkx(),
        nx.DiGraph([(0, 1), (1, 2)]),
        nx.MultiDiGraph([("A", "B"), ("A", "B"), ("B", "C")]),
        SimpleNamespace(dag=CHAIN.to_networkx()),
        CHAIN.adjacency,
        CHAIN.adjacency.astype(bool),
        CHAIN.adjacency.astype(float).tolist(),
        frame("ABCD", "ABCD"),
        frame("DACB", "BCAD"),
        pd.DataFrame({"from": ["A", "B", "D"], "to": ["B", "C", None]}),
        [("A", "B"), ("B", "C")],
        [["A", "B"], ["B", "C"]],
        [(0, 1), ("B", 2)],
        [(np.int64(0), np.int64(1)), (1, 2)],
        {("A", "B"), ("B", "C")},
        (pair for pair in [("A", "B"), ("B", "C")]),
        "[A][B|A][C|B]",
        " [C|B] [B | A]\n[A]",
    ],
)
def test_every_way_to_say_the_same(given_graph):
    """With names, all inputs give the same graph in the order of the names."""
    assert as_graph(given_graph, NAMES) == CHAIN


@pytest.mark.parametrize(
    ("given_graph", "names"),
    [
        ([("B", "A"), ("A", "C")], ("B", "A", "C")),
        ([(3, 1), (1, 0)], ("3", "1", "0")),
        (np.array([[0, 1], [0, 0]]), ("X0", "X1")),
        ([[0, 1], [0, 0]], ("X0", "X1")),
        ([(0, 1), (1, 0)], ("0", "1")),
        ([[0, 3], [1, 4]], ("0", "3", "1", "4")),
        (nx.DiGraph([("z", "a")]), ("z", "a")),
        (frame("DACB", "BCAD"), ("B", "C", "A", "D")),
        (pd.DataFrame({"from": ["A", "D"], "to": ["B", None]}), ("A", "B", "D")),
        ("[B][A|B]", ("B", "A")),
        ("[x.y][b|x.y]", ("x.y", "b")),
        ([], ()),
    ],
)
def test_order_of_appearance(given_graph, names):
    """Without names, nodes keep the order in which they come."""
    assert as_graph(given_graph).names == names


def test_labels_are_names_before_positions():
    """An integer that is a name is that name, though it could be a position."""
    assert as_graph([(0, 1)], ["1", "0", "2"]).directed_edges == [("0", "1")]
    assert as_graph([(0, 2)], ["1", "0", "B"]).directed_edges == [("0", "B")]


@pytest.mark.parametrize(
    ("given_graph", "message"),
    [
        ([("A", "Bee")], "unknown node in the graph 'Bee'"),
        ([("A", 4)], "unknown node in the graph '4'"),
        ([("A", -1)], "unknown node in the graph '-1'"),
        ([("A", True)], "unknown node in the graph 'True'"),
        ([("A", "B", "C")], "expected edges as pairs"),
        (["AB"], "expected edges as pairs"),
        ([("A", "A")], "node 'A' has an edge to itself"),
        (nx.DiGraph([("A", "A")]), "node 'A' has an edge to itself"),
        (nx.DiGraph([(1, "1")]), "got '1' more than once"),
        (np.zeros((3, 3)), r"shape \(4, 4\) for 4 names but got shape \(3, 3\)"),
        (np.full((4, 4), 0.3), "threshold the weights first"),
        (pd.DataFrame(np.zeros((2, 2)), index=["A", "B"], columns=["A", "C"]), "same names as rows and columns"),
        (pd.DataFrame([[0, 2], [0, 0]], index=["A", "B"], columns=["A", "B"]), "threshold the weights first"),
        (3, "expected a graph but got int"),
        (None, "expected a graph but got NoneType"),
        ("[A][B|C]", "unknown parent 'C'"),
        ("nowhere.dot", "expected a file at 'nowhere.dot' but got none"),
    ],
)
def test_what_is_no_graph(given_graph, message):
    """Bad input is refused in one line that says what came and what to do."""
    with pytest.raises(InputError, match=message) as caught:
        as_graph(given_graph, NAMES)
    assert "\n" not in str(caught.value)


def test_names_in_one_text():
    """One text is not a list of names."""
    with pytest.raises(InputError, match="put it in a list"):
        as_graph([], "AB")


@given(dags())
def test_topological_order(graph):
    """Parents come first, and no smaller node could have come earlier."""
    order = topological_order(graph.adjacency).tolist()
    assert sorted(order) == list(range(graph.n_nodes))
    for k, node in enumerate(order):
        possible = [i for i in order[k:] if set(graph.parents(i)) <= set(order[:k])]
        assert node == min(possible)


def test_cycles_are_real_and_shortest():
    """A cycle is found exactly where there is one, follows edges, and is a shortest one."""
    rng = np.random.default_rng(0)
    for p in np.repeat([0.3, 0.5, 0.9], 40):
        pdag = random_pdag(7, p, rng)
        directed = pdag & ~pdag.T
        cycle = find_cycle(pdag)
        assert (cycle is None) == acyclic(directed)
        if cycle is not None:
            assert all(directed[a, b] for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
            assert cycle[0] == min(cycle)
            assert len(cycle) == shortest(directed)


def shortest(directed):
    """The first power of the adjacency array with a one on its diagonal."""
    power = np.eye(len(directed), dtype=np.int64)
    for length in range(1, len(directed) + 1):
        power = power @ directed
        if np.trace(power):
            return length
    return None


def test_a_long_cycle():
    """The only cycle of a large graph is found whole."""
    n = 60
    dag = np.zeros((n, n), dtype=np.int8)
    dag[np.arange(n), np.roll(np.arange(n), -1)] = 1
    assert find_cycle(dag) == list(range(n))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("C", "A"), ("A", "B"), ("B", "C")], "has the cycle A -> B -> C -> A; remove or reverse"),
        ([("A", "B"), ("B", "A")], "the edge 'A' - 'B' is undirected"),
        ([("A", "B"), ("B", "A"), ("C", "B"), ("B", "C")], r"'A' - 'B' \(and 1 more\) is undirected"),
    ],
)
def test_require_dag(edges, message):
    """What is no DAG is refused by naming the cycle or the undirected edge."""
    with pytest.raises(InputError, match=message):
        require_dag(Graph.from_edges(NAMES, edges))
    with pytest.raises(InputError, match="expected a DAG"):
        topological_order(Graph.from_edges(NAMES, edges).adjacency)
    require_dag(CHAIN)
