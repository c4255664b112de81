"""Dynamic programming over subsets on the CPU: the best DAG over all parent sets that knowledge allows.

The kernels are in ``kernels/subset_lattice.py``, whose head has the recursion. Here: how much memory and time it
takes, how the work is cut into pieces for the threads, the clock and the progress bar, and how the DAG is
read off the finished table.

References
----------
Silander, Myllymäki (2006). A simple approach for finding the globally optimal Bayesian network structure. UAI.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dagopt.constraints import Knowledge
from dagopt.kernels import subset_lattice as kernels
from dagopt.progress import Progress
from dagopt.scores.base import Score
from dagopt.stop import Deadline

__all__ = ["Plan", "Stopped", "SubsetDP", "plan_subset_dp"]

BYTES = 8
CHUNK_BITS = 10  # of the sink recursion
SECONDS_PER_ENTRY = 6.5e-9  # of the n 2^(n-1) entries, on one core, measured; only for the estimate
SECONDS_PER_JOINT_ROW = 6e-9  # of counting one distinct row for one set


class Stopped(Exception):  # noqa: N818 - not an error: the clock or the user
    """The deadline came before the recursion was done."""


@dataclass(frozen=True)
class Plan:
    """What a run will take.

    Attributes
    ----------
    n_nodes : int
        Number of variables.
    high_bits : int
        How many variables are blocked to save memory (d in the kernels).
    n_bytes : int
        Memory for all tables.
    seconds : float
        A rough estimate.
    """

    n_nodes: int
    high_bits: int
    n_bytes: int
    seconds: float


def plan_subset_dp(n_nodes: int, memory_limit: int, threads: int | None = None) -> Plan | None:
    """Return the fastest plan that fits the memory, or None."""
    cores = threads or os.cpu_count() or 1
    for high in range(min(7, n_nodes - 1)):
        low = n_nodes - high
        entries = low * 2 ** (low - 1) + high * 2**low
        n_bytes = BYTES * (2 * 2**n_nodes + entries)
        if n_bytes <= memory_limit:
            work = n_nodes * 2 ** (n_nodes - 1) * (0.8 + 0.2 * 1.5**high)
            return Plan(n_nodes, high, n_bytes, SECONDS_PER_ENTRY * work / cores)
    return None


class SubsetDP:
    """The recursion for one score and one body of knowledge.

    Parameters
    ----------
    score : Score
        What is maximised.
    knowledge : Knowledge
        Which parent sets are allowed.
    plan : Plan
        How to cut the tables.
    deadline : Deadline
        When to stop.
    progress : Progress
        Where to tell how far it is.
    threads : int, optional
        All cores unless given; the answer is the same to the last bit.
    """

    def __init__(
        self,
        score: Score,
        knowledge: Knowledge,
        plan: Plan,
        deadline: Deadline,
        progress: Progress,
        threads: int | None = None,
    ) -> None:
        self.n = score.n_nodes
        self.high = plan.high_bits
        self.low = self.n - plan.high_bits
        self._score = score
        self._deadline = deadline
        self._progress = progress
        self._threads = threads or os.cpu_count() or 1
        self._free = knowledge.is_free
        weights = 1 << np.arange(self.n, dtype=np.int64)
        self._must = knowledge.must.T.astype(np.int64) @ weights
        self._may = knowledge.may.T.astype(np.int64) @ weights
        self._most = knowledge.at_most
        self.potential: NDArray[np.float64] = np.empty(0)
        self.opt: NDArray[np.float64] = np.empty(0)

    def run(self) -> tuple[NDArray[np.int8], float]:
        """Return the best DAG and its score by the tables, or raise ``Stopped``."""
        with ThreadPoolExecutor(self._threads) as pool:
            self._pool = pool
            self._fill_potentials()
            self._recursion()
            return self._read_off(), float(self.opt[-1])

    def _fill_potentials(self) -> None:
        self.potential = np.empty(1 << self.n)
        prefix = min(max(self.n - 14, 0), 10)
        low = self.n - prefix
        self._each(
            "potentials of all sets",
            (
                lambda high=high: self._score.fill_potentials(high, low, self.potential[high << low : (high + 1) << low])
                for high in range(1 << prefix)
            ),
            1 << prefix,
        )

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
            for b in outside:
                self._push(high_tables[b], shifted, b)

    def _fill_tables(self, tables: list[tuple[int, NDArray[np.float64]]], block: int, where: str) -> None:
        """Fill and close the tables of the nodes: chunk by chunk, then over the remaining bits."""
        pieces: list[Callable[[], None]] = []
        for node, table in tables:
            bits = table.size.bit_length() - 1
            chunks = 1 << max(bits - kernels.LOW_BITS, 0)
            for first, last in _spans(chunks, 1 << 10):
                pieces.append(
                    lambda node=node, table=table, first=first, last=last: kernels.fill(
                        self.potential,
                        node,
                        self.low,
                        block,
                        self._free,
                        self._must[node],
                        self._may[node],
                        self._most[node],
                        table,
                        first,
                        last,
                    )
                )
        self._each("best parents: scores" + where, pieces, len(pieces))
        for step in range(2):
            pieces = []
            for _, table in tables:
                bits = table.size.bit_length() - 1
                rest = max(bits - kernels.LOW_BITS, 0)
                start, count = (kernels.LOW_BITS, rest // 2) if step == 0 else (kernels.LOW_BITS + rest // 2, rest - rest // 2)
                if count == 0:
                    continue
                stretches = (table.size >> count) // kernels.ROW
                for first, last in _spans(stretches, 1 << 12):
                    pieces.append(
                        lambda table=table, start=start, count=count, bits=bits, first=first, last=last: kernels.close_high(
                            table, start, count, bits, first, last
                        )
                    )
            self._each("best parents: subsets" + where, pieces, len(pieces))

    def _sinks(self, tables: NDArray[np.float64], block: int, where: str) -> None:
        chunk_bits = min(CHUNK_BITS, self.low)
        chunks = np.arange(1 << (self.low - chunk_bits))
        size = np.array([int(chunk).bit_count() for chunk in chunks])
        done = 0
        for layer in range(self.low - chunk_bits + 1):
            members = chunks[size == layer]
            parts = np.array_split(members, min(len(members), 4 * self._threads))
            self._each(
                "best orders" + where,
                (lambda part=part: kernels.sinks(tables, self.low, block, self.opt, chunk_bits, part) for part in parts),
                len(parts),
                (done / len(chunks), (done + len(members)) / len(chunks)),
            )
            done += len(members)

    def _push(self, table: NDArray[np.float64], block: int, b: int) -> None:
        bit = 1 << (self.low + b)
        self._each(
            "best orders",
            (
                lambda first=first, last=last: kernels.push(table, block, bit, self.opt, first, last)
                for first, last in _spans(1 << self.low, 1 << 20)
            ),
            max((1 << self.low) >> 20, 1),
        )

    def _each(
        self, phase: str, pieces: Iterable[Callable[[], None]], count: int, share: tuple[float, float] = (0.0, 1.0)
    ) -> None:
        """Run the pieces on the threads, watching the deadline and telling the fraction that is done."""
        waiting = iter(pieces)
        running = {self._pool.submit(piece) for piece in islice(waiting, 2 * self._threads)}
        finished = 0
        while running:
            done, running = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            finished += len(done)
            self._progress.update(phase, share[0] + (share[1] - share[0]) * finished / max(count, 1))
            if self._deadline.reason is not None:
                wait(running)
                raise Stopped
            running |= {self._pool.submit(piece) for piece in islice(waiting, len(done))}

    def _read_off(self) -> NDArray[np.int8]:
        """Follow the best sinks from the full set down, then find each node's best parents."""
        adjacency = np.zeros((self.n, self.n), dtype=np.int8)
        left = (1 << self.n) - 1
        while left:
            for i in (b for b in range(self.n) if (left >> b) & 1):
                rest = left & ~(1 << i)
                chosen, value = kernels.best_set(
                    self.potential, i, rest, self._must[i], self._may[i], self._most[i]
                )
                if chosen >= 0 and self.opt[rest] + value == self.opt[left]:
                    adjacency[[b for b in range(self.n) if (int(chosen) >> b) & 1], i] = 1
                    left = rest
                    break
            else:
                raise AssertionError("no sink explains the best score")
        return adjacency


def _spans(total: int, size: int) -> list[tuple[int, int]]:
    """Return [0, total) in pieces of at most this size."""
    return [(first, min(first + size, total)) for first in range(0, total, size)]
