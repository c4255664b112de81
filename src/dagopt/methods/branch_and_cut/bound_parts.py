"""The parts of branch and cut that take turns (``turns.py``) if not all parent sets can be listed at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.families.undominated import Listing, TooMany
from dagopt.lp.priced_root import PricedRoot
from dagopt.methods.branch_and_cut.pair_bound import PairBound
from dagopt.workers import Stopped, Workers

__all__ = ["ListingTurns", "PairTurns", "PricingTurns"]

SECONDS_TO_PRICE = 1e-3  # per pair of columns; with less time pricing, whose first LP takes 3 % of it, is not begun


class PairTurns:
    """The turns of the bound by pairs."""

    hopeless = False

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
        """Go on until the round in which the clock stops."""
        self._pairs.run(clock)

    def try_harder(self) -> bool:
        """Go on with larger sets, though they take long; say whether there are any."""
        return self._pairs.try_harder()

    def outlook(self, seconds: float) -> float | None:
        """Return what the weights known prove if larger sets change nothing, None to judge by how fast it falls."""
        return self._pairs.outlook(seconds)


class PricingTurns:
    """The turns of pricing, which is finished when it has listed the families left.

    Parameters
    ----------
    make : callable
        Returns the run, which is made in the first turn: with hundreds of columns that takes seconds.
    n_nodes : int
        The number of columns.
    max_sets, tolerance : int, float
        See ``PricedRoot.run``.
    deadline : Deadline
        The clock of the whole run.
    constant : float
        What the score of blocks may have more than that of their columns, which are priced.
    """

    hopeless = False

    def __init__(
        self,
        make: Callable[[], PricedRoot],
        n_nodes: int,
        max_sets: int,
        tolerance: float,
        deadline: Deadline,
        constant: float = 0.0,
    ) -> None:
        self.root: PricedRoot | None = None
        self._make = make
        self._constant = constant
        self._needed = SECONDS_TO_PRICE * n_nodes**2
        self._facts = (max_sets, tolerance)
        self._deadline = deadline

    @property
    def bound(self) -> float:
        """A bound on the score of every DAG."""
        return np.inf if self.root is None else self.root.bound + self._constant

    @property
    def over(self) -> bool:
        """Whether nothing is left to do, or there is too little time to begin."""
        return self._deadline.remaining() < self._needed if self.root is None else self.root.over

    @property
    def finished(self) -> bool:
        """Whether the families left are listed."""
        return self.root is not None and self.root.families is not None

    def work(self, clock: Deadline) -> None:
        """Go on until the round of climbs or of pricing in which the clock stops."""
        self.begin().run(*self._facts, clock)

    def begin(self) -> PricedRoot:
        """Return the run, which is made if there is none yet."""
        self.root = self.root or self._make()
        return self.root

    def try_harder(self) -> bool:
        """Go on with longer searches for a price; say whether they may help."""
        return self.root is not None and self.root.try_harder()

    def outlook(self, seconds: float) -> float | None:
        """Return the bound to expect by what climbs have found; None to judge by how fast it falls."""
        found = None if self.root is None else self.root.outlook(seconds)
        return None if found is None else found + self._constant


class ListingTurns:
    """The turns of a listing, which gives no bound; branch and cut does so when it is over.

    It is nearly done if it is expected to take at most a share of the time left, and hopeless if it would take many
    times that.
    """

    bound = np.inf

    def __init__(self, listing: Listing, share: float, most: float, workers: Workers) -> None:
        self._listing = listing
        self._share, self._most = share, most
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

    @property
    def hopeless(self) -> bool:
        """Whether it is expected to take many times the time left."""
        return self._listing.seconds_left(self._workers.count) > self._most * self._workers.deadline.remaining()

    def try_harder(self) -> bool:
        """Say no: sets that are too many stay so."""
        return False

    def outlook(self, seconds: float) -> float:
        """Return minus infinity if it is nearly done, and else infinity."""
        return -np.inf if self._listing.seconds_left(self._workers.count) <= self._share * seconds else np.inf
