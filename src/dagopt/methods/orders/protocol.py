"""What a search over orders needs: a way to score orders and to improve them."""

from __future__ import annotations

from typing import Any, Protocol

from dagopt.arrays import Dag, Ints
from dagopt.deadline import Deadline

__all__ = ["Orders"]


class Orders(Protocol):
    """A way to score orders and to improve them."""

    n_nodes: int

    def start(self, order: Ints, deadline: Deadline, dag: Dag | None = None, after: Any = None) -> Any:
        """Return the state of a search that starts from an order.

        ``dag``, if given, has this order, and its parent sets are used if they are better than those found.
        ``after`` is the state of an earlier, finished search, whose memory is reused.
        """

    def improve(self, state: Any, variables: Ints) -> tuple[int, int]:
        """Move each variable to its best position; return how many were tried and how many of the last ones stayed.

        Fewer than all, perhaps none, are tried if that takes long, so that the caller can check the clock.
        """

    def score(self, state: Any) -> float:
        """Return the score of the current order."""

    def order(self, state: Any) -> Ints:
        """Return the current order."""

    def dag(self, state: Any) -> Dag:
        """Return the current DAG."""
