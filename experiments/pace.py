"""How long runs take, estimated from finished runs and from the paper; used for the remaining time of a plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

from experiments.design import designs
from experiments.published import published
from experiments.records import Record, Run

__all__ = ["Pace", "in_words"]

FIRST_GUESS = 10.0  # seconds for a run about which nothing is known
LOADING = 2.5  # seconds to start a process and load the method, until this has been measured

Level = tuple[object, ...]


class Pace:
    """Expected seconds of runs: the mean of the nearest runs known.

    Nearest are those of the same method, options and cell; then of the same number of columns; then what the paper says
    about the method on the cell; then runs of the method with these options; then of the method.

    Parameters
    ----------
    records : iterable of Record
        Earlier runs, from whatever machine.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._sums: dict[Level, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._loading = [0.0, 0.0]
        for record in records:
            self.add(record)

    def add(self, record: Record, elapsed: float | None = None) -> None:
        """Learn from a run, and from the total time of its process."""
        if record.seconds is None:
            return
        for level in _levels(record):
            total = self._sums[level]
            total[0] += record.seconds
            total[1] += 1
        if elapsed is not None:
            self._loading[0] += max(elapsed - record.seconds, 0.0)
            self._loading[1] += 1

    def expect(self, run: Run) -> float:
        """Return the seconds that a run will take, loading included; no more than its limit."""
        known = [self._sums.get(level) for level in _levels(run)]
        means = [None if total is None else total[0] / total[1] for total in known]
        means.insert(2, _paper_seconds().get((run.instance, *run.key[2:])))
        seconds = next((one for one in means if one is not None), FIRST_GUESS)
        loading = self._loading[0] / self._loading[1] if self._loading[1] else LOADING
        return min(seconds, run.limit) + loading

    def remaining(self, runs: Sequence[Run], jobs: int) -> float:
        """Return the seconds that runs will take, ``jobs`` at a time."""
        each = [self.expect(run) for run in runs]
        return max(sum(each) / jobs, max(each, default=0.0))


def in_words(seconds: float) -> str:
    """Return a time in readable form.

    Examples
    --------
    >>> in_words(42), in_words(600), in_words(8000)
    ('42 s', '10 min', '2 h 13 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def _levels(run: Run) -> list[Level]:
    method, options = run.key[2:]
    return [
        (method, options, run.instance),
        (method, options, run.cell.n_nodes),
        (method, options),
        (method,),
    ]


@cache
def _paper_seconds() -> dict[Level, float]:
    """Return the paper's mean seconds by cell, method and options."""
    seconds: dict[Level, float] = {}
    for design in designs().values():
        for cell in design.cells:
            for entry in design.entries:
                source = published()[design.published] if design.published and entry.paper else None
                given = source.get(cell.name, "seconds", entry.paper or "") if source else None
                if given is not None:
                    seconds[(cell.name, *entry.run(cell, None).key[2:])] = given.value
    return seconds
