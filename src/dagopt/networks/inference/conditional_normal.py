"""Gaussian networks in closed form: the conditional distribution of a multivariate normal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import multivariate_normal, norm

from dagopt.arrays import Bools, Floats, Ints
from dagopt.networks.gaussian_network import GaussianNetwork
from dagopt.networks.inference.engine import Engine, Event, Posterior, patterns

__all__ = ["ConditionalNormal"]

NO_VARIANCE = 1e-12  # a smaller share of a variance may be negative by rounding


class _Conditional(NamedTuple):
    """Unknown nodes given known ones: mean ``shift + slopes (known - their means)``, and covariance."""

    unknown: Ints
    known: Ints
    slopes: Floats
    covariance: Floats


class ConditionalNormal(Engine):
    r"""Exact answers about a Gaussian network.

    With unknown nodes :math:`u` and known ones :math:`k`,

    .. math:: E[x_u | x_k] = \mu_u + \Sigma_{uk} \Sigma_{kk}^{-1} (x_k - \mu_k), \qquad
              \Sigma_{u|k} = \Sigma_{uu} - \Sigma_{uk} \Sigma_{kk}^{-1} \Sigma_{ku}.

    Everything is computed in standard units, so that the units of the columns do not matter.
    """

    def __init__(self, network: GaussianNetwork) -> None:
        self.mean = network.mean()
        covariance = network.covariance()
        self.scale = np.sqrt(np.diagonal(covariance))
        self.correlation = covariance / np.outer(self.scale, self.scale)

    def posterior(self, node: int, cells: Floats) -> Posterior:
        """Return mean and standard deviation of a node in each row."""
        figures = np.empty((len(cells), 2))
        cells = cells.copy()
        cells[:, node] = np.nan
        for mask, rows in patterns(cells):
            given = self._given(mask, np.array([node]))
            figures[rows, 0] = self._means(given, cells[rows])[:, 0]
            figures[rows, 1] = np.sqrt(given.covariance[0, 0]) * self.scale[node]
        return Posterior(figures)

    def log_evidence(self, cells: Floats) -> Floats:
        """Return the log of the density of the known cells of each row; 0 where nothing is known."""
        found = np.zeros(len(cells))
        for mask, rows in patterns(cells):
            known = np.flatnonzero(mask)
            if not len(known):
                continue
            standard = (cells[np.ix_(rows, known)] - self.mean[known]) / self.scale[known]
            factor = np.linalg.cholesky(self.correlation[np.ix_(known, known)])
            whitened = np.linalg.solve(factor, standard.T)
            constant = 2 * np.log(np.diagonal(factor) * self.scale[known]).sum() + len(known) * np.log(2 * np.pi)
            found[rows] = -0.5 * ((whitened**2).sum(axis=0) + constant)
        return found

    def probability(self, event: Event, cells: Floats) -> tuple[float, float]:
        """Return the probability that nodes lie in intervals; for three or more nodes by quadrature."""
        nodes = np.array(list(event), dtype=np.int64)
        cells = cells.copy()
        cells[:, nodes] = np.nan
        given = self._given(~np.isnan(cells[0]), nodes)
        limits = np.array([np.asarray(event[int(node)], dtype=np.float64) for node in nodes])
        centred = (limits - self._means(given, cells)[0][:, None]) / self.scale[nodes][:, None]
        if len(nodes) == 1:
            low, high = centred[0] / np.sqrt(given.covariance[0, 0])
            if low > 0:  # the tails are symmetric, and the lower one does not cancel
                low, high = -high, -low
            return float(norm.cdf(high) - norm.cdf(low)), 0.0
        joint = multivariate_normal(np.zeros(len(nodes)), given.covariance, seed=0)
        return float(np.clip(joint.cdf(centred[:, 1], lower_limit=centred[:, 0]), 0, 1)), 0.0

    def complete(self, cells: Floats, rng: np.random.Generator) -> Floats:
        """Return the rows with unknown cells drawn from the conditional normal distribution."""
        filled = cells.copy()
        for mask, rows in patterns(cells):
            if mask.all():
                continue
            given = self._given(mask, np.flatnonzero(~mask))
            sizes, directions = np.linalg.eigh(given.covariance)
            root = directions * np.sqrt(np.maximum(sizes, 0))
            noise = rng.standard_normal((len(rows), len(given.unknown))) @ root.T
            filled[np.ix_(rows, given.unknown)] = self._means(given, cells[rows]) + noise * self.scale[given.unknown]
        return filled

    def _given(self, mask: Bools, unknown: Ints) -> _Conditional:
        """Return the distribution of some unknown nodes, in standard units, given all known ones."""
        known = np.flatnonzero(mask)
        across = self.correlation[np.ix_(unknown, known)]
        slopes = np.linalg.solve(self.correlation[np.ix_(known, known)], across.T).T
        covariance = self.correlation[np.ix_(unknown, unknown)] - slopes @ across.T
        covariance = (covariance + covariance.T) / 2
        np.fill_diagonal(covariance, np.maximum(np.diagonal(covariance), NO_VARIANCE))
        return _Conditional(unknown, known, slopes, covariance)

    def _means(self, given: _Conditional, cells: Floats) -> Floats:
        known, unknown = given.known, given.unknown
        standard = (cells[:, known] - self.mean[known]) / self.scale[known]
        return np.asarray(self.mean[unknown] + standard @ given.slopes.T * self.scale[unknown])
