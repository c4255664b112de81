"""The doctor's checks of columns as they are read, before a table is made of them: their order still says something."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dagopt.data.columns import Column
from dagopt.data.findings import Finding
from dagopt.data.group_checks import grouped_rows
from dagopt.data.index_checks import indices, survival_pairs, time_like
from dagopt.data.misreadings import misreadings
from dagopt.data.row_checks import repeated_rows, serial_dependence
from dagopt.data.row_facts import PLAIN, RowFacts
from dagopt.data.shape_checks import outliers, shapes
from dagopt.deadline import FOREVER, Deadline

__all__ = ["column_findings"]

MOST_COLUMNS = 4000  # that are looked at; of more, every k-th
SHARE_OF_LIMIT = 0.5  # of a time limit, after which rows and shapes are not looked at


def column_findings(
    columns: Sequence[Column],
    given: Sequence[Column],
    about: RowFacts = PLAIN,
    *,
    in_time: bool = False,
    deadline: Deadline = FOREVER,
) -> list[Finding]:
    """Return the findings on rows, shapes and readings.

    Parameters
    ----------
    columns : sequence of Column
        As they are used; cells may be missing but not infinite.
    given : sequence of Column
        The same as they were read.
    about : RowFacts
        The weights and groups of the rows.
    in_time : bool
        Whether rows are moments and their past is used: that successive ones are alike is then no finding.
    deadline : Deadline
        The clock: rows and shapes are not looked at once half of a time limit is over.
    """
    found = misreadings(columns, given)
    if not columns or not len(columns[0].values):
        return found
    columns = columns[:: -(-len(columns) // MOST_COLUMNS)]
    found += indices(columns) + survival_pairs(columns)
    named = {name for finding in found if finding.code in NO_QUANTITIES for name in finding.columns}
    times = time_like(columns)
    quantities = [
        column for column, is_time in zip(columns, times, strict=True) if not (is_time or column.name in named)
    ]
    checks: tuple[tuple[str, Callable[[], list[Finding]]], ...] = (
        ("groups of rows", lambda: [] if in_time or about.centred else grouped_rows(quantities, columns, about.groups)),
        ("dependence between successive rows", lambda: [] if in_time else serial_dependence(columns, times)),
        ("repeated rows", lambda: repeated_rows(quantities or columns)),
        ("outliers", lambda: outliers(quantities)),
        ("shapes of distributions", lambda: shapes(quantities)),
    )
    for k, (_, check) in enumerate(checks):
        if deadline.elapsed() > SHARE_OF_LIMIT * deadline.time_limit:
            return [*found, _unchecked(columns, [name for name, _ in checks[k:]])]
        found += check()
    return found


def _unchecked(columns: Sequence[Column], what: list[str]) -> Finding:
    """Return the finding that there was no time for some checks."""
    return Finding(
        "warning",
        "unchecked",
        tuple(column.name for column in columns),
        f"{', '.join(what)} of the {len(columns)} columns were not checked",
        "reading took half of the time limit or more, and the rest is kept for learning",
        "set a longer time_limit=, or run dagopt doctor once",
    )


NO_QUANTITIES = ("identifier", "row-numbers", "time-index")
