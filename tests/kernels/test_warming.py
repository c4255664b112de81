"""The list of needed kernels, and compiling them ahead of need in several processes."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from numba import types

from dagopt.deadline import COMPILING, Deadline
from dagopt.kernels import ahead, compiling, needed, store, warming
from dagopt.kernels.boxes import Box
from dagopt.kernels.counts.counting import Counts
from dagopt.kernels.gaussian import subset_walk
from dagopt.kernels.lattice.best_parents import Shape
from dagopt.kernels.needed import Needed, as_type, as_words
from dagopt.kernels.orders.trees import Given

pytestmark = pytest.mark.compiled

MATRIX = ["array", "float64", 2, "C", True]
RUN = ("continuous auto",)
SMALL = [  # kernels that compile in a moment; the last one calls the first
    Needed("gaussian.subset_walk.sweep", (MATRIX, MATRIX, "int64"), RUN),
    Needed("gaussian.subset_walk.leave_out", (MATRIX, MATRIX, ["array", "bool", 1, "C", True], "int64"), RUN),
    Needed("gaussian.subset_walk.inverse_of", (MATRIX,), RUN, (0,)),
]


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Have the list of small kernels, for this process and those that it starts."""
    monkeypatch.setattr(needed, "LIST", tmp_path / "needed.json")
    needed.write_list(SMALL)
    monkeypatch.setattr(warming, "PROGRAM", f"{_with_list(tmp_path)}; {warming.PROGRAM}")
    yield
    needed.listed.cache_clear()


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """Return a function that makes an empty store, for this process and those that it starts, and nothing shipped."""

    def make(name):
        monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / name))
        monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / name))
        return tmp_path / name / "kernels"

    monkeypatch.setattr(store, "SHIPPED", tmp_path / "shipped")
    store._runs_generic.cache_clear()
    yield make
    store._runs_generic.cache_clear()


def types_of_all_kinds():
    arrays = [types.Array(types.int32, 3, "F"), types.Array(types.boolean, 1, "A", readonly=True)]
    given = Given(
        own=np.zeros(2, dtype=np.int64),
        begins=np.zeros(2, dtype=np.int64),
        ends=np.zeros(2, dtype=np.int64),
        must=np.zeros((2, 2), dtype=np.bool_),
        most=np.zeros(2, dtype=np.int64),
    )
    named = types.NamedTuple([types.float64] * len(Counts._fields), Counts)  # as boxes have it
    alike = numba.typeof(Shape(3, 4))
    tuples = [types.UniTuple(types.int64, 2), types.Tuple((types.float64, arrays[0]))]
    return [types.int64, types.float64, types.boolean, types.none, *arrays, Box(given).kind, named, alike, *tuples]


@pytest.mark.parametrize("kind", types_of_all_kinds(), ids=str)
def test_a_type_survives_being_written_down(kind):
    read = as_type(json.loads(json.dumps(as_words(kind))))
    assert read == kind
    assert str(read) == str(kind)  # which the names of stored files contain


def test_only_the_outermost_kernels_are_recorded(empty):
    """``inverse_of`` calls ``sweep``, which is compiled into it."""
    empty("store")
    fresh = store.njit(nogil=True)(subset_walk.inverse_of.py_func)
    with needed.recording() as found:
        fresh(np.eye(3))
    assert [each.key for each in found] == [SMALL[2].key]


@pytest.mark.usefixtures("small")
def test_parallel_equals_serial(empty):
    """Any number of processes store the same kernels; what is there is not compiled again."""
    names = []
    for jobs in (1, 2):
        folder = empty(f"store{jobs}")
        fractions = []
        assert warming.warm(jobs, fractions.append) == (3, [])
        assert sorted(fractions) == [1 / 3, 2 / 3, 1.0]
        names.append(sorted(path.name for path in folder.iterdir()))
        assert warming.missing() == []
        assert warming.warm(jobs) == (0, [])
    assert names[0] == names[1]


@pytest.mark.usefixtures("small")
def test_a_run_that_meets_an_absent_kernel_has_it_compiled_elsewhere(empty, monkeypatch):
    """A process compiles it with all that such runs call; this one compiles nothing."""
    folder = empty("store")
    monkeypatch.setattr(ahead, "_begun", {})
    monkeypatch.setattr(store.Store, "absent", None)
    ahead.expect(RUN[0])
    monkeypatch.setattr(warming, "cores", lambda: 1)
    fresh = store.njit(nogil=True)(subset_walk.inverse_of.py_func)
    assert ahead.ready(Deadline(1e-9))  # nothing was found absent
    with compiling.CompilationClock() as clock:
        assert fresh(np.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert sum(fresh.stats.cache_hits.values()) == 1
    assert clock.seconds > 0  # waiting is told as compiling
    assert ahead.ready(Deadline(60.0))
    assert len(list(folder.iterdir())) == 3
    assert not ahead.is_cold()


@pytest.mark.usefixtures("small")
def test_what_is_not_ready_in_time_is_said(empty, monkeypatch):
    empty("store")
    monkeypatch.setattr(ahead, "_begun", {})
    monkeypatch.setattr(store.Store, "absent", None)
    monkeypatch.setattr(warming, "PROGRAM", "import time; time.sleep(60)")
    ahead.expect(RUN[0])
    assert ahead.is_cold()
    assert not ahead.ready(Deadline(1e-3))
    assert ahead.ready(Deadline(1e-3), "pc")  # which calls none of them
    for begun, _ in ahead._begun.values():
        begun.stop()


@pytest.mark.usefixtures("small")
def test_nobody_waits_for_a_kernel_until_after_the_time(empty, monkeypatch):
    """Without an answer a run waits for no kernel, with one until the time is over, in threads of its own too."""
    empty("store")
    monkeypatch.setattr(ahead, "_begun", {})
    monkeypatch.setattr(store.Store, "absent", None)
    monkeypatch.setattr(warming, "PROGRAM", "import time; time.sleep(60)")
    ahead.expect(RUN[0])
    fresh = store.njit(nogil=True)(subset_walk.inverse_of.py_func)
    for limit, is_answered in ((1000.0, False), (0.2, True)):
        clock = Deadline(limit)
        if is_answered:
            clock.answered()
        with pytest.raises(ahead.Late), ahead.in_time(clock.within(500.0)):
            fresh(np.eye(2))
        with ThreadPoolExecutor(1) as pool, ahead.in_time(clock), pytest.raises(ahead.Late):
            pool.submit(fresh, np.eye(2)).result()
    assert ahead.under_way()
    unlisted = store.njit(nogil=True)(subset_walk.leave_out.py_func)
    with pytest.raises(ahead.Late), ahead.in_time(clock):  # not in the list for these types: it is not begun
        unlisted(np.eye(2), np.eye(2), np.zeros(2, dtype=bool), np.int32(0))
    for begun, _ in ahead._begun.values():
        begun.stop()


@pytest.mark.usefixtures("small")
def test_a_run_compiles_alone_what_processes_do_not_finish(empty, monkeypatch):
    """Processes that answer nothing are ended after a while."""
    empty("store")
    monkeypatch.setattr(ahead, "_begun", {})
    monkeypatch.setattr(store.Store, "absent", None)
    monkeypatch.setattr(warming, "PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(warming, "PATIENCE", 0.2)
    ahead.expect(RUN[0])
    fresh = store.njit(nogil=True)(subset_walk.inverse_of.py_func)
    assert fresh(np.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert sum(fresh.stats.cache_misses.values()) == 1
    ((begun, _),) = ahead._begun.values()
    assert all(process.poll() is not None for process in begun._processes)
    assert ahead.ready(Deadline())  # nothing more is waited for


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("program", ["import sys; sys.exit(3)", "print('stored 0'); print('noise')"])
def test_processes_that_die_leave_nothing_open(empty, monkeypatch, program):
    """Also if they say that a kernel is stored which they were not asked for."""
    empty("store")
    monkeypatch.setattr(warming, "PROGRAM", program)
    begun = warming.Warming([0, 1, 2])
    begun.start(2)
    assert begun.wait([0, 1, 2], 30.0)
    begun.join(30.0)
    assert set(begun.failed) >= {1, 2}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [OSError("no more processes"), ValueError("anything")])
def test_threads_that_fail_leave_nothing_open(monkeypatch, error):
    made = [Needed(name, (), RUN) for name in "abcd"]
    monkeypatch.setattr(warming, "listed", lambda: made)

    def refused(*args, **kwargs):
        raise error

    monkeypatch.setattr(warming.subprocess, "Popen", refused)
    begun = warming.Warming([0, 1, 2, 3])
    begun.start(2)
    assert begun.wait([0, 1, 2, 3], 30.0)
    begun.join(30.0)
    assert sorted(begun.failed) == [0, 1, 2, 3]


def test_a_process_that_takes_too_long_for_a_kernel_is_ended(monkeypatch):
    monkeypatch.setattr(warming, "listed", lambda: [Needed("a", (), RUN)])
    monkeypatch.setattr(warming, "PROGRAM", "import time; time.sleep(60)")
    monkeypatch.setattr(warming, "MOST_SECONDS", 0.2)
    begun = warming.Warming([0])
    begun.start(1)
    begun.join(30.0)
    assert begun.failed == [0]
    assert begun._processes[0].poll() is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs copies of a process")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.usefixtures("small")
def test_a_copy_of_a_process_that_waits_begins_afresh(empty, monkeypatch):
    """While a thread waits for a kernel with all locks in its hands, the copy compiles the same kernel."""
    empty("store")
    monkeypatch.setattr(ahead, "_begun", {})
    monkeypatch.setattr(store.Store, "absent", None)
    monkeypatch.setattr(warming, "PROGRAM", "import time; time.sleep(60)")
    ahead.expect(RUN[0])
    fresh = store.njit(nogil=True)(subset_walk.inverse_of.py_func)
    waiting = threading.Thread(target=fresh, args=(np.eye(2),), daemon=True)
    waiting.start()
    while not ahead._begun:
        time.sleep(0.01)
    with ahead._lock, COMPILING._lock:
        copy = os.fork()
    if copy == 0:
        warming.PATIENCE = 0.1
        begun = COMPILING.seconds
        is_right = fresh(np.eye(2)).tolist() == [[1.0, 0.0], [0.0, 1.0]]
        (own,) = ahead._begun.values()
        own[0].stop()
        os._exit(0 if is_right and COMPILING.seconds > begun and COMPILING._depth == 0 else 1)
    assert _status(copy, 60.0) == 0
    for begun, _ in ahead._begun.values():
        begun.stop()
    waiting.join(60.0)
    assert not waiting.is_alive()


def test_a_kernel_waits_for_those_it_calls_and_what_is_asked_for_comes_first(monkeypatch):
    names = "abcde"
    calls = {"a": "b", "c": "b", "e": "d"}
    made = [Needed(name, (), RUN, tuple(names.index(each) for each in calls.get(name, ""))) for name in names]
    monkeypatch.setattr(warming, "listed", lambda: made)
    order = warming.Warming([0, 2, 4])
    assert order.places == [1, 0, 2, 3, 4]
    assert not order.wait([4], 0.0)
    assert [order._next(), order._next()] == [3, 1]  # the first of e's and a's calls
    with order._changed:
        order._open -= {1}
    assert order._next() == 0  # not e, which needs d


@pytest.mark.usefixtures("small")
def test_a_kernel_that_takes_longer_than_a_run_is_stored_after_it(empty, tmp_path):
    """A process ends while another one compiles for it: that one stores its kernel, and then ends too."""
    folder = empty("store")
    begins = f"""
import time
{_with_list(tmp_path)}
from dagopt.kernels import ahead, warming
warming.PROGRAM = {warming.PROGRAM!r}
ahead.expect({RUN[0]!r})
assert ahead.is_cold()
while not ahead._begun[{RUN[0]!r}][0]._processes:
    time.sleep(0.01)
time.sleep(0.1)
"""
    subprocess.run([sys.executable, "-c", begins], check=True)
    end = time.monotonic() + 60
    while not any(folder.glob("*.kernel")) and time.monotonic() < end:
        time.sleep(0.05)
    assert any(folder.glob("*.kernel"))


def test_what_no_longer_exists_is_passed_over(empty, tmp_path, monkeypatch):
    monkeypatch.setattr(needed, "LIST", tmp_path / "needed.json")
    gone = [
        Needed("gaussian.useful.gone", ("int64",), RUN),
        Needed("gone.sweep", (), RUN),
        Needed(SMALL[0].kernel, (["box", "a:B"],), RUN),
    ]
    needed.write_list(gone)
    empty("store")
    assert warming.missing() == []
    assert warming.warm(2) == (0, [])


def test_shipped_kernels_are_used(empty, tmp_path, monkeypatch):
    """What a wheel ships is loaded on a machine with an empty store, and gives the same digits."""
    if not store.GENERIC:
        pytest.skip("no wheels with compiled kernels for this kind of machine")
    monkeypatch.setattr(needed, "LIST", tmp_path / "needed.json")
    needed.write_list([SMALL[2]._replace(calls=())])
    monkeypatch.setattr(warming, "PROGRAM", f"{_with_list(tmp_path)}; {warming.PROGRAM}")
    assert warming.ship(store.SHIPPED, 1) == 1
    folder = empty("store")
    store._runs_generic.cache_clear()
    if not store._runs_generic():
        pytest.skip("this processor is older than what wheels are made for")
    matrix = np.array([[2.0, 0.3], [0.3, 1.0]])
    fresh = store.njit(nogil=True)(subset_walk.inverse_of.py_func)
    assert np.array_equal(fresh(matrix), subset_walk.inverse_of(matrix))
    assert sum(fresh.stats.cache_hits.values()) == 1
    assert not folder.exists()


def test_the_list_names_kernels_that_exist():
    """If not: ``python -m benchmarks.needed_kernels`` writes it anew."""
    needed.listed.cache_clear()
    assert [each.kernel for each in needed.listed() if each.found() is None] == []


def _status(process, seconds):
    """Return the status with which a copy of this process ends; it is killed after some seconds."""
    end = time.monotonic() + seconds
    while (done := os.waitpid(process, os.WNOHANG)) == (0, 0):
        if time.monotonic() > end:
            os.kill(process, signal.SIGKILL)
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(done[1])


def _with_list(folder):
    """Return code with which a process reads the test's list."""
    return (
        f"from pathlib import Path; import dagopt.kernels.needed as n; n.LIST = Path({str(folder / 'needed.json')!r})"
    )
