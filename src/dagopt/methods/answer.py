"""The result of an exact solver: the DAG, its score, what is proven, and what each edge is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.graph.knowledge import Knowledge
from dagopt.graph.order import parent_lists
from dagopt.problem import Problem
from dagopt.results.result import Result

__all__ = ["answer", "scope_of", "worth"]


def scope_of(knowledge: Knowledge) -> str:
    """Return what a proof covers, in words."""
    n = knowledge.n_nodes
    limits = np.unique(np.minimum(knowledge.at_most, n - 1))
    scope = "all DAGs" if limits[0] >= n - 1 else f"parent sets of size <= {limits[-1]}"
    if len(limits) > 1:
        scope = "parent sets within the limits of each column"
    if knowledge.in_superstructure:
        scope += " inside the superstructure"
        unrestricted = not knowledge.must.any() and bool((knowledge.may == knowledge.may.T).all())
        return scope if unrestricted else f"{scope} that the constraints allow"
    free = knowledge.may | np.eye(n, dtype=bool) | (knowledge.at_most == 0)  # a limit of 0 already forbids all edges
    unrestricted = free.all() and not knowledge.must.any()
    return scope if unrestricted else f"{scope} that the constraints allow"


def answer(problem: Problem, adjacency: NDArray[np.int8], note: str, error: float) -> Result:
    """Return the result; if scores can be wrong by ``error``, no DAG is better by more than twice that."""
    score = problem.score.total(adjacency)
    return Result(
        names=problem.names,
        adjacency=adjacency,
        score=score,
        status="optimal" if error == 0 else "converged",
        method="exact",
        score_label=problem.score.label,
        bound=score + 2 * error,
        scope=scope_of(problem.knowledge),
        notes=(note,),
        details=worth(problem, adjacency),
    )


def worth(problem: Problem, adjacency: NDArray[np.int8]) -> dict[str, Any]:
    """Return every node's score and, for each edge, the score lost when only that edge is removed."""
    names, score = problem.names, problem.score
    gains = {}
    for i, parents in enumerate(parent_lists(adjacency)):
        here = score.local(i, parents)
        without = score.removals(i, parents) if len(parents) else np.empty(0)
        gains.update({f"{names[j]} -> {names[i]}": float(here - without[j]) for j in parents})
    return {"node_scores": score.table(adjacency), "edge_gain": gains}
