"""MMHC: hill climbing among the edges that MMPC leaves.

The climb keeps a list of the last 100 DAGs and ends after 15 moves without a new best, as the authors of MMHC do
[1]_; the R package bnlearn climbs without a list. Restarts are added, since greedy climbs among few
edges often end early.

References
----------
.. [1] I. Tsamardinos, L. E. Brown, C. F. Aliferis, "The max-min hill-climbing Bayesian network structure learning
   algorithm", Machine Learning 65, 2006, DOI 10.1007/s10994-006-6889-7.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dagopt.deadline import Deadline
from dagopt.methods.climbing.hill_climbing import checked_climb, with_restarts
from dagopt.methods.climbing.tabu import checked_walk, walk
from dagopt.methods.independence.base import IndependenceTest
from dagopt.methods.independence.mmpc import learn_candidates
from dagopt.methods.independence.stable_pc import checked_max_given
from dagopt.methods.independence.tests import checked_alpha, make_test
from dagopt.methods.independence.threads import checked_jobs
from dagopt.methods.names import name_order
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result

__all__ = ["solve_mmhc"]


def solve_mmhc(
    problem: Problem,
    *,
    deadline: Deadline,
    progress: Progress,
    test: str | IndependenceTest = "auto",
    alpha: float = 0.05,
    max_given: int | None = 3,
    tabu: int = 100,
    max_worse: int = 15,
    restarts: int = 10,
    perturb: int | None = None,
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
        Of the tests, as in ``solve_pc``. Sets of at most three by default, which bounds the cost: without a limit
        it doubles with every candidate.
    tabu, max_worse, restarts, random_state
        Of the climb, as in ``solve_tabu``; ``max_worse=0, restarts=0`` is plain hill climbing.
    perturb : int, optional
        Random moves before each restart; as many as there are columns if not given.

    Returns
    -------
    Result
        With ``trace``, a row a move, and ``details`` as in ``solve_hc`` and ``tests``, ``candidate_pairs``,
        ``one_sided_pairs`` (dropped by the symmetry correction).
    """
    alpha = checked_alpha(alpha)
    max_given = checked_max_given(max_given)
    jobs = checked_jobs(n_jobs)
    climbing = checked_climb(restarts, problem.n_nodes if perturb is None else perturb, random_state)
    walking = checked_walk(tabu, max_worse)
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
    result = with_restarts(problem, walk, "mmhc", deadline, progress, may=may, **climbing, **walking)
    found = {
        "tests": candidates.n_tests,
        "candidate_pairs": int(np.triu(candidates.joined).sum()),
        "one_sided_pairs": candidates.n_one_sided,
    }
    return replace(result, details=result.details | found)
