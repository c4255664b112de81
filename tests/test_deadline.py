"""Tests of the clock and of Ctrl-C."""

from __future__ import annotations

import math
import pickle
import signal
import threading
import time

import pytest

import dagopt
from dagopt.deadline import Deadline, Uncounted


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_deadline_counts_down():
    """Elapsed and remaining seconds follow the clock, and the reason comes when none is left."""
    clock = Clock()
    deadline = Deadline(5, clock)
    assert (deadline.elapsed(), deadline.remaining(), deadline.reason) == (0.0, 5.0, None)
    clock.now += 3
    assert (deadline.elapsed(), deadline.remaining(), deadline.reason) == (3.0, 2.0, None)
    clock.now += 2
    assert (deadline.remaining(), deadline.reason) == (0.0, "time_limit")
    clock.now += 9
    assert (deadline.elapsed(), deadline.remaining()) == (14.0, 0.0)


def test_no_limit_never_ends():
    """Without a limit there is always time."""
    clock = Clock()
    deadline = Deadline(None, clock)
    clock.now += 1e9
    assert (deadline.remaining(), deadline.reason) == (math.inf, None)


def test_interrupt_comes_before_the_time_limit():
    """After an interrupt nothing remains, and the reason is the user's wish even when time is over too."""
    clock = Clock()
    deadline = Deadline(5, clock)
    deadline.interrupt()
    assert (deadline.remaining(), deadline.reason) == (0.0, "interrupted")
    clock.now += 10
    assert deadline.reason == "interrupted"


@pytest.mark.parametrize("limit", [0, -1, math.nan])
def test_limit_must_be_positive(limit):
    """A limit that is no positive number is refused."""
    with pytest.raises(dagopt.InputError, match="expected time_limit= to be a number > 0 but got"):
        Deadline(limit)


def test_first_ctrl_c_asks_and_the_second_raises():
    """Within the deadline one Ctrl-C sets the reason, another raises, and the handler from before comes back."""
    before = signal.getsignal(signal.SIGINT)

    def press_twice():
        with Deadline() as deadline:
            signal.raise_signal(signal.SIGINT)
            assert deadline.reason == "interrupted"
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        press_twice()
    assert signal.getsignal(signal.SIGINT) is before


def test_handler_comes_back_after_an_error():
    """Any error within the deadline leaves the handler from before."""
    before = signal.getsignal(signal.SIGINT)

    def fail():
        with Deadline():
            assert signal.getsignal(signal.SIGINT) is not before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert signal.getsignal(signal.SIGINT) is before


def test_own_handler_of_the_caller_comes_back():
    """A handler that the caller had set is the one that is put back, and it is not called meanwhile."""
    called = []
    before = signal.signal(signal.SIGINT, lambda *_: called.append(1))
    try:
        with Deadline() as deadline:
            signal.raise_signal(signal.SIGINT)
        assert deadline.reason == "interrupted"
        assert not called
        signal.raise_signal(signal.SIGINT)
        assert called
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_signals_alone():
    """Python handles signals in the main thread alone, so elsewhere the deadline does not touch the handler."""
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with Deadline(5) as deadline:
            seen.append((signal.getsignal(signal.SIGINT) is before, deadline.reason))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(True, None)]


def test_it_travels_as_the_time_that_is_left():
    """A copy in another process has the seconds that are left, none after the end, and no limit where there is none."""
    clock = Clock()
    deadline = Deadline(5, clock)
    clock.now += 2
    call, arguments = deadline.__reduce__()
    assert (call, arguments) == (Deadline, (3.0,))
    clock.now += 9
    copy = pickle.loads(pickle.dumps(deadline))
    time.sleep(1e-3)
    assert copy.reason == "time_limit"
    assert pickle.loads(pickle.dumps(Deadline())).remaining() == math.inf


def test_sigterm_asks_to_stop_like_ctrl_c():
    """The first SIGTERM is a request to stop, and the default is back afterwards; a handler of the caller's stays."""
    with Deadline() as deadline:
        signal.raise_signal(signal.SIGTERM)
        assert deadline.reason == "interrupted"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    own = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with Deadline() as deadline:
            signal.raise_signal(signal.SIGTERM)
            assert deadline.reason is None
    finally:
        signal.signal(signal.SIGTERM, own)


def test_uncounted_seconds_are_those_of_the_outermost():
    """Nested pauses are counted once, from the first begin to the last end, and while they last."""
    now = [10.0]
    pause = Uncounted(lambda: now[0])
    assert pause.seconds == 0
    pause.begin()
    now[0] = 12.0
    pause.begin()
    now[0] = 13.0
    pause.end()
    assert pause.seconds == 3.0
    now[0] = 14.0
    pause.end()
    now[0] = 20.0
    assert pause.seconds == 4.0
