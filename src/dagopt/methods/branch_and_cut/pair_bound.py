"""A bound on all DAGs from weights of pairs of columns, for scores of log-determinants of one matrix.

With L(V) the saturated likelihood and P_i the predecessors of i in an order of a DAG,

    score = L(V) - Σ_i (I(i; P_i - J_i | J_i) + cost_i(J_i)).

Let w_ij = w_ji ≥ 0 be weights of the pairs, and δ_i ≥ 0 such that for all parent sets J of i and all sets T ⊇ J

    Σ_{j in T} w_ij  ≤  I(i; T - J | J) + cost_i(J) + δ_i.

In every order one of i and j precedes the other, so the sum of w_i(P_i) over the nodes is the sum of all weights, and

    score  ≤  L(V) - Σ_{i<j} w_ij + Σ_i δ_i.

An LP chooses the weights; its rows are pairs (J, T) that are violated. ``kernels/gaussian/pair_weights.py`` finds them
among all J with at most k members, and proves δ_i for these; ``block_pair_weights.py`` does so where columns are
blocks, or where the cost is more than a number per parent. Larger sets cost at least what the k + 1 cheapest parents
cost, so δ_i is at least w_i(V) less this, which rows of the LP, the *caps*, keep at zero. The first k is the largest
one whose search takes a moment. After that search it is the largest one for which there is time, and searches begin
with smaller J again, which take less time, until the LP has converged or stands still.

With many columns the caps decide the value of the LP, and most of its solutions, which are vertices, violate many rows.
So the first weights are no solution of it: they are in proportion to how large each is likely to be, as large as the
caps allow. The same is done when the caps are raised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import comb

import numpy as np

from dagopt.arrays import Bools, Dag, Floats, Ints
from dagopt.deadline import Deadline
from dagopt.kernels.gaussian import block_pair_weights, pair_weights
from dagopt.lp.highs import LinearProgram, SolverError
from dagopt.scores.base import Score
from dagopt.scores.block_likelihood import BlockLikelihood
from dagopt.workers import Stopped, Workers

__all__ = ["PairBound", "PairState"]


WIDTH = 35  # pairs of each node that have a weight
FIRST_SIZE, MOST_SIZE = 2, 8  # the members of J in the first rounds, and in the last ones at most
SIZES_BACK = 2  # the first searches with new caps are for J with so many members fewer
SECONDS_PER_SET = 4e-8  # of the search, for one J: 3e-8 to 4.4e-8 with 100 columns
SECONDS_PER_BLOCKS = 2e-8  # of the search over blocks, for one J and each of its columns
QUICK, QUICK_SHARE = 1.0, 0.05  # seconds, and a share of the time left, for a search of the first caps
SEARCH_SHARE, JUMP_SHARE = 0.7, 0.1  # of the time left, for one search of the next size, and of further ones
RESERVE = 2.0  # time is kept for this many times what the searches of larger J are expected to take
SCALINGS, LEAST_SCALE, MOST_SCALE = 100, 0.5, 2.0  # of weights that are spread: their number, and the limits of each
MOST_SPREAD = 1.5  # a weight that is spread is at most this many times what is likely
WITHOUT_LIMIT = 600.0  # the seconds assumed if there is no time limit;
HARDER, MOST_HARDER = 4.0, 64.0  # many times as many where nothing else helps, up to so many in all
SETS_PER_PIECE = 4_000_000  # sets of one task of a thread
MOST_WORK = 300_000_000  # entries that the search for one T changes, in about a third of a second
ROWS_PER_NODE = 8  # rows per node and round
LEAST_EXCESS = 0.005  # a row is violated only if it is violated by more
# The LP has converged when its value exceeds what is proven by no more than this share; the second if J cannot grow.
CLOSE, VERY_CLOSE = 0.01, 0.001
STALLED, LEAST_STEP = 3, 0.02  # or when in so many rounds less than this share of the rest was closed in each
IDLE_ROUNDS = 8  # rows that hold with slack for so many rounds are removed
ENOUGH_IDLE = 200  # idle rows that are worth a change of the LP
SLACK = 1e-12  # relative rounding error of sums


@dataclass(frozen=True, eq=False)
class PairState:
    """Where a run is between two rounds.

    Attributes
    ----------
    weights, deficits : array
        The best weights, and the deficit of each node.
    rows : tuple of (int array, float)
        The rows of the LP besides the caps: places of pairs, and what their weights add up to at most.
    numbers : tuple of float
        The bound, the value of the LP, and what the weights prove by searches of this size.
    counts : tuple of int
        The sizes of J in searches and of the caps, rows that were added, LPs, the size that the bound is from, and
        rounds without progress.
    is_new, over : bool
        Whether no search of this size was done, and whether nothing is left to do.
    """

    weights: Floats
    deficits: Floats
    rows: tuple[tuple[Ints, float], ...]
    numbers: tuple[float, float, float]
    counts: tuple[int, int, int, int, int, int]
    is_new: bool
    over: bool


class PairBound:
    """One run.

    Parameters
    ----------
    score : Score
        The score; its ``block_likelihood`` has one matrix for all nodes.
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
        self, score: Score, dag: Dag, workers: Workers, tell: Callable[[float], None] = lambda bound: None
    ) -> None:
        form = score.block_likelihood
        assert form is not None
        assert form.has_one_matrix
        self._form, own = form, form.nodes[0]
        self._matrix, self._starts = own.matrix, own.starts
        self._half = own.half - 0.5 * own.volume * (len(dag) - 1)  # the weight of a node without parents
        self._is_plain = all(node.is_plain for node in form.nodes)
        self._workers = workers
        self._tell = tell
        n = self._n = score.n_nodes
        self._margin = 2 * form.margin
        told = _told(form)
        self._edges = np.array([node.edges for node in form.nodes]) - told
        self._beyond = np.array([self._least_costs(i, float(told[i])) for i in range(n)])
        self._needs = np.array([node.steps.min(initial=np.inf) for node in form.nodes])[:, None] + self._edges
        self._needs -= told[:, None]
        self._saturated = self._likelihood(score)
        saved = -float(self._beyond[:, 0].sum())  # by parents that cost less than none
        self.bound = self._saturated + saved if np.isfinite(self._saturated) else np.inf
        self._largest = min(MOST_SIZE, n - 1)  # J
        self._capped = min(FIRST_SIZE, self._largest)  # k of the caps
        quick = min(QUICK, QUICK_SHARE * workers.deadline.remaining())
        while self._capped < self._largest and self._needed(self._capped + 1) <= quick:
            self._capped += 1
        self._size = self._capped  # members of J in a search
        likely = self._half * _likely(self._matrix, self._starts, dag)
        self._pairs = _pairs(likely, np.diff(self._starts) > 0)
        self._likely = likely[self._pairs[:, 0], self._pairs[:, 1]]
        self._place = np.full((n, n), -1, dtype=np.int64)
        self._place[self._pairs[:, 0], self._pairs[:, 1]] = np.arange(len(self._pairs))
        self._place = np.maximum(self._place, self._place.T)
        self._uppers = np.array([max(self._most_weight(int(i), int(j)), 0.0) for i, j in self._pairs])
        self._weights = self._spread(np.zeros(len(self._pairs)))
        self._deficits = self._totals(self._weights) - self._beyond[:, 0]  # T cannot have more weight, or cost less
        self._best = -np.inf  # what the weights prove by searches of this size
        self._is_new = True  # whether no search of this size was done
        self._known: set[bytes] = set()
        self._lp: LinearProgram | None = None
        self._value = np.inf  # of the LP
        self._n_stalled = 0
        self._effort = 1.0  # the factor by which more of the time may be used
        self._failed = n < 2 or not np.isfinite(self._saturated)
        self.over = self._failed
        self.n_pairs, self.n_rows, self.n_rounds, self.most_parents = len(self._pairs), 0, 0, 0

    @property
    def state(self) -> PairState:
        """Where the run is, between two rounds."""
        numbers = (self.bound, self._value, self._best)
        counts = (self._size, self._capped, self.n_rows, self.n_rounds, self.most_parents, self._n_stalled)
        rows = () if self._lp is None else tuple(self._rows[self._n_caps :])
        return PairState(self._weights, self._deficits, rows, numbers, counts, self._is_new, self.over)

    def go_on(self, state: PairState) -> None:
        """Go on from the state of another run with the same score and DAG."""
        self._weights, self._deficits = state.weights, state.deficits
        self.bound, self._value, self._best = state.numbers
        self._size, self._capped, n_rows, self.n_rounds, self.most_parents, self._n_stalled = state.counts
        self._is_new, self.over = state.is_new, state.over
        if state.rows:
            self._add(self._start(), list(state.rows))
            self._known = {_key(*row) for row in state.rows}
        self.n_rows = n_rows

    def _least_costs(self, i: int, told: float) -> Floats:
        """Return what 0, 1, ... or more parents cost a node at least; infinity for more than there are."""
        own, others = self._form.nodes[i], np.sort(np.delete(self._edges[i], i))
        costs = own.costs - own.costs[0] + np.concatenate([[0.0], np.cumsum(others)])
        costs -= told * np.arange(self._n)
        return np.append(np.minimum.accumulate(costs[::-1])[::-1], np.inf)

    def _likelihood(self, score: Score) -> float:
        """Return the bound of the likelihood: no edges, and what all columns tell about each other."""
        n = self._n
        blocks = [self._matrix[a:b, a:b] for a, b in pairwise(self._starts)]
        logs = [float(np.linalg.slogdet(part)[1]) for part in (*blocks, self._matrix)]
        empty = np.asarray(score.local_many(np.arange(n), [()] * n))
        told = self._half * (sum(logs[:-1]) - logs[-1])
        size = float(np.abs(empty).sum()) + self._half * float(np.abs(logs).sum())
        return float(empty.sum()) + told + SLACK * size + n * self._margin

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
            self.over = self._failed = True

    def try_harder(self) -> bool:
        """Go on after it was over with the next size of J, if all of the time left allows it; say whether it does."""
        while not self._failed and self._capped < self._largest and self._effort < MOST_HARDER:
            self._effort *= HARDER
            if self._is_affordable(self._capped + 1):
                self.over = False
                self._advance(self._lp or self._start())
                return True
        return False

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
        reached, before = float(point.sum() - excess.sum()), self._best
        if reached > self._best:
            self._best, self._weights, self._deficits = reached, point, deficits
        self._add(lp, new)
        if self._is_done(before) or not new:
            self._n_stalled = 0
            self._advance(lp)

    def _is_done(self, before: float) -> bool:
        """Say whether to go on to larger J: the LP is close or stands still, or the time is needed for them."""
        if self._size == self._capped and self._is_affordable(self._capped + 1):
            return True
        if np.isinf(self._value):
            return False
        rest = self._value - self._best
        self._n_stalled = 0 if self._best - before > LEAST_STEP * rest else self._n_stalled + 1
        if self._size == self._capped:
            return rest <= VERY_CLOSE * self._value
        later = sum(self._needed(size) for size in range(self._size, self._capped + 1)) / self._workers.count
        return rest <= CLOSE * self._value or self._n_stalled >= STALLED or self._left < RESERVE * later

    def _advance(self, lp: LinearProgram) -> None:
        """Search larger J, or raise the caps if J is as large as they allow; it is over if neither is possible."""
        if self._size < self._capped:
            self._size += 1
        elif self._is_affordable(self._capped + 1):
            self._capped += 1
            while self._is_affordable(self._capped + 1, JUMP_SHARE):
                self._capped += 1
            caps = self._caps
            lp.set_row_uppers(np.arange(self._n_caps), caps[self._capped_nodes])
            self._rows[: self._n_caps] = [
                (own, float(caps[i])) for (own, _), i in zip(self._rows, self._capped_nodes, strict=False)
            ]
            self._size = max(self._capped - SIZES_BACK, min(FIRST_SIZE, self._largest))
            self._weights = self._spread(self._weights)
            self._deficits = self._totals(self._weights) - self._beyond[:, 0]
        else:
            self.over = True
        self._is_new, self._best = True, -np.inf

    @property
    def _caps(self) -> Floats:
        """What parent sets larger than those of the rows cost each node at least."""
        return np.asarray(np.maximum(self._beyond[:, self._capped + 1], 0.0))

    @property
    def _left(self) -> float:
        left = self._workers.deadline.remaining()
        return WITHOUT_LIMIT * self._effort if np.isinf(left) else left

    def outlook(self, seconds: float) -> float | None:
        """Return the bound if larger J change nothing; None if it is known, or there is no time for them."""
        if self._size == self._capped or np.isinf(self._best):
            return None
        return None if self._needed(self._capped) > seconds * self._workers.count else self._saturated - self._best

    def _totals(self, weights: Floats) -> Floats:
        """Return the sum of the weights of each node."""
        return np.asarray(np.bincount(self._pairs.ravel(), np.repeat(weights, 2), self._n), dtype=np.float64)

    def _spread(self, least: Floats) -> Floats:
        """Return weights in proportion to the likely ones, and to ``least``, as large as the caps allow."""
        i, j = self._pairs.T
        most, scale, weights = np.minimum(self._caps, 1e200), np.ones(self._n), self._uppers
        base = np.minimum(np.maximum(self._likely, least), self._uppers)
        for _ in range(SCALINGS):
            weights = np.minimum(base * np.minimum(scale[i] * scale[j], MOST_SPREAD), self._uppers)
            total = self._totals(weights)
            room = most / np.maximum(total, SLACK)
            scale = np.minimum(scale * np.sqrt(np.clip(room, LEAST_SCALE, MOST_SCALE)), MOST_SPREAD)
        room = np.minimum(room, 1.0)
        spread: Floats = weights * np.minimum(room[i], room[j])
        return spread

    def _is_affordable(self, size: int, share: float = SEARCH_SHARE) -> bool:
        """Say whether J may have so many members, and a search of all such J takes a share of the time left."""
        share = min(share * self._effort, 1.0) if np.isfinite(self._workers.deadline.remaining()) else share
        return size <= self._largest and self._needed(size) <= share * self._left * self._workers.count

    def _needed(self, size: int) -> float:
        """Return the seconds that a search of all J of up to so many members takes on one core."""
        per_set = SECONDS_PER_SET if self._is_plain else SECONDS_PER_BLOCKS * len(self._matrix)
        return self._n * _n_sets(self._n - 1, size) * per_set

    def _start(self) -> LinearProgram:
        """Make the LP: a weight is at most the cost of one parent and what its columns share; caps for large J."""
        self._rows: list[tuple[Ints, float]] = []
        self._idle = np.zeros(0, dtype=np.int64)
        lp = self._lp = LinearProgram(maximise=True)
        for upper in self._uppers:
            lp.add_column(1.0, 0.0, float(upper))
        own = [self._place[node][self._place[node] >= 0] for node in range(self._n)]
        self._capped_nodes = np.array([i for i, places in enumerate(own) if len(places)], dtype=np.int64)
        caps = self._caps
        self._add(lp, [(own[i], float(caps[i])) for i in self._capped_nodes])
        self._n_caps, self.n_rows = len(self._rows), 0
        return lp

    def _most_weight(self, i: int, j: int) -> float:
        """Return the largest weight of a pair that is of use: what they share, or an edge costs."""
        a, b = (np.arange(self._starts[k], self._starts[k + 1]) for k in (i, j))
        logs = [float(np.linalg.slogdet(self._matrix[np.ix_(k, k)])[1]) for k in (a, b, np.concatenate([a, b]))]
        share = max(logs[0] + logs[1] - logs[2], 0.0)
        most = self._half * share
        for node, other in ((i, j), (j, i)):
            own = self._form.nodes[node]
            cost = float(own.costs[1] - own.costs[0] + own.edges[other])
            most = min(most, cost - 0.5 * own.volume * share)
        return most

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
        # T cannot have more weight
        deficits = self._deficits if point is self._weights else total - self._beyond[:, 0]
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
            proven = np.maximum(excess.max(axis=1), total - self._beyond[:, min(size + 1, n)])
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

    def _is_stopped(self) -> bool:
        return self._workers.deadline.reason is not None

    def _violated(
        self, i: int, weights: Floats, size: int, span: tuple[int, int]
    ) -> tuple[float, list[tuple[Ints, float]]]:
        """Return an upper bound on the excess of a node, and the rows that are violated most.

        The bound is infinite if the time is over.
        """
        own, sizes = self._form.nodes[i], np.diff(self._starts)
        if not sizes[i]:
            return 0.0, []
        order = np.argsort(-weights, kind="stable")
        order = np.concatenate([[i], order[(order != i) & (sizes[order] > 0)]])
        columns = np.concatenate([np.arange(self._starts[j], self._starts[j + 1]) for j in order])
        matrix = np.ascontiguousarray(self._matrix[np.ix_(columns, columns)])
        search = (size, LEAST_EXCESS, span, MOST_WORK, ROWS_PER_NODE, self._is_stopped)
        costs = np.append(own.costs - own.costs[0], np.inf)
        if self._is_plain:
            found = pair_weights.largest_excess(matrix, weights[order], costs, 2.0 * self._half, *search)
        else:
            starts = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)
            terms = block_pair_weights.BlockCosts(
                self._half, own.volume, costs, own.edges[order], self._needs[i, order]
            )
            found = block_pair_weights.largest_block_excess(matrix, starts, weights[order], terms, *search)
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


def _told(form: BlockLikelihood) -> Floats:
    """Return volume/2 times -log det var(j | all others) for each j: what a chain of such terms can lower a cost by."""
    own = form.nodes[0]
    if not own.volume:
        return np.zeros(len(form.nodes))
    inverse = np.linalg.inv(own.matrix)
    told = [np.linalg.slogdet(inverse[a:b, a:b])[1] for a, b in pairwise(own.starts)]
    return 0.5 * own.volume * np.maximum(told, 0.0)


def _likely(matrix: Floats, starts: Ints, dag: Dag) -> Floats:
    """Return how large the weight of each pair is likely to be, per half of a row.

    A weight is likely to be large if a pair is dependent given nothing, and given the parents or the Markov blanket of
    either column.
    """
    n = len(dag)
    likely = _information(matrix, starts, np.zeros(n, dtype=np.bool_))
    for i in range(n):
        parents, children = dag[:, i] > 0, dag[i] > 0
        blanket = parents | children | (dag[:, children] > 0).any(axis=1)
        blanket[i] = False
        for given in (parents, blanket):
            own = _information(matrix, starts, given, i)[0]
            likely[i] = likely[:, i] = np.minimum(likely[i], own)
    return likely


def _pairs(likely: Floats, present: Bools) -> Ints:
    """Return the pairs (i, j), i < j, that have a weight: all, or those of each node with the largest likely ones."""
    n = len(likely)
    first, second = np.triu_indices(n, 1)
    both = present[first] & present[second]
    first, second = first[both], second[both]
    if n - 1 <= WIDTH:
        return np.column_stack([first, second])
    degree = np.zeros(n, dtype=np.int64)
    chosen = []
    for k in np.argsort(-likely[first, second], kind="stable"):
        i, j = first[k], second[k]
        if degree[i] < WIDTH and degree[j] < WIDTH:
            degree[i] += 1
            degree[j] += 1
            chosen.append((i, j))
    return np.array(sorted(chosen), dtype=np.int64).reshape(-1, 2)


def _information(matrix: Floats, starts: Ints, given: Bools, node: int | None = None) -> Floats:
    """Return about what each two blocks tell about each other given some; infinity for those given.

    It is the sum over their columns, which for blocks of one column is the information per half of a row. With a node
    there is one row, that of the node, which takes far less time than all of them.
    """
    widths = np.diff(starts)
    inside = np.repeat(given, widths)
    solved = np.linalg.solve(matrix[np.ix_(inside, inside)], matrix[inside])
    variance = np.maximum(np.diag(matrix) - (matrix[inside] * solved).sum(axis=0), SLACK)
    blocks = np.arange(len(given)) if node is None else np.array([node])
    own = np.isin(np.repeat(np.arange(len(given)), widths), blocks)
    left = matrix[own] - matrix[np.ix_(own, inside)] @ solved
    by_columns = -np.log1p(-np.minimum(left**2 / np.outer(variance[own], variance), 1.0 - SLACK))
    present, ours = np.flatnonzero(widths), blocks[widths[blocks] > 0]
    information = np.zeros((len(blocks), len(given)))
    if len(ours):
        begins = np.concatenate([[0], np.cumsum(widths[ours])[:-1]])
        by_columns = np.add.reduceat(np.add.reduceat(by_columns, begins, axis=0), starts[present], axis=1)
        information[np.ix_(widths[blocks] > 0, present)] = by_columns
    information[given[blocks]] = information[:, given] = np.inf
    return information
