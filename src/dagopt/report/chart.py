"""The course of a run: a chart of score and bound, and how long each phase took."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["convergence_svg", "decimals", "phases", "round_ticks"]

WIDTH, HEIGHT = 720.0, 266.0  # pixels
LEFT, RIGHT, TOP, BOTTOM = 86.0, 20.0, 14.0, 48.0  # pixels around the axes
MOST_POINTS = 500  # of a curve; more cannot be seen
Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


def convergence_svg(trace: pd.DataFrame) -> str | None:
    """Return the SVG of the score, and of the bound if there is one, over time; None if there is nothing to draw.

    Parameters
    ----------
    trace : DataFrame
        With the column ``score`` and perhaps ``seconds`` (otherwise rows are counted) and ``bound``.
    """
    if "score" not in trace.columns or len(trace) < 2:
        return None
    timed = "seconds" in trace.columns
    across = _numbers(trace["seconds"]) if timed else np.arange(1.0, len(trace) + 1)
    curves = {name: _known(across, _numbers(trace[name])) for name in ("score", "bound") if name in trace.columns}
    curves = {name: curve for name, curve in curves.items() if len(curve[0])}
    if "score" not in curves or len(curves["score"][0]) < 2:
        return None
    xs = np.concatenate([curve[0] for curve in curves.values()])
    ys = np.concatenate([curve[1] for curve in curves.values()])
    x_ticks = round_ticks(min(0.0, float(xs.min())) if timed else float(xs.min()), float(xs.max()), 6)
    y_ticks = round_ticks(float(ys.min()), float(ys.max()), 5)
    (x_low, x_high), (y_low, y_high) = _span(x_ticks, xs), _span(y_ticks, ys)

    def x_of(x: float) -> float:
        return LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)

    def y_of(y: float) -> float:
        return HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)

    parts = [_grid(x_ticks, y_ticks, x_of, y_of, "seconds" if timed else "steps")]
    for name, (x, y) in curves.items():
        end = x_high if name == "bound" else x[-1]
        parts.append(f'<path class="curve {name}" d="{_steps(x, y, x_of, y_of, float(end))}"/>')
        parts.append(f'<circle class="dot {name}" cx="{x_of(x[-1]):.1f}" cy="{y_of(y[-1]):.1f}" r="3.5"/>')
    told = f"Score over {'time' if timed else 'the steps'}, from {ys.min():,.2f} to {curves['score'][1][-1]:,.2f}"
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img"'
        f' aria-label="{escape(told)}">{"".join(parts)}</svg>'
    )


def phases(trace: pd.DataFrame, seconds: float) -> list[tuple[str, float]]:
    """Return the phases of a run in order with their seconds; a row of the trace is written at the end of its phase.

    Parameters
    ----------
    trace : DataFrame
        With the columns ``phase`` and ``seconds``; without them there are no phases.
    seconds : float
        Length of the whole run; time that the trace does not cover belongs to no phase.
    """
    if not {"phase", "seconds"} <= set(trace.columns):
        return []
    spent: dict[str, float] = {}
    before = 0.0
    for name, at in zip(trace["phase"], _numbers(trace["seconds"]), strict=True):
        if not math.isfinite(at):
            continue
        at = min(float(at), seconds) if seconds else float(at)
        spent[str(name)] = spent.get(str(name), 0.0) + max(at - before, 0.0)
        before = max(before, at)
    return list(spent.items())


def _numbers(values: pd.Series[Any]) -> NDArray[np.float64]:
    return np.asarray(pd.to_numeric(values, errors="coerce"), dtype=float)


def _known(x: NDArray[np.float64], y: NDArray[np.float64]) -> Curve:
    """Return the finite points, thinned evenly if there are very many."""
    keep = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if len(keep) > MOST_POINTS:
        keep = keep[np.unique(np.linspace(0, len(keep) - 1, MOST_POINTS).round().astype(int))]
    return x[keep], y[keep]


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers over an interval."""
    if high - low < 1e-9 * max(abs(high), abs(low), 1e-9):
        pad = max(abs(high) * 1e-3, 1e-6)
        low, high = low - pad, high + pad
    step = (high - low) / most
    size = 10.0 ** math.floor(math.log10(step))
    step = next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= step * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _span(ticks: list[float], values: NDArray[np.float64]) -> tuple[float, float]:
    low, high = min([*ticks, float(values.min())]), max([*ticks, float(values.max())])
    return (low, high) if high > low else (low - 1, high + 1)


def _grid(xs: list[float], ys: list[float], x_of: Any, y_of: Any, what: str) -> str:
    """Return grid lines with their numbers."""
    x_digits, y_digits = decimals(xs), decimals(ys)
    lines = [
        f'<path class="grid" d="M{LEFT:g},{y_of(y):.1f}H{WIDTH - RIGHT:g}"/>'
        f'<text class="tick" x="{LEFT - 8:g}" y="{y_of(y) + 4:.1f}" text-anchor="end">{y:,.{y_digits}f}</text>'
        for y in ys
    ]
    lines += [
        f'<text class="tick" x="{x_of(x):.1f}" y="{HEIGHT - BOTTOM + 18:g}" text-anchor="middle">'
        f"{x:,.{x_digits}f}</text>"
        for x in xs
    ]
    lines.append(
        f'<text class="tick" x="{(LEFT + WIDTH - RIGHT) / 2:g}" y="{HEIGHT - 6:g}" text-anchor="middle">{what}</text>'
    )
    return "".join(lines)


def decimals(ticks: list[float]) -> int:
    """Return how many decimals are needed to distinguish the ticks."""
    if len(ticks) < 2:
        return 2
    step = ticks[1] - ticks[0]
    return next((d for d in range(9) if abs(round(step, d) - step) < 1e-6 * step), 9)


def _steps(x: NDArray[np.float64], y: NDArray[np.float64], x_of: Any, y_of: Any, end: float) -> str:
    """Return a staircase: each value holds until the next."""
    parts = [f"M{x_of(x[0]):.1f},{y_of(y[0]):.1f}"]
    parts += [f"H{x_of(a):.1f}V{y_of(b):.1f}" for a, b in zip(x[1:], y[1:], strict=True)]
    return "".join(parts) + (f"H{x_of(end):.1f}" if end > x[-1] else "")
