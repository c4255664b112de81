"""The interface of tests of conditional independence, and the search for a separating set with any of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from dagopt.arrays import Bools, Floats, Ints
from dagopt.deadline import Deadline
from dagopt.progress import Progress

__all__ = ["IndependenceTest", "Search", "Separation"]


MOST_AT_ONCE = 64  # sets in one bulk call of the general search


@dataclass(frozen=True)
class Separation:
    """What one level of tests found, pair by pair.

    Attributes
    ----------
    log_p : array of shape (m,)
        The logarithm of the p-value given the separating set; NaN for a pair without one.
    sets : int array of shape (m, size)
        The separating sets.
    n_tests : int
        How many tests were made.
    complete : bool
        False if the search was stopped before its end.
    """

    log_p: Floats
    sets: Ints
    n_tests: int
    complete: bool


class IndependenceTest(ABC):
    """A test of "x and y are independent given a set" over numbered variables.

    Results are logarithms of p-values, which still rank strong dependences whose p-values are all 0.

    Attributes
    ----------
    n_nodes : int
        Number of variables.
    label : str
        What the test is, for reports.
    """

    n_nodes: int
    label: str

    def p_value(self, x: int, y: int, given: Iterable[int] = ()) -> float:
        """Return the p-value of the hypothesis that x and y are independent given a set."""
        chosen = np.array([sorted(given)], dtype=np.int64).reshape(1, -1)
        return math.exp(self.log_p_values(x, y, chosen)[0])

    @abstractmethod
    def log_p_values(self, x: int, y: int, sets: Ints) -> Floats:
        """Return log p of x and y given each row of ``sets``, an array of shape (m, size)."""

    @abstractmethod
    def take(self, order: Ints) -> IndependenceTest:
        """Return the test over the variables ``order``, renumbered in this order."""

    def log_p_values_with(self, x: int, others: Ints, given: Ints) -> Floats:
        """Return log p of x and each of ``others`` given one set."""
        return np.array([self.log_p_values(x, int(y), given.reshape(1, -1))[0] for y in others], dtype=float)

    def separate(
        self,
        pairs: Ints,
        adjacent: Bools,
        size: int,
        alpha: float,
        stop: Callable[[], object],
        best: bool = False,
    ) -> Separation:
        """Find, for each pair, a set of ``size`` neighbours of either end with a p-value above ``alpha``.

        The neighbours of the pair's first node come first, then those of its second, sets in lexicographic
        order; the first set that separates is taken, or the one with the largest p-value.

        Parameters
        ----------
        pairs : int array of shape (m, 2)
            The pairs.
        adjacent : bool array of shape (n, n)
            Which nodes are neighbours.
        size : int
            Size of the sets.
        alpha : float
            A p-value above this means independent.
        stop : callable
            Called between small steps; the search ends if it returns true.
        best : bool
            Whether to take the set with the largest p-value, the first of ties.

        Returns
        -------
        Separation
        """
        log_p = np.full(len(pairs), np.nan)
        sets = np.zeros((len(pairs), size), dtype=np.int64)
        made = 0
        for k, (x, y) in enumerate(pairs.tolist()):
            for chosen in _batches(_candidate_sets(x, y, adjacent, size)):
                if stop():
                    return Separation(log_p, sets, made, complete=False)
                values = self.log_p_values(x, y, chosen)
                made += len(values)
                at = int(np.argmax(values if best else values > math.log(alpha)))
                if values[at] > math.log(alpha) and not values[at] <= log_p[k]:
                    log_p[k], sets[k] = values[at], chosen[at]
                    if not best:
                        break
        return Separation(log_p, sets, made, complete=True)


def _candidate_sets(x: int, y: int, adjacent: Bools, size: int) -> Iterator[Sequence[int]]:
    """Yield the sets that may separate x and y: of neighbours of x, then of neighbours of y."""
    for end, other in ((x, y), (y, x)) if size else ((x, y),):
        near = adjacent[end].copy()
        near[other] = False
        yield from combinations(np.flatnonzero(near).tolist(), size)


def _batches(sets: Iterator[Sequence[int]]) -> Iterator[Ints]:
    """Yield the sets in batches of 1, 2, 4, ...: the first often separates, and long searches need large batches."""
    count = 1
    while batch := list(islice(sets, count)):
        yield np.array(batch, dtype=np.int64).reshape(len(batch), -1)
        count = min(2 * count, MOST_AT_ONCE)


@dataclass(frozen=True)
class Search:
    """A test and how a search uses it.

    Attributes
    ----------
    test : IndependenceTest
        The test.
    alpha : float
        A p-value above this means independent.
    deadline : Deadline
        When to stop; what is separated by then is kept.
    progress : Progress
        Where progress is reported.
    max_given : int, optional
        The largest size of a conditioning set.
    n_jobs : int
        The number of threads; the answer does not depend on it.
    best : bool
        Whether to use the separating set with the largest p-value rather than the first one.
    """

    test: IndependenceTest
    alpha: float
    deadline: Deadline
    progress: Progress
    max_given: int | None = None
    n_jobs: int = 1
    best: bool = False
