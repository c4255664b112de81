"""CG-DCA: column generation with DCA pricing, wired together (section 4 of the paper).

Every default is the paper's, with its section.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from dagopt.column_generation import ColumnGeneration, first_columns
from dagopt.data.table import ContinuousTable
from dagopt.errors import InputError, checked_number, checked_whole
from dagopt.exact.answer import scope_of, worth
from dagopt.master.integer import INTEGER_SOLVERS, IntegerSolution, make_integer_solver
from dagopt.master.relaxation import MasterSolution, RestrictedMaster
from dagopt.master.rounding import greedy_dag
from dagopt.master.separation import FractionalSeparator
from dagopt.pricing.base import Priced
from dagopt.pricing.dca import DcaPricer
from dagopt.pricing.exhaustive import ExhaustivePricer
from dagopt.pricing.start_points import START_POINTS, SWITCH_AT, make_start_point
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.result import Result
from dagopt.stop import Deadline
from dagopt.submodular.dca import CONVEX_STEPS
from dagopt.trace import Trace

__all__ = ["Options", "solve_cg_dca", "solve_cg_dca_paper"]

MOST_BOUND_CANDIDATES = 15  # free candidates a node up to which all parent sets are priced at the end
ROUNDING = 1e-10  # of a score, as a share of it


@dataclass(frozen=True)
class Options:
    """The options of CG-DCA, checked.

    Attributes
    ----------
    init : {"hybrid", "random", "warm"}
        Start points of pricing (section 4.1).
    switch_at : int
        Columns of a node from which ``hybrid`` starts warm (section 4.1: 50).
    convex_step : {"kelley", "min-norm"}
        How DCA's convex programs are solved (section 2.3: Kelley).
    pricing : {"dca", "exhaustive"}
        ``exhaustive`` looks at all parent sets, while they are few.
    integer_solver : {"auto", "dp", "scip", "gurobi"}
        How the restricted master IP is solved (section 4: branch and cut with lazy cluster constraints).
    epsilon : float
        DCA's threshold ε (Algorithm 1).
    tolerance : float
        A reduced cost counts as negative below minus this.
    max_passes, max_columns : int, optional
        Limits beside the time.
    random_state : int
        Seed of the random start points.
    """

    init: str = "hybrid"
    switch_at: int = SWITCH_AT
    convex_step: str = "kelley"
    pricing: str = "dca"
    integer_solver: str = "auto"
    epsilon: float = 1e-6
    tolerance: float = 1e-6
    max_passes: int | None = None
    max_columns: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (
            ("init", START_POINTS),
            ("convex_step", tuple(CONVEX_STEPS)),
            ("pricing", ("dca", "exhaustive")),
            ("integer_solver", INTEGER_SOLVERS),
        ):
            if getattr(self, name) not in allowed:
                listed = ", ".join(repr(choice) for choice in allowed)
                raise InputError(f"expected {name}= one of {listed} but got {getattr(self, name)!r}")
        for name in ("epsilon", "tolerance"):
            checked_number(name, getattr(self, name))
        for name, least in (("switch_at", 0), ("random_state", 0), ("max_passes", 1), ("max_columns", 1)):
            if getattr(self, name) is not None:
                checked_whole(name, getattr(self, name), least)


def solve_cg_dca(
    problem: Problem,
    *,
    deadline: Deadline,
    progress: Progress,
    init: str = "hybrid",
    switch_at: int = SWITCH_AT,
    convex_step: str = "kelley",
    pricing: str = "dca",
    integer_solver: str = "auto",
    epsilon: float = 1e-6,
    tolerance: float = 1e-6,
    max_passes: int | None = None,
    max_columns: int | None = None,
    random_state: int = 0,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Result:
    """Run CG-DCA; see ``Options`` for the options.

    Parameters
    ----------
    problem : Problem
        A penalised likelihood, and knowledge.
    deadline, progress
        The clock, and where to tell what happens.
    init, switch_at, convex_step, pricing, integer_solver, epsilon, tolerance, max_passes, max_columns, random_state
        See ``Options``.
    checkpoint : path, optional
        Where pool, clusters and incumbent are saved after every pass.
    resume : bool
        Continue from the checkpoint if it is there; the answer is that of a run never stopped.

    Returns
    -------
    Result
        With a bound only where all parent sets were priced at the end.
    """
    options = Options(
        init, switch_at, convex_step, pricing, integer_solver, epsilon, tolerance, max_passes, max_columns, random_state
    )
    return _solve(problem, options, deadline, progress, checkpoint, resume, "cg-dca")


def solve_cg_dca_paper(
    problem: Problem,
    *,
    deadline: Deadline,
    progress: Progress,
    integer_solver: str = "auto",
    random_state: int = 0,
    max_passes: int | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> Result:
    """Run the paper's method with its settings: hybrid start, switch at 50, Kelley.

    Where the paper is silent, and where this differs, is listed in ``docs/algorithms.md``: several clusters are sought
    before the exact separation, and tied start points are tried in several orders.

    Every integer solver proves its DAG the best over the columns. They may still lead to different ends: branch and
    cut also finds cluster rows on the way, which the LP then has.
    """
    options = Options(integer_solver=integer_solver, random_state=random_state, max_passes=max_passes)
    return _solve(problem, options, deadline, progress, checkpoint, resume, "cg-dca-paper")


def _solve(
    problem: Problem,
    options: Options,
    deadline: Deadline,
    progress: Progress,
    checkpoint: str | Path | None,
    resume: bool,
    method: str,
) -> Result:
    """Run, from a checkpoint if there is one to resume."""
    if resume and checkpoint is None:
        raise InputError("expected checkpoint= with resume=True but got none; name the file of the run to continue")
    run = _Run(problem, options, deadline, progress, checkpoint)
    if resume and checkpoint is not None and Path(checkpoint).exists():
        run.restore(load_checkpoint(checkpoint, run.identity(), problem.n_nodes))
    return run.result(method)


class _Run:
    """One run: the parts of the loop, and what is told about it."""

    def __init__(
        self,
        problem: Problem,
        options: Options,
        deadline: Deadline,
        progress: Progress,
        checkpoint: str | Path | None,
    ) -> None:
        self.problem = problem
        self.options = options
        self.deadline = deadline
        self.checkpoint = checkpoint
        self.master = RestrictedMaster(problem.n_nodes)
        self.trace = Trace(deadline, progress)
        self.rng = np.random.default_rng(options.random_state)
        self.incumbent: NDArray[np.int8] | None = None
        self.separator = FractionalSeparator()
        self.start_point = make_start_point(options.init, options.switch_at)
        self.integer_solver = make_integer_solver(options.integer_solver, problem.n_nodes)
        if options.pricing == "exhaustive":
            self.pricer: DcaPricer | ExhaustivePricer = ExhaustivePricer(problem, options.tolerance)
        else:
            self.pricer = DcaPricer(problem, options.convex_step, options.epsilon, options.tolerance, self.rng)
        self.master.add_columns(first_columns(problem.score.local, problem.knowledge.must))  # line 2

    def identity(self) -> dict[str, Any]:
        """Return what a checkpoint must agree on: data, score, knowledge and options."""
        digest = hashlib.sha256()
        table, knowledge = self.problem.table, self.problem.knowledge
        arrays = [table.values] if isinstance(table, ContinuousTable) else [table.codes, table.weights]
        for array in (*arrays, knowledge.must, knowledge.may, knowledge.at_most):
            digest.update(np.ascontiguousarray(array).tobytes())
        options = asdict(self.options)
        for limit in ("max_passes", "max_columns"):
            options.pop(limit)
        return {
            "columns": list(self.problem.names),
            "score": self.problem.score.label,
            "data": digest.hexdigest(),
            **options,
        }

    def restore(self, saved: Checkpoint) -> None:
        """Continue where a checkpoint was taken."""
        self.master.add_columns(saved.columns)
        self.master.add_clusters(saved.clusters)
        self.master.rebuild()
        self.incumbent = saved.incumbent
        self.trace.resume(saved.trace, saved.passes)
        self.rng.bit_generator.state = saved.random_state
        if self.incumbent is not None:
            self.trace.best = self.problem.score.total(self.incumbent)

    # --- the parts of the loop ---

    def price(self, node: int, lp: MasterSolution) -> Priced:
        with self.trace.timed("pricing"):
            start = self.start_point(node, self.pricer.candidates(node), self.master.pool, lp, self.rng)
            return self.pricer.price(node, self.master, lp, start, self.deadline)

    def separate(self, lp: MasterSolution) -> list[frozenset[int]]:
        with self.trace.timed("separation"):
            return self.separator.separate(self.master.pool, lp.values, self.deadline)

    def solve_ip(self, incumbent: NDArray[np.int8] | None) -> IntegerSolution:
        with self.trace.timed("integer"):
            return self.integer_solver.solve(self.master.pool, self.master.clusters, incumbent, self.deadline)

    def stop(self) -> bool:
        return (
            self.deadline.reason is not None
            or (self.options.max_passes is not None and self.trace.passes > self.options.max_passes)
            or (self.options.max_columns is not None and len(self.master.pool) >= self.options.max_columns)
        )

    def after_pass(self, dag: NDArray[np.int8] | None) -> None:
        if self.checkpoint is not None and self.deadline.reason is None:
            passes = self.trace.passes - 1
            state = Checkpoint.of(self.identity(), self.master, dag, passes, self.rng, self.trace.rows)
            save_checkpoint(state, self.checkpoint)
            self.master.rebuild()  # as a resumed run will, so that both go the same way
            self.pricer.forget()

    # --- what the loop tells ---

    def columns(self, lp: MasterSolution, reduced_costs: NDArray[np.float64]) -> None:
        self.trace.add("columns", lp.value, len(self.master.pool), len(self.master.clusters), reduced_costs)

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

    def result(self, method: str) -> Result:
        loop = ColumnGeneration(
            self.master,
            self.price,
            self.separate,
            self.solve_ip,
            self.stop,
            self,
            self.options.tolerance,
            self.after_pass,
        )
        _, converged = loop.run(self.incumbent)
        dag = greedy_dag(self.master.pool) if self.incumbent is None else self.incumbent
        score = self.problem.score.total(dag)
        bound = self.bound() if converged else None
        slack = self.options.tolerance * self.problem.n_nodes + ROUNDING * abs(score)
        proven = bound is not None and bound - score <= slack
        notes = [f"integer master: {self.integer_solver.name}"]
        if not converged and self.deadline.reason is None:
            notes.append("stopped by a limit on passes or columns")
        return Result(
            names=self.problem.names,
            adjacency=dag,
            score=score,
            status=self.deadline.reason or ("optimal" if proven else "converged"),
            method=method,
            score_label=self.problem.score.label,
            bound=None if bound is None else max(bound, score),
            scope=None if bound is None else scope_of(self.problem.knowledge),
            trace=self.trace.frame(),
            notes=tuple(notes),
            details={
                **worth(self.problem, dag),
                "passes": self.trace.passes - 1,
                "columns": len(self.master.pool),
                "rows": len(self.master.clusters),
                **{f"{part}_seconds": seconds for part, seconds in self.trace.parts.items()},
            },
        )

    def bound(self) -> float | None:
        """Return a bound on all DAGs where every parent set can be priced, else None.

        For any duals, no DAG scores more than their value plus what the best column of each node could gain.
        """
        candidates = self.problem.knowledge.may.sum(axis=0)  # required parents included
        if candidates.max() > MOST_BOUND_CANDIDATES:
            return None
        pricer = ExhaustivePricer(self.problem, self.options.tolerance)
        lp = self.master.solve()
        nothing = np.zeros(0)
        gains = [
            pricer.price(i, self.master, lp, nothing, self.deadline).reduced_cost for i in range(self.problem.n_nodes)
        ]
        most = np.array([len(cluster) - 1.0 for cluster in self.master.clusters])
        value = float(lp.node_duals.sum() + lp.cluster_duals @ most)
        return value - float(np.sum(np.minimum(gains, 0.0)))
