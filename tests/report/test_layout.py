from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.graph.cpdag import cpdag
from dagopt.graph.dag import as_graph
from dagopt.graph.order import is_acyclic
from dagopt.report.labels import label, label_width
from dagopt.report.layering import _crossings, downward, layered
from dagopt.report.layout import layered_layout
from dagopt.report.ports import cubics


@st.composite
def pdags(draw):
    n = draw(st.integers(1, 9))
    marks = draw(st.lists(st.sampled_from([0, 0, 1, 2, 3]), min_size=n * n, max_size=n * n))
    adjacency = np.zeros((n, n), dtype=np.int8)
    for i in range(n):
        for j in range(i):
            adjacency[i, j] = marks[i * n + j] & 1
            adjacency[j, i] = marks[i * n + j] >> 1
    return adjacency


def random_dag(n, degree, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    upper = np.triu(rng.random((n, n)) < 2 * degree / (n - 1), 1)
    return upper[np.ix_(order, order)].astype(np.int8)


def along_curve(route):
    """Return points along the drawn line of a route."""
    t = np.linspace(0, 1, 25)[:, None]
    here = np.asarray(route[0])
    points = []
    for a, b, end in cubics(route):
        a, b, end = map(np.asarray, (a, b, end))
        points.append((1 - t) ** 3 * here + 3 * (1 - t) ** 2 * t * a + 3 * (1 - t) * t**2 * b + t**3 * end)
        here = end
    return np.vstack(points)


def check(adjacency, layout):
    """Assert everything a drawing must have, whatever the graph."""
    n = len(adjacency)
    directed = {(int(i), int(j)) for i, j in np.argwhere(adjacency & ~adjacency.T)}
    undirected = {(int(i), int(j)) for i, j in np.argwhere(np.triu(adjacency & adjacency.T))}
    assert set(layout.routes) == directed | undirected
    half = np.column_stack([layout.widths / 2, np.full(n, layout.node_height / 2)])
    low, high = layout.centres - half, layout.centres + half
    assert low.min() >= -1e-6
    assert high[:, 0].max() <= layout.width + 1e-6
    assert high[:, 1].max() <= layout.height + 1e-6
    apart = (low[:, None] >= high[None, :] - 1e-6) | (high[:, None] <= low[None, :] + 1e-6)
    assert (apart.any(axis=2) | np.eye(n, dtype=bool)).all(), "two nodes overlap"
    for (a, b), route in layout.routes.items():
        for end, node in ((route[0], a), (route[-1], b)):
            assert low[node, 0] - 1e-6 <= end[0] <= high[node, 0] + 1e-6
            assert min(abs(end[1] - low[node, 1]), abs(end[1] - high[node, 1])) < 1e-6
        points = along_curve(route)
        for node in set(range(n)) - {a, b}:
            inside = ((points > low[node] + 1e-6) & (points < high[node] - 1e-6)).all(axis=1)
            assert not inside.any(), "an edge runs through a node that is not its end"


@given(pdags())
@settings(max_examples=30, deadline=None)
def test_any_pdag_is_drawn_without_overlaps(adjacency):
    """Nodes do not overlap, edges join their own nodes and run through no other."""
    check(adjacency, layered_layout(adjacency, [30.0 + 9 * k for k in range(len(adjacency))]))


@pytest.mark.parametrize("seed", range(4))
def test_edges_of_a_dag_go_down(seed):
    """In a DAG every parent is above its child."""
    dag = random_dag(30, 1.5, seed)
    layout = layered_layout(dag, [40.0] * 30)
    check(dag, layout)
    assert all(layout.centres[a, 1] < layout.centres[b, 1] for a, b in layout.routes)


@pytest.mark.parametrize("seed", range(4))
def test_arrows_of_an_essential_graph_go_down(seed):
    """Directed edges of an essential graph go down, undirected ones between two layers."""
    essential = cpdag(random_dag(20, 1.5, seed))
    layout = layered_layout(essential, [40.0] * 20)
    check(essential, layout)
    for a, b in layout.routes:
        assert layout.centres[a, 1] < layout.centres[b, 1] or essential[b, a]


@given(pdags())
@settings(max_examples=30, deadline=None)
def test_downward_keeps_the_skeleton(adjacency):
    """The DAG along which edges are drawn has the same skeleton, and is acyclic whatever is given."""
    dag = downward(adjacency)
    assert is_acyclic(dag)
    assert np.array_equal(dag | dag.T, adjacency | adjacency.T)


def test_layers_are_few_and_edges_short():
    """A chain with a side branch takes as many layers as its longest path, and the branch hangs next to it."""
    layers = layered([0, 1, 2, 3, 4], [(0, 1), (1, 2), (2, 3), (4, 3)], 5)
    assert layers.rows == [[0], [1], [2, 4], [3]] or layers.rows == [[0], [1], [4, 2], [3]]


@pytest.mark.parametrize("seed", range(5))
def test_trees_have_no_crossings(seed):
    """A tree is drawn without any crossing."""
    rng = np.random.default_rng(seed)
    edges = [(int(rng.integers(k)), k) for k in range(1, 30)]
    layers = layered(list(range(30)), edges, 30)
    below = {}
    for chain in layers.chains.values():
        for a, b in pairwise(chain):
            below.setdefault(a, []).append(b)
    full = {p: below.get(p, []) for row in layers.rows for p in row}
    assert sum(_crossings(a, b, full) for a, b in pairwise(layers.rows)) == 0


def test_two_children_hang_below_the_middle_of_their_parent():
    """A node stands in the middle above its two children."""
    layout = layered_layout([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [40.0, 40.0, 40.0])
    assert layout.centres[0, 0] == pytest.approx(layout.centres[1:, 0].mean())


def test_long_edges_are_straight():
    """The edge past a chain of three bends at most at its ends."""
    adjacency = np.zeros((5, 5), dtype=np.int8)
    for a, b in [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]:
        adjacency[a, b] = 1
    inner = layered_layout(adjacency, [40.0] * 5).routes[0, 4][1:-1]
    assert np.ptp(inner[:, 0]) < 1e-6


@pytest.mark.parametrize("n", [0, 1, 5])
def test_graphs_without_edges(n):
    """No nodes, one node, several nodes without edges: all are laid out."""
    layout = layered_layout(np.zeros((n, n), dtype=np.int8), [30.0] * n)
    assert layout.routes == {}
    assert len(layout.centres) == n


def test_the_layout_is_the_same_in_every_run():
    """Two runs give the same numbers."""
    dag = as_graph(dagopt.datasets.load_network("insurance").dag).adjacency
    first, second = (layered_layout(dag, [60.0] * len(dag)) for _ in range(2))
    assert np.array_equal(first.centres, second.centres)
    assert all(np.array_equal(first.routes[edge], second.routes[edge]) for edge in first.routes)


def test_two_hundred_nodes_have_places_of_their_own():
    """A graph of 200 nodes and about 300 edges: every node has a finite place, and no two share one."""
    layout = layered_layout(random_dag(200, 1.5, 0), [50.0] * 200)
    assert np.isfinite(layout.centres).all()
    assert len({tuple(place) for place in np.round(layout.centres, 3).tolist()}) == 200


def test_labels_are_one_printable_line():
    """Control characters become blanks and the middle of a long name is left out."""
    assert label("a\nb\tc") == "a b c"
    assert label("x" * 40) == "x" * 14 + "…" + "x" * 13
    assert label_width("高", 10) > label_width("m", 10) > label_width("i", 10) > 0
    assert label_width("e\u0301", 10) == label_width("e", 10)
