"""Make the runs of a plan: skip what is done, record each as it ends, report what remains."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dagopt.deadline import Deadline
from dagopt.progress import Progress
from experiments.backends import Finished, make_runs
from experiments.instances import missing_data
from experiments.measure import not_available
from experiments.pace import Pace, in_words
from experiments.records import Key, Record, Run
from experiments.store import append, best_of, bundled_records, read_folder

__all__ = ["Plan", "Tally", "make_plan", "run_plan", "select"]

TICK = 1.0  # seconds between two updates of the display


@dataclass(frozen=True)
class Plan:
    """What is to be done.

    Attributes
    ----------
    runs : list of Run
        The runs to make, in this order.
    n_done : int
        The number of runs already recorded.
    unavailable : dict of str to str
        Methods and data sets that are not available, and why.
    n_unavailable : int
        How many runs are missing because of that.
    """

    runs: list[Run]
    n_done: int
    unavailable: dict[str, str]
    n_unavailable: int


@dataclass
class Tally:
    """The outcome: numbers of runs by status, and those without an answer."""

    by_status: dict[str, int] = field(default_factory=dict)
    without: list[Record] = field(default_factory=list)

    def add(self, record: Record) -> None:
        """Count a record."""
        self.by_status[record.status] = self.by_status.get(record.status, 0) + 1
        if not record.ended:
            self.without.append(record)

    @property
    def n_runs(self) -> int:
        """How many runs were made."""
        return sum(self.by_status.values())


def select(
    runs: Iterable[Run],
    *,
    methods: Collection[str] = (),
    nodes: Collection[int] = (),
    seeds: Collection[int] = (),
) -> list[Run]:
    """Return the runs with these methods, numbers of columns and seeds (any if not given), each once.

    A data set has no seed and is kept. Of equal runs with different limits the one with the longest is kept.
    """
    chosen: dict[Key, Run] = {}
    for run in runs:
        if methods and run.method not in methods:
            continue
        if nodes and run.cell.n_nodes not in nodes:
            continue
        if seeds and run.seed is not None and run.seed not in seeds:
            continue
        other = chosen.get(run.key)
        if other is None or run.limit > other.limit:
            chosen[run.key] = run
    return list(chosen.values())


def make_plan(runs: Sequence[Run], records: Iterable[Record], data: Path | None, *, retry: bool = False) -> Plan:
    """Sort runs into those to make, those that are recorded, and those that cannot be made here.

    Parameters
    ----------
    runs : sequence of Run
        All that is wanted.
    records : iterable of Record
        What the result files have. A run that the limit ended counts for limits up to that one.
    data : path or None
        The folder of the data sets.
    retry : bool
        Whether runs that failed or were killed are made again.
    """
    known = best_of(records)
    ready, done, lost = [], 0, 0
    unavailable: dict[str, str] = {}
    for run in runs:
        if _is_done(run, known.get(run.key), retry):
            done += 1
            continue
        lacks = {run.method: not_available(run.method), run.instance: missing_data(run.cell, data)}
        reasons = {name: reason for name, reason in lacks.items() if reason is not None}
        unavailable.update(reasons)
        if reasons:
            lost += 1
        else:
            ready.append(run)
    return Plan(ready, done, unavailable, lost)


def run_plan(
    plan: Plan,
    folder: Path,
    data: Path | None,
    progress: Progress,
    stop: Deadline,
    *,
    jobs: int = 1,
    backend: str = "joblib",
    scheduler: str | None = None,
) -> Tally:
    """Make the runs of a plan and append each to the result files when it ends.

    Parameters
    ----------
    plan : Plan
        What to run.
    folder : path
        The folder of the result files.
    data : path or None
        The folder of the data sets.
    progress, stop
        Where progress is reported, and when to end early; runs that are cut short are not recorded.
    jobs : int
        How many runs at a time; on a cluster its workers decide, and this is for the estimate.
    backend : {"joblib", "dask"}
        Threads of this program, or a dask cluster.
    scheduler : str, optional
        Address of the cluster.
    """
    recorded = read_folder(folder) if folder.is_dir() else []
    watch = _Watch(plan.runs, Pace([*bundled_records(), *recorded]), progress, jobs)
    where = None if data is None else str(data)
    with watch.ticking():
        try:
            for finished in make_runs(plan.runs, where, stop, jobs=jobs, backend=backend, scheduler=scheduler):
                append(finished.record, folder)
                watch.add(finished)
        except BaseException:
            stop.interrupt()  # this also stops the runs in progress
            raise
    return watch.tally


def _is_done(run: Run, record: Record | None, retry: bool) -> bool:
    if record is None:
        return False
    if not record.ended:
        return not retry and record.limit >= run.limit
    return record.status != "time_limit" or record.limit >= run.limit


class _Watch:
    """Counts finished runs and reports them, with an estimate of the remaining time, every second."""

    def __init__(self, runs: Sequence[Run], pace: Pace, progress: Progress, jobs: int) -> None:
        self.tally = Tally()
        self._waiting = {run.key: run for run in runs}
        self._n_runs = len(runs)
        self._pace = pace
        self._progress = progress
        self._jobs = jobs
        self._spent = 0.0  # expected seconds of the runs that ended
        self._last = ""
        self._remaining = pace.remaining(runs, jobs)
        self._since = time.monotonic()
        self._lock = threading.Lock()

    def add(self, finished: Finished) -> None:
        record = finished.record
        with self._lock:
            self.tally.add(record)
            self._pace.add(record, finished.elapsed)
            run = self._waiting.pop(record.key)
            self._spent += self._pace.expect(run)
            self._last = str(run)
            self._remaining = self._pace.remaining(list(self._waiting.values()), self._jobs)
            self._since = time.monotonic()
        if not record.ended:
            self._progress.note(f"{record.status}: {run}: {record.error}")
        self.show()

    def show(self) -> None:
        with self._lock:
            ahead = sum(self._pace.expect(run) for run in self._waiting.values())
            left = self._remaining - (time.monotonic() - self._since)
            facts: dict[str, object] = {
                "runs": f"{self.tally.n_runs}/{self._n_runs}",
                "left": f"about {in_words(left)}" if left > 0 else "longer than expected",
            }
            if self.tally.without:
                facts["without answer"] = len(self.tally.without)
            if self._last:
                facts["last"] = self._last
            self._progress.update("runs", self._spent / max(self._spent + ahead, 1e-9), **facts)

    @contextmanager
    def ticking(self) -> Iterator[None]:
        ended = threading.Event()

        def tick() -> None:
            while not ended.wait(TICK):
                self.show()

        self.show()
        ticker = threading.Thread(target=tick, daemon=True)
        ticker.start()
        try:
            yield
        finally:
            ended.set()
            ticker.join()
