"""Linear programs on HiGHS: one model that stays in memory, to which columns (LP variables) and rows are added.

The signs of duals are converted only here. For a maximisation with rows ``a x <= b`` the multipliers
are λ >= 0 and the reduced cost of a column is ``cost - Σ λ_r a_r``, which is at most 0 for every column at its
lower bound when the point is optimal. A minimisation is the maximisation of the negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from dagopt.errors import DagoptError

__all__ = ["LinearProgram", "LinearSolution", "SolverError"]

NO_LIMIT = 1e15  # seconds
GIVEN_UP = (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kTimeLimit)
DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4  # HiGHS's "simplex_strategy"; the dual one is its own choice


class SolverError(DagoptError, RuntimeError):
    """An LP ended in a way that cannot happen for the programs of this library."""


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """An optimal point of a linear program.

    Attributes
    ----------
    value : float
        The objective, in the sense of the program.
    point : array
        The values of the columns.
    multipliers : array
        One per row; see the module docstring for the sign.
    reduced_costs : array
        One per column: cost - Σ λ_r a_r of a maximisation, the negative of that of a minimisation.
    """

    value: float
    point: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    reduced_costs: NDArray[np.float64]


class LinearProgram:
    """A linear program that grows.

    Parameters
    ----------
    maximise : bool
        The sense of the objective.
    perturb : bool
        Whether the dual simplex may perturb the costs, which helps with degenerate points and costs iterations at
        others.
    """

    def __init__(self, maximise: bool, *, perturb: bool = True) -> None:
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("threads", 1)
        self._highs.setOptionValue("random_seed", 0)
        self._highs.setOptionValue("presolve", "off")  # solves start from the last basis
        if not perturb:
            self._highs.setOptionValue("dual_simplex_cost_perturbation_multiplier", 0.0)
        sense = highspy.ObjSense.kMaximize if maximise else highspy.ObjSense.kMinimize
        self._highs.changeObjectiveSense(sense)
        self._maximise = maximise
        self.n_columns = 0
        self.n_rows = 0
        self._grown: set[str] = set()  # since the last solve

    def add_column(
        self,
        cost: float,
        lower: float,
        upper: float,
        rows: Sequence[int] = (),
        values: Sequence[float] = (),
    ) -> int:
        """Add a column with its entries in existing rows; return its index."""
        self._highs.addCol(
            cost,
            lower,
            upper,
            len(rows),
            np.asarray(rows, dtype=np.int32),
            np.asarray(values, dtype=np.float64),
        )
        self.n_columns += 1
        self._grown.add("columns")
        return self.n_columns - 1

    def add_columns(self, costs: NDArray[np.float64], rows: NDArray[np.integer]) -> None:
        """Add columns with lower bound 0, each with a one in one existing row."""
        count = len(costs)
        self._highs.addCols(
            count,
            np.asarray(costs, dtype=np.float64),
            np.zeros(count),
            np.full(count, np.inf),
            count,
            np.arange(count, dtype=np.int32),
            np.asarray(rows, dtype=np.int32),
            np.ones(count),
        )
        self.n_columns += count
        self._grown.add("columns")

    def add_sparse_columns(
        self,
        costs: NDArray[np.float64],
        starts: NDArray[np.integer],
        rows: NDArray[np.integer],
        values: NDArray[np.float64],
    ) -> None:
        """Add columns between 0 and infinity; column k has ``values[starts[k]:starts[k + 1]]`` in rows that exist."""
        if not len(costs):
            return
        self._highs.addCols(
            len(costs),
            np.asarray(costs, dtype=np.float64),
            np.zeros(len(costs)),
            np.full(len(costs), np.inf),
            int(starts[-1]),
            starts[:-1].astype(np.int32),
            rows.astype(np.int32),
            values.astype(np.float64),
        )
        self.n_columns += len(costs)
        self._grown.add("columns")

    def add_row(
        self, lower: float, upper: float, columns: Sequence[int], values: Sequence[float] | NDArray[np.float64]
    ) -> int:
        """Add a row over existing columns; return its index."""
        self._highs.addRow(
            lower,
            upper,
            len(columns),
            np.asarray(columns, dtype=np.int32),
            np.asarray(values, dtype=np.float64),
        )
        self.n_rows += 1
        self._grown.add("rows")
        return self.n_rows - 1

    def set_costs(self, first: int, costs: Sequence[float] | NDArray[np.float64]) -> None:
        """Change the costs of the columns from ``first`` on."""
        places = np.arange(first, first + len(costs), dtype=np.int32)
        self._highs.changeColsCost(len(costs), places, np.asarray(costs, dtype=np.float64))

    def add_rows(
        self, uppers: Sequence[float], columns: Sequence[NDArray[np.integer]], values: Sequence[NDArray[np.float64]]
    ) -> None:
        """Add rows ``a x <= upper`` over existing columns."""
        if not uppers:
            return
        starts = np.concatenate([[0], np.cumsum([len(own) for own in columns])])
        self._highs.addRows(
            len(uppers),
            np.full(len(uppers), -np.inf),
            np.asarray(uppers, dtype=np.float64),
            int(starts[-1]),
            starts[:-1].astype(np.int32),
            np.concatenate(columns).astype(np.int32),
            np.concatenate(values).astype(np.float64),
        )
        self.n_rows += len(uppers)
        self._grown.add("rows")

    def delete_rows(self, rows: NDArray[np.integer]) -> None:
        """Remove rows by their indices; later rows move up."""
        if len(rows):
            self._highs.deleteRows(len(rows), np.sort(rows).astype(np.int32))
            self.n_rows -= len(rows)

    def delete_columns(self, columns: NDArray[np.integer]) -> None:
        """Remove columns by their indices; later ones move up. The basis is kept unless it contains one of them."""
        if len(columns):
            self._highs.deleteCols(len(columns), np.sort(columns).astype(np.int32))
            self.n_columns -= len(columns)
            self._grown.add("bounds")

    def set_uppers(self, columns: NDArray[np.integer], uppers: NDArray[np.float64]) -> None:
        """Change the upper bounds of columns whose lower bound is 0."""
        if len(columns):
            places = np.asarray(columns, dtype=np.int32)
            self._highs.changeColsBounds(len(columns), places, np.zeros(len(columns)), uppers)
            self._grown.add("bounds")

    def set_row_uppers(self, rows: NDArray[np.integer], uppers: NDArray[np.float64]) -> None:
        """Change the right sides of rows ``a x <= upper``."""
        if len(rows):
            none = np.full(len(rows), -np.inf)
            self._highs.changeRowsBounds(len(rows), np.asarray(rows, dtype=np.int32), none, uppers)
            self._grown.add("bounds")

    def basic(self) -> NDArray[np.int64]:
        """Return the basis of the last solve: the basic columns, and -1 - r for each row r whose slack is basic.

        Without a valid basis, all slacks.
        """
        status, found = self._highs.getBasicVariables()
        if status == highspy.HighsStatus.kOk:
            return np.asarray(found, dtype=np.int64)
        basis = self._highs.getBasis()
        if not basis.valid:
            return -1 - np.arange(self.n_rows)
        columns, rows = (
            [place for place, one in enumerate(own) if one == highspy.HighsBasisStatus.kBasic]
            for own in (basis.col_status, basis.row_status)
        )
        return np.array([*columns, *(-1 - row for row in rows)], dtype=np.int64)

    def set_basic(self, columns: NDArray[np.integer], slacks: NDArray[np.integer]) -> None:
        """Start the next solve from the basis of these columns and the slacks of these rows.

        All other columns are at their lower bound, all other rows at their upper one.
        """
        at_lower, at_upper = highspy.HighsBasisStatus.kLower, highspy.HighsBasisStatus.kUpper
        basis = highspy.HighsBasis()
        for name, count, chosen, other in (
            ("col_status", self.n_columns, columns, at_lower),
            ("row_status", self.n_rows, slacks, at_upper),
        ):
            status = [other] * count
            for place in chosen.tolist():
                status[place] = highspy.HighsBasisStatus.kBasic
            setattr(basis, name, status)
        self._highs.setBasis(basis)
        self._grown.add("bounds")

    def solve(self) -> LinearSolution:
        """Return an optimal point, starting from the last basis; if that fails, from scratch by three algorithms.

        New columns leave the last point feasible, so the primal simplex continues from it; new rows leave its duals
        feasible, so the dual simplex does.
        """
        solution = self.solve_within(NO_LIMIT)
        if solution is None:
            raise self._failure()
        return solution

    def solve_within(self, seconds: float) -> LinearSolution | None:
        """Do what ``solve`` does; None if the program is infeasible or the time is up (``out_of_time``)."""
        self._highs.setOptionValue("time_limit", min(self._highs.getRunTime() + seconds, NO_LIMIT))
        only_columns = self._grown == {"columns"}
        self._highs.setOptionValue("simplex_strategy", PRIMAL_SIMPLEX if only_columns else DUAL_SIMPLEX)
        self._grown.clear()
        if not self._run():
            if self._highs.getModelStatus() in GIVEN_UP:
                return None
            if not (self._run_anew(DUAL_SIMPLEX) or self._run_anew(PRIMAL_SIMPLEX) or self._run_inside()):
                if self.out_of_time:
                    return None
                raise self._failure()
        solution = self._highs.getSolution()
        sign = 1.0 if self._maximise else -1.0
        return LinearSolution(
            float(self._highs.getInfo().objective_function_value),
            np.array(solution.col_value, dtype=np.float64),
            sign * np.array(solution.row_dual, dtype=np.float64),
            sign * np.array(solution.col_dual, dtype=np.float64),
        )

    @property
    def out_of_time(self) -> bool:
        """Whether the last run was ended by its time limit."""
        return bool(self._highs.getModelStatus() == highspy.HighsModelStatus.kTimeLimit)

    def _failure(self) -> SolverError:
        status = self._highs.modelStatusToString(self._highs.getModelStatus())
        return SolverError(f"expected an optimal LP but HiGHS says {status}")

    def _run_anew(self, strategy: int) -> bool:
        """Run HiGHS without the last basis."""
        self._highs.clearSolver()
        self._highs.setOptionValue("simplex_strategy", strategy)
        return self._run()

    def _run_inside(self) -> bool:
        """Run HiGHS by its interior-point method, with a crossover to a basis."""
        self._highs.clearSolver()
        self._highs.setOptionValue("solver", "ipm")
        try:
            return self._run()
        finally:
            self._highs.setOptionValue("solver", "choose")

    def _run(self) -> bool:
        """Run HiGHS and say whether the point is optimal."""
        self._highs.run()
        return bool(self._highs.getModelStatus() == highspy.HighsModelStatus.kOptimal)
