"""The degenerate Gaussian score of tables with continuous and discrete columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.bits import bit_counts
from dagopt.data.mixed import Embedding, MixedTable
from dagopt.data.table import Table
from dagopt.deadline import FOREVER, Deadline
from dagopt.kernels.gaussian import blocks as kernels
from dagopt.kernels.gaussian import log_arrays
from dagopt.kernels.gaussian.blocks import BlockForm
from dagopt.kernels.plain import compiled_or_python
from dagopt.scores.base import as_set
from dagopt.scores.block_likelihood import BlockLikelihood, Margin, NodeLikelihood
from dagopt.scores.by_columns import ByColumns, score_of_columns
from dagopt.scores.digits import UNIT, change_of_logs, inverse_diagonal
from dagopt.scores.joint import JointScore
from dagopt.scores.long_chains import LONG, log_pivots

__all__ = ["DegenerateGaussianScore"]


SECONDS_PER_POTENTIAL = 2e-8  # per cubed width of a group, on one core
STEPS_PER_COLUMN = 100  # of potentials by whole arrays, in steps of plain Python


class DegenerateGaussianScore(JointScore):
    r"""The ℓ0-penalised likelihood of the embedded Gaussian.

    A discrete column of k levels is embedded as k - 1 indicators, a continuous one as itself. With :math:`m_j`
    embedded columns of column j, :math:`m(J) = \sum_{j \in J} m_j` and :math:`\hat\Sigma` the covariance of all of them

    .. math::

       score_i(J) = -\tfrac N2 m_i (1 + \log 2\pi)
       - \tfrac N2 (\log\det \hat\Sigma_{J \cup i} - \log\det \hat\Sigma_J) - \Lambda m_i m(J) - \epsilon |J|,

    the difference :math:`F(J \cup i) - F(J)` of the set function with the penalty
    :math:`\Lambda \sum_{\{a, b\} \subseteq S} m_a m_b + \epsilon |S| (|S| - 1) / 2`. On continuous columns it is the
    Gaussian score.

    Parameters
    ----------
    table : MixedTable
        The data; only the covariance of its embedding is used.
    penalty : float
        Λ ≥ 0, the cost of one parameter: log(N) / 2 is BIC, 1 is AIC.
    edge_penalty : float
        ε ≥ 0, the cost of an edge in addition to its parameters; 2 γ log n for EBIC.

    References
    ----------
    Andrews, Ramsey, Cooper (2019). Learning high-dimensional directed acyclic graphs with mixed data-types. PMLR 104.
    """

    likelihood = bounding_likelihood = "degenerate gaussian"
    seconds_per_local = 5e-6

    def __init__(self, table: MixedTable, penalty: float, edge_penalty: float = 0.0) -> None:
        self._embed(table, table.embedding, penalty, edge_penalty)

    def _embed(self, table: Table, embedding: Embedding, penalty: float, edge_penalty: float) -> None:
        """Set everything that follows from the embedding."""
        self.names = table.names
        self.n_samples = table.n_samples
        self.parameter_cost = penalty
        self.edge_cost = edge_penalty
        self.label = f"{self.likelihood} log-likelihood - {penalty:.6g} x parameters".replace(
            "gaussian", "Gaussian"
        ) + (f" - {edge_penalty:.6g} x edges" if edge_penalty else "")
        self.sizes = embedding.sizes
        matrix, log_scale, starts, self._roundings = embedding
        half = 0.5 * self.n_samples
        rates = np.array([half, half * (1 + math.log(2 * math.pi)), penalty, edge_penalty])
        self._form = BlockForm(matrix, log_scale, starts, rates)

    @property
    def blocks(self) -> BlockForm:
        """The embedding and the rates."""
        return self._form

    def at_half_cost(self) -> DegenerateGaussianScore:
        """Return the score with half the cost of a parameter."""
        other = copy(self)
        for made in ("block_likelihood", "by_columns"):
            vars(other).pop(made, None)
        other.parameter_cost = self.parameter_cost / 2
        other._form = self._form._replace(rates=self._form.rates * [1.0, 1.0, 0.5, 1.0])
        return other

    def sizes_in(self, table: Table) -> Ints:
        """Return how many embedded columns each column has."""
        return self.sizes

    @cached_property
    def block_likelihood(self) -> BlockLikelihood:
        """One matrix, the blocks of the embedding, and a cost of each pair of columns.

        If no column has more than two levels, every parent costs the same, which is the plain Gaussian form.
        """
        matrix, starts, half = self._form.matrix, self._form.starts, 0.5 * self.n_samples
        margin = Margin(matrix, self.n_samples)
        nothing = np.zeros(self.n_nodes)
        if (self.sizes == 1).all():
            size = np.sqrt(np.diag(matrix))  # 1, up to the noise of levels; units of columns do not matter
            matrix = matrix / np.outer(size, size)
            np.fill_diagonal(matrix, 1.0)
            costs = (self.parameter_cost + self.edge_cost) * np.arange(self.n_nodes, dtype=np.float64)
            own = NodeLikelihood(matrix, starts, half, costs, nothing, 0.0, margin)
            return BlockLikelihood((own,) * self.n_nodes, matrix, starts, self.n_samples)
        nodes = tuple(
            NodeLikelihood(matrix, starts, half, nothing, self._cost(i, self.sizes, 1), 0.0, margin)
            for i in range(self.n_nodes)
        )
        return BlockLikelihood(nodes, matrix, starts, self.n_samples)

    @cached_property
    def by_columns(self) -> ByColumns:
        """The Gaussian score of the embedded columns."""
        matrix, _, starts, _ = self._form
        columns = score_of_columns(matrix, starts, self.n_samples, (self.parameter_cost, self.edge_cost))
        return ByColumns(columns, starts, float(self.local_many(np.arange(self.n_nodes), [()] * self.n_nodes).sum()))

    @cached_property
    def rounding(self) -> float:
        """How far a DAG's score can be from its value in exact arithmetic, for DAGs no worse than the empty one.

        Infinite if the columns are so nearly dependent that float64 does not suffice.
        """
        half, width = 0.5 * self.n_samples, len(self._form.matrix)
        diagonal = inverse_diagonal(self._form.matrix)
        if diagonal is None:
            return math.inf
        logs = change_of_logs(diagonal, self._roundings + 3 * width + 6)
        own = UNIT * self._roundings * float(self.sizes.max(initial=1))  # of ``log_scale``
        size = half * (
            width * (1 + math.log(2 * math.pi)) + np.abs(self._form.log_scale).sum() + np.log(diagonal).sum()
        )
        return float(self.n_nodes * (2 * half * (logs + own) + 2 * (self.n_nodes + 8) * UNIT * size))

    @property
    def seconds_per_potential(self) -> float:
        """The approximate time for one potential."""
        return SECONDS_PER_POTENTIAL * float(self.sizes.mean()) ** 3

    def _cost(self, nodes: int | Ints, widths: Floats | Ints | int, counts: Ints | int) -> Floats:
        """Return the penalty of nodes with the given numbers of parents and of the parents' embedded columns."""
        cost: Floats = self.parameter_cost * self.sizes[nodes] * widths + self.edge_cost * np.asarray(counts)
        return cost

    def _value(self, nodes: int | Ints, logres: Floats, cost: Floats) -> Floats:
        half, alone = self._form.rates[:2]
        value: Floats = -alone * self.sizes[nodes] - half * logres - cost
        return value

    def penalty(self, node: int, parents: Iterable[int]) -> float:
        """Return the penalty, which depends on the embedded columns of the node and of the parents."""
        chosen = list(set(parents))
        return float(self._cost(node, int(self.sizes[chosen].sum()), len(chosen)))

    def all_joints(self, variables: Sequence[int] | Ints) -> Floats:
        """Return ``joint`` of all subsets; bit b of the index is ``variables[b]``."""
        chosen = np.asarray(variables, dtype=np.int64)
        matrix, log_scale, starts, _ = self._form
        groups = [np.arange(starts[j], starts[j + 1]) for j in chosen]
        columns = np.concatenate([np.zeros(0), *groups]).astype(np.int64)
        own = np.concatenate([[0], np.cumsum(self.sizes[chosen])]).astype(np.int64)
        logdet = np.empty(1 << len(chosen))
        part = np.ascontiguousarray(matrix[np.ix_(columns, columns)])
        kernels.logdet_slice(part, log_scale[chosen], own, 0, len(chosen), logdet)
        return self._joint(_subset_sums(self.sizes[chosen]), logdet)

    def _joint(self, widths: NDArray[np.generic], logdet: Floats) -> Floats:
        half, alone = self._form.rates[:2]
        joint: Floats = -alone * widths - half * logdet
        return joint

    def local_and_bounds(self, nodes: Ints, flat: Ints, offsets: Ints) -> tuple[Floats, Floats]:
        """Return local scores, and bounds: the likelihood with all parents minus the penalty of the set."""
        everything = np.arange(self.n_nodes, dtype=np.int64)
        most = {int(i): self._fit(int(i), everything[everything != i]) for i in np.unique(nodes)}
        logres, widths = self._logs_many(nodes, flat, offsets)
        cost = self._cost(nodes, widths, np.diff(offsets))
        return self._value(nodes, logres, cost), np.array([most[int(i)] for i in nodes]) - cost

    def fill_potentials(self, high: int, low_bits: int, out: Floats, node: int = 0) -> None:
        """Fill ``out`` with ``potential`` of the sets whose bits above ``low_bits`` are those of ``high``."""
        matrix, log_scale, starts, rates = self._form
        steps = out.size * int(self.sizes.max()) ** 2 // 2 + STEPS_PER_COLUMN * len(matrix)
        find = compiled_or_python(kernels.logdet_slice, steps, arrays=log_arrays.logdet_slice_arrays)
        find(matrix, log_scale, starts, high, low_bits, out)
        above = np.array([b + low_bits for b in range(high.bit_length()) if high >> b & 1], dtype=np.int64)
        low = np.arange(low_bits)
        widths = self.sizes[above].sum() + _subset_sums(self.sizes[low])
        squares = (self.sizes[above] ** 2).sum() + _subset_sums(self.sizes[low] ** 2)
        counts = len(above) + bit_counts(low_bits)
        out *= -rates[0]
        out -= rates[1] * widths
        out -= 0.5 * self.parameter_cost * (widths**2 - squares) + 0.5 * self.edge_cost * counts * (counts - 1)

    def all_penalties(self, node: int, candidates: Ints) -> Floats:
        """Return ``penalty`` of all subsets of the candidates."""
        return self._cost(node, _subset_sums(self.sizes[candidates]), bit_counts(len(candidates)))

    def _fit(self, node: int, parents: Ints) -> float:
        """Return the local score before its penalty."""
        find = compiled_or_python(kernels.logs, self._steps([node, *parents]))
        _, logres, _ = find(*self._form[:3], node, parents)
        half, alone = self._form.rates[:2]
        return float(-alone * self.sizes[node] - half * logres)

    def _steps(self, nodes: Iterable[int]) -> int:
        """Return about how many steps a Cholesky factor over the embedded columns of some nodes takes."""
        return (int(self.sizes[np.asarray(nodes, dtype=np.int64)].sum()) + 2) ** 3 // 3

    def local(self, node: int, parents: Iterable[int] = ()) -> float:
        """Return the local score of ``node`` with the given set of parents."""
        chosen = as_set(parents)
        return self._fit(node, chosen) - self.penalty(node, chosen.tolist())

    def _logs_many(self, nodes: Ints, flat: Ints, offsets: Ints) -> tuple[Floats, Ints]:
        logres, widths = np.empty(len(nodes)), np.empty(len(nodes), dtype=np.int64)
        steps = 4 * int(self.sizes.max()) ** 3 * int(((np.diff(offsets) + 2) ** 3).sum())
        find = compiled_or_python(kernels.logs_many, steps)
        find(*self._form[:3], nodes, flat, offsets, logres, widths)
        return logres, widths

    def local_packed(self, nodes: Ints, flat: Ints, offsets: Ints) -> Floats:
        """Return the local scores of many nodes with packed parent sets."""
        logres, widths = self._logs_many(nodes, flat, offsets)
        return self._value(nodes, logres, self._cost(nodes, widths, np.diff(offsets)))

    def chain(self, node: int, order: Sequence[int] | Ints) -> Floats:
        """Return the local scores of the empty set, the first of ``order``, the first two, and so on."""
        order = np.asarray(order, dtype=np.int64)
        with_node, without = np.empty(len(order) + 2), np.empty(len(order) + 1)
        kernels.joint_chain(*self._form[:3], np.concatenate([[node], order]).astype(np.int64), with_node)
        kernels.joint_chain(*self._form[:3], order, without)
        widths = np.concatenate([[0], np.cumsum(self.sizes[order])])
        cost = self._cost(node, widths, np.arange(len(order) + 1))
        return self._value(node, with_node[1:] - without, cost)

    def joint_chain(self, order: Sequence[int] | Ints, deadline: Deadline = FOREVER) -> Floats:
        """Return ``joint`` of the empty set, the first of ``order``, the first two, and so on."""
        order = np.asarray(order, dtype=np.int64)
        ends = np.cumsum(self.sizes[order])
        if len(order) and ends[-1] >= LONG:
            matrix, log_scale, starts, _ = self._form
            columns = np.concatenate([np.arange(starts[j], starts[j + 1]) for j in order])
            sums = np.concatenate([[0.0], np.cumsum(log_pivots(matrix, columns, deadline))])
            logdet = np.concatenate([[0.0], sums[ends] + np.cumsum(log_scale[order])])
        else:
            logdet = np.empty(len(order) + 1)
            compiled_or_python(kernels.joint_chain, self._steps(order))(*self._form[:3], order, logdet)
        return self._joint(np.concatenate([[0], np.cumsum(self.sizes[order])]), logdet)

    def additions(self, node: int, parents: Iterable[int] = ()) -> Floats:
        """Return the local score after adding each column; NaN for the node and its parents."""
        chosen = as_set(parents)
        outside = np.ones(self.n_nodes, dtype=bool)
        outside[chosen] = outside[node] = False
        candidates = np.flatnonzero(outside)
        logres, scores = np.empty(len(candidates)), np.full(self.n_nodes, np.nan)
        steps = self._steps([node, *chosen]) * (1 + len(candidates)) // 2
        find = compiled_or_python(kernels.additions, steps)
        _, width = find(*self._form[:3], node, chosen, candidates, logres)
        cost = self._cost(node, width + self.sizes[candidates], len(chosen) + 1)
        scores[candidates] = self._value(node, logres, cost)
        return scores


def _subset_sums(sizes: Ints) -> Ints:
    """Return the sums of all subsets; bit b of the index is ``sizes[b]``."""
    sums = np.zeros(1 << len(sizes), dtype=np.int64)
    for b, size in enumerate(sizes):
        sums[1 << b : 2 << b] = sums[: 1 << b] + size
    return sums
