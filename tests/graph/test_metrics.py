"""Comparisons against a naive twin, identities, and the reference values."""

import importlib.util
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.errors import InputError
from dagopt.graph import Graph, compare, random_member
from dagopt.graph.cpdag import cpdag
from strategies import dags, pdags

SHARED = Path(__file__).resolve().parents[3] / "shared"
nodes = st.sampled_from("ABCDEF")


@st.composite
def pairs_of_graphs(draw):
    """Two graphs over the same nodes in the same order, DAG or PDAG."""
    kinds = st.sampled_from([dags, pdags])
    first = draw(draw(kinds)(nodes))
    second = draw(draw(kinds)(st.sampled_from(first.names), max_nodes=first.n_nodes))
    wider = np.zeros_like(first.adjacency)
    place = [first.names.index(name) for name in second.names]
    wider[np.ix_(place, place)] = second.adjacency
    return first, Graph(wider, first.names)


def mark(graph, i, j):
    essential = cpdag(graph.adjacency) if graph.is_dag else graph.adjacency
    return (int(essential[i, j]), int(essential[j, i]))


@settings(max_examples=75, deadline=None)
@given(pairs_of_graphs())
def test_numbers_by_definition(graphs):
    """Every count is what a loop over the node pairs gives."""
    learned, true = graphs
    result = compare(learned, true)
    pairs = [(mark(learned, i, j), mark(true, i, j)) for i, j in combinations(range(learned.n_nodes), 2)]
    equal = sum(a == b != (0, 0) for a, b in pairs)
    assert result.shd == sum(a != b for a, b in pairs)
    assert result.skeleton_shd == sum(any(a) != any(b) for a, b in pairs)
    assert (result.n_learned, result.n_true) == (sum(any(a) for a, _ in pairs), sum(any(b) for _, b in pairs))
    assert result.n_matching == equal
    assert result.precision == (equal / result.n_learned if result.n_learned else float(not result.n_true))
    assert result.recall == (equal / result.n_true if result.n_true else float(not result.n_learned))
    both = sum(any(a) and any(b) for a, b in pairs)
    assert result.skeleton_precision * result.n_learned == pytest.approx(both)
    assert result.skeleton_recall * result.n_true == pytest.approx(both)
    if equal:
        harmonic = 2 / (1 / result.precision + 1 / result.recall)
        assert result.f1 == pytest.approx(harmonic)


@given(pdags(nodes) | dags(nodes))
def test_a_graph_equals_itself(graph):
    """Compared with itself, any graph is perfect."""
    result = compare(graph, graph)
    assert (result.shd, result.skeleton_shd) == (0, 0)
    assert {result.precision, result.recall, result.f1, result.skeleton_f1} == {1.0}
    assert result.missing == result.extra == result.reversed == ()


@given(pairs_of_graphs())
def test_roles_swap(graphs):
    """Swapping the graphs keeps the distance and swaps precision and recall, missing and extra."""
    one, other = compare(*graphs), compare(*graphs[::-1])
    assert (one.shd, one.f1, one.skeleton_shd) == (other.shd, other.f1, other.skeleton_shd)
    assert (one.precision, one.recall) == (other.recall, other.precision)
    assert (one.missing, one.extra) == (other.extra, other.missing)
    assert len(one.reversed) == len(other.reversed)
    assert one.shd == len(one.missing) + len(one.extra) + len(one.reversed)


@given(pairs_of_graphs(), st.randoms())
def test_order_of_nodes_does_not_matter(graphs, random):
    """Graphs are matched by name, whatever order their nodes have."""
    learned, true = graphs
    order = list(range(true.n_nodes))
    random.shuffle(order)
    moved = Graph(true.adjacency[np.ix_(order, order)], tuple(true.names[k] for k in order))
    assert compare(learned, moved) == compare(learned, true)
    array = compare(learned.adjacency, true.adjacency)
    assert array.shd == compare(learned, true).shd


@given(dags(nodes), st.integers(0, 10))
def test_members_of_a_class_are_equal(dag, seed):
    """Any member of the class and the essential graph itself are at distance zero."""
    member = Graph(random_member(dag.adjacency, seed), dag.names)
    essential = Graph(cpdag(dag.adjacency), dag.names)
    assert compare(member, dag).shd == compare(essential, dag).shd == compare(member, essential).shd == 0


def test_lists_of_edges():
    """Missing, extra and otherwise marked edges are listed by name and direction."""
    learned = Graph.from_edges(list("ABCDE"), [("A", "C"), ("B", "C"), ("D", "E")])
    true = Graph.from_edges(list("ABCDE"), [("C", "A"), ("B", "C"), ("E", "B"), ("D", "B")])
    result = compare(learned, true)
    assert result.extra == (("D", "E"),)
    assert result.missing == (("D", "B"), ("E", "B"))
    assert result.reversed == (("A", "C"),)
    assert result.n_matching == 1
    assert json.loads(json.dumps(result.to_dict()))["missing"] == [["D", "B"], ["E", "B"]]
    assert "3 edges learned, 4 true: 1 match" in str(result)


def test_pdags_are_taken_as_given():
    """A PDAG that Meek's rules would direct further is compared as it is."""
    given_pdag = [("A", "B"), ("B", "C"), ("C", "B")]
    chain = [("A", "B"), ("B", "C")]
    assert compare(given_pdag, chain).reversed == (("A", "B"),)


@pytest.mark.parametrize(
    ("learned", "true", "values"),
    [([], [], (1.0, 1.0, 1.0)), ([], [(0, 1)], (0.0, 0.0, 0.0)), ([(0, 1)], [], (0.0, 0.0, 0.0))],
)
def test_empty_graphs(learned, true, values):
    """A share of nothing is 1 where both graphs are empty, else 0."""
    names = ["A", "B"]
    result = compare(Graph.from_edges(names, learned), Graph.from_edges(names, true))
    assert (result.precision, result.recall, result.f1) == values


def test_bare_graphs_take_the_names_of_the_other():
    """An array is matched by position and pairs may leave out nodes, on either side."""
    named = Graph.from_edges(["A", "B", "C"], [("A", "B")])
    array = [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
    for bare in (array, np.array(array), [("A", "B")], [(0, 1)]):
        assert compare(bare, named).shd == compare(named, bare).shd == 0
    assert compare([(0, 1)], np.array(array)).shd == compare(array, [(1, 2)]).shd - 2 == 0
    assert compare([("A", "B")], [("B", "C")]).skeleton_shd == 2


@pytest.mark.parametrize(
    ("learned", "true", "message"),
    [
        (
            Graph.from_edges(list("AB"), []),
            Graph.from_edges(list("AC"), []),
            "only the learned graph has 'B' and only the",
        ),
        (Graph.from_edges(list("AB"), []), Graph.from_edges(list("ABC"), []), "only the true graph has 'C'; rename"),
        (np.zeros((2, 2)), np.zeros((3, 3)), r"for 2 names but got shape \(3, 3\)"),
        ([("A", "Z")], Graph.from_edges(list("AB"), []), "unknown node in the graph 'Z'"),
    ],
)
def test_different_nodes(learned, true, message):
    """Graphs over different nodes are refused, with the nodes that differ."""
    with pytest.raises(InputError, match=message):
        compare(learned, true)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the reference values are not beside the repository")
def test_reference_values():
    """Precision, recall and SHD of 216 graphs of R bnlearn equal the values recorded with them."""
    path = SHARED / "tools" / "paper_instances.py"
    spec = importlib.util.spec_from_file_location("paper_instances", path)
    instances = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(instances)
    anchors = json.loads((SHARED / "anchors" / "gaussian_instances.json").read_text())["instances"]
    wrong, n_compared = [], 0
    for anchor in anchors:
        _, true = instances.paper_instance(anchor["n"], anchor["N"], anchor["d"], anchor["seed"])
        for method in ("bnlearn_hc", "bnlearn_pc", "bnlearn_mmhc"):
            expected = anchor[method]
            result = compare(expected["edges"], true)
            found = round(result.precision, 4), round(result.recall, 4), result.shd
            n_compared += 1
            if found != (expected["precision"], expected["recall"], expected["shd"]):
                wrong.append((anchor["n"], anchor["N"], anchor["d"], anchor["seed"], method, found))
    assert n_compared == 216
    assert not wrong


def test_adjustment_identification_distance(rng):
    """The same class is at no distance; against no edges the true effects count; gadjid's own figures are returned."""
    gadjid = pytest.importorskip("gadjid")
    dag = np.triu(rng.random((7, 7)) < 0.4, 1).astype(np.int8)
    assert set(compare(dag, dag, aid=True).aid.values()) == {0.0}
    other = np.triu(rng.random((7, 7)) < 0.4, 1).astype(np.int8)
    told = compare(other, dag, aid=True)
    assert set(told.aid) == {"parent", "ancestor", "oset"}
    graphs = [np.where(g & g.T, 2 * np.triu(g & g.T), g).astype(np.int8) for g in (cpdag(dag), cpdag(other))]
    assert told.aid["oset"] == gadjid.oset_aid(*graphs, edge_direction="from row to column")[0]
    assert told.aid["parent"] > 0
    assert "adjustment identification distance: parent" in str(told)
    assert compare(other, dag).aid is None
    assert compare(other, dag).to_dict()["aid"] is None
