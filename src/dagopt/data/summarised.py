"""Tables made of statistics: they score as all rows do, and have a sample of the rows for what needs some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dagopt.arrays import Floats
from dagopt.data.cells import LARGEST_VALUE, SMALLEST_SPREAD
from dagopt.data.column_checks import column_findings
from dagopt.data.column_summary import ColumnSummary
from dagopt.data.columns import Column
from dagopt.data.comoments import CoMoments
from dagopt.data.continuous import ContinuousTable, CovarianceTable
from dagopt.data.data_options import DataOptions
from dagopt.data.findings import Finding
from dagopt.data.gram import Correlations
from dagopt.data.kinds import checked_kinds
from dagopt.data.mixed import Embedding, MixedTable, whitened
from dagopt.data.statistics import Statistics
from dagopt.deadline import Deadline
from dagopt.errors import InputError, quoted

__all__ = ["SummarisedMixedTable", "SummarisedTable", "sample_of", "summarised", "table_of_moments"]


class SummarisedTable(CovarianceTable):
    """A table of numbers of which the means, the covariance and a sample of the rows are known.

    Parameters
    ----------
    names : sequence of str
        The columns.
    moments : CoMoments
        The means and co-moments of all rows.
    sample : array of shape (rows, n)
        Some of the rows.
    """

    def __init__(self, names: Sequence[str], moments: CoMoments, sample: Floats) -> None:
        correlation, scale, roundings = moments.correlations()
        facts = {
            "names": tuple(names),
            "n_samples": moments.n_rows,
            "mean": moments.mean + moments.mean_low,
            "scale": scale,
            "correlation": correlation,
            "is_complete": True,
            "transforms": {},
            "lags": None,
            "sample": ContinuousTable(tuple(names), sample),
            "_moments": moments,
            "_roundings": roundings,
        }
        self.__dict__.update(facts)  # the class is frozen; these replace the cached properties

    sample: ContinuousTable
    _moments: CoMoments
    _roundings: float

    @property
    def is_exact(self) -> bool:
        """Whether columns with these products can be made; not here, where the products have rounding errors."""
        return False

    @property
    def roundings(self) -> float:
        """The largest error of a correlation, in roundings of 1."""
        return self._roundings

    def drawn(self, rng: np.random.Generator, n_rows: int) -> CovarianceTable:
        """Return the covariance of Gaussian rows with this covariance, drawn at random (Bartlett's decomposition).

        It stands for a resample of the rows, which are not kept.
        """
        n = len(self.names)
        if n_rows <= n:
            raise InputError(f"expected more than {n} rows of a resample of {n} columns but got {n_rows}; draw more")
        root = np.tril(rng.standard_normal((n, n)), -1)
        root[np.diag_indices(n)] = np.sqrt(rng.chisquare(n_rows - 1 - np.arange(n)))
        half = np.linalg.cholesky(self.correlation) @ root * self.scale[:, None]
        return CovarianceTable(self.names, half @ half.T / n_rows, n_rows, self.mean)

    def select(self, places: Sequence[int]) -> SummarisedTable:
        """Return the table of some columns, by position, in this order."""
        chosen = np.array(places, dtype=np.int64)
        names = [self.names[j] for j in places]
        return SummarisedTable(names, self._moments.select(chosen), self.sample.values[:, chosen])


class SummarisedMixedTable(MixedTable):
    """A table of numbers and levels of which the embedding and a sample of the rows are known.

    Parameters
    ----------
    columns : sequence of Column
        Some of the rows, with all levels.
    embedding : Embedding
        That of all rows.
    n_samples : int
        Number of rows N.
    """

    def __init__(self, columns: Sequence[Column], embedding: Embedding, n_samples: int) -> None:
        facts = {"columns": tuple(columns), "lags": None, "embedding": embedding, "n_samples": n_samples}
        self.__dict__.update(facts, is_complete=True)  # the class is frozen; these replace the cached properties

    @property
    def sample(self) -> MixedTable:
        """The sample as a table; an error if there is none."""
        if not self.n_rows:
            raise InputError("these statistics were saved without rows, which this needs; give the rows instead")
        return MixedTable(self.columns)

    @property
    def arrays(self) -> list[Floats]:
        """The data, to compute a digest."""
        return [self.embedding.matrix, self.embedding.log_scale]

    def select(self, places: Sequence[int]) -> MixedTable:
        """Raise an error, because the embedding of other columns is not known."""
        raise InputError("statistics cannot be narrowed to some columns here; summarise the data with columns= instead")

    def measure(self, deadline: Deadline) -> None:
        """Do nothing: the embedding is known."""


def sample_of(table: object) -> ContinuousTable | MixedTable | None:
    """Return the rows that stand for all rows of a table made of statistics; None for other tables, and without any."""
    if isinstance(table, SummarisedTable):
        return table.sample if table.sample.n_rows else None
    return table.sample if isinstance(table, SummarisedMixedTable) and table.n_rows else None


def summarised(
    statistics: Statistics, options: DataOptions
) -> tuple[SummarisedTable | SummarisedMixedTable | tuple[list[ColumnSummary], Statistics], tuple[Finding, ...]]:
    """Return the table of statistics, or summaries and counts if all columns are discrete, and findings."""
    statistics = statistics.without_rows()
    _refuse_unusable(statistics)
    findings = _missing(statistics, options.missing)
    told = checked_kinds(options.kind, statistics.names) | dict(statistics.kinds)
    kinds = [column.kind(told[column.name]) for column in statistics.columns]
    for column, kind in zip(statistics.columns, kinds, strict=True):
        if kind == "discrete" and column.levels is None:
            raise InputError(
                f"column {column.name!r} was summarised as numbers and cannot be discrete any more; summarise the data "
                f"again with kind={{{column.name!r}: 'discrete'}}"
            )
    final = statistics.with_kinds(kinds)
    findings = (*findings, *_sampled_findings(final, kinds))
    if all(kind == "discrete" for kind in kinds):
        return (list(final.columns), final), findings
    return table_of_moments(final, kinds), findings


def table_of_moments(statistics: Statistics, kinds: Sequence[str]) -> SummarisedTable | SummarisedMixedTable:
    """Return the table of co-moments, of which not all columns are discrete."""
    assert statistics.moments is not None
    _refuse_constant(statistics, kinds)
    if all(kind == "continuous" for kind in kinds):
        order = np.argsort(statistics.rows.place, kind="stable")
        return SummarisedTable(statistics.names, statistics.moments, statistics.rows.cells[order])
    return _mixed(statistics, kinds)


def _mixed(statistics: Statistics, kinds: Sequence[str]) -> SummarisedMixedTable:
    """Return the mixed table: of each discrete column, the indicator of its most frequent level is left out."""
    assert statistics.moments is not None
    kept, starts = [], [0]
    columns = []
    order = np.argsort(statistics.rows.place, kind="stable")
    for j, (column, kind) in enumerate(zip(statistics.columns, kinds, strict=True)):
        first, cells = int(statistics.starts[j]), statistics.rows.cells[order, j]
        if kind == "continuous":
            kept.append(first)
            columns.append(Column(column.name, "continuous", np.ascontiguousarray(cells)))
        else:
            times = statistics.level_counts[j]
            places = [k for k in column.sorted_levels() if times[k]]
            most = max(places, key=lambda k: times[k])
            kept += [first + k for k in places if k != most]
            rank = np.full(len(times), -1, dtype=np.int64)
            rank[places] = np.arange(len(places))
            codes = rank[column.codes(cells).astype(np.int64)]
            columns.append(Column(column.name, "discrete", codes, column.spelled(places)))
        starts.append(len(kept))
    found: Correlations = statistics.moments.select(np.array(kept, dtype=np.int64)).correlations()
    discrete = np.array([kind == "discrete" for kind in kinds])
    return SummarisedMixedTable(columns, whitened(found, np.array(starts), discrete), statistics.n_samples)


def _missing(statistics: Statistics, missing: str) -> tuple[Finding, ...]:
    """Return the finding on rows that were left out, or raise an error."""
    holes = {column.name: column.missing for column in statistics.columns if column.missing}
    if not statistics.n_incomplete:
        return ()
    worst = max(holes, key=lambda name: holes[name])
    found = Finding(
        "warning",
        "missing",
        tuple(holes),
        f"missing values in column {quoted(holes)} (most in {worst!r}: {holes[worst]}; {statistics.n_incomplete} of "
        f"{statistics.n_read} rows)",
        f"these {statistics.n_incomplete} rows are left out; if cells are not missing at random, the answer is biased",
        "fill the cells in, or leave the columns out with exclude=, if that is too many rows",
    )
    if missing == "em":
        raise InputError(f"{found.message}; missing='em' needs all rows in memory: give fewer, or use missing='drop'")
    if missing != "drop" and statistics.missing != "drop":
        raise InputError(
            f"{found.message}; use missing='drop' to leave these rows out, missing='level' for discrete columns in "
            f"which missing means something, or leave the columns out with exclude="
        )
    if not statistics.n_samples:
        raise InputError(
            f"every row has a missing value (most in column {worst!r}), so missing='drop' would leave no rows; leave "
            f"the emptiest columns out with exclude="
        )
    return (found,)


def _refuse_unusable(statistics: Statistics) -> None:
    """Raise an error for columns that hold dates, infinite numbers or numbers that cannot be squared."""
    for column in statistics.columns:
        if column.trouble:
            raise InputError(column.trouble)
        if column.is_word or column.highest < column.lowest:
            continue
        largest = max(abs(column.lowest), abs(column.highest))
        if not np.isfinite(largest):
            raise InputError(
                f"column {column.name!r} has infinite values; replace them with finite numbers, remove those rows, or "
                f"leave the column out with exclude="
            )
        spread = column.highest - column.lowest
        if largest > LARGEST_VALUE or 0 < spread < SMALLEST_SPREAD:
            raise InputError(
                f"the squares of column {column.name!r}, from {column.lowest:.3g} to {column.highest:.3g}, cannot be "
                f"represented; rescale it, or leave it out with exclude="
            )


def _refuse_constant(statistics: Statistics, kinds: Sequence[str]) -> None:
    """Raise an error for columns without variance."""
    assert statistics.moments is not None
    variance = np.diag(statistics.moments.products)
    constant = [
        column.name
        for j, (column, kind) in enumerate(zip(statistics.columns, kinds, strict=True))
        if (kind == "continuous" and (variance[statistics.starts[j]] <= 0 or column.lowest == column.highest))
        or (kind == "discrete" and np.count_nonzero(statistics.level_counts[j]) < 2)
    ]
    if constant:
        raise InputError(f"column {quoted(constant)} is constant and has no variance; leave it out with exclude=")


def _sampled_findings(statistics: Statistics, kinds: Sequence[str]) -> list[Finding]:
    """Return the findings on shapes and outliers from the sample, each saying so; successive rows are not in it."""
    rows = len(statistics.rows.cells)
    if not rows:
        return []
    order = np.argsort(statistics.rows.place, kind="stable")
    columns = []
    for j, (column, kind) in enumerate(zip(statistics.columns, kinds, strict=True)):
        cells = np.ascontiguousarray(statistics.rows.cells[order, j])
        if kind == "continuous":
            columns.append(Column(column.name, "continuous", cells, way=column.way))
        else:
            columns.append(column.series(cells))
    said = f"in a sample of {rows} of {statistics.n_samples} rows, "
    return [
        replace(finding, message=said + finding.message)
        for finding in column_findings(columns, columns)
        if finding.code not in ("serial", "repeated-rows", "row-numbers")
    ]
