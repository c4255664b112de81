"""Drawings of dynamic networks: past and present side by side, and one node per series."""

import json
import re
from itertools import pairwise

import numpy as np
import pytest

import dagopt
from dagopt.data.lags import Lags
from dagopt.errors import InputError
from dagopt.graph.series_graph import SeriesGraph
from dagopt.report.html import render_report
from dagopt.report.in_time import folded_layout, moments_layout
from dagopt.report.notebook import graph_html

HEIGHT = 28.0


def series_graph(n: int, count: int, seed: int, density: float = 0.25) -> SeriesGraph:
    """Return a random dynamic network in which some series depend on their own past."""
    rng = np.random.default_rng(seed)
    lags = Lags(tuple(f"s{k}" for k in range(n)), count)
    size = n * (count + 1)
    adjacency = np.zeros((size, size), dtype=np.int8)
    adjacency[:, :n] = rng.random((size, n)) < density
    order = rng.permutation(n)
    adjacency[:n, :n] &= (order[:, None] < order[None, :]).astype(np.int8)
    return SeriesGraph(adjacency, lags.names, lags)


def points_of(line: np.ndarray, count: int = 60) -> np.ndarray:
    """Return points of a line of cubic pieces, by the formula of Bernstein."""
    t = np.linspace(0, 1, count)[:, None]
    pieces = [line[k : k + 4] for k in range(0, len(line) - 1, 3)]
    return np.vstack(
        [(1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t**2 * (1 - t) * c + t**3 * d for a, b, c, d in pieces]
    )


def inside(points: np.ndarray, centre: np.ndarray, width: float, shrink: float = 1.0) -> bool:
    """Say whether a line passes through a node."""
    away = np.abs(points - centre)
    return bool(((away[:, 0] < width / 2 - shrink) & (away[:, 1] < HEIGHT / 2 - shrink)).any())


@pytest.mark.parametrize(("n", "count", "seed"), [(1, 1, 0), (2, 1, 1), (5, 1, 2), (6, 3, 3), (12, 2, 4)])
def test_moments_stand_side_by_side(n: int, count: int, seed: int) -> None:
    """Each lag is a column, the oldest on the left, each series a row, and no line passes through a node."""
    graph = series_graph(n, count, seed)
    widths = [40.0 + 3 * (k % 7) for k in range(len(graph.names))]
    layout = moments_layout(graph.adjacency, graph.lags, widths, HEIGHT)
    x, y = layout.centres[:, 0].reshape(count + 1, n), layout.centres[:, 1].reshape(count + 1, n)
    assert (x == x[:, :1]).all()
    assert (np.diff(x[:, 0]) < 0).all()
    assert (y == y[0]).all()
    assert len(set(y[0])) == n
    assert set(layout.routes) == {(int(i), int(j)) for i, j in np.argwhere(graph.adjacency)}
    for i, j in layout.routes:
        passed = points_of(layout.line((i, j)))
        assert all(not inside(passed, layout.centres[k], widths[k]) for k in range(len(widths)))
        assert (passed >= -1).all()
        assert (passed <= [layout.width + 1, layout.height + 1]).all()
        if i >= n:  # from the past, always to the right
            assert (np.diff(passed[:, 0]) >= -1e-9).all()
    assert [text for *_, text in layout.titles][: min(count + 1, 2)] == ["now", "1 moment before"]


@pytest.mark.parametrize(("n", "count", "seed"), [(1, 2, 0), (2, 2, 1), (5, 1, 2), (6, 3, 3), (12, 2, 4)])
def test_folded_lines_end_at_their_series(n: int, count: int, seed: int) -> None:
    """A line goes from border to border of its two series, passes no other one, and has its lag beside it."""
    graph = series_graph(n, count, seed, 0.3)
    widths = [46.0] * len(graph.names)
    layout = folded_layout(graph.adjacency, graph.lags, widths, HEIGHT)
    assert np.isfinite(layout.centres[:n]).all()
    assert np.isnan(layout.centres[n:]).all()
    for (i, j), bend in layout.bends.items():
        a, b = i % n, j % n
        for end, node in ((bend[0], a), (bend[-1], b)):
            away = np.abs(end - layout.centres[node])
            assert max(away[0] - 23.0, away[1] - HEIGHT / 2) == pytest.approx(0.0, abs=2.0)
        passed = points_of(bend)
        assert (passed >= -1e-6).all()
        assert (passed <= [layout.width + 1e-6, layout.height + 1e-6]).all()
        assert layout.labels[i, j][2] == str(i // n)
        if count == 1:
            assert all(not inside(passed, layout.centres[k], 46.0, 2.0) for k in range(n) if k not in (a, b))
    lines = [tuple(np.round(bend, 3).ravel()) for bend in layout.bends.values()]
    assert len(set(lines)) == len(lines)  # no two edges are drawn over each other


def test_series_with_edges_between_them_are_near() -> None:
    """A chain in a shuffled order comes out as a chain: every row beside the next."""
    n, rng = 8, np.random.default_rng(5)
    chain = rng.permutation(n)
    lags = Lags(tuple("abcdefgh"), 1)
    adjacency = np.zeros((2 * n, 2 * n), dtype=np.int8)
    for a, b in pairwise(chain):
        adjacency[n + a, b] = 1
    layout = moments_layout(adjacency, lags, [40.0] * 2 * n, HEIGHT)
    steps = np.abs(np.diff(layout.centres[chain, 1]))
    assert steps.max() == pytest.approx(HEIGHT + 22.0)


def test_heads_point_along_their_lines() -> None:
    """The tip of a head is the end of its line, and its base is as far back as it is long."""
    graph = series_graph(5, 2, 7)
    for layout in (f(graph.adjacency, graph.lags, [46.0] * 15, HEIGHT) for f in (moments_layout, folded_layout)):
        for edge, bend in layout.bends.items():
            left, tip, right = layout.head(edge, 8.0, 6.0)
            assert tip == pytest.approx(bend[-1])
            assert np.hypot(*((left + right) / 2 - tip)) == pytest.approx(8.0)
            assert layout.line(edge, 8.0)[-1] == pytest.approx((left + right) / 2)


@pytest.fixture(scope="module")
def learned():
    made = dagopt.simulate_series(4, 300, lags=2, random_state=1)
    return dagopt.learn(made.data, lags=2, progress=False)


def test_the_page_has_both_drawings(learned) -> None:
    """The page has one node per lagged column, a button, and the folded places of every series and edge."""
    page = render_report(learned)
    assert page.count('class="node') == 12
    assert 'id="fold-time"' in page
    assert page.count('class="lag"') == learned.graph.n_edges
    payload = json.loads(re.search(r'id="payload">(.*?)</script>', page, re.S)[1])
    assert payload["folded"]["series"] == 4
    assert len(payload["folded"]["places"]) == 4
    assert len(payload["folded"]["paths"]) == learned.graph.n_edges
    assert "<dt>Series</dt>" in page
    plain = render_report(dagopt.learn(dagopt.simulate(4, 100, random_state=0).data, progress=False))
    assert 'id="fold-time"' not in plain
    assert '"folded":null' in plain


def test_notebooks_and_plots_have_them_too(learned) -> None:
    """A notebook shows past and present; a plot shows that, or one node per series."""
    shown = graph_html(learned.graph)
    assert "2 moments before" in shown
    assert "x0(t-2)" in shown

    def nodes(axes):
        return {patch.get_gid() for patch in axes.patches if patch.get_gid()}

    assert len(nodes(learned.plot())) == 12
    assert nodes(learned.plot(folded=True)) == {f"node x{k}" for k in range(4)}
    with pytest.raises(InputError, match="one node per series"):
        dagopt.learn(dagopt.simulate(4, 100, random_state=0).data, progress=False).plot(folded=True)
