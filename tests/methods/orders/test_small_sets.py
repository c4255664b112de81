"""The search over small parent sets: its optimum, what it finds that order search does not, and its clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import dagopt
from dagopt.deadline import Deadline
from dagopt.families.families import Families
from dagopt.families.listing import candidate_pool, limited
from dagopt.graph.order import is_acyclic
from dagopt.methods.exact.exact import solve_given_pool
from dagopt.methods.orders import small_sets
from dagopt.methods.orders.listed_search import best_of_orders
from dagopt.methods.orders.order import solve_order
from dagopt.methods.orders.small_sets import SmallSets
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from made_pools import random_pool
from made_problems import permuted, problem_of, quiet, stopped_after


def simulated(kind, seed=0, score="bic", **given):
    """Return a problem with nine columns."""
    table = dagopt.as_table(dagopt.simulate(9, 300, 1.5, seed, kind=kind).data)
    return problem_of(table, dagopt.Constraints(**given), score)


def with_hidden_parents():
    """Return a table in which x has the parents a and b, each of which tells nothing alone, and the edge x to a."""
    rng = np.random.default_rng(0)
    b, x = rng.integers(2, size=(2, 2000))
    a = np.where(rng.random(2000) < 0.95, b ^ x, 1 - (b ^ x))
    others = rng.integers(2, size=(2000, 3))
    return dagopt.as_table(np.column_stack([a, b, x, others]).astype(str))


def pool_of(problem, size):
    """Return the undominated sets of up to so many parents."""
    with Workers(Deadline(), NoProgress(), 1) as workers:
        return candidate_pool(problem.score, limited(problem.knowledge, size), workers)


def best_of_small_sets(problem, deadline=None, seed=0):
    """Return the best DAG of small sets that is found, None if there was no time to list any."""
    small = SmallSets(problem, 1)
    return small.best(None, Deadline(), seed) if small.listed(deadline or Deadline(), NoProgress()) else None


@pytest.mark.parametrize("kind", ["gaussian", "discrete", "mixed"])
@pytest.mark.parametrize("seed", range(2))
def test_the_best_dag_of_small_sets(kind, seed):
    """With few columns the search finds what the recursion proves to be the best."""
    problem = simulated(kind, seed)
    size = 4 if kind == "discrete" else 3
    best = solve_given_pool(pool_of(problem, size), **quiet())
    found = best_of_small_sets(problem)
    assert problem.score.total(found) == pytest.approx(best.score, abs=1e-6)
    assert found.sum(axis=0).max() <= size


def test_a_known_dag_is_never_lost():
    """The answer is at least as good, also without any tries and after the deadline."""
    problem = simulated("discrete")
    pool = pool_of(problem, 2)
    known = pool.start(solve_order(problem, **quiet()).adjacency)
    for tries, clock in ((0, Deadline()), (5, Deadline()), (5, stopped_after(0))):
        found = best_of_orders(pool, known, tries, np.random.default_rng(0), clock)
        assert pool.total(found) >= pool.total(known)
        assert is_acyclic(pool.adjacency(found))


def test_the_order_of_the_columns_does_not_matter():
    """Columns are drawn by their names."""
    problem = simulated("discrete", 3)
    order = np.array([4, 0, 8, 2, 6, 1, 7, 3, 5])
    other = permuted(problem, order)
    one, two = (best_of_small_sets(p, seed=1) for p in (problem, other))
    assert problem.score.total(one) == pytest.approx(other.score.total(two), abs=1e-8)


def test_parents_that_help_only_together_are_found():
    """From the empty DAG no growth takes the first of them; the search over pairs does, and order search keeps it."""
    table = with_hidden_parents()
    problem = problem_of(table)
    empty = np.zeros((6, 6), dtype=np.int8)
    assert best_of_small_sets(problem)[:3, :3].sum() == 2
    small = SmallSets(problem, 1)
    assert small.listed(Deadline(), NoProgress())
    found = small.search(empty, Deadline(), NoProgress(), 0)
    best = dagopt.learn(table, "exact", progress=False)
    assert problem.score.total(found) == pytest.approx(best.score, abs=1e-6)


def test_what_searches_meet_joins_the_small_sets():
    """A node with six parents: its set is not listed, but it is found, and then the known DAG is one of the pool."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 8))
    values[:, 7] += values[:, :6].sum(axis=1)
    problem = problem_of(dagopt.as_table(values))
    small = SmallSets(problem, 1)
    assert small.listed(Deadline(), NoProgress())
    assert small.best(None, Deadline(), 0).sum(axis=0).max() <= 3
    found = small.search(np.zeros((8, 8), dtype=np.int8), Deadline(), NoProgress(), 0)
    best = dagopt.learn(problem.table, "exact", progress=False)
    assert problem.score.total(found) == pytest.approx(best.score, abs=1e-6)
    assert problem.score.total(small.best(found, Deadline(), 0)) == pytest.approx(best.score, abs=1e-6)


@pytest.mark.parametrize("looks", [0, 1, 3, 10, 30, 100])
@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_the_known_dag_is_kept_whenever_the_clock_stops(kind, looks):
    """A scripted clock stops the listing and the searches."""
    problem = simulated(kind, 1)
    known = solve_order(problem, **quiet()).adjacency
    small, clock = SmallSets(problem, 1), stopped_after(looks)
    if small.listed(clock, NoProgress()):
        found = small.search(known, clock, NoProgress(), 0)
        assert is_acyclic(found)
        assert problem.score.total(found) >= problem.score.total(known) - 1e-9


def test_too_many_sets_are_not_listed(monkeypatch):
    """Where even pairs are too many, or take longer than the time left, there is no answer."""
    problem = simulated("gaussian")
    assert best_of_small_sets(problem, Deadline(1e-6)) is None
    monkeypatch.setattr(small_sets, "MOST_SMALL_SETS", 9 * 37 - 1)  # a node has 1 + 8 + 28 sets of up to two parents
    assert best_of_small_sets(problem) is None


def test_four_discrete_parents_are_listed_only_if_such_sets_are_few(monkeypatch):
    """A column that only four others together tell, one of 9 in which a node has 163 sets of up to four."""
    rng = np.random.default_rng(3)
    values = rng.integers(2, size=(2000, 9))
    values[:, 8] = values[:, :4].sum(axis=1) % 2
    problem = problem_of(dagopt.as_table(values.astype(str)))
    assert best_of_small_sets(problem).sum(axis=0).max() == 4
    monkeypatch.setattr(small_sets, "MOST_SMALL_SETS", 9 * 163 - 1)
    assert best_of_small_sets(problem).sum(axis=0).max() < 4


def test_knowledge_holds():
    """Required and forbidden edges, and a limit on the parents."""
    names = [f"X{k}" for k in range(9)]
    problem = simulated("gaussian", required=[(names[3], names[0])], forbidden=[(names[1], names[2])], max_parents=1)
    found = best_of_small_sets(problem)
    assert problem.knowledge.allows_dag(found)


@pytest.mark.parametrize("power", [40, 500])
def test_a_search_over_huge_scores_ends_with_the_same_dag(power):
    """Rounding of scores of 1e15 or 1e150 is no gain: the search once went on for ever."""
    pool = Families.from_list(12, random_pool(np.random.default_rng(power), 12, 30)).without_dominated()
    huge = replace(pool, score=np.ldexp(pool.score + 1 / 3, power))
    found, same = (best_of_orders(one, None, 60, np.random.default_rng(1), Deadline()) for one in (pool, huge))
    assert (found == same).all()


def test_kicks_of_huge_scores_gain_nothing_in_the_end():
    """Beliefs of 700 beside scores of 1e-150, which become 1e153 and 1, as the hunt drew them."""
    rng = np.random.default_rng(0)
    pool = Families.from_list(6, random_pool(rng, 6, 20)).without_dominated()
    score = np.where(rng.random(len(pool)) < 0.3, 7.3e153, 0.0) + rng.normal(size=len(pool))
    order = np.lexsort((-score, pool.node))
    mixed = replace(pool, score=score[order], words=pool.words[order])
    best = best_of_orders(mixed, None, 60, np.random.default_rng(1), Deadline())
    assert is_acyclic(mixed.adjacency(best))
