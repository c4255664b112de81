"""What comes before and after every set: ``opt[S]``, the best DAG over S, and ``rest[S]``, the best that can follow it.

The docstrings of ``kernels/lattice/subsets.py`` and ``kernels/lattice/edge_regret.py`` have the recursions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.candidates.pool import Pool
from dagopt.kernels.lattice import edge_regret as kernels
from dagopt.kernels.lattice import pools
from dagopt.kernels.lattice.subsets import LOW_BITS
from dagopt.kernels.plain import handy
from dagopt.knowledge import Knowledge
from dagopt.methods.exact.layers import each_layer
from dagopt.methods.exact.pool_dp import pool_form
from dagopt.methods.exact.subset_dp import CHUNK_BITS, Plan, SubsetDP, _closing, all_potentials
from dagopt.scores.base import Score
from dagopt.workers import Workers, spans

__all__ = ["TableEnds", "best_around", "pool_ends"]

Floats = NDArray[np.float64]

CHUNKS_PER_PIECE = 64  # so that a piece of work takes some milliseconds
ENTRIES_PER_PIECE = 1 << 20


class TableEnds(SubsetDP):
    """The recursion over all parent sets in both directions; the parameters are those of ``SubsetDP``."""

    def __init__(self, score: Score, knowledge: Knowledge, plan: Plan, workers: Workers) -> None:
        super().__init__(score, knowledge, plan, workers)
        self.rest: Floats = np.empty(0)
        self._low_tables: Floats = np.empty(0)

    def fill(self) -> None:
        """Fill ``potentials``, ``opt`` and ``rest``, or raise ``Stopped``."""
        self.potentials = all_potentials(self._score, self._workers)
        self._recursion()
        self._way_back()

    def _sinks(self, tables: Floats, block: int, where: str) -> None:
        super()._sinks(tables, block, where)
        self._low_tables = tables  # the tables of the last block are the first ones needed on the way back

    def _way_back(self) -> None:
        """Fill ``rest`` block by block, from the one with all high nodes down."""
        self.rest = np.full(1 << self.n, -np.inf)
        self.rest[-1] = 0.0
        high_tables = np.empty((self.high, 1 << self.low))
        last = (1 << self.high) - 1
        for block in range(last, -1, -1):
            shifted = block << self.low
            outside = [b for b in range(self.high) if not (block >> b) & 1]
            where = f" (back, block {block + 1} of {last + 1})" if self.high else ""
            if block < last:
                tables = [(i, self._low_tables[i]) for i in range(self.low)]
                tables += [(self.low + b, high_tables[b]) for b in outside]
                self._fill_tables(tables, shifted, where)
            for b in outside:
                self._pull(high_tables[b], shifted, b, where)
            chunk_bits = min(CHUNK_BITS, self.low)
            work = partial(
                handy(kernels.sources, 2 * self._low_tables.size),
                self._low_tables,
                self.low,
                shifted,
                self.rest,
                chunk_bits,
            )
            each_layer(self._workers, "best orders back" + where, self.low - chunk_bits, work, down=True)
        self._low_tables = np.empty(0)

    def _pull(self, table: Floats, block: int, b: int, where: str) -> None:
        bit = 1 << (self.low + b)
        pieces = [
            partial(kernels.pull, table, block, bit, self.rest, first, last)
            for first, last in spans(1 << self.low, ENTRIES_PER_PIECE)
        ]
        self._workers.each("best orders back: later blocks" + where, pieces, len(pieces))


def pool_ends(pool: Pool, workers: Workers) -> tuple[Floats, Floats]:
    """Return ``opt`` and ``rest`` over the parent sets of a pool, or raise ``Stopped``."""
    form = pool_form(pool)
    opt, rest = np.full((2, 1 << pool.n_nodes), -np.inf)
    opt[0] = rest[-1] = 0.0
    bits = pool.n_nodes - form.low_bits
    each_layer(workers, "best orders over the pool", bits, partial(pools.blocks, form, opt))
    each_layer(workers, "best orders over the pool, back", bits, partial(kernels.blocks_back, form, rest), down=True)
    return opt, rest


def best_around(opt: Floats, rest: Floats, node: int, workers: Workers, share: tuple[float, float]) -> Floats:
    """Return the best of ``opt[S] + rest[S + node]`` over the S ⊇ J for every set J, indexed by the complement of J."""
    bits = opt.size.bit_length() - 2
    table = np.empty(1 << bits)
    chunk_bits = min(LOW_BITS, bits)
    fill: list[Callable[[], None]] = [
        partial(handy(kernels.around, 4 * table.size), opt, rest, node, table, chunk_bits, first, last)
        for first, last in spans(1 << (bits - chunk_bits), CHUNKS_PER_PIECE)
    ]
    steps = [fill, _closing(table, 0), _closing(table, 1)]
    for k, pieces in enumerate(steps):
        part = (share[1] - share[0]) / len(steps)
        workers.each("edges", pieces, len(pieces), (share[0] + k * part, share[0] + (k + 1) * part))
    return table
