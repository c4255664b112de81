"""Notice when kernels are compiled rather than loaded: the first run on a machine is slow, and should say why."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from numba.core import event

__all__ = ["CompilationClock", "CompilationWatch"]

COMPILES = "numba:compile"  # numba's event for compiling a kernel; loading one from the cache does not raise it


class CompilationWatch(event.Listener):
    """Calls a function at the first compilation between ``start`` and ``stop``.

    Parameters
    ----------
    tell : callable
        Called once, without arguments, from the thread that compiles.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell
        self._watching = False

    def start(self) -> None:
        """Start watching."""
        event.register(COMPILES, self)  # type: ignore[no-untyped-call]
        self._watching = True

    def stop(self) -> None:
        """Stop watching; does nothing if it is not started."""
        if self._watching:
            event.unregister(COMPILES, self)  # type: ignore[no-untyped-call]
            self._watching = False

    def on_start(self, event: object) -> None:
        """Call the function the first time."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, event: object) -> None:
        """Do nothing."""


class CompilationClock(event.Listener):
    """Context manager that measures how many seconds are spent compiling kernels.

    numba compiles one kernel at a time, and the kernels that it calls within that time, so each stretch from the first
    start to the last end is counted once.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._begun = 0.0

    def __enter__(self) -> CompilationClock:
        event.register(COMPILES, self)  # type: ignore[no-untyped-call]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        event.unregister(COMPILES, self)  # type: ignore[no-untyped-call]

    def on_start(self, event: object) -> None:
        """Start the clock when the outermost kernel starts."""
        if self._depth == 0:
            self._begun = time.perf_counter()
        self._depth += 1

    def on_end(self, event: object) -> None:
        """Stop the clock when that kernel is done."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._begun
