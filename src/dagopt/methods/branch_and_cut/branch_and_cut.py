"""``method="branch-and-cut"``: the proven best DAG over all parent sets that matter, by submodular rows and branching.

1. Every parent set that no subset beats is listed (``families/undominated.py`` for scores made of log-determinants,
   ``families/listing.py`` for others). If there are too many, or listing them takes too long, a dense table of
   up to 40 columns is searched from the end of its order (``suffixes.py``), which proves the best DAG or gives a bound.
   If that is given up, weights of pairs of columns give a bound on all DAGs (``pair_bound.py``), column generation
   prices all sets (``priced_root.py``), which gives another bound and leaves fewer sets to list, and the listing may go
   on. They take turns, and the time goes to the bound that falls (``turns.py``).
2. Order search finds a DAG to start from; with interventions, where it would be slow, over the listed sets.
3. The LP over the listed families is cut by clusters, entropies, matrices, last-node and symmetry rows
   and local cuts (``lp/rows``); where that stalls, by branching on which of two nodes comes first.

Last-node rows, symmetry rows and the removal of dominated sets keep some best DAG: one with the fewest edges among
the best DAGs, and in its class the one with the smallest topological order. The comparisons behind them have a
margin for rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from dagopt.arrays import Dag, Words
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families
from dagopt.families.listing import candidate_pool, count_sets
from dagopt.families.undominated import Listing, TooMany
from dagopt.graph.order import parent_lists
from dagopt.kernels.cuts import tree as kernels
from dagopt.lp.priced_root import PricedRoot
from dagopt.lp.rows.clusters import ClusterRows, LastNodeRows
from dagopt.lp.rows.local import LocalRows
from dagopt.lp.rows.matrices import logdet_finders
from dagopt.lp.rows.row import Row, RowFinder
from dagopt.lp.rows.symmetry import SymmetryRows, priorities, turns_are_free
from dagopt.memory import available_bytes
from dagopt.methods.branch_and_cut.bound_parts import ListingTurns, PairTurns, PricingTurns
from dagopt.methods.branch_and_cut.pair_bound import PairBound
from dagopt.methods.branch_and_cut.suffix_search import SuffixSearch, is_suited
from dagopt.methods.branch_and_cut.tree import Outcome, Rules, Tree
from dagopt.methods.branch_and_cut.turns import Part, take_turns
from dagopt.methods.method_options import n_jobs, random_state, row_kinds, solver, start
from dagopt.methods.orders.order import order_incumbent
from dagopt.options import Check, Options, anything, option, whole
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer, Status, worth
from dagopt.results.certificate import Certificate, scope_of, tightest
from dagopt.results.figures import Figures
from dagopt.scores.block_likelihood import BlockLikelihood
from dagopt.workers import Stopped, Workers, thread_count

__all__ = ["ROW_KINDS", "BranchAndCutOptions", "solve_branch_and_cut"]


ROW_KINDS = ("entropies", "matrices", "last-node", "symmetry", "local")
ROWS_PER_ROUND = 20  # maximum number of rows of one kind added per round
LOCAL_SIZE, GAUSSIAN_LOCAL_SIZE = 8, 6  # the largest sets of nodes with local cuts
MOST_SETS = 600_000  # maximum number of listed sets
BYTES_PER_SET = 6_000  # memory per listed set, which is in a few hundred rows
MOST_SCORED = 20_000_000  # maximum number of scored sets, for scores other than Gaussian likelihoods
MOST_COLUMNS = 400  # behind blocks; beyond this a round of pricing takes longer than a minute
LISTING_SHARE = 0.2  # the share of the time limit after which sets are priced, unless the listing is nearly done
NEARLY_SHARE = 0.5  # the listing goes on if it is expected to take at most this share of the time left
UNPRICED_SHARE = 0.6  # the share of the time limit for the listing where sets cannot be priced
LISTING_TIME = 600.0  # seconds; a longer time limit counts as this much for these shares
LEAST_LISTING = 5.0  # seconds that the listing has in any case
RULES = Rules(
    tolerance=1e-8, rounds_back=(12, 3), share=(0.05, 0.1), most_rounds=6, idle_rounds=5, pairs=6
)  # fmt: skip
LEAST_IMPROVEMENT = 1e-5  # besides rounding, what an added parent must gain to count as an improvement
TRACE_EVERY = 0.2  # seconds between rows of the trace


@dataclass(frozen=True)
class BranchAndCutOptions(Options):
    """Options of branch and cut with submodular rows."""

    max_sets: int | None = option(
        None,
        "If more undominated parent sets are found, they are priced instead of listed. By default 600,000, or as many "
        "as fit in half of the free memory.",
        Check("int", lambda name, value: None if value is None else whole(1).run(name, value)),
        unset="what fits",
    )
    rows: Any = row_kinds(ROW_KINDS)
    restarts: int | None = option(
        None,
        "Restarts of the order search that finds the first DAG; by default, they depend on the size.",
        anything("int"),
    )
    random_state: int = random_state()
    n_jobs: int | None = n_jobs()
    start: Any = start()


@solver(BranchAndCutOptions)
def solve_branch_and_cut(
    problem: Problem,
    options: BranchAndCutOptions,
    deadline: Deadline,
    progress: Progress,
    plan: Listing | None = None,
) -> Answer:
    """Return the proven best DAG, or at the deadline the best so far with a proven bound.

    With no limit on the number of parents the proof covers all DAGs. A listing that was begun is continued.

    Returns
    -------
    Answer
        With ``status="optimal"`` if no DAG is better by more than 1e-8 times the score.
    """
    run = _Run(problem, deadline, progress, options, plan)
    dag, met = order_incumbent(
        problem, deadline, progress, restarts=options.restarts, random_state=options.random_state,
        n_jobs=options.n_jobs, start=options.start, pool=run.pool_to_search(),
    )  # fmt: skip
    run.tell_start(dag)
    rows: list[Row] = []
    with Workers(deadline, progress, options.n_jobs) as workers:
        try:
            families = run.list_sets(workers)
            note = f"{len(families.node):,} parent sets can be part of a best DAG"
        except Stopped:
            return run.answer(dag, None, ("stopped before all parent sets were listed",))
        except TooMany as found:
            note = _too_many(found, run.max_sets, run.is_priced)
            progress.note(note)
            search = run.search_from_end(dag, workers)
            if search is not None:
                dag = search.dag
                if search.finished:
                    note = f"the best order was found from its end, over {search.n_states:,} sets of nodes"
                    return run.answer(dag, None, (note,))
            dag, left, rows = run.bound_all(dag, met, workers)
            if left is None:
                return run.answer(dag, None, (note,))
            families = left
            note += f"; {len(families.node):,} of them can be part of a better DAG"
        progress.note(note)
        try:
            after = run.find_after(families, workers)
        except Stopped:
            return run.answer(dag, None, (note,))
    outcome = run.cut(families, after, dag, rows)
    assert outcome.chosen is not None
    return run.answer(families.adjacency(outcome.chosen), outcome, (note,))


def _too_many(found: TooMany, max_sets: int, is_priced: bool) -> str:
    """Return the note on a listing that was given up: how many sets were found, and what is done instead."""
    likely = f", out of about {found.n_likely:,.0f}" if found.n_likely > found.n_found else ""
    reason = f"more than max_sets={max_sets:,}" if found.n_found > max_sets else "which takes too long"
    instead = "they are priced instead of listed" if is_priced else "this score has no pricing; max_parents= may help"
    return f"{found.n_found:,} undominated parent sets were found{likely}, {reason}: {instead}"


class _Run:
    """One run and its trace."""

    def __init__(
        self,
        problem: Problem,
        deadline: Deadline,
        progress: Progress,
        options: BranchAndCutOptions,
        begun: Listing | None,
    ) -> None:
        self._problem = problem
        self._begun = begun
        self._deadline = deadline
        self._progress = progress
        self._options = options
        self.max_sets = options.max_sets or min(MOST_SETS, available_bytes() // (2 * BYTES_PER_SET))
        self._trace: list[tuple[float, str, float, float | None]] = []
        self._n_sets = 0
        self._gaussian = problem.score.gaussian
        self._columns = problem.score.by_columns  # behind blocks, if these cannot be priced
        self._form = problem.score.block_likelihood
        self._narrowed = problem.knowledge  # without parents that are in no undominated set
        self._listed: Families | TooMany | None = None
        self._root: PricedRoot | None = None
        self._pairs: PairBound | None = None
        self._columns_bound = np.inf  # of the columns behind blocks
        self._suffixes: SuffixSearch | None = None
        self._unlisted: Listing | None = None  # a listing that was given up for want of time

    @property
    def is_priced(self) -> bool:
        """Whether sets that are too many to list can be priced."""
        return self._gaussian is not None or self._columns is not None

    def tell_start(self, dag: Dag) -> None:
        """Start the trace with the DAG of the order search."""
        self._trace.append((self._deadline.elapsed(), "orders", self._problem.score.total(dag), None))

    def pool_to_search(self) -> Families | None:
        """Return all undominated sets, if the order search has no fast form of the score; None to search without."""
        score = self._problem.score
        fast = (score.logdets, score.blocks, score.counts)
        if self._form is None or any(form is not None for form in fast):
            return None
        with Workers(self._deadline, self._progress, self._options.n_jobs) as workers:
            try:
                return self.list_sets(workers)
            except (Stopped, TooMany):
                return None

    def list_sets(self, workers: Workers) -> Families:
        """Return all sets that could be part of a best DAG; raise ``TooMany`` or ``Stopped``."""
        if self._listed is None:
            try:
                self._listed = self._list_sets(workers)
            except TooMany as found:
                self._listed = found
        if isinstance(self._listed, TooMany):
            raise self._listed
        return self._listed

    def _list_sets(self, workers: Workers) -> Families:
        score, knowledge = self._problem.score, self._problem.knowledge
        if self._form is not None:
            listing = self._begun or Listing(score, knowledge, self.max_sets)
            listing.most_sets = self.max_sets
            try:
                families = self._list(listing, workers)
            finally:
                self._narrowed = listing.knowledge
        else:
            if count_sets(knowledge) > MOST_SCORED:
                raise InputError(
                    f"expected at most {MOST_SCORED:,} parent sets to score but the limits on the parents allow "
                    f"{count_sets(knowledge):,}; set max_parents= (3 or 4)"
                )
            families = candidate_pool(score, knowledge, workers)
        if len(families) > self.max_sets:
            raise TooMany(len(families), len(families))
        self._n_sets = len(families)
        return families

    def _list(self, listing: Listing, workers: Workers) -> Families:
        """Return the undominated sets; raise ``TooMany`` if that takes longer than its share of the time."""
        share = LISTING_SHARE if self.is_priced else UNPRICED_SHARE
        while True:
            left = min(self._deadline.remaining(), LISTING_TIME)
            clock = self._deadline.within(max(share * left, LEAST_LISTING))
            with Workers(clock, self._progress, workers.count) as some:
                try:
                    return listing.run(some)
                except Stopped:
                    if self._deadline.reason is not None:
                        raise
            if listing.seconds_left(workers.count) > NEARLY_SHARE * min(self._deadline.remaining(), LISTING_TIME):
                self._unlisted = listing
                raise TooMany(listing.n_found, listing.n_likely)

    def search_from_end(self, dag: Dag, workers: Workers) -> SuffixSearch | None:
        """Return what the search from the end of the order finds; None where it does not apply."""
        value = self._problem.score.total(dag)
        tolerance = RULES.tolerance * max(abs(value), 1.0)
        if self._gaussian is None or not is_suited(self._gaussian, self._problem.knowledge, tolerance):
            return None
        self._suffixes = SuffixSearch(
            self._gaussian, dag, tolerance, workers, tell=lambda bound: self._tell(value, bound, 0, 0, 0)
        )
        self._suffixes.run()
        return self._suffixes

    def bound_all(
        self, dag: Dag, met: Iterable[tuple[int, tuple[int, ...]]], workers: Workers
    ) -> tuple[Dag, Families | None, list[Row]]:
        """Lower the bound on all DAGs by pairs, by pricing, and by listing after all.

        Returns the best DAG, all families that a better one can have, None if they could not be listed, and rows.
        """
        if self._gaussian is None:
            self._price_columns(dag, workers)
            return dag, None, []
        value = self._problem.score.total(dag)
        with ThreadPoolExecutor(workers.count) as threads:
            pairs = PairBound(self._gaussian, dag, workers, lambda bound: self._tell(value, bound, 0, pairs.n_rows, 0))
            self._root = root = PricedRoot(
                self._gaussian, self._narrowed, dag, met, self._finders(dag, None, threads), workers,
                lambda score, bound, cuts, left: self._tell(score, bound, 0, cuts, left),
            )  # fmt: skip
            self._pairs = pairs
            tolerance = RULES.tolerance * max(abs(value), 1.0)
            parts: list[Part] = [PairTurns(pairs), PricingTurns(root, self.max_sets, tolerance, workers)]
            listing = None if self._unlisted is None else ListingTurns(self._unlisted, NEARLY_SHARE, workers)
            if listing is not None:
                parts.append(listing)
            take_turns(parts, value, tolerance, self._deadline)
        if listing is not None and listing.families is not None:
            return root.dag, listing.families, []
        return root.dag, root.families, root.rows

    def _price_columns(self, dag: Dag, workers: Workers) -> None:
        """Bound the DAGs over blocks by pricing those over their columns."""
        if self._columns is None or len(self._columns.within) > MOST_COLUMNS:
            return
        score, more = self._columns.score, self._columns.constant
        value, wide = self._problem.score.total(dag), self._columns.dag(dag)
        known, first = self._columns.knowledge(self._narrowed), enumerate(parent_lists(wide))
        with ThreadPoolExecutor(workers.count) as threads:
            finders = self._finders(wide, None, threads, score.block_likelihood)
            root = PricedRoot(
                score, known, wide, [(i, tuple(own.tolist())) for i, own in first], finders, workers,
                lambda _, bound, cuts, left: self._tell(value, bound + more, 0, cuts, left),
            )  # fmt: skip
            root.run(0, RULES.tolerance * max(abs(value), 1.0))
        self._columns_bound = root.bound + more

    def find_after(self, families: Families, workers: Workers) -> Words:
        """Return for every family the nodes that come after its node in a best DAG: those that would improve it."""
        after = np.zeros_like(families.words)
        least = LEAST_IMPROVEMENT + 1e-11 * float(np.abs(families.score).max())
        if self._form is not None:
            least += self._form.margin
        n = families.n_nodes
        facts = (families.words, families.score, families.offsets, least)
        pieces = [partial(kernels.improvable, *facts, i, i + 1, after) for i in range(n)]
        workers.each("additions that improve", pieces, n)
        return after

    def cut(self, families: Families, after: Words, dag: Dag, rows: list[Row]) -> Outcome:
        """Run branch and cut from a DAG, with rows to begin with."""
        begin = families.start(dag)
        assert begin is not None
        self._n_sets = len(families.node)
        n_jobs = thread_count(self._options.n_jobs)
        with ThreadPoolExecutor(n_jobs) as threads:
            finders = partial(self._finders, families.adjacency(begin), after, threads)
            return Tree(
                families, begin, self._deadline, finders, RULES, n_jobs=n_jobs, after=after, first_rows=rows,
                tell=self._tell,
            ).run()  # fmt: skip

    def _finders(
        self, dag: Dag, after: Words | None, threads: ThreadPoolExecutor, form: BlockLikelihood | None = None
    ) -> list[RowFinder]:
        """Return what finds rows of the kinds that are wanted and hold here; without ``after``, those of all DAGs."""
        kinds, seed, form = self._options.rows, self._options.random_state, form or self._form
        finders: list[RowFinder] = [ClusterRows(ROWS_PER_ROUND)]
        if "last-node" in kinds and after is not None:
            finders.append(LastNodeRows(after, ROWS_PER_ROUND))
        free = self._problem.score.is_score_equivalent and turns_are_free(self._problem.knowledge)
        if "symmetry" in kinds and after is not None and free:
            finders.append(SymmetryRows(priorities(dag), ROWS_PER_ROUND))
        if form is not None:
            finders += logdet_finders(form, kinds, dag, seed, threads)
        if "local" in kinds:
            size = LOCAL_SIZE if form is None else GAUSSIAN_LOCAL_SIZE
            finders.append(LocalRows(threads, size, seed, lambda: self._deadline.reason is not None))
        return finders

    def _tell(self, score: float, bound: float, n_nodes: int, n_cuts: int, n_left: int) -> None:
        outer = [part.bound for part in (self._pairs, self._root, self._suffixes) if part is not None]
        bound = max(min([bound, self._columns_bound, *outer]), score)
        now = self._deadline.elapsed()
        if len(self._trace) < 2 or now - self._trace[-1][0] > TRACE_EVERY:
            self._trace.append((now, "branch and cut", score, bound))
        facts = {"score": score, "bound": bound, "gap": f"{(bound - score) / max(abs(score), 1e-12):.4%}"}
        self._progress.update("branch and cut", None, **facts, nodes=n_nodes, cuts=n_cuts, families=n_left)

    def answer(self, dag: Dag, outcome: Outcome | None, notes: tuple[str, ...]) -> Answer:
        """Return the answer with the tightest of what the parts have proven."""
        score = self._problem.score.total(dag)
        tolerance = RULES.tolerance * max(abs(score), 1.0)
        scope = scope_of(self._problem.knowledge)
        status: Status = self._deadline.reason or "converged"
        proofs: list[Certificate | None] = []
        figures: dict[str, Any] = worth(self._problem, dag)
        roots: list[float] = []
        if self._root is not None and self._pairs is not None and np.isfinite(self._root.bound):
            by_pairs = self._pairs.bound
            proofs += [Certificate(self._root.bound, scope, "pricing"), Certificate(by_pairs, scope, "pairs")]
            roots.append(min(self._root.bound, by_pairs))
            figures |= {"n_pricing_rounds": self._root.n_rounds, "pair_bound": by_pairs}
            if roots[0] <= score + tolerance:
                status = "optimal"
        if np.isfinite(self._columns_bound):
            proofs.append(Certificate(self._columns_bound, scope, "pricing"))
            roots.append(self._columns_bound)
            if roots[0] <= score + tolerance:
                status = "optimal"
        if self._suffixes is not None and np.isfinite(self._suffixes.bound):
            proofs.append(Certificate(self._suffixes.bound, scope, "search from the end"))
            roots.append(self._suffixes.root_bound)
            figures["n_states"] = self._suffixes.n_states
            if self._suffixes.finished:
                status = "optimal"
        if outcome is not None:
            status = outcome.status
            proofs.append(Certificate(outcome.bound, scope, "branch and cut"))
            roots.append(outcome.root_bound)
            figures |= {
                "n_sets": self._n_sets,
                "n_tree_nodes": outcome.n_nodes,
                "n_open_nodes": outcome.n_open,
                "n_cuts": outcome.n_cuts,
                "n_families_left": outcome.n_left,
                "n_lps": outcome.n_lps,
            }
        proof = tightest(*proofs)
        proof = None if proof is None else proof.at_least(score)
        if proof is not None and (outcome is not None or (self._suffixes is not None and self._suffixes.finished)):
            self._trace.append((self._deadline.elapsed(), "branch and cut", score, proof.bound))
        if proof is not None and outcome is not None and status == "optimal":
            proof = replace(proof, bound=proof.bound + tolerance)  # DAGs better by less were not searched for
        return Answer(
            "branch-and-cut",
            dag,
            score,
            status,
            proof,
            trace=pd.DataFrame(self._trace, columns=["seconds", "phase", "score", "bound"]),
            notes=notes,
            figures=Figures(**figures, root_bound=min(roots, default=None)),
        )
