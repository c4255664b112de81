"""Branch and cut on Gurobi for the restricted master IP, as the paper does (section 4).

Integer points with cycles are cut off by lazy constraints, fractional points by user cuts; every LP point is turned
into a good DAG. Gurobi is loaded only when it is asked for, so it need not be installed.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.errors import DagoptError, InputError
from dagopt.families.families import Families
from dagopt.integer.lazy_clusters import CLUSTERS_PER_ROUND, Cluster, LazyClusters, conclude, refuse
from dagopt.integer.restricted_ip import IntegerSolution
from dagopt.lp.fractional_clusters import FractionalSeparator, integer_clusters
from dagopt.lp.limits import NO_LIMIT, TOLERANCE

__all__ = ["GurobiBranchAndCut"]

ABSOLUTE_GAP = 1e-7  # a bound counts as reached when it is this close to the score
REMEDY = "use integer_solver='scip', which needs no licence"


class GurobiBranchAndCut(LazyClusters):
    """Branch and cut on Gurobi with lazy cluster constraints; needs ``gurobipy`` and a licence for large pools."""

    name = "gurobi"

    def run(
        self, families: Families, clusters: list[Cluster], start: NDArray[np.int64] | None, deadline: Deadline
    ) -> IntegerSolution:
        """Solve in a separate environment."""
        gurobipy = _gurobipy()
        try:
            with gurobipy.Env(params={"OutputFlag": 0}) as environment, gurobipy.Model(env=environment) as model:
                return _Master(model, families, clusters, start, deadline).solve()
        except gurobipy.GurobiError as error:
            if error.errno in _licence_errors(gurobipy.GRB):
                raise InputError(f"Gurobi refused its licence: {error}; install one that fits, or {REMEDY}") from error
            raise DagoptError(f"Gurobi failed: {error}; {REMEDY}") from error


def _gurobipy() -> Any:
    """Return the module, or raise an error that says how to install it."""
    try:
        import gurobipy
    except ImportError:
        raise InputError(
            "expected gurobipy for integer_solver='gurobi' but it is not installed; pip install 'dagopt[gurobi]',"
            f" or {REMEDY}"
        ) from None
    return gurobipy


def _licence_errors(grb: Any) -> tuple[int, ...]:
    """Return the error numbers for a missing, too small or unreachable licence."""
    return (grb.Error.NO_LICENSE, grb.Error.SIZE_LIMIT_EXCEEDED, grb.Error.NETWORK)


class _Master:
    """The model of the restricted master IP and its callback."""

    def __init__(
        self,
        model: Any,
        families: Families,
        clusters: list[Cluster],
        start: NDArray[np.int64] | None,
        deadline: Deadline,
    ) -> None:
        self._model = model
        self._families = families
        self._deadline = deadline
        self._separator = FractionalSeparator(CLUSTERS_PER_ROUND)
        self._found: dict[Cluster, None] = {}
        self._best = start
        self._error: BaseException | None = None
        self._set_parameters()
        costs = families.score - families.score[families.offsets[:-1]][families.node]
        self._x = model.addMVar(len(costs), vtype="B", obj=costs)
        model.ModelSense = -1
        for first, last in zip(families.offsets[:-1], families.offsets[1:], strict=True):
            model.addConstr(self._x[first:last].sum() == 1)
        for cluster in clusters:
            row = families.in_row(cluster)
            if len(row):
                model.addConstr(self._x[row].sum() <= len(cluster) - 1)
        if start is not None:
            taken = np.zeros(len(costs))
            taken[start] = 1.0
            self._x.Start = taken

    def _set_parameters(self) -> None:
        parameters = self._model.Params
        parameters.LazyConstraints = 1
        parameters.PreCrush = 1  # cuts are over all families
        parameters.Threads = 1
        parameters.Seed = 0
        parameters.MIPGap = 0.0
        parameters.MIPGapAbs = ABSOLUTE_GAP
        parameters.FeasibilityTol = TOLERANCE
        parameters.OptimalityTol = TOLERANCE
        parameters.IntFeasTol = TOLERANCE
        parameters.TimeLimit = min(self._deadline.remaining(), NO_LIMIT)

    def solve(self) -> IntegerSolution:
        """Run Gurobi and return the solution."""
        model, families = self._model, self._families
        model.optimize(self._callback)
        if self._error is not None:
            raise self._error
        outcome = self._outcome(model.Status)
        found = families.taken(np.asarray(self._x.X)) if model.SolCount else None
        best = families.better(self._best, found)
        return conclude(families, best, outcome, float(model.ObjBound), tuple(self._found))

    def _outcome(self, status: int) -> Literal["optimal", "time_limit", "interrupted"]:
        """Return what a status of Gurobi means."""
        from gurobipy import GRB

        if status == GRB.INTERRUPTED:
            return self._deadline.reason or "interrupted"
        outcomes: dict[int, Literal["optimal", "time_limit"]] = {
            GRB.OPTIMAL: "optimal",
            GRB.TIME_LIMIT: "time_limit",
        }
        if status not in outcomes:
            raise refuse("Gurobi", status, infeasible=status in (GRB.INFEASIBLE, GRB.INF_OR_UNBD))
        return outcomes[status]

    def _callback(self, model: Any, where: int) -> None:
        """Stop at the deadline; cut off points; keep the first exception, which Gurobi would only print."""
        from gurobipy import GRB

        try:
            if self._deadline.reason is not None:
                model.terminate()
            if where == GRB.Callback.MIPSOL:
                self._at_integer(np.asarray(model.cbGetSolution(self._x)))
            elif where == GRB.Callback.MIPNODE and model.cbGet(GRB.Callback.MIPNODE_STATUS) == GRB.OPTIMAL:
                self._at_fractional(np.asarray(model.cbGetNodeRel(self._x)))
        except BaseException as error:
            self._error = self._error or error
            model.terminate()

    def _at_integer(self, values: NDArray[np.float64]) -> None:
        families = self._families
        for cluster in integer_clusters(families.adjacency(families.taken(values))):
            self._found[cluster] = None
            self._model.cbLazy(self._x[families.in_row(cluster)].sum() <= len(cluster) - 1)

    def _at_fractional(self, values: NDArray[np.float64]) -> None:
        families = self._families
        for cluster in self._separator.heuristic(families, values):
            self._found[cluster] = None
            self._model.cbCut(self._x[families.in_row(cluster)].sum() <= len(cluster) - 1)
        chosen = families.near(values)
        if chosen is not None and families.total(chosen) > families.total(self._best):
            self._best = chosen
            taken = np.zeros(len(values))
            taken[chosen] = 1.0
            self._model.cbSetSolution(self._x, taken)
