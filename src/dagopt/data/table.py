"""Tables ready to be scored: sufficient statistics computed once, from any source of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.batches import is_streamed, is_tabular_file
from dagopt.data.cells import (
    empty_columns,
    missing_cells,
    troubles,
    unusable_numbers,
    with_missing_level,
    without_incomplete_rows,
)
from dagopt.data.column_checks import column_findings
from dagopt.data.columns import Column
from dagopt.data.continuous import ContinuousTable, CovarianceTable
from dagopt.data.data_options import DataOptions
from dagopt.data.discretize import discretized
from dagopt.data.distinct import distinct_rows
from dagopt.data.findings import Finding
from dagopt.data.kinds import TRANSFORMED, checked_kinds, with_kinds
from dagopt.data.lags import Lags, lagged_columns, lagged_values
from dagopt.data.mixed import MixedTable
from dagopt.data.reading import positions_of, read_apart
from dagopt.data.row_facts import PLAIN, RowFacts, group_means_removed, named_columns, read_with_facts
from dagopt.data.row_times import RowTimes, row_times
from dagopt.data.series_checks import wandering
from dagopt.data.statistics import Statistics
from dagopt.data.summarise import Told, is_statistics, needing_rows, summarised_source
from dagopt.data.summarised import summarised
from dagopt.data.transforms import transformed
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError, unknown_name
from dagopt.options import with_options

__all__ = [
    "TABLES",
    "ContinuousTable",
    "CovarianceTable",
    "DiscreteTable",
    "MixedTable",
    "Table",
    "as_frame",
    "as_table",
    "complete_columns",
    "distinct_rows",
    "in_one_pass",
    "read_in_time",
    "read_table",
    "table_in_time",
    "table_of_statistics",
]

MOST_LEVELS = 65_535  # codes are uint16
MOST_PARTS = 1 << 20  # of rows with survey weights, if that leaves parts small enough: the logarithm of each is kept
FEWEST_COPIES, MOST_COPIES = 16, 1000  # parts of a row that survey weights are rounded to


@dataclass(frozen=True, eq=False)
class DiscreteTable:
    """A table of levels: the distinct rows and how often each occurs.

    Attributes
    ----------
    names : tuple of str
        The columns.
    levels : tuple of tuple of str
        The levels of each column.
    codes : array of shape (n, distinct rows)
        Codes of the levels, one contiguous row of the array per column.
    weights : array
        How often each distinct row occurs.
    copies : int
        How many of these stand for one row: more than one if missing cells were filled in several ways, or if rows have
        survey weights, which are rounded to such parts of a row.
    lags : Lags or None
        How rows and columns are laid out in time, if they are.
    which : int array or None
        For every row in time, the distinct row that it equals.
    survey : bool
        Whether rows have survey weights.
    members : Members or None
        The units that the rows come from, if they are drawn or divided as a whole: groups, or rows with survey weights.
    """

    names: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    codes: NDArray[np.uint16]
    weights: NDArray[np.int64]
    copies: int = 1
    lags: Lags | None = None
    which: NDArray[np.int64] | None = None
    survey: bool = False
    members: Members | None = None

    kind = "discrete"

    is_complete = True

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The data, to compute a digest."""
        return [self.codes, self.weights]

    @property
    def n_rows(self) -> int:
        """Number of rows, repetitions included."""
        return self.n_samples

    @cached_property
    def n_samples(self) -> int:
        """Number of rows N, repetitions included."""
        return round(int(self.weights.sum()) / self.copies)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The numbers that represent each column: its levels minus one."""
        return self.arity - 1

    @cached_property
    def arity(self) -> NDArray[np.int64]:
        """The number of levels of each column."""
        return np.array([len(levels) for levels in self.levels], dtype=np.int64)

    @classmethod
    def from_codes(
        cls,
        names: tuple[str, ...],
        levels: tuple[tuple[str, ...], ...],
        codes: NDArray[np.integer[Any]],
        weights: NDArray[np.int64] | None = None,
        copies: int = 1,
        lags: Lags | None = None,
        about: RowFacts = PLAIN,
    ) -> DiscreteTable:
        """Return the table of the given rows, ``codes`` of shape (n, N), with equal rows merged."""
        narrow = np.ascontiguousarray(codes, dtype=np.uint16)
        first, cells = distinct_rows(narrow, [len(column) for column in levels])
        distinct = np.ascontiguousarray(narrow[:, first])
        if about.survey or about.groups is not None:
            members = Members.of(cells, about)
            once = np.ones(len(first), dtype=np.int64)
            units = cls(names, levels, distinct, once, survey=about.survey, members=members)
            return replace(units.of_units(np.ones(members.n_units, dtype=np.int64)), members=members)
        counted = weights if about.weights is None else about.weights
        merged = np.bincount(cells, counted, minlength=len(first)).astype(np.int64)
        return cls(names, levels, distinct, merged, copies, lags, None if lags is None else cells)

    def of_units(self, times: Ints) -> DiscreteTable:
        """Return the table in which each unit occurs so many times; the columns keep their levels.

        Survey weights are scaled to the effective number of rows, and those of a distinct row rounded to parts of one.
        """
        assert self.members is not None
        counted = self.members.weights * times[self.members.units]
        sums = np.bincount(self.members.cells, counted, minlength=self.codes.shape[1])
        copies = 1
        if self.survey:
            count = float(counted.sum()) ** 2 / float(counted @ self.members.weights)
            copies = int(min(max(MOST_PARTS // count, FEWEST_COPIES), MOST_COPIES))
            sums *= count * copies / sums.sum()
        kept = np.flatnonzero(sums)
        weights = np.maximum(np.rint(sums), 1).astype(np.int64)
        codes = np.ascontiguousarray(self.codes[:, kept])
        return replace(self, codes=codes, weights=weights[kept], copies=copies, members=None)


class Members(NamedTuple):
    """The units that rows come from: for each row its distinct row, its unit and its weight."""

    cells: Ints
    units: Ints
    weights: Floats

    @classmethod
    def of(cls, cells: Ints, about: RowFacts) -> Members:
        """Return the units of rows: their groups, or each row by itself."""
        units = np.arange(len(cells)) if about.groups is None else about.groups
        return cls(cells, units, np.ones(len(cells)) if about.weights is None else about.weights)

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(self.units.max(initial=-1)) + 1


Table = ContinuousTable | DiscreteTable | MixedTable
TABLES = (ContinuousTable, DiscreteTable, MixedTable)


@with_options(DataOptions)
def as_table(data: object, **options: Any) -> Table:
    """Return a table from any source of data.

    Parameters
    ----------
    data : path, frame, array, iterator of frames, Arrow stream, Statistics or Table
        See ``read_columns`` and ``summarise``; a Table is returned as it is.
    {options}

    Returns
    -------
    ContinuousTable, DiscreteTable or MixedTable
        By the kinds of the columns.

    Examples
    --------
    >>> import dagopt
    >>> import pandas as pd
    >>> table = dagopt.as_table(pd.DataFrame({"age": [31.5, 40.2, 28.9], "smoker": ["no", "yes", "no"]}))
    >>> table.kind, table.names
    ('mixed', ('age', 'smoker'))
    """
    return read_table(data, DataOptions(**options), doctor=False)[0]


def read_table(
    data: object,
    options: DataOptions,
    *,
    doctor: bool = True,
    deadline: Deadline = FOREVER,
    told: Told | None = None,
    every_row: bool = False,
) -> tuple[Table, tuple[Finding, ...]]:
    """Return the table of a source of data, and findings on its columns and what was done to make it complete.

    A source that is not in memory, or too large for it, is read in one pass, unless ``every_row`` is needed; ``told``
    hears how far that is.
    """
    if isinstance(data, TABLES):
        _refuse_facts_of(options)
        return data, ()
    if options.n_samples is None and in_one_pass(data, options, every_row):
        return table_of_statistics(summarised_source(data, options, deadline, told), options, doctor)
    if options.n_samples is not None:
        _refuse_facts_of(options)
    given, times, about = read_in_time(data, options, deadline)
    if options.n_samples is not None:
        return covariance_of(given, options.n_samples), ()
    return _table_of_given(given, times, about, options, doctor, deadline)


def _table_of_given(
    given: list[Column],
    times: RowTimes | None,
    about: RowFacts,
    options: DataOptions,
    doctor: bool,
    deadline: Deadline = FOREVER,
) -> tuple[Table, tuple[Finding, ...]]:
    """Return the table of columns as they were read, and findings on them."""
    columns, about, findings = complete_columns(given, about, options, in_time=times is not None)
    if times is None:
        table = table_of(columns, about=about)
    else:
        table, gaps = table_in_time(columns, times, options)
        gaps += wandering(columns, times) if doctor and options.lags is not None else []
        findings = (*findings, *gaps)
    if doctor:
        in_time = options.lags is not None
        findings = (*findings, *column_findings(columns, given, about, in_time=in_time, deadline=deadline))
    return table, findings


def _refuse_facts_of(options: DataOptions) -> None:
    for name in ("weights", "groups"):
        if getattr(options, name) is not None:
            raise InputError(
                f"{name}= belongs to the rows that are read, but the data is a Table, or a covariance; give {name}= to "
                "as_table, with the rows"
            )


def read_in_time(
    data: object, options: DataOptions, deadline: Deadline = FOREVER
) -> tuple[list[Column], RowTimes | None, RowFacts]:
    """Return the columns of the graph as they are read, the order of rows that are moments, weights and groups."""
    if options.lags is None and options.time is None:
        columns, about = read_with_facts(data, options, deadline)
        return columns, None, about
    if options.n_samples is not None:
        raise InputError("a covariance matrix has no rows, so lags= and time= have no meaning; give the rows")
    if options.weights is not None or options.centre_groups:
        raise InputError(
            "weights= and centre_groups= are for independent rows, not for lags= and time=; leave one of them out"
        )
    named = [named_columns(option) or [] for option in (options.time, options.groups)]
    fewest = 1 if options.lags else 2
    given, apart = read_apart(data, options.columns, options.na_values, options.exclude, named, deadline, fewest)
    return given, row_times(len(given[0].values), *apart), PLAIN


def table_in_time(columns: list[Column], times: RowTimes, options: DataOptions) -> tuple[Table, list[Finding]]:
    """Return the table of moments with their past, in order of time, and findings on gaps and missing cells.

    Continuous series without gaps and missing cells are not copied: the lagged columns are views.
    """
    if options.lags == "auto":
        raise InputError("lags='auto' is chosen by dagopt.learn; give a number here")
    count = int(options.lags or 0)
    is_plain = all(column.kind == "continuous" and not column.missing.any() for column in columns)
    if is_plain and times.run[0] == times.run[-1] and len(times.run) > count + 1:
        rows = np.arange(count, len(times.order))
        layout = Lags.of([column.name for column in columns], count, options.within, times, rows)
        values = np.column_stack([column.values for column in columns])[times.order]
        fitted = {column.name: column.transform for column in columns if column.transform is not None}
        return ContinuousTable(layout.names, lagged_values(values, count), fitted, layout), []
    lagged, layout, findings = lagged_columns(columns, times, count, options.within)
    if options.missing == "drop":
        _, dropped = without_incomplete_rows(lagged)
        keep = ~np.logical_or.reduce([column.missing for column in lagged])
        lagged = [replace(column, values=column.values[keep]) for column in lagged]
        layout, findings = layout.take(keep), [*findings, *dropped]
    return table_of(lagged, layout), findings


def in_one_pass(data: object, options: DataOptions, every_row: bool = False) -> bool:
    """Say whether data are read in one pass; a large file is read as a whole for what needs all of its rows."""
    about_rows = ("lags", "time", "groups", "weights")
    if any(getattr(options, name) is not None for name in about_rows):
        if is_statistics(data):
            raise InputError(
                "statistics know no single rows, so lags=, time=, groups= and weights= have no meaning; give rows"
            )
        return False
    if is_statistics(data):
        return True
    return is_streamed(data) and not (is_tabular_file(data) and (every_row or needing_rows(options)))


def table_of_statistics(
    statistics: Statistics, options: DataOptions, doctor: bool = True
) -> tuple[Table, tuple[Finding, ...]]:
    """Return the table of statistics: that of their rows, if all were kept."""
    chosen = positions_of(list(statistics.names), options.columns, options.exclude)
    if chosen != list(range(len(statistics.names))):
        statistics = statistics.select(chosen)
    if statistics.kinds or statistics.missing != "error":
        missing = "error" if statistics.missing == "level" else options.missing
        kinds = checked_kinds(options.kind, statistics.names) | dict(statistics.kinds)
        options = replace(options, kind=kinds, missing=missing if missing != "error" else statistics.missing)
    if statistics.has_all_rows:
        return _table_of_given(statistics.given_columns(), None, PLAIN, options, doctor)
    found, findings = summarised(statistics, options)
    if not isinstance(found, tuple):
        return found, findings if doctor else ()
    columns, final = found
    assert final.counts is not None
    levels, codes = [], np.empty_like(final.counts.codes)
    for j, column in enumerate(columns):
        places = [k for k in column.sorted_levels() if final.level_counts[j][k]]
        rank = np.zeros(column.n_slots, dtype=np.uint16)
        rank[places] = np.arange(len(places))
        codes[j] = rank[final.counts.codes[j]]
        levels.append(column.spelled(places))
    table = DiscreteTable(final.names, tuple(levels), codes, final.counts.weights)
    return table, findings if doctor else ()


def covariance_of(columns: Sequence[Column], n_samples: int) -> CovarianceTable:
    """Return the covariance stored in columns, perhaps after a first column of names."""
    if len(columns) == len(columns[0].values) + 1 and columns[0].kind == "discrete":
        columns = columns[1:]
    names = [column.name for column in columns]
    return CovarianceTable(names, np.column_stack([column.as_continuous().values for column in columns]), n_samples)


def as_frame(data: object, deadline: Deadline = FOREVER, **options: Any) -> pd.DataFrame:
    """Return complete columns as a frame: floats, or the levels as text. The options are those of ``as_table``."""
    reading = DataOptions(**options)
    columns, _, _ = complete_columns(*read_with_facts(data, reading, deadline), reading)
    return pd.DataFrame(
        {
            column.name: column.values
            if column.kind == "continuous"
            else np.array(column.levels, dtype=object)[column.values]
            for column in columns
        }
    )


def complete_columns(
    columns: list[Column], about: RowFacts, options: DataOptions, *, in_time: bool = False
) -> tuple[list[Column], RowFacts, tuple[Finding, ...]]:
    """Return columns with their kinds, complete unless EM is asked for, facts on rows, findings on what was done.

    If rows are moments in time, those with missing cells are not dropped yet, because they have a place in time.
    """
    findings: list[Finding] = []
    _stop_at(troubles(columns))
    columns = of_kind(columns, options, about.scaled)
    if options.missing == "drop" and not in_time:
        whole = ~np.logical_or.reduce([column.missing for column in columns])
        columns, findings = without_incomplete_rows(columns)
        about = about.take(whole)
    elif options.missing == "level":
        columns = [with_missing_level(column) for column in columns]
    if options.missing == "em" or (options.missing == "drop" and in_time):
        _stop_at(empty_columns(columns))
    else:
        _stop_at(missing_cells(columns))
    _stop_at(unusable_numbers(columns))
    if options.centre_groups:
        columns, about = group_means_removed(columns, about)
    return columns, about, tuple(findings)


def of_kind(columns: list[Column], options: DataOptions, weights: Floats | None = None) -> list[Column]:
    """Return the columns read as numbers or levels, discretized and transformed, as the options ask."""
    cuts = options.discretize
    named = {str(name): how for name, how in cuts.items()} if isinstance(cuts, Mapping) else {}
    unknown = [name for name in named if name not in {column.name for column in columns}]
    if unknown:
        raise unknown_name("column", unknown[0], [column.name for column in columns])
    told = options.kind
    if cuts is not None and told == "discrete":  # continuous columns are cut, the others keep their levels
        told = {column.name: "auto" if column.kind == "continuous" else "discrete" for column in columns}
    found = []
    for column in with_kinds(columns, told):
        how = named.get(column.name) if named else cuts
        if how is not None and column.name in named:
            column = column.as_continuous()
        found.append(column if how is None else discretized(column, str(how), options.bins, weights))
    return transformed(found, _transforms(found, options), weights)


def _transforms(columns: list[Column], options: DataOptions) -> dict[str, Any]:
    """Return the transformation of each column, by ``transform=`` or by its kind."""
    kinds = checked_kinds(options.kind, [column.name for column in columns])
    asked = options.transform
    told = {column.name: TRANSFORMED[kinds[column.name]] for column in columns if kinds[column.name] in TRANSFORMED}
    if isinstance(asked, Mapping):
        return told | {str(name): how for name, how in asked.items()}
    numbers = [column.name for column in columns if column.kind == "continuous"]
    return (dict.fromkeys(numbers, asked) if asked is not None else {}) | told


def _stop_at(findings: list[Finding]) -> None:
    for finding in findings:
        if finding.severity == "error":
            raise InputError(finding.line)


def table_of(columns: Sequence[Column], lags: Lags | None = None, about: RowFacts = PLAIN) -> Table:
    """Return the table of columns; if all are discrete, they must be complete."""
    names = tuple(column.name for column in columns)
    for column in columns:
        if len(column.levels) > MOST_LEVELS:
            raise InputError(
                f"column {column.name!r} has {len(column.levels)} levels, more than {MOST_LEVELS}; it looks like an "
                f"identifier: leave it out with exclude="
            )
    kinds = {column.kind for column in columns}
    if kinds == {"continuous"}:
        fitted = {column.name: column.transform for column in columns if column.transform is not None}
        return ContinuousTable(names, np.column_stack([column.values for column in columns]), fitted, lags, about)
    if len(kinds) == 2:
        return MixedTable(tuple(columns), lags, about)
    if any(column.missing.any() for column in columns):
        raise InputError(
            "missing='em' for discrete columns needs a network to impute from, which dagopt.learn finds; here use "
            "missing='level' or 'drop', or the table of a learned result, result.problem.table"
        )
    codes = np.stack([column.values for column in columns])
    return DiscreteTable.from_codes(names, tuple(column.levels for column in columns), codes, lags=lags, about=about)
