"""What is done at one node of the tree: cut, exclude families, round, and split.

A lane has its own LP and its own finders, so that several lanes can work on different nodes at the same time. What a
lane does depends only on the nodes that it was given, in their order, and on the best DAG known when each was begun. A
lane that works while few others do tries several pairs of nodes at the same time, each in an LP of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, wait
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dagopt.arrays import Bools, Floats, Ints, Words
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.graph.order import is_acyclic
from dagopt.lp.relaxation import Relaxation, Start
from dagopt.lp.rows.rewriting import Renumbering
from dagopt.lp.rows.row import Point, RowFinder
from dagopt.methods.branch_and_cut.precedence import Part, Probe, probe_pairs, propagate, undecided_pairs

__all__ = ["Best", "Cutting", "Finish", "Lane", "Node", "Pause", "Rules"]

Finish = Callable[[Point, Bools, float, bool], tuple[Ints | None, bool]]
Pause = Callable[["Node", "Cutting"], Sequence[RowFinder]]

INTEGER_TOLERANCE = 1e-6  # of LP values; HiGHS is feasible to 1e-7
RENEWED_ROUNDS = 25  # of cutting at the root between two states that are saved
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


@dataclass(order=True)
class Node:
    """A part of the problem, an upper bound on the scores of its DAGs, and where its LP starts.

    Nodes with larger bounds come first, then those with smaller numbers. ``lane`` is the lane that made the node.
    """

    minus_bound: float
    number: int
    part: Part = field(compare=False)
    start: Start | None = field(compare=False, default=None)
    lane: int = field(compare=False, default=0)


@dataclass(frozen=True)
class Cutting:
    """How far cutting at the root is: the bounds so far, how hard the finders search, when ``finish`` was tried."""

    before: tuple[float, ...] = ()
    n_harder: int = 0
    tried_at: float = np.inf


@dataclass(frozen=True, eq=False)
class Best:
    """The best DAG known.

    Attributes
    ----------
    chosen : int array or None
        Its families, in the numbering of the whole problem; None if there is none.
    score : float
        Its score, minus infinity for None.
    dag : int8 array or None
        The DAG.
    """

    chosen: Ints | None
    score: float
    dag: NDArray[np.int8] | None


class Lane:
    """Works on one node after the other.

    Parameters
    ----------
    families : Families
        The families, numbered by ``place``.
    after : uint64 array
        For every family of the whole problem the nodes that come after its node in a best DAG, as words.
    relaxation : Relaxation
        The LP.
    finders : sequence of RowFinder
        The objects that find rows.
    rules : Rules
        When to stop cutting and how to split.
    deadline : Deadline
        When to stop.
    allowed : callable
        Whether the families of a DAG, numbered by ``place``, satisfy the given rows.
    tell : callable
        Called with the node, after every LP.
    threads : Executor
        Where pairs are tried at the same time.
    """

    def __init__(
        self,
        families: Families,
        after: Words,
        relaxation: Relaxation,
        finders: Sequence[RowFinder],
        rules: Rules,
        deadline: Deadline,
        allowed: Callable[[Ints], bool],
        tell: Callable[[Node], None],
        threads: Executor,
    ) -> None:
        self.families = families
        self.relaxation = relaxation
        self.finders = finders
        self.best = Best(None, -np.inf, None)
        self.n_cuts = 0
        self._after_all = after
        self._after = after[families.place]
        self._rules = rules
        self._deadline = deadline
        self._allowed = allowed
        self._tell = tell
        self._threads = threads
        self._others: list[Relaxation] = []  # LPs in which pairs are tried
        self._tried_at = np.inf  # the gap at which ``finish`` was last tried
        self._n_harder = 0

    def twin(self, finders: Sequence[RowFinder], inside: Ints | None = None) -> Lane:
        """Return another lane of the same problem, with an LP of its own that has some families, or the same ones."""
        relaxation = self.relaxation.twin(inside)
        return type(self)(
            self.families, self._after_all, relaxation, finders, self._rules, self._deadline, self._allowed, self._tell,
            self._threads,
        )  # fmt: skip

    @property
    def n_lps(self) -> int:
        """The number of LPs solved."""
        return sum(one.n_solved for one in (self.relaxation, *self._others))

    def improve(self, best: Best) -> None:
        """Take note of a better DAG, found here or elsewhere."""
        self.best = best
        if best.dag is not None:
            for finder in self.finders:
                finder.improved(best.dag)

    @property
    def slack(self) -> float:
        """How much better than the best DAG a DAG must be to be searched for; 0 while none is known."""
        return 0.0 if self.best.chosen is None else self._rules.tolerance * max(abs(self.best.score), 1.0)

    def closed(self, bound: float) -> bool:
        """Say whether a bound leaves nothing to search for."""
        return bound <= self.best.score + self.slack

    def work_on(
        self,
        node: Node,
        at_once: int = 1,
        finish: Finish | None = None,
        pause: Pause | None = None,
        cutting: Cutting | None = None,
    ) -> list[Node] | None:
        """Cut at a node until it is closed or cutting no longer helps; return its children, None when stopped.

        This lowers the node's bound and removes families. ``at_once`` is the number of pairs that are tried at the same
        time before it is split. The others are given at the root alone: ``pause`` is called
        from time to time with a state from which another lane can go on, and returns new finders, so that this lane
        goes on in the same way; ``cutting`` is such a state.
        """
        if node.start is not None:
            self.relaxation.load(node.start)
        before: list[float] = []
        if cutting is not None:
            before, self._tried_at = list(cutting.before), cutting.tried_at
            self._search_harder(cutting.n_harder)
        below = int(finish is None)
        back, share = self._rules.rounds_back[below], self._rules.share[below]
        n_rounds = 0
        while True:
            point = self._solve(node, shrink=not below)
            if self._stopped():
                return None
            if point is None:
                return []
            n_rounds += 1
            if pause is not None and n_rounds % RENEWED_ROUNDS == 0:
                self._renew(pause(node, Cutting(tuple(before), self._n_harder, self._tried_at)))
                continue
            bound = -node.minus_bound
            before.append(bound)
            if len(before) > back and before[-1 - back] - bound < share * (before[-1 - back] - self.best.score):
                if below or not self._harder():
                    break
                before.clear()
            slow = len(before) > 1 and before[-2] - bound < SLOW * (before[-2] - self.best.score)
            if slow and finish is not None and self._finished(node, point, finish, last=False):
                return []
            if below and len(before) > self._rules.most_rounds:
                break
            rows = [row for finder in self.finders for row in finder.separate(point)]
            if self._stopped():
                return None
            if not rows:
                break
            self.relaxation.add(rows)
            self.n_cuts += len(rows)
        for finder in self.finders:
            finder.easier()
        if finish is not None and self._finished(node, point, finish, last=True):
            return []
        return self._split(node, point, at_once)

    def _finished(self, node: Node, point: Point, finish: Finish, last: bool) -> bool:
        """Try to end the search at the root, if the gap is clearly smaller than when that was last tried.

        The last time, before the root is split, it is tried in any case.
        """
        gap = point.bound - self.best.score
        if self.best.chosen is None or (gap > TRIED_AGAIN * self._tried_at and not last):
            return False
        self._tried_at = gap
        chosen, finished = finish(point, node.part.alive, self.best.score, last)
        if chosen is not None:
            self._take(chosen)
        return finished

    def _stopped(self) -> bool:
        return self._deadline.reason is not None

    def _harder(self) -> bool:
        """Let the finders search harder; say whether any can."""
        self._n_harder += 1
        return sum(finder.harder() for finder in self.finders) > 0

    def _search_harder(self, times: int) -> None:
        """Let new finders search as hard as those before them."""
        self._n_harder = 0
        for _ in range(times):
            self._harder()

    def _renew(self, finders: Sequence[RowFinder]) -> None:
        """Go on with a new LP, which stands where the old one does, and with new finders."""
        self.relaxation, self.finders = self.relaxation.renewed(), finders
        self.improve(self.best)
        self._search_harder(self._n_harder)

    def _solve(self, node: Node, shrink: bool) -> Point | None:
        """Return the LP point of a node, and lower its bound and families; None if it is closed or stopped."""
        if not propagate(self.families, self._after, node.part):
            return None
        point = self.relaxation.solve(node.part.alive, self._deadline, self.best.score + self.slack)
        if point is None:
            return None
        self._round(point)
        node.minus_bound = max(node.minus_bound, -point.bound)
        self._tell(node)
        if self.closed(-node.minus_bound):
            return None
        self._exclude(node.part, point)
        if shrink and node.part.alive.sum() < 0.6 * len(self.families.node):
            point = self._shrink(node, point)
        return point

    def _exclude(self, part: Part, point: Point) -> None:
        """Exclude families by their reduced costs."""
        if self._rules.fixing:
            part.alive &= point.bound + point.excess >= self.best.score - self.slack

    def _shrink(self, node: Node, point: Point) -> Point:
        """Remove the families that the root has excluded."""
        kept = np.flatnonzero(node.part.alive)
        place = np.where(node.part.alive, np.cumsum(node.part.alive) - 1, -1)
        self.families = self.families.only(kept)
        self._after = self._after_all[self.families.place]
        self.relaxation.change(Renumbering(self.families, place))
        node.part = Part(np.ones(len(kept), dtype=np.bool_), node.part.later)
        return Point(self.families, point.values[kept], point.bound, point.excess[kept])

    def _round(self, point: Point) -> None:
        """Keep a DAG near the LP point, or the point itself, if it is better."""
        families, values = self.families, point.values
        found = [families.near(values)]
        if _is_integer(values) and is_acyclic(families.adjacency(families.taken(values))):
            found.append(families.taken(values))
        for chosen in found:
            if chosen is None or families.total(chosen) <= self.best.score:
                continue
            if self._allowed(families.place[chosen]):
                self._take(chosen)

    def _take(self, chosen: Ints) -> None:
        """Keep a better DAG."""
        families = self.families
        self.improve(Best(families.place[chosen], families.total(chosen), families.adjacency(chosen)))

    def _split(self, node: Node, point: Point, at_once: int) -> list[Node] | None:
        """Return the children of a node."""
        start, minus = self.relaxation.start(), node.minus_bound
        if self._rules.pairs:
            pairs = undecided_pairs(point, self._after, node.part, self._rules.pairs)
            if pairs:
                enough = self.best.score + self.slack
                children = probe_pairs(pairs, node.part, -minus, enough, partial(self._try_all, start), at_once)
                if self._stopped():
                    return None
                return [Node(max(minus, -one.bound), 0, one.part, one.start or start) for one in children]
        arc = self._arc(point)
        if arc is None:  # integer and nothing to cut off: the LP's tolerances hide the remaining gap
            return [Node(minus, 0, part, start) for part in self._split_by_families(node.part, point.values)]
        i, j = arc
        families = self.families
        own = families.node == i
        has = (families.words[:, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) != 0
        masks = [node.part.alive & ~(own & has), node.part.alive & ~(own & ~has)]
        return [Node(minus, 0, Part(alive, node.part.later.copy()), start) for alive in masks]

    def _try_all(self, start: Start, parts: list[list[Part]]) -> list[list[Probe]]:
        """Return the bounds of groups of parts, each group in an LP of its own that stands where this one stood."""
        while len(self._others) < len(parts) - 1:
            self._others.append(self.relaxation.twin())
        others = self._others[: len(parts) - 1]
        for one in others:
            one.load(start)
        tried = [partial(self._try, lp, own) for lp, own in zip((self.relaxation, *others), parts, strict=True)]
        if not others:
            return [tried[0]()]
        work = [self._threads.submit(one) for one in tried]
        wait(work)
        return [one.result() for one in work]

    def _try(self, relaxation: Relaxation, parts: list[Part]) -> list[Probe]:
        """Return the bound of each part by one LP, minus infinity if nothing is left in it."""
        return [self._probe(relaxation, part) for part in parts]

    def _probe(self, relaxation: Relaxation, part: Part) -> Probe:
        if not propagate(self.families, self._after, part):
            return Probe(part, -np.inf, None)
        point = relaxation.solve(part.alive, self._deadline, self.best.score + self.slack, drop=False)
        if point is None:
            return Probe(part, np.inf if self._stopped() else -np.inf, None)
        if self.closed(point.bound):
            return Probe(part, point.bound, None)
        self._exclude(part, point)
        return Probe(part, point.bound, relaxation.start())

    @staticmethod
    def _arc(point: Point) -> tuple[int, int] | None:
        """Return the node and the parent whose arc is least decided, None if all are."""
        n, support = point.families.n_nodes, point.support
        sizes = np.diff(support.starts)
        arcs = np.zeros((n, n))
        np.add.at(arcs, (np.repeat(support.node, sizes), support.flat), np.repeat(support.mass, sizes))
        undecided = np.minimum(arcs, 1.0 - arcs)
        i, j = np.unravel_index(np.argmax(undecided), arcs.shape)
        return (int(i), int(j)) if undecided[i, j] > INTEGER_TOLERANCE else None

    def _split_by_families(self, part: Part, values: Floats) -> list[Part]:
        """Return parts that exclude the integer point: the first differs at the first node that can, and so on."""
        families = self.families
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
