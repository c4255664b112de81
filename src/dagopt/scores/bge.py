"""BGe: the marginal likelihood of Gaussian data under a normal-Wishart prior."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Floats, Ints
from dagopt.data.table import ContinuousTable
from dagopt.errors import InputError
from dagopt.scores.gaussian import LogDetScore

__all__ = ["BGeScore"]


class BGeScore(LogDetScore):
    r"""The Bayesian Gaussian equivalent score of Geiger and Heckerman, as corrected by Kuipers et al.

    The prior mean is the sample mean and the prior matrix is :math:`T = t I` with
    :math:`t = \alpha_\mu (\alpha_w - n - 1) / (\alpha_\mu + 1)`, so that with
    :math:`R = T + N \hat\Sigma` and :math:`l = |S|`

    .. math::

       joint(S) = -\tfrac{lN}{2} \log \pi + \tfrac l2 \log \tfrac{\alpha_\mu}{N + \alpha_\mu}
       + \log \frac{\Gamma_l((N + \alpha_w - n + l) / 2)}{\Gamma_l((\alpha_w - n + l) / 2)}
       + \tfrac{\alpha_w - n + l}{2} l \log t - \tfrac{N + \alpha_w - n + l}{2} \log |R_{SS}|.

    Unlike the penalised likelihoods, this score depends on the units of the columns, through T. So columns are
    standardised by default.

    Parameters
    ----------
    table : ContinuousTable
        The data.
    mean_weight : float
        :math:`\alpha_\mu`, how many rows the prior mean counts for.
    degrees : float, optional
        :math:`\alpha_w`, the prior's degrees of freedom; n + 2 unless given.
    standardize : bool
        Whether to score the columns divided by their standard deviations (the default), or as they are given.

    References
    ----------
    Kuipers, Moffa, Heckerman (2014). Addendum on the scoring of Gaussian directed acyclic graphical models.
    Annals of Statistics 42. doi:10.1214/14-AOS1217
    """

    bounding_likelihood = "gaussian"

    def __init__(
        self,
        table: ContinuousTable,
        mean_weight: float = 1.0,
        degrees: float | None = None,
        *,
        standardize: bool = True,
    ) -> None:
        n = len(table.names)
        self.mean_weight = mean_weight
        self.degrees = n + 2.0 if degrees is None else degrees
        if not (self.mean_weight > 0 and math.isfinite(self.mean_weight)):
            raise InputError(f"expected mean_weight > 0 for BGe but got {mean_weight}")
        if not (self.degrees > n + 1 and math.isfinite(self.degrees)):
            raise InputError(f"expected degrees > n + 1 = {n + 1} for BGe but got {degrees}")
        if standardize:
            self.bounding_likelihood = "gaussian of standardised columns"
        units = "standardised columns" if standardize else "columns as given"
        self.label = f"BGe (mean weight {mean_weight:g}, {self.degrees:g} degrees of freedom, {units})"
        self._prior = mean_weight * (self.degrees - n - 1) / (mean_weight + 1)
        self._units = table.scale if standardize else np.ones(n)
        matrix = self._prior * np.eye(n) + table.n_samples * (table.correlation if standardize else table.covariance)
        scale = np.sqrt(np.diag(matrix))
        unit = matrix / np.outer(scale, scale)
        columns, roundings = (lambda: self._columns(table, scale)) if table.is_exact else None, table.roundings + 8
        super().__init__(table.names, table.n_samples, unit, scale, columns, roundings)

    def _columns(self, table: ContinuousTable, scale: Floats) -> Floats:
        """Return scaled columns whose products are R: a square root of T stacked on the columns of the table."""
        data = table.scaled(scale * self._units / math.sqrt(table.n_samples))
        return np.vstack([np.diag(math.sqrt(self._prior) / scale), data])

    def bound(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return a bound on the local scores with these parents and any of the candidates."""
        return self.local(node) + self.block_likelihood.nodes[node].most_gain(node, parents, candidates)

    def _powers(self, sizes: NDArray[np.int_]) -> Floats:
        return np.asarray(self.n_samples + self.degrees - self.n_nodes + sizes, dtype=np.float64)

    def _constants(self, sizes: NDArray[np.int_]) -> Floats:
        from scipy.special import gammaln

        n_samples, before = self.n_samples, self.degrees - self.n_nodes + sizes
        after = n_samples + before
        # The multivariate gamma functions, without the powers of pi that cancel in their ratio.
        ratio = np.array(
            [
                float(np.sum(gammaln((a - np.arange(s)) / 2) - gammaln((b - np.arange(s)) / 2)))
                for s, a, b in zip(sizes, after, before, strict=True)
            ]
        )
        constants: Floats = (
            -0.5 * sizes * n_samples * math.log(math.pi)
            + 0.5 * sizes * math.log(self.mean_weight / (n_samples + self.mean_weight))
            + ratio
            + 0.5 * before * sizes * math.log(self._prior)
        )
        return constants

    def _costs(self, sizes: NDArray[np.int_]) -> Floats:
        return np.zeros(len(sizes))
