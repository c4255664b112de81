"""Pictures by matplotlib: a graph in layers, a learned graph compared with the true one, the course of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.errors import InputError, quoted
from dagopt.graph.cpdag import cpdag
from dagopt.graph.dag import Graph, as_graph
from dagopt.graph.metrics import compare
from dagopt.graph.series_graph import SeriesGraph
from dagopt.report.drawing import EdgeStyle, draw, figure_for, node_widths
from dagopt.report.in_time import folded_layout, moments_layout
from dagopt.report.layering import downward
from dagopt.report.layout import NODE_HEIGHT, Layout, along_order, layered_layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_comparison", "plot_convergence", "plot_graph"]

INK = "#46525f"
# Okabe and Ito's colours, which people with all common kinds of colour vision can distinguish; line styles differ too.
CORRECT = EdgeStyle("#46525f", 1.3)
OTHER_MARK = EdgeStyle("#0072b2", 2.0, (0, (5, 1.4, 1.2, 1.4)))
EXTRA = EdgeStyle("#e69f00", 2.2)
MISSING = EdgeStyle("#d55e00", 1.7, (0, (3.2, 2.0)))
THINNEST, THICKEST = 0.7, 4.2  # points, of an edge by what it is worth

Pair = tuple[int, int]


def plot_graph(
    graph: Any,
    ax: Axes | None = None,
    strength: Mapping[tuple[str, str], float] | None = None,
    *,
    folded: bool = False,
) -> Axes:
    """Draw a graph in layers from top to bottom, a dynamic network with past and present side by side.

    Parameters
    ----------
    graph : anything that `dagopt.graph.as_graph` takes
        A DAG or a PDAG; undirected edges have no arrow head.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of the right size if not given.
    strength : mapping of (from, to) to float, optional
        The larger its value (at least 0), the wider an edge is drawn. An undirected edge may be given in either
        direction; an edge without a value is thin.
    folded : bool
        For a dynamic network: one node per series, with the lags beside the edges.

    Returns
    -------
    Axes
        Without frame, equally scaled in both directions.
    """
    drawn = as_graph(graph)
    layout = _layout_of(drawn, folded=folded)
    width = _line_widths(drawn, strength)
    styles = {edge: EdgeStyle(INK, width.get(edge, 1.3)) for edge in layout.routes}
    target = figure_for(layout) if ax is None else ax
    draw(target, layout, drawn.names, styles, _heads(drawn.adjacency, layout.routes))
    return target


def _layout_of(graph: Graph, *, folded: bool) -> Layout:
    """Return where a graph is drawn."""
    widths = node_widths(graph.names)
    if isinstance(graph, SeriesGraph):
        return (folded_layout if folded else moments_layout)(graph.adjacency, graph.lags, widths, NODE_HEIGHT)
    if folded:
        raise InputError("folded=True draws one node per series, but these rows are not moments; learn with lags=1")
    return layered_layout(graph.adjacency, widths)


def plot_comparison(learned: Any, true: Any, ax: Axes | None = None) -> Axes:
    """Draw a learned graph and the true one as one picture, with the differences in colour.

    Parameters
    ----------
    learned, true : anything that `dagopt.graph.as_graph` takes
        Both over the same nodes. As in `dagopt.compare`, the essential graphs of DAGs are compared: an edge without
        an arrow head is one whose direction the data cannot determine.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of the right size if not given.

    Returns
    -------
    Axes
        With a legend that counts correct, missing and extra edges, and edges with a different direction.

    Examples
    --------
    >>> import dagopt
    >>> ax = dagopt.plot_comparison([("a", "b"), ("b", "c")], [("a", "b"), ("a", "c")])
    >>> ax.figure.savefig("comparison.png")
    """
    found = compare(learned, true)
    second = as_graph(true)
    first = as_graph(learned, second.names)
    ours, theirs = (_essential(graph) for graph in (first, second))
    union = ours | (theirs & ~(ours | ours.T))
    layout = layered_layout(union, node_widths(second.names), along=along_order(union, downward(second.adjacency)))
    place = {name: k for k, name in enumerate(second.names)}
    styles = dict.fromkeys(layout.routes, CORRECT)
    for pairs, style in ((found.missing, MISSING), (found.extra, EXTRA), (found.reversed, OTHER_MARK)):
        for a, b in pairs:
            edge = (place[a], place[b])
            styles[edge if edge in styles else edge[::-1]] = style
    entries = [
        (CORRECT, f"correct: {found.n_matching}"),
        (OTHER_MARK, f"found with another direction: {len(found.reversed)}"),
        (EXTRA, f"extra: {len(found.extra)}"),
        (MISSING, f"missing: {len(found.missing)}"),
    ]
    target = figure_for(layout, legend=True) if ax is None else ax
    draw(target, layout, second.names, styles, _heads(union, layout.routes), entries)
    return target


def plot_convergence(trace: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw the score, and the bound if there is one, over the run.

    Parameters
    ----------
    trace : DataFrame
        With the column ``score`` and perhaps ``seconds`` (otherwise the rows are counted) and ``bound``, such as
        ``result.trace``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes
    """
    if "score" not in trace.columns:
        raise InputError(
            f"expected a trace with the column 'score' but got the columns {quoted(trace.columns)}; give result.trace"
        )
    across = trace["seconds"] if "seconds" in trace.columns else pd.Series(np.arange(1, len(trace) + 1), trace.index)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
    shown = [("score", "#0072b2", "-", "best score so far"), ("bound", "#d55e00", "--", "proven bound")]
    for name, colour, line, text in shown:
        if name not in trace.columns:
            continue
        known = pd.DataFrame({"x": across, "y": trace[name]}).apply(pd.to_numeric, errors="coerce")
        known = known[np.isfinite(known).all(axis=1)]
        if len(known):
            marker = "o" if len(known) < 40 else ""
            ax.step(known["x"], known["y"], line, where="post", color=colour, label=text, marker=marker, markersize=4)
    ax.set_xlabel("seconds" if "seconds" in trace.columns else "step")
    ax.set_ylabel("score (higher is better)")
    ax.ticklabel_format(axis="y", useOffset=False)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, loc="lower right")
    return ax


def _essential(graph: Graph) -> NDArray[np.int8]:
    return cpdag(graph.adjacency) if graph.is_dag else graph.adjacency


def _heads(adjacency: NDArray[np.int8], edges: Iterable[Pair]) -> set[Pair]:
    """Return the edges that end in an arrow head."""
    return {(a, b) for a, b in edges if not adjacency[b, a]}


def _line_widths(graph: Graph, strength: Mapping[tuple[str, str], float] | None) -> dict[Pair, float]:
    """Return the width of every edge, none if no strengths are given."""
    if strength is None:
        return {}
    place = {name: k for k, name in enumerate(graph.names)}
    unknown = [name for pair in strength for name in pair if name not in place]
    if unknown:
        raise InputError(f"expected nodes of the graph in strength= but got {quoted(unknown, 3)}; use its names")
    largest = max([float(value) for value in strength.values() if np.isfinite(value)], default=0.0)
    widths = {}
    for a, b in (*graph.directed_edges, *graph.undirected_edges):
        value = strength.get((a, b), 0.0 if (a, b) in graph.directed_edges else strength.get((b, a), 0.0))
        share = min(max(float(value) / largest, 0.0), 1.0) if largest > 0 and np.isfinite(value) else 0.0
        widths[place[a], place[b]] = THINNEST + (THICKEST - THINNEST) * share**0.5
    return widths
