"""Tests of what may be claimed about an answer: rounding, unbounded scores, runs that were stopped."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
import exact_scores
from dagopt.data.table import ContinuousTable
from dagopt.graph.constraints import Constraints
from dagopt.methods.claims import without_losses
from dagopt.problem import Problem
from dagopt.results.answer import Answer
from dagopt.scores.build import make_score
from hunt.tables import Instance
from hunt.truth import Known, best_score, score_of

QUIET = {"progress": False}


@pytest.mark.parametrize("method", ["exact", "gobnilp", "order", "hc", "cg-dca"])
def test_no_proof_past_an_unbounded_score(method):
    """In a table with more columns than rows, a sum of two others is named, as two parents predict it perfectly."""
    values = np.random.default_rng(0).normal(size=(10, 12))
    values[:, 2] = values[:, 0] + values[:, 1]
    with pytest.raises(dagopt.InputError, match="is a linear combination of") as caught:
        dagopt.learn(values, method, max_parents=2, **QUIET)
    assert all(f"'X{j}'" in str(caught.value) for j in range(3))


@pytest.mark.parametrize("method", ["exact", "gobnilp"])
def test_wide_tables_are_proven_alike(method):
    """With more columns than rows and nothing determined, both proofs are those of extended precision."""
    values = np.random.default_rng(1).normal(size=(6, 6))
    values[:, 3] += 2 * values[:, 1]
    instance = Instance("wide", values, "bic", {}, Known(max_parents=2))
    local, _ = instance.truth()
    result = dagopt.learn(instance.data(), method, **instance.arguments(), **QUIET)
    assert result.status == "optimal"
    assert result.score == pytest.approx(float(best_score(local, 6, instance.known)), rel=1e-10)


@pytest.mark.parametrize("method", ["exact", "gobnilp"])
def test_proofs_at_the_edge_of_double_precision(method):
    """Columns equal to 5.6e-6: the score is that of extended precision, and the optimum is not above the bound."""
    rng = np.random.default_rng(3)
    a, c, e, f = rng.normal(size=(4, 20_000))
    values = np.column_stack([a, a + 5.6e-6 * e, c, c + 5.6e-6 * f])
    instance = Instance("near-collinear", values, "bic", {}, Known())
    local, _ = instance.truth()
    result = dagopt.learn(instance.data(), method, **instance.arguments(), **QUIET)
    best = best_score(local, 4, Known())
    assert result.status == "optimal"
    assert abs(float(score_of(local, result.adjacency) - best)) < 1e-3
    assert abs(result.score - float(best)) < 1e-3
    assert float(best) <= result.bound < float(best) + 3e-3


def test_what_rounding_leaves_open_is_said():
    """With 200,000 such rows the proof is one to within a number, which the summary states."""
    rng = np.random.default_rng(4)
    a, e = rng.normal(size=(2, 200_000))
    result = dagopt.learn({"a": a, "b": a + 4e-6 * e, "c": rng.normal(size=200_000)}, "exact", **QUIET)
    assert result.status == "optimal"
    assert result.bound == pytest.approx(result.score + 2 * result.details["rounding"])
    assert "proven optimal to within 0.00" in result.summary()


@pytest.mark.parametrize("method", ["order", "cg-dca", "hc"])
def test_searches_end_where_equivalent_dags_differ_by_rounding(method):
    """Near-collinear tables on which growing and shrinking went in a circle."""
    for seed in (0, 1, 5):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(20_000, 1)) + 2.8e-5 * rng.normal(size=(20_000, 4))
        assert dagopt.learn(values, method, time_limit=60, **QUIET).status != "time_limit"


def test_a_stopped_run_returns_no_edge_that_loses():
    """Edges that cost more than they tell are taken away, but for required ones, and never below the empty graph."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 4))
    values[:, 1] += values[:, 0]
    table = ContinuousTable(("a", "b", "c", "d"), values)
    known = Constraints(required=[("c", "d")]).resolve(table.names)
    problem = Problem(table, make_score(table), known)
    everything = np.triu(np.ones((4, 4), dtype=np.int8), 1)
    given = Answer("hc", everything, problem.score.total(everything), "time_limit")
    found = without_losses(given, problem)
    assert [tuple(edge) for edge in np.argwhere(found.adjacency)] == [(0, 1), (2, 3)]
    assert found.score == pytest.approx(problem.score.total(found.adjacency))
    assert without_losses(Answer("hc", everything, 0.0, "converged"), problem).adjacency.sum() == 6


@pytest.mark.few(6)
@pytest.mark.parametrize("method", ["exact", "gobnilp", "branch-and-cut", "cg-dca", "order", "hc"])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_a_constant_column_has_no_edges(method, score):
    """No edge at a constant column changes a score, so that there is none but a required one; the doctor names it."""
    data = dagopt.simulate(n_nodes=7, n_samples=3000, degree=2, random_state=0, kind="discrete").data
    data = data.assign(K="x", A0="y")
    known = {"max_parents": 3, "constraints": {"required": [("K", "X1")]}}
    result = dagopt.learn(data, method, score=score, **known, **QUIET)
    assert [edge for edge in result.dag.edges if {"K", "A0"} & set(edge)] == [("K", "X1")]
    assert {"K", "A0"} <= {name for finding in result.findings for name in finding.columns}
    assert result.score == pytest.approx(dagopt.score(data, result.dag, score=score), rel=1e-12)
    assert result.bound is None or result.bound >= result.score


@pytest.mark.parametrize("method", ["exact", "gobnilp", "order"])
def test_required_parents_with_many_levels_are_in_the_bound(method):
    """Their penalty of millions is rounded, and the best DAG, which must have them, is worse than the empty one."""
    for seed in range(3):
        codes = np.random.default_rng(seed).integers(0, 12, (92 + seed, 6))
        codes[:12] = np.arange(12)[:, None]
        known = Known(required=tuple((j, 5) for j in range(5)), max_parents=5)
        instance = Instance("sparse levels", codes, "bic", {}, known)
        local, _ = instance.truth()
        result = dagopt.learn(instance.data(), method, **instance.arguments(), **QUIET)
        assert np.longdouble(result.bound) >= best_score(local, 6, known)
        error = abs(score_of(local, result.adjacency) - np.longdouble(result.score))
        assert error <= result.details["rounding"] < 1e-6


@pytest.mark.parametrize("method", ["exact", "auto"])
@pytest.mark.parametrize("seed", [9, 41, 57])
def test_paths_that_must_be_there_are_in_the_bound(method, seed):
    """No DAG with the path is as good as the empty one; its penalty of 1e9 rounds by more than those of the empty one.

    These three tables had a bound below the only allowed DAG, by 2e-8 to 6e-8.
    """
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 200, (400, 2))
    penalty = 1e5 * float(rng.uniform(0.5, 1))
    data = {f"c{j}": [f"L{code}" for code in column] for j, column in enumerate(codes.T)}
    result = dagopt.learn(data, method, score=penalty, constraints={"ancestors": [("c0", "c1")]}, **QUIET)
    true = exact_scores.multinomial(codes, penalty).total(np.array([[0, 1], [0, 0]]))
    assert result.status == "optimal"
    assert true <= exact_scores.decimal(result.bound)
    assert abs(float(true - exact_scores.decimal(result.score))) <= result.details["rounding"] < 1e-4


def test_beliefs_pay_for_penalties_in_the_bound():
    """The allowance counts what edges that are believed may lose in score."""
    codes = np.random.default_rng(0).integers(0, 3, (60, 3))
    data = {f"c{j}": [f"L{code}" for code in column] for j, column in enumerate(codes.T)}
    plain = dagopt.learn(data, "exact", score=5.0, **QUIET).details["rounding"]
    beliefs = [("c0", "c1", 1 - 1e-16), ("c1", "c2", 1 - 1e-16)]
    result = dagopt.learn(data, "exact", score=5.0, edge_prior=beliefs, **QUIET)
    worse = dagopt.score(data, [], score=5.0) - dagopt.score(data, result.dag, score=5.0)
    assert worse > 10
    assert plain + 2 * 3 * 11 * 2.0**-52 * worse < result.details["rounding"] < 1e-9
