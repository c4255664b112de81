"""Rows of log-determinants: entropies of the data, and of any other Gaussian distribution.

h(S) = ½ log det M_SS is submodular for *every* positive definite M. With M the sample correlations, the row says that
the likelihoods of a DAG's families inside C add up to at most the likelihood of the saturated model of C. The row that
cuts deepest comes from another M, which maximises the violation

    ½ log det M - ½ Σ x log var_M(i | J)

at the LP point x, which is smooth in M, by L-BFGS over the Cholesky factor, with a quadratic penalty on the distance
from where it starts: the sample correlations, or the matrix that the best DAG so far implies.

Where nodes are blocks of columns, M is a matrix of the columns and C a set of them (``blocks.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats
from dagopt.families.families import Families
from dagopt.graph.order import topological_order
from dagopt.kernels.cuts import deepest_matrix as lbfgs
from dagopt.kernels.cuts import logdet_rows as kernels
from dagopt.lp.rows.blocks import Blocks
from dagopt.lp.rows.row import Origin, Point, Row, RowFinder, Support
from dagopt.scores.block_likelihood import BlockLikelihood

__all__ = [
    "EntropyRows",
    "LogDets",
    "MatrixRows",
    "deepest_matrix",
    "implied_matrix",
    "logdet_finders",
    "logdet_row",
]

Question = TypeVar("Question")
Answer = TypeVar("Answer")

EPS = float(np.finfo(np.float64).eps)
LEAST_EIGENVALUE = 1e-7  # a matrix with a smaller eigenvalue gives no rows
MOST_SPREADS = 12  # matrices whose smallest eigenvalues are remembered
SMALL_EIGENVALUE, LIFTED_EIGENVALUE = 1e-6, 1e-5  # with a smaller one, a matrix is mixed with the identity up to this
MOST_FLIPS = 200  # of one node each, per climb
MEMORY = 15  # steps kept by L-BFGS
WEIGHTS = (30_000.0, 3_000.0, 300.0)  # of the quadratic penalty, in units of the score, in turn
LEAST_VIOLATION = 1e-3  # in units of the score


class LogDets:
    """Makes rows from matrices.

    Parameters
    ----------
    worth : float
        How much a difference of 1 in h changes the score: N for a Gaussian likelihood.
    threads : Executor, optional
        Threads that share the searches for rows.
    blocks : Blocks, optional
        The columns of each node; by default one.
    """

    def __init__(self, worth: float, threads: Executor | None = None, blocks: Blocks | None = None) -> None:
        self.worth = worth
        self.blocks = Blocks() if blocks is None else blocks
        self._threads = threads
        self._scale = worth / 100.0  # so that multipliers are of the order of 100
        self._spread: dict[int, tuple[Floats, float]] = {}  # recent matrices with their smallest eigenvalues

    def each(self, answer: Callable[[Question], Answer], questions: Iterable[Question]) -> list[Answer]:
        """Return the answers in the order of the questions; the threads share the work."""
        return list((map if self._threads is None else self._threads.map)(answer, questions))

    def row(self, families: Families, matrix: Floats, inside: Bools, kind: str) -> Row | None:
        """Return the row of a matrix with unit diagonal and a set C, None if rounding would spoil it.

        The right-hand side covers the rounding of all numbers of the row.
        """
        smallest = self._smallest_eigenvalue(matrix)
        if smallest < LEAST_EIGENVALUE:
            return None
        values = self.blocks.coefficients(families, matrix, inside)
        size = int(inside.sum())
        rounding = EPS * size * (size + 1) * (8 + size / 8) / smallest  # Proposition 22 of docs/proofs.md
        upper = -0.5 * float(kernels.logdet(matrix, inside)) + rounding
        places = np.flatnonzero(values > EPS)
        origin = Origin(inside.copy(), matrix, scale=self._scale, blocks=self.blocks)
        return Row(places, self._scale * values[places], self._scale * upper, kind, origin)

    def rows(self, families: Families, matrix: Floats, sets: Sequence[Bools], kind: str) -> list[Row]:
        """Return the rows of a matrix and several sets C, without those that rounding would spoil."""
        if not sets or self._smallest_eigenvalue(matrix) < LEAST_EIGENVALUE:
            return []
        made = self.each(lambda inside: self.row(families, matrix, inside, kind), sets)
        return [row for row in made if row is not None]

    def _smallest_eigenvalue(self, matrix: Floats) -> float:
        """Return a little less than the smallest eigenvalue, which is at most that of every principal sub-matrix."""
        known = self._spread.get(id(matrix))
        if known is None or known[0] is not matrix:
            known = (matrix, float(kernels.eigenvalue_floor(matrix)))
            self._spread[id(matrix)] = known
            if len(self._spread) > MOST_SPREADS:
                del self._spread[next(iter(self._spread))]
        return known[1]


def logdet_row(row: Row, families: Families) -> Row:
    """Return a row of a matrix over other families."""
    origin = row.origin
    assert origin is not None
    assert origin.matrix is not None
    values = origin.blocks.coefficients(families, origin.matrix, origin.inside)
    places = np.flatnonzero(values > EPS)
    return Row(places, origin.scale * values[places], row.upper, row.kind, origin)


def logdet_finders(
    form: BlockLikelihood,
    kinds: Iterable[str],
    dag: NDArray[np.int8],
    random_state: int,
    threads: Executor | None = None,
) -> list[RowFinder]:
    """Return what finds rows of the kinds "entropies" and "matrices", those of a matrix near a DAG among them."""
    blocks = Blocks(form.starts)
    logdets, matrix = LogDets(form.n_samples, threads, blocks), blocks.unit(form.matrix)
    finders: list[RowFinder] = []
    if "entropies" in kinds:
        finders.append(EntropyRows(logdets, matrix, random_state=random_state))
    if "matrices" in kinds:
        finders.append(MatrixRows(logdets, [matrix, implied_matrix(matrix, dag, blocks)]))
    return finders


class EntropyRows(RowFinder):
    """Rows of one matrix for sets C that grow and shrink by single nodes.

    Parameters
    ----------
    logdets : LogDets
        The families.
    matrix : array
        M, with unit diagonal.
    most_starts, most_rows : int
        The most sets C to start from, and the most rows returned.
    random_state : int
        The seed for choosing starts when there are more.
    """

    def __init__(
        self,
        logdets: LogDets,
        matrix: Floats,
        most_starts: int = 30,
        most_rows: int = 12,
        random_state: int = 0,
        kind: str = "entropy",
    ) -> None:
        self._kind = kind
        self._logdets = logdets
        self._matrix = np.ascontiguousarray(matrix)
        self._most_starts = most_starts
        self._most_rows = most_rows
        self._rng = np.random.default_rng(random_state)
        self._known: dict[bytes, None] = {}
        self._whole: Floats | None = None  # the matrix swept by all nodes

    def separate(self, point: Point) -> list[Row]:
        """Return the rows violated most."""
        n = len(self._matrix)
        support = self._logdets.blocks.support(point.support)
        used = (support.node, support.flat, support.starts, support.mass, *support.users(n))
        if self._whole is None:
            self._whole = kernels.sweep_all(self._matrix)
        whole = self._whole

        def flipped(start: Bools) -> tuple[float, Bools]:
            inside = start.copy()
            violation = kernels.flip(self._matrix, whole, *used, inside, MOST_FLIPS)
            return float(violation), inside

        ends = self._logdets.each(flipped, self._starts(support, n))
        found = {one.tobytes(): (by, one) for by, one in ends if by * self._logdets.worth > LEAST_VIOLATION}
        chosen = [one for _, one in sorted(found.values(), key=lambda one: -one[0])[: self._most_rows]]
        for inside in chosen:
            self._known[inside.tobytes()] = None
        return self._logdets.rows(point.families, self._matrix, chosen, self._kind)

    def _starts(self, support: Support, n: int) -> Iterable[Bools]:
        """Return sets to start from: all nodes, recent sets, families with their node, and all nodes but one."""
        everything = np.ones(n, dtype=np.bool_)
        known = [np.frombuffer(raw, dtype=np.bool_) for raw in list(self._known)[-20:]]
        with_parents = np.flatnonzero(np.diff(support.starts))
        count = len(known) + len(with_parents) + n
        chosen = np.arange(count)
        if count >= self._most_starts:
            chosen = self._rng.choice(count, self._most_starts - 1, replace=False)
        starts = []
        for place in chosen.tolist():
            if place < len(known):
                starts.append(known[place])
            elif place < len(known) + len(with_parents):
                k = with_parents[place - len(known)]
                own = np.zeros(n, dtype=np.bool_)
                own[support.flat[support.starts[k] : support.starts[k + 1]]] = True
                own[support.node[k]] = True
                starts.append(own)
            else:
                own = everything.copy()
                own[place - count + n] = False
                starts.append(own)
        return [everything, *starts]


class MatrixRows(RowFinder):
    """Rows of the matrices that cut deepest, over all nodes and over sets that flips find.

    Parameters
    ----------
    logdets : LogDets
        The families.
    starts : list of array
        Matrices with unit diagonal from which the search starts: the sample correlations, and perhaps the matrix that
        the best DAG known implies, which a better DAG replaces.
    weights : tuple of float
        Weights of the quadratic penalty, in units of the score, tried one after the other.
    most_steps : int
        The most steps of L-BFGS.
    """

    def __init__(
        self, logdets: LogDets, starts: list[Floats], weights: tuple[float, ...] = WEIGHTS, most_steps: int = 40
    ) -> None:
        self._logdets = logdets
        self.starts = starts
        self._weights = [weight / logdets.worth for weight in weights]
        self._most_steps = most_steps
        self._turn = 0
        self._recent: list[EntropyRows] = []

    def improved(self, dag: NDArray[np.int8]) -> None:
        """Start at the matrix that a better DAG implies."""
        if len(self.starts) > 1:
            self.starts[-1] = implied_matrix(self.starts[0], dag, self._logdets.blocks)

    def separate(self, point: Point) -> list[Row]:
        """Return the rows of the deepest matrices from all starts, and rows of recent matrices with smaller sets."""
        rows = []
        weight = self._weights[self._turn % len(self._weights)]
        self._turn += 1
        blocks = self._logdets.blocks
        support = blocks.support(point.support)
        ends = self._logdets.each(lambda start: deepest_matrix(start, support, weight, self._most_steps), self.starts)
        for found, violation in ends:
            matrix = blocks.unit(found)
            if violation * self._logdets.worth > LEAST_VIOLATION:
                row = self._logdets.row(point.families, matrix, np.ones(len(matrix), dtype=np.bool_), "matrix")
                if row is not None:
                    rows.append(row)
                    finder = EntropyRows(self._logdets, matrix, 12, 4, self._turn, "matrix")
                    self._recent = [*self._recent[-2:], finder]
        for finder in self._recent:
            rows += finder.separate(point)
        return rows


def deepest_matrix(start: Floats, support: Support, weight: float, most_steps: int) -> tuple[Floats, float]:
    """Return a matrix with unit diagonal whose row over all nodes the support violates most, and the violation.

    Parameters
    ----------
    start : array
        A positive definite matrix.
    support : Support
        The LP point.
    weight : float
        The weight of the squared distance between the Cholesky factors.
    most_steps : int
        The most steps of L-BFGS.
    """
    n = len(start)
    centre = np.empty((n, n))
    if not kernels.cholesky(start, 0.0, centre):
        raise np.linalg.LinAlgError("expected a positive definite matrix")
    factor = lbfgs.deepest(centre, weight, support.node, support.flat, support.starts, support.mass, most_steps, MEMORY)
    matrix = _away_from_singular(lbfgs.correlations(factor))
    total = lbfgs.violation(matrix, support.node, support.flat, support.starts, support.mass, np.zeros((n, n)))
    return matrix, float(total + 0.5 * kernels.logdet(matrix, np.ones(n, dtype=np.bool_)))


def _away_from_singular(matrix: Floats) -> Floats:
    """Return a matrix with unit diagonal, mixed with the identity if its smallest eigenvalue is too small for a row.

    At points that violate rows of ranks, which log-determinants of singular matrices approach, the violation has no
    maximum. A matrix near that limit cuts them off.
    """
    if kernels.cholesky(matrix, SMALL_EIGENVALUE, np.empty_like(matrix)):
        return matrix
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    share = (LIFTED_EIGENVALUE - smallest) / (1.0 - smallest)
    return np.ascontiguousarray((1.0 - share) * matrix + share * np.eye(len(matrix)))


def implied_matrix(correlation: Floats, adjacency: NDArray[np.int8], blocks: Blocks | None = None) -> Floats:
    """Return the correlations of the Gaussian network with this DAG, fitted to the given correlations."""
    width = len(correlation)
    blocks = Blocks() if blocks is None else blocks
    columns = blocks.columns(len(adjacency))
    effect = np.eye(width)  # of each column's noise on the others
    noise = np.zeros((width, width))
    for i in topological_order(adjacency):
        own = columns[i]
        parents = np.concatenate([own[:0], *(columns[j] for j in np.flatnonzero(adjacency[:, i]))])
        slope = np.linalg.solve(correlation[np.ix_(parents, parents)], correlation[np.ix_(parents, own)])
        noise[np.ix_(own, own)] = correlation[np.ix_(own, own)] - correlation[np.ix_(own, parents)] @ slope
        effect[own] = slope.T @ effect[parents]
        effect[own, own] = 1.0
    matrix = effect @ noise @ effect.T
    size = np.sqrt(np.diag(matrix))
    return blocks.unit(np.ascontiguousarray(matrix / np.outer(size, size)))
