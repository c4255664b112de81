"""All DAGs within a given number of points of the best, each once: counted, and listed.

A DAG is taken apart sink by sink, always the sink with the largest number, so that there is one way for each DAG. Its
state is the set S of nodes that are left and the set O ⊆ S of nodes that still owe a child: if i is the largest sink
of S, the nodes of S above i are no sinks, so each of them must be a parent of i or of a node that is taken later.
Taking i with the parents J from (S, O), where i owes nothing, leads to

    S' = S - i,    O' = (O + {j in S' above i}) - J.

A step loses ``opt[S] - opt[S - i] - local(i, J)`` points, and a DAG the sum of its steps, so a state is left when its
loss exceeds the limit. States are joined, layer by layer, into one diagram whose paths are the DAGs. Its steps that are
on no path within the limit are dropped, so that counting and listing meet no dead end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.methods.exact.near_families import NearFamilies
from dagopt.workers import Stopped, Workers

__all__ = ["MOST_COUNTED", "NearDags", "TooManySteps"]

MOST_COUNTED = 10_000_000  # maximum number of DAGs that are counted one by one; 80 MB per layer
MOST_STEPS = 30_000_000  # maximum number of steps of the diagram; about 1 GB
HALVINGS = 12  # of the limit, until the DAGs within it can be counted
PAIRS_TOGETHER = 1 << 22  # states times families that are compared at once


class TooManySteps(Exception):
    """The diagram of all near DAGs is larger than ``MOST_STEPS``."""


@dataclass(frozen=True, eq=False)
class _Layer:
    """The states with one number of nodes left, and the steps from them, in the order of their states."""

    sets: Ints
    owing: Ints
    slack: Floats
    source: Ints
    family: Ints
    target: Ints
    loss: Floats


class NearDags:
    """The diagram of all DAGs within the limit.

    Parameters
    ----------
    families : NearFamilies
        The families of all nodes.
    workers : Workers
        The clock and the progress bar.
    """

    def __init__(self, families: NearFamilies, workers: Workers) -> None:
        self.families = families
        self._workers = workers
        self._n = families.n_nodes
        self._limit = families.within + families.tolerance
        self._layers: list[_Layer] = []
        self._least: list[Floats] = []  # the least loss from each state to the end

    def build(self) -> NearDags:
        """Make the diagram, or raise ``Stopped`` or ``TooManySteps``; return self."""
        n = self._n
        sets, owing = np.array([(1 << n) - 1]), np.zeros(1, dtype=np.int64)
        slack = np.array([self._limit])
        total = 0
        for done in range(n):
            layer, (sets, owing, slack) = self._step(sets, owing, slack)
            self._layers.append(layer)
            total += len(layer.loss)
            if total > MOST_STEPS:
                raise TooManySteps
            self._workers.progress.update("near DAGs", done / n)
        self._drop_dead_ends(len(sets))
        return self

    def _step(self, sets: Ints, owing: Ints, slack: Floats) -> tuple[_Layer, tuple[Ints, Ints, Floats]]:
        """Return a layer with all its steps, and the states of the next one."""
        n, opt = self._n, self.families.opt
        parts = [self._sinks(node, sets, owing, slack) for node in range(n)]
        source, family, loss = (np.concatenate(column) for column in zip(*parts, strict=True))
        node, parents = self.families.node[family], self.families.masks[family]
        left = sets[source] ^ (1 << node)
        owed = (owing[source] | (left & (-2 << node))) & ~parents
        # a node that owes a child needs a family that it is a parent of
        payable = (owed & ~self._parents_inside(left)) == 0
        source, family, loss, left, owed = (one[payable] for one in (source, family, loss, left, owed))
        keys, target = np.unique(left << n | owed, return_inverse=True)
        target = target.ravel()
        remaining = np.zeros(len(keys))
        np.maximum.at(remaining, target, slack[source] - loss)
        order = np.argsort(source, kind="stable")
        layer = _Layer(sets, owing, slack, source[order], family[order], target[order], loss[order])
        assert np.isfinite(opt[keys >> n]).all()
        return layer, (keys >> n, keys & ((1 << n) - 1), remaining)

    def _sinks(self, node: int, sets: Ints, owing: Ints, slack: Floats) -> tuple[Ints, Ints, Floats]:
        """Return the steps that take one node: state, family and loss."""
        own = np.flatnonzero(self.families.node == node)
        masks, local = self.families.masks[own], self.families.local[own]
        states = np.flatnonzero((sets & ~owing) >> node & 1)
        found: list[tuple[Ints, Ints, Floats]] = []
        together = max(PAIRS_TOGETHER // max(len(own), 1), 1)
        for first in range(0, len(states), together):
            if self._workers.deadline.reason is not None:
                raise Stopped
            some = states[first : first + together]
            left = sets[some] ^ (1 << node)
            loss = (self.families.opt[sets[some]] - self.families.opt[left])[:, None] - local
            fits = ((masks & ~left[:, None]) == 0) & (loss <= slack[some][:, None])
            state, family = np.nonzero(fits)
            found.append((some[state], own[family], np.maximum(loss[state, family], 0.0)))
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
        source, chosen, lost = (np.concatenate(column) for column in zip(*found, strict=True))
        return source, chosen, lost

    def _parents_inside(self, sets: Ints) -> Ints:
        """Return for each set the nodes that are parents in a family inside it."""
        some, place = np.unique(sets, return_inverse=True)
        masks = self.families.masks
        whole = masks | np.int64(1) << self.families.node
        cover = np.zeros(len(some), dtype=np.int64)
        together = max(PAIRS_TOGETHER // len(masks), 1)
        for first in range(0, len(some), together):
            part = some[first : first + together, None]
            cover[first : first + together] = np.bitwise_or.reduce(np.where(whole & ~part, 0, masks), axis=1)
        return cover[place.ravel()]

    def _drop_dead_ends(self, n_last: int) -> None:
        """Keep the steps on a path within the limit, from the last layer to the first."""
        least = np.zeros(n_last)
        self._least = [least]
        for k in range(len(self._layers) - 1, -1, -1):
            layer = self._layers[k]
            total = layer.loss + least[layer.target]
            kept = total <= layer.slack[layer.source]
            least = np.full(len(layer.sets), np.inf)
            np.minimum.at(least, layer.source[kept], total[kept])
            source, family, target = (one[kept] for one in (layer.source, layer.family, layer.target))
            self._layers[k] = replace(layer, source=source, family=family, target=target, loss=layer.loss[kept])
            self._least.insert(0, least)

    @cached_property
    def losses(self) -> tuple[Floats | None, int]:
        """The loss of every DAG, from the best down, and their number; None and a lower limit if there are too many."""
        return self._losses_within(self._limit)

    @property
    def number(self) -> tuple[int, bool]:
        """How many DAGs there are, and whether this is exact or a lower limit."""
        values, count = self.losses
        return count, values is not None

    def _losses_within(self, limit: float) -> tuple[Floats | None, int]:
        """Return the same for DAGs that lose at most this.

        The ends of the DAGs are counted layer by layer. Each end within the slack of its state is the end of another
        DAG, so the number of ends of one layer is never above the number of DAGs.
        """
        spare = self._limit - limit
        values, starts = np.zeros(len(self._least[-1])), np.arange(len(self._least[-1]) + 1)
        for layer in reversed(self._layers):
            if self._workers.deadline.reason is not None:
                raise Stopped
            counts = np.diff(starts)[layer.target]
            if counts.sum() > 4 * MOST_COUNTED:
                return None, len(values)
            step = np.repeat(np.arange(len(counts)), counts)
            place = np.arange(len(step)) - np.repeat(np.cumsum(counts) - counts, counts) + starts[layer.target][step]
            values = values[place] + layer.loss[step]
            source = layer.source[step]
            kept = values <= layer.slack[source] - spare
            values = values[kept]
            starts = np.concatenate([[0], np.cumsum(np.bincount(source[kept], minlength=len(layer.sets)))])
            if len(values) > MOST_COUNTED:
                return None, len(values)
        return np.sort(values), len(values)

    def family_losses(self) -> Floats:
        """Return the least loss of a DAG with each family; infinity for families that no DAG within the limit has."""
        least = np.full(len(self.families.node), np.inf)
        for layer, after in zip(self._layers, self._least[1:], strict=True):
            before = self._limit - layer.slack[layer.source]
            np.minimum.at(least, layer.family, before + layer.loss + after[layer.target])
        return least

    def listed(self, most: int) -> tuple[Ints, Floats]:
        """Return the best DAGs, at most this many unless some tie: parents as bits of ``[dag, node]``, and losses.

        None if even those that tie with the best are too many.
        """
        chosen, loss = self.chosen_best(most, self._limit)
        parents = self.families.masks[chosen]
        order = np.lexsort((*parents.T[::-1], np.round(loss / self.families.tolerance)))
        return parents[order], loss[order]

    def chosen_best(self, most: int, limit: float) -> tuple[Ints, Floats]:
        """Return the same as the family of each node, from the least loss up, of DAGs that lose at most ``limit``."""
        limit = min(limit, self._limit)
        losses, count = self.losses
        for _ in range(HALVINGS):
            if losses is not None:
                break
            limit /= 2
            losses, count = self._losses_within(limit)
        if losses is None:
            return np.zeros((0, self._n), dtype=np.int64), np.zeros(0)
        if count > most:
            limit = min(limit, losses[most - 1] + self.families.tolerance)
        chosen, loss = self.chosen(limit)
        order = np.argsort(loss, kind="stable")
        return chosen[order], loss[order]

    def chosen(self, limit: float) -> tuple[Ints, Floats]:
        """Return the DAGs that lose at most this: the family of each node as ``[dag, node]``, and losses."""
        state, loss = np.zeros(1, dtype=np.int64), np.zeros(1)
        chosen = np.zeros((1, self._n), dtype=np.int64)
        for layer, least in zip(self._layers, self._least[1:], strict=True):
            if self._workers.deadline.reason is not None:
                raise Stopped
            starts = np.searchsorted(layer.source, np.arange(len(layer.sets) + 1))
            counts = np.diff(starts)[state]
            path = np.repeat(np.arange(len(state)), counts)
            step = np.arange(len(path)) - np.repeat(np.cumsum(counts) - counts, counts) + starts[state][path]
            lost = loss[path] + layer.loss[step]
            kept = lost + least[layer.target[step]] <= limit
            path, step, loss = path[kept], step[kept], lost[kept]
            chosen, state = chosen[path], layer.target[step]
            family = layer.family[step]
            chosen[np.arange(len(path)), self.families.node[family]] = family
        return chosen, loss
