"""Where edges meet the borders of nodes, and the curves between."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Cubic", "apart", "cubics", "spread_ends"]

Pair = tuple[int, int]
Point = tuple[float, float]
Cubic = tuple[Point, Point, Point]

END_GAP = 9.0  # between two ends on one border, if there is room
USED = 0.72  # share of a node's width that edges may end on


def spread_ends(
    passes: dict[Pair, list[Point]], centres: NDArray[np.float64], widths: NDArray[np.float64], node_height: float
) -> dict[Pair, NDArray[np.float64]]:
    """Return the whole routes of edges that go down, their ends spread over the borders of the nodes.

    Parameters
    ----------
    passes : dict
        For each edge (upper, lower) the middle points of the layers that it passes.
    centres, widths, node_height
        The nodes.

    Returns
    -------
    dict
        For each edge its points from the upper node's lower border to the lower node's upper border.
    """
    half = USED / 2 * widths
    wanted = {edge: _wanted(edge, between, centres[:, 0], half) for edge, between in passes.items()}
    ends: dict[Pair, list[float]] = {edge: [0.0, 0.0] for edge in passes}
    for side in (0, 1):
        at: dict[int, list[Pair]] = {}
        for edge in passes:
            at.setdefault(edge[side], []).append(edge)
        for node, edges in at.items():
            edges.sort(key=lambda edge: (wanted[edge][side], _direction(edge, passes[edge], side, centres), edge))
            places = apart([wanted[edge][side] for edge in edges], centres[node, 0], half[node])
            for edge, place in zip(edges, places, strict=True):
                ends[edge][side] = place
    rim = node_height / 2
    routes = {}
    for edge, between in passes.items():
        (a, b), (start, end) = edge, ends[edge]
        points = [(start, centres[a, 1] + rim)]
        for x, y in between:
            points += [(x, y - rim), (x, y + rim)]
        routes[edge] = np.array([*points, (end, centres[b, 1] - rim)])
    return routes


def _wanted(edge: Pair, between: list[Point], x: NDArray[np.float64], half: NDArray[np.float64]) -> tuple[float, float]:
    """Return where the two ends of an edge would be if it were alone: vertical if possible."""
    a, b = edge
    if between:
        first, last = between[0][0], between[-1][0]
        return _clip(first, x[a], half[a]), _clip(last, x[b], half[b])
    low, high = max(x[a] - half[a], x[b] - half[b]), min(x[a] + half[a], x[b] + half[b])
    if low <= high:
        middle = _clip((x[a] + x[b]) / 2, (low + high) / 2, (high - low) / 2)
        return middle, middle
    return _clip(x[b], x[a], half[a]), _clip(x[a], x[b], half[b])


def _clip(value: float, centre: float, half: float) -> float:
    return float(min(max(value, centre - half), centre + half))


def _direction(edge: Pair, between: list[Point], side: int, centres: NDArray[np.float64]) -> float:
    """Return how steeply an edge leaves to the right; among ends at the same position the flattest are outermost."""
    there = (between[0] if side == 0 else between[-1]) if between else tuple(centres[edge[1 - side]])
    here = centres[edge[side]]
    return float((there[0] - here[0]) / max(abs(there[1] - here[1]), 1.0))


def apart(wanted: list[float], centre: float, half: float, end_gap: float = END_GAP) -> list[float]:
    """Return the positions nearest to the wanted ones, in order, a gap apart and on the node (pooled violators)."""
    count = len(wanted)
    gap = min(end_gap, 2 * half / max(count - 1, 1))
    blocks: list[list[float]] = []  # [mean, size]
    for k, value in enumerate(wanted):
        blocks.append([value - k * gap, 1.0])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, size = blocks.pop()
            last = blocks[-1]
            last[:] = [(last[0] * last[1] + mean * size) / (last[1] + size), last[1] + size]
    flat = [mean for mean, size in blocks for _ in range(int(size))]
    top = centre + half - (count - 1) * gap
    return [min(max(mean, centre - half), top) + k * gap for k, mean in enumerate(flat)]


def cubics(route: NDArray[np.float64]) -> list[Cubic]:
    """Return the Bézier pieces of a route, vertical at every point: two control points and the end of each."""
    pieces: list[Cubic] = []
    for (x0, y0), (x1, y1) in zip(route.tolist(), route.tolist()[1:], strict=False):
        bend = min(max((y1 - y0) * 0.5, -abs(x1 - x0)), abs(x1 - x0))
        pieces.append(((x0, y0 + bend), (x1, y1 - bend), (x1, y1)))
    return pieces
