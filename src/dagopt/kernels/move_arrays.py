"""The kernels of ``climbing.py`` with whole arrays, for hill climbing before anything is compiled: the same answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dagopt.kernels.climbing import ADD, DELETE, REVERSE, Rules, is_legal
from dagopt.kernels.plain import plain

__all__ = ["best_move_arrays", "closure_arrays", "extend_closure_arrays"]


def closure_arrays(adjacency: NDArray[np.int8], reach: NDArray[np.int8]) -> bool:
    """Do what ``closure`` does with whole rows: a node whose children are done passes its reach to its parents."""
    left = (adjacency != 0).sum(axis=1)
    ready = np.flatnonzero(left == 0).tolist()
    reach[:] = 0
    for j in ready:  # which grows
        for i in np.flatnonzero(adjacency[:, j]).tolist():
            reach[i] |= reach[j]
            reach[i, j] = 1
            left[i] -= 1
            if left[i] == 0:
                ready.append(i)
    return len(ready) == len(adjacency)


def extend_closure_arrays(reach: NDArray[np.int8], tail: int, head: int) -> None:
    """Do what ``extend_closure`` does, with whole arrays."""
    changed = (reach[:, tail] != 0) & (reach[:, head] == 0)
    changed[tail] = not reach[tail, head]
    gained = reach[head].copy()
    gained[head] = 1
    reach[changed] |= gained


def best_move_arrays(
    gain: NDArray[np.float64],
    adjacency: NDArray[np.int8],
    reach: NDArray[np.int8],
    rules: Rules,
    banned: NDArray[np.int64],
    least: float,
    tolerance: float,
) -> tuple[int, int, int, float]:
    """Do what ``best_move`` does, with whole arrays."""
    must, may, room = rules
    has_edge = adjacency != 0
    legal = may & ~has_edge & (room > 0) & (reach.T == 0)
    both = np.where(has_edge, gain + gain.T, -np.inf)
    open_moves = ((ADD, gain, legal), (DELETE, gain, has_edge & ~must), (REVERSE, both, has_edge & ~must))
    best, found = least, (-1, -1, -1)
    forbidden = set(map(tuple, banned.tolist()))
    legal_move = plain(is_legal)
    for kind, value, can_be in open_moves:
        tails, heads = np.nonzero(can_be & (value > least + tolerance))
        for i, j, own in zip(tails.tolist(), heads.tolist(), value[tails, heads].tolist(), strict=True):
            if own <= best + tolerance or (kind, i, j) in forbidden:
                continue
            if kind != REVERSE or legal_move(adjacency, reach, rules, kind, i, j):
                best, found = own, (kind, i, j)
    return *found, best
