"""What the proofs need of a score: for each node, log-determinants of blocks of one matrix, and what parents cost.

Column j of the table is a block of m_j columns of a matrix M: itself if it is continuous, k - 1 indicators if it is
discrete with k levels. The local score of node i with the parents T is, up to a constant,

    s_i(T) = -half(|T|) log det var(i | T) - volume/2 log det M_TT - cost(|T|) - the sum of edge_j over T,

with var(i | T) the covariance of block i given those of T, and half(k) larger by volume/2 with each parent:

==================  ======================  ======================  ======  ===============  ======================
score               matrix                  blocks                  volume  cost             edge_j
==================  ======================  ======================  ======  ===============  ======================
Gaussian            correlations            one column              0       the penalty      0
degenerate          of the embedding        m_j columns             0       0                Λ m_i m_j + ε
BGe                 prior and data          one column              1       of the prior     the scale of j
with interventions  of the rows that count  of the score of those rows
==================  ======================  ======================  ======  ===============  ======================

With interventions each node has its own matrix. The rest is the same for all scores: listing (``families/undominated``)
needs the above, rows (``lp/rows``) need one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dagopt.arrays import Bools, Floats, Ints

__all__ = ["BlockLikelihood", "Margin", "NodeLikelihood", "below_least_eigenvalue", "rounding_margin"]

LEAST_MARGIN = 1e-6  # of a log-likelihood
LARGEST_MARGIN = 1e-3  # per row of the table: with a larger error of rounding, nothing can be told apart
MOST_DIAGONALISED = 500  # columns whose eigenvalues take less than a tenth of a second
CONVEX = 1e-12  # what a step of the cost may fall by rounding


@dataclass(frozen=True, eq=False)
class Margin:
    """A bound on the rounding error of a log-likelihood.

    It needs the least eigenvalue of the matrix, which takes seconds with thousands of columns. So it is found when it
    is first asked for: whoever needs the form alone does not wait for it.

    Attributes
    ----------
    matrix : array
        M, with unit diagonal.
    n_samples : float
        The weight of a log-determinant: twice ``half``.
    more : float
        What is added to it.
    """

    matrix: Floats
    n_samples: float
    more: float = 0.0

    @cached_property
    def value(self) -> float:
        """The bound."""
        return rounding_margin(self.matrix, self.n_samples) + self.more

    def plus(self, more: float) -> Margin:
        """Return a bound that is larger by so much."""
        found = replace(self, more=self.more + more)
        if "value" in vars(self):
            vars(found)["value"] = self.value + more
        return found


@dataclass(frozen=True, eq=False)
class NodeLikelihood:
    """The local scores of one node; see the text above.

    Attributes
    ----------
    matrix : array
        M, with unit diagonal and identities within blocks, up to 1e-8 and rounding.
    starts : int array
        Block j has the columns ``starts[j]`` to ``starts[j + 1]``, exclusive; perhaps none.
    half : float
        The largest half(k): half the number of rows, and for a marginal likelihood a little more.
    costs : array
        The cost of 0, 1, ..., n - 1 parents; infinite for numbers that are ruled out.
    edges : array of shape (n,)
        What each parent costs in addition.
    volume : float
        The weight of the parents' own log-determinant.
    rounding : Margin
        The bound on the rounding error of a log-likelihood, which nodes with the same matrix share.
    """

    matrix: Floats
    starts: Ints
    half: float
    costs: Floats
    edges: Floats
    volume: float
    rounding: Margin

    @property
    def margin(self) -> float:
        """A bound on the rounding error of a log-likelihood."""
        return self.rounding.value

    @cached_property
    def steps(self) -> Floats:
        """``steps[k]``: the least cost of one more parent beside k or more others, edges not counted."""
        with np.errstate(invalid="ignore"):
            steps = np.diff(self.costs)
        steps[np.isnan(steps)] = np.inf  # between numbers of parents that are ruled out
        return np.asarray(np.minimum.accumulate(steps[::-1])[::-1], dtype=np.float64)

    @property
    def is_plain(self) -> bool:
        """Whether blocks have one column and the cost depends on the number of parents alone: the Gaussian case."""
        return bool(self.volume == 0.0 and not self.edges.any() and (np.diff(self.starts) == 1).all())

    @property
    def is_exact(self) -> bool:
        """Whether the score is ``half`` times a log-likelihood less a convex cost: volume is 0."""
        finite = self.costs[np.isfinite(self.costs)]
        return bool(self.volume == 0.0 and not (np.diff(finite, 2) < -CONVEX).any())

    @property
    def is_precise(self) -> bool:
        """Whether rounding is too small to decide which sets are useful."""
        return self.margin <= 2.0 * LARGEST_MARGIN * self.half

    def most_gain(self, node: int, parents: Ints, candidates: Ints) -> float:
        """Return how much more these parents and any of the candidates can score than no parents, rounding included.

        With all of them the residual and the volume are smallest; the cost is that of the best number of them.
        """
        chosen = np.concatenate([parents, candidates]).astype(np.int64)
        own = np.arange(self.starts[node], self.starts[node + 1])
        others = np.concatenate([own[:0], *(np.arange(self.starts[j], self.starts[j + 1]) for j in chosen)])
        whole = np.concatenate([own, others])
        logs = [np.linalg.slogdet(self.matrix[np.ix_(some, some)])[1] for some in (whole, others, own)]
        grown = np.concatenate([[0.0], np.cumsum(np.sort(self.edges[candidates]))])
        costs = self.costs[len(parents) : len(parents) + len(grown)] + grown[: len(self.costs) - len(parents)]
        least = float(costs.min()) + float(self.edges[parents].sum()) - float(self.costs[0])
        fit = self.half * (max(logs[1] - logs[0], 0.0) + max(logs[2], 0.0)) - 0.5 * self.volume * logs[1]
        return float(fit - least + 2 * self.margin)

    def least_needs(self) -> Floats:
        """Return what each parent must earn beside any others, apart from what ``volume`` adds."""
        return np.asarray(self.steps.min(initial=np.inf) + self.edges, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class BlockLikelihood:
    """The local scores of all nodes.

    Attributes
    ----------
    nodes : tuple of NodeLikelihood
        Of each node; nodes that share all rows share the matrix.
    matrix, starts : arrays
        One matrix, and its blocks, for rows that hold for every DAG.
    n_samples : int
        The number of rows: what a difference of 1 in half a log-determinant is worth.
    """

    nodes: tuple[NodeLikelihood, ...]
    matrix: Floats
    starts: Ints
    n_samples: int

    @property
    def has_one_matrix(self) -> bool:
        """Whether all nodes share one matrix, so that what two columns tell about each other is symmetric."""
        return all(node.matrix is self.nodes[0].matrix for node in self.nodes)

    def given(self, safe: Bools) -> BlockLikelihood:
        """Return the form with the matrix of each column given its safe parents, ``safe[j, i]`` of i.

        Columns with other safe parents count as independent. With any matrix, rows hold for every DAG; this one is near
        the likelihood where all safe parents are chosen that matter.
        """
        if not safe.any():
            return self
        matrix = np.eye(len(self.matrix))
        blocks = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        for known in np.unique(safe.T, axis=0):
            own, others = np.flatnonzero((known == safe.T).all(axis=1)[blocks]), np.flatnonzero(known[blocks])
            cross = self.matrix[np.ix_(others, own)]
            explained = cross.T @ np.linalg.solve(self.matrix[np.ix_(others, others)], cross)
            matrix[np.ix_(own, own)] = self.matrix[np.ix_(own, own)] - explained
        size = np.sqrt(np.diag(matrix))
        matrix = 0.5 * (matrix + matrix.T) / np.outer(size, size)
        np.fill_diagonal(matrix, 1.0)
        return replace(self, matrix=matrix)

    @property
    def is_searchable(self) -> bool:
        """Whether undominated sets can be searched for: rounding is harmless, and plain costs are convex."""
        if not all(node.is_exact or not node.is_plain for node in self.nodes):
            return False
        return all(node.is_precise for node in self.nodes)

    def with_slack(self, slack: float) -> BlockLikelihood:
        """Return the form in which what may be lost counts as rounding."""
        raised = {one: one.plus(slack) for one in {node.rounding for node in self.nodes}}
        return replace(self, nodes=tuple(replace(node, rounding=raised[node.rounding]) for node in self.nodes))

    @property
    def margin(self) -> float:
        """The largest margin of a node."""
        return max(node.margin for node in self.nodes)


def rounding_margin(matrix: Floats, n_samples: float) -> float:
    """Return a bound on the rounding of a log-likelihood that is computed from a matrix with unit diagonal.

    Eigenvalues of thousands of columns take many times as long as a Cholesky factor. Then a number below the least one
    is enough, and if even the least that would be of use is none, the margin is that of a singular matrix.
    """
    eps = float(np.finfo(np.float64).eps)
    work = 16 * eps * n_samples * len(matrix) ** 2
    if len(matrix) <= MOST_DIAGONALISED:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
    else:
        smallest = below_least_eigenvalue(matrix, work / (LARGEST_MARGIN * n_samples)) or eps
    return LEAST_MARGIN + work / max(smallest, eps)


def below_least_eigenvalue(matrix: Floats, smallest: float) -> float | None:
    """Return a number below the least eigenvalue of a matrix with unit diagonal, None if it is not above ``smallest``.

    ``matrix - s I`` has a Cholesky factor if s is below the least eigenvalue, up to rounding, which dividing s by two
    covers. A matrix without a factor for twice the smallest is given up at once.
    """
    least = 2.0 * smallest
    if least > 1.0 or not _has_factor(matrix, least):
        return None
    tried = 0.5
    while tried > least and not _has_factor(matrix, tried):
        tried /= 2.0
    return max(tried, least) / 2.0


def _has_factor(matrix: Floats, shift: float) -> bool:
    """Say whether a matrix less a multiple of the identity has a Cholesky factor."""
    shifted = matrix.copy()
    shifted.flat[:: len(matrix) + 1] -= shift
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True
