"""The problem to solve: a score over the columns of a table, and what is known about the graph."""

from __future__ import annotations

from dataclasses import dataclass

from dagopt.data.table import Table
from dagopt.graph.knowledge import Knowledge
from dagopt.scores.base import Score

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """One structure learning problem, the input of every method.

    Attributes
    ----------
    table : Table
        The data.
    score : Score
        What is maximised.
    knowledge : Knowledge
        Which parent sets are allowed.
    asked : Knowledge or None
        What the user allows, if the method limits the number of parents further by default.
    """

    table: Table
    score: Score
    knowledge: Knowledge
    asked: Knowledge | None = None

    @property
    def past_score(self) -> float:
        """The score of the columns of the past, which have no parents in any graph; 0 unless rows are moments.

        The score of a result is that of its DAG without this constant.
        """
        lags = self.table.lags
        past = range(0) if lags is None else range(lags.n_series, self.n_nodes)
        return float(sum(self.score.local(i) for i in past))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return self.table.names

    @property
    def n_nodes(self) -> int:
        """Number of columns n."""
        return len(self.table.names)
