"""The probability of every edge, by sums over all orders and all parent sets that agree with them.

The docstring of ``kernels/lattice/order_sums.py`` has the recursion: that of the best DAG with sums in place of maxima,
from the empty set up and from the full set down. This module has the estimate, the prior, and the pieces of work for
the threads, the clock and the progress bar.

References
----------
Koivisto, Sood (2004). Exact Bayesian structure discovery in Bayesian networks. JMLR 5.

Koivisto (2006). Advances in exact Bayesian structure discovery in Bayesian networks. UAI.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import lgamma

import numpy as np
from scipy.special import logsumexp

from dagopt.arrays import Floats, Ints
from dagopt.errors import InputError
from dagopt.graph.knowledge import Knowledge
from dagopt.integer.layers import each_layer
from dagopt.kernels.counts import wide_numbers as wide
from dagopt.kernels.lattice import order_sums as kernels
from dagopt.kernels.lattice.subsets import Allowed
from dagopt.methods.exact.plan import Estimate
from dagopt.methods.exact.subset_dp import BYTES, Potentials, all_potentials, potential_tables
from dagopt.methods.ordered_problem import refuse_ancestors
from dagopt.problem import Problem
from dagopt.workers import Workers, spans

__all__ = ["MOST_NODES", "PRIORS", "OrderSums", "check_prior", "estimate_order_sums", "order_sums_bytes"]


PRIORS = {
    "fair": "every number of parents has the same weight, divided equally among the sets of that size",
    "uniform": "every parent set of a node has the same weight",
}
MOST_NODES = 30  # with more nodes the tables exceed 100 GB
CHUNKS_PER_PIECE = 64  # so that a piece of work takes some milliseconds
STRETCHES_PER_PIECE = 1 << 8  # per task of a thread
CHUNK_BITS = 8  # of the sums over orders
SETS_TOGETHER = 1 << 20  # parent sets whose probabilities are computed at once
LEAST_PROBABILITY = 1e-12  # of a parent set that is returned; 2^24 of them would make up less than 2e-5
SECONDS_PER_ENTRY = 1.1e-7  # of the n 2^(n-1) entries, on one core, with 16 and 18 columns; for the estimate


def estimate_order_sums(problem: Problem, memory_limit: int, cores: int) -> Estimate:
    """Return an estimate of the cost of the probabilities of all edges."""
    n = problem.n_nodes
    tables = potential_tables(problem.score)
    n_bytes = order_sums_bytes(n, tables)
    counting = tables * 2.0**n * problem.score.seconds_per_potential
    seconds = (SECONDS_PER_ENTRY * n * 2.0 ** (n - 1) + counting) / cores
    return Estimate("sums", n_bytes, seconds, n_bytes <= memory_limit, cores=cores)


def order_sums_bytes(n: int, tables: int = 1) -> int:
    """Return the memory for n columns: potentials and both sums over orders, all choices, one wide table."""
    return BYTES * (((2 + tables) << n) + (n << (n - 1)) + (2 << (n - 1)))


class OrderSums:
    """The sums for one problem.

    Parameters
    ----------
    problem : Problem
        Score and knowledge; the weight of a parent set is the exponential of its local score. Orders against what is
        known about the order have no weight.
    prior : {"fair", "uniform"} or array
        The weight of a parent set before the data, see ``PRIORS``; or its logarithm by the number of parents.
    workers : Workers
        The threads, the clock and the progress bar; the answer is the same for any number of threads.
    """

    def __init__(self, problem: Problem, prior: str | Floats, workers: Workers) -> None:
        refuse_ancestors(problem.knowledge, "the sum over all orders")
        self.n = problem.n_nodes
        self._score = problem.score
        self._knowledge = problem.knowledge
        self._earlier = problem.knowledge.earlier
        self._workers = workers
        self._prior = log_prior(prior, self.n) if isinstance(prior, str) else prior
        self._must, self._may = problem.knowledge.masks
        self._chunk_bits = min(wide.LOW_BITS, self.n - 1)
        self._chunks = 1 << (self.n - 1 - self._chunk_bits)

    def run(self) -> tuple[Floats, float]:
        """Return the probability of each edge, ``[j, i]`` for j → i, and the log-evidence, or raise ``Stopped``."""
        evidence = self._sum_orders()
        return self._probabilities(), evidence

    def choices(self, nodes: Sequence[int]) -> tuple[Floats, list[Floats]]:
        """Return, in logarithms, the sums over the parent sets inside every set, and the weights of some nodes' sets.

        ``[i, U]`` is the sum for node i and a set U of the other nodes, as bits without its own. The weights have the
        same index.
        """
        size = 1 << (self.n - 1)
        self._parts, self._levels = np.empty(size), np.empty(size)
        self._choice = np.empty((self.n, size))
        self._fill_potentials()
        self._sum_choices("weights of parent sets")
        return self._choice, [self._log_weights(node) for node in nodes]

    def _log_weights(self, node: int) -> Floats:
        """Return the logarithms of the weights of a node's parent sets, as bits without its own."""
        masks = np.arange(1 << (self.n - 1), dtype=np.int64)
        masks = (masks >> node << (node + 1)) | (masks & ((1 << node) - 1))
        table = self._potentials.of(node)
        weights = table[masks + (1 << node)] - table[masks] - self._empty[node] + self._prior[np.bitwise_count(masks)]
        weights[~self._knowledge.allows_masks(node, masks)] = -np.inf
        return np.asarray(weights)

    def parents_of(self, node: int) -> tuple[Ints, Floats]:
        """Return every parent set of a node as bits, the most probable first, and its probability; or ``Stopped``.

        The probabilities sum to 1, up to sets below ``LEAST_PROBABILITY``, which are left out.
        """
        self._sum_orders()
        self._sum_subsets(partial(kernels.around, self._before, self._after, node), "probabilities of parent sets", 0)
        known, weights = self._knowledge, self._weights(node)
        found: list[tuple[Ints, Floats]] = []
        above = np.empty(self._parts.size)
        kernels.logarithms(self._parts, self._levels, above, 0, above.size)
        for first, last in spans(above.size, SETS_TOGETHER):
            place = np.arange(first, last, dtype=np.int64)
            masks = (place >> node << (node + 1)) | (place & ((1 << node) - 1))
            local = weights.table[masks + (1 << node)] - weights.table[masks] - weights.empty
            local += self._prior[np.bitwise_count(masks)] + above[above.size - last : above.size - first][::-1]
            probability = np.exp(local - self._before[-1])
            kept = (probability >= LEAST_PROBABILITY) & known.allows_masks(node, masks)
            found.append((masks[kept], probability[kept]))
        sets, shares = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(-shares, kind="stable")
        return sets[order], shares[order]

    def _sum_orders(self) -> float:
        """Fill the sums from both ends, and return the log-evidence."""
        size = 1 << (self.n - 1)
        self._parts, self._levels = np.empty(size), np.empty(size)
        self._choice = np.empty((self.n, size))
        self._before, self._after = np.empty(1 << self.n), np.empty(1 << self.n)
        prior = self._log_prior_of_all()
        self._fill_potentials()
        self._sum_choices("weights of parent sets")
        self._sum_before()
        self._sum_after()
        return float(self._before[-1] + self._empty.sum()) - prior

    def _fill_potentials(self) -> None:
        """Fill the potentials of all sets, and the local scores without parents."""
        self._potentials = all_potentials(self._score, self._workers)
        tables = map(self._potentials.of, range(self.n))
        self._empty = np.array([table[1 << node] - table[0] for node, table in enumerate(tables)])

    def _log_prior_of_all(self) -> float:
        """Return the logarithm of the sum of all prior weights, over the orders and the allowed parent sets."""
        if _is_symmetric(self._knowledge):
            return _log_prior_of_all(self._prior, self.n, int(self._knowledge.at_most[0]))
        self._potentials = Potentials(np.zeros((1, 1 << self.n)))
        self._empty = np.zeros(self.n)
        self._sum_choices("weights of the prior")
        self._sum_before()
        return float(self._before[-1])

    def _weights(self, node: int) -> kernels.Weights:
        """Return the weights of a node's parent sets in the form for kernels."""
        allowed = Allowed(False, self._must[node], self._may[node], self._knowledge.at_most[node])
        return kernels.Weights(self._potentials.of(node), node, self._empty[node], self._prior, allowed)

    def _sum_choices(self, phase: str) -> None:
        """Fill ``choice``: for every node and set, the sum over the parent sets inside it."""
        for node in range(self.n):
            self._sum_subsets(partial(kernels.weigh, self._weights(node)), phase, node)
            pieces = [
                partial(kernels.logarithms, self._parts, self._levels, self._choice[node], first, last)
                for first, last in spans(self._parts.size, 1 << 17)
            ]
            self._workers.each(phase, pieces, len(pieces), _share(node, self.n, 3))
            self._keep_order(node)

    def _keep_order(self, node: int) -> None:
        """Give a node no weight after sets with a node that comes later, or without one that comes earlier.

        Then the sums from both ends are zero at sets that begin no possible order.
        """
        if self._earlier is None:
            return
        others = np.arange(self.n) != node
        table = self._choice[node].reshape((2,) * (self.n - 1))  # the last axis is the lowest bit
        for first, inside in ((self._earlier[node], 1), (self._earlier[:, node], 0)):
            for axis in np.flatnonzero(first[others][::-1]):
                np.moveaxis(table, int(axis), 0)[inside] = -np.inf

    def _sum_subsets(self, fill: Callable[..., object], phase: str, node: int) -> None:
        """Fill the wide table chunk by chunk and sum it over subsets of the bits above the chunks."""
        room = (self._parts, self._levels)
        pieces: list[Callable[[], object]] = [
            partial(fill, *room, self._chunk_bits, first, last) for first, last in spans(self._chunks, CHUNKS_PER_PIECE)
        ]
        self._workers.each(phase, pieces, len(pieces), _share(node, self.n, 0))
        bits = self._chunks.bit_length() - 1
        for step, (start, count) in enumerate(((0, bits // 2), (bits // 2, bits - bits // 2)), start=1):
            stretches = (self._parts.size >> count) // wide.ROW if count else 0
            pieces = [
                partial(wide.sum_high, *room, self._chunk_bits + start, count, first, last)
                for first, last in spans(stretches, STRETCHES_PER_PIECE)
            ]
            self._workers.each(phase, pieces, len(pieces), _share(node, self.n, step))

    def _sum_before(self) -> None:
        bits = min(CHUNK_BITS, self.n)
        work = partial(kernels.sum_before, self._choice, self._before, bits)
        each_layer(self._workers, "orders from the first node on", self.n - bits, work)

    def _sum_after(self) -> None:
        bits = min(CHUNK_BITS, self.n)
        work = partial(kernels.sum_after, self._choice, self._after, bits)
        each_layer(self._workers, "orders from the last node back", self.n - bits, work, down=True)

    def _probabilities(self) -> Floats:
        phase = "probabilities of edges"
        total = float(self._before[-1])
        edges = np.zeros((self.n, self.n))
        places = spans(self._chunks, CHUNKS_PER_PIECE)
        for node in range(self.n):
            self._sum_subsets(partial(kernels.around, self._before, self._after, node), phase, node)
            shares = np.zeros((len(places), self.n - 1))
            known = (self._weights(node), self._parts, self._levels, total, self._chunk_bits)
            work: Callable[..., None] = partial(kernels.parent_shares, *known)
            pieces = [partial(work, first, last, own) for (first, last), own in zip(places, shares, strict=True)]
            self._workers.each(phase, pieces, len(pieces), _share(node, self.n, 3))
            edges[np.arange(self.n) != node, node] = shares.sum(axis=0)
        return np.minimum(edges, 1.0)


def check_prior(prior: str) -> None:
    """Raise an error for an unknown prior."""
    if prior not in PRIORS:
        raise InputError(f"expected prior= to be 'fair' or 'uniform' but got {prior!r}; change the option")


def log_prior(prior: str, n: int) -> Floats:
    """Return the logarithm of the weight of a parent set by its size 0, 1, ..., n - 1."""
    check_prior(prior)
    return np.zeros(n) if prior == "uniform" else -np.array([_log_choose(n - 1, k) for k in range(n)])


def _is_symmetric(knowledge: Knowledge) -> bool:
    """Say whether the only knowledge is a limit on the number of parents, the same for all nodes."""
    n = knowledge.n_nodes
    same = (knowledge.at_most == knowledge.at_most[0]).all() and knowledge.earlier is None
    return bool(same and not knowledge.must.any() and knowledge.may.sum() == n * (n - 1))


def _log_prior_of_all(prior: Floats, n: int, most: int) -> float:
    """Return the logarithm of n! times the product over k of the weights of all parent sets among k nodes."""
    sums = [logsumexp([_log_choose(k, m) + prior[m] for m in range(min(k, most) + 1)]) for k in range(n)]
    return lgamma(n + 1) + float(np.sum(sums))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _share(node: int, n: int, quarter: int) -> tuple[float, float]:
    """Return the share of a phase that a quarter of the work for one node makes up."""
    return (node + quarter / 4) / n, (node + (quarter + 1) / 4) / n
