"""Every parent set that a node has in a DAG within some points of the best, by branch and cut: for many columns.

The best DAG is found, then the best one in which the node has another parent set, and so on: each answer is the best
DAG with a parent set that was not met before, so the losses are exact and increase, and the first answer above the
limit proves that none is missing. Parent sets of the other nodes are listed with slack: a set that a subset beats by
more than the limit is in no such DAG.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dagopt.arrays import Dag
from dagopt.families.families import Families
from dagopt.families.listing import candidate_pool
from dagopt.methods.branch_and_cut.gobnilp import best_over_families
from dagopt.problem import Problem
from dagopt.workers import Workers

__all__ = ["NearParents", "near_parents"]

SAME = 1e-9  # relative difference up to which two scores count as equal


@dataclass(frozen=True)
class NearParents:
    """The parent sets of a node in DAGs near the best, from the least loss up.

    Attributes
    ----------
    sets : list of tuple of int
        The parents.
    losses : list of float
        How much less than the best the best DAG with these parents scores; a lower limit for undecided sets.
    n_undecided : int
        How many of them, the last ones, are neither shown nor ruled out because the time was over.
    """

    sets: list[tuple[int, ...]]
    losses: list[float]
    n_undecided: int = 0


def near_parents(problem: Problem, node: int, within: float, dag: Dag, workers: Workers) -> NearParents:
    """Return the parent sets of a node, or raise ``Stopped`` if the time is over before the best DAG is proven.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    node : int
        The node.
    within : float
        Points of score.
    dag : int8 array
        A good DAG to start from.
    workers : Workers
        The threads, and the clock.
    """
    families = candidate_pool(problem.score, problem.knowledge, workers, within)
    found: list[tuple[int, ...]] = []
    losses: list[float] = []
    best = problem.score.total(dag)  # no DAG within the limit scores less than this minus the limit
    while (np.diff(families.offsets) > 0).all():
        workers.progress.update("near parent sets", None, found=len(found))
        outcome = best_over_families(
            families, families.start(dag if not found else None), workers.deadline, n_jobs=workers.count
        )
        if outcome.status != "optimal":
            return _with_undecided(families, node, within, found, losses, max(best - outcome.bound, 0.0))
        best = outcome.score if not found else best
        loss = best - outcome.score
        if outcome.chosen is None or loss > within + SAME * max(abs(best), 1.0):
            break
        place = int(outcome.chosen[node])
        found.append(_parents(families, place))
        losses.append(max(loss, 0.0))
        families = families.only(np.arange(len(families.node)) != place)
    return NearParents(found, losses)


def _with_undecided(
    families: Families, node: int, within: float, found: list[tuple[int, ...]], losses: list[float], least: float
) -> NearParents:
    """Return what was found, with all sets that are left unless a bound rules them out."""
    left = range(families.offsets[node], families.offsets[node + 1]) if least <= within else range(0)
    sets = [_parents(families, place) for place in left]
    return NearParents([*found, *sets], [*losses, *(least for _ in sets)], len(sets))


def _parents(families: Families, place: int) -> tuple[int, ...]:
    """Return the parents of a family."""
    parents, starts = families.listed
    return tuple(sorted(map(int, parents[starts[place] : starts[place + 1]])))
