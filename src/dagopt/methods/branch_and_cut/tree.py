"""Branch and cut for the best DAG over families, with rows of any kind.

At every node of the tree the LP is solved, cut and solved again while that helps (``lane.py``):

* rows that the point violates are found by the row finders (``lp/rows``, local cuts);
* families whose reduced cost shows that no better DAG uses them are excluded, at the root permanently;
* every LP point is rounded to a DAG, by an order of the nodes near it;
* where the root stalls, a search over prefixes may end it (``prefixes.py``).

When cutting no longer helps, the node is split: an arc is in the graph or not, or one of two nodes comes first. The
nodes with the largest bounds come next, several at the same time, each in a lane of its own; how many depends on the
number of open nodes alone. Their children and the better DAGs that they found are merged in the order of the nodes, so
the tree does not depend on the number of threads. Every bound is computed from the multipliers of the LP, so that it
holds whatever the LP's tolerances.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal

import numpy as np

from dagopt.arrays import Dag, Ints, Words
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.families import NO_DAG, Families
from dagopt.lp.highs import SolverError
from dagopt.lp.relaxation import Relaxation
from dagopt.lp.rows.row import Row, RowFinder
from dagopt.methods.branch_and_cut.lane import Best, Cutting, Finish, Lane, Node, Rules
from dagopt.methods.branch_and_cut.precedence import Part

__all__ = ["MEMORY", "Outcome", "Rules", "Tree", "TreeState"]


LANES, MOST_LANES = 4, 16  # nodes that are worked on at the same time, whatever the number of threads
OPEN_PER_LANE = 4  # more than the fewest only if so many nodes are open for each
MOST_PAIRS = 8  # that one lane tries at the same time; all lanes together MOST_LANES
RENEWED_WORK = 30_000_000  # LPs times families left between two states that are saved: about a minute
MEMORY = 2 << 30  # bytes of all open nodes together, half of it for their rows


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


@dataclass(frozen=True, eq=False)
class TreeState:
    """Where a search is between two nodes, or between two rounds of cutting at the root: all that it goes on from.

    Attributes
    ----------
    kept : int array
        The families that the root has not removed.
    inside : int array
        Those of them that are in a new LP.
    nodes : tuple of Node
        The open nodes.
    best : Best
        The best DAG known.
    counts : tuple of int
        Nodes that were worked on, nodes that were made, cuts, families that the root could not exclude, LPs.
    root_bound : float
        The bound before any branching.
    cutting : Cutting or None
        How far cutting at the root is, if it is not over.
    """

    kept: Ints
    inside: Ints
    nodes: tuple[Node, ...]
    best: Best
    counts: tuple[int, int, int, int, int]
    root_bound: float
    cutting: Cutting | None


class Tree:
    """The tree of a search: its open nodes, and the lanes that work on them.

    Parameters
    ----------
    families : Families
        The families, usually without dominated ones.
    start : int array or None
        The families of a DAG to start from.
    deadline : Deadline
        When to stop.
    finders : callable
        Returns new objects that find rows.
    rules : Rules
        When to stop cutting and how to split.
    n_jobs : int
        The number of threads. The answer does not depend on it.
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
    finish : callable, optional
        Called with the point of the root, the families left, the best score, and whether it is the last time, where the
        root stalls. Returns the families of a better DAG or None, and whether no DAG is better than that.
    exchange : callable
        Called with the best DAG, after LPs of the root and between nodes; returns a DAG that was found elsewhere, or
        None. If that is better, the search goes on with it.
    memory : int
        Bytes that the open nodes may take: beyond this, rows are forgotten and the search dives.
    enough : float
        The search ends when so many nodes are open.
    until : Deadline, optional
        The search ends after the nodes that are worked on when this clock stops, so that no work is lost.
    note : callable, optional
        Called from time to time with the state of the search, from which another one goes on in the same way.
    state : TreeState, optional
        The state to go on from.
    """

    def __init__(
        self,
        families: Families,
        start: Ints | None,
        deadline: Deadline,
        finders: Callable[[], Sequence[RowFinder]],
        rules: Rules,
        *,
        n_jobs: int = 1,
        after: Words | None = None,
        rows: tuple[Row, ...] = (),
        first_rows: Sequence[Row] = (),
        allowed: Callable[[Ints], bool] = lambda chosen: True,
        tell: Callable[[float, float, int, int, int], None] = lambda *facts: None,
        finish: Finish = lambda *facts: (None, False),
        exchange: Callable[[Dag | None], Dag | None] = lambda found: None,
        memory: int = MEMORY,
        enough: float = np.inf,
        until: Deadline | None = None,
        note: Callable[[TreeState], None] | None = None,
        state: TreeState | None = None,
    ) -> None:
        if (np.diff(families.offsets) == 0).any():
            raise InputError(NO_DAG)
        self._families = replace(families, place=np.arange(len(families.node)))  # from here on in the order given
        self._after = np.zeros_like(families.words) if after is None else after
        self._deadline = deadline
        self._finders = finders
        self._rules = rules
        self._n_jobs = n_jobs
        self._allowed = allowed
        self._tell = tell
        self._finish = finish
        self._exchange = exchange
        self._heard: Dag | None = None
        self._best = Best(start, families.total(start), None if start is None else families.adjacency(start))
        self._given = rows
        self._first_rows = first_rows
        self._memory = memory
        self._enough = enough
        self._until = until
        self._note = note
        self._state = state
        self._n_nodes = self._n_made = 0
        self._n_cuts = self._n_lps = 0  # of lanes that are gone
        self._renewed_at = 0  # LPs when the lanes were made new
        self._open: list[Node] = []
        self._busy: list[Node] = []
        self._lock = Lock()

    def run(self) -> Outcome:
        """Search until the best DAG is proven, the deadline comes, or an LP cannot be solved."""
        with ThreadPoolExecutor(self._n_jobs) as threads, ThreadPoolExecutor(self._n_jobs) as self._for_pairs:
            cutting = self._begin() if self._state is None else self._go_on(self._state)
            try:
                if cutting is not None and not self._work_on_root(self._open[0], cutting):
                    return self._outcome()
                while 0 < len(self._open) < self._enough and not self._stopped():
                    self._hear()
                    if not self._work_on_best(threads) or (self._until is not None and self._until.reason is not None):
                        break
            except SolverError:
                pass
        return self._outcome()

    def _begin(self) -> Cutting:
        """Make the root and the first lane."""
        families = self._families
        worst = families.offsets[1:] - 1  # each node's worst family, usually the smallest one
        infeasible = self._best.chosen is None or self._given  # the problem may be infeasible
        begin = None if infeasible else np.concatenate([self._best.chosen, families.offsets[:-1], worst])
        self._lanes = [self._lane(families, begin)]
        self._lanes[0].relaxation.add(self._first_rows)
        self._open = [Node(-families.ceiling(), 0, Part.whole(families))]
        self._root_bound, self._n_left = families.ceiling(), len(families.node)
        return Cutting()

    def _lane(self, families: Families, inside: Ints | None) -> Lane:
        """Return a lane whose LP has some families in it."""
        relaxation = Relaxation(families, self._given, inside, self._rules.idle_rounds)
        lane = Lane(
            families, self._after, relaxation, self._finders(), self._rules, self._deadline, self._allowed,
            self._tell_node, self._for_pairs,
        )  # fmt: skip
        lane.improve(self._best)
        return lane

    def _go_on(self, state: TreeState) -> Cutting | None:
        """Go on from a state; return how far cutting at the root is."""
        self._best = state.best
        self._inside = state.inside
        self._lanes = [self._lane(self._families.only(state.kept), state.inside)]
        self._open = list(state.nodes)
        heapq.heapify(self._open)
        self._n_nodes, self._n_made, self._n_cuts, self._n_left, self._n_lps = state.counts
        self._renewed_at = self._n_lps
        self._root_bound = state.root_bound
        return state.cutting

    def _tell_state(self, nodes: Sequence[Node], cutting: Cutting | None) -> None:
        """Tell of the state of the search; nodes that are worked on later are copied first."""
        if self._note is not None:
            self._note(self._state_of([replace(node) for node in nodes], cutting))

    def _state_of(self, nodes: Sequence[Node], cutting: Cutting | None) -> TreeState:
        """Return the state of a search with these open nodes."""
        n_cuts, n_lps = self._counted()
        counts = (self._n_nodes, self._n_made, n_cuts, self._n_left, n_lps)
        lane = self._lanes[0]
        return TreeState(lane.families.place, self._inside, tuple(nodes), lane.best, counts, self._root_bound, cutting)

    @property
    def state(self) -> TreeState:
        """The state of a search that has ended below the root."""
        return self._state_of([*self._open, *self._busy], None)

    def _counted(self) -> tuple[int, int]:
        """Return the numbers of cuts and of LPs."""
        n_cuts = self._n_cuts + sum(lane.n_cuts for lane in self._lanes)
        return n_cuts, self._n_lps + sum(lane.n_lps for lane in self._lanes)

    def _work_on_root(self, root: Node, cutting: Cutting) -> bool:
        """Cut at the root, and make the lanes; False when stopped."""
        lane = self._lanes[0]

        def pause(node: Node, cutting: Cutting) -> Sequence[RowFinder]:
            self._inside = lane.relaxation.inside
            self._tell_state([replace(node, part=node.part.copy(), start=lane.relaxation.start())], cutting)
            return self._finders()

        children = lane.work_on(root, MOST_PAIRS, self._finish, None if self._note is None else pause, cutting)
        self._merge()
        self._root_bound, self._n_left = -root.minus_bound, int(root.part.alive.sum())
        if children is None:
            return False
        self._n_nodes = 1
        self._open = []
        self._push(children, 0)
        self._inside = lane.relaxation.inside
        self._renew()
        return True

    def _renew(self) -> None:
        """Make the lanes new, so that the search goes on from its state alone, and tell of the state."""
        if self._note is None:
            return
        self._n_cuts, self._n_lps = self._counted()
        self._renewed_at = self._n_lps
        self._lanes = [self._lanes[0].twin(self._finders(), self._inside)]
        self._lanes[0].improve(self._best)
        self._tell_state(self._open, None)

    def _work_on_best(self, threads: ThreadPoolExecutor) -> bool:
        """Work on the open nodes with the largest bounds, each in a lane; False when stopped.

        A node goes to the lane that made it, whose LP is near, if no better node does.
        """
        if (self._counted()[1] - self._renewed_at) * len(self._lanes[0].families) > RENEWED_WORK:
            self._renew()
        n_lanes = min(max(len(self._open) // OPEN_PER_LANE, LANES), MOST_LANES)
        chosen = self._next(min(n_lanes, len(self._open)))
        self._busy = [replace(node, part=node.part.copy()) for node in chosen]
        while len(self._lanes) < len(self._busy):
            self._lanes.append(self._lanes[0].twin(self._finders()))
            self._lanes[-1].improve(self._best)
        self._forget()
        free = list(range(len(self._lanes)))
        for node in self._busy:
            node.lane = node.lane if node.lane in free else free[0]
            free.remove(node.lane)
        at_once = min(MOST_LANES // len(self._busy), MOST_PAIRS)
        work = [threads.submit(self._lanes[node.lane].work_on, node, at_once) for node in self._busy]
        ends = [one.exception() for one in work]
        self._merge()
        for error in ends:
            if error is not None:
                raise error
        busy, self._busy = self._busy, []
        finished = True
        for node, one in zip(busy, work, strict=True):
            children = one.result()
            if children is None:
                finished = False
                heapq.heappush(self._open, node)
            else:
                self._n_nodes += 1
                self._push(children, node.lane)
        return finished

    def _next(self, count: int) -> list[Node]:
        """Take the nodes with the largest bounds from those that are open; the newest ones if memory is short.

        The newest nodes are the deepest: the search dives until enough nodes are closed.
        """
        part = self._open[0].part
        if len(self._open) * (part.alive.nbytes + part.later.nbytes) <= self._memory // 2:
            return [heapq.heappop(self._open) for _ in range(count)]
        newest = heapq.nlargest(count, self._open, key=lambda node: node.number)
        taken = {node.number for node in newest}
        self._open = [node for node in self._open if node.number not in taken]
        heapq.heapify(self._open)
        return newest

    def _push(self, children: list[Node], lane: int) -> None:
        """Add nodes to those that are open, except closed ones."""
        for child in children:
            self._n_made += 1
            child.number, child.lane = self._n_made, lane
            if not self._closed(-child.minus_bound):
                heapq.heappush(self._open, child)

    def _forget(self) -> None:
        """Forget the rows of the nodes with the smallest bounds, if all rows together take too much memory."""
        known: set[int] = set()
        size = 0
        for node in (*self._busy, *sorted(self._open)):
            rows = () if node.start is None else node.start.rows
            size += sum(row.families.nbytes + row.values.nbytes for row in rows if id(row) not in known)
            known.update(id(row) for row in rows)
            if size > self._memory // 2:
                node.start = None

    def _merge(self) -> None:
        """Tell all lanes of the best DAG that any of them has found."""
        best = max((lane.best for lane in self._lanes), key=lambda one: one.score)  # the first of ties
        if best is not self._best:
            self._best = best
            for lane in self._lanes:
                if lane.best is not best:
                    lane.improve(best)
            self._open = [node for node in self._open if not self._closed(-node.minus_bound)]
            heapq.heapify(self._open)

    def _hear(self) -> None:
        """Take a better DAG that was found elsewhere, if its families, or better ones, are among these."""
        if (dag := self._exchange(self._lanes[0].best.dag)) is None or dag is self._heard:
            return
        self._heard = dag
        chosen = self._families.inside(dag)
        if chosen is None or self._families.total(chosen) <= self._lanes[0].best.score or not self._allowed(chosen):
            return
        self._lanes[0].improve(Best(chosen, self._families.total(chosen), self._families.adjacency(chosen)))
        self._merge()

    def _tell_node(self, node: Node) -> None:
        """Report progress after an LP."""
        if node.number == 0:
            self._hear()
        with self._lock:
            cuts, _ = self._counted()
            self._tell(self._best.score, self._bound(), self._n_nodes, cuts, int(node.part.alive.sum()))

    def _outcome(self) -> Outcome:
        nodes = [*self._open, *self._busy]
        proven = all(self._closed(-node.minus_bound) for node in nodes)
        n_cuts, n_lps = self._counted()
        facts = (self._n_nodes, n_cuts, self._n_left, self._root_bound, n_lps, len(nodes))
        best = self._best
        if proven and best.chosen is None:
            return Outcome(None, -np.inf, -np.inf, "optimal", *facts)
        reason = None if proven else self._deadline.reason
        bound = best.score if proven else self._bound()
        return Outcome(best.chosen, best.score, bound, reason or ("optimal" if proven else "converged"), *facts)

    def _bound(self) -> float:
        """Return a score that no DAG exceeds."""
        return max([self._best.score, *(-node.minus_bound for node in (*self._open, *self._busy))])

    def _closed(self, bound: float) -> bool:
        """Say whether a bound leaves nothing to search for."""
        return self._lanes[0].closed(bound)

    def _stopped(self) -> bool:
        return self._deadline.reason is not None
