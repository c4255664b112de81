"""``result.effect(..., within=)``: an effect in every DAG that scores nearly as much as the best, proven complete."""

from __future__ import annotations

from dataclasses import replace

from dagopt.bits import members
from dagopt.confidence.rivals import a_dag, by_recursion, checked_problem, rivals
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods.branch_and_cut.near_parents import NearParents, near_parents
from dagopt.methods.claims import usual_units
from dagopt.methods.exact.near_families import checked_within, near_families
from dagopt.networks.effects.effect import Effect, checked_pair, effect_of_parents
from dagopt.networks.effects.joint_effect import checked_causes, joint_effect_of_dags
from dagopt.progress import NoProgress
from dagopt.results.result import Result
from dagopt.workers import Stopped, Workers

__all__ = ["effect_within", "joint_effect_within"]

MOST_DAGS = 20_000  # in which two columns are set


def effect_within(
    result: Result, cause: str, outcome: str, within: float, level: float, time_limit: float | None = None
) -> Effect:
    """Return the effects of all parent sets that the cause has in DAGs within some points of the best.

    By the recursion over all sets where that fits in memory and takes at most about a minute, else by branch and cut.
    """
    assert result.problem is not None
    table = result.problem.table
    node, _ = checked_pair(table, cause, outcome, level)
    limit = checked_within(within)
    deadline = Deadline(time_limit)
    try:
        with deadline, Workers(deadline, NoProgress()) as workers:
            found = _parents_of(result, node, limit, workers)
    except Stopped:
        raise InputError(
            f"the parent sets of {cause!r} within {within:g} points were not found before the run was stopped; raise "
            f"time_limit=, lower within= or set max_parents="
        ) from None
    return effect_of_parents(table, cause, outcome, found.sets, found.losses, limit, level, found.n_undecided)


def joint_effect_within(
    result: Result, causes: tuple[str, str], outcome: str, within: float, level: float, time_limit: float | None = None
) -> Effect:
    """Return the effects of setting two columns in all DAGs within some points of the best.

    An effect of two columns depends on the parents of both, so the DAGs are listed.
    """
    assert result.problem is not None
    table = result.problem.table
    checked_causes(table, causes, outcome, level)
    found = rivals(result, within, most=MOST_DAGS, time_limit=time_limit, progress=False)
    if not found.is_complete:
        raise InputError(
            f"the effect of two columns needs a list of all DAGs within {within:g} points, of which there are at least "
            f"{found.at_least:,}, more than {MOST_DAGS:,} or than the time allows; lower within= or raise time_limit="
        )
    dags = (found.adjacency(rank) for rank in range(len(found.losses)))
    return joint_effect_of_dags(table, dags, (found.losses, float(within)), causes, outcome, level)


def _parents_of(result: Result, node: int, within: float, workers: Workers) -> NearParents:
    """Return the parent sets of the cause."""
    problem, power = usual_units(checked_problem(result, workers))
    limit = within * 2.0**power
    if by_recursion(problem, workers):
        families = near_families(problem, limit, workers, nodes=[node])
        found = NearParents([tuple(members(int(mask))) for mask in families.masks], families.loss.tolist())
    else:
        found = near_parents(problem, node, limit, a_dag(result), workers)
    return replace(found, losses=[loss * 2.0**-power for loss in found.losses])
