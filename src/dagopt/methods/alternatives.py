"""The best DAG for each relation of two columns: an edge one way, the other way, or none.

The answer is exact if that fits (``methods/exact/edge_regret.py``), otherwise it comes from a search from the learned
DAG with the edge changed. A search gives a lower bound on the best score, and so an upper bound on a loss. Branch and
cut, if it is asked for, starts from what the search found and proves it, or gives bounds on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Dag
from dagopt.by_name import by_name
from dagopt.deadline import Deadline
from dagopt.errors import InputError, quoted
from dagopt.graph.acyclic_union import acyclic_union
from dagopt.graph.cpdag import extend_pdag, meek_closure
from dagopt.graph.knowledge import Knowledge
from dagopt.graph.known_directions import essential_given
from dagopt.graph.order import is_acyclic
from dagopt.methods.auto import PATIENCE, SAFETY
from dagopt.methods.exact.edge_regret import edge_regrets, estimate_edge_regrets
from dagopt.methods.exact.plan import memory_in_bytes
from dagopt.methods.start import StartDag
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress
from dagopt.workers import Workers, thread_count

__all__ = ["RELATIONS", "Best", "Effort", "best_by_relation", "relation_of", "restricted"]

Pair = tuple[int, int]
Relation = Literal["forward", "backward", "neither"]

RELATIONS: tuple[Relation, ...] = ("forward", "backward", "neither")
SEARCH_SHARE = 0.2  # the share of the time for searches, if branch and cut follows
EFFORTS = ("auto", "exact", "order", "branch-and-cut")
SEARCH = {"restarts": 1, "kicks": 8}  # effort of the search from the DAG with the edge changed


@dataclass(frozen=True)
class Best:
    """The best DAG in which two columns have a given relation.

    Attributes
    ----------
    score : float
        Its score; -inf if no allowed DAG has the relation, NaN if it was not found in time.
    proven : bool
        Whether it is proven that no allowed DAG with the relation scores higher.
    bound : float
        A score that no allowed DAG with the relation exceeds; infinity if none is known.
    dag : int8 array or None
        The DAG itself, if a search found it; the exact method gives only its score.
    """

    score: float
    proven: bool
    bound: float = np.inf
    dag: Dag | None = None


@dataclass(frozen=True)
class Effort:
    """How the best DAGs are found.

    Attributes
    ----------
    method : {"auto", "exact", "order", "branch-and-cut"}
        ``auto`` is exact if that fits in memory and takes at most about a minute, else order.
    n_jobs : int or None
        The number of threads; all cores for None and -1.
    memory_limit : int, str or None
        The memory limit of the exact method.
    random_state : int
        Seed of the searches.
    """

    method: str = "auto"
    n_jobs: int | None = None
    memory_limit: int | float | str | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.method not in EFFORTS:
            raise InputError(f"expected method= to be one of {quoted(EFFORTS)} but got {self.method!r}; change it")


def best_by_relation(
    problem: Problem,
    dag: Dag,
    pairs: Sequence[Pair],
    effort: Effort,
    deadline: Deadline,
    progress: Progress,
    relations: Sequence[Relation] = RELATIONS,
) -> list[dict[Relation, Best]]:
    """Return for each pair (a, b) the best DAG with a → b, with b → a and with neither.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    dag : int8 array
        The learned DAG, where searches start.
    pairs : sequence of (int, int)
        The pairs, by position.
    effort : Effort
        How they are found.
    deadline, progress
        The clock, and where progress is reported.
    relations : sequence of str
        The relations that are searched for, if the exact method is not used.
    """
    found: list[dict[Relation, Best]] = [{} for _ in pairs]
    for (a, b), own in zip(pairs, found, strict=True):
        for relation in RELATIONS:
            if restricted(problem.knowledge, a, b, relation) is None:
                own[relation] = Best(-np.inf, True)
    if _is_exact(problem, effort, deadline):
        _fill_exact(problem, pairs, found, effort, deadline, progress)
    if effort.method == "branch-and-cut":
        clock = deadline.within(SEARCH_SHARE * deadline.remaining())
        met = _fill_by_search(problem, dag, pairs, found, effort, clock, progress, relations)
        _prove(problem, dag, pairs, found, met, effort, deadline, progress)
    else:
        _fill_by_search(problem, dag, pairs, found, effort, deadline, progress, relations)
    return found


def relation_of(dag: Dag, a: int, b: int) -> Relation:
    """Return the relation of two nodes of a DAG."""
    if dag[a, b]:
        return "forward"
    return "backward" if dag[b, a] else "neither"


def restricted(knowledge: Knowledge, a: int, b: int, relation: Relation) -> Knowledge | None:
    """Return the knowledge that allows only DAGs in which two columns have a relation, None if there are none."""
    if relation == "backward":
        return restricted(knowledge, b, a, "forward")
    must, may = knowledge.must.copy(), knowledge.may.copy()
    if relation == "forward":
        if not may[a, b] or must[b, a]:
            return None
        must[a, b], may[b, a] = True, False
        full = must[:, b].sum() > knowledge.at_most[b]
        if full or not is_acyclic(must.astype(np.int8)):
            return None
    else:
        if must[a, b] or must[b, a]:
            return None
        may[a, b] = may[b, a] = False
    return Knowledge(must, may, knowledge.at_most)


def _is_exact(problem: Problem, effort: Effort, deadline: Deadline) -> bool:
    """Say whether the exact method is wanted: asked for, or short enough."""
    if effort.method != "auto":
        return effort.method == "exact"
    cores = Workers(deadline, NoProgress(), effort.n_jobs).count
    estimate = estimate_edge_regrets(problem, memory_in_bytes(effort.memory_limit), cores)
    return estimate.fits and SAFETY * estimate.seconds <= min(PATIENCE, deadline.remaining())


def _fill_exact(
    problem: Problem,
    pairs: Sequence[Pair],
    found: list[dict[Relation, Best]],
    effort: Effort,
    deadline: Deadline,
    progress: Progress,
) -> None:
    """Add what the exact method finds before the deadline."""
    both = [edge for a, b in pairs for edge in ((a, b), (b, a))]
    regrets = edge_regrets(problem, deadline, progress, effort.n_jobs, effort.memory_limit, both)
    for (a, b), own in zip(pairs, found, strict=True):
        scores = (regrets.include[a, b], regrets.include[b, a], regrets.apart[a, b])
        for relation, score in zip(RELATIONS, scores, strict=True):
            if np.isfinite(score):
                own.setdefault(relation, Best(float(score), True))


def _fill_by_search(
    problem: Problem,
    dag: Dag,
    pairs: Sequence[Pair],
    found: list[dict[Relation, Best]],
    effort: Effort,
    deadline: Deadline,
    progress: Progress,
    relations: Sequence[Relation],
) -> list[tuple[Dag, float]]:
    """Add the rest by search: the DAG of every search, and the learned DAG, count for all pairs; return these DAGs."""
    wanted = [
        (pair, relation)
        for pair, own in zip(pairs, found, strict=True)
        for relation in relations
        if relation not in own and relation != relation_of(dag, *pair)
    ]
    met: list[tuple[Dag, float]] = [(dag, problem.score.total(dag))]
    for done, other in enumerate(_searches(problem, dag, wanted, effort, deadline) if wanted else ()):
        progress.update("other DAGs", done / len(wanted))
        if other is not None:
            met.append((other, problem.score.total(other)))
    for (a, b), own in zip(pairs, found, strict=True):
        for relation in RELATIONS:
            if relation not in own:
                known = [one for one in met if relation_of(one[0], a, b) == relation]
                other, score = max(known, key=lambda one: one[1], default=(None, np.nan))
                own[relation] = Best(score, False, dag=other)
    return met


def _prove(
    problem: Problem,
    dag: Dag,
    pairs: Sequence[Pair],
    found: list[dict[Relation, Best]],
    met: Sequence[tuple[Dag, float]],
    effort: Effort,
    deadline: Deadline,
    progress: Progress,
) -> None:
    """Prove what the searches found, or bound it, by branch and cut, several at a time; they share the time."""
    wanted = [
        (pair, own, relation)
        for pair, own in zip(pairs, found, strict=True)
        for relation in RELATIONS
        if not own[relation].proven and relation != relation_of(dag, *pair)
    ]
    if not wanted:
        return
    from joblib import Parallel, delayed

    threads = thread_count(effort.n_jobs)
    beside = min(threads, len(wanted))
    tasks = []
    for place, (pair, _, relation) in enumerate(wanted):
        starts = [one for one in met if relation_of(one[0], *pair) == relation]
        start = max(starts, key=lambda one: one[1])[0] if starts else None
        turns = -(-(len(wanted) - place) // beside)  # until the last of these proofs has begun
        options = {"random_state": effort.random_state, "n_jobs": threads // beside}
        tasks.append(delayed(_proved)(problem, dag, pair, relation, start, deadline, turns, options))
    results = Parallel(n_jobs=beside, prefer="threads", return_as="generator")(tasks)
    for done, ((_, own, relation), best) in enumerate(zip(wanted, results, strict=True)):
        progress.update("branch and cut", (done + 1) / len(wanted))
        if best is not None:
            own[relation] = best


def _proved(
    problem: Problem,
    dag: Dag,
    pair: Pair,
    relation: Relation,
    start: Dag | None,
    deadline: Deadline,
    turns: int,
    options: dict[str, Any],
) -> Best | None:
    """Return the best DAG with a relation by branch and cut, in one of so many turns; None after the deadline."""
    solve = by_name("methods.branch_and_cut.branch_and_cut", "solve_branch_and_cut")  # only now: it takes a while
    if deadline.reason is not None:
        return None
    known = restricted(problem.knowledge, *pair, relation)
    assert known is not None
    other = replace(problem, knowledge=known)
    begin = _repaired(other, dag) if start is None else start
    clock = deadline.within(deadline.remaining() / turns)
    result = solve(other, deadline=clock, progress=NoProgress(), start=begin, **options)
    assert result.score is not None
    return Best(result.score, result.status == "optimal", np.inf if result.bound is None else result.bound)


def _searches(
    problem: Problem, dag: Dag, wanted: Sequence[tuple[Pair, Relation]], effort: Effort, deadline: Deadline
) -> Iterable[Dag | None]:
    """Search for the wanted relations, several at a time; what this needs is imported only now."""
    from joblib import Parallel, delayed

    from dagopt.methods.warm_search import likely_parents

    likely = likely_parents(problem, deadline, effort.n_jobs)
    tasks = [
        delayed(_searched)(problem, dag, pair, relation, likely, deadline, effort.random_state)
        for pair, relation in wanted
    ]
    n_jobs = -1 if effort.n_jobs is None else effort.n_jobs
    results: Iterable[Dag | None] = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(tasks)
    return results


def _searched(
    problem: Problem,
    dag: Dag,
    pair: Pair,
    relation: Relation,
    likely: Bools | None,
    deadline: Deadline,
    random_state: int,
) -> Dag | None:
    """Return the best DAG with a relation that is found from the learned DAG, None after the deadline."""
    from dagopt.methods.warm_search import solve_warm

    if deadline.reason is not None:
        return None
    known = restricted(problem.knowledge, *pair, relation)
    assert known is not None
    other = replace(problem, knowledge=known)
    start = _equivalent(problem, dag, pair, relation)
    if start is None:
        start = _repaired(other, dag)
    return solve_warm(other, StartDag(start), likely, deadline=deadline, random_state=random_state, **SEARCH).adjacency


def _equivalent(problem: Problem, dag: Dag, pair: Pair, relation: Relation) -> Dag | None:
    """Return an equivalent DAG with the edge reversed, if the data leave its direction open."""
    known = problem.knowledge
    essential = essential_given(dag, known.must, known.may)
    tail, head = pair if relation == "forward" else pair[::-1]
    if relation == "neither" or not (essential[tail, head] and essential[head, tail]):
        return None
    essential[head, tail] = 0
    member = extend_pdag(meek_closure(essential))
    return member if member is not None and known.allows_dag(member) else None


def _repaired(problem: Problem, dag: Dag) -> Dag:
    """Return a DAG that the knowledge allows: the required edges, then edges of a DAG that fit, most valuable first."""
    known = problem.knowledge
    worth = {
        (int(j), i): loss
        for i in range(problem.n_nodes)
        for j, loss in _losses(problem, i, np.flatnonzero(dag[:, i] & known.may[:, i]))
    }
    edges: list[Pair] = [(int(i), int(j)) for i, j in np.argwhere(known.must)]
    edges += sorted(worth, key=lambda edge: (-worth[edge], edge))
    return acyclic_union(edges, problem.n_nodes, known.at_most)


def _losses(problem: Problem, node: int, parents: NDArray[np.intp]) -> list[tuple[int, float]]:
    """Return each parent with the score lost when only it is removed."""
    if not len(parents):
        return []
    here = problem.score.local(node, parents)
    without = problem.score.removals(node, parents)
    return [(int(j), float(here - without[j])) for j in parents]
