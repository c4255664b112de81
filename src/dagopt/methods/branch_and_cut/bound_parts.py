"""The parts of branch and cut that take turns (``turns.py``) if not all parent sets can be listed at once."""

from __future__ import annotations

import numpy as np

from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.families.undominated import Listing, TooMany
from dagopt.lp.priced_root import PricedRoot
from dagopt.methods.branch_and_cut.pair_bound import PairBound
from dagopt.workers import Stopped, Workers

__all__ = ["ListingTurns", "PairTurns", "PricingTurns"]


class PairTurns:
    """The turns of the bound by pairs."""

    def __init__(self, pairs: PairBound) -> None:
        self._pairs = pairs

    @property
    def bound(self) -> float:
        """A bound on the score of every DAG."""
        return self._pairs.bound

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        return self._pairs.over

    @property
    def finished(self) -> bool:
        """No: it lists nothing."""
        return False

    def work(self, clock: Deadline) -> None:
        """Go on until the clock stops."""
        self._pairs.run(clock)

    def outlook(self, seconds: float) -> None:
        """Return nothing: the bound is judged by how fast it falls."""


class PricingTurns:
    """The turns of pricing, which is finished when it has listed the families left."""

    def __init__(self, root: PricedRoot, max_sets: int, tolerance: float, workers: Workers) -> None:
        self._root = root
        self._facts = (max_sets, tolerance)
        self._workers = workers

    @property
    def bound(self) -> float:
        """A bound on the score of every DAG."""
        return self._root.bound

    @property
    def over(self) -> bool:
        """Whether nothing is left to do."""
        return self._root.over

    @property
    def finished(self) -> bool:
        """Whether the families left are listed."""
        return self._root.families is not None

    def work(self, clock: Deadline) -> None:
        """Go on until the clock stops."""
        with Workers(clock, self._workers.progress, self._workers.count) as some:
            self._root.run(*self._facts, some)

    def outlook(self, seconds: float) -> None:
        """Return nothing: the bound is judged by how fast it falls."""


class ListingTurns:
    """The turns of a listing, which gives no bound; branch and cut does so when it is over.

    It is nearly done if it is expected to take at most a share of the time left.
    """

    bound = np.inf

    def __init__(self, listing: Listing, share: float, workers: Workers) -> None:
        self._listing = listing
        self._share = share
        self._workers = workers
        self.over = False
        self.families: Families | None = None

    def work(self, clock: Deadline) -> None:
        """Go on until the clock stops."""
        with Workers(clock, self._workers.progress, self._workers.count) as some:
            try:
                self.families = self._listing.run(some)
                self.over = True
            except Stopped:
                return
            except TooMany:
                self.over = True

    @property
    def finished(self) -> bool:
        """Whether all families are listed."""
        return self.families is not None

    def outlook(self, seconds: float) -> float:
        """Return minus infinity if it is nearly done, and else infinity."""
        return -np.inf if self._listing.seconds_left(self._workers.count) <= self._share * seconds else np.inf
