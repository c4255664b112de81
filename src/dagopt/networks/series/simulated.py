"""Random linear dynamic networks, and series drawn from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from dagopt.arrays import Dag, Floats
from dagopt.errors import InputError, checked_number, checked_whole
from dagopt.networks.checks import RandomState, as_generator

__all__ = ["SimulatedSeries", "simulate_series"]

LARGEST_ROOT = 0.9  # of the dynamics: the series forget their past
INSIDE, OWN, PAST = (0.3, 0.8), (0.2, 0.6), (0.2, 0.5)  # absolute coefficients within a moment, of the own past, others
BURN_IN = 200  # moments that are dropped


class SimulatedSeries(NamedTuple):
    """Simulated series and the network behind them: ``weights[m, i, j]`` of series i at lag m on series j."""

    data: pd.DataFrame
    weights: Floats

    @property
    def by_lag(self) -> Dag:
        """The edges as an array ``[m, i, j]``."""
        return np.asarray(self.weights != 0, dtype=np.int8)


def simulate_series(
    n_series: int = 5,
    n_moments: int = 500,
    lags: int = 1,
    random_state: RandomState = None,
    *,
    degree: float = 0.5,
    past_degree: float = 1.0,
) -> SimulatedSeries:
    """Draw a random vector autoregression with effects within a moment, and series from it.

    Parameters
    ----------
    n_series, n_moments, lags : int
        The numbers of series, of moments and of lags.
    random_state : int, Generator or None
        Seed, generator, or fresh entropy.
    degree : float
        The number of edges within a moment, per series.
    past_degree : float
        The number of edges from other series one moment before, per series; half as many two moments before, and so on.
        Each series also depends on its own last moment.

    Returns
    -------
    SimulatedSeries
        ``data`` with columns x0, x1, ... and ``weights``; noise is normal with variance 1, and coefficients of the past
        are scaled down until the largest root is below 0.9.

    Examples
    --------
    >>> import dagopt
    >>> made = dagopt.simulate_series(3, 200, lags=2, random_state=0)
    >>> made.data.shape, made.weights.shape
    ((200, 3), (3, 3, 3))
    """
    n, p = checked_whole("n_series", n_series, 2), checked_whole("lags", lags, 1)
    n_moments = checked_whole("n_moments", n_moments, 2)
    if checked_number("degree", degree) > (n - 1) / 2 or checked_number("past_degree", past_degree) > n - 1:
        raise InputError(f"expected at most {(n - 1) / 2:g} edges per series but got degree={degree!r}; lower it")
    rng = as_generator(random_state)
    weights = np.zeros((p + 1, n, n))
    order = rng.permutation(n)
    first, second = np.triu_indices(n, 1)
    for k in rng.choice(len(first), round(degree * n), replace=False):
        weights[0, order[first[k]], order[second[k]]] = _coefficient(rng, INSIDE)
    np.fill_diagonal(weights[1], [rng.uniform(*OWN) for _ in range(n)])
    tails, heads = np.nonzero(~np.eye(n, dtype=bool))
    for m in range(1, p + 1):
        for k in rng.choice(len(tails), round(past_degree * n / m), replace=False):
            weights[m, tails[k], heads[k]] = _coefficient(rng, PAST)
    while largest_root(weights) > LARGEST_ROOT:
        weights[1:] *= 0.95
    return SimulatedSeries(_drawn(weights, n_moments, rng), weights)


def largest_root(weights: Floats) -> float:
    """Return the largest root of linear dynamics in absolute value."""
    p, n = weights.shape[0] - 1, weights.shape[1]
    inverse = np.linalg.inv(np.eye(n) - weights[0])
    companion = np.zeros((n * p, n * p))
    for m in range(1, p + 1):
        companion[(m - 1) * n : m * n, :n] = weights[m] @ inverse
    companion[: n * (p - 1), n:] = np.eye(n * (p - 1))
    return float(np.abs(np.linalg.eigvals(companion)).max(initial=0.0))


def _coefficient(rng: np.random.Generator, sizes: tuple[float, float]) -> float:
    return float(rng.choice([-1.0, 1.0]) * rng.uniform(*sizes))


def _drawn(weights: Floats, n_moments: int, rng: np.random.Generator) -> pd.DataFrame:
    p, n = weights.shape[0] - 1, weights.shape[1]
    inverse = np.linalg.inv(np.eye(n) - weights[0])
    values = np.zeros((p + BURN_IN + n_moments, n))
    for t in range(p, len(values)):
        values[t] = (rng.normal(size=n) + sum(values[t - m] @ weights[m] for m in range(1, p + 1))) @ inverse
    return pd.DataFrame(values[-n_moments:], columns=[f"x{j}" for j in range(n)])
