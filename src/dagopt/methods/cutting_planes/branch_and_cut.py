"""Branch and cut for the best DAG over a pool, with clusters and local cuts.

At every node of the tree the LP is solved, cut and solved again while that pays:

* clusters (section 4 of the paper), those of two nodes from the start;
* local cuts (``kernels/cuts/local_cuts.py``), of small sets of nodes first;
* families whose reduced cost shows that no better DAG takes them are fixed to zero;
* every LP point is rounded to a DAG, by an order of the nodes near it.

Where cutting no longer pays, an arc j → i is chosen: it is in the graph, or it is not. The node with the largest bound
comes next. Every bound is computed from the multipliers of the LP, so that it holds whatever the LP's tolerances.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dagopt.bits import listed_members
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.order import is_acyclic
from dagopt.kernels.cuts import local_cuts as local_kernels
from dagopt.kernels.cuts import separation as kernels
from dagopt.master.families import NO_DAG, SUPPORT_TOLERANCE, FamilyArrays
from dagopt.master.local_cuts import LocalSeparator
from dagopt.master.separation import FractionalSeparator, integer_clusters
from dagopt.solvers.highs import LinearProgram, LinearSolution

__all__ = ["BranchAndCut", "Outcome", "Row"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-9  # relative to the score: a DAG better by less is not looked for
CLUSTERS_A_ROUND = 30
LOCAL_CUTS_A_ROUND, MOST_LOCAL_CUTS = 20, 160  # where the root stalls it looks for more, and so in larger subsets
IDLE_ROUNDS = 4  # a row with multiplier 0 for so many rounds is dropped
ROUNDS_BACK = 3  # a node is left when the last rounds closed less than a share of what was open
NODES_A_ROUND = 8  # a round of cuts moves few nodes, so one round back for so many nodes
SHARE_AT_ROOT, SHARE_BELOW = 0.02, 0.15
INTEGER_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Row:
    """A valid inequality Σ values x[families] ≤ upper."""

    families: Ints
    values: Floats
    upper: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """What branch and cut found.

    Attributes
    ----------
    chosen : int array or None
        The families of the best DAG, one a node; None where there is none.
    score : float
        Its score, minus infinity for None.
    bound : float
        No DAG over the families that satisfies the given rows scores higher, except by a relative 1e-9.
    status : {"optimal", "time_limit", "interrupted"}
        Whether the search came to its end.
    n_nodes, n_cuts, n_left : int
        Nodes of the tree, cuts added, families that the root could not exclude.
    root_bound : float
        The bound before any branching.
    """

    chosen: Ints | None
    score: float
    bound: float
    status: Literal["optimal", "time_limit", "interrupted"]
    n_nodes: int
    n_cuts: int
    n_left: int
    root_bound: float


@dataclass(order=True)
class _Node:
    """A part of the problem: the families that may be taken, and what its DAGs score at most."""

    minus_bound: float
    number: int
    alive: Bools = field(compare=False)


class BranchAndCut:
    """One run.

    Parameters
    ----------
    families : FamilyArrays
        The families, without dominated ones as a rule.
    start : int array or None
        The families of a DAG to start from.
    deadline : Deadline
        When to stop.
    local_size : int
        Nodes of the largest local cuts; below 3 there are none.
    n_jobs : int
        Threads that look for local cuts. The answer does not depend on it.
    random_state : int
        Seed of the choice of subsets.
    rows : sequence of Row
        Inequalities that the answer must satisfy besides.
    allowed : callable, optional
        Whether the families of a DAG satisfy them; all do if not given.
    tell : callable, optional
        Called with score, bound, nodes of the tree, cuts and families left, after every LP.
    """

    def __init__(
        self,
        families: FamilyArrays,
        start: Ints | None,
        deadline: Deadline,
        *,
        local_size: int = 10,
        n_jobs: int = 1,
        random_state: int = 0,
        rows: tuple[Row, ...] = (),
        allowed: Callable[[Ints], bool] = lambda chosen: True,
        tell: Callable[[float, float, int, int, int], None] = lambda *facts: None,
    ) -> None:
        if (np.diff(families.offsets) == 0).any():
            raise InputError(NO_DAG)
        self._families = families
        self._deadline = deadline
        self._allowed = allowed
        self._tell = tell
        self._best = start
        self._score = families.total(start)
        self._threads = n_jobs
        self._local = (local_size, random_state)
        self._given = rows
        self._clusters = FractionalSeparator(CLUSTERS_A_ROUND)
        self._n_cuts = self._n_nodes = 0
        self._back = max(ROUNDS_BACK, families.n_nodes // NODES_A_ROUND)
        self._open: list[_Node] = []
        self._ceiling = families.ceiling()

    def run(self) -> Outcome:
        """Search until the best DAG is proven or the deadline comes."""
        size, seed = self._local
        self._relaxation = _Relaxation(self._families, self._given)
        root_bound = self._ceiling
        alive = np.ones(len(self._families.node), dtype=np.bool_)
        self._open = [_Node(-self._ceiling, 0, alive)]
        n_left = len(alive)
        with ThreadPoolExecutor(self._threads) as threads:
            self._separator = LocalSeparator(self._families, threads, size, LOCAL_CUTS_A_ROUND, seed)
            while self._open and not self._closed(-self._open[0].minus_bound) and self._deadline.reason is None:
                node = self._open[0]  # it stays there while it is worked on, so that its bound counts
                children = self._work_on(node)
                if self._n_nodes == 0:
                    root_bound, n_left = -node.minus_bound, int(node.alive.sum())
                if children is None:  # stopped
                    break
                self._n_nodes += 1
                heapq.heappop(self._open)
                for alive in children:
                    heapq.heappush(self._open, _Node(node.minus_bound, self._n_nodes, alive))
        proven = all(self._closed(-node.minus_bound) for node in self._open)
        if proven and self._best is None:
            return Outcome(None, -np.inf, -np.inf, "optimal", self._n_nodes, self._n_cuts, n_left, root_bound)
        reason = None if proven else self._deadline.reason
        bound = self._score if proven else self._bound()
        return Outcome(
            self._best, self._score, bound, reason or "optimal", self._n_nodes, self._n_cuts, n_left, root_bound
        )

    def _bound(self) -> float:
        """Return what no DAG exceeds."""
        return max([self._score, *(-node.minus_bound for node in self._open)])

    def _closed(self, bound: float) -> bool:
        """Say whether a bound leaves nothing to look for."""
        return bound <= self._score + TOLERANCE * max(abs(self._score), 1.0)

    def _work_on(self, node: _Node) -> list[Bools] | None:
        """Cut at a node until it is closed or no longer pays; return its children, None when stopped.

        The node's bound and families are made smaller on the way.
        """
        families = self._families
        relaxation = self._relaxation
        before: list[float] = []
        share = SHARE_AT_ROOT if self._n_nodes == 0 else SHARE_BELOW
        while True:
            if not self._propagate(node.alive):
                return []
            relaxation.restrict(node.alive)
            point = relaxation.solve(self._deadline)
            if self._deadline.reason is not None:
                return None
            if point is None:
                return []
            self._round(point.values)
            node.minus_bound = max(node.minus_bound, -point.bound)
            bound = -node.minus_bound
            self._tell(self._score, self._bound(), self._n_nodes, self._n_cuts, int(node.alive.sum()))
            if self._closed(bound):
                return []
            slack = TOLERANCE * max(abs(self._score), 1.0)
            node.alive &= point.bound + point.excess >= self._score - slack
            before.append(bound)
            stalled = len(before) > self._back and before[-1 - self._back] - bound < share * (
                before[-1 - self._back] - self._score
            )
            if stalled and self._n_nodes == 0 and self._separator.wanted < MOST_LOCAL_CUTS:
                self._separator.wanted *= 2  # larger subsets before branching
                before.clear()
            elif stalled:
                break
            if not self._cut(point.values):
                break
        self._separator.wanted = LOCAL_CUTS_A_ROUND
        arc = self._arc(point.values)
        if arc is None:  # integer and nothing to cut off: the LP's tolerances hide what is left
            return self._split_by_columns(node, point.values)
        i, j = arc
        own = families.node == i
        has = (families.words[:, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != 0
        return [node.alive & ~(own & has), node.alive & ~(own & ~has)]

    def _propagate(self, alive: Bools) -> bool:
        """Exclude families that close a cycle with arcs that are certain; False if no DAG is left."""
        drop = np.zeros(len(alive), dtype=np.bool_)
        while True:
            if not kernels.impossible(self._families.words, self._families.offsets, alive, drop):
                return False
            if not drop.any():
                return True
            alive &= ~drop

    def _round(self, values: Floats) -> None:
        """Keep a DAG near the LP point, or the point itself, if it is better."""
        families = self._families
        found = [families.near(values)]
        if _is_integer(values) and is_acyclic(families.adjacency(families.taken(values))):
            found.append(families.taken(values))
        for chosen in found:
            if chosen is not None and families.total(chosen) > self._score and self._allowed(chosen):
                self._best, self._score = chosen, families.total(chosen)

    def _cut(self, values: Floats) -> bool:
        """Add rows that the LP point violates; say whether there were any."""
        families = self._families
        clusters = self._clusters.heuristic(families, values)
        if not clusters and _is_integer(values):
            clusters = integer_clusters(families.adjacency(families.taken(values)))
        rows = [_cluster_row(families, cluster) for cluster in clusters]
        local = self._separator.separate(values, lambda: self._deadline.reason is not None)
        rows += [Row(cut.families, cut.coefficients, 1.0) for cut in local]
        self._relaxation.add(rows)
        self._n_cuts += len(rows)
        return bool(rows)

    def _arc(self, values: Floats) -> tuple[int, int] | None:
        """Return the node and the parent whose arc is least decided, None if all are."""
        families = self._families
        arcs = np.zeros((families.n_nodes, families.n_nodes))
        some = np.flatnonzero(values > SUPPORT_TOLERANCE)
        local_kernels.arc_mass(families.node[some], *listed_members(families.words[some]), values[some], arcs)
        undecided = np.minimum(arcs, 1.0 - arcs)
        i, j = np.unravel_index(np.argmax(undecided), arcs.shape)
        return (int(i), int(j)) if undecided[i, j] > INTEGER_TOLERANCE else None

    def _split_by_columns(self, node: _Node, values: Floats) -> list[Bools]:
        """Return parts that leave out the integer point: the first differs at the first node that can, and so on."""
        taken = self._families.taken(values)
        parts = []
        for i, k in enumerate(taken):
            own = np.arange(self._families.offsets[i], self._families.offsets[i + 1])
            part = node.alive.copy()
            for other in taken[:i]:
                part &= (self._families.node != self._families.node[other]) | (np.arange(len(part)) == other)
            part[k] = False
            if part[own].any():
                parts.append(part)
        return parts


@dataclass(frozen=True, eq=False)
class _Point:
    """An LP point: its values, a bound, and for each family how much lower the bound is if it is taken."""

    values: Floats
    bound: float
    excess: Floats


class _Relaxation:
    """The LP over all families, with the rows found so far."""

    def __init__(self, families: FamilyArrays, given: tuple[Row, ...]) -> None:
        self._families = families
        n = families.n_nodes
        best = families.score[families.offsets[:-1]]
        self._constant = float(best.sum())
        self._program = LinearProgram(maximise=True)
        for _ in range(n):
            self._program.add_row(1.0, 1.0, [], [])
        self._program.add_columns(families.score - best[families.node], families.node)
        self._uppers = list[float]()
        self._idle = np.zeros(0, dtype=np.int64)
        self._kept = 0
        self._alive = np.ones(len(families.node), dtype=np.bool_)
        self.add(list(given))
        self._kept = len(given)
        self.add(_pair_rows(families))

    def add(self, rows: list[Row]) -> None:
        """Add rows."""
        self._program.add_rows(
            [row.upper for row in rows], [row.families for row in rows], [row.values for row in rows]
        )
        self._uppers += [row.upper for row in rows]
        self._idle = np.append(self._idle, np.zeros(len(rows), dtype=np.int64))

    def restrict(self, alive: Bools) -> None:
        """Let only these families be taken."""
        changed = np.flatnonzero(alive != self._alive)
        self._program.set_uppers(changed, np.where(alive[changed], np.inf, 0.0))
        self._alive = alive.copy()

    def solve(self, deadline: Deadline) -> _Point | None:
        """Return an optimal point; None if there is no point or the time is over."""
        solution = self._program.solve_within(deadline.remaining())
        if solution is None:
            return None
        point = self._point(solution)
        self._age(solution.multipliers[self._families.n_nodes :])
        return point

    def _point(self, solution: LinearSolution) -> _Point:
        """Return the bound that the multipliers give: Σ λ_r b_r plus each node's largest remainder."""
        n, offsets = self._families.n_nodes, self._families.offsets
        remainder = np.where(self._alive, solution.reduced_costs, -np.inf)
        largest = np.maximum.reduceat(remainder, offsets[:-1])
        nodes, rows = solution.multipliers[:n], solution.multipliers[n:]
        bound = float(nodes.sum() + rows @ np.array(self._uppers) + largest.sum()) + self._constant
        return _Point(solution.point, bound, remainder - largest[self._families.node])

    def _age(self, multipliers: Floats) -> None:
        """Drop rows that have not mattered for some rounds."""
        self._idle = np.where(np.abs(multipliers) > SUPPORT_TOLERANCE, 0, self._idle + 1)
        self._idle[: self._kept] = 0
        old = self._idle >= IDLE_ROUNDS
        if old.any():
            self._program.delete_rows(np.flatnonzero(old) + self._families.n_nodes)
            self._uppers = [upper for upper, gone in zip(self._uppers, old, strict=True) if not gone]
            self._idle = self._idle[~old]


def _is_integer(values: Floats) -> bool:
    return bool((np.abs(values - np.round(values)) < INTEGER_TOLERANCE).all())


def _cluster_row(families: FamilyArrays, cluster: frozenset[int]) -> Row:
    places = families.in_row(cluster)
    return Row(places, np.ones(len(places)), len(cluster) - 1.0)


def _pair_rows(families: FamilyArrays) -> list[Row]:
    """Return the clusters of two nodes that a choice of families can violate."""
    arcs = np.zeros((families.n_nodes, families.n_nodes))
    local_kernels.arc_mass(families.node, *families.listed, np.ones(len(families.node)), arcs)
    pairs = np.argwhere(np.triu((arcs > 0) & (arcs.T > 0)))
    return [_cluster_row(families, frozenset((int(i), int(j)))) for i, j in pairs]
