"""``method="auto"``: the proven optimum if it fits, then the proven optimum over listed parent sets, else a search.

The rules, in this order; "the time" is ``PATIENCE`` seconds, or the time limit if that is shorter:

1. exact, if its estimate fits the memory and the time. If that is more than ``LONG_RECURSION`` seconds and parent sets
   can be listed, gobnilp is tried first, for as long as exact is expected to take;
2. gobnilp, if the parent sets can be listed, and then exact if its estimate fits the time that is left. On discrete
   data these are the useful sets of any size, as far as the time allows, and the others are bounded. By an estimate
   that ignores pruning, scoring the sets of up to 3 or 2 parents, or of the given size, must fit in the time. On
   continuous data pruning saves less, so there must be a limit or a superstructure, and at most
   ``MOST_CONTINUOUS_SETS`` sets;
3. branch-and-cut, for scores made of log-determinants: Gaussian and degenerate Gaussian likelihoods, BGe. If all
   undominated parent sets can be listed, it usually proves the best DAG. With up to ``MOST_COLUMNS`` columns, the first
   steps of the listing give an estimate, which may take ``ESTIMATE_SHARE`` of the time. If there are too many, several
   bounds on all DAGs take turns for likelihoods;
4. cg-dca;
5. order search alone, if neither DCA nor a list of discrete parent sets works for the score: BGe, and your own
   scores.

With a time limit, a long run of method 1 begins with an order search, which has what exact is sure not to need, or,
where that is little, goes on until it has settled. Methods 2 to 5 begin with an order search
without a limit on parents, and the answer is the best DAG of both (``portfolio.py``). They end after the time limit or
else ``PATIENCE`` seconds. With a time limit, prover and searches go on in turns while the gap is open. Where exact is
expected to end within the limit, but not three times as fast, and no other proof is near, it follows the first order
search, and is given up once it is seen that it would be late.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagopt.by_name import by_name
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import Families
from dagopt.families.listing import MOST_SETS, bounds_the_rest, count_sets, limited
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels import ahead
from dagopt.methods.checkpoint_file import resumed_path
from dagopt.methods.exact.exact import ExactOptions, PoolOptions, exact_in_time, run_exact, solve_given_pool
from dagopt.methods.exact.plan import Estimate, ExactPlan, listing_seconds
from dagopt.methods.method_options import MOST_PRICED_NODES, checkpoint, random_state, resume, solver, start
from dagopt.problem import Problem
from dagopt.progress import Progress, expect
from dagopt.results.answer import Answer
from dagopt.results.certificate import scope_of
from dagopt.workers import Stopped, Workers

if TYPE_CHECKING:
    from dagopt.families.undominated import Listing

__all__ = ["PATIENCE", "AutoOptions", "Choice", "choose", "solve_auto", "solve_auto_pool"]

PATIENCE = 60.0  # seconds that a run takes without a time limit
LISTED_SIZES = (3, 2)  # sizes of the parent sets listed if nothing limits them and no larger ones are pruned
MOST_CONTINUOUS_SETS = 300_000  # maximum number of listed sets; pruning saves little on continuous data
MOST_UNDOMINATED = 100_000  # by estimate; a quarter of what branch-and-cut lists, because estimates are often too low
RESTARTS_OF_PROVER = 1  # of the prover's own order search, which starts from the DAG of the first one
MOST_COLUMNS = 400  # beyond this a round of pricing takes longer than a minute
ESTIMATE_SHARE = 0.1  # the share of the time that the estimate of a listing may take,
HASTY_SHARE = 0.02  # or this where exact, which may just end in time, waits for it
MOST_RECURSION_NODES = 18  # for a given pool; here the recursion takes milliseconds
SAFETY = 3.0  # estimates of time are rough
TIGHT = 1.25  # times its estimate must be left where exact is given up if it would be late, and others follow
LONG_EXACT, LONG_SHARE = 0.5, 0.1  # seconds, or a share of the limit, of exact from which a search is worth its time
EXACT_SAFETY = 4.0  # the search leaves exact this many times what it is expected to take, which is rough,
SEARCH_SHARE = 0.3  # but if that is less than this share of the time limit, it goes on until it has settled
LONG_RECURSION = 3.0  # seconds that the exact method is expected to take from which a listing is tried first
RECURSION_SAFETY = 2.0  # INSURANCE, 27 columns: 35 s on two cores where 18 were expected
LISTED_SHARE = 0.4  # of the time, at most, for the listing if the exact method follows
LISTING_SAFETY = 10.0  # those of a listing are rougher


@dataclass(frozen=True)
class AutoOptions(ExactOptions):
    """Options of the choice by size; ``n_best`` above 1 is for exact and gobnilp; exact needs no ``start``."""

    random_state: int = random_state()
    start: Any = start()
    checkpoint: str | Path | None = checkpoint("branch-and-cut, if it is chosen, saves itself every few minutes")
    resume: bool = resume()


@solver(AutoOptions)
def solve_auto(problem: Problem, options: AutoOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Choose a method by the size of the problem, say why, and run it."""
    plan = options.plan(problem, deadline, progress)
    resumed = resumed_path(options.checkpoint, options.resume) is not None
    if resumed:
        chosen = Choice("branch-and-cut", "its checkpoint is continued", problem.knowledge)
    elif plan.gpu is not None:
        chosen = Choice("exact", "a GPU has room for it", problem.knowledge)
    else:
        chosen = choose(problem, plan.estimate, plan.workers)
    if options.n_best > 1 and chosen.method != "gobnilp":
        chosen = Choice("exact", "it finds the best classes", problem.knowledge)
    progress.note(f"method {chosen.method}: {chosen.why}")
    if chosen.method == "exact":
        answer = _search_and_recur(problem, plan, options, deadline, progress)
    elif chosen.is_first and options.n_best == 1:
        answer = _list_and_recur(problem, chosen, plan, options, deadline, progress)
    else:
        may_recur = plan.estimate.tables is not None and options.n_best == 1 and not resumed
        exact = partial(_exact, problem, plan, chosen) if may_recur else None
        answer = _search_and_prove(problem, chosen, options, deadline, progress, exact)
    return replace(answer, notes=(f"auto chose {chosen.method}: {chosen.why}", *answer.notes))


def _search_and_recur(
    problem: Problem, plan: ExactPlan, options: AutoOptions, deadline: Deadline, progress: Progress
) -> Answer:
    """Run the exact method; if it takes long and there is a limit, a search first finds a DAG in case it is stopped."""
    found: Answer | None = None
    limit, expected = deadline.time_limit, plan.estimate.seconds
    if math.isfinite(limit):  # how long exact takes here says when the search must end
        expected = max(expected, plan.estimate.seconds_here)
    if math.isfinite(limit) and expected > min(LONG_EXACT, LONG_SHARE * limit) and options.n_best == 1:
        left = deadline.remaining() - EXACT_SAFETY * expected
        clock = deadline.within(left if left >= SEARCH_SHARE * limit else deadline.remaining())
        shared = {"random_state": options.random_state, "n_jobs": options.n_jobs, "start": options.start}
        found = _method("order")(problem, deadline=clock, progress=progress, **shared)
    if found is not None and not ahead.ready(deadline):
        return found.noted(ahead.LATE)
    if found is not None and deadline.reason is not None:
        return replace(found, status=deadline.reason).noted("the search took all of the time, so nothing was proven")
    try:
        with ahead.in_time(deadline):
            answer = run_exact(problem, plan, options.n_best, None if found is None else found.adjacency)
    except ahead.Late:  # the first run on this machine
        if found is None and options.n_best == 1:
            given = {"random_state": options.random_state, "start": options.start}
            found = _method("hc")(problem, deadline=deadline, progress=progress, **given)
            deadline.answered()
        if found is not None and not ahead.ready(deadline, "exact"):
            return replace(found, status=deadline.reason or "time_limit").noted(ahead.LATE)
        answer = run_exact(problem, plan, options.n_best, None if found is None else found.adjacency)
    if found is None or answer.status == "optimal" or answer.score is None or found.score is None:
        return answer
    return answer.with_graph(problem, found.adjacency) if found.score > answer.score else answer


def _list_and_recur(
    problem: Problem, chosen: Choice, plan: ExactPlan, options: AutoOptions, deadline: Deadline, progress: Progress
) -> Answer:
    """Run the chosen method for as long as exact is expected to take, then exact; return the better answer."""
    patience = min(PATIENCE, deadline.remaining())
    clock = deadline.within(min(plan.estimate.seconds, LISTED_SHARE * patience))
    listed = _search_and_prove(problem, chosen, options, clock, progress)
    if listed.status == "optimal" or deadline.reason is not None:
        return listed
    progress.note("method exact: the listing takes long")
    answer = run_exact(problem, plan, begun=None if listed.score is None else listed.adjacency)
    if answer.status == "optimal" or listed.score is None:
        return answer.noted("exact followed gobnilp, which had not ended")
    is_better = answer.score is not None and answer.score > listed.score
    return listed.with_graph(problem, answer.adjacency) if is_better else listed


def _exact(problem: Problem, plan: ExactPlan, chosen: Choice, deadline: Deadline) -> Answer | None:
    """Return the answer of exact if it is expected in time and is, and no other proof is near; otherwise None."""
    is_near = not chosen.is_hard and plan.estimate.seconds > LONG_RECURSION
    if is_near or not _is_in_time(plan.estimate, deadline):
        return None
    with suppress(ahead.Late), ahead.in_time(deadline):
        answer = exact_in_time(problem, plan, deadline)
        return None if answer is None else answer.noted("exact came first, and ended in time")
    return None


def _is_in_time(estimate: Estimate, deadline: Deadline) -> bool:
    """Say whether exact is expected to end before a time limit, if it begins now."""
    return estimate.fits and math.isfinite(deadline.time_limit) and TIGHT * estimate.seconds <= deadline.remaining()


def _search_and_prove(
    problem: Problem,
    chosen: Choice,
    options: AutoOptions,
    deadline: Deadline,
    progress: Progress,
    exact: Callable[[Deadline], Answer | None] | None = None,
) -> Answer:
    """Search and prove until the time limit or, without one, for ``PATIENCE`` seconds."""
    from dagopt.methods.portfolio import Portfolio

    has_limit = math.isfinite(deadline.time_limit)
    clock = deadline if has_limit else deadline.within(PATIENCE)
    shared = {name: getattr(options, name) for name in ("random_state", "n_jobs", "start")}
    more: dict[str, Any] = {"n_best": options.n_best} if chosen.method == "gobnilp" else {}
    if chosen.method == "branch-and-cut":
        more |= {"restarts": RESTARTS_OF_PROVER, "plan": chosen.listing}
        more |= {"checkpoint": options.checkpoint, "resume": options.resume}
    expect(progress, clock.remaining())
    portfolio = Portfolio(problem, chosen.knowledge, shared, clock, progress)
    # without a bound by rows: the prover has better ones
    generate = partial(_prove, "cg-dca", rows=()) if _can_price(problem) else None
    prove = partial(_prove, chosen.method)
    lists_all = chosen.method == "gobnilp" and _is_limited(problem.knowledge)
    answer = portfolio.run(
        prove, goes_on=has_limit, is_hard=chosen.is_hard, lists_all=lists_all, generate=generate, exact=exact, **more
    )
    if answer.status == "time_limit" and not has_limit:
        answer = answer.noted(f"stopped after {PATIENCE:.0f} s; time_limit= allows more")
    return answer


def _can_price(problem: Problem) -> bool:
    """Say whether column generation takes the problem: not too many columns, and nothing is known about paths."""
    return problem.n_nodes <= MOST_PRICED_NODES and not problem.knowledge.path_keys


def _prove(name: str, problem: Problem, **options: Any) -> Answer:
    """Run a prover, which is imported only now: the search before it has all of a short limit."""
    return _method(name)(problem, **options)


SEARCHES = {
    "gobnilp": ("branch_and_cut.gobnilp", "solve_gobnilp"),
    "branch-and-cut": ("branch_and_cut.branch_and_cut", "solve_branch_and_cut"),
    "cg-dca": ("cg_dca.cg_dca", "solve_cg_dca"),
    "order": ("orders.order", "solve_order"),
    "hc": ("climbing.hill_climbing", "solve_hc"),
}


def _method(name: str) -> Callable[..., Answer]:
    """Import a method only now, so that those not chosen take no time."""
    module, function = SEARCHES[name]
    found: Callable[..., Answer] = by_name(f"methods.{module}", function)
    return found


@dataclass(frozen=True)
class Choice:
    """A method, the reason, its knowledge, which may limit the number of parents, and a listing begun for it.

    If it is the first, exact follows unless it proves the best DAG. It is hard if too many parent sets to list can be
    part of a best DAG, or if there is no time to estimate how many: then a proof is far away, and further searches come
    before it if the first ones differ.
    """

    method: str
    why: str
    knowledge: Knowledge
    listing: Listing | None = None
    is_first: bool = False
    is_hard: bool = False


def choose(problem: Problem, estimate: Estimate, workers: Workers) -> Choice:
    """Return the method for a problem, given the estimated cost of exact, and the threads and their time."""
    patience = min(PATIENCE, workers.deadline.remaining())
    within_reach = estimate.fits and SAFETY * estimate.seconds <= patience
    long = estimate.seconds > LONG_RECURSION and problem.score.bulk_joints is not None
    if within_reach and not long:
        return Choice("exact", "the table is small enough to prove the best graph", problem.knowledge)
    listed = _listed(problem, patience, workers.count)
    if listed is not None:
        what = "parent sets of all sizes" if listed.limit is None else scope_of(listed)
        left = patience - min(estimate.seconds, LISTED_SHARE * patience)
        if long and estimate.fits and RECURSION_SAFETY * estimate.seconds <= left:
            why = f"{what} can be listed; if that takes long, exact follows, which takes {estimate}"
            return Choice("gobnilp", why, listed, is_first=True)
    if within_reach:
        return Choice("exact", "the table is small enough to prove the best graph", problem.knowledge)
    lack = f"the proven optimum would take {estimate}, more than {'the time' if estimate.fits else 'the memory'} allows"
    if listed is not None:
        return Choice("gobnilp", f"{lack}, but {what} can be listed", listed)
    may_recur = estimate.tables is not None and _is_in_time(estimate, workers.deadline)
    n_sets, listing = _undominated(problem, patience, workers, HASTY_SHARE if may_recur else ESTIMATE_SHARE)
    if n_sets is not None and n_sets <= MOST_UNDOMINATED:
        why = f"{lack}, but only about {n_sets:,} parent sets can be part of a best DAG"
        return Choice("branch-and-cut", why, problem.knowledge, listing)
    if n_sets is not None and _can_bound(problem):
        why = f"{lack}, and too many parent sets to list can be part of a best DAG, but a bound can be proven"
        return Choice("branch-and-cut", why, problem.knowledge, listing, is_hard=True)
    if problem.score.likelihood is None and problem.score.bulk_joints is None:
        if n_sets is None and problem.n_nodes <= MOST_COLUMNS and bounds_the_rest(problem.score):
            why = f"{lack}, but small parent sets can be listed, and the others have bounds"
            return Choice("gobnilp", why, problem.knowledge)
        return Choice("order", lack, problem.knowledge, is_hard=True)
    return Choice("cg-dca", lack, problem.knowledge)


def _can_bound(problem: Problem) -> bool:
    from dagopt.methods.branch_and_cut.branch_and_cut import can_bound

    return can_bound(problem.score)


def _is_limited(known: Knowledge) -> bool:
    """Say whether the user limits the parents, by a number or to those of a superstructure."""
    return known.in_superstructure or known.limit is not None


def _listed(problem: Problem, patience: float, cores: int) -> Knowledge | None:
    """Return the knowledge whose parent sets are to be listed, None if there are too many."""
    known = problem.knowledge
    is_limited = _is_limited(known)
    if problem.score.bulk_joints is None:
        ways = [known] if is_limited and count_sets(known) <= MOST_CONTINUOUS_SETS else []
    else:
        ways = [known] if is_limited else [limited(known, size) for size in LISTED_SIZES]
    for way in ways:
        sets = count_sets(way)
        if sets <= MOST_SETS and listing_seconds(problem, sets, cores) <= patience:
            return known if problem.score.bulk_joints is not None else way
    return None


def _undominated(
    problem: Problem, patience: float, workers: Workers, share: float
) -> tuple[int | None, Listing | None]:
    """Estimate how many parent sets are undominated, one more than allowed if too many; None if not estimated.

    Also return the listing, which can be continued.
    """
    from dagopt.families.undominated import Listing, TooMany, is_searchable
    from dagopt.methods.portfolio import FIRST_SECONDS

    score = problem.score
    if problem.n_nodes > MOST_COLUMNS or patience <= 0 or score.block_likelihood is None:
        return None, None
    takes_all = patience <= FIRST_SECONDS or (math.isfinite(workers.deadline.time_limit) and ahead.is_cold())
    if takes_all:  # the search takes all of it, or compiling does
        return (MOST_UNDOMINATED + 1 if is_searchable(score) else None), None
    clock = workers.deadline.within(share * patience)
    try:
        listing = Listing(score, problem.knowledge, MOST_UNDOMINATED)
        with Workers(clock, workers.progress, workers.count) as some:
            estimate = listing.estimate(some)
    except InputError:  # columns that are nearly dependent
        return None, None
    except (Stopped, TooMany):
        return MOST_UNDOMINATED + 1, listing
    fits = estimate.n_sets <= MOST_UNDOMINATED and LISTING_SAFETY * estimate.seconds <= patience
    return round(estimate.n_sets) if fits else MOST_UNDOMINATED + 1, listing


@dataclass(frozen=True)
class AutoPoolOptions(PoolOptions):
    """Options of the choice by the number of nodes of a pool."""

    random_state: int = random_state()


@solver(AutoPoolOptions)
def solve_auto_pool(pool: Families, options: AutoPoolOptions, deadline: Deadline, progress: Progress) -> Answer:
    """Return the best DAG over given parent sets: by the subset recursion for few nodes, else by cutting planes."""
    if pool.n_nodes <= MOST_RECURSION_NODES:
        own = {name: getattr(options, name) for name in PoolOptions.defaults()}
        return solve_given_pool(pool, deadline=deadline, progress=progress, **own)
    shared = {"random_state": options.random_state, "n_jobs": options.n_jobs}
    from dagopt.methods.branch_and_cut.gobnilp import solve_pool_by_cuts

    return solve_pool_by_cuts(pool, deadline=deadline, progress=progress, **shared)
