"""MMHC: hill climbing over the edges that MMPC keeps.

The climb keeps a list of the last 100 DAGs and ends after 15 moves without a new best, as the authors of MMHC do
[1]_; the R package bnlearn climbs without a list. Restarts are added, since greedy climbs over few
edges often end early.

References
----------
.. [1] I. Tsamardinos, L. E. Brown, C. F. Aliferis, "The max-min hill-climbing Bayesian network structure learning
   algorithm", Machine Learning 65, 2006, DOI 10.1007/s10994-006-6889-7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from dagopt.deadline import Deadline
from dagopt.methods.climbing.hill_climbing import HillClimbingOptions, with_restarts
from dagopt.methods.climbing.tabu import walk
from dagopt.methods.independence.independence_test import Search
from dagopt.methods.independence.mmpc import learn_candidates
from dagopt.methods.independence.tests import TestOptions, make_test
from dagopt.methods.method_options import random_state, solver
from dagopt.methods.names import name_order
from dagopt.options import option, whole
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer
from dagopt.workers import thread_count

__all__ = ["MmhcOptions", "solve_mmhc"]


@dataclass(frozen=True)
class MmhcOptions(TestOptions):
    """Options of MMHC; ``max_worse=0, restarts=0`` is plain hill climbing."""

    max_given: int | None = option(
        3,
        "The size of the largest conditioning set; without a limit the cost doubles with every candidate.",
        whole(0, remedy="3 is a usual limit"),
    )
    tabu: int = option(100, "How many of the last visited DAGs are remembered.", whole(1))
    max_worse: int = option(15, "A climb ends after this many moves in a row without a new best DAG.", whole(0))
    restarts: int = option(10, "Further climbs, each from the best DAG so far after some random moves.", whole(0))
    perturb: int | None = option(
        None, "Random moves before each restart; as many as there are columns unless given.", whole(1)
    )
    random_state: int = random_state()


@solver(MmhcOptions)
def solve_mmhc(problem: Problem, options: MmhcOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Find candidate neighbours by tests, then climb over DAGs whose edges join candidates.

    Required edges are always candidates. A run stopped during the tests returns only the required edges.

    Returns
    -------
    Answer
        With ``trace``, one row per move, and ``figures`` as in ``solve_hc`` and ``tests``, ``candidate_pairs``,
        ``one_sided_pairs`` (dropped by the symmetry correction).
    """
    knowledge = problem.knowledge
    order = name_order(problem.names)
    grid = np.ix_(order, order)
    test, jobs = make_test(problem.table, options.test).take(order), thread_count(options.n_jobs)
    candidates = learn_candidates(
        Search(test, options.alpha, deadline, progress, options.max_given, jobs),
        (knowledge.must | knowledge.must.T)[grid],
        (knowledge.may | knowledge.may.T)[grid],
    )
    rank = np.argsort(order)
    may = knowledge.may & candidates.joined[np.ix_(rank, rank)]
    perturb = problem.n_nodes if options.perturb is None else options.perturb
    climbing = HillClimbingOptions(
        restarts=options.restarts, perturb=perturb, random_state=options.random_state, reinsert=False
    )
    walking = partial(walk, length=options.tabu, max_worse=options.max_worse)
    found = with_restarts(problem, walking, "mmhc", climbing, deadline, progress, may)
    return found.with_figures(
        tests=candidates.n_tests,
        candidate_pairs=int(np.triu(candidates.joined).sum()),
        one_sided_pairs=candidates.n_one_sided,
    )
