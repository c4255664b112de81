"""A bound on all DAGs from weights of pairs of columns, for Gaussian likelihoods with a penalty per parent.

With L(V) the saturated likelihood and P_i the predecessors of i in an order of a DAG,

    score = L(V) - Σ_i (I(i; P_i - J_i | J_i) + cost(|J_i|)).

Let w_ij = w_ji ≥ 0 be weights of the pairs, and δ_i ≥ 0 such that for all parent sets J of i and all sets T ⊇ J

    Σ_{j in T} w_ij  ≤  I(i; T - J | J) + cost(|J|) + δ_i.

In every order one of i and j precedes the other, so the sum of w_i(P_i) over the nodes is the sum of all weights, and

    score  ≤  L(V) - Σ_{i<j} w_ij + Σ_i δ_i.

An LP chooses the weights; its rows are pairs (J, T) that are violated. ``kernels/gaussian/pair_weights.py`` finds them
among all J with at most k members, and proves δ_i for these. Larger sets cost at least cost(k + 1), so δ_i is at
least w_i(V) - cost(k + 1), which rows of the LP, the *caps*, keep at zero. The first k is the largest one whose search
takes a moment. It grows as long as the time allows: once the LP has converged, the caps are those of k + 1, and
searches begin with smaller J again, which take less time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import comb

import numpy as np

from dagopt.arrays import Bools, Dag, Floats, Ints
from dagopt.deadline import Deadline
from dagopt.kernels.gaussian import pair_weights as kernels
from dagopt.lp.highs import LinearProgram, SolverError
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Stopped, Workers

__all__ = ["PairBound"]


WIDTH = 35  # pairs of each node that have a weight
FIRST_SIZE, MOST_SIZE = 2, 8  # the members of J in the first rounds, and in the last ones at most
SIZES_BACK = 2  # the first searches with new caps are for J with so many members fewer
SECONDS_PER_SET = 3e-8  # of the search, for one J
QUICK, QUICK_SHARE = 1.0, 0.05  # seconds, and a share of the time left, for a search of the first caps
SEARCH_SHARE = 0.5  # of the time left, for one search of the next size
WITHOUT_LIMIT = 600.0  # the seconds assumed if there is no time limit
SETS_PER_PIECE = 4_000_000  # sets of one task of a thread
MOST_STEPS = 3_000_000  # of the search for one T
ROWS_PER_NODE = 8  # rows per node and round
LEAST_EXCESS = 0.005  # a row is violated only if it is violated by more
# The LP has converged when its value exceeds what is proven by no more than this share; the second if J cannot grow.
CLOSE, VERY_CLOSE = 0.01, 0.001
IDLE_ROUNDS = 8  # rows that hold with slack for so many rounds are removed
ENOUGH_IDLE = 200  # idle rows that are worth a change of the LP
SLACK = 1e-12  # relative rounding error of sums


class PairBound:
    """One run.

    Parameters
    ----------
    score : GaussianScore
        The score.
    dag : int8 array
        A good DAG. It decides which pairs have a weight; the bound holds whatever it is.
    workers : Workers
        The threads and the clock.
    tell : callable
        Called with the bound whenever it falls.

    Attributes
    ----------
    bound : float
        An upper bound on the score of every DAG; at first, that of the likelihood.
    n_pairs, n_rows, n_rounds : int
        The number of pairs with a weight, of rows that were added to the LP, and of LPs solved.
    most_parents : int
        The largest number of parents of the sets J that were searched.
    over : bool
        Whether nothing is left to do.
    """

    def __init__(
        self, score: GaussianScore, dag: Dag, workers: Workers, tell: Callable[[float], None] = lambda bound: None
    ) -> None:
        self._matrix = score.correlation
        self._n_samples, self._half = score.n_samples, score.n_samples / 2.0
        self._workers = workers
        self._tell = tell
        n = self._n = score.n_nodes
        self._margin = 2 * score.block_likelihood.margin
        costs = score.costs - score.costs[0]
        beyond = np.minimum.accumulate(costs[::-1])[::-1]  # the least cost of this many parents or more
        self._costs, self._beyond = np.append(costs, np.inf), np.append(beyond, np.inf)
        nodes = np.arange(n, dtype=np.int64)
        terms = np.asarray(score.local_many(nodes, [nodes[:i] for i in nodes])) + score.costs - score.costs[0]
        self._saturated = float(terms.sum() + SLACK * np.abs(terms).sum() + n * self._margin)
        self.bound = self._saturated if np.isfinite(self._saturated) else np.inf
        self._largest = min(MOST_SIZE, n - 1)  # J
        self._capped = self._size = min(FIRST_SIZE, self._largest)  # k of the caps, and members of J in a search
        quick = min(QUICK, QUICK_SHARE * workers.deadline.remaining())
        while self._capped < self._largest and self._needed(self._capped + 1) <= quick:
            self._capped += 1
        self._pairs = _pairs(self._matrix, self._half, dag)
        self._place = np.full((n, n), -1, dtype=np.int64)
        self._place[self._pairs[:, 0], self._pairs[:, 1]] = np.arange(len(self._pairs))
        self._place = np.maximum(self._place, self._place.T)
        self._weights = np.zeros(len(self._pairs))
        self._deficits = np.zeros(n)  # of these weights
        self._known: set[bytes] = set()
        self._lp: LinearProgram | None = None
        self._value = np.inf  # of the LP
        self._best = 0.0  # what the weights prove by searches of this size
        self._is_new = False  # whether no search of this size was done
        self.over = n < 2 or not np.isfinite(self._saturated)
        self.n_pairs, self.n_rows, self.n_rounds, self.most_parents = len(self._pairs), 0, 0, 0

    def run(self, until: Deadline | None = None) -> None:
        """Lower the bound until nothing is left to do or the time is up; the bound holds whenever it ends.

        With ``until`` it ends after the round in which that clock stops. Another call goes on from there.
        """
        try:
            while not self.over and (until is None or until.reason is None):
                self._round(self._lp or self._start())
        except Stopped:
            return
        except SolverError:
            self.over = True

    def _round(self, lp: LinearProgram) -> None:
        """Solve the LP, search at its point, add rows, and go on to larger J if it has converged."""
        point = self._weights
        if not self._is_new:
            solution = lp.solve_within(self._workers.deadline.remaining())
            if solution is None:
                raise Stopped
            self._value = solution.value
            self.n_rounds += 1
            point = (np.maximum(solution.point, 0.0) + self._weights) / 2
            self._forget(lp, solution.point)
        excess, deficits, new = self._search(point, self._size)
        self._is_new = False
        reached = float(point.sum() - excess.sum())
        if reached > self._best:
            self._best, self._weights, self._deficits = reached, point, deficits
        self._add(lp, new)
        grows = self._size < self._capped or self._is_affordable(self._capped + 1)
        if not new or self._value - self._best <= (CLOSE if grows else VERY_CLOSE) * self._value:
            self._advance(lp)

    def _advance(self, lp: LinearProgram) -> None:
        """Search larger J, or raise the caps if J is as large as they allow; it is over if neither is possible."""
        if self._size < self._capped:
            self._size += 1
            self._is_new, self._best = True, -np.inf
        elif self._is_affordable(self._capped + 1):
            self._capped += 1
            lp.set_row_uppers(np.arange(self._n_caps), self._cap)
            self._rows[: self._n_caps] = [(own, self._cap) for own, _ in self._rows[: self._n_caps]]
            self._size = max(self._capped - SIZES_BACK, min(FIRST_SIZE, self._largest))
        else:
            self.over = True

    @property
    def _cap(self) -> float:
        return float(self._beyond[self._capped + 1])

    def _is_affordable(self, size: int) -> bool:
        """Say whether J may have so many members, and the time for a search of all such J is left."""
        left = self._workers.deadline.remaining()
        left = WITHOUT_LIMIT if np.isinf(left) else left * self._workers.count
        return size <= self._largest and self._needed(size) <= SEARCH_SHARE * left

    def _needed(self, size: int) -> float:
        """Return the seconds that a search of all J of up to so many members takes on one core."""
        return self._n * _n_sets(self._n - 1, size) * SECONDS_PER_SET

    def _start(self) -> LinearProgram:
        """Make the LP: a weight is at most the cost of one parent and what its columns share; caps for large J."""
        self._rows: list[tuple[Ints, float]] = []
        self._idle = np.zeros(0, dtype=np.int64)
        i, j = self._pairs.T
        share = np.minimum(self._matrix[i, j] ** 2, 1.0 - SLACK)
        lp = self._lp = LinearProgram(maximise=True)
        for upper in np.minimum(self._beyond[1], -self._half * np.log1p(-share)):
            lp.add_column(1.0, 0.0, float(upper))
        own = [self._place[node][self._place[node] >= 0] for node in range(self._n)]
        self._add(lp, [(places, self._cap) for places in own if len(places)])
        self._n_caps, self.n_rows = len(self._rows), 0
        return lp

    def _add(self, lp: LinearProgram, rows: list[tuple[Ints, float]]) -> None:
        places = [own for own, _ in rows]
        lp.add_rows([upper for _, upper in rows], places, [np.ones(len(own)) for own in places])
        self._rows += rows
        self._idle = np.append(self._idle, np.zeros(len(rows), dtype=np.int64))
        self.n_rows += len(rows)

    def _forget(self, lp: LinearProgram, point: Floats) -> None:
        """Remove rows that have held with slack for several rounds."""
        slack = np.array([upper - point[own].sum() for own, upper in self._rows])
        self._idle = np.where(slack > 1e-6, self._idle + 1, 0)
        self._idle[: self._n_caps] = 0
        gone = np.flatnonzero(self._idle > IDLE_ROUNDS)
        if len(gone) < ENOUGH_IDLE:
            return
        lp.delete_rows(gone)
        for k in gone:
            self._known.discard(_key(*self._rows[k]))
        kept = np.setdiff1d(np.arange(len(self._rows)), gone)
        self._rows = [self._rows[k] for k in kept]
        self._idle = self._idle[kept]

    def _search(self, point: Floats, size: int) -> tuple[Floats, Floats, list[tuple[Ints, float]]]:
        """Return δ over the sets J with at most ``size`` members, δ over all sets, and new rows; lower the bound."""
        n = self._n
        weights = np.zeros((n, n))
        weights[self._pairs[:, 0], self._pairs[:, 1]] = point
        weights += weights.T
        total = weights.sum(axis=1)
        deficits = self._deficits if point is self._weights else total  # T cannot have more weight
        ranges = self._ranges(size)
        excess = np.zeros((n, len(ranges)))
        left = np.full(n, len(ranges))
        found: list[list[tuple[Ints, float]]] = [[] for _ in range(n * len(ranges))]

        def work(i: int, k: int) -> None:
            excess[i, k], found[i * len(ranges) + k] = self._violated(i, weights[i], size, ranges[k])
            left[i] -= 1

        try:
            pieces = [partial(work, i, k) for i in range(n) for k in range(len(ranges))]
            self._workers.each("pair weights", pieces, len(pieces))
        finally:
            proven = np.maximum(excess.max(axis=1), total - self._beyond[min(size + 1, n)])
            deficits = np.where(left == 0, np.minimum(deficits, proven), deficits)
            self._note(point, deficits, size)
        new = []
        for own, upper in (row for rows in found for row in rows):
            key = _key(own, upper)
            if key not in self._known:
                self._known.add(key)
                new.append((own, upper))
        return excess.max(axis=1), deficits, new

    def _note(self, point: Floats, deficits: Floats, size: int) -> None:
        """Lower the bound by what some weights prove."""
        gain = float(point.sum() - deficits.sum() - self._n * self._margin - SLACK * point.sum())
        if self._saturated - gain < self.bound:
            self.bound, self.most_parents = self._saturated - gain, size
            self._tell(self.bound)

    def _ranges(self, size: int) -> list[tuple[int, int]]:
        """Return ranges of the first member of J such that no range has too many sets."""
        ranges, first, count = [], 1, 0
        for z in range(1, self._n):
            count += _n_sets(self._n - 1 - z, size - 1)
            if count > SETS_PER_PIECE or z == self._n - 1:
                ranges.append((first, z + 1))
                first, count = z + 1, 0
        return ranges

    def _violated(
        self, i: int, weights: Floats, size: int, span: tuple[int, int]
    ) -> tuple[float, list[tuple[Ints, float]]]:
        """Return an upper bound on the excess of a node, and the rows that are violated most."""
        order = np.argsort(-weights, kind="stable")
        order = np.concatenate([[i], order[order != i]])
        matrix = np.ascontiguousarray(self._matrix[np.ix_(order, order)])
        found = kernels.largest_excess(
            matrix, weights[order], self._costs, self._n_samples, size, LEAST_EXCESS, span, MOST_STEPS, ROWS_PER_NODE
        )
        rows = []
        for members, value in zip(found.members, found.values, strict=True):
            if np.isfinite(value):
                inside = order[members > 0]
                places = self._place[i, inside]
                rows.append((np.sort(places[places >= 0]), float(weights[inside].sum() - value)))
        return found.largest, rows


def _key(places: Ints, upper: float) -> bytes:
    return places.tobytes() + np.float64(round(upper, 9)).tobytes()


def _n_sets(n: int, size: int) -> int:
    """Return the number of sets with at most ``size`` of ``n`` columns."""
    return sum(comb(n, m) for m in range(size + 1))


def _pairs(matrix: Floats, half: float, dag: Dag) -> Ints:
    """Return the pairs (i, j), i < j, that have a weight: all, or those of each node with the largest likely ones.

    A weight is likely to be large if a pair is dependent given nothing, and given the parents or the Markov blanket of
    either column.
    """
    n = len(matrix)
    first, second = np.triu_indices(n, 1)
    if n - 1 <= WIDTH:
        return np.column_stack([first, second])
    likely = _information(matrix, half, np.zeros(n, dtype=np.bool_))
    for i in range(n):
        parents, children = dag[:, i] > 0, dag[i] > 0
        blanket = parents | children | (dag[:, children] > 0).any(axis=1)
        blanket[i] = False
        for given in (parents, blanket):
            own = _information(matrix, half, given)[i]
            likely[i] = likely[:, i] = np.minimum(likely[i], own)
    degree = np.zeros(n, dtype=np.int64)
    chosen = []
    for k in np.argsort(-likely[first, second], kind="stable"):
        i, j = first[k], second[k]
        if degree[i] < WIDTH and degree[j] < WIDTH:
            degree[i] += 1
            degree[j] += 1
            chosen.append((i, j))
    return np.array(sorted(chosen), dtype=np.int64)


def _information(matrix: Floats, half: float, given: Bools) -> Floats:
    """Return I(i; j | given) for all pairs; infinity for those given."""
    left = matrix - matrix[:, given] @ np.linalg.solve(matrix[np.ix_(given, given)], matrix[given])
    variance = np.maximum(np.diag(left), SLACK)
    information: Floats = -half * np.log1p(-np.minimum(left**2 / np.outer(variance, variance), 1.0 - SLACK))
    information[given] = information[:, given] = np.inf
    return information
