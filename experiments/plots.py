"""Pictures of the results: gap and time against n and d, and performance profiles over all methods."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dagopt.files import replacing
from experiments.figures import FIGURES, Results, gap, mean
from experiments.instances import Cell
from experiments.published import published
from experiments.records import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_cells", "plot_profiles", "shares_within", "write_plots"]

# Okabe and Ito's colours, which people with any common colour vision can tell apart; marks and dashes differ too.
STYLES = {
    "exact": ("#0072b2", "o"),
    "order": ("#009e73", "D"),
    "cg-dca-paper": ("#d55e00", "s"),
    "cg-dca": ("#e69f00", "^"),
    "gobnilp": ("#cc79a7", "v"),
    "hc": ("#56b4e9", "P"),
    "tabu": ("#1b4965", "d"),
    "pc": ("#8c6d31", "X"),
    "mmhc": ("#6a3d9a", "*"),
}
OTHERS = ("#7f7f7f", "#b15928", "#33a02c", "#e7298a", "#666600", "#000080", "#a6761d", "#1f78b4")
PAPER = (("CG-DCA", "#000000"), ("GOBNILP", "#999999"))
LEAST_GAP = 1e-3  # per cent; the scale is linear below

Series = dict[str, list[Record]]
Point = tuple[float, float]
Instance = tuple[str, int | None]


def write_plots(results: Results, folder: Path) -> list[Path]:
    """Write the pictures into a folder and return them; none if there is nothing to draw."""
    simulated = [record for record in results.records if record.cell.degree is not None and record.ended]
    if not simulated:
        return []
    written = []
    for name, figure in (("gap_and_time.png", plot_cells(simulated)), ("profiles.png", plot_profiles(simulated))):
        with replacing(folder / name) as draft:
            figure.savefig(draft, format="png", dpi=130)
        written.append(folder / name)
    return written


def plot_cells(records: Sequence[Record]) -> Figure:
    """Draw mean gap and mean time against n and against d, ours and the paper's.

    A point is the mean of the cells' means, over the cells with that n (or d) that the method was run on.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 8.2), layout="constrained")
    axes = figure.subplots(2, 2)
    series = _by_method(records)
    for row, name in enumerate(("gap", "seconds")):
        for column, along in enumerate(("n", "d")):
            _draw_lines(axes[row][column], series, name, along)
    handles, labels = axes[1][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, title="method (cells run)")
    return figure


def plot_profiles(records: Sequence[Record]) -> Figure:
    """Draw performance profiles over all methods.

    They show the share of a method's instances on which it is within a factor of the fastest, and within a percentage
    of the best score known. A run that the limit ended counts as infinitely slow; a graph without a score as infinitely
    far below.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 5.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    series = _by_method(records)
    times = _above_least(series, lambda one: one.seconds if one.status != "time_limit" else None, np.divide)
    losses = _above_least(series, gap, np.subtract)
    _draw_steps(left, times, series, 1.0)
    _draw_steps(right, losses, series, LEAST_GAP / 10)
    left.set(xlabel="seconds, as a multiple of the fastest method's", ylabel="share of the method's instances")
    right.set(xlabel="below the best score known (% of the true graph's)")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, title="method (instances)")
    return figure


def shares_within(values: Sequence[float], total: int) -> tuple[list[float], list[float]]:
    """Return the steps of the cumulative share of values, out of ``total``: positions and heights.

    Examples
    --------
    >>> shares_within([3.0, 1.0, 1.0, 2.0], 4)
    ([1.0, 2.0, 3.0], [0.5, 0.75, 1.0])
    """
    places, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    return places.tolist(), (counts.cumsum() / total).tolist()


def _draw_lines(axes: Axes, series: Series, name: str, along: str) -> None:
    """Draw one of the four pictures."""
    table = published()["table1"]
    cells = sorted({key[0] for key in table.values})
    for method, colour in PAPER:
        points = _means([(cell, table.values[(cell, name, method, "mean")].value) for cell in cells], along)
        axes.plot(*zip(*points, strict=True), color=colour, linestyle="--", marker=".", label=f"paper's {method}")
    for method, style in _styles(series).items():
        known = [(record.instance, FIGURES[name].of(record)) for record in series[method]]
        means = _cell_means([(cell, value) for cell, value in known if value is not None])
        points = _means(means, along)
        if points:
            axes.plot(*zip(*points, strict=True), label=f"{method} ({len(means)})", clip_on=False, zorder=3, **style)
    if name == "gap":
        axes.set_yscale("symlog", linthresh=LEAST_GAP)
        axes.set_ylim(0, None)
        axes.set_ylabel("mean gap to the true graph (%)")
    else:
        axes.set_yscale("log")
        axes.set_ylabel("mean seconds")
    ticks = sorted({_along(cell, along) for cell in cells})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("columns n" if along == "n" else "average number of parents d")
    _plain(axes)


def _draw_steps(axes: Axes, values: dict[str, list[float]], series: Series, least: float) -> None:
    """Draw the share of instances within each value, up to the largest."""
    most = 1.3 * max((value for own in values.values() for value in own), default=least)
    for method, style in _styles(series).items():
        total = len(series[method])
        places, shares = shares_within([max(value, least) for value in values[method]], total)
        drawn = {key: value for key, value in style.items() if key not in ("marker", "markersize")}
        axes.step(
            [least, *places, max(most, 10 * least)],
            [0.0, *shares, shares[-1] if shares else 0.0],
            where="post",
            label=f"{method} ({total})",
            **drawn,
        )
    axes.set_xscale("log")
    axes.set_xlim(least, max(most, 10 * least))
    axes.set_ylim(0, 1.02)
    _plain(axes)


def _above_least(
    series: Series, of: Callable[[Record], float | None], apart: Callable[[float, float], float]
) -> dict[str, list[float]]:
    """Return for each method how far its values are above the least of all methods on the same instance."""
    least: dict[Instance, float] = {}
    for record in (one for own in series.values() for one in own):
        value = of(record)
        if value is not None:
            key = (record.instance, record.seed)
            least[key] = min(value, least.get(key, value))
    found: dict[str, list[float]] = {}
    for method, own in series.items():
        known = [(of(record), least.get((record.instance, record.seed))) for record in own]
        found[method] = [float(apart(value, best)) for value, best in known if value is not None and best is not None]
    return found


def _by_method(records: Sequence[Record]) -> Series:
    """Return records by method with its options."""
    found: Series = defaultdict(list)
    for record in records:
        options = ", ".join(str(value) for value in record.options.values())
        found[f"{record.method}: {options}" if options else record.method].append(record)
    places = list(STYLES)
    return dict(sorted(found.items(), key=lambda item: (places.index(item[0]) if item[0] in STYLES else 99, item[0])))


def _styles(series: Series) -> dict[str, dict[str, Any]]:
    """Return colour, mark and dashes by method, the same in every picture for those that dagopt has."""
    styles: dict[str, dict[str, Any]] = {}
    others = 0
    for method in series:
        if method in STYLES:
            colour, mark = STYLES[method]
            styles[method] = {"color": colour, "marker": mark, "markersize": 6}
        else:
            styles[method] = {"color": OTHERS[others % len(OTHERS)], "marker": "x", "markersize": 5, "linestyle": "-."}
            others += 1
    return styles


def _cell_means(values: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    by_cell: dict[str, list[float]] = defaultdict(list)
    for cell, value in values:
        by_cell[cell].append(value)
    return [(cell, mean(own)) for cell, own in by_cell.items()]


def _means(values: Sequence[tuple[str, float]], along: str) -> list[Point]:
    """Return the means of the cells' values for every n or d."""
    groups: dict[float, list[float]] = defaultdict(list)
    for cell, value in values:
        groups[_along(cell, along)].append(value)
    return sorted((place, mean(own)) for place, own in groups.items())


def _along(cell: str, along: str) -> float:
    known = Cell.named(cell)
    return float(known.n_nodes if along == "n" else known.degree or 0.0)


def _plain(axes: Axes) -> None:
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
