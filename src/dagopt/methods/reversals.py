"""What the best graph loses if one edge of the answer is reversed: how sure the direction of each edge is.

Edges that the equivalence class leaves open lose nothing. For the others the best DAG with the edge reversed is found
by the subset recursion where that is short, else by a search from the answer, whose losses are upper bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.graph.known_directions import essential_given
from dagopt.graph.order import is_acyclic
from dagopt.methods.alternatives import Effort, best_by_relation
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.results.answer import Answer
from dagopt.results.explanation import arrow

__all__ = ["reversal_figures"]

LEAST_SECONDS = 1.0  # the check may take as long as the method took, but at least this
SHARE = 0.2  # of the time left, at most
MOST_COLUMNS = 200  # beyond this one search takes too long


def with_reversals(answer: Answer, problem: Problem, deadline: Deadline, n_jobs: int | None) -> Answer:
    """Return the answer with the losses of its reversed edges; without them if there is no DAG or no time."""
    if not is_acyclic(answer.adjacency) or answer.score is None or problem.n_nodes > MOST_COLUMNS:
        return answer
    if deadline.reason is not None:
        return answer
    dag = answer.adjacency
    pairs = _fixed_edges(problem, dag)
    seconds = min(max(deadline.elapsed(), LEAST_SECONDS), SHARE * deadline.remaining())
    clock = deadline.within(seconds)
    best = best_by_relation(problem, dag, pairs, Effort(n_jobs=n_jobs), clock, NoProgress(), ("backward",))
    losses: dict[str, float] = {}
    told: dict[str, bool] = {}
    is_proven = True
    for (a, b), own in zip(pairs, best, strict=True):
        found, name = own["backward"], arrow(problem.names[a], problem.names[b])
        if np.isfinite(found.score):  # nan: the clock came first; minus infinity: the knowledge forbids it
            losses[name] = float(answer.score - found.score)
            is_proven = is_proven and found.proven
        elif found.score == -np.inf:
            told[name] = True
    return answer.with_figures(reversal_loss=losses, reversal_proven=is_proven, told_edges=told)


def _fixed_edges(problem: Problem, dag: Dag) -> list[tuple[int, int]]:
    """Return the edges that all equivalent DAGs that the knowledge allows have in this direction."""
    known, told = problem.knowledge, problem.score.directed_pairs
    must = known.must if told is None else known.must | ((dag != 0) & told)
    essential = essential_given(dag, must, known.may)
    return [(int(i), int(j)) for i, j in np.argwhere((dag != 0) & (essential.T == 0))]


def reversal_figures(problem: Problem, dag: Dag, score: float | None, time_limit: float | None) -> dict[str, Any]:
    """Return the figures of a graph's directions; none of an edge if there is no DAG or no time."""
    answer = with_reversals(Answer("", dag, score, "converged"), problem, Deadline(time_limit), None)
    return {"reversal_loss": {}} | answer.figures.known()
