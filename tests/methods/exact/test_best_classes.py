"""Tests of the k best equivalence classes against all DAGs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.data.table import ContinuousTable, DiscreteTable
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.graph.cpdag import cpdag
from dagopt.kernels.lattice import best_classes as kernels
from dagopt.methods.exact.best_classes import estimate_best_classes, solve_best_classes
from dagopt.methods.exact.exact import solve_exact
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.workers import Workers
from every_dag import (
    NUMBER_OF_CLASSES,
    SCORES,
    class_scores,
    classes,
    consistent_constraints,
    continuous_table,
    make_problem,
    masks_of,
    parent_sets,
    problems,
)


def best(problem, n_best, n_jobs=1, limit=10**9):
    """Return the result of the method under test."""
    return solve_best_classes(problem, n_best, Workers(Deadline(), NoProgress(), n_jobs), limit)


def class_number(adjacency):
    """Return the number of the class of a DAG."""
    n = len(adjacency)
    at = np.flatnonzero((parent_sets(n) == masks_of(adjacency)).all(axis=1))
    return int(classes(n)[at[0]])


def assert_best(problem, result, n_best):
    """Assert that the classes are the best ones over all allowed DAGs, each once, with true scores."""
    expected = class_scores(problem.score, problem.knowledge)[:n_best]
    found = result.figures.best_classes
    np.testing.assert_allclose([one["score"] for one in found], expected, rtol=1e-10)
    assert len({class_number(one["adjacency"]) for one in found}) == len(found)
    for one in found:
        assert problem.knowledge.allows_dag(one["adjacency"])
        assert one["score"] == problem.score.total(one["adjacency"])
        np.testing.assert_array_equal(one["cpdag"], cpdag(one["adjacency"]))
    assert result.score == result.bound == found[0]["score"]
    assert result.status == "optimal"


# --- brute force ----------------------------------------------------------------------------------------------


@pytest.mark.few(16)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("n, n_best", [(1, 1), (2, 2), (3, 4), (4, 7), (4, 60), (5, 3), (5, 10), (5, 300)])
def test_classes_are_the_best_of_all_dags(kind, n, n_best):
    """The k best classes are those found by scoring every DAG and grouping them."""
    problem = make_problem(kind, n, seed=n_best)
    assert_best(problem, best(problem, n_best), n_best)


@settings(max_examples=30, deadline=None)
@given(problem=problems(), n_best=st.integers(1, 40))
def test_classes_are_the_best_of_the_allowed_dags(problem, n_best):
    """With knowledge, a class counts if it has an allowed member, and the returned member is allowed."""
    assert_best(problem, best(problem, n_best), n_best)


@settings(max_examples=15, deadline=None)
@given(constraints=consistent_constraints(4), kind=st.sampled_from(list(SCORES)), seed=st.integers(0, 1000))
def test_all_classes_come_when_more_are_asked_for(constraints, kind, seed):
    """More classes than there are gives every class with an allowed DAG, and a note that says so."""
    problem = make_problem(kind, 4, seed, constraints)
    result = best(problem, 1000)
    assert_best(problem, result, 1000)
    assert any("there are only" in note for note in result.notes)


@pytest.mark.parametrize("n", [4, pytest.param(5, marks=pytest.mark.slow)])
def test_all_classes_of_so_many_nodes(n):
    """Asking for all classes of four nodes gives the 185 there are, of five the 8782."""
    problem = make_problem("gaussian", n, 3)
    result = best(problem, 10**6, limit=10**8)
    np.testing.assert_allclose(
        [one["score"] for one in result.figures.best_classes],
        class_scores(problem.score, problem.knowledge),
        rtol=1e-10,
    )
    assert len(result.figures.best_classes) == NUMBER_OF_CLASSES[n]


@settings(max_examples=25, deadline=None)
@given(data=st.data(), n=st.integers(1, 6), width=st.integers(1, 12), seed=st.integers(0, 100))
def test_lists_of_parent_sets_are_the_best(data, n, width, seed):
    """Every list has the best allowed sets inside it, each once, from the best down."""
    node = data.draw(st.integers(0, n - 1))
    may = data.draw(st.integers(0, (1 << n) - 1)) & ~(1 << node)
    must = may & data.draw(st.integers(0, (1 << n) - 1))
    at_most = data.draw(st.integers(0, n))
    table = np.random.default_rng(seed).integers(0, 9, 1 << n).astype(float)  # with ties
    masks = np.empty((1 << (n - 1), width), dtype=np.int32)
    values = np.empty(masks.shape)
    kernels.best_sets(table, node, must, may, at_most, masks, values)
    rows = [x for x in range(1 << n) if not x >> node & 1]
    for x, own, scores in zip(rows, masks.tolist(), values, strict=True):
        fits = [J for J in range(x + 1) if J & ~(x & may) == 0 and J & must == must and J.bit_count() <= at_most]
        kept = [J for J in own if J >= 0]
        expected = sorted((table[J | 1 << node] - table[J] for J in fits), reverse=True)[:width]
        assert set(kept) <= set(fits)
        assert len(set(kept)) == len(expected)
        assert scores[: len(kept)].tolist() == [table[J | 1 << node] - table[J] for J in kept] == expected


# --- ties -----------------------------------------------------------------------------------------------------


def exchangeable(n_samples=20, correlation=0.5):
    """Return three columns whose sample correlations are all the same."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n_samples, 3))
    values -= values.mean(axis=0)
    white = values @ np.linalg.inv(np.linalg.cholesky(values.T @ values / n_samples)).T
    wanted = np.full((3, 3), correlation) + (1 - correlation) * np.eye(3)
    return ContinuousTable(("a", "b", "c"), white @ np.linalg.cholesky(wanted).T)


def parity():
    """Return three bits whose sum is even, each such row equally often."""
    bits = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 0]])
    return DiscreteTable.from_codes(("a", "b", "c"), (("0", "1"),) * 3, np.tile(bits, 10))


@pytest.mark.parametrize("table, score", [(exchangeable(), "bic"), (parity(), "bic"), (parity(), "bdeu")])
@pytest.mark.parametrize("n_best, said", [(2, "at least 2 classes"), (3, "at least 3 classes"), (5, " 3 classes")])
def test_ties_are_counted(table, score, n_best, said):
    """Columns that can be exchanged give three equally good chains or colliders, and the notes say how many."""
    problem = Problem(table, make_score(table, score), Constraints().resolve(table.names))
    result = best(problem, n_best)
    assert_best(problem, result, n_best)
    assert result.figures.n_classes_tied == min(n_best, 3)
    assert "not unique" in result.notes[1]
    assert said in result.notes[1]


def test_note_says_how_much_worse_the_second_class_is():
    """A unique best class is called so, with the distance to the second."""
    problem = make_problem("bge", 4, 0)
    expected = class_scores(problem.score, problem.knowledge)
    result = best(problem, 2)
    assert result.figures.n_classes_tied == 1
    assert f"unique: the second best is worse by {expected[0] - expected[1]:.6g}" in result.notes[1]


def test_only_allowed_class_is_unique():
    """When knowledge leaves one DAG, its class is said to be the only one."""
    known = Constraints(required=[("a", "b")], max_parents={"a": 0, "b": 1})
    result = best(make_problem("gaussian", 2, 0, known), 4)
    assert result.adjacency.tolist() == [[0, 1], [0, 0]]
    assert "no other has an allowed DAG" in result.notes[1]


# --- beyond brute force ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def twelve():
    """Return a problem with twelve columns and its 20 best classes."""
    table = continuous_table(12, 4, n_samples=300)
    problem = Problem(table, make_score(table), Constraints().resolve(table.names))
    return problem, best(problem, 20, n_jobs=2)


def test_best_of_twelve_columns_is_the_optimum(twelve):
    """The first class is that of the best DAG, the list goes down, and no class comes twice."""
    problem, result = twelve
    optimum = solve_exact(problem, deadline=Deadline(), progress=NoProgress())
    scores = [one["score"] for one in result.figures.best_classes]
    assert result.score == pytest.approx(optimum.score, rel=1e-12)
    np.testing.assert_array_equal(cpdag(result.adjacency), cpdag(optimum.adjacency))
    assert scores == sorted(scores, reverse=True)
    assert len({one["cpdag"].tobytes() for one in result.figures.best_classes}) == 20


def test_no_neighbour_of_a_found_class_was_passed_over(twelve):
    """A DAG one edge away from a found one that scores more than the last class is in a found class."""
    problem, result = twelve
    found = result.figures.best_classes
    known = {one["cpdag"].tobytes() for one in found}
    met = 0
    for one in found:
        for i, j in np.argwhere(~np.eye(12, dtype=bool)):
            changed = one["adjacency"].copy()
            changed[i, j] ^= 1
            changed[j, i] = 0
            if not dagopt.Graph(changed, problem.names).is_dag:
                continue
            if problem.score.total(changed) > found[-1]["score"] + 1e-6:
                assert cpdag(changed).tobytes() in known
                met += 1
    assert met > 20


@pytest.mark.parametrize("n_best", [1, 5])
def test_fewer_classes_are_the_first_of_more(twelve, n_best):
    """Asking for fewer classes gives the same list, cut."""
    problem, result = twelve
    fewer = best(problem, n_best).figures.best_classes
    for one, other in zip(fewer, result.figures.best_classes, strict=False):
        assert one["cpdag"].tobytes() == other["cpdag"].tobytes()
    assert len(fewer) == n_best


@pytest.mark.parametrize("kind", ["gaussian", "bdeu"])
def test_threads_do_not_change_the_answer(kind):
    """One, two and three threads give the same bits."""
    problem = make_problem(kind, 9, 5)
    answers = [best(problem, 6, n_jobs).figures.best_classes for n_jobs in (1, 2, 3)]
    for other in answers[1:]:
        for a, b in zip(answers[0], other, strict=True):
            assert a["score"] == b["score"]
            np.testing.assert_array_equal(a["adjacency"], b["adjacency"])


# --- refusals, stops, the front -------------------------------------------------------------------------------


@pytest.mark.parametrize("n_best", [0, -3, 2.5, True, "two"])
def test_number_of_classes_is_checked(n_best):
    """A number of classes below one or not whole is refused with what came."""
    with pytest.raises(dagopt.InputError, match=f"expected n_best= .* got {n_best!r}"):
        best(make_problem("gaussian", 3, 0), n_best)


def test_too_large_problem_is_refused_before_anything_is_allocated():
    """The error has the memory that is needed and the limit, and it comes without taking memory."""
    problem = make_problem("gaussian", 18, 0)
    needed = estimate_best_classes(problem, 50, 10**6, 1)
    assert needed.n_bytes > 10**8
    tracemalloc.start()
    try:
        with pytest.raises(dagopt.InputError, match=r"50 best classes for 18 columns need about .* is 1\.0 MB"):
            best(problem, 50, limit=10**6)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind, n, n_best", [("gaussian", 13, 20), ("multinomial", 13, 3)])
def test_estimate_covers_the_memory_taken(kind, n, n_best):
    """The memory that numpy takes at its peak is what the estimate says, up to a tenth."""
    problem = make_problem(kind, n, 0)
    estimate = estimate_best_classes(problem, n_best, 10**9, 1)
    best(problem, n_best)
    tracemalloc.start()
    try:
        best(problem, n_best)
        assert tracemalloc.get_traced_memory()[1] < 1.1 * estimate.n_bytes
    finally:
        tracemalloc.stop()


def test_stopped_run_returns_a_climb_from_the_required_edges():
    """Before the end nothing is proven, but the DAG is no worse than that of the required edges."""
    problem = make_problem("gaussian", 6, 0, Constraints(required=[("a", "b")]))
    deadline = Deadline()
    deadline.interrupt()
    result = solve_best_classes(problem, 3, Workers(deadline, NoProgress()), 10**9)
    assert (result.status, result.bound, result.adjacency[0, 1]) == ("interrupted", None, 1)
    assert result.score > problem.score.total(problem.knowledge.must.astype(np.int8))
    assert result.score == problem.score.total(result.adjacency)


def test_learn_gives_the_classes():
    """``learn`` passes n_best on, and the result has a plain dictionary and a summary with the notes."""
    result = dagopt.learn(continuous_table(5, 0).values, "exact", n_best=3)
    assert len(result.figures.best_classes) == 3
    assert result.to_dict()["figures"]["n_classes_tied"] == result.figures.n_classes_tied
    assert "equivalence class is" in result.summary()


def test_scores_that_are_minus_infinity_do_not_count():
    """Parent sets that leave no degree of freedom are in no class: bnlearn's convention with few rows."""
    problem = make_problem("bnlearn", 4, 2, n_samples=3)
    result = best(problem, 500)
    finite = class_scores(problem.score, problem.knowledge)
    assert all(np.isfinite(one["score"]) for one in result.figures.best_classes)
    np.testing.assert_allclose([one["score"] for one in result.figures.best_classes], finite, rtol=1e-8)
