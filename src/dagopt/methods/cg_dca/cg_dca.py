"""CG-DCA: column generation with DCA pricing, wired together (section 4 of the paper).

``cg-dca-paper`` is the paper's method; every setting names its section. Three settings have other defaults, which
together are faster: ``kelley_cuts=1, tie_orders=1, clusters_per_round=1`` are the paper's. ``cg-dca`` combines it
with order search: measurements show that the LP's duals lead the families away from the best DAG, and an order search
finds what they miss. Each addition can be switched off separately.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dagopt.arrays import Dag
from dagopt.bits import mask_of, members
from dagopt.deadline import Deadline
from dagopt.families.families import Families, Family
from dagopt.families.listing import candidate_pool, listable
from dagopt.families.undominated import Listing, is_searchable
from dagopt.integer.restricted_ip import IntegerSolution
from dagopt.lp.fractional_clusters import FractionalSeparator
from dagopt.lp.priced_root import Effort, PricedRoot
from dagopt.lp.rows.clusters import ClusterRows
from dagopt.lp.rows.matrices import logdet_finders
from dagopt.lp.rows.row import Point, RowFinder
from dagopt.methods.cg_dca.cg_dca_options import CgDcaOptions, PaperOptions
from dagopt.methods.cg_dca.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from dagopt.methods.cg_dca.dca_pricing import DcaPricer
from dagopt.methods.cg_dca.exhaustive_pricing import ExhaustivePricer
from dagopt.methods.cg_dca.listed_pricing import ListedPricer
from dagopt.methods.cg_dca.pool_bound import priced_bound
from dagopt.methods.cg_dca.pricer import Priced
from dagopt.methods.cg_dca.run import Run
from dagopt.methods.cg_dca.start_points import make_start_point
from dagopt.methods.checkpoint_file import identity_of, resumed_path
from dagopt.methods.method_options import MOST_PRICED_NODES, solver
from dagopt.methods.orders.merging import merged
from dagopt.methods.orders.order import THOROUGH, order_incumbent
from dagopt.methods.orders.search import BareFamily, families
from dagopt.methods.resumable import Beside
from dagopt.methods.start import StartDag, start_dag
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress
from dagopt.results.answer import Answer
from dagopt.results.certificate import Certificate, scope_of, tightest
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Stopped, Workers

__all__ = ["solve_cg_dca", "solve_cg_dca_paper"]

MOST_BOUND_CANDIDATES = 15  # free candidates per node up to which all parent sets are priced at the end
MOST_LISTED_COLUMNS = 200  # of discrete data: beyond this, even the pairs of parents are too many to list by default
MOST_LISTED, LEAST_LISTED_SIZE = 300_000, 2  # the most parent sets listed by default, and the size always listed
LOOP_SHARE = 0.8  # the share of the time for the loop, if a bound by rows is to follow
CLUSTERS_PER_ROUND = 20  # rows added to the LP per round of the bound
ROW_EFFORT = Effort(steps=10_000, climbs=0, rounds=18, all_steps=400_000)  # of the bound by rows
ROW_TOLERANCE = 1e-8  # relative to the score: a bound by rows that is larger by less proves it, as in branch and cut
LISTING_SHARE = 0.5  # the share of the time for scoring all parent sets; the rest is for the search
AGAIN = {"restarts": 1, "kicks": 3}  # effort of the order searches after an integer phase


@solver(CgDcaOptions)
def solve_cg_dca(
    problem: Problem, options: CgDcaOptions, deadline: Deadline, progress: Progress, beside: Beside | None = None
) -> Answer:
    """Run CG-DCA joined with order search, and with the best DAG of searches that were made before.

    Returns
    -------
    Answer
        With a bound only if all parent sets, or all up to a size, were priced at the end. ``rows=`` makes it better.
    """
    return _Run(problem, options, deadline, progress, None if beside is None else beside.dag).result("cg-dca")


@solver(PaperOptions)
def solve_cg_dca_paper(problem: Problem, options: CgDcaOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Run the paper's method: hybrid start, switch at 50, Kelley, clusters only, no order search.

    ``docs/algorithms.md`` lists where the paper gives no details and where this differs. ``kelley_cuts=1``,
    ``tie_orders=1`` and ``clusters_per_round=1`` switch to what the paper says: one cut per round of Kelley's method,
    one run of DCA from each start point, and one cluster row per LP, the most violated one.

    Every integer solver proves that its DAG is the best over the families. The final results may still differ: branch
    and cut also finds cluster rows, which are then added to the LP.
    """
    return _Run(problem, options, deadline, progress).result("cg-dca-paper")


class _Run(Run):
    """A run with DCA or listed pricing, an order search before and between, checkpoints, and a proof at the end."""

    limits = "a limit on passes or families"

    def __init__(
        self,
        problem: Problem,
        options: CgDcaOptions,
        deadline: Deadline,
        progress: Progress,
        known: Dag | None = None,
    ) -> None:
        super().__init__(problem, options, deadline, progress)
        self.options = options
        self.known = known
        self.checkpoint = options.checkpoint
        self.rng = np.random.default_rng(options.random_state)
        self.start_point = make_start_point(options.init, options.switch_at)
        self.separator = FractionalSeparator(options.clusters_per_round)
        self.listed_in_time = True  # False once scoring all parent sets took too long
        self.pricer = self.make_pricer()
        gaussian = problem.score
        self.with_rows = (
            bool(options.rows)
            and isinstance(self.pricer, DcaPricer)
            and not self.searched_alone
            and isinstance(gaussian, GaussianScore)
            and is_searchable(gaussian)
        )
        self.n_row_rounds = 0

    def dca_pricer(self, rng: np.random.Generator, tie_orders: int) -> DcaPricer:
        """Return a pricer by DCA."""
        own = self.options
        return DcaPricer(
            self.problem, own.convex_step, own.epsilon, own.tolerance, rng, tie_orders, kelley_cuts=own.kelley_cuts
        )

    def make_pricer(self) -> DcaPricer | ListedPricer | ExhaustivePricer:
        """Return the pricer that the options name."""
        options, problem = self.options, self.problem
        kind = options.pricing
        if kind == "auto":
            of_matrix = problem.score.likelihood is not None and problem.score.bulk_joints is None
            kind = "dca" if of_matrix or problem.n_nodes > MOST_LISTED_COLUMNS else "listed"
        if kind == "dca":
            return self.dca_pricer(self.rng, options.tie_orders)
        if kind == "exhaustive":
            return ExhaustivePricer(problem, options.tolerance)
        knowledge = listable(problem.knowledge, LEAST_LISTED_SIZE, MOST_LISTED)
        if knowledge is not problem.knowledge:
            self.notes.append(f"{scope_of(knowledge)} listed and priced; max_parents= sets the size")
        clock = self.deadline.within(LISTING_SHARE * self.deadline.remaining())
        try:
            with Workers(clock, self.progress, options.n_jobs) as workers:
                return ListedPricer(candidate_pool(problem.score, knowledge, workers), knowledge, options.tolerance)
        except Stopped:
            return self._without_listing()

    def _without_listing(self) -> DcaPricer | ListedPricer:
        """Return a pricer for a run in which scoring all parent sets took too much of the time."""
        options, problem = self.options, self.problem
        self.listed_in_time = False
        self.notes = [*self.notes[:1], f"scoring all parent sets took more than {LISTING_SHARE:.0%} of the time"]
        if problem.score.likelihood is not None:
            return self.dca_pricer(self.rng, options.tie_orders)
        return ListedPricer(Families.from_list(problem.n_nodes, self.first), problem.knowledge, options.tolerance)

    def identity(self) -> dict[str, Any]:
        """Return what must be the same as in a checkpoint: data, score, knowledge and options."""
        return identity_of(self.problem, self.options.identity())

    def restore(self, saved: Checkpoint) -> None:
        """Continue where a checkpoint was taken."""
        self.master.add_families(saved.families)
        self.master.add_clusters(saved.clusters)
        self.incumbent = saved.incumbent
        self.trace.resume(saved.trace, saved.passes)
        self.rng.bit_generator.state = saved.random_state
        if self.incumbent is not None:
            self.trace.best = self.problem.score.total(self.incumbent)

    # --- the parts of the loop ---

    def price(self, node: int, lp: Point) -> Priced:
        with self.trace.timed("pricing"):
            candidates = self.pricer.candidates(node)
            start = self.start_point(node, candidates, lp, self.rng)
            priced = self.pricer.price(node, lp, start, self.deadline)
            if self.options.price_incumbent and self.incumbent is not None and not (priced.families or priced.exact):
                parents = self.incumbent[candidates, node].astype(np.float64)
                priced = self.pricer.price(node, lp, parents, self.deadline)
            return priced

    def solve_ip(self, last: Dag | None) -> IntegerSolution:
        best = self.incumbent if self.options.start_integer else last
        with self.trace.timed("integer"):
            seconds = self.options.integer_seconds
            clock = self.loop_clock if seconds is None else self.loop_clock.within(seconds)
            found = self.integer_solver.solve(self.master.families, self.master.clusters, best, clock)
        if found.status == "time_limit" and self.loop_clock.reason is None:
            found = replace(found, status="limit")
        if self.options.start_integer and best is not None and not self._is_better(found.adjacency):
            found = replace(found, adjacency=best)
        elif self.options.order_again and found.adjacency is not None and self.deadline.reason is None:
            with self.trace.timed("order"):
                found = replace(found, adjacency=self.search_orders(StartDag(found.adjacency), **AGAIN))
        return found

    def _is_better(self, dag: Dag | None) -> bool:
        """Say whether a DAG scores higher than the incumbent, so equivalent DAGs do not count."""
        return dag is not None and self.problem.score.total(dag) > self.trace.best + self.options.tolerance

    def search_orders(self, start: object, **effort: int) -> Dag:
        """Return the best DAG of an order search; the parent sets that it visited become families."""
        dag, met = order_incumbent(
            self.problem,
            self.deadline,
            NoProgress(),
            random_state=self.options.random_state,
            n_jobs=self.options.n_jobs,
            start=start,
            pool=self.pricer.pool if isinstance(self.pricer, ListedPricer) and self.listed_in_time else None,
            **effort,
        )
        self.add_sets(met)
        return dag

    def add_sets(self, sets: Iterable[BareFamily]) -> None:
        """Add as families parent sets that did not come from pricing."""
        score = self.problem.score
        self.master.add_families([Family(node, mask_of(own), score.local(node, list(own))) for node, own in sets])

    def begin(self) -> None:
        """Take the given DAG, or that of an order search, as the first incumbent."""
        if self.options.order_start:
            self.progress.update("order search", None)
            with self.trace.timed("order"):
                effort = THOROUGH if self.problem.n_nodes <= MOST_PRICED_NODES else {}
                self.incumbent = self.search_orders(self.options.start, **effort)
        elif self.options.start is not None:
            self.incumbent = start_dag(self.problem, self.options.start)
            self.add_sets(families(self.incumbent))
        if self.incumbent is not None and self.known is not None:
            better, other = sorted((self.incumbent, self.known), key=self.problem.score.total, reverse=True)
            self.incumbent = merged(better, other, self.problem)
            self.add_sets({*families(self.known), *families(self.incumbent)})
        if self.incumbent is not None:
            self.trace.best = self.problem.score.total(self.incumbent)
            self.trace.add("order" if self.options.order_start else "start", np.nan, self.master.n_families, 0)

    def stop(self) -> bool:
        most = self.options.max_families
        return super().stop() or (most is not None and self.master.n_families >= most)

    def after_pass(self, dag: Dag | None) -> None:
        if self.checkpoint is not None and self.deadline.reason is None:
            passes = self.trace.passes - 1
            state = Checkpoint.of(self.identity(), self.master, dag, passes, self.rng, self.trace.rows)
            save_checkpoint(state, self.checkpoint)
            self.master.rebuild()  # as a resumed run does, so that both continue in the same way
            self.pricer.forget()

    # --- the outcome ---

    def result(self, method: str) -> Answer:
        """Run, from a checkpoint if there is one to resume."""
        resumed = resumed_path(self.checkpoint, self.options.resume)
        if resumed is not None:
            self.restore(load_checkpoint(resumed, self.identity(), self.problem.n_nodes))
        else:
            self.begin()
        if not self.searched_alone:
            if self.with_rows:
                self.loop_clock = self.deadline.within(LOOP_SHARE * self.deadline.remaining())
            return self.outcome(method, self.loop())
        self.notes = [f"more than {MOST_PRICED_NODES} columns: order search alone, without column generation"]
        return self.outcome(method, self.deadline.reason is None)

    @property
    def searched_alone(self) -> bool:
        """Whether there are too many columns for pricing."""
        return self.options.order_start and self.problem.n_nodes > MOST_PRICED_NODES

    def proof(self, converged: bool) -> tuple[Certificate | None, Certificate | None]:
        if self.with_rows and self.deadline.reason is None:
            return self.proof_by_rows(), None
        pricer = self.exact_pricer() if converged and not self.searched_alone else None
        if pricer is None:
            return None, None
        found = Certificate(self.bound(pricer), scope_of(pricer.knowledge), "pricing")
        return (found, None) if pricer.knowledge is self.problem.knowledge else (None, found)

    def proof_by_rows(self) -> Certificate | None:
        """Return a bound on all allowed DAGs: rows of log-determinants, and pricing over all parent sets."""
        score = self.problem.score
        assert isinstance(score, GaussianScore)
        dag = self.some_dag()
        finders: list[RowFinder] = [ClusterRows(CLUSTERS_PER_ROUND)]
        finders += logdet_finders(score.block_likelihood, self.options.rows, dag, self.options.random_state)
        met = ((family.node, tuple(members(family.mask))) for family in self.master.families)

        def tell(score: float, bound: float, n_cuts: int, n_families: int) -> None:
            self.progress.update("bound", None, score=score, bound=bound)

        with self.trace.timed("bound"), Workers(self.deadline, NoProgress(), self.options.n_jobs) as workers:
            listing = Listing(score, self.problem.knowledge, 0)
            with suppress(Stopped):
                listing.narrow(workers)
            root = PricedRoot(score, listing.knowledge, dag, met, finders, workers, tell, ROW_EFFORT)
            root.run(0, self.slack())
        self.incumbent, self.n_row_rounds = root.dag, root.n_rounds
        self.trace.best = score.total(root.dag)
        self.trace.add("bound", root.bound, self.master.n_families, len(self.master.clusters))
        return tightest(Certificate(root.bound, scope_of(self.problem.knowledge), "pricing"))

    def slack(self) -> float:
        if not self.with_rows:
            return super().slack()
        gaussian = self.problem.score
        assert isinstance(gaussian, GaussianScore)
        margin = 2 * gaussian.block_likelihood.margin  # of each node's largest remainder
        return super().slack() + self.problem.n_nodes * margin + ROW_TOLERANCE * abs(self.trace.best)

    def figures(self) -> dict[str, Any]:
        return {"row_rounds": self.n_row_rounds} if self.with_rows else {}

    def exact_pricer(self) -> ExhaustivePricer | ListedPricer | None:
        """Return a pricer over all parent sets, or over all up to a size; None if there are too many."""
        if not self.listed_in_time:
            return None
        if not isinstance(self.pricer, DcaPricer):
            return self.pricer
        most = self.problem.knowledge.may.sum(axis=0).max()  # required parents included
        return None if most > MOST_BOUND_CANDIDATES else ExhaustivePricer(self.problem, self.options.tolerance)

    def bound(self, pricer: ExhaustivePricer | ListedPricer) -> float:
        """Return a bound on the scores of the DAGs whose parent sets the pricer covers.

        With listed parent sets, pricing and separation alternate until neither finds anything: the bound is then
        that of the full LP.
        """
        best = np.inf
        while True:
            lp = self.master.solve()
            value, found = priced_bound(pricer, lp, self.deadline)
            best = min(best, value)
            if self.deadline.reason is not None or not isinstance(pricer, ListedPricer):
                return best
            if not self.master.add_families(found) and not self.master.add_clusters(self.separate(lp)):
                return best
