"""A layout drawn on matplotlib axes in the units of the layout, so that it can be scaled and zoomed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from dagopt.report.labels import label
from dagopt.report.layout import Layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path

__all__ = ["EdgeStyle", "draw", "figure_for", "node_widths"]

FONT = 10.0  # points, before scaling
PADDING = 8.0  # beside a label
MARGIN = 10.0  # points around the drawing
HEAD_LENGTH, HEAD_WIDTH = 7.5, 6.5  # points, of an arrow
NODE_FILL, NODE_RIM, NODE_TEXT = "#eaf1f8", "#7d93ab", "#17212b"
LAG_FONT, LAG_DISC, LAG_TEXT = 8.5, 6.5, "#44505d"  # points, of a lag beside an edge
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
    _draw_texts(ax, layout)
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
    for edge in layout.routes:
        style = styles[edge]
        if edge in heads:
            triangles.append(layout.head(edge, HEAD_LENGTH, HEAD_WIDTH + 1.2 * style.width))
            colours.append(style.colour)
        ax.add_patch(
            PathPatch(
                _path(layout.line(edge, HEAD_LENGTH if edge in heads else 0.0)),
                facecolor="none",
                edgecolor=style.colour,
                linewidth=style.width * scale,
                linestyle=style.dashes,
                capstyle="butt",
                zorder=1 if style.dashes == "solid" else 1.5,
            )
        )
    ax.add_collection(PolyCollection(triangles, facecolors=colours, edgecolors="none", zorder=2), autolim=False)


def _path(line: NDArray[np.float64]) -> Path:
    from matplotlib.path import Path

    return Path(line, [Path.MOVETO, *[Path.CURVE4] * (len(line) - 1)])


def _draw_texts(ax: Axes, layout: Layout) -> None:
    """Draw the lags beside edges, on discs, and the titles."""
    from matplotlib.patches import Circle

    for x, y, text in layout.labels.values():
        ax.add_patch(Circle((x, y), LAG_DISC, facecolor="white", edgecolor="none", zorder=2.4))
        _draw_text(ax, text, (x, y), LAG_FONT, LAG_TEXT, 2.5)
    for x, y, text in layout.titles:
        _draw_text(ax, text, (x, y), FONT, LAG_TEXT, 2.5)


def _draw_nodes(ax: Axes, layout: Layout, names: Sequence[str], scale: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    high = layout.node_height
    for name, (x, y), width in zip(names, layout.centres, layout.widths, strict=True):
        if not np.isfinite(x):  # the past of a folded drawing
            continue
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
        _draw_text(ax, label(name), (x, y), FONT, NODE_TEXT, 4)


def _draw_text(ax: Axes, text: str, middle: tuple[float, float], size: float, colour: str, zorder: float) -> None:
    """Draw a text as shapes, so that it is scaled with the drawing."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path
    from matplotlib.textpath import text_to_path

    corners, codes = text_to_path.get_text_path(FontProperties(size=size), text, ismath=False)
    if len(corners) == 0:
        return
    letters = np.asarray(corners) * (size / text_to_path.FONT_SCALE)
    centre = (letters[:, 0].min() + letters[:, 0].max()) / 2
    places = np.column_stack([letters[:, 0] - centre + middle[0], middle[1] + 0.36 * size - letters[:, 1]])
    ax.add_patch(PathPatch(Path(places, codes), facecolor=colour, edgecolor="none", zorder=zorder))
