"""Greedy bases: the slope of a submodular function along an order, less a linear term, and its best prefix.

Both convex steps of DCA go from base to base.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.gaussian import min_norm as kernels
from dagopt.submodular.lovasz import subgradient

__all__ = ["GreedyBases", "SetFunction", "base_of_chain", "gaussian_form", "greedy_bases"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SetFunction = Callable[[Ints], Floats]
GreedyBases = Callable[[Ints, Floats], tuple[Floats, float, int]]


def greedy_bases(chain: SetFunction) -> GreedyBases:
    """Return what gives the greedy base of an order and a linear term, the least prefix sum, and that prefix's length.

    Parameters
    ----------
    chain : callable
        Returns g along an order of all elements, from the empty set on. Where it is the g of a Gaussian reduced cost,
        the bases come from a compiled kernel.
    """
    form = gaussian_form(chain)
    if form is None:
        return lambda order, linear: base_of_chain(chain, order, linear)
    compiled: Any = kernels.greedy_base
    return lambda order, linear: compiled(*form, linear, order)


def gaussian_form(chain: SetFunction) -> tuple[Any, ...] | None:
    """Return what the kernels take, if the function is the g of a Gaussian reduced cost."""
    form: tuple[Any, ...] | None = getattr(getattr(chain, "__self__", None), "gaussian_form", None)
    return form


def base_of_chain(chain: SetFunction, order: Ints, linear: Floats) -> tuple[Floats, float, int]:
    """Return the same by the values of the function along the order."""
    values = chain(order)
    reduced = values - values[0] - np.concatenate([[0.0], np.cumsum(linear[order])])
    length = int(np.argmin(reduced))
    return subgradient(order, reduced), float(reduced[length]), length
