"""The interface of a pricer."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.families.families import Family
from dagopt.graph.knowledge import Knowledge
from dagopt.lp.rows.row import Point

__all__ = ["Priced", "Pricer"]


class Priced(NamedTuple):
    """Families with negative reduced cost, the least reduced cost found, and whether it is proven to be the least."""

    families: list[Family]
    reduced_cost: float
    exact: bool


class Pricer(Protocol):
    """Finds parent sets with negative reduced cost.

    Attributes
    ----------
    knowledge : Knowledge
        Which parent sets it considers; the scope of a bound from its prices.
    """

    knowledge: Knowledge

    def candidates(self, node: int) -> NDArray[np.int64]:
        """Return the nodes that may but need not be parents; start points are over them."""
        return self.knowledge.free(node)

    def price(self, node: int, lp: Point, start: NDArray[np.float64], deadline: Deadline) -> Priced:
        """Price one node."""

    def forget(self) -> None:
        """Reset to the state after construction, so that a resumed run goes the same way as an uninterrupted one.

        Does nothing if prices do not depend on what was priced before.
        """
        return
