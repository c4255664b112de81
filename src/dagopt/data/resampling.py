"""Resamples of a table: units drawn with or without replacement.

A unit is what rows are drawn by: a row, repetitions included, or a whole group of rows if the table has groups. A row
with a survey weight is one unit, and keeps its weight. Rows that are moments are drawn in blocks of successive ones, so
that what is alike stays together.

References
----------
Lahiri (2003). Resampling methods for dependent data. Springer.
"""

from __future__ import annotations

from dataclasses import replace as with_fields

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Ints
from dagopt.data.summarised import SummarisedTable
from dagopt.data.table import ContinuousTable, DiscreteTable, MixedTable, Table
from dagopt.errors import InputError

__all__ = ["block_length", "is_grouped", "n_units", "resampled", "rows_of_groups", "units_of_table"]


def is_grouped(table: Table) -> bool:
    """Say whether the units of a table are groups of rows."""
    if isinstance(table, DiscreteTable):
        return table.members is not None and len(table.members.units) > table.members.n_units
    return table.about.groups is not None


def n_units(table: Table) -> int:
    """Return the number of units: groups, or rows with repetitions."""
    if isinstance(table, DiscreteTable):
        return table.n_rows if table.members is None else table.members.n_units
    if table.about.groups is not None:
        return table.about.n_groups
    weights = table.about.weights
    return table.n_rows if weights is None or table.about.survey else int(weights.sum())


def resampled(
    table: Table, rng: np.random.Generator, n_drawn: int, *, replace: bool = True, least_distinct: int = 0
) -> Table:
    """Return a table of units drawn at random.

    Parameters
    ----------
    table : Table
        Where the rows come from.
    rng : Generator
        The source of randomness.
    n_drawn : int
        How many units to draw: rows, or whole groups if the table has groups.
    replace : bool
        Whether a unit can be drawn more than once.
    least_distinct : int
        How many distinct rows a continuous table needs; fewer raise an error.

    Returns
    -------
    Table
        For a table that was read in one pass, a covariance drawn from the Wishart distribution of so many Gaussian
        rows (``SummarisedTable.drawn``). For a discrete table, the same distinct rows with new weights, without those
        not drawn; the columns keep all their levels, drawn or not.
    """
    if table.lags is not None and table.lags.run is not None:
        return units_of_table(table, _blocks(table.lags.run, rng, n_drawn, replace))
    if isinstance(table, SummarisedTable):
        return table.drawn(rng, n_drawn)
    if isinstance(table, DiscreteTable) and table.members is None:
        return _of_distinct(table, _drawn_weights(table.weights, rng, n_drawn, replace))
    if isinstance(table, DiscreteTable):
        return units_of_table(table, rng.choice(n_units(table), n_drawn, replace=replace))
    weights = table.about.weights
    if table.about.groups is None and weights is not None and not table.about.survey:
        found = _with_weights(table, _drawn_weights(weights.astype(np.int64), rng, n_drawn, replace))
        distinct = found.n_rows
    else:
        units = np.sort(rng.choice(n_units(table), n_drawn, replace=replace))
        found = _of_units(table, units)
        kept = np.unique(units)
        distinct = len(kept) if table.about.groups is None else int(np.isin(table.about.groups, kept).sum())
    if distinct < least_distinct:
        raise InputError(
            f"a resample has {distinct} distinct rows of {table.n_rows} but {least_distinct - 2} parents are "
            f"allowed, so some column would be fitted perfectly; set max_parents= or give more rows"
        )
    return found


def block_length(n_rows: int) -> int:
    """Return how many successive rows are drawn together: N^(1/3), rounded up, at least 2 (Lahiri 2003)."""
    return max(int(np.ceil(n_rows ** (1 / 3))), 2)


def _blocks(run: Ints, rng: np.random.Generator, n_drawn: int, replace: bool) -> Ints:
    """Return rows drawn in blocks of successive ones of one run.

    With replacement, blocks begin anywhere, and those that reach the end of a run go on at its start, so that all rows
    are equally likely. Without, the rows are cut into blocks that do not overlap.
    """
    starts = np.flatnonzero(np.diff(run, prepend=-1))
    sizes = np.diff(np.append(starts, len(run)))
    length, left = block_length(len(run)), n_drawn
    found: list[Ints] = []
    if not replace:
        pieces = [
            np.arange(first + a, first + min(a + length, size))
            for first, size in zip(starts.tolist(), sizes.tolist(), strict=True)
            for a in range(0, size, length)
        ]
        order = rng.permutation(len(pieces)).tolist()
        return np.concatenate([pieces[k] for k in order])[:n_drawn]
    place = np.repeat(np.arange(len(starts)), sizes)
    while left > 0:
        first = int(rng.integers(len(run)))
        begin, size = int(starts[place[first]]), int(sizes[place[first]])
        found.append((begin + (first - begin + np.arange(min(length, left))) % size).astype(np.int64))
        left -= len(found[-1])
    return np.concatenate(found)


def units_of_table(table: Table, units: Ints) -> Table:
    """Return the table of some units, by position and perhaps repeated; the columns keep their levels."""
    if not isinstance(table, DiscreteTable):
        weights = table.about.weights
        if table.about.groups is None and weights is not None and not table.about.survey:
            rows = np.repeat(np.arange(table.n_rows), weights.astype(np.int64))[units]
            return _with_weights(table, np.bincount(rows, minlength=table.n_rows))
        return _of_units(table, units)
    if table.members is not None:
        return table.of_units(np.bincount(units, minlength=table.members.n_units))
    if table.copies > 1:
        raise InputError("missing cells were filled in several ways, so rows cannot be told apart; give complete data")
    which = np.repeat(np.arange(len(table.weights)), table.weights) if table.which is None else table.which
    distinct = which[units]
    return _of_distinct(table, np.bincount(distinct, minlength=len(table.weights)).astype(np.int64))


def rows_of_groups(groups: Ints, drawn: Ints) -> tuple[Ints, Ints]:
    """Return the rows of whole groups, by position in order, and the group of each.

    A group that was drawn twice has its rows twice, as two groups.

    Parameters
    ----------
    groups : int array
        The number of each row's group, from 0 on.
    drawn : int array
        The groups, perhaps repeated.
    """
    n_groups = int(groups.max(initial=-1)) + 1
    times = np.bincount(drawn, minlength=n_groups)[groups]
    rows = np.repeat(np.arange(len(groups)), times)
    copy = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    return rows, np.unique(groups[rows] + n_groups * copy, return_inverse=True)[1].ravel()


def _of_units(table: ContinuousTable | MixedTable, units: Ints) -> ContinuousTable | MixedTable:
    """Return the table of some rows, or of some groups."""
    if table.about.groups is None:
        return table.take(units)
    rows, groups = rows_of_groups(table.about.groups, units)
    found = table.take(rows)
    return with_fields(found, about=with_fields(found.about, groups=groups))


def _with_weights(table: ContinuousTable | MixedTable, times: Ints) -> ContinuousTable | MixedTable:
    """Return a table with each row so many times, as frequency weights."""
    rows = np.flatnonzero(times)
    found = table.take(rows)
    return with_fields(found, about=with_fields(found.about, weights=times[rows].astype(np.float64)))


def _of_distinct(table: DiscreteTable, weights: Ints) -> DiscreteTable:
    """Return a table with each distinct row so many times."""
    kept = np.flatnonzero(weights)
    codes = np.ascontiguousarray(table.codes[:, kept])
    lags = None if table.lags is None else table.lags.without_rows()
    return with_fields(table, codes=codes, weights=weights[kept], copies=1, lags=lags, which=None)


def _drawn_weights(
    weights: NDArray[np.int64], rng: np.random.Generator, n_drawn: int, replace: bool
) -> NDArray[np.int64]:
    """Return how often each row is drawn: multinomial, or multivariate hypergeometric without replacement."""
    if replace:
        return rng.multinomial(n_drawn, weights / weights.sum()).astype(np.int64)
    return rng.multivariate_hypergeometric(weights, n_drawn, method="marginals").astype(np.int64)
