"""Dynamic programming over subsets on the CPU: the best DAG over all parent sets that the knowledge allows.

The docstring of ``kernels/lattice/subsets.py`` has the recursion. This module estimates its memory and time, cuts the
work into pieces for the threads, the clock and the progress bar, and reads the DAG off the finished table.

References
----------
Silander, Myllymäki (2006). A simple approach for finding the globally optimal Bayesian network structure. UAI.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.lattice import subsets as kernels
from dagopt.kernels.plain import handy
from dagopt.knowledge import Knowledge
from dagopt.methods.exact.layers import each_layer, first_sink, follow_sinks
from dagopt.scores.base import Score
from dagopt.workers import Workers, spans

__all__ = [
    "Plan",
    "Potentials",
    "SubsetDP",
    "all_potentials",
    "best_score",
    "plan_subset_dp",
    "plans_subset_dp",
    "potential_tables",
]

Floats = NDArray[np.float64]

BYTES = 8
SLICE_BITS, COUNTED_SLICE_BITS = 14, 12  # potentials filled at once take some hundredths of a second
MOST_PREFIX_BITS = 18
CHUNK_BITS = 10  # of the sink recursion
CHUNKS_PER_PIECE = 1 << 10  # so that a piece of work takes some tens of milliseconds
STRETCHES_PER_PIECE = 1 << 12
SECONDS_PER_ENTRY = 6.5e-9  # of the n 2^(n-1) entries, on one core, measured; only for the estimate


@dataclass(frozen=True)
class Plan:
    """The cost of a run, and how its tables are cut.

    Attributes
    ----------
    n_nodes : int
        Number of variables.
    high_bits : int
        How many variables are blocked to save memory (d in the kernels).
    n_bytes : int
        Memory for all tables.
    seconds : float
        A rough estimate of the time.
    """

    n_nodes: int
    high_bits: int
    n_bytes: int
    seconds: float


def plan_subset_dp(n_nodes: int, memory_limit: int, cores: int = 1, tables: int = 1) -> Plan | None:
    """Return the fastest plan that fits the memory with this many tables of potentials, or None."""
    return next((plan for plan in plans_subset_dp(n_nodes, cores, tables) if plan.n_bytes <= memory_limit), None)


def plans_subset_dp(n_nodes: int, cores: int = 1, tables: int = 1) -> list[Plan]:
    """Return all plans, from the fastest, which takes most memory, to the one that takes least."""
    plans = []
    for high in range(min(7, max(n_nodes - 1, 1))):
        low = n_nodes - high
        entries = low * 2 ** (low - 1) + high * 2**low
        n_bytes = BYTES * ((1 + tables) * 2**n_nodes + entries)
        work = n_nodes * 2 ** (n_nodes - 1) * (0.8 + 0.2 * 1.5**high)
        plans.append(Plan(n_nodes, high, n_bytes, SECONDS_PER_ENTRY * work / cores))
    return plans


class SubsetDP:
    """The recursion for one score and the knowledge.

    Parameters
    ----------
    score : Score
        What is maximised.
    knowledge : Knowledge
        Which parent sets are allowed.
    plan : Plan
        How to cut the tables.
    workers : Workers
        The threads, the clock and the progress bar; the answer is the same for any number of threads.
    """

    def __init__(
        self,
        score: Score,
        knowledge: Knowledge,
        plan: Plan,
        workers: Workers,
    ) -> None:
        self.n = score.n_nodes
        self.high = plan.high_bits
        self.low = self.n - plan.high_bits
        self._score = best_score(score, knowledge)
        self._workers = workers
        self._free = knowledge.is_free
        self._must, self._may = knowledge.masks
        self._most = knowledge.at_most
        self.potentials = Potentials(np.empty((1, 0)))
        self.opt: Floats = np.empty(0)

    def run(self) -> tuple[NDArray[np.int8], float]:
        """Return the best DAG and its score in the tables, or raise ``Stopped``."""
        self.potentials = all_potentials(self._score, self._workers)
        self._recursion()
        return follow_sinks(self.n, partial(first_sink, self._explains)), float(self.opt[-1])

    def _recursion(self) -> None:
        self.opt = np.full(1 << self.n, -np.inf)
        self.opt[0] = 0.0
        half = 1 << (self.low - 1)
        low_tables = np.empty((self.low, half))
        high_tables = np.empty((self.high, 1 << self.low))
        for block in range(1 << self.high):
            shifted = block << self.low
            outside = [b for b in range(self.high) if not (block >> b) & 1]
            where = f" (block {block + 1} of {1 << self.high})" if self.high else ""
            tables = [(i, low_tables[i]) for i in range(self.low)]
            tables += [(self.low + b, high_tables[b]) for b in outside]
            self._fill_tables(tables, shifted, where)
            self._sinks(low_tables, shifted, where)
            for k, b in enumerate(outside):
                self._push(high_tables[b], shifted, b, where, (k / len(outside), (k + 1) / len(outside)))

    def _fill_tables(self, tables: list[tuple[int, Floats]], block: int, where: str) -> None:
        """Fill and close the tables of the nodes: chunk by chunk, then over the remaining bits."""
        pieces: list[Callable[[], None]] = []
        for node, table in tables:
            allowed = kernels.Allowed(self._free, self._must[node], self._may[node], self._most[node])
            chunks = 1 << max(_bits(table) - kernels.LOW_BITS, 0)
            pieces += [
                partial(
                    handy(kernels.fill, 4 * table.size),
                    self.potentials.of(node),
                    node,
                    self.low,
                    block,
                    allowed,
                    table,
                    first,
                    last,
                )
                for first, last in spans(chunks, CHUNKS_PER_PIECE)
            ]
        self._workers.each("best parents: scores" + where, pieces, len(pieces))
        for step in (0, 1):
            pieces = [piece for _, table in tables for piece in _closing(table, step)]
            self._workers.each("best parents: subsets" + where, pieces, len(pieces), (step / 2, (step + 1) / 2))

    def _sinks(self, tables: Floats, block: int, where: str) -> None:
        chunk_bits = min(CHUNK_BITS, self.low)
        work = partial(handy(kernels.sinks, 2 * tables.size), tables, self.low, block, self.opt, chunk_bits)
        each_layer(self._workers, "best orders" + where, self.low - chunk_bits, work)

    def _push(self, table: Floats, block: int, b: int, where: str, share: tuple[float, float]) -> None:
        bit = 1 << (self.low + b)
        pieces = [
            partial(kernels.push, table, block, bit, self.opt, first, last)
            for first, last in spans(1 << self.low, 1 << 20)
        ]
        self._workers.each("best orders: later blocks" + where, pieces, len(pieces), share)

    def _explains(self, left: int, node: int) -> int:
        """Return the best parents of a node if as a sink it explains the best score of a set, otherwise -1."""
        rest = left ^ 1 << node
        known = self._must[node], self._may[node], self._most[node]
        find = handy(kernels.best_set, 4 << rest.bit_count())
        chosen, value = find(self.potentials.of(node), node, rest, *known)
        return int(chosen) if chosen >= 0 and self.opt[rest] + value == self.opt[left] else -1


class Potentials:
    """Potentials of all 2^n sets: ``local(i, J) = of(i)[J + i] - of(i)[J]``.

    Parameters
    ----------
    tables : array of shape (1, 2^n) or (n, 2^n)
        One table for all nodes, or one per node if the score is not score-equivalent.
    """

    def __init__(self, tables: Floats) -> None:
        self._tables = tables

    def of(self, node: int) -> Floats:
        """Return the table of a node."""
        table: Floats = self._tables[node if len(self._tables) > 1 else 0]
        return table


def best_score(score: Score, knowledge: Knowledge) -> Score:
    """Return the score whose potentials the search for a best DAG needs: all of them where parents are required."""
    return score if knowledge.must.any() or (knowledge.at_most < 1).any() else score.for_best()


def potential_tables(score: Score) -> int:
    """Return how many tables of potentials a score needs."""
    return 1 if score.is_score_equivalent else score.n_nodes


def all_potentials(score: Score, workers: Workers) -> Potentials:
    """Return the potentials of all 2^n sets, in slices of equal high bits."""
    n = score.n_nodes
    bits = SLICE_BITS if score.counts is None else COUNTED_SLICE_BITS
    prefix = min(max(n - bits, 0), MOST_PREFIX_BITS)
    low = n - prefix
    slices = np.empty((potential_tables(score), 1 << prefix, 1 << low))
    pieces = [
        partial(score.fill_potentials, high, low, table[high], node)
        for node, table in enumerate(slices)
        for high in range(1 << prefix)
    ]
    workers.each("potentials of all sets", pieces, len(pieces))
    return Potentials(slices.reshape(len(slices), -1))


def _closing(table: Floats, step: int) -> list[Callable[[], None]]:
    """Return the pieces of work that close a table over one half of its bits above the chunks."""
    rest = max(_bits(table) - kernels.LOW_BITS, 0)
    start, count = (0, rest // 2) if step == 0 else (rest // 2, rest - rest // 2)
    if count == 0:
        return []
    stretches = (table.size >> count) // kernels.ROW
    return [
        partial(kernels.close_high, table, kernels.LOW_BITS + start, count, first, last)
        for first, last in spans(stretches, STRETCHES_PER_PIECE)
    ]


def _bits(table: Floats) -> int:
    return table.size.bit_length() - 1
