"""The pricing problem of Gaussian data as a mixed-integer nonlinear program, by spatial branch and bound on SCIP.

For one node, let z_j = 1 if candidate j is a parent, b_j its coefficient, and w the residual variance divided by the
least possible one, that with all candidates:

    min  t + Σ step z_j + e + Σ λ_C y_C
    s.t. t >= N/2 log w,   N/2 w >= N/2 + |r|²,   r = √(N/2) (U b - d),   |b_j| <= M_j z_j,
         y_C >= z_j for j in C,   Σ z_j <= most,   e >= what a convex penalty is above its first step.

The residual variance is convex in b, and a sum of squares once the matrix of the candidates is factored. Only the row
of t is not convex; SCIP branches on w for it. With this scaling, SCIP's tolerance for a row is also one for the
objective, whatever N is. A primal heuristic fits the coefficients of every set that an LP point rounds to, in closed
form.

References
----------
.. [1] Cussens (2023). Branch-price-and-cut for causal discovery. CLeaR.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyscipopt import Heur, Model, log, quicksum
from pyscipopt.scip import PY_SCIP_HEURTIMING as SCIP_HEURTIMING
from pyscipopt.scip import PY_SCIP_PARAMSETTING as SCIP_PARAMSETTING
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from dagopt.arrays import Floats
from dagopt.deadline import Deadline
from dagopt.lp.cluster_ip import Answer, Poll, free, guarded, set_parameters
from dagopt.lp.limits import NO_LIMIT

__all__ = ["SAFETY", "PricingOutcome", "PricingProgram", "solve_pricing"]

Chosen = tuple[int, ...]

FEASIBILITY = 1e-6  # of rows; with the 1e-9 of the restricted master, LPs failed and proofs did not end
SAFETY = 1e-5  # subtracted from SCIP's bound: its LPs are optimal to 1e-7, times the ranges of the variables
COMPLETE = ("optimal", "infeasible", "gaplimit")


@dataclass(frozen=True, eq=False)
class PricingProgram:
    """The numbers of the program of one node.

    Attributes
    ----------
    half_samples : float
        N/2.
    factor : array of shape (m, m)
        U, upper triangular.
    target : array of shape (m,)
        d.
    coefficient_bounds : array of shape (m,)
        M.
    penalties : array
        The cost of 0, 1, ..., most parents: finite, convex and 0 at 0; at least one parent is possible.
    clusters : list of (set of int, float)
        The candidates in each cluster, and λ_C > 0.
    """

    half_samples: float
    factor: Floats
    target: Floats
    coefficient_bounds: Floats
    penalties: Floats
    clusters: list[tuple[frozenset[int], float]]

    @property
    def largest_ratio(self) -> float:
        """The value of w without parents."""
        return 1.0 + float(self.target @ self.target)

    def fit(self, chosen: Chosen) -> tuple[Floats, Floats]:
        """Return the best b of a set of parents, and U b - d."""
        b = np.zeros(len(self.target))
        own = list(chosen)
        b[own] = np.linalg.lstsq(self.factor[:, own], self.target, rcond=None)[0]
        return b, self.factor @ b - self.target

    def objective(self, chosen: Chosen) -> float:
        """Return the objective of a set of parents."""
        _, off = self.fit(chosen)
        met = sum(dual for members, dual in self.clusters if members.intersection(chosen))
        return float(self.half_samples * math.log1p(off @ off) + self.penalties[len(chosen)] + met)


@dataclass(frozen=True)
class PricingOutcome:
    """What SCIP found.

    Attributes
    ----------
    sets : list of tuple of int
        Positions of the candidates in each set found below the cutoff, the best first.
    bound : float
        No set below the cutoff has a lower objective; minus infinity if SCIP failed.
    complete : bool
        Whether SCIP finished, rather than reaching a time limit.
    """

    sets: list[Chosen]
    bound: float
    complete: bool


def solve_pricing(
    program: PricingProgram, cutoff: float, gap: float, seconds: float | None, deadline: Deadline
) -> PricingOutcome:
    """Find the sets of candidates with the least objective.

    Parameters
    ----------
    program : PricingProgram
        What to minimise.
    cutoff : float
        Only sets with a lower objective are of interest.
    gap : float
        SCIP may stop when the best set and the bound differ by this.
    seconds : float, optional
        A limit for this program alone.
    deadline : Deadline
        The clock of the run.
    """
    for separating in (SCIP_PARAMSETTING.FAST, SCIP_PARAMSETTING.OFF):
        outcome = _attempt(program, cutoff, gap, seconds, deadline, separating)
        if outcome is not None:
            return outcome
    return PricingOutcome([], -math.inf, False)


def _attempt(
    program: PricingProgram, cutoff: float, gap: float, seconds: float | None, deadline: Deadline, separating: int
) -> PricingOutcome | None:
    """Run SCIP once; None if it met an LP that it could not solve, which is rare."""
    model = Model()
    try:
        variables = _Variables(model, program)
        set_parameters(model, deadline)
        model.setParam("numerics/feastol", FEASIBILITY)
        model.setParam("numerics/dualfeastol", 0.1 * FEASIBILITY)
        model.setParam("constraints/nonlinear/tightenlpfeastol", False)  # LPs failed with it
        model.setParam("limits/time", min(deadline.remaining(), NO_LIMIT if seconds is None else seconds))
        model.setParam("limits/absgap", gap)
        model.setObjlimit(cutoff)
        model.setHeuristics(SCIP_PARAMSETTING.OFF)  # the heuristic below finds the sets faster
        model.setSeparating(separating)
        model.setPresolve(SCIP_PARAMSETTING.OFF)  # keeps the variables unchanged
        model.includeEventhdlr(Poll(deadline), "poll", "stops at the deadline")
        fitted = _Fitted(program, variables, cutoff, deadline)
        timing = SCIP_HEURTIMING.DURINGLPLOOP | SCIP_HEURTIMING.AFTERLPNODE
        model.includeHeur(fitted, "fitted", "least squares for rounded parents", "F", freq=1, timingmask=timing)
        try:
            model.optimize()
        except Exception:  # PySCIPOpt has no narrower class
            return None
        if fitted.error is not None:
            raise fitted.error
        for solution in model.getSols():
            fitted.look(variables.chosen(solution))
        bound = min(model.getDualbound(), cutoff) - SAFETY
        return PricingOutcome(fitted.below(), bound, model.getStatus() in COMPLETE)
    finally:
        free(model)


class _Variables:
    """The variables of a model; making them writes the program into it."""

    def __init__(self, model: Model, program: PricingProgram) -> None:
        self._model = model
        self._program = program
        self._scale = math.sqrt(program.half_samples)
        half, top = program.half_samples, program.largest_ratio
        size, most = len(program.target), len(program.penalties) - 1
        steps = np.diff(program.penalties)
        self.z = [model.addVar(vtype="B", obj=float(steps[0])) for _ in range(size)]
        self._b = [model.addVar(lb=-float(bound), ub=float(bound)) for bound in program.coefficient_bounds]
        for z, b, bound in zip(self.z, self._b, program.coefficient_bounds, strict=True):
            model.addCons(b <= float(bound) * z)
            model.addCons(b >= -float(bound) * z)
        if most < size:
            model.addCons(quicksum(self.z) <= most)
        self._excess = program.penalties - steps[0] * np.arange(most + 1)
        self._e = model.addVar(lb=0.0, ub=float(self._excess[-1]), obj=1.0)
        for k, slope in enumerate(np.diff(self._excess)):
            if slope > 0:
                model.addCons(self._e >= float(self._excess[k]) + float(slope) * (quicksum(self.z) - k))
        self._y = [model.addVar(lb=0.0, ub=1.0, obj=dual) for _, dual in program.clusters]
        for y, (members, _) in zip(self._y, program.clusters, strict=True):
            for j in sorted(members):
                model.addCons(y >= self.z[j])
        reach = self._scale * math.sqrt(top - 1.0)
        self._r = [model.addVar(lb=-reach, ub=reach) for _ in range(size)]
        for k, row in enumerate(self._scale * program.factor):
            fit = quicksum(float(row[j]) * self._b[j] for j in range(k, size))
            model.addCons(self._r[k] == fit - self._scale * float(program.target[k]))
        self._w = model.addVar(lb=1.0, ub=top)
        self._t = model.addVar(lb=0.0, ub=half * math.log(top), obj=1.0)
        model.addCons(quicksum(r * r for r in self._r) <= half * self._w - half)
        model.addCons(half * log(self._w) <= self._t)

    def chosen(self, solution: Any) -> Chosen:
        """Return the parents of a solution."""
        return tuple(j for j, z in enumerate(self.z) if self._model.getSolVal(solution, z) > 0.5)

    def fill(self, solution: Any, chosen: Chosen) -> None:
        """Write the point of a set of parents into a solution."""
        program = self._program
        b, off = program.fit(chosen)
        ratio = 1.0 + float(off @ off)
        point = [
            *((z, j in chosen) for j, z in enumerate(self.z)),
            *zip(self._b, b, strict=True),
            *zip(self._r, self._scale * off, strict=True),
            *(
                (y, bool(members.intersection(chosen)))
                for y, (members, _) in zip(self._y, program.clusters, strict=True)
            ),
            (self._e, self._excess[len(chosen)]),
            (self._w, ratio),
            (self._t, program.half_samples * math.log(ratio)),
        ]
        for variable, value in point:
            self._model.setSolVal(solution, variable, float(value))


class _Fitted(Heur):
    """The primal heuristic: the sets that an LP point rounds to, with the coefficients of least squares."""

    def __init__(self, program: PricingProgram, variables: _Variables, cutoff: float, deadline: Deadline) -> None:
        self.deadline = deadline
        self.error: BaseException | None = None
        self._program = program
        self._variables = variables
        self._cutoff = cutoff
        self._known: dict[Chosen, float] = {}

    def below(self) -> list[Chosen]:
        """Return the sets below the cutoff, the best first."""
        return sorted((own for own, value in self._known.items() if value < self._cutoff), key=self._known.__getitem__)

    def look(self, chosen: Chosen) -> bool:
        """Say whether a set is new and below the cutoff, and remember it."""
        if chosen in self._known:
            return False
        self._known[chosen] = self._program.objective(chosen)
        return self._known[chosen] < self._cutoff

    @guarded(nothing=SCIP_RESULT.DIDNOTFIND, failed=SCIP_RESULT.DIDNOTFIND)
    def heurexec(self, timing: int, infeasible: bool) -> Answer | None:
        """Try the parents above one half, and those above zero, at the LP point."""
        values = [self.model.getSolVal(None, z) for z in self._variables.z]
        largest = sorted(range(len(values)), key=lambda j: (-values[j], j))[: len(self._program.penalties) - 1]
        found = False
        for least in (0.5, FEASIBILITY):
            chosen = tuple(sorted(j for j in largest if values[j] > least))
            if self.look(chosen):
                solution = self.model.createSol(self)
                self._variables.fill(solution, chosen)
                found |= self.model.trySol(  # SCIP's own variables for parts of rows have no value in it
                    solution, printreason=False, checkbounds=False, checklprows=False
                )
        return {"result": SCIP_RESULT.FOUNDSOL} if found else None
