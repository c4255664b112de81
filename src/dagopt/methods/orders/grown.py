"""Orders whose parents are found by growing and shrinking: for Gaussian, discrete and mixed scores of any size.

The kernels are ``kernels/orders/trees.py``, ``insertion.py`` and ``kicks.py``. They number the columns by their names,
so that the answer does not depend on the order of the columns of the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Dag, Ints, Words
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.order import parent_lists
from dagopt.kernels.boxes import Box
from dagopt.kernels.counts.counting import Counts
from dagopt.kernels.gaussian.blocks import BlockForm
from dagopt.kernels.orders import insertion as kernels
from dagopt.kernels.orders import kicks
from dagopt.kernels.orders.counts import CountScore
from dagopt.kernels.orders.logdets import LogDets, make_work
from dagopt.kernels.orders.trees import BUDGET, COLUMNS, Given, Trees, make_growth
from dagopt.methods.names import name_order
from dagopt.methods.orders.screening import screened
from dagopt.problem import Problem

__all__ = ["BlockOrders", "CountOrders", "GrownOrders", "LogDetOrders"]

NEVER = -1e300  # a score below all others; infinite ones would give NaN in differences
SECONDS_PER_CALL = 0.1  # approximate time between two checks of the clock
SECONDS_PER_CELL = 2e-9  # of a contingency table, per row
MOST_REPEATS = 3  # rows are counted by bits if a distinct row occurs at most this often on average
SECONDS_PER_COLUMN = 5e-8  # of an addition to a covariance matrix
KICKS_PER_CALL = 50  # between two looks at the clock
EQUAL = 1e-8  # orders of equivalent DAGs differ by rounding
DEPTH = 7.0  # a variable turns back when the score has fallen by this many penalties of a parameter
LEAST_SETS, SETS_PER_COLUMN = 1 << 20, 1 << 9  # sets kept, 72 bytes each
LEAST_ENTRIES, ENTRIES_PER_PAIR, MOST_ENTRIES = 1 << 25, 8, 1 << 28  # list entries kept, 8 bytes each


@dataclass
class GrownState:
    """A search in progress: the growth of parent sets, the order with its parents, and work arrays for kicks."""

    growth: Box  # of a Growth
    arrays: Box  # of a State
    room: Box  # of a Room
    patience: int = 1  # doubled while a call is too short to place the next variable

    @property
    def head(self) -> int:
        """Where the queue of variables begins: it moves whenever one is placed."""
        return int(self.room.counts[kernels.HEAD])


class GrownOrders(ABC):
    """Orders of the columns, parents by growing and shrinking among the candidates of each column.

    Parameters
    ----------
    problem : Problem
        The problem, whose knowledge says what is allowed.
    may : bool array of shape (n, n)
        ``may[j, i]``: j is a candidate parent of i, within the knowledge.
    seconds : float
        The approximate time for one list of additions.
    """

    _whole_rows = False  # whether the kernels need all columns as candidates, even the node itself, if all are allowed

    def __init__(self, problem: Problem, may: Bools, seconds: float) -> None:
        n = self.n_nodes = problem.n_nodes
        self._columns = name_order(problem.names)  # the column of each of the kernels' numbers
        self._numbers = np.argsort(self._columns)  # the number of each column
        grid = np.ix_(self._columns, self._columns)
        self._may = may[grid]
        sizes = self._may.sum(axis=0).astype(np.int64)
        most = np.minimum(problem.knowledge.at_most, max(n - 1, 0)).astype(np.int64)[self._columns]
        must = np.ascontiguousarray(problem.knowledge.must[grid].T)
        self._given = Given(*_listed(self._may, sizes, self._whole_rows), must, most)
        self._room = int(min(sizes.max(), most.max())) + 1
        self._widest = int((self._given.ends - self._given.begins).max())
        self._lists_a_call = max(int(SECONDS_PER_CALL / seconds), 1)
        self._depth = DEPTH * 0.5 * np.log(max(problem.score.n_samples, 2))

    def start(self, order: Ints, deadline: Deadline, dag: Dag | None = None, after: Any = None) -> GrownState:
        """Return the state of a search that starts from an order; after the deadline, with only required parents."""
        n = self.n_nodes
        if after is None:
            state = GrownState(
                make_growth(self._given, self._new_score(), _empty_trees(n)),
                Box(kernels.make_state(n, self._room)),
                Box(kernels.make_room(n, self._room, bool(self._given.must.any()))),
            )
        else:
            state = after
        state.arrays.order[:] = self._numbers[order]
        done, patience = 0, 1
        while done < n and deadline.reason is None:
            self._allow(state, patience)
            before, done = done, kernels.score_order(state.growth, state.arrays, done)
            patience = 1 if done > before else 2 * patience
        kernels.give_required(state.growth, state.arrays, done)
        if dag is not None:
            for v, parents in enumerate(parent_lists(dag[np.ix_(self._columns, self._columns)])):
                if self._may[parents, v].all():
                    kernels.use_parents(state.growth, state.arrays, v, parents)
        return state

    def settle(self, state: Any, variables: Ints, deadline: Deadline) -> None:
        """Move these variables, and those affected, to their best positions nearby, until none moves."""
        kicks.queue_all(state.room, self._numbers[variables])
        settled = False
        while not settled and deadline.reason is None:
            self._allow(state, state.patience)
            head = state.head
            settled = kicks.settle(state.growth, state.arrays, state.room, self._depth)
            state.patience = 1 if state.head != head else 2 * state.patience
        kicks.end(state.growth, state.arrays, state.room, EQUAL)

    def kick(self, state: Any, n_kicks: int, rng: np.random.Generator, deadline: Deadline) -> None:
        """Disturb the order locally ``n_kicks`` times, search there again, and keep it if it is not worse."""
        room = state.room
        draws = rng.random((n_kicks, kicks.DRAWS))
        done = 0
        while done < n_kicks and deadline.reason is None:
            self._allow(state, state.patience)
            some, head = draws[done : done + KICKS_PER_CALL], state.head
            made = kicks.kick(state.growth, state.arrays, room, some, self._depth, EQUAL)
            state.patience = 1 if made or state.head != head else 2 * state.patience
            done += made
        kicks.end(state.growth, state.arrays, room, EQUAL)

    def improve(self, state: Any, variables: Ints) -> tuple[int, int]:
        """Move each variable to its best position; return how many were tried and how many of the last ones stayed."""
        self._allow(state, state.patience)
        tried, idle = kernels.insert_best(state.growth, state.arrays, state.room, self._numbers[variables])
        state.patience = 1 if tried else 2 * state.patience
        return int(tried), int(idle)

    def score(self, state: Any) -> float:
        """Return the score of the current order."""
        return float(state.arrays.scores.sum())

    def order(self, state: Any) -> Ints:
        """Return the current order."""
        return np.asarray(self._columns[state.arrays.order])

    def dag(self, state: Any) -> Dag:
        """Return the current DAG."""
        parents, sizes = state.arrays.parents, state.arrays.sizes
        adjacency = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int8)
        for v in range(self.n_nodes):
            adjacency[self._columns[parents[v, : sizes[v]]], self._columns[v]] = 1
        return adjacency

    @abstractmethod
    def _new_score(self) -> LogDets | CountScore | BlockForm:
        """Return the score in the form for kernels, with its own work arrays."""

    def _allow(self, state: GrownState, patience: int) -> None:
        """Set how many lists the next call may make."""
        state.growth.trees.used[BUDGET] = patience * self._lists_a_call


class LogDetOrders(GrownOrders):
    """Orders of the columns of a score made of log-determinants.

    Parameters
    ----------
    problem : Problem
        A Gaussian or BGe score, and knowledge.
    candidates : int, optional
        Keep only this many candidate parents per column (see ``screening.py``); all unless given. Faster for many
        columns, and possibly worse.
    """

    _whole_rows = True

    def __init__(self, problem: Problem, candidates: int | None = None) -> None:
        score = problem.score
        if score.logdets is None:
            raise InputError(f"expected a Gaussian score but got {score.label}; choose another score")
        n = problem.n_nodes
        matrix, log_scale, constant, power = score.logdets
        form = np.stack([np.diff(constant), 0.5 * power[1:], 0.5 * np.diff(power)])
        form = np.concatenate([form, form[:, -1:]], axis=1)
        form[0, -1] = NEVER  # there is no set of n parents
        named = name_order(problem.names)
        self._matrix = np.ascontiguousarray(matrix[np.ix_(named, named)])
        self._log_scale = np.asarray(log_scale[named], dtype=np.float64)
        self._form = np.ascontiguousarray(form)
        super().__init__(problem, screened(problem, candidates), SECONDS_PER_COLUMN * n)

    def _new_score(self) -> LogDets:
        """Return the score, with work arrays in which parent sets are grown."""
        return LogDets(self._matrix, self._log_scale, self._form, make_work(self._room, self._widest))


class CountOrders(GrownOrders):
    """Orders of the columns of a score made of counts: BIC, AIC or BDeu of discrete data.

    Parameters
    ----------
    problem : Problem
        A score of discrete data, and knowledge.
    candidates : int, optional
        Keep only this many candidate parents per column (see ``screening.py``); all unless given.
    """

    def __init__(self, problem: Problem, candidates: int | None = None) -> None:
        score = problem.score
        if score.counts is None:
            raise InputError(f"expected a score of discrete data but got {score.label}; choose another score")
        (codes, arity, weights, clogc, ess), rate, edge = score.counts
        named = name_order(problem.names)
        codes, arity = np.ascontiguousarray(codes[named]), arity[named]
        alone = score.per_node(np.zeros((problem.n_nodes, problem.n_nodes), dtype=np.int8))[named]
        bits = _bits(codes, arity, weights)
        counts = Counts(codes, arity, weights, clogc, ess)
        self._counts = CountScore(counts, rate, edge, rate * (arity - 1) - alone, *bits)
        may = screened(problem, candidates)
        seconds = SECONDS_PER_CELL * codes.shape[1] * max(int(may.sum(axis=0).max()), 1)
        super().__init__(problem, may, seconds)

    def _new_score(self) -> CountScore:
        """Return the score; it needs no work arrays."""
        return self._counts


class BlockOrders(GrownOrders):
    """Orders of the columns of a score made of log-determinants of groups of columns: mixed data.

    Parameters
    ----------
    problem : Problem
        A degenerate Gaussian score, and knowledge.
    candidates : int, optional
        Keep only this many candidate parents per column (see ``screening.py``); all unless given.
    """

    def __init__(self, problem: Problem, candidates: int | None = None) -> None:
        form = problem.score.blocks
        if form is None:
            raise InputError(f"expected a score of mixed data but got {problem.score.label}; choose another score")
        named = name_order(problem.names)
        columns = np.concatenate([np.arange(form.starts[j], form.starts[j + 1]) for j in named]).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(np.diff(form.starts)[named])]).astype(np.int64)
        matrix = np.ascontiguousarray(form.matrix[np.ix_(columns, columns)])
        self._form = BlockForm(matrix, form.log_scale[named], starts, form.rates)
        may = screened(problem, candidates)
        width = float(np.diff(form.starts).mean())
        super().__init__(problem, may, SECONDS_PER_COLUMN * width**2 * max(int(may.sum(axis=0).max()), 1))

    def _new_score(self) -> BlockForm:
        """Return the score; it needs no work arrays."""
        return self._form


def _listed(may: Bools, sizes: Ints, whole_rows: bool) -> tuple[Ints, Ints, Ints]:
    """Return lists of candidates, and where that of each node begins and ends; one serves all that are free."""
    n = len(may)
    lists, begins, ends = [np.arange(n)], np.zeros(n, dtype=np.int64), np.full(n, n)
    length = n
    for v in range(n):
        if whole_rows and sizes[v] == n - 1:
            continue
        lists.append(np.flatnonzero(may[:, v]))
        begins[v], ends[v] = length, length + sizes[v]
        length += int(sizes[v])
    return np.concatenate(lists).astype(np.int64), begins, ends.astype(np.int64)


def _bits(codes: NDArray[np.uint16], arity: Ints, weights: Ints) -> tuple[Words, Ints]:
    """Return a bit for every level and row of the data, and where each column begins; empty if rows repeat often."""
    starts = np.concatenate([[0], np.cumsum(arity)[:-1]]).astype(np.int64)
    if weights.sum() > MOST_REPEATS * len(weights):
        return np.zeros((0, 0), dtype=np.uint64), starts
    words = -(-int(weights.sum()) // 64)
    bits = np.zeros((int(arity.sum()), words), dtype=np.uint64)
    for j, code in enumerate(codes):
        repeated = np.repeat(code, weights)
        for level in range(arity[j]):
            packed = np.packbits(repeated == level, bitorder="little")
            bits[starts[j] + level].view(np.uint8)[: len(packed)] = packed
    return bits, starts


def _empty_trees(n: int) -> Trees:
    """Return empty growth trees; they use memory as they grow, up to what is allocated here."""
    sets = max(LEAST_SETS, SETS_PER_COLUMN * n)
    entries = min(max(LEAST_ENTRIES, ENTRIES_PER_PAIR * n * n), MOST_ENTRIES)
    return Trees(
        np.full(n, -1, dtype=np.int64), np.empty((sets, COLUMNS), dtype=np.int64), np.empty(sets),
        np.empty(entries, dtype=np.int32), np.empty(entries, dtype=np.int32), np.zeros(4, dtype=np.int64),
    )  # fmt: skip
