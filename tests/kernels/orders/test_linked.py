"""Orders as linked lists: the same parents as in arrays, states stay whole, and what does not help is undone."""

import numpy as np
import pytest

from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.kernels.orders import linked
from dagopt.methods.orders.grown import EQUAL, LogDetOrders
from dagopt.methods.orders.linked_orders import LinkedOrders
from dagopt.problem import Problem
from dagopt.scores.build import make_score
from made_problems import gaussian_table

N = 9


def made(seed, n=N, left_out=()):
    """Return a problem, its orders in arrays, and those in a list over all pairs but some."""
    table = gaussian_table(seed, n)
    problem = Problem(table, make_score(table, "bic"), Constraints().resolve(table.names))
    columns = np.ascontiguousarray(table.scaled(table.scale).T)
    costs = 0.5 * np.log(table.n_samples) * np.arange(n)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if (a, b) not in left_out]
    first, second = (np.array([pair[k] for pair in pairs]) for k in (0, 1))
    orders = LinkedOrders(columns, 0.5 * table.n_samples, costs, (first, second), 30.0)
    return problem, LogDetOrders(problem), orders


def likelihood_alone(problem):
    """Return the part of every local score that does not depend on the parents."""
    return np.array([problem.score.local(v) for v in range(problem.n_nodes)])


def assert_whole(problem, orders, order=None):
    """All parents come first, scores are those of the parents, and marks say who is a parent."""
    place = np.argsort(orders.order)
    assert all((place[own] < place[v]).all() for v, own in enumerate(orders.parents))
    own = problem.score.local_many(np.arange(problem.n_nodes), orders.parents)
    assert orders.scores + likelihood_alone(problem) == pytest.approx(own, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_parents_of_an_order(seed):
    """After follow, score_order finds the parents that the search over arrays finds for the same order."""
    problem, arrays, orders = made(seed)
    order = np.random.default_rng(seed).permutation(N)
    orders.start(order, Deadline())
    state = arrays.start(order, Deadline())
    assert (orders.order == order).all()
    dag = arrays.dag(state)
    assert [own.tolist() for own in orders.parents] == [np.flatnonzero(dag[:, v]).tolist() for v in range(N)]
    assert_whole(problem, orders)


def test_given_parents_are_used_if_they_score_more():
    """Those of give_parents replace others only if they are better."""
    problem, _, orders = made(3)
    order = np.arange(N)
    orders.start(order, Deadline())
    found, scores = orders.parents, orders.scores
    orders.start(order, Deadline(), [np.zeros(0, dtype=np.int64)] * N)  # nothing is better than the parents found
    assert [own.tolist() for own in orders.parents] == [own.tolist() for own in found]
    orders._state.sizes[:], orders._state.scores[:] = 0, 0.0
    for v, own in enumerate(found):
        linked.give_parents(orders._growth, orders._state, v, own)
    assert orders.scores == pytest.approx(scores, abs=1e-9)
    assert_whole(problem, orders)


def test_local_scores():
    """They are those of the score, up to what does not depend on the parents; computed from the rows."""
    problem, _, orders = made(1)
    sets = [np.array([k for k in range(N) if k != v and (v + k) % 3]) for v in range(N)]
    own = problem.score.local_many(np.arange(N), sets) - likelihood_alone(problem)
    assert orders.values(np.arange(N), sets) == pytest.approx(own, abs=1e-8)  # by local_scores


@pytest.mark.parametrize("seed", range(6))
def test_no_step_makes_it_worse(seed):
    """Settling and every round of kicks leave a whole state whose score has not fallen, within the candidates."""
    left_out = [(0, 1), (2, 5), (3, 4)] if seed % 2 else []
    problem, _, orders = made(seed, left_out=left_out)
    rng = np.random.default_rng(seed)
    orders.start(rng.permutation(N), Deadline())
    score = orders.score
    orders.settle(rng.permutation(N), Deadline())
    for _ in range(4):
        assert_whole(problem, orders)
        assert orders.score >= score - N * EQUAL
        assert not {(min(v, p), max(v, p)) for v, own in enumerate(orders.parents) for p in own} & set(left_out)
        score = orders.score
        orders.kick(N, rng, Deadline())


@pytest.mark.parametrize("seed", range(3))
def test_what_is_undone_leaves_no_trace(seed):
    """When no order is good enough, every kick ends with the order, the parents and the marks that it began with."""
    _, _, orders = made(seed)
    rng = np.random.default_rng(seed)
    orders.start(rng.permutation(N), Deadline())
    orders.settle(rng.permutation(N), Deadline())
    order, parents, scores, marks = orders.order, orders.parents, orders.scores, orders._state.marks.copy()
    orders._patience = 10**6
    orders._allow()
    draws = rng.random((30, linked.DRAWS))
    assert linked.kick(orders._growth, orders._state, draws, orders._depth, -1e18) == len(draws)
    assert (orders.order == order).all()
    assert [own.tolist() for own in orders.parents] == [own.tolist() for own in parents]
    assert (orders.scores == scores).all()
    assert (orders._state.marks == marks).all()


def test_labels_are_made_anew_where_there_is_no_room(monkeypatch):
    """A place that is halved again and again is found until no label is left, and then all get another one."""
    _, _, orders = made(0)
    orders.start(np.arange(N), Deadline())
    state = orders._state
    for k in range(200):
        linked._link(state, 1 + k % 7, 0)  # directly after the first
        label = state.label[:N]
        assert len(np.unique(label)) == N
        assert orders.order[:2].tolist() == [0, 1 + k % 7]
