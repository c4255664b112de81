"""MMPC: for each variable the parents and children that no set of the others separates from it.

The max-min heuristic [1]_ grows the candidates of a target one by one: each time it takes the variable whose
weakest association with the target, over all sets of the candidates so far, is strongest; variables that
some set separates are excluded permanently. Then candidates that a set of the other candidates separates are dropped;
each is tested against all candidates grown, so the order of dropping does not matter. Finally, a pair is kept only if
each is a candidate of the other.

Associations are compared by the logarithm of the p-value, which still ranks strong ones whose p-values are all
0, so the candidates do not depend on the order of the columns.

References
----------
.. [1] I. Tsamardinos, L. E. Brown, C. F. Aliferis, "The max-min hill-climbing Bayesian network structure learning
   algorithm", Machine Learning 65, 2006, DOI 10.1007/s10994-006-6889-7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dagopt.arrays import Bools, Ints
from dagopt.methods.independence.independence_test import IndependenceTest, Search
from dagopt.workers import ordered_map

__all__ = ["Candidates", "learn_candidates"]


@dataclass(frozen=True)
class Candidates:
    """Which pairs of variables may be joined.

    Attributes
    ----------
    joined : symmetric bool array of shape (n, n)
        Pairs that are candidates of each other.
    n_tests : int
        How many tests were made.
    n_one_sided : int
        Pairs in which only one was a candidate of the other.
    complete : bool
        False if the search was stopped before its end.
    """

    joined: Bools
    n_tests: int
    n_one_sided: int
    complete: bool


def learn_candidates(search: Search, required: Bools, allowed: Bools) -> Candidates:
    """Return the candidates of all variables, with the symmetry correction.

    Parameters
    ----------
    search : Search
        The test and how it is used.
    required, allowed : symmetric bool arrays of shape (n, n)
        Pairs that are always candidates, and pairs that may be.
    """
    n = search.test.n_nodes
    limit = n if search.max_given is None else search.max_given
    found = np.zeros((n, n), dtype=bool)
    tests = 0
    complete = True

    def grow(target: int) -> _Target:
        grown = _Target(search.test, target, math.log(search.alpha), limit, lambda: search.deadline.reason)
        grown.run(required[target], allowed[target])
        return grown

    for target, grown in enumerate(ordered_map(grow, range(n), search.n_jobs)):
        found[target, grown.chosen] = True
        tests += grown.n_tests
        complete &= not grown.stopped
        search.progress.update("candidate parents and children", (target + 1) / n, tests=tests)
    joined = (found & found.T) | required
    one_sided = int(np.triu(found ^ found.T).sum())
    return Candidates(joined, tests, one_sided, complete)


class _Target:
    """The search for the candidates of one variable."""

    def __init__(
        self, test: IndependenceTest, target: int, limit: float, max_given: int, stop: Callable[[], object]
    ) -> None:
        self.chosen: list[int] = []
        self.n_tests = 0
        self.stopped = False
        self._test = test
        self._target = target
        self._limit = limit
        self._max_given = max_given
        self._stop = stop
        self._others = np.empty(0, dtype=np.int64)
        self._weakest = np.empty(0)

    def run(self, required: Bools, allowed: Bools) -> None:
        """Grow from the required variables, then shrink."""
        outside = allowed & ~required
        outside[self._target] = False
        self._others = np.flatnonzero(outside).astype(np.int64)
        self._weakest = np.full(len(self._others), -np.inf)
        self._look(())
        for variable in np.flatnonzero(required).tolist():
            self._take(variable)
        while len(self._others) and not self.stopped:
            self._take(int(self._others[np.argmin(self._weakest)]))
        self._shrink(required)

    def _take(self, variable: int) -> None:
        """Make a variable a candidate, and test the others given every set that contains it."""
        stays = self._others != variable
        self._others, self._weakest = self._others[stays], self._weakest[stays]
        before = tuple(self.chosen)
        self.chosen.append(variable)
        for size in range(min(len(before), self._max_given - 1) + 1):
            for rest in combinations(before, size):
                if len(self._others) == 0 or self.stopped:
                    return
                self._look((*rest, variable))

    def _look(self, given: tuple[int, ...]) -> None:
        """Test the others given one set; those that it separates from the target are excluded."""
        if self._stop():
            self.stopped = True
            return
        chosen: Ints = np.array(sorted(given), dtype=np.int64)
        log_p = self._test.log_p_values_with(self._target, self._others, chosen)
        self.n_tests += len(log_p)
        self._weakest = np.maximum(self._weakest, log_p)
        stays = self._weakest <= self._limit
        self._others, self._weakest = self._others[stays], self._weakest[stays]

    def _shrink(self, required: Bools) -> None:
        """Drop the candidates that a set of the other candidates separates; the last needs no second test."""
        judged = [variable for variable in self.chosen[:-1] if not required[variable]]
        dropped = {variable for variable in judged if not self.stopped and self._is_separated(variable)}
        self.chosen = [variable for variable in self.chosen if variable not in dropped]

    def _is_separated(self, variable: int) -> bool:
        rest = [other for other in self.chosen if other != variable]
        alone = np.array([variable], dtype=np.int64)
        for size in range(1, min(len(rest), self._max_given) + 1):
            for given in combinations(sorted(rest), size):
                if self._stop():
                    self.stopped = True
                    return False
                self.n_tests += 1
                chosen: Ints = np.array(given, dtype=np.int64)
                if self._test.log_p_values_with(self._target, alone, chosen)[0] > self._limit:
                    return True
        return False
