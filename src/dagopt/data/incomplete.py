"""Discrete columns with missing cells, and completions of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.columns import Column
from dagopt.data.data_options import DataOptions
from dagopt.data.row_facts import PLAIN, read_with_facts
from dagopt.data.table import TABLES, DiscreteTable, complete_columns
from dagopt.errors import InputError

__all__ = ["IncompleteLevels", "incomplete_levels"]


FEWEST_ROWS, FEWEST_ROWS_PER_COLUMN = 50, 5  # complete rows needed to start from the network of these
COPIES = 10  # completions of a row with missing cells


@dataclass(frozen=True, eq=False)
class IncompleteLevels:
    """Discrete columns with missing cells.

    A row with missing cells is repeated ``COPIES`` times, with different levels in its missing cells, and each copy
    counts as a fraction of a row: so counts are close to their expected values, and no level is preferred. For the
    copies of every missing cell, numbers that divide the unit interval evenly are drawn once; a cell gets the level
    whose share of the interval contains its number. The same distributions always fill the cells in the same way.

    Attributes
    ----------
    columns : tuple of Column
        The columns, with the incomplete rows repeated.
    weights : array
        How many copies each row stands for: all of them if it is complete, otherwise one.
    draws : array of shape (n, rows)
        The numbers drawn.
    """

    columns: tuple[Column, ...]
    weights: Ints
    draws: Floats

    @classmethod
    def of(cls, columns: Sequence[Column], random_state: int = 0) -> IncompleteLevels:
        """Return the columns with copies of their incomplete rows, and numbers drawn for the missing cells."""
        holes = np.array([column.missing for column in columns])
        whole, part = np.flatnonzero(~holes.any(axis=0)), np.flatnonzero(holes.any(axis=0) & ~holes.all(axis=0))
        rows = np.concatenate([whole, np.repeat(part, COPIES)])
        weights = np.concatenate([np.full(len(whole), COPIES), np.ones(COPIES * len(part))]).astype(np.int64)
        rng = np.random.default_rng(random_state)
        strata = rng.permuted(np.tile(np.arange(COPIES), (len(columns), len(part), 1)), axis=2)
        draws = np.zeros((len(columns), len(rows)))
        draws[:, len(whole) :] = ((strata + rng.random(strata.shape)) / COPIES).reshape(len(columns), -1)
        kept = tuple(replace(column, values=column.values[rows]) for column in columns)
        return cls(kept, weights, draws)

    @property
    def n_rows(self) -> int:
        """Number of rows with at least one observed cell."""
        return int(self.weights.sum()) // COPIES

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(sum(column.missing.sum() for column in self.columns)) // COPIES

    @property
    def n_incomplete(self) -> int:
        """Number of rows with a missing cell."""
        return int((self.weights == 1).sum()) // COPIES

    def table(self, codes: Ints) -> DiscreteTable:
        """Return the table of a completion."""
        names = tuple(column.name for column in self.columns)
        levels = tuple(column.levels for column in self.columns)
        return DiscreteTable.from_codes(names, levels, codes, self.weights, COPIES)

    def complete_rows(self) -> DiscreteTable | None:
        """Return the table of the rows without missing cells; None if there are too few to start with."""
        rows = np.flatnonzero(self.weights > 1)
        if len(rows) < max(FEWEST_ROWS, FEWEST_ROWS_PER_COLUMN * len(self.columns)):
            return None
        codes = np.stack([column.values[rows] for column in self.columns])
        names = tuple(column.name for column in self.columns)
        return DiscreteTable.from_codes(names, tuple(column.levels for column in self.columns), codes)

    def first_completion(self) -> Ints:
        """Return all cells, with missing ones filled in from the frequencies of their column."""
        codes = np.stack([column.values for column in self.columns]).astype(np.int64)
        for j, column in enumerate(self.columns):
            share = np.bincount(column.values[~column.missing], minlength=len(column.levels)).astype(np.float64)
            rows = np.flatnonzero(column.missing)
            codes[j, rows] = self.chosen(j, rows, np.tile(share, (len(rows), 1)))
        return codes

    def chosen(self, column: int, rows: NDArray[np.intp], weights: Floats) -> Ints:
        """Return the levels of missing cells of a column, given the weights of the levels in each of these rows."""
        shares = np.cumsum(weights, axis=1)
        shares /= shares[:, -1:]
        return np.asarray((self.draws[column, rows][:, None] >= shares[:, :-1]).sum(axis=1), dtype=np.int64)


def incomplete_levels(data: object, options: DataOptions, random_state: int = 0) -> IncompleteLevels | None:
    """Return the columns of data that are all discrete and have missing cells; None for other data."""
    if isinstance(data, TABLES) or options.n_samples is not None or options.lags is not None:
        return None
    columns, about, _ = complete_columns(*read_with_facts(data, options), options)
    if any(column.kind == "continuous" or not column.levels for column in columns):
        return None
    if not any(column.missing.any() for column in columns):
        return None
    if about is not PLAIN:
        raise InputError(
            "missing='em' fills in discrete columns without regard to weights= or groups=; use missing='level' or "
            "'drop', or leave them out"
        )
    return IncompleteLevels.of(columns, random_state)
