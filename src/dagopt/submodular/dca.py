"""The difference of convex algorithm for a difference of submodular functions (Algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.submodular.decomposition import ReducedCost
from dagopt.submodular.kelley import kelley
from dagopt.submodular.lovasz import decreasing_order, extension, subgradient
from dagopt.submodular.min_norm import min_norm

__all__ = ["CONVEX_STEPS", "ConvexStep", "Visited", "dca"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ConvexStep = Callable[[Callable[[Ints], Floats], Floats, Floats, float], Ints]

MOST_STEPS = 100


class Visited(NamedTuple):
    """A set that the algorithm came to: positions of its candidates, and z there."""

    positions: Ints
    value: float


def dca(cost: ReducedCost, start: Floats, convex_step: ConvexStep, epsilon: float) -> tuple[list[Visited], list[float]]:
    """Run Algorithm 1 from a point of the unit cube; margin numbers are its lines.

    Parameters
    ----------
    cost : ReducedCost
        z = g - f.
    start : array
        x^0.
    convex_step : callable
        Minimises g^L(x) - <y, x>; see ``kelley``.
    epsilon : float
        Stop when z changes by less.

    Returns
    -------
    visited : list of Visited
        The sets of all iterates, the last one last.
    values : list of float
        z^L(x^0), z^L(x^1), ...: never rising (inequality (4) of the paper), up to the convex step's tolerance.
    """
    point = np.asarray(start, dtype=np.float64)
    order = decreasing_order(point)
    f = cost.f(order)
    values = [extension(point, order, cost.g(order) - f)]
    visited: list[Visited] = []
    for _ in range(MOST_STEPS):  # 3
        slope = subgradient(order, f)  # 4
        chosen = convex_step(cost.g, slope, point, 0.1 * epsilon)  # 5
        point = np.zeros(cost.size)
        point[chosen] = 1.0
        order = decreasing_order(point)
        f = cost.f(order)
        values.append(float(cost.g(order)[len(chosen)] - f[len(chosen)]))
        visited.append(Visited(np.sort(chosen), values[-1]))
        if abs(values[-1] - values[-2]) < epsilon:  # 7
            break
    return visited, values


CONVEX_STEPS: dict[str, ConvexStep] = {"kelley": kelley, "min-norm": min_norm}
