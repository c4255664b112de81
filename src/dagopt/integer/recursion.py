"""Dynamic programming over subsets for a given pool of parent sets: the best DAG over the pool, proven."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.errors import InputError
from dagopt.families.families import Families
from dagopt.integer.layers import each_layer, first_sink, follow_sinks
from dagopt.kernels.lattice import pools as kernels
from dagopt.workers import Workers

__all__ = ["pool_bytes", "pool_form", "pool_seconds", "solve_pool"]

LOW_BITS = 13  # 2^13 numbers are 64 KB: a block stays in the second-level cache
SECONDS_PER_ENTRY = 1.6e-9  # of the n 2^n entries, on one core, measured; only for the estimate


def pool_bytes(n_nodes: int) -> int:
    """Return the memory that ``solve_pool`` takes."""
    return 8 << n_nodes


def pool_seconds(n_nodes: int, cores: int) -> float:
    """Return a rough estimate of the time that ``solve_pool`` takes."""
    return SECONDS_PER_ENTRY * n_nodes * float(1 << n_nodes) / cores


def solve_pool(pool: Families, workers: Workers) -> tuple[NDArray[np.int8], float]:
    """Return the best DAG over a pool and its score, or raise ``Stopped``.

    Every DAG whose parent sets are all candidates is considered; ties are broken in a fixed way.
    """
    n = pool.n_nodes
    form = pool_form(pool)
    opt = np.full(1 << n, -np.inf)
    opt[0] = 0.0
    each_layer(workers, "best orders over the pool", n - form.low_bits, partial(kernels.blocks, form, opt))
    if opt[-1] == -np.inf:
        raise InputError("no DAG can be made of the candidate parent sets; add the empty set of some nodes to the pool")

    def explains(left: int, node: int) -> int:
        rest = left ^ 1 << node
        masks, scores = pool.masks[pool.own(node)], pool.score[pool.own(node)]
        k = kernels.best_candidate(masks, scores, rest)
        return int(masks[k]) if k >= 0 and opt[rest] + scores[k] == opt[left] else -1

    return follow_sinks(n, partial(first_sink, explains)), float(opt[-1])


def pool_form(pool: Families) -> kernels.PoolForm:
    """Return a pool in the form for kernels."""
    return kernels.PoolForm(pool.masks, pool.score, pool.offsets, min(LOW_BITS, pool.n_nodes))
