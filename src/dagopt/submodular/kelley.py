"""Kelley's cutting planes for min over the unit cube of g^L(x) - <y, x>, the convex step of the paper's DCA.

The LP holds x and t >= g^L(x) by the cuts found so far, ``t >= g(∅) + <s, x>`` for greedy subgradients s. Its value
bounds the minimum from below, and every point is rounded to the best prefix of its order, which bounds it
from above; the two meet after finitely many cuts.

References
----------
Kelley (1960). The cutting-plane method for solving convex programs. doi:10.1137/0108053
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dagopt.solvers.highs import LinearProgram
from dagopt.submodular.lovasz import decreasing_order, subgradient

__all__ = ["kelley"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_CUTS = 1000


def kelley(chain: Callable[[Ints], Floats], linear: Floats, start: Floats, tolerance: float) -> Ints:
    """Return a set that minimises g(J) - Σ_{j in J} linear_j.

    Parameters
    ----------
    chain : callable
        Returns g along an order of all elements, from the empty set on; g is submodular.
    linear : array
        What is subtracted, y.
    start : array
        A point whose cut is the first.
    tolerance : float
        How far from the minimum the set may be.

    Returns
    -------
    int array
        The elements of the set, in the order of the last point.
    """
    size = len(linear)
    program = LinearProgram(maximise=False)
    for j in range(size):
        program.add_column(-float(linear[j]), 0.0, 1.0)
    bound = program.add_column(1.0, -np.inf, np.inf)
    point = start
    best_value, best_set = np.inf, np.empty(0, dtype=np.int64)
    for _ in range(MOST_CUTS):
        order = decreasing_order(point)
        values = chain(order)
        reduced = values - np.concatenate([[0.0], np.cumsum(linear[order])])
        k = int(np.argmin(reduced))
        if reduced[k] < best_value:
            best_value, best_set = float(reduced[k]), order[:k]
        slope = subgradient(order, values)
        program.add_row(float(values[0]), np.inf, [*range(size), bound], [*(-slope), 1.0])
        solution = program.solve()
        if best_value - solution.value <= tolerance:
            break
        point = solution.point[:size]
    return best_set
