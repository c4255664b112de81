"""Scores with bounds of their own: sets of any size are listed or bounded, and the best DAG is proven."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.families.listing import Candidates, bounds_the_rest
from dagopt.methods import auto
from dagopt.methods.branch_and_cut import gobnilp
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from made_problems import gaussian_table, problem_of
from made_tables import mixed_frame

pytestmark = pytest.mark.filterwarnings("ignore")


def squares(frame):
    """Return a score whose penalty grows with the square of the number of parents, with a bound."""

    def fit(node, parents):
        design = np.column_stack([np.ones(len(frame)), *(frame[name] for name in parents)])
        error = frame[node] - design @ np.linalg.lstsq(design, frame[node], rcond=None)[0]
        return -len(frame) / 2 * math.log((error**2).mean())

    def score(node, parents):
        return fit(node, parents) - 1.5 * len(parents) * (len(parents) + 1)

    def bound(node, parents, candidates):
        return fit(node, parents + candidates) - 1.5 * len(parents) * (len(parents) + 1)

    score.bound = bound
    return score


def asked(kind, seed):
    """Return a table, and how it is scored."""
    if kind == "cg":
        return mixed_frame(seed, 5, 400), {"score": "cg"}
    if kind == "own":
        data = dagopt.simulate(5, 200, 2.0, seed).data
        return data, {"score": squares(data)}
    data = dagopt.datasets.load("asia", n_samples=300, random_state=seed)[0].iloc[:, :6]
    targets = np.random.default_rng(seed).choice([None, None, data.columns[0], data.columns[3]], 300).tolist()
    return data, {"interventions": targets}


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["cg", "own", "told levels"])
@pytest.mark.parametrize("seed", range(2))
def test_the_best_dag_is_proven_over_all_dags(kind, seed):
    """Without a limit on parents: the optimum of the recursion, and its scope."""
    data, options = asked(kind, seed)
    best = dagopt.learn(data, "exact", progress=False, **options).score
    result = dagopt.learn(data, "gobnilp", progress=False, **options)
    assert (result.status, result.scope) == ("optimal", "all DAGs")
    assert result.score == pytest.approx(best, abs=1e-6)
    assert result.bound >= best - 1e-9


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", ["cg", "own", "told levels"])
@pytest.mark.parametrize("most", [1, 10, 40])
def test_sets_that_are_not_listed_are_bounded(kind, most, monkeypatch):
    """With few sets of each size the bound of the stand-ins is not below the optimum, nor above the sum of bounds."""
    data, options = asked(kind, 1)
    best = dagopt.learn(data, "exact", progress=False, **options)
    monkeypatch.setattr(gobnilp, "FIRST_SETS", most)
    monkeypatch.setattr(gobnilp._Rounds, "_may_list_more", lambda rounds, nodes: False)
    result = dagopt.learn(data, "gobnilp", progress=False, **options)
    assert result.bound >= best.score - 1e-9
    assert result.bound <= dagopt.learn(data, "hc", progress=False, **options).bound + 1e-6


def test_tails_are_bounded_by_later_candidates_alone():
    """Every set that grows from an open one scores no more than its tail."""
    data = dagopt.simulate(5, 200, 2.0, 3).data
    problem = problem_of(dagopt.as_table(data), score=squares(data))
    candidates = Candidates(problem.score, problem.knowledge)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        candidates.grow(workers, most_sets=1)
        candidates.bound_rest(workers)
    for node, growth in enumerate(candidates._growths):
        frontier = growth.frontier()
        for members, ceiling in zip(frontier.members, frontier.ceiling, strict=True):
            last = int(members[-1]) + 1 if len(members) else 0
            later = [growth._free[k] for k in range(last, len(growth._free))]
            for extra in range(1, 1 << len(later)):
                chosen = [*growth._free[members], *(j for k, j in enumerate(later) if extra >> k & 1)]
                assert problem.score.local(node, chosen) <= ceiling + 1e-9


def test_which_scores_bound_the_rest():
    """Not Gaussian ones, whose sets are listed otherwise, nor functions without a bound."""
    data, _ = asked("own", 0)
    table = dagopt.as_table(data)
    assert bounds_the_rest(problem_of(table, score=squares(data)).score)
    assert not bounds_the_rest(problem_of(table, score=lambda node, parents: -float(len(parents))).score)
    assert not bounds_the_rest(problem_of(gaussian_table(0, 5)).score)


def test_a_bound_below_the_score_of_its_own_set_is_an_error():
    """The message names the set."""
    data, _ = asked("own", 0)
    score = squares(data)
    right = score.bound
    score.bound = lambda node, parents, candidates: right(node, parents, candidates) - 1e4 * (len(parents) == 1)
    with pytest.raises(dagopt.InputError, match="correct the bound"):
        dagopt.learn(data, "gobnilp", score=score, progress=False)
    score.bound = lambda node, parents, candidates: "high"
    with pytest.raises(dagopt.InputError, match="expected a number from bound"):
        dagopt.learn(data, "gobnilp", score=score, progress=False)


@pytest.mark.parametrize("kind", ["cg", "own"])
def test_auto_lists_and_bounds_where_exact_takes_too_long(kind, monkeypatch):
    """It chooses gobnilp, and says why."""
    data, options = asked(kind, 0)
    best = dagopt.learn(data, "exact", progress=False, **options).score
    monkeypatch.setattr(auto, "SAFETY", 1e12)
    result = dagopt.learn(data, "auto", progress=False, time_limit=20, **options)
    assert any("auto chose gobnilp" in note for note in result.notes)
    assert result.bound >= best - 1e-9
    assert result.status != "optimal" or result.score == pytest.approx(best, abs=1e-6)
