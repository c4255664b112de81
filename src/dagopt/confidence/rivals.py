"""``result.rivals``: every graph that scores nearly as much as the best, proven complete."""

from __future__ import annotations

import numpy as np

from dagopt.arrays import Dag
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.dag import as_graph
from dagopt.methods.auto import PATIENCE
from dagopt.methods.branch_and_cut.near_components import JoinedDags, Undecided, joined_dags
from dagopt.methods.claims import refuse_unbounded, usual_units
from dagopt.methods.exact.edge_regret import estimate_edge_regrets
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.exact.near_dags import NearDags, TooManySteps
from dagopt.methods.exact.near_families import checked_within, near_families
from dagopt.methods.exact.plan import memory_in_bytes
from dagopt.methods.ordered_problem import refuse_order
from dagopt.problem import Problem
from dagopt.progress import NoProgress, Progress, make_progress
from dagopt.results.result import Result
from dagopt.results.rivals import Rivals
from dagopt.workers import Stopped, Workers

__all__ = ["a_dag", "by_recursion", "checked_problem", "rivals"]


def rivals(
    result: Result,
    within: float,
    *,
    most: int = 100_000,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    memory_limit: int | float | str | None = None,
    progress: bool | Progress | None = None,
) -> Rivals:
    """Return all DAGs within some points of the best; see ``Result.rivals``."""
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise InputError(f"expected most= to be a whole number >= 1 but got {most!r}; 100,000 is usual")
    deadline = Deadline(time_limit)
    shown = make_progress(progress)
    try:
        with deadline, Workers(deadline, shown, n_jobs) as workers:
            problem, power = usual_units(checked_problem(result, workers))
            limit, unit = checked_within(within) * 2.0**power, 2.0**-power
            parents, losses = np.zeros((0, problem.n_nodes), dtype=np.int64), np.zeros(0)
            count, at_least, undecided, bound = None, 1, None, -np.inf
            try:
                near: NearDags | JoinedDags
                if by_recursion(problem, workers, memory_limit):
                    families = near_families(problem, limit, workers, memory_limit)
                    near = NearDags(families, workers).build()
                else:
                    near = joined_dags(problem, limit, a_dag(result), workers)
                    families = near.families
                at_least, is_exact = near.number
                count = at_least if is_exact else None
                parents, losses = near.listed(int(most))
            except TooManySteps:
                pass
            except Undecided as left:
                families, bound = left.families, left.bound
                undecided = ~families.has(a_dag(result))
    except Stopped:
        raise InputError(
            f"the graphs within {within:g} points were not found before the run was stopped; raise time_limit=, "
            f"lower within= or set max_parents="
        ) from None
    finally:
        shown.close()
    learned = problem.score.total(a_dag(result)) if result.score is not None else np.nan
    return Rivals(
        names=problem.names,
        within=float(within),
        best=unit * (families.best - problem.past_score),
        count=count,
        at_least=at_least,
        parents=parents,
        losses=unit * losses,
        family_node=families.node,
        family_parents=families.masks,
        family_loss=unit * families.loss,
        family_undecided=np.zeros(len(families.node), dtype=np.bool_) if undecided is None else undecided,
        bound=unit * (max(bound, families.best) - problem.past_score),
        score_label=problem.score.label,
        learned_loss=unit * max(families.best - learned, 0.0),
        seconds=deadline.elapsed(),
        problem=result.problem,
    )


def checked_problem(result: Result, workers: Workers) -> Problem:
    """Return the problem behind a result, or raise an error."""
    problem = result.problem
    if problem is None:
        raise InputError("expected a result learned from data but this one has no data; use dagopt.learn")
    refuse_order(problem.knowledge, "the search for all graphs near the best")
    if not problem.score.logdets_suffice:  # nearly dependent columns: the best DAG has what is unbounded
        best = solve_exact(problem, deadline=workers.deadline, progress=NoProgress(), n_jobs=workers.count)
        refuse_unbounded(best, problem)
    return problem


def by_recursion(problem: Problem, workers: Workers, memory_limit: int | float | str | None = None) -> bool:
    """Say whether the recursion over all sets fits in memory and takes at most about a minute."""
    estimate = estimate_edge_regrets(problem, memory_in_bytes(memory_limit), workers.count)
    return estimate.fits and estimate.seconds <= PATIENCE


def a_dag(result: Result) -> Dag:
    """Return the learned DAG, or one without edges but those that are required."""
    assert result.problem is not None
    if result.dag is None:
        return result.problem.knowledge.must.astype(np.int8)
    dag: Dag = as_graph(result.dag, result.names).adjacency
    return dag
