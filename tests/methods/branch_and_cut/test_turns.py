"""Tests of who gets the time, with scripted parts on a scripted clock."""

from __future__ import annotations

import numpy as np
import pytest

from dagopt.deadline import Deadline
from dagopt.methods.branch_and_cut.turns import take_turns


class Clock:
    """Seconds that pass only when a part works."""

    now = 0.0

    def __call__(self):
        return self.now


class Scripted:
    """A part whose bound is a function of the seconds it has worked."""

    hopeless = False

    def __init__(self, clock, bound_after, ends=np.inf, step=0.5):
        self.seconds = 0.0
        self._clock, self._bound_after, self._ends, self._step = clock, bound_after, ends, step

    @property
    def bound(self):
        return self._bound_after(self.seconds)

    @property
    def over(self):
        return self.seconds >= self._ends

    @property
    def finished(self):
        return False

    def work(self, clock):
        while not self.over and clock.reason is None:
            self.seconds += self._step
            self._clock.now += self._step

    def try_harder(self):
        return False

    def outlook(self, seconds):
        return None


def played(*bounds, limit=100.0, score=0.0, **more):
    """Return the seconds that each of some parts had."""
    clock = Clock()
    parts = [Scripted(clock, bound, **more) for bound in bounds]
    take_turns(parts, lambda: score, 1e-6, Deadline(limit, clock))
    return [part.seconds for part in parts]


def test_the_bound_that_falls_gets_the_time():
    """Two that stand still have one turn each."""
    still, falling, other = played(lambda t: 50.0, lambda t: 100.0 - 0.8 * t, lambda t: 80.0)
    assert still == other == 5.0
    assert falling == 90.0


def test_a_bound_that_has_stopped_falling_gives_way():
    """The first falls fast to 60 and no further; the second falls slowly, but below that."""
    stuck, slow = played(lambda t: max(100.0 - 8.0 * t, 60.0), lambda t: 100.0 - 0.7 * t)
    assert slow > 2 * stuck


def test_bounds_that_all_stand_still_share_the_time_in_longer_turns():
    """One that needs many seconds before it shows anything still gets them."""
    still, late = played(lambda t: 50.0, lambda t: 100.0 if t < 30.0 else 10.0)
    assert late >= 30.0
    assert still >= 30.0


def test_what_is_over_leaves_the_time_to_others_and_a_closed_gap_ends_it():
    """A part ends after ten seconds; another reaches the score."""
    over, _ = played(lambda t: 90.0 - t, lambda t: 100.0, ends=10.0)
    assert over == 10.0
    closed, none = played(lambda t: 50.0 - t, lambda t: 100.0, score=46.0)
    assert (closed, none) == (5.0, 0.0)


class Idle(Scripted):
    """A part that returns at once and never says that it is over."""

    def work(self, clock):
        self.seconds += 1e-3
        self._clock.now += 1e-3


@pytest.mark.parametrize("limit", [None, 50.0])
def test_a_part_that_returns_at_once_is_not_asked_again(limit):
    """Also without a time limit there is an end."""
    clock = Clock()
    idle = Idle(clock, lambda t: 10.0)
    take_turns([idle], lambda: 0.0, 1e-6, Deadline(limit, clock))
    assert idle.seconds < 1.0


def test_an_outlook_of_its_own_decides():
    """A listing that is nearly done comes before a bound that falls."""
    clock = Clock()
    listing, falling = Scripted(clock, lambda t: np.inf, ends=40.0), Scripted(clock, lambda t: 100.0 - 0.5 * t)
    listing.outlook = lambda seconds: -np.inf
    take_turns([falling, listing], lambda: 0.0, 1e-6, Deadline(100.0, clock))
    assert listing.seconds == 40.0


def test_a_part_that_expects_nothing_waits_for_the_others():
    """A hopeless listing has no turn while a bound may fall, and all of the time after that."""
    clock = Clock()
    listing, pairs = Scripted(clock, lambda t: np.inf), Scripted(clock, lambda t: 100.0, ends=60.0)
    listing.outlook = lambda seconds: np.inf
    take_turns([listing, pairs], lambda: 0.0, 1e-6, Deadline(100.0, clock))
    assert (pairs.seconds, listing.seconds) == (60.0, 40.0)


class Tireless(Scripted):
    """A part that is over after some seconds, and three times goes on for four times as many when it tries harder."""

    def __init__(self, clock, bound_after, ends):
        super().__init__(clock, bound_after, ends)
        self.tries = 0
        self._own = ends

    def try_harder(self):
        if self.tries == 3:
            return False
        self.tries += 1
        self._own *= 4.0
        self._ends += self._own
        return True


def test_what_is_over_tries_harder_when_nothing_else_is_left():
    """A bound that falls only after long work does so, where the part said before that it was over."""
    clock = Clock()
    late, other = Tireless(clock, lambda t: 50.0 if t < 100.0 else 0.0, 10.0), Scripted(clock, lambda t: 90.0, ends=5.0)
    take_turns([late, other], lambda: 0.0, 1e-6, Deadline(None, clock))
    assert (late.bound, late.tries) == (0.0, 2)


@pytest.mark.parametrize("limit", [None, 1e6])
def test_trying_harder_in_vain_has_an_end(limit):
    """It ends when no part goes on any more."""
    clock = Clock()
    vain = Tireless(clock, lambda t: 50.0, 10.0)
    take_turns([vain], lambda: 0.0, 1e-6, Deadline(limit, clock))
    assert (vain.tries, vain.seconds) == (3, 10.0 * (1 + 4 + 16 + 64))


def test_where_bounds_stand_still_others_may_work():
    """Not while a bound falls, nor in the first turns; a better score that is found meanwhile closes the gap."""
    clock, rests, score = Clock(), [], [0.0]

    def rest(is_hopeless):
        assert not is_hopeless
        rests.append(clock.now)
        score[0] = 50.0

    falling = Scripted(clock, lambda t: max(100.0 - t, 50.0))
    take_turns([falling], lambda: score[0], 1e-6, Deadline(200.0, clock), rest)
    assert len(rests) == 1
    assert rests[0] > 50.0
    assert falling.seconds == rests[0]
