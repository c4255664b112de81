"""What notebooks show: the drawing of the report for results and graphs, small charts for explanations and effects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from dagopt.data.html_table import html_of
from dagopt.graph.cpdag import extend_pdag
from dagopt.graph.series_graph import SeriesGraph
from dagopt.report.small_charts import Estimate, Loss, intervals_svg, losses_svg
from dagopt.report.svg import still_svg
from dagopt.report.view import Edge, View, view_of

if TYPE_CHECKING:
    from dagopt.graph.dag import Graph
    from dagopt.networks.effects.effect import Effect
    from dagopt.networks.effects.mixture import EffectPosterior
    from dagopt.results.explanation import Explanation
    from dagopt.results.result import Result

__all__ = ["effect_html", "effect_posterior_html", "explanation_html", "graph_html", "result_html"]

MOST_DRAWN = 60  # with more columns the drawing is left out
MOST_ESTIMATES = 12  # rows of a chart


def result_html(result: Result) -> str:
    """Return the summary of a result, its edges, and its graph as the report draws it."""
    frame = result.edges
    if "gain" in frame:
        frame = frame.sort_values("gain", ascending=False, kind="stable")
    return html_of(result.summary(), frame, _drawing(result.graph, lambda: view_of(result)))


def graph_html(graph: Graph) -> str:
    """Return a graph drawn; a large one as its first edges."""
    drawing = _drawing(graph, lambda: _view(graph))
    shown = None if drawing else pd.DataFrame(list(graph), columns=["from", "to"])
    return html_of(repr(graph), shown, drawing)


def _drawing(graph: Graph, view: Callable[[], View]) -> str:
    """Return the drawing of a graph, empty for a large one and for one without edges."""
    return still_svg(view()) if graph.n_edges and graph.n_nodes <= MOST_DRAWN else ""


def _view(graph: Graph) -> View:
    """Return the view of a graph about which nothing is known but its edges."""
    member = graph.adjacency if graph.is_dag else extend_pdag(graph.adjacency)
    place = {name: k for k, name in enumerate(graph.names)}
    directed = [Edge(place[a], place[b], False, None) for a, b in graph.directed_edges]
    pairs = [(place[a], place[b]) for a, b in graph.undirected_edges]
    turned = [(i, j) if member is None or member[i, j] else (j, i) for i, j in pairs]
    edges = (*directed, *(Edge(i, j, True, None, direction="open") for i, j in turned))
    drawn = graph.adjacency if member is None else member
    lags = graph.lags if isinstance(graph, SeriesGraph) else None
    return View(graph.names, edges, drawn, member is not None, graph.is_dag, ({},) * graph.n_nodes, lags=lags)


def explanation_html(explanation: Explanation) -> str:
    """Return an explanation in words, and what its alternatives lose as bars."""
    if explanation.edge is None:
        others = {f"with {one.relation}": one for one in (explanation.forward, explanation.backward)}
    else:
        assert explanation.reversed is not None
        others = {f"with {explanation.reversed.relation}": explanation.reversed, "not joined": explanation.neither}
    losses = [Loss(name, one.regret, one.proven) for name, one in others.items() if one.regret is not None]
    return html_of(explanation.summary(), None, losses_svg(losses) if losses else "")


def effect_html(effect: Effect) -> str:
    """Return the effects with their intervals as a chart, and the table and what is assumed below."""
    told = "identified" if effect.identified else "not identified"
    over = "" if effect.within is None else f", over all DAGs within {effect.within:g} points of the best"
    title = f"total effect of {effect.cause} on {effect.outcome}, {effect.level:.0%} intervals: {told}{over}"
    text = "\n".join([title, *(f"assumed: {one}" for one in effect.assumptions)])
    rows = effect.table.to_dict("records")
    named = [Estimate(_about(effect, row), row["lower"], row["effect"], row["upper"]) for row in rows]
    return html_of(text, effect.table, _intervals(named, effect.outcome))


def effect_posterior_html(posterior: EffectPosterior) -> str:
    """Return the averaged effect with its interval as a chart, and its numbers."""
    rows = posterior.summaries.to_dict("records")
    named = [Estimate(_about(posterior, row), row["lower"], row["mean"], row["upper"]) for row in rows]
    return html_of(posterior.summary(), None, _intervals(named, posterior.outcome))


def _about(effect: Effect | EffectPosterior, row: Mapping[Any, Any]) -> str:
    """Return which change of which level an effect is about, and the adjustment if there are several."""
    parts = [f"{row['from']} to {row['to']}"] if "from" in row else [effect.cause]
    parts += [f"on {row['level']}"] if "level" in row else []
    several = effect.table["adjustment"].nunique() > 1
    return ", ".join([*parts, f"given {row['adjustment']}"] if several and "adjustment" in row else parts)


def _intervals(estimates: list[Estimate], outcome: str) -> str:
    """Return the chart of the first estimates, empty if all of them are zero or unknown."""
    known = [one for one in estimates if math.isfinite(one.value)][:MOST_ESTIMATES]
    return intervals_svg(known, f"change of {outcome}") if any(any(one[1:]) for one in known) else ""
