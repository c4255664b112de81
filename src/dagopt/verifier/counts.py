"""The parent sets of discrete columns that can be best, with their scores from counts, in extended precision.

The local score of i with parents J is ``joint(J + i) - joint(J)`` minus a penalty. Sets are counted from small to
large. All sets that contain J are left out if none of them can score more than J or a subset of J does:

- with penalties, their likelihood is at most that with all other columns as parents, and they cost at least what J
  costs with one more column;
- with BDeu, the first row of each cell of the parents has probability 1 / levels of i, and the others at most 1, so
  they score at most minus the number of cells that occur times log(levels of i), and that grows with the parents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagopt.verifier.best import Allowed, Floats, without
from dagopt.verifier.gaussian import UNIT, WIDE, Wide

__all__ = ["CountLocals", "Joints"]

Sets = NDArray[np.int64]
MOST_SETS = 20_000_000  # sets that are counted, about half an hour with 1,000 rows
TABLES = 512  # tables of logarithms that are kept, one per number of possible cells


class Joints:
    """What the counts of a set of columns add to a score: sums over the cells that occur, made when they are asked for.

    Parameters
    ----------
    codes : array of shape (n, distinct rows)
        The levels of each column.
    weights : array
        How often each distinct row occurs.
    arity : list of int
        The number of levels of each column.
    prior : float
        0 for the likelihood, the sum of c log c over the counts c; else the equivalent sample size of BDeu, where a
        cell with c rows adds log p (p + 1) ... (p + c - 1), p being the prior divided by the number of possible cells.
    """

    def __init__(self, codes: NDArray[Any], weights: Sets, arity: list[int], prior: float = 0.0) -> None:
        self._known: dict[int, tuple[Sets, Wide, Sets]] = {}  # for each size: sets in order, sums and cells that occur
        self.n_counted = 0
        n_rows, total = codes.shape[1], int(weights.sum())
        size = total * (math.log(total + 1) + sum(map(math.log, arity)) + 1 + (abs(math.log(prior)) if prior else 0.0))
        self.rounding = 2 * len(codes) * UNIT * (n_rows + (total if prior else 0) + 4 * len(codes) + 16) * size

        @lru_cache(maxsize=TABLES)
        def terms(cells: int) -> Wide:
            """Return what a cell with 0, 1, ..., N rows adds."""
            counts = np.arange(total + 1, dtype=WIDE)
            if prior == 0.0:
                return np.asarray(counts * np.log(np.maximum(counts, 1)), dtype=WIDE)
            steps = np.log(WIDE(prior) / WIDE(cells) + counts[:-1])
            return np.concatenate([np.zeros(1, dtype=WIDE), np.cumsum(steps)])

        @lru_cache(maxsize=256)
        def cells(chosen: int) -> tuple[Sets, int]:
            """Return the cell of each row, and a number that is larger than all of them."""
            if not chosen:
                return np.zeros(n_rows, dtype=np.int64), 1
            column = (chosen & -chosen).bit_length() - 1  # the first one: sets in order have the later ones in common
            labels, number = cells(chosen & (chosen - 1))
            labels, number = labels * arity[column] + codes[column], number * arity[column]
            if number > 4 * n_rows:
                kinds, labels = np.unique(labels, return_inverse=True)
                number = len(kinds)
            return labels, number

        def count(later: int, columns: list[int]) -> tuple[list[np.longdouble], list[int]]:
            """Return the sums and the cells that occur of the set ``later`` with each of some earlier columns."""
            labels, number = cells(later)
            widest = max(arity[j] for j in columns)
            together = labels * widest + codes[columns] + np.arange(len(columns))[:, None] * (number * widest)
            counts = np.bincount(together.ravel(), np.tile(weights, len(columns)), len(columns) * number * widest)
            table = counts.astype(np.int64).reshape(len(columns), -1)
            if prior:
                known = math.prod(a for j, a in enumerate(arity) if later >> j & 1)
                sums = [terms(known * arity[j])[own].sum() for j, own in zip(columns, table, strict=True)]
            else:
                sums = list(terms(0)[table].sum(axis=1))
            return sums, (table > 0).sum(axis=1).tolist()

        self._count, self._terms, self._prior, self._total = count, terms, prior, total

    def of(self, sets: Sets, size: int) -> tuple[Wide, Sets]:
        """Return the sums of different sets of one size, and the cells that occur; count those that are new."""
        empty = (np.empty(0, dtype=np.int64), np.empty(0, dtype=WIDE), np.empty(0, dtype=np.int64))
        known, sums, cells = self._known.get(size, empty)
        place = np.searchsorted(known, sets)
        new = sets[(place == len(known)) | (known[np.minimum(place, len(known) - 1)] != sets)] if len(known) else sets
        if len(new):
            self.n_counted += len(new)
            if self.n_counted > MOST_SETS:
                raise OverflowError(f"more than {MOST_SETS:,} sets of columns would have to be counted")
            new, more, occur = self._counted(new)
            known = np.concatenate([known, new])
            order = np.argsort(known)
            sums, cells = np.concatenate([sums, more])[order], np.concatenate([cells, occur])[order]
            known = known[order]
            self._known[size] = known, sums, cells
            place = np.searchsorted(known, sets)
        return sums[place], cells[place]

    def _counted(self, sets: Sets) -> tuple[Sets, Wide, Sets]:
        """Count new sets, those that differ in their first column together; return them in that order."""
        if not sets[0]:
            sums = self._terms(1 if self._prior else 0)[[self._total]]
            return sets, sums, np.ones(1, dtype=np.int64)
        later = sets & (sets - 1)
        order = np.argsort(later, kind="stable")
        sets, later = sets[order], later[order]
        first = np.bitwise_count((sets & -sets) - 1).tolist()
        starts = [0, *(np.flatnonzero(np.diff(later)) + 1).tolist(), len(sets)]
        found = [self._count(int(later[a]), first[a:b]) for a, b in pairwise(starts)]
        sums = np.array([one for own, _ in found for one in own], dtype=WIDE)
        return sets, sums, np.array([one for _, own in found for one in own], dtype=np.int64)

    def forget(self, size: int) -> None:
        """Drop the sets of a size that is no longer needed."""
        self._known.pop(size, None)


class CountLocals:
    """The local scores of all sets that can be best.

    Parameters
    ----------
    joints : Joints
        Where the counts come from.
    penalty : callable
        Of a column, sets of others, and a number: the least that these sets with so many more columns cost.
    levels : list of int or None
        With BDeu, the number of levels of each column; else None.
    allowed : list of Allowed
        For each column.
    """

    def __init__(
        self,
        joints: Joints,
        penalty: Callable[[int, Sets, int], Wide],
        levels: list[int] | None,
        allowed: list[Allowed],
    ) -> None:
        self._joints, self._penalty = joints, penalty
        n = len(allowed)
        growing = [_Growing(i, rule) for i, rule in enumerate(allowed)]
        everything = (1 << n) - 1
        most = [] if levels else [self._local(i, np.array([everything & ~(1 << i)]))[0][0] for i in range(n)]
        for size in range(n):
            asked = [own.sets for own in growing], [own.sets | 1 << own.i for own in growing]
            for more, sets in enumerate(asked):  # counted together, which is faster
                joints.of(np.unique(np.concatenate(sets)), size + more)
            for own in growing:
                if len(own.sets):
                    scores, cells = self._local(own.i, own.sets)
                    costs = self._penalty(own.i, own.sets, 0)
                    ceiling = (
                        -cells * np.log(WIDE(levels[own.i]))
                        if levels
                        else most[own.i] - self._penalty(own.i, own.sets, 1)
                    )
                    own.grow(scores - costs, ceiling, size)
            joints.forget(size)
        self._found = [(np.concatenate(own.listed), np.concatenate(own.scores)) for own in growing]

    def _local(self, i: int, sets: Sets) -> tuple[Wide, Sets]:
        """Return the score of column i with parents of one size before penalties, and the number of their cells."""
        size = int(sets[0]).bit_count()
        before, cells = self._joints.of(sets, size)
        return self._joints.of(sets | 1 << i, size + 1)[0] - before, cells

    def raise_to(self, best: Floats, i: int, high: int, low: int) -> bool:
        """Raise ``best`` to the scores of column i with parents H + L; see ``best.Locals``."""
        sets, scores = self._found[i]
        chosen = sets >> low == high
        places = sets[chosen] & ((1 << low) - 1)
        places = without(places, i) if i < low else places
        larger = bool((scores[chosen] > best[places]).any())
        best[places] = np.maximum(best[places], scores[chosen])
        return larger

    def own(self, i: int, parents: int) -> float:
        """Return the score of column i with these parents."""
        sets = np.array([parents])
        return float((self._local(i, sets)[0] - self._penalty(i, sets, 0))[0])


class _Growing:
    """The sets of one column while they grow: those of the last size, and the best score inside each."""

    def __init__(self, i: int, rule: Allowed) -> None:
        self.i, self._rule = i, rule
        self.sets = np.zeros(1, dtype=np.int64)
        self.listed: list[Sets] = []
        self.scores: list[Floats] = []
        self._inside = np.full(1, -np.inf, dtype=WIDE)  # the best score of a smaller set inside each
        self._free = [b for b in range(rule.may.bit_length()) if rule.may >> b & 1]

    def grow(self, scores: Wide, ceiling: Wide, size: int) -> None:
        """Keep the sets that beat all their subsets, and make those of the next size."""
        rule = self._rule
        scores = np.where(self.sets & rule.must == rule.must, scores, -np.inf)
        kept = scores > self._inside
        self.listed.append(self.sets[kept])
        self.scores.append(scores[kept].astype(np.float64))
        inside = np.maximum(scores, self._inside)
        grows = ceiling > inside
        sets, inside = self.sets[grows], inside[grows]  # in order
        if size == rule.most or not len(sets) or not self._free:
            self.sets = sets[:0]
            return
        larger = np.concatenate([sets[sets < 1 << b] | 1 << b for b in self._free])  # each from its first columns
        found, good = np.full(len(larger), -np.inf, dtype=WIDE), np.ones(len(larger), dtype=bool)
        for b in self._free:  # each subset with one column less must be there
            has = np.flatnonzero(larger >> b & 1)
            smaller = larger[has] ^ (1 << b)
            place = np.minimum(np.searchsorted(sets, smaller), len(sets) - 1)
            good[has] &= sets[place] == smaller
            found[has] = np.maximum(found[has], inside[place])
        order = np.argsort(larger[good])
        self.sets, self._inside = larger[good][order], found[good][order]
