"""Exhaustive pricing: the least reduced cost over all parent sets, while 2^(n-1) of them are few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import bit_counts, mask_of
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Family
from dagopt.lp.rows.row import Point
from dagopt.methods.cg_dca.pricer import Priced, Pricer
from dagopt.problem import Problem

__all__ = ["MOST_CANDIDATES", "ExhaustivePricer"]

MOST_CANDIDATES = 19  # 2^19 sets per node: 4 MB of scores
FAMILIES_PER_CALL = 20  # columns added per node and round, the best first


class ExhaustivePricer(Pricer):
    """Prices a node by evaluating every allowed parent set, so it finds the least reduced cost.

    Parameters
    ----------
    problem : Problem
        Score and knowledge; at most ``MOST_CANDIDATES`` free candidates per node.
    tolerance : float
        A reduced cost below minus this counts as negative.
    """

    def __init__(self, problem: Problem, tolerance: float = 1e-6) -> None:
        self._score = problem.score
        self.knowledge = problem.knowledge
        self._tolerance = tolerance
        most = max(len(self.candidates(i)) for i in range(problem.n_nodes))
        if most > MOST_CANDIDATES:
            raise InputError(
                f"expected at most {MOST_CANDIDATES} candidate parents per node for exhaustive pricing but got {most}, "
                f"which is 2^{most} parent sets; use pricing='dca'"
            )
        self._tables: dict[int, NDArray[np.float64]] = {}

    def price(self, node: int, lp: Point, start: NDArray[np.float64], deadline: Deadline) -> Priced:
        """Return the families with the least reduced costs; the start point is not needed."""
        costs = lp.node_duals[node] - self._scores(node)
        candidates = self.candidates(node)
        must = self.knowledge.must[:, node]
        base = set(np.flatnonzero(must).tolist())
        for cluster, dual in zip(*lp.clusters(node), strict=True):
            _add_where_met(costs, candidates, cluster, bool((must & cluster).any()), float(dual))
        best = np.argsort(costs, kind="stable")[:FAMILIES_PER_CALL]
        families = []
        for index in best[costs[best] < -self._tolerance]:
            parents = sorted(base | {int(j) for b, j in enumerate(candidates) if (int(index) >> b) & 1})
            families.append(Family(node, mask_of(parents), self._score.local(node, parents)))
        return Priced(families, float(min(costs[best[0]], 0.0)), True)

    def _scores(self, node: int) -> NDArray[np.float64]:
        """Return the local scores of all subsets of the candidates, joined with the required parents."""
        if node not in self._tables:
            candidates = self.candidates(node)
            base = np.flatnonzero(self.knowledge.must[:, node])
            everything = self._score.subsets(node, np.concatenate([candidates, base]))
            with_base = ((1 << len(base)) - 1) << len(candidates)
            table = np.array(everything[with_base : with_base + (1 << len(candidates))], dtype=np.float64)
            table[bit_counts(len(candidates)) > self.knowledge.at_most[node] - len(base)] = -np.inf
            self._tables[node] = table
        return self._tables[node]


def _add_where_met(
    costs: NDArray[np.float64], candidates: NDArray[np.int64], cluster: NDArray[np.bool_], always: bool, dual: float
) -> None:
    """Add a cluster's dual to the cost of every set that meets it."""
    if always:
        costs += dual
        return
    meets = np.zeros(1, dtype=bool)
    for j in candidates:
        meets = np.concatenate([meets, np.ones_like(meets) if cluster[j] else meets])
    costs[meets] += dual
