"""All DAGs within some points of the best for more columns than the recursion over all sets can take.

Parent sets are listed with slack: a set that a subset beats by more than the limit is in no such DAG. Cutting planes
and probing exclude most of the others (``left_families.py``). A cycle of the families that are left lies inside a
strongly connected component of their edges, so each component is a problem of its own: the recursion finds its DAGs,
and those of all components are combined as long as the losses add up to at most the limit. While a component is too
large for the recursion, the DAGs are split into those with some edge and those without it, and families are excluded in
each part again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.sparse.csgraph import connected_components

from dagopt.arrays import Bools, Dag, Floats, Ints
from dagopt.errors import InputError
from dagopt.families.families import MOST_MASK_NODES, Families
from dagopt.methods.branch_and_cut.left_families import LeftFamilies, listed_with_slack
from dagopt.methods.exact.edge_ends import pool_ends
from dagopt.methods.exact.edge_regret import ROUNDING
from dagopt.methods.exact.near_dags import MOST_COUNTED, NearDags, TooManySteps
from dagopt.methods.exact.near_families import NearFamilies
from dagopt.problem import Problem
from dagopt.workers import Stopped, Workers

__all__ = ["JoinedDags", "Undecided", "joined_dags"]

LARGEST = 20  # columns of a component; 2^20 sets take 25 MB and tenths of a second
MOST_PARTS = 2_000  # maximum number of parts; a second each at most, most of them far less


class Undecided(Exception):
    """The DAGs are not known one by one; the families that some of them may have are.

    Attributes
    ----------
    families : NearFamilies
        Every family that is not excluded. ``best`` is the best known score; losses are lower limits.
    bound : float
        No DAG scores more.
    """

    def __init__(self, families: NearFamilies, bound: float) -> None:
        super().__init__("undecided")
        self.families = families
        self.bound = bound


@dataclass(frozen=True, eq=False)
class _Component:
    """The nodes of a component, its DAGs, and the place of its families among all."""

    nodes: Ints
    near: NearDags
    places: Ints


@dataclass(frozen=True, eq=False)
class _Part:
    """The components of a part of the DAGs, and the score of the best of these DAGs."""

    components: list[_Component]
    best: float


class JoinedDags:
    """All DAGs within the limit: for each part, combinations of those of its components.

    Parameters
    ----------
    families : NearFamilies
        The families that some DAG within the limit has, over all nodes.
    parts : list of _Part
        The parts, which have no DAG in common.
    masks : int array
        The parents of the families that were left before that, which the components count by.
    """

    def __init__(self, families: NearFamilies, parts: list[_Part], masks: Ints) -> None:
        self.families = families
        self._parts = parts
        self._masks = masks
        self._limit = families.within + families.tolerance

    def _slack(self, part: _Part, limit: float) -> float:
        """Return how many points the components of a part may lose together."""
        return limit - (self.families.best - part.best)

    @cached_property
    def losses(self) -> tuple[Floats | None, int]:
        """The loss of every DAG, from the best down, and their number; None and a lower limit if there are too many."""
        found, total = [], 0
        for part in self._parts:
            values = np.array([self.families.best - part.best])
            for one in part.components:
                own, count = one.near.losses
                if own is None:
                    return None, max(count, total + len(values))
                values = _sums(values, own, self._limit)
                if total + len(values) > MOST_COUNTED:
                    return None, total + len(values)
            found.append(values)
            total += len(values)
        return np.sort(np.concatenate(found)), total

    @cached_property
    def number(self) -> tuple[int, bool]:
        """How many DAGs there are, and whether this is exact or a lower limit."""
        total, exact = 0, True
        for part in self._parts:
            lists = sorted((one.near.losses for one in part.components), key=lambda one: one[1])
            known = [own for own, _ in lists if own is not None]
            values = np.array([self.families.best - part.best])
            for own in known[:-1]:
                if len(values) <= MOST_COUNTED:
                    values = _sums(values, own, self._limit)
            if len(known) == len(lists) and len(values) <= MOST_COUNTED:  # the last list is only counted
                total += int(np.searchsorted(known[-1], self._limit - values, side="right").sum())
            else:
                total, exact = total + max(lists[-1][1], len(values)), False
        return total, exact

    def listed(self, most: int) -> tuple[Ints, Floats]:
        """Return the best DAGs, at most this many: parents as bits of ``[dag, node]``, and losses."""
        found = [self._listed(part, most) for part in self._parts if self._slack(part, self._limit) >= 0]
        parents, loss = (np.concatenate(column) for column in zip(*found, strict=True))
        return _best_first(parents, loss, self.families.tolerance, most)

    def _listed(self, part: _Part, most: int) -> tuple[Ints, Floats]:
        """Return the best DAGs of a part.

        A choice for some of the components can be completed without further loss, so the best choices are enough.
        """
        loss = np.array([self.families.best - part.best])
        parents = np.zeros((1, sum(len(one.nodes) for one in part.components)), dtype=np.int64)
        for one in part.components:
            chosen, own = one.near.chosen_best(most, self._slack(part, self._limit))
            fits = np.searchsorted(own, self._limit - loss, side="right")
            before, place = _pairs(fits)
            loss = loss[before] + own[place]
            kept = np.sort(np.argsort(loss, kind="stable")[:most])
            before, place, loss = before[kept], place[kept], loss[kept]
            parents = parents[before]
            parents[:, one.nodes] = self._masks[one.places[chosen[place]]]
        return parents, loss


def _best_first(parents: Ints, loss: Floats, tolerance: float, most: int) -> tuple[Ints, Floats]:
    """Return DAGs from the best down, ties by their parents."""
    order = np.lexsort((*parents.T[::-1], np.round(loss / tolerance)))[:most]
    return parents[order], loss[order]


def _pairs(counts: Ints) -> tuple[Ints, Ints]:
    """Return for each count its place, as often as it says, and the numbers from 0 up to it."""
    first = np.repeat(np.arange(len(counts)), counts)
    return first, np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)


def _sums(values: Floats, own: Floats, limit: float) -> Floats:
    """Return the sums of two lists, the second sorted, up to a limit."""
    fits = np.searchsorted(own, limit - values, side="right")
    if fits.sum() > 4 * MOST_COUNTED:
        fits = np.minimum(fits, np.maximum(4 * MOST_COUNTED // len(fits), 1))  # too many anyway
    before, place = _pairs(fits)
    return values[before] + own[place]


def joined_dags(problem: Problem, within: float, dag: Dag, workers: Workers) -> JoinedDags:
    """Return all DAGs within some points of the best.

    Raises ``Stopped`` if parent sets are not listed in time, and ``Undecided`` if the DAGs are not found in time or are
    too many.

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
    if problem.n_nodes > MOST_MASK_NODES:
        raise InputError(
            f"expected at most {MOST_MASK_NODES} columns for all graphs within {within:g} points but got "
            f"{problem.n_nodes}; choose fewer columns=, or ask for effects, which have no such limit"
        )
    pool = listed_with_slack(problem, within, workers)
    parts: list[_Part] = []
    with LeftFamilies(pool, problem.score.total(dag), within, workers) as left:
        try:
            left.exclude()
            for alive in _split(pool, left):
                part = _solved(pool, alive, within, left.known, workers)
                if part is not None:
                    parts.append(part)
                    left.known = max(left.known, part.best)
        except (Stopped, TooManySteps):
            raise Undecided(_not_excluded(pool, left, within), float(left.bound.max())) from None
    best = max(part.best for part in parts)
    loss = np.full(len(pool.node), np.inf)
    for part in parts:
        for one in part.components:
            loss[one.places] = np.minimum(loss[one.places], best - part.best + one.near.family_losses())
    families = NearFamilies(within, best, pool.node, pool.masks, pool.score, np.maximum(loss, 0.0), np.empty(0))
    kept = np.flatnonzero(loss <= within + families.tolerance)
    return JoinedDags(_chosen(families, kept), parts, pool.masks)


def _chosen(families: NearFamilies, kept: Ints) -> NearFamilies:
    """Return some families, by node and then by parents."""
    kept = kept[np.lexsort((families.masks[kept], families.node[kept]))]
    own = {name: getattr(families, name)[kept] for name in ("node", "masks", "local", "loss")}
    return replace(families, **own)


def _not_excluded(pool: Families, left: LeftFamilies, within: float) -> NearFamilies:
    """Return the families that are left, with what the DAGs with them lose at least."""
    loss = np.maximum(left.known - left.bound, 0.0)
    families = NearFamilies(within, left.known, pool.node, pool.masks, pool.score, loss, np.empty(0))
    return _chosen(families, np.flatnonzero(left.alive))


def _split(pool: Families, left: LeftFamilies) -> Iterator[Bools]:
    """Yield parts of the families in which no component is too large: every DAG is made of those of one part."""
    waiting, n_parts = [left.alive], 1
    while waiting:
        alive = waiting.pop()
        arc = _splitting_arc(pool, alive)
        if arc is None:
            yield alive
            continue
        for part in _with_and_without(pool, alive, arc):
            kept = left.inside(part)
            if kept.any():
                waiting.append(kept)
                n_parts += 1
        if n_parts > MOST_PARTS:
            raise TooManySteps


def _with_and_without(pool: Families, alive: Bools, arc: tuple[int, int]) -> list[Bools]:
    """Return the families of the DAGs without an edge, and of those with it."""
    tail, head = arc
    own, other = pool.node == head, pool.node == tail
    has, back = (pool.masks >> tail & 1) == 1, (pool.masks >> head & 1) == 1
    return [alive & ~(own & has), alive & ~(own & ~has) & ~(other & back)]


def _components(pool: Families, alive: Bools) -> Ints:
    """Return the component of each node, by the edges of families."""
    n = pool.n_nodes
    union = np.zeros(n, dtype=np.int64)
    np.bitwise_or.at(union, pool.node[alive], pool.masks[alive])
    _, label = connected_components(union[None, :] >> np.arange(n)[:, None] & 1, directed=True, connection="strong")
    return np.asarray(label, dtype=np.int64)


def _splitting_arc(pool: Families, alive: Bools) -> tuple[int, int] | None:
    """Return the edge in the largest component that splits it best; None if the component is small enough."""
    label = _components(pool, alive)
    sizes = np.bincount(label)
    if sizes.max() <= LARGEST:
        return None
    inside = np.flatnonzero(label == sizes.argmax())
    best: tuple[tuple[int, ...], tuple[int, int]] | None = None
    for head in inside.tolist():
        own = alive & (pool.node == head)
        for tail in inside.tolist():
            has = (pool.masks[own] >> tail & 1) == 1
            if has.any() and not has.all():
                parts = _with_and_without(pool, alive, (tail, head))
                largest = sorted((int(np.bincount(_components(pool, part)).max()) for part in parts), reverse=True)
                worth = (sum(largest), *largest, head, tail)
                best = min(best, (worth, (tail, head))) if best else (worth, (tail, head))
    assert (
        best is not None
    )  # a component of several nodes has a family with a parent in it and, by its DAGs, one without
    return best[1]


def _solved(pool: Families, alive: Bools, within: float, known: float, workers: Workers) -> _Part | None:
    """Return the DAGs of a part; None if none of them is within the limit."""
    label = _components(pool, alive)
    inside: list[tuple[Ints, NearFamilies, Ints]] = []
    for k in range(label.max() + 1):
        nodes = np.flatnonzero(label == k)
        places = np.flatnonzero(alive & np.isin(pool.node, nodes))
        inside.append((nodes, _inside(pool, nodes, places, within, workers), places))
    best = sum(families.best for _, families, _ in inside)
    slack = within - (known - best)  # below the best DAG of all there is at most this
    rounding = ROUNDING * max(abs(known), 1.0)
    if not slack >= -rounding:
        return None
    components = []
    for nodes, families, places in inside:
        near = NearDags(replace(families, within=max(slack, 0.0) + rounding), workers).build()
        near.families = replace(near.families, opt=np.empty(0))
        components.append(_Component(nodes, near, places))
    return _Part(components, best)


def _inside(pool: Families, nodes: Ints, places: Ints, within: float, workers: Workers) -> NearFamilies:
    """Return the families of a component by their parents inside it, and its best DAGs over every set."""
    masks = np.zeros(len(places), dtype=np.int64)
    for k, node in enumerate(nodes.tolist()):
        masks |= (pool.masks[places] >> node & 1) << k
    own = np.searchsorted(nodes, pool.node[places])
    local = pool.score[places]
    names = [pool.names[node] for node in nodes]
    families = Families.from_masks(
        names, [masks[own == k] for k in range(len(nodes))], [local[own == k] for k in range(len(nodes))]
    )
    opt, _ = pool_ends(families, workers)
    return NearFamilies(within, float(opt[-1]), own, masks, local, np.zeros(len(masks)), opt)
