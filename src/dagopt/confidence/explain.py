"""``result.explain`` and ``result.regrets``: the learned DAG compared with the best DAGs in which an edge differs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.errors import InputError, unknown_name
from dagopt.graph.cpdag import cpdag
from dagopt.graph.dag import as_graph
from dagopt.graph.known_directions import essential_given
from dagopt.graph.order import is_acyclic
from dagopt.methods.alternatives import Best, Effort, Pair, Relation, best_by_relation, relation_of
from dagopt.methods.claims import usual_units
from dagopt.methods.ordered_problem import refuse_order
from dagopt.problem import Problem
from dagopt.progress import Progress, make_progress
from dagopt.results.explanation import Alternative, Explanation, arrow
from dagopt.results.proof import proof_of
from dagopt.results.result import Result

__all__ = ["explain", "regrets"]

ROUNDING = 1e-9  # relative difference up to which two scores count as equal


def explain(
    result: Result,
    a: str,
    b: str,
    effort: Effort,
    *,
    time_limit: float | None = None,
    progress: bool | Progress | None = None,
) -> Explanation:
    """Return why two columns are joined or not; see ``Result.explain``."""
    problem, dag = _solved(result)
    for name in (a, b):
        if name not in problem.names:
            raise unknown_name("column", name, problem.names)
    if a == b:
        raise InputError(f"expected two different columns but got {a!r} twice; name another one")
    pair = problem.names.index(a), problem.names.index(b)
    return _explained(result, problem, dag, [pair], effort, time_limit, progress)[0]


def regrets(
    result: Result, effort: Effort, *, time_limit: float | None = None, progress: bool | Progress | None = None
) -> pd.DataFrame:
    """Return what every edge is worth; see ``Result.regrets``."""
    problem, dag = _solved(result)
    pairs = [(int(i), int(j)) for i, j in np.argwhere(dag)]
    rows = [
        {
            "from": said.a,
            "to": said.b,
            "fixed": bool(said.fixed),
            "local_loss": said.local_loss,
            "without": None if said.without is None else said.without.regret,
            "reversed": said.backward.regret,
            "neither": said.neither.regret,
            "at_least": None if said.without is None else said.without.least,
            "proven": said.backward.proven and said.neither.proven,
            "note": "; ".join(dict.fromkeys(one.note for one in (said.backward, said.neither) if one.note)),
        }
        for said in _explained(result, problem, dag, pairs, effort, time_limit, progress)
    ]
    figures = ["local_loss", "without", "reversed", "neither", "at_least"]
    frame = pd.DataFrame(rows, columns=["from", "to", "fixed", *figures, "proven", "note"])
    frame = frame.astype(dict.fromkeys(figures, float) | {"fixed": bool, "proven": bool})
    return frame.sort_values("neither", ascending=False, kind="stable", ignore_index=True)


def _solved(result: Result) -> tuple[Problem, NDArray[np.int8]]:
    """Return the problem and the learned DAG, or a member of a learned class."""
    if result.problem is None:
        raise InputError("expected a result learned from data but this one has no data; use dagopt.learn")
    if result.dag is None:
        raise InputError(
            f"no DAG extends the graph that {result.method!r} learned, so there is nothing to explain; use another "
            f"method"
        )
    refuse_order(result.problem.knowledge, "the loss without an edge")
    return result.problem, as_graph(result.dag, result.names).adjacency


def _explained(
    result: Result,
    problem: Problem,
    dag: NDArray[np.int8],
    pairs: Sequence[Pair],
    effort: Effort,
    time_limit: float | None,
    progress: bool | Progress | None,
) -> list[Explanation]:
    """Return the explanation of each pair.

    DAGs are compared in units that fit the tolerances; what is returned is in the units of the score again.
    """
    problem, power = usual_units(problem)
    unit = 2.0**-power
    deadline = Deadline(time_limit)
    shown = make_progress(progress)
    try:
        with deadline:
            best = best_by_relation(problem, dag, pairs, effort, deadline, shown)
    finally:
        shown.close()
    essential = [cpdag(dag), essential_given(dag, problem.knowledge.must, problem.knowledge.may)]
    score = problem.score.total(dag)
    proof = _proof(result)
    explanations = []
    for (a, b), own in zip(pairs, best, strict=True):
        kind = relation_of(dag, a, b)
        directed = [None if kind == "neither" else not (graph[a, b] and graph[b, a]) for graph in essential]
        edge = {"forward": (a, b), "backward": (b, a)}.get(kind)
        explanations.append(
            Explanation(
                a=problem.names[a],
                b=problem.names[b],
                edge=None if edge is None else (problem.names[edge[0]], problem.names[edge[1]]),
                score=unit * (score - problem.past_score),
                score_label=problem.score.label,
                proof=proof,
                compelled=directed[0],
                fixed=directed[1],
                local_loss=_times(unit, _local_loss(problem, dag, a, b)),
                forward=_alternative(problem, score, (a, b), "forward", own["forward"], unit),
                backward=_alternative(problem, score, (a, b), "backward", own["backward"], unit),
                neither=_alternative(problem, score, (a, b), "neither", own["neither"], unit),
            )
        )
    return explanations


def _times(unit: float, points: float | None) -> float | None:
    return None if points is None else unit * points


def _alternative(
    problem: Problem, score: float, pair: Pair, relation: Relation, best: Best, unit: float
) -> Alternative:
    a, b = pair if relation != "backward" else pair[::-1]
    name = "neither" if relation == "neither" else arrow(problem.names[a], problem.names[b])
    if np.isnan(best.score):
        return Alternative(name, None, None, False, "not found before the run was stopped")
    if np.isinf(best.score):
        return Alternative(name, None, None, True, _why_none(problem, a, b, relation))
    regret = score - best.score
    if abs(regret) <= ROUNDING * max(abs(score), 1.0):
        regret = 0.0
    least = score - best.bound if np.isfinite(best.bound) else (regret if best.proven else None)
    own = unit * (best.score - problem.past_score)
    return Alternative(name, own, unit * regret, best.proven, least=_times(unit, least))


def _why_none(problem: Problem, a: int, b: int, relation: Relation) -> str:
    """Return why no allowed DAG has the edge a → b, or why every allowed DAG joins the two."""
    known, names = problem.knowledge, problem.names
    forward, backward = arrow(names[a], names[b]), arrow(names[b], names[a])
    if relation == "neither":
        return f"{forward if known.must[a, b] else backward} is required"
    if known.must[b, a]:
        return f"{backward} is required"
    if not known.may[a, b]:
        return f"{forward} is forbidden"
    if known.must[:, b].sum() >= known.at_most[b]:
        return f"{names[b]} has as many required parents as it may have"
    return f"{forward} closes a cycle with required edges"


def _local_loss(problem: Problem, dag: NDArray[np.int8], a: int, b: int) -> float | None:
    """Return the score lost when the edge is dropped or, without an edge, when the better of the two is added."""
    score = problem.score
    for tail, head in ((a, b), (b, a)):
        if dag[tail, head]:
            parents = np.flatnonzero(dag[:, head])
            return float(score.local(head, parents) - score.local(head, parents[parents != tail]))
    losses = []
    for tail, head in ((a, b), (b, a)):
        parents = np.flatnonzero(dag[:, head])
        grown = np.append(parents, tail)
        added = dag.copy()
        added[tail, head] = 1
        if problem.knowledge.allows(head, grown) and is_acyclic(added):
            losses.append(float(score.local(head, parents) - score.local(head, grown)))
    return min(losses, default=None)


def _proof(result: Result) -> str:
    """Return in words what is proven about the learned DAG."""
    said = proof_of(result)
    return said if result.scope is None else f"{said} over {result.scope}"
