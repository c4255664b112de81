"""Merged DAGs: never worse than the better one, best of both in every region, and always a DAG."""

import numpy as np
import pytest

import dagopt
from dagopt.graph.constraints import Constraints
from dagopt.graph.order import topological_order
from dagopt.methods.orders.merging import merged
from dagopt.problem import Problem
from dagopt.scores.build import make_score
from made_problems import gaussian_table


def posed(seed, n):
    """Return a problem over n columns."""
    table = gaussian_table(seed, n)
    return Problem(table, make_score(table), Constraints().resolve(table.names))


def drawn(rng, n, edges):
    """Return a random DAG."""
    dag = np.zeros((n, n), dtype=np.int8)
    order = rng.permutation(n)
    for _ in range(edges):
        a, b = sorted(rng.choice(n, 2, replace=False))
        dag[order[a], order[b]] = 1
    return dag


@pytest.mark.parametrize("seed", range(20))
def test_a_merged_dag_is_a_dag_and_no_worse(seed):
    """Every family comes from one of the two, there is no cycle, and the score is at least that of the first."""
    rng, n = np.random.default_rng(seed), 12
    problem = posed(seed, n)
    first, second = drawn(rng, n, 10), drawn(rng, n, 10)
    both = merged(first, second, problem)
    topological_order(both)  # raises where there is a cycle
    for v in range(n):
        assert (both[:, v] == first[:, v]).all() or (both[:, v] == second[:, v]).all()
    assert problem.score.total(both) >= problem.score.total(first) - 1e-9


def test_each_region_comes_from_the_better_dag():
    """Two DAGs, each with a good edge that the other lacks, become one with both."""
    problem = posed(3, 8)
    empty = np.zeros((8, 8), dtype=np.int8)
    gains = {}
    for tail, head in [(a, b) for a in range(4) for b in range(4, 8)]:
        one = empty.copy()
        one[tail, head] = 1
        gains[tail, head] = problem.score.total(one) - problem.score.total(empty)
    best = max(gains, key=gains.get)
    other = max((pair for pair in gains if pair[1] != best[1]), key=gains.get)
    assert min(gains[best], gains[other]) > 0
    first, second = empty.copy(), empty.copy()
    first[best] = second[other] = 1
    both = merged(first, second, problem)
    assert both[best] == both[other] == 1
    assert both.sum() == 2


def test_a_cycle_is_not_made():
    """Edges that would close a circle are left out, whichever DAG comes first."""
    problem = posed(0, 3)
    first, second = np.zeros((3, 3), dtype=np.int8), np.zeros((3, 3), dtype=np.int8)
    first[0, 1] = first[1, 2] = 1
    second[2, 0] = 1
    for one, other in ((first, second), (second, first)):
        topological_order(merged(one, other, problem))


def test_rounds_that_begin_together_depend_on_neither_threads_nor_columns():
    """Where searches are joined after every round: the same DAG for any threads, the same score for any order."""
    data, _ = dagopt.simulate(n_nodes=150, n_samples=400, degree=1.0, random_state=2)
    one, two = (dagopt.learn(data, "order", score="ebic", kicks=2, n_jobs=k, progress=False) for k in (1, 2))
    assert (one.adjacency == two.adjacency).all()
    moved = data[data.columns[np.random.default_rng(0).permutation(150)]]
    other = dagopt.learn(moved, "order", score="ebic", kicks=2, n_jobs=1, progress=False)
    assert other.score == pytest.approx(one.score, abs=1e-6)
