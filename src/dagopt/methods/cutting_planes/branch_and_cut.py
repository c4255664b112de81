"""Branch and cut for the best DAG over families, with rows of any kind.

At every node of the tree the LP is solved, cut and solved again while that helps:

* rows that the point violates are found by the row finders (``master/rows``, local cuts);
* families whose reduced cost shows that no better DAG uses them are excluded, at the root permanently;
* every LP point is rounded to a DAG, by an order of the nodes near it;
* where the root stalls, a search over prefixes may end it (``prefixes.py``).

When cutting no longer helps, the node is split: an arc is in the graph or not, or one of two nodes comes first. The
node with the largest bound comes next. Every bound is computed from the multipliers of the LP, so that it holds
whatever the LP's tolerances.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.order import is_acyclic
from dagopt.master.families import NO_DAG, FamilyArrays
from dagopt.master.rows.base import Point, Row, RowFinder
from dagopt.methods.cutting_planes.precedence import Part, propagate, strongest_pair, undecided_pairs
from dagopt.methods.cutting_planes.relaxation import Relaxation
from dagopt.solvers.highs import SolverError

__all__ = ["BranchAndCut", "Outcome", "Rules"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

INTEGER_TOLERANCE = 1e-6
SLOW = 0.05  # a round at the root that closes less of the gap lets a search over prefixes be tried
TRIED_AGAIN = 0.8  # of the gap at which it was last tried


@dataclass(frozen=True)
class Rules:
    """When to stop cutting and how to split.

    Attributes
    ----------
    tolerance : float
        Relative to the score: a DAG better by less than this is not searched for.
    rounds_back : (int, int)
        At the root and below it: cutting ends when this many last rounds closed less than ``share`` of the gap.
    share : (float, float)
        That share, at the root and below.
    most_rounds : int
        The most rounds of cutting at a node below the root.
    idle_rounds : int
        A row is dropped after this many LPs with multiplier 0.
    pairs : int
        Pairs of nodes tried before one is branched on; 0 to branch on arcs.
    fixing : bool
        Whether families are excluded by their reduced costs.
    """

    tolerance: float = 1e-9
    rounds_back: tuple[int, int] = (3, 3)
    share: tuple[float, float] = (0.02, 0.15)
    most_rounds: int = 1000
    idle_rounds: int = 4
    pairs: int = 0
    fixing: bool = True


@dataclass(frozen=True, eq=False)
class Outcome:
    """What branch and cut found.

    Attributes
    ----------
    chosen : int array or None
        The families of the best DAG, one index per node; None if there is none.
    score : float
        Its score, minus infinity for None.
    bound : float
        No DAG over the families that satisfies the given rows scores higher, except by the relative tolerance.
    status : {"optimal", "time_limit", "interrupted", "converged"}
        Whether the search finished, or why it stopped.
    n_nodes, n_cuts, n_left, n_lps, n_open : int
        Nodes of the tree, cuts added, families that the root could not exclude, LPs, nodes left open.
    root_bound : float
        The bound before any branching.
    """

    chosen: Ints | None
    score: float
    bound: float
    status: Literal["optimal", "time_limit", "interrupted", "converged"]
    n_nodes: int
    n_cuts: int
    n_left: int
    root_bound: float
    n_lps: int = 0
    n_open: int = 0


@dataclass(order=True)
class _Node:
    """A part of the problem, and an upper bound on the scores of its DAGs."""

    minus_bound: float
    number: int
    part: Part = field(compare=False)


class BranchAndCut:
    """One run.

    Parameters
    ----------
    families : FamilyArrays
        The families, usually without dominated ones.
    start : int array or None
        The families of a DAG to start from.
    deadline : Deadline
        When to stop.
    finders : sequence of RowFinder
        The objects that find rows.
    rules : Rules
        When to stop cutting and how to split.
    after : uint64 array, optional
        For every family the nodes that come after its node in a best DAG, as words; none unless given.
    rows : sequence of Row
        Further inequalities that the answer must satisfy.
    first_rows : sequence of Row
        Rows to start with, which may be dropped like others.
    allowed : callable, optional
        Whether the families of a DAG satisfy them; all do if not given.
    tell : callable, optional
        Called with score, bound, nodes of the tree, cuts and families left, after every LP.
    improved : callable, optional
        Called with the families of every better DAG.
    finish : callable, optional
        Called with the point of the root, the families left and the best score where the root stalls. Returns the
        families of a better DAG or None, and whether no DAG is better than that.
    """

    def __init__(
        self,
        families: FamilyArrays,
        start: Ints | None,
        deadline: Deadline,
        finders: Sequence[RowFinder],
        rules: Rules,
        *,
        after: Words | None = None,
        rows: tuple[Row, ...] = (),
        first_rows: Sequence[Row] = (),
        allowed: Callable[[Ints], bool] = lambda chosen: True,
        tell: Callable[[float, float, int, int, int], None] = lambda *facts: None,
        improved: Callable[[Ints], None] = lambda chosen: None,
        finish: Callable[[Point, Bools, float], tuple[Ints | None, bool]] = lambda *facts: (None, False),
    ) -> None:
        if (np.diff(families.offsets) == 0).any():
            raise InputError(NO_DAG)
        families = replace(families, place=np.arange(len(families.node)))  # from here on in the order given
        self._families = families
        self._after_all = np.zeros_like(families.words) if after is None else after
        self._after = self._after_all
        self._deadline = deadline
        self._finders = finders
        self._rules = rules
        self._allowed = allowed
        self._tell = tell
        self._improved = improved
        self._finish = finish
        self._tried_at = np.inf  # the gap at which it was last tried
        self._best = start
        self._score = families.total(start)
        self._given = rows
        self._first_rows = first_rows
        self._n_cuts = self._n_nodes = 0
        self._open: list[_Node] = []

    def run(self) -> Outcome:
        """Search until the best DAG is proven, the deadline comes, or an LP cannot be solved."""
        families = self._families
        worst = families.offsets[1:] - 1  # each node's worst family, usually the smallest one
        infeasible = self._best is None or self._given  # the problem may be infeasible
        begin = None if infeasible else np.concatenate([self._best, families.offsets[:-1], worst])
        self._relaxation = Relaxation(families, self._given, begin, self._rules.idle_rounds)
        self._relaxation.add(self._first_rows)
        root_bound = families.ceiling()
        self._open = [_Node(-root_bound, 0, Part.whole(families))]
        n_left = len(families.node)
        while self._open and not self._closed(-self._open[0].minus_bound) and self._deadline.reason is None:
            node = self._open[0]  # it stays in the heap while it is processed, so that its bound counts
            try:
                children = self._work_on(node)
            except SolverError:
                break
            if self._n_nodes == 0:
                root_bound, n_left = -node.minus_bound, int(node.part.alive.sum())
            if children is None:  # stopped
                break
            self._n_nodes += 1
            heapq.heappop(self._open)
            for number, (part, bound) in enumerate(children):
                minus = max(node.minus_bound, -bound)
                heapq.heappush(self._open, _Node(minus, 2 * self._n_nodes + number, part))
        return self._outcome(root_bound, n_left)

    def _outcome(self, root_bound: float, n_left: int) -> Outcome:
        proven = all(self._closed(-node.minus_bound) for node in self._open)
        facts = (self._n_nodes, self._n_cuts, n_left, root_bound, self._relaxation.n_solved, len(self._open))
        if proven and self._best is None:
            return Outcome(None, -np.inf, -np.inf, "optimal", *facts)
        reason = None if proven else self._deadline.reason
        bound = self._score if proven else self._bound()
        return Outcome(self._best, self._score, bound, reason or ("optimal" if proven else "converged"), *facts)

    def _bound(self) -> float:
        """Return a score that no DAG exceeds."""
        return max([self._score, *(-node.minus_bound for node in self._open)])

    @property
    def _slack(self) -> float:
        return self._rules.tolerance * max(abs(self._score), 1.0)

    def _closed(self, bound: float) -> bool:
        """Say whether a bound leaves nothing to search for."""
        return bound <= self._score + self._slack

    def _work_on(self, node: _Node) -> list[tuple[Part, float]] | None:
        """Cut at a node until it is closed or cutting no longer helps; return its children, None when stopped.

        This lowers the node's bound and removes families.
        """
        before: list[float] = []
        below = int(self._n_nodes > 0)
        back, share = self._rules.rounds_back[below], self._rules.share[below]
        while True:
            point = self._solve(node)
            if self._stopped():
                return None
            if point is None:
                return []
            bound = -node.minus_bound
            before.append(bound)
            if len(before) > back and before[-1 - back] - bound < share * (before[-1 - back] - self._score):
                if below or not self._harder():
                    break
                before.clear()
            slow = len(before) > 1 and before[-2] - bound < SLOW * (before[-2] - self._score)
            if slow and not below and self._finished(node, point):
                return []
            if below and len(before) > self._rules.most_rounds:
                break
            rows = [row for finder in self._finders for row in finder.separate(point)]
            if self._stopped():
                return None
            if not rows:
                break
            self._relaxation.add(rows)
            self._n_cuts += len(rows)
        for finder in self._finders:
            finder.easier()
        if not below and self._finished(node, point):
            return []
        return self._split(node, point)

    def _finished(self, node: _Node, point: Point) -> bool:
        """Try to end the search at the root, if the gap is clearly smaller than when that was last tried."""
        gap = point.bound - self._score
        if self._best is None or gap > TRIED_AGAIN * self._tried_at:
            return False
        self._tried_at = gap
        chosen, finished = self._finish(point, node.part.alive, self._score)
        if chosen is not None:
            self._take(chosen)
        return finished

    def _stopped(self) -> bool:
        return self._deadline.reason is not None

    def _harder(self) -> bool:
        """Let the finders search harder; say whether any can."""
        return sum(finder.harder() for finder in self._finders) > 0

    def _solve(self, node: _Node) -> Point | None:
        """Return the LP point of a node, and lower its bound and families; None if it is closed or stopped."""
        if not propagate(self._families, self._after, node.part):
            return None
        point = self._relaxation.solve(node.part.alive, self._deadline, self._score + self._slack)
        if point is None:
            return None
        self._round(point)
        node.minus_bound = max(node.minus_bound, -point.bound)
        self._tell(self._score, self._bound(), self._n_nodes, self._n_cuts, int(node.part.alive.sum()))
        if self._closed(-node.minus_bound):
            return None
        self._exclude(node.part, point)
        if self._n_nodes == 0 and node.part.alive.sum() < 0.6 * len(self._families.node):
            point = self._shrink(node, point)
        return point

    def _exclude(self, part: Part, point: Point) -> None:
        """Exclude families by their reduced costs."""
        if self._rules.fixing:
            part.alive &= point.bound + point.excess >= self._score - self._slack

    def _shrink(self, node: _Node, point: Point) -> Point:
        """Remove the families that the root has excluded."""
        kept = np.flatnonzero(node.part.alive)
        self._families = self._families.only(kept)
        self._after = self._after_all[self._families.place]
        self._relaxation.keep_only(kept, self._families)
        node.part = Part(np.ones(len(kept), dtype=np.bool_), node.part.later)
        return Point(self._families, point.values[kept], point.bound, point.excess[kept])

    def _round(self, point: Point) -> None:
        """Keep a DAG near the LP point, or the point itself, if it is better."""
        families, values = self._families, point.values
        found = [families.near(values)]
        if _is_integer(values) and is_acyclic(families.adjacency(families.taken(values))):
            found.append(families.taken(values))
        for chosen in found:
            if chosen is None or families.total(chosen) <= self._score:
                continue
            if self._allowed(families.place[chosen]):
                self._take(chosen)

    def _take(self, chosen: Ints) -> None:
        """Keep a better DAG."""
        self._best, self._score = self._families.place[chosen], self._families.total(chosen)
        self._improved(self._best)

    def _split(self, node: _Node, point: Point) -> list[tuple[Part, float]]:
        """Return the children of a node with their bounds."""
        bound = -node.minus_bound
        if self._rules.pairs:
            pairs = undecided_pairs(point, self._after, node.part, self._rules.pairs)
            if pairs:
                _, children = strongest_pair(pairs, node.part, bound, self._score, self._try)
                return [(part, own) for part, own in children if not self._closed(own)]
        arc = self._arc(point.values)
        if arc is None:  # integer and nothing to cut off: the LP's tolerances hide the remaining gap
            return [(part, bound) for part in self._split_by_families(node.part, point.values)]
        i, j = arc
        families = self._families
        own = families.node == i
        has = (families.words[:, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != 0
        masks = [node.part.alive & ~(own & has), node.part.alive & ~(own & ~has)]
        return [(Part(alive, node.part.later.copy()), bound) for alive in masks]

    def _try(self, part: Part) -> float:
        """Return the bound of a part by one LP, minus infinity if nothing is left in it."""
        if not propagate(self._families, self._after, part):
            return -np.inf
        point = self._relaxation.solve(part.alive, self._deadline, self._score + self._slack)
        if point is None:
            return np.inf if self._deadline.reason is not None else -np.inf
        self._exclude(part, point)
        return point.bound

    def _arc(self, values: Floats) -> tuple[int, int] | None:
        """Return the node and the parent whose arc is least decided, None if all are."""
        families = self._families
        point = Point(families, values, 0.0, values)
        support = point.support
        sizes = np.diff(support.starts)
        arcs = np.zeros((families.n_nodes, families.n_nodes))
        np.add.at(arcs, (np.repeat(support.node, sizes), support.flat), np.repeat(support.mass, sizes))
        undecided = np.minimum(arcs, 1.0 - arcs)
        i, j = np.unravel_index(np.argmax(undecided), arcs.shape)
        return (int(i), int(j)) if undecided[i, j] > INTEGER_TOLERANCE else None

    def _split_by_families(self, part: Part, values: Floats) -> list[Part]:
        """Return parts that exclude the integer point: the first differs at the first node that can, and so on."""
        families = self._families
        taken = families.taken(values)
        parts = []
        for i, k in enumerate(taken):
            own = np.arange(families.offsets[i], families.offsets[i + 1])
            alive = part.alive.copy()
            for other in taken[:i]:
                alive &= (families.node != families.node[other]) | (np.arange(len(alive)) == other)
            alive[k] = False
            if alive[own].any():
                parts.append(Part(alive, part.later.copy()))
        return parts


def _is_integer(values: Floats) -> bool:
    return bool((np.abs(values - np.round(values)) < INTEGER_TOLERANCE).all())
