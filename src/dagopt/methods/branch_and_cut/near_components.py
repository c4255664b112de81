"""All DAGs within some points of the best for more columns than the recursion over all sets can take.

Parent sets are listed with slack: a set that a subset beats by more than the limit is in no such DAG. Reduced costs of
the LP with cluster cuts and local cuts exclude most of the others: a family is out if the bound on the DAGs that use it
is more than the limit below a known DAG. A cycle of the families that are left lies inside a strongly connected
component of their edges, so each component is a problem of its own: the recursion finds its DAGs, and those of all
components are combined as long as the losses add up to at most the limit.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse.csgraph import connected_components

from dagopt.arrays import Bools, Dag, Floats, Ints
from dagopt.errors import InputError
from dagopt.families.families import Families
from dagopt.families.listing import candidate_pool
from dagopt.lp.relaxation import Relaxation
from dagopt.lp.rows.clusters import ClusterRows, pair_rows
from dagopt.lp.rows.local import LocalRows
from dagopt.methods.branch_and_cut.gobnilp import CLUSTERS_PER_ROUND
from dagopt.methods.branch_and_cut.tree import Rules
from dagopt.methods.exact.edge_ends import pool_ends
from dagopt.methods.exact.near_dags import MOST_COUNTED, NearDags, TooManySteps
from dagopt.methods.exact.near_families import NearFamilies
from dagopt.problem import Problem
from dagopt.workers import Stopped, Workers

__all__ = ["JoinedDags", "joined_dags"]

MOST_COLUMNS = 62  # a set is the bits of a 64-bit integer
LARGEST = 24  # columns of a component; 2^24 sets take 0.4 GB
LOCAL_SIZE = 10  # nodes of the largest local cuts
STALLED_ROUNDS = 8  # cutting ends when so many rounds excluded no family


@dataclass(frozen=True, eq=False)
class _Component:
    """The nodes of a component, its DAGs, and the place of its families among all."""

    nodes: Ints
    near: NearDags
    places: Ints


class JoinedDags:
    """All DAGs within the limit, as combinations of those of the components.

    Parameters
    ----------
    families : NearFamilies
        The families that some DAG within the limit has, over all nodes.
    components : list of _Component
        The components.
    masks : int array
        The parents of the families that were left before that, which the components count by.
    """

    def __init__(self, families: NearFamilies, components: list[_Component], masks: Ints) -> None:
        self.families = families
        self._components = components
        self._masks = masks
        self._limit = families.within + families.tolerance

    @cached_property
    def losses(self) -> tuple[Floats | None, int]:
        """The loss of every DAG, from the best down, and their number; None and a lower limit if there are too many."""
        values = np.zeros(1)
        for one in self._components:
            own, count = one.near.losses
            if own is None:
                return None, max(count, len(values))
            fits = np.searchsorted(own, self._limit - values, side="right")
            if fits.sum() > MOST_COUNTED:
                return None, int(fits.sum())
            place = np.arange(fits.sum()) - np.repeat(np.cumsum(fits) - fits, fits)
            values = np.repeat(values, fits) + own[place]
        return np.sort(values), len(values)

    def listed(self, most: int) -> tuple[Ints, Floats]:
        """Return the best DAGs, at most this many unless some tie: parents as bits of ``[dag, node]``, and losses."""
        losses, count = self.losses
        limit = self._limit if losses is None or count <= most else losses[most - 1] + self.families.tolerance
        loss = np.zeros(1)
        parents = np.zeros((1, sum(len(one.nodes) for one in self._components)), dtype=np.int64)
        for one in self._components:
            chosen, own = one.near.chosen(limit)
            order = np.argsort(own, kind="stable")
            chosen, own = chosen[order], own[order]
            fits = np.searchsorted(own, limit - loss, side="right")
            before = np.repeat(np.arange(len(loss)), fits)
            place = np.arange(len(before)) - np.repeat(np.cumsum(fits) - fits, fits)
            loss, parents = loss[before] + own[place], parents[before]
            parents[:, one.nodes] = self._masks[one.places[chosen[place]]]
        order = np.lexsort((*parents.T[::-1], np.round(loss / self.families.tolerance)))
        return parents[order], loss[order]


def joined_dags(problem: Problem, within: float, dag: Dag, workers: Workers) -> JoinedDags:
    """Return all DAGs within some points of the best, or raise ``Stopped``.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    within : float
        Points of score.
    dag : int8 array
        A good DAG.
    workers : Workers
        The threads, and the clock.
    """
    if problem.n_nodes > MOST_COLUMNS:
        raise InputError(
            f"expected at most {MOST_COLUMNS} columns for all graphs within {within:g} points but got "
            f"{problem.n_nodes}; choose fewer columns="
        )
    pool = candidate_pool(problem.score, problem.knowledge, workers, within)
    pool = pool.only(_left(pool, problem.score.total(dag) - within, workers))
    masks, node, local = pool.masks, pool.node, pool.score
    edges = (np.bitwise_or.reduceat(masks, pool.offsets[:-1])[None, :] >> np.arange(pool.n_nodes)[:, None]) & 1
    n_components, label = connected_components(edges, directed=True, connection="strong")
    components = []
    best, loss = 0.0, np.full(len(masks), np.inf)
    for k in range(n_components):
        nodes = np.flatnonzero(label == k)
        if len(nodes) > LARGEST:
            raise InputError(
                f"the graphs within {within:g} points of the best for {problem.n_nodes} columns are not listed: the "
                f"directions of edges among {len(nodes)} columns depend on each other, and at most {LARGEST} may; "
                f"lower within=, choose fewer columns= or set tiers"
            )
        try:
            own = _component(pool, nodes, np.flatnonzero(np.isin(node, nodes)), within, workers)
        except TooManySteps:
            raise InputError(
                f"there are too many graphs within {within:g} points of the best to count; lower within="
            ) from None
        components.append(own)
        best += own.near.families.best
        loss[own.places] = own.near.family_losses()
    kept = np.flatnonzero(loss <= within + own.near.families.tolerance)
    kept = kept[np.lexsort((masks[kept], node[kept]))]
    families = NearFamilies(
        within, best, node[kept], masks[kept], local[kept], np.maximum(loss[kept], 0.0), np.empty(0)
    )
    return JoinedDags(families, components, masks)


def _left(pool: Families, least: float, workers: Workers) -> Bools:
    """Return which families a DAG that scores at least this can have, as far as cutting planes tell."""
    deadline = workers.deadline
    rules = Rules()
    least -= rules.tolerance * max(abs(least), 1.0)
    alive = np.ones(len(pool.node), dtype=np.bool_)
    with ThreadPoolExecutor(workers.count) as threads:
        local = LocalRows(threads, LOCAL_SIZE, 0, lambda: deadline.reason is not None)
        finders = [ClusterRows(CLUSTERS_PER_ROUND), local]
        families = replace(pool, place=np.arange(len(pool.node)))
        relaxation = Relaxation(families, (), None, rules.idle_rounds)
        relaxation.add(pair_rows(families, lambda: deadline.reason is not None))
        stalled = 0
        while stalled < STALLED_ROUNDS:
            point = relaxation.solve(alive, deadline)
            if point is None or deadline.reason is not None:
                raise Stopped
            before = alive.sum()
            alive &= point.bound + point.excess >= least
            stalled = 0 if alive.sum() < before else stalled + 1
            workers.progress.update("near families", None, families=int(alive.sum()), bound=point.bound)
            rows = [row for finder in finders for row in finder.separate(point)]
            if not rows and not any(finder.harder() for finder in finders):
                break
            relaxation.add(rows)
    return alive


def _component(pool: Families, nodes: Ints, places: Ints, within: float, workers: Workers) -> _Component:
    """Return the DAGs of a component: its families by their parents inside it."""
    masks = np.zeros(len(places), dtype=np.int64)
    for k, node in enumerate(nodes.tolist()):
        masks |= (pool.masks[places] >> node & 1) << k
    own = np.searchsorted(nodes, pool.node[places])
    local = pool.score[places]
    names = [pool.names[node] for node in nodes]
    inside = Families.from_masks(
        names, [masks[own == k] for k in range(len(nodes))], [local[own == k] for k in range(len(nodes))]
    )
    opt, _ = pool_ends(inside, workers)
    families = NearFamilies(within, float(opt[-1]), own, masks, local, np.zeros(len(masks)), opt)
    return _Component(nodes, NearDags(families, workers).build(), places)
