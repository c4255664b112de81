"""The restricted master IP by branch and cut on SCIP.

The restricted master starts from the rows of given clusters; the others are added when a point violates them
(section 4 of the paper). In addition, certain ancestors are propagated, and a primal heuristic turns every LP point
into a good DAG. Scores are relative to each node's best, so that numbers stay small.

Every callback is guarded: SCIP ignores exceptions in callbacks, so the first one is kept, the solve is interrupted,
and the exception is raised afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pyscipopt import Conshdlr, Heur, Model, quicksum
from pyscipopt.scip import PY_SCIP_HEURTIMING as SCIP_HEURTIMING
from pyscipopt.scip import PY_SCIP_PARAMSETTING as SCIP_PARAMSETTING
from pyscipopt.scip import PY_SCIP_RESULT as SCIP_RESULT

from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.integer.lazy_clusters import CLUSTERS_PER_ROUND, Cluster, LazyClusters, conclude, refuse
from dagopt.integer.restricted_ip import IntegerSolution
from dagopt.kernels.cuts import separation as kernels
from dagopt.lp.cluster_ip import Answer, free, guarded, set_parameters
from dagopt.lp.fractional_clusters import FractionalSeparator, integer_clusters

__all__ = ["ScipBranchAndCut"]

STATUS: dict[str, Literal["optimal", "time_limit", "interrupted"]] = {
    "optimal": "optimal",
    "timelimit": "time_limit",
    "userinterrupt": "interrupted",
}


class ScipBranchAndCut(LazyClusters):
    """Branch and cut on SCIP with lazy cluster constraints: any number of nodes, one thread, deterministic."""

    name = "scip"

    def run(
        self, families: Families, clusters: list[Cluster], start: NDArray[np.int64] | None, deadline: Deadline
    ) -> IntegerSolution:
        """Solve in a model that is freed afterwards."""
        model = Model()
        try:
            return _Master(model, families, clusters, start, deadline).solve()
        finally:
            free(model)


class _Master:
    """The model of the restricted master IP."""

    def __init__(
        self,
        model: Model,
        families: Families,
        clusters: Iterable[Cluster],
        start: NDArray[np.int64] | None,
        deadline: Deadline,
    ) -> None:
        self._model = model
        self._families = families
        self._deadline = deadline
        costs = families.score - families.score[families.offsets[:-1]][families.node]
        self._x = [model.addVar(vtype="B", obj=float(cost)) for cost in costs]
        model.setMaximize()
        for first, last in zip(families.offsets[:-1], families.offsets[1:], strict=True):
            model.addCons(quicksum(self._x[first:last]) == 1)
        for cluster in clusters:
            _add_cluster(model, self._x, families, cluster, kept=True)
        self._handler = _Acyclic(families, self._x, deadline)
        model.includeConshdlr(
            self._handler,
            "acyclic",
            "no directed cycle",
            sepapriority=10,
            enfopriority=-10,  # after integrality
            chckpriority=-10,
            sepafreq=1,
            propfreq=1,
            eagerfreq=-1,
            needscons=False,
        )
        set_parameters(model, deadline)
        model.setHeuristics(SCIP_PARAMSETTING.OFF)  # they ignore cycles
        model.setPresolve(SCIP_PARAMSETTING.OFF)  # keeps the variables unchanged
        model.setParam("misc/usesymmetry", 0)
        timing = SCIP_HEURTIMING.DURINGLPLOOP | SCIP_HEURTIMING.AFTERLPNODE
        self._heuristic = _Near(self._handler, start)
        model.includeHeur(self._heuristic, "near", "DAG near the LP point", "N", freq=1, timingmask=timing)
        if start is not None:
            solution = model.createSol()
            for k in start:
                model.setSolVal(solution, self._x[k], 1.0)
            model.addSol(solution)

    def solve(self) -> IntegerSolution:
        """Run SCIP and return the solution."""
        model, families = self._model, self._families
        model.optimize()
        for plugin in (self._handler, self._heuristic):
            if plugin.error is not None:
                raise plugin.error
        status = model.getStatus()
        if status not in STATUS:
            raise refuse("SCIP", status, infeasible=status == "infeasible")
        outcome = self._deadline.reason or STATUS[status] if STATUS[status] == "interrupted" else STATUS[status]
        found = [self._heuristic.best]
        if model.getNSols():
            solution = model.getBestSol()
            found.append(families.taken(np.array([model.getSolVal(solution, x) for x in self._x])))
        best = families.better(*found)
        return conclude(families, best, outcome, model.getDualbound(), tuple(self._handler.found))


class _Acyclic(Conshdlr):
    """The constraint that the chosen families make a DAG."""

    def __init__(self, families: Families, x: list[Any], deadline: Deadline) -> None:
        self.families = families
        self.deadline = deadline
        self.error: BaseException | None = None
        self.found: dict[Cluster, None] = {}
        self._original = x
        self._transformed: list[Any] = []
        self._separator = FractionalSeparator(CLUSTERS_PER_ROUND)

    @property
    def x(self) -> list[Any]:
        """The variables of the problem that SCIP works on."""
        if not self._transformed:
            self._transformed = [self.model.getTransformedVar(x) for x in self._original]
        return self._transformed

    def lp_values(self) -> NDArray[np.float64]:
        """Return the values of the families at the LP point."""
        return np.array([x.getLPSol() for x in self.x])

    def _cycles(self, values: NDArray[np.float64]) -> list[Cluster]:
        return integer_clusters(self.families.adjacency(self.families.taken(values)))

    def _add(self, clusters: list[Cluster]) -> Answer | None:
        for cluster in clusters:
            self.found[cluster] = None
            _add_cluster(self.model, self.x, self.families, cluster, kept=False)
        return {"result": SCIP_RESULT.CONSADDED} if clusters else None

    @guarded(nothing=SCIP_RESULT.DIDNOTFIND, failed=SCIP_RESULT.DIDNOTFIND)
    def conssepalp(self, constraints: list[Any], n_useful: int) -> Answer | None:
        """Cut off a fractional LP point."""
        return self._add(self._separator.heuristic(self.families, self.lp_values()))

    @guarded(nothing=SCIP_RESULT.FEASIBLE, failed=SCIP_RESULT.INFEASIBLE)
    def consenfolp(self, constraints: list[Any], n_useful: int, infeasible: bool) -> Answer | None:
        """Cut off an integer LP point with cycles."""
        return self._add(self._cycles(self.lp_values()))

    @guarded(nothing=SCIP_RESULT.FEASIBLE, failed=SCIP_RESULT.INFEASIBLE)
    def consenfops(
        self, constraints: list[Any], n_useful: int, infeasible: bool, objective_infeasible: bool
    ) -> Answer | None:
        """Cut off an integer point with cycles when there is no LP."""
        return self._add(self._cycles(self._values(None)))

    @guarded(nothing=SCIP_RESULT.FEASIBLE, failed=SCIP_RESULT.INFEASIBLE)
    def conscheck(self, constraints: list[Any], solution: Any, *_: Any) -> Answer | None:
        """Say whether a candidate solution is a DAG."""
        return {"result": SCIP_RESULT.INFEASIBLE} if self._cycles(self._values(solution)) else None

    def _values(self, solution: Any) -> NDArray[np.float64]:
        return np.array([self.model.getSolVal(solution, x) for x in self._original])

    @guarded(nothing=SCIP_RESULT.DIDNOTFIND, failed=SCIP_RESULT.DIDNOTFIND)
    def consprop(self, constraints: list[Any], n_useful: int, n_marked: int, timing: int) -> Answer | None:
        """Exclude families that would close a cycle with edges that are certain."""
        alive = np.array([x.getUbLocal() for x in self.x]) > 0.5
        drop = np.zeros(len(alive), dtype=np.bool_)
        if not kernels.impossible(self.families.words, self.families.offsets, alive, drop):
            return {"result": SCIP_RESULT.CUTOFF}
        for k in np.flatnonzero(drop):
            infeasible, _ = self.model.tightenVarUb(self.x[k], 0.0)
            if infeasible:
                return {"result": SCIP_RESULT.CUTOFF}
        return {"result": SCIP_RESULT.REDUCEDDOM} if drop.any() else None

    def conslock(self, constraint: Any, lock_type: int, n_positive: int, n_negative: int) -> None:
        """Lock every variable both ways: adding or removing a family can close a cycle, as another replaces it."""
        both = n_positive + n_negative
        for x in self.x:
            self.model.addVarLocksType(x, lock_type, both, both)


class _Near(Heur):
    """The primal heuristic: an order of the nodes from the LP point, improved, and its best families."""

    def __init__(self, handler: _Acyclic, best: NDArray[np.int64] | None) -> None:
        self.deadline = handler.deadline
        self.error: BaseException | None = None
        self.best = best
        self._handler = handler

    @guarded(nothing=SCIP_RESULT.DIDNOTFIND, failed=SCIP_RESULT.DIDNOTFIND)
    def heurexec(self, timing: int, infeasible: bool) -> Answer | None:
        """Try a DAG near the LP point, if it is better than all before."""
        families = self._handler.families
        chosen = families.near(self._handler.lp_values())
        if chosen is None or families.total(chosen) <= families.total(self.best):
            return None
        self.best = chosen
        solution = self.model.createSol(self)
        for k in chosen:
            self.model.setSolVal(solution, self._handler.x[k], 1.0)
        accepted = self.model.trySol(solution, printreason=False, completely=False)
        return {"result": SCIP_RESULT.FOUNDSOL} if accepted else None


def _add_cluster(model: Model, x: list[Any], families: Families, cluster: Cluster, kept: bool) -> None:
    """Add the row of a cluster, unless no choice of families can violate it; SCIP may drop it if not ``kept``."""
    row = families.in_row(cluster)
    if len(np.unique(families.node[row])) < len(cluster):
        return
    model.addConsKnapsack([x[k] for k in row], [1] * len(row), len(cluster) - 1, dynamic=not kept, removable=True)
