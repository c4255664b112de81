"""Listed pricing: the least reduced cost over all parent sets up to a size, from a list of those that could matter.

A set that has a subset with at least its score is not in the list: the subset meets no cluster that the set does not
meet, so its reduced cost is at most the set's under any duals. For discrete data few sets are left, because the
penalty grows with the product of the numbers of levels, and evaluating them takes microseconds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import from_words, words_of_bools
from dagopt.deadline import Deadline
from dagopt.families.families import Families, Family
from dagopt.graph.knowledge import Knowledge
from dagopt.lp.rows.row import Point
from dagopt.methods.cg_dca.pricer import Priced, Pricer

__all__ = ["ListedPricer"]

FAMILIES_PER_CALL = 20  # columns added per node and round, the best first


class ListedPricer(Pricer):
    """Prices a node by evaluating every set of its list, so it finds the least reduced cost.

    Parameters
    ----------
    pool : Families
        All allowed parent sets up to a size that no subset equals or beats.
    knowledge : Knowledge
        What the pool covers; its limit on the number of parents may be lower than that of the problem.
    tolerance : float
        A reduced cost below minus this counts as negative.
    """

    def __init__(self, pool: Families, knowledge: Knowledge, tolerance: float = 1e-6) -> None:
        self.pool = pool
        self.knowledge = knowledge
        self._tolerance = tolerance

    def price(self, node: int, lp: Point, start: NDArray[np.float64], deadline: Deadline) -> Priced:
        """Return the families with the least reduced costs; the start point is not needed."""
        words, scores = self.pool.words[self.pool.own(node)], self.pool.score[self.pool.own(node)]
        costs = lp.node_duals[node] - scores
        inside, duals = lp.clusters(node)
        for row, dual in zip(words_of_bools(inside), duals, strict=True):
            costs[(words & row).any(axis=1)] += dual
        best = np.argsort(costs, kind="stable")[:FAMILIES_PER_CALL]
        families = [
            Family(node, from_words(words[k]), float(scores[k])) for k in best[costs[best] < -self._tolerance].tolist()
        ]
        return Priced(families, float(min(costs[best[0]], 0.0)), True)
