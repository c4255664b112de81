"""Local kicks: states stay whole, nothing gets worse, what does not help is undone, and knowledge is kept."""

from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.kernels.orders import kicks
from dagopt.kernels.orders.trees import BUDGET
from dagopt.methods.orders import grown
from dagopt.methods.orders.grown import EQUAL, CountOrders, LogDetOrders
from dagopt.methods.orders.search import _feasible
from dagopt.problem import Problem
from dagopt.scores.build import make_score
from made_problems import discrete_table, gaussian_table

MADE = [gaussian_table, discrete_table]


def begun(made, seed, n=9, constraints=None):
    """Return a problem, its orders, and a search that begins at a random order."""
    table = made(seed, n)
    known = (constraints or Constraints()).resolve(table.names)
    problem = Problem(table, make_score(table), known)
    orders = (LogDetOrders if made is gaussian_table else CountOrders)(problem)
    order = _feasible(np.random.default_rng(seed).permutation(n), known.must)
    return problem, orders, orders.start(order, Deadline())


def assert_whole(problem, orders, state):
    """The DAG has the order, its scores are those of its parents, and it keeps to the knowledge."""
    dag, order = orders.dag(state), orders.order(state)
    assert not np.tril(dag[np.ix_(order, order)]).any()
    assert orders.score(state) == pytest.approx(problem.score.total(dag), abs=1e-6)
    assert (dag[problem.knowledge.must] == 1).all()
    assert not dag[~problem.knowledge.may].any()
    assert (dag.sum(axis=0) <= problem.knowledge.at_most).all()


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("seed", range(6))
def test_no_step_makes_it_worse(made, seed):
    """Settling and every round of kicks leave a whole state whose score has not fallen."""
    known = Constraints(required=[("V2", "V1"), ("V1", "V4")], forbidden=[("V0", "V3")], max_parents=2)
    constraints = known if seed % 2 else None
    problem, orders, state = begun(made, seed, constraints=constraints)
    rng, score = np.random.default_rng(seed), orders.score(state)
    orders.settle(state, rng.permutation(9), Deadline())
    for _ in range(4):
        assert_whole(problem, orders, state)
        assert orders.score(state) >= score - 9 * EQUAL
        score = orders.score(state)
        orders.kick(state, 9, rng, Deadline())


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_undone_leaves_no_trace(made, seed):
    """When no order is good enough, every kick ends with the order, the parents and the marks that it began with."""
    _, orders, state = begun(made, seed)
    rng = np.random.default_rng(seed)
    orders.settle(state, rng.permutation(9), Deadline())
    order, dag, score = orders.order(state), orders.dag(state), orders.score(state)
    marks, stamps = state.arrays.marks, state.arrays.stamps
    taken, missed = marks == stamps, marks == -stamps
    orders._allow(state, 10**6)
    draws = rng.random((30, kicks.DRAWS))
    never = -1e18
    assert kicks.kick(state.growth, state.arrays, state.room, draws, orders._depth, never) == len(draws)
    assert (orders.order(state) == order).all()
    assert (orders.dag(state) == dag).all()
    assert orders.score(state) == score
    assert ((marks == stamps) == taken).all()
    assert ((marks == -stamps) == missed).all()


@pytest.mark.parametrize("made", MADE)
def test_a_budget_only_divides_the_work(made):
    """With one list per call the end is the same as with all at once."""
    ends = []
    for lists in (1, 10**6):
        _, orders, state = begun(made, 5)
        orders._lists_a_call = lists
        rng = np.random.default_rng(5)
        orders.settle(state, rng.permutation(9), Deadline())
        orders.kick(state, 20, rng, Deadline())
        ends.append((orders.order(state), orders.dag(state)))
    assert all((first == second).all() for first, second in zip(*ends, strict=True))


def test_calls_stay_short_while_variables_are_placed(monkeypatch):
    """A call may make more lists than the one before only if that one placed no variable."""
    _, orders, state = begun(gaussian_table, 5)
    orders._lists_a_call = 1
    allowed = []

    def allow(state, patience):
        allowed.append((patience, state.head))
        state.growth.trees.used[BUDGET] = patience

    monkeypatch.setattr(orders, "_allow", allow)
    orders.settle(state, np.arange(9), Deadline())
    assert len(allowed) > 9
    for (patience, head), (after, later) in pairwise(allowed):
        assert after == (2 * patience if head == later else 1)


@pytest.mark.compiled  # only compiled code runs side by side
def test_the_same_dag_for_any_number_of_threads():
    """What a thread has met before does not change its answer, not even within an equivalence class."""
    data, _ = dagopt.simulate(n_nodes=12, n_samples=500, degree=1.5, random_state=2)
    first, *others = (dagopt.learn(data, "order", n_jobs=k, progress=False).adjacency for k in (1, 2, 3))
    assert all((first == other).all() for other in others)


def kicked(orders, state):
    """Return the DAG after some kicks."""
    orders.kick(state, 20, np.random.default_rng(0), Deadline())
    return orders.dag(state)


def test_a_search_continues_in_another_process(monkeypatch):
    """A state that is sent there finds the code of its kernels there, and ends with the same DAG."""
    monkeypatch.setattr(grown, "LEAST_SETS", 1 << 10)
    monkeypatch.setattr(grown, "LEAST_ENTRIES", 1 << 13)
    _, orders, state = begun(gaussian_table, 3)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        elsewhere = pool.submit(kicked, orders, state).result()
    assert (kicked(orders, state) == elsewhere).all()
