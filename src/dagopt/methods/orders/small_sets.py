"""Order search from the best DAG of small parent sets: where growing stops at the same DAG from every start.

Order search grows parent sets one column at a time. If two parents help only together, no growth takes the first one,
and ``better_parents.py`` looks only at columns that are not descendants: an edge that must turn for it stays. So all
searches may agree on a DAG that is not the best. Here all parent sets of up to four, three or two columns are listed,
as the time allows, and a search over orders takes each column's best listed set (``listed_search.py``). Its DAG scores
less, for want of larger sets, but it has what was hidden, and order search goes on from there. The sets that it meets
join the listed ones, and the search over all of them puts together what is good in different DAGs, until that is in
vain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dagopt.arrays import Dag
from dagopt.bits import mask_of, to_words
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.families.listing import Candidates, count_sets, limited
from dagopt.methods.orders.listed_search import best_of_orders
from dagopt.methods.orders.order import order_incumbent
from dagopt.methods.orders.search import BareFamily, families
from dagopt.methods.start import StartDag
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.workers import Workers

__all__ = ["SmallSets"]

SIZES = (4, 3, 2)  # of the largest sets that are listed, the first for which there is time
LARGE_SIZE = 4  # from here on only sets of discrete data are listed, of as few columns as of continuous data: up to 26
MOST_SMALL_SETS = 400_000  # size 3 up to 40 columns, size 2 up to 93;
MOST_COUNTED_SETS = 2_100_000  # of discrete data, where most are given up uncounted: size 3 up to 60 columns
LEAST_SECONDS, SECONDS_PER_SET = 0.02, 2e-7  # of a listing, besides the local scores
SHARED = 0.5  # joints of columns are counted together, each once for all its members: this much of a local score each
TRIES = 100  # of the search over the listed sets, which takes hundredths of a second
MOST_ROUNDS = 10  # of both searches in turn, which end earlier if they find nothing better
BETTER = 1e-9  # relative to the score; what a DAG must gain to be better


class SmallSets:
    """Small parent sets, and those that searches from them met.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    n_jobs : int, optional
        The number of threads, on which the answer does not depend; all cores for None and -1.
    """

    def __init__(self, problem: Problem, n_jobs: int | None) -> None:
        self._problem = problem
        self._n_jobs = n_jobs
        self._pool: Families | None = None

    def take(self, pool: Families) -> None:
        """Take sets that were listed elsewhere."""
        self._pool = self._pool or pool

    def listed(self, deadline: Deadline, progress: Progress) -> bool:
        """List the sets unless that was done; say whether there are any, or no time to list them.

        A listing that is stopped leaves the sets of the sizes before.
        """
        score = self._problem.score
        is_counted = score.bulk_joints is not None
        for size in SIZES if self._pool is None else ():
            if size >= LARGE_SIZE and not is_counted:
                continue
            most = MOST_COUNTED_SETS if is_counted and size < LARGE_SIZE else MOST_SMALL_SETS
            known = limited(self._problem.knowledge, size)
            sets = count_sets(known)
            with Workers(deadline, progress, self._n_jobs) as workers:
                per_set = score.seconds_per_local * (SHARED / (size + 1) if is_counted else 1.0)
                seconds = LEAST_SECONDS + sets * (SECONDS_PER_SET + per_set) / workers.count
                if sets > most or seconds > deadline.remaining():
                    continue
                candidates = Candidates(score, known)
                candidates.grow(workers)
            self._pool = candidates.pool()
            break
        return self._pool is not None

    def best(self, known: Dag | None, deadline: Deadline, seed: int) -> Dag | None:
        """Return the best DAG of the sets that a search over orders finds, None if there is none.

        Parameters
        ----------
        known : int8 array or None
            A DAG of these sets, than which the answer is not worse.
        deadline : Deadline
            When to stop.
        seed : int
            The seed of the search.
        """
        pool = self._pool
        assert pool is not None
        begin = pool.start(None) if known is None else pool.exactly(known)
        found = best_of_orders(pool, begin, TRIES, np.random.default_rng(seed), deadline)
        return None if found is None else pool.adjacency(found)

    def better(self, known: Dag, deadline: Deadline, seed: int) -> Dag:
        """Return the best DAG of a search over orders that takes all of the time, if it is better than a known one.

        It is for sets that are all that are allowed, so that the search need not go beyond them.
        """
        pool = self._pool
        assert pool is not None
        begin = pool.inside(known)
        rng = np.random.default_rng(seed)
        found = best_of_orders(pool, begin, TRIES, rng, deadline, share=1.0, most_vain=np.inf)
        return known if found is None else pool.adjacency(found)

    def search(self, known: Dag, deadline: Deadline, progress: Progress, seed: int) -> Dag:
        """Return the best DAG of searches from these sets, and of these with what they met; never worse than ``known``.

        Parameters
        ----------
        known : int8 array
            The best DAG so far.
        deadline : Deadline
            When to stop.
        progress : Progress
            Where the searches are shown.
        seed : int
            The seed of the searches.
        """
        total = self._problem.score.total
        best, top = known, total(known)
        begin = self.best(None, deadline, seed)
        for k in range(MOST_ROUNDS):
            if begin is None or deadline.reason is not None:
                break
            given: dict[str, Any] = {"n_jobs": self._n_jobs, "random_state": seed, "restarts": 1}
            found, met = order_incumbent(self._problem, deadline, progress, start=StartDag(begin), **given)
            score = total(found)
            is_better = score > top + BETTER * abs(score)
            best, top = (found, score) if is_better else (best, top)
            if k and not is_better:
                break
            self._add({*met, *families(best)})
            begin = self.best(best, deadline, seed)
            if begin is not None and total(begin) <= top + BETTER * abs(top):
                break
        return best

    def _add(self, sets: set[BareFamily]) -> None:
        """Add sets that searches met."""
        assert self._pool is not None
        nodes, parents = [node for node, _ in sets], [own for _, own in sets]
        scores = self._problem.score.local_many(nodes, parents)
        words = to_words([mask_of(own) for own in parents], self._problem.n_nodes)
        met = Families.of(self._pool.names, np.array(nodes, dtype=np.int64), words, scores)
        self._pool = self._pool.joined(met)
