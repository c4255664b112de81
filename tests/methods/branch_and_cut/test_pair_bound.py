"""Tests of the bound by pair weights against the subset recursion."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline
from dagopt.lp.priced_root import PricedRoot
from dagopt.methods.branch_and_cut import pair_bound
from dagopt.methods.branch_and_cut.branch_and_cut import solve_branch_and_cut
from dagopt.methods.branch_and_cut.pair_bound import PairBound
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.likelihood_bound import likelihood_bound
from dagopt.methods.orders.order import solve_order
from dagopt.progress import NoProgress
from dagopt.scores.gaussian import GaussianScore
from dagopt.workers import Workers
from made_problems import gaussian_table, problem_of, quiet
from made_tables import mixed_table


def bounded(problem, dag, deadline=None, tell=lambda bound: None):
    """Run the bound of a problem."""
    with Workers(deadline or Deadline(), NoProgress(), 1) as workers:
        found = PairBound(problem.score, dag, workers, tell)
        found.run()
    return found


@pytest.mark.few(10)
@pytest.mark.parametrize("seed", range(24))
def test_no_bound_is_below_the_optimum(seed):
    """Few and many rows, sparse and dense, both conventions, all pairs or few, all sizes of J or few; every bound."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    table = gaussian_table(seed, n, rows=int(rng.choice([12, 60, 500, 5000])), density=float(rng.choice([0.2, 0.8])))
    score = GaussianScore(table, 0.5 * np.log(table.n_samples), "bnlearn" if seed % 4 == 3 else "paper")
    problem = replace(problem_of(table), score=score)
    best = solve_exact(problem, **quiet()).score
    dag = np.triu(rng.random((n, n)) < 0.3, k=1).astype(np.int8)
    told: list[float] = []
    width, size = int(rng.integers(1, 9)), int(rng.integers(0, 9))
    with patch.object(pair_bound, "WIDTH", width), patch.object(pair_bound, "MOST_SIZE", size):
        found = bounded(problem, dag, tell=told.append)
    assert min([found.bound, *told]) >= best - 1e-9 * abs(best)
    assert found.bound <= likelihood_bound(problem) + 1e-2
    assert told == sorted(told, reverse=True)


@pytest.mark.few(8)
@pytest.mark.parametrize("score", ["bic", "basis", "bge", "bge-raw"])
@pytest.mark.parametrize("seed", range(5))
def test_no_bound_of_blocks_is_below_the_optimum(seed, score):
    """Mixed tables, polynomials and marginal likelihoods; far below the likelihood with many rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    rows = int(rng.choice([60, 400, 3000]))
    table = gaussian_table(seed, n, rows, 0.6) if "bge" in score else mixed_table(seed, n, rows)
    problem = problem_of(table, score=score)
    best = solve_exact(problem, **quiet())
    told: list[float] = []
    with patch.object(pair_bound, "WIDTH", int(rng.integers(1, 9))):
        found = bounded(problem, best.adjacency, tell=told.append)
    assert min([found.bound, *told]) >= best.score - 1e-9 * abs(best.score)
    assert found.bound <= likelihood_bound(problem) + 1e-2
    assert told == sorted(told, reverse=True)


def by_three(seed, n):
    """Return a table in which every column is strongly explained by three before it."""
    rng = np.random.default_rng(seed)
    values = np.zeros((2000, n))
    for j in range(n):
        parents = rng.choice(j, size=min(j, 3), replace=False) if j else []
        weights = rng.choice([-1.0, 1.0], len(parents)) * rng.uniform(0.5, 1.5, len(parents))
        values[:, j] = values[:, parents] @ weights + rng.normal(size=2000)
    values /= values.std(axis=0)
    return ContinuousTable(tuple(f"V{j}" for j in range(n)), values)


@pytest.mark.parametrize("seed", range(4))
def test_sets_larger_than_those_searched_count(seed, monkeypatch):
    """No set of two parents leaves little information, but three do: they are too large for the first rounds."""
    monkeypatch.setattr(pair_bound, "FIRST_SIZE", 1)
    monkeypatch.setattr(pair_bound, "QUICK", 0.0)
    monkeypatch.setattr(pair_bound, "SIZES_BACK", pair_bound.MOST_SIZE)
    problem = problem_of(by_three(seed, 9))
    best = solve_exact(problem, **quiet())
    told: list[float] = []
    bounded(problem, best.adjacency, tell=told.append)
    assert min(told) >= best.score


@pytest.mark.parametrize("seed", range(3))
def test_most_of_the_gap_of_the_likelihood_is_closed(seed):
    """On dense data with many rows; the same bound on one thread and on two."""
    problem = problem_of(gaussian_table(seed, 10, rows=3000, density=0.5))
    best = solve_exact(problem, **quiet())
    found = bounded(problem, best.adjacency)
    gap = likelihood_bound(problem) - best.score
    assert found.bound - best.score < 0.4 * gap
    with Workers(Deadline(), NoProgress(), 2) as workers:
        twice = PairBound(problem.score, best.adjacency, workers)
        twice.run()
    assert twice.bound == found.bound


def test_a_bound_that_works_in_turns_is_that_of_one_piece():
    """One round per turn."""
    problem = problem_of(gaussian_table(1, 9, rows=2000, density=0.5))
    dag = solve_exact(problem, **quiet()).adjacency
    whole, n_turns = bounded(problem, dag), 0
    with Workers(Deadline(), NoProgress(), 1) as workers:
        found = PairBound(problem.score, dag, workers)
        while not found.over:
            found.run(Deadline().within(1e-9) if n_turns % 2 else Deadline(1e-4))
            n_turns += 1
    assert found.bound == whole.bound
    assert n_turns > 3


def test_the_bound_falls_as_larger_sets_are_searched():
    """Each size of parent sets gives a better bound on dense data, the first after a few rounds."""
    problem = problem_of(gaussian_table(2, 10, rows=3000, density=0.6))
    dag = solve_exact(problem, **quiet()).adjacency
    bounds = []
    for size in (1, 2, 4):
        with patch.object(pair_bound, "MOST_SIZE", size):
            bounds.append(bounded(problem, dag).bound)
    assert bounds[0] > bounds[1] > bounds[2]


@pytest.mark.parametrize("looks", [0, 1, 3, 10, 30])
def test_a_bound_that_is_stopped_holds(looks):
    """The clock runs out after some looks at it."""
    problem = problem_of(gaussian_table(5, 8, rows=1000, density=0.6))
    best = solve_exact(problem, **quiet())

    class Clock(Deadline):
        count = 0

        @property
        def reason(self):
            Clock.count += 1
            return "time limit" if Clock.count > looks else None

    found = bounded(problem, best.adjacency, Clock())
    assert found.bound >= best.score
    assert found.bound <= likelihood_bound(problem) + 1e-2


def test_branch_and_cut_has_the_bound_if_sets_cannot_be_listed():
    """Also if pricing finds nothing."""
    problem = problem_of(gaussian_table(4, 9, rows=1000, density=0.5))
    best = solve_exact(problem, **quiet())
    with patch.object(PricedRoot, "run"):
        result = solve_branch_and_cut(problem, max_sets=1, **quiet())
    assert best.score <= result.bound == result.figures.pair_bound < likelihood_bound(problem)


@pytest.mark.parametrize("seed", range(3))
def test_the_first_weights_keep_to_the_caps_and_prove_a_good_part_at_once(seed):
    """One search, with no LP, gives more than half of what all rounds give."""
    problem = problem_of(gaussian_table(seed, 12, rows=3000, density=0.5))
    dag = solve_order(problem, **quiet()).adjacency
    with patch.object(pair_bound, "MOST_SIZE", 3), Workers(Deadline(), NoProgress(), 1) as workers:
        found = PairBound(problem.score, dag, workers)
        first, start = found.bound, found._weights
        totals = np.bincount(found._pairs.ravel(), np.repeat(start, 2), 12)
        assert (totals <= found._caps + 1e-9).all()
        assert (start <= found._uppers + 1e-12).all()
        found._round(found._start())
        once = found.bound
        found.run()
    assert first - once > 0.5 * (first - found.bound) > 0.0


def test_larger_sets_are_searched_though_they_take_most_of_the_time(monkeypatch):
    """The next size takes 80 of 100 seconds: it is left out at first, and searched when nothing else is left."""
    monkeypatch.setattr(PairBound, "_needed", lambda self, size: 80.0 if size > 2 else 0.0)
    problem = problem_of(gaussian_table(4, 9, rows=500, density=0.5))
    best = solve_exact(problem, **quiet())
    found = bounded(problem, best.adjacency, Deadline(100.0, lambda: 0.0))
    first = found.bound
    assert found.over
    assert found.most_parents == 2
    assert found.try_harder()
    assert not found.over
    found.run()
    assert found.most_parents > 2
    assert best.score - 1e-6 <= found.bound < first
    assert not found.try_harder()
