"""Local cuts as rows: see ``lp/rows/local_separation.py``."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dagopt.families.families import Families
from dagopt.lp.rows.local_separation import LocalCut, LocalSeparator
from dagopt.lp.rows.row import Origin, Point, Row, RowFinder

__all__ = ["LocalRows", "local_row"]

ROUNDING = 1e-13  # of the sums of up to twelve coefficients that are at most 1
ROWS_PER_ROUND, MOST_ROWS = 20, 160  # if the root stalls, more rows are wanted, so larger subsets are searched


def local_row(families: Families, origin: Origin) -> Row:
    """Return the row of a local cut."""
    assert origin.table is not None
    cut = LocalCut(np.flatnonzero(origin.inside), origin.table)
    return Row(*cut.over(families), 1.0 + ROUNDING, "local", origin)


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
        self._options = (threads, largest, ROWS_PER_ROUND, random_state)
        self._stopped = stopped
        self._wanted = ROWS_PER_ROUND
        self._known: tuple[Families, LocalSeparator] | None = None

    def separate(self, point: Point) -> list[Row]:
        """Return violated rows, those of small subsets first."""
        if self._known is None or self._known[0] is not point.families:
            self._known = (point.families, LocalSeparator(point.families, *self._options))
        separator = self._known[1]
        separator.wanted = self._wanted
        rows = []
        for cut in separator.separate(point.values, self._stopped):
            inside = np.zeros(point.families.n_nodes, dtype=np.bool_)
            inside[cut.subset] = True
            rows.append(local_row(point.families, Origin(inside, table=cut.table)))
        return rows

    def harder(self) -> bool:
        """Look for twice as many rows from now on, unless that is too many."""
        if self._wanted >= MOST_ROWS:
            return False
        self._wanted *= 2
        return True

    def easier(self) -> None:
        """Look for the usual number of rows again."""
        self._wanted = ROWS_PER_ROUND
