"""Tests against published optima; they need the folder of published data."""

from __future__ import annotations

import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.memory import available_bytes
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.exact.subset_dp import plan_subset_dp
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score


def optimum(table):
    """Return the exact result of a table under BIC."""
    problem = Problem(table, make_score(table, "bic"), Constraints().resolve(table.names))
    return solve_exact(problem, deadline=Deadline(), progress=NoProgress(), device="cpu")


@pytest.mark.parametrize("n", [15, pytest.param(20, marks=pytest.mark.slow)])
def test_optima_of_the_paper_instances(paper_instances, n):
    """All 24 proven optima of each size are met to 0.01."""
    chosen = [(record, table) for record, table, _ in paper_instances if record["n"] == n]
    assert len(chosen) == 24
    for record, table in chosen:
        result = optimum(table)
        assert result.status == "optimal"
        assert result.score == pytest.approx(record["score_optimal"], abs=0.01)


@pytest.mark.slow
def test_optimum_of_a_paper_instance_with_25_columns(paper_instances):
    """One proven optimum of the largest size is met to 0.01."""
    if available_bytes() < 1.5 * plan_subset_dp(25, 1 << 60).n_bytes:
        pytest.skip("needs 6 GB of free memory")
    record, table = next((record, table) for record, table, _ in paper_instances if record["n"] == 25)
    assert optimum(table).score == pytest.approx(record["score_optimal"], abs=0.01)


def test_optimum_of_lucas(shared_set):
    """The best BIC of LUCAS over all DAGs is -12241.0397, that of its true DAG."""
    result = dagopt.learn(shared_set("lucas")[0], "exact")
    assert (result.status, result.scope) == ("optimal", "all DAGs")
    assert result.score == pytest.approx(-12241.0397, abs=1e-4)


@pytest.mark.slow  # the formulation of GOBNILP proves the same value in its own tests
def test_optimum_of_insurance(shared_set):
    """The best BIC of INSURANCE over parent sets of at most three is -264708.8598."""
    if available_bytes() < 3 * 2**30:
        pytest.skip("needs 3 GB of free memory")
    result = dagopt.learn(shared_set("insurance")[0], "exact", max_parents=3)
    assert (result.status, result.scope) == ("optimal", "parent sets of size <= 3")
    assert result.score == pytest.approx(-264708.8598, abs=1e-4)
