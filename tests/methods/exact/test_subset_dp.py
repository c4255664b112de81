"""Tests of the subset recursion: every way of running it against all DAGs, and against itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from dagopt.data.table import ContinuousTable, DiscreteTable
from dagopt.deadline import Deadline
from dagopt.families.listing import candidate_pool
from dagopt.graph.constraints import Constraints
from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import is_acyclic
from dagopt.integer.recursion import solve_pool
from dagopt.methods.exact import subset_dp
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.exact.subset_dp import Plan, SubsetDP, plan_subset_dp
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.workers import Workers
from every_dag import SCORES, continuous_table, discrete_table, make_problem, problems, totals


def by_tables(problem, high_bits=0, n_jobs=1):
    """Return the best DAG and its score by tables, with some variables blocked."""
    plan = Plan(problem.n_nodes, high_bits, 0, 0.0)
    with Workers(Deadline(), NoProgress(), n_jobs) as workers:
        return SubsetDP(problem.score, problem.knowledge, plan, workers).run()


def by_pool(problem, n_jobs=1):
    """Return the best DAG and its score by listed candidates."""
    with Workers(Deadline(), NoProgress(), n_jobs) as workers:
        return solve_pool(candidate_pool(problem.score, problem.knowledge, workers), workers)


def exact(problem, **options):
    """Return the result of the whole method."""
    return solve_exact(problem, deadline=Deadline(), progress=NoProgress(), **options)


def assert_is(problem, adjacency, expected):
    """Assert that a DAG is allowed and has the expected score."""
    assert is_acyclic(adjacency)
    assert problem.knowledge.allows_dag(adjacency)
    assert problem.score.total(adjacency) == pytest.approx(expected, rel=1e-11)


# --- brute force ----------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(problem=problems(min_nodes=1))
def test_every_way_finds_the_best_allowed_dag(problem):
    """Tables, blocked tables, the pool and the whole method agree with scoring every DAG on up to five nodes."""
    expected = totals(problem.score, problem.knowledge).max()
    for high_bits in range(min(3, problem.n_nodes - 1) + 1):
        adjacency, value = by_tables(problem, high_bits)
        assert_is(problem, adjacency, expected)
        assert value == pytest.approx(expected, rel=1e-9)
    adjacency, value = by_pool(problem)
    assert_is(problem, adjacency, expected)
    assert value == pytest.approx(expected, rel=1e-11)
    result = exact(problem)
    assert_is(problem, result.adjacency, expected)
    assert result.status == "optimal"
    assert result.score == result.bound == problem.score.total(result.adjacency)


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_best_of_all_dags_on_five_nodes(kind, seed):
    """Without knowledge the best of the 29281 DAGs on five nodes is found, for every score."""
    problem = make_problem(kind, 5, seed)
    result = exact(problem)
    assert_is(problem, result.adjacency, totals(problem.score, problem.knowledge).max())
    assert result.scope == "all DAGs"


# --- beyond brute force ---------------------------------------------------------------------------------------


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", ["gaussian", "bge", "multinomial", "bdeu"])
@pytest.mark.parametrize("known", [Constraints(), Constraints([("a", "c")], [("c", "d")], [["b"], ["e", "f"]], 3)])
def test_ways_agree_on_more_columns(kind, known):
    """On eleven columns all tables and the pool find the same score, whatever is blocked."""
    problem = make_problem(kind, 11, 7, known)
    scores = [problem.score.total(by_tables(problem, high_bits)[0]) for high_bits in range(4)]
    scores.append(problem.score.total(by_pool(problem)[0]))
    np.testing.assert_allclose(scores, scores[0], rtol=1e-12)


@pytest.mark.parametrize("kind", ["gaussian", "bdeu"])
@pytest.mark.parametrize("known", [Constraints(), Constraints([("a", "c")], [("c", "d")], [["b"], ["e", "f"]], 3)])
def test_rows_change_nothing(kind, known, monkeypatch):
    """Tables of several rows, in one block and in several, give the same DAG and the same score to the last bit."""
    problem = make_problem(kind, 12, 5, known)
    first, value = by_tables(problem)
    monkeypatch.setattr(subset_dp, "PLACE_BITS", 7)
    for high_bits in range(4):
        other, its_value = by_tables(problem, high_bits, 2)
        np.testing.assert_array_equal(first, other)
        assert value == its_value


@pytest.mark.parametrize("high_bits", [0, 2])
@pytest.mark.parametrize("kind", ["gaussian", "multinomial"])
def test_tables_are_the_same_bits_for_any_number_of_threads(kind, high_bits):
    """One, two and three threads give the same DAG and the same score to the last bit."""
    problem = make_problem(kind, 15, 3)
    first, value = by_tables(problem, high_bits, 1)
    for n_jobs in (2, 3):
        other, its_value = by_tables(problem, high_bits, n_jobs)
        np.testing.assert_array_equal(first, other)
        assert value == its_value


def test_pools_are_the_same_bits_for_any_number_of_threads():
    """One, two and three threads list the same candidates and find the same DAG, to the last bit."""
    problem = make_problem("bdeu", 15, 3, Constraints(max_parents=3))
    first, value = by_pool(problem, 1)
    for n_jobs in (2, 3):
        other, its_value = by_pool(problem, n_jobs)
        np.testing.assert_array_equal(first, other)
        assert value == its_value


@pytest.mark.parametrize("score", ["bic", "aic"])
def test_order_and_scale_of_continuous_columns_do_not_matter(score, rng):
    """Permuting columns permutes the essential graph; scaling shifts the score by the known constant."""
    table = continuous_table(9, 2, n_samples=200)
    order, scale = rng.permutation(9), rng.uniform(0.01, 100, 9)
    other = ContinuousTable(tuple(table.names[k] for k in order), (table.values * scale + 5)[:, order])
    results = [exact(Problem(one, make_score(one, score), Constraints().resolve(one.names))) for one in (table, other)]
    shift = 200 * np.log(scale).sum()
    assert results[1].score + shift == pytest.approx(results[0].score, rel=1e-9)
    classes = [cpdag(result.adjacency) for result in results]
    np.testing.assert_array_equal(classes[1], classes[0][np.ix_(order, order)])


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_order_and_labels_of_discrete_columns_do_not_matter(score, rng):
    """Permuting columns and renaming levels leaves the best score."""
    table = discrete_table(8, 2, n_samples=200)
    rows = np.repeat(table.codes, table.weights, axis=1).astype(np.int64)
    order = rng.permutation(8)
    renamed = np.array([rng.permutation(int(table.arity[k]))[rows[k]] for k in order])
    other = DiscreteTable.from_codes(table.names, tuple(table.levels[k] for k in order), renamed)
    results = [exact(Problem(one, make_score(one, score), Constraints().resolve(one.names))) for one in (table, other)]
    assert results[0].score == pytest.approx(results[1].score, rel=1e-10)


def test_equal_columns_give_a_fixed_answer():
    """With two equal columns many DAGs tie; the answer is the same in every run and for any threads."""
    values = continuous_table(6, 0).values
    table = ContinuousTable(tuple("abcdefg"), np.column_stack([values, values[:, 2]]))
    problem = Problem(table, make_score(table), Constraints().resolve(table.names))
    answers = {exact(problem, n_jobs=n_jobs).adjacency.tobytes() for n_jobs in (1, 2, 1, 3)}
    assert len(answers) == 1


# --- plans ----------------------------------------------------------------------------------------------------


def test_plan_blocks_more_where_memory_is_short():
    """Less memory gives a plan with more blocked variables, never above the limit, and at last none."""
    sizes = []
    for limit in (10**12, 10**8, 6 * 10**7, 3 * 10**7, 10**7):
        plan = plan_subset_dp(20, limit)
        if plan is not None:
            assert plan.n_bytes <= limit
        sizes.append(None if plan is None else plan.high_bits)
    assert sizes[0] == 0
    assert sizes[-1] is None
    known = [size for size in sizes if size is not None]
    assert known == sorted(known)
    assert known[-1] > 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_small_numbers_of_columns_have_a_plan(n):
    """One, two and three columns are planned and solved too."""
    assert plan_subset_dp(n, 10**6) is not None
    problem = make_problem("gaussian", n, 0)
    assert exact(problem).score == pytest.approx(totals(problem.score, problem.knowledge).max())
