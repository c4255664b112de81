"""`Statistics`: what a score needs of a table of any size, added up batch by batch.

Rows are kept as long as they are few. Beyond that there are the counts of the distinct rows, if all columns are
discrete, or means and co-moments of the embedded columns (``mixed.py``), and a sample of the rows.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.column_summary import MOST_WORDS, ColumnSummary
from dagopt.data.columns import Column
from dagopt.data.comoments import CoMoments
from dagopt.data.distinct import distinct_rows
from dagopt.data.kinds import MOST_WHOLE_LEVELS
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError, quoted, shortened
from dagopt.files import replacing
from dagopt.memory import require_memory

__all__ = ["Counts", "Rows", "Statistics"]

KEPT_CELLS = 1 << 22  # cells up to which all rows are kept: 32 MB
KEPT_ROWS_PER_COLUMN = 4  # co-moments take as much memory as so many rows per column
SAMPLED_ROWS = 20_000
SAMPLED_CELLS = 1 << 22
FORMAT = "dagopt statistics 1"
SUFFIX = ".dagstats"


class Counts(NamedTuple):
    """The distinct rows, as positions of levels of shape (n, distinct rows), and how often each occurs."""

    codes: NDArray[np.uint16]
    weights: Ints


class Rows(NamedTuple):
    """Some rows: their cells of shape (rows, n), the number drawn for each, and where it was."""

    cells: Floats
    drawn: Floats
    place: Ints


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
    def of_cells(
        cls,
        columns: Sequence[ColumnSummary],
        cells: Floats,
        kinds: Mapping[str, str],
        missing: str = "error",
        keep_all: bool = True,
        place: int = 0,
    ) -> Statistics:
        """Return the statistics of rows, given the summaries of their columns and the cells of shape (rows, n)."""
        drawn = np.random.default_rng([len(cells), place]).random(len(cells))
        holes = int(np.isnan(cells).any(axis=1).sum()) if any(column.missing for column in columns) else 0
        rows = Rows(cells, drawn, place + np.arange(len(cells)))
        whole = cls(tuple(columns), len(cells), holes, rows, True, kinds=kinds, missing=missing)
        return whole if keep_all else whole.without_rows()

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
        return max(KEPT_CELLS // max(len(self.columns), 1), KEPT_ROWS_PER_COLUMN * len(self.columns))

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
        rows = _joined_rows(first.rows, second.rows, self.n_read)
        counts = moments = None
        if not together:
            rows = _sampled(rows)
            if first.counts is not None and second.counts is not None:
                counts = merged_counts([first.counts, second.counts], [column.n_slots for column in joined])
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
        counts = self.counts
        if counts is not None:
            part = Counts(np.ascontiguousarray(counts.codes[places]), counts.weights)
            counts = merged_counts([part], [self.columns[j].n_slots for j in places])
        return replace(
            self,
            columns=tuple(self.columns[j] for j in places),
            rows=self.rows._replace(cells=np.ascontiguousarray(self.rows.cells[:, places])),
            counts=counts,
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
        counts = moments = None
        if all(column.levels is not None for column in self.columns):
            codes = np.array([c.codes(cells[:, j]) for j, c in enumerate(self.columns)]).astype(np.uint16)
            once = Counts(codes, np.ones(len(cells), dtype=np.int64))
            counts = merged_counts([once], [column.n_slots for column in self.columns])
        else:
            moments = self._moments_of(cells)
        rows = _sampled(Rows(cells, drawn, place))
        return replace(self, rows=rows, has_all_rows=False, counts=counts, moments=moments)

    def _moments_of(self, cells: Floats, weights: Ints | None = None, deadline: Deadline = FOREVER) -> CoMoments:
        """Return the co-moments of the embedded columns of complete rows."""
        width = int(self.starts[-1])
        require_memory(8 * 4 * width**2, f"the co-moments of {width:,} numbers and levels")
        if width == len(self.columns) and all(column.levels is None for column in self.columns):
            return CoMoments.of(cells, weights, deadline)
        found = CoMoments.nothing(width)
        step = max(KEPT_CELLS // max(width, 1), 64)
        for first in range(0, len(cells), step):
            part = cells[first : first + step]
            wide = np.zeros((len(part), width))
            for j, column in enumerate(self.columns):
                if column.levels is None:
                    wide[:, self.starts[j]] = part[:, j]
                else:
                    wide[np.arange(len(part)), self.starts[j] + column.codes(part[:, j]).astype(np.int64)] = 1.0
            found = found + CoMoments.of(wide, None if weights is None else weights[first : first + step], deadline)
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
        if start.counts is not None:
            if all(column.levels is not None for column in joined):
                places = [a.slots_in(b) for a, b in pairs]
                codes = np.array([to[row] for to, row in zip(places, start.counts.codes, strict=True)])
                return replace(after, counts=start.counts._replace(codes=codes.astype(np.uint16)))
            values = [np.arange(a.n_slots) if a.is_word else np.array(a.levels) for a in own]
            table = np.column_stack([v[row].astype(float) for v, row in zip(values, start.counts.codes, strict=True)])
            moments = start._moments_of(table, start.counts.weights)
            start = replace(start, counts=None, moments=moments)
        if start.moments is not None:
            return replace(after, counts=None, moments=_embedded_in(start, after))
        return after

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
        path = Path(path)
        path = path if path.suffix else path.with_suffix(SUFFIX)
        whole = self.without_rows()
        arrays: dict[str, NDArray[Any]] = {}
        if whole.counts is not None:
            arrays = {"codes": whole.counts.codes, "weights": whole.counts.weights}
        elif whole.moments is not None:
            m = whole.moments
            arrays = {name: getattr(m, name) for name in ("mean", "mean_low", "products", "products_low")}
        head = {
            "format": FORMAT,
            "columns": [vars(column) for column in whole.columns],
            "n_read": whole.n_read,
            "n_incomplete": whole.n_incomplete,
            "longest": 0 if whole.moments is None else whole.moments.longest,
            "growth": 1.0 if whole.moments is None else whole.moments.growth,
            "kinds": dict(whole.kinds),
            "missing": whole.missing,
            "sources": list(whole.sources),
        }
        with replacing(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("head.json", json.dumps(head))
            for name, array in arrays.items():
                held = io.BytesIO()
                np.save(held, array, allow_pickle=False)
                packed.writestr(f"{name}.npy", held.getvalue())
        return path

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
        try:
            with zipfile.ZipFile(path) as packed:
                size = sum(one.file_size for one in packed.infolist())
                require_memory(3 * size, f"the content of {path}")  # packed a thousandfold, a small file can be large
                head = json.loads(packed.read("head.json"))
                if head.get("format") != FORMAT:
                    raise InputError(
                        f"expected {path} to hold {FORMAT!r} but got {head.get('format')!r}; save it again"
                    )
                arrays = {
                    name[:-4]: np.load(io.BytesIO(packed.read(name)), allow_pickle=False)
                    for name in packed.namelist()
                    if name.endswith(".npy")
                }
            columns = tuple(_column_from(values) for values in head["columns"])
            _check_head(head, columns)
            n = int(head["n_read"]) - int(head["n_incomplete"])
            counts = Counts(arrays["codes"], arrays["weights"]) if "codes" in arrays else None
            moments = None
            if "mean" in arrays:
                m = (arrays["mean"], arrays["mean_low"], arrays["products"], arrays["products_low"])
                moments = CoMoments(n, *m, int(head["longest"]), float(head["growth"]))
            found = cls(
                columns, int(head["n_read"]), int(head["n_incomplete"]), no_rows(len(columns)), False, counts, moments,
                dict(head["kinds"]), str(head["missing"]), tuple(head["sources"]),
            )  # fmt: skip
            _check_shapes(found)
        except InputError:
            raise
        except FileNotFoundError:
            raise InputError(
                f"there is no file {path}; check the path, which is relative to the current folder"
            ) from None
        except Exception as error:
            raise InputError(f"cannot read {path} as statistics of dagopt: {error}; save them again") from error
        return found


def most_levels(told: str) -> int:
    """Return up to how many distinct whole numbers are kept as levels of a column of this kind."""
    return {"continuous": 0, "count": 0, "discrete": MOST_WORDS}.get(told, MOST_WHOLE_LEVELS)


def no_rows(n: int) -> Rows:
    """Return no rows of n columns."""
    return Rows(np.empty((0, n)), np.empty(0), np.empty(0, dtype=np.int64))


def merged_counts(parts: Sequence[Counts], arity: Sequence[int]) -> Counts:
    """Return counts added up, equal rows merged."""
    codes = np.concatenate([part.codes for part in parts], axis=1)
    weights = np.concatenate([part.weights for part in parts])
    first, which = distinct_rows(codes, arity)
    added = np.bincount(which, weights, minlength=len(first)).astype(np.int64)  # exact: below 2^53
    return Counts(np.ascontiguousarray(codes[:, first]), added)


def _joined_rows(first: Rows, second: Rows, shift: int) -> Rows:
    return Rows(
        np.concatenate([first.cells, second.cells]),
        np.concatenate([first.drawn, second.drawn]),
        np.concatenate([first.place, second.place + shift]),
    )


def _sampled(rows: Rows) -> Rows:
    """Return the rows with the lowest numbers drawn, which are a random sample whatever was added to what."""
    most = max(min(SAMPLED_ROWS, SAMPLED_CELLS // max(rows.cells.shape[1], 1)), 1)
    if len(rows.cells) <= most:
        return rows
    kept = np.sort(np.argpartition(rows.drawn, most)[:most])
    return Rows(rows.cells[kept], rows.drawn[kept], rows.place[kept])


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


def _column_from(values: Mapping[str, Any]) -> ColumnSummary:
    levels = values["levels"]
    if levels is not None and not isinstance(levels, list):
        raise InputError(f"expected a list of levels but got {shortened(levels)}")
    numbers = {name: float(values[name]) for name in ("lowest", "highest")}
    return ColumnSummary(**{**values, **numbers, "levels": None if levels is None else tuple(levels)})


def _check_head(head: Mapping[str, Any], columns: Sequence[ColumnSummary]) -> None:
    """Raise an error if what a file says about columns and rows has other types than ``save`` writes."""
    for column in columns:
        texts = (column.name, column.way, column.trouble, column.last)
        truths = (column.is_word, column.whole, column.ordered)
        kinds = ((texts, str), (truths, bool), ((column.missing,), int))
        levels = column.levels or ()
        if not all(isinstance(one, kind) for values, kind in kinds for one in values) or column.missing < 0:
            raise InputError(f"the column {shortened(column.name)} is not described as expected")
        fits = all(isinstance(one, str if column.is_word else int | float) for one in levels)
        if not fits or len(set(levels)) < len(levels) or (column.is_word and column.levels is None):
            raise InputError(f"the levels of {shortened(column.name)} are not words or numbers, each of them once")
    if len({column.name for column in columns}) < len(columns):
        raise InputError("two columns have the same name")
    counted = {name: head[name] for name in ("n_read", "n_incomplete", "longest")}
    if not all(type(value) is int and 0 <= value < 2**53 for value in counted.values()):
        raise InputError(f"expected numbers of rows but got {shortened(counted)}")
    if counted["n_incomplete"] > counted["n_read"] or not 1 <= float(head["growth"]) < np.inf:
        raise InputError("the numbers of rows or the growth of the rounding error cannot be")
    words = [*head["kinds"], *head["kinds"].values(), head["missing"], *head["sources"]]
    if not isinstance(head["sources"], list) or not all(isinstance(one, str) for one in words):
        raise InputError("expected words for kinds, missing cells and sources")


def _check_shapes(found: Statistics) -> None:
    """Raise an error if the arrays of a file do not fit its columns, or cannot be counts or co-moments."""
    width, n = int(found.starts[-1]), found.n_samples
    if found.counts is not None:
        codes, weights = found.counts
        arity = np.array([column.n_slots for column in found.columns])
        fits = weights.ndim == 1 and codes.shape == (len(arity), len(weights))
        if (
            not fits
            or codes.dtype != np.uint16
            or weights.dtype != np.int64
            or not (codes.max(1, initial=0) < arity).all()
        ):
            raise InputError("the counts do not fit the columns")
        if weights.min(initial=1) < 1 or weights.max(initial=1) > n or weights.sum() != n:
            raise InputError("the counts do not add up to the number of rows")
        return
    m = found.moments
    if m is None or not all(one.shape == (width,) for one in (m.mean, m.mean_low)):
        raise InputError("the co-moments do not fit the columns")
    for one in (m.mean, m.mean_low, m.products, m.products_low):
        if one.dtype != np.float64 or not np.isfinite(one).all():
            raise InputError("the co-moments are not finite numbers")
    for square in (m.products, m.products_low):
        if square.shape != (width, width) or not (square == square.T).all():
            raise InputError("the co-moments are no symmetric matrix of the columns")
    if (m.products.diagonal() < 0).any() or not 1 <= m.longest <= max(n, 1):
        raise InputError("the co-moments cannot be those of so many rows")
