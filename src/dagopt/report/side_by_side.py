"""Two graphs of the same columns as two pictures, every column at the same place in both; what differs has a colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np

from dagopt.arrays import Dag
from dagopt.report.layout import Layout, along_order, layered_layout
from dagopt.report.svg import MARGIN, NODE_HEIGHT, STILL, box, edge_paths, node_svg, node_widths

__all__ = ["side_by_side"]

OWN, TURNED = "#b8500b", "#005f9e"  # edges that only this graph has, and those that the other one has turned around
LINE = 1.8  # pixels
STYLE = (
    STILL
    + f"\n.dagopt-still .own path{{stroke:{OWN}}}.dagopt-still .own .head{{fill:{OWN}}}"
    + f"\n.dagopt-still .turned path{{stroke:{TURNED};stroke-dasharray:6 3}}"
    + f"\n.dagopt-still .turned .head{{fill:{TURNED}}}"
)


def side_by_side(names: Sequence[str], first: Dag, second: Dag) -> tuple[str, str]:
    """Return the SVG pictures of two DAGs over the same columns.

    The layout is that of all edges of both, so that columns stand at the same place. Edges that the other graph lacks
    are of the class ``own``, edges that it has the other way round of the class ``turned``.

    Parameters
    ----------
    names : sequence of str
        The columns.
    first, second : int array of shape (n_nodes, n_nodes)
        ``[i, j] = 1`` means i → j.
    """
    both = first | second
    layout = layered_layout(along_order(both, first), node_widths(names), node_height=NODE_HEIGHT)
    return _picture(names, layout, first, second), _picture(names, layout, second, first)


def _picture(names: Sequence[str], layout: Layout, dag: Dag, other: Dag) -> str:
    """Return one of the pictures."""
    edges = "\n".join(_edge(names, layout, int(i), int(j), other) for i, j in np.argwhere(dag))
    nodes = "\n".join(node_svg(k, name, layout, is_button=False) for k, name in enumerate(names))
    wide, high = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dagopt-still" role="img" width="{wide:.0f}"'
        f' height="{high:.0f}" viewBox="{box(layout)}"><style>{STYLE}</style>\n{edges}\n{nodes}\n</svg>'
    )


def _edge(names: Sequence[str], layout: Layout, i: int, j: int, other: Dag) -> str:
    """Return the edge i → j as SVG."""
    if (i, j) not in layout.routes:
        layout = replace(layout, routes={(i, j): layout.routes[j, i][::-1]})
    kind = "edge" if other[i, j] else "edge turned" if other[j, i] else "edge own"
    line, _, head = edge_paths(layout, (i, j), LINE)
    told = f"{escape(names[i])} → {escape(names[j])}"
    return (
        f'<g class="{kind}"><title>{told}</title><path class="line" stroke-width="{LINE}" d="{line}"/>'
        f'<path class="head" d="{head}"/></g>'
    )
