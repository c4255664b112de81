"""``summarise``: the statistics of a source of any size, in one pass over its rows and in constant memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dagopt.data.batches import ROWS, Batch, Numbers, batches_of, is_streamed, is_tabular_file
from dagopt.data.cells import with_missing_level
from dagopt.data.column_summary import ColumnSummary
from dagopt.data.data_options import NEED_ROWS, DataOptions
from dagopt.data.kept_rows import sample_size
from dagopt.data.kinds import checked_kinds
from dagopt.data.reading import positions_of, read_columns
from dagopt.data.statistics import Statistics, most_kept, most_levels
from dagopt.data.statistics_file import SUFFIX
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError
from dagopt.options import with_options

__all__ = ["Told", "added", "is_statistics", "needing_rows", "summarise", "summarised_source"]

AHEAD = 2  # batches that wait per thread
CELLS_AHEAD = 20_000_000  # of the batches that wait or are worked on, whatever the number of threads
SPARE = 1.5  # times the rows of the sample that are kept at first if the number of all rows is known
FAR_MORE = 4  # times the rows that can be kept: so many are expected if none is to be kept from the start
Told = Callable[[float | None, int], None]  # called with the share that is read, None if not known, and the rows so far


@with_options(DataOptions, leave_out=NEED_ROWS)
def summarise(data: object, *, rows: bool = True, **options: Any) -> Statistics:
    """Return the statistics of data of any size: all that ``learn`` needs of them, read once.

    Continuous columns give means and co-moments, discrete ones the counts of distinct rows. Statistics of further rows
    are added with ``+``, and ``learn`` takes them in place of data.

    Parameters
    ----------
    data : path, frame, array, iterator of frames, Arrow stream or Dask DataFrame
        A CSV, Parquet, Arrow or JSON lines file, a folder or a glob of such files, a sequence of paths, anything with
        the Arrow C stream interface, a polars LazyFrame, an iterator of frames or Arrow batches, a Dask DataFrame, or
        what ``as_table`` takes. A file of saved statistics is read as it is.
    rows : bool
        Whether to keep all rows as long as they are few, so that nothing differs from learning in memory.
    {options}

    Returns
    -------
    Statistics

    Examples
    --------
    >>> import dagopt
    >>> frame = dagopt.simulate(5, 2000, 1.0, 0).data
    >>> statistics = dagopt.summarise(frame[:1500]) + dagopt.summarise(frame[1500:])
    >>> statistics.n_read
    2000
    """
    found = summarised_source(data, DataOptions(**options))
    return found if rows else found.without_rows()


def summarised_source(
    data: object, options: DataOptions, deadline: Deadline = FOREVER, told: Told | None = None
) -> Statistics:
    """Return the statistics of a source; see ``summarise``."""
    if isinstance(data, Statistics):
        return data
    if is_statistics(data):
        return Statistics.load(str(data))
    if type(data).__module__.partition(".")[0] in ("dask", "dask_expr"):
        from dagopt.data.clusters import parts_of

        return parts_of(data, options).whole
    if not is_streamed(data) and not is_tabular_file(data):
        return _in_memory(data, options, deadline)
    maker = BatchMaker(options)
    found = _reduced(maker, batches_of(data, tuple(options.na_values)), deadline, told)
    if found is None or not found.n_read:
        raise InputError("the source has no rows; give at least one row of data")
    return found


def is_statistics(data: object) -> bool:
    """Say whether data are statistics, or the path of a file of them."""
    return isinstance(data, Statistics) or (isinstance(data, str | Path) and Path(data).suffix == SUFFIX)


def needing_rows(options: DataOptions) -> str:
    """Return the option that needs all rows at once, "" without one."""
    given = [f"{name}=" for name in ("discretize", "transform") if getattr(options, name) is not None]
    return next(iter(given), "missing='em'" if options.missing == "em" else "")


def _in_memory(data: object, options: DataOptions, deadline: Deadline) -> Statistics:
    """Return the statistics of what is read as a whole."""
    columns = read_columns(data, options.columns, options.na_values, options.exclude, deadline)
    maker = BatchMaker(options)
    return maker.of_columns([column.name for column in columns], list(columns), "", 0)


class BatchMaker:
    """Makes the statistics of one batch, on any thread and on any machine.

    Parameters
    ----------
    options : DataOptions
        Columns, kinds, and what is done with missing cells.
    """

    def __init__(self, options: DataOptions) -> None:
        self.options = options
        self.keeps_rows = True
        self.numbers: frozenset[str] = frozenset()  # columns that are known to be numbers
        self.levels: dict[str, tuple[float, ...]] = {}  # whole numbers that are levels of a column so far
        self._lowest = np.zeros(0)  # numbers drawn for rows that are in the sample so far
        self.below = np.inf  # rows with a higher number drawn are not in the sample

    def expect(self, batch: Batch) -> None:
        """Take note of how many rows will come, if the first batch and its share of all rows say so.

        Rows that will not be in the sample need not be kept even for a while. If far fewer rows come than expected,
        the sample has fewer rows too, but it is one.
        """
        if batch.n_rows and batch.done:
            n = max(len(self._kept(list(batch.names), batch.where)), 1)
            expected = batch.n_rows / max(batch.done, 1e-12)
            self._stop_keeping(expected / FAR_MORE, most_kept(n))
            if not self.keeps_rows:
                self.below = SPARE * sample_size(n) / expected

    def _stop_keeping(self, n_rows: float, most: int) -> None:
        """Keep rows no longer if so many are too many."""
        if self.keeps_rows and n_rows > most:
            self.keeps_rows = False
            if need := needing_rows(self.options):
                raise InputError(
                    f"{need} needs all rows in memory, which are too many; give a frame with a sample of them"
                )

    def learn_from(self, found: Statistics, n_read: int, done: float | None = None) -> None:
        """Take note, for later batches, of numbers and levels, of the sample, and that rows are too many to keep.

        They are if so many were read, or if by the share of the source that is ``done`` far more will be.
        """
        self.numbers |= {column.name for column in found.columns if column.levels is None}
        for column in found.columns:
            if column.levels is not None and not column.is_word and self.levels.get(column.name) != column.levels:
                self.levels[column.name] = tuple(sorted({*self.levels.get(column.name, ()), *column.levels}))
        if not (found.has_all_rows and found.n_incomplete):
            most, drawn = sample_size(len(found.columns)), np.append(self._lowest, found.rows.drawn)
            self._lowest = np.partition(drawn, most - 1)[:most] if len(drawn) > most else drawn
            if len(self._lowest) == most:
                self.below = min(self.below, float(self._lowest.max()))
        expected = n_read if not done else n_read / max(done, 1e-12) / FAR_MORE
        self._stop_keeping(max(n_read, expected), found.most_kept)

    def of_batch(self, batch: Batch, place: int) -> Statistics:
        """Return the statistics of a batch."""
        return self.of_columns(batch.names, batch.read(), batch.where, place)

    def of_columns(self, names: Sequence[str], cells: Sequence[Any], where: str, place: int) -> Statistics:
        """Return the statistics of columns, each as ``Numbers`` or as a ``Column``."""
        kept = self._kept(list(names), where)
        told = checked_kinds(self.options.kind, [names[k] for k in kept])
        summaries, columns = [], []
        for k in kept:
            name, one, last = names[k], cells[k], ""
            most = 0 if name in self.numbers and told[name] != "discrete" else most_levels(told[name])
            if isinstance(one, Numbers):
                known = self.levels.get(name)
                summary, values = ColumnSummary.of_numbers(name, one.values, one.whole, most, known=known), one.values
            else:
                if self.options.missing == "level" and one.kind == "discrete":
                    given, one = one, with_missing_level(one)
                    last = one.levels[-1] if one is not given else ""
                summary, values = ColumnSummary.of_column(one, most)
                summary = replace(summary, last=last)
            summaries.append(summary)
            columns.append(values)
        kinds = {name: kind for name, kind in told.items() if kind != "auto"}
        found = Statistics.of_columns(
            summaries, columns, kinds, self.options.missing, self.keeps_rows, place, self.below
        )
        return replace(found, sources=(where,)) if where else found

    def _kept(self, names: list[str], where: str) -> list[int]:
        """Return the positions of the columns that are used."""
        try:
            return positions_of(names, self.options.columns, self.options.exclude)
        except InputError as error:
            raise InputError(f"{where}: {error}" if where else str(error)) from error


def _reduced(maker: BatchMaker, batches: Iterator[Batch], deadline: Deadline, told: Told | None) -> Statistics | None:
    """Return the statistics of all batches, made on all cores and added up in a balanced tree in their order."""
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    total = Tree()
    waiting: deque[tuple[Future[Statistics], Batch]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for k, batch in enumerate(batches):
                if not k:
                    maker.expect(batch)
                waiting.append((pool.submit(maker.of_batch, batch, k), batch))
                room = min(AHEAD * threads, max(CELLS_AHEAD // (ROWS * len(batch.names)), 1))
                while len(waiting) > (room if k else 0):  # the first one says which columns are numbers
                    _take(total, waiting, maker, deadline, told)
            while waiting:
                _take(total, waiting, maker, deadline, told)
        finally:
            for future, _ in waiting:
                future.cancel()
    return total.sum()


def _take(
    total: Tree,
    waiting: deque[tuple[Future[Statistics], Batch]],
    maker: BatchMaker,
    deadline: Deadline,
    told: Told | None,
) -> None:
    future, batch = waiting.popleft()
    try:
        found = future.result()
        total.add(found)
    except InputError as error:
        if batch.where in str(error):
            raise
        raise InputError(f"{batch.where}, after row {total.n_read}: {error}") from error
    maker.learn_from(found, total.n_read, batch.done)
    deadline.check("the data were read", batch.done or 0.0)
    if told is not None:
        told(batch.done, total.n_read)


class Tree:
    """Adds statistics in a balanced tree: two sums are added when they are of as many terms."""

    def __init__(self) -> None:
        self._sums: list[tuple[int, Statistics]] = []
        self.n_read = 0

    def add(self, one: Statistics) -> None:
        """Add a term."""
        terms = 1
        self.n_read += one.n_read
        while self._sums and self._sums[-1][0] == terms:
            before, found = self._sums.pop()
            one, terms = found + one, terms + before
        self._sums.append((terms, one))

    def sum(self) -> Statistics | None:
        """Return the sum of all terms, None if there are none."""
        found: Statistics | None = None
        for _, one in reversed(self._sums):
            found = one if found is None else one + found
        return found


def added(parts: Iterable[Statistics]) -> Statistics:
    """Return the sum of statistics, added in a balanced tree."""
    tree = Tree()
    for part in parts:
        tree.add(part)
    found = tree.sum()
    if found is None:
        raise InputError("the source has no rows; give at least one row of data")
    return found
