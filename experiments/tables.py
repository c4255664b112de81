"""Tables with the paper's figures, ours and the ratio, from designs and result files."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import quantiles
from typing import NamedTuple

from experiments.design import Design, Entry, Panel
from experiments.figures import FIGURES, Figure, Results, below_best, mean, ratio_text
from experiments.headline import headline_table
from experiments.instances import Cell
from experiments.layout import Box, Grid, Heading, PaperTable, Row
from experiments.published import Given, Published, published
from experiments.reasons import NO_COMMON, NO_RATIO, NOT_GIVEN, NOT_RUN, STOPPED, explained, why_missing

__all__ = ["make_table"]

WORSE = "*"
LIMITED = ("gap", "seconds")  # figures that a longer limit would change
BEHIND_DIGITS = 3
SAME_SCORE = 1e-3  # scores are recorded with four decimals


class Column(NamedTuple):
    """A method of a table: our entries, which share the cells among them, and the paper's name if it has one."""

    label: str
    paper: str | None
    entries: list[Entry]


class Pair(NamedTuple):
    """The paper's figure and ours; why ours is missing, or a mark beside it."""

    paper: Given | None
    ours: float | None
    remark: str = ""


def make_table(design: Design, results: Results) -> PaperTable:
    """Return a table with the paper's figures and those of result files.

    Parameters
    ----------
    design : Design
        What the table is.
    results : Results
        What has been run.
    """
    if design.name == "headline":
        return headline_table(design, results)
    source = published()[design.published] if design.published else Published("", {})
    columns = _columns(design, results)
    made = [_GRIDS[panel.statistic](design, panel, columns, source, results) for panel in design.panels]
    grids = [grid for grid in made if grid.rows]
    notes = [*_notes(design, columns, results), *explained(grids)]
    return PaperTable(design.name, design.place, design.title, tuple(grids), tuple(notes))


def _columns(design: Design, results: Results) -> list[Column]:
    """Return the columns of a table; methods that are not in the paper are included only if they have been run."""
    columns: dict[str, Column] = {}
    for entry in design.entries:
        columns.setdefault(entry.label, Column(entry.label, entry.paper, [])).entries.append(entry)
    return [
        column
        for column in columns.values()
        if column.paper is not None or any(results.of(entry, cell) for entry in column.entries for cell in design.cells)
    ]


def _mean_grid(design: Design, panel: Panel, columns: Sequence[Column], source: Published, results: Results) -> Grid:
    """Return the part with means: for each method the paper's, ours and their ratio, or only ours."""
    figure = FIGURES[panel.figure]
    cells = _cells(design, panel)
    if not figure.published:
        columns = [column._replace(paper=None) for column in columns]
    columns = [
        column
        for column in columns
        if column.paper is not None or any(results.values(column.entries, cell, panel.figure) for cell in cells)
    ]
    headings = [Heading("", "runs")]
    for column in columns:
        headings += _headings(column)
    pairs = {cell: _pairs(panel.figure, columns, cell, source, results) for cell in cells}
    rows = [
        Row(
            cell.label,
            [
                _count(columns, cell, results),
                *(
                    box
                    for column, pair in zip(columns, pairs[cell], strict=True)
                    for box in _boxes(column, pair, figure)
                ),
            ],
        )
        for cell in cells
    ]
    if len(cells) > 1 and panel.figure != "score":
        rows.append(_summary(columns, [pairs[cell] for cell in cells], figure))
    return Grid(figure.title, _first(cells), headings, rows)


def _range_grid(design: Design, panel: Panel, columns: Sequence[Column], source: Published, results: Results) -> Grid:
    """Return the part with the least and the largest value of each method that the paper has."""
    figure = FIGURES[panel.figure]
    known = [column for column in columns if column.paper is not None]
    cells = _cells(design, panel)
    rows = []
    for cell in cells:
        boxes = [_count(known, cell, results)]
        for column in known:
            ends = [source.get(cell.name, panel.figure, column.paper or "", end) for end in ("min", "max")]
            ours = results.values(column.entries, cell, panel.figure)
            boxes.append(_range([str(end) for end in ends if end is not None], NOT_GIVEN))
            reason = "" if ours else why_missing(column.entries, cell, results)
            boxes.append(_range([figure.text(end) for end in (min(ours), max(ours))] if ours else [], reason))
        rows.append(Row(cell.label, boxes))
    headings = [Heading("", "runs")]
    for column in known:
        headings += _headings(column)[:2]
    return Grid(f"{figure.title}: least, largest", _first(cells), headings, rows)


def _spread_grid(design: Design, panel: Panel, columns: Sequence[Column], source: Published, results: Results) -> Grid:
    """Return all of a method's runs in five numbers, for the cells where its mean is worse than the paper's."""
    figure = FIGURES[panel.figure]
    cells = _cells(design, panel)
    rows = []
    for column in columns:
        for cell in cells:
            values = results.values(column.entries, cell, panel.figure)
            paper = None if column.paper is None else source.get(cell.name, panel.figure, column.paper)
            if paper is None or len(values) < 2 or not figure.is_worse(mean(values), paper):
                continue
            as_good = sum(not figure.is_worse(value, paper) for value in values)
            numbers = [min(values), *quantiles(values, n=4, method="inclusive"), max(values), mean(values)]
            boxes = [Box(column.label), Box(str(len(values)), len(values)), Box(str(paper), paper.value)]
            boxes += [Box(figure.text(number), number) for number in numbers]
            rows.append(Row(cell.label, [*boxes, Box(f"{as_good} of {len(values)}", as_good)]))
    names = ["method", "runs", "paper's mean", "least", "first quartile", "median", "third quartile", "largest"]
    headings = [Heading("", name) for name in (*names, "mean", "runs as good as the paper's mean")]
    return Grid(f"{figure.title}: how the runs spread where our mean is worse", _first(cells), headings, rows)


_GRIDS = {"mean": _mean_grid, "range": _range_grid, "spread": _spread_grid}


def _pairs(figure: str, columns: Sequence[Column], cell: Cell, source: Published, results: Results) -> list[Pair]:
    """Return the paper's mean and ours for every column on a cell."""
    if figure == "behind":
        scores = [source.get(cell.name, "score", column.paper or "") for column in columns]
        paper = below_best([score.value for score in scores if score is not None])
        ours = results.behind([column.entries for column in columns], cell)
        return [
            Pair(Given(one, BEHIND_DIGITS), other, NO_COMMON if other is None else "")
            for one, other in zip(paper, ours, strict=True)
        ]
    pairs = []
    for column in columns:
        values = results.values(column.entries, cell, figure)
        published = None if column.paper is None else source.get(cell.name, figure, column.paper)
        remark = _stopped(figure, column, cell, results) if values else why_missing(column.entries, cell, results)
        pairs.append(Pair(published, mean(values) if values else None, remark))
    return pairs


def _stopped(figure: str, column: Column, cell: Cell, results: Results) -> str:
    """Return the mark of a figure that a time limit changes, if it stopped a run."""
    if figure not in LIMITED:
        return ""
    records = [record for entry in column.entries for record in results.of(entry, cell)]
    return STOPPED if any(record.status == "time_limit" for record in records) else ""


def _boxes(column: Column, pair: Pair, figure: Figure) -> list[Box]:
    """Return the cells of a row for a method."""
    ours = Box(pair.remark) if pair.ours is None else Box(figure.text(pair.ours) + pair.remark, pair.ours)
    if column.paper is None:
        return [ours]
    paper = Box(NOT_GIVEN) if pair.paper is None else Box(str(pair.paper), pair.paper.value)
    if pair.paper is None or pair.ours is None:
        return [paper, ours, Box(NO_RATIO)]
    if figure.is_worse(pair.ours, pair.paper):
        ours = Box(ours.text + WORSE, ours.value)
    if not pair.paper.value:
        return [paper, ours, Box(NO_RATIO)]
    ratio = pair.ours / pair.paper.value
    return [paper, ours, Box(ratio_text(ratio) if figure.comparable else f"{ratio:.3f}", ratio)]


def _summary(columns: Sequence[Column], rows: Sequence[Sequence[Pair]], figure: Figure) -> Row:
    """Return the means over the cells on which ours has been run."""
    n_cells = sum(any(pair.ours is not None for pair in row) for row in rows)
    boxes = [Box(f"{n_cells} cells", n_cells)]
    for k, column in enumerate(columns):
        run = [row[k] for row in rows if row[k].ours is not None and (column.paper is None or row[k].paper is not None)]
        ours = [pair.ours for pair in run if pair.ours is not None]
        paper = [pair.paper for pair in run if pair.paper is not None]
        known = Given(mean([one.value for one in paper]), paper[0].digits) if paper else None
        marks = {pair.remark for pair in run}
        remark = (STOPPED if STOPPED in marks else "") if ours else NOT_RUN
        own = _boxes(column, Pair(known, mean(ours) if ours else None, remark), figure)
        boxes += own if ours else [Box(remark)] * len(own)
    return Row("mean of the cells run", boxes)


def _range(ends: Sequence[str], reason: str) -> Box:
    return Box(", ".join(ends) or reason)


def _count(columns: Sequence[Column], cell: Cell, results: Results) -> Box:
    """Return how many runs with an answer the columns have on a cell, least to most."""
    found = [sum(record.ended for entry in column.entries for record in results.of(entry, cell)) for column in columns]
    counts = sorted({count for count in found if count})
    if not counts:
        return Box("0", 0)
    return Box(str(counts[0]), counts[0]) if len(counts) == 1 else Box(f"{counts[0]}-{counts[-1]}")


def _headings(column: Column) -> list[Heading]:
    if column.paper is None:
        return [Heading("", column.label)]
    ours = "ours" if column.label == column.paper else column.label
    return [Heading(column.paper, name) for name in ("paper", ours, "ratio")]


def _cells(design: Design, panel: Panel) -> list[Cell]:
    return [cell for cell in design.cells if not panel.cells or cell.name in panel.cells]


def _first(cells: Sequence[Cell]) -> str:
    return "(n, N, d)" if any(cell.degree is not None for cell in cells) else "data set"


def _notes(design: Design, columns: Sequence[Column], results: Results) -> list[str]:
    """Return notes for the reader: what has been run, what the marks mean."""
    notes = list(design.notes)
    if design.published:
        notes.append(f"ratio: ours / paper. {WORSE} ours is worse, rounded to the paper's digits.")
        if any(cell.degree is not None for cell in design.cells):
            notes.append(
                "The paper's figures are means over ten instances of its own; ours are drawn by the same recipe, seeds "
                f"0 to {design.seeds - 1}, and averaged over those that have been run."
            )
    optima = [_beside_optimum(design, entry, results) for column in columns for entry in column.entries]
    shown = {column.label for column in columns}
    absent = list(dict.fromkeys(entry.label for entry in design.entries if entry.label not in shown))
    left_out = [f"Not shown, because no run has been recorded: {', '.join(absent)}."] if absent else []
    return [*notes, *(_coverage(design, column, results) for column in columns), *left_out, *filter(None, optima)]


def _beside_optimum(design: Design, entry: Entry, results: Results) -> str:
    """Return in how many runs a method found the optimum over its parent sets, as another column proves it."""
    best: dict[tuple[str, int | None], float] = {}
    for other in design.entries:
        if other.label == entry.optimum:
            records = [record for cell in design.cells for record in results.of(other, cell)]
            best |= {(r.instance, r.seed): r.score for r in records if r.status == "optimal" and r.score is not None}
    records = [record for cell in design.cells for record in results.of(entry, cell) if record.score is not None]
    gaps = [best[r.instance, r.seed] - (r.score or 0.0) for r in records if (r.instance, r.seed) in best]
    if not gaps:
        return ""
    found = sum(gap <= SAME_SCORE for gap in gaps)
    share = f"{found} of {len(gaps)} runs"
    return f"{entry.label} ends at the optimum over its parent sets, proven by {entry.optimum}, in {share}."


def _coverage(design: Design, column: Column, results: Results) -> str:
    """Return how much of a column has been run, and how it ended."""
    planned = {run.key for run in design.runs_of(column.entries)}
    records = [record for cell in design.cells for entry in column.entries for record in results.of(entry, cell)]
    own = [record for record in records if record.key in planned]
    limits = sorted({record.limit for record in own if record.status == "time_limit"})
    after = " or ".join(f"{limit:g}" for limit in limits)
    ends = {
        f"stopped by the time limit ({after} s)": sum(record.status == "time_limit" for record in own),
        "without an answer": sum(not record.ended for record in own),
        "with a graph that has no DAG and so no score": sum(record.ended and record.score is None for record in own),
    }
    said = "".join(f", {count} {what}" for what, count in ends.items() if count)
    return f"{_spelled(column)}: {len(own)} of {len(planned)} runs{said}."


def _spelled(column: Column) -> str:
    """Return the label of a column, with its method and options if they are not the defaults."""
    details = [] if column.entries[0].name == column.label else [column.entries[0].name]
    for entry in column.entries:
        where = f" on {' and '.join(Cell.named(name).label for name in entry.only)}" if entry.only else ""
        details += [f"{name}={value}{where}" for name, value in entry.options.items()]
    return f"{column.label} ({', '.join(details)})" if details else column.label
