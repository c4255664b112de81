"""What the recursions over subsets share: layers of sets of one size, and reading off a DAG from its sinks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import members
from dagopt.workers import Workers

__all__ = ["each_layer", "first_sink", "follow_sinks"]

SETS_PER_PIECE = 64  # sets of one layer that a thread takes at a time


def each_layer(
    workers: Workers,
    phase: str,
    bits: int,
    work: Callable[[NDArray[np.int64]], object],
    *,
    down: bool = False,
    smallest: int = 0,
    sets_per_piece: int = SETS_PER_PIECE,
    share: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Call ``work`` with parts of the 2^bits sets: a set after its subsets or, with ``down``, after its supersets.

    Sets of one size do not depend on each other, so they run in parallel. Sets smaller than ``smallest`` are skipped.
    All of them make up this share of the phase.
    """
    sets = np.arange(1 << bits, dtype=np.int64)
    size = np.bitwise_count(sets)
    done, total = 0, int((size >= smallest).sum())
    layers = range(smallest, bits + 1)
    for layer in reversed(layers) if down else layers:
        chosen = sets[size == layer]
        n_parts = max(4 * workers.count, len(chosen) // sets_per_piece)
        pieces = [partial(work, part) for part in np.array_split(chosen, min(len(chosen), n_parts))]
        ends = [share[0] + (share[1] - share[0]) * n / total for n in (done, done + len(chosen))]
        workers.each(phase, pieces, len(pieces), (ends[0], ends[1]))
        done += len(chosen)


def follow_sinks(n_nodes: int, sink_of: Callable[[int], tuple[int, int]]) -> NDArray[np.int8]:
    """Return a DAG from its sinks, from the full set down.

    Parameters
    ----------
    n_nodes : int
        Number of nodes n.
    sink_of : callable
        Takes a set as bits, returns a node of it that comes last, and that node's parents as bits.
    """
    adjacency = np.zeros((n_nodes, n_nodes), dtype=np.int8)
    left = (1 << n_nodes) - 1
    while left:
        sink, parents = sink_of(left)
        adjacency[members(parents), sink] = 1
        left ^= 1 << sink
    return adjacency


def first_sink(explains: Callable[[int, int], int], left: int) -> tuple[int, int]:
    """Return the first node of a set that comes last in the best DAG over it, and its parents.

    ``explains(set, node)`` returns the best parents of the node, as bits, if with them it explains the best score of
    the set, and -1 if not.
    """
    for node in members(left):
        parents = int(explains(left, node))
        if parents >= 0:
            return node, parents
    raise AssertionError("no sink explains the best score")
