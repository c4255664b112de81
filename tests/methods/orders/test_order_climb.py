"""Order search: insertion against scores that are computed anew; validity, determinism, knowledge, starts, clocks."""

import contextlib

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families.listing import candidate_pool
from dagopt.graph.constraints import Constraints
from dagopt.graph.order import is_acyclic
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.orders import grown as grown_orders
from dagopt.methods.orders.order import solve_order
from dagopt.methods.orders.screening import screened, screened_matrix
from dagopt.methods.orders.search import CountOrders, ListedOrders, LogDetOrders, _feasible, disturbed, search_orders
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.scores.gaussian import LogDetScore
from dagopt.workers import Workers
from made_problems import constraints_of, discrete_table, gaussian_table, problem_of, quiet, stopped_after

SCORES = [
    ("bic", "paper"),
    ("bic", "bnlearn"),
    ("bge", "paper"),
    ("loglik", "paper"),
    ("discrete bic", "paper"),
    ("discrete bdeu", "paper"),
]


def made(seed, n, constraints=None, score="bic", convention="paper", rows=80):
    """Return a problem of Gaussian data, or of discrete data if the score says so."""
    table = (discrete_table if score.startswith("discrete") else gaussian_table)(seed, n, rows)
    score = score.removeprefix("discrete ")
    known = (constraints or Constraints()).resolve(table.names)
    return Problem(table, make_score(table, score, convention=convention), known)


def grown(problem):
    """Return the orders of a problem by growing and shrinking."""
    return (LogDetOrders if isinstance(problem.score, LogDetScore) else CountOrders)(problem)


def feasible_order(problem, rng):
    """Return a random order with required parents first."""
    left, order = list(rng.permutation(problem.n_nodes)), []
    while left:
        v = next(v for v in left if not problem.knowledge.must[left, v].any())
        left.remove(v)
        order.append(v)
    return np.array(order, dtype=np.int64)


def check_state(problem, orders, state):
    """Check that order, ranks, parents and scores of a state agree with each other, the score and the knowledge."""
    order, rank, scores = state.arrays.order, state.arrays.rank, state.arrays.scores
    assert sorted(order) == list(range(problem.n_nodes))
    assert (rank[order] == np.arange(problem.n_nodes)).all()
    dag = orders.dag(state)
    assert is_acyclic(dag)
    assert problem.knowledge.allows_dag(dag)
    for i, j in np.argwhere(dag):
        assert rank[i] < rank[j]
    for v in range(problem.n_nodes):
        assert scores[v] == pytest.approx(problem.score.local(v, np.flatnonzero(dag[:, v])), abs=1e-7)


def total_anew(orders, order):
    """Return the score of an order whose parents are all found anew."""
    return orders.score(orders.start(np.array(order), Deadline()))


@pytest.mark.parametrize(("score", "convention"), SCORES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_insertion_keeps_its_state(score, convention, seed, data):
    """After each insertion order, parents and scores agree, and the total has not fallen."""
    n = 6
    problem = made(seed, n, data.draw(constraints_of(n)), score, convention)
    orders, rng = grown(problem), np.random.default_rng(seed)
    state = orders.start(feasible_order(problem, rng), Deadline())
    check_state(problem, orders, state)
    for v in [*rng.permutation(n), *rng.permutation(n)]:
        before, order = orders.score(state), orders.order(state).tolist()
        tried, idle = orders.improve(state, np.array([v]))
        check_state(problem, orders, state)
        after = orders.order(state).tolist()
        assert tried == 1
        assert orders.score(state) >= before - 1e-8
        assert (idle == 1) == (after == order)
        assert [u for u in after if u != v] == [u for u in order if u != v]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), score=st.sampled_from(["bic", "discrete bic", "discrete bdeu"]))
def test_an_inserted_variable_has_no_better_place(seed, score):
    """At no other place does the order, all parents found anew, score better than after the best insertion."""
    n = 6
    problem = made(seed, n, score=score, rows=400)
    orders, rng = grown(problem), np.random.default_rng(seed)
    order = feasible_order(problem, rng)
    v = int(rng.integers(n))
    rest = [u for u in order if u != v]
    anew = max(total_anew(orders, [*rest[:k], v, *rest[k:]]) for k in range(n))
    state = orders.start(order, Deadline())
    orders.improve(state, np.array([v]))
    assert orders.score(state) >= anew - 1e-6


def listed(problem):
    """Return the pool of a problem as orders."""
    with Workers(Deadline(), NoProgress(), 1) as workers:
        pool = candidate_pool(problem.score, problem.knowledge, workers)
    return ListedOrders(pool), pool


def by_hand(pool, order):
    """Return (variables without a set, score of the others) of an order over a pool."""
    missing, total = 0, 0.0
    for p, v in enumerate(order):
        inside = sum(1 << int(u) for u in order[:p])
        own = zip(pool.masks[pool.own(v)], pool.score[pool.own(v)], strict=True)
        fits = [value for mask, value in own if int(mask) & ~inside == 0]
        missing += not fits
        total += max(fits, default=0.0)
    return missing, total


@settings(max_examples=18, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_insertion_over_a_pool_is_the_best_of_all_places(seed, data):
    """From any order, also one that required parents rule out, the best of all places is taken."""
    n = 5
    orders, pool = listed(made(seed, n, data.draw(constraints_of(n))))
    state = orders.start(np.random.default_rng(seed).permutation(n), Deadline())
    for v in range(n):
        rest = [int(u) for u in state[0] if u != v]
        places = [by_hand(pool, [*rest[:k], v, *rest[k:]]) for k in range(n)]
        best = min(places, key=lambda place: (place[0], -place[1]))
        orders.improve(state, np.array([v]))
        missing, total = by_hand(pool, state[0])
        assert missing == best[0]
        assert total == pytest.approx(best[1], abs=1e-6)
        if missing == 0:
            assert orders.score(state) == pytest.approx(total)


def test_one_variable():
    """A single column has one order and no parents."""
    problem = made(0, 1)
    orders = LogDetOrders(problem)
    state = orders.start(np.array([0]), Deadline())
    assert orders.improve(state, np.array([0])) == (1, 1)
    check_state(problem, orders, state)


def searched(problem, deadline=None, candidates=None, **options):
    """Return DAG and score of a short search."""
    orders = (LogDetOrders if isinstance(problem.score, LogDetScore) else CountOrders)(problem, candidates)
    options = {"restarts": 2, "kicks": 1, "n_jobs": 1, **options}
    return search_orders(orders, problem, deadline or Deadline(), **options)[:2]


@settings(max_examples=18, deadline=None)
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


@pytest.mark.parametrize(("n", "most"), [(1, 1), (2, 2), (3, 3), (20, 8), (90, 9), (500, 10)])
def test_a_disturbed_order_is_an_order(n, most):
    """All variables are still there, and few of them moved."""
    order = np.random.default_rng(1).permutation(n)
    other = disturbed(order, np.random.default_rng(0))
    assert sorted(other) == list(range(n))
    kept = n - most  # in an order with k variables moved, n - k keep their sequence
    place = np.argsort(other)[order]
    longest = [0] * n  # length of the longest increasing run of places that ends here
    for i in range(n):
        longest[i] = 1 + max((longest[j] for j in range(i) if place[j] < place[i]), default=0)
    assert max(longest) >= kept


def test_screening_keeps_both_ways_and_the_nearest():
    """The relation is symmetric, has no loops, and keeps the strongest correlation of every column."""
    matrix = np.array(problem_of(gaussian_table(3, 12)).score.logdets.matrix)
    keep = screened_matrix(matrix, 2)
    assert (keep == keep.T).all()
    assert not keep.diagonal().any()
    assert (keep.sum(axis=1) >= 2).all()
    strength = matrix**2 - 2 * np.eye(12)
    assert keep[np.arange(12), strength.argmax(axis=1)].all()


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_screening_of_discrete_columns_keeps_the_best_single_parents(score):
    """Every column keeps the two that raise its score most, and those of which it is such a one."""
    table = discrete_table(3, 9, rows=300)
    problem = problem_of(table, Constraints(required=[("V0", "V8")], forbidden=[("V1", "V2")]), score=score)
    may = screened(problem, 2)
    local = problem.score.local
    best = [sorted((j for j in range(9) if j != i), key=lambda j: -local(i, [j]))[:2] for i in range(9)]
    expected = np.array([[i != j and (i in best[j] or j in best[i]) for j in range(9)] for i in range(9)])
    expected[0, 8], expected[1, 2] = True, False
    assert (may == expected).all()
    assert (screened(problem, 8) == problem.knowledge.may).all()
    assert (screened(problem, None) == problem.knowledge.may).all()


@pytest.mark.parametrize("made_table", [gaussian_table, discrete_table])
def test_screened_parents_are_among_the_candidates(made_table):
    """With ``candidates`` every edge is one that screening keeps, or required."""
    table = made_table(4, 10, rows=300)
    left_out = np.argwhere(~screened(problem_of(table), 2) & ~np.eye(10, dtype=bool))[0]
    i, j = map(int, left_out)
    problem = problem_of(table, Constraints(required=[(f"V{i}", f"V{j}")]))
    dag, _ = searched(problem, candidates=2)
    assert dag[i, j] == 1
    assert not (dag.astype(bool) & ~screened(problem, 2)).any()


def test_a_singular_matrix_is_screened():
    """Columns that determine each other do not stop the screening."""
    assert screened_matrix(np.ones((4, 4)), 1).any(axis=1).all()


def test_the_answer_does_not_depend_on_the_number_of_threads():
    """One, two and three threads give the same DAG."""
    problem = problem_of(gaussian_table(5, 15, rows=200))
    first, score = searched(problem, restarts=4)
    for n_jobs in (2, 3, None):
        other, value = searched(problem, restarts=4, n_jobs=n_jobs)
        assert (other == first).all()
        assert value == score


@pytest.mark.parametrize("made_table", [gaussian_table, discrete_table])
def test_the_memory_of_a_search_does_not_change_its_answer(made_table, monkeypatch):
    """With little room in the trees, and with one list a call, the DAG is the same."""
    problem = problem_of(made_table(6, 12, rows=200))
    first, _ = searched(problem, kicks=3)
    monkeypatch.setattr(grown_orders, "LEAST_SETS", 100)
    monkeypatch.setattr(grown_orders, "SETS_PER_COLUMN", 1)
    monkeypatch.setattr(grown_orders, "LEAST_ENTRIES", 300)
    monkeypatch.setattr(grown_orders, "ENTRIES_PER_PAIR", 2)
    assert (searched(problem, kicks=3)[0] == first).all()
    monkeypatch.undo()
    monkeypatch.setattr(grown_orders, "SECONDS_PER_CALL", 0.0)
    assert (searched(problem, kicks=3)[0] == first).all()


@pytest.mark.parametrize("made_table", [gaussian_table, discrete_table])
def test_what_a_search_met(made_table):
    """All parent sets are distinct, allowed and scored; those of the best DAG are there, and nothing else changes."""
    problem = problem_of(made_table(7, 9, rows=200), Constraints(required=[("V3", "V1")], max_parents=3))
    orders = grown(problem)
    plain = search_orders(orders, problem, Deadline(), restarts=3, kicks=2)
    found = search_orders(orders, problem, Deadline(), restarts=3, kicks=2, keep_met=True)
    assert plain.met == ()
    assert (plain.dag == found.dag).all()
    sets = [(node, parents) for node, parents, _ in found.met]
    assert len(set(sets)) == len(sets)
    assert {(v, tuple(np.flatnonzero(found.dag[:, v]).tolist())) for v in range(9)} <= set(sets)
    for node, parents, score in found.met:
        assert list(parents) == sorted(parents)
        assert problem.knowledge.allows(node, parents)
        assert score == problem.score.local(node, parents)


@pytest.mark.parametrize("made_table", [gaussian_table, discrete_table])
@pytest.mark.parametrize("backend", ["loky", "threading", "dask"])
def test_joblib_backends_give_the_same_answer(made_table, backend):
    """Searches in threads, in other processes or on a cluster end alike."""
    problem = problem_of(made_table(5, 8, rows=150))
    first, score = searched(problem, restarts=3)
    with contextlib.ExitStack() as stack:
        if backend == "dask":
            distributed = pytest.importorskip("distributed")
            stack.enter_context(distributed.Client(processes=False, n_workers=1, dashboard_address=None))
        stack.enter_context(joblib.parallel_config(backend))
        other, value = searched(problem, deadline=Deadline(600), restarts=3, n_jobs=2)
    assert (other == first).all()
    assert value == score


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
        solve_order(problem, **quiet(), start=[("V0", "V2"), ("V2", "V1"), ("V1", "V0")])
    with pytest.raises(InputError, match="forbidden edge"):
        solve_order(problem, **quiet(), start=[("V0", "V1")])


@pytest.mark.parametrize("looks", [0, 1, 2, 5, 9])
def test_a_stopped_search_returns_a_valid_dag(looks):
    """Whenever the clock stops the search, the DAG is allowed and has its score."""
    problem = problem_of(gaussian_table(7, 12), Constraints(required=[("V3", "V1"), ("V1", "V0")], max_parents=3))
    dag, score = searched(problem, stopped_after(looks), kicks=4)
    assert is_acyclic(dag)
    assert problem.knowledge.allows_dag(dag)
    assert score == pytest.approx(problem.score.total(dag), abs=1e-8)


def test_a_search_over_many_columns_that_is_stopped_has_a_dag():
    """With 300 columns, all of them candidates, half a second is not enough, and the DAG is valid all the same."""
    rng = np.random.default_rng(0)
    problem = problem_of(gaussian_table(8, 3))
    searched(problem)  # compiled
    table = type(problem.table)(tuple(f"V{k}" for k in range(300)), rng.normal(size=(400, 300)).cumsum(axis=1))
    problem = problem_of(table)
    orders = LogDetOrders(problem)
    deadline = Deadline(0.5)
    found = search_orders(orders, problem, deadline, restarts=2, kicks=1000, n_jobs=1)
    assert deadline.reason == "time_limit"
    assert is_acyclic(found.dag)


@pytest.mark.parametrize("options", [{"restarts": 0}, {"kicks": -1}])
def test_wrong_numbers_are_refused(options):
    """No search at all, and a negative number of kicks, are errors."""
    with pytest.raises(InputError, match="expected restarts= >= 1 and kicks= >= 0"):
        searched(problem_of(gaussian_table(0, 3)), **options)


def test_scores_of_the_other_kind_and_no_candidates_are_refused():
    """Each way of growing is for its kind of score, and needs a candidate."""
    with pytest.raises(InputError, match="expected a Gaussian score"):
        LogDetOrders(problem_of(discrete_table(0, 3)))
    with pytest.raises(InputError, match="expected a score of discrete data"):
        CountOrders(problem_of(gaussian_table(0, 3)))
    with pytest.raises(InputError, match="expected candidates= to be a whole number >= 1"):
        LogDetOrders(problem_of(gaussian_table(0, 3)), candidates=0)
