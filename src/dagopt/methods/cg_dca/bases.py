"""Submodular functions given by values along orders, and their greedy bases; both convex steps of DCA use them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.methods.cg_dca.lovasz import subgradient

__all__ = ["SetFunction", "base_of_chain"]


class SetFunction:
    """A submodular function; a sub-class may compile the parts that the convex steps need.

    Parameters
    ----------
    chain : callable
        Returns the values along an order of elements: of the empty set, the first, the first two, and so on.
    """

    def __init__(self, chain: Callable[[Ints], Floats]) -> None:
        self._chain = chain

    def __call__(self, order: Ints) -> Floats:
        """Return the values along an order, from the empty set on."""
        return self._chain(order)

    def base(self, order: Ints, linear: Floats) -> tuple[Floats, float, int]:
        """Return the greedy base of an order (minus a linear term), its least prefix sum and where that is."""
        return base_of_chain(self, order, linear)

    def minimiser(self, linear: Floats, order: Ints, tolerance: float) -> Ints | None:
        """Return a set that minimises the function minus a linear term, starting at an order; None if not compiled."""
        return None


def base_of_chain(chain: Callable[[Ints], Floats], order: Ints, linear: Floats) -> tuple[Floats, float, int]:
    """Return the greedy base from the values of a function along an order."""
    values = chain(order)
    reduced = values - values[0] - np.concatenate([[0.0], np.cumsum(linear[order])])
    length = int(np.argmin(reduced))
    return subgradient(order, reduced), float(reduced[length]), length
