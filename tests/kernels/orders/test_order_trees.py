"""Growth trees: walks against growing and shrinking by hand, marks, forgetting, and budgets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_kernels as naive
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.kernels.orders import trees as kernels
from dagopt.methods.orders import grown as grown_orders
from dagopt.methods.orders.grown import CountOrders, LogDetOrders
from dagopt.problem import Problem
from dagopt.scores.build import make_score
from made_problems import constraints_of, discrete_table, gaussian_table

NOWHERE = 1 << 40
SCORES = [
    (gaussian_table, "bic", "paper"),
    (gaussian_table, "bic", "bnlearn"),
    (gaussian_table, "bge", "paper"),
    (gaussian_table, "loglik", "paper"),
    (discrete_table, "bic", "paper"),
    (discrete_table, "aic", "paper"),
    (discrete_table, "bdeu", "paper"),
]


def made(kind, seed, n, rows=80, constraints=None):
    """Return a problem and its orders."""
    table_of, score, convention = kind
    table = table_of(seed, n, rows)
    known = (constraints or Constraints()).resolve(table.names)
    problem = Problem(table, make_score(table, score, convention=convention), known)
    return problem, (LogDetOrders if table_of is gaussian_table else CountOrders)(problem)


class Walks:
    """Walks in the trees of a problem."""

    def __init__(self, orders, budget=10**9):
        self.n = orders.n_nodes
        self.growth = orders.start(np.arange(self.n), Deadline(1e-9)).growth
        self.trees = self.growth.trees
        self.trees.used[kernels.BUDGET] = budget
        self.marks = np.zeros((self.n, 1), dtype=np.int32)
        self.stamp = 0

    def end(self, v, allowed):
        """Return the set, its score, the columns taken and those that would have been."""
        rank = np.full(self.n, NOWHERE)
        rank[list(allowed)] = 0
        self.stamp += 1
        k = kernels.walk(self.growth, v, rank, 1, self.marks, 0, self.stamp)
        if k < 0:
            return None
        out = np.zeros(self.n, dtype=np.int64)
        found = set(out[: kernels.members(self.trees, k, out)].tolist())
        marks = self.marks[:, 0]
        taken, wanted = (set(np.flatnonzero(marks == sign * self.stamp).tolist()) for sign in (1, -1))
        return found, float(self.trees.values[k]), taken, wanted


@pytest.mark.parametrize("kind", SCORES, ids=lambda kind: f"{kind[1]}-{kind[2]}-{kind[0].__name__}")
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_a_walk_ends_where_growing_and_shrinking_does(kind, seed, data):
    """For any knowledge and any allowed columns the set is the one found by hand, with its score."""
    n = 6
    problem, orders = made(kind, seed, n, constraints=data.draw(constraints_of(n)))
    walks = Walks(orders)
    for v in range(n):
        must = set(np.flatnonzero(problem.knowledge.must[:, v]).tolist())
        for _ in range(2):
            allowed = must | set(data.draw(st.sets(st.sampled_from([u for u in range(n) if u != v]))))
            found, score, _, _ = walks.end(v, allowed)
            assert found == naive.grow_and_shrink(problem, v, allowed)[0]
            assert score == pytest.approx(problem.score.local(v, sorted(found)), abs=1e-7)


@pytest.mark.parametrize("kind", [SCORES[0], SCORES[2], SCORES[4]], ids=lambda kind: kind[1])
def test_a_column_without_a_mark_makes_no_difference(kind):
    """Taking away a column that was not taken, or allowing one that was not wanted, leaves the end as it is."""
    n, seen = 7, set()
    for seed in range(6):
        _, orders = made(kind, seed, n)
        walks = Walks(orders)
        for v, x in itertools.permutations(range(n), 2):
            allowed = {u for u in range(n) if u not in (v, x) and (u + seed) % 3}
            found, _, taken, wanted = walks.end(v, allowed)
            assert found <= taken <= allowed
            assert not wanted & allowed
            more = walks.end(v, allowed | {x})
            assert (x in more[2]) == (x in wanted)
            if x not in wanted:
                assert more[0] == found
            if x not in more[2]:
                assert found == more[0]
            seen.add(x in wanted)
    assert seen == {True, False}


@pytest.mark.parametrize("kind", [SCORES[0], SCORES[4]], ids=lambda kind: kind[1])
def test_forgotten_trees_grow_again_alike(kind, monkeypatch):
    """With room for a few sets only, all is forgotten now and then, and every walk still ends alike."""
    n = 7
    _, roomy = made(kind, 1, n, rows=300)
    monkeypatch.setattr(grown_orders, "LEAST_SETS", 12)
    monkeypatch.setattr(grown_orders, "SETS_PER_COLUMN", 1)
    monkeypatch.setattr(grown_orders, "LEAST_ENTRIES", 60)
    monkeypatch.setattr(grown_orders, "ENTRIES_PER_PAIR", 1)
    tight, wide = Walks(made(kind, 1, n, rows=300)[1]), Walks(roomy)
    monkeypatch.undo()
    rng = np.random.default_rng(0)
    for _ in range(150):
        v = int(rng.integers(n))
        allowed = {u for u in range(n) if u != v and rng.random() < 0.7}
        assert tight.end(v, allowed) == wide.end(v, allowed)
    assert tight.trees.used[kernels.FORGOTTEN] > 5


def test_a_spent_budget_stops_a_walk_that_needs_a_list():
    """Without a budget nothing is made, and what was made before is found without one."""
    _, orders = made(SCORES[0], 0, 6)
    walks = Walks(orders, budget=0)
    assert walks.end(0, {1, 2, 3}) is None
    steps = 0
    while (end := walks.end(0, {1, 2, 3})) is None:
        walks.trees.used[kernels.BUDGET] = 1
        steps += 1
    assert steps > 1
    assert walks.end(0, {1, 2, 3}) == end
