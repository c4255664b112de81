"""Subtrees as tasks: the best DAG of one machine, also if a worker dies, and nodes that come back."""

from __future__ import annotations

import os
import signal
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.methods.branch_and_cut import branch_and_cut, subtrees
from dagopt.methods.branch_and_cut.lane import Best, Node
from dagopt.methods.branch_and_cut.precedence import Part
from dagopt.methods.branch_and_cut.subtrees import Subtrees, opened
from dagopt.methods.branch_and_cut.tree import TreeState

RULES = branch_and_cut.Rules(tolerance=1e-8, rounds_back=(2, 1), share=(0.5, 0.5), most_rounds=1, pairs=2)
ROWS = ("entropies", "last-node", "symmetry", "local")


@pytest.fixture
def data(monkeypatch):
    """Return a table whose tree has some nodes, because little is cut."""
    monkeypatch.setattr(branch_and_cut, "RULES", RULES)
    return dagopt.simulate(8, 300, 2.0, 3).data


def learned(data, **options):
    """Return the result of branch and cut."""
    return dagopt.learn(data, "branch-and-cut", rows=ROWS, n_jobs=1, progress=False, **options)


class Dying(Executor):
    """An executor whose tasks fail now and then, as if workers died, and which breaks at last."""

    _max_workers = 2

    def __init__(self, failing, breaks_after=None):
        self.n_tasks = 0
        self._failing = failing
        self.breaks_after = breaks_after

    def submit(self, work, *args, **more):
        """Run a task, or fail."""
        self.n_tasks += 1
        if self.breaks_after is not None and self.n_tasks > self.breaks_after:
            raise BrokenExecutor
        future = Future()
        if self.n_tasks in self._failing:
            future.set_exception(OSError("the worker is gone"))
        else:
            future.set_result(work(*args, **more))
        return future


def test_threads_as_workers_prove_the_same_dag(data):
    """Nodes are handed out, searched and merged; the score and the bound are those of one run."""
    alone = learned(data)
    with ThreadPoolExecutor(2) as executor:
        spread = learned(data, cluster=executor)
    assert spread.status == alone.status == "optimal"
    assert spread.score == pytest.approx(alone.score)
    assert spread.bound == pytest.approx(alone.bound)
    assert "tasks on 2 workers" in " ".join(spread.notes)


@pytest.mark.parametrize("dying", [Dying({1, 2, 5}), Dying({1}, breaks_after=2), Dying(set(range(1000)))])
def test_nodes_of_a_worker_that_dies_are_not_lost(data, dying):
    """Tasks are done again; if no worker is left, the search ends here."""
    best, spread = dagopt.learn(data, "exact", progress=False), learned(data, cluster=dying)
    assert dying.n_tasks >= 2
    assert spread.status == "optimal"
    assert spread.score == pytest.approx(best.score)
    assert dying.breaks_after or "failed and were done again" in " ".join(spread.notes)


def test_a_task_returns_its_nodes_when_its_time_is_over(data, monkeypatch):
    """With no time at all for a task, every node comes back; what was handed out is open."""
    monkeypatch.setattr(subtrees, "MOST_FAILURES", 3)
    part = Part(np.ones(1, dtype=np.bool_), np.zeros((1, 1), dtype=np.uint64))
    nodes = tuple(Node(-bound, k, part) for k, bound in enumerate((5.0, 3.0, 9.0)))
    begin = TreeState(np.zeros(1), np.zeros(1), nodes, Best(np.zeros(1), 1.0, None), (1, 1, 1, 1, 1), 9.0, None)
    seen = []

    def work(state, seconds, enough):
        seen.append([-node.minus_bound for node in state.nodes])
        future = Future()
        lower = tuple(replace(node, minus_bound=node.minus_bound + 2.0) for node in state.nodes)
        future.set_result(replace(state, nodes=lower, best=replace(state.best, score=state.best.score + 0.5)))
        return future

    search = Subtrees(1, work, lambda found: found, Deadline(), lambda bound, score: bound <= score, lambda state: None)
    left = search.run(begin)
    assert not left.nodes
    assert seen[0] == [9.0]
    assert left.best.score > 2.0
    assert max(map(max, seen)) == 9.0


def test_a_task_finishes_the_nodes_that_it_works_on(data, monkeypatch):
    """Where a node takes longer than a task, as on a busy machine, every task gets further all the same."""
    monkeypatch.setattr(subtrees, "TASK_SECONDS", 1e-9)
    alone = learned(data)
    with ThreadPoolExecutor(1) as executor:
        spread = learned(data, cluster=executor)
    assert spread.status == "optimal"
    assert spread.score == pytest.approx(alone.score)
    assert "failed" not in " ".join(spread.notes)


def test_tasks_split_their_nodes_while_workers_are_idle():
    """With one node for three workers the first task returns once it has two; later ones go on."""
    part = Part(np.ones(1, dtype=np.bool_), np.zeros((1, 1), dtype=np.uint64))
    begin = TreeState(
        np.zeros(1), np.zeros(1), (Node(-9.0, 0, part),), Best(np.zeros(1), 1.0, None), (1,) * 5, 9.0, None
    )
    seen = []

    def work(state, seconds, enough):
        seen.append((len(state.nodes), enough))
        lower = [node.minus_bound + 3.0 for node in state.nodes for _ in range(2)]
        future = Future()
        future.set_result(replace(state, nodes=tuple(Node(bound, k, part) for k, bound in enumerate(lower))))
        return future

    search = Subtrees(3, work, lambda found: found, Deadline(), lambda bound, score: bound <= score, lambda state: None)
    assert not search.run(begin).nodes
    assert seen[0] == (1, 2)
    assert seen[1:3] == [(1, 2), (1, 2)]
    assert seen[3][1] == np.inf


@pytest.mark.slow
def test_processes_one_of_which_is_killed(data, monkeypatch):
    """Then the executor takes no other task, and the search ends here."""
    monkeypatch.setattr(subtrees, "TASK_SECONDS", 0.1)
    alone = learned(data)
    killed, hand_out = [], Subtrees._hand_out

    def hand_out_then_kill(search):
        hand_out(search)
        if not killed and executor._processes:
            killed.append(next(iter(executor._processes)))
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(Subtrees, "_hand_out", hand_out_then_kill)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        spread = learned(data, cluster=executor)
    assert killed
    assert spread.status == "optimal"
    assert spread.score == pytest.approx(alone.score)
    assert spread.bound == pytest.approx(alone.bound)


def test_what_is_no_cluster_is_refused(data):
    """A sentence says what may be given."""
    with pytest.raises(InputError, match="expected cluster= to be a dask client"):
        opened(3)
    with pytest.raises(InputError, match="expected the address of a dask scheduler"):
        opened("nowhere at all")


@pytest.mark.slow
def test_dask_workers_one_of_which_is_killed(data, monkeypatch):
    """Two processes search subtrees; after one is killed the other ends the search."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(subtrees, "TASK_SECONDS", 1.0)
    alone = learned(data)
    with (
        distributed.LocalCluster(2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert learned(data, cluster=client).score == pytest.approx(alone.score)
        pids, killed = list(client.run(os.getpid).values()), []
        take_back = Subtrees._take_back

        def kill_then_take(search, task):
            if not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)
            take_back(search, task)

        monkeypatch.setattr(Subtrees, "_take_back", kill_then_take)
        spread = learned(data, cluster=client)
    assert killed
    assert spread.status == "optimal"
    assert spread.score == pytest.approx(alone.score)
