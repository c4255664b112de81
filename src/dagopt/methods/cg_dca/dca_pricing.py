"""DCA pricing: local minimisation of the reduced cost, inexact but fast (section 3 of the paper)."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Ints
from dagopt.bits import mask_of
from dagopt.deadline import FOREVER, Deadline, Stopped
from dagopt.errors import unknown_name
from dagopt.families.families import Family
from dagopt.lp.rows.row import Point
from dagopt.methods.cg_dca.algorithm1 import CONVEX_STEPS, Visited, dca
from dagopt.methods.cg_dca.decomposition import decomposed
from dagopt.methods.cg_dca.kelley import CUTS_PER_ROUND, KelleyCuts
from dagopt.methods.cg_dca.pricer import Priced, Pricer
from dagopt.methods.cg_dca.reduced_cost import ChainMemory, ReducedCost
from dagopt.problem import Problem

__all__ = ["TIE_ORDERS", "DcaPricer"]

TIE_ORDERS = 5  # at a 0/1 point almost all coordinates tie, and one order reaches few sets


class DcaPricer(Pricer):
    """Prices a node by Algorithm 1; all visited sets with negative reduced cost become families.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    convex_step : {"kelley", "min-norm"}
        How the convex programs are solved.
    epsilon : float
        DCA's threshold ε.
    tolerance : float
        A reduced cost below minus this counts as negative.
    rng : Generator, optional
        Draws the order of equal coordinates of DCA's points; without it, they are ordered by position.
    tie_orders : int
        The orders of tied coordinates of a start point that are tried before a node counts as priced out.
    kelley_cuts : int
        Cuts per round of Kelley's method, one to three.
    """

    def __init__(
        self,
        problem: Problem,
        convex_step: str = "kelley",
        epsilon: float = 1e-6,
        tolerance: float = 1e-6,
        rng: np.random.Generator | None = None,
        tie_orders: int = TIE_ORDERS,
        kelley_cuts: int = CUTS_PER_ROUND,
    ) -> None:
        if convex_step not in CONVEX_STEPS:
            raise unknown_name("convex step", convex_step, list(CONVEX_STEPS))
        self._step = CONVEX_STEPS[convex_step]
        if convex_step == "kelley":
            self._step = partial(KelleyCuts, cuts_per_round=kelley_cuts)
        self._epsilon = epsilon
        self._rng = rng
        self._tie_orders = tie_orders
        self._tolerance = tolerance
        self._score = problem.score
        self.knowledge = problem.knowledge
        decomposed(problem.score)  # or it raises
        self._memories: dict[int, ChainMemory] = {}

    def forget(self) -> None:
        """Clear the cached values, whose last digits depend on the chains that computed them."""
        self._memories = {}

    def reduced_cost(self, node: int, lp: Point, deadline: Deadline = FOREVER) -> ReducedCost:
        """Return z_i under the duals of an LP solution."""
        part, cost = decomposed(self._score.part(node))
        return cost(
            self._memories.setdefault(id(part), ChainMemory(part)),
            node,
            self.candidates(node),
            np.flatnonzero(self.knowledge.must[:, node]),
            float(lp.node_duals[node]),
            *lp.clusters(node, self._tolerance),
            deadline,
        )

    def price(self, node: int, lp: Point, start: NDArray[np.float64], deadline: Deadline) -> Priced:
        """Return the sets of negative reduced cost that DCA visits from a start point."""
        cost = self.reduced_cost(node, lp, deadline)
        if not cost.size:
            return Priced([], 0.0, True)
        ties = self._rng is not None and len(np.unique(start)) < len(start)
        priced = Priced([], 0.0, False)
        for _ in range(self._tie_orders if ties else 1):
            visited, _ = dca(cost, start, self._step, self._epsilon, self._rng, deadline)
            priced = self._families(node, cost, visited, deadline)
            if priced.families or deadline.reason is not None:
                break
        return priced

    def _families(self, node: int, cost: ReducedCost, visited: list[Visited], deadline: Deadline) -> Priced:
        """Return the visited sets that have a negative reduced cost and are allowed, as far as time allows."""
        most = int(self.knowledge.at_most[node]) - len(cost.base)
        families, least = [], 0.0
        for positions, value in visited:
            if len(positions) > most:
                try:
                    positions, value = _shortened(cost, positions, most, deadline)
                except Stopped:
                    break
            if value < -self._tolerance:
                parents = np.sort(np.concatenate([cost.base, cost.candidates[positions]]))
                families.append(Family(node, mask_of(parents), self._score.local(node, parents)))
                least = min(least, value)
        return Priced(families, least, False)


def _shortened(cost: ReducedCost, positions: Ints, most: int, deadline: Deadline) -> Visited:
    """Return a subset with at most this many members, removing the member that costs least, one at a time.

    It raises ``Stopped`` at the deadline, which is looked at before every value: a set may have a thousand members.
    """
    while len(positions) > most:
        values = []
        for k in range(len(positions)):
            deadline.require_time()
            values.append(cost.value(np.delete(positions, k)))
        positions = np.delete(positions, int(np.argmin(values)))
    return Visited(positions, cost.value(positions))
