"""A result in the form for a notebook: the summary, a small drawing, and the edges with their numbers."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from dagopt.data.html_table import html_of

if TYPE_CHECKING:
    from dagopt.results.result import Result

__all__ = ["result_html"]

MOST_DRAWN = 40  # with more columns the drawing is left out


def result_html(result: Result) -> str:
    """Return the summary of a result, its edges, and its graph drawn small."""
    frame = result.edges
    if "gain" in frame:
        frame = frame.sort_values("gain", ascending=False, kind="stable")
    return html_of(result.summary(), frame, _drawing(result))


def _drawing(result: Result) -> str:
    """Return the graph as SVG; empty for a large graph."""
    if len(result.names) > MOST_DRAWN or not result.graph.n_edges:
        return ""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4))
    result.plot(figure.add_subplot(), essential=True)
    text = io.StringIO()
    figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]
