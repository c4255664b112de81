"""The doctor: checks a table before anything is learned from it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dagopt.data.cells import empty_columns, missing_cells, troubles, unusable_numbers, without_incomplete_rows
from dagopt.data.chance import chance_finding
from dagopt.data.column_checks import column_findings
from dagopt.data.columns import Column
from dagopt.data.continuous_checks import continuous_findings, few_rows
from dagopt.data.data_options import DataOptions
from dagopt.data.discrete_checks import discrete_findings
from dagopt.data.em import rows_that_count
from dagopt.data.findings import Diagnosis, Finding
from dagopt.data.misreadings import kinds_in_words
from dagopt.data.row_facts import PLAIN, RowFacts, group_means_removed
from dagopt.data.series_checks import wandering
from dagopt.data.table import (
    TABLES,
    ContinuousTable,
    DiscreteTable,
    Table,
    covariance_of,
    in_one_pass,
    of_kind,
    read_in_time,
    read_table,
    table_of,
)
from dagopt.deadline import FOREVER, Deadline
from dagopt.options import with_options

__all__ = ["examine", "examine_table"]


@with_options(DataOptions)
def examine(data: object, *, max_parents: int | None = None, **options: Any) -> Diagnosis:
    """Return all findings on a source of data.

    Every check runs, so that one call shows everything; the later checks ignore rows with missing or infinite cells.

    Parameters
    ----------
    data : path, frame, array or Table
        As in ``as_table``.
    max_parents : int, optional
        The largest number of parents allowed, to check that there are enough rows.
    {options}

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=3, n_samples=100, random_state=0)
    >>> data["copy"] = 2 * data["X0"]
    >>> [(finding.severity, finding.code, finding.columns) for finding in dagopt.examine(data).findings]
    [('error', 'duplicate', ('X0', 'copy'))]
    """
    reading = DataOptions(**options)
    if isinstance(data, TABLES):
        return examine_table(data, max_parents)
    if in_one_pass(data, reading):
        table, before = read_table(data, reading)
        return examine_table(table, max_parents, before)
    given, times, about = read_in_time(data, reading)
    if reading.n_samples is not None:
        return examine_table(covariance_of(given, reading.n_samples), max_parents)
    findings = troubles(given)
    usable = [column for column in given if not column.trouble]
    if len(usable) < 2:
        return Diagnosis("mixed", len(given[0].values), len(given), _errors_first(findings))
    found = of_kind(usable, reading, about.scaled)
    kinds: dict[str, str] = {column.name: column.kind for column in found}
    taken = kinds_in_words(found, usable)
    if reading.missing == "drop":
        about = about.take(~np.logical_or.reduce([column.missing for column in found]))
    in_time = reading.lags is not None
    if times is not None and in_time and not unusable_numbers(found):
        findings += wandering(found, times)
    found, holes = _handled(found, reading.missing)
    findings += holes + unusable_numbers(found)
    found, about = _usable_rows(found, about)
    if reading.centre_groups and found:
        found, about = group_means_removed(found, about)
    findings += _of_columns(found, usable, findings, about, in_time)
    if len(found) > 1:
        table = table_of(found, about=about)
        findings += _table_findings(table, max_parents, FOREVER)
        if not any(finding.severity == "error" for finding in findings):
            findings += chance_finding(table.names, table.sizes, 0.5 * math.log(max(table.n_samples, 1)))
    overall = "mixed" if len(set(kinds.values())) > 1 else next(iter(kinds.values()))
    return Diagnosis(overall, len(given[0].values), len(given), _errors_first(_once(findings)), kinds, taken)


def _of_columns(
    found: list[Column], given: list[Column], known: list[Finding], about: RowFacts, in_time: bool
) -> list[Finding]:
    """Return the findings on the columns that have no error of their own."""
    broken = {
        name for finding in known if finding.code in ("infinite", "too-large", "too-small") for name in finding.columns
    }
    fine = [column for column in found if column.name not in broken]
    by_name = {column.name: column for column in given}
    return column_findings(fine, [by_name[column.name] for column in fine], about, in_time=in_time)


def _handled(columns: list[Column], missing: str) -> tuple[list[Column], list[Finding]]:
    """Return the columns after ``missing=`` is applied, and the findings about missing cells."""
    if missing == "drop":
        return without_incomplete_rows(columns)
    holes = missing_cells(columns)
    if not holes or missing == "error":
        return columns, holes
    empty = empty_columns(columns)
    there = np.column_stack([~column.missing for column in columns])
    cells, rows = int((~there).sum()), int((~there).any(axis=1).sum())
    spoken = {
        "em": f"all {int(there.sum())} known cells are used, the others are treated as missing at random; "
        f"{rows_that_count(there)} of {len(there)} rows count in the score",
        "level": "missing is an extra level in these columns",
    }[missing]
    found = replace(
        holes[0],
        severity="warning",
        message=f"{cells} cells are missing, in {rows} of {len(there)} rows; {holes[0].message}",
        consequence=spoken,
        remedy="none, if that is intended; otherwise fill the cells in, or leave the columns out with exclude=",
    )
    return columns, [*empty, found]


def _once(findings: list[Finding]) -> list[Finding]:
    """Return the findings without those that another finding about the same column makes redundant."""
    rank = {"units": -1, "row-numbers": 0, "dates": 0, "nearly-unique": 0, "time-index": 1, "identifier": 2, "arity": 3}
    best: dict[str, Finding] = {}
    for finding in findings:
        if finding.code in rank:
            (name,) = finding.columns
            if name not in best or rank[finding.code] < rank[best[name].code]:
                best[name] = finding
    return [f for f in findings if f.code not in rank or best[f.columns[0]] is f]


def examine_table(
    table: Table, max_parents: int | None = None, before: Iterable[Finding] = (), deadline: Deadline = FOREVER
) -> Diagnosis:
    """Return the findings on a table, together with those made ``before`` it was built."""
    findings = _once([*before, *_table_findings(table, max_parents, deadline)])
    return Diagnosis(table.kind, table.n_samples, len(table.names), _errors_first(findings))


def _errors_first(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.severity != "error"))


def _usable_rows(columns: list[Column], about: RowFacts = PLAIN) -> tuple[list[Column], RowFacts]:
    """Drop rows with missing or infinite cells, and columns that have no other cells."""
    bad = [column.missing | (np.isinf(column.values) if column.kind == "continuous" else False) for column in columns]
    kept = [k for k, mask in enumerate(bad) if not mask.all()]
    broken = np.logical_or.reduce([bad[k] for k in kept]) if kept else np.ones(1, dtype=bool)
    if broken.all():
        return [], about
    return [columns[k].take(~broken) for k in kept], about.take(~broken)


def _table_findings(table: Table, max_parents: int | None, deadline: Deadline) -> list[Finding]:
    if isinstance(table, DiscreteTable):
        return discrete_findings(table, max_parents)
    if isinstance(table, ContinuousTable):
        return few_rows(table, max_parents) + continuous_findings(table, deadline)
    numbers = [column for column in table.columns if column.kind == "continuous"]
    words = [column for column in table.columns if column.kind == "discrete"]
    alone = ContinuousTable(tuple(column.name for column in numbers), np.column_stack([c.values for c in numbers]))
    findings = continuous_findings(alone, deadline)
    whole, _ = _usable_rows(words)
    if whole:
        part = table_of(whole)
        assert isinstance(part, DiscreteTable)
        findings += discrete_findings(part, None, alone=False)
    if not any(finding.code == "constant" for finding in findings):
        findings += few_rows(table, max_parents)
    return findings
