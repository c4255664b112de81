"""Some of the rows of a table of any size: all, as long as they are few, or a random sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints

__all__ = ["Rows", "joined_rows", "lowest", "no_rows", "numbers_drawn", "sample_size", "sampled"]

SAMPLED_ROWS = 20_000
SAMPLED_CELLS = 1 << 22


class Rows(NamedTuple):
    """Some rows: their cells of shape (rows, n), the number drawn for each, and where it was."""

    cells: Floats
    drawn: Floats
    place: Ints

    @classmethod
    def of_columns(cls, columns: Sequence[NDArray[Any]], drawn: Floats, place: Ints) -> Rows:
        """Return rows given as columns."""
        cells = np.empty((len(drawn), len(columns)))
        for j, column in enumerate(columns):
            cells[:, j] = column
        return cls(cells, drawn, place)


def numbers_drawn(n_rows: int, place: int) -> Floats:
    """Return a number for each row of a batch; those with the lowest numbers of all batches are the sample."""
    return np.random.default_rng([n_rows, place]).random(n_rows)


def no_rows(n: int) -> Rows:
    """Return no rows of n columns."""
    return Rows(np.empty((0, n)), np.empty(0), np.empty(0, dtype=np.int64))


def joined_rows(first: Rows, second: Rows, shift: int) -> Rows:
    """Return the rows of both; those of the second come after ``shift`` rows."""
    return Rows(
        np.concatenate([first.cells, second.cells]),
        np.concatenate([first.drawn, second.drawn]),
        np.concatenate([first.place, second.place + shift]),
    )


def sample_size(n: int) -> int:
    """Return how many rows of n columns are kept as a sample."""
    return max(min(SAMPLED_ROWS, SAMPLED_CELLS // max(n, 1)), 1)


def lowest(drawn: Floats, most: int, below: float = np.inf) -> Ints:
    """Return where the lowest numbers are, in their order: at most so many, and none from ``below`` on."""
    places = np.flatnonzero(drawn < below) if below < 1 else np.arange(len(drawn))
    if len(places) > most:
        places = np.sort(places[np.argpartition(drawn[places], most)[:most]])
    return places


def sampled(rows: Rows) -> Rows:
    """Return the rows with the lowest numbers drawn, which are a random sample whatever was added to what."""
    most = sample_size(rows.cells.shape[1])
    if len(rows.cells) <= most:
        return rows
    kept = lowest(rows.drawn, most)
    return Rows(rows.cells[kept], rows.drawn[kept], rows.place[kept])
