"""The minimum-norm point of a base polytope: minimises a submodular function exactly, by Fujishige and Wolfe.

For h with h(∅) = 0 the point p of least norm in the base polytope of h gives a minimiser: the set of negative
coordinates. Wolfe's algorithm keeps a few vertices (greedy bases), moves to the affine minimiser of their hull
and adds the vertex that improves the current point most, until none helps.

References
----------
Fujishige, Isotani (2011). A submodular function minimization algorithm based on the minimum-norm base.
Pacific Journal of Optimization 7.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.deadline import FOREVER, Deadline
from dagopt.methods.cg_dca.bases import SetFunction, base_of_chain

__all__ = ["min_norm", "min_norm_of_chains"]


MOST_VERTICES = 2000  # major cycles; the method is finite, but rounding could make it circle
TINY_WEIGHT = 1e-12  # of a vertex in the convex combination; smaller ones are rounding


def min_norm(g: SetFunction, linear: Floats, start: Floats, tolerance: float, deadline: Deadline = FOREVER) -> Ints:
    """Return a set that minimises g(J) - Σ_{j in J} linear_j, by the compiled algorithm of g where it has one.

    Parameters
    ----------
    g : SetFunction
        The submodular function.
    linear : array
        What is subtracted, y.
    start : array
        A point whose order gives the first vertex.
    tolerance : float
        How far from the minimum the set may be.
    deadline : Deadline
        The best set so far is returned then.
    """
    found = g.minimiser(linear, np.argsort(-start, kind="stable"), tolerance)
    return min_norm_of_chains(g, linear, start, tolerance, deadline) if found is None else found


def min_norm_of_chains(
    chain: Callable[[Ints], Floats],
    linear: Floats,
    start: Floats,
    tolerance: float,
    deadline: Deadline = FOREVER,
) -> Ints:
    """Return the same for any submodular function given by its values along orders."""
    order = np.argsort(-start, kind="stable")
    best_value, best_set = np.inf, np.empty(0, dtype=np.int64)

    def vertex(order: Ints) -> Floats:
        """Return the greedy base of an order, and remember its best prefix."""
        nonlocal best_value, best_set
        base, value, length = base_of_chain(chain, order, linear)
        if value < best_value:
            best_value, best_set = value, order[:length]
        return base

    point = vertex(order)
    vertices = point[None, :].copy()
    weights = np.ones(1)
    for _ in range(MOST_VERTICES):
        if deadline.reason is not None:
            break
        if best_value - float(np.minimum(point, 0.0).sum()) <= tolerance:
            break  # a base's negative part bounds the minimum from below
        best_vertex = vertex(np.argsort(point, kind="stable"))
        if float(point @ point) - float(point @ best_vertex) <= 1e-12 * max(float(point @ point), 1.0):
            break  # no vertex is closer to the origin
        vertices = np.vstack([vertices, best_vertex])
        weights = np.append(weights, 0.0)
        vertices, weights = _affine_steps(vertices, weights)
        point = weights @ vertices
    return best_set


def _affine_steps(vertices: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Move to the nearest point of the hull's affine span that is inside the hull, dropping vertices (Wolfe)."""
    while True:
        size = len(weights)
        system = np.ones((size + 1, size + 1))
        system[0, 0] = 0.0
        system[1:, 1:] = vertices @ vertices.T
        right = np.zeros(size + 1)
        right[0] = 1.0
        scale = max(float(np.trace(system[1:, 1:])) / size, 1e-300)
        system[1:, 1:] /= scale
        try:
            target = np.linalg.solve(system, right)[1:]
        except np.linalg.LinAlgError:
            target = np.linalg.lstsq(system, right, rcond=None)[0][1:]
        if (target > TINY_WEIGHT).all():
            return vertices, np.asarray(target, dtype=np.float64)
        falling = target <= TINY_WEIGHT
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(falling, weights / (weights - target), np.inf)
        step = float(min(np.nanmin(steps), 1.0))
        weights = weights + step * (target - weights)
        keep = weights > TINY_WEIGHT
        if keep.all():
            keep[int(np.argmin(weights))] = False
        vertices, weights = vertices[keep], np.asarray(weights[keep] / weights[keep].sum(), dtype=np.float64)
