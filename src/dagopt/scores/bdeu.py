"""BDeu: the marginal likelihood of discrete data under a uniform Dirichlet prior."""

from __future__ import annotations

import math

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.data.table import DiscreteTable
from dagopt.errors import InputError
from dagopt.scores.digits import UNIT
from dagopt.scores.multinomial import CountingScore

__all__ = ["BDeuScore"]

LEAST_SAMPLE_SIZE = 1e-15  # so that no prior count, down to 1e-290 of it, loses digits


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
        if equivalent_sample_size < LEAST_SAMPLE_SIZE:
            raise InputError(
                f"expected equivalent_sample_size >= {LEAST_SAMPLE_SIZE:g} but got {equivalent_sample_size}; choose a "
                "larger one"
            )
        self.equivalent_sample_size = equivalent_sample_size
        self.label = f"BDeu (equivalent sample size {equivalent_sample_size:g})"
        self._rate = 0.0
        super().__init__(table, ess=equivalent_sample_size)

    @property
    def rounding(self) -> float:
        """How far a DAG's score can be from its value in exact arithmetic.

        A joint is a sum of m terms log p (p + 1) ... (p + c - 1), one per configuration that occurs, whose logarithms
        add up to at most S = N (log(N + 1) + log q + abs(log ess) + 1), q the product of all arities. A term is off by
        at most 100 c roundings of 1 + abs(log p) + log(p + c), and the prior count p by n + 3 of itself, which moves
        a term by c times that. So a joint is off by (m + n + 128) u S, and a DAG has 2 n of them.
        """
        size = self.n_samples * (math.log(self.n_samples + 1) + float(np.log(self.arity).sum()) + 1)
        size += self.n_samples * abs(math.log(self.equivalent_sample_size))
        return float((self._data.codes.shape[1] + self.n_nodes + 128) * UNIT * self.n_nodes * size)

    def superset_bounds(self, nodes: int | Ints, cost: Floats, occurring: Ints) -> Floats:
        """Return -log a_i times the number of configurations that occur, which grows with the set."""
        return np.asarray(-occurring * np.log(self.arity[nodes]), dtype=np.float64)

    def _lowered(self, node: int, occurring: Ints) -> Floats:
        """Return log a_i times the number of configurations that occur: see ``families/listing.py``."""
        return np.asarray(occurring * np.log(self.arity[node]), dtype=np.float64)
