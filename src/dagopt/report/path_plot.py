"""A picture of a penalty path: at which penalties each pair of columns is joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.report.labels import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dagopt.confidence.learned_path import PenaltyPath

__all__ = ["plot_path"]

MOST_PAIRS = 80  # rows that a page has room for
INK, MARK = "#0072b2", "#d55e00"
ROW_HEIGHT = 0.19  # inches


def plot_path(path: PenaltyPath, ax: Axes | None = None) -> Axes:
    """Draw at which penalties each pair of columns is joined: the first pairs to enter at the top.

    Parameters
    ----------
    path : PenaltyPath
        What ``dagopt.path`` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure of the right size if not given.

    Returns
    -------
    Axes
        The penalty falls from left to right; the penalty of the score is marked. The first 80 pairs are shown.
    """
    if not len(path.penalties):
        raise InputError("no penalty was finished, so there is nothing to draw; raise time_limit=")
    pairs, joined = path.joined()
    shown = min(len(pairs), MOST_PAIRS)
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(7.5, max(2.2, 1.1 + ROW_HEIGHT * shown)), layout="constrained")
    ends = _cells(path.penalties)
    for row in range(shown):
        for first, last in _runs(joined[:, row]):
            ax.plot([ends[first], ends[last + 1]], [row, row], color=INK, linewidth=4, solid_capstyle="butt")
    if ends[-1] < path.reference < ends[0]:
        ax.axvline(path.reference, color=MARK, linewidth=1.2, linestyle="--", zorder=0)
        ax.annotate(
            f"score: {path.reference:.3g}",
            (path.reference, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=MARK,
            fontsize=8,
        )
    ax.set_xscale("log" if ends[-1] > 0 else "symlog")
    ax.set_xlim(ends[0], ends[-1])
    ax.set_ylim(shown - 0.4, -0.6)
    ax.set_yticks(range(shown), [f"{label(a)} \N{EN DASH} {label(b)}" for a, b in pairs[:shown]], fontsize=7)
    ax.tick_params(axis="y", length=0)
    more = f" (the first {shown} of {len(pairs)} pairs)" if shown < len(pairs) else ""
    ax.set_xlabel(f"penalty of one parameter{more}")
    ax.grid(axis="x", alpha=0.25)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def _cells(penalties: NDArray[np.float64]) -> list[float]:
    """Return where the interval of each penalty begins and ends: halfway to its neighbours."""
    if len(penalties) == 1:
        return [float(penalties[0]) * 1.5 + 1.0, float(penalties[0]) / 1.5]
    between = np.sqrt(penalties[:-1] * penalties[1:])
    between = np.where(between > 0, between, (penalties[:-1] + penalties[1:]) / 2)
    first = penalties[0] ** 2 / between[0]
    last = penalties[-1] ** 2 / between[-1]
    return [float(first), *between.tolist(), float(last)]


def _runs(present: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and last index of each run of ones."""
    steps = np.diff(np.concatenate([[0], present.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(steps == 1).tolist(), (np.flatnonzero(steps == -1) - 1).tolist(), strict=True))
