"""A run in a process of its own, on one thread, which is ended some time after its limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import IO

from dagopt.experiments.measure import provenance
from dagopt.experiments.records import Record, Run
from dagopt.stop import Deadline

__all__ = ["CHILD", "GRACE", "run_isolated"]

CHILD = (sys.executable, "-m", "dagopt.experiments.child")
GRACE = 60.0  # seconds for loading, scoring and ending
SLACK = 1.1  # of the limit
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def run_isolated(
    run: Run,
    data: str | None = None,
    stop: Deadline | None = None,
    *,
    child: Sequence[str] = CHILD,
    grace: float = GRACE,
) -> Record | None:
    """Run in a new process.

    Parameters
    ----------
    run : Run
        What to run.
    data : str, optional
        The folder of the data sets.
    stop : Deadline, optional
        Looked at while the process runs.
    child : sequence of str
        The command that makes the run.
    grace : float
        Seconds after the limit at which the process is ended.

    Returns
    -------
    Record or None
        With status ``failed`` or ``killed`` where something went wrong; None if ``stop`` came first.
    """
    hard = SLACK * run.limit + grace
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            child,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=errors,
            env=os.environ | dict.fromkeys(ONE_THREAD, "1"),
            start_new_session=True,  # Ctrl-C on the terminal is ours alone
        )
        assert process.stdin is not None
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(asdict(run) | {"data": data}).encode() + b"\n")
                process.stdin.flush()  # and left open: its end is the child's end
            while process.poll() is None:
                if stop is not None and stop.reason is not None:
                    return None
                if time.monotonic() - begin > hard:
                    return _killed(run, f"ended {hard:.0f} s after its start, the limit being {run.limit:g} s")
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.1)
        finally:
            _end(process)
        if process.returncode == 0:
            with suppress(ValueError, TypeError):
                return Record.from_line(_text(out))
        return _killed(run, f"{_cause(process.returncode)}: {_last_line(_text(errors))}".rstrip(": "))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and those it has started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()


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
