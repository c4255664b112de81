"""Starts: anybody's graph in any form, undirected edges, what cannot be used, and what has become of it."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.errors import InputError
from dagopt.graph import Graph, write_graph
from dagopt.graph.constraints import Constraints
from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import is_acyclic
from dagopt.methods.start import start_dag
from made_problems import gaussian_table, problem_of

NAMES = ("V0", "V1", "V2", "V3")
EDGES = [("V0", "V1"), ("V1", "V2"), ("V0", "V2"), ("V3", "V2")]
ADJACENCY = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]], dtype=np.int8)


def problem(constraints=None):
    """Return a problem of four columns."""
    return problem_of(gaussian_table(0, 4), constraints)


@pytest.mark.parametrize(
    "start",
    [
        ADJACENCY,
        ADJACENCY.tolist(),
        pd.DataFrame(ADJACENCY, index=NAMES, columns=NAMES),
        pd.DataFrame(ADJACENCY, index=NAMES, columns=NAMES).iloc[::-1, ::-1],
        Graph(ADJACENCY, NAMES),
        nx.DiGraph(EDGES),
        EDGES,
        pd.DataFrame(EDGES, columns=["from", "to"]),
        "[V0][V3][V1|V0][V2|V0:V1:V3]",
    ],
    ids=["array", "lists", "frame", "frame in another order", "Graph", "networkx", "pairs", "frame of pairs", "string"],
)
def test_a_start_in_any_form(start):
    """Arrays, frames, graphs, pairs and model strings are the same DAG."""
    assert (start_dag(problem(), start) == ADJACENCY).all()


@pytest.mark.parametrize("suffix", ["dot", "csv", "adj.csv", "bnlearn", "json", "graphml"])
def test_a_start_from_a_file(tmp_path, suffix):
    """Every format of graphs is read."""
    path = tmp_path / f"graph.{suffix}"
    write_graph(Graph(ADJACENCY, NAMES), path)
    assert (start_dag(problem(), path) == ADJACENCY).all()
    assert (start_dag(problem(), str(path)) == ADJACENCY).all()


def test_no_start_is_what_is_required():
    """Without a start there are the required edges alone."""
    known = Constraints(required=[("V2", "V0")])
    assert start_dag(problem(known), None).tolist() == [[0] * 4, [0] * 4, [1, 0, 0, 0], [0] * 4]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_an_essential_graph_becomes_a_member(seed):
    """Of an essential graph the start is a DAG of the class, directed as knowledge demands."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(5)
    dag = np.zeros((5, 5), dtype=np.int8)
    dag[np.ix_(order, order)] = np.triu(rng.random((5, 5)) < 0.5, k=1)
    essential = cpdag(dag)
    names = [f"V{k}" for k in range(5)]
    given_problem = problem_of(gaussian_table(0, 5))
    member = start_dag(given_problem, Graph(essential, names))
    assert is_acyclic(member)
    assert (cpdag(member) == essential).all()
    undirected = np.argwhere(essential & essential.T)
    if len(undirected):
        i, j = undirected[rng.integers(len(undirected))]
        for known in (
            Constraints(required=[(names[i], names[j])]),
            Constraints(forbidden=[(names[j], names[i])]),
        ):
            directed = start_dag(problem_of(gaussian_table(0, 5), known), Graph(essential, names))
            assert directed[i, j] == 1
            assert (cpdag(directed) == essential).all()


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ([("V0", "V9")], "V9"),
        ([("V0", "V2"), ("V2", "V3"), ("V3", "V0")], "cycle"),
        ([("V1", "V0")], "forbidden edge 'V1 -> V0'"),
        (np.zeros((3, 3)), "shape"),
        ("nowhere.dot", "nowhere.dot"),
        (7, "expected a graph"),
        ([(a, b) for a in ("V0", "V1", "V3") for b in ("V2",)], "at most 2"),
        ([("V0", "V2"), ("V2", "V0"), ("V2", "V3"), ("V3", "V2"), ("V3", "V1"), ("V1", "V3"), ("V0", "V1"),
          ("V1", "V0")], "cannot be directed without a cycle"),
    ],
)  # fmt: skip
def test_starts_that_cannot_be_used(start, words):
    """The error says what is wrong with the start, before anything is learned."""
    known = Constraints(forbidden=[("V1", "V0")] if "forbidden" in words else [], max_parents=2)
    with pytest.raises(InputError, match=words):
        start_dag(problem(known), start)
    with pytest.raises(InputError, match=words):
        dagopt.learn(pd.DataFrame(gaussian_table(0, 4).values, columns=NAMES), "auto", start=start, constraints=known)


@pytest.mark.parametrize("method", ["order", "hc", "tabu", "auto", "cg-dca"])
def test_what_has_become_of_a_start(method):
    """Scores and changed edges are those of the two DAGs, and the summary says so."""
    data = pd.DataFrame(gaussian_table(3, 6, rows=200).values, columns=[f"V{k}" for k in range(6)])
    start = nx.DiGraph([("V0", "V5"), ("V5", "V3"), ("V1", "V2"), ("V4", "V0")])
    result = dagopt.learn(data, method, start=start, progress=False)
    details, now = result.details, set(result.dag.edges)
    assert details["start_score"] == pytest.approx(dagopt.score(data, start))
    assert details["improvement"] == pytest.approx(result.score - details["start_score"])
    assert details["improvement"] > 0
    then = set(start.edges)
    turned = {(b, a) for a, b in then} & now
    assert details["edges_reversed"] == len(turned)
    assert details["edges_added"] == len(now - then - turned)
    assert details["edges_dropped"] == len(then) - len(then & now) - len(turned)
    assert f"start   {details['start_score']:.4f}  improved by {details['improvement']:.4f}; " in result.summary()
    again = dagopt.learn(data, method, start=result.dag, progress=False)
    assert again.score >= result.score - 1e-9
    if again.details["improvement"] < 1e-9:
        assert "nothing better was found" in again.summary()
    assert "start" not in dagopt.learn(data, method, progress=False).summary()


@pytest.mark.parametrize("method", ["hc", "tabu", "order", "cg-dca"])
def test_required_edges_that_the_score_rules_out_are_named(method):
    """A search cannot begin at minus infinity; it names the column and the required parents."""
    data = {name: np.random.default_rng(k).normal(size=20) for k, name in enumerate("abc")}

    def score(node, parents):
        return -np.inf if node == "b" and parents else -float(len(parents))

    with pytest.raises(dagopt.InputError, match="rules out 'a' as the only parents of 'b'"):
        dagopt.learn(data, method, score=score, constraints={"required": [("a", "b")]}, progress=False)
