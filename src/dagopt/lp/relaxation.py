"""The LP of branch and cut: some of the families, the rows found so far, and a bound that does not rely on the solver.

The LP has the families that matter; after each solve the remainders of all others are computed from the multipliers,
and those that could raise the LP join it. For multipliers λ_r ≥ 0 of rows Σ a_r x ≤ b_r

    Σ_r λ_r b_r + Σ_i max_J (score_i(J) - Σ_r λ_r a_r,iJ)

is a bound for any λ_r, so it holds whatever the LP's tolerances.

Rows are shared: several LPs may hold the same rows, each with its own basis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints
from dagopt.deadline import Deadline
from dagopt.families.families import SUPPORT_TOLERANCE, Families
from dagopt.kernels.cuts import tree as kernels
from dagopt.lp.highs import LinearProgram, LinearSolution
from dagopt.lp.rows.rewriting import Renumbering
from dagopt.lp.rows.row import SLACK, DualPoint, Point, Row

__all__ = ["Relaxation", "Start"]


ALL_AT_ONCE = 1_000  # up to this many families, all are in the LP from the start
JOINING = 4  # families per node that join the LP at once
LEAST_REMAINDER = 1e-7  # the least remainder of a family that joins
NOWHERE = 1e5  # the cost of a node without a family, paid only in an infeasible LP


@dataclass(frozen=True, eq=False)
class Start:
    """Where an LP stands: its rows and its basis, from which another LP of the same families can continue.

    Attributes
    ----------
    rows : tuple of Row
        The rows, besides those of the nodes.
    families : int array
        The families that are basic.
    nothing : int array
        The nodes whose artificial column is basic.
    slack : int array
        The rows, those of the nodes first, whose slack is basic.
    """

    rows: tuple[Row, ...]
    families: Ints
    nothing: Ints
    slack: Ints


class Relaxation:
    """The LP over the families.

    Parameters
    ----------
    families : Families
        All families.
    given : sequence of Row
        Rows that are never dropped.
    first : int array or None
        Families to start with, if there are too many for the LP at once; the LP is then always feasible, at a high
        cost if no choice of families is. None to put all families in the LP, which may then be infeasible.
    idle_rounds : int
        A row is dropped after this many solves with multiplier 0.
    """

    def __init__(self, families: Families, given: Sequence[Row], first: Ints | None, idle_rounds: int) -> None:
        self.idle_rounds = idle_rounds
        self._given: list[Row] = []
        self._may_fail = first is None
        self._rows: list[Row] = []
        self._idle = np.zeros(0, dtype=np.int64)  # solves since each row last had a multiplier
        self.n_solved = 0
        self._set_up(families, first)
        self.add(given)
        self._given = list(self._rows)

    def _set_up(self, families: Families, first: Ints | None) -> None:
        """Make the LP of these families, with the known rows."""
        self.families = families
        n = families.n_nodes
        self._reference = best = families.score[families.offsets[:-1]]  # costs are relative to this
        self._constant = float(best.sum())
        self._cost = families.score - best[families.node]
        self._column = np.full(len(families.node), -1, dtype=np.int64)
        self._alive = np.ones(len(families.node), dtype=np.bool_)
        self._program = LinearProgram(maximise=True, perturb=False)
        for _ in range(n):
            self._program.add_row(1.0, 1.0, [], [])
        if first is not None:
            nothing = -NOWHERE - (best - families.score[families.offsets[1:] - 1])
            self._program.add_columns(nothing, np.arange(n))
        self._write(self._rows)  # without entries so far
        if first is None or len(families.node) <= ALL_AT_ONCE:
            first = np.arange(len(families.node))
        self._join(np.unique(first))

    @property
    def n_rows(self) -> int:
        """The number of rows in the LP, besides those of the nodes."""
        return len(self._rows)

    @property
    def rows(self) -> list[Row]:
        """The rows of the LP, besides those of the nodes."""
        return list(self._rows)

    def add(self, rows: Sequence[Row]) -> None:
        """Add rows."""
        new = [_compact(row) for row in rows]
        self._rows += new
        self._idle = np.append(self._idle, np.zeros(len(new), dtype=np.int64))
        self._write(new)

    def _write(self, rows: Sequence[Row]) -> None:
        """Add rows to the program, over the families that have a column in it."""
        indices, values = [], []
        for row in rows:
            places = self._column[row.families]
            inside = places >= 0
            indices.append(places[inside])
            values.append(row.values[inside])
        self._program.add_rows([row.upper for row in rows], indices, values)

    def change(self, moved: Renumbering, *, join: bool = False) -> None:
        """Continue with other families, from the same basis; new ones ``join`` the LP now, or when they matter."""
        families, place = moved.families, moved.place
        self._rows = [moved.row(row) for row in self._rows]
        self._given = self._rows[: len(self._given)]
        gone = np.zeros(self._program.n_columns, dtype=np.int64)
        gone[self._column[(place < 0) & (self._column >= 0)]] = 1
        self._program.delete_columns(np.flatnonzero(gone))
        column, alive = self._column - np.cumsum(gone)[self._column], self._alive
        inside = np.flatnonzero((place >= 0) & (self._column >= 0))
        self._column = np.full(len(families), -1, dtype=np.int64)
        self._column[place[inside]] = column[inside]
        self._alive = np.ones(len(families), dtype=np.bool_)
        self._alive[place[place >= 0]] = alive[place >= 0]
        self._cost = families.score - self._reference[families.node]
        self.families = families
        if join:
            self._join(moved.new)

    @property
    def inside(self) -> Ints:
        """The families that are in the LP."""
        return np.flatnonzero(self._column >= 0)

    def twin(self, inside: Ints | None = None) -> Relaxation:
        """Return another LP of the same families, with some of them or the same ones in it, and the given rows."""
        first = None if self._may_fail else self.inside if inside is None else inside
        return Relaxation(self.families, self._given, first, self.idle_rounds)

    def renewed(self) -> Relaxation:
        """Return a new LP that stands where this one does: what it does next depends on that alone."""
        start, new = self.start(), self.twin()
        new.n_solved = self.n_solved
        new.load(start)
        return new

    def start(self) -> Start:
        """Return where this LP stands after a solve."""
        basic = self._program.basic()
        columns = basic[basic >= 0]
        owner = np.full(self._program.n_columns, -1, dtype=np.int64)
        inside = np.flatnonzero(self._column >= 0)
        owner[self._column[inside]] = inside
        families = owner[columns]
        return Start(tuple(self._rows), families[families >= 0], columns[families < 0], -1 - basic[basic < 0])

    def load(self, start: Start) -> None:
        """Continue where another LP of the same families, or this one, has stood.

        The basis is kept if the rows are the same, because the next solve is then faster.
        """
        wanted = {id(row) for row in start.rows}
        gone = np.array([id(row) not in wanted for row in self._rows], dtype=np.bool_)
        present = {id(row) for row in self._rows}
        new = [row for row in start.rows if id(row) not in present]
        if not new and not gone.any():
            return
        self._drop(gone)
        self.add(new)
        self._idle[:] = 0
        self._join(np.sort(start.families))
        place = {id(row): r for r, row in enumerate(self._rows)}
        n = self.families.n_nodes
        slack = [r if r < n else n + place[id(start.rows[r - n])] for r in start.slack.tolist()]
        columns = np.concatenate([self._column[start.families], start.nothing])
        self._program.set_basic(columns, np.array(slack, dtype=np.int64))

    def solve(self, alive: Bools, deadline: Deadline, enough: float = -np.inf, *, drop: bool = True) -> Point | None:
        """Return an optimal point over the remaining families; None if there is none or the time is up.

        A point whose bound is not above ``enough`` may be returned before all families that would raise the LP join.
        Idle rows are dropped, if ``drop``.
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
                solution = self._rebuild()
            point, remainder = self._point(solution)
            if point.bound <= enough or not self._price(remainder, solution):
                if drop:
                    self._age(solution.multipliers[self.families.n_nodes :])
                return point

    def _rebuild(self) -> LinearSolution:
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
        used = np.flatnonzero(multipliers)
        duals = DualPoint(tuple(self._rows[r] for r in used), multipliers[used])
        remainder = self._cost.copy()
        for row, weight in zip(duals.rows, duals.weights.tolist(), strict=True):
            kernels.take_row(row.families, row.values, weight, remainder)
        largest = np.empty(n)
        kernels.best_remainders(remainder, self._alive, offsets, largest)
        rows = multipliers * np.array([row.upper for row in self._rows])
        bound = float(rows.sum() + largest.sum()) + self._constant
        bound += SLACK * (float(np.abs(rows).sum()) + abs(self._constant))
        excess = np.where(self._alive, remainder, -np.inf) - largest[self.families.node]
        values = np.zeros(len(self._column))
        inside = np.flatnonzero(self._column >= 0)
        values[inside] = solution.point[self._column[inside]]
        return Point(self.families, values, bound, excess, self._reference + largest, duals), remainder

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
        entries = self._entries(new)
        self._program.add_sparse_columns(self._cost[new], *entries)
        dead = new[~self._alive[new]]
        self._program.set_uppers(self._column[dead], np.zeros(len(dead)))

    def _entries(self, places: NDArray[np.integer]) -> tuple[Ints, Ints, Floats]:
        """Return families as columns of the program: where the entries of each begin, their rows, and their values."""
        n = self.families.n_nodes
        entries = np.zeros((n + len(self._rows), len(places)))
        entries[self.families.node[places], np.arange(len(places))] = 1.0
        for row, own in zip(self._rows, entries[n:], strict=True):
            kernels.entries(row.families, row.values, places, own)
        columns, rows = np.nonzero(entries.T)
        starts = np.searchsorted(columns, np.arange(len(places) + 1))
        return starts, rows, entries[rows, columns]

    def _age(self, multipliers: Floats) -> None:
        """Drop rows that have not mattered for some rounds."""
        idle = self._idle
        idle[:] = np.where(np.abs(multipliers) > SUPPORT_TOLERANCE, 0, idle + 1)
        idle[: len(self._given)] = 0
        old = idle >= self.idle_rounds
        if old.sum() > 10:
            self._drop(old)

    def _drop(self, gone: Bools) -> None:
        """Remove rows."""
        self._program.delete_rows(np.flatnonzero(gone) + self.families.n_nodes)
        self._rows = [row for row, out in zip(self._rows, gone, strict=True) if not out]
        self._idle = self._idle[~gone]


def _compact(row: Row) -> Row:
    """Return a row with indices of 32 bits, the row itself if it has them."""
    return row if row.families.dtype == np.int32 else replace(row, families=row.families.astype(np.int32))
