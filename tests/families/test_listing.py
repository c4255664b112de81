"""Tests of candidate parent sets: all that are undominated, and only those."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dagopt
from dagopt.bits import from_words
from dagopt.data.table import ContinuousTable, as_table
from dagopt.deadline import Deadline
from dagopt.families import listing
from dagopt.families.keys import BitKeys, DigitKeys
from dagopt.families.listing import Candidates, candidate_pool, count_sets, limited, listable
from dagopt.families.node_growth import NodeGrowth
from dagopt.graph.constraints import Constraints
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.workers import Workers
from every_dag import consistent_constraints, make_problem, members, problems, totals
from made_problems import LooksLeft


def listed(problem, n_jobs=1):
    """Return the candidates of each node with their scores."""
    with Workers(Deadline(), NoProgress(), n_jobs) as workers:
        pool = candidate_pool(problem.score, problem.knowledge, workers)
    own = map(pool.own, range(pool.n_nodes))
    return [dict(zip(pool.masks[k].tolist(), pool.score[k].tolist(), strict=True)) for k in own]


def undominated(problem):
    """Return the allowed sets of each node that score more than each of their allowed proper subsets."""
    n = problem.n_nodes
    found = []
    for i in range(n):
        fits = [m for m in range(1 << n) if not m >> i & 1 and problem.knowledge.allows(i, members(m))]
        scores = dict(zip(fits, problem.score.local_many([i] * len(fits), [members(m) for m in fits]), strict=True))
        kept = {}
        for mask in sorted(fits, key=int.bit_count):
            if all(scores[mask] > value for other, value in kept.items() if other & ~mask == 0):
                kept[mask] = scores[mask]
        found.append(kept)
    return found


def assert_same(found, expected):
    """Assert that the same sets have the same scores."""
    for one, other in zip(found, expected, strict=True):
        assert one.keys() == other.keys()
        np.testing.assert_allclose([one[m] for m in other], list(other.values()), rtol=1e-12)


@pytest.mark.few(16)
@pytest.mark.parametrize(
    "kind", ["gaussian", "gaussian aic", "bnlearn", "bge", "multinomial", "multinomial aic", "bdeu"]
)
@pytest.mark.parametrize("limit", [None, 0, 2, 4])
@pytest.mark.parametrize("n_samples", [25, 300])
def test_pool_has_exactly_the_undominated_sets(kind, limit, n_samples):
    """Bounds never lose a set that beats its subsets, and no other set is kept."""
    problem = make_problem(kind, 8, 1, Constraints(max_parents=limit), n_samples)
    assert_same(listed(problem), undominated(problem))


@settings(max_examples=30, deadline=None)
@given(problem=problems(max_nodes=6))
def test_pool_has_exactly_the_undominated_allowed_sets(problem):
    """With knowledge the same holds among the allowed sets."""
    assert_same(listed(problem), undominated(problem))


@settings(max_examples=20, deadline=None)
@given(constraints=consistent_constraints(5))
def test_number_of_allowed_sets(constraints):
    """The count of allowed parent sets is what listing them gives."""
    knowledge = make_problem("gaussian", 5, 0, constraints).knowledge
    fits = [knowledge.allows(i, members(m)) for i in range(5) for m in range(32)]
    assert count_sets(knowledge) == sum(fits)


@settings(max_examples=18, deadline=None)
@given(kind=st.sampled_from(["gaussian", "bnlearn", "multinomial", "bdeu"]), seed=st.integers(0, 1000))
def test_bounds_are_above_all_supersets(kind, seed):
    """The bound of a set is at least the score of the set and of each of its supersets."""
    score = make_problem(kind, 6, seed, n_samples=40).score
    sets = [m for m in range(64) if not m & 1]
    flat = np.array([j for m in sets for j in members(m)], dtype=np.int64)
    offsets = np.cumsum([0] + [m.bit_count() for m in sets])
    values, bounds = score.local_and_bounds(np.zeros(len(sets), dtype=np.int64), flat, offsets)
    for mask, bound in zip(sets, bounds, strict=True):
        for other, value in zip(sets, values, strict=True):
            if mask & ~other == 0:
                assert value <= bound + 1e-9 * abs(bound)


def test_bounds_spare_work():
    """With few rows and a penalty most of the sets are never scored."""
    problem = make_problem("multinomial", 12, 0, n_samples=100)
    candidates = Candidates(problem.score, problem.knowledge)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        assert candidates.grow(workers)
    assert candidates.n_scored < 0.3 * count_sets(problem.knowledge)


@pytest.mark.parametrize("kind", ["gaussian", "multinomial", "bdeu"])
@pytest.mark.parametrize("slack", [0.5, 4.0, np.inf])
def test_slack_keeps_what_is_not_much_worse_than_its_subsets(kind, slack):
    """With slack a set stays unless a subset beats it by as much; with infinite slack all sets stay."""
    problem = make_problem(kind, 6, 3)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        pool = candidate_pool(problem.score, problem.knowledge, workers, slack)
    for i in range(6):
        sets = [m for m in range(64) if not m >> i & 1]
        scores = {m: problem.score.local(i, members(m)) for m in sets}
        wanted = {m for m in sets if all(scores[m] > scores[o] - slack for o in sets if o != m and o & ~m == 0)}
        assert set(pool.masks[pool.own(i)].tolist()) == wanted


@pytest.mark.parametrize("kind", ["gaussian", "multinomial", "bdeu"])
def test_growth_stopped_anywhere_has_a_ceiling(kind, monkeypatch):
    """Whenever the time ends, each node has its empty set, all scores are right, and no DAG is above the ceiling."""
    monkeypatch.setattr(listing, "MERGED_TOGETHER", 40)
    monkeypatch.setattr(listing, "ORDERED_TOGETHER", 7)
    problem = make_problem(kind, 5, 1)
    best, whole = totals(problem.score, problem.knowledge).max(), listed(problem)
    looks, finished = 0, False
    while not finished:
        candidates = Candidates(problem.score, problem.knowledge)
        with Workers(LooksLeft(looks), NoProgress(), 1) as workers:
            finished = candidates.grow(workers)
        pool = candidates.pool()
        for i, own in enumerate(whole):
            masks, scores = pool.masks[pool.own(i)], pool.score[pool.own(i)]
            found = dict(zip(masks.tolist(), scores.tolist(), strict=True))
            assert 0 in found
            assert all(own[mask] == pytest.approx(score) for mask, score in found.items() if mask in own)
        assert best <= candidates.ceiling() + 1e-9
        looks += 1 + looks // 8  # every moment at first, then one of eight
    assert looks > 10


@pytest.mark.parametrize("kind", ["gaussian", "multinomial", "bdeu"])
def test_stopped_growth_still_has_a_ceiling(kind):
    """After the smallest sets alone, every node has a set and no DAG scores above the ceiling."""
    problem = make_problem(kind, 5, 2)
    deadline = Deadline()
    deadline.interrupt()
    candidates = Candidates(problem.score, problem.knowledge)
    with Workers(deadline, NoProgress(), 1) as workers:
        assert not candidates.grow(workers)
    assert candidates.pool().masks.tolist() == [0] * 5
    assert totals(problem.score, problem.knowledge).max() <= candidates.ceiling() < np.inf


@pytest.mark.parametrize(
    ("kind", "score"),
    [("continuous", "bic"), ("discrete", "bic"), pytest.param("discrete", "bdeu", marks=pytest.mark.slow)],
)
def test_more_columns_than_bits_of_a_word(kind, score):
    """With 70 columns the pool has exactly the undominated sets of up to two, with what is required and forbidden."""
    rng = np.random.default_rng(3)
    hidden = rng.normal(size=(80, 9)) @ rng.normal(size=(9, 70)) + rng.normal(size=(80, 70))
    table = as_table(hidden if kind == "continuous" else np.searchsorted([-1.0, 1.0], hidden), kind=kind)
    a, b, c = table.names[:3]
    knowledge = Constraints([(c, a)], [(b, a)], max_parents=2).resolve(table.names)
    problem = Problem(table, make_score(table, score), knowledge)
    with Workers(Deadline(), NoProgress(), 2) as workers:
        pool = candidate_pool(problem.score, problem.knowledge, workers)
    for i in (0, 66):
        others = [j for j in range(70) if j != i]
        sets = [s for size in range(3) for s in combinations(others, size) if problem.knowledge.allows(i, s)]
        scores = dict(zip(sets, problem.score.local_many([i] * len(sets), sets).tolist(), strict=True))
        wanted = {s: v for s, v in scores.items() if all(v > scores.get(o, -np.inf) for o in proper_subsets(s))}
        found = {
            tuple(members(from_words(w))): v
            for w, v in zip(pool.words[pool.own(i)], pool.score[pool.own(i)], strict=True)
        }
        assert found.keys() == wanted.keys()
        np.testing.assert_allclose([found[s] for s in wanted], list(wanted.values()), rtol=1e-10)


def proper_subsets(parents):
    """Return all subsets of a set but itself."""
    return [part for size in range(len(parents)) for part in combinations(parents, size)]


def test_too_large_sets_of_many_columns_are_refused(rng):
    """Where a set has too many members for one integer, the message names the limit to set."""
    table = ContinuousTable(tuple(f"x{k}" for k in range(1000)), rng.normal(size=(10, 1000)))
    growth = NodeGrowth(make_score(table), Constraints().resolve(table.names), 0, 0.0)
    growth.pieces()
    growth._scores, growth._bounds = np.zeros(1), np.full(1, np.inf)
    growth.open()
    growth._size = 6
    growth.extend(most_sets=1000)
    assert not growth.level.size
    with pytest.raises(dagopt.InputError, match=r"at most 6 of 999 candidate parents of 'x0' .* max_parents=6"):
        growth.extend()


@given(st.lists(st.sets(st.integers(0, 59), min_size=3, max_size=3), min_size=1, max_size=20))
def test_sets_as_digits_and_as_bits_do_the_same(sets):
    """Members, sizes, sets without a member and sets with one more agree, and all keys lead back to their sets."""
    rows = np.array(sorted({tuple(sorted(s)) for s in sets}))
    found = []
    for keys in (BitKeys(60), DigitKeys(60)):
        own = np.sort(keys.of(rows))
        back = keys.members(own, 3)
        assert (keys.sizes(own) == 3).all()
        less = [keys.members(keys.without(own, back, t), 2) for t in range(3)]
        more = np.concatenate([keys.grown(own, 3, item) for item in range(60)])
        assert (np.diff(more) > 0).all()
        found.append([{tuple(row) for row in part.tolist()} for part in (back, *less, keys.members(more, 4))])
    assert found[0] == found[1]
    assert found[0][0] == {tuple(row) for row in rows.tolist()}


def test_the_limit_inside_a_superstructure():
    """All sets while they are few, else the largest size that leaves few enough, and never below what is asked for."""
    names = [f"x{k}" for k in range(12)]
    known = Constraints(superstructure=[("x0", name) for name in names[1:]]).resolve(names)
    assert listable(known, 3) is known
    sizes = [count_sets(limited(known, size)) for size in range(12)]
    assert listable(known, 3, sizes[5]).at_most.max() == 5
    assert listable(known, 3, 1).at_most.max() == 3


def test_the_limit_of_listed_sets():
    """Few columns are listed whole; many up to a size, and a column with more required parents has exactly those."""
    whole = Constraints().resolve(list("abcdef"))
    assert listable(whole, 2, 300_000) is whole
    names = [f"V{k}" for k in range(37)]
    assert (listable(Constraints().resolve(names), 2, 300_000).at_most == 3).all()
    required = Constraints(required=[(name, "V36") for name in names[:5]])
    assert listable(required.resolve(names), 2, 300_000).at_most.tolist() == [3] * 36 + [5]
