"""Order search: insertion against scores that are computed anew; validity, determinism, knowledge, starts, clocks."""

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.constraints import Constraints
from dagopt.errors import InputError
from dagopt.exact.candidates import candidate_pool
from dagopt.exact.threads import Workers
from dagopt.graph.order import is_acyclic
from dagopt.kernels import order_search as kernels
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.search.hill_climbing import solve_hc
from dagopt.search.order import ListedOrders, LogDetOrders, _disturbed, _feasible, screened, search_orders
from dagopt.stop import Deadline
from search.made_problems import constraints_of, discrete_table, gaussian_table, problem_of, quiet, stopped_after

SCORES = [("bic", "paper"), ("bic", "bnlearn"), ("bge", "paper"), ("loglik", "paper")]


def made(seed, n, constraints=None, score="bic", convention="paper", rows=80):
    """Return a problem of Gaussian data."""
    table = gaussian_table(seed, n, rows)
    known = (constraints or Constraints()).resolve(table.names)
    return Problem(table, make_score(table, score, convention=convention), known)


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
    order, rank = state[0], state[1]
    assert sorted(order) == list(range(problem.n_nodes))
    assert (rank[order] == np.arange(problem.n_nodes)).all()
    dag = orders.dag(state)
    assert is_acyclic(dag)
    assert problem.knowledge.allows_dag(dag)
    for i, j in np.argwhere(dag):
        assert rank[i] < rank[j]
    for v in range(problem.n_nodes):
        assert state[4][v] == pytest.approx(problem.score.local(v, np.flatnonzero(dag[:, v])), abs=1e-8)


def grown(orders, v, before):
    """Return parents and score that growing and shrinking finds among the variables ``before``."""
    rank = np.full(orders.n_nodes, kernels.NOWHERE)
    rank[list(before)] = 0
    room = orders._room
    parents, path = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    size, score, _, _ = kernels.grow_shrink(orders._given, v, rank, 1, parents, path, np.zeros(room + 1))
    return set(parents[:size].tolist()), score


@pytest.mark.parametrize(("score", "convention"), SCORES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_grown_parents_are_a_local_optimum(score, convention, seed, data):
    """No allowed single addition or removal improves the parents that are found, and their score is theirs."""
    n = 6
    problem = made(seed, n, data.draw(constraints_of(n)), score, convention)
    orders, known = LogDetOrders(problem), problem.knowledge
    for v in range(n):
        must = set(np.flatnonzero(known.must[:, v]).tolist())
        before = must | set(data.draw(st.sets(st.sampled_from([u for u in range(n) if u != v]))))
        found, value = grown(orders, v, before)
        assert must <= found <= before
        assert known.allows(v, found)
        assert value == pytest.approx(problem.score.local(v, sorted(found)), abs=1e-8)
        others = [found | {u} for u in before - found] + [found - {u} for u in found - must]
        for other in others:
            if known.allows(v, other):
                assert problem.score.local(v, sorted(other)) <= value + 1e-6


@pytest.mark.parametrize(("score", "convention"), SCORES[:3])
def test_a_candidate_off_the_path_changes_nothing(score, convention):
    """A further candidate that ``is_taken`` denies leaves the grown path as it is; one that it affirms is on it."""
    n, seen = 7, set()
    for seed in range(8):
        problem = made(seed, n, score=score, convention=convention)
        orders = LogDetOrders(problem)
        room = orders._room
        for v, x in itertools.permutations(range(n), 2):
            before = [u for u in range(n) if u not in (v, x) and (u + seed) % 3]
            paths = []
            for inside in (before, [*before, x]):
                rank = np.full(n, kernels.NOWHERE)
                rank[inside] = 0
                parents, path, bars = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64), np.zeros(room + 1)
                _, _, steps, _ = kernels.grow_shrink(orders._given, v, rank, 1, parents, path, bars)
                paths.append((path[:steps].tolist(), path, steps, bars))
            (short, path, steps, bars), (long, *_) = paths
            taken = kernels.is_taken(orders._given, v, x, path, steps, bars, 0, np.empty((room + 2, room + 1)))
            assert taken == (x in long)
            if not taken:
                assert short == long
            seen.add(taken)
    assert seen == {True, False}


@pytest.mark.parametrize(("score", "convention"), SCORES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_insertion_keeps_its_state(score, convention, seed, data):
    """After each insertion order, parents and scores agree; the gain is the change of the total and never negative."""
    n = 6
    problem = made(seed, n, data.draw(constraints_of(n)), score, convention)
    orders, rng = LogDetOrders(problem), np.random.default_rng(seed)
    state = orders.start(feasible_order(problem, rng))
    check_state(problem, orders, state)
    for v in [*rng.permutation(n), *rng.permutation(n)]:
        before, order = orders.score(state), state[0].tolist()
        gain, idle = kernels.insert_best(orders._given, state, np.array([v]))
        check_state(problem, orders, state)
        assert gain == pytest.approx(orders.score(state) - before, abs=1e-8)
        assert gain >= 0
        assert (idle == 1) == (state[0].tolist() == order)
        assert [u for u in state[0] if u != v] == [u for u in order if u != v]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_an_inserted_variable_has_no_better_place(seed):
    """At no other place does the order, all parents found anew, score better than after the best insertion.

    Greedy parents are no optimum, so the place is compared with those that were found at the time.
    """
    n = 6
    problem = made(seed, n, rows=400)
    orders, rng = LogDetOrders(problem), np.random.default_rng(seed)
    order = feasible_order(problem, rng)
    v = int(rng.integers(n))
    rest = [u for u in order if u != v]
    anew = max(
        sum(grown(orders, u, placed[:p])[1] for p, u in enumerate(placed))
        for placed in ([*rest[:k], v, *rest[k:]] for k in range(n))
    )
    state = orders.start(order)
    orders.improve(state, np.array([v]))
    assert orders.score(state) >= anew - 1e-6


def listed(problem):
    """Return the pool of a problem as orders."""
    with Workers(Deadline(), NoProgress(), 1) as workers:
        pool = candidate_pool(problem.score, problem.knowledge, workers)
    return ListedOrders(pool.masks, pool.scores), pool


def by_hand(pool, order):
    """Return (variables without a set, score of the others) of an order over a pool."""
    missing, total = 0, 0.0
    for p, v in enumerate(order):
        inside = sum(1 << int(u) for u in order[:p])
        fits = [value for mask, value in zip(pool.masks[v], pool.scores[v], strict=True) if int(mask) & ~inside == 0]
        missing += not fits
        total += max(fits, default=0.0)
    return missing, total


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_insertion_over_a_pool_is_the_best_of_all_places(seed, data):
    """From any order, also one that required parents rule out, the best of all places is taken."""
    n = 5
    orders, pool = listed(made(seed, n, data.draw(constraints_of(n))))
    state = orders.start(np.random.default_rng(seed).permutation(n))
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
    state = orders.start(np.array([0]))
    assert orders.improve(state, np.array([0])) == 1
    check_state(problem, orders, state)


def searched(problem, deadline=None, candidates=None, **options):
    """Return DAG and score of a short search."""
    orders = LogDetOrders(problem, candidates)
    options = {"restarts": 2, "kicks": 1, "n_jobs": 1, **options}
    return search_orders(orders, problem, deadline or Deadline(), **options)[:2]


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


@pytest.mark.parametrize(("n", "most"), [(1, 1), (2, 2), (3, 3), (20, 8), (90, 9), (500, 10)])
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
