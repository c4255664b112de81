"""Tests of the clock and of Ctrl-C."""

from __future__ import annotations

import math
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

import dagopt
from dagopt.data import continuous_checks, gram
from dagopt.data.column_checks import column_findings
from dagopt.data.doctor import examine_table
from dagopt.data.reading import read_columns
from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline, Stopped, Uncounted
from dagopt.learning import learning


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


class Ticking:
    """A clock that moves on by a second whenever it is looked at."""

    def __init__(self):
        self.looks = 0

    def __call__(self):
        self.looks += 1
        return float(self.looks)


def clocked(monkeypatch):
    """Give ``learn`` a clock that ticks with each look."""
    clock = Ticking()
    monkeypatch.setattr(learning, "Deadline", lambda seconds: Deadline(seconds, clock))


def written(tmp_path, rows, columns):
    """Write a table and return its path."""
    path = tmp_path / "data.csv"
    values = np.random.default_rng(0).normal(size=(rows, columns))
    pd.DataFrame(values, columns=[f"X{j}" for j in range(columns)]).to_csv(path, index=False)
    return path


def test_what_must_be_done_first_may_be_half_a_second_late():
    """Until then it goes on, after that an error says how far it came and how long it takes."""
    clock = Clock()
    deadline = Deadline(5, clock)
    clock.now += 5.4
    deadline.check("the data were read", 0.5)
    clock.now += 0.3
    with pytest.raises(
        dagopt.InputError, match=r"limit of 5 s was over while the data were read \(50% done\).* above 12"
    ):
        deadline.check("the data were read", 0.5)
    with pytest.raises(dagopt.InputError, match="above 7,"):  # 4.6 s, and twice 1.2
        deadline.check("correlations were computed", 0.5, begun=4.6)


def test_work_that_does_not_fit_is_not_begun(monkeypatch):
    """By the seconds it takes at the usual pace, and how many times as long this machine takes."""
    clock = Clock()
    deadline = Deadline(10, clock)
    monkeypatch.setattr("dagopt.deadline.machine_pace", lambda: 2.0)
    assert deadline.has_time_for(4.9)
    assert not deadline.has_time_for(5.1)
    clock.now += 10
    assert deadline.has_time_for(0.1)  # a moment
    assert not deadline.has_time_for(0.3)
    with pytest.raises(Stopped):
        deadline.require_time()
    assert Deadline().has_time_for(1e9)


def test_rows_and_shapes_are_not_checked_late():
    """A finding says what was left out once half of the limit is over."""
    skewed = read_columns({"a": np.arange(200.0) ** 6, "b": np.arange(200.0)})
    clock = Clock()
    deadline = Deadline(10, clock)
    assert "unchecked" not in {one.code for one in column_findings(skewed, skewed, deadline=deadline)}
    clock.now += 6
    found = {one.code: one for one in column_findings(skewed, skewed, deadline=deadline)}
    assert "skewed" not in found
    assert "outliers, shapes of distributions of the 2 columns were not checked" in found["unchecked"].message


def test_reading_looks_at_the_clock(tmp_path, monkeypatch):
    """A file of more than one part: the parser is stopped within it, not after it."""
    path = written(tmp_path, 30_000, 3)  # 1.7 MB: more than one part
    clocked(monkeypatch)
    with pytest.raises(dagopt.InputError, match=r"limit of 1.5 s was over while the data were read \([1-9]\d?% done\)"):
        dagopt.learn(path, "hc", time_limit=1.5, progress=False)


def test_many_columns_are_interpreted_by_the_clock(tmp_path, monkeypatch):
    """The clock is looked at between columns."""
    path = written(tmp_path, 5, 60)
    clocked(monkeypatch)
    with pytest.raises(dagopt.InputError, match=r"while the data were read \([5-9]\d% done\)"):
        dagopt.learn(path, "hc", time_limit=20.0, max_parents=1, progress=False)


@pytest.mark.parametrize("mixed", [False, True])
def test_correlations_look_at_the_clock(monkeypatch, mixed):
    """Also those of mixed columns, and they are the same whether made at once or in blocks."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 70)), columns=[f"X{j}" for j in range(70)])
    if mixed:
        frame["L"] = rng.choice(["a", "b"], 500)
    monkeypatch.setattr(gram, "is_cheap", lambda rows, n: False)
    whole = gram.products(frame.iloc[:, :70].to_numpy())
    monkeypatch.setattr(gram, "WIDE", 7)
    blocks = gram.products(frame.iloc[:, :70].to_numpy())
    assert np.array_equal(blocks, blocks.T)
    assert np.allclose(whole, blocks, rtol=1e-13, atol=1e-10)
    clocked(monkeypatch)
    with pytest.raises(dagopt.InputError, match=r"while correlations were computed \(\d+% done\)"):
        dagopt.learn(frame, "hc", time_limit=80.0 if mixed else 8.0, progress=False)  # levels come before


def test_em_looks_at_the_clock(monkeypatch):
    """Missing cells are filled in by rounds, between which it may end."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
    values[rng.random(values.shape) < 0.2] = np.nan
    clocked(monkeypatch)
    with pytest.raises(dagopt.InputError, match="while missing cells were filled in by EM"):
        dagopt.learn(values, "hc", missing="em", time_limit=3.0, progress=False)


def test_the_doctor_leaves_out_what_takes_longer_than_is_left(monkeypatch):
    """A copy of a sum is an error; where a check would take too long, a warning says that it was not made."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(50, 4))
    table = ContinuousTable(tuple("abcde"), np.column_stack([values, values.sum(axis=1)]))
    clock = Clock()
    deadline = Deadline(5, clock)
    assert [one.code for one in examine_table(table, 3, deadline=deadline).findings] == ["dependent"]
    monkeypatch.setattr(continuous_checks, "FACTOR_SPEED", 10.0)
    assert [one.code for one in examine_table(table, 3, deadline=deadline).findings] == ["unchecked"]
    assert [one.code for one in examine_table(table, 3).findings] == ["dependent"]


def test_products_of_views_look_at_the_clock_between_columns(monkeypatch):
    """20,000 lagged columns of few rows are one piece of rows: the clock is looked at within it."""
    values = np.lib.stride_tricks.sliding_window_view(np.random.default_rng(0).normal(size=400), 90)
    monkeypatch.setattr(gram, "WIDE", 7)
    monkeypatch.setattr(gram, "PIECE", 32 * 90 * len(values))
    looks, clock = [], Clock()
    deadline = Deadline(5, clock)
    monkeypatch.setattr(deadline, "check", lambda doing, share, begun: looks.append(share))
    gram.correlations_in_pieces(values, deadline)
    assert len(looks) > 4 + 90 // 32
    assert looks[-1] == 1.0
