"""Orders with grown parents against growing and shrinking by hand at every place."""

import numpy as np
import pytest

import naive_kernels as naive
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.kernels.orders import insertion as kernels
from dagopt.kernels.orders.trees import BUDGET
from dagopt.methods.orders.grown import CountOrders, LogDetOrders
from dagopt.problem import Problem
from dagopt.scores.build import make_score
from made_problems import discrete_table, gaussian_table

N = 6
MADE = [gaussian_table, discrete_table]
REQUIRED = Constraints(required=[("V0", "V1")], max_parents=3)


def begun(made, seed, constraints=None):
    """Return a problem, its orders, and a state with a random order but without parents."""
    table = made(seed, N)
    problem = Problem(table, make_score(table), (constraints or Constraints()).resolve(table.names))
    orders = (LogDetOrders if made is gaussian_table else CountOrders)(problem)
    order = [v for v in np.random.default_rng(seed).permutation(N).tolist() if v != 0 or constraints is None]
    order = order if constraints is None else [0, *order]
    state = orders.start(np.array(order), Deadline(1e-9))  # no time: no parents beyond the required ones
    state.growth.trees.used[BUDGET] = 10**9
    return problem, orders, state, order


def parents(orders, state):
    """Return the parent set of each column."""
    return [set(np.flatnonzero(column).tolist()) for column in orders.dag(state).T]


def by_hand(problem, order):
    """Return the total score of an order whose parents are all grown anew."""
    return sum(naive.grow_and_shrink(problem, v, set(order[:p]))[1] for p, v in enumerate(order))


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("seed", range(3))
def test_parents_of_an_order(made, seed):
    problem, orders, state, order = begun(made, seed)
    assert kernels.score_order(state.growth, state.arrays, 0) == N
    found = parents(orders, state)
    for p, v in enumerate(order):
        assert found[v] == naive.grow_and_shrink(problem, v, set(order[:p]))[0]
    assert orders.score(state) == pytest.approx(by_hand(problem, order), abs=1e-7)


@pytest.mark.parametrize("made", MADE)
def test_only_required_parents(made):
    problem, orders, state, order = begun(made, 1, REQUIRED)
    kernels.score_order(state.growth, state.arrays, 0)
    before = parents(orders, state)
    kernels.give_required(state.growth, state.arrays, 3)
    expected = [before[v] if v in order[:3] else ({0} if v == 1 else set()) for v in range(N)]
    assert parents(orders, state) == expected
    assert orders.score(state) == pytest.approx(problem.score.total(orders.dag(state)), abs=1e-7)


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("seed", range(3))
def test_given_parents_are_used_if_they_score_more(made, seed):
    problem, orders, state, order = begun(made, seed)
    local = problem.score.local
    for p, v in enumerate(order):
        best, score = set(), local(v, [])
        for J in naive.subsets(order[:p]):
            kernels.use_parents(state.growth, state.arrays, v, np.array(sorted(J), dtype=np.int64))
            if local(v, sorted(J)) > score + 1e-7:
                best, score = set(J), local(v, sorted(J))
        assert parents(orders, state)[v] == best


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("constraints", [None, REQUIRED])
@pytest.mark.parametrize("seed", range(3))
def test_a_variable_goes_to_its_best_place(made, constraints, seed):
    """No place is better with parents grown anew, and the score is that of the DAG."""
    problem, orders, state, _ = begun(made, seed, constraints)
    kernels.score_order(state.growth, state.arrays, 0)
    for v in range(N):
        before = orders.order(state).tolist()
        rest = [u for u in before if u != v]
        moved = [[*rest[:p], v, *rest[p:]] for p in range(N)]
        if constraints:
            moved = [order for order in moved if order.index(0) < order.index(1)]
        tried, idle = kernels.insert_best(state.growth, state.arrays, state.room, np.array([v]))
        after = orders.order(state).tolist()
        assert (tried, idle) == (1, int(after == before))
        assert after in moved
        assert orders.score(state) == pytest.approx(problem.score.total(orders.dag(state)), abs=1e-6)
        assert not np.tril(orders.dag(state)[np.ix_(after, after)]).any()
        assert orders.score(state) >= max(by_hand(problem, order) for order in moved) - 1e-5
