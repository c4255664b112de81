"""MMHC: hill climbing among the edges that MMPC leaves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dagopt.independence.base import IndependenceTest
from dagopt.independence.mmpc import learn_candidates
from dagopt.independence.stable_pc import checked_max_given
from dagopt.independence.tests import checked_alpha, make_test
from dagopt.independence.threads import checked_jobs
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result
from dagopt.search.hill_climbing import checked_whole, climb, with_restarts
from dagopt.search.hill_names import name_order
from dagopt.stop import Deadline

__all__ = ["solve_mmhc"]


def solve_mmhc(
    problem: Problem,
    *,
    deadline: Deadline,
    progress: Progress,
    test: str | IndependenceTest = "auto",
    alpha: float = 0.05,
    max_given: int | None = None,
    restarts: int = 0,
    perturb: int = 1,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Result:
    """Find candidate neighbours by tests, then climb among DAGs whose edges join candidates.

    Parameters
    ----------
    problem : Problem
        Data, score and knowledge; required edges are candidates in any case.
    deadline : Deadline
        When to stop. A run stopped during the tests returns the required edges alone.
    progress : Progress
        Where to tell how far the search is.
    test, alpha, max_given, n_jobs
        Of the tests, as in ``solve_pc``.
    restarts, perturb, random_state
        Of the climb, as in ``solve_hc``.

    Returns
    -------
    Result
        With ``trace``, a row a move, and ``details`` as in ``solve_hc`` and ``tests``, ``candidate_pairs``,
        ``one_sided_pairs`` (dropped by the symmetry correction).
    """
    alpha = checked_alpha(alpha)
    max_given = checked_max_given(max_given)
    jobs = checked_jobs(n_jobs)
    checked_whole("restarts", restarts, 0)
    checked_whole("perturb", perturb, 1)
    checked_whole("random_state", random_state, 0)
    knowledge = problem.knowledge
    order = name_order(problem.names)
    grid = np.ix_(order, order)
    candidates = learn_candidates(
        make_test(problem.table, test).take(order),
        alpha,
        (knowledge.must | knowledge.must.T)[grid],
        (knowledge.may | knowledge.may.T)[grid],
        max_given=max_given,
        n_jobs=jobs,
        deadline=deadline,
        progress=progress,
    )
    rank = np.argsort(order)
    may = knowledge.may & candidates.joined[np.ix_(rank, rank)]
    result = with_restarts(
        problem, climb, "mmhc", deadline, progress, restarts=restarts, perturb=perturb, seed=random_state, may=may
    )
    found = {
        "tests": candidates.n_tests,
        "candidate_pairs": int(np.triu(candidates.joined).sum()),
        "one_sided_pairs": candidates.n_one_sided,
    }
    return replace(result, details=result.details | found)
