"""What may be claimed about an answer: the bound includes rounding, and nothing is proven if a score is unbounded.

Also, a stopped run does not return edges that lower the score, and a constant column has no edges.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError, quoted
from dagopt.graph.order import is_acyclic, parent_lists
from dagopt.problem import Problem
from dagopt.results.answer import Answer
from dagopt.scores.custom import ScaledScore, power_to_usual_size

__all__ = [
    "in_other_units",
    "refuse_infinite",
    "refuse_unbounded",
    "usual_units",
    "with_rounding",
    "without_idle_edges",
    "without_losses",
    "without_past",
]

MOST_SAMPLED = 100  # nodes whose local scores show the size of a score
UNPROVEN = (
    "nothing is proven: columns are so nearly determined by others, or so many, that the rounding error of a score is "
    "not known; leave such columns out with exclude="
)


def usual_units(problem: Problem) -> tuple[Problem, int]:
    """Return the problem with its scores times a power of two, and that power: 0 unless scores are tiny or huge.

    Methods compare scores with tolerances that suit likelihoods of tables. With scores of 1e-6 or 1e-199 they would
    take all DAGs for equal.
    """
    score, n = problem.score, problem.n_nodes
    if score.joints is not None:
        return problem, 0
    some = range(min(n, MOST_SAMPLED))
    sizes = [score.local(i, [j] if j != i else []) for i in some for j in (i, (i + 1) % n)]
    power = power_to_usual_size(sizes)
    return (replace(problem, score=ScaledScore(score, power)), power) if power else (problem, 0)


def in_other_units(answer: Answer, power: int) -> Answer:
    """Return an answer with its scores times a power of two; what edges are worth is left to the caller."""
    if not power:
        return answer
    factor, figures = 2.0**power, answer.figures
    trace = answer.trace.copy()
    for name in {"score", "bound", "lp", "reduced_cost"} & set(trace.columns):
        trace[name] = trace[name] * factor
    proofs = (answer.certificate, answer.limited)
    certificate, limited = (None if one is None else replace(one, bound=one.bound * factor) for one in proofs)
    score = None if answer.score is None else answer.score * factor
    changed = replace(answer, score=score, certificate=certificate, limited=limited, trace=trace)
    classes = figures.best_classes and [{**one, "score": one["score"] * factor} for one in figures.best_classes]
    bounds = {name: getattr(figures, name) for name in ("pair_bound", "root_bound")}
    bounds = {name: value * factor for name, value in bounds.items() if value is not None}
    return changed.with_figures(best_classes=classes, **bounds)


def without_past(answer: Answer, problem: Problem) -> Answer:
    """Return the answer with the scores of dynamic networks: without that of the columns of the past, a constant."""
    constant, lags = problem.past_score, problem.table.lags
    if lags is None or not lags.count:
        return answer
    trace, figures = answer.trace.copy(), answer.figures
    for name in {"score", "bound", "lp"} & set(trace.columns):
        trace[name] = trace[name] - constant
    proofs = (answer.certificate, answer.limited)
    certificate, limited = (None if one is None else replace(one, bound=one.bound - constant) for one in proofs)
    score = None if answer.score is None else answer.score - constant
    changed = replace(answer, score=score, certificate=certificate, limited=limited, trace=trace)
    classes = figures.best_classes and [{**one, "score": one["score"] - constant} for one in figures.best_classes]
    scores = {name: getattr(figures, name) for name in ("empty_score", "start_score", "pair_bound", "root_bound")}
    scores = {name: value - constant for name, value in scores.items() if value is not None}
    rows = None if figures.node_scores is None else figures.node_scores.iloc[: lags.n_series]
    return changed.with_figures(best_classes=classes, node_scores=rows, **scores)


def with_rounding(answer: Answer, problem: Problem) -> Answer:
    """Return the answer with bounds that hold in exact arithmetic.

    The computed scores of the true optimum and of the DAG returned are each wrong by at most the score's ``rounding``,
    which holds for DAGs no worse than the empty one, and what is allowed for worse ones. So bounds are raised by twice
    that, which the figure ``rounding`` reports. If the error is not known, there is no bound.
    """
    rounding = problem.score.rounding + _rounding_of_worse(answer, problem)
    if problem.score.joints is None and answer.score is not None:  # of a sum of n local scores
        rounding += (problem.n_nodes + 4) * float(np.finfo(np.float64).eps) * abs(answer.score)
    answer = answer.with_figures(rounding=rounding)
    if not np.isfinite(rounding):
        if answer.certificate is None and answer.limited is None:
            return answer
        status = "converged" if answer.status == "optimal" else answer.status
        return replace(answer, certificate=None, limited=None, status=status).noted(UNPROVEN)
    proofs = (answer.certificate, answer.limited)
    certificate, limited = (None if one is None else one.with_rounding(rounding) for one in proofs)
    return replace(answer, certificate=certificate, limited=limited)


def _rounding_of_worse(answer: Answer, problem: Problem) -> float:
    """Return what DAGs that are worse than the empty one can be off besides, by the rounding of their penalties.

    With required edges or paths every allowed DAG may be worse than the empty one, and beliefs about edges can pay for
    penalties. If the DAG returned (or for a graph that is none, that of the required edges) is X below the empty one,
    the best one is at most X below, so that its penalties exceed those of the empty DAG and what it gains in
    likelihood, which the score's ``rounding`` covers, by at most X. A penalty, or the two potentials of which it is the
    difference, has at most 2n times its size, and takes part in fewer than 2 (n + 8) roundings.
    """
    n, figures, odds = problem.n_nodes, answer.figures, problem.knowledge.log_odds
    if figures.empty_score is None or not np.isfinite(figures.empty_score):
        return 0.0
    score = problem.score.total(problem.knowledge.must.astype(np.int8)) if answer.score is None else answer.score
    paid = 0.0 if odds is None else float(np.maximum(odds, 0.0).sum())
    worse = max(figures.empty_score - score + paid, 0.0)
    return float(2 * n * (n + 8) * np.finfo(np.float64).eps * worse)


def refuse_infinite(answer: Answer) -> None:
    """Raise an error if the best DAG found has a score of minus infinity: it is ruled out."""
    if answer.score == -np.inf:
        raise InputError("no DAG with a finite score was found; loosen the constraints or the score")


def refuse_unbounded(answer: Answer, problem: Problem) -> None:
    """Raise an error if parents determine a column: the score then has no limit, and comparisons no meaning."""
    if not is_acyclic(answer.adjacency):
        return
    for node, parents in enumerate(parent_lists(answer.adjacency)):
        if len(parents) and problem.score.unbounded(node, parents):
            for j in parents:  # keep only those that are needed
                fewer = parents[parents != j]
                parents = fewer if problem.score.unbounded(node, fewer) else parents
            name, others = problem.names[node], [problem.names[int(j)] for j in parents]
            raise InputError(
                f"column {name!r} is a linear combination of {quoted(others)}, to rounding: with these as parents it "
                f"is predicted perfectly and the score is unbounded; leave one of them out with exclude=, for instance "
                f"{name!r}, or give more rows"
            )


def without_losses(answer: Answer, problem: Problem) -> Answer:
    """Return the answer of a stopped run without edges that lower the score, as far as the knowledge allows."""
    if answer.status not in ("time_limit", "interrupted") or not is_acyclic(answer.adjacency):
        return answer
    adjacency, required = answer.adjacency.copy(), parent_lists(problem.knowledge.must)
    for node, parents in enumerate(parent_lists(adjacency)):
        if len(parents):
            adjacency[parents, node] = 0
            adjacency[_best_kept(problem, node, parents, required[node]), node] = 1
    if np.array_equal(adjacency, answer.adjacency) or not problem.knowledge.has_paths(adjacency):
        return answer
    return answer.with_graph(problem, adjacency)


def without_idle_edges(answer: Answer, problem: Problem) -> Answer:
    """Return the answer without edges at constant columns, which change no score and are there by rounding alone."""
    constant = np.flatnonzero(problem.table.sizes == 0)
    if not len(constant) or not is_acyclic(answer.adjacency):
        return answer
    idle = np.zeros_like(problem.knowledge.must)
    idle[constant] = idle[:, constant] = True
    kept = np.where(idle & ~problem.knowledge.must, 0, answer.adjacency).astype(np.int8)
    if np.array_equal(kept, answer.adjacency) or not problem.knowledge.has_paths(kept):
        return answer
    return answer.with_graph(problem, kept)


def _best_kept(
    problem: Problem, node: int, parents: NDArray[np.int64], required: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the parents of a node after removing those that lower its score, one at a time; required ones stay."""
    score = problem.score
    here = score.local(node, parents)
    while len(parents) > len(required):
        after = score.removals(node, parents)[parents]
        after[np.isin(parents, required)] = -np.inf
        k = int(np.argmax(after))
        if not after[k] >= here:
            break
        parents, here = np.delete(parents, k), float(after[k])
    return required if score.local(node, required) >= here else parents
