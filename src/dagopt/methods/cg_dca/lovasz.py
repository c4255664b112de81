"""The Lovász extension: the piecewise linear function on the unit cube that agrees with a set function on sets.

With σ an order of decreasing coordinates and S_k its first k elements (appendix A.2 of the paper)

    h^L(x) = Σ_{k=0..d} (x_σ(k) - x_σ(k+1)) h(S_k),      x_σ(0) = 1, x_σ(d+1) = 0,

and the steps h(S_k) - h(S_{k-1}) along σ are a subgradient at x where h is submodular.
"""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Floats, Ints

__all__ = ["decreasing_order", "extension", "subgradient"]


def decreasing_order(point: Floats, ties: Ints | None = None) -> Ints:
    """Return the positions by decreasing coordinate, ties in the order of ``ties`` or by position."""
    if ties is None:
        return np.argsort(-point, kind="stable")
    return ties[np.argsort(-point[ties], kind="stable")]


def extension(point: Floats, order: Ints, chain: Floats) -> float:
    """Return h^L at a point, from the values of h along its decreasing order."""
    sorted_point = np.concatenate([[1.0], point[order], [0.0]])
    return float(-np.diff(sorted_point) @ chain)


def subgradient(order: Ints, chain: Floats) -> Floats:
    """Return the steps of h along an order, each at its element's index."""
    steps = np.empty(len(order))
    steps[order] = np.diff(chain)
    return steps
