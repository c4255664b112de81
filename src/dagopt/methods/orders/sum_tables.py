"""Tables of sums over parent sets for sampling, and the candidate parents that they cover.

Where all other columns fit as candidates of each node, the sums are those of the exact recursion
(``methods/exact/edge_posterior.py``). Else a node has some candidates, and all sets of them count. They are found in
rounds: a short walk over orders with the present tables gives the probability of each candidate, and for parent sets
drawn on the way every other column is added once, which gives an estimate of its probability. The most probable ones
are candidates in the next round.

References
----------
Kuipers, Suter, Moffa (2022). Efficient sampling and structure learning of Bayesian networks. JCGS 31.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dagopt.arrays import Dag, Floats, Ints
from dagopt.bits import members
from dagopt.graph.order import topological_order
from dagopt.kernels.orders import sampled as kernels
from dagopt.memory import available_bytes
from dagopt.methods.exact.edge_posterior import OrderSums, estimate_order_sums
from dagopt.methods.orders.order import order_incumbent
from dagopt.methods.orders.screening import screened
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.workers import Workers

__all__ = ["SumTables", "found_tables"]

ROUNDS = 8  # of candidates; most tables change little after three
ORDERS_PER_ROUND = 12  # at which columns that are no candidates are tried
SWEEPS_BETWEEN = 200  # two such orders
WARM_UP = 2_000  # sweeps before the first
BACKWARDS = 0.3  # worth of a candidate relative to that of the same edge in the other direction
LEAST = 5e-4  # estimated probability of an edge from which its tail is worth a place among the candidates
SETTLED = 0.002  # rounds end when no other column has a larger estimated probability
IMPROVED = 0.8  # or when the largest is more than this share of that of the round before
TABLE_ENTRIES = 11_000_000  # of all nodes: 176 MB with weights
WHOLE_ENTRIES = 47_000_000  # of all nodes if all columns are candidates: 0.4 GB for 22 columns
WHOLE_SHARE = 0.4  # of the time left that these tables may take, as estimated
SECONDS_OF_SCORES = 2.0  # that the tables of all nodes may take on one core, as estimated
MOST, FEWEST = 14, 6  # candidates of a node, unless all columns can be
PHASE = "candidate parents"


class SumTables:
    """Candidates of all nodes, the weights of their subsets, and the sums in the form for kernels.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    prior : array
        The logarithm of the prior weight of a parent set, by its size.

    Attributes
    ----------
    candidates : list of int array
        The candidates of each node, in increasing order.
    weights : list of array
        The logarithm of the weight of each subset of them, bit b of the index for candidate b.
    left_out : float
        The largest estimated probability of an edge whose tail is no candidate.
    """

    def __init__(self, problem: Problem, prior: Floats) -> None:
        self._problem, self._prior = problem, prior
        n = problem.n_nodes
        self.candidates: list[Ints] = [np.zeros(0, dtype=np.int64) for _ in range(n)]
        self.weights: list[Floats] = [np.zeros(0) for _ in range(n)]
        self._sums: list[Floats] = [np.zeros(0) for _ in range(n)]
        self._whole: Floats | None = None  # all sums in one array, if all columns are candidates
        self.left_out = 0.0

    @property
    def n_nodes(self) -> int:
        """Number of columns n."""
        return self._problem.n_nodes

    def fill(self, candidates: list[Ints], workers: Workers, share: tuple[float, float]) -> None:
        """Take these candidates; tables of nodes whose candidates stay are kept."""
        new = [u for u, own in enumerate(candidates) if not len(self._sums[u]) or list(own) != list(self.candidates[u])]
        self.candidates = candidates
        pieces: list[Callable[[], None]] = [partial(self._fill, u) for u in new]
        workers.each(PHASE, pieces, len(pieces), share)

    def fill_whole(self, workers: Workers, nodes: Sequence[int]) -> None:
        """Take all other columns as candidates; weights are kept for some nodes."""
        n = self.n_nodes
        self.candidates = [np.delete(np.arange(n), u) for u in range(n)]
        sums, weights = OrderSums(self._problem, self._prior, workers).choices(nodes)
        self._whole, self._sums = sums.reshape(-1), list(sums)
        for node, own in zip(nodes, weights, strict=True):
            self.weights[node] = own

    def _fill(self, u: int) -> None:
        own = self.candidates[u]
        sets = np.arange(1 << len(own))
        logs = self._problem.score.subsets(u, own) + self._prior[np.bitwise_count(sets)]
        known = self._problem.knowledge
        must = int(np.dot(known.must[own, u], 1 << np.arange(len(own))))
        logs[(sets & must != must) | (np.bitwise_count(sets) > known.at_most[u])] = -np.inf
        self.weights[u] = logs - logs.max()
        self._sums[u] = self.weights[u].copy()
        kernels.sum_subsets(self._sums[u])

    @property
    def for_kernels(self) -> kernels.Tables:
        """The tables as arrays over all nodes."""
        n = self.n_nodes
        bit = np.full((n, n), -1, dtype=np.int64)
        for u, own in enumerate(self.candidates):
            bit[u, own] = np.arange(len(own))
        children = [np.flatnonzero(bit[:, v] >= 0) for v in range(n)]
        return kernels.Tables(
            np.concatenate(self._sums) if self._whole is None else self._whole,
            _starts(self._sums),
            bit,
            np.concatenate(self.candidates),
            _starts(self.candidates),
            np.concatenate(children),
            _starts(children),
        )

    def first_walk(self, random: np.random.Generator, dag: Dag | None = None) -> kernels.Walk:
        """Return a random order that agrees with a DAG, with the required edges unless one is given."""
        n = self.n_nodes
        names = random.permutation(n)
        edges = self._problem.knowledge.must if dag is None else dag
        order = names[topological_order(edges[np.ix_(names, names)].astype(np.int8))]
        return kernels.Walk(order.astype(np.int64), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64))

    def drawn_set(self, u: int, before: int, random: np.random.Generator) -> int:
        """Return a parent set of u, as bits of its candidates, drawn by weight among those inside ``before``."""
        inside = np.zeros(1, dtype=np.int64)  # all sets inside, in increasing order
        for bit in members(before):
            inside = np.concatenate([inside, inside | 1 << bit])
        logs = self.weights[u][inside]
        shares = np.cumsum(np.exp(logs - logs.max()))
        return int(inside[min(np.searchsorted(shares, random.random() * shares[-1], side="right"), len(inside) - 1)])

    def parents(self, u: int, chosen: int) -> Ints:
        """Return the columns of a set of candidates."""
        own = self.candidates[u]
        found: Ints = own[(chosen >> np.arange(len(own))) & 1 == 1]
        return found

    def drawn_dag(self, walk: kernels.Walk, random: np.random.Generator) -> Dag:
        """Return a DAG drawn by weight among those that agree with the order of a walk."""
        dag = np.zeros((self.n_nodes, self.n_nodes), dtype=np.int8)
        for u in range(self.n_nodes):
            dag[self.parents(u, self.drawn_set(u, int(walk.before[u]), random)), u] = 1
        return dag

    def other_shares(self, walk: kernels.Walk, dag: Dag) -> Floats:
        """Return an estimate of the probability of each edge whose tail is no candidate, given order and DAG."""
        n = self.n_nodes
        known, score = self._problem.knowledge, self._problem.score
        shares = np.zeros((n, n))
        for u in range(n):
            parents = np.flatnonzero(dag[:, u])
            if len(parents) >= known.at_most[u]:
                continue
            others = known.may[:, u] & (walk.position < walk.position[u])
            others[self.candidates[u]] = False
            if others.any():
                gain = score.additions(u, parents)[others] - score.local(u, parents)
                gain += self._prior[len(parents) + 1] - self._prior[len(parents)]
                shares[others, u] = 1 / (1 + np.exp(-np.clip(gain, -700, 700)))
        return shares


def _starts(parts: list[Ints] | list[Floats]) -> Ints:
    """Return where each part begins when all are joined, and the end."""
    return np.concatenate([[0], np.cumsum([len(own) for own in parts])]).astype(np.int64)


def found_tables(problem: Problem, prior: Floats, workers: Workers, seed: int, nodes: Sequence[int] = ()) -> SumTables:
    """Return tables over the candidates that matter, or raise ``Stopped``.

    Parameters
    ----------
    problem, prior
        As for ``SumTables``.
    workers : Workers
        The threads, and the clock.
    seed : int
        Where chance comes from.
    nodes : sequence of int
        The nodes whose weights are wanted in any case.
    """
    known, n = problem.knowledge, problem.n_nodes
    tables = SumTables(problem, prior)
    most = _most_candidates(problem)
    allowed = [np.flatnonzero(known.may[:, u]) for u in range(n)]
    if max(map(len, allowed)) <= most:
        tables.fill(allowed, workers, (0.0, 1.0))
        return tables
    if _whole_fits(problem, workers):
        tables.fill_whole(workers, nodes)
        return tables
    # first guess: the neighbours in a good DAG, then the columns nearest by association
    dag, _ = order_incumbent(problem, workers.deadline, NoProgress(), random_state=seed, n_jobs=workers.count)
    worth = 1.0 * screened(problem, most // 2) + 2.0 * (dag + dag.T)
    random = np.random.default_rng(seed)
    walk = tables.first_walk(random, dag)
    for number in range(ROUNDS):
        chosen = _chosen(problem, np.maximum(worth, BACKWARDS * worth.T), most)
        if number and all(list(a) == list(b) for a, b in zip(chosen, tables.candidates, strict=True)):
            break
        tables.fill(chosen, workers, (number / ROUNDS, (number + 1) / ROUNDS))
        shares, tried = _explored(tables, walk, workers, random)
        worth = np.maximum(shares, tried)
        before, tables.left_out = tables.left_out, float(tried.max(initial=0.0))
        late = workers.deadline.elapsed() > workers.deadline.remaining() / 2  # most of the time is for the chains
        if tables.left_out <= SETTLED or late or (number > 1 and tables.left_out > IMPROVED * before):
            break
    return tables


def _whole_fits(problem: Problem, workers: Workers) -> bool:
    """Say whether tables over all other columns fit in memory and in the time."""
    n = problem.n_nodes
    if n << (n - 1) > WHOLE_ENTRIES:
        return False
    estimate = estimate_order_sums(problem, available_bytes() // 2, workers.count)
    return estimate.fits and estimate.seconds <= WHOLE_SHARE * workers.deadline.remaining()


def _most_candidates(problem: Problem) -> int:
    """Return how many candidates a node may have: as many as memory and the time for scores allow."""
    n, seconds = problem.n_nodes, problem.score.seconds_per_local

    def fits(most: int) -> bool:
        return n << most <= TABLE_ENTRIES and (n << most) * seconds <= SECONDS_OF_SCORES

    most = n - 1 if fits(n - 1) else MOST
    while most > FEWEST and not fits(most):
        most -= 1
    return max(most, int(problem.knowledge.must.sum(axis=0).max(initial=0)))


def _chosen(problem: Problem, worth: Floats, most: int) -> list[Ints]:
    """Return the candidates of each node: the required ones, then those worth most."""
    known = problem.knowledge
    found = []
    for u in range(problem.n_nodes):
        own = np.where(known.may[:, u], worth[:, u], 0.0) + np.where(known.must[:, u], 1e3, 0.0)
        order = np.argsort(-own, kind="stable")[:most]
        found.append(np.sort(order[own[order] >= LEAST]).astype(np.int64))
    return found


def _explored(
    tables: SumTables, walk: kernels.Walk, workers: Workers, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the probabilities of edges from candidates, and estimates for the edges from other columns."""
    n = tables.n_nodes
    given = tables.for_kernels
    edges, squares, tried = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))

    def go(sweeps: int) -> None:
        drawn = random.integers(0, n, (sweeps, n)), random.random((sweeps, n))
        kernels.collect(given, walk, *drawn, edges, squares, -1, np.zeros(0))

    for _ in range(WARM_UP // SWEEPS_BETWEEN):
        workers.each(PHASE, [partial(go, SWEEPS_BETWEEN)], 1, (0.0, 0.0))
    edges[:] = 0.0
    for _ in range(ORDERS_PER_ROUND):
        workers.each(PHASE, [partial(go, SWEEPS_BETWEEN)], 1, (0.0, 0.0))
        tried += tables.other_shares(walk, tables.drawn_dag(walk, random))
    return edges / (ORDERS_PER_ROUND * SWEEPS_BETWEEN), tried / ORDERS_PER_ROUND
