"""``result.effect(..., within=)``: an effect in every DAG that scores nearly as much as the best, proven complete."""

from __future__ import annotations

from dagopt.bits import members
from dagopt.confidence.rivals import families_within
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.networks.effects.effect import Effect, checked_pair, effect_of_parents
from dagopt.progress import NoProgress
from dagopt.results.result import Result
from dagopt.workers import Stopped, Workers

__all__ = ["effect_within"]


def effect_within(
    result: Result, cause: str, outcome: str, within: float, level: float, time_limit: float | None = None
) -> Effect:
    """Return the effects of all parent sets that the cause has in DAGs within some points of the best."""
    assert result.problem is not None
    node, _ = checked_pair(result.problem.table, cause, outcome, level)
    deadline = Deadline(time_limit)
    try:
        with deadline, Workers(deadline, NoProgress()) as workers:
            problem, families = families_within(result, within, workers, nodes=[node])
    except Stopped:
        raise InputError(
            f"the parent sets of {cause!r} within {within:g} points were not found before the run was stopped; raise "
            f"time_limit= or lower within="
        ) from None
    sets = [tuple(members(int(mask))) for mask in families.masks]
    return effect_of_parents(problem.table, cause, outcome, sets, families.loss.tolist(), float(within), level)
