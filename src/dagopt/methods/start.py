"""The graph that a search starts from: turned into a DAG that the knowledge allows, and compared with the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError, quoted
from dagopt.graph.cpdag import extend_pdag
from dagopt.graph.dag import as_graph, require_dag
from dagopt.graph.knowledge import Knowledge
from dagopt.problem import Problem
from dagopt.results.answer import Answer

__all__ = ["StartDag", "required_dag", "start_dag", "with_start"]


@dataclass(frozen=True, eq=False)
class StartDag:
    """A DAG to start from that was checked already."""

    dag: NDArray[np.int8]


def required_dag(problem: Problem) -> NDArray[np.int8]:
    """Return the DAG of the required edges, or raise an error if the score rules it out: no search can begin there."""
    must = problem.knowledge.must
    for node in map(int, np.flatnonzero(must.any(axis=0))):
        parents = np.flatnonzero(must[:, node])
        if problem.score.local(node, parents) == -np.inf:
            raise InputError(
                f"the score rules out {quoted([problem.names[j] for j in parents])} as the only parents of "
                f"{problem.names[node]!r}, which are required, so that a search cannot begin; drop a required edge, "
                "give start=, or use method='exact'"
            )
    return must.astype(np.int8)


def start_dag(problem: Problem, start: Any) -> NDArray[np.int8]:
    """Return the DAG to start from, in column order, or raise an error that says why it cannot be used.

    Parameters
    ----------
    problem : Problem
        Columns and knowledge.
    start : graph, StartDag or None
        Anything that ``as_graph`` accepts; only the required edges for None. Undirected edges get the direction
        that the knowledge requires, and the others one that makes no new v-structure.
    """
    knowledge = problem.knowledge
    if start is None:
        return required_dag(problem)
    if isinstance(start, StartDag):
        return start.dag
    graph = as_graph(start, problem.names)
    adjacency = graph.adjacency
    if (adjacency & adjacency.T).any():
        member = extend_pdag(_directed_by(knowledge, adjacency))
        if member is None:
            raise InputError(
                "the start graph has undirected edges that cannot be directed without a cycle or a new v-structure;"
                " give them a direction"
            )
        adjacency = member
    else:
        require_dag(graph)
    present = adjacency != 0
    for wrong, what in (
        (knowledge.must & ~present, "lacks the required"),
        (present & ~knowledge.may, "has the forbidden"),
    ):
        if wrong.any():
            edges = [f"{problem.names[i]} -> {problem.names[j]}" for i, j in np.argwhere(wrong)]
            raise InputError(f"the start DAG {what} edge {quoted(edges)}; change the start or the constraints")
    if not knowledge.allows_order(present):
        raise InputError("the start DAG goes against before=: a path leads back; change the start or before=")
    for i in map(int, np.flatnonzero(present.sum(axis=0) > knowledge.at_most)):
        raise InputError(
            f"expected at most {knowledge.at_most[i]} parents of {problem.names[i]!r} in the start DAG but got "
            f"{int(present[:, i].sum())}; remove some or raise max_parents="
        )
    return np.array(adjacency, dtype=np.int8)


def _directed_by(knowledge: Knowledge, adjacency: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the graph with its undirected edges directed where the knowledge requires or forbids one direction."""
    undirected = (adjacency & adjacency.T) != 0
    against = undirected & (knowledge.must.T | (~knowledge.may & knowledge.may.T))
    return np.where(against, 0, adjacency).astype(np.int8)


def with_start(answer: Answer, problem: Problem, start: NDArray[np.int8]) -> Answer:
    """Return the answer with a comparison to the start in its figures."""
    before, after = start != 0, answer.adjacency != 0
    kept = (before | before.T) & (after | after.T)
    score = problem.score.total(start)
    return answer.with_figures(
        start_score=score,
        improvement=0.0 if answer.score is None else answer.score - score,
        edges_added=int((after & ~kept).sum()),
        edges_dropped=int((before & ~kept).sum()),
        edges_reversed=int((before & after.T & ~after).sum()),
    )
