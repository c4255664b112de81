"""Stable PC: an equivalence class of DAGs from tests of conditional independence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dagopt.arrays import Ints, Pdag
from dagopt.data.table import DiscreteTable
from dagopt.deadline import Deadline, StopReason
from dagopt.graph.cpdag import extend_pdag
from dagopt.methods.independence.independence_test import Search
from dagopt.methods.independence.orientation import apply_v_structures, direct_by_knowledge, propagate, v_structures_of
from dagopt.methods.independence.skeleton import SeparatingSets, learn_skeleton
from dagopt.methods.independence.tests import TestOptions, make_test
from dagopt.methods.method_options import solver, ties
from dagopt.methods.names import working_order
from dagopt.options import one_of, option, whole
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer
from dagopt.results.figures import Figures
from dagopt.workers import thread_count

__all__ = ["StablePcOptions", "solve_pc"]


MOST_DIRECTED = 2 * 10**6  # ends of edges; a stopped run does not look for a DAG of a denser graph
MOST_SCORE_WORK = 10**8  # sum of cubes of the numbers of parents; a stopped run does not score a denser graph


@dataclass(frozen=True)
class StablePcOptions(TestOptions):
    """Options of stable PC."""

    max_given: int | None = option(
        None, "The largest size of a separating set; no limit unless given.", whole(0, remedy="3 is a usual limit")
    )
    separator: str = option(
        "auto",
        "Which separating set of the smallest size to use for a pair: the one with the largest p-value (best) or the "
        "first one found (first); auto is best for discrete data and first, as in R's bnlearn, for continuous data.",
        one_of("auto", "best", "first"),
    )
    ties: str = ties()


@solver(StablePcOptions)
def solve_pc(problem: Problem, options: StablePcOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Learn a PDAG: the skeleton by tests, v-structures by separating sets, the rest by Meek's rules.

    A stopped run returns the skeleton so far with the directions that the knowledge gives.

    Returns
    -------
    Answer
        A PDAG, undirected edges in both directions. ``score`` is that of a DAG that extends it, None if
        there is none, which ``notes`` then says. ``trace`` has one row per level; ``figures`` has ``tests``,
        ``v_structures``, ``left_out`` (v-structures that contradict others) and ``separating_sets`` by names.

    Notes
    -----
    Sets are tried, and ties broken, in the order of the names, so that the order of the columns does not matter. The
    first set that separates a pair depends on that order, the best one (as in PC-Max [1]_) does not.
    ``dagopt.methods.independence.orientation`` says how contradictions between directions are resolved.

    References
    ----------
    .. [1] J. Ramsey, "Improving accuracy and scalability of the PC algorithm by maximizing p-value", 2016,
       arXiv 1610.00378.
    """
    order = working_order(problem.names, options.ties)
    grid = np.ix_(order, order)
    must, may = problem.knowledge.must[grid], problem.knowledge.may[grid]
    at_most = problem.knowledge.at_most[order]
    test, jobs = make_test(problem.table, options.test).take(order), thread_count(options.n_jobs)
    best = options.separator == "best" or (options.separator == "auto" and isinstance(problem.table, DiscreteTable))
    search = Search(test, options.alpha, deadline, progress, options.max_given, jobs, best)
    skeleton = learn_skeleton(search, must | must.T, may | may.T)
    marks = direct_by_knowledge(skeleton, must, may)
    watch = _Watch(deadline, skeleton.reason)
    progress.update("directions", None, edges=np.count_nonzero(skeleton.adjacent) // 2, tests=skeleton.n_tests)
    wanted = v_structures_of(skeleton, watch)
    left_out = apply_v_structures(marks, wanted, at_most, watch)
    propagate(marks, at_most, watch)
    pdag, dag, dropped = _within_limits(problem, marks.to_adjacency(), order, stopped=watch.reason is not None)
    rank = np.argsort(order)
    back = np.ix_(rank, rank)
    costly = watch.reason and (_is_dense(pdag) if dag is None else _score_work(dag) > MOST_SCORE_WORK)
    names = [problem.names[j] for j in order]
    return Answer(
        "pc",
        np.ascontiguousarray(pdag[back]),
        None if dag is None or costly else problem.score.total(dag[back]),
        watch.reason or "converged",
        trace=skeleton.frame(),
        notes=_notes(dag, len(left_out), dropped, stopped=watch.reason is not None, costly=bool(costly)),
        figures=Figures(
            tests=skeleton.n_tests,
            v_structures=len(wanted) - len(left_out),
            left_out=len(left_out),
            separating_sets=SeparatingSets(skeleton, names),
        ),
    )


class _Watch:
    """Says whether to stop, and remembers the reason."""

    def __init__(self, deadline: Deadline, reason: StopReason | None) -> None:
        self._deadline = deadline
        self.reason = reason

    def __call__(self) -> bool:
        self.reason = self.reason or self._deadline.reason
        return self.reason is not None


def _within_limits(problem: Problem, pdag: Pdag, order: Ints, *, stopped: bool) -> tuple[Pdag, Pdag | None, int]:
    """Drop edges until no node has too many parents; return the PDAG, a DAG that extends it, and the number dropped.

    One at a time, the edge into a node whose removal leaves the best score is dropped (in a stopped run, which
    has no time to score, the last by name); required edges stay. A stopped run looks for no DAG if the graph is dense.
    """
    limits = problem.knowledge.at_most[order]
    dropped = 0
    while True:
        dag = None if stopped and _is_dense(pdag) else extend_pdag(pdag)
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


def _is_dense(pdag: Pdag) -> bool:
    """Say whether a graph has so many edges that it takes long to direct them."""
    return bool(np.count_nonzero(pdag) > MOST_DIRECTED)


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
        notes.append(f"{dropped} edges were dropped to respect the largest number of parents")
    if costly:
        notes.append("not scored: the graph so far is too dense to be scored in time")
    elif dag is None:
        notes.append("no DAG extends this graph: its directions contradict each other, so it has no score")
    return tuple(notes)
