r"""Mean and covariance of rows with missing cells, by expectation-maximisation.

Cells are assumed to be missing at random: whether a cell is missing may depend on observed cells, not on its own value.
Then the likelihood of the observed data is a product over rows of Gaussian densities of the observed part, and EM
climbs it. With o and m the observed and missing columns of a row and :math:`B = \Sigma_{mo} \Sigma_{oo}^{-1}`

* E: a missing part has the mean :math:`\mu_m + B (x_o - \mu_o)` and the covariance
  :math:`\Sigma_{mm} - B \Sigma_{om}`;
* M: the new mean and covariance are those of the completed rows, plus the covariances of the missing parts.

Rows with the same missing columns enter only through their number, mean and scatter.

References
----------
Dempster, Laird, Rubin (1977). Maximum likelihood from incomplete data via the EM algorithm. JRSS B 39.
Little, Rubin (2002). Statistical analysis with missing data, section 11.2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats
from dagopt.data.row_facts import RowFacts
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError, quoted

__all__ = ["Moments", "WithMissing", "em_moments", "rows_that_count"]


MOST_ROUNDS = 3000  # EM converges linearly, and slowly if many cells are missing
TOLERANCE = 1e-9  # the largest change of standardised means and covariances at convergence
JITTER = 1e-10  # on standardised observed covariances, so that copies have an inverse


class Moments(NamedTuple):
    """Means and covariances (dividing by the number of rows), and the rounds that EM took."""

    mean: Floats
    covariance: Floats
    rounds: int


class _Pattern(NamedTuple):
    """Rows with the same observed cells: observed and missing columns, sum of weights, mean and scatter."""

    seen: NDArray[np.intp]
    hidden: NDArray[np.intp]
    rows: float
    mean: Floats
    scatter: Floats


def em_moments(
    values: Floats, names: Sequence[str], deadline: Deadline = FOREVER, weights: Floats | None = None
) -> Moments:
    """Return the maximum-likelihood mean and covariance of Gaussian rows with missing cells.

    Parameters
    ----------
    values : array of shape (N, n)
        The rows, NaN where a cell is missing. Rows without any observed cell are left out.
    names : sequence of str
        The columns, for messages.
    deadline : Deadline
        The clock.
    weights : array, optional
        How much each row counts; once unless given.
    """
    there = ~np.isnan(values)
    weights = np.ones(len(values)) if weights is None else weights
    if not there.any(axis=0).all():
        empty = [names[int(j)] for j in np.flatnonzero(~there.any(axis=0))]
        raise InputError(f"column {quoted(empty)} has no value at all; leave it out with exclude=")
    some = there.any(axis=1)
    values, there, weights = values[some], there[some], weights[some]
    counted = weights[:, None] * there
    centre = np.nansum(values * counted, axis=0) / counted.sum(axis=0)
    scale = np.sqrt(np.nansum((values - centre) ** 2 * counted, axis=0) / counted.sum(axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    patterns = _patterns((values - centre) / scale, there, weights)
    mean, covariance = np.zeros(len(centre)), np.eye(len(centre))
    for rounds in range(1, MOST_ROUNDS + 1):
        deadline.check("missing cells were filled in by EM", 0.0)
        new_mean, new_covariance = _round(patterns, mean, covariance)
        change = max(np.abs(new_mean - mean).max(), np.abs(new_covariance - covariance).max())
        mean, covariance = new_mean, new_covariance
        if change < TOLERANCE:
            return Moments(centre + scale * mean, covariance * np.outer(scale, scale), rounds)
    raise InputError(_not_converged(there, names, change))


def _patterns(standard: Floats, there: Bools, weights: Floats) -> list[_Pattern]:
    kinds, member = np.unique(there, axis=0, return_inverse=True)
    found = []
    for k, kind in enumerate(kinds):
        seen = np.flatnonzero(kind)
        rows, own = standard[member.ravel() == k][:, seen], weights[member.ravel() == k]
        mean = own @ rows / own.sum()
        near = rows - mean
        found.append(_Pattern(seen, np.flatnonzero(~kind), float(own.sum()), mean, (own * near.T) @ near))
    return found


def _round(patterns: list[_Pattern], mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Return the mean and covariance after one E and one M step."""
    n = len(mean)
    shift, total, count = np.zeros(n), np.zeros((n, n)), 0.0
    for seen, hidden, rows, own, scatter in patterns:
        away = own - mean[seen]
        second = scatter + rows * np.outer(away, away)
        filled = np.zeros((n, len(seen)))
        filled[seen, np.arange(len(seen))] = 1.0
        if len(hidden):
            observed = covariance[np.ix_(seen, seen)] + JITTER * np.eye(len(seen))
            filled[hidden] = np.linalg.solve(observed, covariance[np.ix_(seen, hidden)]).T
            left = covariance[np.ix_(hidden, hidden)] - filled[hidden] @ covariance[np.ix_(seen, hidden)]
            total[np.ix_(hidden, hidden)] += rows * left
        shift += rows * (filled @ away)
        total += filled @ second @ filled.T
        count += rows
    shift /= count
    covariance = total / count - np.outer(shift, shift)
    return mean + shift, (covariance + covariance.T) / 2


def _not_converged(there: Bools, names: Sequence[str], change: float) -> str:
    together = there.astype(np.int64).T @ there.astype(np.int64)
    a, b = divmod(int(np.argmin(together)), len(together))
    return (
        f"EM did not converge in {MOST_ROUNDS} rounds (the last change was {change:.1e}, expected less than "
        f"{TOLERANCE:.0e}); too few rows have {names[a]!r} and {names[b]!r} together "
        f"({together[a, b]} of {len(there)}): leave one of them out with exclude="
    )


def rows_that_count(there: Bools, weights: Floats | None = None) -> int:
    """Return the effective number of rows for a score: the mean, over pairs of columns, of the rows that have both.

    The evidence for an edge comes from rows with both ends, so all rows of the table would be too many and the complete
    rows too few. With weights, a row counts as often as its weight says.
    """
    seen = there.astype(np.float64)
    together = (seen if weights is None else weights[:, None] * seen).T @ seen
    n = len(together)
    if n < 2:
        return round(float(together[0, 0]))
    return round(float((together.sum() - np.trace(together)) / (n * (n - 1))))


class WithMissing(ABC):
    """What tables with missing cells share: whether there are any, and the rows that count."""

    about: RowFacts

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows, complete or not."""

    @property
    @abstractmethod
    def missing(self) -> Bools:
        """True where a cell is missing, of shape (rows, n)."""

    @cached_property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        return not self.missing.any()

    @cached_property
    def n_samples(self) -> int:
        """Number of rows N; with weights their sum, with missing cells the rows that count (``rows_that_count``)."""
        if self.is_complete:
            return round(self.about.mass(self.n_rows))
        return rows_that_count(~self.missing, self.about.scaled) - self.about.lost
