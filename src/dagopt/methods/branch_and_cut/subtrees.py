"""Subtrees as tasks of other processes or machines, with the best DAG shared.

The open nodes of a tree are handed out a few at a time, those with the largest bounds first. A task works on its nodes
for some seconds and returns the best DAG that it knows and the nodes that are left, with their bounds. While there are
fewer nodes than workers, a task returns as soon as it has split its node. The next tasks begin from the best DAG of
all. Nodes of a task that fails, because its worker died, are handed out again. Which nodes are worked on together
depends on the time that tasks take, so the tree is not the same twice; what is proven is.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import replace
from math import inf
from typing import Any

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods.branch_and_cut.lane import Best, Node
from dagopt.methods.branch_and_cut.tree import TreeState
from dagopt.workers import thread_count

__all__ = ["Cluster", "Subtrees", "opened"]

TASK_SECONDS = 10.0  # after which a task returns its nodes
MOST_NODES = 8  # of one task
WAITING = 2  # tasks that wait for a worker, so that none is idle
LOOK_EVERY = 0.5  # seconds between two looks at the clock
MOST_FAILURES = 20  # tasks that fail before the search goes on here

Work = Callable[[TreeState, float, float], Future[Any]]


class Cluster:
    """Where tasks run.

    Parameters
    ----------
    executor : Executor
        What runs them.
    count : int
        The number of workers.
    scatter : callable
        Sends an object to all workers once; returns what stands for it.
    close : callable
        Called when no other task will begin.
    """

    def __init__(
        self,
        executor: Executor,
        count: int,
        scatter: Callable[[Any], Any] = lambda shared: shared,
        close: Callable[[], object] = lambda: None,
    ) -> None:
        self.executor = executor
        self.count = count
        self.scatter = scatter
        self.close = close


def opened(where: Any) -> Cluster:
    """Return the cluster of a dask client, of the address of a dask scheduler, or of an executor."""
    if isinstance(where, Executor) or hasattr(where, "_max_workers"):
        return Cluster(where, getattr(where, "_max_workers", None) or thread_count(None))
    is_own = isinstance(where, str)
    if is_own:
        try:
            from distributed import Client
        except ImportError:
            raise InputError(
                "cluster= with an address needs the package distributed; pip install 'dagopt[distributed]'"
            ) from None
        try:
            where = Client(where, timeout=10)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise InputError(
                f"expected the address of a dask scheduler at cluster= but got {where!r} ({error}); start one with "
                "`dask scheduler`"
            ) from None
    if not hasattr(where, "get_executor"):
        raise InputError(
            f"expected cluster= to be a dask client, the address of a scheduler or an executor but got {where!r}; "
            "change the option"
        )
    count = sum(where.nthreads().values())
    if not count:
        raise InputError("expected a cluster with workers but it has none; start some with `dask worker`")
    return Cluster(
        where.get_executor(pure=False),
        count,
        lambda shared: where.scatter(shared, broadcast=True),
        where.close if is_own else lambda: None,
    )


class Subtrees:
    """One search over the tasks of a cluster.

    Parameters
    ----------
    count : int
        The number of workers.
    work : callable
        Begins a task, given a state, and the seconds and the number of open nodes after which they are returned. The
        nodes that are worked on then are finished first.
    read : callable
        Returns the state of what a task returned.
    deadline : Deadline
        When to stop.
    closed : callable
        Whether a bound leaves nothing to search for, given the best score.
    tell : callable
        Called with the state of the whole search whenever a task has ended.
    """

    def __init__(
        self,
        count: int,
        work: Work,
        read: Callable[[Any], TreeState],
        deadline: Deadline,
        closed: Callable[[float, float], bool],
        tell: Callable[[TreeState], None],
    ) -> None:
        self._count = count
        self._work = work
        self._read = read
        self._deadline = deadline
        self._closed = closed
        self._tell = tell
        self._open: list[Node] = []
        self._running: dict[Future[Any], list[Node]] = {}
        self.n_tasks = self.n_failed = 0

    def run(self, state: TreeState) -> TreeState:
        """Search until no node is left, the deadline comes, or workers fail too often; return what is left."""
        self._state, self._open = state, list(state.nodes)
        heapq.heapify(self._open)
        try:
            while (self._open or self._running) and self._deadline.reason is None:
                while self._open and len(self._running) < self._count + WAITING:
                    self._hand_out()
                done, _ = wait(self._running, LOOK_EVERY, FIRST_COMPLETED)
                for task in done:
                    self._take_back(task)
                if done:
                    self._tell(self._whole())
                if self.n_failed > MOST_FAILURES:
                    break
        except BrokenExecutor:  # no other task can begin
            pass
        for task in self._running:
            task.cancel()
        return self._whole()

    def _hand_out(self) -> None:
        """Begin a task with the nodes that have the largest bounds."""
        count = min(max(len(self._open) // (2 * self._count), 1), MOST_NODES)
        nodes = [heapq.heappop(self._open) for _ in range(min(count, len(self._open)))]
        part = replace(self._state, nodes=tuple(nodes), counts=(0, 0, 0, self._state.counts[3], 0))
        some_are_idle = len(self._running) + 1 + len(self._open) < self._count
        try:
            task = self._work(part, TASK_SECONDS, len(nodes) + 1 if some_are_idle else inf)
            self._running[task] = nodes
        except Exception as error:  # whatever a cluster that is gone raises
            self._push(nodes)
            raise BrokenExecutor("no other task can begin") from error

    def _take_back(self, task: Future[Any]) -> None:
        """Add what a task returned, or its nodes again if it failed."""
        nodes = self._running.pop(task)
        self.n_tasks += 1
        try:
            found = self._read(task.result())
        except Exception:  # whatever a dying worker raises: nothing is known of its nodes but what was before
            self.n_failed += 1
            self._push(nodes)
            return
        if found.best.score > self._state.best.score:
            self._improve(found.best)
        n_nodes, n_made, n_cuts, n_left, n_lps = self._state.counts
        more = found.counts
        counts = (n_nodes + more[0], n_made + more[1], n_cuts + more[2], n_left, n_lps + more[4])
        self._state = replace(self._state, counts=counts)
        self._push(list(found.nodes))

    def _improve(self, best: Best) -> None:
        """Share a better DAG with the tasks that begin from now on."""
        self._state = replace(self._state, best=best)
        self._open = [node for node in self._open if not self._closed(-node.minus_bound, best.score)]
        heapq.heapify(self._open)

    def _push(self, nodes: list[Node]) -> None:
        for node in nodes:
            if not self._closed(-node.minus_bound, self._state.best.score):
                heapq.heappush(self._open, node)

    def _whole(self) -> TreeState:
        """Return the state of the whole search; nodes that are being worked on count as they were."""
        nodes = [*self._open, *(node for own in self._running.values() for node in own)]
        return replace(self._state, nodes=tuple(nodes))
