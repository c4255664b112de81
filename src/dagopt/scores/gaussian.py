"""Scores of continuous data that are made of log-determinants of one matrix.

``GaussianScore`` is the ℓ0-penalised Gaussian likelihood of appendix A.1 of the paper.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.bits import bit_counts
from dagopt.data.table import ContinuousTable
from dagopt.deadline import FOREVER, Deadline
from dagopt.errors import InputError
from dagopt.kernels.gaussian import log_arrays, vectors
from dagopt.kernels.gaussian import logdet as kernels
from dagopt.kernels.gaussian.logdet import LogDetForm
from dagopt.kernels.gaussian.vectors import LOG_OF_NOTHING
from dagopt.kernels.lattice.subsets import scale_by_size
from dagopt.kernels.plain import compiled_or_python
from dagopt.scores.base import as_set
from dagopt.scores.block_likelihood import BlockLikelihood, Margin, NodeLikelihood
from dagopt.scores.digits import LOG_OF_DEPENDENT, UNIT, Digits
from dagopt.scores.joint import JointScore
from dagopt.scores.long_chains import LONG, log_pivots, log_pivots_of_vectors

if TYPE_CHECKING:
    from dagopt.scores.by_columns import ByColumns

__all__ = ["GaussianScore", "LogDetScore", "gaussian_costs", "gaussian_label", "gaussian_total"]

LARGEST_COST = 1e12  # stands for an infinite penalty where sums of penalties are subtracted from each other


class LogDetScore(JointScore):
    """A score whose joint is a function of the size of a set and the log-determinant of its sub-matrix.

    Sub-classes give the matrix M, and ``joint(S) = constant(|S|) - power(|S|) / 2 * log det M_SS``
    by two tables over sizes, and a penalty by a third.
    """

    seconds_per_local = 1e-6
    seconds_per_potential = 0.0  # negligible beside the recursion

    def __init__(
        self,
        names: tuple[str, ...],
        n_samples: int,
        matrix: Floats,
        scale: Floats,
        columns: Callable[[], Floats] | None,
        roundings: float,
    ) -> None:
        """Take M as a matrix with unit diagonal and a scale per column; ``columns`` returns X with X'X the matrix.

        ``roundings`` is the error of an entry, in roundings of 1.
        """
        self.names = names
        self.n_samples = n_samples
        self._matrix = np.ascontiguousarray(matrix)
        self._log_scale = 2 * np.log(scale)
        sizes = np.arange(len(names) + 1)
        self._power = self._powers(sizes)
        self._constant = self._constants(sizes)
        self._cost = self._costs(sizes[:-1])
        self._digits = Digits.of(self._matrix, n_samples, float(self._power.max()), columns, roundings)
        self._source = self._matrix if self._digits.vectors is None else self._digits.vectors

    @property
    def _kernels(self) -> Any:
        return kernels if self._digits.vectors is None else vectors  # a module cannot be pickled

    @property
    def logdets_suffice(self) -> bool:
        """Whether the matrix of ``logdets`` is as precise as the score."""
        return self._digits.vectors is None

    def _steps(self, sizes: Any) -> Any:
        """Return about how many steps a kernel takes for sets of these sizes; coordinates are longer than sets."""
        return (sizes + 2) ** 2 * (sizes + 2 if self._digits.vectors is None else self._digits.vectors.shape[1])

    @cached_property
    def rounding(self) -> float:
        """How far a DAG's score can be from its value in exact arithmetic, for DAGs no worse than the empty one.

        Each of its n local scores is a difference of two log-determinants times half the power, and of numbers that
        add up to ``size``: the constants, the logarithms, the penalty of no parents, and those of its parents, which
        are at most what the likelihood gains. A table of potentials has sums of up to n of these.
        """
        n, power = self.n_nodes, float(self._power.max())
        gained = n * -LOG_OF_DEPENDENT
        size = 0.5 * power * (np.abs(self._log_scale).sum() + gained) + np.abs(self._constant).max() + n * self._cost[0]
        return float(n * (power * self._digits.rounding + 2 * (n + 8) * UNIT * size))

    def unbounded(self, node: int, parents: Ints) -> bool:
        """Say whether the parents determine a column, so that in exact arithmetic the score has no upper limit."""
        chosen = as_set(parents)
        find = compiled_or_python(self._kernels.logs, self._steps(len(chosen)))
        logdet, logres = find(self._source, self._log_scale, node, chosen)
        return bool(logres - self._log_scale[node] <= LOG_OF_DEPENDENT or logdet <= LOG_OF_NOTHING / 2)

    @abstractmethod
    def _powers(self, sizes: NDArray[np.int_]) -> Floats:
        """Return the power of each size of set."""

    @abstractmethod
    def _constants(self, sizes: NDArray[np.int_]) -> Floats:
        """Return the constant of each size of set."""

    @abstractmethod
    def _costs(self, sizes: NDArray[np.int_]) -> Floats:
        """Return the penalty of each number of parents."""

    @property
    def penalty_by_size(self) -> Floats:
        """The penalty of 0, 1, ..., n - 1 parents."""
        return self._cost

    def penalty(self, node: int, parents: Iterable[int]) -> float:
        """Return the penalty, which depends only on the number of parents."""
        return float(self._cost[len(set(parents))])

    def all_joints(self, variables: Sequence[int] | Ints) -> Floats:
        """Return ``joint`` of all subsets; bit b of the index is ``variables[b]``."""
        chosen = np.asarray(variables, dtype=np.int64)
        logdet = np.empty(1 << len(chosen))
        part = self._source[np.ix_(chosen, chosen)] if self.logdets_suffice else self._source[chosen]
        self._kernels.all_logdets(np.ascontiguousarray(part), self._log_scale[chosen], logdet)
        size = bit_counts(len(chosen))
        return self._joint(size, logdet)

    @cached_property
    def logdets(self) -> LogDetForm:
        """The potential: ``constant[|S|] - power[|S|] / 2 * (log det matrix_SS + sum of log_scale over S)``."""
        penalties = np.concatenate([[0.0], np.cumsum(np.minimum(self._cost, LARGEST_COST))])
        return LogDetForm(self._matrix, self._log_scale, self._constant - penalties, self._power)

    def fill_potentials(self, high: int, low_bits: int, out: Floats, node: int = 0) -> None:
        """Fill ``out`` with ``potential`` of the sets whose bits above ``low_bits`` are those of ``high``."""
        _, log_scale, constant, power = self.logdets
        compiled_or_python(self._kernels.logdet_slice, self._steps(2) // 4 * out.size)(
            self._source, log_scale, high, low_bits, out
        )
        compiled_or_python(scale_by_size, 8 * out.size)(out, constant, power, high.bit_count())

    @cached_property
    def block_likelihood(self) -> BlockLikelihood:
        """One matrix, blocks of one column, and a cost by the number of parents.

        Up to constants the local score with k parents T is ``-power[k + 1] / 2 log var(i | T)``, less what the next
        power adds times the log-determinant of T, less ``costs[k]`` and what the scales of i and T change.
        """
        n, starts = self.n_nodes, np.arange(self.n_nodes + 1)
        half, volume = 0.5 * float(self._power.max()), float(np.diff(self._power).max(initial=0.0))
        margin = Margin(self._matrix, 2.0 * half)
        if not volume:
            own = NodeLikelihood(self._matrix, starts, half, self._cost, np.zeros(n), 0.0, margin)
            return BlockLikelihood((own,) * n, self._matrix, starts, self.n_samples)
        costs = np.tile(self._cost, (n, 1))
        grown = 0.5 * (self._power[1:] - self._power[1])  # which multiplies the scale of the node itself
        costs += np.outer(self._log_scale, grown) - np.diff(self._constant)
        edges = 0.5 * volume * self._log_scale
        nodes = tuple(NodeLikelihood(self._matrix, starts, half, own, edges, volume, margin) for own in costs)
        return BlockLikelihood(nodes, self._matrix, starts, self.n_samples)

    def _joint(self, size: NDArray[np.int_], logdet: Floats) -> Floats:
        joint: Floats = self._constant[size] - 0.5 * self._power[size] * logdet
        return joint

    def _score(self, size: NDArray[np.int_] | int, logdet: Floats, logres: Floats) -> Floats:
        """Return the local score from the logs of the parents and of the residual."""
        more = np.asarray(size) + 1
        score: Floats = (
            self._constant[more]
            - self._constant[size]
            - 0.5 * self._power[more] * logres
            - 0.5 * (self._power[more] - self._power[size]) * logdet
            - self._cost[size]
        )
        return score

    def all_penalties(self, node: int, candidates: Ints) -> Floats:
        """Return ``penalty`` of all subsets of the candidates."""
        return self._cost[bit_counts(len(candidates))]

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score of ``node`` with the given set of parents."""
        chosen = as_set(parents)
        return self._fit(node, chosen) - float(self._cost[len(chosen)])

    def _fit(self, node: int, parents: Ints) -> float:
        """Return the local score before its penalty, which may be infinite."""
        find = compiled_or_python(self._kernels.logs, self._steps(len(parents)))
        logdet, logres = find(self._source, self._log_scale, node, parents)
        size = len(parents)
        return float(
            self._constant[size + 1]
            - self._constant[size]
            - 0.5 * self._power[size + 1] * logres
            - 0.5 * (self._power[size + 1] - self._power[size]) * logdet
        )

    def local_packed(self, nodes: Ints, flat: Ints, offsets: Ints) -> Floats:
        """Return the local scores of many nodes with packed parent sets."""
        logdet, logres = np.empty(len(nodes)), np.empty(len(nodes))
        steps = int(self._steps(np.diff(offsets)).sum())
        compiled_or_python(self._kernels.logs_many, steps)(
            self._source, self._log_scale, nodes, flat, offsets, logdet, logres
        )
        return self._score(np.diff(offsets), logdet, logres)

    def chain(self, node: int, order: Sequence[int] | Ints) -> Floats:
        """Return the local scores of the empty set, the first of ``order``, the first two, and so on."""
        logdet, logres = np.empty(len(order) + 1), np.empty(len(order) + 1)
        self._kernels.chain(self._source, self._log_scale, node, np.asarray(order, dtype=np.int64), logdet, logres)
        return self._score(np.arange(len(order) + 1), logdet, logres)

    def joint_chain(self, order: Sequence[int] | Ints, deadline: Deadline = FOREVER) -> Floats:
        """Return ``joint`` of the empty set, the first of ``order``, the first two, and so on."""
        logdet, chosen = np.zeros(len(order) + 1), np.asarray(order, dtype=np.int64)
        if len(order) >= LONG:
            along = log_pivots if self.logdets_suffice else log_pivots_of_vectors
            np.cumsum(along(self._source, chosen, deadline) + self._log_scale[chosen], out=logdet[1:])
        else:
            find = compiled_or_python(self._kernels.joint_chain, self._steps(len(order)) // 3)
            find(self._source, self._log_scale, chosen, logdet)
        return self._joint(np.arange(len(order) + 1), logdet)

    def additions(self, node: int, parents: Iterable[int] = ()) -> Floats:
        """Return the local score after adding each column; NaN for the node and its parents."""
        chosen = as_set(parents)
        if len(chosen) + 1 == self.n_nodes:
            return np.full(self.n_nodes, np.nan)
        logdet, logres = np.empty(self.n_nodes), np.empty(self.n_nodes)
        arrays = log_arrays.additions_arrays if self.logdets_suffice else None
        steps = self._steps(len(chosen)) * self.n_nodes
        if arrays is not None:
            steps = 400 + 4 * (len(chosen) + 2) ** 2 + 2 * self.n_nodes
        find = compiled_or_python(self._kernels.additions, steps, arrays=arrays)
        find(self._source, self._log_scale, node, chosen, logdet, logres)
        return self._score(len(chosen) + 1, logdet, logres)

    def removals(self, node: int, parents: Iterable[int]) -> Floats:
        """Return the local score after removing each parent; NaN for all other columns."""
        chosen = as_set(parents)
        logdet, logres = np.empty(len(chosen)), np.empty(len(chosen))
        find = compiled_or_python(
            self._kernels.removals, self._steps(len(chosen)) * (1 if self.logdets_suffice else len(chosen))
        )
        find(self._source, self._log_scale, node, chosen, logdet, logres)
        scores = np.full(self.n_nodes, np.nan)
        scores[chosen] = self._score(len(chosen) - 1, logdet, logres)
        return scores


class GaussianScore(LogDetScore):
    r"""The ℓ0-penalised Gaussian likelihood.

    .. math::

       score_i(J) = -\tfrac N2 (1 + \log 2\pi) - \tfrac N2 \log \hat\sigma^2_{i \gets J} - \Lambda |J|

    Parameters
    ----------
    table : ContinuousTable
        The data; only the covariance is used, or coordinates of the columns (``digits.py``).
    penalty : float
        Λ ≥ 0, the cost of one parameter: log(N) / 2 is BIC, 1 is AIC.
    convention : {"paper", "bnlearn"}
        ``paper`` counts |J| parameters per node and divides the residual sum of squares by N (appendix A.1).
        ``bnlearn`` counts |J| + 2 (also the intercept and the variance) and divides by N - |J| - 1, as the
        scores ``bic-g`` and ``aic-g`` of the R package bnlearn do.
    """

    likelihood = bounding_likelihood = "gaussian"

    def __init__(self, table: ContinuousTable, penalty: float, convention: str = "paper") -> None:
        self.convention = convention
        self.parameter_cost = penalty
        self.label = gaussian_label(penalty, convention)
        names, scale = table.names, table.scale
        columns = (lambda: table.scaled(scale)) if table.is_exact else None
        super().__init__(names, table.n_samples, table.correlation, scale, columns, table.roundings)

    def local_and_bounds(self, nodes: Ints, flat: Ints, offsets: Ints) -> tuple[Floats, Floats]:
        """Return local scores, and bounds: the likelihood with all parents minus the penalty of the set."""
        everything = np.arange(self.n_nodes, dtype=np.int64)
        likelihood = {int(i): self._fit(int(i), everything[everything != i]) for i in np.unique(nodes)}
        bounds = np.array([likelihood[int(i)] for i in nodes]) - self._cost[np.diff(offsets)]
        return self.local_packed(nodes, flat, offsets), bounds

    def bounds_fall_by(self, node: int, candidates: Ints) -> float:
        """Return how far the likelihood with these parents is below the one with all other nodes as parents."""
        everything = np.arange(self.n_nodes, dtype=np.int64)
        fall = self._fit(node, everything[everything != node]) - self._fit(node, np.sort(candidates))
        return max(fall, 0.0) if np.isfinite(fall) else 0.0

    @property
    def by_columns(self) -> ByColumns:
        """The score itself."""
        from dagopt.scores.by_columns import ByColumns

        return ByColumns(self, np.arange(self.n_nodes + 1))

    @property
    def correlation(self) -> Floats:
        """The correlations: the likelihood of i given J is a constant - N/2 times the log of i's residual variance."""
        return np.asarray(self._matrix, dtype=np.float64)

    @property
    def costs(self) -> Floats:
        """The penalty of 0, 1, ..., n - 1 parents."""
        return np.asarray(self._cost, dtype=np.float64)

    def _powers(self, sizes: NDArray[np.int_]) -> Floats:
        return np.full(len(sizes), float(self.n_samples))

    def _constants(self, sizes: NDArray[np.int_]) -> Floats:
        return np.asarray(-0.5 * self.n_samples * (1 + math.log(2 * math.pi)) * sizes, dtype=np.float64)

    def _costs(self, sizes: NDArray[np.int_]) -> Floats:
        return gaussian_costs(sizes, self.parameter_cost, self.n_samples, self.convention)


def gaussian_label(penalty: float, convention: str) -> str:
    """Return what a penalised Gaussian likelihood is, in words."""
    counted = "edges" if convention == "paper" else f"parameters (as in {convention})"
    return f"Gaussian log-likelihood - {penalty:.6g} x {counted}"


def gaussian_total(table: ContinuousTable, parents: Sequence[Ints], penalty: float, convention: str) -> float:
    """Return the score of a DAG from the rows alone, without the correlations of all pairs of columns."""
    n_samples, total = table.n_samples, 0.0
    sizes = np.arange(max(map(len, parents)) + 1)
    costs = gaussian_costs(sizes, penalty, n_samples, convention)
    for node, own in enumerate(parents):
        column = table.values[:, node] - table.values[:, node].mean()
        if len(own):
            given = table.values[:, own] - table.values[:, own].mean(axis=0)
            column = column - given @ np.linalg.lstsq(given, column, rcond=None)[0]
        total -= 0.5 * n_samples * math.log(float(column @ column) / n_samples) + float(costs[len(own)])
    return total - 0.5 * n_samples * len(parents) * (1 + math.log(2 * math.pi))


def gaussian_costs(sizes: NDArray[np.int_], penalty: float, n_samples: int, convention: str) -> Floats:
    """Return the penalty of each number of parents; ``GaussianScore`` explains the conventions."""
    if convention == "paper":
        return np.asarray(penalty * sizes)
    if convention != "bnlearn":
        raise InputError(f"expected convention 'paper' or 'bnlearn' but got {convention!r}")
    n = float(n_samples)
    freedom = n - sizes - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = 0.5 * n * np.log(n / freedom) + 0.5 * (freedom - n)
    shift[freedom <= 0] = np.inf  # no unbiased variance: such a set can never be chosen
    return np.asarray(penalty * (sizes + 2) + shift)
