"""Notice when kernels are compiled rather than loaded: the first run on a machine is slow, and should say why."""

from __future__ import annotations

from collections.abc import Callable

from numba.core import event

__all__ = ["CompilationWatch"]

COMPILES = "numba:compile"  # told by numba when it compiles, not when it loads what it compiled before


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
        """Begin to watch."""
        event.register(COMPILES, self)  # type: ignore[no-untyped-call]
        self._watching = True

    def stop(self) -> None:
        """End it; a second time, or before ``start``, does nothing."""
        if self._watching:
            event.unregister(COMPILES, self)  # type: ignore[no-untyped-call]
            self._watching = False

    def on_start(self, event: object) -> None:
        """Tell, the first time."""
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()

    def on_end(self, event: object) -> None:
        """Do nothing."""
