"""Hill climbing: local optima, knowledge, starts, restarts, order of the columns, stops and errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.graph.constraints import Constraints
from dagopt.methods.climbing import hill_climbing
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.climbing.moves import MovingDag
from dagopt.methods.climbing.tabu import solve_tabu
from dagopt.methods.names import name_order
from dagopt.problem import Problem
from dagopt.scores.build import make_score
from made_problems import (
    assert_valid,
    constraints_of,
    discrete_table,
    gaussian_table,
    neighbours,
    permuted,
    problem_of,
    problems,
    quiet,
    stopped_after,
)


@settings(max_examples=30, deadline=None)
@given(problems())
def test_no_single_move_helps(problem):
    """The answer is a local optimum within the knowledge, checked by scoring every neighbour."""
    result = solve_hc(problem, **quiet())
    assert_valid(problem, result)
    assert result.status == "converged"
    allowed = [dag for dag in neighbours(result.adjacency) if problem.knowledge.allows_dag(dag)]
    assert all(problem.score.total(dag) <= result.score + 2e-8 for dag in allowed)


@pytest.mark.parametrize("score", ["aic", "bge", "loglik"])
def test_any_score_climbs_to_a_local_optimum(score):
    """Other scores than BIC end in local optima too."""
    problem = problem_of(gaussian_table(3, 6), Constraints(max_parents=2), score)
    result = solve_hc(problem, **quiet())
    assert_valid(problem, result)
    allowed = [dag for dag in neighbours(result.adjacency) if problem.knowledge.allows_dag(dag)]
    assert max(map(problem.score.total, allowed)) <= result.score + 1e-7


def test_bdeu_climbs_to_a_local_optimum():
    """The Bayesian score of discrete data ends in a local optimum too."""
    problem = problem_of(discrete_table(5, 6), score="bdeu")
    result = solve_hc(problem, **quiet())
    assert max(map(problem.score.total, neighbours(result.adjacency))) <= result.score + 1e-7


@settings(max_examples=18, deadline=None)
@given(problems(max_nodes=7), st.randoms(use_true_random=False))
def test_the_order_of_the_columns_does_not_matter(problem, random):
    """Permuted columns give the same DAG, ties between equivalent moves included."""
    order = list(range(problem.n_nodes))
    random.shuffle(order)
    options = {"restarts": 2, "perturb": 2, "random_state": 7}
    here = solve_hc(problem, **quiet(), **options)
    there = solve_hc(permuted(problem, order), **quiet(), **options)
    assert np.array_equal(there.adjacency, here.adjacency[np.ix_(order, order)])
    assert there.score == pytest.approx(here.score, rel=1e-12)


@pytest.mark.parametrize("solve", [solve_hc, solve_tabu])
@pytest.mark.parametrize("seed", range(5))
def test_ties_by_columns_do_not_depend_on_the_names(solve, seed):
    """Columns named in their own order give the DAG that any other names give when columns settle ties."""
    table = discrete_table(seed, 8)
    plain = solve(problem_of(table), **quiet())
    renamed = replace(table, names=tuple(reversed(table.names)))
    assert np.array_equal(solve(problem_of(renamed), **quiet(), ties="columns").adjacency, plain.adjacency)


def test_a_local_optimum_is_left_as_it_is():
    """Starting from the answer makes no move, in any form of graph."""
    problem = problem_of(gaussian_table(1, 6))
    first = solve_hc(problem, **quiet())
    graph = dagopt.Graph(first.adjacency, problem.names)
    for start in (first.adjacency, graph, dagopt.learn(problem.table, "hc", progress=False)):
        again = solve_hc(problem, **quiet(), start=start)
        assert np.array_equal(again.adjacency, first.adjacency)
        assert again.figures.moves == 0


def test_the_trace_leads_to_the_answer():
    """The moves of the trace, made one by one, give the DAG, and their gains its score."""
    problem = problem_of(gaussian_table(2, 7))
    result = solve_hc(problem, **quiet())
    edges = set()
    for row in result.trace.itertuples():
        a, b = row[3], row[4]
        if row.move == "add":
            edges.add((a, b))
        else:
            edges.remove((a, b))
            edges |= {(b, a)} if row.move == "reverse" else set()
    assert edges == set(dagopt.Graph(result.adjacency, problem.names).directed_edges)
    empty = problem.score.total(np.zeros((7, 7)))
    assert empty + result.trace["gain"].sum() == pytest.approx(result.score)
    assert (result.trace["gain"] > 0).all()


def test_restarts_never_lose_and_repeat_themselves():
    """Restarts give at least the score of the first climb, and the same DAG for the same seed."""
    problem = problem_of(gaussian_table(11, 9, density=0.8))
    plain = solve_hc(problem, **quiet())
    runs = [solve_hc(problem, **quiet(), restarts=8, perturb=6, random_state=3) for _ in range(2)]
    assert np.array_equal(runs[0].adjacency, runs[1].adjacency)
    assert runs[0].score >= plain.score
    assert runs[0].figures.restarts == 8
    assert_valid(problem, runs[0])


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_cached_gains_are_those_of_the_score(data):
    """After any legal moves every cached gain is the difference of two full scores."""
    n = data.draw(st.integers(2, 6))
    problem = problem_of(gaussian_table(data.draw(st.integers(0, 999)), n), data.draw(constraints_of(n)))
    dag = MovingDag(problem)
    assert dag.load(dag.in_names(problem.knowledge.must.astype(np.int8)), Deadline())
    rng = np.random.default_rng(0)
    for _ in range(6):
        move = dag.random_move(rng)
        if move is not None:
            before = dag.score
            dag.apply(move)
            assert dag.score - before == pytest.approx(move.gain, abs=1e-8)
    here = dag.in_columns(dag.adjacency)
    assert dag.score == pytest.approx(problem.score.total(here))
    best = dag.best_move()
    gains = [
        problem.score.total(other) - dag.score for other in neighbours(here) if problem.knowledge.allows_dag(other)
    ]
    assert max([0.0, *gains]) == pytest.approx(best.gain if best else 0.0, abs=2e-8)


@pytest.mark.parametrize("looks", [1, 3, 6, 20, 60])
def test_a_stopped_run_returns_the_best_so_far(looks):
    """Whenever the clock runs out, the answer is a valid DAG and says why the run ended."""
    problem = problem_of(gaussian_table(4, 8, density=0.8), Constraints(required=[("V0", "V1")]))
    result = solve_hc(problem, **quiet(stopped_after(looks)), restarts=50, perturb=4)
    assert_valid(problem, result)
    assert result.status == "time_limit"


def test_without_time_for_all_gains_the_start_is_returned(monkeypatch):
    """If memory alone would take longer than there is time, nothing is begun, and the result says why."""
    monkeypatch.setattr(hill_climbing, "SECONDS_PER_PAIR", 1e9)
    monkeypatch.setattr(hill_climbing, "MovingDag", None)
    problem = problem_of(gaussian_table(0, 6))
    result = solve_hc(problem, **{**quiet(), "deadline": Deadline(100.0)})
    assert (result.status, result.adjacency.sum()) == ("time_limit", 0)
    assert result.score == pytest.approx(problem.score.total(result.adjacency))


def test_an_interrupt_is_told_apart_from_the_clock():
    """A run stopped by the user says so."""
    deadline = Deadline()
    deadline.interrupt()
    problem = problem_of(gaussian_table(4, 5))
    result = solve_hc(problem, **quiet(deadline))
    assert_valid(problem, result)
    assert result.status == "interrupted"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"restarts": -1}, "restarts"),
        ({"restarts": 1.5}, "restarts"),
        ({"perturb": 0}, "perturb"),
        ({"random_state": True}, "random_state"),
        ({"start": [("V0", "V1"), ("V1", "V2"), ("V2", "V0")]}, "cycle"),
        ({"start": [("V1", "V0")]}, "forbidden edge 'V1 -> V0'"),
        ({"start": [("V2", "V3")]}, "required edge 'V0 -> V1'"),
        ({"start": [("V0", "V1"), ("V2", "V1"), ("V3", "V1")]}, "at most 2"),
    ],
)
def test_bad_options_are_named(options, message):
    """An option that cannot be used is named in one line."""
    known = Constraints(required=[("V0", "V1")], forbidden=[("V1", "V0")], max_parents=2)
    if "V1 -> V0" in message:
        known = Constraints(forbidden=[("V1", "V0")])
    with pytest.raises(InputError, match=message) as caught:
        solve_hc(problem_of(gaussian_table(0, 4), known), **quiet(), **options)
    assert "\n" not in str(caught.value)


def test_names_are_sorted_as_people_do():
    """Numbers within names count as numbers, and every order of columns gives one order of names."""
    names = ["X10", "X2", "a", "X02", "B", "10", "9"]
    listed = [names[k] for k in name_order(names)]
    assert listed == ["9", "10", "B", "X02", "X2", "X10", "a"]
    assert [names[::-1][k] for k in name_order(names[::-1])] == listed


def test_the_published_graphs_are_found(paper_instances):
    """With bnlearn's convention the score is bnlearn's or better on the paper's instances."""
    for record, table, _ in paper_instances[::6]:
        problem = Problem(table, make_score(table, "bic", convention="bnlearn"), Constraints().resolve(table.names))
        published = np.zeros((record["n"], record["n"]), dtype=np.int8)
        published[tuple(np.array(record["bnlearn_hc"]["edges"]).T)] = 1
        score = problem.score.total(published)
        assert solve_hc(problem, **quiet()).score >= score - 1e-6 * abs(score)
