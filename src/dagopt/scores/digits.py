"""How precise the log-determinants of a table are, and how rounding can change a score.

With d_j the diagonal of the inverse of a matrix M and D the sum of their roots, a change of M by at most e in every
entry changes the logarithm of a residual variance, and log det M_SS of any set S, by at most e D² / (1 - e D²)
(``change_of_logs``; docs/reliability.md has the proof). The entries of M have a rounding error, and a Cholesky factor
is the exact factor of a matrix that differs in every entry by as many roundings as it has columns.

Where that matters, the coordinates of the columns in an orthonormal basis replace their correlations: the triangular
factor of exact products of the centred, scaled data. The residual of column i given others is then a vector. If columns
have an error of t of their lengths, these logarithms change by at most 2 t D / (1 - 2 t D). A factor of more columns,
or of very many rows, comes from a QR factorisation, whose proven error is far larger.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dagopt.arrays import Floats
from dagopt.data.gram import exact_factor, exact_products, is_cheap
from dagopt.kernels.gaussian.vectors import DEPENDENT

__all__ = ["LOG_OF_DEPENDENT", "NEGLIGIBLE", "UNIT", "Digits", "change_of_logs", "coordinates", "inverse_diagonal"]


UNIT = float(np.finfo(np.float64).eps)
LOG_OF_DEPENDENT = math.log(DEPENDENT)
NEGLIGIBLE = 1e-4  # error of a score up to which correlations suffice
MANY_COLUMNS, NEGLIGIBLE_PER_COLUMN = 64, 1e-4  # beyond these columns, where coordinates slow the search
MOST_FACTORISED = 64  # columns whose exact products are factorised with 60 digits: less than a tenth of a second
MOST_CHANGE = 0.1  # of a logarithm by rounding; beyond it nothing is claimed
ROWS_PER_BLOCK = 512  # rows reduced at a time, which limits the growth of rounding
MOST_INVERTED = 2000  # beyond this many columns M is not inverted, and its correlations are used with unknown error
LARGE = 300  # columns of a matrix for which scipy is loaded


class Digits(NamedTuple):
    """The representation of the columns, and its rounding error.

    Attributes
    ----------
    vectors : array of shape (n, r) or None
        Coordinates of the columns, each of length 1, if the matrix is not precise enough.
    rounding : float
        The largest error of the logarithm of a residual variance; infinite if it is not known.
    """

    vectors: Floats | None
    rounding: float

    @classmethod
    def of(
        cls, matrix: Floats, n_samples: int, power: float, columns: Callable[[], Floats] | None, roundings: float
    ) -> Digits:
        """Return the representation for a matrix with unit diagonal.

        Parameters
        ----------
        matrix : array of shape (n, n)
            Correlations, or what takes their place.
        n_samples : int
            Rows behind each entry.
        power : float
            The factor of the logarithms in a score.
        columns : callable or None
            Returns the columns of length 1 whose products are the entries; None if only the matrix is known, and that
            with an error.
        roundings : float
            The error of an entry, in roundings of 1.
        """
        n = len(matrix)
        if n > MOST_INVERTED:
            return cls(None, math.inf)
        diagonal = inverse_diagonal(matrix)
        if diagonal is not None:
            usual = UNIT * (16 + math.sqrt(n_samples) / 4) * float(diagonal.sum())  # chosen: far below the worst case
            enough = NEGLIGIBLE if n <= MANY_COLUMNS else n * NEGLIGIBLE_PER_COLUMN
            if columns is None or n * power * usual <= enough:
                return cls(None, change_of_logs(diagonal, roundings + 3 * n + 6))
        return cls(None, math.inf) if columns is None else cls(*_from_columns(columns()))


def _from_columns(columns: Floats) -> tuple[Floats, float]:
    """Return coordinates of columns of length 1, and by how much logarithms of residual variances can be off.

    Modified Gram-Schmidt takes away up to n - 1 projections. Each has an error of 1.5 n + 5 roundings of the column's
    length: those of a product of n coordinates, of the length of the direction, and of the difference. The columns
    themselves have 8, of centring, scaling and the coordinates. A column with less than ``DEPENDENT`` of its variance
    left counts as determined, so no d_j is above 1 / DEPENDENT where a score counts.
    """
    rows, n = columns.shape
    exact = n <= MOST_FACTORISED and is_cheap(rows, n)
    found = exact_coordinates(columns) if exact else coordinates(columns)
    error = (1.5 * n + 5) * n + 8 + (0 if exact else 30 * max(ROWS_PER_BLOCK, 2 * n) * n)  # Higham 2002, theorem 19.4
    with np.errstate(all="ignore"):
        square = found if found.shape == (n, n) else np.zeros((n, n))
        inverse = np.linalg.inv(square) if np.abs(np.diag(square)).min(initial=1.0) > 0 else np.full((n, n), np.inf)
    root = np.minimum(np.sqrt((inverse**2).sum(axis=0)), 1 / math.sqrt(DEPENDENT))
    change = UNIT * error * float(np.where(np.isnan(root), 1 / math.sqrt(DEPENDENT), root).sum())
    return found, change / (1 - change) if change <= MOST_CHANGE else math.inf


def exact_coordinates(columns: Floats) -> Floats:
    """Return what ``coordinates`` does, every number with an error of one rounding."""
    gram, _, exponents = exact_products(columns)
    return np.ascontiguousarray(exact_factor(gram, exponents).T)


def change_of_logs(diagonal: Floats, roundings: float) -> float:
    """Return how much log-determinants can change if every entry of a matrix changes by this many roundings of 1.

    ``diagonal`` is that of the inverse. The result is infinite if the change is not small.
    """
    change = 0.5 * UNIT * roundings * float(np.sqrt(diagonal).sum()) ** 2
    return change / (1 - change) if change <= MOST_CHANGE else math.inf


def coordinates(columns: Floats) -> Floats:
    """Return the columns in an orthonormal basis of their span: row j of the result is column j, of the same length.

    Blocks of rows are factorised, then their factors together, so that errors do not grow with the number of rows.
    """
    n = columns.shape[1]
    block = max(ROWS_PER_BLOCK, 2 * n)
    while len(columns) > block:
        whole = len(columns) // block * block
        columns = np.vstack([_triangles(columns[:whole].reshape(-1, block, n)).reshape(-1, n), columns[whole:]])
    if len(columns) > n:
        columns = _triangles(columns)
    return np.ascontiguousarray(columns.T, dtype=np.float64)


def _triangles(blocks: Floats) -> Floats:
    """Return the factor R of each block of rows."""
    factors: Any = np.linalg.qr(blocks, mode="r")
    return np.asarray(factors)


def _inverse_triangle(factor: Floats) -> Floats:
    """Return the inverse of a lower triangle; of a large one by LAPACK's own routine, a sixth of the work."""
    if len(factor) < LARGE:
        return np.asarray(np.linalg.inv(factor), dtype=np.float64)
    from scipy.linalg.lapack import dtrtri

    return np.asarray(dtrtri(factor, lower=1)[0])


def inverse_diagonal(matrix: Floats) -> Floats | None:
    """Return the diagonal of the inverse, 1 / ρ_i²; None if it is not reliable."""
    if len(matrix) > MOST_INVERTED:
        return None
    try:
        factor = np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    inverse = _inverse_triangle(factor)
    diagonal = np.asarray((inverse**2).sum(axis=0), dtype=np.float64)
    return diagonal if np.isfinite(diagonal).all() and diagonal.max() * DEPENDENT < 1 else None
