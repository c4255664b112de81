"""Exact inference in discrete networks by eliminating one node after the other.

The order is the greedy one of fewest fill-in edges [1]_. The product of the factors at a node, divided by its sum over
that node, is the distribution of the node given those eliminated later, so drawing the nodes in reverse order gives
independent draws from the joint distribution given what is known.

References
----------
.. [1] D. Koller, N. Friedman, "Probabilistic Graphical Models", MIT Press 2009, sections 9.3 and 9.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.networks.discrete_network import DiscreteNetwork
from dagopt.networks.inference.engine import Engine, Event, Posterior, codes, patterns
from dagopt.networks.inference.factors import Factor, product, reduced, summed_out
from dagopt.networks.inference.weighting import LikelihoodWeighting

__all__ = ["MOST_CELLS", "Elimination", "elimination_order"]

MOST_CELLS = 1 << 25  # of the largest table; beyond this, answers come from weighted draws
CELLS_AT_ONCE = 1 << 22  # rows are processed together while their tables have at most this many cells


class _Order(NamedTuple):
    """Nodes in the order of elimination, and the number of cells of the largest intermediate product."""

    nodes: tuple[int, ...]
    largest: int


class Elimination(Engine):
    """Exact answers about a discrete network; weighted draws if a table would be too large."""

    def __init__(self, network: DiscreteNetwork) -> None:
        self.network = network
        self.arity = [len(levels) for levels in network.levels]
        self.has_impossible = any((table == 0).any() for table in network.tables)
        self.children: list[list[int]] = [[] for _ in network.names]
        for j, own in enumerate(network.parents):
            for i in own:
                self.children[i].append(j)

    def posterior(self, node: int, cells: Floats) -> Posterior:
        """Return the probability of each level of a node in each row."""
        cells = cells.copy()
        cells[:, node] = np.nan
        figures = np.empty((len(cells), self.arity[node]))
        errors = None
        for known, rows in patterns(cells):
            families = self._near(node, known)
            order = self._order(families, known, keep=node)
            if order.largest > MOST_CELLS:
                figures[rows], drawn = LikelihoodWeighting(self.network).posterior(node, cells[rows])
                errors = np.zeros_like(figures) if errors is None else errors
                errors[rows] = drawn
                continue
            for part in _parts(rows, order.largest):
                factors, _ = self._eliminated(self._factors(families, known, cells[part]), order.nodes)
                values = np.broadcast_to(product(factors).values, (len(part), self.arity[node]))
                totals = values.sum(axis=1, keepdims=True)
                figures[part] = np.where(totals > 0, values / np.where(totals > 0, totals, 1), np.nan)
        if self.has_impossible:
            figures[np.isneginf(self.log_evidence(cells))] = np.nan
        return Posterior(figures, errors)

    def log_evidence(self, cells: Floats) -> Floats:
        """Return the log of the probability of the known cells of each row; -inf where they are impossible."""
        found = np.empty(len(cells))
        for known, rows in patterns(cells):
            families = self._above(np.flatnonzero(known).tolist())
            order = self._order(families, known)
            if order.largest > MOST_CELLS:
                found[rows] = LikelihoodWeighting(self.network).log_evidence(cells[rows])
                continue
            for part in _parts(rows, order.largest):
                found[part] = self._total(self._factors(families, known, cells[part]), order.nodes)
        return found

    def probability(self, event: Event, cells: Floats) -> tuple[float, float]:
        """Return the probability that nodes have one of some levels, given the known cells of one row."""
        known = ~np.isnan(cells[0])
        families = self._above([*np.flatnonzero(known).tolist(), *event])
        order = self._order(families, known)
        if order.largest > MOST_CELLS:
            return LikelihoodWeighting(self.network).probability(event, cells)
        factors = self._factors(families, known, cells)
        inside = [Factor((i,), np.asarray(levels, dtype=np.float64)[None]) for i, levels in event.items()]
        share = self._total([*factors, *inside], order.nodes) - self._total(factors, order.nodes)
        return float(np.clip(np.exp(share[0]), 0.0, 1.0)), 0.0

    def complete(self, cells: Floats, rng: np.random.Generator) -> Floats:
        """Return the rows with unknown cells drawn from their joint distribution given the known ones."""
        filled = cells.copy()
        for known, rows in patterns(cells):
            families = list(range(len(self.arity)))
            order = self._order(families, known)
            if order.largest > MOST_CELLS:
                filled[rows] = LikelihoodWeighting(self.network).complete(cells[rows], rng)
                continue
            same = len(rows) > 1 and bool((cells[rows][:, known] == cells[rows[0], known]).all())
            for part in [rows] if same else _parts(rows, order.largest):
                _, buckets = self._eliminated(
                    self._factors(families, known, cells[part[:1] if same else part]), order.nodes
                )
                for node, bucket in reversed(list(zip(order.nodes, buckets, strict=True))):
                    filled[part, node] = _drawn(node, bucket, filled[part], rng)
        return filled

    def _near(self, node: int, known: Bools) -> list[int]:
        """Return the families that a node's distribution depends on: those it reaches through unknown nodes."""
        relevant = set(self._above([node, *np.flatnonzero(known).tolist()]))
        found: set[int] = set()
        reached, waiting = {node}, [node]
        while waiting:
            here = waiting.pop()
            for family in (here, *self.children[here]):
                if family in relevant and family not in found:
                    found.add(family)
                    new = {i for i in (family, *self.network.parents[family]) if not known[i]} - reached
                    reached |= new
                    waiting.extend(new)
        return sorted(found)

    def _above(self, nodes: Sequence[int]) -> list[int]:
        """Return nodes and all their ancestors: the families of all others sum to one."""
        found, waiting = set(nodes), list(nodes)
        while waiting:
            new = set(self.network.parents[waiting.pop()]) - found
            found |= new
            waiting.extend(new)
        return sorted(found)

    def _order(self, families: Sequence[int], known: Bools, keep: int | None = None) -> _Order:
        scopes = [{i for i in (j, *self.network.parents[j]) if not known[i]} for j in families]
        return elimination_order(scopes, self.arity, keep)

    def _factors(self, families: Sequence[int], known: Bools, cells: Floats) -> list[Factor]:
        levels = codes(np.where(np.isnan(cells), 0, cells))
        return [reduced(self.network, j, known.tolist(), levels) for j in families]

    def _eliminated(self, factors: list[Factor], order: Sequence[int]) -> tuple[list[Factor], list[Factor]]:
        """Return the factors left after eliminating nodes, and the product of the factors that contained each one."""
        buckets = []
        for node in order:
            bucket = product(factor for factor in factors if node in factor.nodes)
            buckets.append(bucket)
            factors = [*(factor for factor in factors if node not in factor.nodes), summed_out(bucket, node)[0]]
        return factors, buckets

    def _total(self, factors: list[Factor], order: Sequence[int]) -> Floats:
        """Return the log of the sum of the product of all factors, in each row."""
        total = np.zeros(1)
        for node in order:
            message, logs = summed_out(product(factor for factor in factors if node in factor.nodes), node)
            factors = [*(factor for factor in factors if node not in factor.nodes), message]
            total = total + logs
        with np.errstate(divide="ignore"):
            for factor in factors:
                total = total + np.log(factor.values)
        return np.asarray(total)


def elimination_order(scopes: Sequence[set[int]], arity: Sequence[int], keep: int | None = None) -> _Order:
    """Return the nodes of factors; the next is always the one that joins fewest pairs, then has the smallest product.

    Parameters
    ----------
    scopes : sequence of set of int
        The nodes of each factor.
    arity : sequence of int
        The number of levels of each node.
    keep : int, optional
        A node that is not eliminated.
    """
    joined: dict[int, set[int]] = {}
    for scope in scopes:
        for i in scope:
            joined.setdefault(i, set()).update(scope - {i})
    order: list[int] = []
    largest = 1
    waiting = set(joined) - {keep}
    worth: dict[int, tuple[int, int, int]] = {}
    while waiting:
        for i in waiting - worth.keys():
            own = joined[i]
            fill = sum(len(own - joined[j]) - 1 for j in own) // 2
            worth[i] = (fill, prod(arity[j] for j in own) * arity[i], i)
        best = min(waiting, key=worth.__getitem__)
        near = joined.pop(best)
        largest = max(largest, worth[best][1])
        for i in near:
            joined[i] |= near - {i}
            joined[i].discard(best)
        for i in near.union(*(joined[j] for j in near)):  # their neighbourhoods have changed
            worth.pop(i, None)
        waiting.discard(best)
        order.append(best)
    return _Order(tuple(order), largest)


def _parts(rows: Ints, largest: int) -> Iterator[Ints]:
    size = max(1, CELLS_AT_ONCE // largest)
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _drawn(node: int, bucket: Factor, cells: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a node in each row from its bucket, given the nodes drawn before."""
    others = [i for i in bucket.nodes if i != node]
    values = np.moveaxis(bucket.values, 1 + bucket.nodes.index(node), -1)
    rows = np.arange(len(cells)) if len(values) == len(cells) else np.zeros(len(cells), dtype=np.intp)
    cumulative = np.cumsum(values[(rows, *(codes(cells[:, i]) for i in others))], axis=-1)
    return _levels_at(rng.random(len(cells)), cumulative)


def _levels_at(draws: Floats, cumulative: Floats) -> NDArray[np.intp]:
    """Return for each draw in [0, 1) the level whose part of the cumulative weights it falls into."""
    below = draws[:, None] * cumulative[:, -1:] >= cumulative[:, :-1]
    return np.asarray(below.sum(axis=1), dtype=np.intp)
