"""Order search over very many columns, of which only candidates can be joined (``kernels/orders/linked.py``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.deadline import Deadline
from dagopt.kernels.boxes import Box
from dagopt.kernels.gaussian.entries import Columns
from dagopt.kernels.orders import linked
from dagopt.kernels.orders.logdets import LogDets, make_work
from dagopt.kernels.orders.trees import BUDGET, COLUMNS, Given, Trees, make_growth

__all__ = ["LinkedOrders"]

SETS_PER_COLUMN, ENTRIES_PER_PAIR = 64, 16  # sets kept, 72 bytes each, and list entries kept, 8 bytes each
LEAST_ENTRIES = 1 << 22
LISTS_PER_CALL = 2_000  # between two looks at the clock: a tenth of a second
MOVES_PER_CALL, KICKS_PER_CALL = 2_000, 500
EQUAL = 1e-8  # orders of equivalent DAGs differ by rounding


class LinkedOrders:
    """A search over orders: the order, the parents of every column, and what growing and shrinking has found.

    Parameters
    ----------
    columns : array of shape (n, rows)
        The columns, with mean 0 and length 1.
    fit, costs : float, array
        The local score with s parents is ``-fit * log(residual share of the variance) - costs[s]``; there are as many
        costs as a column may have parents, and one more for none.
    pairs : pair of int arrays
        The candidates: ``pairs[0][k]`` and ``pairs[1][k]`` may be joined; no pair is listed twice.
    depth : float
        A column turns back when the score has fallen by this much.
    """

    def __init__(self, columns: Floats, fit: float, costs: Floats, pairs: tuple[Ints, Ints], depth: float) -> None:
        n = self.n_nodes = len(columns)
        self._depth = depth
        own, begins, ends, mirror = _lists(n, *pairs)
        widest = int((ends - begins).max(initial=0))
        most = len(costs) - 1
        room = min(most, widest) + 1
        form = np.zeros((3, room + 2))
        form[0] = -np.append(costs, [costs[-1]] * 2)[: room + 2]
        form[1] = fit
        given = Given(own, begins, ends, np.zeros((n, 0), dtype=np.bool_), np.full(n, most, dtype=np.int64))
        score = LogDets(Columns(columns), np.zeros(n), np.ascontiguousarray(form), make_work(room, widest + 1))
        self._growth = make_growth(given, score, _empty_trees(n, len(own)))
        self._state = Box(linked.make_linked(n, room, mirror, widest))
        self._patience = 1
        self._alone = -float(costs[0])

    def start(self, order: Ints, deadline: Deadline, parents: Sequence[Ints] | None = None) -> None:
        """Take an order, and the parents found for it; given ones, which come first in it, are kept if better."""
        state, growth = self._state, self._growth
        linked.follow(state, np.asarray(order, dtype=np.int64))
        state.sizes[:] = 0
        state.scores[:] = self._alone
        at = int(order[0])
        while at != self.n_nodes and deadline.reason is None:
            self._allow()
            last, at = at, int(linked.score_order(growth, state, at))
            self._went_on(at != last)
        for v, own in enumerate(parents or ()):
            linked.give_parents(growth, state, v, own)

    def settle(self, variables: Ints, deadline: Deadline) -> None:
        """Move these columns, and those affected, to their best places nearby, until none moves."""
        linked.queue_all(self._state, np.asarray(variables, dtype=np.int64))
        settled = False
        while not settled and deadline.reason is None:
            self._allow()
            head = int(self._state.counts[linked.HEAD])
            settled = linked.settle(self._growth, self._state, self._depth, MOVES_PER_CALL)
            self._went_on(int(self._state.counts[linked.HEAD]) != head)
        linked.end(self._growth, self._state, EQUAL)

    def kick(self, n_kicks: int, rng: np.random.Generator, deadline: Deadline, around: Ints | None = None) -> None:
        """Disturb the order locally this many times, search there again, and keep it if it is not worse.

        Each kick begins at a column drawn from all, or from those ``around`` which it is to be.
        """
        done = 0
        while done < n_kicks and deadline.reason is None:
            draws = rng.random((min(KICKS_PER_CALL, n_kicks - done), linked.DRAWS))
            if around is not None:
                draws[:, 0] = (around[(draws[:, 0] * len(around)).astype(np.int64)] + 0.5) / self.n_nodes
            here = 0
            while here < len(draws) and deadline.reason is None:
                self._allow()
                head = int(self._state.counts[linked.HEAD])
                made = int(linked.kick(self._growth, self._state, draws[here:], self._depth, EQUAL))
                self._went_on(made > 0 or int(self._state.counts[linked.HEAD]) != head)
                here += made
            done += here
        linked.end(self._growth, self._state, EQUAL)

    def values(self, nodes: Ints, parents: Sequence[Ints]) -> Floats:
        """Return the local scores of nodes with these parents."""
        found = np.empty(len(nodes))
        offsets = np.concatenate([[0], np.cumsum([len(own) for own in parents])]).astype(np.int64)
        flat = np.concatenate([*parents, np.zeros(0)]).astype(np.int64)
        linked.local_scores(self._growth, np.asarray(nodes, dtype=np.int64), flat, offsets, found)
        return found

    @property
    def score(self) -> float:
        """The score of the current order."""
        return float(self._state.scores.sum())

    @property
    def scores(self) -> Floats:
        """The local score of every column."""
        return np.array(self._state.scores)

    @property
    def order(self) -> Ints:
        """The current order."""
        return np.argsort(self._state.label[: self.n_nodes])

    @property
    def parents(self) -> list[Ints]:
        """The parents of every column, in increasing order."""
        lists, sizes = self._state.parents, self._state.sizes
        return [lists[v, : sizes[v]].astype(np.int64) for v in range(self.n_nodes)]

    def _allow(self) -> None:
        """Set how many lists the next call may make."""
        self._growth.trees.used[BUDGET] = self._patience * LISTS_PER_CALL

    def _went_on(self, further: bool) -> None:
        """Allow the next call more if this one was too short to get any further."""
        self._patience = 1 if further else 2 * self._patience


def _lists(n: int, first: Ints, second: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the candidates of every column, increasing, where they begin and end, and each entry's mirror."""
    owners, others = np.concatenate([first, second]), np.concatenate([second, first])
    sequence = np.lexsort((others, owners))
    place = np.empty(len(sequence), dtype=np.int64)
    place[sequence] = np.arange(len(sequence))
    half = len(first)
    mirror = np.empty(len(sequence), dtype=np.int64)
    mirror[place[:half]], mirror[place[half:]] = place[half:], place[:half]
    ends = np.cumsum(np.bincount(owners, minlength=n)).astype(np.int64)
    begins = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    return others[sequence].astype(np.int64), begins, ends, mirror


def _empty_trees(n: int, n_pairs: int) -> Trees:
    """Return empty growth trees; they use memory as they grow, up to what is allocated here."""
    sets, entries = SETS_PER_COLUMN * n, max(LEAST_ENTRIES, ENTRIES_PER_PAIR * n_pairs, 4 * n)
    return Trees(
        np.full(n, -1, dtype=np.int64), np.empty((sets, COLUMNS), dtype=np.int64), np.empty(sets),
        np.empty(entries, dtype=np.int32), np.empty(entries, dtype=np.int32), np.zeros(4, dtype=np.int64),
    )  # fmt: skip
