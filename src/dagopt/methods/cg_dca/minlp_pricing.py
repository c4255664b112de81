"""Exact pricing of Gaussian data by a mixed-integer nonlinear program (Cussens 2023, CLeaR), for few nodes.

The parents that a node must have are regressed out first. What remains is a node with variance v₀, candidates with
covariance A and covariances c with the node. With parents J the residual variance is v(J) = v₀ - c_J' A_JJ⁻¹ c_J, least
for all candidates, and with coefficients b it is v(b) = v_min + |U b - d|², A = U'U, U'd = c.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from dagopt.arrays import Floats, Ints
from dagopt.bits import mask_of
from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Family
from dagopt.lp.restricted_master import reduced_cost
from dagopt.lp.rows.row import Point
from dagopt.methods.cg_dca.minlp_program import PricingProgram, solve_pricing
from dagopt.methods.cg_dca.pricer import Priced
from dagopt.problem import Problem
from dagopt.scores.joint import JointScore

__all__ = ["GAP", "MinlpPricer", "Proven", "Regression", "check_problem"]


GAP = 1e-4  # SCIP proves a reduced cost up to this gap
FAMILIES_PER_CALL = 100  # columns added per node and round, the best first
LEAST_VARIANCE = 1e-6  # least residual variance (of 1) of a column given the others; below it SCIP is not reliable


class Proven(NamedTuple):
    """What pricing found, and a lower bound on the reduced costs of the node."""

    priced: Priced
    lower: float


class Regression(NamedTuple):
    """The regression of a node on its candidates, with its required parents regressed out.

    Attributes
    ----------
    factor, target : array
        U and d.
    variance : float
        v₀, without candidates.
    least_variance : float
        v_min, with all candidates.
    """

    factor: Floats
    target: Floats
    variance: float
    least_variance: float

    @classmethod
    def of(cls, correlation: Floats, node: int, base: Ints, candidates: Ints) -> Regression:
        """Return the regression of a node that always has the parents ``base``."""
        order = np.concatenate([base, candidates, [node]])
        whole = cholesky(correlation[np.ix_(order, order)])  # its lower right block is that of the residuals given base
        free = whole[len(base) :, len(base) :]
        target = free[:-1, -1]
        least = float(free[-1, -1] ** 2)
        return cls(free[:-1, :-1], target, least + float(target @ target), least)

    def coefficient_bounds(self) -> Floats:
        r"""Return M with |b_j| <= M_j in the regression on any set of candidates, M_j² = (v₀ - v_min) (A⁻¹)_jj.

        Notes
        -----
        *Proof.* Take a set J that contains j. Removing j raises the residual variance by b_j² v(j | J - j), with
        v(j | S) the residual variance of j given S:

        .. math:: b_j^2 \, v(j | J - j) = v(J - j) - v(J) \le v_0 - v_{min} .

        More regressors leave less variance, so v(j | J - j) is at least the residual variance of j given all other
        candidates, which is 1 / (A⁻¹)_jj.
        """
        inverse = solve_triangular(self.factor, np.eye(len(self.factor)))
        return np.asarray(np.sqrt((self.variance - self.least_variance) * (inverse**2).sum(axis=1)), dtype=np.float64)


class MinlpPricer:
    """Prices a node by an MINLP on SCIP: the least reduced cost, proven up to ``gap``.

    The sets with negative reduced cost that SCIP meets become families, up to ``FAMILIES_PER_CALL``, the best first;
    scores and reduced costs are computed from the sets, not taken from SCIP.

    Parameters
    ----------
    problem : Problem
        A penalised Gaussian likelihood, and knowledge.
    tolerance : float
        A reduced cost below minus this counts as negative.
    gap : float
        SCIP stops when the least reduced cost is known up to this; sets above minus this are not searched for.
    seconds : float, optional
        Limit for one call; the bound that SCIP has by then still holds.

    Attributes
    ----------
    solved, stopped : int
        How many calls finished, and how many did not.
    """

    def __init__(
        self, problem: Problem, tolerance: float = 1e-6, gap: float = GAP, seconds: float | None = None
    ) -> None:
        self._score, self._correlation = check_problem(problem)
        self.knowledge = problem.knowledge
        self._tolerance = tolerance
        self._gap = gap
        self._seconds = seconds
        self.solved = self.stopped = 0

    def candidates(self, node: int) -> Ints:
        """Return the nodes that may but need not be parents."""
        return self.knowledge.free(node)

    def forget(self) -> None:
        """Do nothing: a program is the same however often it is solved."""

    def price(self, node: int, lp: Point, start: Floats, deadline: Deadline) -> Priced:
        """Return the families that SCIP met; the start point is not needed."""
        return self.prove(node, lp, deadline).priced

    def prove(self, node: int, lp: Point, deadline: Deadline) -> Proven:
        """Return the families that SCIP met, and a bound on the reduced costs of all allowed sets."""
        base, candidates = np.flatnonzero(self.knowledge.must[:, node]), self.candidates(node)
        penalties = self._penalties(node, len(base), len(candidates))
        without = reduced_cost(lp, self._family(node, base))
        if len(penalties) < 2:
            return Proven(Priced([], min(without, 0.0), True), min(without, 0.0))
        regression = Regression.of(self._correlation, node, base, candidates)
        half, scale = 0.5 * self._score.n_samples, math.sqrt(regression.least_variance)
        ratio = regression.variance / regression.least_variance
        offset = without - half * math.log(ratio)  # reduced cost = offset + objective, and the objective is >= 0
        program = PricingProgram(
            half,
            regression.factor / scale,
            regression.target / scale,
            regression.coefficient_bounds(),
            penalties,
            self._clusters(node, base, candidates, lp),
        )
        cutoff = -self._gap - offset
        if cutoff <= 0:
            self.solved += 1
            return Proven(Priced([], min(without, 0.0), True), min(offset, 0.0))
        outcome = solve_pricing(program, cutoff, self._gap, self._seconds, deadline)
        self.solved, self.stopped = self.solved + outcome.complete, self.stopped + (not outcome.complete)
        sets = outcome.sets[:FAMILIES_PER_CALL]
        found = [self._family(node, np.concatenate([base, candidates[list(own)]])) for own in sets]
        costs = [reduced_cost(lp, family) for family in found]
        families = [family for family, cost in zip(found, costs, strict=True) if cost < -self._tolerance]
        least = min(0.0, without, *costs)
        return Proven(Priced(families, least, outcome.complete), min(max(outcome.bound, 0.0) + offset, least))

    def _family(self, node: int, parents: Ints) -> Family:
        return Family(node, mask_of(parents), self._score.local(node, parents))

    def _penalties(self, node: int, base: int, size: int) -> Floats:
        """Return the cost of 0, 1, ... more parents, up to the largest number that is allowed and finite."""
        most = min(int(self.knowledge.at_most[node]) - base, size)
        costs = np.array([self._score.penalty(node, range(base + k)) for k in range(most + 1)])
        return np.asarray(costs[np.isfinite(costs)] - costs[0], dtype=np.float64)

    def _clusters(self, node: int, base: Ints, candidates: Ints, lp: Point) -> list[tuple[frozenset[int], float]]:
        """Return the candidates in each cluster that only they can meet, with its dual; equal clusters are merged."""
        duals: dict[frozenset[int], float] = {}
        for cluster, dual in zip(*lp.clusters(node), strict=True):
            if not cluster[base].any():
                met = frozenset(np.flatnonzero(cluster[candidates]).tolist())
                duals[met] = duals.get(met, 0.0) + float(dual)
        return [(met, dual) for met, dual in duals.items() if met]


def check_problem(problem: Problem) -> tuple[JointScore, Floats]:
    """Return the score and the correlations of a problem, or raise an error if the program cannot handle it."""
    score, table = problem.score, problem.table
    if not isinstance(table, ContinuousTable) or score.joints is None or score.likelihood != "gaussian":
        continuous = table.kind == "continuous"
        remedy = "use score='bic', 'aic', 'loglik' or a penalty" if continuous else "use method='cg-dca' or 'exact'"
        raise InputError(
            f"CG-MINLP needs continuous data and a penalised Gaussian likelihood but the score is {score.label}; "
            f"{remedy}"
        )
    try:
        inverse = np.linalg.inv(cholesky(table.correlation))
        left = 1.0 / (inverse**2).sum(axis=1)
    except np.linalg.LinAlgError:
        left = np.zeros(problem.n_nodes)
    if left.min() < LEAST_VARIANCE:
        raise InputError(
            f"CG-MINLP needs columns that keep at least {LEAST_VARIANCE:g} of their variance given the others but "
            f"{problem.names[int(left.argmin())]!r} keeps {left.min():.1e}; leave it out, give more rows, or use "
            f"method='exact'"
        )
    return score.joints, table.correlation
