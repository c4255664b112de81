"""What comes before and after every set: ``opt[S]``, the best DAG over S, and ``rest[S]``, the best that can follow it.

The docstrings of ``kernels/lattice/best_orders.py`` and ``kernels/lattice/edge_regret.py`` have the recursions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from dagopt.arrays import Floats
from dagopt.families.families import Families
from dagopt.graph.knowledge import Knowledge
from dagopt.integer.layers import each_layer
from dagopt.integer.recursion import pool_form
from dagopt.kernels.lattice import edge_regret as kernels
from dagopt.kernels.lattice import pools
from dagopt.kernels.lattice.best_orders import Tables
from dagopt.kernels.lattice.best_parents import LOWER_BITS, Block
from dagopt.kernels.lattice.subsets import LOW_BITS, ROW, close_high
from dagopt.kernels.lattice.whole_arrays import STEPS_PER_OPERATION, around_arrays, extend_back_arrays
from dagopt.kernels.plain import compiled_or_python
from dagopt.methods.exact.subset_dp import ROWS_PER_PIECE, Plan, SubsetDP, all_potentials
from dagopt.scores.base import Score
from dagopt.workers import Workers, spans

__all__ = ["TableEnds", "best_around", "pool_ends"]


CHUNKS_PER_PIECE = 64  # so that a piece of work takes some milliseconds
STRETCHES_PER_PIECE = 1 << 12  # per task of a thread


class TableEnds(SubsetDP):
    """The recursion over all parent sets in both directions.

    Parameters
    ----------
    score, knowledge, plan, workers
        As for ``SubsetDP``.
    every : bool
        Whether the potentials of sets that no best DAG needs are wanted too.
    """

    def __init__(
        self, score: Score, knowledge: Knowledge, plan: Plan, workers: Workers, *, every: bool = False
    ) -> None:
        super().__init__(score, knowledge, plan, workers)
        if every:
            self._score = score
        self.rest: Floats = np.empty(0)

    def fill(self) -> None:
        """Fill ``potentials``, ``opt`` and ``rest``, or raise ``Stopped``."""
        self.potentials = all_potentials(self._score, self._workers)
        self._recursion()
        self._by_sets(self.opt)
        self._by_sets(self.rest)

    def _after_blocks(self, tables: Tables) -> None:
        """Fill ``rest`` block by block, from the one with all high nodes down; its tables are there already."""
        self.rest = self._unknown()
        self.rest[-1] = 0.0
        last = (1 << self.high) - 1
        for block in range(last, -1, -1):
            where = f" (back, block {block + 1} of {last + 1})" if self.high else ""
            bits = block << self.low
            if block < last:
                self._fill(tables, Block(bits, 0), (0.0, 1.0))
            steps = STEPS_PER_OPERATION * (self.shape.place_bits + 1) ** 2 << self.shape.row_bits
            run = compiled_or_python(kernels.extend_back, steps, arrays=extend_back_arrays)
            work = partial(run, tables, self.shape, bits, self.rest)
            rows = self.shape.row_bits
            each_layer(self._workers, "best orders back" + where, rows, work, down=True, sets_per_piece=ROWS_PER_PIECE)

    def _by_sets(self, table: Floats) -> None:
        """Put the entries of a table, which have the row above the place, in the order of the sets."""
        places, rows = self.shape
        upper = places - min(LOWER_BITS, places)
        for block in table.reshape(1 << self.high, 1 << rows, 1 << upper, -1):
            block[...] = block.swapaxes(0, 1).reshape(block.shape)


def pool_ends(pool: Families, workers: Workers) -> tuple[Floats, Floats]:
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
    steps = STEPS_PER_OPERATION * 10 + table.size // 20
    run = compiled_or_python(kernels.around, steps, arrays=around_arrays)
    fill: list[Callable[[], None]] = [
        partial(run, opt, rest, node, table, chunk_bits, first, last)
        for first, last in spans(1 << (bits - chunk_bits), CHUNKS_PER_PIECE)
    ]
    parts = [fill, _closing(table, 0), _closing(table, 1)]
    for k, pieces in enumerate(parts):
        part = (share[1] - share[0]) / len(parts)
        workers.each("edges", pieces, len(pieces), (share[0] + k * part, share[0] + (k + 1) * part))
    return table


def _closing(table: Floats, step: int) -> list[Callable[[], None]]:
    """Return the pieces of work that close a table over one half of its bits above the chunks."""
    rest = max(table.size.bit_length() - 1 - LOW_BITS, 0)
    start, count = (0, rest // 2) if step == 0 else (rest // 2, rest - rest // 2)
    if count == 0:
        return []
    stretches = (table.size >> count) // ROW
    return [
        partial(close_high, table, LOW_BITS + start, count, first, last)
        for first, last in spans(stretches, STRETCHES_PER_PIECE)
    ]
