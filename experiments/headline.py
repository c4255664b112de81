"""The headline: on each Gaussian cell our default method and the best of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.design import Design
from experiments.figures import FIGURES, Results, gap, mean, ratio_text, seconds_text
from experiments.instances import Cell
from experiments.layout import Box, Grid, Heading, PaperTable, Row
from experiments.published import Given, published
from experiments.reasons import explained, why_missing

__all__ = ["HeadlineRow", "headline", "headline_table"]

CORE = "CG-DCA"  # the paper's own method


@dataclass(frozen=True)
class HeadlineRow:
    """One cell; None if nothing has been run.

    Attributes
    ----------
    cell : Cell
        Which.
    n_runs : int
        Instances with an answer.
    gap, floored_gap : float or None
        Mean gap to the true graph's score in per cent, negative if ours is better; and with each gap at least 0, as in
        the paper.
    shd, seconds : float or None
        Means.
    best_gap : Given
        The lower of the two gaps that the paper gives.
    best_shd : Given
        The least of the paper's five methods, which ``best_method`` names.
    paper_seconds : Given
        The time of the paper's CG-DCA.
    missing : str
        Why there are no figures of ours, if there are none.
    """

    cell: Cell
    n_runs: int
    gap: float | None
    floored_gap: float | None
    shd: float | None
    seconds: float | None
    best_gap: Given
    best_shd: Given
    best_method: str
    paper_seconds: Given
    missing: str

    @property
    def above(self) -> tuple[str, ...]:
        """The figures in which ours is above the paper's best, rounded to the paper's digits."""
        pairs = {
            "gap": (self.floored_gap, self.best_gap),
            "shd": (self.shd, self.best_shd),
            "seconds": (self.seconds, self.paper_seconds),
        }
        return tuple(
            name for name, (ours, paper) in pairs.items() if ours is not None and FIGURES[name].is_worse(ours, paper)
        )


def headline(design: Design, results: Results) -> list[HeadlineRow]:
    """Return a row for each cell of the design, whose first method is our default."""
    scores, graphs = published()["table1"], published()["table6"]
    rows = []
    for cell in design.cells:
        records = [record for record in results.of(design.entries[0], cell) if record.ended]
        gaps = [found for record in records if (found := gap(record)) is not None]
        shd = {method: graphs.values[(cell.name, "shd", method, "mean")] for method in graphs.methods("shd")}
        best = min(shd, key=lambda method: shd[method].value)
        paper = [scores.values[(cell.name, "gap", method, "mean")] for method in scores.methods("gap")]
        rows.append(
            HeadlineRow(
                cell,
                len(records),
                mean(gaps) if gaps else None,
                mean([max(one, 0.0) for one in gaps]) if gaps else None,
                _mean_of(results, design, cell, "shd"),
                _mean_of(results, design, cell, "seconds"),
                min(paper, key=lambda given: given.value),
                shd[best],
                best,
                scores.values[(cell.name, "seconds", CORE, "mean")],
                why_missing(design.entries[:1], cell, results),
            )
        )
    return rows


def headline_table(design: Design, results: Results) -> PaperTable:
    """Return the rows as a table, followed by the names of the cells where ours is worse."""
    rows = headline(design, results)
    headings = [
        Heading("", "runs"),
        Heading("Gap (%)", "signed"),
        Heading("Gap (%)", "ours"),
        Heading("Gap (%)", "paper's best"),
        Heading("SHD", "ours"),
        Heading("SHD", "paper's best"),
        Heading("SHD", "by"),
        Heading("Seconds", "ours"),
        Heading("Seconds", "paper's CG-DCA"),
        Heading("Seconds", "ratio"),
        Heading("", "above in"),
    ]
    grid = Grid(
        f"{design.entries[0].label} and the paper's five methods", "(n, N, d)", headings, [_row(one) for one in rows]
    )
    return PaperTable(
        design.name, design.place, design.title, (grid,), (*_notes(rows), *explained([grid]), *design.notes)
    )


def _mean_of(results: Results, design: Design, cell: Cell, figure: str) -> float | None:
    values = results.values(design.entries[:1], cell, figure)
    return mean(values) if values else None


def _row(row: HeadlineRow) -> Row:
    ratio = None if row.seconds is None else row.seconds / row.paper_seconds.value
    nothing = Box(row.missing)
    return Row(
        row.cell.label,
        [
            Box(str(row.n_runs), row.n_runs),
            nothing if row.gap is None else Box(f"{row.gap:+.4f}", row.gap),
            nothing if row.floored_gap is None else Box(f"{row.floored_gap:.3f}", row.floored_gap),
            Box(str(row.best_gap), row.best_gap.value),
            nothing if row.shd is None else Box(f"{row.shd:.2f}", row.shd),
            Box(str(row.best_shd), row.best_shd.value),
            Box(row.best_method),
            nothing if row.seconds is None else Box(seconds_text(row.seconds), row.seconds),
            Box(str(row.paper_seconds), row.paper_seconds.value),
            nothing if ratio is None else Box(ratio_text(ratio), ratio),
            Box(", ".join(row.above) or "none") if row.n_runs else nothing,
        ],
    )


def _notes(rows: list[HeadlineRow]) -> list[str]:
    known = [row for row in rows if row.n_runs]
    notes = [
        "signed: the mean gap to the true graph's score, negative where ours scores higher; ours: each gap at least 0, "
        "as in the paper. Its best gap is the lower of CG-DCA's and GOBNILP's, its best SHD the least of five methods.",
        f"{len(known)} of {len(rows)} cells have runs.",
    ]
    for figure in ("gap", "shd", "seconds"):
        named = [row.cell.label for row in known if figure in row.above]
        where = ", ".join(named) if named else "none"
        notes.append(f"Cells where ours is above in {figure}: {where}.")
    return notes
