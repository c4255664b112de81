"""Random networks of continuous and discrete variables."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.networks.mixed_network import MixedNetwork, design_matrix

__all__ = ["draw_mixed"]

PILOT_ROWS = 2000  # rows from which the scale of each variable is estimated


def draw_mixed(
    names: tuple[str, ...], probability: float, arities: NDArray[np.int64], rng: np.random.Generator
) -> MixedNetwork:
    """Draw a network in which every pair in a random order is an edge with a given probability.

    Parameters
    ----------
    names : tuple of str
        The variables.
    probability : float
        The probability of each edge.
    arities : int array
        The number of levels of each variable; 0 for continuous ones.
    rng : Generator
        The source of randomness.

    Notes
    -----
    The effect of a parent, per standard deviation of a continuous one and per level of a discrete one, is uniform in
    ±[0.5, 2] on a mean (the noise has a variance in [0.7, 1.2]), and in ±[1, 2.5] on log odds.
    """
    n = len(names)
    order = rng.permutation(n)
    edges = np.triu(rng.random((n, n)) < probability, 1)
    levels = tuple(tuple(f"s{k}" for k in range(arity)) for arity in arities)
    parents: list[tuple[int, ...]] = [()] * n
    coefficients: list[NDArray[np.float64]] = [np.zeros((1, 1))] * n
    variances = np.full(n, np.nan)
    pilot: dict[int, NDArray[np.generic]] = {}
    for place, j in enumerate(order.tolist()):
        parents[j] = own = tuple(sorted(order[edges[:, place]].tolist()))
        design = design_matrix([pilot[i] for i in own], [int(arities[i]) for i in own], PILOT_ROWS)
        rows = max(int(arities[j]) - 1, 1)
        low, high = (1.0, 2.5) if arities[j] else (0.5, 2.0)
        effects = rng.uniform(low, high, (rows, design.shape[1])) * rng.choice([-1, 1], (rows, design.shape[1]))
        spread = np.array([1.0, *(x for i in own for x in _spread(pilot[i], int(arities[i])))])
        effects /= spread
        effects[:, 0] = 0.0
        effects[:, 0] = -(design @ effects.T).mean(axis=0) + (rng.normal(0, 0.3, rows) if arities[j] else 0.0)
        coefficients[j] = effects
        if arities[j]:
            odds = np.concatenate([np.zeros((PILOT_ROWS, 1)), design @ effects.T], axis=1)
            pilot[j] = np.argmax(odds + rng.gumbel(size=odds.shape), axis=1)
        else:
            variances[j] = rng.uniform(0.7, 1.2)
            pilot[j] = design @ effects[0] + rng.normal(0, np.sqrt(variances[j]), PILOT_ROWS)
    return MixedNetwork(names, levels, tuple(parents), tuple(coefficients), variances)


def _spread(values: NDArray[np.generic], arity: int) -> list[float]:
    """Return the size of one step of each embedded column: a standard deviation, or the change of a level."""
    return [1.0] * (arity - 1) if arity else [float(np.std(values.astype(np.float64)))]
