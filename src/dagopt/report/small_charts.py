"""Two small charts for notebooks: what the alternatives to an edge lose, and estimates with their intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from dagopt.report.chart import decimals, round_ticks
from dagopt.report.labels import label, label_width
from dagopt.report.view import CLEAR, OVERWHELMING

__all__ = ["Estimate", "Loss", "intervals_svg", "losses_svg"]

FONT = 13.0  # pixels
ROW = 26.0  # height of a row
ACROSS = 360.0  # width of the axis
MARGIN = 12.0
AXIS = 40.0  # height below the rows, for the ticks and their unit
LARGEST_SCALE = 3 * OVERWHELMING  # points; the axis is at least so long
INK, SOFT, RULE, BAR = "#1a2430", "#566474", "#d8e0e8", "#4a7fb5"
FACE = f'font-family="system-ui,Segoe UI,Roboto,Helvetica Neue,Arial,sans-serif" font-size="{FONT:g}"'


class Loss(NamedTuple):
    """What an alternative loses: its name, the points, and whether they are proven."""

    name: str
    points: float
    proven: bool


class Estimate(NamedTuple):
    """An estimate with the ends of its interval; an end that is not finite is drawn to the end of the axis."""

    name: str
    lower: float
    value: float
    upper: float


def losses_svg(losses: Sequence[Loss]) -> str:
    """Return bars of the points lost, on a logarithmic scale that says where evidence is clear and overwhelming."""
    left = _room(one.name for one in losses)
    most = math.log1p(max([LARGEST_SCALE, *(one.points for one in losses)]))

    def x_of(points: float) -> float:
        return left + ACROSS * math.log1p(max(points, 0.0)) / most

    foot = MARGIN + ROW * len(losses)
    parts = []
    for points, word in ((0.0, "weak"), (CLEAR, "clear"), (OVERWHELMING, "overwhelming")):
        parts.append(_line(x_of(points), MARGIN, x_of(points), foot + 5, RULE))
        parts.append(_text(x_of(points), foot + 18, f"{points:g}", "middle", SOFT))
        parts.append(_text(x_of(points) + 3, foot + 34, word, "start", SOFT))
    for row, one in enumerate(losses):
        y = MARGIN + ROW * row
        parts.append(_text(left - 10, y + 17, label(one.name), "end"))
        filled = f'fill="{BAR}"' if one.proven else f'fill="none" stroke="{BAR}" stroke-dasharray="4 3"'
        wide = max(x_of(one.points) - left, 1.0)
        parts.append(f'<rect x="{left:.1f}" y="{y + 5:.1f}" width="{wide:.1f}" height="{ROW - 10:g}" {filled}/>')
        sure = "" if one.proven else "at most "
        parts.append(_text(left + wide + 6, y + 17, f"{sure}{one.points:,.1f}", "start"))
    told = "; ".join(f"{one.name}: {one.points:.1f} points lost" for one in losses)
    return _svg(parts, left + ACROSS + 110, foot + AXIS, told)


def intervals_svg(estimates: Sequence[Estimate], unit: str) -> str:
    """Return estimates as dots with their intervals, and a line at zero."""
    left = _room(one.name for one in estimates)
    ends = [x for one in estimates for x in one[1:] if math.isfinite(x)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    marks = round_ticks(low, high, 5)
    low, high = min([low, *marks]), max([high, *marks])

    def x_of(value: float) -> float:
        return left + ACROSS * (min(max(value, low), high) - low) / (high - low)

    foot = MARGIN + ROW * len(estimates)
    parts = [_line(x_of(mark), MARGIN, x_of(mark), foot + 5, RULE) for mark in marks]
    parts += [_text(x_of(mark), foot + 18, f"{mark:.{decimals(marks)}f}", "middle", SOFT) for mark in marks]
    parts.append(_text(left + ACROSS / 2, foot + 34, unit, "middle", SOFT))
    parts.append(_line(x_of(0.0), MARGIN, x_of(0.0), foot + 5, SOFT))
    for row, one in enumerate(estimates):
        y = MARGIN + ROW * (row + 0.5)
        parts.append(_text(left - 10, y + 4, label(one.name), "end"))
        parts.append(_line(x_of(one.lower), y, x_of(one.upper), y, BAR, 2.2))
        if math.isfinite(one.value):
            parts.append(f'<circle cx="{x_of(one.value):.1f}" cy="{y:.1f}" r="4.5" fill="{BAR}"/>')
    told = "; ".join(f"{one.name}: {one.value:.4g}, from {one.lower:.4g} to {one.upper:.4g}" for one in estimates)
    return _svg(parts, left + ACROSS + 30, foot + AXIS, told)


def _room(names: Iterable[str]) -> float:
    return MARGIN + 10 + max((label_width(label(name), FONT) for name in names), default=0.0)


def _line(x0: float, y0: float, x1: float, y1: float, colour: str, width: float = 1.0) -> str:
    return f'<path d="M{x0:.1f},{y0:.1f}L{x1:.1f},{y1:.1f}" stroke="{colour}" stroke-width="{width:g}"/>'


def _text(x: float, y: float, text: str, anchor: str, colour: str = INK) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'


def _svg(parts: Sequence[str], wide: float, high: float, told: str) -> str:
    style = "background:#fff;border-radius:8px;max-width:100%;height:auto;display:block"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(told)}" width="{wide:.0f}"'
        f' viewBox="0 0 {wide:.1f} {high:.1f}" style="{style}" {FACE}>{"".join(parts)}</svg>'
    )
