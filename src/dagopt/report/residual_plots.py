"""Pictures of residuals: against a parent, and their quantiles against those of a normal distribution."""

from __future__ import annotations

import io
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from dagopt.arrays import Floats
from dagopt.networks.model_check import CHECKS, ModelCheck

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_residuals", "residuals_svg"]

MOST_POINTS = 1000  # of a picture; of more rows, every k-th
PARTS = 12  # of a parent, in each of which the mean residual is drawn


def plot_residuals(check: ModelCheck, most: int = 4) -> Figure:
    """Return a figure with the residuals of the tests that fail, or of the first ones if none does."""
    from matplotlib.figure import Figure

    tests = check.table.sort_values("fails", ascending=False, kind="stable")
    tests = tests[tests["check"].isin(["linear", "normal", "variance"])].drop_duplicates(["from", "to"]).head(most)
    across = min(len(tests), 4) or 1
    down = -(-len(tests) // across) or 1
    figure = Figure(figsize=(2.6 * across, 2.4 * down), layout="constrained")
    for place, test in enumerate(tests.itertuples(index=False), start=1):
        ax = figure.add_subplot(down, across, place)
        parent, to = str(test[1]), str(test.to)
        own = check.residuals[to]
        if parent:
            _against(ax, own.parents[parent], own.values)
            ax.set_xlabel(parent)
            ax.set_ylabel(f"residual of {to}")
        else:
            _quantiles(ax, own.values)
            ax.set_xlabel("normal quantile")
            ax.set_ylabel(f"residual of {to}")
        ax.set_title(CHECKS[str(test.check)][0] if test.fails else "fits", fontsize=9)
        ax.spines[["top", "right"]].set_visible(False)
    return figure


def _against(ax: Axes, parent: Floats, left: Floats) -> None:
    """Draw residuals against a parent, with their means in parts of it."""
    step = -(-len(left) // MOST_POINTS)
    ax.plot(parent[::step], left[::step], ".", color="#0072b2", alpha=0.4, markersize=3)
    parts = np.array_split(np.argsort(parent, kind="stable"), PARTS)
    ax.plot([parent[p].mean() for p in parts], [left[p].mean() for p in parts], color="#d55e00")
    ax.axhline(0.0, color="grey", linewidth=0.6)


def _quantiles(ax: Axes, left: Floats) -> None:
    """Draw the quantiles of residuals against those of a normal distribution."""
    step = -(-len(left) // MOST_POINTS)
    ordered = np.sort(left / left.std())[::step]
    normal = NormalDist()
    ax.plot([normal.inv_cdf((k + 0.5) / len(ordered)) for k in range(len(ordered))], ordered, ".", markersize=3)
    ax.axline((0.0, 0.0), slope=1.0, color="grey", linewidth=0.6)


def residuals_svg(check: ModelCheck) -> str:
    """Return the pictures as SVG."""
    text = io.StringIO()
    plot_residuals(check).savefig(text, format="svg", metadata={"Date": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]
