"""The first half of a layered drawing [1]_: which layer each node is in, and the order within the layers.

References
----------
.. [1] K. Sugiyama, S. Tagawa, M. Toda, "Methods for visual understanding of hierarchical system structures", IEEE
   Transactions on Systems, Man, and Cybernetics 11(2), 1981, DOI 10.1109/TSMC.1981.4308636.
.. [2] E. R. Gansner, E. Koutsofios, S. C. North, K.-P. Vo, "A technique for drawing directed graphs", IEEE
   Transactions on Software Engineering 19(3), 1993, DOI 10.1109/32.221135.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dagopt.graph.cpdag import extend_pdag
from dagopt.graph.order import is_acyclic, topological_order
from dagopt.lp.highs import LinearProgram

__all__ = ["Layers", "downward", "layered"]

SWEEPS = 12  # alternating passes over the layers for each first order
Pair = tuple[int, int]


@dataclass(frozen=True)
class Layers:
    """Nodes and the points where long edges pass, in layers from top to bottom.

    Attributes
    ----------
    rows : list of list of int
        The layers, each from left to right. Numbers from ``n_nodes`` on are points of long edges.
    chains : dict
        For each edge (upper, lower) the points that it passes, its two ends included.
    n_nodes : int
        Number of real nodes.
    """

    rows: list[list[int]]
    chains: dict[Pair, list[int]]
    n_nodes: int


def downward(adjacency: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return a DAG with the skeleton of the graph, along which its edges are drawn downwards.

    Parameters
    ----------
    adjacency : ndarray of int8
        Any PDAG. A DAG is returned as it is, a PDAG as a DAG that extends it if there is one; otherwise undirected
        edges follow an order of the directed ones, and edges that close a cycle are reversed.
    """
    if is_acyclic(adjacency):
        return adjacency
    member = extend_pdag(adjacency)
    if member is not None:
        return member
    directed = adjacency & ~adjacency.T
    order = topological_order(directed) if is_acyclic(directed) else np.arange(len(adjacency))
    rank = np.empty(len(adjacency), dtype=np.intp)
    rank[order] = np.arange(len(adjacency))
    joined = adjacency | adjacency.T
    return np.where(rank[:, None] < rank[None, :], joined, 0).astype(np.int8)


def layered(nodes: list[int], edges: list[Pair], n_nodes: int) -> Layers:
    """Put the nodes of one connected part into layers with short edges and few crossings.

    Parameters
    ----------
    nodes : list of int
        The nodes of the part.
    edges : list of (int, int)
        Its edges, without a cycle.
    n_nodes : int
        Number of nodes of the whole graph; points of long edges are numbered from here on.
    """
    level = _levels(nodes, edges)
    chains: dict[Pair, list[int]] = {}
    rows: list[list[int]] = [[] for _ in range(max(level.values()) + 1)]
    for node in nodes:
        rows[level[node]].append(node)
    fresh = n_nodes
    for a, b in edges:
        between = range(level[a] + 1, level[b])
        chains[a, b] = [a, *range(fresh, fresh + len(between)), b]
        for point, row in zip(chains[a, b][1:-1], between, strict=True):
            rows[row].append(point)
        fresh += len(between)
    return Layers(_ordered(rows, list(chains.values())), chains, n_nodes)


def _levels(nodes: list[int], edges: list[Pair]) -> dict[int, int]:
    """Return the layer of each node: as few layers as possible and, given that, the least total edge length.

    The linear program of section 2 of [2]_; its matrix is that of a network, so its vertices are whole numbers.
    """
    if not edges:
        return dict.fromkeys(nodes, 0)
    place = {node: k for k, node in enumerate(nodes)}
    tails, heads = (np.array([place[edge[k]] for edge in edges]) for k in (0, 1))
    n = len(nodes)
    program = LinearProgram(maximise=False)
    height = float(_height(n, tails, heads))
    for cost in (np.bincount(heads, minlength=n) - np.bincount(tails, minlength=n)).tolist():
        program.add_column(cost, 0.0, height)
    for tail, head in zip(tails.tolist(), heads.tolist(), strict=True):
        program.add_row(1.0, np.inf, (head, tail), (1.0, -1.0))
    return {node: int(value + 0.5) for node, value in zip(nodes, program.solve().point, strict=True)}


def _height(n: int, tails: NDArray[np.intp], heads: NDArray[np.intp]) -> int:
    """Return the number of edges of a longest path."""
    adjacency = np.zeros((n, n), dtype=np.int8)
    adjacency[tails, heads] = 1
    longest = np.zeros(n, dtype=np.intp)
    for node in topological_order(adjacency):
        children = np.flatnonzero(adjacency[node])
        longest[children] = np.maximum(longest[children], longest[node] + 1)
    return int(longest.max())


def _ordered(rows: list[list[int]], chains: list[list[int]]) -> list[list[int]]:
    """Order the layers by sweeps of barycentres and exchanges of neighbours, from two first orders."""
    above: dict[int, list[int]] = {point: [] for row in rows for point in row}
    below: dict[int, list[int]] = {point: [] for row in rows for point in row}
    for chain in chains:
        for a, b in pairwise(chain):
            below[a].append(b)
            above[b].append(a)
    best, fewest = rows, None
    for turned in (False, True):
        order = _depth_first(rows, above, below, turned)
        for sweep in range(SWEEPS):
            _sweep(order, above if sweep % 2 == 0 else below, down=sweep % 2 == 0, turned=sweep % 4 >= 2)
            if sweep % 2:
                _exchange(order, above, below)
            crossings = sum(_crossings(row, low, below) for row, low in pairwise(order))
            if fewest is None or crossings < fewest:
                best, fewest = [list(row) for row in order], crossings
            if fewest == 0:
                return best
    return best


def _depth_first(
    rows: list[list[int]], above: dict[int, list[int]], below: dict[int, list[int]], turned: bool
) -> list[list[int]]:
    """Return a first order: the order in which a depth-first walk meets the points, from the top or the bottom."""
    row_of = {point: k for k, row in enumerate(rows) for point in row}
    order: list[list[int]] = [[] for _ in rows]
    seen: set[int] = set()
    starts = [point for row in (rows[::-1] if turned else rows) for point in row]
    for start in starts:
        stack = [start]
        while stack:
            point = stack.pop()
            if point in seen:
                continue
            seen.add(point)
            order[row_of[point]].append(point)
            onward = [*below[point], *above[point]] if turned else [*above[point], *below[point]]
            stack.extend(reversed(onward))
    return order


def _sweep(order: list[list[int]], towards: dict[int, list[int]], *, down: bool, turned: bool) -> None:
    """Sort each layer by the mean position of the neighbours in the layer just passed; points without any stay."""
    layers = range(1, len(order)) if down else range(len(order) - 2, -1, -1)
    for k in layers:
        fixed = order[k - 1] if down else order[k + 1]
        place = {point: float(i) for i, point in enumerate(fixed)}
        shrink = len(fixed) / len(order[k])
        row = order[k][::-1] if turned else order[k]
        mean = {}
        for i, point in enumerate(order[k]):
            near = towards[point]
            mean[point] = sum(place[other] for other in near) / len(near) if near else i * shrink
        order[k] = sorted(row, key=mean.__getitem__)


def _exchange(order: list[list[int]], above: dict[int, list[int]], below: dict[int, list[int]]) -> None:
    """Exchange neighbours in a layer while that removes crossings."""
    for k, row in enumerate(order):
        up = {point: i for i, point in enumerate(order[k - 1])} if k else {}
        down = {point: i for i, point in enumerate(order[k + 1])} if k + 1 < len(order) else {}
        ends = {p: (sorted(up[q] for q in above[p]), sorted(down[q] for q in below[p])) for p in row}
        for _ in range(4):
            changed = False
            for i in range(len(row) - 1):
                a, b = ends[row[i]], ends[row[i + 1]]
                if _inversions(a[0], b[0]) + _inversions(a[1], b[1]) > _inversions(b[0], a[0]) + _inversions(
                    b[1], a[1]
                ):
                    row[i], row[i + 1] = row[i + 1], row[i]
                    changed = True
            if not changed:
                break


def _inversions(left: list[int], right: list[int]) -> int:
    """Count the pairs in which an end of the left point lies beyond an end of the right one."""
    return sum(1 for x in left for y in right if x > y)


def _crossings(row: list[int], low: list[int], below: dict[int, list[int]]) -> int:
    """Count the crossings between two layers."""
    place = {point: i for i, point in enumerate(low)}
    passed: list[int] = []
    total = 0
    for point in row:
        ends = sorted(place[other] for other in below[point])
        total += sum(len(passed) - bisect_right(passed, end) for end in ends)
        for end in ends:
            insort(passed, end)
    return total
