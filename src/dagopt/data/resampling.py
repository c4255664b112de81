"""Resamples of a table: rows drawn with or without replacement."""

from __future__ import annotations

from dataclasses import replace as with_fields

import numpy as np
from numpy.typing import NDArray

from dagopt.data.lags import Lags
from dagopt.data.table import ContinuousTable, DiscreteTable, MixedTable, Table
from dagopt.errors import InputError

__all__ = ["resampled", "rows_of_table"]


def resampled(
    table: Table, rng: np.random.Generator, n_rows: int, *, replace: bool = True, least_distinct: int = 0
) -> Table:
    """Return a table of rows drawn at random.

    Parameters
    ----------
    table : Table
        Where the rows come from.
    rng : Generator
        The source of randomness.
    n_rows : int
        How many rows to draw.
    replace : bool
        Whether a row can be drawn more than once.
    least_distinct : int
        How many distinct rows a continuous table needs; fewer raise an error.

    Returns
    -------
    Table
        For a discrete table, the same distinct rows with new weights, without those not drawn; the columns keep all
        their levels, drawn or not.
    """
    if not isinstance(table, DiscreteTable):
        rows = np.sort(rng.choice(table.n_rows, n_rows, replace=replace))
        distinct = int(np.count_nonzero(np.diff(rows))) + 1
        if distinct < least_distinct:
            raise InputError(
                f"a resample has {distinct} distinct rows of {table.n_rows} but {least_distinct - 2} parents are "
                f"allowed, so some column would be fitted perfectly; set max_parents= or give more rows"
            )
        return rows_of_table(table, rows)
    weights = _weights(table, rng, n_rows, replace)
    return _weighted(with_fields(table, copies=1), weights)


def rows_of_table(table: Table, rows: NDArray[np.int64]) -> Table:
    """Return the table of some rows, by position and perhaps repeated; the columns keep their levels."""
    if isinstance(table, ContinuousTable):
        return ContinuousTable(table.names, np.ascontiguousarray(table.values[rows]), table.transforms, _drawn(table))
    if isinstance(table, MixedTable):
        return table.take(rows)
    if table.copies > 1:
        raise InputError("missing cells were filled in several ways, so rows cannot be told apart; give complete data")
    which = np.repeat(np.arange(len(table.weights)), table.weights) if table.which is None else table.which
    distinct = which[rows]
    weights = np.bincount(distinct, minlength=len(table.weights)).astype(np.int64)
    return _weighted(table, weights)


def _weighted(table: DiscreteTable, weights: NDArray[np.int64]) -> DiscreteTable:
    """Return the table with other weights of its distinct rows, without those of weight 0."""
    kept = np.flatnonzero(weights)
    codes = np.ascontiguousarray(table.codes[:, kept])
    return with_fields(table, codes=codes, weights=weights[kept], lags=_drawn(table), which=None)


def _drawn(table: Table) -> Lags | None:
    """Return the layout in time of the columns, for rows that were drawn."""
    return None if table.lags is None else table.lags.without_rows()


def _weights(table: DiscreteTable, rng: np.random.Generator, n_rows: int, replace: bool) -> NDArray[np.int64]:
    """Return how often each distinct row is drawn: multinomial, or multivariate hypergeometric without replacement."""
    if replace:
        return rng.multinomial(n_rows, table.weights / table.weights.sum()).astype(np.int64)
    return rng.multivariate_hypergeometric(table.weights, n_rows, method="marginals").astype(np.int64)
