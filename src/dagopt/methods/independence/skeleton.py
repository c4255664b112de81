"""The skeleton of stable PC: the pairs that no set of neighbours separates.

Within a level, all tests use the neighbours at the start of the level [1]_, so the skeleton does not
depend on the order of the tests, and the tests of a level can run in parallel.

References
----------
.. [1] D. Colombo, M. H. Maathuis, "Order-independent constraint-based causal structure learning", Journal of
   Machine Learning Research 15, 2014.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import comb

import numpy as np
import pandas as pd

from dagopt.arrays import Bools, Floats, Ints
from dagopt.deadline import StopReason
from dagopt.methods.independence.independence_test import Search, Separation
from dagopt.workers import ordered_map

__all__ = ["SeparatingSets", "Skeleton", "learn_skeleton"]

NO_NODES: frozenset[int] = frozenset()
PARTS = 64  # parts of a level's work, between which progress is shown
FEWEST_IN_THREADS = 2000  # the fewest tests for which threads are worth starting


class Skeleton:
    """An undirected graph and why the other pairs are not joined.

    Of most pairs the separating set is empty, so only the others are stored one by one.

    Attributes
    ----------
    adjacent : bool array of shape (n, n)
        Which nodes are joined.
    separated : bool array of shape (n, n)
        True at [i, j], i < j, for the pairs that a set separates.
    separators : dict
        For each separated pair (i, j), i < j, its separating set, unless it is empty.
    log_p : array of shape (n, n)
        At [i, j], i < j, for each separated pair the logarithm of the p-value given that set.
    levels : list of tuple
        Size of the sets, pairs tested, tests, pairs separated, seconds; one row per level.
    reason : str or None
        Why the search was stopped before its end.
    """

    def __init__(self, adjacent: Bools) -> None:
        self.adjacent = adjacent
        self.separated = np.zeros_like(adjacent)
        self.separators: dict[tuple[int, int], frozenset[int]] = {}
        self.log_p = np.zeros(adjacent.shape)
        self.levels: list[tuple[int, int, int, int, float]] = []
        self.reason: StopReason | None = None

    @property
    def n_tests(self) -> int:
        """How many tests were made."""
        return sum(level[2] for level in self.levels)

    def frame(self) -> pd.DataFrame:
        """Return the levels, one row per level."""
        return pd.DataFrame(self.levels, columns=["level", "pairs", "tests", "separated", "seconds"])

    def separator(self, i: int, j: int) -> frozenset[int] | None:
        """Return the set that separates two nodes, i < j; None if there is none."""
        return self.separators.get((i, j), NO_NODES) if self.separated[i, j] else None

    def record(self, pairs: Ints, result: Separation) -> int:
        """Remove the pairs that were separated; return how many."""
        found = np.flatnonzero(~np.isnan(result.log_p))
        i, j = pairs[found].T
        self.adjacent[i, j] = self.adjacent[j, i] = False
        self.separated[i, j] = True
        self.log_p[i, j] = result.log_p[found]
        if result.sets.shape[1]:
            own = zip(i.tolist(), j.tolist(), result.sets[found].tolist(), strict=True)
            self.separators |= {(a, b): frozenset(members) for a, b, members in own}
        return len(found)


class SeparatingSets(Mapping[tuple[str, str], tuple[str, ...]]):
    """The separating set of each separated pair, by names."""

    def __init__(self, skeleton: Skeleton, names: Sequence[str]) -> None:
        self._separated = skeleton.separated
        self._separators = skeleton.separators
        self._names = tuple(names)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._separated))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((self._names[i], self._names[j]) for i, j in np.argwhere(self._separated))

    def __getitem__(self, pair: tuple[str, str]) -> tuple[str, ...]:
        i, j = map(self._place.__getitem__, pair)
        if not self._separated[i, j]:
            raise KeyError(pair)
        return tuple(self._names[k] for k in sorted(self._separators.get((i, j), NO_NODES)))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self._names)}


def learn_skeleton(search: Search, required: Bools, allowed: Bools) -> Skeleton:
    """Separate pairs by sets of 0, 1, 2, ... neighbours.

    Parameters
    ----------
    search : Search
        The test and how it is used.
    required, allowed : symmetric bool arrays of shape (n, n)
        Pairs that are always joined, and pairs that may be joined. Pairs that may not be joined are still tested,
        since their separating sets help to find directions.

    Returns
    -------
    Skeleton
    """
    n = search.test.n_nodes
    skeleton = Skeleton(allowed | required)
    if reason := search.deadline.reason:
        skeleton.reason = reason
        return skeleton
    open_pairs = np.argwhere(np.triu(~required, k=1)).astype(np.int64)
    largest = n - 2 if search.max_given is None else min(search.max_given, n - 2)
    for size in range(largest + 1):
        cost = _set_counts(open_pairs, skeleton.adjacent, size)
        pairs = np.ascontiguousarray(open_pairs[cost > 0])
        if len(pairs) == 0:
            break
        _run_level(search, skeleton, pairs, cost[cost > 0], size)
        if skeleton.reason:
            break
        open_pairs = open_pairs[~skeleton.separated[open_pairs[:, 0], open_pairs[:, 1]]]
    return skeleton


def _run_level(search: Search, skeleton: Skeleton, pairs: Ints, cost: Floats, size: int) -> None:
    """Test all pairs of one level, in parts of about equal work, against the neighbours at its start."""
    begin = time.perf_counter()
    adjacent = skeleton.adjacent.copy()
    work = np.cumsum(cost)
    cuts = np.unique(np.searchsorted(work, np.linspace(0, work[-1], PARTS + 1)[1:-1]))
    parts = [part for part in np.split(pairs, cuts) if len(part)]

    def separate(part: Ints) -> Separation | None:
        if search.deadline.reason:
            return None
        return search.test.separate(part, adjacent, size, search.alpha, lambda: search.deadline.reason, search.best)

    tests = separated = done = 0
    jobs = search.n_jobs if work[-1] >= FEWEST_IN_THREADS else 1
    for part, result in zip(parts, ordered_map(separate, parts, jobs), strict=True):
        if result is None:  # not begun
            skeleton.reason = search.deadline.reason
            continue
        separated += skeleton.record(part, result)
        tests += result.n_tests
        done += len(part)
        if not result.complete:
            skeleton.reason = search.deadline.reason
        edges = np.count_nonzero(skeleton.adjacent) // 2
        search.progress.update(f"sets of {size} neighbours", done / len(pairs), edges=edges, tests=tests)
    skeleton.levels.append((size, len(pairs), tests, separated, time.perf_counter() - begin))


def _set_counts(pairs: Ints, adjacent: Bools, size: int) -> Floats:
    """Return how many sets of neighbours of either end there are for each pair."""
    if size == 0:
        return np.ones(len(pairs))
    counts = np.array([float(comb(k, size)) for k in range(adjacent.shape[0] + 1)])
    degree = adjacent.sum(axis=1)
    joined = adjacent[pairs[:, 0], pairs[:, 1]].astype(np.int64)
    found: Floats = counts[degree[pairs] - joined[:, None]].sum(axis=1)
    return found
