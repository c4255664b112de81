"""Sets with one more column counted with whole arrays, before anything is compiled: the digits of ``counting.py``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.counts.counting import DENSE_CELLS, Counts, two_sums
from dagopt.kernels.plain import plain

__all__ = ["additions_arrays"]


def additions_arrays(
    counts: Counts,
    node: int,
    parents: NDArray[np.int64],
    without: NDArray[np.float64],
    together: NDArray[np.float64],
) -> None:
    """Do what ``additions`` does without a prior, variable by variable with whole arrays: the same sums."""
    codes, arity, weights, clogc, ess = counts
    rows = codes.shape[1]
    base = np.zeros(rows, dtype=np.int64)
    product = 1.0
    for j in parents.tolist():
        base, _ = _numbered(base * arity[j] + codes[j])
        product *= float(arity[j])
    base, span = _numbered(base)
    own = int(arity[node])
    without[:] = together[:] = np.nan
    for j in np.setdiff1d(np.arange(len(codes)), [node, *parents]).tolist():
        split, finer = base * arity[j] + codes[j], span * int(arity[j])
        if finer * own > max(DENSE_CELLS, 2 * rows):
            split, finer = _numbered(split)
        split, finer = split * own + codes[node], finer * own
        if finer > 4 * rows + DENSE_CELLS:  # where the kernel sums in another order
            larger = product * float(arity[j]) * own
            without[j], together[j] = plain(two_sums)(split, finer, own, weights, clogc, ess, larger)
            continue
        fine = np.bincount(split, weights, minlength=finer).astype(np.int64)
        coarse = fine.reshape(-1, own).sum(axis=1)
        without[j], together[j] = np.cumsum(clogc[coarse])[-1], np.cumsum(clogc[fine])[-1]


def _numbered(cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return the labels as 0, 1, ... in the order in which they occur, as ``renumber`` does, and how many there are."""
    _, first, inverse = np.unique(cells, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)], len(first)
