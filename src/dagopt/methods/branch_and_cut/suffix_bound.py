"""A lower bound on what a set of nodes costs, from a weight for each pair of nodes.

The cost of node i after the nodes P is c_i(P) = l_i(P) - best_i(P) (``order_costs.py``). In every order each pair of
nodes is ordered in one of the two ways, so for any symmetric weights w the nodes of S, in any order, cost

    Σ_i c_i(P_i)  =  Σ over pairs of S of w  +  Σ_i [c_i(P_i) - w_i(P_i)]
                  ≥  Σ over pairs of S of w  -  Σ_i  max over P ⊆ S - i of [w_i(P) - c_i(P)],

with w_i(P) the sum of w_ij over j in P. With w = 0 the bound is 0. With the cost of an edge as the weight of each pair
that every DAG must join, it is near the cost of the best DAG. Weights are tuned by following the slope of the bound.
(``pair_bound.py`` has the same bound for all nodes, for any number of columns, with weights from an LP.)
Besides pairs, each subset of some disjoint groups of nodes has a weight κ, whose differences add up along an order.

The maximum is found in a table. Only pairs {i, j} with j in Q_i and i in Q_j have weights, where Q_i are the nodes that
matter most to i. With A = P ∩ Q_i and parents T + Z, T ⊆ A and Z outside Q_i,

    c_i(P) ≥ l_i(A + Z) - s_i(T + Z),

whose least value over T and Z is tabulated for every A. Sets Z are enumerated from the most promising one. Those not
reached enter with a lower bound: if Z grows inside Z + O, and parents T cost a(T), its cost is at least

    a(Z) + the least a of a member of O + min over T ⊆ A of [a(T) + max(0, l_i(A + Z) - l_i(T + Z + O))].

Where the nodes have matrices of their own, l_i(P) is that of the shared matrix and l_i(T + Z + O) that of node i, and
the difference may be below 0.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Dag, Floats, Ints, Words
from dagopt.deadline import Deadline
from dagopt.kernels.gaussian import suffixes as kernels
from dagopt.kernels.gaussian.blocks import logdet_slice
from dagopt.kernels.gaussian.logdet import all_logdets
from dagopt.methods.branch_and_cut.order_costs import OrderCosts
from dagopt.scores.block_likelihood import NodeLikelihood
from dagopt.workers import Stopped, Workers

__all__ = ["SuffixBound"]


STEP, SHRINK = 0.3, 0.3  # the first step, in units of the cost of an edge, and how fast steps get smaller
TURNS, STEPS_PER_TURN = 6, 30  # turns of enumeration and tuning, and the steps of each tuning
GROUP = 10  # the largest number of nodes of a group
MOST_PARENTS = 7  # beyond this many, the sets T of the second bound are not told apart
MOST_WAITING = 500  # bounds kept for each node
FIRST_WEIGHT = 0.75  # of pairs joined in the best DAG known, in the same units


@dataclass
class SuffixBound:
    """The weights, and the tables of the bound.

    Parameters
    ----------
    costs : OrderCosts
        What nodes cost.
    dag : int8 array
        The best DAG known, from which the bound takes what is near what.
    size : int
        The number of nodes in each Q_i.

    Attributes
    ----------
    weights : Weights
        The weights, which may be of any sign.
    patterns : Patterns
        The tables for these weights.
    least : array
        The least cost of each pattern of each node.
    """

    costs: OrderCosts
    dag: Dag
    size: int

    def __post_init__(self) -> None:
        n = self.costs.n_nodes
        self.size = min(self.size, n - 1)
        self._unit = self.costs.unit
        joined = (self.dag != 0) | (self.dag.T != 0)
        strength = partial_correlations(self.costs.matrix, self.costs.starts)
        order = [ranked(strength, self.dag, i) for i in range(n)]
        group, bit = _grouped(order, min(GROUP, self.size + 1))
        bits = np.zeros((n, n), dtype=np.int64)
        self._inside, self._outside = [], []
        for i in range(n):
            mates = [j for j in range(n) if group[j] == group[i] and j != i]
            mates.sort(key=lambda j: bit[j])
            near = np.array(mates + [int(j) for j in order[i] if group[j] != group[i]])
            self._inside.append(near[: self.size])
            self._outside.append(near[self.size :])
            bits[i, near[: self.size]] = 1 << np.arange(self.size)
        self._paired = (bits > 0) & (bits.T > 0)
        cheaper = np.minimum(self.costs.parents, self.costs.parents.T)
        pairs = np.where(self._paired & joined, FIRST_WEIGHT * cheaper, 0.0)
        kappa = np.zeros((int(group.max()) + 1, 1 << int(np.bincount(group).max())))
        self.weights = kernels.Weights(pairs, kappa, group, bit)
        shape = (n, 1 << self.size)
        self.least = np.empty(shape)
        self.patterns = kernels.Patterns(bits, np.empty(shape), np.empty(shape, dtype=np.int64))

    def tabulate(self, workers: Workers, budget: int) -> None:
        """Fill the tables, enumerating up to about ``budget`` sets Z for each node; raise ``Stopped`` at the deadline.

        The sets Z that matter depend on the weights, so enumeration and tuning for the set of all nodes take turns.
        """
        n, deadline = len(self._inside), workers.deadline
        tables: dict[int, _LeastCosts] = {}

        def begin(i: int) -> None:
            tables[i] = _LeastCosts(self.costs, i, self._inside[i], self._outside[i])

        workers.each("least costs", [partial(begin, i) for i in range(n)], n, (0.0, 0.0))
        full = np.array([(1 << n) - 1], dtype=np.uint64)
        for turn in range(TURNS):
            pieces = [partial(self._refine, tables[i], i, budget // TURNS, deadline) for i in range(n)]
            workers.each("least costs", pieces, n, (turn / TURNS, (turn + 1) / TURNS))
            self._update()
            self.tune(full, np.zeros(1), np.inf, STEPS_PER_TURN, deadline)

    def restore(self, pairs: Floats, kappa: Floats, least: Floats) -> None:
        """Take weights and least costs of an earlier run instead of filling the tables."""
        self.weights = self.weights._replace(pairs=pairs, kappa=kappa)
        self.least = least
        self._update()

    def _refine(self, table: _LeastCosts, i: int, budget: int, deadline: Deadline) -> None:
        table.refine(self._total(i), budget, deadline)
        self.least[i] = table.bound()

    def _total(self, i: int) -> Floats:
        total = np.empty(1 << self.size)
        kernels.fill_totals(self.weights, i, self._inside[i], total)
        return total

    def _update(self) -> None:
        for i in range(len(self._inside)):
            kernels.fill_gains(self.least[i], self._total(i), self.patterns.gains[i], self.patterns.sets[i])

    def bound(self, keys: Words) -> Floats:
        """Return the lower bound on the cost of each set."""
        out = np.empty(len(keys))
        kernels.least_costs_of(keys, self.weights, self.patterns, out)
        return out

    def tune(self, keys: Words, cost: Floats, limit: float, n_steps: int, deadline: Deadline) -> None:
        """Change the weights so that fewer of these sets, with costs of what comes after them, stay below a limit.

        At the deadline the weights found by then remain.
        """
        best, best_weights = (np.inf, np.inf), self.weights
        for step in range(n_steps + 1):
            if deadline.reason is not None:
                break
            total = cost + self.bound(keys)
            shares = np.exp(-np.maximum(total - limit, 0.0) / self._unit)
            now = (float((total < limit).sum()), -float(np.minimum(total, limit).sum()))
            if now < best:
                best, best_weights = now, self.weights
            if step == n_steps or now[0] == 0:
                break
            pairs, kappa = np.zeros_like(self.weights.pairs), np.zeros_like(self.weights.kappa)
            kernels.slopes(keys, shares, self.weights, self.patterns, pairs, kappa)
            pairs[~self._paired] = 0.0
            kappa[:, 0] = 0.0  # the empty set has no weight
            length = STEP * self._unit / (1 + SHRINK * step)
            self.weights = self.weights._replace(
                pairs=self.weights.pairs + _scaled(pairs, length), kappa=self.weights.kappa + _scaled(kappa, length)
            )
            self._update()
        self.weights = best_weights
        self._update()


def _scaled(slope: Floats, length: float) -> Floats:
    """Return a slope scaled to this largest entry; zero if it is zero."""
    largest = float(np.abs(slope).max())
    scaled: Floats = slope * (length / largest) if largest > 0 else slope
    return scaled


def _grouped(order: list[Ints], size: int) -> tuple[Ints, Ints]:
    """Return the group of each node and its bit in it: groups of up to ``size`` nodes that matter to each other."""
    n = len(order)
    group, bit = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    rank = np.zeros((n, n))
    for i, near in enumerate(order):
        rank[i, near] = np.arange(n - 1)
    closeness = np.exp(-(rank + rank.T) / 8.0)
    count = -(-n // size)
    for g in range(count):
        own: list[int] = []
        for k in range((np.count_nonzero(group < 0) + count - g - 1) // (count - g)):
            pull = closeness[own].sum(axis=0) if own else closeness[:, group < 0].sum(axis=1)
            chosen = int(np.argmax(np.where(group < 0, pull, -1.0)))
            own.append(chosen)
            group[chosen], bit[chosen] = g, 1 << k
    return group, bit


def partial_correlations(matrix: Floats, starts: Ints) -> Floats:
    """Return for each two nodes the largest absolute partial correlation of a column of one and of the other."""
    inverse = np.linalg.inv(matrix)
    size = np.sqrt(np.diag(inverse))
    found = np.abs(inverse) / np.outer(size, size)
    rows = np.maximum.reduceat(found, starts[:-1], axis=0)
    return np.asarray(np.minimum(np.maximum.reduceat(rows, starts[:-1], axis=1), 1.0))


def ranked(near: Floats, dag: Dag, i: int) -> Ints:
    """Return the other nodes from what matters most to node i: neighbours, other parents of children, the rest."""
    beside = (dag[:, dag[i] != 0] != 0).any(axis=1)
    key = 2.0 * (((dag[i] != 0) | (dag[:, i] != 0)).astype(float) + beside) + near[i]
    key[(dag[i] != 0) | (dag[:, i] != 0)] += 2.0
    key[i] = -1.0
    order: Ints = np.argsort(-key, kind="stable")[:-1]
    return order


class _Waiting(NamedTuple):
    """Sets Z that are not enumerated: ``chosen`` and one or more of the outside nodes from ``rest`` on."""

    chosen: tuple[int, ...]
    rest: int
    bound: NDArray[np.float32]


class _LeastCosts:
    """The table of one node: lower bounds on the cost of every pattern A ⊆ Q_i, which rise as sets Z are enumerated."""

    def __init__(self, costs: OrderCosts, node: int, inside: Ints, outside: Ints) -> None:
        self._costs, self._node = costs, node
        self._own = np.append(inside, node)
        self._outside = tuple(int(j) for j in outside)
        self._of_parents = costs.parents[node]
        self._paid = np.zeros(1)  # for each T inside
        for j in inside:
            self._paid = np.concatenate([self._paid, self._paid + self._of_parents[j]])
        fewest = np.concatenate([[0.0], np.cumsum(np.sort(self._of_parents[inside]))])
        sizes = np.minimum(np.arange(MOST_PARENTS + 1), len(inside))
        self._fewest = np.ascontiguousarray(fewest[sizes])  # what so many parents inside cost at least
        self._is_uniform = bool(np.ptp(self._of_parents[inside]) <= 0.0)
        self._logdet = np.empty(2 << len(inside))
        fit, best = self._given(())
        self._least = fit - best  # over the sets Z that were enumerated
        self._closed = np.full(len(fit), np.inf)  # bounds of those that never will be
        self._waiting: list[_Waiting] = []
        if self._outside:
            self._waiting.append(self._wait((), 0, fit))

    def bound(self) -> Floats:
        """Return the lower bounds over all sets Z."""
        least: Floats = np.minimum(self._least, self._closed)
        for one in self._waiting:
            np.minimum(least, one.bound, out=least)
        return least

    def refine(self, total: Floats, budget: int, deadline: Deadline) -> None:
        """Enumerate up to about ``budget`` more sets Z, where bounds matter most if the patterns weigh ``total``.

        Raises ``Stopped`` at the deadline.
        """
        gains = self._gains(total)
        heap = [(-self._lacking(one, total, gains), k, one) for k, one in enumerate(self._waiting)]
        heapq.heapify(heap)
        number = len(heap)
        while heap and budget > 0:
            lacking, _, top = heapq.heappop(heap)
            now = self._lacking(top, total, gains)
            if now < -lacking and heap and now < -heap[0][0]:
                number += 1
                heapq.heappush(heap, (-now, number, top))
                continue
            if now <= 0.0:
                heapq.heappush(heap, (0.0, number + 1, top))
                break
            for k in range(top.rest, len(self._outside)):
                if deadline.reason is not None:
                    raise Stopped
                chosen = (*top.chosen, self._outside[k])
                fit, best = self._given(chosen)
                np.minimum(self._least, self._price(chosen) + fit - best, out=self._least)
                budget -= 1
                if k + 1 < len(self._outside):
                    one = self._wait(chosen, k + 1, fit)
                    lack = self._lacking(one, total, gains)
                    if (self._least - one.bound).max() <= 0.0:
                        continue
                    number += 1
                    heapq.heappush(heap, (-lack, number, one))
            gains = self._gains(total)
        heap.sort()
        self._waiting = [one for _, _, one in heap[:MOST_WAITING]]
        for _, _, one in heap[MOST_WAITING:]:
            np.minimum(self._closed, one.bound, out=self._closed)

    def _gains(self, total: Floats) -> Floats:
        """Return for every A the largest w(A') - c(A') over its subsets A', from what was enumerated or closed."""
        gains: Floats = total - np.minimum(self._least, self._closed)
        kernels.close_subsets(gains)
        return gains

    def _lacking(self, one: _Waiting, total: Floats, gains: Floats) -> float:
        """Return by how much sets that wait make the largest gain of some pattern worse."""
        return float((total - one.bound - gains).max())

    def _price(self, chosen: tuple[int, ...]) -> float:
        """Return what parents cost."""
        return float(sum(self._of_parents[j] for j in chosen))

    def _wait(self, chosen: tuple[int, ...], rest: int, fit: Floats) -> _Waiting:
        """Return the sets that add to ``chosen`` one or more of the nodes from ``rest`` on."""
        most = self._fit((*chosen, *self._outside[rest:]), self._costs.nodes[self._node])
        lack = np.empty_like(most)
        kernels.least_lack(fit, most, self._fewest, self._costs.is_lack, lack)
        if not self._is_uniform:  # which sets have the least cost is not told by their number
            most -= self._paid
            kernels.close_subsets(most)
            np.maximum(lack, fit - most, out=lack)
        bound = self._price(chosen) + min(self._of_parents[j] for j in self._outside[rest:]) + lack
        return _Waiting(chosen, rest, np.nextafter(bound.astype(np.float32), np.float32(-np.inf)))

    def _given(self, chosen: tuple[int, ...]) -> tuple[Floats, Floats]:
        """Return, for every A, the likelihood of the node given A + Z, and the best over T ⊆ A less the cost of T."""
        costs = self._costs
        own = self._fit(chosen, costs.nodes[self._node])
        fit = own if costs.is_lack else self._fit(chosen, costs)
        best = own - self._paid
        kernels.close_subsets(best)
        return fit, best

    def _fit(self, chosen: tuple[int, ...], by: OrderCosts | NodeLikelihood) -> Floats:
        """Return the likelihood of the node given A + Z for every A, by the shared matrix or by that of the node."""
        sizes = np.diff(by.starts)
        columns, given = _columns(by.starts, self._own), _columns(by.starts, chosen)
        own = by.matrix[np.ix_(columns, columns)]
        if chosen:
            cross = by.matrix[np.ix_(given, columns)]
            own = own - cross.T @ np.linalg.solve(by.matrix[np.ix_(given, given)], cross)
        own, none = np.ascontiguousarray(own), np.zeros(len(self._own))
        if len(columns) == len(self._own):
            all_logdets(own, none, self._logdet)
        else:
            starts = np.concatenate([[0], np.cumsum(sizes[self._own])])
            logdet_slice(own, none, starts, 0, len(self._own), self._logdet)
        half = len(self._paid)
        fit: Floats = -by.half * (self._logdet[half:] - self._logdet[:half])
        return fit


def _columns(starts: Ints, nodes: Iterable[int]) -> Ints:
    """Return the columns of some nodes."""
    return np.array([column for j in nodes for column in range(starts[j], starts[j + 1])], dtype=np.int64)
