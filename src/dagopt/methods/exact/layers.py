"""Sets layer by layer of their size: those of one size do not depend on each other, so they run side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.workers import Workers

__all__ = ["each_layer"]

SETS_A_PIECE = 64


def each_layer(
    workers: Workers, phase: str, bits: int, work: Callable[[NDArray[np.int64]], object], *, down: bool = False
) -> None:
    """Call ``work`` with parts of the 2^bits sets: a set after its subsets or, with ``down``, after its supersets."""
    sets = np.arange(1 << bits, dtype=np.int64)
    size = np.bitwise_count(sets)
    done = 0
    for layer in reversed(range(bits + 1)) if down else range(bits + 1):
        members = sets[size == layer]
        n_parts = max(4 * workers.count, len(members) // SETS_A_PIECE)
        pieces = [partial(work, part) for part in np.array_split(members, min(len(members), n_parts))]
        workers.each(phase, pieces, len(pieces), (done / len(sets), (done + len(members)) / len(sets)))
        done += len(members)
