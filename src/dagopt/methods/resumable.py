"""A run that is paused where it looks at the clock, and goes on from there: so it takes turns with others.

The run has a thread of its own, but only one of it and its caller works at any time: the caller waits while the run
works, and when its turn is over, each of its threads waits where it looks at the clock next. On the clock of the run
the seconds of its pauses do not pass, but the end of the whole run comes nearer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from threading import Condition, Thread
from types import TracebackType
from typing import Generic, TypeVar

import numpy as np

from dagopt.arrays import Dag
from dagopt.deadline import Deadline, Stopped
from dagopt.families.families import Families

__all__ = ["Beside", "Resumable"]

Found = TypeVar("Found")

SECONDS_PER_LOOK = 0.2  # of the caller that waits: a wait without an end is deaf to Ctrl-C on Windows


@dataclass(eq=False)
class Beside:
    """What a prover and the searches that take turns with it know of each other.

    Attributes
    ----------
    dag : int8 array or None
        The best DAG of the searches that the prover's problem allows, which may change between two steps of the prover.
    found : int8 array or None
        The best DAG of the prover.
    bound : float
        What the prover has proven so far.
    pool : Families or None
        All parent sets that are allowed, if the prover lists them.
    rest : callable
        Called by the prover when its bounds stand still, and with whether nothing is to be expected from them any more:
        the searches may work.
    """

    dag: Dag | None = None
    found: Dag | None = None
    bound: float = np.inf
    pool: Families | None = None
    rest: Callable[[bool], None] = lambda is_hopeless: None

    def exchange(self, found: Dag | None) -> Dag | None:
        """Give the best DAG of the prover, and return that of the searches."""
        self.found = self.found if found is None else found
        return self.dag


class Resumable(Generic[Found]):
    """A run in turns; as a context manager, it leaves a run that has not ended.

    Parameters
    ----------
    work : callable
        The run; called with its clock.
    deadline : Deadline
        The clock of the caller. Once it stops, the run is not paused any more, so that it ends.

    Attributes
    ----------
    rested : bool
        Whether the last turn ended because the run let others work.
    """

    def __init__(self, work: Callable[[Deadline], Found], deadline: Deadline) -> None:
        self._work = work
        self._whole = deadline
        self._change = Condition()
        self._is_on = self._has_begun = self._has_ended = self._is_left = self.rested = False
        self._until = 0.0
        self._paused_at = self._start = deadline.elapsed()
        self._lost = 0.0  # seconds of pauses
        self._pauses: list[tuple[float, float]] = []  # when each was, on the clock of the run, and how long
        self._found: list[Found] = []
        self._error: BaseException | None = None
        self._thread = Thread(target=copy_context().run, args=(self._run,), daemon=True)

    def __enter__(self) -> Resumable[Found]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._change:
            self._is_left = True
            self._change.notify_all()

    def go_on(self, seconds: float) -> Found | None:
        """Let the run work for so many seconds, or less if it ends or rests; return what it found if it has ended."""
        with self._change:
            now = self._whole.elapsed()
            self._pauses.append((self._paused_at - self._lost - self._start, now - self._paused_at))
            self._lost += now - self._paused_at
            self._until, self._is_on, self.rested = now + seconds, not self._has_ended, False
            if not self._has_begun:
                self._has_begun = True
                self._thread.start()
            self._change.notify_all()
            while self._is_on:
                self._change.wait(SECONDS_PER_LOOK)
        if self._error is not None:
            raise self._error
        return self._found[0] if self._found else None

    def rest(self) -> None:
        """Let others work: called by the run itself."""
        with self._change:
            self._until, self.rested = 0.0, True
        self._seconds()

    def join(self) -> None:
        """Wait for the end of a run that was left."""
        self._thread.join()

    def moment(self, seconds: float) -> float:
        """Return the seconds on the clock of the caller for those on the clock of the run."""
        return self._start + seconds + sum(length for when, length in self._pauses if when <= seconds)

    def _run(self) -> None:
        """Work, in the thread of the run."""
        try:
            self._found.append(self._work(self._whole.of_a_part(self._seconds)))
        except BaseException as error:  # for the caller
            self._error = error
        finally:
            with self._change:
                self._has_ended, self._is_on, self._paused_at = True, False, self._whole.elapsed()
                self._change.notify_all()

    def _seconds(self) -> float:
        """Return the clock of the run; before that, wait if it is not its turn."""
        with self._change:
            if self._is_on and self._whole.elapsed() >= self._until and self._whole.reason is None:
                self._is_on, self._paused_at = False, self._whole.elapsed()
                self._change.notify_all()
            while not (self._is_on or self._is_left or self._has_ended):
                self._change.wait()
            if self._is_left:
                raise Stopped
            return self._whole.elapsed() - self._lost
