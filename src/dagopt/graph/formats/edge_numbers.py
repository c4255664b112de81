"""The numbers known about each edge, for files that hold them: score gained, frequency, regret, coefficients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dagopt.graph.dag import Graph, is_networkx

__all__ = ["Figures", "edge_figures"]

Figures = dict[tuple[str, str], dict[str, float]]


def edge_figures(source: Any, graph: Graph) -> Figures:
    """Return the numbers that a source has for the edges of its graph.

    Parameters
    ----------
    source : Result, networkx graph or other
        A result has numbers in ``details["edge_gain"]`` and ``details["edge_figures"]``, a networkx graph has
        edge attributes. Anything else has none.
    graph : Graph
        Its edges.
    """
    details = getattr(source, "details", None)
    found: Figures = {}
    for a, b in [*graph.directed_edges, *graph.undirected_edges]:
        own: Mapping[Any, Any] = {}
        if isinstance(details, Mapping):
            columns = {"gain": details.get("edge_gain"), **details.get("edge_figures", {})}
            own = {name: _of_edge(values, a, b) for name, values in columns.items()}
        elif is_networkx(source) and source.has_edge(a, b):
            own = source.edges[a, b]
        numbers = {str(name): float(value) for name, value in own.items() if _is_number(value)}
        if numbers:
            found[a, b] = numbers
    return found


def _of_edge(values: object, a: str, b: str) -> object:
    if not isinstance(values, Mapping):
        return None
    keys = (f"{a} -> {b}", (a, b), f"{a} - {b}", f"{b} - {a}")
    return next((values[key] for key in keys if key in values), None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
