"""Where a dynamic network is drawn: past and present side by side, or folded to one node per series.

Side by side, each moment is a column of nodes, the oldest on the left, and each series a row; edges within the present
are arcs on its right. Folded, the series stand on an ellipse, where a straight line between two of them passes no
third, and an edge has its lag beside it; an edge of a series to itself is a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats
from dagopt.data.lags import Lags
from dagopt.report.layering import Pair
from dagopt.report.layout import Layout
from dagopt.report.ports import apart

__all__ = ["folded_layout", "moment_in_words", "moments_layout"]

ROW_GAP = 22.0  # between two series
MOMENT_GAP = 120.0  # between two moments, at least
SLOPE = 0.16  # of the longest way up or down between two moments, added to their gap
TITLE = 30.0  # above the first row, for the names of the moments
USED = 0.74  # share of a node's height that edges may end on
END_GAP = 7.0  # between two ends on one border, if there is room
ARC, ARC_ROW, WIDEST_ARC = 34.0, 17.0, 260.0  # how far an arc within a moment leaves: at least, per row, at most
BETWEEN = 4.0  # between two lines that pass a moment between the same rows
SWEEPS = 40  # over the order of the series
TITLE_LETTER = 7.0  # width of a letter of a title, at most
NEIGHBOUR_GAP = 70.0  # between neighbours on the ellipse
ROUND = 0.66  # height of the ellipse by its width
SMALLEST, PER_EDGE = 170.0, 8.0  # half of the width of an ellipse, at least, and at least by the number of edges
ASIDE = 0.8  # beyond this share of that width a loop is drawn beside its node, not above or below
BEND, BEND_MORE = 0.10, 0.13  # of an edge by its length, and more for each further lag between the same series
LOOP, LOOP_MORE = 30.0, 20.0  # height of a loop, and more for each further lag
LABEL_AT = (
    34,
    28,
    42,
    24,
    50,
    60,
    68,
)  # per cent of an edge, where its lag may stand; the middle, where lines meet, late
FINE = 1600  # points of an edge among which its ends at the borders are found
CLEAR_OF_LABELS, CLEAR_OF_LINES = 18.0, 10.0  # how far a lag should be from others and from lines


def moment_in_words(lag: int) -> str:
    """Return the name of a moment.

    >>> moment_in_words(0), moment_in_words(1), moment_in_words(3)
    ('now', '1 moment before', '3 moments before')
    """
    return "now" if lag == 0 else f"{lag} moment{'' if lag == 1 else 's'} before"


def moments_layout(adjacency: NDArray[np.int8], lags: Lags, widths: Sequence[float], node_height: float) -> Layout:
    """Lay out the moments side by side.

    Parameters
    ----------
    adjacency : ndarray of int8
        The graph over the lagged columns; ``[i, j] = 1`` means i → j, ones both ways an undirected edge.
    lags : Lags
        The layout of the columns in time.
    widths : sequence of float
        The width of each node.
    node_height : float
        The height of every node.
    """
    n, wide = lags.n_series, np.asarray(widths, dtype=float)
    row = _rows(adjacency, lags)
    edges = _edges(adjacency)
    step = node_height + ROW_GAP
    down = TITLE + node_height / 2 + row * step
    room = wide.reshape(lags.count + 1, n).max(axis=1)
    room = np.maximum(room, [TITLE_LETTER * len(moment_in_words(lag)) for lag in range(lags.count + 1)])
    rise = max((abs(down[i % n] - down[j % n]) for i, j in edges if i >= n), default=0.0)
    gap = MOMENT_GAP + SLOPE * rise
    left = np.array([room[lag + 1 :].sum() + gap * (lags.count - lag) for lag in range(lags.count + 1)])
    middle = left + room / 2
    column = np.arange(len(wide))
    centres = np.column_stack([middle[column // n], down[column % n]])
    ends = _ends(edges, centres, n, node_height)
    used: dict[tuple[int, int], int] = {}
    routes, bends = {}, {}
    for i, j in edges:
        y0, y1 = ends[i, j]
        if i < n:
            x0, x1 = centres[i, 0] + wide[i] / 2, centres[j, 0] + wide[j] / 2
            out = max(x0, x1) + min(ARC + ARC_ROW * abs(int(row[i]) - int(row[j])), WIDEST_ARC)
            bends[i, j] = np.array([[x0, y0], [out, y0], [out, y1], [x1, y1]])
        else:
            points = [(centres[i, 0] + wide[i] / 2, y0)]
            for lag in range(i // n - 1, 0, -1):  # between the rows of the moments that it passes
                share = (i // n - lag) / (i // n)
                y = _between(y0 + share * (y1 - y0), lag, step, node_height, used, n)
                points += [(left[lag], y), (left[lag] + room[lag], y)]
            bends[i, j] = _across([*points, (centres[j, 0] - wide[j] / 2, y1)])
        routes[i, j] = bends[i, j][[0, -1]]
    arcs = [bends[edge][1, 0] for edge in edges if edge[0] < n]
    right = max([left[0] + room[0], *(left[0] + room[0] + 0.75 * (x - left[0] - room[0]) for x in arcs)])
    titles = tuple((float(middle[lag]), TITLE / 3, moment_in_words(lag)) for lag in range(lags.count + 1))
    lowest = [float(bend[:, 1].max()) for bend in bends.values()]  # a line may pass below the last row
    height = max([float(TITLE + n * step - ROW_GAP), *lowest])
    return Layout(centres, wide, node_height, routes, float(right), height, bends, titles=titles)


def folded_layout(adjacency: NDArray[np.int8], lags: Lags, widths: Sequence[float], node_height: float) -> Layout:
    """Lay out one node per series, with the lags beside the edges; the parameters are those of `moments_layout`.

    Nodes of the past have no place, and edges from there begin at the present of their series.
    """
    n, wide = lags.n_series, np.asarray(widths, dtype=float)
    place = np.empty(n, dtype=np.int64)
    place[np.argsort(_rows(adjacency, lags))] = np.arange(n)
    edges = sorted(_edges(adjacency))
    around = n * (wide[:n].max(initial=0.0) + NEIGHBOUR_GAP) / (2 * np.pi)
    across = max(SMALLEST, around, PER_EDGE * len(edges)) if n > 1 else 0.0
    angle = 2 * np.pi * place / n - np.pi / 2
    own = np.column_stack([across * np.cos(angle), ROUND * across * np.sin(angle)])
    centres = np.full((len(wide), 2), np.nan)
    centres[:n] = own
    bends: dict[Pair, Floats] = {}
    count: dict[Pair, int] = {}
    for i, j in edges:
        a, b = i % n, j % n
        rank = count[a, b] = count.get((a, b), -1) + 1
        if a == b:
            bends[i, j] = _loop(own[a], rank, (wide[a], node_height), across)
        else:
            bends[i, j] = _chord(own[a], own[b], BEND + BEND_MORE * rank, (wide[a], wide[b]), node_height)
    points = [own - [[w / 2, node_height / 2] for w in wide[:n]], own + [[w / 2, node_height / 2] for w in wide[:n]]]
    points += [_points(bend) for bend in bends.values()]
    corner, end = np.vstack(points).min(axis=0), np.vstack(points).max(axis=0)
    bends = {edge: bend - corner for edge, bend in bends.items()}
    labels = {(i, j): (float(x), float(y), str(i // n)) for (i, j), (x, y) in _label_places(bends, n).items()}
    routes = {edge: bend[[0, -1]] for edge, bend in bends.items()}
    width, height = (float(size) for size in end - corner)
    return Layout(centres - corner, wide, node_height, routes, width, height, bends, labels)


def _label_places(bends: dict[Pair, Floats], n: int) -> dict[Pair, Floats]:
    """Return where the lags stand, if possible away from each other and from other lines."""
    found: dict[Pair, Floats] = {}
    lines = {edge: _points(bend, 40) for edge, bend in bends.items()}
    for edge, bend in bends.items():
        spots = _points(bend, 100)[[50] if edge[0] % n == edge[1] % n else list(LABEL_AT)]
        room = np.ones(len(spots))
        for others, clear in (
            (list(found.values()), CLEAR_OF_LABELS),
            ([point for other, line in lines.items() if other != edge for point in line], CLEAR_OF_LINES),
        ):
            if others:
                apart_by = np.hypot(*(spots[:, None] - np.array(others)[None]).transpose(2, 0, 1)).min(axis=1)
                room = np.minimum(room, apart_by / clear)
        found[edge] = spots[int(np.argmax(room))]
    return found


def _edges(adjacency: NDArray[np.int8]) -> list[Pair]:
    """Return the edges, an undirected one with its smaller node first."""
    return [(int(i), int(j)) for i, j in np.argwhere(adjacency) if not (adjacency[j, i] and j < i)]


def _rows(adjacency: NDArray[np.int8], lags: Lags) -> NDArray[np.int64]:
    """Return the row of each series, so that series with edges between them are near each other."""
    n = lags.n_series
    tied = np.zeros((n, n))
    for i, j in _edges(adjacency):
        tied[i % n, j % n] += 1
        tied[j % n, i % n] += 1
    np.fill_diagonal(tied, 0.0)
    order = np.array([node for part in _parts(tied) for node in _along(tied, part)], dtype=np.int64)
    best = np.argsort(order)
    if _length(tied, np.arange(n)) <= _length(tied, best):
        order = best = np.arange(n)
    order, best = order.copy(), best.copy()
    for _ in range(SWEEPS):  # neighbours change places while that helps
        changed = False
        for k in range(n - 1):
            a, b = order[k], order[k + 1]
            ways = np.sign(best - k - 0.5)  # whether the others are below
            gain = ((tied[b] - tied[a]) * ways)[np.arange(n) != a]
            if gain[np.arange(n - 1) != (b if b < a else b - 1)].sum() < -1e-9:
                order[k], order[k + 1] = b, a
                best[a], best[b] = k + 1, k
                changed = True
        if not changed:
            break
    return best.astype(np.int64)


def _parts(tied: Floats) -> list[list[int]]:
    """Return the series that are joined, directly or through others, by their first ones."""
    found: list[list[int]] = []
    left = set(range(len(tied)))
    while left:
        part = [min(left)]
        left.discard(part[0])
        for node in part:
            near = [k for k in sorted(left) if tied[node, k]]
            part += near
            left.difference_update(near)
        found.append(part)
    return found


def _along(tied: Floats, part: list[int]) -> list[int]:
    """Return joined series by the second eigenvector of their Laplacian, in which neighbours have like values."""
    own = tied[np.ix_(part, part)]
    if len(part) < 3:
        return sorted(part)
    values = np.linalg.eigh(np.diag(own.sum(axis=1)) - own)[1][:, 1]
    values = values * (1.0 if values[int(np.argmin(part))] <= 0 else -1.0)  # the first series of the table above
    return [part[k] for k in np.argsort(np.round(values, 9), kind="stable")]


def _length(tied: Floats, row: NDArray[np.int64]) -> float:
    return float((tied * np.abs(row[:, None] - row[None, :])).sum())


def _ends(edges: list[Pair], centres: Floats, n: int, node_height: float) -> dict[Pair, tuple[float, float]]:
    """Return at which heights edges leave and arrive, spread over the sides of the nodes."""
    at: dict[tuple[int, str], list[tuple[tuple[float, float], Pair, int]]] = {}
    for edge in edges:
        i, j = edge
        for end, (here, there) in enumerate(((i, j), (j, i))):
            way = float(centres[there % n, 1] - centres[here % n, 1])
            if i < n:  # arcs: the shortest ones outermost, so that they do not cross the others
                key = (np.sign(way), -1 / way if way else 0.0)
                at.setdefault((here, "right"), []).append((key, edge, end))
            else:
                at.setdefault((here, "right" if end == 0 else "left"), []).append(((way, i), edge, end))
    found: dict[Pair, list[float]] = {edge: [0.0, 0.0] for edge in edges}
    for (node, _), own in at.items():
        own.sort()
        y = float(centres[node, 1])
        for (_, edge, end), place in zip(own, apart([y] * len(own), y, USED / 2 * node_height, END_GAP), strict=True):
            found[edge][end] = place
    return {edge: (a, b) for edge, (a, b) in found.items()}


def _between(
    wanted: float, lag: int, step: float, node_height: float, used: dict[tuple[int, int], int], n: int
) -> float:
    """Return the height nearest to the wanted one that is between two rows, beside lines that already pass there."""
    gap = int(np.clip(round((wanted - TITLE - node_height - ROW_GAP / 2) / step), -1, n - 1))
    turn = used[lag, gap] = used.get((lag, gap), -1) + 1
    aside = BETWEEN * ((turn + 1) // 2) * (-1 if turn % 2 else 1)
    limit = ROW_GAP / 2 - 2
    return float(TITLE + node_height + gap * step + ROW_GAP / 2 + np.clip(aside, -limit, limit))


def _across(points: list[tuple[float, float]]) -> Floats:
    """Return the Bézier points of a line that is horizontal at each of the points."""
    found = [points[0]]
    for (x0, y0), (x1, y1) in pairwise(points):
        reach = (x1 - x0) / 2
        found += [(x0 + reach, y0), (x1 - reach, y1), (x1, y1)]
    return np.array(found)


def _loop(centre: Floats, rank: int, size: tuple[float, float], across: float) -> Floats:
    """Return an edge from a node to itself, on the side of the node that is away from the middle of the ellipse."""
    half, far = 7.0 + 3.0 * rank, (LOOP + LOOP_MORE * rank) * 4 / 3
    if abs(centre[0]) > ASIDE * across > 0:
        way = np.sign(centre[0])
        x, y = centre[0] + way * size[0] / 2, centre[1]
        return np.array(
            [[x, y - half], [x + way * far, y - 2.2 * half], [x + way * far, y + 2.2 * half], [x, y + half]]
        )
    way = -1.0 if centre[1] <= 1e-9 else 1.0
    x, y = centre[0], centre[1] + way * size[1] / 2
    return np.array([[x - half, y], [x - 2.2 * half, y + way * far], [x + 2.2 * half, y + way * far], [x + half, y]])


def _chord(start: Floats, end: Floats, bend: float, widths: tuple[float, float], node_height: float) -> Floats:
    """Return an edge between two nodes, bent to its left, from border to border."""
    way = end - start
    aside = bend * np.array([way[1], -way[0]])
    whole = np.array([start, start + way / 3 + aside, end - way / 3 + aside, end])
    steps = np.linspace(0.0, 1.0, FINE + 1)
    points = _points(whole, FINE)
    leaves, arrives = (
        np.asarray((np.abs(points - centre) > np.array([width / 2, node_height / 2])).any(axis=1))
        for centre, width in zip((start, end), widths, strict=True)
    )
    first = int(np.argmax(leaves))
    last = len(steps) - 1 - int(np.argmax(arrives[::-1]))
    if last <= first:
        return whole
    return _piece(whole, float(steps[first]), float(steps[last]))


def _points(bend: Floats, count: int = 24) -> Floats:
    """Return points of a line of one or several cubic pieces, evenly by its parameter."""
    found = []
    for k in range(0, len(bend) - 1, 3):
        t = np.linspace(0.0, 1.0, count + 1)[:, None]
        a, b, c, d = bend[k : k + 4]
        found.append((1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d)
    return np.vstack(found)


def _piece(bend: Floats, start: float, end: float) -> Floats:
    """Return the part of a cubic between two parameters (de Casteljau)."""

    def split(points: Floats, t: float) -> tuple[Floats, Floats]:
        ab, bc, cd = (points[k] + t * (points[k + 1] - points[k]) for k in range(3))
        abc, bcd = ab + t * (bc - ab), bc + t * (cd - bc)
        middle = abc + t * (bcd - abc)
        return np.array([points[0], ab, abc, middle]), np.array([middle, bcd, cd, points[3]])

    _, rest = split(bend, start)
    kept, _ = split(rest, (end - start) / (1 - start))
    return kept
