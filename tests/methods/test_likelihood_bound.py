"""Tests of the bound that every result has: never below the best DAG, whatever the score and the knowledge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import dagopt
from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline, Stopped
from dagopt.graph.constraints import Constraints
from dagopt.methods import likelihood_bound as likelihood_bounds
from dagopt.methods.likelihood_bound import (
    _error_of_logs,
    bound_of_sets,
    likelihood_bound,
    with_likelihood_bound,
)
from dagopt.results.answer import Answer
from every_dag import make_problem, problems, totals
from made_problems import LooksLeft, gaussian_table, problem_of


@given(problem=problems(max_nodes=5))
@settings(max_examples=30, deadline=None)
def test_no_dag_exceeds_the_bound(problem):
    """Over all DAGs that the knowledge allows, for every kind of score."""
    assert likelihood_bound(problem) >= totals(problem.score, problem.knowledge).max()


@pytest.mark.parametrize("seed", range(5))
def test_without_penalty_the_bound_is_reached(seed):
    """The complete DAG has the saturated likelihood."""
    table = gaussian_table(seed, 6)
    problem = problem_of(table, score="loglik")
    complete = np.triu(np.ones((6, 6), dtype=np.int8), k=1)
    assert likelihood_bound(problem) == pytest.approx(problem.score.total(complete), rel=1e-9)


def test_required_edges_cost_and_forbidden_ones_do_not_explain():
    """Each required edge costs its penalty; with no edge allowed the empty DAG is proven."""
    table = gaussian_table(1, 5)
    free, one = (likelihood_bound(problem_of(table, Constraints(required=some))) for some in ([], [("V0", "V1")]))
    assert free - one == pytest.approx(0.5 * np.log(table.n_samples), rel=1e-6)
    none = problem_of(table, Constraints(max_parents=0))
    assert likelihood_bound(none) == pytest.approx(none.score.total(np.zeros((5, 5))), rel=1e-12)


def test_dependent_columns_have_no_bound():
    """A column that is the sum of two others makes the saturated likelihood infinite."""
    values = gaussian_table(2, 4).values
    problem = problem_of(ContinuousTable(tuple("abcde"), np.column_stack([values, values[:, 0] + values[:, 1]])))
    assert likelihood_bound(problem) is None


@pytest.mark.parametrize("method", ["order", "hc", "tabu", "mmhc", "pc", "cg-dca"])
def test_every_method_says_how_good_its_answer_is_proven_to_be(method):
    """The bound is not below the optimum of its scope, and the summary has it in words; rows keep to the limit."""
    data = dagopt.simulate(n_nodes=7, n_samples=500, random_state=3).data
    result = dagopt.learn(data, method=method, max_parents=3, progress=False)
    limit = 3 if method == "cg-dca" else None
    best = dagopt.learn(data, method="exact", max_parents=limit, progress=False)
    assert result.bound is not None
    assert result.bound >= best.score - 1e-9 * abs(best.score)
    assert result.scope == best.scope == ("all DAGs" if limit is None else "parent sets of size <= 3")
    said = "of the best" if method == "cg-dca" else "bounded by the saturated likelihood alone"
    assert result.status == "optimal" or (said in result.summary() and f"(over {result.scope})" in result.summary())


def test_discrete_data_have_the_bound_as_well():
    """For both scores of discrete data."""
    for kind in ("multinomial", "bdeu"):
        problem = make_problem(kind, 5, 0)
        assert np.isfinite(likelihood_bound(problem))


@pytest.mark.few(4)
@pytest.mark.parametrize("discrete", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_rows_with_interventions_have_a_bound(seed, discrete):
    """The sum of bounds on the parent sets of each node is never below the best DAG; a search reports it."""
    rng = np.random.default_rng(seed)
    data = dagopt.simulate(5, 200, 1.0, random_state=seed).data
    if discrete:
        data = (data > 0).astype(str)
    targets = rng.choice([None, "X0", "X1,X2"], 200).tolist()
    best = dagopt.learn(data, "exact", interventions=targets, progress=False)
    found = dagopt.learn(data, "hc", interventions=targets, progress=False)
    assert found.certificate.source == "bounds of parent sets"
    assert best.score <= bound_of_sets(found.problem) <= found.bound


def test_a_score_with_a_bound_of_its_own_has_a_bound_on_every_result():
    """Without one there is none; with one it prunes the list of parent sets and no DAG exceeds the sum."""
    table = gaussian_table(3, 5)
    own = problem_of(table).score

    def plain(node, parents):
        return own.local(table.names.index(node), [table.names.index(name) for name in parents])

    def bounded(node, parents):
        return plain(node, parents)

    asked = []

    def bound(node, parents, candidates):
        asked.append(len(parents))
        most = plain(node, (*parents, *candidates))
        return most + own.costs[len(parents) + len(candidates)] - own.costs[len(parents)]

    bounded.bound = bound
    best = dagopt.learn(table, "exact", progress=False).score
    assert dagopt.learn(table, "hc", score=plain, progress=False).certificate is None
    found = dagopt.learn(table, "hc", score=bounded, progress=False)
    assert found.certificate.source == "bounds of parent sets"
    assert found.bound >= best
    listed = dagopt.learn(table, "gobnilp", score=bounded, max_parents=4, progress=False)
    assert listed.score == pytest.approx(best)
    assert max(asked) > 0


def test_a_matrix_that_gives_no_bound_is_given_up_at_once(monkeypatch):
    """One factorisation shows that columns are too nearly dependent, whatever their number; each takes a while."""
    asked = []
    factorised = np.linalg.cholesky
    monkeypatch.setattr(np.linalg, "cholesky", lambda matrix: asked.append(1) or factorised(matrix))
    matrix = np.eye(40)
    assert _error_of_logs(matrix) == pytest.approx(16 * np.finfo(float).eps * 40**2 / 0.25)
    assert len(asked) == 2
    asked.clear()
    matrix[0, 1] = matrix[1, 0] = 1 - 1e-9
    assert _error_of_logs(matrix) is None
    assert len(asked) == 1


def _no_bound():
    """Return tables, and what else ``learn`` takes, of results without a bound."""
    rng = np.random.default_rng(0)
    few, levels = rng.normal(size=(20, 30)), {f"D{j}": rng.choice(["a", "b"], 3000) for j in range(18)}
    near = rng.normal(size=(50, 4))
    near = np.column_stack([near, near.sum(axis=1) + 2e-4 * rng.normal(size=50)])
    return {
        "bound(node, parents, candidates)": (rng.normal(size=(30, 4)), {"score": lambda node, parents: -len(parents)}),
        "use score='bic'": (levels | {"C": rng.normal(size=3000), "E": rng.normal(size=3000)}, {"score": "cg"}),
        "20 rows are predicted perfectly by 30 columns": (few, {}),
        "beyond 3 columns": (rng.normal(size=(30, 4)), {}),
        "nearly determined by others": (near, {"max_parents": 1}),
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reason", _no_bound())
def test_without_a_bound_a_note_says_why_and_what_to_do(reason, monkeypatch):
    """A function of one's own, too many sets of discrete columns, few rows, many columns, near copies."""
    if "beyond" in reason:
        monkeypatch.setattr("dagopt.methods.likelihood_bound.MOST_COLUMNS", 3)
    data, told = _no_bound()[reason]
    result = dagopt.learn(data, "hc", progress=False, **told)
    assert result.bound is None
    (note,) = [note for note in result.notes if note.startswith("no bound: ")]
    assert reason in note
    assert any(way in note for way in ("give", "use", "leave"))


@pytest.mark.parametrize("looks", [0, 2, 4, 100])
def test_a_bound_that_is_cut_short_still_holds(looks):
    """With forbidden edges each node is bounded by its own parents; out of time, L(V) is left, which is larger."""
    table = gaussian_table(4, 5)
    problem = problem_of(table, Constraints(forbidden=[("V0", "V1"), ("V3", "V2")]))
    best = totals(problem.score, problem.knowledge).max()
    found, whole = likelihood_bound(problem, LooksLeft(looks)), likelihood_bound(problem)
    assert best <= whole <= found
    if looks > 5:
        assert found == whole


def test_no_bound_of_sets_is_made_after_its_moment(monkeypatch):
    """After the deadline the bounds of nodes are given up; the answer says so."""
    rng = np.random.default_rng(0)
    data = dagopt.simulate(5, 200, 1.0, random_state=0).data
    targets = rng.choice([None, "X0", "X1,X2"], 200).tolist()
    found = dagopt.learn(data, "hc", interventions=targets, progress=False)
    asked, bound = [], type(found.problem.score).bound
    monkeypatch.setattr(type(found.problem.score), "bound", lambda *own: asked.append(1) or bound(*own))
    with pytest.raises(Stopped):
        bound_of_sets(found.problem, LooksLeft(3))
    assert len(asked) == 3
    answer = Answer("hc", found.adjacency, found.score, "time_limit")
    monkeypatch.setattr(likelihood_bounds, "Deadline", lambda seconds: LooksLeft(1))
    late = with_likelihood_bound(answer, found.problem, Deadline())
    assert (late.certificate, late.notes) == (None, (likelihood_bounds.OUT_OF_TIME,))
