"""The best DAG with each edge, and the best without it, for all edges at once.

Every number is the optimum of a separate problem, with one edge required or forbidden, but these are not solved one by
one: the best DAG over every set, the best that can follow every set, and one more maximum transform per node between
the two give all of them. The docstring of ``kernels/lattice/edge_regret.py`` has the recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np

from dagopt.arrays import Floats, Ints
from dagopt.bits import mask_of
from dagopt.deadline import Deadline, StopReason
from dagopt.errors import InputError
from dagopt.families.listing import candidate_pool
from dagopt.graph.knowledge import Knowledge
from dagopt.kernels.lattice import edge_regret as kernels
from dagopt.kernels.lattice.subsets import LOW_BITS, Allowed
from dagopt.kernels.lattice.whole_arrays import STEPS_PER_OPERATION, with_and_without_arrays
from dagopt.kernels.plain import compiled_or_python
from dagopt.memory import readable
from dagopt.methods.exact.edge_ends import CHUNKS_PER_PIECE, TableEnds, best_around, pool_ends
from dagopt.methods.exact.plan import Estimate, estimate_exact, memory_in_bytes
from dagopt.methods.exact.subset_dp import BYTES, Plan, Potentials
from dagopt.problem import Problem
from dagopt.progress import Progress
from dagopt.workers import Stopped, Workers, spans

__all__ = ["EdgeRegrets", "edge_regrets", "estimate_edge_regrets"]

Edges = Sequence[tuple[int, int]]
Compare = Callable[[int, Floats], Floats]  # (node, best_around) -> best scores with, without and only after each other
Ends = tuple[Floats, Floats, Compare]

ROUNDING = 1e-11  # relative difference up to which two sums of local scores count as equal
SETS_PER_PIECE = 2048  # milliseconds between two looks at the clock
TIMES_THE_RECURSION = 3.5  # the time relative to the recursion for the best DAG, with 20 columns; for the estimate


@dataclass(frozen=True, eq=False)
class EdgeRegrets:
    """The best scores with each edge and without it; ``best`` minus these says how much each edge matters.

    Attributes
    ----------
    include : float array of shape (n, n)
        ``include[j, i]``: the best score of an allowed DAG with j → i; -inf if there is none, NaN if it was not
        computed.
    exclude : float array of shape (n, n)
        ``exclude[j, i]``: the best score of an allowed DAG without j → i (it may have i → j).
    apart : float array of shape (n, n)
        ``apart[j, i]``: the best score of an allowed DAG that does not join the two; NaN unless edges into both were
        asked for.
    best : float
        The best score of all DAGs, NaN if the deadline came first.
    stopped : {"time_limit", "interrupted"} or None
        Why the work ended early.
    """

    include: Floats
    exclude: Floats
    apart: Floats
    best: float
    stopped: StopReason | None = None


def edge_regrets(
    problem: Problem,
    deadline: Deadline,
    progress: Progress,
    n_jobs: int | None = None,
    memory_limit: int | float | str | None = None,
    edges: Edges | None = None,
) -> EdgeRegrets:
    """Return the best score of a DAG with each edge, and of one without it.

    Parameters
    ----------
    problem : Problem
        Score and knowledge; only allowed DAGs count.
    deadline : Deadline
        When to stop; what is not done by then is NaN.
    progress : Progress
        Where progress is reported.
    n_jobs : int, optional
        The number of threads; all cores unless given. The answer does not depend on it.
    memory_limit : int or str, optional
        Bytes, or text such as ``"8GB"``; by default most of the free memory.
    edges : sequence of (int, int), optional
        The edges (from, to) to compute, by position; all unless given. All edges into one node are computed together.

    Returns
    -------
    EdgeRegrets
    """
    heads = _heads(edges, problem.n_nodes)
    limit = memory_in_bytes(memory_limit)
    workers = Workers(deadline, progress, n_jobs)
    estimate = estimate_edge_regrets(problem, limit, workers.count)
    if not estimate.fits:
        raise InputError(
            f"the best DAGs with and without each edge of {problem.n_nodes} columns need {estimate} but the memory "
            f"limit is {readable(limit)}; choose fewer columns=, set max_parents= or raise memory_limit="
        )
    ends = _ends_of_lists if estimate.tables is None else partial(_ends_of_tables, plan=estimate.tables)
    return _collected(problem.n_nodes, heads, partial(ends, problem, workers), workers)


def estimate_edge_regrets(problem: Problem, memory_limit: int, cores: int) -> Estimate:
    """Return an estimate of the cost of the scores with and without all edges."""
    extra = _extra_bytes(problem.n_nodes)
    optimum = estimate_exact(problem, memory_limit - extra, cores)
    filling = optimum.potential_seconds
    seconds = filling + TIMES_THE_RECURSION * (optimum.seconds - filling)
    return replace(optimum, n_bytes=optimum.n_bytes + extra, seconds=seconds)


def _extra_bytes(n: int) -> int:
    """Return the memory in addition to that of the best DAG: the table from the full set down, and that of one node."""
    return BYTES * ((1 << n) + (1 << (n - 1)))


def _heads(edges: Edges | None, n: int) -> list[int]:
    """Return the nodes that the edges point to, each once."""
    if edges is None:
        return list(range(n))
    for pair in edges:
        if len(pair) != 2 or not all(isinstance(end, int | np.integer) and 0 <= end < n for end in pair):
            raise InputError(f"expected edges= to be pairs (from, to) of positions 0 to {n - 1} but got {pair!r}")
    return sorted({int(head) for _, head in edges})


def _collected(n: int, heads: Sequence[int], ends: Callable[[], Ends], workers: Workers) -> EdgeRegrets:
    """Return what can be computed before the deadline."""
    include, exclude, after = np.full((3, n, n), np.nan)
    best = np.nan
    try:
        with workers:
            opt, rest, compare = ends()
            best = float(opt[-1])
            for place, node in enumerate(heads):
                share = (place / len(heads), (place + 1) / len(heads))
                found = compare(node, best_around(opt, rest, node, workers, share))
                others = np.arange(n) != node
                include[others, node], exclude[others, node], after[others, node] = _best_where_close(found, best)
    except Stopped:
        return EdgeRegrets(include, exclude, np.maximum(after, after.T), best, workers.deadline.reason)
    return EdgeRegrets(include, exclude, np.maximum(after, after.T), best)


def _best_where_close(scores: Floats, best: float) -> Floats:
    """Return the scores, with those that differ from the best only by rounding made equal to it."""
    return np.where(scores >= best - _rounding(best), best, scores)


def _rounding(best: float) -> float:
    """Return how much two equal sums of local scores may differ by rounding."""
    return ROUNDING * max(abs(best), 1.0)


def _ends_of_tables(problem: Problem, workers: Workers, plan: Plan) -> Ends:
    """Return ``opt`` and ``rest`` over all parent sets, and how to compare the sets of a node."""
    ends = TableEnds(problem.score, problem.knowledge, plan, workers)
    ends.fill()
    return ends.opt, ends.rest, partial(_compare_all, ends.potentials, problem.knowledge, workers)


def _ends_of_lists(problem: Problem, workers: Workers) -> Ends:
    """Return the same if the knowledge allows few sets: the best DAGs need only those left after pruning."""
    opt, rest = pool_ends(candidate_pool(problem.score, problem.knowledge, workers), workers)
    return opt, rest, lambda node, above: _compare_listed(*_allowed_sets(problem, node, workers), node, above)


def _compare_all(potentials: Potentials, knowledge: Knowledge, workers: Workers, node: int, above: Floats) -> Floats:
    """Return the best scores with and without each other node as parent, and only after it, over all allowed sets."""
    n = knowledge.n_nodes
    must, may = (masks[node] for masks in knowledge.masks)
    allowed = Allowed(knowledge.is_free, must, may, knowledge.at_most[node])
    chunk_bits = min(LOW_BITS, n - 1)
    places = spans(1 << (n - 1 - chunk_bits), CHUNKS_PER_PIECE)
    found = np.full((len(places), 3, n - 1), -np.inf)
    steps = STEPS_PER_OPERATION * 10 * n + above.size * n // 20
    compare = compiled_or_python(kernels.with_and_without, steps, arrays=with_and_without_arrays)
    pieces = [
        partial(compare, potentials.of(node), node, allowed, above, chunk_bits, first, last, own)
        for (first, last), own in zip(places, found, strict=True)
    ]
    workers.each("edges: parent sets", pieces, len(pieces))
    best: Floats = found.max(axis=0)
    return best


def _compare_listed(masks: Ints, scores: Floats, node: int, above: Floats) -> Floats:
    """Return the same over listed sets."""
    found = np.full((3, above.size.bit_length() - 1), -np.inf)
    kernels.listed_with_and_without(masks, scores, node, above, found)
    return found


def _allowed_sets(problem: Problem, node: int, workers: Workers) -> tuple[Ints, Floats]:
    """Return every allowed parent set of a node as a mask, and the local scores."""
    known = problem.knowledge
    must = tuple(map(int, np.flatnonzero(known.must[:, node])))
    free = known.free(node).tolist()
    most = int(known.at_most[node]) - len(must)
    sets = [must + chosen for size in range(most + 1) for chosen in combinations(free, size)]
    scores = np.empty(len(sets))

    def fill(first: int, last: int) -> None:
        scores[first:last] = problem.score.local_many([node] * (last - first), sets[first:last])

    pieces = [partial(fill, first, last) for first, last in spans(len(sets), SETS_PER_PIECE)]
    workers.each("edges: parent sets", pieces, len(pieces))
    return np.array([mask_of(one) for one in sets], dtype=np.int64), scores
