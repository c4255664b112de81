"""Tests of ``method="exact"``: what it says, what it refuses, and how it stops."""

from __future__ import annotations

import json
import signal
import threading
import tracemalloc
from functools import partial

import numpy as np
import pytest

import dagopt
from dagopt.data.table import ContinuousTable
from dagopt.deadline import Deadline
from dagopt.graph.constraints import Constraints
from dagopt.methods.exact.exact import solve_exact
from dagopt.methods.exact.plan import estimate_exact
from dagopt.methods.exact.stopped import stopped_answer
from dagopt.problem import Problem
from dagopt.progress import NoProgress
from dagopt.results.certificate import scope_of
from dagopt.scores.build import make_score
from dagopt.workers import Stopped, Workers, spans
from every_dag import continuous_table, make_problem


class Hooked(NoProgress):
    """A progress that calls a function at its first update, when the run is certainly under way."""

    def __init__(self, hook):
        self._hook = hook

    def update(self, phase, fraction=None, **facts):
        hook, self._hook = self._hook, lambda: None
        hook()


class Recorded(NoProgress):
    """A progress that keeps all that it is told."""

    def __init__(self):
        self.updates, self.notes, self.closed = [], [], 0

    def update(self, phase, fraction=None, **facts):
        self.updates.append((phase, fraction))

    def note(self, message):
        self.notes.append(message)

    def close(self):
        self.closed += 1


# --- what it says ---------------------------------------------------------------------------------------------


def test_result_is_complete():
    """The result is proven, has the worth of its edges, and its dictionary can be written as JSON."""
    result = dagopt.learn(continuous_table(6, 1).values, "exact")
    assert (result.status, result.method, result.scope) == ("optimal", "exact", "all DAGs")
    assert 0 <= result.gap < 1e-9 * abs(result.score)
    assert set(result.details["edge_gain"]) == {f"{a} -> {b}" for a, b in result.dag.edges}
    assert min(result.details["edge_gain"].values(), default=1.0) > 0  # else the DAG without it would be best
    assert json.loads(json.dumps(result.to_dict()))["score"] == result.score
    assert result.notes[0].startswith("exact over")


@pytest.mark.parametrize(
    "known, scope",
    [
        (Constraints(), "all DAGs"),
        (Constraints(max_parents=9), "all DAGs"),
        (Constraints(max_parents=2), "parent sets of size <= 2"),
        (Constraints(required=[("a", "b")]), "all DAGs that the constraints allow"),
        (Constraints(forbidden=[("a", "b")], max_parents=1), "parent sets of size <= 1 that the constraints allow"),
        (Constraints(max_parents={"a": 1}), "parent sets within the limits of each column"),
    ],
)
def test_scope_says_what_is_covered(known, scope):
    """The scope of the proof is in words: all DAGs, a limit on parents, constraints."""
    assert scope_of(known.resolve("abcd")) == scope


@pytest.mark.parametrize("way, known", [("table", Constraints()), ("pool", Constraints(max_parents=2))])
def test_faster_way_is_chosen(way, known):
    """Tables for all parent sets; listed candidates where a limit leaves few."""
    problem = make_problem("gaussian", 18, 0, known)
    assert estimate_exact(problem, 10**10, 2).way == way
    result = solve_exact(problem, deadline=Deadline(), progress=NoProgress())
    assert ("listed" in result.notes[0]) == (way == "pool")


# --- memory ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, n", [("gaussian", 20), ("multinomial", 20), ("gaussian", 16)])
def test_too_large_problem_is_refused_before_anything_is_allocated(kind, n):
    """The error has figures and alternatives, and comes without taking memory."""
    problem = make_problem(kind, n, 0)
    tracemalloc.start()
    try:
        with pytest.raises(dagopt.InputError, match=r"about .*B and .* memory limit is 1\.0 MB; .*columns=.*GPU"):
            solve_exact(problem, deadline=Deadline(), progress=NoProgress(), memory_limit="1MB")
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_less_memory_is_kept_to():
    """With half of the memory of the fastest way, another way takes no more than that and finds the same score."""
    problem = make_problem("gaussian", 17, 0)
    full = solve_exact(problem, deadline=Deadline(), progress=NoProgress(), n_jobs=1)
    fastest = estimate_exact(problem, 10**12, 1)
    limit = fastest.n_bytes // 2
    solve_exact(make_problem("gaussian", 14, 0), deadline=Deadline(), progress=NoProgress())
    tracemalloc.start()
    try:
        result = solve_exact(problem, deadline=Deadline(), progress=NoProgress(), n_jobs=1, memory_limit=limit)
        assert tracemalloc.get_traced_memory()[1] < 1.1 * limit
    finally:
        tracemalloc.stop()
    assert result.score == pytest.approx(full.score, rel=1e-12)


# --- stopping -------------------------------------------------------------------------------------------------


def test_a_stopped_run_goes_on_from_a_given_dag():
    """Its answer is never below the DAG that was found before it."""
    problem = make_problem("gaussian", 6, 0)
    best = solve_exact(problem, deadline=Deadline(), progress=NoProgress())
    answer = stopped_answer(problem, Workers(Deadline(1e-9), NoProgress(), 1), "", best.adjacency)
    assert (answer.status, answer.score) == ("time_limit", pytest.approx(best.score))


@pytest.mark.parametrize("options", [{}, {"max_parents": 3}, {"n_best": 2}])
def test_time_limit_returns_a_valid_result(options):
    """A run out of time returns the DAG of a short search with the required edges and the bound of the likelihood."""
    values = continuous_table(18, 0).values
    known = Constraints(required=[("X0", "X1")])
    result = dagopt.learn(values, "exact", time_limit=1e-3, constraints=known, **options)
    assert (result.status, result.scope) == ("time_limit", "all DAGs that the constraints allow")
    assert result.bound > result.score
    assert result.adjacency[0, 1]
    assert result.score == pytest.approx(dagopt.score(values, result.adjacency))
    limit = options.get("max_parents")
    assert result.score >= dagopt.learn(values, "hc", constraints=known, max_parents=limit).score - 1e-9
    assert "a short search" in result.summary()


@pytest.mark.parametrize("n_best", [1, 3])
def test_interrupt_from_another_thread(n_best):
    """Asking the deadline to stop, from any thread, ends the run at the next piece of work."""
    deadline = Deadline()

    def hook():
        asker = threading.Thread(target=deadline.interrupt)
        asker.start()
        asker.join()

    problem = make_problem("gaussian", 16, 0)
    result = solve_exact(problem, deadline=deadline, progress=Hooked(hook), n_best=n_best)
    assert (result.status, result.bound) == ("interrupted", None)


def test_ctrl_c_returns_the_result_and_restores_the_handler():
    """One Ctrl-C during a run gives a result with its reason, and the handler from before is back."""
    before = signal.getsignal(signal.SIGINT)
    progress = Hooked(lambda: signal.raise_signal(signal.SIGINT))
    result = dagopt.learn(continuous_table(16, 0).values, "exact", progress=progress)
    assert result.status == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before


def test_second_ctrl_c_raises():
    """A second Ctrl-C is a KeyboardInterrupt, and leaves the handler and no threads behind."""
    before, threads = signal.getsignal(signal.SIGINT), threading.active_count()

    def twice():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        dagopt.learn(continuous_table(16, 0).values, "exact", progress=Hooked(twice))
    assert signal.getsignal(signal.SIGINT) is before
    assert threading.active_count() == threads


# --- progress -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"max_parents": 2}, {"n_best": 2}, {"memory_limit": 3 * 2**20}])
def test_progress_is_a_true_fraction(options):
    """Fractions are in [0, 1], never fall within a phase, and the object is closed once."""
    progress = Recorded()
    dagopt.learn(continuous_table(16, 0).values, "exact", progress=progress, **options)
    assert progress.closed == 1
    assert "about" in progress.notes[-1]
    assert all(0 <= fraction <= 1 for _, fraction in progress.updates)
    for (phase, fraction), (later, after) in zip(progress.updates, progress.updates[1:], strict=False):
        assert phase != later or fraction <= after
    assert progress.updates[-1][1] == 1.0


# --- options --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, message",
    [
        ({"device": "tpu"}, "expected device= to be one of 'auto', 'cpu', 'gpu' but got 'tpu'"),
        ({"n_jobs": 0}, "expected n_jobs= to be a whole number >= 1 but got 0; -1 is all cores"),
        ({"n_jobs": -2}, "got -2"),
        ({"memory_limit": "lots"}, "'lots'"),
        ({"n_best": 0}, "expected n_best"),
    ],
)
def test_options_are_checked(options, message):
    """A wrong option is refused with what was expected and what came."""
    with pytest.raises(dagopt.InputError, match=message):
        dagopt.learn(continuous_table(4, 0).values, "exact", **options)


# --- threads --------------------------------------------------------------------------------------------------


def test_workers_run_every_piece_once():
    """All pieces run, on any number of threads."""
    for n_jobs in (1, 2, 5):
        done: list[int] = []
        with Workers(Deadline(), NoProgress(), n_jobs) as workers:
            workers.each("phase", [partial(done.append, k) for k in range(30)], 30)
            workers.each("nothing", [], 0)
        assert sorted(done) == list(range(30))


def test_workers_pass_errors_on():
    """An error in a piece reaches the caller."""
    with Workers(Deadline(), NoProgress(), 2) as workers, pytest.raises(ZeroDivisionError):
        workers.each("phase", [lambda: 1 / 0], 1)


def test_workers_stop_at_the_deadline():
    """At the deadline no further piece is begun."""
    deadline, done = Deadline(), []

    def piece():
        done.append(1)
        deadline.interrupt()

    with Workers(deadline, NoProgress(), 1) as workers, pytest.raises(Stopped):
        workers.each("phase", [piece] * 100, 100)
    assert len(done) <= 2


def test_spans_cover_everything():
    """Spans are neighbours, no longer than asked, from zero to the end."""
    assert spans(7, 3) == [(0, 3), (3, 6), (6, 7)]
    assert spans(0, 3) == []


def test_blocked_bits_are_offered_where_memory_is_short():
    """The fastest plan for 27 columns takes 3.2 GB, a slower one 2.4 GB; a refusal says the least."""
    table = ContinuousTable(tuple(f"X{j}" for j in range(27)), np.random.default_rng(0).normal(size=(60, 27)))
    problem = Problem(table, make_score(table), Constraints().resolve(table.names))
    fast, lean = (estimate_exact(problem, limit, 2) for limit in (20 * 10**9, 2_500_000_000))
    assert fast.fits
    assert lean.fits
    assert lean.n_bytes <= 2_500_000_000 < fast.n_bytes < 4 * 10**9
    assert lean.seconds > fast.seconds
    refused = estimate_exact(problem, 10**9, 2)
    assert not refused.fits
    assert 2 * 10**9 < refused.n_bytes < 2.6 * 10**9
