"""CG-MINLP: column generation with exact pricing by a mixed-integer nonlinear program (section 5.1 of the paper).

The loop is that of CG-DCA; what differs is the pricing, after Cussens (2023), and that its bounds prove something.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.master.integer import INTEGER_SOLVERS, IntegerSolution, make_integer_solver
from dagopt.master.relaxation import MasterSolution, RestrictedMaster
from dagopt.master.rounding import greedy_dag
from dagopt.master.separation import FractionalSeparator
from dagopt.methods.answer import scope_of, worth
from dagopt.methods.column_generation.loop import ColumnGeneration, first_families
from dagopt.methods.column_generation.trace import Trace
from dagopt.methods.options import solver
from dagopt.options import Options, number, one_of, option, whole
from dagopt.pricing.base import Priced
from dagopt.pricing.minlp import GAP, MinlpPricer, check_problem
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result
from dagopt.solvers.scip_pricing import SAFETY

__all__ = ["CgMinlpOptions", "solve_cg_minlp"]

ROUNDING = 1e-10  # of a score, as a share of it


@dataclass(frozen=True)
class CgMinlpOptions(Options):
    """Options of CG-MINLP.

    Notes
    -----
    The score must be a penalised Gaussian likelihood.

    Examples
    --------
    >>> import dagopt
    >>> data, _ = dagopt.simulate(n_nodes=4, n_samples=300, degree=0.5, random_state=3)
    >>> dagopt.CGMINLP().fit(data).result_.status
    'optimal'
    """

    integer_solver: str = option("auto", "How the restricted master IP is solved.", one_of(*INTEGER_SOLVERS))
    tolerance: float = option(1e-6, "A reduced cost counts as negative below minus this.", number())
    gap: float = option(GAP, "Up to which the least reduced cost of a node is proven.", number())
    node_time_limit: float | None = option(
        None, "Seconds for one pricing of one node; the bound that SCIP has by then is used.", number()
    )
    max_nodes: int = option(
        10, "With more columns than this a time limit must be given: exact pricing may take hours.", whole(1)
    )
    max_passes: int | None = option(None, "Limit on passes, beside the time.", whole(1))


@solver(CgMinlpOptions)
def solve_cg_minlp(problem: Problem, options: CgMinlpOptions, deadline: Deadline, progress: Progress) -> Result:
    """Run column generation with MINLP pricing on SCIP.

    Returns
    -------
    Result
        With a bound as soon as all nodes have been priced under the same duals.
    """
    check_problem(problem)
    max_nodes = options.max_nodes
    if problem.n_nodes > max_nodes and np.isinf(deadline.time_limit):
        raise InputError(
            f"expected at most {max_nodes} columns for method 'cg-minlp' without a time limit but got "
            f"{problem.n_nodes}: exact pricing may take hours; give time_limit=, raise max_nodes=, or use 'cg-dca'"
        )
    return _Run(problem, options, deadline, progress).result()


class _Run:
    """One run: the parts of the loop, and what is told about it."""

    def __init__(self, problem: Problem, options: CgMinlpOptions, deadline: Deadline, progress: Progress) -> None:
        self.problem = problem
        self.options = options
        self.pricer = MinlpPricer(problem, options.tolerance, options.gap, options.node_time_limit)
        self.deadline = deadline
        self.master = RestrictedMaster(problem.n_nodes)
        self.trace = Trace(deadline, progress)
        self.separator = FractionalSeparator()
        self.integer_solver = make_integer_solver(options.integer_solver, problem.n_nodes)
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
        most = self.options.max_passes
        passed = most is not None and self.trace.passes > most
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
        tolerance, gap = self.options.tolerance, self.options.gap
        loop = ColumnGeneration(self.master, self.price, self.separate, self.solve_ip, self.stop, self, tolerance)
        _, converged = loop.run()
        if converged:
            self.price_all()
        problem, pricer = self.problem, self.pricer
        dag = greedy_dag(self.master.pool) if self.incumbent is None else self.incumbent
        score = problem.score.total(dag)
        slack = (tolerance + gap + SAFETY) * problem.n_nodes + ROUNDING * abs(score)
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
