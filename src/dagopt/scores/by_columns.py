"""A score of blocks of columns as the Gaussian score of the columns: no DAG over the blocks scores more.

Column b of block i gets all columns of the blocks of J_i as parents, and the columns of block i before b. An edge
between two blocks costs at least as much as its m_i m_j edges between columns, if each costs the penalty of a parameter
and a share of that of an edge. See docs/proofs.md.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dagopt.arrays import Bools, Dag, Floats, Ints
from dagopt.data.continuous import CovarianceTable
from dagopt.graph.knowledge import Knowledge
from dagopt.scores.gaussian import GaussianScore

__all__ = ["ByColumns"]

SLACK = 1e-12  # relative rounding error of sums


class ByColumns:
    """The score of the columns, and what relates it to that of the blocks.

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
    empty : float
        The score of the blocks without edges.
    """

    def __init__(self, matrix: Floats, starts: Ints, n_samples: int, costs: tuple[float, float], empty: float) -> None:
        sizes = np.diff(starts)
        self._blocks: Ints = np.repeat(np.arange(len(sizes)), sizes)
        names = tuple(f"column {k}" for k in range(len(matrix)))
        penalty = costs[0] + costs[1] / float(max(sizes.max(initial=1), 1)) ** 2
        self.score = GaussianScore(CovarianceTable(names, matrix, n_samples), penalty)
        self._empty = empty

    @cached_property
    def constant(self) -> float:
        """What the score of the columns of a DAG lacks to that of the blocks at most, rounding included."""
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
        """Return what the DAGs over the columns are known to have, without limits on the number of parents."""
        must, may = (edges[np.ix_(self._blocks, self._blocks)] | self.within for edges in (known.must, known.may))
        return Knowledge(must, may, np.full(len(must), len(must) - 1))
