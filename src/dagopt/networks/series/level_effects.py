"""Effects after some moments where not all series are continuous.

The effect on Y after k moments of setting X once to b rather than to a is

    E[f(Y(t+k)) | do(X(t) = b)] - E[f(Y(t+k)) | do(X(t) = a)],

averaged over the pasts of the table; f is Y itself, or 1 where Y has a certain level and 0 elsewhere. If all series
have levels and few of them, the expectations are sums over all presents and pasts (`Chain`). Otherwise they are means
over drawn futures, the same random numbers for a and b, and the standard error of these means is told.

Parameters are uncertain too: tables are drawn from their posterior (Dirichlet, counts and half a row per cell), other
networks are fitted again to block resamples of the table; the graph stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from dagopt.arrays import Floats
from dagopt.data.lags import Lags
from dagopt.data.resampling import n_units, resampled
from dagopt.data.table import Table
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.fitted.fitted_discrete import FittedDiscrete
from dagopt.networks.fitted.fitted_network import FittedNetwork
from dagopt.networks.fitted.fitting import fit_table
from dagopt.networks.network import Network
from dagopt.networks.series.futures import Chain, futures

__all__ = ["LevelEffects", "level_effects"]

MOST_CELLS = 1 << 16  # presents times pasts that are summed over
TABLE_DRAWS = 200  # of the tables, for standard errors
REFITS = 60  # to block resamples, for standard errors
FUTURES_PER_REFIT = 400  # drawn for each of them
HALF_A_ROW = 0.5  # of every cell of a table, before the data


class LevelEffects(NamedTuple):
    """Effects ``[step, figure]``; a figure is the mean of a continuous series, or the probability of a level.

    Attributes
    ----------
    effect, standard_error : arrays
        The effects, and their standard errors for parameters and draws together.
    simulation_error : array
        What the draws alone add; zero if there are none.
    figures : list of (int, int or None)
        The series and the level of each figure.
    """

    effect: Floats
    standard_error: Floats
    simulation_error: Floats
    figures: list[tuple[int, int | None]]


def level_effects(
    fitted: FittedNetwork,
    lags: Lags,
    table: Table,
    pasts: Floats,
    cause: int,
    change: tuple[float, float],
    steps: int,
    rng: np.random.Generator,
    n_draws: int,
) -> LevelEffects:
    """Return the effects of setting a series once to the second value of ``change`` rather than to the first.

    Parameters
    ----------
    fitted : FittedNetwork
        The network over the lagged columns.
    lags, table
        The layout of the columns, and the rows behind the network.
    pasts : array of shape (rows, n p)
        The pasts of the table.
    cause, change
        The series, by position, and its two values, as numbers or codes of levels.
    steps : int
        The largest number of moments.
    rng, n_draws
        Where draws come from, and how many there are.
    """
    network, n = fitted.network, lags.n_series
    figures: list[tuple[int, int | None]] = []
    for j in range(n):
        levels = network.levels_of(j)
        figures += [(j, None)] if levels is None else [(j, k) for k in range(len(levels))]
    if isinstance(fitted, FittedDiscrete) and _n_cells(fitted.network, lags) <= MOST_CELLS:
        codes = pasts.astype(np.intp)
        effect, *others = (
            _summed(own, lags, codes, cause, change, steps) for own in (fitted.network, *_drawn_tables(fitted, n, rng))
        )
        return LevelEffects(effect, np.std(others, axis=0), np.zeros_like(effect), figures)
    effect, error = _simulated(network, lags, pasts, cause, change, steps, figures, rng, n_draws)
    found, noise = [], []
    for other in _refitted(fitted, table, n, rng):
        one, own = _simulated(other, lags, pasts, cause, change, steps, figures, rng, FUTURES_PER_REFIT)
        found.append(one)
        noise.append(own**2)
    variance = np.maximum(np.var(found, axis=0) - np.mean(noise, axis=0), 0.0)
    return LevelEffects(effect, np.sqrt(variance + error**2), error, figures)


def _n_cells(network: DiscreteNetwork, lags: Lags) -> int:
    present = prod(len(network.levels[j]) for j in range(lags.n_series))
    return int(present ** (lags.count + 1))


def _summed(
    network: DiscreteNetwork, lags: Lags, pasts: np.ndarray, cause: int, change: tuple[float, float], steps: int
) -> Floats:
    """Return the effects by sums over all presents and pasts."""
    n = lags.n_series
    chain = Chain([len(network.levels[j]) for j in range(n)], lags.count, network.parents[:n], network.tables[:n])
    past = chain.past_of(pasts)
    low, high = (
        np.array([np.concatenate(one) for one in chain.marginals(past, steps, cause, int(value))]) for value in change
    )
    return np.asarray(high - low)


def _simulated(
    network: Network,
    lags: Lags,
    pasts: Floats,
    cause: int,
    change: tuple[float, float],
    steps: int,
    figures: Sequence[tuple[int, int | None]],
    rng: np.random.Generator,
    n_draws: int,
) -> tuple[Floats, Floats]:
    """Return the effects by drawn futures, and the standard errors of their means."""
    begin = pasts[rng.integers(len(pasts), size=n_draws)].reshape(n_draws, lags.count, lags.n_series)
    seed = int(rng.integers(1 << 62))
    low, high = (
        futures(network, lags, begin, steps + 1, np.random.default_rng(seed), {cause: value}, once=True)
        for value in change
    )
    difference = np.stack(
        [
            high[:, :, j] - low[:, :, j]
            if level is None
            else (high[:, :, j] == level).astype(float) - (low[:, :, j] == level)
            for j, level in figures
        ],
        axis=2,
    )
    return difference.mean(axis=0), difference.std(axis=0) / np.sqrt(n_draws)


def _drawn_tables(fitted: FittedDiscrete, n: int, rng: np.random.Generator) -> Iterator[DiscreteNetwork]:
    """Yield networks with tables drawn from their posterior; those of the past stay."""
    own = fitted.network
    for _ in range(TABLE_DRAWS):
        drawn = [rng.standard_gamma(counts + HALF_A_ROW) for counts in fitted.counts[:n]]
        tables = [np.maximum(one, 1e-300) / np.maximum(one, 1e-300).sum(axis=-1, keepdims=True) for one in drawn]
        yield DiscreteNetwork(own.names, own.levels, own.parents, (*tables, *own.tables[n:]))


def _refitted(fitted: FittedNetwork, table: Table, n: int, rng: np.random.Generator) -> Iterator[Network]:
    """Yield networks that are as likely as the fitted one, for the standard errors."""
    if isinstance(fitted, FittedDiscrete):
        for _, network in zip(range(REFITS), _drawn_tables(fitted, n, rng), strict=False):
            yield network
        return
    adjacency = np.zeros((len(fitted.names), len(fitted.names)), dtype=np.int8)
    for j, parents in enumerate(fitted.parents):
        adjacency[list(parents), j] = 1
    for _ in range(REFITS):
        yield fit_table(resampled(table, rng, n_units(table)), adjacency).network
