"""Tests of ``method="gobnilp"`` against the subset recursion over the same parent sets and against all DAGs."""

from __future__ import annotations

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.families.jkl import read_jkl
from dagopt.families.listing import candidate_pool
from dagopt.graph.constraints import Constraints
from dagopt.graph.cpdag import cpdag
from dagopt.integer.recursion import solve_pool
from dagopt.methods.branch_and_cut.gobnilp import solve_gobnilp
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.workers import Workers
from every_dag import DISCRETE, class_scores, make_problem, names_of, totals


def optimum(problem):
    """Return the best score over the allowed parent sets, by the subset recursion."""
    with Workers(Deadline(), NoProgress(), 1) as workers:
        return solve_pool(candidate_pool(problem.score, problem.knowledge, workers), workers)[1]


def solve(problem, **options):
    """Solve a problem without a clock."""
    return solve_gobnilp(problem, deadline=Deadline(), progress=NoProgress(), n_jobs=1, **options)


def known(n, seed):
    """Return some knowledge about n families."""
    a, b, c, d, *rest = np.random.default_rng(seed).permutation(list(names_of(n))).tolist()
    return Constraints([(a, b), (c, b)], [(b, d), (d, rest[0]), (rest[0], a)], [[a, rest[1]], [d, rest[2]]], 3)


@pytest.mark.few(10)
@pytest.mark.parametrize("kind", ["gaussian", "bge", "multinomial", "multinomial aic", "bdeu"])
@pytest.mark.parametrize("seed", range(6))
def test_optimum_is_that_of_the_recursion(kind, seed):
    """Over parent sets up to size 3, with knowledge in half of the cases."""
    n = 7 + seed % (6 if kind in DISCRETE else 2)
    constraints = known(n, seed) if seed % 2 else Constraints(max_parents=3)
    problem = make_problem(kind, n, seed, constraints, 200)
    result = solve(problem)
    assert result.status == "optimal"
    assert result.score == pytest.approx(optimum(problem), rel=1e-9)
    assert result.score == pytest.approx(problem.score.total(result.adjacency))
    assert result.score < result.bound <= result.score + 2e-9 * abs(result.score)
    assert problem.knowledge.allows_dag(result.adjacency)
    assert result.certificate.scope.startswith("parent sets of size <= 3")


@pytest.mark.parametrize("local_size", [0, 3, 6])
def test_every_size_of_local_cuts_gives_the_optimum(local_size):
    """Cluster cuts alone, and local cuts of few nodes, end at the same score by more branching."""
    problem = make_problem("multinomial", 9, 4, Constraints(max_parents=3), 300)
    assert solve(problem, local_size=local_size).score == pytest.approx(optimum(problem), rel=1e-9)


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", ["gaussian", "multinomial", "bdeu"])
@pytest.mark.parametrize("ticks", [1, 4, 30, 150, 400])
def test_bound_is_true_wherever_the_clock_stops(kind, ticks):
    """Stopped while scoring, at the root or later, the DAG is allowed, its score its own, and the bound holds."""
    problem = make_problem(kind, 9, 1, Constraints(max_parents=3), 200)
    clock = iter(range(10**9))
    deadline = Deadline(float(ticks), clock=lambda: float(next(clock)))
    result = solve_gobnilp(problem, deadline=deadline, progress=NoProgress(), n_jobs=1)
    best = optimum(problem)
    assert problem.knowledge.allows_dag(result.adjacency)
    assert result.score == pytest.approx(problem.score.total(result.adjacency))
    assert result.score <= best + 1e-6 * abs(best)
    assert result.bound >= best - 1e-6 * abs(best)


def test_time_limit_on_a_bundled_network():
    """With almost no time there is still a valid DAG with its score and a true bound, and with time it is proven."""
    data, _ = dagopt.datasets.load("alarm", n_samples=500, random_state=1)
    some = data.iloc[:, :14]
    stopped = dagopt.learn(some, method="gobnilp", max_parents=2, time_limit=1e-6)
    proven = dagopt.learn(some, method="gobnilp", max_parents=2)
    assert proven.status == "optimal"
    assert stopped.status == "time_limit"
    assert stopped.score == pytest.approx(stopped.problem.score.total(stopped.adjacency))
    assert stopped.score <= proven.score <= stopped.bound


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", ["gaussian", "multinomial", "bdeu"])
@pytest.mark.parametrize(("n", "n_best", "limit"), [(3, 20, None), (4, 6, None), (5, 4, None), (5, 5, 2)])
def test_best_classes_are_those_of_all_dags(kind, n, n_best, limit):
    """The k best classes score what brute force over all DAGs gives, each once; fewer where there are fewer."""
    problem = make_problem(kind, n, 7, Constraints(max_parents=limit))
    result = solve(problem, n_best=n_best)
    found = result.figures.best_classes
    expected = class_scores(problem.score, problem.knowledge)[:n_best]
    np.testing.assert_allclose([one["score"] for one in found], expected, rtol=1e-9)
    assert len({one["cpdag"].tobytes() for one in found}) == len(found)
    for one in found:
        assert problem.score.total(one["adjacency"]) == pytest.approx(one["score"])
        assert (cpdag(one["adjacency"]) == one["cpdag"]).all()
        assert problem.knowledge.allows_dag(one["adjacency"])
    assert result.score == pytest.approx(totals(problem.score, problem.knowledge).max())


def test_scores_are_written_and_solved_from_the_file(tmp_path):
    """The parent sets in the file are the candidates, and the best DAG over them is that of the data."""
    problem = make_problem("multinomial", 9, 3, n_samples=300)
    path = tmp_path / "scores.jkl"
    result = dagopt.learn(problem.table, method="gobnilp", save_scores=path)
    again = dagopt.learn(path, method="gobnilp")
    assert again.status == "optimal"
    assert again.scope == "the given pool"
    assert again.score == pytest.approx(result.score, rel=1e-12)
    assert again.score == pytest.approx(dagopt.learn(path, method="exact").score, rel=1e-12)
    assert read_jkl(path).names == problem.names
    limited = dagopt.learn(path, method="gobnilp", max_parents=1)
    assert limited.score == pytest.approx(dagopt.learn(path, method="exact", max_parents=1).score, rel=1e-12)


def test_three_parents_unless_another_limit_is_given():
    """The default limit is 3, any limit given in either place goes before it."""
    table = make_problem("gaussian", 7, 2).table
    three = dagopt.learn(table, method="gobnilp")
    assert three.limited.scope == "parent sets of size <= 3"
    assert three.limited.bound >= three.score
    assert (three.status, three.scope) == ("converged", "all DAGs")
    assert "no DAG with at most 3 parents per column is better" in three.summary()
    assert dagopt.learn(table, method="gobnilp", max_parents=6).scope == "all DAGs"
    two = dagopt.learn(table, method="gobnilp", constraints=Constraints(max_parents=2))
    assert two.scope == "parent sets of size <= 2"
    assert two.score <= dagopt.learn(table, method="gobnilp", max_parents=6).score


def test_a_start_is_never_lost():
    """Stopped at once, the answer is as good as the DAG that was given."""
    problem = make_problem("multinomial", 8, 2, Constraints(max_parents=3), 300)
    best = solve(problem)
    deadline = Deadline()
    deadline.interrupt()
    again = solve_gobnilp(problem, deadline=deadline, progress=NoProgress(), n_jobs=1, start=best.adjacency)
    assert again.status == "interrupted"
    assert again.score == pytest.approx(best.score)


def test_options_that_make_no_sense_are_refused(tmp_path):
    """The error names the option and the value."""
    problem = make_problem("gaussian", 5, 0)
    with pytest.raises(dagopt.InputError, match=r"local_size= .* at most 12, .* 20"):
        solve(problem, local_size=20)
    with pytest.raises(dagopt.InputError, match="n_best= to be a whole number >= 1"):
        solve(problem, n_best=0)
    with pytest.raises(dagopt.InputError, match="restarts= to be a whole number >= 0"):
        solve(problem, restarts=-1)
    path = tmp_path / "scores.jkl"
    dagopt.learn(problem.table, method="gobnilp", save_scores=path)
    with pytest.raises(dagopt.InputError, match="the option 'n_best' has no meaning"):
        dagopt.learn(path, method="gobnilp", n_best=2)


def test_too_many_parent_sets_are_refused(rng):
    """Without a limit on the parents of many families the error says what to set."""
    table = dagopt.as_table(rng.normal(size=(50, 40)))
    problem = Problem(table, make_score(table), Constraints().resolve(table.names))
    with pytest.raises(dagopt.InputError, match=r"at most 100,000,000 parent sets .* set max_parents="):
        solve(problem)


@pytest.mark.parametrize(("name", "expected"), [("lucas", -12241.039715788864), ("insurance", -264708.859750777)])
def test_known_optima(shared_set, name, expected):
    """The best scores of the real data sets over parent sets up to size 3 are proven."""
    data, _ = shared_set(name)
    result = dagopt.learn(data, method="gobnilp", max_parents=3)
    assert result.status == "optimal"
    assert result.score == pytest.approx(expected, rel=1e-9)
