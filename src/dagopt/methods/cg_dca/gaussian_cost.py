"""Proposition 1 of the paper: the reduced cost of a Gaussian node as a difference of submodular functions.

With ``joint(S)`` = -N/2 log det Σ̂_SS + const

    g(J) = -joint(J + i) + Λ|J| + clusters + λ_i,      f(J) = -joint(J).

The bnlearn convention adds a convex function of |J| to the penalty. It is subtracted from f, because a convex function
of the size is supermodular.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.kernels.gaussian import min_norm as kernels
from dagopt.kernels.gaussian.min_norm import GaussianForm
from dagopt.methods.cg_dca.bases import SetFunction
from dagopt.methods.cg_dca.reduced_cost import ReducedCost
from dagopt.scores.long_chains import LONG

__all__ = ["GaussianCost"]

MOST_COMPILED = 150  # elements whose minimum-norm point the kernel finds within a tenth of a second
LARGE_PENALTY = 1e9  # stands for an infinite penalty


class GaussianCost(ReducedCost):
    """z_i = g - f for a node of a penalised Gaussian likelihood; g has compiled bases and minimum-norm points."""

    @cached_property
    def g(self) -> SetFunction:
        """The function g, compiled."""
        return _GaussianG(self)

    @cached_property
    def form(self) -> GaussianForm:
        """The function g in the form for compiled kernels."""
        score = self.memory.score
        assert score.logdets is not None
        half = 0.5 * score.n_samples
        steps = np.diff(self._modular) + half * (1 + math.log(2 * math.pi))
        free = ~self.clusters[:, self.base].any(axis=1)
        return GaussianForm(
            score.logdets.matrix,
            score.logdets.log_scale,
            half,
            self._with_node,
            self.candidates,
            steps,
            np.ascontiguousarray(self.clusters[:, self.candidates])[free],
            self.cluster_duals[free],
        )

    def modular(self, chosen: Ints) -> Floats:
        """Return Λ|J| after 0, 1, ... of the candidates."""
        return self._modular[: len(chosen) + 1]

    def supermodular(self, chosen: Ints) -> Floats:
        """Return the part of the penalty above Λ|J|, after 0, 1, ... of the candidates."""
        return self._excess[: len(chosen) + 1]

    @property
    def _sizes(self) -> Ints:
        return np.arange(len(self.base), len(self.base) + self.size + 1)

    @cached_property
    def _modular(self) -> Floats:
        return np.asarray(self.memory.score.parameter_cost * self._sizes, dtype=np.float64)

    @cached_property
    def _excess(self) -> Floats:
        """Zero, or convex in the number of parents; a steep parabola, also convex, replaces infinite values."""
        by_size = self.memory.score.penalty_by_size
        assert by_size is not None
        penalty = by_size[self._sizes]
        beyond = np.cumsum(np.isinf(penalty)).astype(np.float64)
        return np.where(beyond > 0, LARGE_PENALTY * beyond**2, penalty - self._modular)


class _GaussianG(SetFunction):
    """The g of a Gaussian node, with compiled kernels."""

    def __init__(self, cost: GaussianCost) -> None:
        super().__init__(cost.g_along)
        self._cost = cost

    def base(self, order: Ints, linear: Floats) -> tuple[Floats, float, int]:
        """Return the greedy base of an order, its least prefix sum and where it is."""
        if self._cost.size >= LONG:
            return super().base(order, linear)
        compiled: Any = kernels.greedy_base
        base: tuple[Floats, float, int] = compiled(self._cost.form, linear, order)
        return base

    def minimiser(self, linear: Floats, order: Ints, tolerance: float) -> Ints | None:
        """Return a set that minimises g minus a linear term; None for many elements, as the kernel knows no clock."""
        if self._cost.size > MOST_COMPILED:
            return None
        compiled: Any = kernels.min_norm_gaussian
        return np.asarray(compiled(self._cost.form, linear, order, tolerance), dtype=np.int64)
