"""The part of a very large graph that a page shows: its hubs and what is around them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dagopt.arrays import Ints, Pdag
from dagopt.graph.dag import Graph
from dagopt.graph.neighbourhoods import hubs
from dagopt.graph.order import adjacency_of, is_sparse
from dagopt.results.result import Result

__all__ = ["shown_part"]

MOST_SHOWN = 200  # columns of a page; more are slow in a browser and cannot be looked at


def shown_part(result: Result) -> Result:
    """Return the result as it is, or the columns with most edges and their neighbours if its graph is sparse.

    Neighbours are taken hub by hub while there is room; a note says what is left out.
    """
    if not is_sparse(result.adjacency):
        return result
    tails, heads = result.graph.ends
    place = {name: k for k, name in enumerate(result.names)}
    chosen: dict[int, None] = {}
    for name, *_ in hubs(result.graph, MOST_SHOWN):
        hub = place[name]
        near = [hub, *heads[tails == hub].tolist(), *tails[heads == hub].tolist()]
        new = [k for k in dict.fromkeys(near) if k not in chosen]
        if len(chosen) + len(new) > MOST_SHOWN:
            break
        chosen.update(dict.fromkeys(new))
    kept = np.array(sorted(chosen), dtype=np.int64)
    names = tuple(result.names[k] for k in kept)
    dag, essential = (_within(graph, kept) for graph in (result.graph, Graph(result.cpdag_adjacency, result.names)))
    gains = result.figures.edge_gain or {}
    inside = {f"{a} -> {b}" for a, b in Graph(dag, names)}
    figures = replace(result.figures, edge_gain={key: gain for key, gain in gains.items() if key in inside})
    note = (
        f"this page shows {len(names)} of {len(result.names):,} columns, those with most edges and their neighbours; "
        "dagopt show result.json --around COLUMN shows others"
    )
    part = replace(result, names=names, adjacency=dag, figures=figures, notes=(note, *result.notes), lags=None)
    vars(part)["cpdag_adjacency"] = essential
    return part


def _within(graph: Graph, kept: Ints) -> Pdag:
    """Return the adjacency array of some columns."""
    tails, heads = graph.ends
    both = np.isin(tails, kept) & np.isin(heads, kept)
    return adjacency_of(len(kept), np.searchsorted(kept, tails[both]), np.searchsorted(kept, heads[both]))
