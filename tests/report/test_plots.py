from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch, PathPatch

import dagopt
from dagopt.errors import InputError
from dagopt.graph.cpdag import cpdag
from dagopt.graph.dag import Graph
from dagopt.report.plots import CORRECT, EXTRA, MISSING, OTHER_MARK, plot_comparison, plot_convergence, plot_graph
from dagopt.results.result import Result


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def nodes(ax):
    return [patch.get_gid().removeprefix("node ") for patch in ax.patches if isinstance(patch, FancyBboxPatch)]


def lines(ax):
    """Return the patches that are edges."""
    return [p for p in ax.patches if isinstance(p, PathPatch) and p.get_facecolor()[3] == 0]


def heads(ax):
    return sum(len(collection.get_paths()) for collection in ax.collections)


def colours(ax):
    return [matplotlib.colors.to_hex(line.get_edgecolor()) for line in lines(ax)]


def test_a_dag_has_a_node_a_name_and_a_head_an_edge():
    """All nodes, edges and heads are drawn, on axes that fill their own figure."""
    dag = dagopt.datasets.load_network("asia").dag
    ax = plot_graph(dag)
    assert sorted(nodes(ax)) == sorted(dag.nodes)
    assert len(lines(ax)) == heads(ax) == dag.number_of_edges()
    assert not ax.axison


def test_undirected_edges_have_no_head():
    """The essential graph of a chain has lines but no heads."""
    ax = plot_graph(Graph(cpdag([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), ("a", "b", "c")))
    assert len(lines(ax)) == 2
    assert heads(ax) == 0


def test_given_axes_are_used_and_no_figure_is_made():
    """With ``ax`` nothing else is touched."""
    figure, (left, right) = plt.subplots(1, 2)
    assert plot_graph([("a", "b")], ax=right) is right
    assert nodes(left) == []
    assert plt.get_fignums() == [figure.number]


def test_strength_sets_the_widths():
    """A stronger edge is wider; an undirected edge may be named either way round."""
    graph = Graph(np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]]), ("a", "b", "c"))
    ax = plot_graph(graph, strength={("a", "b"): 10.0, ("c", "b"): 1.0})
    widths = [line.get_linewidth() for line in lines(ax)]
    assert max(widths) > 1.5 * min(widths)
    undirected = Graph(np.array([[0, 1], [1, 0]]), ("a", "b"))
    strong = lines(plot_graph(undirected, strength={("b", "a"): 3.0}))[0].get_linewidth()
    assert strong > lines(plot_graph(undirected, strength={}))[0].get_linewidth()


def test_strength_of_an_unknown_node_is_refused():
    """A name that the graph has not is told."""
    with pytest.raises(InputError, match="'z'"):
        plot_graph([("a", "b")], strength={("a", "z"): 1.0})


def test_odd_names_are_drawn(tmp_path):
    """Dollars are no formulas, and newlines, markup and long names do no harm."""
    names = ("$x_1$ costs $", "two\nlines", "<b>", "w" * 90)
    ax = plot_graph(Graph(np.triu(np.ones((4, 4), dtype=int), 1), names))
    ax.figure.savefig(tmp_path / "odd.png")
    assert nodes(ax) == list(names)


def test_a_graph_without_nodes_or_edges_is_drawn(tmp_path):
    """Empty graphs give a picture too."""
    plot_graph(Graph(np.zeros((0, 0)), ())).figure.savefig(tmp_path / "none.png")
    plot_graph(Graph(np.zeros((3, 3)), ("a", "b", "c"))).figure.savefig(tmp_path / "three.png")


def test_comparison_colours_every_kind_of_difference():
    """Correct, missing, extra and otherwise marked edges each have their own style, and the legend counts them."""
    names = list("abcdef")
    true = Graph.from_edges(names, [("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")])
    learned = Graph.from_edges(names, [("a", "c"), ("b", "c"), ("c", "d"), ("e", "d"), ("e", "f")])
    ax = plot_comparison(learned, true)
    found = dagopt.compare(learned, true)
    for style, count in [
        (CORRECT, found.n_matching),
        (MISSING, len(found.missing)),
        (EXTRA, len(found.extra)),
        (OTHER_MARK, len(found.reversed)),
    ]:
        assert colours(ax).count(style.colour) == count
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [int(text.split(": ")[1]) for text in texts] == [
        found.n_matching,
        len(found.reversed),
        len(found.extra),
        len(found.missing),
    ]


def test_comparison_takes_nodes_in_any_order():
    """The learned graph may list its nodes in another order than the true one."""
    true = Graph.from_edges(["a", "b", "c"], [("a", "c"), ("b", "c")])
    learned = Graph.from_edges(["c", "b", "a"], [("a", "c"), ("b", "c")])
    assert set(colours(plot_comparison(learned, true))) == {CORRECT.colour}


def test_missing_edges_are_dashed():
    """A missing edge can be told without colour."""
    ax = plot_comparison(Graph.from_edges(["a", "b"], []), Graph.from_edges(["a", "b"], [("a", "b")]))
    assert lines(ax)[0].get_linestyle() not in ("solid", "-")


def test_convergence_draws_score_and_bound():
    """Both curves are drawn where they are known, against seconds."""
    trace = pd.DataFrame({"seconds": [0.1, 0.2, 0.5], "score": [-9.0, -5.0, -4.0], "bound": [None, -3.0, -4.0]})
    ax = plot_convergence(trace)
    assert [len(line.get_xdata()) for line in ax.lines] == [3, 2]
    assert ax.get_xlabel() == "seconds"


def test_convergence_counts_rows_without_seconds():
    """A trace without times is drawn over its steps; one without scores is refused."""
    assert plot_convergence(pd.DataFrame({"score": [1.0, 2.0]})).get_xlabel() == "step"
    with pytest.raises(InputError, match="'score'"):
        plot_convergence(pd.DataFrame({"seconds": [1.0]}))


def test_result_plot_draws_either_graph():
    """``Result.plot`` draws the DAG, or the essential graph without heads."""
    result = Result(("a", "b"), np.array([[0, 1], [0, 0]], dtype=np.int8), score=-1.0, status="converged", method="hc")
    assert heads(result.plot()) == 1
    assert heads(result.plot(essential=True)) == 0


def test_importing_the_plots_does_not_import_matplotlib():
    """The library matplotlib is loaded when something is drawn, not before."""
    code = "import sys, dagopt, dagopt.report.plots, dagopt.report.html; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
