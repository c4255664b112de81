"""Dynamic programming over subsets on one GPU: the recursion of ``subset_dp.py`` in CUDA kernels.

This module needs only numpy, CuPy and the file of kernels beside it, so that it can be tried and timed where the rest
is not installed.

The recursion and its blocks are those of ``kernels/lattice/best_orders.py``; what differs is how a block is spread over
the device:

* potentials: one CUDA block per pattern of the high bits, whose Schur complement its threads share; each thread walks
  the tree of the lowest bits;
* best parents: 2^12 neighbours are filled and closed in shared memory, then the higher bits a few at a time;
* best orders: in layers by the number of high bits in a set, each CUDA block handling a chunk of 2^10 sets.

All numbers are relative to the graph without edges: the sum over single columns is subtracted from ``F(S)``.
Storage is float64, or float32 if only that fits; then the possible error of any DAG's score is bounded, and
the DAG found should be scored again in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from dagopt.integer.layers import first_sink, follow_sinks

__all__ = ["GpuPlan", "GpuSubsetDP", "plan_gpu", "rounding_error"]

FEWEST_NODES = 18  # columns within a block, at least
LOW = 12  # bits closed while a chunk is in shared memory
CHUNK = 10  # bits of a chunk of the order recursion
TOP_OF_TREE = 16  # variables that the first kernel leaves to the second
SPARE_BYTES = 700 << 20  # for the driver, the kernels and what they need besides the tables
MOST_NODES = 34  # more would need another part of best_set's bits, and more memory than a device has

_SOURCE = Path(__file__).with_suffix(".cu")


@dataclass(frozen=True)
class GpuPlan:
    """The memory of a run on a GPU, and how its tables are cut.

    Attributes
    ----------
    n_nodes : int
        Number of variables.
    high_bits : int
        How many variables are blocked to save memory.
    dtype : str
        ``float64``, or ``float32`` if only that fits.
    n_bytes : int
        Memory for all tables.
    """

    n_nodes: int
    high_bits: int
    dtype: str
    n_bytes: int


def plan_gpu(n_nodes: int, memory: int, dtypes: tuple[str, ...] = ("float64", "float32")) -> GpuPlan | None:
    """Return the first plan that fits the memory: float64 before float32, few high bits before many."""
    if n_nodes > MOST_NODES:
        return None
    for dtype in dtypes:
        size = np.dtype(dtype).itemsize
        for high in range(8):
            low = n_nodes - high
            if low < FEWEST_NODES:
                break
            entries = 2 * 2**n_nodes + low * 2 ** (low - 1) + (2**low if high else 0)
            if size * entries + SPARE_BYTES <= memory:
                return GpuPlan(n_nodes, high, dtype, size * entries)
    return None


def rounding_error(n_nodes: int, largest: float, dtype: str) -> float:
    """Return a bound on the error of any DAG's score in the tables.

    Every potential is at most ``largest`` in size and rounded once; a local score is a rounded difference of
    two, and an order adds n of them with n more roundings of sums that are at most n times a local score.
    """
    if dtype == "float64":
        return 0.0
    unit = 2.0**-24
    local = 2 * largest
    return n_nodes * unit * (2 * largest + local * (1 + unit)) + n_nodes * unit * n_nodes * local


class GpuSubsetDP:
    """The recursion on the current CUDA device.

    Parameters
    ----------
    matrix : array of shape (n, n)
        Positive definite, with unit diagonal.
    constant, power : arrays of length n + 1
        ``F(S) = constant[|S|] - power[|S|] / 2 * (log det matrix_SS + sum of log_scale over S)``.
    must, may : int arrays
        The parents that each node must and may have, as bit masks.
    at_most : int array
        The largest number of parents of each node.
    plan : GpuPlan
        How to cut the tables.
    tick : callable, optional
        Called as ``tick(phase, fraction)`` between kernels; it may raise to stop.
    log_scale : array of length n, optional
        Logarithms of the diagonal that was divided out of the matrix; zeros unless given.
    potential : array of length 2^n, optional
        The potentials themselves, instead of matrix, constant and power.
    pivot_floor : float
        A pivot below this means that other columns determine the column.
    """

    def __init__(
        self,
        matrix: np.ndarray | None,
        constant: np.ndarray | None,
        power: np.ndarray | None,
        must: np.ndarray,
        may: np.ndarray,
        at_most: np.ndarray,
        plan: GpuPlan,
        tick: Callable[[str, float], None] | None = None,
        log_scale: np.ndarray | None = None,
        potential: np.ndarray | None = None,
        pivot_floor: float = 1e-12,
    ) -> None:
        self.n = plan.n_nodes
        if self.n - plan.high_bits < FEWEST_NODES:
            raise ValueError(
                f"expected at least {FEWEST_NODES} unblocked columns but got {self.n - plan.high_bits}; change the plan"
            )
        self.high = plan.high_bits
        self.low = self.n - plan.high_bits
        self._dtype = np.dtype(plan.dtype)
        self._matrix, self._constant, self._power = matrix, constant, power
        self._log_scale = np.zeros(self.n) if log_scale is None else np.asarray(log_scale, dtype=np.float64)
        self._given = potential
        self._must = [int(x) for x in must]
        self._may = [int(x) for x in may]
        self._most = [int(x) for x in at_most]
        self._floor = pivot_floor
        self._tick = tick or (lambda phase, fraction: None)
        self.table: Any = None
        self.opt: Any = None
        name = "double" if self._dtype == np.float64 else "float"
        options = ("-std=c++17", f"-DREAL={name}", f"-DLOW={LOW}", f"-DCHUNK={CHUNK}", "--fmad=false")
        module = cp.RawModule(code=_SOURCE.read_text(), options=options)
        names = ("top_of_tree", "potentials", "fill", "close_high", "sinks", "push", "largest", "best_set")
        self._kernels: dict[str, Any] = {kernel: module.get_function(kernel) for kernel in names}
        for kernel in names:
            self._kernels[kernel].max_dynamic_shared_size_bytes = 100_000

    def run(self) -> tuple[np.ndarray, float, float]:
        """Return the best DAG, its score relative to the graph without edges, and the largest potential."""
        try:
            self._potentials()
            self._recursion()
            return self._read_off(), float(self.opt[-1]), self._largest()
        finally:
            self.table = self.opt = None
            cp.get_default_memory_pool().free_all_blocks()

    def _launch(self, kernel: str, blocks: int, threads: int, *arguments: Any, shared: int = 0) -> None:
        self._kernels[kernel]((int(blocks),), (threads,), arguments, shared_mem=shared)

    def _potentials(self) -> None:
        self.table = cp.empty(1 << self.n, dtype=self._dtype)
        if self._given is not None:
            self.table.set(_relative(self._given, self.n).astype(self._dtype))
            return
        assert self._constant is not None
        top = self.n - TOP_OF_TREE
        left, value = cp.empty((1 << top, 256)), cp.empty(1 << top)
        matrix = cp.asarray(np.ascontiguousarray(self._matrix, dtype=np.float64))
        scale = cp.asarray(self._log_scale)
        constant = np.asarray(self._constant, dtype=np.float64) - self._constant[0]
        power = np.asarray(self._power, dtype=np.float64)
        single = constant[1] - 0.5 * power[1] * self._log_scale
        n, floor = np.int32(self.n), np.float64(self._floor)
        shared = 8 * self.n * self.n
        self._launch("top_of_tree", 1 << top, 128, matrix, scale, n, left, value, floor, shared=shared)
        by_size = (cp.asarray(constant), cp.asarray(power), cp.asarray(single))
        self._launch("potentials", 1 << top, 256, left, value, scale, *by_size, n, self.table, floor)
        self._synchronise("potentials of all sets", 1.0)
        del left, value
        cp.get_default_memory_pool().free_all_blocks()

    def _recursion(self) -> None:
        self.opt = cp.full(1 << self.n, -np.inf, dtype=self._dtype)
        self.opt[0] = 0
        half = 1 << (self.low - 1)
        tables = cp.empty((self.low, half), dtype=self._dtype)
        spare = cp.empty(1 << self.low, dtype=self._dtype) if self.high else None
        self._prepare_chunks()
        for block in range(1 << self.high):
            shifted = block << self.low
            for i in range(self.low):
                self._fill(i, shifted, tables[i], self.low - 1)
                self._synchronise("best parents", (block + i / self.low) / (1 << self.high), every=4, at=i)
            self._sinks(tables, shifted)
            for b in (b for b in range(self.high) if not (block >> b) & 1):
                self._fill(self.low + b, shifted, spare, self.low)
                bit = np.uint64(1 << (self.low + b))
                size = np.uint64(1 << self.low)
                self._launch("push", 4096, 256, spare, np.uint64(shifted), bit, self.opt, size)
            self._synchronise("best orders", (block + 1) / (1 << self.high))

    def _fill(self, node: int, block: int, out: Any, bits: int) -> None:
        size = self._dtype.itemsize
        self._launch(
            "fill",
            1 << (bits - LOW),
            512,
            self.table,
            np.int32(node),
            np.int32(self.low),
            np.uint64(block),
            np.uint64(self._must[node]),
            np.uint64(self._may[node]),
            np.int32(self._most[node]),
            out,
            shared=size << LOW,
        )
        rest = bits - LOW
        parts = [rest] if rest <= 8 else [rest // 2, rest - rest // 2]
        first = LOW
        for count in parts:
            if count:
                blocks = 1 << (bits - count - 4)
                self._launch(
                    "close_high", blocks, 512, out, np.int32(first), np.int32(count), shared=size * 16 << count
                )
            first += count

    def _prepare_chunks(self) -> None:
        chunks = np.arange(1 << (self.low - CHUNK), dtype=np.uint32)
        size = np.bitwise_count(chunks)
        self._layers = [cp.asarray(chunks[size == layer]) for layer in range(self.low - CHUNK + 1)]
        places = np.arange(1 << CHUNK)
        ones = np.bitwise_count(places)
        order = np.argsort(ones, kind="stable").astype(np.uint16)
        bounds = np.concatenate([[0], np.cumsum(np.bincount(ones, minlength=CHUNK + 1))]).astype(np.int32)
        self._order, self._bounds = cp.asarray(order), cp.asarray(bounds)

    def _sinks(self, tables: Any, block: int) -> None:
        shared = self._dtype.itemsize * ((1 << CHUNK) + (CHUNK << (CHUNK - 1)))
        for layer in self._layers:
            self._launch(
                "sinks",
                len(layer),
                256,
                tables,
                np.int32(self.low),
                np.uint64(block),
                self.opt,
                layer,
                self._order,
                self._bounds,
                shared=shared,
            )

    def _largest(self) -> float:
        values = cp.empty(1024, dtype=self._dtype)
        self._launch("largest", 1024, 256, self.table, np.uint64(1 << self.n), values)
        return float(values.get().max())

    def _best_set(self, node: int, inside: int) -> tuple[int, Any]:
        """Return the best parents of a node inside a set, and their score in the table's precision."""
        allowed = inside & self._may[node]
        if self._must[node] & ~allowed:
            return -1, None
        blocks = 1024
        values = cp.empty(blocks, dtype=self._dtype)
        sets = cp.empty(blocks, dtype=np.uint64)
        self._launch(
            "best_set",
            blocks,
            256,
            self.table,
            np.int32(node),
            np.uint64(allowed),
            np.uint64(self._must[node]),
            np.int32(self._most[node]),
            np.uint64(1 << allowed.bit_count()),
            values,
            sets,
        )
        found, masks = values.get(), sets.get()
        best = found.max()
        if best == -np.inf:
            return -1, None
        return int(masks[found == best].min()), best

    def _read_off(self) -> np.ndarray:
        """Follow the best sinks from the full set down."""

        def explains(left: int, node: int) -> int:
            rest = left ^ 1 << node
            chosen, value = self._best_set(node, rest)
            found = chosen >= 0 and self._dtype.type(self.opt[rest].get() + value) == self.opt[left].get()
            return chosen if found else -1

        def sink_of(left: int) -> tuple[int, int]:
            self._tick("reading off", 1 - left.bit_count() / self.n)
            return first_sink(explains, left)

        return follow_sinks(self.n, sink_of)

    def _synchronise(self, phase: str, fraction: float, every: int = 1, at: int = 0) -> None:
        if at % every == 0:
            cp.cuda.Device().synchronize()
            self._tick(phase, fraction)


def _relative(potential: np.ndarray, n: int) -> np.ndarray:
    """Return the potentials minus those of their single columns."""
    relative: np.ndarray = potential - potential[0]
    for b in range(n):
        single = relative[1 << b]
        relative.reshape(-1, 2, 1 << b)[:, 1] -= single
    return relative
