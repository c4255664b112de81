"""Order search: validity, determinism, knowledge, starts and clocks."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.constraints import Constraints
from dagopt.errors import InputError
from dagopt.graph.order import is_acyclic
from dagopt.search.hill_climbing import solve_hc
from dagopt.search.order import LogDetOrders, _disturbed, _feasible, screened, search_orders
from dagopt.stop import Deadline
from search.made_problems import constraints_of, discrete_table, gaussian_table, problem_of, quiet, stopped_after


def searched(problem, deadline=None, candidates=None, **options):
    """Return DAG and score of a short search."""
    orders = LogDetOrders(problem, candidates)
    return search_orders(orders, problem, deadline or Deadline(), **{"restarts": 2, "kicks": 1, "n_jobs": 1, **options})


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 8), data=st.data())
def test_feasible_orders(seed, n, data):
    """Required parents come first, nothing is lost, and a feasible order stays as it is."""
    must = data.draw(constraints_of(n)).resolve([f"V{k}" for k in range(n)]).must
    order = np.random.default_rng(seed).permutation(n)
    changed = _feasible(order, must)
    assert sorted(changed) == list(range(n))
    place = np.argsort(changed)
    assert all(place[i] < place[j] for i, j in np.argwhere(must))
    assert (_feasible(changed, must) == changed).all()


def test_a_long_chain_of_required_edges_is_no_problem():
    """A chain over 3000 columns, all the wrong way round, is put right."""
    n = 3000
    must = np.zeros((n, n), dtype=bool)
    must[np.arange(n - 1), np.arange(1, n)] = True
    assert (_feasible(np.arange(n)[::-1], must) == np.arange(n)).all()


@pytest.mark.parametrize(("n", "most"), [(1, 1), (2, 2), (3, 3), (20, 3), (60, 6), (500, 10)])
def test_a_disturbed_order_is_an_order(n, most):
    """All variables are still there, and few of them moved."""
    order = np.random.default_rng(1).permutation(n)
    other = _disturbed(order, np.random.default_rng(0))
    assert sorted(other) == list(range(n))
    kept = n - most  # in an order with k variables moved, n - k keep their sequence
    place = np.argsort(other)[order]
    longest = [0] * n  # length of the longest increasing run of places that ends here
    for i in range(n):
        longest[i] = 1 + max((longest[j] for j in range(i) if place[j] < place[i]), default=0)
    assert max(longest) >= kept


def test_screening_keeps_both_ways_and_the_nearest():
    """The relation is symmetric, has no loops, and keeps the strongest correlation of every column."""
    matrix = np.array(problem_of(gaussian_table(3, 12)).score.logdet_form()[0])
    keep = screened(matrix, 2)
    assert (keep == keep.T).all()
    assert not keep.diagonal().any()
    assert (keep.sum(axis=1) >= 2).all()
    strength = matrix**2 - 2 * np.eye(12)
    assert keep[np.arange(12), strength.argmax(axis=1)].all()


def test_screened_parents_are_among_the_candidates():
    """With ``candidates`` every edge is one that screening keeps, or required."""
    table = gaussian_table(4, 10, rows=300)
    weak = np.abs(np.corrcoef(table.values.T)).argmin()
    i, j = divmod(int(weak), 10)
    problem = problem_of(table, Constraints(required=[(f"V{i}", f"V{j}")]))
    dag, _ = searched(problem, candidates=2)
    allowed = screened(np.array(problem.score.logdet_form()[0]), 2) | problem.knowledge.must
    assert dag[i, j] == 1
    assert not (dag.astype(bool) & ~allowed).any()


def test_a_singular_matrix_is_screened():
    """Columns that determine each other do not stop the screening."""
    assert screened(np.ones((4, 4)), 1).any(axis=1).all()


def test_the_answer_does_not_depend_on_the_number_of_threads():
    """One, two and three threads give the same DAG."""
    problem = problem_of(gaussian_table(5, 15, rows=200))
    first, score = searched(problem, restarts=4)
    for n_jobs in (2, 3, None):
        other, value = searched(problem, restarts=4, n_jobs=n_jobs)
        assert (other == first).all()
        assert value == score


def test_the_memory_of_a_search_does_not_change_its_answer(monkeypatch):
    """With room for one remembered score, the DAG is the same."""
    problem = problem_of(gaussian_table(6, 12, rows=200))
    first, _ = searched(problem, kicks=3)
    monkeypatch.setattr("dagopt.search.order.MOST_REMEMBERED", 1)
    assert (searched(problem, kicks=3)[0] == first).all()


@pytest.mark.parametrize("all_from_start", [False, True])
def test_a_search_is_never_worse_than_its_start(all_from_start):
    """From the DAG of hill climbing, and from poor DAGs, the score does not fall."""
    for seed in range(6):
        problem = problem_of(gaussian_table(seed, 9, rows=100))
        climbed = solve_hc(problem, **quiet(), restarts=3).adjacency
        chain = np.triu(np.ones((9, 9), dtype=np.int8), k=1)
        for start in (climbed, chain):
            dag, score = searched(problem, restarts=2, kicks=0, start=start, all_from_start=all_from_start)
            assert score >= problem.score.total(start) - 1e-9
            assert score == pytest.approx(problem.score.total(dag), abs=1e-8)


def test_starts_that_cannot_be_used():
    """Cyclic and forbidden starts are refused in words."""
    problem = problem_of(gaussian_table(0, 3), Constraints(forbidden=[("V0", "V1")]))
    with pytest.raises(InputError, match="cycle"):
        searched(problem, start=[("V0", "V2"), ("V2", "V1"), ("V1", "V0")])
    with pytest.raises(InputError, match="forbidden edge"):
        searched(problem, start=[("V0", "V1")])


@pytest.mark.parametrize("looks", [0, 1, 2, 5, 9])
def test_a_stopped_search_returns_a_valid_dag(looks):
    """Whenever the clock stops the search, the DAG is allowed and has its score."""
    problem = problem_of(gaussian_table(7, 12), Constraints(required=[("V3", "V1"), ("V1", "V0")], max_parents=3))
    dag, score = searched(problem, stopped_after(looks), kicks=4)
    assert is_acyclic(dag)
    assert problem.knowledge.allows_dag(dag)
    assert score == pytest.approx(problem.score.total(dag), abs=1e-8)


def test_a_search_over_many_columns_stops_within_a_second():
    """With 300 columns, all of them candidates, half a second is kept to a second."""
    rng = np.random.default_rng(0)
    problem = problem_of(gaussian_table(8, 3))
    searched(problem)  # compiled
    table = type(problem.table)(tuple(f"V{k}" for k in range(300)), rng.normal(size=(400, 300)).cumsum(axis=1))
    problem = problem_of(table)
    orders = LogDetOrders(problem)
    begin = time.perf_counter()
    search_orders(orders, problem, Deadline(0.5), restarts=2, kicks=5, n_jobs=1)
    assert time.perf_counter() - begin < 3.0  # a second on an idle machine


@pytest.mark.parametrize("options", [{"restarts": 0}, {"kicks": -1}])
def test_wrong_numbers_are_refused(options):
    """No search at all, and a negative number of kicks, are errors."""
    with pytest.raises(InputError, match="expected restarts >= 1 and kicks >= 0"):
        searched(problem_of(gaussian_table(0, 3)), **options)


def test_discrete_data_and_no_candidates_are_refused():
    """Growing and shrinking is for Gaussian scores, and needs a candidate."""
    with pytest.raises(InputError, match="expected a Gaussian score"):
        LogDetOrders(problem_of(discrete_table(0, 3)))
    with pytest.raises(InputError, match="expected candidates >= 1"):
        LogDetOrders(problem_of(gaussian_table(0, 3)), candidates=0)
