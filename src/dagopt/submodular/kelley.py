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

__all__ = ["CuttingPlanes", "kelley"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_CUTS = 1000


class CuttingPlanes:
    """Kelley's method for one g and any number of linear terms, one after the other.

    The cuts are about g alone, so they serve every linear term: DCA changes only that from step to step.

    Parameters
    ----------
    chain : callable
        Returns g along an order of all elements, from the empty set on; g is submodular.
    size : int
        Number of elements.
    """

    def __init__(self, chain: Callable[[Ints], Floats], size: int) -> None:
        self._chain = chain
        self._size = size
        self._program = LinearProgram(maximise=False)
        for _ in range(size):
            self._program.add_column(0.0, 0.0, 1.0)
        self._columns = [*range(size), self._program.add_column(1.0, -np.inf, np.inf)]

    def __call__(self, linear: Floats, start: Floats, tolerance: float) -> Ints:
        """Return a set that minimises g(J) - Σ_{j in J} linear_j, up to the tolerance.

        Its elements come in the order of the point that was rounded to it; the first cut is at ``start``.
        """
        self._program.set_costs(0, -linear)
        point = start
        best_value, best_set = np.inf, np.empty(0, dtype=np.int64)
        for _ in range(MOST_CUTS):
            order = decreasing_order(point)
            values = self._chain(order)
            reduced = values - np.concatenate([[0.0], np.cumsum(linear[order])])
            k = int(np.argmin(reduced))
            if reduced[k] < best_value:
                best_value, best_set = float(reduced[k]), order[:k]
            slope = subgradient(order, values)
            self._program.add_row(float(values[0]), np.inf, self._columns, np.append(-slope, 1.0))
            solution = self._program.solve()
            if best_value - solution.value <= tolerance:
                break
            point = solution.point[: self._size]
        return best_set


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
        The elements of the set, in the order of the point that was rounded to it.
    """
    return CuttingPlanes(chain, len(linear))(linear, start, tolerance)
