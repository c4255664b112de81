"""The graph as SVG, drawn once for the DAG and the essential graph: a change of style hides the heads.

The page has a drawing that can be moved and asked; notebooks have the same one as a still picture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from dagopt.report.in_time import folded_layout, moments_layout
from dagopt.report.labels import label, label_width
from dagopt.report.layout import Layout, layered_layout
from dagopt.report.view import Edge, View

__all__ = ["box", "edge_paths", "folded", "graph_svg", "line_width", "node_svg", "node_widths", "still_svg"]

FONT = 13.0  # pixels
PADDING = 11.0  # pixels left and right of a name
NODE_HEIGHT = 28.0  # pixels
MARGIN = 16.0  # pixels around the drawing
HEAD = 8.0  # length of an arrow head
STILL = """.dagopt-still{background:#fff;border-radius:8px;max-width:100%;height:auto}
.dagopt-still .node rect{fill:#eaf1f8;stroke:#7d93ab;stroke-width:1.2}
.dagopt-still .node text{fill:#1a2430;font:13px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.dagopt-still .edge path{fill:none;stroke:#5a6877}.dagopt-still .edge .head{fill:#5a6877;stroke:none}
.dagopt-still .is-weak path{stroke:#93a1af}.dagopt-still .is-weak .head{fill:#93a1af}
.dagopt-still .is-overwhelming path{stroke:#22313f}.dagopt-still .is-overwhelming .head{fill:#22313f}
.dagopt-still .leaning .head{fill:#44505d;opacity:.4}.dagopt-still .near{display:none}
.dagopt-still .undirected .head,.dagopt-still .edge:not(.undirected) .rest{display:none}
.dagopt-still .moment{fill:#566474;font:13px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.dagopt-still .idle{opacity:.5}.dagopt-still .lag circle{fill:#fff}
.dagopt-still .lag text{fill:#44505d;font:11px system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}"""
THINNEST, THICKEST, PLAIN = 1.0, 5.0, 1.6  # pixels, of an edge by what it is worth, and without figures


def graph_svg(view: View) -> tuple[str, Layout]:
    """Return the SVG element of the graph, and its layout.

    Nodes are groups of the class ``node`` with their number in ``data-node``; edges of the class ``edge``, also
    ``undirected`` if the essential graph leaves the direction open, with ``data-edge`` and, if it is known,
    ``data-strength``. Series are drawn with past and present side by side; the lags of their edges are there for the
    folded drawing.
    """
    layout = _laid_out(view)
    drawn = folded(view)
    edges = _edges(view, layout, layout.labels if drawn is None else drawn.labels)
    nodes = [node_svg(k, name, layout, kind=_kind(k, view)) for k, name in enumerate(view.names)]
    mode = "" if view.starts_with_dag else " essential"
    text = (
        f'<svg id="graph" class="graph{mode}" role="group" tabindex="0"'
        f' aria-label="The graph: arrow keys move it, plus and minus zoom, 0 shows all of it"'
        f' viewBox="{box(layout)}">\n<g id="scene">\n{_titles(layout)}<g id="edges">\n'
        + edges
        + '\n</g>\n<g id="nodes">\n'
        + "\n".join(nodes)
        + "\n</g>\n</g>\n</svg>"
    )
    return text, layout


def still_svg(view: View, *, fold: bool = False) -> str:
    """Return the essential graph as a picture for notebooks: nothing in it can be clicked, and it brings its style.

    ``fold`` draws series as one node each.
    """
    layout = (folded(view) if fold else None) or _laid_out(view)
    places = [k for k in range(len(view.names)) if np.isfinite(layout.centres[k, 0])]
    nodes = "\n".join(node_svg(k, view.names[k], layout, is_button=False, kind=_kind(k, view)) for k in places)
    wide = layout.width + 2 * MARGIN
    what = f"{len(view.names)} columns" if view.lags is None else f"{view.lags.n_series} series"
    told = f"A graph of {what} and {len(view.edges)} edges"
    edges = _titles(layout) + _edges(view, layout, layout.labels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dagopt-still" role="img" aria-label="{told}"'
        f' width="{wide:.0f}" viewBox="{box(layout)}"><style>{STILL}</style>\n{edges}\n{nodes}\n</svg>'
    )


def folded(view: View) -> Layout | None:
    """Return the layout with one node per series; None if rows are not moments."""
    if view.lags is None:
        return None
    return folded_layout(_shown(view), view.lags, node_widths(view.names), NODE_HEIGHT)


def _laid_out(view: View) -> Layout:
    """Return the layout of a view: layers, or moments side by side."""
    if view.lags is not None:
        return moments_layout(_shown(view), view.lags, node_widths(view.names), NODE_HEIGHT)
    return layered_layout(view.drawn, node_widths(view.names), node_height=NODE_HEIGHT)


def node_widths(names: Sequence[str]) -> list[float]:
    """Return the widths of nodes that hold these names, in pixels."""
    return [max(label_width(label(name), FONT) + 2 * PADDING, 34.0) for name in names]


def _shown(view: View) -> NDArray[np.int8]:
    """Return the edges of the view in their directions."""
    adjacency = np.zeros((len(view.names), len(view.names)), dtype=np.int8)
    for edge in view.edges:
        adjacency[edge.tail, edge.head] = 1
    return adjacency


def _edges(view: View, layout: Layout, labels: Mapping[tuple[int, int], tuple[float, float, str]]) -> str:
    """Return the edges as SVG."""
    largest = max((edge.worth or 0.0 for edge in view.edges), default=0.0)
    return "\n".join(
        _edge(k, edge, layout, view, largest, labels.get((edge.tail, edge.head))) for k, edge in enumerate(view.edges)
    )


def _titles(layout: Layout) -> str:
    """Return what is written above parts of the drawing."""
    return "".join(
        f'<text class="moment" text-anchor="middle" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>\n'
        for x, y, text in layout.titles
    )


def box(layout: Layout) -> str:
    """Return the view box of a drawing."""
    return f"{-MARGIN:g} {-MARGIN:g} {layout.width + 2 * MARGIN:.1f} {layout.height + 2 * MARGIN:.1f}"


def line_width(worth: float | None, largest: float) -> float:
    """Return the width of an edge's line: by what it is worth if that is known, otherwise the same for all."""
    if largest <= 0:
        return PLAIN
    share = min(max((worth or 0.0) / largest, 0.0), 1.0)
    return float(THINNEST + (THICKEST - THINNEST) * share**0.5)


def edge_paths(layout: Layout, both: tuple[int, int], width: float) -> tuple[str, str, str]:
    """Return the path data of an edge's line, of what is left to its end, and of its head."""
    line = layout.line(both, HEAD)
    (x0, y0), (x1, y1), (x2, y2) = layout.head(both, HEAD, 2 * (3.4 + 0.75 * width))
    x, y = line[-1]
    return (
        _path(line),
        f"M{x:.1f},{y:.1f}L{x1:.1f},{y1:.1f}",
        f"M{x1:.1f},{y1:.1f}l{x0 - x1:.1f},{y0 - y1:.1f}l{x2 - x0:.1f},{y2 - y0:.1f}z",
    )


def _edge(
    number: int, edge: Edge, layout: Layout, view: View, largest: float, lag: tuple[float, float, str] | None
) -> str:
    width = line_width(edge.worth, largest)
    tail, head = (escape(view.names[k]) for k in (edge.tail, edge.head))
    line, rest, shape = edge_paths(layout, (edge.tail, edge.head), width)
    strength = "" if edge.strength is None else f' data-strength="{edge.strength:.6g}"'
    kind = {"open": "edge undirected", "leaning": "edge leaning"}.get(edge.direction, "edge")
    kind += f" is-{edge.weight}" if edge.weight else ""
    return (
        f'<g class="{kind}" data-edge="{number}"{strength}><title>{tail} → {head}</title>'
        f'<path class="near" d="{line}"/><path class="line" stroke-width="{width:.2f}" d="{line}"/>'
        f'<path class="rest" stroke-width="{width:.2f}" d="{rest}"/>'
        f'<path class="head" d="{shape}"/>{"" if lag is None else _lag(*lag)}</g>'
    )


def _lag(x: float, y: float, text: str) -> str:
    """Return the lag of an edge on a disc."""
    return (
        f'<g class="lag" transform="translate({x:.1f},{y:.1f})"><circle r="8"/>'
        f'<text text-anchor="middle" y="4">{escape(text)}</text></g>'
    )


def _path(line: NDArray[np.float64]) -> str:
    """Return the path data of a line of cubic pieces."""
    parts = [f"M{line[0, 0]:.1f},{line[0, 1]:.1f}"]
    for k in range(0, len(line) - 1, 3):
        (x0, _), (ax, ay), (bx, by), (x, y) = line[k : k + 4]
        if max(abs(ax - x), abs(bx - x), abs(x0 - x)) < 0.05:
            parts.append(f"V{y:.1f}")
        else:
            parts.append(f"C{ax:.1f},{ay:.1f} {bx:.1f},{by:.1f} {x:.1f},{y:.1f}")
    return "".join(parts)


def node_svg(number: int, name: str, layout: Layout, *, is_button: bool = True, kind: str = "node") -> str:
    """Return a node as SVG."""
    x, y = layout.centres[number]
    width = layout.widths[number]
    told = f' aria-label="{escape(name)}" aria-pressed="false"'
    button = f' role="button" tabindex="{0 if number == 0 else -1}"{told}' if is_button else ""
    return (
        f'<g class="{kind}" data-node="{number}"{button} transform="translate({x:.1f},{y:.1f})">'
        f"<title>{escape(name)}</title>"
        f'<rect x="{-width / 2:.1f}" y="{-NODE_HEIGHT / 2:g}" width="{width:.1f}" height="{NODE_HEIGHT:g}" rx="9"/>'
        f'<text text-anchor="middle" y="{0.36 * FONT:.1f}">{escape(label(name))}</text></g>'
    )


def _kind(number: int, view: View) -> str:
    """Return the class of a node; one of the past is idle if nothing depends on it."""
    if view.lags is None or number < view.lags.n_series:
        return "node"
    return "node past" if any(edge.tail == number for edge in view.edges) else "node past idle"
