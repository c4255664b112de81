"""What one can look at of a large graph: the neighbourhood of a column, hubs, components."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dagopt.arrays import Ints
from dagopt.errors import unknown_name
from dagopt.graph.dag import Graph

__all__ = ["Neighbourhood", "components", "hubs", "neighbourhood"]


class Neighbourhood(NamedTuple):
    """The columns near one, nearest first, and the edges among them: from, how, to, steps to the farther end."""

    columns: list[str]
    edges: list[tuple[str, str, str, int]]


def neighbourhood(graph: Graph, around: str, steps: int = 1) -> Neighbourhood:
    """Return the columns at most some edges away from one, whatever their direction, and the edges among them.

    Parameters
    ----------
    graph : Graph
        The graph.
    around : str
        The column.
    steps : int
        How many edges away.
    """
    if around not in graph.names:
        raise unknown_name("column", around, graph.names)
    centre = graph.names.index(around)
    tails, heads = graph.ends
    near = {centre: 0}
    edge = np.array([centre])
    for step in range(1, steps + 1):
        reached = np.concatenate([heads[np.isin(tails, edge)], tails[np.isin(heads, edge)]])
        edge = np.array([k for k in np.unique(reached).tolist() if k not in near])
        near.update(dict.fromkeys(edge.tolist(), step))
        if not len(edge):
            break
    inside = np.isin(tails, list(near)) & np.isin(heads, list(near))
    pairs = list(zip(tails[inside].tolist(), heads[inside].tolist(), strict=True))
    both = set(pairs)
    found = []
    for i, j in pairs:
        if (j, i) in both and j < i:
            continue
        far = max(near[i], near[j])
        found.append((graph.names[i], "-" if (j, i) in both else "->", graph.names[j], far))
    found.sort(key=lambda row: row[3])
    return Neighbourhood([graph.names[k] for k in sorted(near, key=lambda k: near[k])], found)


def hubs(graph: Graph, most: int = 20) -> list[tuple[str, int, int, int]]:
    """Return the columns with the most edges: name, edges, parents, children; undirected edges count in the first."""
    (tails, heads), n = graph.ends, graph.n_nodes
    undirected = np.isin(tails * n + heads, heads * n + tails)
    both, into, out = (
        np.bincount(ends, minlength=n) for ends in (tails[undirected], heads[~undirected], tails[~undirected])
    )
    total = into + out + both
    order = np.argsort(-total, kind="stable")[:most]
    return [(graph.names[k], int(total[k]), int(into[k]), int(out[k])) for k in order if total[k]]


def components(graph: Graph) -> list[Ints]:
    """Return the positions of the columns that edges connect, largest first."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    (rows, columns), n = graph.ends, graph.n_nodes
    count, label = connected_components(coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)), directed=False)
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=count))[:-1]
    return sorted((np.asarray(part, dtype=np.int64) for part in np.split(order, ends)), key=len, reverse=True)
