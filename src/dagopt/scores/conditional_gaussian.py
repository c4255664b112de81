"""The conditional Gaussian score: a Gaussian for every configuration of the discrete columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from dagopt.arrays import Ints
from dagopt.data.mixed import MixedTable
from dagopt.errors import InputError
from dagopt.kernels.gaussian.cells import cell_sum, precise_cell_sum
from dagopt.scores.base import Score
from dagopt.scores.cell_bounds import ROWS_TO_SPARE, CellBounds, CellTable
from dagopt.scores.digits import UNIT

__all__ = ["ConditionalGaussianScore"]

MOST_REMEMBERED = 1_000_000  # joints; then all are forgotten
NEGLIGIBLE = 1e-10  # error of a likelihood per row; if it can be larger, pairs of floats are used
LARGE_PENALTY = 1e9  # sets with a larger one count for the rounding error only if they are better than no parents


class ConditionalGaussianScore(Score):
    r"""The ℓ0-penalised likelihood with a Gaussian per configuration of the discrete columns.

    For a set S with s continuous columns, whose discrete columns have q configurations of which the c-th has
    :math:`n_c` rows and the covariance :math:`\hat\Sigma_c`,

    .. math::

       F(S) = \sum_c n_c \log \tfrac{n_c}{N} - \tfrac{n_c}{2} (s (1 + \log 2\pi) + \log\det \hat\Sigma_c)
       - \Lambda (q (1 + s (s + 3) / 2) - 1)

    and the local score is :math:`F(J \cup i) - F(J)`. Effects of continuous columns may differ between
    configurations, which the degenerate Gaussian does not allow, at the price of many more parameters. A set with
    continuous columns is ruled out if one of its configurations has fewer than s + 5 rows, or a column with less than
    1e-12 of its variance left given the others.

    Parameters
    ----------
    table : MixedTable
        The data, complete.
    penalty : float
        Λ ≥ 0, the cost of one parameter.

    References
    ----------
    Andrews, Ramsey, Cooper (2018). Scoring Bayesian networks of mixed variables. JDSA 6.
    """

    seconds_per_local = 1e-4

    def __init__(self, table: MixedTable, penalty: float) -> None:
        if not table.is_complete:
            raise InputError("score 'cg' needs complete rows but cells are missing; use score='bic', or missing='drop'")
        if table.about.survey:
            raise InputError("score 'cg' counts whole rows but they have survey weights; use score='bic'")
        table = table.repeated()
        self.names = table.names
        self.n_samples = table.n_samples
        self.parameter_cost = penalty
        self.label = f"conditional Gaussian log-likelihood - {penalty:.6g} x parameters"
        scaled = [
            _in_units(c.values) if c.kind == "continuous" else (np.zeros(len(c.values)), 0) for c in table.columns
        ]
        self._table = CellTable(
            table.discrete,
            np.array([len(levels) for levels in table.levels], dtype=np.int64),
            [column.values.astype(np.uint16) for column in table.columns],
            np.array([values for values, _ in scaled], dtype=np.float64),
            math.log(2) * np.array([power for _, power in scaled], dtype=np.float64),
        )
        self._known: dict[frozenset[int], tuple[float, float]] = {}
        self._errors = np.zeros(len(self.names))

    @property
    def has_classes(self) -> bool:
        """True: F gives all local scores. But F is minus infinity for some sets, so it is no table of potentials."""
        return True

    @property
    def rounding(self) -> float:
        """How far the score of a DAG can be from its value in exact arithmetic, if its sets have been scored.

        The sum over the nodes of the largest error of a local score so far: a method that proves something has scored
        every set that its claim is about.
        """
        return float(self._errors.sum() * (1 + self.n_nodes * UNIT))

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score; minus infinity if the counts do not allow the set."""
        own = frozenset(int(j) for j in parents)
        (together, error), (without, other) = self._both(own | {node}), self._both(own)
        if not (math.isfinite(together) and math.isfinite(without)):
            return -math.inf
        value = together - without
        # The sum over the nodes adds n roundings of the local scores.
        error += other + self.n_nodes * UNIT * abs(value)
        if error > self._errors[node] and (not own or -together < LARGE_PENALTY or value >= self.local(node)):
            self._errors[node] = error
        return value

    def potential(self, columns: frozenset[int]) -> float:
        """Return F of a set of columns; minus infinity if the counts do not allow it."""
        return self._both(columns)[0]

    def _both(self, columns: frozenset[int]) -> tuple[float, float]:
        """Return F of a set of columns and a bound on its error."""
        known = self._known.get(columns)
        if known is None:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            known = self._known[columns] = self._computed(sorted(columns))
        return known

    def _computed(self, columns: list[int]) -> tuple[float, float]:
        size = sum(not self._table.discrete[j] for j in columns)
        likelihood, error = self._likelihood(columns, size + ROWS_TO_SPARE)
        if not math.isfinite(likelihood):
            return -math.inf, 0.0
        units = self.n_samples * self._table.log_units[columns]
        configurations = float(self._table.arity[[j for j in columns if self._table.discrete[j]]].prod(dtype=float))
        penalty = self.parameter_cost * (configurations * (1 + size * (size + 3) / 2) - 1)
        error += (len(columns) + 4) * UNIT * float(np.abs(units).sum() + abs(likelihood) + penalty)
        return float(likelihood - units.sum() - penalty), float(error)

    def _likelihood(self, columns: list[int], fewest: int) -> tuple[float, float]:
        """Return the log-likelihood of columns in their units, and its error."""
        continuous = np.array([j for j in columns if not self._table.discrete[j]], dtype=np.int64)
        cells, span = self._table.cells(columns)
        likelihood, error = cell_sum(self._table.values, continuous, cells, span, fewest)
        if error > NEGLIGIBLE * self.n_samples:
            likelihood, error = precise_cell_sum(self._table.values, continuous, cells, span, fewest)
        return likelihood, error

    @cached_property
    def _bounds(self) -> CellBounds:
        return CellBounds(self._table, self.parameter_cost)

    @property
    def bounds_sets(self) -> bool:
        """Whether the sets of discrete columns are few enough to list."""
        return self._bounds.is_finite

    def bound(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return a bound on the local scores with these parents and any of the candidates."""
        return self._bounds.bound(node, np.asarray(parents, dtype=np.int64), np.asarray(candidates, dtype=np.int64))


def _in_units(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Return a column divided by a power of two near its spread, which is exact, and that power."""
    power = int(np.frexp(np.ptp(values))[1])
    return np.ldexp(values.astype(np.float64), -power), power
