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

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
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
from dagopt.lp.priced_root import BareFamily, PricedRoot, PricedState
from dagopt.lp.rows.clusters import ClusterRows, LastNodeRows
from dagopt.lp.rows.local import LocalRows
from dagopt.lp.rows.matrices import logdet_finders
from dagopt.lp.rows.row import Row, RowFinder
from dagopt.lp.rows.symmetry import SymmetryRows, priorities, turns_are_free
from dagopt.memory import available_bytes, parse_bytes
from dagopt.methods.branch_and_cut.bound_parts import SECONDS_TO_PRICE, ListingTurns, PairTurns, PricingTurns
from dagopt.methods.branch_and_cut.checkpoint import (
    Bounds,
    Saved,
    load_saved,
    packed_tree,
    saved_content,
    unpacked_tree,
)
from dagopt.methods.branch_and_cut.pair_bound import PairBound
from dagopt.methods.branch_and_cut.precedence import improving
from dagopt.methods.branch_and_cut.subtrees import Cluster, Subtrees, opened
from dagopt.methods.branch_and_cut.suffix_search import SuffixSearch, SuffixState, suited
from dagopt.methods.branch_and_cut.tree import MEMORY, Outcome, Rules, Tree, TreeState
from dagopt.methods.branch_and_cut.turns import Part, take_turns
from dagopt.methods.checkpoint_file import Saver, identity_of, resumed_path
from dagopt.methods.method_options import (
    checkpoint,
    memory_limit,
    n_jobs,
    random_state,
    resume,
    row_kinds,
    solver,
    start,
)
from dagopt.methods.orders.order import order_incumbent
from dagopt.methods.resumable import Beside
from dagopt.options import Check, Options, anything, option, whole
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress
from dagopt.results.answer import Answer, Status, worth
from dagopt.results.certificate import Certificate, Source, scope_of, tightest
from dagopt.results.figures import Figures
from dagopt.scores.base import Score
from dagopt.scores.block_likelihood import BlockLikelihood
from dagopt.scores.by_columns import ByColumns
from dagopt.workers import Stopped, Workers, thread_count

__all__ = ["ROW_KINDS", "BranchAndCutOptions", "can_bound", "solve_branch_and_cut"]


ROW_KINDS = ("entropies", "matrices", "last-node", "symmetry", "local")
ROWS_PER_ROUND = 20  # maximum number of rows of one kind added per round
LOCAL_SIZE, GAUSSIAN_LOCAL_SIZE = 8, 6  # the largest sets of nodes with local cuts
MOST_SETS = 600_000  # maximum number of listed sets
MANY_SETS = 200_000  # from this number on sets are priced first, because few of them are left then
MANY_SHARE = 0.5  # of the time left, before a listing of many sets goes on, or after it the tree begins,
NEAR = 0.1  # unless pricing has left at most this share of the gap of the likelihood
BYTES_PER_SET = 6_000  # memory per listed set, which is in a few hundred rows
MOST_SCORED = 20_000_000  # maximum number of scored sets, for scores other than Gaussian likelihoods
MOST_COLUMNS = 400  # behind blocks; beyond this a round of pricing takes longer than a minute
SEARCH_SHARE = 0.2  # of the time, at most, for the order search if there is a DAG to start from
LISTING_SHARE = 0.2  # the share of the time limit after which sets are priced, unless the listing is nearly done
LOOK_SHARE, LEAST_LOOK = 0.05, 1.0  # the share of the time, and seconds, between two looks at how far the listing is
HOPELESS = 30.0  # the listing is given up at once if it is expected to take so many times the time left
NEARLY_SHARE = 0.5  # the listing goes on if it is expected to take at most this share of the time left
UNPRICED_SHARE = 0.6  # the share of the time limit for the listing where sets cannot be priced
LISTING_TIME = 600.0  # seconds; a longer time limit counts as this much for these shares
LEAST_LISTING = 5.0  # seconds that the listing has in any case
PAIRS_BEGUN_PER_SECOND = 5e9  # columns of the matrix cubed, before the first round of the bound by pairs
PAIRS_SHARE = 0.1  # of the time left, for the bound by pairs before a listing goes on beyond its share
SUFFIX_SHARE = 0.4  # of the time left, for the search from the end of blocks, whose steps take longer
RULES = Rules(
    tolerance=1e-8, rounds_back=(12, 3), share=(0.05, 0.1), most_rounds=6, idle_rounds=5, pairs=6
)  # fmt: skip
FIRST_NODES = 2  # open nodes before subtrees are handed out to a cluster
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
    memory_limit: int | str | None = memory_limit("Bytes for the open nodes of the tree, or text such as 8GB.", "2GB")
    checkpoint: str | Path | None = checkpoint("the run saves itself every few minutes, and when it is stopped")
    resume: bool = resume()
    cluster: Any = option(
        None,
        "Where subtrees are searched: a dask client, the address of a dask scheduler, or an executor.",
        anything("client, address or executor"),
        metavar="ADDRESS",
    )

    def identity(self) -> dict[str, Any]:
        """Return the options that change the course of a run, which must be the same as in a checkpoint."""
        return {"method": "branch-and-cut", "rows": list(self.rows), "random_state": self.random_state}


@solver(BranchAndCutOptions)
def solve_branch_and_cut(
    problem: Problem,
    options: BranchAndCutOptions,
    deadline: Deadline,
    progress: Progress,
    plan: Listing | None = None,
    beside: Beside | None = None,
) -> Answer:
    """Return the proven best DAG, or at the deadline the best so far with a proven bound.

    With no limit on the number of parents the proof covers all DAGs. A listing that was begun is continued, and better
    DAGs of searches that run beside it are used.

    Returns
    -------
    Answer
        With ``status="optimal"`` if no DAG is better by more than 1e-8 times the score.
    """
    run = _Run(problem, deadline, progress, options, plan, beside)
    try:
        return run.solve()
    finally:
        run.saver.flush()


def can_bound(score: Score) -> bool:
    """Say whether branch and cut bounds all DAGs if undominated sets are too many: by pricing, or by pairs."""
    form = score.block_likelihood
    return score.by_columns is not None or (form is not None and form.has_one_matrix)


def _too_many(found: TooMany, max_sets: int, run: _Run) -> str:
    """Return the note on a listing that was given up: how many sets were found, and what is done instead."""
    likely = f", out of about {found.n_likely:,.0f}" if found.n_likely > found.n_found else ""
    reason = "which are many" if run.has_many else "which takes too long"
    reason = f"more than max_sets={max_sets:,}" if found.n_found > max_sets else reason
    instead = "they are priced instead of listed"
    if not run.is_priced:
        instead = "pairs of columns give a bound" if run.has_bounds else "this score has no pricing"
        instead += "; max_parents= may help"
    return f"{found.n_found:,} undominated parent sets were found{likely}, {reason}: {instead}"


@dataclass(frozen=True, eq=False)
class _Job:
    """What all tasks of a cluster share: the problem, the families and what comes after them, and the first DAG."""

    problem: Problem
    options: BranchAndCutOptions
    families: Families
    after: Words
    first: Dag


def _work_on_subtrees(
    job: _Job, content: dict[str, Any], seconds: float, limit: float, enough: float
) -> dict[str, Any]:
    """Work on some nodes in a worker; return what is left.

    It ends after ``seconds``, between two nodes, or when so many are open, and at the limit of the whole run at once.
    """
    run = _Run(job.problem, Deadline(limit), NoProgress(), job.options, None)
    state = unpacked_tree(content, job.families, job.problem)
    state = run.work_on_subtrees(job.families, job.after, job.first, state, seconds, enough)
    return packed_tree(state, job.problem)


class _Run:
    """One run and its trace."""

    def __init__(
        self,
        problem: Problem,
        deadline: Deadline,
        progress: Progress,
        options: BranchAndCutOptions,
        begun: Listing | None,
        beside: Beside | None = None,
    ) -> None:
        self._problem = problem
        self._begun = begun
        self._beside = Beside() if beside is None else beside
        self._deadline = deadline
        self._progress = progress
        self._options = options
        self.max_sets = options.max_sets or min(MOST_SETS, available_bytes() // (2 * BYTES_PER_SET))
        self._trace: list[tuple[float, str, float, float | None]] = []
        self._n_sets = 0
        self._form = problem.score.block_likelihood
        self._columns = problem.score.by_columns  # which are priced
        if self._columns is not None and not self._columns.is_same and self._columns.n_columns > MOST_COLUMNS:
            self._columns = None
        self._narrowed = problem.knowledge  # without parents that are in no undominated set
        self._dag: Dag | None = None  # the DAG to start from, and later the best one known
        self._heard: Dag | None = None  # the last DAG found beside that pricing was told of
        self._listed: Families | TooMany | None = None
        self._root: PricedRoot | None = None
        self._pairs: PairBound | None = None
        self._suffixes: SuffixSearch | None = None
        self._unlisted: Listing | None = None  # a listing that was given up for want of time, or has many sets
        self.has_many = False  # whether these are priced before anything else
        self.saver = Saver(options.checkpoint, progress.note)
        self._identity = identity_of(problem, options.identity()) if self.saver.is_on else {}
        self._proofs: dict[Source, float] = {}  # of the run that is continued, by their source
        self._seconds = 0.0  # that it took
        self._n_states_before: int | None = None
        self._is_core = False  # whether the tree leaves out parents that lie in no cycle
        self._met: list[BareFamily] = []
        self._note = ""

    def solve(self) -> Answer:
        """Run from the start, or from a checkpoint if there is one to resume."""
        path = resumed_path(self._options.checkpoint, self._options.resume)
        saved = None if path is None else self._resume(load_saved(path, self._identity, self._problem))
        dag = self._dag = self._search_orders() if saved is None else saved.dag
        rows: list[Row] = []
        with Workers(self._deadline, self._progress, self._options.n_jobs) as workers:
            if saved is not None and saved.tree is not None:
                families = saved.tree[0]
            else:
                found = self._find_families(dag, saved, workers)
                if isinstance(found, Answer):
                    return found
                families, dag, rows = found
            self._progress.note(self._note)
            self._is_core = not rows if saved is None or saved.tree is None else saved.is_core
            core = families.without(self._problem.knowledge.safe) if self._is_core else families
            try:
                after = self.find_after(core, workers)
            except Stopped:
                return self.answer(dag, None, (self._note,))
        state = None if saved is None or saved.tree is None else saved.tree[1]
        outcome = self.cut(core, after, dag, rows, state, families)
        assert outcome.chosen is not None
        return self.answer(families.adjacency(outcome.chosen), outcome, (self._note,))

    def _resume(self, saved: Saved) -> Saved:
        """Take over what all stages have."""
        self._proofs, self._trace, self._note = saved.proofs, list(saved.trace), saved.note
        self._seconds = saved.trace[-1][0] if saved.trace else 0.0
        self._met = saved.met
        self._narrowed = replace(self._problem.knowledge, may=saved.may)
        self._n_states_before = saved.n_states
        return saved

    def _search_orders(self) -> Dag:
        """Return the DAG to start from, by a search over orders."""
        options, clock = self._options, self._deadline
        if options.start is not None:
            clock = clock.within(SEARCH_SHARE * clock.remaining())
        dag, met = order_incumbent(
            self._problem, clock, self._progress, restarts=options.restarts,
            random_state=options.random_state, n_jobs=options.n_jobs, start=options.start, pool=self.pool_to_search(),
        )  # fmt: skip
        self._met = list(met)
        self._trace.append((self._deadline.elapsed(), "orders", self._problem.score.total(dag), None))
        return dag

    def _find_families(
        self, dag: Dag, saved: Saved | None, workers: Workers
    ) -> tuple[Families, Dag, list[Row]] | Answer:
        """Return all families that a better DAG can have, the best DAG and rows; an answer if that is not needed."""
        if saved is None:
            try:
                families = self.list_sets(workers)
                self._note = f"{len(families.node):,} parent sets can be part of a best DAG"
                self.has_many = self._unlisted is not None and self._is_worth_pricing(len(families))
                if not self.has_many:
                    return families, dag, []
            except Stopped:
                return self.answer(dag, None, ("stopped before all parent sets were listed",))
            except TooMany as found:
                self._note = _too_many(found, self.max_sets, self)
                self._progress.note(self._note)
        if (saved is None and not self.has_many) or (saved is not None and saved.suffixes is not None):
            search = self.search_from_end(dag, workers, None if saved is None else saved.suffixes)
            if search is not None:
                dag = search.dag
                if search.finished:
                    note = f"the best order was found from its end, over {search.n_states:,} sets of nodes"
                    return self.answer(dag, None, (note,))
        dag, left, rows = self.bound_all(dag, workers, None if saved is None else saved.bounds)
        if left is None:
            return self.answer(dag, None, (self._note,))
        self._note += f"; {len(left.node):,} of them can be part of a better DAG"
        return left, dag, rows

    def _save(self, dag: Dag, **stage: Any) -> None:
        """Take note of the state of a stage that started from a DAG."""
        if self.saver.is_on:
            facts = (self._narrowed.may, self._note, self._outer(), list(self._trace))
            saved = Saved(dag, self._met, *facts, **stage, n_states=self._n_states)
            self.saver.note(lambda: saved_content(saved, self._identity, self._problem))

    def _outer(self) -> dict[Source, float]:
        """Return the bounds on all DAGs that are known besides that of the tree, by their source."""
        found = dict(self._proofs)
        now: list[tuple[Source, float]] = [("pricing", self._priced_bound)]
        if self._pairs is not None:
            now.append(("pairs", self._pairs.bound))
        if self._suffixes is not None:
            now.append(("search from the end", self._suffixes.bound))
        for source, bound in now:
            if np.isfinite(bound):
                found[source] = min(float(bound), found.get(source, np.inf))
        return found

    @property
    def _n_states(self) -> int | None:
        """How many sets the search from the end of the order has visited, perhaps before the run was continued."""
        return self._n_states_before if self._suffixes is None else self._suffixes.n_states

    @property
    def is_priced(self) -> bool:
        """Whether sets that are too many to list can be priced."""
        return self._columns is not None

    @property
    def has_bounds(self) -> bool:
        """Whether all DAGs can be bounded if sets are too many to list."""
        return can_bound(self._problem.score)

    @property
    def _priced_bound(self) -> float:
        """The bound of pricing."""
        return np.inf if self._root is None or self._columns is None else self._root.bound + self._columns.constant

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
            if self._begun is None and self._deadline.reason is not None:
                raise Stopped  # whether there is a listing at all takes a factorisation
            listing = self._begun or Listing(score, knowledge, self.max_sets)
            listing.most_sets = self.max_sets
            try:
                families = self._list(listing, workers)
                self._unlisted = listing
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
        # Prices do not tell safe parents apart, so listing these is worth more of the time.
        lists_safe = bool(self._problem.knowledge.safe.any())
        share = LISTING_SHARE if self.has_bounds and not lists_safe else UNPRICED_SHARE
        left, begin = min(self._deadline.remaining(), LISTING_TIME), self._deadline.elapsed()
        until = begin + max(share * left, LEAST_LISTING)
        while True:
            clock = self._deadline.within(max(LOOK_SHARE * left, LEAST_LOOK))
            with Workers(clock, self._progress, workers.count) as some:
                try:
                    return listing.run(some)
                except Stopped:
                    if self._deadline.reason is not None:
                        raise
            needed, left = listing.seconds_left(workers.count), min(self._deadline.remaining(), LISTING_TIME)
            is_slow = needed > HOPELESS * left and (np.isfinite(needed) or listing is self._begun)
            is_long, is_late = needed > NEARLY_SHARE * left, self._deadline.elapsed() >= until
            too_many = is_long and np.isfinite(needed) and listing.n_likely > self.max_sets  # it may go on later
            self.has_many = not is_slow and LEAST_LOOK < needed < np.inf and self._is_worth_pricing(listing.n_likely)
            if ((is_slow or too_many) and self.is_priced) or (is_long and is_late) or self.has_many:
                self._unlisted = listing
                raise TooMany(listing.n_found, listing.n_likely)
            if self._deadline.elapsed() >= until and self._pairs is None and self._dag is not None:
                pairs = self._pair_bound(self._dag, workers)  # the listing may be later than expected
                if pairs is not None:
                    pairs.run(self._deadline.within(PAIRS_SHARE * left))

    def _is_worth_pricing(self, n_sets: float) -> bool:
        """Say whether so many undominated sets are better priced first, and there is time for that."""
        columns, needed = self._columns, SECONDS_TO_PRICE * self._problem.n_nodes**2
        is_plain = columns is not None and columns.is_same and not self._problem.knowledge.safe.any()
        is_one = is_plain and self._dag is not None and self._deadline.remaining() > needed
        return is_one and MANY_SETS < n_sets <= self.max_sets

    def _pair_bound(self, dag: Dag, workers: Workers) -> PairBound | None:
        """Return the bound by pairs, which is begun if there is none yet; None if the score has none."""
        if self._pairs is not None or self._form is None or not self._form.has_one_matrix:
            return self._pairs
        in_time = self._deadline.has_time_for(len(self._form.matrix) ** 3 / PAIRS_BEGUN_PER_SECOND)
        if in_time and self._form.is_searchable:
            tell = partial(self._tell, self._problem.score.total(dag), n_nodes=0, n_cuts=0, n_left=0)
            self._pairs = PairBound(self._problem.score, dag, workers, tell)
        return self._pairs

    def search_from_end(self, dag: Dag, workers: Workers, state: SuffixState | None) -> SuffixSearch | None:
        """Return what the search from the end of the order finds; None where it does not apply."""
        score = self._problem.score
        value = score.total(dag)
        tolerance = RULES.tolerance * max(abs(value), 1.0)
        costs = suited(score, self._problem.knowledge, tolerance)
        if costs is None:
            return None
        is_plain = costs.is_lack and all(node.is_plain for node in costs.nodes)
        clock = self._deadline if is_plain else self._deadline.within(SUFFIX_SHARE * self._deadline.remaining())
        with Workers(clock, self._progress, workers.count) as some:
            self._suffixes = SuffixSearch(
                score, costs, dag, tolerance, some, tell=lambda bound: self._tell(value, bound, 0, 0, 0),
                note=lambda state: self._save(dag, suffixes=state), state=state,
            )  # fmt: skip
            self._suffixes.run()
        return self._suffixes

    def bound_all(self, dag: Dag, workers: Workers, state: Bounds | None) -> tuple[Dag, Families | None, list[Row]]:
        """Lower the bound on all DAGs by pairs, by pricing, and by listing after all.

        Returns the best DAG, all families that a better one can have, None if they could not be listed, and rows.
        """
        value = self._problem.score.total(dag)
        tolerance = RULES.tolerance * max(abs(value), 1.0)
        self._dag = dag
        parts: list[Part] = []
        pairs = self._pair_bound(dag, workers)
        if pairs is not None:
            if state is not None and state.pairs is not None:
                pairs.go_on(state.pairs)
            parts.append(PairTurns(pairs))
        if state is not None and state.is_listed:
            self._unlisted = Listing(self._problem.score, self._problem.knowledge, self.max_sets)
        listing = None if self._unlisted is None else ListingTurns(self._unlisted, NEARLY_SHARE, HOPELESS, workers)
        with ThreadPoolExecutor(workers.count) as threads:
            if self._columns is not None:
                columns, begun = self._columns, None if state is None else state.pricing
                make = partial(self._make_root, columns, threads, workers, begun)
                most = self.max_sets if columns.is_same else 0
                facts = (columns.n_columns, most, tolerance, self._deadline, columns.constant)
                pricing = PricingTurns(make, *facts)
                if begun is not None:
                    pricing.begin()
                parts.append(pricing)
                if self.has_many:
                    self._price_first(pricing, value, tolerance)
            if listing is not None:
                parts.append(listing)
            take_turns(parts, self._value, tolerance, self._deadline, self._beside.rest)
        self._value()
        dag = self._dag
        if listing is not None and listing.families is not None:
            return dag, listing.families, []
        return (dag, None, []) if self._root is None else (dag, self._root.families, self._root.rows)

    def _value(self) -> float:
        """Return the score of the best DAG known, found here or beside, which pricing uses from now on."""
        total, columns, root = self._problem.score.total, self._columns, self._root
        priced = root.dag if root is not None and columns is not None and columns.is_same else None
        known = [dag for dag in (self._dag, priced, self._beside.dag) if dag is not None]
        self._dag = max(known, key=total)
        if root is not None and columns is not None and self._dag is self._beside.dag and self._dag is not self._heard:
            self._heard = self._dag
            root.improve(columns.dag(self._dag))
        self._exchange(self._dag)
        return total(self._dag)

    def _exchange(self, found: Dag | None) -> Dag | None:
        """Give what runs beside it the best DAG, unless safe parents are left out of it, and return that of these."""
        return self._beside.exchange(None if self._problem.knowledge.safe.any() else found)

    def _price_first(self, pricing: PricingTurns, value: float, tolerance: float) -> None:
        """Let pricing work before all else: for part of the time, or all of it if it closes most of the gap."""
        first = pricing.begin().bound
        seconds = MANY_SHARE * min(self._deadline.remaining(), LISTING_TIME)
        take_turns([pricing], self._value, tolerance, self._deadline.within(seconds))
        if pricing.bound - value <= NEAR * (first - value):
            take_turns([pricing], self._value, tolerance, self._deadline)

    def _make_root(
        self,
        columns: ByColumns,
        threads: ThreadPoolExecutor,
        workers: Workers,
        state: PricedState | None,
    ) -> PricedRoot:
        """Return pricing, at its beginning or where it was; after each round the run is saved.

        Pricing of the columns of blocks gives a bound alone, and is not saved.
        """
        dag = self._dag
        assert dag is not None
        wide, value, score = columns.dag(dag), self._problem.score.total(dag), columns.score
        met = self._met if columns.is_same else [(i, tuple(own.tolist())) for i, own in enumerate(parent_lists(wide))]

        def finders(dag: Dag) -> list[RowFinder]:
            return self._finders(dag, None, threads, score.block_likelihood)

        def after_round() -> list[RowFinder]:
            pairs = None if self._pairs is None else self._pairs.state
            self._save(dag, bounds=Bounds(root.state, pairs, self._unlisted is not None))
            return finders(root.dag)

        def tell(score: float, bound: float, n_cuts: int, n_left: int) -> None:
            self._tell(score if columns.is_same else value, bound + columns.constant, 0, n_cuts, n_left)

        self._root = root = PricedRoot(
            score, columns.knowledge(self._narrowed), wide, met, finders(wide if state is None else state.dag), workers,
            tell, after_round=after_round if self.saver.is_on and columns.is_same else None, state=state,
        )  # fmt: skip
        return root

    def find_after(self, families: Families, workers: Workers) -> Words:
        """Return for every family the nodes that come after its node in a best DAG: those that would improve it."""
        after, pieces = improving(families, 0.0 if self._form is None else self._form.margin)
        workers.each("additions that improve", pieces, families.n_nodes)
        return after

    def cut(
        self, families: Families, after: Words, dag: Dag, rows: list[Row], state: TreeState | None, whole: Families
    ) -> Outcome:
        """Run branch and cut from a DAG, with rows to begin with, or from a state; ``whole`` are saved with it."""
        begin = families.start(dag)
        assert begin is not None
        self._n_sets = len(families.node)
        first = families.adjacency(begin)

        def note(state: TreeState) -> None:
            self._save(first, tree=(whole, state), is_core=self._is_core)

        saving = {"note": note if self.saver.is_on else None}
        with self._trees(families, after, first, first_rows=rows) as make:
            if self._options.cluster is not None:
                with closing(opened(self._options.cluster)) as cluster:
                    begun = make(state=state, enough=FIRST_NODES, **saving)
                    outcome = begun.run()
                    if outcome.status != "converged" or not outcome.n_nodes:
                        return outcome
                    state = self._spread(cluster, families, after, first, begun.state, note)
            return make(state=state, **saving).run()

    @contextmanager
    def _trees(self, families: Families, after: Words, first: Dag, **more: Any) -> Iterator[Callable[..., Tree]]:
        """Yield what makes trees that start from a DAG."""
        n_jobs, limit = thread_count(self._options.n_jobs), self._options.memory_limit
        with ThreadPoolExecutor(n_jobs) as threads:
            yield partial(
                Tree, families, families.start(first), self._deadline, partial(self._finders, first, after, threads),
                RULES, n_jobs=n_jobs, after=after, tell=self._tell, exchange=self._exchange,
                memory=MEMORY if limit is None else parse_bytes(limit), **more,
            )  # fmt: skip

    def _spread(
        self,
        cluster: Cluster,
        families: Families,
        after: Words,
        first: Dag,
        state: TreeState,
        note: Callable[[TreeState], None],
    ) -> TreeState:
        """Let the workers of a cluster search the subtrees of a state; return what is left."""
        alone = replace(self._options, n_jobs=1, start=None, checkpoint=None, resume=False, cluster=None)
        problem = self._problem
        job = cluster.scatter(_Job(problem, alone, families, after, first))

        def work(part: TreeState, seconds: float, enough: float) -> Future[dict[str, Any]]:
            limit = max(self._deadline.remaining(), 1e-3)
            return cluster.executor.submit(_work_on_subtrees, job, packed_tree(part, problem), seconds, limit, enough)

        def tell(state: TreeState) -> None:
            bound = max([state.best.score, *(-node.minus_bound for node in state.nodes)])
            self._tell(state.best.score, bound, state.counts[0], state.counts[2], state.counts[3])
            note(state)

        def closed(bound: float, score: float) -> bool:
            return bound <= score + RULES.tolerance * max(abs(score), 1.0)

        search = Subtrees(
            cluster.count, work, lambda found: unpacked_tree(found, families, problem), self._deadline, closed, tell
        )
        left = search.run(state)
        self._note += f"; {search.n_tasks:,} tasks on {cluster.count} workers"
        if search.n_failed:
            self._note += f", {search.n_failed} of which failed and were done again"
        return left

    def work_on_subtrees(
        self, families: Families, after: Words, first: Dag, state: TreeState, seconds: float, enough: float
    ) -> TreeState:
        """Search the subtrees of a state for so long, or until so many nodes are open; return what is left."""
        with self._trees(families, after, first) as make:
            tree = make(state=state, enough=enough, until=self._deadline.within(seconds))
            tree.run()
        return tree.state

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
            given = form if after is None else form.given(self._problem.knowledge.safe)
            finders += logdet_finders(given, kinds, dag, seed, threads)
        if "local" in kinds:
            size = LOCAL_SIZE if form is None else GAUSSIAN_LOCAL_SIZE
            finders.append(LocalRows(threads, size, seed, lambda: self._deadline.reason is not None))
        return finders

    def _tell(self, score: float, bound: float, n_nodes: int, n_cuts: int, n_left: int) -> None:
        bound = self._beside.bound = max(min([bound, *self._outer().values()]), score)
        now = self._seconds + self._deadline.elapsed()
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
        figures: dict[str, Any] = worth(self._problem, dag) | {"n_states": self._n_states}
        proofs += [Certificate(bound, scope, source) for source, bound in self._proofs.items()]
        if self._pairs is not None and np.isfinite(self._pairs.bound):
            proofs.append(Certificate(self._pairs.bound, scope, "pairs"))
            figures["pair_bound"] = self._pairs.bound
        if self._root is not None and np.isfinite(self._priced_bound):
            proofs.append(Certificate(self._priced_bound, scope, "pricing"))
            figures["n_pricing_rounds"] = self._root.n_rounds
        roots: list[float] = [] if not proofs else [min(proof.bound for proof in proofs if proof is not None)]
        if roots and roots[0] <= score + tolerance:
            status = "optimal"
        if self._suffixes is not None and np.isfinite(self._suffixes.bound):
            proofs.append(Certificate(self._suffixes.bound, scope, "search from the end"))
            roots.append(self._suffixes.root_bound)
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
            self._trace.append((self._seconds + self._deadline.elapsed(), "branch and cut", score, proof.bound))
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
