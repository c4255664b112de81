"""The pace of the machine: it follows the clock, is measured once, and scales what is shown but no choice."""

import threading
import time
from types import SimpleNamespace

import pytest

from dagopt import pace
from dagopt.methods.exact import plan
from dagopt.methods.exact.plan import ANSWER_SECONDS, Estimate
from dagopt.methods.exact.subset_dp import POTENTIALS, RECURSION, Plan


@pytest.fixture(autouse=True)
def _unmeasured():
    pace.machine_pace.cache_clear()
    yield
    pace.machine_pace.cache_clear()


def slow_clock(monkeypatch, times):
    """Let the clock of the rounds run so many times as fast as in truth."""
    monkeypatch.setattr(pace, "time", SimpleNamespace(perf_counter=lambda: times * time.thread_time()))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_thread_is_timed(monkeypatch, threads):
    timed = []
    rounds = pace._time_rounds

    def noted(seconds):
        rounds(seconds)
        timed.append(threading.get_ident())

    monkeypatch.setattr(pace, "_time_rounds", noted)
    assert pace.machine_pace(threads) > 0
    assert len(timed) == threads


def test_it_is_measured_once_and_threads_are_limited(monkeypatch):
    calls = []
    monkeypatch.setattr(pace, "_time_rounds", lambda seconds: (calls.append(1), seconds.append(pace.REFERENCE)))
    assert pace.machine_pace(1) == pace.machine_pace(1) == 1.0
    assert len(calls) == 1
    assert pace.machine_pace(1000) == 1.0
    assert len(calls) == 1 + pace.MOST_THREADS


def test_a_machine_that_is_ten_times_slower_has_a_larger_pace(monkeypatch):
    slow_clock(monkeypatch, 1.0)
    here = pace.machine_pace(1)
    pace.machine_pace.cache_clear()
    slow_clock(monkeypatch, 10.0)
    assert 3 * here < pace.machine_pace(1) < 30 * here  # rounds differ by a factor of 3 at most, even on a busy machine


def test_an_interrupted_round_does_not_count(monkeypatch):
    monkeypatch.setattr(pace, "_time_rounds", lambda seconds: seconds.extend([pace.REFERENCE] * 8 + [1.0]))
    assert pace.machine_pace(1) == 1.0


def test_what_is_shown_is_scaled_and_what_is_compared_is_not(monkeypatch):
    monkeypatch.setattr(plan, "machine_pace", lambda cores: 2.0 * cores)
    tables = Plan(20, 0, 1000, 3.0)
    estimate = Estimate("table", 1000, 3.0, True, tables, 1.0, cores=2)
    assert estimate.seconds == 3.0
    assert estimate.seconds_here == 12.0
    assert estimate.phases == {POTENTIALS: 4.0, RECURSION: 8.0, "answer": 4 * ANSWER_SECONDS}
    assert str(estimate).endswith("12.0 s")
    assert Estimate("pool", 1000, 3.0, True).phases == {"": 6.0 + 2 * ANSWER_SECONDS}
