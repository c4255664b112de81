"""Every parent set that a node has in a DAG within some points of the best, by branch and cut: for many columns.

The best DAG is found, then the best one in which the node has another parent set, and so on: each answer is the best
DAG with a parent set that was not met before, so the losses are exact and increase, and the first answer above the
limit proves that none is missing. Parent sets of the other nodes are listed with slack: a set that a subset beats by
more than the limit is in no such DAG, and cutting planes exclude most of the others (``left_families.py``).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from dagopt.arrays import Dag, Floats
from dagopt.families.families import Families
from dagopt.methods.branch_and_cut.gobnilp import best_over_families
from dagopt.methods.branch_and_cut.left_families import LeftFamilies, listed_with_slack
from dagopt.problem import Problem
from dagopt.workers import Stopped, Workers

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
    """Return the parent sets of a node, or raise ``Stopped`` if the time is over before all parent sets are listed.

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
    pool = listed_with_slack(problem, within, workers)
    best = problem.score.total(dag)  # no DAG within the limit scores less than this minus the limit
    with LeftFamilies(pool, best, within, workers) as left:
        with suppress(Stopped):
            left.exclude(node)
        best = left.known
        loss = np.maximum(best - left.bound, 0.0)
        pool, loss = pool.only(left.alive), loss[left.alive]
    families = replace(pool, place=np.arange(len(pool.node)))
    found: list[tuple[int, ...]] = []
    losses: list[float] = []
    while (np.diff(families.offsets) > 0).all():
        workers.progress.update("near parent sets", None, found=len(found))
        outcome = best_over_families(
            families, families.start(dag if not found else None), workers.deadline, n_jobs=workers.count
        )
        if outcome.status != "optimal":
            loss = np.maximum(loss[families.place], best - outcome.bound)
            return _with_undecided(families, node, within, found, losses, loss)
        best = outcome.score if not found else best
        lost = best - outcome.score
        if outcome.chosen is None or lost > within + SAME * max(abs(best), 1.0):
            break
        place = int(outcome.chosen[node])
        found.append(_parents(families, place))
        losses.append(max(lost, 0.0))
        families = families.only(np.arange(len(families.node)) != place)
    return NearParents(found, losses)


def _with_undecided(
    families: Families, node: int, within: float, found: list[tuple[int, ...]], losses: list[float], loss: Floats
) -> NearParents:
    """Return what was found, with all sets that are left unless a bound rules them out."""
    own = range(families.offsets[node], families.offsets[node + 1])
    left = [place for place in own if loss[place] <= within + SAME]
    left.sort(key=lambda place: float(loss[place]))
    return NearParents(
        [*found, *(_parents(families, place) for place in left)], [*losses, *(float(loss[place]) for place in left)],
        len(left),
    )  # fmt: skip


def _parents(families: Families, place: int) -> tuple[int, ...]:
    """Return the parents of a family."""
    parents, starts = families.listed
    return tuple(sorted(map(int, parents[starts[place] : starts[place + 1]])))
