"""``result.effect(..., within=)``: an effect in every DAG that scores nearly as much as the best, proven complete."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
    result: Result,
    cause: str,
    outcome: str,
    within: float,
    level: float,
    time_limit: float | None = None,
    half_price: bool = True,
) -> Effect:
    """Return the effects of all parent sets that the cause has in DAGs within some points of the best.

    By the recursion over all sets where that fits in memory and takes at most about a minute, else by branch and cut.
    """
    assert result.problem is not None
    table = result.problem.table
    node, _ = checked_pair(table, cause, outcome, level)
    limit = checked_within(within)
    cheaper = _at_half_price(result) if half_price else None
    deadline = Deadline(time_limit)
    first = deadline if cheaper is None else deadline.within(deadline.remaining() / 2)
    try:
        with deadline, Workers(first, NoProgress()) as workers, Workers(deadline, NoProgress()) as others:
            found = _parents_of(result, node, limit, workers)
            more = None if cheaper is None else _parents_of(cheaper, node, limit, others)
    except Stopped:
        raise InputError(
            f"the parent sets of {cause!r} within {within:g} points were not found before the run was stopped; raise "
            f"time_limit=, lower within= or set max_parents="
        ) from None
    if more is None:
        return effect_of_parents(table, cause, outcome, found.sets, found.losses, limit, level, found.n_undecided)
    known = set(found.sets)
    new = [k for k, one in enumerate(more.sets) if one not in known]
    undecided = found.n_undecided + sum(k >= len(more.sets) - more.n_undecided for k in new)
    sets, losses = found.sets + [more.sets[k] for k in new], found.losses + [more.losses[k] for k in new]
    prices = ["full"] * len(known) + ["half"] * len(new)
    return effect_of_parents(table, cause, outcome, sets, losses, limit, level, undecided, prices)


def joint_effect_within(
    result: Result,
    causes: tuple[str, str],
    outcome: str,
    within: float,
    level: float,
    time_limit: float | None = None,
    half_price: bool = True,
) -> Effect:
    """Return the effects of setting two columns in all DAGs within some points of the best.

    An effect of two columns depends on the parents of both, so the DAGs are listed.
    """
    assert result.problem is not None
    table = result.problem.table
    checked_causes(table, causes, outcome, level)
    cheaper = _at_half_price(result) if half_price else None
    lists = []
    for one in (result, cheaper):
        if one is None:
            continue
        found = rivals(one, within, most=MOST_DAGS, time_limit=time_limit, progress=False)
        if not found.is_complete:
            price, off = ("", "") if one is result else (" at half the price of parameters", ", set half_price=False")
            raise InputError(
                f"the effect of two columns needs a list of all DAGs within {within:g} points{price}, of which there "
                f"are at least {found.at_least:,}, more than {MOST_DAGS:,} or than the time allows; lower within="
                f"{off} or raise time_limit="
            )
        lists.append(found)
    dags = (own.adjacency(rank) for own in lists for rank in range(len(own.losses)))
    losses = np.concatenate([own.losses for own in lists])
    prices = None
    if cheaper is not None:
        prices = [price for own, price in zip(lists, ("full", "half"), strict=True) for _ in own.losses]
    return joint_effect_of_dags(table, dags, (losses, float(within)), causes, outcome, level, prices)


def _at_half_price(result: Result) -> Result | None:
    """Return the result as if a parameter cost half; None if an edge costs one parameter, or the score has no price.

    A parent of a column with levels can cost many parameters, so a weak one is out although it acts.
    """
    assert result.problem is not None
    score = result.problem.score.at_half_cost()
    return None if score is None else replace(result, problem=replace(result.problem, score=score))


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
