"""When to stop: one clock and Ctrl-C, for everything that runs."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Literal

from dagopt.errors import InputError
from dagopt.pace import machine_pace

__all__ = ["COMPILING", "FOREVER", "Deadline", "StopReason", "Stopped", "Uncounted"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)
LATEST = 0.5  # seconds by which what must be done first may end late; its pieces take some tenths of a second

MOMENT = 0.2  # seconds that work may take however little time is left

StopReason = Literal["time_limit", "interrupted"]


class Stopped(Exception):
    """The deadline came before the work was done."""


class Uncounted:
    """The seconds of this process that are no part of the work itself, such as those in which kernels are compiled.

    ``begin`` and ``end`` may be nested, and called from any thread.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._depth = 0
        self._begun = self._ended = 0.0

    def begin(self) -> None:
        """Count no longer."""
        with self._lock:
            if self._depth == 0:
                self._begun = self._clock()
            self._depth += 1

    def end(self) -> None:
        """Count again."""
        with self._lock:
            self._depth, was = max(self._depth - 1, 0), self._depth  # 0 in a copy of the process
            if was == 1:
                self._ended += self._clock() - self._begun

    def begin_afresh(self) -> None:
        """Count again in a copy of the process, whose other threads, which said ``begin``, are not there."""
        self._lock = threading.Lock()
        self._depth = 0

    @property
    def is_under_way(self) -> bool:
        """Whether seconds are not counted now."""
        return self._depth > 0

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        with self._lock:
            return self._ended + (self._clock() - self._begun if self._depth else 0.0)


COMPILING = Uncounted()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=COMPILING.begin_afresh)


class Deadline:
    """A time limit that covers scoring, pricing, LP and IP together, and a request of the user to stop.

    Used as a context manager it turns the first Ctrl-C into a request that ``reason`` reports, so that the
    best answer so far can be returned; a second Ctrl-C raises ``KeyboardInterrupt`` as usual. SIGTERM, with which batch
    systems end a job, has the same effect unless the program has its own handler for it.

    Seconds in which kernels are compiled count towards the limit of the whole run once there is an answer to return
    (``answered``), so that also the first run on a machine ends in time, and with an answer. They do not count towards
    the limit of a part, and they are told apart in reports.

    Parameters
    ----------
    time_limit : float, optional
        Seconds from now; no limit if None.
    clock : callable
        Returns seconds; for tests.
    """

    def __init__(self, time_limit: float | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        if time_limit is not None and not time_limit > 0:
            raise InputError(f"expected time_limit= to be a number > 0 but got {time_limit}; change the option")
        self.time_limit = math.inf if time_limit is None else float(time_limit)
        self._clock = clock
        self._start = clock()
        self._compiled = COMPILING.seconds  # before the start
        self._compiled_first: float | None = None  # before there was an answer
        self._interrupted = False
        self._whole: Deadline | None = None
        self._before: dict[signal.Signals, Any] = {}

    def within(self, seconds: float) -> Deadline:
        """Return a deadline for part of the run: this many seconds from now, but not after the end of the whole run."""
        part = Deadline(max(min(seconds, self.remaining()), 1e-9), self._clock)
        part._whole = self
        return part

    def of_a_part(self, clock: Callable[[], float]) -> Deadline:
        """Return a deadline for part of the run, without a limit of its own, on whose clock fewer seconds may pass."""
        part = Deadline(None, clock)
        part._whole = self
        return part

    @property
    def whole(self) -> Deadline:
        """The deadline of the whole run."""
        return self if self._whole is None else self._whole.whole

    def elapsed(self) -> float:
        """Return the seconds since the start, without those in which kernels were compiled."""
        passed = self._clock() - self._start
        return passed - (COMPILING.seconds - self._compiled) if self._clock is time.perf_counter else passed

    def remaining(self) -> float:
        """Return the seconds left: 0 when stopped, infinity without a limit."""
        if self._is_interrupted:
            return 0.0
        passed = self.elapsed()
        if self._compiled_first is not None:
            passed += COMPILING.seconds - self._compiled_first
        left = max(self.time_limit - passed, 0.0)
        return left if self._whole is None else min(left, self._whole.remaining())

    def answered(self) -> None:
        """Say that there is an answer to return: from now on, compiling counts."""
        if self._whole is not None:
            self._whole.answered()
        elif self._compiled_first is None and self._clock is time.perf_counter:
            self._compiled_first = COMPILING.seconds

    @property
    def has_answer(self) -> bool:
        """Whether the run has an answer to return."""
        return self.whole._compiled_first is not None

    def check(self, doing: str, share: float, begun: float = 0.0) -> None:
        """Raise an error if it is late and there is nothing to return: data are still being read or measured.

        What has taken only a moment itself goes on, however late it began: a small table always has an answer, also in
        a process that has just been started.

        Parameters
        ----------
        doing : str
            What is being done, for the message.
        share : float
            How much of it is done, from 0 to 1, from which the seconds that it takes are estimated.
        begun : float
            What ``elapsed`` was when it began.
        """
        limit = self.time_limit if self._whole is None else self._whole.time_limit
        if self.elapsed() <= limit + LATEST or self.elapsed() - begun <= LATEST:
            return
        needed = math.ceil(begun + (self.elapsed() - begun) / max(share, 0.01))
        raise InputError(
            f"the time limit of {limit:g} s was over while {doing} ({share:.0%} done), so there is no answer; set "
            f"time_limit= well above {needed}, or give fewer columns="
        )

    @property
    def reason(self) -> StopReason | None:
        """Why to stop now, or None to continue."""
        if self._is_interrupted:
            return "interrupted"
        return "time_limit" if self.remaining() <= 0.0 else None

    def require_time(self) -> None:
        """Raise ``Stopped`` if it is time to stop: for pieces of work deep below the method."""
        if self.reason is not None:
            raise Stopped

    def has_time_for(self, seconds: float) -> bool:
        """Say whether work that cannot be divided, of so many seconds at the usual pace, ends in time here.

        Work of a moment is always begun, and so is everything without a limit.
        """
        if seconds <= MOMENT or math.isinf(self.remaining()):
            return True
        return seconds * machine_pace() <= self.remaining()

    def __reduce__(self) -> tuple[type[Deadline], tuple[float | None]]:
        """Pickle as the remaining time, at least a microsecond."""
        left = self.remaining()
        return Deadline, (None if math.isinf(left) else max(left, 1e-6),)

    @property
    def _is_interrupted(self) -> bool:
        return self._interrupted or (self._whole is not None and self._whole._is_interrupted)

    def interrupt(self) -> None:
        """Ask to stop, as Ctrl-C does."""
        self._interrupted = True

    def __enter__(self) -> Deadline:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = signal.getsignal(number)
                if handler is not None and (number == signal.SIGINT or _is_ours(handler)):
                    self._before[number] = handler
                    signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._interrupted:
            raise KeyboardInterrupt
        self._interrupted = True
        around = _owner(self._before.get(signal.Signals(number)))
        if around is not None:  # nothing more is begun there either
            around._interrupted = True


FOREVER = Deadline()
"""No limit, for what is called without a clock."""


def _owner(handler: object) -> Deadline | None:
    """Return the deadline that set a handler, if one did."""
    owner = getattr(handler, "__self__", None)
    return owner if isinstance(owner, Deadline) else None


def _is_ours(handler: object) -> bool:
    """Say whether a handler is the system's, that of Ctrl-C, which the command sets, or another deadline's."""
    return handler in (signal.SIG_DFL, signal.default_int_handler) or _owner(handler) is not None
