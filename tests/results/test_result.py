"""Tests of what a result says."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.data.findings import Finding
from dagopt.graph.cpdag import cpdag
from dagopt.results.certificate import Certificate, tightest
from dagopt.results.directions import direction_of
from dagopt.results.figures import Figures
from dagopt.results.proof import badge_of, not_checked, proof_sentences
from dagopt.results.result import Result

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.int8)  # a -> b -> c
COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=np.int8)  # a -> c <- b
UNDIRECTED = CHAIN | CHAIN.T
SQUARE = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], dtype=np.int8)  # no DAG extends it


def result(adjacency, **more):
    """Return a result over the first letters."""
    fields = {"score": -100.0, "status": "optimal", "method": "exact", "n_samples": 50, "seconds": 1.5, **more}
    return Result(tuple("abcdef"[: len(adjacency)]), adjacency, **fields)


def bounded(bound, scope="all DAGs", source="branch and cut"):
    """Return a certificate, None without a bound."""
    return None if bound is None else Certificate(bound, scope, source)


# --- graphs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adjacency", [CHAIN, COLLIDER])
def test_dag_and_its_essential_graph(adjacency):
    """A learned DAG is given as it is, with its essential graph beside it, by name."""
    one = result(adjacency)
    assert set(one.dag.edges) == {("abc"[i], "abc"[j]) for i, j in np.argwhere(adjacency)}
    np.testing.assert_array_equal(one.cpdag_adjacency, cpdag(adjacency))
    assert set(one.cpdag.edges) == {("abc"[i], "abc"[j]) for i, j in np.argwhere(cpdag(adjacency))}
    assert list(one.dag) == ["a", "b", "c"]


def test_learned_class_has_a_member():
    """Of a learned class the graph is itself, and ``dag`` one of its members."""
    one = result(UNDIRECTED, status="converged", method="pc")
    np.testing.assert_array_equal(one.cpdag_adjacency, UNDIRECTED)
    assert nx.is_directed_acyclic_graph(one.dag)
    member = nx.to_numpy_array(one.dag, dtype=np.int8)
    np.testing.assert_array_equal(cpdag(member), UNDIRECTED)


def test_pdag_without_members_has_no_dag():
    """A PDAG that no DAG extends has no ``dag``, and can still be summarised and written."""
    one = result(SQUARE, score=None, status="converged", method="pc")
    assert one.dag is None
    assert "score" not in one.summary().split("bound")[0]
    assert len(one.to_dict()["undirected_edges"]) == 4


# --- bounds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "score, bound, gap",
    [(-100.0, -100.0, 0.0), (-100.0, -90.0, 10.0), (200.0, 210.0, 10.0), (-100.0, None, None), (None, -9.0, None)],
)
def test_gap_is_in_points_of_the_score(score, bound, gap):
    """The gap is how much better another DAG could be; None where not known."""
    assert result(CHAIN, score=score, certificate=bounded(bound)).gap == (None if gap is None else pytest.approx(gap))


def test_gap_is_a_share_of_what_the_graph_explains():
    """The share is relative to the graph without edges, so that units of the columns do not matter."""
    figures = Figures(empty_score=-150.0)
    assert result(CHAIN, certificate=bounded(-95.0), figures=figures).gap_share == pytest.approx(5 / 50)
    assert result(CHAIN, certificate=bounded(-95.0)).gap_share is None
    assert result(CHAIN, certificate=bounded(-95.0), figures=Figures(empty_score=-100.0)).gap_share is None


def test_the_share_does_not_depend_on_units():
    """The same table in other units has the same gap, in points and as a share."""
    data, _ = dagopt.simulate(n_nodes=8, n_samples=300, random_state=3)
    one, other = (dagopt.learn(frame, "order") for frame in (data, data * 1000.0))
    assert other.gap == pytest.approx(one.gap, abs=1e-6)
    assert other.gap_share == pytest.approx(one.gap_share)


def test_the_tightest_certificate_is_taken():
    """Of several certificates the lowest finite bound counts, the first of ties."""
    loose, tight, tied = Certificate(-80.0, "all DAGs", "pairs"), bounded(-90.0), Certificate(-90.0, "x", "pricing")
    assert tightest(None, loose, tight, tied) is tight
    assert tightest(None, Certificate(np.inf, "all DAGs", "pairs")) is None
    assert tight.at_least(-85.0).bound == -85.0
    assert tight.at_least(-95.0) is tight
    assert tight.with_rounding(0.5) == Certificate(-89.0, "all DAGs", "branch and cut", 0.5)


# --- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, bound, said",
    [
        ("optimal", -100.0, "proven optimal over all DAGs"),
        ("time_limit", -90.0, "proven within 10 points of the best (over all DAGs)"),
        ("time_limit", -99.0, "proven within 1.0 points (a factor of 2.8 in probability) of the best"),
        ("time_limit", None, "nothing is proven about better DAGs"),
        ("interrupted", None, "stopped by the user"),
        ("converged", None, "the method finished"),
    ],
)
def test_summary_says_what_is_proven_and_why_it_ended(status, bound, said):
    """The summary has the score, the proof or that there is none, and the reason of the end."""
    one = result(CHAIN, status=status, certificate=bounded(bound), score_label="BIC")
    assert said in one.summary()
    assert "-100.0000  (BIC)" in str(one)
    assert one.summary().count(f"status  {status}") == one.summary().count("status  ") == 1


def test_the_saturated_likelihood_is_called_that():
    """A bound that is just the saturated likelihood is never "within" something of the best."""
    one = result(CHAIN, status="converged", certificate=bounded(-60.0, source="saturated likelihood"))
    assert one.proof == "bounded by the saturated likelihood alone, 40 points above"
    assert "within" not in one.summary()


def test_a_limit_of_the_method_is_no_proof_of_the_best():
    """A proof over the sets that the method chose is a note beside the bound over all DAGs."""
    limited = bounded(-100.0, scope="parent sets of size <= 3")
    one = result(CHAIN, status="converged", certificate=bounded(-90.0), limited=limited)
    assert badge_of(one) == ("Best found; no DAG with at most 3 parents per column is better", "bounded")
    assert "(over all DAGs); best found; no DAG with at most 3 parents per column is better\n" in one.summary()
    open_limit = result(CHAIN, status="converged", certificate=bounded(-90.0), limited=bounded(-95.0))
    assert badge_of(open_limit)[0].startswith("Proven within 10 points")


@pytest.mark.parametrize(
    "scope, dags",
    [
        ("parent sets of size <= 1", "DAG with at most one parent per column"),
        (
            "parent sets of size <= 3 that the constraints allow",
            "DAG with at most 3 parents per column that the constr",
        ),
        ("parent sets within the limits of each column", "DAG within the limits of each column"),
        ("all DAGs that the constraints allow", "DAG that the constraints allow"),
        ("all DAGs inside the superstructure", "DAG inside the superstructure"),
        ("the given pool", "DAG made of the given parent sets"),
    ],
)
def test_a_proof_over_some_graphs_names_them_everywhere(scope, dags):
    """Only a proof over all DAGs is called optimal without further words."""
    one = result(CHAIN, certificate=bounded(-100.0, scope=scope))
    badge, kind = badge_of(one)
    assert kind == "proven"
    assert badge.startswith(f"No {dags}")
    first, second = proof_sentences(one)
    assert first.startswith(f"No {dags}")
    assert second == "The proof covers these DAGs only; others may score higher."
    assert badge_of(result(CHAIN, certificate=bounded(-100.0))) == ("Proven optimal", "proven")


@pytest.mark.parametrize(
    "given, said",
    [
        ({"certificate": None, "status": "converged"}, "Nothing is proven about other graphs"),
        ({"certificate": bounded(-100.0)}, "No DAG has a higher score. This is proven, by branch and cut."),
        ({"certificate": bounded(-90.0), "status": "time_limit"}, "The bound is 10 points above this graph; whether"),
        (
            {"certificate": bounded(-90.0, source="saturated likelihood"), "status": "converged"},
            "the likelihood of a model without any independence",
        ),
    ],
)
def test_each_kind_of_proof_is_a_sentence(given, said):
    """Nothing, the optimum, a gap and the saturated likelihood are told apart."""
    assert said in " ".join(proof_sentences(result(CHAIN, **given)))


@pytest.mark.parametrize(
    "adjacency, losses, said",
    [
        (COLLIDER, {"a -> c": 5.0, "b -> c": 5.0}, "the doctor's tests; whether an arrow is a cause"),
        (COLLIDER, {"a -> c": 5.0, "b -> c": 1.0}, "which way the edge points that is leaning; whether"),
        (COLLIDER, {"a -> c": 1.0}, "which way the 2 edges point that are leaning or unchecked; whether"),
        (CHAIN, None, "which way the 2 edges point that are open; whether"),
    ],
)
def test_what_was_not_checked_is_said(adjacency, losses, said):
    """The model, causes, and the directions that the data do not settle."""
    assert said in not_checked(result(adjacency, figures=Figures(reversal_loss=losses)))


def test_given_scores_are_not_checked():
    """Without a table there is no model to check."""
    assert "Not checked: the given local scores;" in not_checked(result(CHAIN, n_samples=0))


@pytest.mark.parametrize(
    "adjacency, losses, said",
    [
        (CHAIN, None, "0 directed, 0 leaning, 2 open"),
        (UNDIRECTED, None, "0 directed, 0 leaning, 2 open"),
        (COLLIDER, None, "0 directed, 0 leaning, 0 open, 2 unchecked"),
        (COLLIDER, {"a -> c": 2.0, "b -> c": 3.5}, "1 directed, 1 leaning, 0 open (directed: graphs with the edge"),
    ],
)
def test_summary_counts_the_edges_that_are_sure(adjacency, losses, said):
    """An edge is open if the class has both directions, directed if a reversal loses more than 3 points."""
    one = result(adjacency, figures=Figures(reversal_loss=losses, reversal_proven=True))
    assert f"arrows  {said}" in one.summary()
    assert "2 edges" in one.summary()
    if losses:
        assert one.directions() == {("a", "c"): "leaning", ("b", "c"): "directed"}
        assert one.directions(threshold=1.0)["a", "c"] == "directed"


@pytest.mark.parametrize(
    "removal, at_half_cost, word",
    [(None, None, "directed"), (3.5, 0.1, "directed"), (2.5, None, "leaning"), (3.5, -0.1, "leaning")],
)
def test_a_directed_edge_is_needed_and_not_only_cheaper(removal, at_half_cost, word):
    """An edge that could be left out leans, and so does one whose reverse loses only by its parameters."""
    assert direction_of(False, 4.0, removal, at_half_cost) == word
    assert direction_of(True, 4.0, removal, at_half_cost) == "open"
    assert direction_of(False, None, removal, at_half_cost) == "unchecked"


def test_summary_has_notes_and_warnings():
    """What the method and the doctor say is at the end."""
    finding = Finding("warning", "rare", ("a",), "column 'a' is rare", "it is poorly known", "merge levels")
    one = result(CHAIN, notes=("a choice was made",), findings=(finding,))
    assert one.summary().splitlines()[-2:] == ["note    a choice was made", "warning column 'a' is rare"]


# --- plain values ---------------------------------------------------------------------------------------------


def test_dictionary_is_plain():
    """The dictionary survives JSON; figures that are arrays or tables stay out of it."""
    figures = Figures(n_sets=12, root_bound=0.5, node_scores=np.zeros(3), best_classes=[{"cpdag": CHAIN}])
    one = result(COLLIDER, certificate=bounded(-90.0), figures=figures, notes=("note",))
    plain = json.loads(json.dumps(one.to_dict()))
    assert plain["edges"] == [["a", "c"], ["b", "c"]]
    assert plain["undirected_edges"] == []
    assert plain["figures"] == {"n_sets": 12, "root_bound": 0.5}
    assert (plain["score"], plain["bound"], plain["gap"]) == (-100.0, -90.0, 10.0)
    assert plain["certificate"]["source"] == "branch and cut"
    assert (plain["names"], plain["notes"], plain["n_samples"]) == (["a", "b", "c"], ["note"], 50)


def test_result_cannot_be_changed():
    """A result is frozen."""
    with pytest.raises(AttributeError):
        result(CHAIN).score = 0.0


def test_a_result_is_named_in_a_line():
    """What an interactive session shows is one line, however large the graph."""
    assert repr(result(CHAIN, certificate=bounded(-100.0))) == (
        "<dagopt.Result: 3 columns, 2 edges, score -100.0000, gap 0.0000 over all DAGs, optimal, exact>"
    )
    open_class = result(SQUARE, score=None, status="converged", method="pc")
    assert repr(open_class) == "<dagopt.Result: 4 columns, 4 edges, no score, nothing proven, converged, pc>"


def test_knowledge_fixes_directions_in_the_essential_graph():
    """Tiers direct the edges between them, and Meek's rules what follows; the data alone leave a chain open."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=500)
    b = a + rng.normal(size=500)
    data = pd.DataFrame({"a": a, "b": b, "c": b + rng.normal(size=500)})
    free = dagopt.learn(data, "exact")
    assert len(free.cpdag.edges) == 4
    known = dagopt.learn(data, "exact", constraints=dagopt.Constraints(tiers=[["a"], ["b", "c"]]))
    assert sorted(known.cpdag.edges) == [("a", "b"), ("b", "c")]
    assert known.directions()["a", "b"] == "directed"
    assert set(free.directions().values()) == {"open"}
    assert known.score == pytest.approx(free.score)


def test_a_result_is_saved_and_loaded(tmp_path):
    """The graph, its class with knowledge, figures, notes and findings come back; other files are refused."""
    data = dagopt.datasets.load("asia", n_samples=500, random_state=0).data
    learned = dagopt.learn(data, "exact", constraints=dagopt.Constraints(tiers=[["smoke"], ["lung", "bronc"]]))
    learned.save(tmp_path / "result.json")
    back = Result.load(tmp_path / "result.json")
    np.testing.assert_array_equal(back.adjacency, learned.adjacency)
    np.testing.assert_array_equal(back.cpdag_adjacency, learned.cpdag_adjacency)
    assert back.to_dict() == learned.to_dict()
    assert back.summary().splitlines()[2:] == learned.summary().splitlines()[2:]
    assert back.details["edge_gain"] == learned.details["edge_gain"]
    assert back.findings == learned.findings
    fitted = back.fit(data)
    assert fitted.dag.edges == learned.fit().dag.edges
    (tmp_path / "other.json").write_text('{"a": 1}')
    with pytest.raises(dagopt.InputError, match=r"other\.json: expected the key .*check the path"):
        Result.load(tmp_path / "other.json")


def test_what_a_notebook_shows():
    """Results, fitted networks, diagnoses and evidence show a table; a small graph is drawn; names are escaped."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    data = pd.DataFrame({"<b>x": x, "y": x + rng.normal(size=100), "z": rng.normal(size=100)})
    learned = dagopt.learn(data, "exact")
    shown = learned._repr_html_()
    assert "<svg" in shown
    assert "<table" in shown
    assert "<b>x" not in shown
    assert "<table" in learned.fit()._repr_html_()
    assert "<table" in dagopt.bootstrap(data, 5, progress=False)._repr_html_()
    assert "<table" in dagopt.edge_posterior(data, score="bge", progress=False)._repr_html_()
    assert "<table" in dagopt.path(data, progress=False)._repr_html_()
    assert dagopt.examine(data)._repr_html_().startswith("<div>")
    assert "<svg" not in result(UNDIRECTED * 0)._repr_html_()
