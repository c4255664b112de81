r"""`MixedTable`: continuous and discrete columns together, and their embedding in a Gaussian.

A discrete column of k levels is embedded as the k - 1 indicators of all levels except one, a continuous column as
itself: the *degenerate Gaussian* of Andrews, Ramsey and Cooper (2019). A column is then a group of embedded columns,
and a set of columns is the union of their groups. Which level is left out does not matter, since the others determine
it; it is the most frequent one, so that the correlations within a group have no eigenvalue below 1 / k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.data.columns import Column
from dagopt.data.em import WithMissing, em_moments
from dagopt.data.gram import Correlations, correlations
from dagopt.data.polynomials import Polynomials, polynomials
from dagopt.data.row_facts import PLAIN, RowFacts
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError, quoted
from dagopt.memory import require_memory

if TYPE_CHECKING:
    from dagopt.data.lags import Lags
    from dagopt.data.transforms import Transform

__all__ = ["INDICATOR_NOISE", "Embedding", "MixedTable", "basis_embedding", "basis_parts", "embedded", "whitened"]

ROWS_AT_ONCE = 256  # of a matrix that is made symmetric
INDICATOR_NOISE = 1e-8
"""What is added to 1, the factor of the covariances within a discrete column: so log det is finite for copies, too."""

BYTES = 8  # of a number


class Embedding(NamedTuple):
    """The covariance of the embedded columns, each group whitened.

    Attributes
    ----------
    matrix : array
        The identity within each group (plus ``INDICATOR_NOISE`` if the column is discrete).
    log_scale : array of shape (n,)
        The log-determinant of each group's covariance, which whitening divided out.
    starts : int array of shape (n + 1,)
        Column j has the embedded columns ``starts[j]`` to ``starts[j + 1]``, exclusive.
    roundings : float
        A bound on the error of ``matrix``, group by group, in roundings of 1 (see ``whitened``).
    """

    matrix: Floats
    log_scale: Floats
    starts: Ints
    roundings: float

    @property
    def sizes(self) -> Ints:
        """The number of embedded columns of each column."""
        return np.diff(self.starts)


@dataclass(frozen=True, eq=False)
class MixedTable(WithMissing):
    """A table with continuous and discrete columns.

    Attributes
    ----------
    columns : tuple of Column
        The columns, of equal length. If cells are missing, the moments of the embedding are estimated by EM.
    lags : Lags or None
        How rows and columns are laid out in time, if they are.
    about : RowFacts
        How much each row counts, and which unit it belongs to.
    """

    columns: tuple[Column, ...]
    lags: Lags | None = None
    about: RowFacts = PLAIN

    kind = "mixed"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows, complete or not."""
        return len(self.columns[0].values)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The levels of each column; none for a continuous one."""
        return tuple(column.levels for column in self.columns)

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The data, to compute a digest."""
        cells = [column.values for column in self.columns]
        return cells if self.about.weights is None else [*cells, self.about.weights]

    @property
    def sizes(self) -> Ints:
        """The numbers that represent each column: one, or its levels that occur minus one."""
        return self.embedding.sizes

    @property
    def transforms(self) -> dict[str, Transform]:
        """The functions that made columns from the numbers that were read."""
        return {column.name: column.transform for column in self.columns if column.transform is not None}

    @cached_property
    def discrete(self) -> Bools:
        """True for the discrete columns."""
        return np.array([column.kind == "discrete" for column in self.columns])

    @cached_property
    def missing(self) -> Bools:
        """True where a cell is missing, of shape (rows, n)."""
        return np.column_stack([column.missing for column in self.columns])

    def measure(self, deadline: Deadline) -> None:
        """Compute the embedding now, unless it is known, and look at the clock meanwhile."""
        if "embedding" not in self.__dict__:
            self.__dict__["embedding"] = self._embedding(deadline)

    @cached_property
    def embedding(self) -> Embedding:
        """The covariance of the embedded columns."""
        return self._embedding(FOREVER)

    def _embedding(self, deadline: Deadline) -> Embedding:
        weights = self.about.scaled
        parts = []
        for k, column in enumerate(self.columns):
            deadline.check("levels became numbers", k / len(self.columns))
            parts.append(embedded(column, weights))
        starts = np.concatenate([[0], np.cumsum([part.shape[1] for part in parts])]).astype(np.int64)
        values = np.concatenate(parts, axis=1)
        self._check_constants(values, starts)
        if self.is_complete:
            found = correlations(values, deadline, weights)
        else:
            spelled = [self.names[j] for j in np.repeat(np.arange(len(parts)), np.diff(starts))]
            covariance = em_moments(values - np.nanmean(values, axis=0), spelled, deadline, weights).covariance
            own = np.sqrt(np.diag(covariance))
            found = Correlations(covariance / np.outer(own, own), own, 4.0)
        return whitened(found, starts, self.discrete, deadline)

    def _check_constants(self, values: Floats, starts: Ints) -> None:
        spread = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
        constant = [self.names[j] for j in range(len(self.columns)) if (spread[starts[j] : starts[j + 1]] == 0).any()]
        if constant:
            raise InputError(f"column {quoted(constant)} is constant and has no variance; leave it out with exclude=")

    def take(self, rows: Ints) -> MixedTable:
        """Return the table of some rows, by position and perhaps repeated, with all levels."""
        lags = None if self.lags is None else self.lags.without_rows()
        return MixedTable(tuple(replace(c, values=c.values[rows]) for c in self.columns), lags, self.about.take(rows))

    def repeated(self) -> MixedTable:
        """Return the table with each row as often as its frequency weight says."""
        if self.about.weights is None:
            return self
        times = self.about.weights.astype(np.int64)
        require_memory(BYTES * len(self.columns) * int(times.sum()), "rows that are repeated by their weights")
        found = self.take(np.repeat(np.arange(self.n_rows), times))
        return replace(found, about=replace(found.about, weights=None))

    def select(self, places: Sequence[int]) -> MixedTable:
        """Return the table of some columns, by position, in this order."""
        return MixedTable(tuple(self.columns[j] for j in places), about=self.about)


def basis_parts(
    columns: Sequence[Column], degree: int, weights: Floats | None = None, deadline: Deadline = FOREVER
) -> list[Polynomials]:
    """Return the columns that each column becomes: a continuous one its orthogonal polynomials up to a degree.

    Parameters
    ----------
    columns : sequence of Column
        Complete and not constant.
    degree : int
        The highest degree, at least 1.
    weights : array, optional
        How much each row counts; once unless given.
    deadline : Deadline
        Looked at for every column.
    """
    parts, begun = [], deadline.elapsed()
    for k, column in enumerate(columns):
        deadline.check("polynomials of columns were computed", k / len(columns), begun)
        if column.kind == "continuous":
            parts.append(polynomials(column.values, degree, weights))
        else:
            parts.append(Polynomials(embedded(column, weights), 0.0))
    return parts


def basis_embedding(
    columns: Sequence[Column], parts: Sequence[Polynomials], weights: Floats | None, deadline: Deadline = FOREVER
) -> Embedding:
    """Return the embedding of columns in their polynomials."""
    starts = np.concatenate([[0], np.cumsum([part.values.shape[1] for part in parts])]).astype(np.int64)
    found = correlations(np.concatenate([part.values for part in parts], axis=1), deadline, weights)
    # An error of a column's length changes a correlation by twice that, and its own length by as much.
    found = found._replace(roundings=found.roundings + 4 * max(part.roundings for part in parts))
    return whitened(found, starts, np.array([column.kind == "discrete" for column in columns]), deadline)


def embedded(column: Column, weights: Floats | None = None) -> Floats:
    """Return a column as numbers: itself, or the indicators of all levels but the most frequent; NaN where missing."""
    if column.kind == "continuous":
        return np.asarray(column.values, dtype=np.float64)[:, None]
    there = column.values >= 0
    occurring, places = np.unique(column.values[there], return_inverse=True)
    counts = np.bincount(places, None if weights is None else weights[there])
    kept = np.delete(occurring, np.argmax(counts))
    indicators = (column.values[:, None] == kept[None, :]).astype(np.float64)
    indicators[column.missing] = np.nan
    return np.asarray(indicators)


def whitened(found: Correlations, starts: Ints, discrete: Bools, deadline: Deadline = FOREVER) -> Embedding:
    """Return the embedding with the identity within each group; the matrix that was found is changed.

    With the factor L of the correlations of a group of k columns, a block of the matrix is multiplied by the inverse,
    W, from one side. If entries have an error e, a block has at most e k w² by its own and the other W, w the norm of
    the larger one, and e k w² more from each W, which belongs to correlations with an error e: 4 e k w² in all, the
    roundings of the products included as k more of e.
    """
    matrix, begun = np.ascontiguousarray(found.matrix), deadline.elapsed()
    log_scale, largest = np.zeros(len(starts) - 1), 1.0
    for j, (first, last) in enumerate(pairwise(starts)):
        if first == last:
            continue
        deadline.check("levels were made uncorrelated", j / len(log_scale), begun)
        group, size = slice(first, last), int(last - first)
        factor = np.linalg.cholesky(matrix[group, group])
        inverse = np.linalg.inv(factor)
        if size > 1 or inverse[0, 0] != 1.0:
            matrix[group, :] = inverse @ matrix[group, :]
            matrix[:, group] = matrix[:, group] @ inverse.T
        log_scale[j] = 2 * (np.log(np.diag(factor)).sum() + np.log(found.scale[group]).sum())
        matrix[group, group] = np.eye(size) * (1 + (INDICATOR_NOISE if discrete[j] else 0.0))
        if size > 1:
            largest = max(largest, (1 + size / found.roundings) * size * float(np.linalg.norm(inverse, 2)) ** 2)
    error = 4 * found.roundings * largest
    for first in range(0, len(matrix), ROWS_AT_ONCE):
        deadline.check("levels were made uncorrelated", 1.0, begun)
        some = slice(first, first + ROWS_AT_ONCE)
        both = (matrix[some, first:] + matrix[first:, some].T) / 2
        matrix[some, first:], matrix[first:, some] = both, both.T
    return Embedding(matrix, log_scale, starts, error)
