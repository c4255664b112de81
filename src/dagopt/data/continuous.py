"""`ContinuousTable`: real numbers, or only their covariance, which is all that a Gaussian score uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.data.em import Moments, WithMissing, em_moments
from dagopt.data.gram import (
    centred,
    column_means,
    column_sums,
    correlations_in_pieces,
    exact_factor,
    product_roundings,
    products,
)
from dagopt.data.row_facts import PLAIN, RowFacts
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError, quoted
from dagopt.memory import require_memory

if TYPE_CHECKING:
    from dagopt.data.lags import Lags
    from dagopt.data.transforms import Transform

__all__ = ["ContinuousTable", "CovarianceTable"]


BYTES, COPIES = 8, 4  # of a number, and of the columns while their correlations are computed
MOST_FACTORISED = 64  # columns whose covariance is factorised with 60 digits
LARGEST_ASYMMETRY = 1e-8  # of a covariance, relative to the two variances
LEAST_EIGENVALUE = 1e-11  # of a correlation matrix: below this, a column is a combination of others


@dataclass(frozen=True, eq=False)
class ContinuousTable(WithMissing):
    """A table of real numbers.

    Attributes
    ----------
    names : tuple of str
        The columns.
    values : array of shape (rows, n)
        The numbers. If cells are missing (NaN), mean and covariance are estimated by EM (see ``em.py``).
    transforms : mapping of str to Transform
        The functions that made columns from the numbers that were read.
    lags : Lags or None
        How rows and columns are laid out in time, if they are.
    about : RowFacts
        How much each row counts, and which unit it belongs to.
    """

    names: tuple[str, ...]
    values: Floats
    transforms: Mapping[str, Transform] = field(default_factory=dict)
    lags: Lags | None = None
    about: RowFacts = PLAIN

    kind = "continuous"

    @property
    def n_rows(self) -> int:
        """Number of rows, complete or not."""
        return len(self.values)

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The data, to compute a digest."""
        return [self.values] if self.about.weights is None else [self.values, self.about.weights]

    @property
    def sizes(self) -> Ints:
        """The numbers that represent each column: one."""
        return np.ones(len(self.names), dtype=np.int64)

    @property
    def is_plain(self) -> bool:
        """Whether there are rows without missing cells, each of which counts once and for itself."""
        about = self.about
        return self._has_rows and self.lags is None and about.weights is None and not about.centred

    @cached_property
    def missing(self) -> Bools:
        """True where a cell is missing."""
        return np.isnan(self.values)

    @cached_property
    def moments(self) -> Moments:
        """Mean and covariance of the rows with missing cells, by EM."""
        return em_moments(self.values, self.names, weights=self.about.scaled)

    @cached_property
    def mean(self) -> Floats:
        """The means of the columns."""
        if not self.is_complete:
            return self.moments.mean
        if self.about.scaled is None:
            return np.asarray(self.values.mean(axis=0), dtype=np.float64)
        return column_means(self.values, self.about.scaled)

    def _centred(self) -> Floats:
        """Return the centred values, each row times the root of its weight."""
        near, weights = centred(self.values, self.about.scaled), self.about.scaled
        return near if weights is None else near * np.sqrt(weights)[:, None]

    @property
    def mass(self) -> float:
        """What sums of products are divided by: N, or the sum of the weights."""
        return self.about.mass(self.n_rows)

    @cached_property
    def scale(self) -> Floats:
        """The standard deviations of the columns (dividing by N)."""
        if self._is_view:
            return self._in_pieces[1]
        if self.is_complete:
            return np.sqrt(column_sums(self._centred() ** 2) / self.mass)
        return np.sqrt(np.diag(self.moments.covariance))

    @property
    def roundings(self) -> float:
        """The largest error of a correlation, in roundings of 1; moments by EM are taken as they are."""
        if not self.is_complete:
            return 4.0
        return product_roundings(*self.values.shape, weighted=self.about.weights is not None)

    @property
    def is_exact(self) -> bool:
        """Whether columns with the products that were asked for can be made (``scaled``)."""
        return True

    def scaled(self, scale: NDArray[np.floating[Any]]) -> Floats:
        """Return the centred columns divided by sqrt(N) times the scale; with standard deviations they have length 1.

        Without complete rows, other columns with the same products are returned: a square root of the covariance.
        """
        if self._has_rows:
            return np.asarray(self._centred() / (np.asarray(scale) * np.sqrt(self.mass)), dtype=np.float64)
        if len(self.names) <= MOST_FACTORISED:
            exact = exact_factor(self.covariance.astype(object), np.zeros(len(self.names), dtype=np.int64))
            return np.asarray(exact / np.asarray(scale), dtype=np.float64)
        sizes, directions = np.linalg.eigh(self.correlation)
        root = np.sqrt(np.maximum(sizes, 0.0))[:, None] * directions.T
        return np.asarray(root * (self.scale / np.asarray(scale)), dtype=np.float64)

    @property
    def _has_rows(self) -> bool:
        return self.is_complete

    def measure(self, deadline: Deadline) -> None:
        """Compute the correlations now, unless they are known, and look at the clock meanwhile."""
        if "correlation" not in self.__dict__:
            self.__dict__["correlation"] = self._correlations(deadline)

    @cached_property
    def correlation(self) -> Floats:
        """The correlations of the columns, from standardised data, so that units do not matter."""
        return self._correlations(FOREVER)

    def _correlations(self, deadline: Deadline) -> Floats:
        rows, n = self.values.shape
        cells = 0 if self._is_view else COPIES * rows * n
        require_memory(BYTES * (n**2 + cells), f"the correlations of {n:,} columns with {rows:,} rows")
        spread = np.nanmax(self.values, axis=0) - np.nanmin(self.values, axis=0)
        constant = [self.names[j] for j in np.flatnonzero(spread == 0)]
        if constant:
            raise InputError(
                f"column {quoted(constant)} is constant and has no correlation; leave it out with exclude="
            )
        if self._is_view:
            if "_in_pieces" not in self.__dict__:
                self.__dict__["_in_pieces"] = correlations_in_pieces(self.values, deadline)
            return self._in_pieces[0]
        if self.is_complete:
            standard = self._centred() / self.scale
            matrix = products(standard, deadline)  # symmetric, and large: divided in its place
            matrix /= self.mass
        else:
            if "moments" not in self.__dict__:
                self.__dict__["moments"] = em_moments(self.values, self.names, deadline, self.about.scaled)
            matrix = self.moments.covariance / np.outer(self.scale, self.scale)
            matrix = (matrix + matrix.T) / 2
        np.fill_diagonal(matrix, 1.0)
        return matrix

    @property
    def _is_view(self) -> bool:
        """Whether the columns are views of fewer numbers, as lagged ones are, and complete."""
        values = self.values
        fewer = values.ndim == 2 and values.size > 0 and abs(values.strides[0]) < values.shape[1] * values.itemsize
        return fewer and values.strides[1] == values.itemsize and self.about.scaled is None and self.is_complete

    @cached_property
    def _in_pieces(self) -> tuple[Floats, Floats]:
        return correlations_in_pieces(self.values)

    @cached_property
    def covariance(self) -> Floats:
        """The covariance matrix Σ̂ of appendix A.1 (centred, dividing by N)."""
        return np.asarray(self.correlation * np.outer(self.scale, self.scale), dtype=np.float64)

    def select(self, places: Sequence[int]) -> ContinuousTable:
        """Return the table of some columns, by position, in this order."""
        names = tuple(self.names[j] for j in places)
        return ContinuousTable(names, np.ascontiguousarray(self.values[:, places]), self.transforms, about=self.about)

    def take(self, rows: Ints) -> ContinuousTable:
        """Return the table of some rows, by position and perhaps repeated."""
        values = np.ascontiguousarray(self.values[rows])
        lags = None if self.lags is None else self.lags.without_rows()
        return ContinuousTable(self.names, values, self.transforms, lags, self.about.take(rows))


class CovarianceTable(ContinuousTable):
    """A covariance matrix and the number of rows behind it: all that a Gaussian score needs.

    It has no rows: functions that need them (bootstrap, predictions for these rows) raise an error.

    Parameters
    ----------
    names : sequence of str
        The columns.
    covariance : array of shape (n, n)
        Symmetric and positive definite; a correlation matrix will do.
    n_samples : int
        Number of rows N behind it.
    mean : array, optional
        The means; zeros unless given.
    """

    def __init__(
        self, names: Sequence[str], covariance: ArrayLike, n_samples: int, mean: ArrayLike | None = None
    ) -> None:
        matrix = checked_covariance(names, covariance)
        if isinstance(n_samples, bool) or not isinstance(n_samples, (int, np.integer)) or n_samples < 2:
            raise InputError(
                f"expected n_samples= to be a whole number >= 2 with a covariance but got {n_samples!r}; "
                "give the number of rows behind it"
            )
        scale = np.sqrt(np.diag(matrix))
        correlation = matrix / np.outer(scale, scale)
        np.fill_diagonal(correlation, 1.0)
        facts = {
            "names": tuple(map(str, names)),
            "n_samples": int(n_samples),
            "mean": np.zeros(len(matrix)) if mean is None else np.asarray(mean, dtype=np.float64),
            "scale": scale,
            "correlation": correlation,
            "covariance": matrix,
            "is_complete": True,
            "transforms": {},
            "lags": None,
        }
        self.__dict__.update(facts)  # the class is frozen; these replace the cached properties

    @property
    def values(self) -> Floats:
        """Raise an error, because there are no rows."""
        raise InputError("the data is a covariance matrix and has no rows, which this needs; give the rows instead")

    @property
    def arrays(self) -> list[NDArray[Any]]:
        """The data, to compute a digest."""
        return [self.covariance]

    @property
    def _has_rows(self) -> bool:
        return False

    @property
    def is_plain(self) -> bool:
        """There are no rows."""
        return False

    @property
    def roundings(self) -> float:
        """The largest error of a correlation, in roundings of 1."""
        return 4.0

    @property
    def n_rows(self) -> int:
        """Number of rows behind the covariance."""
        return self.n_samples

    def select(self, places: Sequence[int]) -> CovarianceTable:
        """Return the table of some columns, by position, in this order."""
        names = [self.names[j] for j in places]
        return CovarianceTable(names, self.covariance[np.ix_(places, places)], self.n_samples, self.mean[list(places)])


def checked_covariance(names: Sequence[str], covariance: ArrayLike) -> Floats:
    """Return a covariance as an array, or raise an error that says what is wrong with it."""
    try:
        matrix = np.array(covariance, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("expected a covariance of numbers but got other cells; remove them") from None
    n = len(names)
    if matrix.shape != (n, n):
        raise InputError(
            f"expected a covariance of shape ({n}, {n}), one row and one column for each of {quoted(names, 4)}, but "
            f"got shape {matrix.shape}; give a square matrix"
        )
    if not np.isfinite(matrix).all():
        raise InputError("expected a covariance of finite numbers but got missing or infinite ones; fill them in")
    variances = np.diag(matrix)
    if (variances <= 0).any():
        worst = int(np.argmin(variances))
        raise InputError(
            f"expected variances > 0 on the diagonal of the covariance but {names[worst]!r} has {variances[worst]:g}; "
            f"correct it or leave the column out"
        )
    scale = np.sqrt(variances)
    correlation = matrix / np.outer(scale, scale)
    if np.abs(correlation - correlation.T).max() > LARGEST_ASYMMETRY:
        a, b = divmod(int(np.argmax(np.abs(correlation - correlation.T))), n)
        raise InputError(
            f"expected a symmetric covariance but {names[a]!r}, {names[b]!r} has {matrix[a, b]:g} above the diagonal "
            f"and {matrix[b, a]:g} below; correct one of them"
        )
    least = float(np.linalg.eigvalsh((correlation + correlation.T) / 2)[0])
    if least < LEAST_EIGENVALUE:
        raise InputError(
            f"expected a positive definite covariance but its correlations have the eigenvalue {least:.2g}; if it was "
            f"computed pair by pair from rows with missing cells, give the rows with missing='em' instead"
        )
    return (matrix + matrix.T) / 2
