"""Tabu search over DAGs: hill climbing that walks on past a local optimum, but never back."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.errors import checked_whole
from dagopt.methods.climbing.hill_climbing import SearchLog, checked_climb, with_restarts
from dagopt.methods.climbing.moves import ADD, DELETE, NO_MOVES, REVERSE, Move, MovingDag
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result

__all__ = ["TabuList", "checked_walk", "solve_tabu", "walk"]


def solve_tabu(
    problem: Problem,
    *,
    deadline: Deadline,
    progress: Progress,
    start: Any = None,
    tabu: int = 10,
    max_worse: int = 10,
    restarts: int = 0,
    perturb: int = 1,
    random_state: int = 0,
) -> Result:
    """Search with a memory of the last DAGs, which are not visited again.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    deadline : Deadline
        When to stop.
    progress : Progress
        Where to tell how far the search is.
    start : graph, optional
        The DAG to start from, anything that ``as_graph`` takes; the required edges alone if not given.
    tabu : int
        How many of the DAGs last visited are remembered.
    max_worse : int
        Moves in a row without a new best DAG after which the search ends.
    restarts, perturb, random_state : int
        As in ``solve_hc``.

    Returns
    -------
    Result
        The best DAG met, a local optimum unless the run was stopped; ``trace`` and ``details`` as in ``solve_hc``.

    Notes
    -----
    The list holds DAGs, not moves: a move is forbidden when it leads to one of them. Ties are broken as in
    ``solve_hc``.
    """
    climbing = checked_climb(restarts, perturb, random_state)
    walking = checked_walk(tabu, max_worse)
    return with_restarts(problem, walk, "tabu", deadline, progress, start=start, **climbing, **walking)


def checked_walk(tabu: int, max_worse: int) -> dict[str, Any]:
    """Return the options of ``walk``, or raise the error that names one."""
    return {"length": checked_whole("tabu", tabu, 1), "max_worse": checked_whole("max_worse", max_worse, 0)}


def walk(
    dag: MovingDag, deadline: Deadline, log: SearchLog, length: int, max_worse: int
) -> tuple[NDArray[np.int8], float]:
    """Make the best move that leads to no remembered DAG; return the best DAG met, in name order, and its score."""
    visited = TabuList(length)
    best, best_score = dag.adjacency.copy(), dag.score
    worse = 0
    least = -np.inf if max_worse > 0 else 0.0
    while (move := dag.best_move(least, visited.moves())) is not None and not log.stops(deadline):
        visited.leave(move)
        dag.apply(move)
        log.add(move, dag.score)
        if dag.score > best_score + dag.tolerance:
            best, best_score = dag.adjacency.copy(), dag.score
            worse = 0
        elif (worse := worse + 1) >= max_worse:
            break
    return best, best_score


class TabuList:
    """The DAGs last visited, each as the set of edges in which it differs from the current one.

    Parameters
    ----------
    length : int
        How many DAGs are remembered.
    """

    def __init__(self, length: int) -> None:
        self._differences: deque[frozenset[tuple[int, int]]] = deque(maxlen=length)

    def leave(self, move: Move) -> None:
        """Remember the current DAG and go on by a move."""
        self._differences.append(frozenset())
        for k, difference in enumerate(self._differences):
            self._differences[k] = difference ^ move.switched

    def moves(self) -> NDArray[np.int64]:
        """Return the moves that lead to a remembered DAG, as rows (kind, tail, head).

        One edge of difference is an addition or a deletion, whichever is possible; an edge that points
        the other way is a reversal.
        """
        rows = []
        for difference in self._differences:
            edges = sorted(difference)
            if len(edges) == 1:
                rows += [(ADD, *edges[0]), (DELETE, *edges[0])]
            elif len(edges) == 2 and edges[0] == edges[1][::-1]:
                rows += [(REVERSE, *edges[0]), (REVERSE, *edges[1])]
        return np.array(rows, dtype=np.int64) if rows else NO_MOVES
