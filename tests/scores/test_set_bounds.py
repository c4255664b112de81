"""Bounds on the local scores of many parent sets at once, for every kind of score: against all sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import dagopt
from dagopt.methods.likelihood_bound import bound_of_sets
from dagopt.scores import cell_bounds
from dagopt.scores.conditional_gaussian import ConditionalGaussianScore
from made_tables import mixed_frame, mixed_table

N = 5


def problem_of(kind, seed):
    """Return a problem of some kind, a few of its columns set in some rows if that is asked for."""
    name, _, told = kind.partition(", ")
    rng = np.random.default_rng(seed)
    data = mixed_frame(seed, N, 150) if name in ("mixed", "cg") else dagopt.simulate(N, 150, 1.5, seed).data
    options = {"score": {"mixed": "bic"}.get(name, name)}
    if told:
        names = list(data.columns)
        options["interventions"] = rng.choice([None, None, names[0], names[1], f"{names[2]},{names[3]}"], 150).tolist()
    return dagopt.learn(data, "hc", progress=False, **options).problem


def all_scores(score, node):
    """Return the local score of every parent set of a node."""
    others = [j for j in range(score.n_nodes) if j != node]
    return {own: score.local(node, own) for k in range(len(others) + 1) for own in combinations(others, k)}


def assert_bounds(score, rng, tries):
    """Assert that the bound between random sets is not below the best score between them."""
    for node in range(score.n_nodes):
        scores = all_scores(score, node)
        for _ in range(tries):
            drawn = rng.random(score.n_nodes)
            parents = np.array([j for j in range(score.n_nodes) if j != node and drawn[j] < 0.25], dtype=np.int64)
            more = np.array([j for j in range(score.n_nodes) if j != node and 0.25 <= drawn[j] < 0.8], dtype=np.int64)
            inside = [own for own in scores if set(parents) <= set(own) <= {*parents, *more}]
            assert score.bound(node, parents, more) >= max(scores[own] for own in inside)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["bic", "bge", "bge, told", "mixed", "mixed, told", "basis", "cg", "cg, told"])
@pytest.mark.parametrize("seed", range(2))
def test_no_set_scores_more(kind, seed):
    """The bound between two sets, and the sum over the nodes, are above all scores."""
    problem = problem_of(kind, seed)
    assert_bounds(problem.score, np.random.default_rng(seed), 8)
    most = sum(max(all_scores(problem.score, node).values()) for node in range(N))
    bound = bound_of_sets(problem)
    assert bound is not None
    assert most <= bound < most + 2000


@pytest.mark.parametrize("rows", [30, 60, 400])
@pytest.mark.parametrize("penalty", [0.0, 2.5])
def test_cells_of_few_rows(rows, penalty):
    """Many columns for few rows: sets of discrete parents are ruled out, and cells have fewer rows than columns."""
    for seed in range(3):
        score = ConditionalGaussianScore(mixed_table(seed, 6, rows), penalty)
        assert_bounds(score, np.random.default_rng(seed), 6)


def test_columns_that_do_not_vary_in_a_cell():
    """A column that one level fixes, and two that agree within another, rule out sets but no bound."""
    frame = mixed_frame(3, 6, 200)
    low = frame["V1"] == "low"
    frame.loc[low, "V0"] = 7.0
    frame.loc[~low, "V4"] = 3.0 * frame.loc[~low, "V2"]
    score = ConditionalGaussianScore(dagopt.as_table(frame), 2.0)
    assert score.local(0, [1]) == -np.inf
    assert score.local(4, [1, 2]) == -np.inf
    assert_bounds(score, np.random.default_rng(0), 10)


def test_too_many_sets_of_discrete_columns_leave_no_bound(monkeypatch):
    """The bound is then infinite, which a result does not report."""
    monkeypatch.setattr(cell_bounds, "MOST_GROUPS", 2)
    frame = mixed_frame(1, N, 400)
    assert dagopt.learn(frame, "hc", score="cg", progress=False).bound is None


def test_every_run_has_a_bound():
    """A search over conditional Gaussians is bounded, and the bound is above the optimum."""
    frame = mixed_frame(1, N, 400)
    found, best = (dagopt.learn(frame, method, score="cg", progress=False) for method in ("hc", "exact"))
    assert found.certificate.source == "bounds of parent sets"
    assert found.bound >= best.score
