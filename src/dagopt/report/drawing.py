"""A layout drawn on matplotlib axes in the units of the layout, so that it can be scaled and zoomed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from dagopt.report.labels import label
from dagopt.report.layout import Layout
from dagopt.report.ports import cubics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

__all__ = ["EdgeStyle", "draw", "figure_for", "node_widths"]

FONT = 10.0  # points, before scaling
PADDING = 8.0  # beside a label
MARGIN = 10.0  # points around the drawing
HEAD_LENGTH, HEAD_WIDTH = 7.5, 6.5  # points, of an arrow
NODE_FILL, NODE_RIM, NODE_TEXT = "#eaf1f8", "#7d93ab", "#17212b"
LARGEST_FIGURE = (15.0, 10.0)  # inches
SMALLEST_FIGURE = (2.5, 1.5)  # inches
LEGEND_HEIGHT = 0.35  # of one row
LEGEND_WIDTH = 7.6  # from this width on the entries are in one row, otherwise in two

Pair = tuple[int, int]


@dataclass(frozen=True)
class EdgeStyle:
    """How an edge is drawn.

    Attributes
    ----------
    colour : str
        The colour of the line and the head.
    width : float
        The width of the line, in points before scaling.
    dashes : tuple or "solid"
        A line style of matplotlib.
    """

    colour: str
    width: float
    dashes: Literal["solid"] | tuple[float, tuple[float, ...]] = "solid"


def node_widths(names: Sequence[str]) -> list[float]:
    """Return the widths of nodes that hold these names."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=FONT)
    sizes = [text_to_path.get_text_width_height_descent(label(name), font, ismath=False)[0] for name in names]
    return [max(size + 2 * PADDING, 26.0) for size in sizes]


def figure_for(layout: Layout, *, legend: bool = False) -> Axes:
    """Make a figure as large as the layout needs, within limits, and return axes that fill it."""
    import matplotlib.pyplot as plt

    wide, high = (size + 2 * MARGIN for size in (layout.width, layout.height))
    scale = min(1 / 72, LARGEST_FIGURE[0] / wide, LARGEST_FIGURE[1] / high)
    across = max(wide * scale, 5.5 if legend else SMALLEST_FIGURE[0])
    below = LEGEND_HEIGHT * (1 if across >= LEGEND_WIDTH else 1.7) if legend else 0.0
    size = across, max(high * scale, SMALLEST_FIGURE[1]) + below
    figure = plt.figure(figsize=size, dpi=150)
    return figure.add_axes((0.0, below / size[1], 1.0, 1 - below / size[1]))


def draw(
    ax: Axes,
    layout: Layout,
    names: Sequence[str],
    styles: Mapping[Pair, EdgeStyle],
    heads: Iterable[Pair],
    legend: Sequence[tuple[EdgeStyle, str]] = (),
) -> None:
    """Draw nodes and edges.

    Parameters
    ----------
    ax : Axes
        Where to draw; its limits and frame are set.
    layout : Layout
        The positions.
    names : sequence of str
        One per node.
    styles : mapping
        How each edge of the layout's routes is drawn.
    heads : iterable of (int, int)
        The edges with an arrow head at their second node.
    legend : sequence of (EdgeStyle, str)
        Entries of a legend below the drawing; none by default.
    """
    ax.set_xlim(-MARGIN, layout.width + MARGIN)
    ax.set_ylim(layout.height + MARGIN, -MARGIN)
    ax.set_aspect("equal")
    ax.set_axis_off()
    scale = _points_per_unit(ax, layout)
    _draw_edges(ax, layout, styles, set(heads), scale)
    _draw_nodes(ax, layout, names, scale)
    if legend:
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], color=style.colour, linewidth=style.width, linestyle=style.dashes, label=text)
            for style, text in legend
        ]
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=len(handles) if _inches(ax)[0] >= LEGEND_WIDTH else (len(handles) + 1) // 2,
            frameon=False,
            fontsize=9,
            handlelength=2.6,
            columnspacing=1.4,
            borderaxespad=0.2,
        )


def _points_per_unit(ax: Axes, layout: Layout) -> float:
    """Return how many points a unit of the layout takes now; lines are drawn in points."""
    units = np.array([layout.width, layout.height]) + 2 * MARGIN
    return float(np.clip((72 * _inches(ax) / units).min(), 0.2, 3.0))


def _inches(ax: Axes) -> NDArray[np.float64]:
    """Return the width and height of axes."""
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return np.array([box.width, box.height])


def _draw_edges(ax: Axes, layout: Layout, styles: Mapping[Pair, EdgeStyle], heads: set[Pair], scale: float) -> None:
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import PathPatch

    triangles: list[NDArray[np.float64]] = []
    colours: list[str] = []
    for edge, route in layout.routes.items():
        style = styles[edge]
        line = route
        if edge in heads:
            triangle = arrow_head(route, HEAD_WIDTH + 1.2 * style.width)
            triangles.append(triangle)
            colours.append(style.colour)
            line = np.vstack([route[:-1], triangle[[0, 2]].mean(axis=0)])
        ax.add_patch(
            PathPatch(
                _path(line),
                facecolor="none",
                edgecolor=style.colour,
                linewidth=style.width * scale,
                linestyle=style.dashes,
                capstyle="butt",
                zorder=1 if style.dashes == "solid" else 1.5,
            )
        )
    ax.add_collection(PolyCollection(triangles, facecolors=colours, edgecolors="none", zorder=2), autolim=False)


def arrow_head(route: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """Return the three corners of the head at the end of a route: left, tip, right."""
    tip = route[-1]
    back = -HEAD_LENGTH if route[-1, 1] >= route[-2, 1] else HEAD_LENGTH
    return np.array([[tip[0] - width / 2, tip[1] + back], tip, [tip[0] + width / 2, tip[1] + back]])


def _path(route: NDArray[np.float64]) -> Path:
    from matplotlib.path import Path

    vertices = [tuple(route[0]), *(point for piece in cubics(route) for point in piece)]
    return Path(vertices, [Path.MOVETO, *[Path.CURVE4] * (len(vertices) - 1)])


def _draw_nodes(ax: Axes, layout: Layout, names: Sequence[str], scale: float) -> None:
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=FONT)
    to_units = FONT / text_to_path.FONT_SCALE
    high = layout.node_height
    for name, (x, y), width in zip(names, layout.centres, layout.widths, strict=True):
        box = FancyBboxPatch(
            (x - width / 2, y - high / 2),
            width,
            high,
            boxstyle=f"round,pad=0,rounding_size={high * 0.32}",
            facecolor=NODE_FILL,
            edgecolor=NODE_RIM,
            linewidth=1.0 * scale,
            zorder=3,
        )
        box.set_gid(f"node {name}")
        ax.add_patch(box)
        corners, codes = text_to_path.get_text_path(font, label(name), ismath=False)
        if len(corners) == 0:
            continue
        letters = np.asarray(corners) * to_units
        middle = (letters[:, 0].min() + letters[:, 0].max()) / 2
        places = np.column_stack([letters[:, 0] - middle + x, y + 0.36 * FONT - letters[:, 1]])
        ax.add_patch(PathPatch(Path(places, codes), facecolor=NODE_TEXT, edgecolor="none", zorder=4))
