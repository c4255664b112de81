"""``result.effect(..., within=)``: an effect in every DAG that scores nearly as much as the best, proven complete."""

from __future__ import annotations

import networkx as nx
import numpy as np

from dagopt.bits import members
from dagopt.confidence.rivals import families_within
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods.auto import PATIENCE
from dagopt.methods.branch_and_cut.near_parents import NearParents, near_parents
from dagopt.methods.exact.edge_regret import estimate_edge_regrets
from dagopt.methods.exact.near_families import checked_within
from dagopt.methods.exact.plan import memory_in_bytes
from dagopt.networks.effects.effect import Effect, checked_pair, effect_of_parents
from dagopt.progress import NoProgress
from dagopt.results.result import Result
from dagopt.workers import Stopped, Workers

__all__ = ["effect_within"]


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


def _parents_of(result: Result, node: int, within: float, workers: Workers) -> NearParents:
    """Return the parent sets of the cause."""
    assert result.problem is not None
    problem = result.problem
    estimate = estimate_edge_regrets(problem, memory_in_bytes(None), workers.count)
    if result.dag is None or (estimate.fits and estimate.seconds <= PATIENCE):
        _, families = families_within(result, within, workers, nodes=[node])
        return NearParents([tuple(members(int(mask))) for mask in families.masks], families.loss.tolist())
    dag = nx.to_numpy_array(result.dag, nodelist=list(result.names), dtype=np.int8)
    return near_parents(problem, node, within, dag, workers)
