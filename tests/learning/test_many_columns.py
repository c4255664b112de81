"""Tables with very many columns, with the number from which that is so lowered: sparse graphs from end to end."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from typer.testing import CliRunner

import dagopt
from dagopt.cli import app
from dagopt.errors import InputError
from dagopt.graph import order
from dagopt.graph.cpdag import cpdag
from dagopt.graph.dag import as_graph, require_dag
from dagopt.graph.neighbourhoods import components, hubs, neighbourhood
from dagopt.learning import many_columns
from dagopt.networks import simulate as simulation
from dagopt.networks.effects.adjustment import possibilities
from dagopt.report import part
from dagopt.scores import build


@pytest.fixture
def few(monkeypatch):
    """Say that more than ten columns are very many."""
    for room in (build, simulation):
        monkeypatch.setattr(room, "MOST_DENSE", 10)
    monkeypatch.setattr(order, "MOST_DENSE", 10)
    monkeypatch.setattr(many_columns, "MOST_DENSE", 10)


@pytest.fixture(scope="module")
def table():
    """Return a table of thirty columns and its DAG."""
    return dagopt.simulate(30, 600, 1.0, 4)


@pytest.fixture
def learned(few, table):
    """Return what is learned of it."""
    return dagopt.learn(table.data, score="ebic", progress=False)


def test_it_is_as_good_as_with_all_pairs(table, learned, monkeypatch):
    """The score is that of the DAG, and within a point of that of the search with a number for every pair."""
    monkeypatch.setattr(many_columns, "MOST_DENSE", 10_000)
    monkeypatch.setattr(order, "MOST_DENSE", 10_000)
    other = dagopt.learn(table.data, "order", score="ebic", progress=False)
    assert issparse(learned.adjacency)
    by_rows = dagopt.score(table.data, learned.dag, score="ebic")
    monkeypatch.setattr(build, "MOST_DENSE", 10_000)
    assert learned.score == pytest.approx(dagopt.score(table.data, learned.dag, score="ebic"), abs=1e-6)
    assert learned.score == pytest.approx(by_rows, abs=1e-6)
    assert learned.score >= other.score - 1.0
    assert learned.score_label == other.score_label
    assert learned.figures.empty_score == pytest.approx(other.figures.empty_score)
    assert set(learned.figures.edge_gain) == {f"{a} -> {b}" for a, b in learned.graph}
    assert dagopt.compare(learned, other).skeleton_shd <= 1


def test_files_and_answers(learned, table, tmp_path, monkeypatch):
    """A saved result is read as it was; graphs are written and read; neighbourhoods are those of dense graphs."""
    learned.save(tmp_path / "result.json")
    again = dagopt.Result.load(tmp_path / "result.json")
    assert again.graph == learned.graph
    assert hash(again.graph) == hash(learned.graph)
    assert again.directions() == learned.directions()
    assert again.summary().splitlines()[0] == learned.summary().splitlines()[0]
    for name in ("graph.dot", "graph.csv", "graph.json", "graph.graphml"):
        dagopt.write_graph(learned, tmp_path / name)
        assert dagopt.compare(learned, tmp_path / name).shd == 0
    with pytest.raises(InputError, match="write edges"):
        dagopt.write_graph(learned, tmp_path / "graph.adj.csv")
    whole = dagopt.Graph(learned.adjacency.toarray(), learned.names)
    for graph in (learned.graph, dagopt.Graph(learned.cpdag_adjacency, learned.names)):
        dense = dagopt.Graph(np.asarray(graph.adjacency.toarray()), graph.names)
        assert (graph.directed_edges, graph.undirected_edges) == (dense.directed_edges, dense.undirected_edges)
        assert graph.n_edges == dense.n_edges
        assert hubs(graph) == hubs(dense)
        assert neighbourhood(graph, "X3", 2) == neighbourhood(dense, "X3", 2)
        assert [part.tolist() for part in components(graph)] == [part.tolist() for part in components(dense)]
    assert whole.n_edges == len(learned.edges)


@pytest.mark.parametrize("seed", range(20))
def test_essential_graphs_by_labels(monkeypatch, seed):
    """They are those of Meek's rules, and comparisons of sparse graphs are those of dense ones."""
    first, second = (dagopt.simulate(12, 2, 2.0, seed + k).dag for k in (0, 100))
    dense = as_graph(first)
    by_rules = cpdag(dense.adjacency)
    numbers = dagopt.compare(first, second)
    monkeypatch.setattr(order, "MOST_DENSE", 10)
    sparse = as_graph(first)
    assert issparse(sparse.adjacency)
    assert (cpdag(sparse.adjacency).toarray() == by_rules).all()
    assert dagopt.compare(first, second) == numbers


def test_cycles_and_loops_are_named(few):
    """Errors about sparse graphs name the nodes."""
    ring = [(k, (k + 1) % 12) for k in range(3)] + [(3, 0), (5, 6)]
    names = [f"G{k}" for k in range(12)]
    with pytest.raises(InputError, match="G0 -> G1 -> G2 -> G3 -> G0"):
        require_dag(as_graph(ring, names))
    with pytest.raises(InputError, match="'G5' - 'G6' is undirected"):
        require_dag(as_graph([(5, 6), (6, 5)], names))
    with pytest.raises(InputError, match="G7"):
        as_graph([(7, 7)], names)


def test_fewer_rows_than_columns(few):
    """Such a table is learned with a limit on parents, which is said."""
    data = dagopt.simulate(60, 50, 1.0, 0).data
    result = dagopt.learn(data, progress=False)
    assert result.adjacency.sum(axis=0).max() <= 5
    assert any("at most 5 parents" in note for note in result.notes)
    one = dagopt.learn(data, max_parents=1, progress=False)
    assert one.adjacency.sum(axis=0).max() == 1


def test_the_order_of_columns_does_not_matter(learned, table):
    """Nor does the number of threads; another seed may."""
    turned = dagopt.learn(table.data[table.data.columns[::-1]], score="ebic", n_jobs=1, progress=False)
    assert dagopt.compare(learned, turned).shd == 0
    assert turned.score == pytest.approx(learned.score, abs=1e-6)
    assert set(turned.graph) == set(learned.graph)


def test_bad_columns_are_named(few, table):
    """Constant ones, copies, and those that others determine."""
    data = table.data.copy()
    with pytest.raises(InputError, match="'C' is constant"):
        dagopt.learn(data.assign(C=1.0), progress=False)
    with pytest.raises(InputError, match="'C' is a copy of 'X3' up to units"):
        dagopt.learn(data.assign(C=-2 * data["X3"]), progress=False)
    with pytest.raises(InputError, match="linear combination"):
        dagopt.learn(data.assign(C=data["X3"] + data["X5"]), progress=False)


def test_other_questions_are_those_of_all_pairs(few, table):
    """Knowledge, other methods and other scores are not ignored: they go the usual way."""
    known = dagopt.learn(table.data, "order", constraints={"forbidden": [("X0", "X1")]}, progress=False)
    assert not issparse(known.adjacency)
    assert not issparse(dagopt.learn(table.data, "hc", progress=False).adjacency)
    assert not issparse(dagopt.learn(table.data, "order", score="bge", progress=False).adjacency)


def test_update_says_what_changed(few, table):
    """It starts from the last graph, also a sparse one."""
    first = dagopt.learn(table.data[:100], score="ebic", progress=False)
    second = dagopt.update(first, table.data, score="ebic")
    assert any(note.startswith("since the last graph, of 100 rows, edges are") for note in second.notes)
    assert isinstance(second.edges, pd.DataFrame)


def test_simulated_tables_have_the_weights_of_their_dag(few):
    """Regressions on the true parents find the weights, and the number of edges is as expected."""
    data, dag = dagopt.simulate(40, 4000, 1.0, 1)
    assert 20 < dag.number_of_edges() < 65
    assert list(dag) == list(data)
    for node in dag:
        parents = list(dag.predecessors(node))
        weights = np.linalg.lstsq(data[parents], data[node], rcond=None)[0] if parents else []
        assert weights == pytest.approx([dag.edges[parent, node]["weight"] for parent in parents], abs=0.1)
    assert dagopt.simulate(40, 4000, 1.0, 1).data.equals(data)


def test_the_page_and_the_command_cope(few, table, tmp_path, monkeypatch):
    """The page shows the hubs and their neighbours and says so; the command writes files that show reads."""
    monkeypatch.setattr(part, "MOST_SHOWN", 10)
    table.data.to_csv(tmp_path / "table.csv", index=False)
    ran = CliRunner().invoke(app, ["learn", str(tmp_path / "table.csv"), "--out", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    assert "score gained" in ran.output
    page = (tmp_path / "out" / "report.html").read_text()
    assert "of 30 columns, those with most edges and their neighbours" in page
    hub = hubs(dagopt.Result.load(tmp_path / "out" / "result.json").graph)[0][0]
    assert f'"{hub}"' in page
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "out" / "result.json"), "--around", hub])
    assert shown.exit_code == 0
    assert hub in shown.output


def test_parameters_are_those_of_the_dense_fit(few, table, learned, tmp_path, monkeypatch):
    """Each column has its regression; the result, which has no table, says how to ask."""
    with pytest.raises(InputError, match=r"use result\.fit\(data\)"):
        learned.fit()
    fitted = learned.fit(table.data)
    fitted.write(tmp_path / "parameters.csv")
    with pytest.raises(InputError, match="change the ending"):
        fitted.write(tmp_path / "network.json")
    logs = fitted.log_likelihood(table.data[:50])
    edges = list(learned.graph)
    monkeypatch.setattr(order, "MOST_DENSE", 10_000)
    dense = dagopt.fit(table.data, edges)
    pd.testing.assert_frame_equal(fitted.parameters, dense.parameters, rtol=1e-9, atol=1e-12)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "parameters.csv"), fitted.parameters, check_dtype=False)
    assert logs == pytest.approx(dense.log_likelihood(table.data[:50]), rel=1e-9)
    assert repr(fitted).startswith("FittedWide(30 nodes")


@pytest.mark.parametrize("cause", ["X0", "X3", "X7", "X12"])
def test_effects_are_by_the_parents_of_the_cause(few, table, learned, cause, monkeypatch):
    """The parent sets are those of the DAGs of the class, and each effect is the coefficient of a regression."""
    outcome = "X1" if cause != "X1" else "X2"
    with pytest.raises(InputError, match=r"dagopt\.effect\(data, result\.cpdag"):
        learned.effect(cause, outcome)
    found = dagopt.effect(table.data, learned.cpdag, cause, outcome).table
    whole = learned.cpdag_adjacency.toarray()
    x = learned.names.index(cause)
    wanted = {"{" + ", ".join(learned.names[i] for i in one.parents) + "}" for one in possibilities(whole, x, 1)}
    assert set(found["parents"]) == wanted
    for row in found.to_dict("records"):
        inside = row["parents"].strip("{}")
        parents = inside.split(", ") if inside else []
        if outcome in parents:
            assert row["effect"] == 0
            continue
        design = table.data[[cause, *parents]].to_numpy()
        design = np.column_stack([design, np.ones(len(design))])
        assert row["effect"] == pytest.approx(np.linalg.lstsq(design, table.data[outcome], rcond=None)[0][0], abs=1e-9)
