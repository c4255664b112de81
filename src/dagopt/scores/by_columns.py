"""A score as Gaussian scores of columns, which pricing takes: no DAG scores more than its columns do.

A Gaussian score is its own, with interventions the Gaussian score of the rows that count for each node. For blocks,
column b of block i gets all columns of the blocks of J_i as parents, and the columns of block i before b. An edge
between two blocks costs at least as much as its m_i m_j edges between columns, if each costs the penalty of a parameter
and a share of that of an edge. See docs/proofs.md.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dagopt.arrays import Bools, Dag, Floats, Ints
from dagopt.data.continuous import CovarianceTable
from dagopt.graph.knowledge import Knowledge
from dagopt.scores.base import Score
from dagopt.scores.gaussian import GaussianScore

__all__ = ["ByColumns", "score_of_columns"]

SLACK = 1e-12  # relative rounding error of sums


def score_of_columns(matrix: Floats, starts: Ints, n_samples: int, costs: tuple[float, float]) -> GaussianScore:
    """Return the Gaussian score of the columns of blocks.

    Parameters
    ----------
    matrix : array
        The correlations of the columns.
    starts : int array
        Block j has the columns ``starts[j]`` to ``starts[j + 1]``, exclusive.
    n_samples : int
        Number of rows.
    costs : tuple of float
        What a parameter costs, and what an edge between blocks costs in addition.
    """
    names = tuple(f"column {k}" for k in range(len(matrix)))
    penalty = costs[0] + costs[1] / float(max(np.diff(starts).max(initial=1), 1)) ** 2
    return GaussianScore(CovarianceTable(names, matrix, n_samples), penalty)


class ByColumns:
    """The score of the columns, and what relates it to that of the blocks.

    Parameters
    ----------
    score : Score
        Of the columns; ``score.part(i)`` is a ``GaussianScore`` for each of them.
    starts : int array
        Block j has the columns ``starts[j]`` to ``starts[j + 1]``, exclusive.
    empty : float, optional
        The score of the blocks without edges. None if the columns are those of the table, with the same scores.
    """

    def __init__(self, score: Score, starts: Ints, empty: float | None = None) -> None:
        self.score = score
        self.starts = starts
        self._blocks: Ints = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self._empty = empty

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self._blocks)

    @property
    def is_same(self) -> bool:
        """Whether the columns are those of the table, with the same scores."""
        return self._empty is None

    @cached_property
    def constant(self) -> float:
        """What the score of the columns of a DAG lacks to that of the blocks at most, rounding included."""
        if self._empty is None:
            return 0.0
        alone = self.score.total(self.within.astype(np.int8))
        return self._empty - alone + SLACK * (abs(self._empty) + abs(alone)) + self.score.rounding

    @property
    def within(self) -> Bools:
        """The edges within blocks, which all DAGs of blocks have."""
        same = self._blocks[:, None] == self._blocks[None, :]
        return np.asarray(np.triu(same, 1), dtype=bool)

    def dag(self, adjacency: Dag) -> Dag:
        """Return the DAG over the columns of a DAG over the blocks."""
        wide = adjacency[np.ix_(self._blocks, self._blocks)] | self.within
        return np.asarray(wide, dtype=np.int8)

    def knowledge(self, known: Knowledge) -> Knowledge:
        """Return what the DAGs over the columns are known to have; for blocks, numbers of parents have no limits."""
        if self.is_same:
            return known
        must, may = (edges[np.ix_(self._blocks, self._blocks)] | self.within for edges in (known.must, known.may))
        return Knowledge(must, may, np.full(len(must), len(must) - 1))
