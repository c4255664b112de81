"""Dynamic programming over subsets on the CPU: the best DAG over all parent sets that the knowledge allows.

The docstrings of ``kernels/lattice/best_parents.py`` and ``kernels/lattice/best_orders.py`` have the recursion. This
module estimates its memory and time, cuts the work into pieces for the threads, the clock and the progress bar, and
reads the DAG off the finished table.

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

from dagopt.arrays import Floats
from dagopt.graph.knowledge import Knowledge
from dagopt.integer.layers import each_layer, first_sink, follow_sinks
from dagopt.kernels.lattice.best_orders import Tables, extend
from dagopt.kernels.lattice.best_parents import LOWER_BITS, Block, Shape, fill
from dagopt.kernels.lattice.subsets import Allowed, best_set
from dagopt.kernels.lattice.whole_arrays import STEPS_PER_OPERATION, best_set_arrays, extend_arrays, fill_arrays
from dagopt.kernels.plain import compiled_or_python
from dagopt.scores.base import Score
from dagopt.workers import Workers, spans

__all__ = [
    "POTENTIALS",
    "RECURSION",
    "Plan",
    "Potentials",
    "SubsetDP",
    "all_potentials",
    "best_score",
    "plan_subset_dp",
    "plans_subset_dp",
    "potential_tables",
]


POTENTIALS, RECURSION = "potentials of all sets", "best parents and orders"  # the phases
FILL_SHARE = 0.8  # of the recursion: the best parents of all nodes; the rest are the orders
BYTES = 8  # of a float
SLICE_BITS, COUNTED_SLICE_BITS = 14, 12  # potentials filled at once take some hundredths of a second
MOST_PREFIX_BITS = 18  # 2^18 slices at most, each one task of a thread
PLACE_BITS = 13  # the tables of one row, for all nodes of its place, stay in the second-level cache
MOST_ROW_BITS = 10  # so does one run of all rows of a node's table
TILES_PER_PIECE = 8  # so that a piece of work takes some milliseconds
ROWS_PER_PIECE = 4  # rows of one layer that a thread takes at a time
SETS_PER_PIECE = 1 << 20  # 8 MB of a table per task of a thread
MOST_MORE_BITS = 6  # that are blocked to save memory, beyond those that are blocked for speed
SECONDS_PER_ENTRY = 7e-9  # of the n 2^(n-1) entries, CPU time with two threads, 22 to 26 columns; for the estimate
SECONDS_PER_FILL = 0.6e-9  # of an entry in each block that it is compared in


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
    least = max(n_nodes - PLACE_BITS - MOST_ROW_BITS, 0)
    for high in range(least, max(min(least + MOST_MORE_BITS + 1, n_nodes), least + 1)):
        low = n_nodes - high
        entries = low * 2 ** (low - 1) + high * 2**low
        n_bytes = BYTES * ((1 + tables) * 2**n_nodes + entries)
        each = SECONDS_PER_ENTRY + SECONDS_PER_FILL * max(2 / 3 * 1.5**high, 1.0)
        plans.append(Plan(n_nodes, high, n_bytes, each * n_nodes * 2 ** (n_nodes - 1) / cores))
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
        self.shape = Shape(min(PLACE_BITS, self.low), max(self.low - PLACE_BITS, 0))
        self._score = best_score(score, knowledge)
        self._workers = workers
        self._free = knowledge.is_free
        self._must, self._may = knowledge.masks
        self._most = knowledge.at_most
        self.potentials = Potentials(np.empty((1, 0)))
        self.opt: Floats = np.empty(0)
        self._best: dict[int, tuple[int, float]] = {}  # of each node: its best parents in the last set, and their score

    def run(self) -> tuple[NDArray[np.int8], float]:
        """Return the best DAG and its score in the tables, or raise ``Stopped``."""
        score, columns = self._score, np.arange(self.n)
        if self._free:  # then only the score knows which bit is which column
            score, columns = score.in_cheapest_order()
        self.potentials = all_potentials(score, self._workers)
        self._recursion()
        by_bits = follow_sinks(self.n, partial(first_sink, self._explains))
        dag = np.empty_like(by_bits)
        dag[np.ix_(columns, columns)] = by_bits
        return dag, float(self.opt[-1])

    def _recursion(self) -> None:
        self.opt = self._unknown()
        self.opt[0] = 0.0
        tables = self._room()
        blocks = 1 << self.high
        for block in range(blocks):
            bits = block << self.low
            filled = (block + FILL_SHARE) / blocks
            self._fill(tables, Block(bits, bits & (1 << self.low)), (block / blocks, filled))
            steps = STEPS_PER_OPERATION * (self.shape.place_bits + 1) ** 2 << self.shape.row_bits
            work = partial(compiled_or_python(extend, steps, arrays=extend_arrays), tables, self.shape, bits, self.opt)
            share, rows = (filled, (block + 1) / blocks), self.shape.row_bits
            each_layer(self._workers, RECURSION, rows, work, sets_per_piece=ROWS_PER_PIECE, share=share)
        self._after_blocks(tables)

    def _after_blocks(self, tables: Tables) -> None:
        """Keep what the last row of each table says: the best score of each node with parents among all others."""
        self._best = {node: (-1, float(table[-1].max())) for node, table in self._by_node(tables)}

    def _unknown(self) -> Floats:
        """Return a table of all sets with -inf."""
        table: Floats = np.empty(1 << self.n)
        pieces = [partial(table[first:last].fill, -np.inf) for first, last in spans(table.size, SETS_PER_PIECE)]
        self._workers.each("memory", pieces, len(pieces))
        return table

    def _room(self) -> Tables:
        """Return empty tables of one block."""
        places, rows = self.shape
        half = max(1 << places >> 1, 1)
        return Tables(
            np.empty((places, 1 << rows, half)),
            np.empty((rows, max(1 << rows >> 1, 1), 1 << places)),
            np.empty((self.high, 1 << rows, 1 << places)),
        )

    def _fill(self, tables: Tables, block: Block, share: tuple[float, float]) -> None:
        """Fill the tables of all nodes outside a block, the same places of all nodes one after the other."""
        pieces: list[tuple[float, Callable[[], None]]] = []
        for node, table in self._by_node(tables):
            if block.bits >> node & 1:
                continue
            allowed = Allowed(self._free, self._must[node], self._may[node], self._most[node])
            run = compiled_or_python(fill, STEPS_PER_OPERATION * 10 + table.size // 20, arrays=fill_arrays)
            work = partial(run, self.potentials.of(node), node, self.shape, block, allowed, table)
            lower = min(LOWER_BITS, self.shape.place_bits)
            tiles = table.shape[1] >> (lower - 1 if node < lower else lower)
            pieces += [(last / tiles, partial(work, first, last)) for first, last in spans(tiles, TILES_PER_PIECE)]
        pieces.sort(key=lambda piece: piece[0])
        self._workers.each(RECURSION, [work for _, work in pieces], len(pieces), share)

    def _by_node(self, tables: Tables) -> list[tuple[int, Floats]]:
        """Return the nodes with their tables: first those of the place, then those of the row, then the high ones."""
        lower = min(LOWER_BITS, self.shape.place_bits)
        rows = range(lower, lower + self.shape.row_bits)
        nodes = [*(i for i in range(self.low) if i not in rows), *rows, *range(self.low, self.n)]
        return list(zip(nodes, (table for part in tables for table in part), strict=True))

    def _place_of(self, mask: int) -> int:
        """Return where the entry of a set is in ``opt``, which has the row above the place."""
        places, rows = self.shape
        lower = min(LOWER_BITS, places)
        low, row = mask & ((1 << lower) - 1), (mask >> lower) & ((1 << rows) - 1)
        upper = (mask >> (lower + rows)) & ((1 << (places - lower)) - 1)
        return mask >> self.low << self.low | row << places | upper << lower | low

    def _explains(self, left: int, node: int) -> int:
        """Return the best parents of a node if as a sink it explains the best score of a set, otherwise -1.

        What was best inside a larger set is a bound, and still the best if it is inside this one.
        """
        rest = left ^ 1 << node
        best, before = self.opt[self._place_of(left)], self.opt[self._place_of(rest)]
        chosen, value = self._best.get(node, (-1, np.inf))
        if before + value < best:
            return -1
        if chosen & ~rest:
            known = self._must[node], self._may[node], self._most[node]
            table = self.potentials.of(node)
            find = compiled_or_python(best_set, STEPS_PER_OPERATION * 10 + table.size // 20, arrays=best_set_arrays)
            chosen, value = find(table, node, rest, *known)
            self._best[node] = int(chosen), float(value)
        return int(chosen) if chosen >= 0 and before + value == best else -1


class Potentials:
    """Potentials of all 2^n sets: ``local(i, J) = of(i)[J + i] - of(i)[J]``.

    Parameters
    ----------
    tables : array of shape (1, 2^n) or (n, 2^n)
        One table for all nodes, or one per node if the score is not score-equivalent.
    """

    def __init__(self, tables: Floats) -> None:
        self.tables = tables

    def of(self, node: int) -> Floats:
        """Return the table of a node."""
        table: Floats = self.tables[node if len(self.tables) > 1 else 0]
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
    workers.each(POTENTIALS, pieces, len(pieces))
    return Potentials(slices.reshape(len(slices), -1))
