"""A result in the form for the report: one list of edges for DAG and essential graph, with what is known about each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.data.lags import Lags
from dagopt.graph.cpdag import extend_pdag
from dagopt.report.edge_confidence import LOST
from dagopt.report.parameters import coefficients, estimates, fitted_or_why
from dagopt.report.pictures import column_data, column_pictures, edge_pictures, row_sample
from dagopt.results.answer import worth
from dagopt.results.directions import DIRECTED, Direction, direction_of
from dagopt.results.explanation import arrow
from dagopt.results.result import Result

__all__ = ["CLEAR", "OVERWHELMING", "Edge", "View", "Weight", "page_view_of", "view_of", "weight_of"]

Weight = Literal["weak", "clear", "overwhelming"]
CLEAR, OVERWHELMING = DIRECTED, 10.0  # points: e^3 = 20 and e^10 = 22,000 times as probable

_LABELS = {"score": "local score", "empty": "score without parents", "gain": "gain of its parents"}


@dataclass(frozen=True)
class Edge:
    """An edge of the drawing.

    Attributes
    ----------
    tail, head : int
        Its nodes, in the direction of the DAG.
    undirected : bool
        Whether the essential graph leaves its direction open.
    strength : float or None
        The score that is lost when only this edge is removed, if it is known.
    figures : dict
        Further numbers by name, such as ``coefficient``: each is a column of the table of edges and a line of the
        edge's panel.
    direction : str
        How sure its direction is: directed, leaning, open or unchecked.
    worth : float or None
        What the best known graph without the edge loses; what is lost with the other edges kept if that is not known.
    weight : {"weak", "clear", "overwhelming"} or None
        The same in a word.
    kept : bool
        Whether ``worth`` is only what is lost with the other edges kept, so that another graph may lose less.
    failed : str
        The checks of residuals that the edge fails, in words.
    """

    tail: int
    head: int
    undirected: bool
    strength: float | None
    figures: dict[str, float] = field(default_factory=dict)
    direction: Direction = "unchecked"
    worth: float | None = None
    weight: Weight | None = None
    kept: bool = True
    failed: str = ""


@dataclass(frozen=True)
class View:
    """The parts of a result that are drawn.

    Attributes
    ----------
    names : tuple of str
        The columns.
    edges : tuple of Edge
        All edges.
    drawn : ndarray of int8
        The graph that is laid out: the DAG if there is one, otherwise the class.
    has_dag : bool
        Whether there is a DAG to show.
    starts_with_dag : bool
        Whether the method learned a DAG; otherwise the class is shown first.
    figures : tuple of dict
        For each node, numbers by name, such as ``local score`` and ``gain``.
    estimates : tuple of dict
        For each node, the parameters that the page shows; empty if they were not fitted.
    notes : tuple of str
        Notes on the parameters.
    failed : tuple of str
        For each node, the checks of residuals that it fails, in words.
    pictures : tuple of dict
        For each node, what its distribution is drawn from; empty without rows.
    edge_pictures : tuple of dict
        The same for each edge.
    sample : list of list, optional
        Some rows, column by column, if the reader asked for them.
    lags : Lags, optional
        The layout of the columns in time, if rows are moments.
    """

    names: tuple[str, ...]
    edges: tuple[Edge, ...]
    drawn: NDArray[np.int8]
    has_dag: bool
    starts_with_dag: bool
    figures: tuple[dict[str, float], ...]
    estimates: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    pictures: tuple[dict[str, Any], ...] = ()
    edge_pictures: tuple[dict[str, Any], ...] = ()
    sample: list[list[Any]] | None = None
    lags: Lags | None = None


def page_view_of(result: Result, *, with_data: bool = False) -> View:
    """Return what the page shows: the view of a result, with the parameters of the DAG, its checks and its data."""
    view = view_of(result)
    fitted, why = fitted_or_why(result)
    slopes = coefficients(fitted)
    misfits = result.misfits or {}
    edges = tuple(
        replace(
            edge,
            figures=slopes.get((edge.tail, edge.head), {}) | edge.figures,
            failed=misfits.get(arrow(view.names[edge.tail], view.names[edge.head]), ""),
        )
        for edge in view.edges
    )
    view = replace(
        view,
        edges=edges,
        estimates=tuple(estimates(fitted, len(view.names))),
        notes=(f"no parameters: {why}",) if fitted is None else fitted.notes,
        failed=tuple(misfits.get(name, "") for name in view.names),
    )
    found = None if result.problem is None else column_data(result.problem.table)
    if found is None:
        return view
    columns, weights = found
    return replace(
        view,
        pictures=tuple(column_pictures(columns, weights)),
        edge_pictures=tuple(edge_pictures(columns, weights, [(e.tail, e.head) for e in edges], fitted)),
        sample=row_sample(columns, weights) if with_data else None,
    )


def view_of(result: Result) -> View:
    """Return the view of a result; numbers on edges and nodes that the method did not give are computed."""
    essential = np.asarray(result.cpdag_adjacency)
    learned_dag = result.graph.is_dag
    member = result.graph.adjacency if learned_dag else extend_pdag(essential)
    drawn = essential if member is None else member
    words = result.directions()  # first: it adds to the figures
    details = result.details
    told = "edge_gain" in details and "node_scores" in details
    if result.problem is not None and member is not None and not told:
        details = worth(result.problem, member) | details
    edges = []
    for i, j in np.argwhere(drawn):
        if member is None and drawn[j, i] and j < i:
            continue
        undirected = bool(essential[i, j] and essential[j, i])
        pair = result.names[i], result.names[j]
        named = {
            str(name): value
            for name, values in details.get("edge_figures", {}).items()
            if (value := _of_edge(values, *pair)) is not None
        }
        loss = _of_edge(details.get("reversal_loss"), *pair)
        if loss is not None:
            out = _of_edge(details.get("removal_loss"), *pair)
            named = {"lost if reversed": loss} | ({} if out is None else {"lost if left out": out}) | named
        strength, word = _of_edge(details.get("edge_gain"), *pair), words.get(pair, direction_of(undirected, loss))
        lost = _of_edge(details.get("removal_loss"), *pair)
        lost = named.get(LOST["neither"]) if lost is None else lost
        value = strength if lost is None else lost
        edges.append(Edge(int(i), int(j), undirected, strength, named, word, value, weight_of(value), lost is None))
    figures = _figures(details.get("node_scores"), result.names)
    return View(result.names, tuple(edges), drawn, member is not None, learned_dag, figures, lags=result.lags)


def weight_of(worth: float | None) -> Weight | None:
    """Return what an edge is worth in a word: how much less probable the best graph without it is."""
    if worth is None:
        return None
    return "weak" if worth < CLEAR else "clear" if worth < OVERWHELMING else "overwhelming"


def _of_edge(values: object, tail: str, head: str) -> float | None:
    """Return the number of an edge from a mapping by ``"a -> b"`` or by pair, in either direction."""
    if not isinstance(values, Mapping):
        return None
    for key in (f"{tail} -> {head}", (tail, head), f"{tail} - {head}", f"{head} - {tail}", f"{head} -> {tail}"):
        if key in values:
            return _number(values[key])
    return None


def _number(value: object) -> float | None:
    """Return a finite number, or None."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _figures(scores: Any, names: tuple[str, ...]) -> tuple[dict[str, float], ...]:
    """Return the numbers of each node from a frame, a series, a mapping by name, or a list in order."""
    if isinstance(scores, pd.DataFrame):
        by = next((column for column in ("node", "name", "column") if column in scores.columns), None)
        frame = scores if by is None else scores.set_index(by)
        scores = {str(name): row for name, row in zip(frame.index, frame.to_dict("records"), strict=True)}
    elif isinstance(scores, pd.Series):
        scores = {str(name): value for name, value in scores.items()}
    elif isinstance(scores, list | tuple | np.ndarray) and len(scores) == len(names):
        scores = dict(zip(names, scores, strict=True))
    if not isinstance(scores, Mapping):
        return tuple({} for _ in names)
    return tuple(_of_node(scores.get(name)) for name in names)


def _of_node(value: object) -> dict[str, float]:
    given = value.items() if isinstance(value, Mapping) else [("local score", value)]
    named = ((_LABELS.get(str(key), str(key).replace("_", " ")), _number(entry)) for key, entry in given)
    return {key: number for key, number in named if number is not None}
