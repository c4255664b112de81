"""BDeu: the marginal likelihood of discrete data under a uniform Dirichlet prior."""

from __future__ import annotations

import math

import numpy as np

from dagopt.data.table import DiscreteTable
from dagopt.errors import InputError
from dagopt.scores.base import Floats, Ints
from dagopt.scores.multinomial import CountingScore

__all__ = ["BDeuScore"]


class BDeuScore(CountingScore):
    r"""The Bayesian Dirichlet equivalent uniform score.

    With :math:`q_S = \prod_{j \in S} a_j` and the equivalent sample size :math:`\alpha`

    .. math::

       joint(S) = \sum_{x_S} \log \Gamma(\#(x_S) + \alpha / q_S) - \log \Gamma(\alpha / q_S),

    and the local score is :math:`joint(J \cup i) - joint(J)`: the Dirichlet-multinomial likelihood of
    Heckerman, Geiger and Chickering (1995), whose factors over parents and over families are joints of the
    same form because the prior is uniform. Cells that do not occur add nothing.

    Parameters
    ----------
    table : DiscreteTable
        The data.
    equivalent_sample_size : float
        :math:`\alpha` > 0.

    References
    ----------
    Buntine (1991). Theory refinement on Bayesian networks. UAI.
    """

    bounding_likelihood = "multinomial"

    def __init__(self, table: DiscreteTable, equivalent_sample_size: float = 1.0) -> None:
        if not (equivalent_sample_size > 0 and math.isfinite(equivalent_sample_size)):
            raise InputError(f"expected equivalent_sample_size > 0 but got {equivalent_sample_size}")
        self.equivalent_sample_size = equivalent_sample_size
        self.label = f"BDeu (equivalent sample size {equivalent_sample_size:g})"
        self._rate = 0.0
        super().__init__(table, ess=equivalent_sample_size)

    def superset_bounds(self, nodes: int | Ints, cost: Floats, occurring: Ints) -> Floats:
        """Return -log a_i times the number of parent configurations that occur, which grows with the set."""
        return np.asarray(-occurring * np.log(self.arity[nodes]), dtype=np.float64)
