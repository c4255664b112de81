"""Tests of the legend of a comparison: all of it is on the picture, whatever the width of the graph."""

from __future__ import annotations

import matplotlib
import pytest

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import dagopt


@pytest.mark.parametrize("width", ["narrow", "wide"])
def test_the_legend_lies_within_the_figure(width):
    """For ALARM, a chain and a graph of many parts no entry is cut off, and none is drawn over the graph."""
    true = dagopt.datasets.load_network("alarm").dag
    edges = list(true.edges)
    learned = [(b, a) for a, b in edges[:8]] + edges[12:]
    if width == "wide":
        names = [f"column number {k}" for k in range(24)]
        true = [(names[0], name) for name in names[1:]]
        learned = [(name, names[0]) for name in names[1:12]] + [(names[1], names[2])]
    ax = dagopt.plot_comparison(dagopt.Graph.from_edges(names if width == "wide" else true.nodes, learned), true)
    ax.figure.canvas.draw()
    box, whole = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    assert box.y1 <= ax.get_window_extent().y0 + 3
    texts = [text.get_text().split(":")[0] for text in ax.get_legend().get_texts()]
    assert texts == ["correct", "found with another direction", "extra", "missing"]
    plt.close("all")
