"""What the best graph loses if one edge of the answer is reversed or left out: how sure each direction is.

Edges that the equivalence class leaves open lose nothing. For the others the best DAG with the edge reversed is found
by the subset recursion where that is short, else by a search from the answer, whose losses are upper bounds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.graph.known_directions import essential_given
from dagopt.graph.order import is_acyclic
from dagopt.methods.alternatives import Best, Effort, Pair, Relation, best_by_relation
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.results.explanation import arrow

__all__ = ["reversal_figures"]

SECONDS = 5.0  # for the check, unless a limit is given; the recursion with 25 columns takes about as long
MOST_COLUMNS = 200  # beyond this one search takes too long


def reversal_figures(
    problem: Problem, dag: Dag, score: float | None, time_limit: float | None = None
) -> dict[str, Any]:
    """Return the figures of a graph's directions: what is lost if an edge is reversed, left out, or made cheaper.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    dag : int8 array
        The graph; only DAGs have such figures.
    score : float or None
        Its score.
    time_limit : float, optional
        Seconds for the check.
    """
    if not is_acyclic(dag) or score is None or problem.n_nodes > MOST_COLUMNS or problem.knowledge.path_keys:
        return {"reversal_loss": {}}
    fixed = _fixed_edges(problem, dag)
    pairs = [(tail, head) for tail, head in fixed if problem.knowledge.may[head, tail]]
    clock, effort = Deadline(SECONDS if time_limit is None else time_limit), Effort()
    best = best_by_relation(problem, dag, pairs, effort, clock, NoProgress(), ("backward",))
    reversal: dict[str, float] = {}
    removal: dict[str, float] = {}
    told: dict[str, bool] = {_name(problem, pair): True for pair in fixed if pair not in set(pairs)}
    is_proven = True
    for pair, own in zip(pairs, best, strict=True):
        found, name = own["backward"], _name(problem, pair)
        if np.isfinite(found.score):  # nan: the clock came first; minus infinity: the knowledge forbids it
            reversal[name] = score - found.score
            is_proven = is_proven and found.proven
            if own["neither"].score > -np.inf or not own["neither"].proven:
                removal[name] = _removal_loss(problem, dag, score, pair, own["neither"])
        elif found.score == -np.inf:
            told[name] = True
    half = _half_cost_losses(problem, dag, pairs, best, effort, clock)
    return {
        "reversal_loss": reversal,
        "removal_loss": removal,
        "half_cost_loss": half,
        "reversal_proven": is_proven,
        "told_edges": told,
    }


def _removal_loss(problem: Problem, dag: Dag, score: float, pair: Pair, found: Best) -> float:
    """Return what the best known graph without an edge loses: by recursion, by search, or with the other edges kept."""
    if found.proven:
        return score - found.score
    tail, head = pair
    parents = np.flatnonzero(dag[:, head])
    alone = problem.score.local(head, parents) - problem.score.local(head, parents[parents != tail])
    return float(np.fmin(score - found.score, alone))


def _half_cost_losses(
    problem: Problem,
    dag: Dag,
    pairs: list[Pair],
    best: list[dict[Relation, Best]],
    effort: Effort,
    clock: Deadline,
) -> dict[str, float]:
    """Return what the best graph with each edge reversed loses if parameters cost half.

    By recursion it is compared with the best graph that has the edge as it is, at the same cost; where the best
    reversed graph comes from a search, that graph is compared with the answer.
    """
    lenient = problem.score.at_half_cost()
    if lenient is None:
        return {}
    losses: dict[str, float] = {}
    searched = [(pair, own["backward"]) for pair, own in zip(pairs, best, strict=True)]
    proven = [pair for pair, found in searched if found.proven and np.isfinite(found.score)]
    if proven:
        other = replace(problem, score=lenient)
        again = best_by_relation(other, dag, proven, replace(effort, method="exact"), clock, NoProgress(), ())
        for pair, own in zip(proven, again, strict=True):
            if own["forward"].proven and own["backward"].proven:  # else the clock came first
                losses[_name(problem, pair)] = own["forward"].score - own["backward"].score
    for pair, found in searched:
        if found.dag is not None:
            losses[_name(problem, pair)] = lenient.total(dag) - lenient.total(found.dag)
    return losses


def _name(problem: Problem, pair: Pair) -> str:
    return arrow(problem.names[pair[0]], problem.names[pair[1]])


def _fixed_edges(problem: Problem, dag: Dag) -> list[Pair]:
    """Return the edges that all equivalent DAGs that the knowledge allows have in this direction."""
    known, told = problem.knowledge, problem.score.directed_pairs
    must = known.directing(dag)
    must = must if told is None else must | ((dag != 0) & told)
    essential = essential_given(dag, must, known.may)
    return [(int(i), int(j)) for i, j in np.argwhere((dag != 0) & (essential.T == 0))]
