"""The figures of a table: how one is taken from a run, written, and compared with the paper's."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from experiments.design import Entry
from experiments.instances import Cell
from experiments.published import Given
from experiments.records import Record
from experiments.store import best_of

__all__ = ["FIGURES", "Figure", "Results", "below_best", "gap", "mean", "ratio_text", "seconds_text"]


@dataclass(frozen=True)
class Figure:
    """A figure.

    Attributes
    ----------
    title : str
        Heading of its part of a table.
    of : callable
        From a record with an answer to the number, or None.
    text : callable
        How a mean of ours is written.
    more_is_better : bool
        Whether larger values are better.
    comparable : bool
        Whether figures of different instances can be compared.
    published : bool
        Whether the paper has it.
    """

    title: str
    of: Callable[[Record], float | None]
    text: Callable[[float], str]
    more_is_better: bool = False
    comparable: bool = True
    published: bool = True

    def is_worse(self, ours: float, paper: Given) -> bool:
        """Say whether our figure, rounded like the paper's, is worse."""
        if not self.comparable:
            return False
        rounded = round(ours, paper.digits)
        return rounded < paper.value if self.more_is_better else rounded > paper.value


def gap(record: Record) -> float | None:
    """Return how far a score is below the true graph's, in per cent; negative if it is above.

    The paper's gap is 0 in that case: ``max(gap, 0)``.
    """
    if record.score is None or record.true_score is None:
        return None
    return 100 * (record.true_score - record.score) / abs(record.true_score)


def _floored_gap(record: Record) -> float | None:
    found = gap(record)
    return None if found is None else max(found, 0.0)


def seconds_text(seconds: float) -> str:
    """Write seconds with about three digits.

    Examples
    --------
    >>> seconds_text(0.0123), seconds_text(4.061), seconds_text(3054.63)
    ('0.012', '4.06', '3055')
    """
    decimals = 3 if seconds < 1 else 2 if seconds < 10 else 1 if seconds < 100 else 0
    return f"{seconds:.{decimals}f}"


def ratio_text(ratio: float) -> str:
    """Write a ratio with two digits or more.

    Examples
    --------
    >>> ratio_text(0.000312), ratio_text(0.1), ratio_text(1.234), ratio_text(567.8)
    ('0.00031', '0.10', '1.2', '568')
    """
    if ratio <= 0:
        return "0"
    decimals = 1 - math.floor(math.log10(ratio))
    return f"{ratio:.{max(decimals, 0)}f}"


FIGURES = {
    "gap": Figure("BIC score gap (%)", _floored_gap, "{:.3f}".format),
    "seconds": Figure("Time (seconds)", lambda record: record.seconds, seconds_text),
    "precision": Figure("Precision", lambda record: record.precision, "{:.2f}".format, more_is_better=True),
    "recall": Figure("Recall", lambda record: record.recall, "{:.2f}".format, more_is_better=True),
    "shd": Figure("SHD", lambda record: record.shd, "{:.2f}".format),
    "score": Figure("BIC score", lambda record: record.score, "{:.2f}".format, more_is_better=True, comparable=False),
    "behind": Figure("Below the best of the strategies (% of the score)", lambda record: record.score, "{:.3f}".format),
    "proven": Figure(
        "Proven optimal (% of the runs)",
        lambda record: 100.0 * (record.status == "optimal"),
        "{:.0f}".format,
        more_is_better=True,
        published=False,
    ),
    "first_pricing": Figure("First pricing (seconds a node)", lambda record: record.first_pricing, seconds_text),
}


class Results:
    """Records, one per run, looked up by cell and column.

    Parameters
    ----------
    records : iterable of Record
        Of several records of a run the best is used; see ``best_of``.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = list(best_of(records).values())
        self._by_cell: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
        for record in self.records:
            self._by_cell[(record.instance, *record.key[2:])].append(record)

    def of(self, entry: Entry, cell: Cell) -> list[Record]:
        """Return all records of a column on a cell, by seed; none for other cells."""
        if not entry.takes(cell):
            return []
        found = self._by_cell.get((cell.name, *entry.run(cell, None).key[2:]), [])
        return sorted(found, key=lambda record: record.seed or 0)

    def values(self, entries: Sequence[Entry], cell: Cell, figure: str) -> list[float]:
        """Return a figure of all runs of a column that have an answer."""
        records = [record for entry in entries for record in self.of(entry, cell) if record.ended]
        values = [FIGURES[figure].of(record) for record in records]
        return [float(value) for value in values if value is not None]

    def behind(self, columns: Sequence[Sequence[Entry]], cell: Cell) -> Sequence[float | None]:
        """Return how far each column's mean score is below the best, in per cent, over the seeds that all have."""
        scores = [
            {r.seed: r.score for entry in entries for r in self.of(entry, cell) if r.ended and r.score is not None}
            for entries in columns
        ]
        common = set.intersection(*map(set, scores)) if scores else set()
        if not common:
            return [None] * len(columns)
        means = [mean([one[seed] for seed in sorted(common, key=str)]) for one in scores]
        return below_best(means)


def below_best(scores: Sequence[float]) -> list[float]:
    """Return how far each score is below the highest, in per cent of it."""
    best = max(scores)
    return [100 * (best - score) / abs(best) for score in scores]


def mean(values: Sequence[float]) -> float:
    """Return the mean of some numbers."""
    return sum(values) / len(values)
