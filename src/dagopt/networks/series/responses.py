r"""Effects after k moments in a linear dynamic network, and their standard errors.

With :math:`B_0` the coefficients within a moment and :math:`B_1, ..., B_p` those of the past (from i to j), a change of
one unit from outside in series i changes series j after k moments by :math:`\Theta_k[i, j]`:

.. math:: \Theta_0 = (I - B_0)^{-1}, \qquad \Theta_k = \sum_{m=1}^{\min(k, p)} \Theta_{k-m} B_m \Theta_0 .

The derivative by one coefficient, from a to b at lag m, is a sum over the moments at which the edge is used:

.. math:: \frac{\partial \Theta_k[i, j]}{\partial B_m[a, b]} = \sum_{s=0}^{k-m} \Theta_s[i, a]\, \Theta_{k-m-s}[b, j] .

The equations of different series have independent noise, so that their coefficients are asymptotically uncorrelated,
and the variance of a response is a sum over the equations (the delta method; Lütkepohl 2005, section 3.7).

References
----------
Lütkepohl (2005). New introduction to multiple time series analysis. Springer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dagopt.arrays import Bools, Floats

__all__ = ["Coefficients", "response_errors", "responses"]


class Coefficients(NamedTuple):
    """The equation of one series: which columns are its parents, by lag and series, and the covariance of estimates."""

    lag: Sequence[int]
    series: Sequence[int]
    covariance: Floats


def responses(weights: Floats, steps: int) -> Floats:
    """Return the effects after 0, 1, ..., ``steps`` moments: ``[k, i, j]`` of series i on series j.

    They are exactly zero where no path leads, whatever rounding would leave there.

    Parameters
    ----------
    weights : array of shape (p + 1, n, n)
        ``[m, i, j]`` is the coefficient of series i at lag m in the equation of series j.
    steps : int
        The largest number of moments.
    """
    lags, n = weights.shape[0] - 1, weights.shape[1]
    found = np.zeros((steps + 1, n, n))
    found[0] = np.linalg.inv(np.eye(n) - weights[0])
    for k in range(1, steps + 1):
        for m in range(1, min(k, lags) + 1):
            found[k] += found[k - m] @ weights[m] @ found[0]
    return np.where(_reached(weights != 0, steps), found, 0.0)


def _reached(edges: Bools, steps: int) -> Bools:
    """Return where a path leads after 0, 1, ..., ``steps`` moments: ``[k, i, j]`` from series i to series j."""
    lags, n = edges.shape[0] - 1, edges.shape[1]
    found = np.zeros((steps + 1, n, n), dtype=bool)
    found[0] = np.eye(n, dtype=bool)
    for _ in range(n):
        found[0] |= found[0] @ edges[0]
    for k in range(1, steps + 1):
        for m in range(1, min(k, lags) + 1):
            found[k] |= found[k - m] @ edges[m] @ found[0]
    return found


def response_errors(theta: Floats, equations: Sequence[Coefficients], cause: int, outcome: int) -> Floats:
    """Return the standard errors of the effects of one series on another after 0, 1, ... moments.

    Parameters
    ----------
    theta : array of shape (steps + 1, n, n)
        What ``responses`` returned.
    equations : sequence of Coefficients
        One per series.
    cause, outcome : int
        The series.
    """
    steps = len(theta) - 1
    variance = np.zeros(steps + 1)
    for b, equation in enumerate(equations):
        slopes = np.zeros((steps + 1, len(equation.lag)))
        for c, (m, a) in enumerate(zip(equation.lag, equation.series, strict=True)):
            used = np.convolve(theta[:, cause, a], theta[:, b, outcome])[: steps + 1 - m]
            slopes[m : m + len(used), c] = used
        variance += np.einsum("kc,cd,kd->k", slopes, equation.covariance, slopes)
    return np.sqrt(np.maximum(variance, 0.0))
