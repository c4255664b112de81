"""Order search from the best DAG of small parent sets: where growing stops at the same DAG from every start.

Order search grows parent sets one column at a time. If two parents help only together, no growth takes the first one,
and ``better_parents.py`` looks only at columns that are not descendants: an edge that must turn for it stays. So all
searches may agree on a DAG that is not the best. Here all parent sets of up to three or two columns are listed, as the
time allows, and a search over orders takes each column's best listed set (``listed_search.py``). Its DAG scores less,
for want of larger sets, but it has what was hidden, and order search goes on from there.
"""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.families.listing import Candidates, count_sets, limited
from dagopt.methods.orders.listed_search import best_of_orders
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.workers import Workers

__all__ = ["best_of_small_sets"]

SIZES = (3, 2)  # of the largest sets that are listed, the first for which there is time
MOST_SMALL_SETS = 400_000  # size 3 up to 40 columns, size 2 up to 93
LEAST_SECONDS, SECONDS_PER_SET = 0.02, 1e-6  # of a listing, besides the local scores
SHARED = 0.5  # joints of columns are counted together, each once for all its members: this much of a local score each
TRIES = 30  # of the search over the listed sets, which takes hundredths of a second


def best_of_small_sets(
    problem: Problem, deadline: Deadline, progress: Progress, *, random_state: int, n_jobs: int | None
) -> Dag | None:
    """Return the best DAG that a search over small parent sets finds; None if there is no time to list any.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    deadline : Deadline
        When to stop; a listing that is stopped leaves the sets of the sizes before.
    progress : Progress
        Where the listing is shown.
    random_state : int
        The seed of the search.
    n_jobs : int, optional
        The number of threads, on which the answer does not depend; all cores for None and -1.
    """
    score = problem.score
    for size in SIZES:
        known = limited(problem.knowledge, size)
        sets = count_sets(known)
        with Workers(deadline, progress, n_jobs) as workers:
            per_set = score.seconds_per_local * (1.0 if score.bulk_joints is None else SHARED / (size + 1))
            seconds = LEAST_SECONDS + sets * (SECONDS_PER_SET + per_set) / workers.count
            if sets > MOST_SMALL_SETS or seconds > deadline.remaining():
                continue
            candidates = Candidates(score, known)
            candidates.grow(workers)
        pool = candidates.pool()
        rng = np.random.default_rng(random_state)
        best = best_of_orders(pool, pool.start(None), TRIES, rng, deadline)
        return None if best is None else pool.adjacency(best)
    return None
