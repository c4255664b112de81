"""Kelley's cutting planes for min over the unit cube of g^L(x) - <y, x>, the convex step of the paper's DCA.

The LP has the variables x and t, with t >= g^L(x) - g(∅) by cuts ``t >= <s, x>`` for greedy subgradients s. Its value
bounds the minimum from below, and every point is rounded to the best prefix of its order, which bounds it
from above; the two meet after finitely many cuts.

References
----------
Kelley (1960). The cutting-plane method for solving convex programs. doi:10.1137/0108053
"""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.deadline import FOREVER, Deadline, Stopped
from dagopt.lp.highs import LinearProgram
from dagopt.methods.cg_dca.bases import SetFunction
from dagopt.methods.cg_dca.lovasz import decreasing_order

__all__ = ["CUTS_PER_ROUND", "KelleyCuts"]

MOST_ROUNDS = 1000  # LPs; the method is finite, but slow near the end
CUTS_PER_ROUND = 3  # cuts between two LPs; 1 is the method as published, with about five times the rounds
NEW_SHARE = 0.2  # the weight of the last slope or point in the running means
TIE = 1e-9  # coordinates closer than this count as equal
LARGE_COST = 1e5  # of an element: from here on it is compared with what g can gain
OUT_OF_REACH = 10  # times the sum of all steps of g along an order: an element that costs more is in no minimising set


class KelleyCuts:
    """Kelley's method for one g and any number of linear terms, one after the other.

    The cuts depend only on g, so they serve every linear term; DCA changes only that term from step to step.

    Two things reduce the number of rounds about fivefold. At a vertex of the LP most coordinates are 0 or 1, and every
    order of the equal ones gives a valid cut at the same point: they are ordered by their apparent gain, the linear
    term minus a running mean of the slopes. And since the LP's points jump from corner to corner, each round can
    also cut at points inside the cube: the midpoint of the last one and the best set, and the running mean of all.

    Parameters
    ----------
    g : SetFunction
        The submodular function.
    size : int
        Number of elements.
    cuts_per_round : int
        The number of points where a round cuts, one to three: the LP's point, the midpoint, the mean.
    """

    def __init__(self, g: SetFunction, size: int, cuts_per_round: int = CUTS_PER_ROUND) -> None:
        self._g = g
        self._size = size
        self._cuts_per_round = cuts_per_round
        self._program = LinearProgram(maximise=False)
        for _ in range(size):
            self._program.add_column(0.0, 0.0, 1.0)
        self._columns = [*range(size), self._program.add_column(1.0, -np.inf, np.inf)]
        self._slopes: Floats | None = None  # their running mean

    def __call__(self, linear: Floats, start: Floats, tolerance: float, deadline: Deadline = FOREVER) -> Ints:
        """Return a set that minimises g(J) - Σ_{j in J} linear_j, up to the tolerance; the best so far at the deadline.

        Its elements come in the order of the point that was rounded to it; the first cut is at ``start``.
        """
        linear = self._within_reach(linear, start)
        self._program.set_costs(0, -linear)
        best_value, best_set = np.inf, np.empty(0, dtype=np.int64)
        points, mean = [start], start
        for _ in range(MOST_ROUNDS):
            for point in points:
                order = self._order(point, linear)
                try:
                    value, length = self._cut(order, linear)
                except Stopped:
                    return best_set
                if value < best_value:
                    best_value, best_set = value, order[:length]
            solution = self._program.solve_within(deadline.remaining())
            if solution is None:
                break
            if best_value - solution.value <= tolerance or deadline.reason is not None:
                break
            point = solution.point[: self._size]
            mean = (1 - NEW_SHARE) * mean + NEW_SHARE * point
            middle = 0.5 * point
            middle[best_set] += 0.5
            points = [point, middle, mean][: self._cuts_per_round]
        return best_set

    def _within_reach(self, linear: Floats, start: Floats) -> Floats:
        """Return the linear terms without costs in the millions, for which an LP solver has no digits.

        The penalty of discrete parents is a product of arities, which 28 columns take to 1e12.
        """
        if linear.min(initial=0.0) > -LARGE_COST:
            return linear
        steps = np.abs(np.diff(self._g(decreasing_order(start)))).sum()
        return np.maximum(linear, -max(OUT_OF_REACH * float(steps), LARGE_COST))

    def _cut(self, order: Ints, linear: Floats) -> tuple[float, int]:
        """Add the cut of an order; return the least value among its prefixes, and that prefix's length."""
        base, value, length = self._g.base(order, linear)
        slope = base + linear
        self._slopes = slope if self._slopes is None else (1 - NEW_SHARE) * self._slopes + NEW_SHARE * slope
        self._program.add_row(0.0, np.inf, self._columns, np.append(-slope, 1.0))
        return value, length

    def _order(self, point: Floats, linear: Floats) -> Ints:
        """Return the positions by decreasing coordinate, ties by their apparent gain."""
        if self._slopes is None:
            return decreasing_order(point)
        gain = np.argsort(self._slopes - linear, kind="stable")
        return decreasing_order(np.round(point / TIE), gain)
