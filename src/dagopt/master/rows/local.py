"""Local cuts as rows: see ``master/local_cuts.py``."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dagopt.master.families import FamilyArrays
from dagopt.master.local_cuts import LocalSeparator
from dagopt.master.rows.base import Point, Row, RowFinder

__all__ = ["LocalRows"]

ROWS_A_ROUND, MOST_ROWS = 20, 160  # if the root stalls, more rows are wanted, so larger subsets are searched


class LocalRows(RowFinder):
    """Finds local cuts.

    Parameters
    ----------
    threads : ThreadPoolExecutor
        Where kernels run.
    largest : int
        The number of nodes of the largest subsets; below 3 there are no cuts.
    random_state : int
        The seed for choosing subsets.
    stopped : callable
        Says when to return early.
    """

    def __init__(
        self, threads: ThreadPoolExecutor, largest: int, random_state: int, stopped: Callable[[], bool]
    ) -> None:
        self._options = (threads, largest, ROWS_A_ROUND, random_state)
        self._stopped = stopped
        self._wanted = ROWS_A_ROUND
        self._known: tuple[FamilyArrays, LocalSeparator] | None = None

    def separate(self, point: Point) -> list[Row]:
        """Return violated rows, those of small subsets first."""
        if self._known is None or self._known[0] is not point.families:
            self._known = (point.families, LocalSeparator(point.families, *self._options))
        separator = self._known[1]
        separator.wanted = self._wanted
        return [
            Row(cut.families, cut.coefficients, 1.0, "local") for cut in separator.separate(point.values, self._stopped)
        ]

    def harder(self) -> bool:
        """Look for twice as many rows from now on, unless that is too many."""
        if self._wanted >= MOST_ROWS:
            return False
        self._wanted *= 2
        return True

    def easier(self) -> None:
        """Look for the usual number of rows again."""
        self._wanted = ROWS_A_ROUND
