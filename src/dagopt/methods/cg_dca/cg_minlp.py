"""CG-MINLP: column generation with exact pricing by a mixed-integer nonlinear program (section 5.1 of the paper).

The loop is that of CG-DCA. The pricing differs (after Cussens 2023): it is exact, so it gives proven bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.integer.restricted_ip import INTEGER_SOLVERS
from dagopt.lp.rows.row import Point
from dagopt.methods.cg_dca.minlp_pricing import GAP, MinlpPricer, check_problem
from dagopt.methods.cg_dca.minlp_program import SAFETY
from dagopt.methods.cg_dca.pool_bound import lagrangian_bound
from dagopt.methods.cg_dca.pricer import Priced
from dagopt.methods.cg_dca.run import Run
from dagopt.methods.method_options import solver
from dagopt.options import Options, number, one_of, option, whole
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer
from dagopt.results.certificate import Certificate, scope_of, tightest

__all__ = ["CgMinlpOptions", "solve_cg_minlp"]


@dataclass(frozen=True)
class CgMinlpOptions(Options):
    """Options of CG-MINLP."""

    integer_solver: str = option("auto", "How the restricted master IP is solved.", one_of(*INTEGER_SOLVERS))
    tolerance: float = option(1e-6, "A reduced cost below minus this counts as negative.", number())
    gap: float = option(GAP, "The gap up to which the least reduced cost of a node is proven.", number())
    node_time_limit: float | None = option(
        None, "Seconds for pricing one node once; the bound that SCIP has by then is used.", number()
    )
    max_nodes: int = option(
        10, "With more columns than this, a time limit is required: exact pricing may take hours.", whole(1)
    )
    max_passes: int | None = option(None, "Limit on passes, in addition to the time limit.", whole(1))


@solver(CgMinlpOptions)
def solve_cg_minlp(problem: Problem, options: CgMinlpOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Run column generation with MINLP pricing on SCIP.

    Returns
    -------
    Answer
        With a bound as soon as all nodes have been priced under the same duals.
    """
    check_problem(problem)
    max_nodes = options.max_nodes
    if problem.n_nodes > max_nodes and np.isinf(deadline.time_limit):
        raise InputError(
            f"expected at most {max_nodes} columns for method 'cg-minlp' without a time limit but got "
            f"{problem.n_nodes}; exact pricing may take hours: give time_limit=, raise max_nodes=, or use 'cg-dca'"
        )
    return _Run(problem, options, deadline, progress).result()


class _Run(Run):
    """A run with exact pricing: every round in which all nodes are priced under the same duals proves a bound."""

    def __init__(self, problem: Problem, options: CgMinlpOptions, deadline: Deadline, progress: Progress) -> None:
        super().__init__(problem, options, deadline, progress)
        self.pricer = MinlpPricer(problem, options.tolerance, options.gap, options.node_time_limit)
        self.gap = options.gap
        self.bound = np.inf
        self._priced: tuple[Point | None, dict[int, float]] = (None, {})

    def price(self, node: int, lp: Point) -> Priced:
        with self.trace.timed("pricing"):
            proven = self.pricer.prove(node, lp, self.deadline)
        if self._priced[0] is not lp:
            self._priced = (lp, {})
        lower = self._priced[1]
        lower[node] = proven.lower
        if len(lower) == self.problem.n_nodes:
            self.bound = min(self.bound, lagrangian_bound(lp, lower.values()))
        return proven.priced

    def proof(self, converged: bool) -> tuple[Certificate | None, Certificate | None]:
        """Return the best bound; after convergence all nodes are priced once more, under the last duals."""
        if converged:
            lp = self.master.solve()
            for node in range(self.problem.n_nodes):
                if not self.stop():
                    self.price(node, lp)
        self.notes.append(f"pricing: SCIP, {self.pricer.solved} programs solved, {self.pricer.stopped} stopped")
        return tightest(Certificate(self.bound, scope_of(self.problem.knowledge), "pricing")), None

    def slack(self) -> float:
        return super().slack() + (self.gap + SAFETY) * self.problem.n_nodes

    def figures(self) -> dict[str, Any]:
        return {"programs_solved": self.pricer.solved, "programs_stopped": self.pricer.stopped}

    def result(self) -> Answer:
        """Run the loop and return what it found."""
        return self.outcome("cg-minlp", self.loop())
