"""Tabu search: never worse than hill climbing, never back to a remembered DAG."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from dagopt.data.table import as_table
from dagopt.errors import InputError
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.climbing.moves import ADD, DELETE, REVERSE, Move
from dagopt.methods.climbing.tabu import TabuList, solve_tabu
from made_problems import assert_valid, gaussian_table, neighbours, problem_of, problems, quiet, stopped_after


@settings(max_examples=18, deadline=None)
@given(problems())
def test_tabu_ends_at_least_as_high_in_a_local_optimum(problem):
    """The best DAG met scores at least what hill climbing finds, and no single move improves it."""
    result = solve_tabu(problem, **quiet())
    assert_valid(problem, result)
    assert result.score >= solve_hc(problem, **quiet()).score - 1e-7
    allowed = [dag for dag in neighbours(result.adjacency) if problem.knowledge.allows_dag(dag)]
    assert all(problem.score.total(dag) <= result.score + 2e-8 for dag in allowed)


def test_remembered_dags_are_not_visited_again():
    """No DAG along the walk is one of the ten before it."""
    result = solve_tabu(problem_of(gaussian_table(8, 6, density=0.8)), **quiet(), tabu=10, max_worse=30)
    walk, edges = [frozenset()], set()
    for _, move, tail, head in result.trace[["move", "from", "to"]].itertuples():
        edges ^= {(tail, head)}
        edges ^= {(head, tail)} if move == "reverse" else set()
        walk.append(frozenset(edges))
    assert len(walk) > 30
    assert all(dag not in walk[max(0, k - 10) : k] for k, dag in enumerate(walk))


def test_without_worse_moves_tabu_is_hill_climbing():
    """Where no worse move is allowed, the walk ends where the climb does."""
    problem = problem_of(gaussian_table(9, 7))
    assert np.array_equal(solve_tabu(problem, **quiet(), max_worse=0).adjacency, solve_hc(problem, **quiet()).adjacency)


@pytest.mark.slow
def test_hailfinder_ends_where_bnlearn_ends(shared):
    """As R bnlearn works, hc and tabu find its scores on HAILFINDER; as they come, better ones."""
    path = shared / "bench" / "tables" / "hailfinder.csv.gz"
    if not path.exists():
        pytest.skip("needs HAILFINDER")
    problem = problem_of(as_table(path, kind="discrete"))
    theirs = {"ties": "columns", "reinsert": False}
    for solve, score in ((solve_hc, -990474.75), (solve_tabu, -990396.27)):
        assert solve(problem, **quiet(), **theirs).score == pytest.approx(score, abs=0.01)
        assert solve(problem, **quiet()).score > score


def test_the_list_names_the_moves_that_lead_back():
    """One switched edge is forbidden to be switched back, a reversal to be reversed, and old DAGs are forgotten."""
    visited = TabuList(2)
    visited.leave(Move(ADD, 0, 1, 1.0))
    assert visited.moves().tolist() == [[ADD, 0, 1], [DELETE, 0, 1]]
    visited.leave(Move(REVERSE, 0, 1, 1.0))
    assert [REVERSE, 1, 0] in visited.moves().tolist()
    assert [DELETE, 1, 0] in visited.moves().tolist()  # also leads to the empty DAG
    visited.leave(Move(ADD, 2, 0, 1.0))
    visited.leave(Move(ADD, 2, 1, 1.0))
    assert visited.moves().tolist() == [[ADD, 2, 1], [DELETE, 2, 1]]


@pytest.mark.parametrize("looks", [1, 4, 12, 40])
def test_a_stopped_walk_returns_the_best_so_far(looks):
    """Whenever the clock runs out, the answer is valid."""
    problem = problem_of(gaussian_table(4, 8, density=0.8))
    result = solve_tabu(problem, **quiet(stopped_after(looks)), restarts=20)
    assert_valid(problem, result)
    assert result.status == "time_limit"


@pytest.mark.parametrize("option", [{"tabu": 0}, {"max_worse": -1}, {"restarts": "2"}])
def test_bad_options_are_named(option):
    """An option that cannot be used is named."""
    with pytest.raises(InputError, match=next(iter(option))):
        solve_tabu(problem_of(gaussian_table(0, 4)), **quiet(), **option)
