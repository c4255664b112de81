"""The best DAG over given families, by a search over prefixes of its order, with a bound from the LP's multipliers.

A prefix S is the set of the first nodes of an order. For multipliers λ ≥ 0 the bound of the LP is Σ λ b plus each
node's largest remainder. A family (i, J) with a smaller remainder lowers the bound by the difference, its loss. So no
DAG whose order begins with S scores more than

    bound - Σ over i in S of the least loss of i given the nodes before it,

and S is dropped if that is below the best score known. All prefixes of k nodes are found from those of k - 1, each with
its best score and its least loss. The search ends with the best DAG, or with no prefix: then the best DAG known is the
best of all. A second bound adds to the score of S the most that the nodes outside S can score; they are split into
groups, and only cycles within a group are forbidden. If a node can have its best family, only that node comes next.

The number of prefixes grows with the gap, not with the number of families, and with a small gap it is a small share of
the 2^n sets. It is predicted from the first layers; if it would be too large, the search is given up after a moment.
The caller says how many are worth their time, because cutting on may take less.

References
----------
Yuan, Malone (2013). Learning optimal Bayesian networks: a shortest path perspective. JAIR 48.
Karan, Zola (2016). Exact structure learning of Bayesian networks by optimal path extension. IEEE Big Data.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints, Words
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.kernels.cuts import prefixes as kernels
from dagopt.lp.rows.row import Point
from dagopt.memory import available_bytes

__all__ = ["PrefixSearch"]


MOST_NODES = 62  # a prefix is the bits of one word
MOST_PREFIXES = 16_000_000  # of one size
BYTES_PER_PREFIX = 120  # for the tables of two layers and what is kept of earlier ones
FORESEEN_FROM = 20_000  # from this many prefixes of one size on, later layers are predicted and groups are used
FORESEEN_SHARE = 0.12  # of those that may be kept, from which on their sum is predicted: the first layers say too much
GROUP = 14  # the number of nodes in the largest group
CHUNK = 20_000  # prefixes between two looks at the clock
NO_GROUPS = kernels.Groups(
    np.empty(0, dtype=np.int64), np.zeros(1, dtype=np.int64), np.empty(0), np.empty(0, dtype=np.int64)
)


@dataclass
class PrefixSearch:
    """One search.

    Parameters
    ----------
    point : Point
        The LP point whose multipliers are used.
    alive : bool array
        The families that a better DAG may use.
    score : float
        The score of the best DAG known; the search is for a better one.
    deadline : Deadline
        When to stop.
    threads : ThreadPoolExecutor
        The threads on which kernels run. The answer does not depend on them.
    n_threads : int
        The number of pieces of a layer that are processed at once.
    most : float
        The search is given up when it has kept so many prefixes, or is expected to.

    Attributes
    ----------
    finished : bool
        Whether the search was completed.
    n_prefixes : int
        The number of prefixes kept.
    """

    point: Point
    alive: Bools
    score: float
    deadline: Deadline
    threads: ThreadPoolExecutor
    n_threads: int = 1
    most: float = np.inf
    finished: bool = False
    n_prefixes: int = 0
    _layers: list[tuple[Words, NDArray[np.uint8]]] = field(default_factory=list)

    def run(self) -> Ints | None:
        """Return the families of the best DAG; None if the known one is the best or the search was given up.

        ``finished`` says which of the two.
        """
        families = self.point.families
        n = families.n_nodes
        if n > MOST_NODES or n < 2:
            return None
        self._most = min(MOST_PREFIXES, available_bytes() // 2 // BYTES_PER_PREFIX)
        self._prepare(families)
        prefixes, score, loss = np.zeros(1, dtype=np.uint64), np.zeros(1), np.zeros(1)
        for size in range(1, n + 1):
            layer = self._next(prefixes, score, loss, size)
            if layer is None:
                return None
            found = np.flatnonzero(layer.keys)
            prefixes, score, loss = layer.keys[found], layer.score[found], layer.loss[found]
            self._layers.append((prefixes, layer.last[found]))
            self.n_prefixes += len(prefixes)
            if not len(prefixes):
                break
            if self.n_prefixes > self.most:
                return None
            if len(prefixes) > FORESEEN_FROM:
                if self._too_many(size, n):
                    return None
                if self._groups is NO_GROUPS:
                    self._group(n)
        self.finished = True
        return self._chosen(families) if len(prefixes) else None

    def _prepare(self, families: Families) -> None:
        """Make the lists by score and by loss; there are no groups at first."""
        kept = np.flatnonzero(self.alive)
        self._families = families.only(kept)
        margin = 1e-9 * max(abs(self.score), 1.0)
        self._limits = (-np.inf, self.score - self.point.bound - margin)  # the first one is set with the groups
        self._by_score = _lists(self._families, self._families.score)
        self._by_loss = _lists(self._families, self.point.excess[kept])
        self._groups = NO_GROUPS

    def _group(self, n: int) -> None:
        """Make the groups, once the layers are large enough for them to pay off."""
        self._groups = _groups(self._by_score, n)
        self._limits = (self.score - 1e-9 * max(abs(self.score), 1.0), self._limits[1])

    def _next(self, prefixes: Words, score: Floats, loss: Floats, size: int) -> kernels.Table | None:
        """Return the prefixes with one more node; None if the time is up or there are too many."""
        pieces = np.array_split(np.arange(len(prefixes)), self.n_threads if len(prefixes) > CHUNK else 1)
        expanded = list(self.threads.map(lambda own: self._expand(prefixes[own], score[own], loss[own]), pieces))
        if any(one is None for one in expanded):
            return None
        (table, used), *others = [one for one in expanded if one is not None]
        for other, more in others:
            table = _with_room(table, used, used + more)
            used = kernels.merge(table, used, *other)
        return table if used <= self._most else None

    def _expand(self, prefixes: Words, score: Floats, loss: Floats) -> tuple[kernels.Table, int] | None:
        """Return a table of the prefixes that follow the given ones, and their number."""
        table, used, at = _empty(2 * len(prefixes)), 0, 0
        while at < len(prefixes):
            own = slice(at, at + CHUNK)
            used, done = kernels.expand(
                prefixes[own], score[own], loss[own], self._by_score, self._by_loss, self._groups, self._limits,
                table, used,
            )  # fmt: skip
            at += done
            if self.deadline.reason is not None or used > self._most:
                return None
            if done < len(prefixes[own]):
                table = _with_room(table, used, 2 * used + CHUNK)
        return table, used

    def _too_many(self, size: int, n: int) -> bool:
        """Predict whether a later layer will be too large, from how the share of all sets falls from layer to layer."""
        share = len(self._layers[-1][0]) / comb(n, size)
        before = len(self._layers[-2][0]) / comb(n, size - 1) if size > 1 else 1.0
        falling = min(share / before, 1.0)
        later = [comb(n, k) * share * falling ** (k - size) for k in range(size, n + 1)]
        may_be_many = self.n_prefixes > FORESEEN_SHARE * self.most and sum(later) > 2 * self.most
        return max(later) > 2 * self._most or may_be_many

    def _chosen(self, families: Families) -> Ints | None:
        """Return the indices of the best DAG's families; its order is read backwards from the last layer."""
        order = np.empty(families.n_nodes, dtype=np.int64)
        prefix = self._layers[-1][0][0]
        for place in range(families.n_nodes - 1, -1, -1):
            prefixes, last = self._layers[place]
            order[place] = last[np.flatnonzero(prefixes == prefix)[0]]
            prefix ^= np.uint64(1) << np.uint64(order[place])
        chosen = families.along(order)
        return chosen if families.total(chosen) > self.score else None


def _lists(families: Families, values: Floats) -> kernels.Lists:
    """Return the lists of the nodes, each sorted from the largest value down."""
    n = families.n_nodes
    sizes = np.diff(families.offsets)
    first_word = np.concatenate([[0], np.cumsum((sizes + 63) // 64)])
    bits = np.zeros((first_word[-1], n), dtype=np.uint64)
    order = np.lexsort((-values, families.node))
    for i in range(n):
        own = order[families.offsets[i] : families.offsets[i + 1]]
        kernels.fill_bits(families.words[own, 0], bits[first_word[i] : first_word[i + 1]])
    return kernels.Lists(bits, first_word.astype(np.int64), values[order], families.offsets)


def _groups(lists: kernels.Lists, n: int) -> kernels.Groups:
    """Return groups of nodes that prefer each other as parents, as equal in size as possible, with their tables."""
    count = -(-n // GROUP)
    conflict = _conflicts(lists, n)
    left = np.ones(n, dtype=np.bool_)
    nodes: list[int] = []
    starts = [0]
    for q in range(count):
        own: list[int] = []
        for _ in range((n - len(nodes)) // (count - q)):
            pull = conflict[own].sum(axis=0) if own else conflict.sum(axis=0)
            own.append(int(np.argmax(np.where(left, pull, -1.0))))
            left[own[-1]] = False
        nodes += own
        starts.append(len(nodes))
    tables = []
    for first, last in pairwise(starts):
        tables.append(np.empty(1 << (last - first)))
        kernels.fill_group(lists, np.array(nodes[first:last], dtype=np.int64), tables[-1])
    firsts = np.concatenate([[0], np.cumsum([len(table) for table in tables[:-1]])]).astype(np.int64)
    return kernels.Groups(np.array(nodes), np.array(starts), np.concatenate(tables), firsts)


def _conflicts(lists: kernels.Lists, n: int) -> Floats:
    """Return for each pair of nodes the least cost of allowing only one to be a parent of the other."""
    cost = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k = kernels.first_fitting(lists, i, np.array([i, j]), 2)
            values = lists.values[lists.starts[i] : lists.starts[i + 1]]
            cost[i, j] = values[0] - values[k] if k >= 0 else values[0] - values[-1]
    return np.minimum(cost, cost.T)


def _empty(wanted: int) -> kernels.Table:
    """Return an empty table with room for this many prefixes."""
    size = 1 << max(12, int(np.ceil(np.log2(max(wanted, 1) / kernels.FULL))))
    keys, last = np.zeros(size, dtype=np.uint64), np.zeros(size, dtype=np.uint8)
    return kernels.Table(keys, np.empty(size), np.empty(size), last)


def _with_room(table: kernels.Table, used: int, wanted: int) -> kernels.Table:
    """Return a table with the same prefixes and room for this many."""
    larger = _empty(wanted + MOST_NODES)
    if len(larger.keys) <= len(table.keys):
        return table
    kernels.merge(larger, 0, *table)
    return larger
