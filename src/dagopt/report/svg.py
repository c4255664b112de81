"""The graph as SVG, drawn once for the DAG and the essential graph: a change of style hides the heads.

The page has a drawing that can be moved and asked; notebooks have the same one as a still picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from dagopt.report.labels import label, label_width
from dagopt.report.layout import Layout, layered_layout
from dagopt.report.ports import cubics
from dagopt.report.view import Edge, View

__all__ = ["arrow_shape", "box", "graph_svg", "line_width", "node_svg", "node_widths", "still_svg"]

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
.dagopt-still .undirected .head,.dagopt-still .edge:not(.undirected) .rest{display:none}"""
THINNEST, THICKEST, PLAIN = 1.0, 5.0, 1.6  # pixels, of an edge by what it is worth, and without figures


def graph_svg(view: View) -> tuple[str, Layout]:
    """Return the SVG element of the graph, and its layout.

    Nodes are groups of the class ``node`` with their number in ``data-node``; edges of the class ``edge``, also
    ``undirected`` if the essential graph leaves the direction open, with ``data-edge`` and, if it is known,
    ``data-strength``.
    """
    layout, edges = _laid_out(view)
    nodes = [node_svg(k, name, layout) for k, name in enumerate(view.names)]
    mode = "" if view.starts_with_dag else " essential"
    text = (
        f'<svg id="graph" class="graph{mode}" role="group" tabindex="0"'
        f' aria-label="The graph: arrow keys move it, plus and minus zoom, 0 shows all of it"'
        f' viewBox="{box(layout)}">\n<g id="scene">\n<g id="edges">\n'
        + edges
        + '\n</g>\n<g id="nodes">\n'
        + "\n".join(nodes)
        + "\n</g>\n</g>\n</svg>"
    )
    return text, layout


def still_svg(view: View) -> str:
    """Return the essential graph as a picture for notebooks: nothing in it can be clicked, and it brings its style."""
    layout, edges = _laid_out(view)
    nodes = "\n".join(node_svg(k, name, layout, is_button=False) for k, name in enumerate(view.names))
    wide = layout.width + 2 * MARGIN
    told = f"A graph of {len(view.names)} columns and {len(view.edges)} edges"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dagopt-still" role="img" aria-label="{told}"'
        f' width="{wide:.0f}" viewBox="{box(layout)}"><style>{STILL}</style>\n{edges}\n{nodes}\n</svg>'
    )


def _laid_out(view: View) -> tuple[Layout, str]:
    """Return the layout of a view, and its edges as SVG."""
    layout = layered_layout(view.drawn, node_widths(view.names), node_height=NODE_HEIGHT)
    largest = max((edge.worth or 0.0 for edge in view.edges), default=0.0)
    return layout, "\n".join(_edge(k, edge, layout, view, largest) for k, edge in enumerate(view.edges))


def node_widths(names: Sequence[str]) -> list[float]:
    """Return the widths of nodes that hold these names, in pixels."""
    return [max(label_width(label(name), FONT) + 2 * PADDING, 34.0) for name in names]


def box(layout: Layout) -> str:
    """Return the view box of a drawing."""
    return f"{-MARGIN:g} {-MARGIN:g} {layout.width + 2 * MARGIN:.1f} {layout.height + 2 * MARGIN:.1f}"


def line_width(worth: float | None, largest: float) -> float:
    """Return the width of an edge's line: by what it is worth if that is known, otherwise the same for all."""
    if largest <= 0:
        return PLAIN
    share = min(max((worth or 0.0) / largest, 0.0), 1.0)
    return float(THINNEST + (THICKEST - THINNEST) * share**0.5)


def _edge(number: int, edge: Edge, layout: Layout, view: View, largest: float) -> str:
    both = (edge.tail, edge.head)
    route = layout.routes[both]
    width = line_width(edge.worth, largest)
    tail, head = (escape(view.names[k]) for k in both)
    line, shape = arrow_shape(route, width)
    x, y = route[-1]
    back = _back(route)
    strength = "" if edge.strength is None else f' data-strength="{edge.strength:.6g}"'
    kind = {"open": "edge undirected", "leaning": "edge leaning"}.get(edge.direction, "edge")
    kind += f" is-{edge.weight}" if edge.weight else ""
    return (
        f'<g class="{kind}" data-edge="{number}"{strength}><title>{tail} → {head}</title>'
        f'<path class="near" d="{line}"/><path class="line" stroke-width="{width:.2f}" d="{line}"/>'
        f'<path class="rest" stroke-width="{width:.2f}" d="M{x:.1f},{y + back:.1f}V{y:.1f}"/>'
        f'<path class="head" d="{shape}"/></g>'
    )


def arrow_shape(route: NDArray[np.float64], width: float) -> tuple[str, str]:
    """Return the path data of the line along a route, and of the head at its end."""
    (x, y), back = route[-1], _back(route)
    wing = 3.4 + 0.75 * width
    return _path(np.vstack([route[:-1], [x, y + back]])), f"M{x:.1f},{y:.1f}l{-wing:.1f},{back:.1f}h{2 * wing:.1f}z"


def _back(route: NDArray[np.float64]) -> float:
    """Return the way from the tip of the head at the end of a route back to the line."""
    return -HEAD if route[-1, 1] >= route[-2, 1] else HEAD


def _path(route: NDArray[np.float64]) -> str:
    """Return the path data of a route."""
    parts = [f"M{route[0, 0]:.1f},{route[0, 1]:.1f}"]
    for (ax, ay), (bx, by), (x, y) in cubics(route):
        if abs(ax - x) < 0.05:
            parts.append(f"V{y:.1f}")
        else:
            parts.append(f"C{ax:.1f},{ay:.1f} {bx:.1f},{by:.1f} {x:.1f},{y:.1f}")
    return "".join(parts)


def node_svg(number: int, name: str, layout: Layout, *, is_button: bool = True) -> str:
    """Return a node as SVG."""
    x, y = layout.centres[number]
    width = layout.widths[number]
    told = f' aria-label="{escape(name)}" aria-pressed="false"'
    button = f' role="button" tabindex="{0 if number == 0 else -1}"{told}' if is_button else ""
    return (
        f'<g class="node" data-node="{number}"{button} transform="translate({x:.1f},{y:.1f})">'
        f"<title>{escape(name)}</title>"
        f'<rect x="{-width / 2:.1f}" y="{-NODE_HEIGHT / 2:g}" width="{width:.1f}" height="{NODE_HEIGHT:g}" rx="9"/>'
        f'<text text-anchor="middle" y="{0.36 * FONT:.1f}">{escape(label(name))}</text></g>'
    )
