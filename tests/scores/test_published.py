"""Scores that others have published for the same data."""

import networkx as nx
import numpy as np
import pytest

import dagopt.scores
from dagopt.scores import make_score


def _adjacency(names, edges):
    adjacency = np.zeros((len(names), len(names)), dtype=int)
    for a, b in edges:
        adjacency[names.index(a), names.index(b)] = 1
    return adjacency


@pytest.mark.parametrize(
    "name, options, published, digits",
    [
        ("lucas", {}, -12241.039715788864, 6),
        ("insurance", {}, -265858.5592459406, 6),
        ("alarm", {}, -218769.8382747396, 6),
        ("insurance", {"convention": "bnlearn"}, -265858.56, 2),
        ("insurance", {"score": "bdeu"}, -263970.80, 2),
        ("alarm", {"score": "bdeu"}, -218063.04, 2),
        ("gaussian_test", {}, -53161.72533499503, 6),
        ("gaussian_test", {"convention": "bnlearn"}, -53221.35, 2),
        ("gaussian_test", {"score": "bge-raw"}, -53258.94, 2),
    ],
)
def test_true_dags_of_published_sets(name, options, published, digits, shared_set):
    """The true DAG has the score that R bnlearn prints, to the digits it prints."""
    table, edges = shared_set(name)
    total = make_score(table, **options).total(_adjacency(table.names, edges))
    assert round(total, digits) == pytest.approx(published, abs=1.01 * 10.0**-digits)
    assert dagopt.scores.score(table, nx.DiGraph(edges), **options) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("what", ["score_true", "bnlearn_hc", "bnlearn_mmhc"])
def test_all_instances_of_the_paper(what, paper_instances):
    """On every simulated instance the true DAG and the DAGs of bnlearn have the scores published for them."""
    assert len(paper_instances) == 72
    for record, table, truth in paper_instances:
        score = make_score(table, "bic")
        if what == "score_true":
            adjacency, published = truth, record[what]
        else:
            adjacency, published = np.zeros_like(truth), record[what]["score"]
            for i, j in record[what]["edges"]:
                adjacency[i, j] = 1
        assert score.total(adjacency) == pytest.approx(published, rel=1e-6)


def test_no_published_dag_beats_the_published_optimum(paper_instances):
    """The true DAG never scores above the optimum that was proven by dynamic programming."""
    for record, table, truth in paper_instances:
        slack = 1e-7 * abs(record["score_optimal"])  # it is published in single precision
        assert make_score(table, "bic").total(truth) <= record["score_optimal"] + slack
