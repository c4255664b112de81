"""Every parent set that some DAG within a given number of points of the best has: none is missing.

``local(i, J) + max over S ⊇ J without i of opt[S] + rest[S + i]`` is the best score of a DAG in which i has exactly the
parents J (``kernels/lattice/edge_regret.py``). A family, a node with its parents, is near if this score is at most
``within`` below the best score of all DAGs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dagopt.arrays import Bools, Dag, Floats, Ints
from dagopt.bits import mask_of
from dagopt.errors import InputError
from dagopt.families.listing import candidate_pool
from dagopt.memory import readable
from dagopt.methods.exact.edge_ends import TableEnds, best_around, pool_ends
from dagopt.methods.exact.edge_regret import ROUNDING, estimate_edge_regrets
from dagopt.methods.exact.plan import memory_in_bytes
from dagopt.methods.exact.subset_dp import Plan
from dagopt.problem import Problem
from dagopt.workers import Workers, spans

__all__ = ["NearFamilies", "checked_within", "near_families"]

SETS_PER_PIECE = 1 << 20  # parent sets compared at once; some tens of milliseconds


@dataclass(frozen=True, eq=False)
class NearFamilies:
    """The near families of some nodes, by node and then by parent set.

    Attributes
    ----------
    within : float
        How many points a near DAG may score less than the best.
    best : float
        The best score of all allowed DAGs.
    node, masks : int arrays
        The node of each family, and its parents as the bits of an integer.
    local : float array
        The local score of each family.
    loss : float array
        How much less than ``best`` the best DAG with this family scores.
    opt : float array of size 2^n
        The best score of a DAG over every set of nodes.
    """

    within: float
    best: float
    node: Ints
    masks: Ints
    local: Floats
    loss: Floats
    opt: Floats

    @property
    def n_nodes(self) -> int:
        """Number of columns n."""
        return self.opt.size.bit_length() - 1

    @property
    def tolerance(self) -> float:
        """How much two equal sums of local scores may differ by rounding."""
        return ROUNDING * max(abs(self.best), 1.0)

    def has(self, dag: Dag) -> Bools:
        """Return which families a DAG has."""
        return np.asarray(self.masks == np.array([mask_of(np.flatnonzero(own)) for own in dag.T])[self.node])


def checked_within(within: object) -> float:
    """Return a number of points, or raise an error."""
    if isinstance(within, bool) or not isinstance(within, int | float | np.number) or not 0 <= float(within) < np.inf:
        raise InputError(f"expected within= to be a number of points >= 0 but got {within!r}; 3 is usual")
    return float(within)


def near_families(
    problem: Problem,
    within: float,
    workers: Workers,
    memory_limit: int | float | str | None = None,
    nodes: Sequence[int] | None = None,
) -> NearFamilies:
    """Return the near families of some nodes, of all unless given, or raise ``Stopped``.

    Parameters
    ----------
    problem : Problem
        Score and knowledge; only allowed DAGs count.
    within : float
        Points of score.
    workers : Workers
        The threads, the clock and the progress bar; the answer is the same for any number of threads.
    memory_limit : int or str, optional
        Bytes, or text such as ``"8GB"``; by default most of the free memory.
    nodes : sequence of int, optional
        The nodes whose families are wanted.
    """
    limit = memory_in_bytes(memory_limit)
    estimate = estimate_edge_regrets(problem, limit, workers.count)
    if not estimate.fits:
        raise InputError(
            f"the graphs within {within:g} points for {problem.n_nodes} columns need {estimate} but the memory limit "
            f"is {readable(limit)}; choose fewer columns=, set max_parents= or raise memory_limit="
        )
    chosen = range(problem.n_nodes) if nodes is None else nodes
    ends = _listed if estimate.tables is None else partial(_tabled, plan=estimate.tables)
    opt, rest, sets_of = ends(problem, within, workers)
    best = float(opt[-1])
    least = best - within - ROUNDING * max(abs(best), 1.0)
    parts = []
    for place, node in enumerate(chosen):
        share = (place / len(chosen), (place + 1) / len(chosen))
        above = best_around(opt, rest, node, workers, share)
        masks, local, total = sets_of(node, above, least)
        parts.append((np.full(len(masks), node), masks, local, np.maximum(best - total, 0.0)))
    nodes_of, masks_of, scores, losses = (np.concatenate(column) for column in zip(*parts, strict=True))
    return NearFamilies(within, best, nodes_of, masks_of, scores, losses, opt)


Found = tuple[Ints, Floats, Floats]  # parent sets of a node, their local scores, the best scores of DAGs with them
SetsOf = Callable[[int, Floats, float], Found]  # (node, table of ``best_around``, least score)


def _tabled(problem: Problem, within: float, workers: Workers, plan: Plan) -> tuple[Floats, Floats, SetsOf]:
    """Return ``opt``, ``rest`` and how near sets are found, over all parent sets."""
    ends = TableEnds(problem.score, problem.knowledge, plan, workers, every=True)
    ends.fill()
    known = problem.knowledge

    def piece(node: int, above: Floats, least: float, into: list[Found], first: int, last: int) -> None:
        table, bit = ends.potentials.of(node), np.int64(1 << node)
        place = np.arange(first, last, dtype=np.int64)
        masks = (place >> node << (node + 1)) | (place & (bit - 1))
        local = table[masks + bit] - table[masks]
        total = local + above[above.size - last : above.size - first][::-1]
        near = total >= least
        if not known.is_free:
            near[near] = known.allows_masks(node, masks[near])
        into.append((masks[near], local[near], total[near]))

    def sets_of(node: int, above: Floats, least: float) -> Found:
        pieces: list[list[Found]] = [[] for _ in spans(above.size, SETS_PER_PIECE)]
        work = [
            partial(piece, node, above, least, own, first, last)
            for (first, last), own in zip(spans(above.size, SETS_PER_PIECE), pieces, strict=True)
        ]
        workers.each("near parent sets", work, len(work))
        masks, local, total = (np.concatenate(column) for column in zip(*(own[0] for own in pieces), strict=True))
        return masks, local, total

    return ends.opt, ends.rest, sets_of


def _listed(problem: Problem, within: float, workers: Workers) -> tuple[Floats, Floats, SetsOf]:
    """Return the same if the knowledge allows few sets: those that a subset beats by more than ``within`` are out."""
    pool = candidate_pool(problem.score, problem.knowledge, workers, within)
    opt, rest = pool_ends(pool, workers)

    def sets_of(node: int, above: Floats, least: float) -> Found:
        own = pool.own(node)
        masks, local = pool.masks[own].astype(np.int64), pool.score[own]
        place = masks >> (node + 1) << node | masks & ((1 << node) - 1)
        total = local + above[above.size - 1 - place]
        near = np.flatnonzero(total >= least)
        near = near[np.argsort(masks[near])]
        return masks[near], local[near], total[near]

    return opt, rest, sets_of
