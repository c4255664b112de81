"""Several walks over orders, and how well they agree: edge probabilities where sums over all orders do not fit.

Every walk starts at its own random order and is led to orders of large weight by powers of the weights that rise to 1.
What it has seen is kept in batches of equal length; when there are
``MOST_BATCHES`` of them, neighbours are joined. The first quarter of the batches is left out.

References
----------
Gelman, Rubin (1992). Inference from iterative simulation using multiple sequences. Statistical Science 7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dagopt.arrays import Dag, Floats
from dagopt.errors import InputError
from dagopt.kernels.orders import sampled as kernels
from dagopt.methods.ordered_problem import refuse_ancestors
from dagopt.methods.orders.sum_tables import SumTables, found_tables
from dagopt.problem import Problem
from dagopt.workers import Stopped, Workers

__all__ = ["Agreement", "OrderChains"]

CHAINS = 4
MOST_BATCHES = 32  # per chain, an even number
STEPS_PER_PIECE = 500_000  # steps times columns between two looks at the clock: hundredths of a second
MOST_SWEEPS_PER_PIECE = 4_000  # few columns need no more: longer pieces made four columns take seconds
MOST_SWEEPS = 400_000  # per chain
LARGEST_RHAT = 1.01
LARGEST_DIFFERENCE = 0.01  # between an edge's probability in one chain and in all
LARGEST_LEFT_OUT = 0.05  # estimated probability of an edge that no walk can have
LEAST_VARIANCE = 1e-6  # of a probability along a walk; edges that vary less are as good as certain
POWERS = np.linspace(0.05, 1.0, 20)  # of the weights, one after the other, before anything counts
SWEEPS_PER_POWER = 50
MOST_BETWEEN = 2_000  # sweeps between two DAGs that are drawn
PHASE = "walks over orders"


@dataclass(frozen=True)
class Agreement:
    """How well the chains agree.

    Attributes
    ----------
    n_chains : int
        How many walks there are.
    n_sweeps : int
        Sweeps of each that count; in a sweep as many columns move as there are.
    rhat : float
        The largest R-hat of an edge's probability, over halves of chains: 1 where all agree.
    ess : float
        The smallest effective sample size of an edge's probability.
    difference : float
        The largest difference between an edge's probability in one chain and in all.
    left_out : float
        The largest estimated probability of an edge that was left out because its tail is no candidate parent.
    """

    n_chains: int
    n_sweeps: int
    rhat: float
    ess: float
    difference: float
    left_out: float

    @property
    def is_reached(self) -> bool:
        """Whether the chains agree."""
        return self.rhat <= LARGEST_RHAT and self.difference <= LARGEST_DIFFERENCE

    @property
    def is_covered(self) -> bool:
        """Whether no edge that was left out is likely; more walking does not change it."""
        return self.left_out <= LARGEST_LEFT_OUT

    @property
    def told(self) -> str:
        """The figures in words."""
        return (
            f"{self.n_chains} chains of {self.n_sweeps:,} sweeps; R-hat {self.rhat:.3f}, effective sample size "
            f"{self.ess:,.0f}, edges differ between chains by at most {self.difference:.4f}; probability of an edge "
            f"left out: at most about {self.left_out:.4f}"
        )


@dataclass
class _Chain:
    """One walk and its batches."""

    walk: kernels.Walk
    random: np.random.Generator
    edges: list[Floats] = field(default_factory=list)  # sums over the sweeps of a batch
    squares: list[Floats] = field(default_factory=list)
    visits: list[Floats] = field(default_factory=list)

    def joined(self) -> None:
        """Join neighbouring batches."""
        self.edges, self.squares, self.visits = map(_joined, (self.edges, self.squares, self.visits))


def _joined(sums: list[Floats]) -> list[Floats]:
    """Return the sums of neighbours."""
    return [a + b for a, b in zip(sums[::2], sums[1::2], strict=True)]


class OrderChains:
    """Walks over orders of the columns.

    Parameters
    ----------
    problem : Problem
        Score and knowledge.
    prior : array
        The logarithm of the prior weight of a parent set, by its size.
    workers : Workers
        The threads, the clock and the progress bar. The answer is the same for any number of threads.
    seed : int
        Where chance comes from.
    node : int
        The node whose parent sets are wanted; -1 for none.
    draws : bool
        Whether DAGs will be drawn, which takes the weights of all nodes.
    """

    def __init__(
        self, problem: Problem, prior: Floats, workers: Workers, seed: int, node: int = -1, *, draws: bool = False
    ) -> None:
        refuse_ancestors(problem.knowledge, "a walk through orders")
        if problem.knowledge.earlier is not None:
            raise InputError(
                f"sampled walks go through all orders of the columns, not only through {problem.knowledge.orders}, so "
                "lags= and before= need exact sums; use method='exact' with fewer columns=, or leave before= out; with "
                "lags= dagopt.bootstrap works for any number of columns"
            )
        self._workers, self._node = workers, node
        self.n = problem.n_nodes
        wanted = range(self.n) if draws else [] if node < 0 else [node]
        self.tables: SumTables = found_tables(problem, prior, workers, seed, wanted)
        self._given = self.tables.for_kernels
        randoms = [np.random.default_rng(one) for one in np.random.SeedSequence(seed).spawn(CHAINS)]
        self._chains = [_Chain(self.tables.first_walk(random), random) for random in randoms]
        self._sweeps = min(max(STEPS_PER_PIECE // (self.n * self.n), 20), MOST_SWEEPS_PER_PIECE)  # per piece
        self._pieces = 1  # per batch

    def run(self) -> bool:
        """Walk until the chains agree or are long enough; False if the clock came first, with what there is."""
        try:
            self._workers.each(PHASE, [partial(self._lead, chain) for chain in self._chains], CHAINS, (0.0, 0.0))
            while True:
                self._batch()
                length = len(self._chains[0].edges) * self._pieces * self._sweeps
                if len(self._chains[0].edges) == MOST_BATCHES:
                    found = self.agreement()
                    shown = {"rhat": found.rhat, "difference": found.difference}
                    self._workers.progress.update(PHASE, min(length / MOST_SWEEPS, 1.0), **shown)
                    if found.is_reached or length >= MOST_SWEEPS:
                        return True
                    for chain in self._chains:
                        chain.joined()
                    self._pieces *= 2
        except Stopped:
            return False

    def _lead(self, chain: _Chain) -> None:
        """Lead a walk to orders of large weight."""
        kernels.begin(self._given, chain.walk)
        for power in POWERS:
            steps = SWEEPS_PER_POWER * self.n
            drawn = chain.random.integers(0, self.n, steps), chain.random.random(steps)
            kernels.relocate(self._given, chain.walk, *drawn, power)

    def _batch(self) -> None:
        """Add one batch to every chain."""
        size = 0 if self._node < 0 else len(self.tables.weights[self._node])
        shapes = ((self.n, self.n), (self.n, self.n), (size,))
        rooms: list[list[Floats]] = [[np.zeros(shape) for shape in shapes] for _ in self._chains]

        def piece(chain: _Chain, room: list[Floats]) -> None:
            drawn = (
                chain.random.integers(0, self.n, (self._sweeps, self.n)),
                chain.random.random((self._sweeps, self.n)),
            )
            kernels.collect(self._given, chain.walk, *drawn, room[0], room[1], self._node, room[2])

        done = len(self._chains[0].edges) * self._pieces * self._sweeps / MOST_SWEEPS
        for _ in range(self._pieces):
            parts = [partial(piece, *one) for one in zip(self._chains, rooms, strict=True)]
            self._workers.each(PHASE, parts, len(parts), (done, done))
        for chain, room in zip(self._chains, rooms, strict=True):
            chain.edges.append(room[0])
            chain.squares.append(room[1])
            chain.visits.append(room[2])

    @property
    def _first(self) -> int:
        """The first batch that counts."""
        return len(self._chains[0].edges) // 4

    @property
    def _per_batch(self) -> int:
        """Sweeps of a batch."""
        return self._pieces * self._sweeps

    @property
    def is_empty(self) -> bool:
        """Whether too little was seen to tell anything: fewer than four batches."""
        return min(len(chain.edges) for chain in self._chains) < 4

    def edges(self) -> Floats:
        """Return the probability of each edge, ``[j, i]`` for j → i."""
        return np.asarray(self._batches().mean(axis=(0, 1)))

    def _batches(self) -> Floats:
        """Return the mean of each edge over ``[chain, batch]``."""
        return np.array([chain.edges[self._first :] for chain in self._chains]) / self._per_batch

    def agreement(self) -> Agreement:
        """Return how well the chains agree."""
        batches = self._batches()
        count = batches.shape[1]
        squares = np.array([chain.squares[self._first :] for chain in self._chains]) / self._per_batch
        variance = np.maximum(squares.mean(axis=1) - batches.mean(axis=1) ** 2, 0.0).mean(axis=0)
        varies = variance > LEAST_VARIANCE
        halves = np.concatenate([batches[:, : count // 2].mean(axis=1), batches[:, count - count // 2 :].mean(axis=1)])
        between = halves.var(axis=0, ddof=1)[varies]
        rhat = float(np.sqrt(1 + between / variance[varies]).max(initial=1.0))
        of_batches = np.maximum(batches.reshape(-1, self.n, self.n).var(axis=0, ddof=1)[varies], 1e-300)
        total = CHAINS * count * self._per_batch
        ess = float((CHAINS * count * variance[varies] / of_batches).min(initial=total))
        means = batches.mean(axis=1)
        difference = float(np.abs(means - means.mean(axis=0)).max())
        return Agreement(CHAINS, count * self._per_batch, rhat, min(ess, total), difference, self.tables.left_out)

    def drawn(self, count: int, workers: Workers) -> list[Dag]:
        """Return DAGs drawn from the walks by turns, so far apart that they are nearly independent; or ``Stopped``."""
        found = self.agreement()
        sweeps = min(int(np.ceil(found.n_chains * found.n_sweeps / max(found.ess, 1.0))), MOST_BETWEEN)
        dags: list[list[Dag]] = [[] for _ in self._chains]

        def draw(chain: _Chain, own: list[Dag]) -> None:
            steps = sweeps * self.n
            drawn = chain.random.integers(0, self.n, steps), chain.random.random(steps)
            kernels.relocate(self._given, chain.walk, *drawn, 1.0)
            own.append(self.tables.drawn_dag(chain.walk, chain.random))

        for done in range(0, count, CHAINS):
            pieces = [partial(draw, *one) for one in zip(self._chains, dags, strict=True)]
            workers.each("graphs", pieces, CHAINS, (done / count, min(done / count + CHAINS / count, 1.0)))
        return [dag for turn in zip(*dags, strict=True) for dag in turn][:count]

    def parents(self) -> tuple[list[tuple[int, ...]], Floats, Floats]:
        """Return the parent sets of the node, the most probable first, with probabilities, in all and ``[chain, set]``.

        An order in which the candidates U come first has the set J inside U with probability
        weight(J) / sum of the weights inside U. So J has weight(J) times a sum over the visited U that contain J.
        """
        node, weights = self._node, self.tables.weights[self._node]
        first = self._given.offsets[node]
        sums = self._given.sums[first : first + len(weights)]
        shares = []
        for chain in self._chains:
            visits = np.sum(chain.visits[self._first :], axis=0)
            share = visits / visits.sum()
            with np.errstate(divide="ignore"):
                logs = np.ascontiguousarray((np.log(share) - sums)[::-1])  # complements: sums over supersets
            kernels.sum_subsets(logs)
            shares.append(np.exp(weights + logs[::-1]))
        each = np.array(shares)
        total = each.mean(axis=0)
        order = np.argsort(-total, kind="stable")
        order = order[total[order] > 0]
        sets = [tuple(map(int, self.tables.parents(node, int(chosen)))) for chosen in order]
        return sets, total[order], each[:, order]
