"""The best DAG of a dense table, by a search over what comes last in its order.

The best DAG is a cheapest order, in which node i after the nodes P costs c_i(P) = l_i(P) - best_i(P), the likelihood
with all of P as parents less the best score with parents inside P (``order_costs.py``).

The search goes from the last node of the order to the first. A state is the set S of the nodes that are left, with the
least cost of the others after them, and a lower bound on the cost of the nodes of S (``suffix_bound.py``). A state is
dropped if the sum is not below the cost of the best DAG known. All states of k - 1 nodes are found from those of k. Two
states with the same S are one: the cheaper one. If no state is left, the best DAG known is the best of all.

Only c_i(S - i) for large S is needed at first, where the best parents are found by elimination; each best set is
computed once and shared by all states (``kernels/gaussian/best_subsets.py``), and only if the bound with the best set
of a larger S does not drop the state. The weights of the bound are tuned anew
for every size. The lattice has 2^n sets; the number of states is what must fit in memory.

References
----------
Yuan, Malone (2013). Learning optimal Bayesian networks: a shortest path perspective. JAIR 48.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import comb, log

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Dag, Floats, Ints, Words
from dagopt.bits import members
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels.cuts.prefixes import FULL
from dagopt.kernels.gaussian import best_subsets as subsets
from dagopt.kernels.gaussian import suffixes as kernels
from dagopt.memory import available_bytes
from dagopt.methods.branch_and_cut.order_costs import OrderCosts, order_costs
from dagopt.methods.branch_and_cut.suffix_bound import SuffixBound
from dagopt.scores.base import Score
from dagopt.workers import Stopped, Workers, spans

__all__ = ["SuffixSearch", "SuffixState", "suited"]


PHASE = "search from the end"
FEWEST_NODES = 20  # with fewer, the recursion over subsets takes a moment
MOST_NODES = 40  # with more, the states would not fit in memory
MOST_ROUNDING = 10.0  # in units of the tolerance
PATTERN_BITS = 12  # the number of nodes in each Q_i
BUDGET = 1200  # sets enumerated for the table of one node
CHUNK = 4_000  # states between two looks at the clock, at most
PRODUCTS_PER_LOOK = 200_000_000  # and so many products, about, in the inverses that are made for each state
MANY = 16  # times as many where little is done with each
VERTICES_PER_LOOK = 400_000_000  # of a tree, times the fourth power of the columns: 0.06 s for one of 120 columns
FIRST_ROOM = 1 << 10  # vertices of each tree at first
SAMPLE = 400  # states whose successors are used to tune the weights
STEPS = 20  # of tuning for each size
SHARE_OF_MEMORY = 0.6  # of what is free
FORESEEN_FROM = 100_000  # from this many states of one size on, the number of later ones is predicted
PATIENCE = 3.0  # the search is given up if it would take this many times the time that is left


def suited(score: Score, knowledge: Knowledge, tolerance: float) -> OrderCosts | None:
    """Return the costs if the search applies: all sets allowed, a cost for every parent, and little rounding."""
    if not FEWEST_NODES <= score.n_nodes <= MOST_NODES or not knowledge.is_free or not score.logdets_suffice:
        return None
    costs = order_costs(score)
    return costs if costs is not None and costs.rounding < MOST_ROUNDING * tolerance else None


@dataclass(frozen=True, eq=False)
class SuffixState:
    """Where a search is between two sizes of states: all that it goes on from.

    Attributes
    ----------
    cost : array
        The costs of the states of the last size, whose sets are the keys of the last layer.
    layers : tuple of (uint64 array, uint8 array)
        For each size the sets of nodes, and the node that was removed last.
    pairs, kappa, least : array
        The weights of the bound, and the least costs of its patterns.
    bound, root_bound : float
        What is proven, and what was before the first step.
    seconds : float
        The time of the steps so far.
    """

    cost: Floats
    layers: tuple[tuple[Words, NDArray[np.uint8]], ...]
    pairs: Floats
    kappa: Floats
    least: Floats
    bound: float
    root_bound: float
    seconds: float


@dataclass
class SuffixSearch:
    """One search.

    Parameters
    ----------
    score : Score
        The score.
    costs : OrderCosts
        What nodes cost by that score.
    dag : int8 array
        The best DAG known; the search is for a better one.
    tolerance : float
        DAGs that are better by less than this, and what covers rounding, are not searched for.
    workers : Workers
        The threads and the clock.
    pattern_bits : int
        The number of nodes in each Q_i of the bound.
    tell : callable
        Called with the bound after every size of states.
    note : callable
        Called with the state of the search after every size of states.
    state : SuffixState, optional
        The state to go on from, of a search with the same DAG.

    Attributes
    ----------
    dag : int8 array
        The best DAG found.
    bound : float
        No DAG scores more than this.
    finished : bool
        Whether the search was completed: then the bound is the score of ``dag`` plus the tolerance.
    n_states : int
        The number of states kept.
    root_bound : float
        The bound before the first step.
    """

    score: Score
    costs: OrderCosts
    dag: Dag
    tolerance: float
    workers: Workers
    pattern_bits: int = PATTERN_BITS
    tell: Callable[[float], None] = lambda bound: None
    note: Callable[[SuffixState], None] = lambda state: None
    state: SuffixState | None = None
    bound: float = np.inf
    finished: bool = False
    n_states: int = 0
    root_bound: float = np.inf
    _layers: list[tuple[Words, NDArray[np.uint8]]] = field(default_factory=list)

    def run(self) -> None:
        """Search until no state is left, the time is up, or the states no longer fit in memory."""
        n, costs = self.costs.n_nodes, self.costs
        self._matrix = np.ascontiguousarray(costs.matrix)
        self._rounding = costs.rounding
        self._target = costs.of_dag(self.dag)
        self._value = float(self.score.total(self.dag))
        self.tolerance += 2 * self._rounding
        self._limit = self._target - self.tolerance + self._rounding
        self._chunk = max(min(CHUNK, PRODUCTS_PER_LOOK // len(self._matrix) ** 3), 1)
        self._most = int(SHARE_OF_MEMORY * available_bytes()) // (12 * n + 200)
        self._share = 0.0
        if costs.is_lack:  # no order costs less than nothing
            self.bound = self._value + self._target + self._rounding
        try:
            self._search(n)
        except Stopped:
            return

    def _search(self, n: int) -> None:
        weights = SuffixBound(self.costs, self.dag, self.pattern_bits)
        self._plant(n)
        clock = self.workers.deadline
        if self.state is None:
            weights.tabulate(self.workers, BUDGET)
            full = np.array([(1 << n) - 1], dtype=np.uint64)
            states = kernels.States(full, np.zeros(1), np.zeros((1, n), dtype=np.int32))
            self._note_bound(states, weights)
            self.root_bound = self.bound
            self._begin = clock.elapsed()
        else:
            states = self._go_on(self.state, weights)
        for size in range(n - len(self._layers), 1, -1):
            self._tune(states, weights)
            self._walk(states, weights)
            found = self._expand(states, weights, size, n)
            if found is None:
                return
            keys = found.keys
            self._layers.append((keys, found.last))
            self.n_states += len(keys)
            if not len(keys):
                break
            states = kernels.States(keys, found.cost, self._gathered(states.places, found.origin))
            self._note_bound(states, weights)
            self.note(
                SuffixState(
                    states.cost, tuple(self._layers), weights.weights.pairs, weights.weights.kappa, weights.least,
                    self.bound, self.root_bound, clock.elapsed() - self._begin,
                )
            )  # fmt: skip
            if len(keys) > FORESEEN_FROM and self._too_many(size - 1, n):
                return
        self.finished = True
        if len(states.keys) and n - len(self._layers) == 1 and len(self._layers[-1][0]):
            self._take(int(np.argmin(states.cost)))
        self.bound = float(self.score.total(self.dag)) + self.tolerance

    def _go_on(self, state: SuffixState, weights: SuffixBound) -> kernels.States:
        """Go on from a state; the best sets are found again when they are needed."""
        weights.restore(state.pairs, state.kappa, state.least)
        self._layers = list(state.layers)
        self.n_states = sum(len(keys) for keys, _ in self._layers)
        self.bound, self.root_bound = min(self.bound, state.bound), state.root_bound
        self._begin = self.workers.deadline.elapsed() - state.seconds
        keys = self._layers[-1][0]
        return kernels.States(keys, state.cost, np.zeros((len(keys), self.costs.n_nodes), dtype=np.int32))

    def _note_bound(self, states: kernels.States, weights: SuffixBound) -> None:
        """Lower the bound: a better DAG passes through one of the states."""
        lowest = np.empty(len(states.keys))

        def bound(first: int, last: int) -> None:
            lowest[first:last] = states.cost[first:last] + weights.bound(states.keys[first:last])

        self._each([partial(bound, *part) for part in spans(len(lowest), CHUNK)])
        least = float(lowest.min())
        gap = max(self._target - least + self._rounding, self.tolerance)
        self.bound = min(self.bound, self._value + gap)
        self.tell(self.bound)

    def _too_many(self, size: int, n: int) -> bool:
        """Predict whether later states will be too many for the memory or the time that is left.

        The share of all sets falls faster from size to size. It is assumed to go on falling as fast as it does now, and
        faster by half of what it got faster with the last step.
        """
        shares = [len(keys) / comb(n, n - 1 - k) for k, (keys, _) in enumerate(self._layers)]
        falls = np.minimum(np.diff(np.log([1.0, 1.0, *shares])), 0.0)
        faster = 0.5 * min(falls[-1] - falls[-2], 0.0)
        steps = np.arange(1, size)
        later = np.exp(np.log(shares[-1]) + steps * falls[-1] + steps * (steps + 1) / 2 * faster)
        later *= [comb(n, size - int(k)) for k in steps]
        deadline = self.workers.deadline
        seconds = (deadline.elapsed() - self._begin) / self.n_states * later.sum()
        return bool(later.max(initial=0.0) > 2 * self._most or seconds > PATIENCE * deadline.remaining())

    def _plant(self, n: int) -> None:
        self._trees = _room(n, FIRST_ROOM)
        self._each([partial(subsets.plant, self._trees, i, *self._terms(i)) for i in range(n)])

    def _terms(self, i: int) -> tuple[Floats, Ints, float, Floats]:
        """Return what the tree of a node is made from."""
        node = self.costs.nodes[i]
        return self.costs.inverses[i], node.starts, node.half, self.costs.parents[i]

    def _tune(self, states: kernels.States, weights: SuffixBound) -> None:
        """Tune the weights on what comes after some of the states."""
        n_all = len(states.keys)
        chosen = np.unique(np.linspace(0, n_all - 1, min(n_all, SAMPLE)).astype(np.int64))
        some = kernels.States(*(np.ascontiguousarray(part[chosen]) for part in states))
        self._walk(some, weights)  # so that the weights do not depend on what was walked before
        parts = spans(len(chosen), self._chunk)
        outs = self._removed(some, weights, parts)
        keys, cost = (np.concatenate(values) for values in zip(*((out.keys, out.cost) for out in outs), strict=True))
        if len(keys):
            weights.tune(keys, cost, self._limit, STEPS, self.workers.deadline)
        if self.workers.deadline.reason is not None:
            raise Stopped

    def _removed(
        self, states: kernels.States, weights: SuffixBound, parts: Sequence[tuple[int, int]]
    ) -> list[kernels.Found]:
        """Return what the removal of a node makes of each state of these ranges."""
        outs: list[kernels.Found] = [_lists(0)] * len(parts)

        def remove(k: int) -> None:
            first, last = parts[k]
            out = _lists((last - first) * self.costs.n_nodes)
            count = self._remove(kernels.States(*(part[first:last] for part in states)), weights, first, out)
            outs[k] = kernels.Found(*(part[:count] for part in out))

        self._each([partial(remove, k) for k in range(len(parts))])
        return outs

    def _remove(self, states: kernels.States, weights: SuffixBound, first: int, out: kernels.Found) -> int:
        """Fill ``out`` with what the removal of a node makes of each state; return the number of new states."""
        return int(
            kernels.expand(
                states, self._trees, self._matrix, self.costs.starts, self.costs.half, self.costs.is_lack,
                weights.weights, weights.patterns, self._limit, first, out,
            )
        )  # fmt: skip

    def _walk(self, states: kernels.States, weights: SuffixBound) -> None:
        """Find the best parents of the nodes that may be removed; until then their costs are lower bounds."""
        wanted = np.zeros(states.places.shape, dtype=np.bool_)

        def note(first: int, last: int) -> None:
            out = _lists((last - first) * self.costs.n_nodes)
            count = self._remove(kernels.States(*(part[first:last] for part in states)), weights, first, out)
            kernels.note_wanted(out, count, wanted)

        parts = spans(len(states.keys), self._chunk)
        self._each([partial(note, *part) for part in parts])
        done = np.zeros(self.costs.n_nodes, dtype=np.int64)
        while (done < len(states.keys)).any():
            nodes = [int(i) for i in np.flatnonzero(done < len(states.keys))]
            if (self._trees.used[nodes] == self._trees.sets.shape[1]).any():
                self._trees = _with_more_room(self._trees)
            pieces = [partial(self._walk_node, states, wanted, i, done) for i in nodes]
            self._each(pieces)

    def _walk_node(self, states: kernels.States, wanted: Bools, i: int, done: Ints) -> None:
        """Go on with the states of one node until its tree is full or the time is up."""
        trees, at_once = self._trees, max(VERTICES_PER_LOOK // len(self.costs.inverses[i]) ** 4, 1)
        for first, last in spans(len(states.keys), MANY * CHUNK):
            while (begin := max(first, int(done[i]))) < last:
                if self.workers.deadline.reason is not None:
                    return
                places = np.ascontiguousarray(states.places[begin:last, i])
                own, most = np.ascontiguousarray(wanted[begin:last, i]), int(trees.used[i]) + at_once
                gone = subsets.walk_down(trees, i, states.keys[begin:last], own, places, most, *self._terms(i))
                states.places[begin:last, i] = places
                done[i] = begin + gone
                if done[i] < last and trees.used[i] == trees.sets.shape[1]:
                    return

    def _expand(self, states: kernels.States, weights: SuffixBound, size: int, n: int) -> kernels.Found | None:
        """Return the states with one node less; None if there are too many."""
        parts = spans(len(states.keys), self._chunk)
        found, used = _table(2 * len(states.keys)), 0
        for batch in spans(len(parts), 4 * self.workers.count):
            for out in self._removed(states, weights, parts[batch[0] : batch[1]]):
                done, count = 0, len(out.keys)
                while done < count:
                    used, more = kernels.gather(found, used, *(part[done:] for part in out))
                    done += more
                    if done < count:
                        found = _larger(found, used)
            if used > self._most:
                return None
            self._tell(size - 1, batch[1] / len(parts), used)
        filled = np.flatnonzero(found.keys)
        return kernels.Found(*(part[filled] for part in found))

    def _gathered(self, rows: NDArray[np.int32], origin: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return these rows of an array, which may be large."""
        found = np.empty((len(origin), rows.shape[1]), dtype=rows.dtype)

        def copy(first: int, last: int) -> None:
            found[first:last] = rows[origin[first:last]]

        self._each([partial(copy, *part) for part in spans(len(origin), MANY * CHUNK)])
        return found

    def _each(self, pieces: Sequence[Callable[[], object]]) -> None:
        """Run pieces of work; raise ``Stopped`` at the deadline."""
        self.workers.each(PHASE, pieces, len(pieces), (self._share, self._share))

    def _tell(self, size: int, fraction: float, used: int) -> None:
        n = self.costs.n_nodes
        self._share = (n - size - 1 + fraction) / max(n - 1, 1)
        facts = {"score": self._value, "bound": self.bound, "states": used}
        self.workers.progress.update(PHASE, self._share, **facts, nodes_left=size)

    def _take(self, at: int) -> None:
        """Read the DAG of a last state back to the full set and keep it if it is better."""
        n = self.costs.n_nodes
        key = self._layers[-1][0][at]
        dag = np.zeros((n, n), dtype=np.int8)
        for keys, last in reversed(self._layers):
            i = int(last[np.flatnonzero(keys == key)[0]])
            key |= np.uint64(1 << i)
            place = np.zeros(1, dtype=np.int32)
            key_of = np.array([key], dtype=np.uint64)
            wanted = np.ones(1, dtype=np.bool_)
            room = self._trees.sets.shape[1]
            while not subsets.walk_down(self._trees, i, key_of, wanted, place, 2 * room, *self._terms(i)):
                self._trees = _with_more_room(self._trees)
            dag[members(int(self._trees.sets[i, place[0]])), i] = 1
        if self.score.total(dag) > self.score.total(self.dag):
            self.dag = dag


def _room(n: int, size: int) -> subsets.Trees:
    """Return empty trees with room for this many vertices each."""
    shape = (n, size)
    words = [np.zeros(shape, dtype=np.uint64) for _ in range(2)]
    links = [np.zeros(shape, dtype=np.int32) for _ in range(2)]
    by, used = np.zeros(shape, dtype=np.uint8), np.zeros(n, dtype=np.int64)
    return subsets.Trees(words[0], np.zeros(shape), words[1], links[0], links[1], by, used)


def _with_more_room(trees: subsets.Trees) -> subsets.Trees:
    """Return the same trees with twice the room."""
    n, size = trees.sets.shape
    larger = _room(n, 2 * size)
    for new, old in zip(larger, trees, strict=True):
        new[..., : old.shape[-1]] = old
    return larger


def _lists(size: int) -> kernels.Found:
    """Return lists with room for this many states."""
    return kernels.Found(
        np.zeros(size, dtype=np.uint64), np.empty(size), np.empty(size, dtype=np.int32), np.empty(size, dtype=np.uint8)
    )


def _table(wanted: int) -> kernels.Found:
    """Return an empty table with room for this many states."""
    return _lists(1 << max(12, int(np.ceil(log(max(wanted, 1) / FULL, 2)))))


def _larger(found: kernels.Found, used: int) -> kernels.Found:
    """Return a table with the same states and more room."""
    larger = _table(4 * used)
    filled = np.flatnonzero(found.keys)
    kernels.gather(larger, 0, *(part[filled] for part in found))
    return larger
