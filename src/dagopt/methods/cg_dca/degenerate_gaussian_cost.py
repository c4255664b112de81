"""Proposition 1 over groups of columns: the reduced cost for mixed data as a difference of submodular functions.

With ``joint(S)`` = -N/2 log det Σ̂ of the groups of S + const, m_j embedded columns of column j and m(J) their sum
over J

    g(J) = -joint(J + i) + Λ m_i m(J) + ε|J| + clusters + λ_i,      f(J) = -joint(J).

The log-determinant of a union of disjoint groups is submodular over the groups, as unions and intersections of groups
are those of their columns; the penalty is a sum over the parents.
"""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.methods.cg_dca.reduced_cost import ReducedCost

__all__ = ["DegenerateGaussianCost"]


class DegenerateGaussianCost(ReducedCost):
    """z_i = g - f for a node of a penalised degenerate Gaussian likelihood."""

    def modular(self, chosen: Ints) -> Floats:
        """Return the penalty after 0, 1, ... of the candidates."""
        form = self.memory.score.blocks
        assert form is not None
        sizes = np.diff(form.starts)
        parents = np.concatenate([self.base, chosen]).astype(np.int64)
        cost = form.rates[2] * sizes[self.node] * sizes[parents] + form.rates[3]
        return np.asarray(np.concatenate([[0.0], np.cumsum(cost)])[len(self.base) :], dtype=np.float64)

    def supermodular(self, chosen: Ints) -> Floats:
        """Return zeros: the penalty is modular."""
        return np.zeros(len(chosen) + 1)
