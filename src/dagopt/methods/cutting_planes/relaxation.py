"""The LP of branch and cut: some of the families, the rows found so far, and a bound that does not rely on the solver.

The LP has the families that matter; after each solve the remainders of all others are computed from the multipliers,
and those that could raise the LP join it. For multipliers λ_r ≥ 0 of rows Σ a_r x ≤ b_r

    Σ_r λ_r b_r + Σ_i max_J (score_i(J) - Σ_r λ_r a_r,iJ)

is a bound for any λ_r, so it holds whatever the LP's tolerances.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.kernels.cuts import tree as kernels
from dagopt.master.families import SUPPORT_TOLERANCE, FamilyArrays
from dagopt.master.rows.base import Point, Row
from dagopt.solvers.highs import LinearProgram, LinearSolution

__all__ = ["Relaxation"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALL_AT_ONCE = 1_000  # up to this many families, all are in the LP from the start
JOINING = 4  # families per node that join the LP at once
LEAST_REMAINDER = 1e-7  # the least remainder of a family that joins
NOWHERE = 1e5  # the cost of a node without a family, paid only in an infeasible LP
SLACK = 1e-12  # relative rounding of the sums of a bound


class Relaxation:
    """The LP over the families.

    Parameters
    ----------
    families : FamilyArrays
        All families.
    given : sequence of Row
        Rows that are never dropped.
    first : int array or None
        Families to start with, if there are too many for the LP at once; the LP is then always feasible, at a high
        cost if no choice of families is. None to put all families in the LP, which may then be infeasible.
    idle_rounds : int
        A row is dropped after this many solves with multiplier 0.
    """

    def __init__(self, families: FamilyArrays, given: Sequence[Row], first: Ints | None, idle_rounds: int) -> None:
        self.idle_rounds = idle_rounds
        self._given = list(given)
        self._may_fail = first is None
        self._rows = _Rows()
        self.n_solved = 0
        self.priced: list[tuple[Row, float]] = []  # the rows with multipliers of the last point
        self._set_up(families, first)
        self.add(self._given)

    def _set_up(self, families: FamilyArrays, first: Ints | None) -> None:
        """Make the LP of these families, with the known rows."""
        self.families = families
        n = families.n_nodes
        best = families.score[families.offsets[:-1]]
        self._constant = float(best.sum())
        self._cost = families.score - best[families.node]
        self._column = np.full(len(families.node), -1, dtype=np.int64)
        self._alive = np.ones(len(families.node), dtype=np.bool_)
        self._program = LinearProgram(maximise=True)
        for _ in range(n):
            self._program.add_row(1.0, 1.0, [], [])
        if first is not None:
            nothing = -NOWHERE - (best - families.score[families.offsets[1:] - 1])
            self._program.add_columns(nothing, np.arange(n))
        self._rows.write(self._program, np.arange(self._rows.count), self._column)  # without entries so far
        if first is None or len(families.node) <= ALL_AT_ONCE:
            first = np.arange(len(families.node))
        self._join(np.unique(first))

    @property
    def n_rows(self) -> int:
        """The number of rows in the LP, besides those of the nodes."""
        return self._rows.count

    @property
    def rows(self) -> list[Row]:
        """The rows of the LP, besides those of the nodes."""
        return list(self._rows.rows)

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows."""
        if rows:
            before = self._rows.count
            self._rows.append(rows)
            self._rows.write(self._program, np.arange(before, self._rows.count), self._column)

    def keep_only(self, kept: Ints, families: FamilyArrays) -> None:
        """Continue with some of the families: those at ``kept``, which are ``families``."""
        self._rows.keep_only(kept, len(self.families.node))
        gone = np.ones(len(self._column), dtype=np.bool_)
        gone[kept] = False
        columns = self._column[gone & (self._column >= 0)]
        fewer = np.zeros(self._program.n_columns, dtype=np.int64)
        fewer[columns] = 1
        self._program.delete_columns(columns)
        place = self._column[kept]
        self._column = np.where(place >= 0, place - np.cumsum(fewer)[place], -1)
        self.families = families
        self._cost, self._alive = self._cost[kept], self._alive[kept]

    def solve(self, alive: Bools, deadline: Deadline, enough: float = -np.inf) -> Point | None:
        """Return an optimal point over the remaining families; None if there is none or the time is up.

        A point whose bound is not above ``enough`` may be returned before all families that would raise the LP join.
        """
        self._restrict(alive)
        while True:
            solution = self._program.solve_within(deadline.remaining())
            self.n_solved += 1
            if deadline.reason is not None:
                return None
            if solution is None and self._program.out_of_time:  # by a clock that counts compilation too
                continue
            if solution is None and self._may_fail:
                return None
            if solution is None:
                solution = self._anew()
            point, remainder = self._point(solution)
            if point.bound <= enough or not self._price(remainder, solution):
                self._age(solution.multipliers[self.families.n_nodes :])
                return point

    def _anew(self) -> LinearSolution:
        """Solve a new LP, because the solver called the old one infeasible, which it cannot be."""
        alive, inside = self._alive, np.flatnonzero(self._column >= 0)
        self._set_up(self.families, inside)
        self._restrict(alive)
        return self._program.solve()

    def _restrict(self, alive: Bools) -> None:
        """Allow only these families."""
        changed = np.flatnonzero((alive != self._alive) & (self._column >= 0))
        self._program.set_uppers(self._column[changed], np.where(alive[changed], np.inf, 0.0))
        self._alive = alive.copy()

    def _point(self, solution: LinearSolution) -> tuple[Point, Floats]:
        """Return the point, with the bound of its multipliers, and the remainders of the families."""
        n, offsets = self.families.n_nodes, self.families.offsets
        multipliers = np.maximum(solution.multipliers[n:], 0.0)
        multipliers[multipliers < 1e-11] = 0.0
        self.priced = [(row, float(w)) for row, w in zip(self._rows.rows, multipliers, strict=True) if w > 0.0]
        remainder = self._cost.copy()
        self._rows.take(multipliers, remainder)
        largest = np.empty(n)
        kernels.best_remainders(remainder, self._alive, offsets, largest)
        rows = multipliers * self._rows.uppers
        bound = float(rows.sum() + largest.sum()) + self._constant
        bound += SLACK * (float(np.abs(rows).sum()) + abs(self._constant))
        excess = np.where(self._alive, remainder, -np.inf) - largest[self.families.node]
        values = np.zeros(len(self._column))
        inside = np.flatnonzero(self._column >= 0)
        values[inside] = solution.point[self._column[inside]]
        return Point(self.families, values, bound, excess), remainder

    def _price(self, remainder: Floats, solution: LinearSolution) -> bool:
        """Let the families with the largest remainders join the LP; say whether there were any."""
        n = self.families.n_nodes
        gain = remainder - solution.multipliers[:n][self.families.node]
        worth = np.flatnonzero((gain > LEAST_REMAINDER) & self._alive & (self._column < 0))
        if not len(worth):
            return False
        order = worth[np.lexsort((-gain[worth], self.families.node[worth]))]
        node = self.families.node[order]
        rank = np.arange(len(order)) - np.searchsorted(node, node)
        self._join(np.sort(order[rank < JOINING]))
        return True

    def _join(self, places: NDArray[np.integer]) -> None:
        """Add families to the LP."""
        new = places[self._column[places] < 0]
        self._column[new] = self._program.n_columns + np.arange(len(new))
        entries = self._rows.columns(new, self.families.node[new], self.families.n_nodes)
        self._program.add_sparse_columns(self._cost[new], *entries)
        dead = new[~self._alive[new]]
        self._program.set_uppers(self._column[dead], np.zeros(len(dead)))

    def _age(self, multipliers: Floats) -> None:
        """Drop rows that have not mattered for some rounds."""
        idle = self._rows.idle
        idle[:] = np.where(np.abs(multipliers) > SUPPORT_TOLERANCE, 0, idle + 1)
        idle[: len(self._given)] = 0
        old = idle >= self.idle_rounds
        if old.sum() > 10:
            self._program.delete_rows(np.flatnonzero(old) + self.families.n_nodes)
            self._rows.drop(old)


class _Rows:
    """Rows over all families, concatenated."""

    def __init__(self) -> None:
        self._index = np.empty(0, dtype=np.int32)
        self._value = np.empty(0)
        self._starts = np.zeros(1, dtype=np.int64)
        self.rows: list[Row] = []
        self.uppers = np.zeros(0)
        self.idle = np.zeros(0, dtype=np.int64)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.uppers)

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows."""
        sizes = [len(row.families) for row in rows]
        used = int(self._starts[-1])
        needed = used + sum(sizes)
        if needed > len(self._index):
            room = max(needed, 2 * len(self._index))
            self._index = np.concatenate([self._index[:used], np.empty(room - used, dtype=np.int32)])
            self._value = np.concatenate([self._value[:used], np.empty(room - used)])
        starts = used + np.concatenate([[0], np.cumsum(sizes)])
        for row, first, last in zip(rows, starts[:-1], starts[1:], strict=True):
            self._index[first:last] = row.families
            self._value[first:last] = row.values
        self._starts = np.concatenate([self._starts, starts[1:]])
        self.rows += rows
        self.uppers = np.append(self.uppers, [row.upper for row in rows])
        self.idle = np.append(self.idle, np.zeros(len(rows), dtype=np.int64))

    def drop(self, gone: Bools) -> None:
        """Remove rows."""
        starts, used = self._starts, 0
        places = [0]
        for r in np.flatnonzero(~gone):
            size = int(starts[r + 1] - starts[r])
            if used < starts[r]:
                self._index[used : used + size] = self._index[starts[r] : starts[r + 1]]
                self._value[used : used + size] = self._value[starts[r] : starts[r + 1]]
            used += size
            places.append(used)
        self._starts = np.array(places, dtype=np.int64)
        self.uppers, self.idle = self.uppers[~gone], self.idle[~gone]
        self.rows = [row for row, out in zip(self.rows, gone, strict=True) if not out]

    def keep_only(self, kept: Ints, n_families: int) -> None:
        """Remove all families except some, which are then renumbered."""
        new = np.full(n_families, -1, dtype=np.int32)
        new[kept] = np.arange(len(kept))
        used = int(self._starts[-1])
        self._index[:used] = new[self._index[:used]]
        entries = self._index[:used] >= 0
        before = np.concatenate([[0], np.cumsum(entries)])
        left = int(before[-1])
        self._index[:left] = self._index[:used][entries]
        self._value[:left] = self._value[:used][entries]
        self._starts = before[self._starts]

    def take(self, multipliers: Floats, remainder: Floats) -> None:
        """Subtract the rows, times multipliers, from the remainders."""
        kernels.take_rows(self._index, self._value, self._starts, multipliers, remainder)

    def write(self, program: LinearProgram, rows: Ints, column: Ints) -> None:
        """Add rows to a program, over the families that have a column in it."""
        indices, values = [], []
        for r in rows:
            own = slice(self._starts[r], self._starts[r + 1])
            places = column[self._index[own]]
            inside = places >= 0
            indices.append(places[inside])
            values.append(self._value[own][inside])
        program.add_rows(self.uppers[rows].tolist(), indices, values)

    def columns(self, places: Ints, node: Ints, n_nodes: int) -> tuple[Ints, Ints, Floats]:
        """Return the entries of families as columns of the program: where each begins, rows, and values.

        The first entry is the one in the row of the family's node.
        """
        starts = np.zeros(len(places) + 1, dtype=np.int64)
        kernels.count_entries(self._index, self._starts, places, starts)
        rows, values = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
        kernels.entries(self._index, self._value, self._starts, places, node, n_nodes, starts, rows, values)
        return starts, rows, values
