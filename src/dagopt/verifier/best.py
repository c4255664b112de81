"""The best DAG over all orders of the columns, by recursion over sets, and the score of one DAG."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dagopt.verifier.joints import WIDE, Wide

__all__ = ["Allowed", "best_and_own", "is_acyclic"]


@dataclass(frozen=True)
class Allowed:
    """The parent sets of one column: bits that must be in, bits that may be in, and the largest number of parents."""

    must: int
    may: int
    most: int

    def holds(self, parents: int) -> bool:
        """Say whether the set of parents is allowed."""
        return self.must & ~parents == 0 and parents & ~self.may == 0 and parents.bit_count() <= self.most


def best_and_own(
    joints: Wide, penalty: Callable[[int, int], Wide], allowed: list[Allowed], parents: list[int]
) -> tuple[np.longdouble, np.longdouble]:
    """Return the best score of all DAGs with allowed parent sets, and the score of the DAG with these parents.

    Parameters
    ----------
    joints : array with one entry per set of columns
        The local score of i with parents J is ``joints[J + i] - joints[J]`` minus the penalty.
    penalty : callable
        Of a column and the sets of other columns, bits without that of the column: see ``without``.
    allowed : list of Allowed
        For each column.
    parents : list of int
        The parents of each column, as bits.
    """
    n = len(allowed)
    own, best = WIDE(0), []
    for i in range(n):
        pairs = joints.reshape(-1, 2, 1 << i)  # sets without and with i
        local = (pairs[:, 1] - pairs[:, 0]).ravel() - penalty(i, n - 1)
        own = own + local[int(without(np.array(parents[i]), i))]
        local[~_allowed_sets(allowed[i], i, n)] = -np.inf
        for bit in range(n - 1):  # now the best of all subsets
            halves = local.reshape(-1, 2, 1 << bit)
            np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
        best.append(local)
    return _last_columns(best)[-1], own


def _last_columns(best: list[Wide]) -> Wide:
    """Return the best score of a DAG over each set of columns: one of them is last, and the others are before it."""
    n = len(best)
    total = np.full(1 << n, -np.inf, dtype=WIDE)
    total[0] = 0
    sizes = np.bitwise_count(np.arange(1 << n, dtype=np.int64))
    order = np.argsort(sizes, kind="stable")
    ends = np.cumsum(np.bincount(sizes))
    for start, end in pairwise(ends):  # all sets of one size
        sets = order[start:end]
        for i in range(n):
            chosen = sets[sets >> i & 1 == 1]
            before = chosen ^ (1 << i)
            total[chosen] = np.maximum(total[chosen], total[before] + best[i][without(before, i)])
    return total


def without(sets: NDArray[np.int64], i: int) -> NDArray[np.int64]:
    """Return sets that do not contain column i with its bit taken out, so that later bits move down by one."""
    return sets >> (i + 1) << i | sets & ((1 << i) - 1)


def _allowed_sets(rule: Allowed, i: int, n: int) -> NDArray[np.bool_]:
    sets = np.arange(1 << (n - 1), dtype=np.int64)
    must, may = (int(without(np.array(bits), i)) for bits in (rule.must, rule.may))
    found: NDArray[np.bool_] = (sets & must == must) & (sets & ~may == 0) & (np.bitwise_count(sets) <= rule.most)
    return found


def is_acyclic(parents: list[int]) -> bool:
    """Say whether the graph has no cycle: columns whose parents are all gone go, until none is left."""
    left = (1 << len(parents)) - 1
    while left:
        free = [i for i, own in enumerate(parents) if left >> i & 1 and own & left == 0]
        if not free:
            return False
        left &= ~sum(1 << i for i in free)
    return True
