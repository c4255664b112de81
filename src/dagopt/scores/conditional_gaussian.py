"""The conditional Gaussian score: a Gaussian for every configuration of the discrete columns."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from functools import cached_property
from threading import Lock

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.bits import members
from dagopt.data.mixed import MixedTable
from dagopt.errors import InputError
from dagopt.kernels.gaussian.cells import cell_sum, precise_cell_sum
from dagopt.scores.base import Score
from dagopt.scores.cell_bounds import ROWS_TO_SPARE, CellBounds, CellTable
from dagopt.scores.cell_sets import CellSets
from dagopt.scores.digits import UNIT

__all__ = ["ConditionalGaussianScore"]

MOST_REMEMBERED = 1_000_000  # joints; then all are forgotten
NEGLIGIBLE = 1e-10  # error of a likelihood per row; if it can be larger, pairs of floats are used
NEGLIGIBLE_IN_TABLES = 1e-9  # the same in tables of all sets, where pairs take most of the time: 1e-5 points or so
LARGE_PENALTY = 1e9  # sets with a larger one count for the rounding error only if they are better than no parents

SECONDS_PER_POTENTIAL = 7e-7  # one of n 2^n, with 18 and 20 columns, half of them discrete, and 3,000 rows


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
    seconds_per_potential = 10 * SECONDS_PER_POTENTIAL  # some sets need pairs of floats
    way_to_bound = "use score='bic', or leave discrete columns out with exclude="
    _only_best = False  # whether sets that no best DAG has may be imprecise

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
        self._lock = Lock()

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

    def for_best(self) -> ConditionalGaussianScore:
        """Return the same score, whose potentials are not computed precisely for sets that no best DAG has."""
        self._sets  # noqa: B018  made now, so that both share it
        same = copy.copy(self)
        same._only_best = True
        same.seconds_per_potential = SECONDS_PER_POTENTIAL
        return same

    def fill_potentials(self, high: int, low_bits: int, out: Floats, node: int = 0) -> None:
        """Fill ``out`` with the local scores of a node; see ``Score.fill_potentials``."""
        out[:] = 0.0
        bit = 1 << node
        sets = np.arange(1 << low_bits, dtype=np.int64) + (high << low_bits)
        sets = sets[sets & bit > 0]
        if not len(sets):
            return
        together, without = (
            tuple(part[own & ((1 << low_bits) - 1)] for part in self._sets.of(int(own[0]) >> low_bits, low_bits))
            for own in (sets, sets ^ bit)
        )
        allowed = np.isfinite(together[0])  # then the set without the node is allowed too
        value = np.where(allowed, together[0], -np.inf) - np.where(allowed, without[0], 0.0)
        error = together[1] + without[1] + self.n_nodes * UNIT * np.abs(np.where(allowed, value, 0.0))
        alone = self.local(node)
        counted = allowed & ((-together[0] < LARGE_PENALTY) | (value >= alone))
        if self._only_best:  # sets below the empty one and below each of their members alone
            counted &= value + error >= self._least_alone(node, sets) - self._errors[node]
        most = self.n_samples * (NEGLIGIBLE_IN_TABLES if self._only_best else NEGLIGIBLE)
        for place in np.flatnonzero(counted & ~(error <= most)):
            value[place] = self.local(node, members(int(sets[place]) ^ bit))
            counted[place] = False  # ``local`` has noted its error
        out[sets & ((1 << low_bits) - 1)] = value
        with self._lock:
            self._errors[node] = max(self._errors[node], error[counted].max(initial=0.0))

    def _least_alone(self, node: int, sets: Ints) -> Floats:
        """Return the least of the scores of a node without parents and with each member of a set alone."""
        least = np.full(len(sets), self.local(node))
        for j in range(self.n_nodes):
            if j != node:
                least = np.where(sets >> j & 1 > 0, np.minimum(least, self.local(node, [j])), least)
        return least

    @cached_property
    def _sets(self) -> CellSets:
        return CellSets(self._table, self.parameter_cost)

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
