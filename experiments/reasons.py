"""Why a cell of a table has no figure: a few words in the cell, and what they mean below the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from experiments.design import Entry
from experiments.figures import Results
from experiments.instances import Cell
from experiments.layout import Grid
from experiments.records import Record

__all__ = ["NOT_GIVEN", "NOT_RUN", "NO_COMMON", "NO_RATIO", "STOPPED", "explained", "why_missing"]

NOT_RUN = "not run"
NOT_PLANNED = "not planned"
NO_FIGURE = "no figure"
OVER_MEMORY = "over memory"
FAILED = "failed"
NOT_GIVEN = "not given"
NO_RATIO = "no ratio"
NO_COMMON = "no common seed"
STOPPED = "†"  # beside a figure
STOPPED_AFTER = "stopped after"

MEANINGS = {
    NOT_RUN: "no run has been recorded",
    NOT_PLANNED: "the method is not meant for this data set",
    NO_FIGURE: "the run ended but has no such figure, as a graph without a DAG has no score",
    OVER_MEMORY: "the process ended for want of memory",
    FAILED: "the method raised an error",
    STOPPED_AFTER: "the process was ended without an answer",
    NOT_GIVEN: "the paper does not give this figure",
    NO_RATIO: "the paper's figure is 0, or one of the two is missing",
    NO_COMMON: "no seed has been run with all strategies",
    STOPPED: "some of the runs behind this figure were stopped by the time limit, so they could have taken longer and "
    "scored higher",
}


def why_missing(entries: Sequence[Entry], cell: Cell, results: Results) -> str:
    """Return why the methods of a column have no figure on a cell.

    Parameters
    ----------
    entries : sequence of Entry
        The methods that share the column.
    cell : Cell
        The row.
    results : Results
        What has been run.
    """
    if not any(entry.takes(cell) for entry in entries):
        told = [entry.skips[cell.name] for entry in entries if cell.name in entry.skips]
        return told[0] if told else NOT_PLANNED
    records = [record for entry in entries for record in results.of(entry, cell)]
    if not records:
        return NOT_RUN
    if any(record.ended for record in records):
        return NO_FIGURE
    reasons = [_ending(record) for record in records]
    return max(reasons, key=reasons.count)


def explained(grids: Iterable[Grid]) -> list[str]:
    """Return one note for each mark that occurs in the grids, in a fixed order."""
    texts = {box.text for grid in grids for row in grid.rows for box in row.boxes}
    used = {mark for mark in MEANINGS for text in texts if text == mark}
    used |= {mark for mark in (STOPPED, STOPPED_AFTER) for text in texts if mark in text}
    return [f"{mark}: {meaning}." for mark, meaning in MEANINGS.items() if mark in used]


def _ending(record: Record) -> str:
    """Return how a run without an answer ended."""
    error = (record.error or "").lower()
    if "memory" in error:
        return OVER_MEMORY
    return f"{STOPPED_AFTER} {record.limit:g} s" if record.status == "killed" and "limit" in error else FAILED
