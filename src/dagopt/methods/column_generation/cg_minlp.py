"""CG-MINLP: column generation with exact pricing by a mixed-integer nonlinear program (section 5.1 of the paper).

The loop is that of CG-DCA; what differs is the pricing, after Cussens (2023), and that its bounds prove something.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.errors import InputError, checked_number, checked_whole, unknown_name
from dagopt.master.integer import INTEGER_SOLVERS, IntegerSolution, make_integer_solver
from dagopt.master.relaxation import MasterSolution, RestrictedMaster
from dagopt.master.rounding import greedy_dag
from dagopt.master.separation import FractionalSeparator
from dagopt.methods.answer import scope_of, worth
from dagopt.methods.column_generation.loop import ColumnGeneration, first_families
from dagopt.methods.column_generation.trace import Trace
from dagopt.pricing.base import Priced
from dagopt.pricing.minlp import GAP, MinlpPricer, check_problem
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result
from dagopt.solvers.scip_pricing import SAFETY

__all__ = ["solve_cg_minlp"]

ROUNDING = 1e-10  # of a score, as a share of it


def solve_cg_minlp(
    problem: Problem,
    *,
    deadline: Deadline,
    progress: Progress,
    integer_solver: str = "auto",
    tolerance: float = 1e-6,
    gap: float = GAP,
    node_time_limit: float | None = None,
    max_nodes: int = 10,
    max_passes: int | None = None,
) -> Result:
    """Run column generation with MINLP pricing on SCIP.

    Parameters
    ----------
    problem : Problem
        A penalised Gaussian likelihood, and knowledge.
    deadline, progress
        The clock, and where to tell what happens.
    integer_solver : {"auto", "dp", "scip", "gurobi"}
        How the restricted master IP is solved.
    tolerance : float
        A reduced cost counts as negative below minus this.
    gap : float
        Up to which the least reduced cost of a node is proven.
    node_time_limit : float, optional
        Seconds for one pricing of one node; the bound that SCIP has by then is used.
    max_nodes : int
        With more columns than this a time limit must be given: the time of exact pricing grows without measure.
    max_passes : int, optional
        Limit beside the time.

    Returns
    -------
    Result
        With a bound as soon as all nodes have been priced under the same duals.
    """
    if integer_solver not in INTEGER_SOLVERS:
        raise unknown_name("integer_solver", integer_solver, INTEGER_SOLVERS)
    for name, value in (("tolerance", tolerance), ("gap", gap), ("node_time_limit", node_time_limit)):
        if value is not None:
            checked_number(name, value)
    for name, whole in (("max_nodes", max_nodes), ("max_passes", max_passes)):
        if whole is not None:
            checked_whole(name, whole, 1)
    check_problem(problem)
    if problem.n_nodes > max_nodes and np.isinf(deadline.time_limit):
        raise InputError(
            f"expected at most {max_nodes} columns for method 'cg-minlp' without a time limit but got "
            f"{problem.n_nodes}: exact pricing may take hours; give time_limit=, raise max_nodes=, or use 'cg-dca'"
        )
    pricer = MinlpPricer(problem, tolerance, gap, node_time_limit)
    return _Run(problem, pricer, integer_solver, tolerance, gap, max_passes, deadline, progress).result()


class _Run:
    """One run: the parts of the loop, and what is told about it."""

    def __init__(
        self,
        problem: Problem,
        pricer: MinlpPricer,
        integer_solver: str,
        tolerance: float,
        gap: float,
        max_passes: int | None,
        deadline: Deadline,
        progress: Progress,
    ) -> None:
        self.problem = problem
        self.pricer = pricer
        self.tolerance = tolerance
        self.gap = gap
        self.max_passes = max_passes
        self.deadline = deadline
        self.master = RestrictedMaster(problem.n_nodes)
        self.trace = Trace(deadline, progress)
        self.separator = FractionalSeparator()
        self.integer_solver = make_integer_solver(integer_solver, problem.n_nodes)
        self.incumbent: NDArray[np.int8] | None = None
        self.bound = np.inf
        self._priced: tuple[MasterSolution | None, dict[int, float]] = (None, {})
        self.master.add_families(first_families(problem.score.local, problem.knowledge.must))  # line 2

    # --- the parts of the loop ---

    def price(self, node: int, lp: MasterSolution) -> Priced:
        with self.trace.timed("pricing"):
            proven = self.pricer.prove(node, self.master, lp, self.deadline)
        if self._priced[0] is not lp:
            self._priced = (lp, {})
        lower = self._priced[1]
        lower[node] = proven.lower
        if len(lower) == self.problem.n_nodes:
            self.bound = min(self.bound, self._lagrangian(lp, sum(lower.values())))
        return proven.priced

    def _lagrangian(self, lp: MasterSolution, gain: float) -> float:
        """Return a bound on all DAGs: the value of the duals and what the best family of each node could add to it.

        It holds for any duals, so every round in which all nodes were priced gives one.
        """
        most = np.array([len(cluster) - 1.0 for cluster in self.master.clusters])
        return float(lp.node_duals.sum() + lp.cluster_duals @ most) - gain

    def separate(self, lp: MasterSolution) -> list[frozenset[int]]:
        with self.trace.timed("separation"):
            return self.separator.separate(self.master.pool, lp.values, self.deadline)

    def solve_ip(self, incumbent: NDArray[np.int8] | None) -> IntegerSolution:
        with self.trace.timed("integer"):
            return self.integer_solver.solve(self.master.pool, self.master.clusters, incumbent, self.deadline)

    def stop(self) -> bool:
        passed = self.max_passes is not None and self.trace.passes > self.max_passes
        return self.deadline.reason is not None or passed

    # --- what the loop tells ---

    def families(self, lp: MasterSolution, reduced_costs: NDArray[np.float64]) -> None:
        self.trace.add("families", lp.value, len(self.master.pool), len(self.master.clusters), reduced_costs)

    def rows(self, lp: MasterSolution) -> None:
        self.trace.add("rows", lp.value, len(self.master.pool), len(self.master.clusters))

    def integers(self, solution: IntegerSolution, dag: NDArray[np.int8] | None) -> None:
        if dag is not None:
            score = self.problem.score.total(dag)
            if score >= self.trace.best:
                self.trace.best, self.incumbent = score, dag
        self.trace.add("integer", np.nan, len(self.master.pool), len(self.master.clusters))
        self.trace.passes += 1

    # --- the outcome ---

    def result(self) -> Result:
        loop = ColumnGeneration(self.master, self.price, self.separate, self.solve_ip, self.stop, self, self.tolerance)
        _, converged = loop.run()
        if converged:
            self.price_all()
        problem, pricer = self.problem, self.pricer
        dag = greedy_dag(self.master.pool) if self.incumbent is None else self.incumbent
        score = problem.score.total(dag)
        slack = (self.tolerance + self.gap + SAFETY) * problem.n_nodes + ROUNDING * abs(score)
        proven = self.bound - score <= slack
        notes = [
            f"integer master: {self.integer_solver.name}",
            f"pricing: SCIP, {pricer.solved} programs solved, {pricer.stopped} stopped",
        ]
        if not converged and self.deadline.reason is None:
            notes.append("stopped by the limit on passes")
        known = bool(np.isfinite(self.bound))
        return Result(
            names=problem.names,
            adjacency=dag,
            score=score,
            status=self.deadline.reason or ("optimal" if proven else "converged"),
            method="cg-minlp",
            score_label=problem.score.label,
            bound=max(self.bound, score) if known else None,
            scope=scope_of(problem.knowledge) if known else None,
            trace=self.trace.frame(),
            notes=tuple(notes),
            details={
                **worth(problem, dag),
                "passes": self.trace.passes - 1,
                "families": len(self.master.pool),
                "rows": len(self.master.clusters),
                "programs_solved": pricer.solved,
                "programs_stopped": pricer.stopped,
                **{f"{part}_seconds": seconds for part, seconds in self.trace.parts.items()},
            },
        )

    def price_all(self) -> None:
        """Price all nodes under the last duals, for the bound that they prove."""
        lp = self.master.solve()
        for node in range(self.problem.n_nodes):
            if not self.stop():
                self.price(node, lp)
