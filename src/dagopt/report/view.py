"""A result as the report shows it: one list of edges for DAG and essential graph, with what is known of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.graph.cpdag import extend_pdag
from dagopt.result import Result

__all__ = ["Edge", "View", "view_of"]


@dataclass(frozen=True)
class Edge:
    """An edge of the drawing.

    Attributes
    ----------
    tail, head : int
        Its nodes, in the direction of the DAG.
    free : bool
        Whether the essential graph leaves its direction open.
    strength : float or None
        The score that the edge gains, where the method told it.
    """

    tail: int
    head: int
    free: bool
    strength: float | None


@dataclass(frozen=True)
class View:
    """What is drawn of a result.

    Attributes
    ----------
    names : tuple of str
        The columns.
    edges : tuple of Edge
        All edges.
    drawn : ndarray of int8
        The graph that is laid out: the DAG where there is one, else the class.
    has_dag : bool
        Whether there is a DAG to show.
    starts_with_dag : bool
        Whether the method learned a DAG; else the class is shown first.
    figures : tuple of dict
        For each node, figures by name, such as ``local score`` and ``gain``.
    """

    names: tuple[str, ...]
    edges: tuple[Edge, ...]
    drawn: NDArray[np.int8]
    has_dag: bool
    starts_with_dag: bool
    figures: tuple[dict[str, float], ...]


def view_of(result: Result) -> View:
    """Return what the report draws of a result."""
    essential = np.asarray(result.cpdag_adjacency)
    learned_dag = result.graph.is_dag
    member = result.graph.adjacency if learned_dag else extend_pdag(essential)
    drawn = essential if member is None else member
    gains = result.details.get("edge_gain")
    edges = []
    for i, j in np.argwhere(drawn):
        if member is None and drawn[j, i] and j < i:
            continue
        free = bool(essential[i, j] and essential[j, i])
        edges.append(Edge(int(i), int(j), free, _strength(gains, result.names[i], result.names[j])))
    figures = _figures(result.details.get("node_scores"), result.names)
    return View(result.names, tuple(edges), drawn, member is not None, learned_dag, figures)


def _strength(gains: object, tail: str, head: str) -> float | None:
    """Return the gain of an edge from a mapping by ``"a -> b"`` or by pair, in either direction."""
    if not isinstance(gains, Mapping):
        return None
    for key in (f"{tail} -> {head}", (tail, head), f"{tail} - {head}", f"{head} - {tail}", f"{head} -> {tail}"):
        if key in gains:
            return _number(gains[key])
    return None


def _number(value: object) -> float | None:
    """Return a finite number, or None."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _figures(scores: Any, names: tuple[str, ...]) -> tuple[dict[str, float], ...]:
    """Return the figures of each node from a frame, a series, a mapping by name, or a list in order."""
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
    named = ((str(key).replace("_", " "), _number(entry)) for key, entry in given)
    return {key: number for key, number in named if number is not None}
