"""What a search over orders needs: a way to score orders and to improve them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline

__all__ = ["Dag", "Ints", "Orders"]

Ints = NDArray[np.int64]
Dag = NDArray[np.int8]


class Orders(Protocol):
    """A way to score orders and to improve them."""

    n_nodes: int

    def start(self, order: Ints, deadline: Deadline, dag: Dag | None = None, after: Any = None) -> Any:
        """Return the state of a search that begins at an order.

        ``dag``, if given, has this order, and its parent sets are used where they are better than those found.
        ``after`` is the state of an earlier search, which is over and whose memory is used again.
        """

    def improve(self, state: Any, variables: Ints) -> tuple[int, int]:
        """Put each of these variables at its best place; return how many were tried, and how many at the end stayed.

        Fewer than all are tried, perhaps none, where that takes long: it is then time to look at the clock.
        """

    def score(self, state: Any) -> float:
        """Return the score of the present order."""

    def order(self, state: Any) -> Ints:
        """Return the present order."""

    def dag(self, state: Any) -> Dag:
        """Return the present DAG."""
