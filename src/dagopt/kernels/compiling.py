"""Notice when kernels are compiled rather than loaded: the first run on a machine is slow, and should say why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import TracebackType

from dagopt.deadline import COMPILING

__all__ = ["CompilationClock", "CompilationWatch", "hear", "told"]

COMPILES = "numba:compile"  # numba's event for compiling a kernel; loading one from the cache does not raise it
_watches: list[CompilationWatch] = []


@cache
def hear() -> None:
    """Hear of compilations from now on: called when numba is loaded."""
    from numba.core import event

    class Heard(event.Listener):
        """Keeps the time spent compiling from counting towards any time limit, and tells who watches."""

        def on_start(self, event: object) -> None:
            _begin()

        def on_end(self, event: object) -> None:
            _end()

    event.register(COMPILES, Heard())  # type: ignore[no-untyped-call]


@contextmanager
def told() -> Iterator[None]:
    """Say that within, kernels are compiled, by other processes."""
    _begin()
    try:
        yield
    finally:
        _end()


def _begin() -> None:
    COMPILING.begin()
    for watch in list(_watches):
        watch.on_start()


def _end() -> None:
    COMPILING.end()
    for watch in list(_watches):
        watch.on_end()


class CompilationWatch:
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

    def start(self) -> None:
        """Start watching."""
        _watches.append(self)

    def stop(self) -> None:
        """Stop watching; does nothing if it is not started."""
        if self in _watches:
            _watches.remove(self)

    def on_start(self) -> None:
        """Call the function for the outermost kernel; one thread compiles at a time."""
        self._depth += 1
        if self._depth == 1:
            self._tell(True)

    def on_end(self) -> None:
        """Call the function for the outermost kernel; one that began before the watch does not count."""
        self._depth = max(self._depth - 1, 0)
        if self._depth == 0:
            self._tell(False)


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
