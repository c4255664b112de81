"""A table as headings and boxes, and its Markdown, LaTeX and plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

__all__ = ["Box", "Grid", "Heading", "PaperTable", "Row", "as_latex", "as_markdown", "as_values", "with_runs"]

_LATEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "<=": r"$\le$", "*": "$^{*}$", "†": r"$^{\dagger}$"}


class Box(NamedTuple):
    """The content of a cell: its text, and the number behind it."""

    text: str
    value: float | None = None


class Heading(NamedTuple):
    """Heading of a column, and of the columns around it (empty for none)."""

    group: str
    name: str


class Row(NamedTuple):
    """A row of a grid."""

    label: str
    boxes: list[Box]


@dataclass(frozen=True)
class Grid:
    """A part of a table: title, headings, rows; ``first`` is the heading of the row labels."""

    title: str
    first: str
    headings: list[Heading]
    rows: list[Row]


@dataclass(frozen=True)
class PaperTable:
    """A table: name, place in the paper, title, parts, and notes below."""

    name: str
    place: str
    title: str
    grids: tuple[Grid, ...]
    notes: tuple[str, ...]


def with_runs(table: PaperTable) -> PaperTable:
    """Return a table without the rows that have no runs, and with a note on them; the whole table if none has runs."""
    left_out: set[str] = set()
    grids = []
    for grid in table.grids:
        counted = [k for k, heading in enumerate(grid.headings) if heading.name == "runs"]
        empty = {row.label for row in grid.rows if counted and row.boxes[counted[0]].value == 0}
        left_out |= empty
        grids.append(replace(grid, rows=[row for row in grid.rows if row.label not in empty]))
    if not left_out or not any(grid.rows for grid in grids):
        return table
    note = f"{len(left_out)} rows have no runs and are left out; --markdown FILE writes the whole table."
    return replace(table, grids=tuple(grid for grid in grids if grid.rows), notes=(*table.notes, note))


def as_markdown(table: PaperTable, level: int = 2) -> str:
    """Return a table as Markdown, with a heading of this level."""
    parts = [f"{'#' * level} {table.place}: {table.title}"]
    for grid in table.grids:
        heads = [grid.first, *(f"{one.group} {one.name}".strip() for one in grid.headings)]
        lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * len(grid.headings)]
        lines += ["| " + " | ".join([row.label, *(box.text for box in row.boxes)]) + " |" for row in grid.rows]
        parts += [f"**{grid.title}**", "\n".join(line.replace("*", r"\*") for line in lines)]
    if table.notes:
        parts.append("\n".join(f"- {note}".replace("*", r"\*") for note in table.notes))
    return "\n\n".join(parts) + "\n"


def as_latex(table: PaperTable) -> str:
    """Return a table as LaTeX, one ``table`` per part; needs the package booktabs."""
    parts = []
    for k, grid in enumerate(table.grids, start=1):
        groups = [(name, len(list(columns))) for name, columns in groupby(one.group for one in grid.headings)]
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_escaped(table.place)}: {_escaped(table.title)}. {_escaped(grid.title)}}}",
            rf"\label{{{table.name}-{k}}}",
            rf"\begin{{tabular}}{{l{'r' * len(grid.headings)}}}",
            r"\toprule",
        ]
        if any(name for name, _ in groups):
            lines.append(
                " & ".join(["", *(rf"\multicolumn{{{n}}}{{c}}{{{_escaped(name)}}}" for name, n in groups)]) + r" \\"
            )
            lines.append(_rules(groups))
        lines.append(" & ".join(map(_escaped, [grid.first, *(one.name for one in grid.headings)])) + r" \\")
        lines.append(r"\midrule")
        lines += [
            " & ".join(map(_escaped, [row.label, *(box.text for box in row.boxes)])) + r" \\" for row in grid.rows
        ]
        lines += [r"\bottomrule", r"\end{tabular}"]
        if k == len(table.grids) and table.notes:
            lines += ["", r"\smallskip\footnotesize", r" \\ ".join(map(_escaped, table.notes))]
        parts.append("\n".join([*lines, r"\end{table}"]))
    return "\n\n".join(parts) + "\n"


def as_values(table: PaperTable) -> dict[str, Any]:
    """Return a table as plain values, for JSON."""
    return {
        "name": table.name,
        "place": table.place,
        "title": table.title,
        "parts": [
            {
                "title": grid.title,
                "columns": [f"{one.group} {one.name}".strip() for one in grid.headings],
                "rows": {
                    row.label: [box.text if box.value is None else box.value for box in row.boxes] for row in grid.rows
                },
            }
            for grid in table.grids
        ],
        "notes": list(table.notes),
    }


def _rules(groups: list[tuple[str, int]]) -> str:
    """Return the rules under the headings of groups."""
    rules, place = [], 2
    for name, width in groups:
        if name:
            rules.append(rf"\cmidrule(lr){{{place}-{place + width - 1}}}")
        place += width
    return "".join(rules)


def _escaped(text: str) -> str:
    for plain, written in _LATEX.items():
        text = text.replace(plain, written)
    return text
