"""The runner: what is planned, processes of their own, what remains, and a run that was killed."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dagopt.deadline import Deadline
from dagopt.errors import InputError
from experiments.backends import check_backend
from experiments.design import chosen_designs, designs
from experiments.isolate import CHILD, run_isolated
from experiments.pace import Pace, in_words
from experiments.records import Record, Run
from experiments.runner import make_plan, select

RUN = Run("n15-N5000-d0.5", 0, "hc", {}, 60.0)


def done(run=RUN, status="converged", seconds=1.0):
    """Return the record of a run."""
    return Record.of(run, status=status, seconds=seconds, score=-1.0)


# --- what is planned ------------------------------------------------------------------------------------------


def test_a_design_is_every_seed_of_every_cell_with_every_method():
    """Table 1 has 24 cells and ten seeds; a seed of all cells comes before the next."""
    design = designs()["table1"]
    runs = design.runs()
    assert len(design.cells) == 24
    assert len({run.key for run in runs}) == len(runs) == 24 * 10 * len(design.entries)
    assert [run.seed for run in runs] == sorted(run.seed for run in runs)
    assert max(run.limit for run in runs) == 3 * 3600


def test_data_sets_are_run_once():
    """A set has no seeds, and a method only the sets it is for."""
    runs = designs()["table3"].runs()
    assert {run.seed for run in runs} == {None}
    exact = {run.instance: run.options for run in runs if run.method == "exact"}
    assert exact == {"lucas": {}, "insurance": {"max_parents": 3}}


@pytest.mark.parametrize("name", designs())
def test_quick_runs_are_some_of_the_runs(name):
    """Each table has a few quick runs, on small data."""
    design = designs()[name]
    keys = {run.key for run in design.quick_runs()}
    assert 0 < len(keys) <= 12
    assert keys <= {run.key for run in design.runs()}
    assert all(run.cell.n_nodes <= 15 for run in design.quick_runs())


def test_tables_by_name():
    """One, all, or the error that names the nearest."""
    assert [design.name for design in chosen_designs("table2")] == ["table2"]
    assert len(chosen_designs("all")) == len(designs()) == 13
    with pytest.raises(InputError, match="did you mean 'table1'"):
        chosen_designs("tabel1")


def test_runs_are_selected_once_each():
    """By method, columns and seeds; of equal runs the one with the longest limit stays."""
    runs = [run for design in designs().values() for run in design.runs()]
    some = select(runs, methods=["hc", "pc"], nodes=[15, 12], seeds=[0, 2])
    assert {(run.cell.n_nodes, run.seed) for run in some} == {(15, 0), (15, 2), (12, None)}
    assert len(some) == 2 * (8 * 2 + 1)
    assert select([RUN, replace(RUN, limit=90.0), replace(RUN, limit=70.0)]) == [replace(RUN, limit=90.0)]
    shorter = designs()["table1"].with_limit(100.0)
    assert {run.limit for run in shorter.runs()} == {100.0}


@pytest.mark.parametrize(
    ("status", "limit", "retry", "is_done"),
    [
        ("converged", 10.0, False, True),
        ("optimal", 10.0, True, True),
        ("time_limit", 10.0, False, False),
        ("time_limit", 60.0, False, True),
        ("failed", 60.0, False, True),
        ("failed", 60.0, True, False),
        ("killed", 10.0, False, False),
    ],
)
def test_what_counts_as_done(status, limit, retry, is_done):
    """An answer that no limit cut short always does; the rest for limits up to its own, and unless asked again."""
    plan = make_plan([RUN], [done(replace(RUN, limit=limit), status)], None, retry=retry)
    assert (plan.n_done, len(plan.runs)) == ((1, 0) if is_done else (0, 1))


def test_what_is_not_there_is_said():
    """A method or a data set that is lacking costs its runs and is named with the reason."""
    runs = [RUN, replace(RUN, method="no-such"), Run("alarm", None, "hc")]
    plan = make_plan(runs, [], None)
    assert (plan.runs, plan.n_unavailable) == ([RUN], 2)
    assert set(plan.unavailable) == {"no-such", "alarm"}


# --- what remains ---------------------------------------------------------------------------------------------


def test_expected_seconds_are_those_of_the_nearest_runs():
    """The cell's mean, else that of its number of columns, the paper's, or the method's with other options."""
    slow = Run("n25-N5000-d2.0", 0, "order")
    pace = Pace(
        [
            done(seconds=2.0),
            done(replace(RUN, seed=1), seconds=4.0),
            done(replace(RUN, instance="n15-N5000-d2.0"), seconds=9.0),
            done(slow, seconds=300.0),
        ]
    )
    loading = pace.expect(RUN) - 3.0
    assert 0 < loading < 10
    for run, seconds in (
        (replace(RUN, instance="n15-N20000-d1.0"), 5.0),
        (replace(RUN, instance="n20-N5000-d1.0"), 0.159),
        (Run("n25-N5000-d2.0", 0, "cg-dca-paper"), 3054.63),
        (Run("gaussian_test", None, "hc"), 5.0),
        (replace(RUN, options={"restarts": 1}), 5.0),
        (slow, 300.0),
        (replace(slow, limit=100.0), 100.0),
        (replace(RUN, method="tabu"), 10.0),
    ):
        assert pace.expect(run) == pytest.approx(seconds + loading)
    assert pace.remaining([RUN] * 10, 2) == pytest.approx(5 * (3 + loading))
    assert pace.remaining([slow, RUN], 2) == pytest.approx(300 + loading)
    pace.add(done(replace(RUN, seed=2), seconds=3.0), elapsed=4.0)
    assert pace.expect(RUN) == pytest.approx(3.0 + 1.0)
    assert in_words(59.6) == "60 s"


# --- a process of its own -------------------------------------------------------------------------------------


def test_a_method_that_overruns_is_ended():
    """Some time after the limit the process is killed, and that is recorded."""
    record = run_isolated(replace(RUN, limit=0.2), child=[sys.executable, "-c", "while True: pass"], grace=0.3)
    assert record.status == "killed"
    assert "the limit being 0.2 s" in record.error


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import os; os.abort()", f"ended by signal {int(signal.SIGABRT)}"),
        ("raise SystemExit(3)", "ended with code 3"),
        ("import sys; print('torn {'); sys.stderr.write('a\\nlast words\\n')", "no record: last words"),
    ],
)
def test_a_process_that_breaks_is_recorded(code, error):
    """Crashes, exit codes and nonsense are runs without an answer."""
    record = run_isolated(RUN, child=[sys.executable, "-c", code])
    assert record.status == "killed"
    assert error in record.error
    assert record.key == RUN.key


def test_a_stop_ends_the_process_and_records_nothing():
    """As Ctrl-C does."""
    stop = Deadline(0.3)
    begin = time.monotonic()
    assert run_isolated(RUN, stop=stop, child=[sys.executable, "-c", "import time; time.sleep(60)"]) is None
    assert time.monotonic() - begin < 30


def test_a_process_ends_with_its_parent():
    """When the pipe to the parent is cut the run is over, whatever it is doing."""
    process = subprocess.Popen(CHILD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    long = Run("n25-N20000-d2.0", 0, "cg-dca-paper")
    process.stdin.write(json.dumps(asdict(long) | {"data": None}).encode() + b"\n")
    process.stdin.close()
    assert process.wait(60) == 1
    assert process.stdout.read() == b""


def test_an_error_of_the_method_is_recorded():
    """It is a run that failed, with the words of the error."""
    record = run_isolated(replace(RUN, options={"nonsense": 1}))
    assert record.status == "failed"
    assert record.error.startswith("InputError: method 'hc' has no option 'nonsense'")


# --- backends -------------------------------------------------------------------------------------------------


def test_a_backend_that_cannot_be_used_is_refused():
    """What lacks is said."""
    for backend, scheduler, message in (
        ("dusk", None, "did you mean 'dask'"),
        ("joblib", "tcp://x:1", "is for --backend dask"),
    ):
        with pytest.raises(InputError, match=message):
            check_backend(backend, scheduler)
    pytest.importorskip("distributed")
    with pytest.raises(InputError, match="--scheduler"):
        check_backend("dask", None)


@pytest.mark.skipif(os.name == "nt", reason="needs process groups")
def test_what_a_run_started_ends_with_it(tmp_path):
    """A killed process takes along the processes it has started."""
    script = (
        "import subprocess, sys, time, pathlib;"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
        f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(p.pid)); time.sleep(60)"
    )
    run_isolated(replace(RUN, limit=1.0), child=[sys.executable, "-c", script], grace=1.0)
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text().split()[2] == "Z":  # ended, and waiting to be looked at
            return
        time.sleep(0.1)
    pytest.fail("the process is still there")
