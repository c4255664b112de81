"""Pricing over all parent sets: the exact search, searches cut short, and climbs, against going through all sets."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagopt.deadline import Deadline
from dagopt.lp import pricing
from dagopt.lp.pricing import Pricing
from dagopt.lp.rows.clusters import cluster_row
from dagopt.lp.rows.row import DualPoint
from dagopt.progress import NoProgress
from dagopt.workers import Workers
from made_masters import direct_local
from made_pricing import allowed_sets, made_master, made_problem
from made_rows import coefficient, made_rows

SEEDS = st.integers(0, 2**16)


def made(seed, n, known):
    """Return a problem, and clusters and rows of log-determinants with random multipliers."""
    problem = made_problem("gaussian", seed, n, known)
    master, lp = made_master(problem, seed)
    rows = made_rows(lp.families, problem.score, seed)
    rng = np.random.default_rng(seed)
    weights = 0.8 * rng.random(len(rows)) * problem.score.n_samples / rows[0].origin.scale
    clusters = [cluster_row(lp.families, cluster) for cluster in master.clusters]
    return problem, DualPoint((*clusters, *rows), np.concatenate([3 * rng.random(len(clusters)), weights]))


def remainder(problem, point, node, parents):
    """Return the score of a family less its rows, by definition."""
    rows = zip(point.rows, point.weights, strict=True)
    return direct_local(problem, node, parents) - sum(w * coefficient(row, node, parents) for row, w in rows)


def largest_remainders(problem, point):
    """Return the largest remainder of each node over all allowed sets, by brute force."""
    return [
        max(remainder(problem, point, node, parents) for parents in allowed_sets(problem, node))
        for node in range(problem.n_nodes)
    ]


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(3, 6), st.booleans())
def test_the_exact_bound_is_the_lagrangian_of_all_sets(seed, n, known):
    """Σ λ b + Σ max over all allowed sets of the remainder, by brute force."""
    problem, point = made(seed, n, known)
    largest = largest_remainders(problem, point)
    expected = float(point.weights @ [row.upper for row in point.rows]) + sum(largest)
    with Workers(Deadline(), NoProgress(), 1) as workers:
        least = np.full(n, -1e9)
        bound, found = Pricing(problem.score, problem.knowledge, 10**6).all_nodes(point, least, 5, workers)
    assert bound >= expected - 1e-6
    assert bound == pytest.approx(expected, abs=1e-3)
    for node, one in enumerate(found):
        best = max(remainder(problem, point, node, np.flatnonzero(row).tolist()) for row in one.members)
        assert best == pytest.approx(largest[node], abs=1e-4)


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(4, 7), st.booleans())
def test_searches_that_are_cut_short_still_give_a_bound(seed, n, known):
    """With a few steps before the limits rise, and at a deadline that is over: never below that of all sets."""
    problem, point = made(seed, n, known)
    expected = point.constant + sum(largest_remainders(problem, point))
    least = np.full(n, -1e9)
    with patch.multiple(pricing, FIRST_STEPS=3, STEPS_PER_PIECE=1):
        for seconds in (None, 1e-9):
            with Workers(Deadline(seconds), NoProgress(), 1) as workers:
                bound, _ = Pricing(problem.score, problem.knowledge, 5).all_nodes(point, least, 2, workers)
            assert bound >= expected - 1e-6
    with Workers(Deadline(), NoProgress(), 2) as workers:
        climbed = Pricing(problem.score, problem.knowledge, 5).climb(point, least, 10, 20, workers)
    for node, one in enumerate(climbed):
        for row in one.members:
            parents = np.flatnonzero(row).tolist()
            assert tuple(parents) in {tuple(sorted(own)) for own in allowed_sets(problem, node)}
            assert remainder(problem, point, node, parents) <= one.most + 1e-4


@settings(deadline=None, max_examples=20)
@given(SEEDS, st.integers(4, 7), st.booleans())
def test_a_pricing_that_is_given_up_still_gives_a_bound(seed, n, known):
    """After one step of each search: never below that of all sets."""
    problem, point = made(seed, n, known)
    expected = point.constant + sum(largest_remainders(problem, point))
    with (
        patch.multiple(pricing, FIRST_STEPS=1, _expected=lambda searches, seconds: np.full(len(searches), 1e9)),
        Workers(Deadline(1e3), NoProgress(), 1) as workers,
    ):
        bound, found = Pricing(problem.score, problem.knowledge, 10**6).all_nodes(
            point, np.full(n, -1e9), 2, workers, allowed=1.0, hopeless=1.0
        )
    assert bound >= expected - 1e-6
    assert sum(one.n_steps for one in found) <= n


def test_the_searches_that_take_longest_look_for_less():
    """Of searches that are left, those with which they take longer than the time; the shortest ones come first."""
    expected = np.array([5.0, 0.0, 1.0, 30.0, 1.0])
    assert pricing._late(expected, [0, 2, 3, 4], 100.0) == []
    assert pricing._late(expected, [0, 2, 3, 4], 10.0) == [3]
    assert pricing._late(expected, [0, 2, 3, 4], 2.5) == [0, 3]
    assert pricing._late(expected, [0, 2, 3, 4], -1.0) == [2, 4, 0, 3]
    assert pricing._late(expected, [], 1.0) == []


@pytest.mark.parametrize("seed", range(5))
def test_searches_end_though_their_time_is_over(seed):
    """They look for larger and larger remainders, so that all of them end, with a bound that holds."""
    problem, point = made(seed, 7, False)
    expected = point.constant + sum(largest_remainders(problem, point))
    with patch.multiple(pricing, FIRST_STEPS=1, STEPS_PER_PIECE=1), Workers(Deadline(), NoProgress(), 1) as workers:
        bound, _ = Pricing(problem.score, problem.knowledge, 10**6).all_nodes(
            point, np.array(largest_remainders(problem, point)) - 5.0, 2, workers, allowed=0.0
        )
    assert expected - 1e-6 <= bound < np.inf


@pytest.mark.parametrize("seed", range(5))
def test_climbs_from_known_sets_find_their_neighbours(seed):
    """From every allowed set at once the largest remainder is found without a random start."""
    n = 6
    problem, point = made(seed, n, True)
    starts, largest = [], []
    for node in range(n):
        sets = list(allowed_sets(problem, node))
        rows = np.zeros((len(sets), n), dtype=np.bool_)
        for row, parents in zip(rows, sets, strict=True):
            row[list(parents)] = True
        starts.append(rows)
        largest.append(max(remainder(problem, point, node, parents) for parents in sets))
    before = [rows.copy() for rows in starts]
    with Workers(Deadline(), NoProgress(), 1) as workers:
        found = Pricing(problem.score, problem.knowledge, 5).climb(point, np.full(n, -1e9), 10**6, 0, workers, starts)
    for one, rows, most in zip(found, starts, largest, strict=True):
        assert one.most == (pytest.approx(most, abs=1e-4) if len(rows) > 1 else -np.inf)  # nothing to choose from
    assert all((own == old).all() for own, old in zip(starts, before, strict=True))


def test_climbs_that_are_stopped_return_what_they_found():
    """The clock of the climbs alone has stopped: nodes that were not reached may have any remainder."""
    problem, point = made(2, 6, False)
    with Workers(Deadline(1e3).within(1e-9), NoProgress(), 1) as workers:
        found = Pricing(problem.score, problem.knowledge, 5).climb(point, np.full(6, -1e9), 10, 20, workers)
    assert any(one.most == np.inf and not len(one.members) for one in found)


class Looks:
    """A clock whose time is over after some looks at it."""

    def __init__(self, looks):
        self.left = looks

    @property
    def reason(self):
        self.left -= 1
        return "time_limit" if self.left < 0 else None


@pytest.mark.parametrize("looks", [0, 3])
def test_the_clock_is_looked_at_before_every_climb(looks):
    """With hundreds of columns a climb takes a good part of a second, and a node has up to 150."""
    problem, point = made(1, 6, False)
    pricer = Pricing(problem.score, problem.knowledge, 5)
    with patch.object(pricing.kernels, "climb_from", side_effect=lambda *facts: facts[-1]) as climb:
        pricer._climbed(
            0,
            pricer.prices(point),
            -1e9,
            5,
            150,
            np.random.default_rng(0),
            Looks(looks),
            np.zeros((0, 6), dtype=np.bool_),
        )
    assert climb.call_count == looks


def test_searches_of_many_columns_are_cut_into_shorter_pieces():
    """A step with twice the columns takes some ten times as long; the clock is looked at after each piece."""
    problem, point = made(2, 6, False)
    with patch.object(pricing, "FEW_COLUMNS", 3):
        pricer = Pricing(problem.score, problem.knowledge, 10**6)
    search = pricer.search(0, pricer.prices(point), -1e9)
    with patch.object(search, "run", side_effect=lambda steps: None) as run:
        pricing._run(search, 10**6, pricer._piece, 5, Looks(2))
    assert [call.args[0] for call in run.call_args_list] == [pricing.STEPS_PER_PIECE // 16] * 2
