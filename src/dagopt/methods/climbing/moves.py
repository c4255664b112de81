"""A DAG that changes by single-edge moves, with the gain of every move stored."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.kernels import climbing as kernels
from dagopt.kernels import move_arrays
from dagopt.kernels.plain import compiled_or_python
from dagopt.methods.names import working_order
from dagopt.problem import Problem

__all__ = ["ADD", "DELETE", "KINDS", "REVERSE", "Move", "MovingDag"]

ADD, DELETE, REVERSE = kernels.ADD, kernels.DELETE, kernels.REVERSE
KINDS = ("add", "delete", "reverse")

RELATIVE_TOLERANCE = 1e-12  # of the score: closer gains (or within rounding) count as equal, smaller ones as none
LEAST_TOLERANCE = 1e-8  # points of the score; a smaller gain is rounding
FEW = 4  # with fewer than n / FEW possible parents, only these are scored
STEPS_OF_ARRAYS = 200  # that a move with whole arrays takes at least, in steps of plain Python
ATTEMPTS = 100  # draws of a random move before giving up

Kind = TypeVar("Kind", bound=np.generic)

NO_MOVES = np.empty((0, 3), dtype=np.int64)


class Move(NamedTuple):
    """One change of a DAG: ``kind`` is ADD, DELETE or REVERSE of the edge tail → head."""

    kind: int
    tail: int
    head: int
    gain: float

    @property
    def switched(self) -> frozenset[tuple[int, int]]:
        """The entries of the adjacency array that the move changes."""
        if self.kind == REVERSE:
            return frozenset({(self.tail, self.head), (self.head, self.tail)})
        return frozenset({(self.tail, self.head)})


class MovingDag:
    """The DAG of a search, always acyclic and always within the knowledge.

    Nodes are numbered by the names of the columns (``name_order``), so that the rule "the first of equal
    moves" does not depend on the order of the columns, unless ``ties`` is ``"columns"``.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    may : bool array of shape (n, n), optional
        Allowed edges, in column order, instead of those of the knowledge.
    ties : {"names", "columns"}
        How nodes are numbered; with ``"columns"``, name order means column order below.

    Attributes
    ----------
    adjacency : int8 array
        The DAG, in name order.
    local : array
        The local score of each node.
    gain : array of shape (n, n)
        What switching each edge gains, see ``kernels/climbing.py``; an edge that is not allowed has -inf.
    """

    def __init__(self, problem: Problem, may: NDArray[np.bool_] | None = None, ties: str = "names") -> None:
        n = problem.n_nodes
        knowledge = problem.knowledge
        self.order = working_order(problem.names, ties)
        self._score = problem.score
        rounding = problem.score.rounding
        self._rounding = 4 * rounding / n**2 if np.isfinite(rounding) else 0.0  # of two nodes, as it usually is
        self._must = moved(knowledge.must, self.order)
        self._may = moved(knowledge.may if may is None else may, self.order)
        self._at_most = knowledge.at_most[self.order]
        self._rank = np.argsort(self.order)
        self.adjacency = np.zeros((n, n), dtype=np.int8)
        self._reach = np.zeros((n, n), dtype=np.int8)
        self._room = self._at_most.copy()
        self.gain = np.empty((n, n))  # filled by `load`, node by node, since that takes long if there are many
        self.local = np.full(n, np.nan)
        self.tolerance = LEAST_TOLERANCE

    @cached_property
    def _allowed(self) -> NDArray[np.int64]:
        """The places of the allowed edges."""
        return np.flatnonzero(self._may)

    @property
    def score(self) -> float:
        """The score of the DAG."""
        return float(self.local.sum())

    def in_columns(self, adjacency: NDArray[np.int8]) -> NDArray[np.int8]:
        """Convert an adjacency array from name order to column order."""
        return moved(adjacency, self._rank)

    def in_names(self, adjacency: NDArray[np.int8]) -> NDArray[np.int8]:
        """Convert an adjacency array from column order to name order."""
        return moved(adjacency, self.order)

    def load(self, adjacency: NDArray[np.int8], deadline: Deadline) -> bool:
        """Switch to another DAG (in name order); only nodes whose parents differ are scored again.

        Returns
        -------
        bool
            False if the deadline came first: the gains are then not known.
        """
        stale = (adjacency != self.adjacency).any(axis=0) | np.isnan(self.local)
        self.adjacency = adjacency.copy()
        self._room = self._at_most - adjacency.sum(axis=0, dtype=np.int64)
        self._close()
        self.local[stale] = np.nan
        for node in map(int, np.flatnonzero(stale)):
            if deadline.reason:
                return False
            self._renew(node)
        self.tolerance = max(LEAST_TOLERANCE, RELATIVE_TOLERANCE * abs(self.score), self._rounding)
        return True

    def best_move(self, least: float = 0.0, banned: NDArray[np.int64] = NO_MOVES) -> Move | None:
        """Return the legal move that gains most, if it gains more than ``least``."""
        rules = kernels.Rules(self._must, self._may, self._room)
        steps = STEPS_OF_ARRAYS + self.gain.size // 20
        find = compiled_or_python(kernels.best_move, steps, arrays=move_arrays.best_move_arrays)
        kind, tail, head, gain = find(self.gain, self.adjacency, self._reach, rules, banned, least, self.tolerance)
        return None if kind < 0 else Move(kind, tail, head, gain)

    def random_move(self, rng: np.random.Generator) -> Move | None:
        """Draw a legal move: an allowed edge at random, then a legal change of it; None if none was found."""
        for _ in range(ATTEMPTS if len(self._allowed) else 0):
            tail, head = divmod(int(self._allowed[rng.integers(len(self._allowed))]), len(self.adjacency))
            kind = int(rng.integers(DELETE, REVERSE + 1)) if self.adjacency[tail, head] else ADD
            if self.is_legal(kind, tail, head):
                gain = self.gain[tail, head] + (self.gain[head, tail] if kind == REVERSE else 0.0)
                return Move(kind, tail, head, float(gain))
        return None

    def is_legal(self, kind: int, tail: int, head: int) -> bool:
        """Say whether a move leads to a DAG within the knowledge."""
        rules = kernels.Rules(self._must, self._may, self._room)
        find = compiled_or_python(kernels.is_legal, len(self.order))
        return bool(find(self.adjacency, self._reach, rules, kind, tail, head))

    def may_turn(self, adjacency: NDArray[np.int8], tail: int, head: int) -> bool:
        """Say whether the knowledge lets an edge of a DAG be turned round."""
        room = self._at_most[tail] - adjacency[:, tail].sum()
        return bool(self._may[head, tail] and not self._must[tail, head] and room > 0)

    def without_edges(self, adjacency: NDArray[np.int8], node: int) -> NDArray[np.int8]:
        """Return a DAG without the edges at a node, required ones excepted."""
        left = adjacency.copy()
        left[node], left[:, node] = self._must[node], self._must[:, node]
        return left

    def apply(self, move: Move) -> None:
        """Make a legal move and update the gains of the nodes whose parents it changes."""
        kind, tail, head, _ = move
        self.adjacency[tail, head] ^= 1
        if kind == REVERSE:
            self.adjacency[head, tail] = 1
        if kind == ADD:
            steps = STEPS_OF_ARRAYS + len(self.order) // 10
            extend = compiled_or_python(kernels.extend_closure, steps, arrays=move_arrays.extend_closure_arrays)
            extend(self._reach, tail, head)
        else:
            self._close()
        for node in (head, tail) if kind == REVERSE else (head,):
            self._room[node] = self._at_most[node] - self.adjacency[:, node].sum()
            self._renew(node)

    def _close(self) -> None:
        """Find which nodes reach which."""
        n = len(self.order)
        find = compiled_or_python(kernels.closure, STEPS_OF_ARRAYS + 20 * n, arrays=move_arrays.closure_arrays)
        find(self.adjacency, self._reach)

    def _renew(self, node: int) -> None:
        """Score a node with its parents and with every parent set that differs by one edge."""
        column = int(self.order[node])
        here = np.flatnonzero(self.adjacency[:, node])
        parents = self.order[here]
        self.local[node] = self._score.local(column, parents)
        self.gain[:, node] = -np.inf
        others = np.flatnonzero(self._may[:, node] & (self.adjacency[:, node] == 0))
        if self._room[node] > 0 and len(others):
            self.gain[others, node] = self._added(column, parents, self.order[others]) - self.local[node]
        if len(here):
            self.gain[here, node] = self._score.removals(column, parents)[parents] - self.local[node]

    def _added(self, column: int, parents: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.floating]:
        if FEW * len(others) >= len(self.order):
            return self._score.additions(column, parents)[others]
        return self._score.local_many([column] * len(others), [[*parents, other] for other in others])


def moved(matrix: NDArray[Kind], order: NDArray[np.int64]) -> NDArray[Kind]:
    """Return a matrix with its rows and its columns in another order; not copied if the order is its own."""
    if np.array_equal(order, np.arange(len(order))):
        return np.ascontiguousarray(matrix)
    return np.take(matrix[order], order, axis=1)
