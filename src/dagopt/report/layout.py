"""Where nodes and edges of a graph are drawn: layers from top to bottom, straight long edges, separate labels.

The order within layers comes from `dagopt.report.layering`; the horizontal positions minimise the total bend of the
edges, weighted so that long ones stay straight (the program of section 4.2 of [1]_), or come near to that by sweeps
over the layers where there are many points (`dagopt.report.settling`).

References
----------
.. [1] E. R. Gansner, E. Koutsofios, S. C. North, K.-P. Vo, "A technique for drawing directed graphs", IEEE
   Transactions on Software Engineering 19(3), 1993, DOI 10.1109/32.221135.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dagopt.graph.order import checked_adjacency, topological_order
from dagopt.lp.highs import LinearProgram
from dagopt.report.layering import Layers, Pair, downward, layered
from dagopt.report.ports import cubics, spread_ends
from dagopt.report.settling import settled

__all__ = ["Layout", "along_order", "layered_layout"]

NODE_HEIGHT = 26.0  # of every node, unless another is asked for
NODE_GAP = 18.0  # between neighbours in a layer
POINT_GAP = 11.0  # beside a passing edge
LAYER_GAP = 34.0  # between layers, at least
SLOPE = 0.07  # of the widest edge between two layers, added to their gap
WIDEST_GAP = 240.0  # points between two layers
PART_GAP = 34.0  # between parts that no edge joins
ASPECT = 1.7  # preferred ratio of width to height
WIDE = 1000.0  # points; layers of wider drawings are further apart, up to
ASPECT_WIDE, MOST_STRETCHED = 1.3, 3.0  # this ratio of width to height, or this many times as far
MOST_POINTS = 400  # of a connected part whose positions are found by a linear program
STRAIGHT = (1.0, 2.0, 8.0)  # cost of a bend, by how many of its two ends are points of long edges


@dataclass(frozen=True)
class Layout:
    """Positions in the units of the labels' widths, from the upper left corner, y downwards.

    Attributes
    ----------
    centres : ndarray of shape (n_nodes, 2)
        Middle of each node.
    widths : ndarray of shape (n_nodes,)
        Width of each node.
    node_height : float
        Height of every node.
    routes : dict
        For each edge (from, to), undirected ones with the smaller node first, the points that its line passes, from
        the border of the first node to the border of the second. The line is vertical at each of them.
    width, height : float
        Size of the drawing.
    bends : dict
        Edges whose lines are not vertical at each point: the points of their cubic Bézier pieces, 3 k + 1 of them.
    labels : dict
        What is written beside an edge: x, y and the text.
    titles : tuple of (float, float, str)
        What is written above parts of the drawing: x, y and the text.
    """

    centres: NDArray[np.float64]
    widths: NDArray[np.float64]
    node_height: float
    routes: dict[Pair, NDArray[np.float64]]
    width: float
    height: float
    bends: dict[Pair, NDArray[np.float64]] = field(default_factory=dict)
    labels: dict[Pair, tuple[float, float, str]] = field(default_factory=dict)
    titles: tuple[tuple[float, float, str], ...] = ()

    def line(self, edge: Pair, head: float = 0.0) -> NDArray[np.float64]:
        """Return the Bézier points of an edge's line, which ends before a head of this length."""
        if edge in self.bends:
            bend = self.bends[edge].copy()
            bend[-2:] -= head * self.way(edge)
            return bend
        route = self.routes[edge]
        route = np.vstack([route[:-1], route[-1] - head * self.way(edge)])
        return np.array([route[0], *(point for piece in cubics(route) for point in piece)])

    def way(self, edge: Pair) -> NDArray[np.float64]:
        """Return the direction in which an edge arrives, of length 1."""
        if edge in self.bends:
            way = self.bends[edge][-1] - self.bends[edge][-2]
            return np.asarray(way / max(float(np.hypot(*way)), 1e-9))
        route = self.routes[edge]
        return np.array([0.0, 1.0 if route[-1, 1] >= route[-2, 1] else -1.0])

    def head(self, edge: Pair, length: float, width: float) -> NDArray[np.float64]:
        """Return the three corners of the head of an edge, its tip second."""
        tip, way = self.routes[edge][-1], self.way(edge)
        base, aside = tip - length * way, width / 2 * np.array([-way[1], way[0]])
        return np.array([base + aside, tip, base - aside])


@dataclass(frozen=True)
class _Part:
    """A connected part, laid out separately from its own corner."""

    points: dict[int, tuple[float, float]]
    chains: dict[Pair, list[int]]
    width: float
    height: float


def layered_layout(
    adjacency: ArrayLike,
    widths: Sequence[float] | NDArray[np.float64],
    *,
    node_height: float = NODE_HEIGHT,
    along: ArrayLike | None = None,
) -> Layout:
    """Lay out a graph in layers.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        A DAG or PDAG; ``[i, j] = 1`` means i → j, ones both ways an undirected edge.
    widths : sequence of float
        Width of each node.
    node_height : float
        Height of every node.
    along : array-like of shape (n_nodes, n_nodes), optional
        A DAG with the same skeleton along which edges go down, instead of the graph itself.

    Returns
    -------
    Layout
        The same in every run.
    """
    graph = checked_adjacency(adjacency)
    wide = np.asarray(widths, dtype=float)
    dag = downward(graph) if along is None else checked_adjacency(along)
    parts = [_drawn(part, edges, wide, node_height) for part, edges in _parts(dag)]
    corners, width, height = _packed(parts)
    centres = np.zeros((len(graph), 2))
    passes: dict[Pair, list[tuple[float, float]]] = {}
    for part, (left, top) in zip(parts, corners, strict=True):
        for point, (x, y) in part.points.items():
            if point < len(graph):
                centres[point] = left + x, top + y
        for edge, chain in part.chains.items():
            passes[edge] = [(left + part.points[p][0], top + part.points[p][1]) for p in chain[1:-1]]
    routes = {}
    for (a, b), route in spread_ends(passes, centres, wide, node_height).items():
        turned = graph[a, b] == 0 or (graph[b, a] == 1 and b < a)
        routes[(b, a) if turned else (a, b)] = route[::-1] if turned else route
    return Layout(centres, wide, node_height, dict(sorted(routes.items())), width, height)


def along_order(union: NDArray[np.int8], dag: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the skeleton of the union directed along an order of the DAG."""
    rank = np.empty(len(dag), dtype=np.intp)
    rank[topological_order(dag)] = np.arange(len(dag))
    return np.where(rank[:, None] < rank[None, :], union | union.T, 0).astype(np.int8)


def _parts(dag: NDArray[np.int8]) -> list[tuple[list[int], list[Pair]]]:
    """Return the connected parts with their edges, by their first nodes."""
    leader = list(range(len(dag)))  # a smaller node of the same part, or the node itself

    def first(node: int) -> int:
        while leader[node] != node:
            leader[node] = node = leader[leader[node]]
        return node

    edges = [(int(i), int(j)) for i, j in np.argwhere(dag)]
    for i, j in edges:
        one, other = sorted((first(i), first(j)))
        leader[other] = one
    parts: dict[int, tuple[list[int], list[Pair]]] = {}
    for node in range(len(dag)):
        parts.setdefault(first(node), ([], []))[0].append(node)
    for i, j in edges:
        parts[first(i)][1].append((i, j))
    return list(parts.values())


def _drawn(nodes: list[int], edges: list[Pair], widths: NDArray[np.float64], node_height: float) -> _Part:
    """Lay out one connected part."""
    layers = layered(nodes, edges, len(widths))
    half = {p: float(max(widths[p], 1.0)) / 2 if p < len(widths) else 0.0 for row in layers.rows for p in row}
    across = _across(layers, half)
    links = [(a, b) for chain in layers.chains.values() for a, b in pairwise(chain)]
    row_of = {p: k for k, row in enumerate(layers.rows) for p in row}
    widest = np.zeros(len(layers.rows))
    for a, b in links:
        widest[row_of[b]] = max(widest[row_of[b]], abs(across[a] - across[b]))
    gaps = np.minimum(LAYER_GAP + SLOPE * widest, WIDEST_GAP) + node_height
    gaps[0] = node_height / 2
    width = max(across[p] + half[p] for p in row_of)
    if width > WIDE:  # it is shown small, so that the room above and below would be empty
        gaps[1:] *= min(max(width / ASPECT_WIDE / gaps.sum(), 1.0), MOST_STRETCHED)
    down = np.cumsum(gaps)
    points = {p: (across[p], float(down[row_of[p]])) for p in row_of}
    return _Part(points, layers.chains, width, float(down[-1]) + node_height / 2)


def _across(layers: Layers, half: dict[int, float]) -> dict[int, float]:
    """Return the horizontal positions that keep the order and bend the edges least."""
    points = [p for row in layers.rows for p in row]
    place = {p: k for k, p in enumerate(points)}
    apart = [(a, b, _separation(a, b, half)) for row in layers.rows for a, b in pairwise(row)]
    links = [
        (a, b, STRAIGHT[(half[a] == 0) + (half[b] == 0)])
        for chain in layers.chains.values()
        for a, b in pairwise(chain)
    ]
    if len(points) > MOST_POINTS:
        x = settled(layers.rows, links, {p: _offsets(row, half) for row in layers.rows for p in row[:1]})
    else:
        solved = _least_bend(place, links, apart)
        x = {p: float(solved[place[p]]) for p in points}
    _balance(x, layers.rows, links, half)
    left = min(x[p] - half[p] for p in points)
    return {p: x[p] - left for p in points}


def _separation(a: int, b: int, half: dict[int, float]) -> float:
    gap = NODE_GAP if half[a] and half[b] else POINT_GAP
    return half[a] + half[b] + gap


def _offsets(row: list[int], half: dict[int, float]) -> NDArray[np.float64]:
    """Return the places of a layer's points if they stand as close as they may."""
    return np.cumsum([0.0, *(_separation(a, b, half) for a, b in pairwise(row))])


def _least_bend(
    place: dict[int, int], links: list[tuple[int, int, float]], apart: list[tuple[int, int, float]]
) -> NDArray[np.float64]:
    """Minimise the weighted sum of ``|x_a - x_b|`` over the links, neighbours in a layer kept apart."""
    if not links:
        return np.cumsum([0.0, *(gap for _, _, gap in apart)])
    n = len(place)
    program = LinearProgram(maximise=False)
    for cost in [*([0.0] * n), *(weight for _, _, weight in links)]:
        program.add_column(cost, 0.0, np.inf)
    for k, (u, v, _) in enumerate(links):  # what is minimised is at least either difference
        a, b = place[u], place[v]
        program.add_row(-np.inf, 0.0, (a, b, n + k), (1.0, -1.0, -1.0))
        program.add_row(-np.inf, 0.0, (b, a, n + k), (1.0, -1.0, -1.0))
    for u, v, gap in apart:
        program.add_row(gap, np.inf, (place[v], place[u]), (1.0, -1.0))
    return program.solve().point[:n]


def _balance(
    x: dict[int, float], rows: list[list[int]], links: list[tuple[int, int, float]], half: dict[int, float]
) -> None:
    """Move each node to the middle of the equally good positions: between its middle neighbours, if there is room."""
    near: dict[int, list[tuple[int, float]]] = {p: [] for p in x}
    for a, b, weight in links:
        near[a].append((b, weight))
        near[b].append((a, weight))
    for _ in range(4):
        for row in rows:
            for k, p in enumerate(row):
                if not half[p] or not near[p]:
                    continue
                low, high = _median([(x[q], weight) for q, weight in near[p]])
                if k:
                    low = max(low, x[row[k - 1]] + _separation(row[k - 1], p, half))
                if k + 1 < len(row):
                    high = min(high, x[row[k + 1]] - _separation(p, row[k + 1], half))
                if low <= high:
                    x[p] = (low + high) / 2


def _median(weighted: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the interval of weighted medians."""
    weighted = sorted(weighted)
    half, total = sum(weight for _, weight in weighted) / 2, 0.0
    for k, (value, weight) in enumerate(weighted):
        total += weight
        if total > half:
            return value, value
        if total == half:
            return value, weighted[k + 1][0]
    return weighted[-1][0], weighted[-1][0]


def _packed(parts: list[_Part]) -> tuple[list[tuple[float, float]], float, float]:
    """Pack the parts in rows, tall ones first; return their corners and the total size."""
    if not parts:
        return [], 0.0, 0.0
    area = sum((part.width + PART_GAP) * (part.height + PART_GAP) for part in parts)
    room = max(max(part.width for part in parts), (area * ASPECT) ** 0.5)
    corners = [(0.0, 0.0)] * len(parts)
    left = top = shelf = widest = 0.0
    for k in sorted(range(len(parts)), key=lambda k: -parts[k].height):
        part = parts[k]
        if left and left + part.width > room + 1e-6:
            left, top, shelf = 0.0, top + shelf + PART_GAP, 0.0
        corners[k] = (left, top)
        widest, shelf = max(widest, left + part.width), max(shelf, part.height)
        left += part.width + PART_GAP
    return corners, widest, top + shelf
