"""Statistics of a Dask DataFrame and of resamples of its rows, made where its parts are: only statistics travel.

A resample of N rows is drawn in two steps that together are one draw of N rows with replacement: how many rows come
from each part (multinomial, by the number of its rows), and which rows of the part these are, how often each. The
random numbers belong to the resample and the part, so the answer does not depend on the machines.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dagopt.arrays import Ints
from dagopt.data.batches import batches_of
from dagopt.data.comoments import CoMoments
from dagopt.data.data_options import DataOptions
from dagopt.data.kept_rows import no_rows
from dagopt.data.statistics import Statistics
from dagopt.data.summarise import BatchMaker, added
from dagopt.errors import InputError

__all__ = ["Parts", "drawn_in_part", "drawn_per_part", "is_in_parts", "parts_of", "resamples_of_parts"]

BYTES_AT_ONCE = 1 << 27  # of the co-moments of the resamples that a worker makes at once


class Parts(NamedTuple):
    """A Dask DataFrame and its statistics: those of all rows, and the number of complete rows of each part."""

    data: Any
    options: DataOptions
    whole: Statistics
    sizes: Ints


def is_in_parts(data: object) -> bool:
    """Say whether data are a Dask collection."""
    return type(data).__module__.partition(".")[0] in ("dask", "dask_expr")


def parts_of(data: Any, options: DataOptions) -> Parts:
    """Return the statistics of a Dask DataFrame, each part reduced by the worker that has it."""
    dask: Any = importlib.import_module("dask")

    if not hasattr(data, "to_delayed"):
        raise InputError(f"expected a Dask DataFrame but got a Dask {type(data).__name__}; use .to_dask_dataframe()")
    parts = [dask.delayed(_of_part)(part, options, k) for k, part in enumerate(data.to_delayed())]
    (found,) = dask.compute(_in_tree(dask, _sum, parts))
    whole, sizes = found
    if not whole.n_read:
        raise InputError("the Dask DataFrame has no rows; give at least one row of data")
    return Parts(data, options, whole, np.array(sizes, dtype=np.int64))


def _in_tree(dask: Any, join: Any, parts: list[Any]) -> Any:
    """Return the sum of delayed parts, made in a balanced tree by the workers."""
    while len(parts) > 1:
        parts = [dask.delayed(join)(*parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0]


def _of_part(frame: Any, options: DataOptions, place: int) -> tuple[Statistics, list[int]]:
    """Return the statistics of one part, a pandas frame, and the number of its complete rows."""
    maker = BatchMaker(options)
    found = added(
        maker.of_columns(batch.names, batch.read(), f"part {place + 1}", place) for batch in batches_of(iter([frame]))
    )
    return found, [found.n_samples]


def _sum(first: tuple[Statistics, list[int]], *second: tuple[Statistics, list[int]]) -> tuple[Statistics, list[int]]:
    """Return the sum of one or two."""
    both = [first, *second]
    return added(one for one, _ in both), [size for _, sizes in both for size in sizes]


def resamples_of_parts(
    parts: Parts, kinds: Sequence[str], n: int, n_drawn: int, random_state: int, *, with_replacement: bool = True
) -> Iterator[Statistics]:
    """Yield the statistics of n resamples of the rows, each drawn and reduced where the rows are.

    Parameters
    ----------
    parts : Parts
        The rows.
    kinds : sequence of str
        The kinds of the columns, of which not all are discrete.
    n, n_drawn : int
        How many resamples, and how many rows each has.
    random_state : int
        The seed.
    with_replacement : bool
        Whether a row can be drawn more than once.
    """
    dask: Any = importlib.import_module("dask")

    final = parts.whole.with_kinds(kinds)
    pattern = replace(final, rows=no_rows(len(final.columns)), counts=None, moments=None)
    times = np.array([drawn_per_part(parts.sizes, n_drawn, random_state, k, with_replacement) for k in range(n)])
    at_once = max(BYTES_AT_ONCE // (16 * int(final.starts[-1]) ** 2 + 1), 1)
    for first in range(0, n, at_once):
        numbers = list(range(first, min(first + at_once, n)))
        made = [
            dask.delayed(_resampled_part)(
                part, parts.options, pattern, p, numbers, times[numbers, p].tolist(), random_state, with_replacement
            )
            for p, part in enumerate(parts.data.to_delayed())
        ]
        (moments,) = dask.compute(_in_tree(dask, _sum_each, made))
        for one in moments:
            yield replace(pattern, moments=one, n_read=n_drawn, n_incomplete=0)


def drawn_per_part(sizes: Ints, n_drawn: int, random_state: int, number: int, with_replacement: bool) -> Ints:
    """Return how many rows of each part a resample has."""
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(number,)))
    if with_replacement:
        return rng.multinomial(n_drawn, sizes / sizes.sum()).astype(np.int64)
    return rng.multivariate_hypergeometric(sizes, n_drawn, method="marginals").astype(np.int64)


def drawn_in_part(size: int, n_drawn: int, random_state: int, number: int, place: int, with_replacement: bool) -> Ints:
    """Return how often each complete row of a part is in a resample."""
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=(number, place)))
    if with_replacement:
        return np.bincount(rng.integers(size, size=n_drawn), minlength=size) if size else np.zeros(0, dtype=np.int64)
    times = np.zeros(size, dtype=np.int64)
    times[rng.permutation(size)[:n_drawn]] = 1
    return times


def _resampled_part(
    frame: Any,
    options: DataOptions,
    pattern: Statistics,
    place: int,
    numbers: list[int],
    times: list[int],
    random_state: int,
    with_replacement: bool,
) -> list[CoMoments]:
    """Return what a part adds to the co-moments of some resamples."""
    maker = BatchMaker(options)
    pieces = []
    for batch in batches_of(iter([frame])):
        one = maker.of_columns(batch.names, batch.read(), f"part {place + 1}", place)
        pieces.append(one.as_part_of(pattern))
    cells = np.concatenate(pieces) if pieces else np.empty((0, len(pattern.columns)))
    found = []
    for number, n_drawn in zip(numbers, times, strict=True):
        often = drawn_in_part(len(cells), n_drawn, random_state, number, place, with_replacement)
        rows = np.flatnonzero(often)
        found.append(pattern.moments_of(list(cells[rows].T), often[rows]))
    return found


def _sum_each(first: list[CoMoments], *second: list[CoMoments]) -> list[CoMoments]:
    """Return the sums of one or two lists."""
    return [a + b for a, b in zip(first, *second, strict=True)] if second else first
