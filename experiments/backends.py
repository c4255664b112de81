"""Where runs are made: threads of this program (joblib), or the workers of a dask cluster; each in its own process."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

from joblib import Parallel, delayed, effective_n_jobs

from dagopt.deadline import Deadline
from dagopt.errors import InputError, unknown_name
from experiments.isolate import Worker
from experiments.measure import provenance
from experiments.records import Record, Run

__all__ = ["BACKENDS", "Finished", "check_backend", "make_runs"]

BACKENDS = ("joblib", "dask")
PATIENCE = 15.0  # seconds to reach a scheduler


class Finished(NamedTuple):
    """A record, and the seconds that its process took from start to end."""

    record: Record
    elapsed: float


def check_backend(backend: str, scheduler: str | None) -> None:
    """Raise an error that says what a backend lacks."""
    if backend not in BACKENDS:
        raise unknown_name("backend", backend, BACKENDS)
    if backend == "joblib":
        if scheduler is not None:
            raise InputError(f"--scheduler {scheduler} is for --backend dask; add it, or leave --scheduler out")
        return
    if find_spec("distributed") is None:
        raise InputError("--backend dask needs the package 'distributed'; install dagopt[distributed]")
    if scheduler is None:
        raise InputError("--backend dask needs --scheduler ADDRESS; start one with the command 'dask scheduler'")


def make_runs(
    runs: Sequence[Run], data: str | None, stop: Deadline, *, jobs: int, backend: str = "joblib", scheduler: str | None
) -> Iterator[Finished]:
    """Yield the records of runs as they end, in any order, without those that ``stop`` cut short."""
    check_backend(backend, scheduler)
    if backend == "dask":
        assert scheduler is not None
        yield from _on_dask(runs, data, stop, scheduler)
        return
    parallel = Parallel(
        n_jobs=jobs, backend="threading", return_as="generator_unordered", batch_size=1, pre_dispatch="n_jobs"
    )
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    workers = [Worker() for _ in range(effective_n_jobs(jobs))]
    for worker in workers:
        idle.put(worker)
    try:
        for finished in parallel(delayed(_in_turn)(idle, run, data, stop) for run in runs):
            if finished is not None:
                yield finished
    finally:
        for worker in workers:
            worker.close()


def _in_turn(idle: queue.SimpleQueue[Worker], run: Run, data: str | None, stop: Deadline) -> Finished | None:
    """Make a run on an idle worker."""
    worker = idle.get()
    try:
        return _timed(worker, run, data, stop)
    finally:
        idle.put(worker)


def _timed(worker: Worker, run: Run, data: str | None, stop: Deadline | None = None) -> Finished | None:
    if stop is not None and stop.reason is not None:
        return None
    begin = time.monotonic()
    record = worker.run(run, data, stop)
    return None if record is None else Finished(record, time.monotonic() - begin)


def _alone(run: Run, data: str | None) -> Finished | None:
    with Worker() as worker:
        return _timed(worker, run, data)


def _on_dask(runs: Sequence[Run], data: str | None, stop: Deadline, scheduler: str) -> Iterator[Finished]:
    """Make runs on a cluster; if a worker is lost, only its run is lost."""
    distributed: Any = import_module("distributed")
    try:
        client = distributed.Client(scheduler, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError(
            f"expected a dask scheduler at {scheduler!r} but could not reach one ({' '.join(str(error).split())}); "
            f"check --scheduler"
        ) from None
    with client:
        waiting = {client.submit(_alone, run, data, pure=False): run for run in runs}
        while waiting and stop.reason is None:
            try:
                done = distributed.wait(list(waiting), timeout=0.5, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                continue
            for future in done:
                run = waiting.pop(future)
                if future.status == "finished":
                    yield future.result()
                else:
                    why = f"lost by the cluster: {future.exception()}"
                    yield Finished(Record.without_answer(run, "killed", why, **provenance(run)), 0.0)
        client.cancel(list(waiting))
