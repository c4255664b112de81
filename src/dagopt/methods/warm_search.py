"""Order search from a nearly right DAG: few searches, and on discrete data the likely parents first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dagopt.arrays import Bools
from dagopt.deadline import Deadline
from dagopt.families.families import MOST_MASK_NODES
from dagopt.families.listing import candidate_pool
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.climbing.tabu import solve_tabu
from dagopt.methods.exact.plan import estimate_exact
from dagopt.methods.orders.order import solve_order
from dagopt.methods.registry import MethodName
from dagopt.methods.start import StartDag, start_dag
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.results.answer import Answer
from dagopt.workers import Stopped, Workers

__all__ = ["likely_parents", "quick_method", "solve_warm"]


SMALL_SETS = 2  # likely parents are in some good parent set of at most this size


def quick_method(problem: Problem, n_bytes: int, seconds: float) -> MethodName:
    """Return the method for problems of this size that are solved many times: exact within these limits.

    The choice does not depend on the machine, so neither do the answers.
    """
    estimate = estimate_exact(problem, n_bytes, cores=1)
    if estimate.fits and estimate.seconds <= seconds:
        return "exact"
    return "tabu" if problem.score.counts is not None and problem.n_nodes > MOST_MASK_NODES else "order"


def solve_warm(
    problem: Problem,
    start: object,
    likely: Bools | None,
    *,
    deadline: Deadline,
    random_state: int = 0,
    n_jobs: int | None = 1,
    **options: Any,
) -> Answer:
    """Return the best DAG found from a start.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    start : graph
        An allowed DAG; the answer is never worse.
    likely : bool array, optional
        ``[j, i]``: order search tries j as a parent of i; hill climbing from its DAG then tries all allowed parents.
        If not given, order search tries all allowed parents.
    deadline : Deadline
        When to stop.
    random_state : int
        Seed.
    n_jobs : int, optional
        The number of threads; all cores for None and -1.
    **options
        Options of order search: ``restarts``, ``kicks``, ``candidates``.
    """
    silent: dict[str, Any] = {"deadline": deadline, "progress": NoProgress()}
    if problem.score.counts is not None and problem.n_nodes > MOST_MASK_NODES:
        return solve_tabu(problem, **silent, start=start, random_state=random_state)
    known = problem.knowledge
    begin = start_dag(problem, start)
    tried = problem
    if likely is not None:
        tried = replace(problem, knowledge=replace(known, may=known.may & likely | known.must | (begin != 0)))
    found = solve_order(tried, **silent, start=StartDag(begin), random_state=random_state, n_jobs=n_jobs, **options)
    return found if likely is None else solve_hc(problem, **silent, start=StartDag(found.adjacency))


def likely_parents(problem: Problem, deadline: Deadline, n_jobs: int | None = None) -> Bools | None:
    """Return which columns the data suggest as parents; None if order search needs no suggestion.

    On discrete data, column j is a likely parent of i if it is in some parent set of up to two columns (or as many as
    are required) that scores better than all its subsets.
    """
    if problem.score.counts is None or problem.n_nodes > MOST_MASK_NODES:
        return None
    known = problem.knowledge
    sizes = np.maximum(known.must.sum(axis=0), SMALL_SETS)
    try:
        with Workers(deadline, NoProgress(), n_jobs) as workers:
            pool = candidate_pool(problem.score, replace(known, at_most=np.minimum(known.at_most, sizes)), workers)
    except Stopped:
        return None
    members = np.bitwise_or.reduceat(pool.masks, pool.offsets[:-1])
    return np.asarray((members[None, :] >> np.arange(problem.n_nodes)[:, None]) & 1 != 0)
