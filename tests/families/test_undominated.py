"""Tests of the listing of undominated parent sets against all subsets."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from brute_force import undominated
from dagopt.bits import from_words, members
from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline
from dagopt.errors import InputError
from dagopt.families import families
from dagopt.families import undominated as undominated_sets
from dagopt.families.undominated import Listing, TooMany, is_searchable
from dagopt.graph.constraints import Constraints
from dagopt.progress import NoProgress
from dagopt.scores.build import make_score
from dagopt.workers import Stopped, Workers
from made_problems import gaussian_table


def listed(table, constraints=None, most=10**6, **options):
    """Return the sets of each node with their scores, and the score."""
    score = make_score(table, **options)
    knowledge = (constraints or Constraints()).resolve(table.names)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        found = Listing(score, knowledge, most).run(workers)
    own = [found.own(node) for node in range(score.n_nodes)]
    sets = [{tuple(members(from_words(row))) for row in found.words[places]} for places in own]
    return sets, [found.score[places] for places in own], score, knowledge


KNOWN = Constraints(required=[("V0", "V1")], forbidden=[("V2", "V1"), ("V3", "V0")], max_parents=3)


@pytest.mark.few(12)
@pytest.mark.parametrize("constraints", [None, Constraints(max_parents=2), KNOWN])
@pytest.mark.parametrize("options", [{"score": "bic"}, {"score": "aic"}, {"score": "bic", "convention": "bnlearn"}])
@pytest.mark.parametrize("seed", range(4))
def test_the_sets_are_those_that_no_subset_beats(seed, options, constraints):
    """For every penalty and all kinds of knowledge, with their scores from the best down."""
    table = gaussian_table(seed, 7, rows=[30, 80, 400, 3000][seed])
    sets, scores, score, knowledge = listed(table, constraints, **options)
    for node in range(7):
        assert sets[node] == undominated(score, knowledge, node)
        assert (np.diff(scores[node]) <= 0).all()
        assert scores[node].max() == pytest.approx(max(score.local(node, own) for own in sets[node]))


EARLIER = Constraints(tiers=[["V0", "V1", "V2", "V3"], ["V4", "V5", "V6", "V7"]], required=[("V5", "V4")])


@pytest.mark.parametrize("constraints", [EARLIER, Constraints(tiers=EARLIER.tiers, max_parents=2)])
@pytest.mark.parametrize("seed", range(4))
def test_each_set_of_other_parents_has_its_best_safe_ones(seed, constraints):
    """Parents of an earlier tier lie in no cycle: a set is dominated by one with fewer of the others."""
    table = gaussian_table(seed, 8, rows=[30, 80, 400, 3000][seed])
    sets, _, score, knowledge = listed(table, constraints)
    for node in range(8):
        safe = range(4) if node >= 4 else ()
        assert np.flatnonzero(knowledge.safe[:, node]).tolist() == list(safe)
        assert sets[node] == undominated(score, knowledge, node, safe)


def test_too_many_sets_are_refused():
    """The listing ends as soon as there are more than asked for."""
    with pytest.raises(TooMany):
        listed(gaussian_table(0, 8, rows=2000), most=10)


def test_the_estimate_is_exact_where_the_first_steps_are_enough():
    """On a small problem nothing is left to estimate."""
    table = gaussian_table(3, 6, rows=500)
    score = make_score(table)
    listing = Listing(score, Constraints().resolve(table.names), 10**6)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        estimate = listing.estimate(workers)
        count = len(listing.run(workers))
    assert count <= estimate.n_sets <= 1.05 * count + 1


def test_nearly_dependent_columns_are_refused():
    """Where rounding could decide what is dominated, nothing is listed."""
    values = gaussian_table(2, 4).values
    copy = values[:, 0] + 1e-7 * np.random.default_rng(0).normal(size=len(values))
    with pytest.raises(InputError, match="nearly linearly dependent"):
        listed(ContinuousTable(tuple("abcde"), np.column_stack([values, copy])))


@pytest.mark.filterwarnings("error")
def test_infinite_penalties_are_no_reason_to_warn():
    """With fewer rows than columns, the penalty of bnlearn's convention is infinite for large sets."""
    score = make_score(gaussian_table(0, 6, rows=4), "bic", convention="bnlearn")
    assert np.isinf(score.costs).any()
    assert not is_searchable(score)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_listing_that_is_stopped_again_and_again_finds_the_same_sets(n_jobs, monkeypatch):
    """Also while pairs and candidates are excluded, and sets are scored and compared; nothing is done twice."""
    monkeypatch.setattr(undominated_sets, "SCORED_PER_PIECE", 10)
    monkeypatch.setattr(families, "COMPARED", 10)
    table = gaussian_table(3, 12, rows=200)
    sets, _, score, knowledge = listed(table, score="bic")
    listing, n_stops, found = Listing(score, knowledge, 10**6), 0, None
    while found is None:
        with Workers(Deadline(), NoProgress(), n_jobs) as workers:
            workers.deadline.interrupt()
            try:
                found = listing.run(workers)
            except Stopped:
                n_stops += 1
    assert n_stops > 15
    own = [found.own(node) for node in range(12)]
    assert [{tuple(members(from_words(row))) for row in found.words[places]} for places in own] == sets
    assert listing.seconds_left(1) == 0.0


def test_the_time_that_is_left_is_not_known_before_the_searches():
    """Afterwards it is an estimate."""
    table = gaussian_table(0, 12, rows=500)
    score = make_score(table, score="bic")
    listing = Listing(score, Constraints().resolve(table.names), 10**6)
    assert listing.seconds_left(1) == np.inf
    with Workers(Deadline(), NoProgress(), 1) as workers:
        listing.estimate(workers)
    assert 0.0 <= listing.seconds_left(2) < 60.0


def test_no_search_is_left_behind_when_the_listing_is_stopped_often(monkeypatch):
    """Each stop comes after one piece: all nodes have had one before any has had two, so that the rest is known."""
    monkeypatch.setattr(undominated_sets, "FIRST_STEPS", 5)
    monkeypatch.setattr(undominated_sets, "STEPS_PER_PIECE", 5)
    table = gaussian_table(0, 12, rows=500)
    listing = Listing(make_score(table, score="bic"), Constraints().resolve(table.names), 10**6)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        listing.narrow(workers)
    for _ in range(13):
        with Workers(Deadline(), NoProgress(), 1) as workers:
            workers.deadline.interrupt()
            with pytest.raises(Stopped):
                listing.run(workers)
    assert {search.n_steps for search in listing._searches if not search.over} == {5, 10}
    assert np.isfinite(listing.seconds_left(1))


def test_the_time_that_is_left_is_measured(monkeypatch):
    """Where steps take long, for blocks or on a busy machine, more time is left."""
    monkeypatch.setattr(undominated_sets, "FIRST_STEPS", 5)
    monkeypatch.setattr(undominated_sets, "STEPS_PER_PIECE", 5)
    clock = count(step=10)
    monkeypatch.setattr(undominated_sets, "monotonic", lambda: next(clock))
    table = gaussian_table(0, 12, rows=500)
    listing = Listing(make_score(table, score="bic"), Constraints().resolve(table.names), 10**6)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        listing.estimate(workers)
        open_ones = [search for search in listing._searches if not search.over]
        before = sum(search.n_steps for search in open_ones)
        listing._advance(open_ones, workers)
    n_steps = sum(search.n_steps for search in open_ones) - before
    left = sum(search.n_steps * (1 / search.share - 1) for search in open_ones)
    assert listing.seconds_left(1) == pytest.approx(left * 10 / n_steps)


class Ticks:
    """A clock that advances by one each time it is read."""

    now = 0

    def __call__(self):
        self.now += 1
        return float(self.now)


@pytest.mark.parametrize("options", [{"score": "bic"}, {"score": "bge"}], ids=["columns", "blocks"])
def test_a_wide_search_looks_at_the_clock_after_every_step(options, monkeypatch):
    """Where a step takes long: a listing and the search before it do nothing more at the deadline."""
    monkeypatch.setattr(undominated_sets, "ENTRIES_PER_LOOK", 0)
    table = gaussian_table(2, 8, rows=400, density=0.6)
    score = make_score(table, **options)
    search = Listing(score, Constraints().resolve(table.names), 10**6)._search(0)
    undominated_sets._advance(search, 1000, Deadline(4.0, clock=Ticks()))
    assert search.n_steps == 4
    assert not search.over


@pytest.mark.parametrize("options", [{"score": "bic"}, {"score": "bge"}], ids=["columns", "blocks"])
def test_candidates_are_excluded_a_few_at_a_time(options, monkeypatch):
    """A search for them that is stopped after every look excludes the same ones as one that is not."""
    table = gaussian_table(3, 8, rows=60, density=0.3)
    score, known = make_score(table, **options), Constraints().resolve(table.names)
    whole, pieces = (Listing(score, known, 10**6) for _ in range(2))
    with Workers(Deadline(), NoProgress(), 1) as workers:
        whole.narrow(workers)
    monkeypatch.setattr(undominated_sets, "ENTRIES_PER_LOOK", 0)
    stops = 0
    while not pieces._is_narrow:
        with Workers(Deadline(1.0, clock=Ticks()), NoProgress(), 1) as workers:
            try:
                pieces.narrow(workers)
            except Stopped:
                stops += 1
    assert stops > 20
    assert np.array_equal(pieces.knowledge.may, whole.knowledge.may)
