"""One run of column generation: what CG-DCA and CG-MINLP share around the loop of Algorithm 2."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from dagopt.arrays import Dag, Floats
from dagopt.deadline import Deadline
from dagopt.integer.restricted_ip import IntegerSolution, make_integer_solver
from dagopt.lp.fractional_clusters import FractionalSeparator
from dagopt.lp.restricted_master import RestrictedMaster
from dagopt.lp.rows.row import Point
from dagopt.methods.cg_dca.algorithm2 import ColumnGeneration, first_families
from dagopt.methods.cg_dca.pricer import Priced
from dagopt.methods.cg_dca.trace import Trace
from dagopt.methods.start import required_dag
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer, worth
from dagopt.results.certificate import Certificate
from dagopt.results.figures import Figures

__all__ = ["LoopOptions", "Run"]


ROUNDING = 1e-10  # relative rounding error of a score


class LoopOptions(Protocol):
    """The options that every run has."""

    @property
    def integer_solver(self) -> str:
        """How the restricted master IP is solved."""

    @property
    def tolerance(self) -> float:
        """A reduced cost below minus this counts as negative."""

    @property
    def max_passes(self) -> int | None:
        """Limit on passes, in addition to the time limit."""


class Run(ABC):
    """One run: the parts of the loop, its observer, and its result.

    Parameters
    ----------
    problem : Problem
        Table, score and knowledge.
    settings : LoopOptions
        The options of the method.
    deadline : Deadline
        The clock of the whole run.
    progress : Progress
        Told at every step.
    """

    limits = "the limit on passes"  # what can end the loop besides the clock, in words

    def __init__(self, problem: Problem, settings: LoopOptions, deadline: Deadline, progress: Progress) -> None:
        self.problem = problem
        self.deadline = deadline
        self.loop_clock = deadline  # when the loop ends, if something is to follow
        self.progress = progress
        self.tolerance = settings.tolerance
        self.max_passes = settings.max_passes
        self.master = RestrictedMaster(problem.n_nodes)
        self.trace = Trace(deadline, progress)
        self.separator = FractionalSeparator()
        self.integer_solver = make_integer_solver(settings.integer_solver, problem.n_nodes)
        self.incumbent: Dag | None = None
        self.notes = [f"integer master: {self.integer_solver.name}"]
        required_dag(problem)  # or an error: the first families must have scores
        self.first = first_families(problem.score.local, problem.knowledge.must)  # line 2
        self.master.add_families(self.first)

    # --- the parts of the loop ---

    @abstractmethod
    def price(self, node: int, lp: Point) -> Priced:
        """Return families of a node with negative reduced cost."""

    def separate(self, lp: Point) -> list[frozenset[int]]:
        """Return violated clusters."""
        with self.trace.timed("separation"):
            return self.separator.separate(lp.families, lp.values, self.deadline)

    def solve_ip(self, last: Dag | None) -> IntegerSolution:
        """Return the best DAG over the families, starting from the last one."""
        with self.trace.timed("integer"):
            return self.integer_solver.solve(self.master.families, self.master.clusters, last, self.deadline)

    def stop(self) -> bool:
        """Say whether the clock or a limit ends the loop."""
        passed = self.max_passes is not None and self.trace.passes > self.max_passes
        return self.loop_clock.reason is not None or passed

    def after_pass(self, dag: Dag | None) -> None:  # noqa: B027
        """Do nothing between two passes."""

    # --- reports from the loop ---

    def families(self, lp: Point, reduced_costs: Floats) -> None:
        """Trace a round of pricing."""
        self.trace.add("families", lp.bound, self.master.n_families, len(self.master.clusters), reduced_costs)

    def rows(self, lp: Point) -> None:
        """Trace a round of separation."""
        self.trace.add("rows", lp.bound, self.master.n_families, len(self.master.clusters))

    def integers(self, solution: IntegerSolution, dag: Dag | None) -> None:
        """Trace an integer phase, and keep its DAG if it is the best so far, or equal to it up to rounding."""
        if dag is not None:
            score = self.problem.score.total(dag)
            if score >= self.trace.best - ROUNDING * abs(score):
                self.trace.best, self.incumbent = max(score, self.trace.best), dag
        self.trace.add("integer", np.nan, self.master.n_families, len(self.master.clusters))
        self.trace.passes += 1

    # --- the outcome ---

    def some_dag(self) -> Dag:
        """Return the incumbent, or a DAG over the families if there is none yet."""
        if self.incumbent is not None:
            return self.incumbent
        families = self.master.families
        chosen = families.start(self.problem.knowledge.must.astype(np.int8))
        assert chosen is not None  # the families of line 2 make a DAG
        return families.adjacency(chosen)

    def loop(self) -> bool:
        """Run Algorithm 2 from the incumbent; return whether it converged."""
        parts = (self.master, self.price, self.separate, self.solve_ip, self.stop)
        _, converged = ColumnGeneration(*parts, self, self.tolerance, self.after_pass).run(self.incumbent)
        return converged

    @abstractmethod
    def proof(self, converged: bool) -> tuple[Certificate | None, Certificate | None]:
        """Return what is proven over the DAGs that the user allows, and over the sets that the method priced."""

    def slack(self) -> float:
        """Return how much a bound may exceed the score of an optimal DAG."""
        return self.tolerance * self.problem.n_nodes

    def figures(self) -> dict[str, Any]:
        """Return further figures of the run."""
        return {}

    def outcome(self, method: str, converged: bool) -> Answer:
        """Return the best DAG with what was proven about it."""
        problem = self.problem
        certificate, limited = self.proof(converged)
        dag = self.some_dag()
        score = problem.score.total(dag)
        bound = np.inf if certificate is None else certificate.bound
        proven = bound - score <= self.slack() + ROUNDING * abs(score)
        reason = self.deadline.reason or (None if converged else self.loop_clock.reason)
        if not converged and reason is None:
            self.notes.append(f"stopped by {self.limits}")
        parts: dict[str, Any] = {f"{part}_seconds": seconds for part, seconds in self.trace.parts.items()}
        figures = Figures(
            **worth(problem, dag),
            passes=self.trace.passes - 1,
            families=self.master.n_families,
            rows=len(self.master.clusters),
            **self.figures(),
            **parts,
        )
        return Answer(
            method,
            dag,
            score,
            reason or ("optimal" if proven else "converged"),
            None if certificate is None else certificate.at_least(score),
            limited,
            self.trace.frame(),
            tuple(self.notes),
            figures,
        )
