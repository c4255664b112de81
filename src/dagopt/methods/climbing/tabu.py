"""Tabu search over DAGs: hill climbing that continues past a local optimum, but not back to recent DAGs."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.methods.climbing.hill_climbing import HillClimbingOptions, SearchLog, with_restarts
from dagopt.methods.climbing.moves import ADD, DELETE, NO_MOVES, REVERSE, Move, MovingDag
from dagopt.methods.method_options import solver
from dagopt.options import option, whole
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer

__all__ = ["TabuList", "TabuOptions", "solve_tabu", "walk"]


@dataclass(frozen=True)
class TabuOptions(HillClimbingOptions):
    """Options of tabu search."""

    tabu: int = option(10, "How many of the last visited DAGs are remembered.", whole(1))
    max_worse: int = option(20, "The search ends after this many moves in a row without a new best DAG.", whole(0))


@solver(TabuOptions)
def solve_tabu(problem: Problem, options: TabuOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Search with a list of the last DAGs, which are not visited again.

    Returns
    -------
    Answer
        The best DAG found, a local optimum unless the run was stopped; ``trace`` and ``figures`` as in ``solve_hc``.

    Notes
    -----
    The list holds DAGs, not moves: a move is forbidden when it leads to one of them. Ties are broken as in
    ``solve_hc``.
    """
    walking = partial(walk, length=options.tabu, max_worse=options.max_worse)
    return with_restarts(problem, walking, "tabu", options, deadline, progress)


def walk(
    dag: MovingDag, deadline: Deadline, log: SearchLog, length: int, max_worse: int
) -> tuple[NDArray[np.int8], float]:
    """Make the best moves that lead to no remembered DAG; return the best DAG found, in name order, and its score."""
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
    """The last visited DAGs, each as the set of edges in which it differs from the current one.

    Parameters
    ----------
    length : int
        How many DAGs are remembered.
    """

    def __init__(self, length: int) -> None:
        self._differences: deque[frozenset[tuple[int, int]]] = deque(maxlen=length)

    def leave(self, move: Move) -> None:
        """Remember the current DAG and make a move."""
        self._differences.append(frozenset())
        for k, difference in enumerate(self._differences):
            self._differences[k] = difference ^ move.switched

    def moves(self) -> NDArray[np.int64]:
        """Return the moves that lead to a remembered DAG, as rows (kind, tail, head).

        A difference of one edge is an addition or a deletion, whichever is possible; an edge that points
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
