"""Runs in separate processes, on one thread; a process is ended some time after the run's limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

from dagopt.deadline import Deadline
from experiments.measure import provenance
from experiments.records import Record, Run

__all__ = ["CHILD", "GRACE", "Worker", "run_isolated"]

# Where a child finds the package ``experiments``, whatever folder it is started from.
PATHS = [str(Path(__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
CHILD = (sys.executable, "-m", "experiments.child")
GRACE = 60.0  # seconds for loading, scoring and ending
SLACK = 1.1  # factor on the limit
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Worker:
    """A process that makes one run after the other; after a failed run the next one gets a new process.

    Parameters
    ----------
    child : sequence of str
        The command that makes the runs.
    grace : float
        Seconds after the limit of a run at which the process is ended.
    """

    def __init__(self, child: Sequence[str] = CHILD, grace: float = GRACE) -> None:
        self._child = tuple(child)
        self._grace = grace
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            _end(self._process)
            self._process = None
        self._errors.close()

    def run(self, run: Run, data: str | None = None, stop: Deadline | None = None) -> Record | None:
        """Make a run.

        Parameters
        ----------
        run : Run
            What to run.
        data : str, optional
            The folder of the data sets.
        stop : Deadline, optional
            Checked while the process runs.

        Returns
        -------
        Record or None
            With status ``failed`` or ``killed`` if something went wrong; None if ``stop`` came first.
        """
        hard = SLACK * run.limit + self._grace
        begin = time.monotonic()
        process = self._process or self._started()
        self._process = None  # unless the run ends well
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(asdict(run) | {"data": data}).encode() + b"\n")
                process.stdin.flush()  # it stays open: the child ends when it is closed
            line = _Line(process.stdout)
            while not line.wait(0.1):
                if stop is not None and stop.reason is not None:
                    return None
                if time.monotonic() - begin > hard:
                    return _killed(run, f"ended {hard:.0f} s after its start, the limit being {run.limit:g} s")
            with suppress(ValueError, TypeError):
                record = Record.from_line(line.text)
                self._process = process
                return record
            process.wait()
        finally:
            if self._process is None:
                _end(process)
        return _killed(run, f"{_cause(process.returncode)}: {_last_line(_text(self._errors))}".rstrip(": "))

    def _started(self) -> subprocess.Popen[bytes]:
        self._errors.seek(0)
        self._errors.truncate()
        return subprocess.Popen(
            self._child,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | dict.fromkeys(ONE_THREAD, "1") | {"PYTHONPATH": os.pathsep.join(PATHS)},
            start_new_session=True,  # Ctrl-C on the terminal reaches only this process
        )


class _Line:
    """The next line of a pipe, read by a thread, because not every system can wait for a pipe."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.text = ""
        self._pipe = pipe
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            self.text = self._pipe.readline().decode("utf-8", "replace").strip()

    def wait(self, seconds: float) -> bool:
        """Wait for the line or the end of the pipe; return whether it came."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


def run_isolated(
    run: Run,
    data: str | None = None,
    stop: Deadline | None = None,
    *,
    child: Sequence[str] = CHILD,
    grace: float = GRACE,
) -> Record | None:
    """Make one run in a new process; see ``Worker``."""
    with Worker(child, grace) as worker:
        return worker.run(run, data, stop)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those it has started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def _killed(run: Run, why: str) -> Record:
    return Record.without_answer(run, "killed", why, **provenance(run))


def _cause(code: int) -> str:
    if code == -signal.SIGTERM or code == -getattr(signal, "SIGKILL", 9):
        return f"ended by signal {-code}, perhaps for want of memory"
    return f"ended by signal {-code}" if code < 0 else f"ended with code {code} and no record"


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace").strip()


def _last_line(text: str) -> str:
    return text.splitlines()[-1] if text else ""
