"""Tests of the bound by pricing against the subset recursion."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dagopt.deadline import Deadline
from dagopt.families.undominated import Listing, TooMany
from dagopt.graph.constraints import Constraints
from dagopt.graph.dag import is_acyclic
from dagopt.lp import priced_root
from dagopt.lp.priced_root import PricedRoot
from dagopt.lp.pricing import Pricing
from dagopt.lp.rows.clusters import ClusterRows
from dagopt.lp.rows.local import LocalRows
from dagopt.lp.rows.matrices import EntropyRows, LogDets, MatrixRows, implied_matrix
from dagopt.methods.branch_and_cut.branch_and_cut import solve_branch_and_cut
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.likelihood_bound import likelihood_bound
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from made_problems import gaussian_table, problem_of, quiet

KNOWN = Constraints(required=[("V0", "V1")], forbidden=[("V2", "V3"), ("V4", "V0")], max_parents=2)


def priced(problem, dag, max_sets):
    """Run the pricing of a problem from a DAG."""
    score = problem.score
    logdets = LogDets(score.n_samples)
    matrices = MatrixRows(logdets, [score.correlation, implied_matrix(score.correlation, dag)])
    with Workers(Deadline(), NoProgress(), 1) as workers, ThreadPoolExecutor(1) as threads:
        local = LocalRows(threads, 5, 0, lambda: False)
        finders = [ClusterRows(20), EntropyRows(logdets, score.correlation), matrices, local]
        root = PricedRoot(score, problem.knowledge, dag, [], finders, workers)
        first = root.bound
        root.run(max_sets, 1e-6)
    return root, first


@pytest.mark.few(3)
@pytest.mark.parametrize("constraints", [None, Constraints(max_parents=2), KNOWN])
@pytest.mark.parametrize("seed", range(3))
def test_the_bound_falls_from_the_likelihood_towards_the_optimum(seed, constraints):
    """Never below the optimum, far better than the likelihood, whatever is known."""
    problem = problem_of(gaussian_table(seed, 8, rows=[300, 1000, 3000][seed], density=0.3), constraints)
    best = solve_exact(problem, **quiet())
    root, first = priced(problem, best.adjacency, 1)
    assert first >= best.score
    assert root.bound >= best.score - 1e-6
    assert root.bound - best.score < 0.7 * (first - best.score) + 1e-3
    assert first == pytest.approx(max(likelihood_bound(problem), first), abs=1e-2)


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", range(4))
def test_the_families_left_have_every_better_dag(seed):
    """From a DAG far below the optimum, the families of the optimum, or of one as good, are listed."""
    problem = problem_of(gaussian_table(10 + seed, 7, rows=500, density=0.3))
    best = solve_exact(problem, **quiet())
    root, _ = priced(problem, np.zeros((7, 7), dtype=np.int8), 10**6)
    assert root.families is not None
    chosen = root.families.inside(best.adjacency)
    assert root.families.total(chosen) == pytest.approx(best.score, abs=1e-6)
    for row in root.rows:
        taken = np.zeros(len(root.families.node))
        taken[chosen] = 1.0
        assert taken[row.families] @ row.values <= row.upper + 1e-9


def test_a_listing_without_time_is_given_up_and_the_bound_holds(monkeypatch):
    """The next one has its own time; one that is never finished leaves what pricing proves."""
    problem = problem_of(gaussian_table(10, 7, rows=500, density=0.3))
    best = solve_exact(problem, **quiet())
    monkeypatch.setattr(priced_root, "LISTING_PER_PRICE", 0.0)
    monkeypatch.setattr(priced_root, "LISTING_SHARE", 0.0)
    monkeypatch.setattr(Deadline, "remaining", lambda self: 0.0 if self.time_limit < 1e-6 else 100.0)
    root, first = priced(problem, np.zeros((7, 7), dtype=np.int8), 10**6)
    assert root.over
    assert root.families is None
    assert best.score - 1e-6 <= root.bound < first


def test_the_families_left_have_the_best_dag_from_a_nearly_best_one():
    """One edge of the best DAG is reversed: the gap is small, and a single family may take most of it."""
    problem = problem_of(gaussian_table(77, 6, rows=60, density=0.5))
    best = solve_exact(problem, **quiet())
    tried = 0
    for tail, head in np.argwhere(best.adjacency):
        other = best.adjacency.copy()
        other[tail, head], other[head, tail] = 0, 1
        if is_acyclic(other) and problem.score.total(other) < best.score - 1e-3:
            root, _ = priced(problem, other, 10**6)
            assert root.families is not None
            assert root.families.total(root.families.inside(best.adjacency)) == pytest.approx(best.score, abs=1e-6)
            tried += 1
    assert tried > 3


@pytest.mark.parametrize("seed", range(3))
def test_branch_and_cut_over_the_families_left_proves_the_optimum(seed, monkeypatch):
    """Where all sets are too many but those left are not, the proof is one over all DAGs."""

    def fail(self, workers):
        raise TooMany(11, 25.0)

    monkeypatch.setattr(Listing, "run", fail)
    problem = problem_of(gaussian_table(20 + seed, 9, rows=2000, density=0.3))
    best = solve_exact(problem, **quiet())
    result = solve_branch_and_cut(problem, **quiet())
    assert "priced instead of listed" in result.notes[0]
    assert (result.status, result.scope) == ("optimal", best.scope)
    assert result.score == pytest.approx(best.score, rel=1e-9)
    assert result.bound >= best.score


def test_turns_end_between_climbs_and_go_on_where_they_were():
    """Turns that end at once lead to the same place as a run in one piece: a bound that is never below the optimum."""
    problem = problem_of(gaussian_table(3, 8, rows=800, density=0.3))
    best = solve_exact(problem, **quiet())
    whole, _ = priced(problem, best.adjacency, 0)
    score = problem.score
    logdets = LogDets(score.n_samples)
    with Workers(Deadline(), NoProgress(), 1) as workers, ThreadPoolExecutor(1) as threads:
        matrices = MatrixRows(logdets, [score.correlation, implied_matrix(score.correlation, best.adjacency)])
        local = LocalRows(threads, 5, 0, lambda: False)
        finders = [ClusterRows(20), EntropyRows(logdets, score.correlation), matrices, local]
        root = PricedRoot(score, problem.knowledge, best.adjacency, [], finders, workers)
        assert root.outlook(1.0) is None
        n_turns = n_guesses = 0
        while not root.over and n_turns < 500:
            root.run(0, 1e-6, Soon())
            assert root.bound >= best.score - 1e-6
            guess = root.outlook(0.0)
            n_guesses += guess is not None
            assert guess is None or guess <= root.bound
            n_turns += 1
    assert root.over
    assert n_turns > root.n_rounds
    assert n_guesses
    assert root.bound == pytest.approx(whole.bound, abs=1e-6)


class Soon:
    """A clock that stops after one look at it."""

    def __init__(self):
        self._looks = 0

    @property
    def reason(self):
        self._looks += 1
        return "time_limit" if self._looks > 1 else None


@pytest.mark.parametrize("seed", range(3))
def test_prices_between_the_best_multipliers_and_the_centre_prove_a_bound(seed, monkeypatch):
    """Where pricing at the centre fails each time, the points nearer to the best ones still lower the bound."""
    problem = problem_of(gaussian_table(40 + seed, 8, rows=1000, density=0.3))
    best = solve_exact(problem, **quiet())
    whole = Pricing.all_nodes
    shares = []

    def only_between(self, point, least, count, workers, *limits):
        bound, found = whole(self, point, least, count, workers, *limits)
        shares.append(self.prices(point).whole)
        return (bound if shares[-1] > 0.25 else np.inf), found

    monkeypatch.setattr(Pricing, "all_nodes", only_between)
    root, first = priced(problem, best.adjacency, 0)
    assert best.score - 1e-6 <= root.bound < first


@pytest.mark.parametrize("seed", range(2))
def test_a_run_that_ended_in_vain_tries_harder_a_few_times(seed, monkeypatch):
    """Searches that were stopped early go on further each time; the bound falls or stays and holds."""
    monkeypatch.setattr(priced_root, "MOST_IDLE", 2)
    problem = problem_of(gaussian_table(30 + seed, 8, rows=300, density=0.5))
    best = solve_exact(problem, **quiet())
    nothing = np.zeros((8, 8), dtype=np.int8)
    score = problem.score
    with Workers(Deadline(), NoProgress(), 1) as workers:
        finders = [ClusterRows(20), EntropyRows(LogDets(score.n_samples), score.correlation)]
        root = PricedRoot(score, problem.knowledge, nothing, [], finders, workers)
        assert not root.try_harder()
        root.run(0, 1e-6)
        steps, bounds = [root.state.effort.steps], [root.bound]
        while root.over and root.try_harder():
            assert not root.over
            root.run(0, 1e-6)
            steps.append(root.state.effort.steps)
            bounds.append(root.bound)
            assert len(bounds) < 50
    assert root.over
    assert len(steps) > priced_root.MOST_TRIES
    assert (np.diff(bounds) <= 0.0).all()
    assert bounds[-1] >= best.score - 1e-6
    assert (np.diff(np.log2(steps)) == np.log2(priced_root.HARDER)).all()


def test_a_better_dag_found_elsewhere_is_used():
    """It is the best one from then on, its families are in the LP, and the bound still holds."""
    problem = problem_of(gaussian_table(5, 8, rows=800, density=0.4))
    best = solve_exact(problem, **quiet())
    score = problem.score
    with Workers(Deadline(), NoProgress(), 1) as workers:
        finders = [ClusterRows(20), EntropyRows(LogDets(score.n_samples), score.correlation)]
        root = PricedRoot(score, problem.knowledge, np.zeros((8, 8), dtype=np.int8), [], finders, workers)
        root.run(0, 1e-6, Soon())
        root.improve(best.adjacency)
        assert root.state.pool.exactly(best.adjacency) is not None or root.state.pool.inside(best.adjacency) is not None
        root.run(0, 1e-6)
    assert score.total(root.dag) == pytest.approx(best.score)
    assert root.bound >= best.score - 1e-6
