"""Proposition 2 of the paper: the reduced cost of a discrete node as a difference of submodular functions.

With ``joint(S)`` = Σ c log c = -N H(S) + const

    g(J) = -joint(J + i) + ε|J| + clusters + λ_i,      f(J) = -joint(J) - Λ (a_i - 1) Π_{j in J} a_j.
"""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.methods.cg_dca.reduced_cost import ReducedCost

__all__ = ["MultinomialCost"]


class MultinomialCost(ReducedCost):
    """z_i = g - f for a node of a penalised multinomial likelihood."""

    def modular(self, chosen: Ints) -> Floats:
        """Return the cost of edges in addition to their parameters, after 0, 1, ... of the candidates."""
        return self.memory.score.edge_cost * np.arange(
            len(self.base), len(self.base) + len(chosen) + 1, dtype=np.float64
        )

    def supermodular(self, chosen: Ints) -> Floats:
        """Return the penalty, a product over the parents, after 0, 1, ... of the candidates."""
        score = self.memory.score
        assert score.counts is not None
        arity = score.counts.counts.arity
        first = float(np.prod(arity[self.base], dtype=np.float64))
        product = first * np.concatenate([[1.0], np.cumprod(arity[chosen], dtype=np.float64)])
        return np.asarray(score.parameter_cost * (arity[self.node] - 1) * product, dtype=np.float64)
