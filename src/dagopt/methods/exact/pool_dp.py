"""Dynamic programming over subsets for a given pool of parent sets: the best DAG over the pool, proven."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.candidates.pool import Pool
from dagopt.errors import InputError
from dagopt.kernels.lattice import pools as kernels
from dagopt.workers import Workers

__all__ = ["pool_bytes", "pool_seconds", "solve_pool"]

LOW_BITS = 13
SECONDS_PER_ENTRY = 1.6e-9  # of the n 2^n entries, on one core, measured; only for the estimate


def pool_bytes(n_nodes: int) -> int:
    """Return the memory that ``solve_pool`` takes."""
    return 8 << n_nodes


def pool_seconds(n_nodes: int, cores: int) -> float:
    """Return a rough estimate of the time that ``solve_pool`` takes."""
    return SECONDS_PER_ENTRY * n_nodes * float(1 << n_nodes) / cores


def solve_pool(pool: Pool, workers: Workers) -> tuple[NDArray[np.int8], float]:
    """Return the best DAG over a pool and its score, or raise ``Stopped``.

    Every DAG whose parent sets are all candidates is considered; the answer is a fixed choice among equals.
    """
    n = pool.n_nodes
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in pool.masks])]).astype(np.int64)
    masks = np.concatenate(pool.masks)
    scores = np.concatenate(pool.scores)
    low = min(LOW_BITS, n)
    opt = np.full(1 << n, -np.inf)
    opt[0] = 0.0
    chosen = np.arange(1 << (n - low))
    size = np.bitwise_count(chosen)
    done = 0
    for layer in range(n - low + 1):
        members = chosen[size == layer]
        parts = np.array_split(members, min(len(members), max(4 * workers.count, len(members) // 64)))
        pieces = [partial(kernels.blocks, masks, scores, offsets, low, part, opt) for part in parts]
        share = (done / len(chosen), (done + len(members)) / len(chosen))
        workers.each("best orders over the pool", pieces, len(pieces), share)
        done += len(members)
    if opt[-1] == -np.inf:
        raise InputError("no DAG can be made of the candidate parent sets; add the empty set of some nodes to the pool")
    return _read_off(pool, opt), float(opt[-1])


def _read_off(pool: Pool, opt: NDArray[np.float64]) -> NDArray[np.int8]:
    """Follow the best sinks from the full set down."""
    n = pool.n_nodes
    adjacency = np.zeros((n, n), dtype=np.int8)
    left = (1 << n) - 1
    while left:
        for i in (b for b in range(n) if (left >> b) & 1):
            rest = left & ~(1 << i)
            k = kernels.best_candidate(pool.masks[i], pool.scores[i], rest)
            if k >= 0 and opt[rest] + pool.scores[i][k] == opt[left]:
                mask = int(pool.masks[i][k])
                adjacency[[b for b in range(n) if (mask >> b) & 1], i] = 1
                left = rest
                break
        else:
            raise AssertionError("no sink explains the best score")
    return adjacency
