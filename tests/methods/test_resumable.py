"""Tests of runs that are paused where they look at the clock, on a clock that passes when they work."""

from __future__ import annotations

import pytest

from dagopt.deadline import Deadline
from dagopt.methods.resumable import Resumable
from dagopt.progress import NoProgress
from dagopt.workers import Stopped, Workers


class Clock:
    """Seconds that pass when somebody works."""

    now = 100.0

    def __call__(self):
        return self.now


def counting(clock, steps, seen):
    """Return a run of so many steps of a second each that notes what its own clock shows."""

    def work(deadline):
        for _ in range(steps):
            if deadline.reason is not None:
                return f"stopped: {deadline.reason}"
            seen.append(deadline.elapsed())
            clock.now += 1.0
        return "done"

    return work


def test_a_run_goes_on_where_it_was():
    """Three turns with pauses between them, which its clock does not show."""
    clock, seen = Clock(), []
    deadline = Deadline(100.0, clock)
    with Resumable(counting(clock, 7, seen), deadline) as run:
        assert run.go_on(3.0) is None
        assert len(seen) == 3
        clock.now += 20.0
        assert run.go_on(2.0) is None
        assert len(seen) == 5
        clock.now += 30.0
        assert run.go_on(10.0) == "done"
        assert run.go_on(10.0) == "done"
    assert seen == [float(k) for k in range(7)]
    assert [run.moment(each) for each in (0.0, 2.0, 3.5, 6.0)] == [0.0, 2.0, 23.5, 56.0]


def test_parts_of_its_time_do_not_pass_while_it_is_paused():
    """A turn of ten of its seconds is over after ten of them, but the end of the whole run is that of all."""
    clock, left = Clock(), []

    def work(deadline):
        part = deadline.within(10.0)
        while part.reason is None:
            left.append((part.remaining(), deadline.remaining()))
            clock.now += 1.0
        return deadline.elapsed()

    with Resumable(work, Deadline(100.0, clock)) as run:
        assert run.go_on(4.0) is None
        clock.now += 50.0
        assert run.go_on(20.0) == 10.0
    assert left[3:5] == [(7.0, 97.0), (6.0, 46.0)]


def test_the_end_of_the_whole_run_is_no_pause():
    """A run that is paused then is told to end when it goes on, and returns what it has."""
    clock, seen = Clock(), []
    deadline = Deadline(10.0, clock)
    with Resumable(counting(clock, 50, seen), deadline) as run:
        assert run.go_on(4.0) is None
        clock.now += 8.0
        assert run.go_on(1.0) == "stopped: time_limit"


def test_an_interrupt_reaches_it():
    """Ctrl-C while it works: the request is that of the deadline of all."""
    clock = Clock()
    deadline = Deadline(None, clock)

    def work(own):
        clock.now += 1.0
        deadline.interrupt()
        return own.reason

    with Resumable(work, deadline) as run:
        assert run.go_on(5.0) == "interrupted"


def test_it_may_let_others_work():
    """A turn ends at once when the run says so."""
    clock = Clock()
    turns = []

    def work(deadline):
        clock.now += 1.0
        run.rest()
        turns.append(clock.now)
        return "done"

    with Resumable(work, Deadline(100.0, clock)) as run:
        assert run.go_on(50.0) is None
        assert run.rested
        clock.now += 10.0
        assert run.go_on(50.0) == "done"
        assert not run.rested
    assert turns == [111.0]


def test_an_error_is_the_caller_s():
    """What the run raises is raised in the turn."""

    def work(deadline):
        raise ValueError("no")

    with Resumable(work, Deadline(1.0)) as run, pytest.raises(ValueError, match="no"):
        run.go_on(1.0)


def test_a_run_that_is_left_stops():
    """Its next look at the clock is its last one."""
    clock, ends = Clock(), []

    def work(deadline):
        try:
            while deadline.reason is None:
                clock.now += 1.0
        except Stopped:
            ends.append("left")
            raise

    with Resumable(work, Deadline(100.0, clock)) as run:
        assert run.go_on(5.0) is None
    run.join()
    assert ends == ["left"]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_its_threads_wait_too(n_jobs):
    """Pieces of work on threads of its own end all the same, however often it is paused."""
    done = []
    with Resumable(lambda deadline: _pieces(deadline, n_jobs, done), Deadline(60.0)) as run:
        while run.go_on(1e-4) is None:
            pass
    assert sorted(done) == list(range(40))


def _pieces(deadline, n_jobs, done):
    def piece(k):
        for _ in range(50):
            assert deadline.reason is None
        done.append(k)

    with Workers(deadline, NoProgress(), n_jobs) as workers:
        workers.each("pieces", [lambda k=k: piece(k) for k in range(40)], 40)
    return "done"
