"""Tests of reinsertion: other DAGs of a class, and climbs that never lose."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
from dagopt.data.table import as_table
from dagopt.graph.constraints import Constraints
from dagopt.graph.cpdag import cpdag
from dagopt.graph.order import is_acyclic
from dagopt.methods.climbing.hill_climbing import solve_hc
from dagopt.methods.climbing.moves import MovingDag
from dagopt.methods.climbing.reinsertion import other_member
from dagopt.methods.climbing.tabu import solve_tabu
from made_problems import assert_valid, discrete_table, gaussian_table, problem_of, quiet, stopped_after


@pytest.mark.parametrize("seed", range(8))
def test_another_member_of_the_class(seed):
    """Whatever is drawn is a DAG of the same class, and others than the given one are drawn."""
    rng = np.random.default_rng(seed)
    dag = MovingDag(problem_of(gaussian_table(seed, 9)))
    given = np.triu(rng.random((9, 9)) < 0.3, k=1).astype(np.int8)
    drawn = [other_member(dag, given, rng) for _ in range(10)]
    assert all(is_acyclic(one) and np.array_equal(cpdag(one), cpdag(given)) for one in drawn)
    essential = cpdag(given)
    assert any(not np.array_equal(one, given) for one in drawn) == bool((essential * essential.T).any())


def test_required_forbidden_and_full_edges_are_not_turned():
    """V0 → V1 must stay, V2 → V1 must not come, and V3 has room for no parent."""
    knowledge = Constraints(required=[("V0", "V1")], forbidden=[("V2", "V1")], max_parents={"V3": 0})
    dag = MovingDag(problem_of(gaussian_table(0, 5), knowledge))
    given = np.zeros((5, 5), dtype=np.int8)
    given[0, 1] = given[1, 2] = given[3, 4] = 1
    rng = np.random.default_rng(0)
    assert all(np.array_equal(other_member(dag, given, rng), given) for _ in range(20))


@pytest.mark.parametrize("solve", [solve_hc, solve_tabu])
@pytest.mark.parametrize("seed", range(6))
def test_reinsertion_never_loses(solve, seed):
    """With it the score is at least that of the climb alone, discrete or continuous; some are better."""
    problem = problem_of(discrete_table(seed, 10) if seed % 2 else gaussian_table(seed, 10, density=0.6))
    climb = solve_hc(problem, **quiet(), reinsert=False)
    more = solve(problem, **quiet(), reinsert=True)
    assert_valid(problem, more)
    assert more.score >= climb.score - 1e-9 * abs(climb.score)


def test_reinsertions_are_told_and_knowledge_is_kept():
    """A row of the trace for each that helped, with its gain; the score at the end is that of the answer."""
    data, _ = dagopt.datasets.load("insurance", n_samples=2000, random_state=0)
    problem = problem_of(as_table(data), Constraints(required=[("Age", "SocioEcon")], max_parents=2))
    result = solve_hc(problem, **quiet())
    assert_valid(problem, result)
    rows = result.trace[result.trace["move"] == "reinsert"]
    assert len(rows) > 0
    assert (rows["gain"] > 0).all()
    assert result.trace["score"].iloc[-1] == pytest.approx(result.score)
    assert result.score > solve_hc(problem, **quiet(), reinsert=False).score


@pytest.mark.parametrize("looks", [3, 30, 100])
def test_it_stops_when_the_time_is_over(looks):
    """Whenever the clock runs out, the answer is valid."""
    problem = problem_of(discrete_table(2, 9))
    result = solve_hc(problem, **quiet(stopped_after(looks)), reinsert=True)
    assert_valid(problem, result)
