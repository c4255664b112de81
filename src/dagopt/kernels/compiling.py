"""Notice when kernels are compiled rather than loaded: the first run on a machine is slow, and should say why."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from numba.core import event

from dagopt.deadline import COMPILING

__all__ = ["CompilationClock", "CompilationWatch"]

COMPILES = "numba:compile"  # numba's event for compiling a kernel; loading one from the cache does not raise it


class CompilationWatch(event.Listener):
    """Calls a function when a compilation begins and when it ends, between ``start`` and ``stop``.

    Compilations within a compilation, of the kernels that a kernel calls, do not count.

    Parameters
    ----------
    tell : callable
        Called with True when a compilation begins and with False when it ends, from the thread that compiles.
    """

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell = tell
        self._depth = 0
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
        """Call the function for the outermost kernel; one thread compiles at a time."""
        self._depth += 1
        if self._depth == 1:
            self._tell(True)

    def on_end(self, event: object) -> None:
        """Call the function for the outermost kernel; one that began before the watch does not count."""
        self._depth = max(self._depth - 1, 0)
        if self._depth == 0:
            self._tell(False)


class _StopsTheClock(event.Listener):
    """Keeps the time spent compiling kernels from counting towards any time limit."""

    def on_start(self, event: object) -> None:
        """Stop the clocks."""
        COMPILING.begin()

    def on_end(self, event: object) -> None:
        """Start the clocks again."""
        COMPILING.end()


event.register(COMPILES, _StopsTheClock())  # type: ignore[no-untyped-call]


class CompilationClock:
    """Context manager that measures how many seconds are spent compiling kernels."""

    def __init__(self) -> None:
        self._before = COMPILING.seconds
        self._after: float | None = None

    @property
    def seconds(self) -> float:
        """The seconds so far, or up to the end of the context."""
        return (COMPILING.seconds if self._after is None else self._after) - self._before

    def __enter__(self) -> CompilationClock:
        self._before = COMPILING.seconds
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._after = COMPILING.seconds
