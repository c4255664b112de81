"""The pricing problem of Gaussian data as a mixed-integer nonlinear program (MINLP), by spatial branch and bound on SCIP.

For one node, with z_j = 1 where candidate j is a parent, its coefficient b_j, and w the residual variance over the
least one that there is (all candidates parents),

    min  t + Σ step z_j + e + Σ λ_C y_C
    s.t. t >= N/2 log w,   w >= 1 + |r|²,   r = U b - d,   |b_j| <= M_j z_j,   y_C >= z_j for j in C,   Σ z_j <= most.

The residual sum is convex in b, and a sum of squares once the matrix of the candidates is factored; t is what is not
convex, and SCIP branches on w for it. Both nonlinear rows are scaled by N/2, so that SCIP's tolerance of them is about
as large in the objective as in the row, whatever N.

References
----------
.. [1] Cussens (2023). Branch-price-and-cut for causal discovery. CLeaR.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Model, log, quicksum

from dagopt.solvers.scip import NO_LIMIT, _free, _Poll, _set_parameters
from dagopt.stop import Deadline

__all__ = ["PricingOutcome", "PricingProgram", "solve_pricing"]

Floats = NDArray[np.float64]

FEASIBILITY = 1e-6  # of rows; with 1e-9, as for the restricted master, LPs failed and proofs did not end
SAFETY = 1e-5  # taken off SCIP's bound, whose LPs are optimal to a tolerance: 1e-7 times the ranges of the variables
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
    largest_ratio : float
        The largest w, that of no parents.
    coefficient_bounds : array of shape (m,)
        M.
    penalties : array
        The cost of 0, 1, ..., most parents, finite, convex and 0 at 0.
    clusters : list of (list of int, float)
        The candidates in each cluster, and λ_C > 0.
    """

    half_samples: float
    factor: Floats
    target: Floats
    largest_ratio: float
    coefficient_bounds: Floats
    penalties: Floats
    clusters: list[tuple[list[int], float]]


@dataclass(frozen=True)
class PricingOutcome:
    """What SCIP found.

    Attributes
    ----------
    sets : list of tuple of int
        Positions of the chosen candidates in each of SCIP's solutions, the best first; none at or above the cutoff.
    bound : float
        No set has a lower objective, where that is below the cutoff; minus infinity where SCIP failed.
    complete : bool
        Whether SCIP came to its end, rather than to a limit of time.
    """

    sets: list[tuple[int, ...]]
    bound: float
    complete: bool


def solve_pricing(
    program: PricingProgram, cutoff: float, gap: float, seconds: float | None, deadline: Deadline
) -> PricingOutcome:
    """Look for the sets of candidates with the least objective.

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
    model = Model()
    try:
        chosen = _build(model, program)
        _set_parameters(model, deadline)
        model.setParam("numerics/feastol", FEASIBILITY)
        model.setParam("numerics/dualfeastol", 0.1 * FEASIBILITY)
        model.setParam("constraints/nonlinear/tightenlpfeastol", False)  # its LPs failed, too
        model.setParam("limits/time", min(deadline.remaining(), NO_LIMIT if seconds is None else seconds))
        model.setParam("limits/absgap", gap)
        model.setObjlimit(cutoff)
        model.includeEventhdlr(_Poll(deadline), "poll", "stops at the deadline")
        try:
            model.optimize()
        except Exception:  # PySCIPOpt's only kind: an LP that SCIP could not solve
            return PricingOutcome([], -math.inf, False)
        solutions = [
            tuple(j for j, z in enumerate(chosen) if model.getSolVal(solution, z) > 0.5) for solution in model.getSols()
        ]
        bound = min(model.getDualbound(), cutoff) - SAFETY
        return PricingOutcome(list(dict.fromkeys(solutions)), bound, model.getStatus() in COMPLETE)
    finally:
        _free(model)


def _build(model: Model, program: PricingProgram) -> list[object]:
    """Write the program into a model, and return its z."""
    half, top = program.half_samples, program.largest_ratio
    size, most = len(program.target), len(program.penalties) - 1
    steps = np.diff(program.penalties)
    z = [model.addVar(vtype="B", obj=float(steps[0])) for _ in range(size)]
    b = [model.addVar(lb=-float(bound), ub=float(bound)) for bound in program.coefficient_bounds]
    for j, bound in enumerate(program.coefficient_bounds):
        model.addCons(b[j] <= float(bound) * z[j])
        model.addCons(b[j] >= -float(bound) * z[j])
    if most < size:
        model.addCons(quicksum(z) <= most)
    _add_curvature(model, z, program.penalties - steps[0] * np.arange(most + 1))
    for members, dual in program.clusters:
        y = model.addVar(lb=0.0, ub=1.0, obj=dual)
        for j in members:
            model.addCons(y >= z[j])
    w = model.addVar(lb=1.0, ub=top)
    t = model.addVar(lb=0.0, ub=half * math.log(top), obj=1.0)
    scale = math.sqrt(half)
    reach = scale * math.sqrt(top - 1.0)
    r = [model.addVar(lb=-reach, ub=reach) for _ in range(size)]
    for k, row in enumerate(scale * program.factor):
        residual = quicksum(float(row[j]) * b[j] for j in range(k, size)) - scale * float(program.target[k])
        model.addCons(residual == r[k])
    model.addCons(quicksum(own * own for own in r) <= half * w - half)
    model.addCons(half * log(w) <= t)
    return z


def _add_curvature(model: Model, z: list[object], excess: Floats) -> None:
    """Add to the objective a convex function of the number of parents, by the lines between its points."""
    if np.abs(excess).max() < 1e-12:
        return
    e = model.addVar(lb=0.0, obj=1.0)
    for k, slope in enumerate(np.diff(excess)):
        model.addCons(e >= float(excess[k]) + float(slope) * (quicksum(z) - k))
