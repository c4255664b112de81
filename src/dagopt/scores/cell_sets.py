"""The potentials of the conditional Gaussian score for all sets of columns, slice by slice.

In each slice the rows are split once by every set of discrete columns, and one kernel takes all subsets of the
continuous ones. The values are those of ``ConditionalGaussianScore.potential`` up to the errors that are given.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.bits import members
from dagopt.kernels.gaussian.cells import subset_cell_sums
from dagopt.scores.cell_bounds import ROWS_TO_SPARE, CellTable
from dagopt.scores.digits import UNIT

__all__ = ["CellSets"]

Slice = tuple[Floats, Floats]  # potentials and their errors


class CellSets:
    """Potentials of all sets of columns, and their errors; slices are computed when they are first asked for.

    Parameters
    ----------
    table : CellTable
        The columns.
    penalty : float
        The cost of one parameter.
    """

    def __init__(self, table: CellTable, penalty: float) -> None:
        self._table, self._penalty = table, penalty
        self._slices: dict[tuple[int, int], Slice] = {}
        self._locks: dict[tuple[int, int], Lock] = {}
        self._lock = Lock()

    def of(self, high: int, low_bits: int) -> Slice:
        """Return the slice of the 2^low_bits sets whose higher bits are those of ``high``."""
        with self._lock:
            lock = self._locks.setdefault((high, low_bits), Lock())
        with lock:
            if (high, low_bits) not in self._slices:
                self._slices[high, low_bits] = self._computed(high, low_bits)
            return self._slices[high, low_bits]

    def _computed(self, high: int, low_bits: int) -> Slice:
        table = self._table
        fixed = [low_bits + b for b in members(high)]
        discrete = [j for j in range(low_bits) if table.discrete[j]]
        numbers = [j for j in range(low_bits) if not table.discrete[j]]
        fixed_numbers = [j for j in fixed if not table.discrete[j]]
        potentials, errors = np.empty(1 << low_bits), np.empty(1 << low_bits)
        places = _sums_of_subsets(np.array([1 << j for j in numbers], dtype=np.int64))
        for own in _sums_of_subsets(np.array([1 << j for j in discrete], dtype=np.int64)):
            levels = [j for j in fixed if table.discrete[j]] + list(members(int(own)))
            found = self._with_levels(levels, fixed_numbers, numbers)
            potentials[own + places], errors[own + places] = found
        return potentials, errors

    def _with_levels(self, levels: list[int], fixed: list[int], free: list[int]) -> Slice:
        """Return the slice of all sets with these discrete columns, these fixed numbers and any of the free ones."""
        table = self._table
        cells, span = table.cells(sorted(levels))
        likelihoods, errors = np.empty(1 << len(free)), np.empty(1 << len(free))
        chosen = np.array(fixed + free, dtype=np.int64)
        subset_cell_sums(table.values, chosen, len(fixed), cells, span, ROWS_TO_SPARE, likelihoods, errors)
        sizes = len(fixed) + _sums_of_subsets(np.ones(len(free), dtype=np.int64))
        units, lengths = (
            one[fixed].sum() + _sums_of_subsets(one[free])
            for one in (table.n_rows * table.log_units, table.n_rows * np.abs(table.log_units))
        )
        penalties = self._penalty * (float(table.arity[levels].prod(dtype=float)) * (1 + sizes * (sizes + 3) / 2) - 1)
        allowed = np.isfinite(likelihoods)
        rounded = (len(levels) + sizes + 4) * UNIT * (lengths + np.abs(likelihoods) + penalties)
        return likelihoods - units - penalties, np.where(allowed, errors + rounded, 0.0)


def _sums_of_subsets(values: Floats | Ints) -> np.ndarray:
    """Return the sums of all subsets; bit b of a place is value b."""
    sums = np.zeros(1, dtype=values.dtype)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
