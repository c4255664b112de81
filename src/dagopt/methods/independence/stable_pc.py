"""Stable PC: an equivalence class of DAGs from tests of conditional independence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline, StopReason
from dagopt.errors import InputError, checked_whole
from dagopt.graph.cpdag import extend_pdag
from dagopt.methods.independence.base import IndependenceTest
from dagopt.methods.independence.orientation import apply_v_structures, direct_by_knowledge, propagate, v_structures_of
from dagopt.methods.independence.skeleton import Skeleton, learn_skeleton
from dagopt.methods.independence.tests import checked_alpha, make_test
from dagopt.methods.independence.threads import checked_jobs
from dagopt.methods.names import name_order
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result

__all__ = ["checked_max_given", "solve_pc"]

Pdag = NDArray[np.int8]

MOST_SCORE_WORK = 10**8  # cubes of the numbers of parents, summed: a stopped run scores no denser graph


def solve_pc(
    problem: Problem,
    *,
    deadline: Deadline,
    progress: Progress,
    test: str | IndependenceTest = "auto",
    alpha: float = 0.05,
    max_given: int | None = None,
    n_jobs: int | None = None,
) -> Result:
    """Learn a PDAG: the skeleton by tests, v-structures by separating sets, the rest by Meek's rules.

    Parameters
    ----------
    problem : Problem
        Data and knowledge; the score is not used for learning, except where the limit on the number of parents
        asks for an edge to be dropped.
    deadline : Deadline
        When to stop. A stopped run returns the skeleton so far with the directions that the knowledge gives.
    progress : Progress
        Where to tell how far the search is.
    test : str or IndependenceTest
        ``"t"`` (exact) or ``"z"`` (Fisher) for continuous data, ``"g2"`` or ``"chi2"`` for discrete data;
        ``"auto"`` is the first of each.
    alpha : float
        Level of each test: pairs with a larger p-value are taken as independent.
    max_given : int, optional
        The largest size of a separating set; no limit if not given.
    n_jobs : int, optional
        Threads for the tests of a level; all processors if not given. The answer does not depend on it.

    Returns
    -------
    Result
        A PDAG, undirected edges in both directions. ``score`` is that of a DAG that extends it, None where
        there is none, which ``notes`` then says. ``trace`` has a row a level; ``details`` has ``tests``,
        ``v_structures``, ``left_out`` (v-structures that contradict others) and ``separating_sets`` by names.

    Notes
    -----
    Sets are tried, and ties broken, in the order of the names, so that the order of the columns does not matter. How
    contradictions between directions are settled is told in ``dagopt.methods.independence.orientation``.
    """
    alpha = checked_alpha(alpha)
    max_given = checked_max_given(max_given)
    jobs = checked_jobs(n_jobs)
    order = name_order(problem.names)
    grid = np.ix_(order, order)
    must, may = problem.knowledge.must[grid], problem.knowledge.may[grid]
    at_most = problem.knowledge.at_most[order]
    skeleton = learn_skeleton(
        make_test(problem.table, test).take(order),
        alpha,
        must | must.T,
        may | may.T,
        max_given=max_given,
        n_jobs=jobs,
        deadline=deadline,
        progress=progress,
    )
    marks = direct_by_knowledge(skeleton, must, may)
    watch = _Watch(deadline, skeleton.reason)
    progress.update("directions", None, edges=int(np.triu(skeleton.adjacent).sum()), tests=skeleton.n_tests)
    wanted = v_structures_of(skeleton, watch)
    left_out = apply_v_structures(marks, wanted, at_most, watch)
    propagate(marks, at_most, watch)
    pdag, dag, dropped = _within_limits(problem, marks.to_adjacency(), order, stopped=watch.reason is not None)
    rank = np.argsort(order)
    back = np.ix_(rank, rank)
    costly = watch.reason and dag is not None and _score_work(dag) > MOST_SCORE_WORK
    names = [problem.names[j] for j in order]
    return Result(
        names=problem.names,
        adjacency=np.ascontiguousarray(pdag[back]),
        score=None if dag is None or costly else problem.score.total(dag[back]),
        status=watch.reason or "converged",
        method="pc",
        score_label=problem.score.label,
        trace=skeleton.frame(),
        notes=_notes(dag, len(left_out), dropped, stopped=watch.reason is not None, costly=bool(costly)),
        details={
            "tests": skeleton.n_tests,
            "v_structures": len(wanted) - len(left_out),
            "left_out": len(left_out),
            "separating_sets": _named_sets(skeleton, names),
        },
    )


def checked_max_given(max_given: Any) -> int | None:
    """Return the largest size of a conditioning set, or raise the error that names it."""
    if max_given is None:
        return None
    try:
        return checked_whole("max_given", max_given, 0)
    except InputError:
        raise InputError(
            f"expected max_given= a whole number >= 0 or None but got {max_given!r}; 3 is a usual limit"
        ) from None


class _Watch:
    """Asked whether to stop, it answers and remembers the reason."""

    def __init__(self, deadline: Deadline, reason: StopReason | None) -> None:
        self._deadline = deadline
        self.reason = reason

    def __call__(self) -> bool:
        self.reason = self.reason or self._deadline.reason
        return self.reason is not None


def _within_limits(
    problem: Problem, pdag: Pdag, order: NDArray[np.int64], *, stopped: bool
) -> tuple[Pdag, Pdag | None, int]:
    """Drop edges until no node has too many parents; return the PDAG, a DAG that extends it, and how many went.

    Of the edges into a node those go without which, one at a time, its score is best (in a stopped run, which
    has no time to score, the last by name); required edges stay.
    """
    limits = problem.knowledge.at_most[order]
    dropped = 0
    while True:
        dag = extend_pdag(pdag)
        arrows = pdag & ~pdag.T if dag is None else dag
        crowded = np.flatnonzero(arrows.sum(axis=0, dtype=np.int64) > limits)
        if len(crowded) == 0:
            return pdag, dag, dropped
        for head in map(int, crowded):
            parents = np.flatnonzero(arrows[:, head])
            columns = order[parents]
            without = problem.score.removals(int(order[head]), columns)[columns] if not stopped else parents * 1.0
            without[problem.knowledge.must[columns, order[head]]] = -np.inf
            gone = parents[np.argsort(-without, kind="stable")[: len(parents) - limits[head]]]
            pdag[gone, head] = pdag[head, gone] = 0
            dropped += len(gone)


def _score_work(dag: Pdag) -> float:
    return float((dag.sum(axis=0, dtype=float) ** 3).sum())


def _notes(dag: Pdag | None, left_out: int, dropped: int, *, stopped: bool, costly: bool) -> tuple[str, ...]:
    notes = []
    if stopped:
        notes.append("stopped before all tests were made: pairs not yet tested are joined, few edges are directed")
    if left_out:
        notes.append(
            f"{left_out} v-structures were left out: they contradict others with smaller p-values, or constraints"
        )
    if dropped:
        notes.append(f"{dropped} edges were dropped to keep to the largest number of parents")
    if dag is None:
        notes.append("no DAG extends this graph: its directions contradict each other, so it has no score")
    elif costly:
        notes.append("not scored: the graph so far is too dense to be scored in time")
    return tuple(notes)


def _named_sets(skeleton: Skeleton, names: list[str]) -> dict[tuple[str, str], tuple[str, ...]]:
    return {
        (names[i], names[j]): tuple(names[k] for k in sorted(members))
        for (i, j), members in skeleton.separators.items()
    }
