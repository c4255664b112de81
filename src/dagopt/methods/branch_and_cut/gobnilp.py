"""``method="gobnilp"``: the integer program of GOBNILP, solved by cutting planes and, when these stall, by branching.

The parent sets that matter, up to a size if it is limited, become families; ``tree.py`` finds and proves the best DAG
over them. The k best equivalence classes are found one after the other: with c(S) = 1 if some node of S
has the others of S as parents, which is linear in the families, two DAGs are equivalent if and only if they have the
same c on pairs and triples (Studený, Hemmecke and Lindner 2010), so one row excludes a class.

References
----------
Cussens (2011). Bayesian network learning with cutting planes. UAI.
Bartlett, Cussens (2017). Integer linear programming for the Bayesian network structure learning problem. AIJ 244.
Studený, Hemmecke, Lindner (2010). Characteristic imset: a simple algebraic representative of a Bayesian network
structure. PGM.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dagopt.arrays import Bools, Dag, Ints
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families
from dagopt.families.jkl import write_jkl
from dagopt.families.listing import (
    MOST_SETS,
    Candidates,
    bounds_the_rest,
    candidate_pool,
    count_sets,
    limited,
    listable,
)
from dagopt.graph.known_directions import essential_told
from dagopt.lp.rows.clusters import ClusterRows, LastNodeRows, pair_rows
from dagopt.lp.rows.local import LocalRows
from dagopt.lp.rows.local_separation import LARGEST_SIZE
from dagopt.lp.rows.row import Point, RowFinder
from dagopt.memory import available_bytes
from dagopt.methods.branch_and_cut.class_rows import neighbouring_classes, row_without_class
from dagopt.methods.branch_and_cut.precedence import improving
from dagopt.methods.branch_and_cut.prefix_search import PrefixSearch
from dagopt.methods.branch_and_cut.tree import Outcome, Rules, Tree
from dagopt.methods.exact.best_classes import with_classes
from dagopt.methods.method_options import n_best, n_jobs, random_state, solver, start
from dagopt.methods.orders.listed_search import best_of_orders
from dagopt.methods.resumable import Beside
from dagopt.methods.start import start_dag
from dagopt.options import Options, anything, option, whole
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.results.answer import Answer, worth
from dagopt.results.certificate import GIVEN_POOL, Certificate, scope_of, tightest
from dagopt.results.figures import Figures
from dagopt.workers import Stopped, Workers, thread_count

__all__ = ["CutOptions", "GobnilpOptions", "best_over_families", "solve_gobnilp", "solve_pool_by_cuts"]


CLUSTERS_PER_ROUND = 30  # maximum number of cluster rows added per round
LAST_NODE_ROWS = 20  # maximum number of last-node rows added per round
LOCAL_SIZE = 6  # larger local cuts close a root a little more, and take several times as long
ROUNDS_BACK = 3  # cutting at a node ends when the last rounds closed less than a share of the gap
NODES_PER_ROUND = 8  # a round of cuts moves few nodes, so one more round back per this many nodes
MOST_COMPARED = 20_000  # families of a node: to compare all pairs of more takes longer than half a second
PAIRS = 6  # pairs of nodes that are tried before the order of one is branched on
PREFIXES, LAST_PREFIXES = 400, 2000  # per family left, that a search over prefixes may keep: while cutting, and after
FEWEST_PREFIXES = 100_000  # in any case, which is a tenth of a second
TRACE_EVERY = 0.2  # seconds between rows of the trace
FIRST_SETS = 10_000_000  # the most parent sets of one size in the first round, about, over all nodes
SECONDS_PER_SET = 3e-6  # of the listing, on one thread: twice what it takes, because each size is a part of it
SETS_FACTOR = 4  # more of them in each further round
BYTES_PER_SET = 200  # of a level of the listing
STAND_INS = 700  # per node, for the parent sets that are not listed: all pairs of 38 columns
LISTING_SHARE = 0.7  # of the time left, for the listing of one round: a bound from one cut short says little
LISTED_SHARE = 0.4  # of the time left, for the best DAG over the listed sets alone
CLASS_PARENTS = 3  # the most parents of a node in the best classes, if there are too many sets and no limit is given


@dataclass(frozen=True)
class CutOptions(Options):
    """Options of branch and cut over given parent sets."""

    local_size: int = option(
        LOCAL_SIZE,
        "The number of nodes of the largest local cuts; 0 for cluster cuts only, as in GOBNILP.",
        whole(0, LARGEST_SIZE),
    )
    restarts: int = option(
        100,
        "How many orders near the best DAG, after a fifth as many random ones, are improved in vain before the search "
        "for a DAG to start from begins anew or ends.",
        whole(0),
    )
    random_state: int = random_state()
    n_jobs: int | None = n_jobs()


@dataclass(frozen=True)
class GobnilpOptions(CutOptions):
    """Options of the integer program of GOBNILP."""

    n_best: int = n_best()
    start: Any = start()
    save_scores: str | Path | None = option(
        None, "Where to write the scored parent sets, as a .jkl file.", anything("path")
    )


@solver(GobnilpOptions)
def solve_gobnilp(
    problem: Problem, options: GobnilpOptions, deadline: Deadline, progress: Progress, beside: Beside | None = None
) -> Answer:
    """Return the proven best DAG over all parent sets, up to a limit on the number of parents if there is one.

    Better DAGs of searches that run beside it are used.

    Returns
    -------
    Answer
        With ``status="optimal"`` if the gap between bound and score is within the tolerance; at the deadline, the best
        DAG so far with a proven bound.
    """
    if not bounds_the_rest(problem.score):
        _refuse_too_many(problem)
    if options.n_best > 1 and problem.knowledge.limit is None:
        problem = replace(problem, knowledge=listable(problem.knowledge, CLASS_PARENTS))
    try:
        rounds = _Rounds(problem, options, deadline, progress, Beside() if beside is None else beside)
    except Stopped:
        return _nothing_scored(problem, options, deadline)
    answer = rounds.run()
    if options.n_best > 1 and answer.status == "optimal":
        classes, complete = _best_classes(problem, answer.adjacency, options.n_best, deadline, progress, options)
        answer = with_classes(answer, problem, classes, options.n_best)
        if not complete:
            assert deadline.reason is not None
            answer = replace(answer, status=deadline.reason)
    return answer


def _nothing_scored(problem: Problem, options: GobnilpOptions, deadline: Deadline) -> Answer:
    """Return the DAG that was given, or that of the required edges, if there was no time to look at parent sets."""
    assert deadline.reason is not None
    dag = problem.knowledge.must.astype(np.int8) if options.start is None else start_dag(problem, options.start)
    notes = ("stopped before parent sets were scored",)
    figures = Figures(**worth(problem, dag))
    return Answer("gobnilp", dag, problem.score.total(dag), deadline.reason, notes=notes, figures=figures)


def _refuse_too_many(problem: Problem) -> None:
    """Raise an error if all allowed parent sets must be scored and there are too many."""
    sets = count_sets(problem.knowledge)
    if sets > MOST_SETS:
        raise InputError(
            f"expected at most {MOST_SETS:,} parent sets to score but the limits on the parents allow {sets:,}; set "
            f"max_parents= (3 or 4)"
        )


@solver(CutOptions)
def solve_pool_by_cuts(pool: Families, options: CutOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Return the proven best DAG over given candidate parent sets, such as those of a ``.jkl`` file."""
    search = _Search(pool.without_dominated(), deadline, progress, options)
    outcome = search.run(None)
    proof = Certificate(outcome.bound, GIVEN_POOL, "branch and cut")
    facts: dict[str, Any] = {"trace": search.trace(), "figures": Figures(**_figures(outcome))}
    if outcome.chosen is None:
        if outcome.status == "optimal":
            raise InputError("no DAG can be made of the candidate parent sets; add the empty set of some nodes")
        empty = np.zeros((pool.n_nodes, pool.n_nodes), dtype=np.int8)
        return Answer("gobnilp", empty, None, outcome.status, proof, **facts)
    adjacency = search.families.adjacency(outcome.chosen)
    return Answer("gobnilp", adjacency, outcome.score, outcome.status, proof, **facts)


def best_over_families(
    families: Families,
    start: Ints | None,
    deadline: Deadline,
    *,
    local_size: int = LOCAL_SIZE,
    n_jobs: int = 1,
    random_state: int = 0,
    **more: Any,
) -> Outcome:
    """Run branch and cut with clusters, last-node rows and local cuts, and branching on the order of two nodes.

    Last-node rows, and what follows from them for orders, hold for a best DAG over the families. So they are left out
    if there are further rows that the answer must satisfy.

    Parameters
    ----------
    families, start, deadline
        As for ``Tree``, to which ``more`` is passed on.
    local_size : int
        The number of nodes of the largest local cuts; below 3 there are none.
    n_jobs : int
        The number of threads. The answer does not depend on it.
    random_state : int
        The seed for choosing subsets.
    """
    back = max(ROUNDS_BACK, families.n_nodes // NODES_PER_ROUND)
    is_plain = not more.get("rows")
    after, pieces = improving(families)
    for work, size in zip(pieces if is_plain else (), np.diff(families.offsets).tolist(), strict=False):
        if size <= MOST_COMPARED and deadline.reason is None:
            work()
    with ThreadPoolExecutor(n_jobs) as threads:

        def finders() -> list[RowFinder]:
            local = LocalRows(threads, local_size, random_state, lambda: deadline.reason is not None)
            last = [LastNodeRows(after, LAST_NODE_ROWS)] if is_plain else []
            return [ClusterRows(CLUSTERS_PER_ROUND), *last, local]

        rules = Rules(rounds_back=(back, ROUNDS_BACK), pairs=PAIRS)
        first = pair_rows(families, lambda: deadline.reason is not None)

        def finish(point: Point, alive: Bools, score: float, last: bool) -> tuple[Ints | None, bool]:
            most = max((LAST_PREFIXES if last else PREFIXES) * int(alive.sum()), FEWEST_PREFIXES)
            search = PrefixSearch(point, alive, score, deadline, threads, n_jobs, most)
            return search.run(), search.finished

        if is_plain:  # rows that the answer must satisfy are not known to the search over prefixes
            more["finish"] = finish
        return Tree(
            families, start, deadline, finders, rules, n_jobs=n_jobs, after=after, first_rows=first, **more
        ).run()


class _Search:
    """A start by random orders, then branch and cut, and the trace of both."""

    def __init__(
        self,
        families: Families,
        deadline: Deadline,
        progress: Progress,
        options: CutOptions,
        told: Callable[[float], None] = lambda bound: None,
    ) -> None:
        self._told = told  # called with the bound
        self.families = families
        self._deadline = deadline
        self._progress = progress
        self._options = options
        self._rows: list[tuple[float, str, float, float | None]] = []

    def run(self, given: Dag | None, **more: Any) -> Outcome:
        """Return the best DAG over the families."""
        best = self.families.start(given)
        self._progress.update("orders", None)
        rng = np.random.default_rng(self._options.random_state)
        best = best_of_orders(self.families, best, self._options.restarts, rng, self._deadline)
        self._rows.append((self._deadline.elapsed(), "orders", self.families.total(best), None))
        if best is not None:
            self._deadline.answered()
        return self.cut(best, **more)

    def cut(self, best: Ints | None, **more: Any) -> Outcome:
        """Run branch and cut from a DAG."""
        options = self._options
        return best_over_families(
            self.families, best, self._deadline, local_size=options.local_size, n_jobs=thread_count(options.n_jobs),
            random_state=options.random_state, tell=self._tell, **more,
        )  # fmt: skip

    def _tell(self, score: float, bound: float, n_nodes: int, n_cuts: int, n_left: int) -> None:
        now = self._deadline.elapsed()
        if len(self._rows) < 2 or now - self._rows[-1][0] > TRACE_EVERY:
            self._rows.append((now, "cutting planes", score, bound))
        self._told(bound)
        facts = {"score": score, "bound": bound, "gap": f"{(bound - score) / max(abs(score), 1e-12):.4%}"}
        self._progress.update("cutting planes", None, **facts, nodes=n_nodes, cuts=n_cuts, families=n_left)

    def trace(self) -> pd.DataFrame:
        """Return the trace."""
        return pd.DataFrame(self._rows, columns=["seconds", "phase", "score", "bound"])


def _figures(outcome: Outcome) -> dict[str, Any]:
    return {
        "n_tree_nodes": outcome.n_nodes,
        "n_cuts": outcome.n_cuts,
        "n_families_left": outcome.n_left,
        "root_bound": outcome.root_bound,
    }


class _Rounds:
    """Lists parent sets and finds the best DAG over them, in rounds.

    Useful parent sets that are not listed have stand-ins, small sets with a bound on their scores. If the best DAG over
    both uses no stand-in, it is the best of all. Otherwise, its score is a bound for all DAGs, and more sets are listed
    for the nodes that use one.
    """

    def __init__(
        self, problem: Problem, options: GobnilpOptions, deadline: Deadline, progress: Progress, beside: Beside
    ) -> None:
        self._problem = problem
        self._beside = beside
        self._options = options
        self._deadline = deadline
        self._progress = progress
        self._candidates = Candidates(problem.score, problem.knowledge, deadline=deadline)
        self._bounded = bounds_the_rest(problem.score)  # whether unlisted sets have bounds
        per_set = SECONDS_PER_SET if problem.score.bulk_joints is not None else problem.score.seconds_per_local
        likely = LISTING_SHARE * deadline.remaining() * thread_count(options.n_jobs) / per_set
        self._most_sets = int(max(min(likely, FIRST_SETS) // problem.n_nodes, 1))  # of one size of one node
        self._share = LISTING_SHARE
        given = None if options.start is None else start_dag(problem, options.start)
        self._best = problem.knowledge.must.astype(np.int8)
        self._score = problem.score.total(self._best)
        if given is not None:
            self._improve(given)
        self._bound = np.inf
        self._best_listed = np.inf  # the proven best score over the listed sets

    def run(self) -> Answer:
        """Return the proven best DAG, or at the end of the time the best DAG so far and a bound."""
        nodes = list(range(self._problem.n_nodes))
        answer: Answer | None = None
        while True:
            progressed = self._list(nodes)
            if self._deadline.reason is not None:
                return self._unfinished() if answer is None else replace(answer, status=self._deadline.reason)
            if answer is not None and not progressed:
                self._share = min(2 * self._share, 1.0)
                if not self._may_list_more(nodes):
                    return answer
                continue
            search, outcome = self._solve()
            self._bound = min(self._bound, outcome.bound)
            nodes = self._overestimated(search.families, outcome)
            answer = self._answer(search, outcome)
            if answer.status == "optimal" or outcome.status != "optimal" or not self._may_list_more(nodes):
                return answer

    def _list(self, nodes: list[int]) -> bool:
        """List more sets of these nodes, for part of the time if the rest is bounded; say whether there are any."""
        before = self._candidates.n_scored
        clock = self._deadline.within(self._share * self._deadline.remaining()) if self._bounded else self._deadline
        with Workers(clock, self._progress, self._options.n_jobs) as workers:
            self._candidates.grow(workers, self._most_sets if self._bounded else None, nodes)
        return self._candidates.n_scored > before

    def _solve(self) -> tuple[_Search, Outcome]:
        """Find the best DAG over the listed sets, and then over these and the stand-ins if not all are listed."""
        candidates, options = self._candidates, self._options
        pool = candidates.pool()
        if candidates.is_complete:
            if options.save_scores is not None:
                write_jkl(pool.to_local_scores(), options.save_scores)
            self._beside.pool = pool
            return self._best_over(pool, self._deadline, self._tell)
        _, listed = self._best_over(pool, self._deadline.within(LISTED_SHARE * self._deadline.remaining()))
        self._best_listed = listed.score if listed.status == "optimal" else np.inf
        with suppress(Stopped), Workers(self._deadline, self._progress, options.n_jobs) as workers:
            candidates.bound_rest(workers)
        return self._best_over(candidates.relaxed_pool(STAND_INS), self._deadline, self._tell)

    def _tell(self, bound: float) -> None:
        """Tell what runs beside it of the bound on all DAGs."""
        self._beside.bound = min(self._bound, bound)

    def _best_over(
        self, pool: Families, deadline: Deadline, told: Callable[[float], None] = lambda bound: None
    ) -> tuple[_Search, Outcome]:
        """Find the best DAG over a pool and keep it if it is the best so far, by its true score."""
        self._progress.note(self._note())
        search = _Search(pool, deadline, self._progress, self._options, told)
        if self._beside.dag is not None:
            self._improve(self._beside.dag)
        outcome = search.run(self._best, exchange=self._beside.exchange)
        if outcome.chosen is not None:
            self._improve(search.families.adjacency(outcome.chosen))
        return search, outcome

    def _note(self) -> str:
        """Return how many sets were listed."""
        candidates = self._candidates
        listed = f"{candidates.n_scored:,} parent sets scored; {len(candidates.pool()):,} can be part of a best DAG"
        return listed if candidates.is_complete else f"{listed}, and bounds on the others"

    def _improve(self, dag: Dag) -> None:
        """Keep the DAG if it is the best so far."""
        score = self._problem.score.total(dag)
        if score > self._score:
            self._best, self._score = dag, score

    def _overestimated(self, families: Families, outcome: Outcome) -> list[int]:
        """Return the nodes whose stand-ins are part of the best DAG."""
        if outcome.chosen is None:
            return []
        real = self._problem.score.per_node(families.adjacency(outcome.chosen))
        return np.flatnonzero(families.score[outcome.chosen] > real + self._tolerance).tolist()

    @property
    def _tolerance(self) -> float:
        return Rules.tolerance * max(abs(self._score), 1.0)

    def _may_list_more(self, nodes: list[int]) -> bool:
        """Allow more sets of these nodes, if there is memory for them."""
        self._most_sets *= SETS_FACTOR
        return len(nodes) * self._most_sets * BYTES_PER_SET < available_bytes() / 2

    def _answer(self, search: _Search, outcome: Outcome) -> Answer:
        """Return the best DAG with what is proven."""
        proven = outcome.status == "optimal" and self._bound <= self._score + self._tolerance
        bound = max(self._bound, self._score) + (self._tolerance if proven else 0.0)  # not searched
        return Answer(
            "gobnilp",
            self._best,
            self._score,
            "converged" if outcome.status == "optimal" and not proven else outcome.status,
            Certificate(bound, scope_of(self._problem.knowledge), "branch and cut"),
            limited=self._proof_of_listed(),
            trace=search.trace(),
            notes=(self._note(),),
            figures=Figures(**worth(self._problem, self._best), **_figures(outcome)),
        )

    def _proof_of_listed(self) -> Certificate | None:
        """Return what is proven over the sizes that are listed completely, if not all are."""
        if self._candidates.is_complete or not np.isfinite(self._best_listed):
            return None
        scope = scope_of(limited(self._problem.knowledge, self._candidates.full_size))
        return Certificate(self._best_listed + self._tolerance, scope, "branch and cut")

    def _unfinished(self) -> Answer:
        """Return the DAG of an order over the sets scored so far, with a bound from the bounds on all sets' scores."""
        assert self._deadline.reason is not None
        pool = self._candidates.pool()
        if np.diff(pool.offsets).all():
            chosen = pool.start(self._best)
            if chosen is not None:
                self._improve(pool.adjacency(chosen))
        ceiling, scope = self._candidates.ceiling(), scope_of(self._problem.knowledge)
        return Answer(
            "gobnilp",
            self._best,
            self._score,
            self._deadline.reason,
            tightest(Certificate(ceiling, scope, "bounds of parent sets")),
            notes=("stopped before all parent sets were scored: the bound is a sum of bounds on their scores",),
            figures=Figures(**worth(self._problem, self._best)),
        )


def _best_classes(
    problem: Problem, best: Dag, n_best: int, deadline: Deadline, progress: Progress, options: CutOptions
) -> tuple[list[dict[str, Any]], bool]:
    """Return the best classes from the best down, and whether these are all that were asked for or exist.

    Classes one edge away from the best limit how much worse the wanted classes can be, and so which parent sets they
    can have.
    """
    near = neighbouring_classes(problem, best)
    top = problem.score.total(best)
    enough = len(near) >= n_best - 1
    slack = top - near[n_best - 2]["score"] + 1e-6 * max(abs(top), 1.0) if enough else np.inf
    told = problem.score.told_pairs
    classes: list[dict[str, Any]] = [{"score": top, "adjacency": best, "cpdag": essential_told(best, told)}]
    try:
        with Workers(deadline, progress, options.n_jobs) as workers:
            families = candidate_pool(problem.score, problem.knowledge, workers, slack)
    except Stopped:
        return classes, False
    search = _Search(families, deadline, progress, options)
    excluded = {classes[0]["cpdag"].tobytes()}
    while len(classes) < n_best:
        start = next((one["adjacency"] for one in near if one["cpdag"].tobytes() not in excluded), None)
        outcome = search.cut(
            None if start is None else families.exactly(start),
            rows=tuple(row_without_class(families, one["adjacency"], told) for one in classes),
            allowed=lambda chosen: essential_told(families.adjacency(chosen), told).tobytes() not in excluded,
        )
        if outcome.status != "optimal":
            return classes, False
        if outcome.chosen is None:
            break
        dag = families.adjacency(outcome.chosen)
        classes.append({"score": problem.score.total(dag), "adjacency": dag, "cpdag": essential_told(dag, told)})
        excluded.add(classes[-1]["cpdag"].tobytes())
    return classes, True
