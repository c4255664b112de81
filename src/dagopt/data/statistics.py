"""`Statistics`: what a score needs of a table of any size, added up batch by batch.

Rows are kept as long as they are few. Beyond that there are the counts of the distinct rows, if all columns are
discrete, or means and co-moments of the embedded columns (``mixed.py``), and a sample of the rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.column_summary import MOST_WORDS, ColumnSummary
from dagopt.data.columns import Column
from dagopt.data.comoments import CoMoments
from dagopt.data.counts import Counts
from dagopt.data.kept_rows import Rows, joined_rows, lowest, numbers_drawn, sample_size, sampled
from dagopt.data.kinds import MOST_WHOLE_LEVELS
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError, quoted
from dagopt.memory import require_memory

__all__ = ["Statistics"]

KEPT_CELLS = 1 << 22  # cells up to which all rows are kept: 32 MB
KEPT_ROWS_PER_COLUMN = 4  # co-moments take as much memory as so many rows per column
EMBEDDED_CELLS = 1 << 20  # cells of indicators of levels at once: 8 MB


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sufficient statistics of a table, made by ``dagopt.summarise``.

    Statistics of two sets of rows are added with ``+``. ``dagopt.learn`` takes them in place of data.

    Attributes
    ----------
    columns : tuple of ColumnSummary
        The columns.
    n_read : int
        Number of rows that were read.
    n_incomplete : int
        How many of these have a missing cell; they are only counted.
    rows : Rows
        All rows, as long as they are few; otherwise a random sample of the complete ones.
    has_all_rows : bool
        Whether ``rows`` are all rows.
    counts : Counts or None
        The distinct complete rows, if all columns have levels.
    moments : CoMoments or None
        The co-moments of the embedded columns of the complete rows otherwise.
    kinds : mapping of str to str
        The kinds that were asked for.
    missing : str
        What is done with missing cells: ``error``, ``drop`` or ``level``.
    sources : tuple of str
        Where the rows are from.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
    >>> first, second = dagopt.summarise(data[:100]), dagopt.summarise(data[100:])
    >>> first + second
    <Statistics: 300 rows, 4 columns, with all rows>
    >>> dagopt.learn(first + second).graph == dagopt.learn(data).graph
    True
    """

    columns: tuple[ColumnSummary, ...]
    n_read: int
    n_incomplete: int
    rows: Rows
    has_all_rows: bool
    counts: Counts | None = None
    moments: CoMoments | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    missing: str = "error"
    sources: tuple[str, ...] = ()

    @classmethod
    def of_columns(
        cls,
        columns: Sequence[ColumnSummary],
        cells: Sequence[NDArray[Any]],
        kinds: Mapping[str, str],
        missing: str = "error",
        keep_all: bool = True,
        place: int = 0,
        below: float = np.inf,
    ) -> Statistics:
        """Return the statistics of rows.

        Parameters
        ----------
        columns : sequence of ColumnSummary
            The summaries of the columns.
        cells : sequence of arrays
            Their cells: numbers, or the positions of words; NaN where one is missing.
        kinds, missing
            As in the class.
        keep_all : bool
            Whether all rows are kept.
        place : int
            The number of the batch.
        below : float
            Rows with a higher number drawn are not in the sample of all rows, as other batches have shown.
        """
        n_rows = len(cells[0]) if len(cells) else 0
        drawn, places = numbers_drawn(n_rows, place), place + np.arange(n_rows)
        holes = _incomplete(columns, cells)
        n_holes = 0 if holes is None else int(holes.sum())
        whole = cls(
            tuple(columns), n_rows, n_holes, Rows.of_columns([], drawn, places), True, kinds=kinds, missing=missing
        )
        if keep_all:
            return replace(whole, rows=Rows.of_columns(cells, drawn, places))
        if holes is not None and n_holes:
            cells = [one[~holes] for one in cells]
            drawn, places = drawn[~holes], places[~holes]
        return whole._reduced(cells, drawn, places, below)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> statistics = dagopt.summarise(data)
        >>> statistics.names
        ('X0', 'X1', 'X2', 'X3')
        """
        return tuple(column.name for column in self.columns)

    @property
    def n_samples(self) -> int:
        """Number of complete rows.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> statistics = dagopt.summarise(data)
        >>> statistics.n_samples
        300
        """
        return self.n_read - self.n_incomplete

    @property
    def most_kept(self) -> int:
        """The number of rows up to which all are kept."""
        return most_kept(len(self.columns))

    @cached_property
    def starts(self) -> Ints:
        """Where the embedded columns of each column begin."""
        return np.concatenate([[0], np.cumsum([column.n_slots for column in self.columns])]).astype(np.int64)

    def __repr__(self) -> str:
        kept = "all rows" if self.has_all_rows else f"a sample of {len(self.rows.cells)} rows"
        return f"<Statistics: {self.n_read} rows, {len(self.columns)} columns, with {kept}>"

    def __add__(self, other: object) -> Statistics:
        """Return the statistics of all rows of both; ``other`` may also be data."""
        if not isinstance(other, Statistics):
            from dagopt.data.summarise import summarise

            other = summarise(other, columns=self.names, missing=self.missing, kind=dict(self.kinds))
        return self._plus(other)

    def _plus(self, other: Statistics) -> Statistics:
        other = other._in_order_of(self.names)
        if self.missing != other.missing or dict(self.kinds) != dict(other.kinds):
            raise InputError(
                "expected statistics that were made with the same kind= and missing= but these differ; summarise one "
                "of them again"
            )
        joined = [a.joined(b, self.most_levels(a.name)) for a, b in zip(self.columns, other.columns, strict=True)]
        together = self.has_all_rows and other.has_all_rows and self.n_read + other.n_read <= self.most_kept
        first, second = self._with_columns(joined, together), other._with_columns(joined, together)
        rows = joined_rows(first.rows, second.rows, self.n_read)
        counts = moments = None
        if not together:
            rows = sampled(rows)
            if first.counts is not None and second.counts is not None:
                counts = first.counts + second.counts
            elif first.moments is not None and second.moments is not None:
                moments = first.moments + second.moments
        return replace(
            self,
            columns=tuple(joined),
            n_read=self.n_read + other.n_read,
            n_incomplete=self.n_incomplete + other.n_incomplete,
            rows=rows,
            has_all_rows=together,
            counts=counts,
            moments=moments,
            sources=tuple(dict.fromkeys([*self.sources, *other.sources])),
        )

    def most_levels(self, name: str) -> int:
        """Return up to how many distinct whole numbers are kept as levels of a column."""
        return most_levels(self.kinds.get(name, "auto"))

    def _in_order_of(self, names: tuple[str, ...]) -> Statistics:
        """Return the statistics with their columns in another order, or raise an error if they are others."""
        if self.names == names:
            return self
        where = f" of {quoted(self.sources, 2)}" if self.sources else ""
        lacking, more = sorted(set(names) - set(self.names)), sorted(set(self.names) - set(names))
        if lacking or more:
            said = [f"lack {quoted(lacking)}"] * bool(lacking) + [f"have {quoted(more)} in addition"] * bool(more)
            raise InputError(
                f"expected the columns of the rows before but those{where} {' and '.join(said)}; give parts with the "
                f"same columns, or choose common ones with columns="
            )
        return self.select([self.names.index(name) for name in names])

    def select(self, places: Sequence[int]) -> Statistics:
        """Return the statistics of some columns, by position, in this order.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> statistics = dagopt.summarise(data)
        >>> statistics.select([2, 0]).names
        ('X2', 'X0')
        """
        places = list(places)
        slots = np.concatenate([np.arange(self.starts[j], self.starts[j + 1]) for j in places]).astype(np.int64)
        return replace(
            self,
            columns=tuple(self.columns[j] for j in places),
            rows=self.rows._replace(cells=np.ascontiguousarray(self.rows.cells[:, places])),
            counts=None if self.counts is None else self.counts.select(places),
            moments=None if self.moments is None else self.moments.select(slots),
            kinds={name: kind for name, kind in self.kinds.items() if name in {self.names[j] for j in places}},
        )

    def without_rows(self) -> Statistics:
        """Return the statistics with sums, and a sample in place of all rows."""
        if not self.has_all_rows:
            return self
        cells, drawn, place = self.rows
        if self.n_incomplete:
            whole = ~np.isnan(cells).any(axis=1)
            cells, drawn, place = cells[whole], drawn[whole], place[whole]
        return self._reduced(list(cells.T), drawn, place)

    def _reduced(self, cells: Sequence[NDArray[Any]], drawn: Floats, places: Ints, below: float = np.inf) -> Statistics:
        """Return the statistics with sums and a sample, given the cells of all complete rows by column."""
        kept = lowest(drawn, sample_size(len(self.columns)), below)
        rows = Rows.of_columns([one[kept] for one in cells], drawn[kept], places[kept])
        counts = moments = None
        if all(column.levels is not None for column in self.columns):
            digits = [column.digits(one) for column, one in zip(self.columns, cells, strict=True)]
            counts = Counts.of_digits(digits, [column.n_slots for column in self.columns])
        else:
            moments = self.moments_of(cells)
        return replace(self, rows=rows, has_all_rows=False, counts=counts, moments=moments)

    def moments_of(
        self, cells: Sequence[NDArray[Any]], weights: Ints | None = None, deadline: Deadline = FOREVER
    ) -> CoMoments:
        """Return the co-moments of the embedded columns of complete rows."""
        width, n_rows = int(self.starts[-1]), len(cells[0])
        require_memory(8 * 4 * width**2, f"the co-moments of {width:,} numbers and levels")
        found = CoMoments.nothing(width)
        step = max(EMBEDDED_CELLS // max(width, 1), 64)
        if all(column.levels is None for column in self.columns):
            step = max(n_rows, 1)  # no copies are made
        for first in range(0, n_rows, step):
            wide: list[NDArray[Any]] = []
            for one, column in zip(cells, self.columns, strict=True):
                part = one[first : first + step]
                if column.levels is None:
                    wide.append(part)
                else:
                    codes = column.codes(part)
                    wide += [(codes == k).astype(np.float64) for k in range(column.n_slots)]
            if weights is None:
                found = found + CoMoments.of_columns(wide, deadline)
            else:
                found = found + CoMoments.of(np.column_stack(wide), weights[first : first + step], deadline)
        return found

    def _with_columns(self, joined: Sequence[ColumnSummary], keep_all: bool) -> Statistics:
        """Return the statistics with the levels, and the numbers, of summaries that its columns are a part of."""
        start = self if keep_all else self.without_rows()
        own = start.columns
        pairs = list(zip(own, joined, strict=True))
        cells = start.rows.cells
        if any(a.is_word or b.is_word for a, b in pairs):
            cells = np.column_stack(
                [a.recoded(cells[:, j], b) for j, (a, b) in enumerate(zip(own, joined, strict=True))]
            )
        after = replace(start, columns=tuple(joined), rows=start.rows._replace(cells=cells))
        if all(a.levels == b.levels and a.is_word == b.is_word for a, b in pairs):
            return after
        if start.counts is not None:
            if all(column.levels is not None for column in joined):
                places = [a.slots_in(b) for a, b in pairs]
                return replace(after, counts=start.counts.recoded(places, [b.n_slots for b in joined]))
            values = [np.arange(a.n_slots) if a.is_word else np.array(a.levels) for a in own]
            table = [v[row].astype(np.float64) for v, row in zip(values, start.counts.codes, strict=True)]
            moments = start.moments_of(table, start.counts.weights)
            start = replace(start, counts=None, moments=moments)
        if start.moments is not None:
            return replace(after, counts=None, moments=_embedded_in(start, after))
        return after

    def as_part_of(self, other: Statistics) -> Floats:
        """Return the complete rows, all of which are kept, as rows of statistics that these are a part of."""
        own = self._in_order_of(other.names)
        cells = own.rows.cells
        cells = cells[~np.isnan(cells).any(axis=1)]
        pairs = zip(own.columns, other.columns, strict=True)
        return np.column_stack([a.recoded(cells[:, j], b) for j, (a, b) in enumerate(pairs)])

    def with_kinds(self, kinds: Sequence[str]) -> Statistics:
        """Return the statistics with the columns that are to be continuous as numbers."""
        told = [
            column if kind == "discrete" or column.levels is None else replace(column, is_word=False, levels=None)
            for column, kind in zip(self.columns, kinds, strict=True)
        ]
        return self._with_columns(told, keep_all=False)

    @cached_property
    def level_counts(self) -> list[Ints]:
        """How often each level of each column occurs in complete rows; of numbers, the number of rows."""
        if self.counts is not None:
            pairs = zip(self.columns, self.counts.codes, strict=True)
            return [np.bincount(c, self.counts.weights, len(col.levels or ())).astype(np.int64) for col, c in pairs]
        assert self.moments is not None
        times = np.rint((self.moments.mean + self.moments.mean_low) * self.n_samples)
        found = [times[a:b].astype(np.int64) for a, b in pairwise(self.starts)]
        return [
            n if c.levels is not None else np.array([self.n_samples]) for n, c in zip(found, self.columns, strict=True)
        ]

    def given_columns(self) -> list[Column]:
        """Return the kept rows as columns, as they would have been read."""
        order = np.argsort(self.rows.place, kind="stable")
        cells = self.rows.cells[order]
        return [column.series(np.ascontiguousarray(cells[:, j])) for j, column in enumerate(self.columns)]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the statistics to a file, without the rows that were kept as a sample.

        Statistics of few rows are these rows, which are turned into sums first.

        Parameters
        ----------
        path : str or path
            A file that ends in ``.dagstats``; the ending is added if there is none.

        Returns
        -------
        path
            The file that was written.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> statistics = dagopt.summarise(data)
        >>> path = statistics.save("may.dagstats")
        >>> dagopt.Statistics.load(path).n_samples
        300
        """
        from dagopt.data.statistics_file import save_statistics

        return save_statistics(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """Return the statistics of a file that ``save`` wrote.

        Examples
        --------
        >>> import dagopt
        >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, random_state=0)
        >>> statistics = dagopt.summarise(data)
        >>> path = statistics.save("may.dagstats")
        >>> dagopt.Statistics.load(path).names
        ('X0', 'X1', 'X2', 'X3')
        """
        from dagopt.data.statistics_file import load_statistics

        return load_statistics(path)


def most_kept(n: int) -> int:
    """Return the number of rows of n columns up to which all are kept."""
    return max(KEPT_CELLS // max(n, 1), KEPT_ROWS_PER_COLUMN * n)


def most_levels(told: str) -> int:
    """Return up to how many distinct whole numbers are kept as levels of a column of this kind."""
    return {"continuous": 0, "count": 0, "discrete": MOST_WORDS}.get(told, MOST_WHOLE_LEVELS)


def _incomplete(columns: Sequence[ColumnSummary], cells: Sequence[NDArray[Any]]) -> NDArray[np.bool_] | None:
    """Return which rows have a missing cell, None if none has."""
    holes = [np.isnan(one) for one, column in zip(cells, columns, strict=True) if column.missing]
    return np.logical_or.reduce(holes) if holes else None


def _embedded_in(before: Statistics, after: Statistics) -> CoMoments:
    """Return the co-moments for summaries with more levels, or with numbers in place of levels.

    The number of a row is the sum of its indicators times the numbers of the levels; less the mean, which keeps digits.
    """
    moments, width = before.moments, int(after.starts[-1])
    assert moments is not None
    pairs = list(zip(before.columns, after.columns, strict=True))
    if all(a.levels is None or b.levels is not None for a, b in pairs):
        places = [
            after.starts[j]
            + (a.slots_in(b) if a.levels is not None and b.levels is not None else np.zeros(1, np.int64))
            for j, (a, b) in enumerate(pairs)
        ]
        flat = np.concatenate(places)
        return moments if len(flat) == width and (flat == np.arange(width)).all() else moments.placed(flat, width)
    factors, shift = np.zeros((width, moments.n_columns)), np.zeros(width)
    for j, (a, b) in enumerate(pairs):
        own = np.arange(before.starts[j], before.starts[j + 1])
        if a.levels is not None and b.levels is None:
            values = a.numbers()
            if values is None:
                words = [level for level in a.levels if not str(level).replace(".", "").isdigit()]
                raise InputError(
                    f"column {a.name!r} cannot be continuous: {quoted(words, 3)} is not a number; leave it out with "
                    f"exclude=, or list the spelling in na_values= if it means missing"
                )
            shift[after.starts[j]] = float(values @ moments.mean[own])
            factors[after.starts[j], own] = values - shift[after.starts[j]]
        else:
            to = a.slots_in(b) if a.levels is not None else np.zeros(1, np.int64)
            factors[after.starts[j] + to, own] = 1.0
    found = moments.combined(factors)
    return replace(found, mean=found.mean + shift)
