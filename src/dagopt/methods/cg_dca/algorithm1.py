"""The difference of convex algorithm for a difference of submodular functions (Algorithm 1 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.deadline import FOREVER, Deadline, Stopped
from dagopt.methods.cg_dca.bases import SetFunction
from dagopt.methods.cg_dca.kelley import KelleyCuts
from dagopt.methods.cg_dca.lovasz import decreasing_order, extension, subgradient
from dagopt.methods.cg_dca.minimum_norm import min_norm
from dagopt.methods.cg_dca.reduced_cost import ReducedCost

__all__ = ["CONVEX_STEPS", "ConvexStep", "Visited", "dca"]


ConvexStep = Callable[[SetFunction, int], Callable[[Floats, Floats, float, Deadline], Ints]]
"""Takes g and its number of elements, and returns a function that minimises g^L(x) - <y, x>.

Its arguments are y, a first point, a tolerance, and the clock, at whose end the best set so far is returned."""

MOST_STEPS = 100  # finite in exact arithmetic, but rounding could make it circle


class Visited(NamedTuple):
    """A set that the algorithm visited: the positions of its candidates, and z there."""

    positions: Ints
    value: float


def dca(
    cost: ReducedCost,
    start: Floats,
    convex_step: ConvexStep,
    epsilon: float,
    rng: np.random.Generator | None = None,
    deadline: Deadline = FOREVER,
) -> tuple[list[Visited], list[float]]:
    """Run Algorithm 1 from a point of the unit cube; margin numbers are its lines.

    Parameters
    ----------
    cost : ReducedCost
        z = g - f.
    start : array
        x^0.
    convex_step : callable
        Makes the function that minimises g^L(x) - <y, x>; see ``CONVEX_STEPS``.
    epsilon : float
        Stop when z changes by less than this.
    rng : Generator, optional
        Draws a new order of equal coordinates at every step; without it, ties are in order of position. At a 0/1 point
        almost all coordinates tie. The paper does not say how to order them, but their order decides which sets the
        next step can reach: with one fixed order a warm start finds nothing new.
    deadline : Deadline
        When to stop; looked at before every step and within it. What was visited by then is returned.

    Returns
    -------
    visited : list of Visited
        The sets of all iterates, the last one last.
    values : list of float
        z^L(x^0), z^L(x^1), ...: never rising (inequality (4) of the paper), up to the convex step's tolerance.
    """
    visited: list[Visited] = []
    values: list[float] = []
    with suppress(Stopped):
        point = np.asarray(start, dtype=np.float64)
        order = decreasing_order(point, _ties(rng, cost.size))
        f = cost.f(order)
        values.append(extension(point, order, cost.g(order) - f))
        minimise = convex_step(cost.g, cost.size)
        for _ in range(MOST_STEPS):  # 3
            deadline.require_time()
            slope = subgradient(order, f)  # 4
            chosen = minimise(slope, point, 0.1 * epsilon, deadline)  # 5
            point = np.zeros(cost.size)
            point[chosen] = 1.0
            order = decreasing_order(point, _ties(rng, cost.size))
            f = cost.f(order)
            values.append(float(cost.g(order)[len(chosen)] - f[len(chosen)]))
            visited.append(Visited(np.sort(chosen), values[-1]))
            if abs(values[-1] - values[-2]) < epsilon:  # 7
                break
    return visited, values


def _ties(rng: np.random.Generator | None, size: int) -> Ints | None:
    return None if rng is None else rng.permutation(size)


def _min_norm_step(g: SetFunction, size: int) -> Callable[[Floats, Floats, float, Deadline], Ints]:
    return partial(min_norm, g)


CONVEX_STEPS: dict[str, ConvexStep] = {"kelley": KelleyCuts, "min-norm": _min_norm_step}
