"""What happened in a run of column generation: one row per event, and the seconds of each part."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.progress import Progress

__all__ = ["COLUMNS", "Trace"]

COLUMNS = ["seconds", "pass", "phase", "lp", "score", "families", "rows", "reduced_cost"]


class Trace:
    """Collects rows, times the parts and reports progress.

    Parameters
    ----------
    deadline : Deadline
        The clock.
    progress : Progress
        Told at every row.
    """

    def __init__(self, deadline: Deadline, progress: Progress) -> None:
        self.rows: list[dict[str, object]] = []
        self.passes = 1
        self.best = -np.inf
        self.parts: dict[str, float] = {}
        self._deadline = deadline
        self._progress = progress
        self._before = 0.0  # seconds already used by the resumed run

    def resume(self, rows: list[dict[str, Any]], passes: int) -> None:
        """Continue after the rows and passes of an earlier run; its seconds count."""
        self.rows = list(rows)
        self.passes = passes + 1
        self._before = float(rows[-1]["seconds"]) if rows else 0.0

    def add(
        self, phase: str, lp: float, families: int, rows: int, reduced_costs: NDArray[np.float64] | None = None
    ) -> None:
        """Add a row and show it."""
        worst = None if reduced_costs is None else float(np.min(reduced_costs))
        finite = worst is not None and np.isfinite(worst)
        row: dict[str, object] = {
            "seconds": self._before + self._deadline.elapsed(),
            "pass": self.passes,
            "phase": phase,
            "lp": lp,
            "score": self.best if np.isfinite(self.best) else np.nan,
            "families": families,
            "rows": rows,
            "reduced_cost": worst if finite else np.nan,
        }
        row.update({f"{part}_seconds": seconds for part, seconds in self.parts.items()})
        self.rows.append(row)
        shown: dict[str, object] = {"pass": self.passes}
        if np.isfinite(lp):
            shown["LP"] = lp
        if np.isfinite(self.best):
            shown["best"] = float(self.best)
        shown.update({"families": families, "rows": rows})
        if finite:
            shown["worst rc"] = worst
        shown.update({part: f"{seconds:.1f}s" for part, seconds in self.parts.items()})
        self._progress.update(phase, None, **shown)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the time of the block to a part."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.parts[part] = self.parts.get(part, 0.0) + time.perf_counter() - start

    def frame(self) -> pd.DataFrame:
        """Return the rows as a table, which has its columns even if it is empty."""
        return pd.DataFrame(self.rows) if self.rows else pd.DataFrame(columns=COLUMNS)
